// SPDX-License-Identifier: GPL-2.0-only
/* A libev program with its timeouts in a wheel. */
#include <err.h>
#include <string.h>

#include <twheel/ev.h>

#include "lib/timeouts.h"

int main(void)
{
	struct ev_loop *loop = EV_DEFAULT;
	struct twheel_ev ev;
	int ret = twheel_ev_init(&ev, loop, NULL);

	if (ret)
		errx(1, "no wheel: %s", strerror(-ret));
	timeouts_begin(&ev.loop, NULL);
	/* Returns when no timeout is left. */
	ev_run(loop, 0);
	twheel_ev_destroy(&ev);
	return timeouts_report();
}
