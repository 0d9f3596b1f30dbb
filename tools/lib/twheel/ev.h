/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/* A wheel in a loop of libev. The calls for timers are in loop.h. */
#ifndef TWHEEL_EV_H
#define TWHEEL_EV_H

#include <ev.h>

#include "loop.h"

/**
 * struct twheel_ev - a wheel in a loop of libev
 * @loop: for the calls of loop.h
 * @ev: libev's loop
 * @io: libev's watcher for the descriptor
 */
struct twheel_ev {
	struct twheel_loop loop;
	struct ev_loop *ev;
	ev_io io;
};

static inline void twheel_ev_readable(struct ev_loop *ev, ev_io *io, int revents)
{
	(void)ev;
	(void)revents;
	twheel_loop_drain((struct twheel_loop *)io->data);
}

/* Active timers keep the loop running; an empty wheel does not. */
static inline void twheel_ev_set_busy(struct twheel_loop *loop, bool busy)
{
	struct ev_loop *ev = ((struct twheel_ev *)loop)->ev;

	if (busy)
		ev_ref(ev);
	else
		ev_unref(ev);
}

/* Take the wheel out of the loop. Active timers end, with no callback. */
static inline void twheel_ev_destroy(struct twheel_ev *ev)
{
	if (!ev->loop.busy)
		ev_ref(ev->ev);
	ev_io_stop(ev->ev, &ev->io);
	twheel_loop_destroy(&ev->loop);
}

/**
 * twheel_ev_init() - put a wheel into a loop
 * @ev: is filled in
 * @loop: libev's loop
 * @config: as for twheel_create(), on TWHEEL_CLOCK_MONOTONIC; or NULL
 *
 * Return: 0; as twheel_create().
 */
static inline int twheel_ev_init(struct twheel_ev *ev, struct ev_loop *loop,
				 const struct twheel_config *config)
{
	int ret = twheel_loop_init(&ev->loop, twheel_ev_set_busy, config);

	if (ret)
		return ret;
	ev->ev = loop;
	ev_io_init(&ev->io, twheel_ev_readable, ev->loop.fd, EV_READ);
	ev->io.data = &ev->loop;
	ev_io_start(loop, &ev->io);
	ev_unref(loop);
	return 0;
}

#endif
