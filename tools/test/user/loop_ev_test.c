// SPDX-License-Identifier: GPL-2.0-only
/* A wheel in a loop of libev. */
#include <twheel/ev.h>

#include "lib/loops.h"

static struct twheel_ev ev;

const bool loops_end = true;
const char *const loops_example = "ev_timeouts";

int loops_open(const struct twheel_config *config)
{
	return twheel_ev_init(&ev, EV_DEFAULT, config);
}

struct twheel_loop *loops_loop(void)
{
	return &ev.loop;
}

void loops_run(void)
{
	ev_run(EV_DEFAULT, 0);
}

void loops_quit(void)
{
	ev_break(EV_DEFAULT, EVBREAK_ALL);
}

void loops_poll(void)
{
	ev_run(EV_DEFAULT, EVRUN_NOWAIT);
}

void loops_close(void)
{
	twheel_ev_destroy(&ev);
}
