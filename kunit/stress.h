/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Every pair of operations, from every CPU, on the same timers, with books
 * kept: each time that a timer became pending it fired, was cancelled or was
 * handed back.
 */
#ifndef _TWHEEL_KUNIT_STRESS_H
#define _TWHEEL_KUNIT_STRESS_H

#include "smp.h"

#define STRESS_TIMERS	192

/* How many timers are in an array of twheel_arm_many(). */
#define STRESS_TOGETHER	6

struct ledger {
	struct twheel_timer timer;
	atomic_t armed;
	atomic_t fired;
	atomic_t cancelled;
	atomic_t unfired;
	atomic_t inside;
};

/**
 * struct stress - a fight over some timers
 * @wheel: their wheel
 * @ledgers: the timers
 * @rounds: operations of each thread
 * @limit: how many may be pending, or 0
 * @sleeps: callbacks may sleep
 * @busy: callbacks take long
 * @stop: end it
 * @bad: calls that returned what they should not
 * @overlaps: callbacks of one timer that ran at once
 * @full: arms that found no room
 * @crew: who fights
 */
struct stress {
	struct twheel *wheel;
	struct ledger *ledgers;
	unsigned int rounds;
	unsigned int limit;
	bool sleeps;
	bool busy;
	bool stop;
	atomic_t bad;
	atomic_t overlaps;
	atomic_t full;
	struct crew crew;
};

/* Two threads a CPU, bound to it or not. */
void stress_begin(struct kunit *test, struct stress *stress,
		  const struct twheel_config *config, unsigned int rounds,
		 bool bound);
/* Wait for the threads, or end them by stopping the wheel; check the books. */
void stress_end(struct kunit *test, struct stress *stress, bool stop_amidst);

#endif /* _TWHEEL_KUNIT_STRESS_H */
