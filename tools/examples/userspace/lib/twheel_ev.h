/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * Timeouts of a libev program in one wheel. libev keeps its own in a heap:
 * setting one back costs more the more there are. Here it does not, and however
 * many there are, libev sees one descriptor.
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
 * All calls are for the thread that runs the loop, and may be made in
 * callbacks, except for twheel_ev_destroy().
 */
#ifndef TWHEEL_EV_H
#define TWHEEL_EV_H

#include <ev.h>
#include <stdbool.h>

#include "../../../lib/libtwheel.h"

/**
 * struct twheel_ev - a wheel in a loop
 * @io: libev's view of it
 * @loop: the loop
 * @wheel: the wheel
 * @active: how many timers are started; as long as there is one, the loop runs
 */
struct twheel_ev {
	ev_io io;
	struct ev_loop *loop;
	struct twheel *wheel;
	unsigned long active;
};

/**
 * struct twheel_ev_timer - a timeout
 * @callback: called when it is over; the timer is not started any more then
 * @data: the program's
 * @id: of the wheel's timer; 0: not started
 */
struct twheel_ev_timer {
	void (*callback)(struct twheel_ev *ev, struct twheel_ev_timer *timer);
	void *data;
	uint64_t id;
};

/*
 * @most: how many timers there may be, which lets them be in shared memory; or 0
 * Return: 0 or -errno, like all that return int.
 */
int twheel_ev_init(struct twheel_ev *ev, struct ev_loop *loop,
		   unsigned int most);

/* The loop knows the wheel no more; timers that are started never end. */
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

/* Start a timer, for seconds from the time that the loop last woke up. */
int twheel_ev_start(struct twheel_ev *ev, struct twheel_ev_timer *timer,
		    ev_tstamp after);

/* Push it back, or start it. Its deadline never comes nearer by that. */
int twheel_ev_again(struct twheel_ev *ev, struct twheel_ev_timer *timer,
		    ev_tstamp after);

/* From here on its callback is not called. */
void twheel_ev_stop(struct twheel_ev *ev, struct twheel_ev_timer *timer);

#endif
