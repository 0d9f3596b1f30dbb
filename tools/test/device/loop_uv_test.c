// SPDX-License-Identifier: GPL-2.0-only
/* A wheel in a loop of libuv. */
#include <unistd.h>

#include <twheel/uv.h>

#include "lib/loops.h"
#include "lib/tap.h"

static uv_loop_t loop;

const bool loops_end = true;
const bool loops_nest;
const bool loops_sleep = true;

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

static unsigned int closed;

static void count_closed(uv_handle_t *handle)
{
	CHECK(handle == loops_wheel.handle);
	closed++;
}

/* The program is told when the loop has no handle of the wheel any more. */
TEST(told_when_closed)
{
	struct twheel_config config = { .threads = false };
	struct twheel *wheel;
	unsigned int i;

	for (i = 0; i < 2; i++) {
		config.threads = i;
		wheel = twheel_create(&config);
		NEED(wheel);
		NEED(!loops_start(wheel));
		loops_wheel.closed = count_closed;
		loops_poll();
		/* It ends without a callback. */
		uv_unref(loops_wheel.handle);
		loops_run();
		loops_stop();
		CHECK_EQ(closed, i);
		loops_run();
		CHECK_EQ(closed, i + 1);
		CHECK(!uv_loop_alive(&loop));
		CHECK_EQ(twheel_destroy(wheel), 0);
	}
	CHECK(!uv_loop_close(&loop));
}
