// SPDX-License-Identifier: GPL-2.0-only
/*
 * Timers of libevent. Some have a timeout of their own each. Others have all the same one:
 * libevent keeps those in a queue, not in its heap. It reads the clock in each call, except
 * in calls from a callback. So one callback does all.
 */
#include <event2/event.h>
#include <event2/event_struct.h>

#include "life.h"

static struct event_base *libevent_base;
static const struct timeval *libevent_common;

static void libevent_fires(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	(void)arg;
}

static void libevent_begin(void)
{
	const struct timeval timeout = { LIFE_TIMEOUT_NS / 1000000000, 0 };
	uint32_t i;

	if (!libevent_base) {
		libevent_base = event_base_new();
		libevent_common = event_base_init_common_timeout(libevent_base, &timeout);
	}
	for (i = 0; i < life_count; i++)
		event_assign(LIFE_TIMER_OF(struct event, &connections[i]), libevent_base, -1, 0,
			     libevent_fires, NULL);
}

static void libevent_call(evutil_socket_t fd, short what, void *run)
{
	(void)fd;
	(void)what;
	(*(void (**)(void))run)();
	event_base_loopbreak(libevent_base);
}

/* Run it in a callback. */
static void libevent_run(void (*function)(void))
{
	event_base_once(libevent_base, -1, EV_TIMEOUT, libevent_call, &function, NULL);
	event_base_loop(libevent_base, 0);
}

static void libevent_add(void)
{
	LIFE_EACH(event_add(LIFE_TIMER_OF(struct event, c), &delay->tv));
}

static void libevent_add_common(void)
{
	LIFE_EACH(event_add(LIFE_TIMER_OF(struct event, c), libevent_common));
}

static void libevent_del(void)
{
	LIFE_EACH(event_del(LIFE_TIMER_OF(struct event, c)));
}

const struct life_peer life_event = {
	.name = "libevent", .begin = libevent_begin, .in = libevent_run,
	.arm = libevent_add, .extend = libevent_add, .cancel = libevent_del,
};

const struct life_peer life_event_common = {
	.name = "libevent-queue", .begin = libevent_begin, .in = libevent_run,
	.arm = libevent_add_common, .extend = libevent_add_common, .cancel = libevent_del,
};
