// SPDX-License-Identifier: MIT-0
/* A program with systemd's event loop, and its timeouts in a wheel. */
#include <err.h>
#include <string.h>

#include <twheel/sd.h>

#include "lib/timeouts.h"

static sd_event *event;

static void loop_end(void)
{
	sd_event_exit(event, 0);
}

int main(void)
{
	struct twheel *wheel = timeouts_begin(loop_end);
	struct twheel_sd sd;
	int ret = sd_event_default(&event);

	if (ret >= 0)
		ret = twheel_sd_start(&sd, event, wheel);
	if (ret < 0)
		errx(1, "sd-event: %s", strerror(-ret));
	sd_event_loop(event);
	twheel_sd_stop(&sd);
	sd_event_unref(event);
	return timeouts_end(wheel);
}
