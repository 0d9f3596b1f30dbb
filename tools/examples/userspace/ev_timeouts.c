// SPDX-License-Identifier: GPL-2.0-only
/*
 * A libev program with its timeouts in a wheel. It leaves some of them alone,
 * extends some again and again, and stops some. Each callback checks that it
 * comes when it should.
 */
#include <err.h>
#include <stdio.h>
#include <string.h>

#include "lib/twheel_ev.h"

#define COUNT	3000

/* Extensions to TIMEOUT from now, one every STEP seconds. */
#define EXTENSIONS	10
#define STEP	0.03
#define TIMEOUT	0.2

static struct twheel_ev ev;
static struct twheel_ev_timer timers[COUNT];
static ev_tstamp due[COUNT];
static unsigned int over, early, stopped, wrong, extensions;

/* Every third timer is extended, every fifth stopped. */
static bool timer_is_extended(unsigned int i)
{
	return i % 3 == 0;
}

static bool timer_is_stopped(unsigned int i)
{
	return i % 5 == 0;
}

static void timer_over(struct twheel_ev *ev, struct twheel_ev_timer *timer)
{
	unsigned int i = timer - timers;

	(void)ev;
	over++;
	early += ev_time() < due[i];
	wrong += timer_is_stopped(i) || twheel_ev_active(timer);
}

static void timer_set(unsigned int i, ev_tstamp after)
{
	/* The loop's idea of now may be a little old. */
	due[i] = ev_now(ev.loop) + after - 0.001;
	if (twheel_ev_again(&ev, &timers[i], after))
		errx(1, "timer %u is refused", i);
}

static void step_reached(struct ev_loop *loop, ev_timer *step, int revents)
{
	unsigned int i;

	(void)revents;
	for (i = 0; i < COUNT; i++) {
		if (timer_is_extended(i) && !timer_is_stopped(i))
			timer_set(i, TIMEOUT);
	}
	if (++extensions < EXTENSIONS)
		return;
	ev_timer_stop(loop, step);
}

static void timers_stop(struct ev_loop *loop, ev_timer *once, int revents)
{
	unsigned int i;

	(void)loop;
	(void)once;
	(void)revents;
	for (i = 0; i < COUNT; i += 5) {
		stopped += twheel_ev_active(&timers[i]);
		twheel_ev_stop(&ev, &timers[i]);
	}
}

int main(void)
{
	struct ev_loop *loop = EV_DEFAULT;
	ev_timer step, once;
	unsigned int i;
	int ret;

	ret = twheel_ev_init(&ev, loop, COUNT);
	if (ret)
		errx(1, "/dev/twheel: %s", strerror(-ret));
	for (i = 0; i < COUNT; i++) {
		twheel_ev_timer_init(&timers[i], timer_over);
		timer_set(i, timer_is_stopped(i) ? 3600 : TIMEOUT);
	}
	ev_timer_init(&step, step_reached, STEP, STEP);
	ev_timer_start(loop, &step);
	ev_timer_init(&once, timers_stop, STEP, 0.);
	ev_timer_start(loop, &once);

	/* Returns when no timeout is left. */
	ev_run(loop, 0);
	printf("%u timeouts: %u over, %u stopped, %u early, %u wrong\n", COUNT,
	       over, stopped, early, wrong);
	twheel_ev_destroy(&ev);
	return early || wrong || over < COUNT - stopped;
}
