/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * How long a machine with one CPU has nothing to do. The kernel tells that in
 * units that are too long; so something of the lowest priority does nothing
 * instead, and counts.
 */
#ifndef TWHEEL_IDLE_H
#define TWHEEL_IDLE_H

#include <stdbool.h>
#include <stdint.h>

/* Is there just one CPU? Else there is no telling. */
bool idle_can(void);

void idle_start(void);

/* Count from @ns on, which is on CLOCK_MONOTONIC, and not yet reached. */
void idle_from(uint64_t ns);

/* How long it was, in ns, up to now. */
uint64_t idle_stop(void);

#endif
