/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * A wheel in an io_context of Boost.Asio. C++14. The calls for timers are in loop.h;
 * asio_timer.hpp has timers that are used as those of Asio.
 */
#ifndef TWHEEL_ASIO_HPP
#define TWHEEL_ASIO_HPP

#include <chrono>
#include <cstdint>
#include <memory>
#include <utility>

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/system/system_error.hpp>

#include "loop.h"

namespace twheel_asio {

/*
 * A wheel in a context, which only one thread runs. It has to be gone before the context.
 * Callbacks of loop.h must not throw.
 */
class wheel {
public:
	explicit wheel(boost::asio::io_context &context,
		       const twheel_options *options = nullptr)
		: state_(std::make_shared<state>(context))
	{
		static const twheel_loop_ops ops = {
			busy, again, own_new, own_start, own_free,
		};
		int ret = twheel_loop_init(state_.get(), &ops, options);

		if (ret)
			throw boost::system::system_error(-ret, boost::system::system_category());
		if (state_->twheel_loop::wheel)
			state_->readable.assign(twheel_fd(state_->twheel_loop::wheel));
	}

	wheel(const wheel &) = delete;
	wheel &operator=(const wheel &) = delete;

	/* Timers that are active never end. */
	~wheel()
	{
		/* The descriptor is the library's to close. */
		if (state_->twheel_loop::wheel)
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
				if (auto self = weak.lock()) {
					self->waiting = false;
					self->drain();
				}
			});
		}

		void drain()
		{
			twheel_loop_drain(this);
			if (busy)
				wait();
		}

		boost::asio::io_context &context;
		boost::asio::posix::stream_descriptor readable;
		bool waiting = false;
	};

	struct own : twheel_loop_own {
		explicit own(boost::asio::io_context &context) : timer(context) { }

		boost::asio::steady_timer timer;
		std::shared_ptr<own> self;
	};

	static state *state_of(twheel_loop *loop)
	{
		return static_cast<state *>(loop);
	}

	static void busy(twheel_loop *loop, bool on)
	{
		if (on)
			state_of(loop)->wait();
		else
			state_of(loop)->readable.cancel();
	}

	static void again(twheel_loop *loop)
	{
		std::weak_ptr<state> weak = state_of(loop)->shared_from_this();

		boost::asio::post(state_of(loop)->context, [weak] {
			if (auto self = weak.lock())
				self->drain();
		});
	}

	static twheel_loop_own *own_new(twheel_loop *loop)
	{
		auto made = std::make_shared<own>(state_of(loop)->context);

		made->self = made;
		return made.get();
	}

	static int own_start(twheel_loop_own *base, std::uint64_t delay_ns)
	{
		own *o = static_cast<own *>(base);
		std::weak_ptr<own> weak = o->self;

		o->timer.expires_after(std::chrono::nanoseconds(delay_ns));
		o->timer.async_wait([weak](boost::system::error_code error) {
			auto there = weak.lock();

			if (there && !error)
				twheel_loop_own_over(there.get());
		});
		return 0;
	}

	static void own_free(twheel_loop_own *base)
	{
		std::shared_ptr<own> last = std::move(static_cast<own *>(base)->self);
	}

	std::shared_ptr<state> state_;
};

}

#endif
