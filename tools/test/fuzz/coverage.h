/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Which code of the module a thread's system calls have gone through, where the
 * kernel has KCOV and the module is built for it.
 */
#ifndef FUZZ_COVERAGE_H
#define FUZZ_COVERAGE_H

#include <stdbool.h>
#include <stdint.h>

/* The module is smaller than that; so many pairs of places are told apart. */
#define COVERAGE_PLACES	(1U << 20)
#define COVERAGE_PAIRS	(1U << 17)

/** struct coverage - of a thread */
struct coverage {
	unsigned long *area;
};

/** struct covered - what all have covered: places, and which came after which */
struct covered {
	uint64_t base;
	uint8_t places[COVERAGE_PLACES];
	uint8_t pairs[COVERAGE_PAIRS];
};

/* Where the module is. Returns false if nobody says. */
bool coverage_find_module(struct covered *covered);
/* For the calling thread; @fd is the descriptor that it shall have. */
void coverage_init(struct coverage *coverage, int fd);
void coverage_begin(struct coverage *coverage);
/* Add what was covered. Returns how much of it is new. */
unsigned int coverage_add(const struct coverage *coverage,
			  struct covered *covered);
unsigned int covered_places(const struct covered *covered);

#endif
