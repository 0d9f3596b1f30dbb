// SPDX-License-Identifier: GPL-2.0-only
/* A libuv program with its timeouts in a wheel. */
#include <err.h>
#include <string.h>

#include <twheel/uv.h>

#include "lib/timeouts.h"

int main(void)
{
	uv_loop_t *loop = uv_default_loop();
	struct twheel_uv uv;
	int ret = twheel_uv_init(&uv, loop, NULL);

	if (ret)
		errx(1, "no wheel: %s", strerror(-ret));
	timeouts_begin(&uv.loop, NULL);
	/* Returns when no timeout is left. */
	uv_run(loop, UV_RUN_DEFAULT);
	twheel_uv_destroy(&uv);
	/* What libuv closes, it closes in its loop. */
	uv_run(loop, UV_RUN_DEFAULT);
	if (uv_loop_close(loop))
		errx(1, "the loop has handles");
	return timeouts_report();
}
