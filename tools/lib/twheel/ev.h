/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/* A wheel in a loop of libev. The calls for timers are in loop.h. */
#ifndef TWHEEL_EV_H
#define TWHEEL_EV_H

#include <ev.h>
#include <stdlib.h>

#include "loop.h"

struct twheel_ev_own {
	struct twheel_loop_own own;
	ev_timer timer;
};

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
static inline void twheel_ev_busy(struct twheel_loop *loop, bool busy)
{
	struct ev_loop *ev = ((struct twheel_ev *)loop)->ev;

	if (busy)
		ev_ref(ev);
	else
		ev_unref(ev);
}

static inline void twheel_ev_again(struct twheel_loop *loop)
{
	struct twheel_ev *ev = (struct twheel_ev *)loop;

	ev_feed_event(ev->ev, &ev->io, EV_READ);
}

static inline void twheel_ev_own_over(struct ev_loop *ev, ev_timer *timer, int revents)
{
	(void)ev;
	(void)revents;
	twheel_loop_own_over((struct twheel_loop_own *)timer->data);
}

static inline struct twheel_loop_own *twheel_ev_own_new(struct twheel_loop *loop)
{
	struct twheel_ev_own *own = (struct twheel_ev_own *)malloc(sizeof(*own));

	(void)loop;
	if (!own)
		return NULL;
	ev_init(&own->timer, twheel_ev_own_over);
	own->timer.data = own;
	return &own->own;
}

static inline int twheel_ev_own_start(struct twheel_loop_own *own, uint64_t delay_ns)
{
	struct ev_loop *ev = ((struct twheel_ev *)own->loop)->ev;
	ev_timer *timer = &((struct twheel_ev_own *)own)->timer;

	ev_timer_stop(ev, timer);
	ev_timer_set(timer, delay_ns / 1e9, 0.);
	ev_timer_start(ev, timer);
	return 0;
}

static inline void twheel_ev_own_free(struct twheel_loop_own *own)
{
	ev_timer_stop(((struct twheel_ev *)own->loop)->ev,
		      &((struct twheel_ev_own *)own)->timer);
	free(own);
}

/* Take the wheel out of the loop. Timers that are active never end. */
static inline void twheel_ev_destroy(struct twheel_ev *ev)
{
	if (ev->loop.wheel) {
		if (!ev->loop.busy)
			ev_ref(ev->ev);
		ev_io_stop(ev->ev, &ev->io);
	}
	twheel_loop_destroy(&ev->loop);
}

/**
 * twheel_ev_init() - put a wheel into a loop
 * @ev: is filled in
 * @loop: libev's loop
 * @options: as for twheel_open(), on CLOCK_MONOTONIC; or NULL
 *
 * Return: 0, also where timers will be the loop's own; -errno.
 */
static inline int twheel_ev_init(struct twheel_ev *ev, struct ev_loop *loop,
				 const struct twheel_options *options)
{
	static const struct twheel_loop_ops ops = {
		twheel_ev_busy, twheel_ev_again,
		twheel_ev_own_new, twheel_ev_own_start, twheel_ev_own_free,
	};
	int ret = twheel_loop_init(&ev->loop, &ops, options);

	ev->ev = loop;
	if (ret || !ev->loop.wheel)
		return ret;
	ev_io_init(&ev->io, twheel_ev_readable, twheel_fd(ev->loop.wheel), EV_READ);
	ev->io.data = &ev->loop;
	ev_io_start(loop, &ev->io);
	ev_unref(loop);
	return 0;
}

#endif
