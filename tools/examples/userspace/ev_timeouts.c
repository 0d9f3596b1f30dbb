// SPDX-License-Identifier: MIT-0
/* A libev program with its timeouts in a wheel. */
#include <err.h>
#include <string.h>

#include <twheel/ev.h>

#include "lib/timeouts.h"

static struct twheel_ev ev;

static void loop_end(void)
{
	twheel_ev_stop(&ev);
}

int main(void)
{
	struct twheel *wheel = timeouts_begin(loop_end);
	int ret = twheel_ev_start(&ev, EV_DEFAULT, wheel);

	if (ret)
		errx(1, "libev: %s", strerror(-ret));
	/* Returns when the wheel is taken out, as there is nothing else. */
	ev_run(EV_DEFAULT, 0);
	return timeouts_end(wheel);
}
