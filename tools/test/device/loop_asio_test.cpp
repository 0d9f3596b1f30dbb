// SPDX-License-Identifier: GPL-2.0-only
/* A wheel in an io_context of Boost.Asio. */
#include <unistd.h>

#include <twheel/asio.hpp>

#include "lib/loops.h"

/* The order is that of going away. */
static boost::asio::io_context context(1);
static std::unique_ptr<twheel_asio> asio;

const bool loops_end = true;
const bool loops_nest = false;
const bool loops_sleep = false;
const char *const loops_example = "asio_timeouts";

int loops_start(struct twheel *wheel)
{
	try {
		asio.reset(new twheel_asio(context, wheel));
		return 0;
	} catch (const boost::system::system_error &error) {
		return -error.code().value();
	}
}

void loops_stop(void)
{
	asio.reset();
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

bool loops_poll(void)
{
	context.restart();
	context.poll_one();
	return false;
}

pid_t loops_fork(void)
{
	pid_t pid;

	context.notify_fork(context.fork_prepare);
	pid = fork();
	context.notify_fork(pid ? context.fork_parent : context.fork_child);
	return pid;
}
