// SPDX-License-Identifier: GPL-2.0-only
/*
 * Timers of libev, in two ways that its manual shows. Each packet starts the timer again. Or
 * it only notes the time, and the callback starts the timer again if that was not long ago.
 */
#include <ev.h>

#include "life.h"

static struct ev_loop *libev_loop;

static void libev_fires(struct ev_loop *loop, ev_timer *timer, int events)
{
	(void)loop;
	(void)timer;
	(void)events;
}

static void libev_begin(void)
{
	uint32_t i;

	if (!libev_loop)
		libev_loop = ev_loop_new(0);
	for (i = 0; i < life_count; i++)
		ev_timer_init(LIFE_TIMER_OF(ev_timer, &connections[i]), libev_fires, 0, 60);
}

static void libev_again(void)
{
	LIFE_EACH(({
		ev_timer *timer = LIFE_TIMER_OF(ev_timer, c);

		timer->repeat = delay->seconds;
		ev_timer_again(libev_loop, timer);
	}));
}

static void libev_note(void)
{
	/* Beyond the time that libev has: as if it passed. */
	LIFE_EACH(c->last = ev_now(libev_loop) + delay->seconds);
}

static void libev_stop(void)
{
	LIFE_EACH(ev_timer_stop(libev_loop, LIFE_TIMER_OF(ev_timer, c)));
}

const struct life_peer life_ev = {
	.name = "libev", .begin = libev_begin,
	.arm = libev_again, .extend = libev_again, .cancel = libev_stop,
};

const struct life_peer life_ev_lazy = {
	.name = "libev-lazy", .begin = libev_begin,
	.arm = libev_again, .extend = libev_note, .cancel = libev_stop,
};
