/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/* A process wheel in an io_context of Boost.Asio, as twheel_loop(3) describes it. C++14. */
#ifndef TWHEEL_ASIO_HPP
#define TWHEEL_ASIO_HPP

#include <memory>

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/system/system_error.hpp>
#include <twheel.h>

/* It has to be gone before the context and the wheel. Callbacks of timers must not throw. */
class twheel_asio {
public:
	twheel_asio(boost::asio::io_context &context, twheel *wheel)
		: state_(std::make_shared<state>(context, wheel))
	{
		int fd = twheel_fd(wheel);

		if (fd < 0)
			throw boost::system::system_error(-fd, boost::system::system_category());
		state_->readable.assign(fd);
		wait(state_);
	}

	~twheel_asio() { stop(); }

	twheel_asio(const twheel_asio &) = delete;
	twheel_asio &operator=(const twheel_asio &) = delete;

	/* Take the wheel out of the context; a callback may do so. */
	void stop()
	{
		state_->wheel = nullptr;
		state_->release();
	}

private:
	/* Asio may call a handler when the object is gone: this stays until then. */
	struct state {
		state(boost::asio::io_context &context, twheel *of) : readable(context), wheel(of) { }
		/* If the constructor throws, nobody has called stop(). */
		~state() { release(); }

		/* The wheel closes its descriptor itself. */
		void release()
		{
			if (readable.is_open())
				readable.release();
		}

		boost::asio::posix::stream_descriptor readable;
		twheel *wheel;
	};

	/* After so many callbacks the context serves others. */
	static void wait(const std::shared_ptr<state> &self)
	{
		self->readable.async_wait(self->readable.wait_read,
					  [self](boost::system::error_code) {
			if (self->wheel && twheel_run(self->wheel, 64) != -ESHUTDOWN &&
			    self->wheel)
				wait(self);
		});
	}

	std::shared_ptr<state> state_;
};

#endif
