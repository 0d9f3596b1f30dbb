/* SPDX-License-Identifier: GPL-2.0-only */
/* Every pair of operations from every CPU on the same timers, with books kept. */
#ifndef _TWHEEL_KUNIT_STRESS_H
#define _TWHEEL_KUNIT_STRESS_H

#include "ledger.h"
#include "smp.h"

/**
 * struct stress - threads that race on the same timers
 * @books: of their wheel
 * @rounds: number of operations of each thread, or more if they take less than STRESS_LEAST
 * @stop: tells the threads to end
 * @crew: the threads
 */
struct stress {
	struct books books;
	unsigned int rounds;
	bool stop;
	struct crew crew;
};

/* Start two threads per CPU, bound to it or not. */
void stress_begin(struct kunit *test, struct stress *stress,
		  const struct twheel_config *config, unsigned int rounds,
		 bool bound);
/* Wait for the threads, or end them by stopping the wheel; check the books. */
void stress_end(struct kunit *test, struct stress *stress, bool stop_amidst);

#endif /* _TWHEEL_KUNIT_STRESS_H */
