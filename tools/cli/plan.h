/* SPDX-License-Identifier: GPL-2.0-only */
/* Which timeouts to touch, in which order, and when each is to expire. */
#ifndef TWHEEL_PLAN_H
#define TWHEEL_PLAN_H

#include <stddef.h>
#include <stdint.h>

/**
 * struct plan - what is to be done to timeouts
 * @count: how many to touch
 * @order: the one that is touched i-th; any order, each once
 * @when: when that one is to expire, on CLOCK_MONOTONIC
 * @drawn: chance, as shares of 2^64
 */
struct plan {
	size_t count;
	uint32_t *order;
	uint64_t *when;
	uint64_t *drawn;
};

/* Two plans of one number are alike. No memory ends the program. */
void plan_init(struct plan *plan, size_t count);

/* Spread deadlines over an hour, from @ns on: always in the same way. */
void plan_hour(struct plan *plan, uint64_t ns);

/* One deadline for all. */
void plan_instant(struct plan *plan, uint64_t ns);

/*
 * Some of a plan's timeouts, from all over it, or all of them. Another @which, and
 * others of them, where there are any.
 */
void plan_sample(struct plan *sample, const struct plan *plan, size_t count,
		 unsigned int which);

/*
 * Go through the plan, have a word for each timeout and its deadline at hand, and do
 * nothing.
 */
void plan_walk(const struct plan *plan);

#endif
