/* SPDX-License-Identifier: GPL-2.0-only */
/* Times of the wall clock as people write them. */
#ifndef TWHEEL_WALLTIME_H
#define TWHEEL_WALLTIME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * "14:30", "14:30:05.25", "2026-11-21", "2026-11-21T14:30:05", with a blank for
 * the T, and with "Z" or "+01:00" at the end; "@1795271405" is seconds since
 * 1970. A time without a date is the next such time after @now_ns. False if it
 * is none.
 */
bool parse_walltime(const char *text, uint64_t now_ns, uint64_t *ns);

/* Date and time in the local zone, to the second; returns @buf. */
const char *format_walltime(uint64_t ns, char *buf, size_t size);

#endif
