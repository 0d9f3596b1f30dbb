// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
#include <errno.h>

#include "twheel_ev.h"

/* How many callbacks run before the loop serves others. */
#define CALLBACKS_MAX	256

/*
 * Take events one by one: a callback may stop a timer whose event has been read
 * ahead, and the library can still withdraw that one.
 */
static void twheel_ev_readable(struct ev_loop *loop, ev_io *io, int revents)
{
	struct twheel_ev *ev = io->data;
	struct twheel_ev_timer *timer;
	struct twheel_event event;
	int i;

	(void)revents;
	for (i = 0; i < CALLBACKS_MAX; i++) {
		if (twheel_next(ev->wheel, &event, 0) != 1)
			return;
		timer = (struct twheel_ev_timer *)(uintptr_t)event.cookie;
		timer->id = 0;
		if (!--ev->active)
			ev_unref(loop);
		timer->callback(ev, timer);
	}
	/* The descriptor is not readable for events that are read ahead. */
	ev_feed_event(loop, io, EV_READ);
}

int twheel_ev_init(struct twheel_ev *ev, struct ev_loop *loop,
		   unsigned int most)
{
	struct twheel_options options = { .max_timers = most };
	int ret = twheel_open(&ev->wheel, &options);

	if (ret)
		return ret;
	ev->loop = loop;
	ev->active = 0;
	ev_io_init(&ev->io, twheel_ev_readable, twheel_fd(ev->wheel), EV_READ);
	ev->io.data = ev;
	ev_io_start(loop, &ev->io);
	/* Started timers keep the loop running; this watcher does not. */
	ev_unref(loop);
	return 0;
}

void twheel_ev_destroy(struct twheel_ev *ev)
{
	if (!ev->active)
		ev_ref(ev->loop);
	ev_io_stop(ev->loop, &ev->io);
	twheel_close(ev->wheel);
}

/* From libev's seconds, which count from when the loop last woke up. */
static uint64_t twheel_ev_delay_ns(const struct twheel_ev *ev, ev_tstamp after)
{
	ev_tstamp left = after - (ev_time() - ev_now(ev->loop));

	if (!(left > 0))
		return 0;
	return left < 9e9 ? left * 1e9 : TWHEEL_DELAY_NEVER;
}

static int twheel_ev_arm(struct twheel_ev *ev, struct twheel_ev_timer *timer,
			 uint64_t ns)
{
	int ret = twheel_arm(ev->wheel, ns, (uintptr_t)timer, &timer->id);

	if (!ret && !ev->active++)
		ev_ref(ev->loop);
	return ret;
}

int twheel_ev_start(struct twheel_ev *ev, struct twheel_ev_timer *timer,
		    ev_tstamp after)
{
	return timer->id ? -EBUSY : twheel_ev_arm(ev, timer, twheel_ev_delay_ns(ev, after));
}

int twheel_ev_again(struct twheel_ev *ev, struct twheel_ev_timer *timer,
		    ev_tstamp after)
{
	uint64_t ns = twheel_ev_delay_ns(ev, after);

	if (timer->id) {
		if (twheel_extend(ev->wheel, timer->id, ns) >= 0)
			return 0;
		/* The timer has expired, but its callback has not been called. */
		twheel_ev_stop(ev, timer);
	}
	return twheel_ev_arm(ev, timer, ns);
}

void twheel_ev_stop(struct twheel_ev *ev, struct twheel_ev_timer *timer)
{
	if (!timer->id)
		return;
	twheel_cancel(ev->wheel, timer->id);
	timer->id = 0;
	if (!--ev->active)
		ev_unref(ev->loop);
}
