/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/* A wheel in an event_base of libevent. The calls for timers are in loop.h. */
#ifndef TWHEEL_LIBEVENT_H
#define TWHEEL_LIBEVENT_H

#include <event2/event.h>

#include "loop.h"

/**
 * struct twheel_libevent - a wheel in a loop of libevent
 * @loop: for the calls of loop.h
 * @readable: libevent's event for the descriptor
 */
struct twheel_libevent {
	struct twheel_loop loop;
	struct event *readable;
};

static inline void twheel_libevent_readable(evutil_socket_t fd, short events, void *loop)
{
	(void)fd;
	(void)events;
	twheel_loop_drain((struct twheel_loop *)loop);
}

/* Active timers keep the loop running; an empty wheel does not. */
static inline void twheel_libevent_set_busy(struct twheel_loop *loop, bool busy)
{
	struct event *readable = ((struct twheel_libevent *)loop)->readable;

	if (busy)
		event_add(readable, NULL);
	else
		event_del(readable);
}

/* Take the wheel out of the loop. Active timers end, with no callback. */
static inline void twheel_libevent_destroy(struct twheel_libevent *libevent)
{
	event_free(libevent->readable);
	twheel_loop_destroy(&libevent->loop);
}

/**
 * twheel_libevent_init() - put a wheel into a loop
 * @libevent: is filled in
 * @base: libevent's loop
 * @config: as for twheel_create(), on TWHEEL_CLOCK_MONOTONIC; or NULL
 *
 * Return: 0; as twheel_create().
 */
static inline int twheel_libevent_init(struct twheel_libevent *libevent,
				       struct event_base *base,
				       const struct twheel_config *config)
{
	int ret = twheel_loop_init(&libevent->loop, twheel_libevent_set_busy, config);

	if (ret)
		return ret;
	libevent->readable = event_new(base, libevent->loop.fd, EV_READ | EV_PERSIST,
				       twheel_libevent_readable, &libevent->loop);
	if (libevent->readable)
		return 0;
	twheel_loop_destroy(&libevent->loop);
	return -ENOMEM;
}

#endif
