// SPDX-License-Identifier: GPL-2.0-only
/* A wheel in an io_context of Boost.Asio. */
#include <twheel/asio.hpp>

#include "lib/loops.h"

/* The order is that of going away. */
static boost::asio::io_context context(1);
static std::unique_ptr<twheel_asio::wheel> wheel;

const bool loops_end = true;
const char *const loops_example = "asio_timeouts";

int loops_open(const struct twheel_config *config)
{
	try {
		wheel.reset(new twheel_asio::wheel(context, config));
		return 0;
	} catch (const boost::system::system_error &error) {
		return -error.code().value();
	}
}

struct twheel_loop *loops_loop(void)
{
	return wheel->loop();
}

void loops_run(void)
{
	context.restart();
	context.run();
}

void loops_quit(void)
{
	context.stop();
}

void loops_poll(void)
{
	context.restart();
	context.poll();
}

void loops_close(void)
{
	wheel.reset();
}
