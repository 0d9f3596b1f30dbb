/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Every pair of operations from every CPU on the same timers, with books kept. Each time
 * a timer became pending, it fired, was cancelled or was handed back.
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
 * struct stress - threads that race on the same timers
 * @wheel: their wheel
 * @ledgers: the timers
 * @rounds: number of operations of each thread, or more if they take less than STRESS_LEAST
 * @limit: how many timers may be pending, or 0
 * @sleeps: callbacks may sleep
 * @stop: tells the threads to end
 * @bad: number of calls with a wrong result
 * @overlaps: number of callbacks that ran while another one of their timer did
 * @full: number of arms that were refused by the limit
 * @crew: the threads
 */
struct stress {
	struct twheel *wheel;
	struct ledger *ledgers;
	unsigned int rounds;
	unsigned int limit;
	bool sleeps;
	bool stop;
	atomic_t bad;
	atomic_t overlaps;
	atomic_t full;
	struct crew crew;
};

/* Start two threads per CPU, bound to it or not. */
void stress_begin(struct kunit *test, struct stress *stress,
		  const struct twheel_config *config, unsigned int rounds,
		 bool bound);
/* Wait for the threads, or end them by stopping the wheel; check the books. */
void stress_end(struct kunit *test, struct stress *stress, bool stop_amidst);

#endif /* _TWHEEL_KUNIT_STRESS_H */
