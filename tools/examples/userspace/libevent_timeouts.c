// SPDX-License-Identifier: GPL-2.0-only
/* A libevent program with its timeouts in a wheel. */
#include <err.h>
#include <string.h>

#include <twheel/libevent.h>

#include "lib/timeouts.h"

int main(void)
{
	struct event_base *base = event_base_new();
	struct twheel_libevent libevent;
	int ret = twheel_libevent_init(&libevent, base, NULL);

	if (ret)
		errx(1, "no wheel: %s", strerror(-ret));
	timeouts_begin(&libevent.loop, NULL);
	/* Returns when no timeout is left. */
	event_base_dispatch(base);
	twheel_libevent_destroy(&libevent);
	event_base_free(base);
	return timeouts_report();
}
