/* SPDX-License-Identifier: GPL-2.0-only */
/* Durations, as a person writes them. */
#ifndef TWHEEL_DURATION_H
#define TWHEEL_DURATION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define NS_PER_S	1000000000ULL

/* "1.5s", "2h30m", "250us", "3" (seconds). False if it is not one, or too long. */
bool parse_duration(const char *text, uint64_t *ns);

/* With three digits, in the largest unit that fits. Returns @buf. */
const char *format_duration(uint64_t ns, char *buf, size_t size);

#endif
