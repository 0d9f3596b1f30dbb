// SPDX-License-Identifier: MIT-0
/* A libuv program with its timeouts in a wheel. */
#include <err.h>
#include <string.h>

#include <twheel/uv.h>

#include "lib/timeouts.h"

static struct twheel_uv uv;

static void loop_end(void)
{
	twheel_uv_stop(&uv);
}

int main(void)
{
	uv_loop_t *loop = uv_default_loop();
	struct twheel *wheel = timeouts_begin(loop_end);
	int ret = twheel_uv_start(&uv, loop, wheel);

	if (ret)
		errx(1, "libuv: %s", strerror(-ret));
	/* Returns when the wheel is taken out, as there is nothing else. */
	uv_run(loop, UV_RUN_DEFAULT);
	if (uv_loop_close(loop))
		errx(1, "the loop has handles");
	return timeouts_end(wheel);
}
