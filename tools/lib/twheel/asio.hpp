/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/* A wheel in an io_context of Boost.Asio. C++14. The calls for timers are in loop.h. */
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

	/* Active timers end without a callback. The descriptor is loop.h's to close. */
	~wheel()
	{
		state_->readable.release();
		twheel_loop_destroy(state_.get());
	}

	wheel(const wheel &) = delete;
	wheel &operator=(const wheel &) = delete;
	twheel_loop *loop() { return state_.get(); }

private:
	/* Asio may call a handler when the wheel is gone: this stays until then. */
	struct state : twheel_loop, std::enable_shared_from_this<state> {
		explicit state(boost::asio::io_context &context) : readable(context) { }

		boost::asio::posix::stream_descriptor readable;
		bool waiting = false;
	};

	/* The context runs on while something waits. */
	static void set_busy(twheel_loop *loop, bool busy)
	{
		auto self = static_cast<state *>(loop)->shared_from_this();

		if (!busy)
			self->readable.cancel();
		if (!busy || self->waiting)
			return;
		self->waiting = true;
		self->readable.async_wait(self->readable.wait_read,
					  [self](boost::system::error_code) {
			self->waiting = false;
			if (!self->twheel_loop::wheel)
				return;
			twheel_loop_drain(self.get());
			if (self->busy)
				set_busy(self.get(), true);
		});
	}

	std::shared_ptr<state> state_;
};

}

#endif
