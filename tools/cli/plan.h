/* SPDX-License-Identifier: GPL-2.0-only */
/* Which timeouts to use, in which order, and when each has to expire. */
#ifndef TWHEEL_PLAN_H
#define TWHEEL_PLAN_H

#include <stddef.h>
#include <stdint.h>

/**
 * struct plan - what to do to timeouts
 * @count: how many to use
 * @order: the i-th one to use; a random order, each once
 * @when: its deadline, on CLOCK_MONOTONIC
 * @drawn: random numbers
 */
struct plan {
	size_t count;
	uint32_t *order;
	uint64_t *when;
	uint64_t *drawn;
};

/* Plans of the same size are equal. Without memory, the program ends. */
void plan_init(struct plan *plan, size_t count);

/* Spread deadlines over an hour, from @ns on; the same way each time. */
void plan_hour(struct plan *plan, uint64_t ns);

/* One deadline for all. */
void plan_instant(struct plan *plan, uint64_t ns);

/*
 * Take @count timeouts, evenly from all over the plan. Another @which takes others of
 * them, unless it takes all.
 */
void plan_sample(struct plan *sample, const struct plan *plan, size_t count,
		 unsigned int which);

/*
 * Walk through the plan, read a word for each timeout and its deadline, and do nothing: the
 * cost of the loop itself.
 */
void plan_walk(const struct plan *plan);

#endif
