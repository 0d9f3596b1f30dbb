/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * A wheel in an io_context of Boost.Asio. C++14. The calls for timers are in loop.h;
 * asio_timer.hpp has timers that are used as those of Asio.
 */
#ifndef TWHEEL_ASIO_HPP
#define TWHEEL_ASIO_HPP

#include <memory>

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/system/system_error.hpp>

#include "loop.h"

namespace twheel_asio {

/*
 * A wheel in a context, which only one thread runs. It has to be gone before the context.
 * Callbacks of loop.h must not throw.
 */
class wheel {
public:
	explicit wheel(boost::asio::io_context &context, const twheel_config *config = nullptr)
		: state_(std::make_shared<state>(context))
	{
		int ret = twheel_loop_init(state_.get(), set_busy, config);

		if (ret)
			throw boost::system::system_error(-ret, boost::system::system_category());
		state_->readable.assign(state_->fd);
	}

	wheel(const wheel &) = delete;
	wheel &operator=(const wheel &) = delete;

	/* Active timers end without a callback. The descriptor is loop.h's to close. */
	~wheel()
	{
		state_->readable.release();
		twheel_loop_destroy(state_.get());
	}

	twheel_loop *loop()
	{
		return state_.get();
	}

	boost::asio::io_context &context()
	{
		return state_->context;
	}

private:
	/* Asio may call a handler when the wheel is gone: it then finds no state. */
	struct state : twheel_loop, std::enable_shared_from_this<state> {
		explicit state(boost::asio::io_context &c) : context(c), readable(c) { }

		/* The context runs on while something waits. */
		void wait()
		{
			std::weak_ptr<state> weak = shared_from_this();

			if (waiting)
				return;
			waiting = true;
			readable.async_wait(readable.wait_read,
					    [weak](boost::system::error_code) {
				auto self = weak.lock();

				if (!self)
					return;
				self->waiting = false;
				twheel_loop_drain(self.get());
				if (self->busy)
					self->wait();
			});
		}

		boost::asio::io_context &context;
		boost::asio::posix::stream_descriptor readable;
		bool waiting = false;
	};

	static void set_busy(twheel_loop *loop, bool busy)
	{
		state *s = static_cast<state *>(loop);

		if (busy)
			s->wait();
		else
			s->readable.cancel();
	}

	std::shared_ptr<state> state_;
};

}

#endif
