// SPDX-License-Identifier: GPL-2.0-only
/* A wheel in a loop of libevent. */
#include <twheel/libevent.h>

#include "lib/loops.h"

static struct event_base *base;
static struct twheel_libevent libevent;

const bool loops_end = true;
const char *const loops_example = "libevent_timeouts";

int loops_open(const struct twheel_config *config)
{
	if (!base)
		base = event_base_new();
	return twheel_libevent_init(&libevent, base, config);
}

struct twheel_loop *loops_loop(void)
{
	return &libevent.loop;
}

void loops_run(void)
{
	event_base_dispatch(base);
}

void loops_quit(void)
{
	event_base_loopbreak(base);
}

void loops_poll(void)
{
	event_base_loop(base, EVLOOP_NONBLOCK);
}

void loops_close(void)
{
	twheel_libevent_destroy(&libevent);
}
