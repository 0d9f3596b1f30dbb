// SPDX-License-Identifier: MIT-0
/* A libevent program with its timeouts in a wheel. */
#include <err.h>
#include <string.h>

#include <twheel/libevent.h>

#include "lib/timeouts.h"

static struct twheel_libevent libevent;

static void loop_end(void)
{
	twheel_libevent_stop(&libevent);
}

int main(void)
{
	struct event_base *base = event_base_new();
	struct twheel *wheel = timeouts_begin(loop_end);
	int ret = twheel_libevent_start(&libevent, base, wheel);

	if (ret)
		errx(1, "libevent: %s", strerror(-ret));
	/* Returns when the wheel is taken out, as there is nothing else. */
	event_base_dispatch(base);
	event_base_free(base);
	return timeouts_end(wheel);
}
