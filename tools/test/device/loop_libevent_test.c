// SPDX-License-Identifier: GPL-2.0-only
/* A wheel in a loop of libevent. */
#include <unistd.h>

#include <twheel/libevent.h>

#include "lib/loops.h"

static struct event_base *base;

const bool loops_end = true;
const bool loops_nest;
const bool loops_sleep;

static struct event_base *base_get(void)
{
	if (!base)
		base = event_base_new();
	return base;
}

LOOPS_OF(libevent, base_get())

void loops_run(void)
{
	event_base_dispatch(base);
}

void loops_quit(void)
{
	event_base_loopbreak(base);
}

bool loops_poll(void)
{
	event_base_loop(base, EVLOOP_ONCE | EVLOOP_NONBLOCK);
	return false;
}

pid_t loops_fork(void)
{
	pid_t pid = fork();

	if (!pid)
		event_reinit(base);
	return pid;
}
