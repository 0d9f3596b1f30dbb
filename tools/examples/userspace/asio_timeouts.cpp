// SPDX-License-Identifier: GPL-2.0-only
/* A Boost.Asio program with its timeouts in a wheel. */
#include <twheel/asio.hpp>

#include "lib/timeouts.h"

int main()
{
	boost::asio::io_context context(1);
	twheel_asio::wheel wheel(context);

	timeouts_begin(wheel.loop(), nullptr);
	/* Returns when no timeout is left. */
	context.run();
	return timeouts_report();
}
