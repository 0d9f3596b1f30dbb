/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Torture of the in-kernel API, with books kept: kunit/ledger.h has them.
 *
 * An arena is a wheel with its timers. Worker threads go from arena to arena and do every
 * operation that a timer allows. Timers are owned. Those that all threads use at once are in
 * kunit/stress.c.
 *
 * Meanwhile wheels come and go. The script in the guest takes CPUs away and brings them
 * back, suspends the machine and has the wall clock set.
 */
#ifndef _TWHEEL_TORTURE_H
#define _TWHEEL_TORTURE_H

#include <linux/rwsem.h>

#include "ledger.h"

/**
 * struct arena - a wheel and its timers
 * @sem: held for reading by users of the wheel; for writing to make or end it
 * @books: of the wheel; there may be none
 */
struct arena {
	struct rw_semaphore sem;
	struct books books;
};

/* How many wheels there are at a time. */
#define NR_ARENAS	6

/* clock_set.c */
bool wall_reached(u64 since, u64 deadline);
int wall_init(void);
void wall_exit(void);
unsigned int wall_steps(void);
unsigned int wall_sleeps(void);
u64 wall_asleep_ms(void);

/* arena.c */
extern struct arena arenas[NR_ARENAS];
/* What has ended. */
extern struct books_sum arenas_sum;

int arenas_thread(void *unused);
unsigned int arenas_lived(void);
unsigned int arenas_until(void);
unsigned int arenas_failures(enum failure what);
int arenas_init(void);
void arenas_exit(void);

#endif /* _TWHEEL_TORTURE_H */
