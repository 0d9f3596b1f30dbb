/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/* A wheel in an event_base of libevent. The calls for timers are in loop.h. */
#ifndef TWHEEL_LIBEVENT_H
#define TWHEEL_LIBEVENT_H

#include <event2/event.h>
#include <stdlib.h>

#include "loop.h"

struct twheel_libevent_own {
	struct twheel_loop_own own;
	struct event *timer;
};

/**
 * struct twheel_libevent - a wheel in a loop of libevent
 * @loop: for the calls of loop.h
 * @base: libevent's loop
 * @readable: libevent's event for the descriptor; NULL: there is none
 */
struct twheel_libevent {
	struct twheel_loop loop;
	struct event_base *base;
	struct event *readable;
};

static inline void twheel_libevent_readable(evutil_socket_t fd, short events, void *loop)
{
	(void)fd;
	(void)events;
	twheel_loop_drain((struct twheel_loop *)loop);
}

/* Active timers keep the loop running; an empty wheel does not. */
static inline void twheel_libevent_busy(struct twheel_loop *loop, bool busy)
{
	struct event *readable = ((struct twheel_libevent *)loop)->readable;

	if (busy)
		event_add(readable, NULL);
	else
		event_del(readable);
}

static inline void twheel_libevent_again(struct twheel_loop *loop)
{
	event_active(((struct twheel_libevent *)loop)->readable, EV_READ, 0);
}

static inline void twheel_libevent_own_over(evutil_socket_t fd, short events, void *own)
{
	(void)fd;
	(void)events;
	twheel_loop_own_over((struct twheel_loop_own *)own);
}

static inline struct twheel_loop_own *twheel_libevent_own_new(struct twheel_loop *loop)
{
	struct event_base *base = ((struct twheel_libevent *)loop)->base;
	struct twheel_libevent_own *own = (struct twheel_libevent_own *)malloc(sizeof(*own));

	if (!own)
		return NULL;
	own->timer = event_new(base, -1, 0, twheel_libevent_own_over, own);
	if (own->timer)
		return &own->own;
	free(own);
	return NULL;
}

static inline int twheel_libevent_own_start(struct twheel_loop_own *own, uint64_t delay_ns)
{
	uint64_t us = (delay_ns + 999) / 1000;
	struct timeval delay;

	delay.tv_sec = us / 1000000;
	delay.tv_usec = us % 1000000;
	return event_add(((struct twheel_libevent_own *)own)->timer, &delay) ? -ENOMEM : 0;
}

static inline void twheel_libevent_own_free(struct twheel_loop_own *own)
{
	event_free(((struct twheel_libevent_own *)own)->timer);
	free(own);
}

/* Take the wheel out of the loop. Timers that are active never end. */
static inline void twheel_libevent_destroy(struct twheel_libevent *libevent)
{
	if (libevent->readable)
		event_free(libevent->readable);
	libevent->readable = NULL;
	twheel_loop_destroy(&libevent->loop);
}

/**
 * twheel_libevent_init() - put a wheel into a loop
 * @libevent: is filled in
 * @base: libevent's loop
 * @options: as for twheel_open(), on CLOCK_MONOTONIC; or NULL
 *
 * Return: 0, also where timers will be the loop's own; -errno.
 */
static inline int twheel_libevent_init(struct twheel_libevent *libevent,
				       struct event_base *base,
				       const struct twheel_options *options)
{
	static const struct twheel_loop_ops ops = {
		twheel_libevent_busy, twheel_libevent_again,
		twheel_libevent_own_new, twheel_libevent_own_start,
		twheel_libevent_own_free,
	};
	int ret = twheel_loop_init(&libevent->loop, &ops, options);

	libevent->base = base;
	libevent->readable = NULL;
	if (ret || !libevent->loop.wheel)
		return ret;
	libevent->readable = event_new(base, twheel_fd(libevent->loop.wheel),
				       EV_READ | EV_PERSIST, twheel_libevent_readable,
				       &libevent->loop);
	if (libevent->readable)
		return 0;
	twheel_libevent_destroy(libevent);
	return -ENOMEM;
}

#endif
