/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * How long a machine with one CPU is idle. The kernel's own figure is too coarse, so a
 * process of the lowest priority counts the time in which nothing else runs.
 */
#ifndef TWHEEL_IDLE_H
#define TWHEEL_IDLE_H

#include <stdbool.h>
#include <stdint.h>

/* Is there only one CPU? Else this does not work. */
bool idle_can(void);

void idle_start(void);

/* Count from @ns on, an instant of CLOCK_MONOTONIC that lies ahead. */
void idle_from(uint64_t ns);

/* Stop. Returns the idle time so far, in ns. */
uint64_t idle_stop(void);

#endif
