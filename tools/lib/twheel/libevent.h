/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/* A process wheel in a loop of libevent: twheel_loop(3) */
#ifndef TWHEEL_LIBEVENT_H
#define TWHEEL_LIBEVENT_H

#include <event2/event.h>
#include <twheel.h>

struct twheel_libevent {
	struct twheel *wheel;
	struct event *readable;
};

/* After so many callbacks the loop serves others. A wheel that is stopped leaves the loop. */
static inline void twheel_libevent_readable(evutil_socket_t fd, short events, void *arg)
{
	struct twheel_libevent *libevent = (struct twheel_libevent *)arg;

	(void)fd;
	(void)events;
	if (twheel_run(libevent->wheel, 64) == -ESHUTDOWN)
		event_del(libevent->readable);
}

/** twheel_libevent_stop() - take the wheel out of the loop; a callback may do so */
static inline void twheel_libevent_stop(struct twheel_libevent *libevent)
{
	event_free(libevent->readable);
}

/** twheel_libevent_start() - have a loop serve a wheel; returns 0; as twheel_fd(); -ENOMEM */
static inline int twheel_libevent_start(struct twheel_libevent *libevent,
					struct event_base *base, struct twheel *wheel)
{
	int fd = twheel_fd(wheel);

	if (fd < 0)
		return fd;
	libevent->wheel = wheel;
	libevent->readable = event_new(base, fd, EV_READ | EV_PERSIST,
				       twheel_libevent_readable, libevent);
	if (libevent->readable && !event_add(libevent->readable, NULL))
		return 0;
	if (libevent->readable)
		event_free(libevent->readable);
	return -ENOMEM;
}

#endif
