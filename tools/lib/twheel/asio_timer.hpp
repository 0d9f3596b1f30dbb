/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * Timers in a wheel that are used as those of Boost.Asio. C++14.
 *
 *	twheel_asio::wheel wheel(context);
 *	twheel_asio::timer timer(wheel);
 *
 *	timer.expires_after(std::chrono::seconds(30));
 *	timer.async_wait([](boost::system::error_code error) { ... });
 *	...
 *	timer.extend_after(std::chrono::seconds(30));	(on every packet)
 *
 * What loop.h says holds here, too. As with Asio's timers, time is waited for from
 * async_wait() on, and a new expiry cancels the waits. A cancelled wait ends with
 * operation_aborted, and one that cannot begin with its error. Other calls throw
 * boost::system::system_error. Timers have to be gone before their wheel.
 */
#ifndef TWHEEL_ASIO_TIMER_HPP
#define TWHEEL_ASIO_TIMER_HPP

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <utility>

#include <boost/asio/associated_executor.hpp>
#include <boost/asio/async_result.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/post.hpp>

#include "asio.hpp"

namespace twheel_asio {

/* A timer that is used as Asio's: several may wait for it. */
class timer {
public:
	using clock_type = std::chrono::steady_clock;	/* CLOCK_MONOTONIC */
	using duration = clock_type::duration;
	using time_point = clock_type::time_point;
	using executor_type = boost::asio::io_context::executor_type;

	explicit timer(wheel &wheel) : wheel_(wheel)
	{
		twheel_loop_timer_init(&timer_, over, this);
	}

	timer(const timer &) = delete;
	timer &operator=(const timer &) = delete;

	~timer()
	{
		cancel();
	}

	executor_type get_executor()
	{
		return wheel_.context().get_executor();
	}

	time_point expiry() const
	{
		return expiry_;
	}

	/* Cancels the waits, and returns how many there were. */
	std::size_t expires_at(time_point expiry)
	{
		std::size_t count = cancel();

		expiry_ = expiry;
		return count;
	}

	std::size_t expires_after(duration delay)
	{
		return expires_at(after(delay));
	}

	/* A later expiry, or the same as before. Waits go on. */
	void extend_at(time_point expiry)
	{
		int ret = 0;

		if (expiry <= expiry_)
			return;
		if (waits_)
			ret = twheel_loop_extend_at(wheel_.loop(), &timer_, ns(expiry));
		if (ret < 0)
			throw boost::system::system_error(-ret, boost::system::system_category());
		expiry_ = expiry;
	}

	void extend_after(duration delay)
	{
		extend_at(after(delay));
	}

	/* Returns how many waits there were. */
	std::size_t cancel()
	{
		twheel_loop_stop(wheel_.loop(), &timer_);
		return end(boost::asio::error::operation_aborted);
	}

	template <typename Token>
	auto async_wait(Token &&token)
	{
		return boost::asio::async_initiate<Token, void(boost::system::error_code)>(
			[this](auto handler) { this->begin(std::move(handler)); }, token);
	}

private:
	struct wait {
		virtual ~wait() = default;
		virtual void end(boost::system::error_code error) = 0;

		std::unique_ptr<wait> next;
	};

	template <typename Handler>
	struct wait_of : wait {
		using executor = boost::asio::associated_executor_t<Handler, executor_type>;

		wait_of(Handler &&h, const executor_type &e)
			: work(boost::asio::get_associated_executor(h, e)),
			  handler(std::move(h)) { }

		/* A handler never runs inside the call that ends its wait. */
		void end(boost::system::error_code error) override
		{
			boost::asio::post(work.get_executor(),
				[h = std::move(handler), error]() mutable { h(error); });
		}

		boost::asio::executor_work_guard<executor> work;
		Handler handler;
	};

	template <typename Handler>
	void begin(Handler handler)
	{
		std::unique_ptr<wait> w(new wait_of<Handler>(std::move(handler), get_executor()));
		int ret = 0;

		w->next = std::move(waits_);
		waits_ = std::move(w);
		if (!twheel_loop_active(&timer_))
			ret = twheel_loop_start_at(wheel_.loop(), &timer_, ns(expiry_));
		if (ret)
			end(boost::system::error_code(-ret, boost::system::system_category()));
	}

	std::size_t end(boost::system::error_code error)
	{
		std::size_t count = 0;

		for (auto w = std::move(waits_); w; w = std::move(w->next), count++)
			w->end(error);
		return count;
	}

	static void over(twheel_loop *, twheel_loop_timer *t)
	{
		static_cast<timer *>(t->data)->end(boost::system::error_code());
	}

	static std::uint64_t ns(time_point when)
	{
		auto count = std::chrono::nanoseconds(when.time_since_epoch()).count();

		return count > 0 ? static_cast<std::uint64_t>(count) : 0;
	}

	static time_point after(duration delay)
	{
		time_point now = clock_type::now();

		return delay < time_point::max() - now ? now + delay : time_point::max();
	}

	wheel &wheel_;
	twheel_loop_timer timer_;
	time_point expiry_;
	std::unique_ptr<wait> waits_;
};

}

#endif
