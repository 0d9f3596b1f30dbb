// SPDX-License-Identifier: GPL-2.0-only
/* A wheel in a loop of sd-event. */
#include <twheel/sd.h>

#include "lib/loops.h"

static sd_event *event;
static struct twheel_sd sd;
static bool ended;

const bool loops_end;
const char *const loops_example = "sd_timeouts";

int loops_open(const struct twheel_config *config)
{
	if (!event && sd_event_new(&event) < 0)
		return -ENOMEM;
	return twheel_sd_init(&sd, event, config);
}

struct twheel_loop *loops_loop(void)
{
	return &sd.loop;
}

/* sd_event_exit() ends a loop for ever, and the tests run it again. */
void loops_run(void)
{
	ended = false;
	while (!ended && sd_event_run(event, UINT64_MAX) >= 0)
		continue;
}

void loops_quit(void)
{
	ended = true;
}

void loops_poll(void)
{
	sd_event_run(event, 0);
}

void loops_close(void)
{
	twheel_sd_destroy(&sd);
}
