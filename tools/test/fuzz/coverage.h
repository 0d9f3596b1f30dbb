/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The code of the module that a thread's system calls have covered. It needs a kernel
 * with KCOV, and a module that is built for it.
 */
#ifndef FUZZ_COVERAGE_H
#define FUZZ_COVERAGE_H

#include <stdbool.h>
#include <stdint.h>

/* The module is smaller than this; also the number of pairs of places. */
#define COVERAGE_PLACES	(1U << 20)
#define COVERAGE_PAIRS	(1U << 17)

/** struct coverage - of a thread */
struct coverage {
	unsigned long *area;
};

/** struct covered - the places, and pairs of consecutive places, that all have covered */
struct covered {
	uint64_t base;
	uint8_t places[COVERAGE_PLACES];
	uint8_t pairs[COVERAGE_PAIRS];
};

/* Find the address of the module. Returns false if the kernel does not tell. */
bool coverage_find_module(struct covered *covered);
/* For the calling thread; @fd is the descriptor to use. */
void coverage_init(struct coverage *coverage, int fd);
void coverage_begin(struct coverage *coverage);
/* Add what was covered. Returns the number of new places and pairs. */
unsigned int coverage_add(const struct coverage *coverage,
			  struct covered *covered);
unsigned int covered_places(const struct covered *covered);

#endif
