/* SPDX-License-Identifier: GPL-2.0-only */
/* What the tests of process wheels share: checks, and chance. */
#ifndef TWHEEL_NATIVE_CHECK_H
#define TWHEEL_NATIVE_CHECK_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <twheel.h>

#define MS	1000000ULL
#define ARRAY_SIZE(a)	(sizeof(a) / sizeof((a)[0]))

/* Ends the program: what comes after a failure says little. */
#define CHECK(condition)						\
do {									\
	if (!(condition)) {						\
		printf("not ok: %s:%d: %s\n", __FILE__, __LINE__,	\
		       #condition);					\
		exit(1);						\
	}								\
} while (0)

/* xorshift64: a seed repeats a run. */
static inline uint64_t chance(uint64_t *seed)
{
	*seed ^= *seed << 13;
	*seed ^= *seed >> 7;
	*seed ^= *seed << 17;
	return *seed;
}

#endif
