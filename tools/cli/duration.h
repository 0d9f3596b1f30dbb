/* SPDX-License-Identifier: GPL-2.0-only */
/* Durations as people write them. */
#ifndef TWHEEL_DURATION_H
#define TWHEEL_DURATION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define NS_PER_S	1000000000ULL

/* "1.5s", "2h30m", "250us", "3" (seconds). False if it is none, or too long. */
bool parse_duration(const char *text, uint64_t *ns);

/* In the largest unit that fits, three digits; returns @buf. */
const char *format_duration(uint64_t ns, char *buf, size_t size);

#endif
