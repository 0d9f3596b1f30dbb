// SPDX-License-Identifier: GPL-2.0-only
/* Timers of libuv. */
#include <uv.h>

#include "life.h"

static uv_loop_t libuv_loop;

static void libuv_fires(uv_timer_t *timer)
{
	(void)timer;
}

static void libuv_begin(void)
{
	uint32_t i;

	uv_loop_init(&libuv_loop);
	for (i = 0; i < life_count; i++)
		uv_timer_init(&libuv_loop, LIFE_TIMER_OF(uv_timer_t, &connections[i]));
}

static void libuv_start(void)
{
	LIFE_EACH(uv_timer_start(LIFE_TIMER_OF(uv_timer_t, c), libuv_fires, delay->ms, 0));
}

static void libuv_stop(void)
{
	LIFE_EACH(uv_timer_stop(LIFE_TIMER_OF(uv_timer_t, c)));
}

const struct life_peer life_uv = {
	.name = "libuv", .begin = libuv_begin,
	.arm = libuv_start, .extend = libuv_start, .cancel = libuv_stop,
};
