/* SPDX-License-Identifier: GPL-2.0-only */
/* Clocks by name, by the library's number and by the system's. */
#ifndef TWHEEL_CLOCKS_H
#define TWHEEL_CLOCKS_H

#include <stdint.h>

/* enum twheel_clock; -1 for a name that is none. */
int clock_by_name(const char *name);
/* The system's number; -1 for a name that is none. */
int clock_id_by_name(const char *name);
const char *clock_name(int clockid);

uint64_t clock_now(int clockid);

/* The clock on which a wheel tells of timers that were armed for a delay. */
int event_clock(int clockid);

#endif
