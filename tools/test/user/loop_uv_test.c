// SPDX-License-Identifier: GPL-2.0-only
/* A wheel in a loop of libuv. */
#include <twheel/uv.h>

#include "lib/loops.h"

static uv_loop_t loop;
static struct twheel_uv uv;

const bool loops_end = true;
const char *const loops_example = "uv_timeouts";

int loops_open(const struct twheel_config *config)
{
	if (!loop.data) {
		uv_loop_init(&loop);
		loop.data = &loop;
	}
	return twheel_uv_init(&uv, &loop, config);
}

struct twheel_loop *loops_loop(void)
{
	return &uv.loop;
}

void loops_run(void)
{
	uv_run(&loop, UV_RUN_DEFAULT);
}

void loops_quit(void)
{
	uv_stop(&loop);
}

void loops_poll(void)
{
	uv_run(&loop, UV_RUN_NOWAIT);
}

void loops_close(void)
{
	twheel_uv_destroy(&uv);
}
