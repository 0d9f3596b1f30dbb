// SPDX-License-Identifier: MIT-0
/* A Boost.Asio program with its timeouts in a wheel. */
#include <twheel/asio.hpp>

#include "lib/timeouts.h"

static boost::asio::io_context context(1);

static void loop_end()
{
	context.stop();
}

int main()
{
	twheel *wheel = timeouts_begin(loop_end);

	{
		twheel_asio asio(context, wheel);

		context.run();
	}
	return timeouts_end(wheel);
}
