/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * Timeouts of a libev program in one wheel. libev keeps its own timeouts in a
 * heap, where to change one costs more the more there are. In a wheel it does not,
 * and libev sees one descriptor for all of them.
 *
 *	struct twheel_ev ev;
 *	struct twheel_ev_timer timer;
 *
 *	twheel_ev_init(&ev, EV_DEFAULT, 10000);
 *	twheel_ev_timer_init(&timer, too_late);
 *	twheel_ev_start(&ev, &timer, 30.);
 *	...
 *	twheel_ev_again(&ev, &timer, 30.);	(on every packet)
 *
 * Only the thread that runs the loop may make these calls. Callbacks may make all
 * of them but twheel_ev_destroy().
 */
#ifndef TWHEEL_EV_H
#define TWHEEL_EV_H

#include <ev.h>
#include <stdbool.h>

#include "../../../lib/libtwheel.h"

/**
 * struct twheel_ev - a wheel in a loop
 * @io: libev's watcher for the descriptor
 * @loop: the loop
 * @wheel: the wheel
 * @active: number of started timers; the loop runs while there is one
 */
struct twheel_ev {
	ev_io io;
	struct ev_loop *loop;
	struct twheel *wheel;
	unsigned long active;
};

/**
 * struct twheel_ev_timer - a timeout
 * @callback: called when the timeout is over and the timer no longer started
 * @data: the program's
 * @id: the wheel's timer; 0: not started
 */
struct twheel_ev_timer {
	void (*callback)(struct twheel_ev *ev, struct twheel_ev_timer *timer);
	void *data;
	uint64_t id;
};

/*
 * @most: the largest number of timers, which lets them be in shared memory; or 0
 * Return: 0 or -errno, like all calls here that return int.
 */
int twheel_ev_init(struct twheel_ev *ev, struct ev_loop *loop,
		   unsigned int most);

/* Take the wheel out of the loop. Timers that are started never end. */
void twheel_ev_destroy(struct twheel_ev *ev);

static inline void
twheel_ev_timer_init(struct twheel_ev_timer *timer,
		     void (*callback)(struct twheel_ev *,
				      struct twheel_ev_timer *))
{
	timer->callback = callback;
	timer->id = 0;
}

static inline bool twheel_ev_active(const struct twheel_ev_timer *timer)
{
	return timer->id;
}

/* Start a timer: a number of seconds from when the loop last woke up. */
int twheel_ev_start(struct twheel_ev *ev, struct twheel_ev_timer *timer,
		    ev_tstamp after);

/* Give it a later deadline, or start it. The deadline never becomes nearer. */
int twheel_ev_again(struct twheel_ev *ev, struct twheel_ev_timer *timer,
		    ev_tstamp after);

/* After this its callback is not called. */
void twheel_ev_stop(struct twheel_ev *ev, struct twheel_ev_timer *timer);

#endif
