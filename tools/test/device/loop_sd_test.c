// SPDX-License-Identifier: GPL-2.0-only
/* A wheel in a loop of sd-event. */
#include <unistd.h>

#include <twheel/sd.h>

#include "lib/loops.h"

static sd_event *event;
static bool ended;

const bool loops_end;
const bool loops_nest;
const bool loops_sleep;

static sd_event *event_get(void)
{
	if (!event)
		sd_event_new(&event);
	return event;
}

LOOPS_OF(sd, event_get())

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

bool loops_poll(void)
{
	return sd_event_run(event, 0) > 0;
}

/* The loop is of no use to a child, and knows that. */
pid_t loops_fork(void)
{
	return fork();
}
