// SPDX-License-Identifier: GPL-2.0-only
/*
 * A libev program with its timeouts in a wheel: some are left alone, some
 * pushed back again and again, some stopped; and each tells whether it came as
 * it should.
 */
#include <err.h>
#include <stdio.h>
#include <string.h>

#include "lib/twheel_ev.h"

#define COUNT	3000

/* Pushed back so often, every STEP seconds, by TIMEOUT. */
#define PUSHES	10
#define STEP	0.03
#define TIMEOUT	0.2

static struct twheel_ev ev;
static struct twheel_ev_timer timers[COUNT];
static ev_tstamp due[COUNT];
static unsigned int over, early, stopped, wrong, pushes;

/* Every third is pushed back, every fifth stopped. */
static bool is_pushed(unsigned int i)
{
	return i % 3 == 0;
}

static bool is_stopped(unsigned int i)
{
	return i % 5 == 0;
}

static void too_late(struct twheel_ev *ev, struct twheel_ev_timer *timer)
{
	unsigned int i = timer - timers;

	(void)ev;
	over++;
	early += ev_time() < due[i];
	wrong += is_stopped(i) || twheel_ev_active(timer);
}

static void set(unsigned int i, ev_tstamp after)
{
	/* The loop's now is no later than the real one. */
	due[i] = ev_now(ev.loop) + after - 0.001;
	if (twheel_ev_again(&ev, &timers[i], after))
		errx(1, "timer %u is refused", i);
}

static void on_step(struct ev_loop *loop, ev_timer *step, int revents)
{
	unsigned int i;

	(void)revents;
	for (i = 0; i < COUNT; i++) {
		if (is_pushed(i) && !is_stopped(i))
			set(i, TIMEOUT);
	}
	if (++pushes < PUSHES)
		return;
	ev_timer_stop(loop, step);
}

static void on_stop(struct ev_loop *loop, ev_timer *once, int revents)
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
		twheel_ev_timer_init(&timers[i], too_late);
		set(i, is_stopped(i) ? 3600 : TIMEOUT);
	}
	ev_timer_init(&step, on_step, STEP, STEP);
	ev_timer_start(loop, &step);
	ev_timer_init(&once, on_stop, STEP, 0.);
	ev_timer_start(loop, &once);

	/* Ends by itself, when no timeout is left. */
	ev_run(loop, 0);
	printf("%u timeouts: %u over, %u stopped, %u early, %u wrong\n", COUNT,
	       over, stopped, early, wrong);
	twheel_ev_destroy(&ev);
	return early || wrong || over < COUNT - stopped;
}
