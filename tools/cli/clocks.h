/* SPDX-License-Identifier: GPL-2.0-only */
/* The clocks of wheels: enum twheel_clock_id. */
#ifndef TWHEEL_CLOCKS_H
#define TWHEEL_CLOCKS_H

#include <stdbool.h>
#include <stdint.h>

#include <linux/twheel.h>

/* -1 for a name that is none. */
int clock_by_name(const char *name);
const char *clock_name(uint32_t clock);

/* Whether a clock can be set. */
bool clock_settable(uint32_t clock);

/* Not of a virtual clock: only its wheel knows that time. */
uint64_t clock_now(uint32_t clock);

#endif
