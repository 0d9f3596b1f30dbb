// SPDX-License-Identifier: GPL-2.0-only
/* A wheel in a loop of libev. */
#include <unistd.h>

#include <twheel/ev.h>

#include "lib/loops.h"

const bool loops_end = true;
const bool loops_nest = true;
const bool loops_sleep = true;

LOOPS_OF(ev, EV_DEFAULT)

void loops_run(void)
{
	ev_run(EV_DEFAULT, 0);
}

void loops_quit(void)
{
	ev_break(EV_DEFAULT, EVBREAK_ALL);
}

bool loops_poll(void)
{
	ev_run(EV_DEFAULT, EVRUN_NOWAIT);
	return false;
}

pid_t loops_fork(void)
{
	pid_t pid = fork();

	if (!pid)
		ev_loop_fork(EV_DEFAULT);
	return pid;
}
