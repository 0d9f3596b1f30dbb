// SPDX-License-Identifier: GPL-2.0-only
/* A Boost.Asio program with its timeouts in a wheel. */
#include <iostream>

#include <twheel/asio_timer.hpp>

#include "lib/timeouts.h"

/* As Asio's own timers: a wait that is over, and one that is cancelled. */
static bool wait_and_cancel(boost::asio::io_context &context, twheel_asio::wheel &wheel)
{
	boost::system::error_code ends[2] = { boost::asio::error::fault,
					      boost::asio::error::fault };
	twheel_asio::timer soon(wheel), late(wheel);

	late.expires_after(std::chrono::hours(1));
	late.async_wait([&](boost::system::error_code error) { ends[1] = error; });
	soon.expires_after(std::chrono::milliseconds(20));
	soon.extend_after(std::chrono::milliseconds(30));
	soon.async_wait([&](boost::system::error_code error) {
		ends[0] = error;
		late.cancel();
	});
	context.run();
	context.restart();
	return soon.expiry() <= std::chrono::steady_clock::now() && !ends[0] &&
	       ends[1] == boost::asio::error::operation_aborted;
}

int main()
{
	boost::asio::io_context context(1);
	twheel_asio::wheel wheel(context);

	if (!wait_and_cancel(context, wheel)) {
		std::cerr << "a wait has another end\n";
		return 1;
	}
	timeouts_begin(wheel.loop(), nullptr);
	/* Returns when no timeout is left. */
	context.run();
	return timeouts_report();
}
