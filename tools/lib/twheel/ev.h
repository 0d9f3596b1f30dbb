/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/* A process wheel in a loop of libev: twheel_loop(3) */
#ifndef TWHEEL_EV_H
#define TWHEEL_EV_H

#include <ev.h>
#include <twheel.h>

struct twheel_ev {
	ev_io io;
	ev_prepare prepare;
	ev_timer timer;
	struct ev_loop *loop;
	struct twheel *wheel;
	/* What the timer is set for; 1, which is no tick: that is not known. */
	uint64_t next_ns;
};

/** twheel_ev_stop() - take the wheel out of the loop; a callback may do so */
static inline void twheel_ev_stop(struct twheel_ev *ev)
{
	ev_io_stop(ev->loop, &ev->io);
	if (!ev_is_active(&ev->prepare))
		return;
	ev_prepare_stop(ev->loop, &ev->prepare);
	ev_ref(ev->loop);
	ev_timer_stop(ev->loop, &ev->timer);
}

/* After so many callbacks the loop serves others. A wheel that is stopped leaves the loop. */
static inline void twheel_ev_readable(struct ev_loop *loop, ev_io *io, int revents)
{
	(void)revents;
	if (twheel_run((struct twheel *)io->data, 64) == -ESHUTDOWN)
		ev_io_stop(loop, io);
}

/* The timer has begun another period, which is nobody's. */
static inline void twheel_ev_due(struct ev_loop *loop, ev_timer *timer, int revents)
{
	struct twheel_ev *ev = (struct twheel_ev *)timer->data;

	(void)loop;
	(void)revents;
	ev->next_ns = 1;
	twheel_run(ev->wheel, 64);
}

/* The loop is going to sleep. */
static inline void twheel_ev_sleeps(struct ev_loop *loop, ev_prepare *prepare, int revents)
{
	struct twheel_ev *ev = (struct twheel_ev *)prepare->data;
	uint64_t next = twheel_next(ev->wheel), now;

	(void)revents;
	if (next > TWHEEL_NEVER && twheel_needs_fd(ev->wheel) < 0) {
		twheel_ev_stop(ev);
		return;
	}
	if (next == ev->next_ns)
		return;
	ev_now_update(loop);
	now = twheel_now(ev->wheel);
	ev->next_ns = next;
	/* 0 would stop the timer. */
	ev->timer.repeat = (ev_tstamp)(next > now ? next - now : 1) / 1000000000;
	ev_timer_again(loop, &ev->timer);
}

/** twheel_ev_start() - have a loop serve a wheel; returns 0; as twheel_fd() */
static inline int twheel_ev_start(struct twheel_ev *ev, struct ev_loop *loop,
				  struct twheel *wheel)
{
	int ret = twheel_needs_fd(wheel);

	if (ret > 0)
		ret = twheel_fd(wheel);
	if (ret < 0)
		return ret;
	ev->loop = loop;
	ev->wheel = wheel;
	ev->next_ns = 1;
	ev_io_init(&ev->io, twheel_ev_readable, ret, EV_READ);
	ev_prepare_init(&ev->prepare, twheel_ev_sleeps);
	ev_timer_init(&ev->timer, twheel_ev_due, 0., 3600.);
	ev->io.data = wheel;
	ev->prepare.data = ev;
	ev->timer.data = ev;
	if (twheel_needs_fd(wheel)) {
		ev_io_start(loop, &ev->io);
		return 0;
	}
	/* One of the two keeps the loop running. */
	ev_prepare_start(loop, &ev->prepare);
	ev_timer_again(loop, &ev->timer);
	ev_unref(loop);
	return 0;
}

#endif
