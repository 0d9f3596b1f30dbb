// SPDX-License-Identifier: GPL-2.0-only
/* A wheel in a loop of libuv. */
#include <unistd.h>

#include <twheel/uv.h>

#include "lib/loops.h"

static uv_loop_t loop;

const bool loops_end = true;
const bool loops_nest;
const bool loops_sleep;

static uv_loop_t *loop_get(void)
{
	if (!loop.data) {
		uv_loop_init(&loop);
		loop.data = &loop;
	}
	return &loop;
}

LOOPS_OF(uv, loop_get())

void loops_run(void)
{
	uv_run(&loop, UV_RUN_DEFAULT);
}

void loops_quit(void)
{
	uv_stop(&loop);
}

bool loops_poll(void)
{
	uv_run(&loop, UV_RUN_NOWAIT);
	return false;
}

pid_t loops_fork(void)
{
	pid_t pid = fork();

	if (!pid)
		uv_loop_fork(&loop);
	return pid;
}
