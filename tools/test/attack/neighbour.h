/* SPDX-License-Identifier: GPL-2.0-only */
/* Neighbours: other tasks on the same machine, and what they notice. */
#ifndef ATTACK_NEIGHBOUR_H
#define ATTACK_NEIGHBOUR_H

#include <stdint.h>

/* How late a sleeping neighbour was woken up, in ns. */
struct lateness {
	unsigned int samples;
	uint64_t most;
};

/**
 * struct notice - what the neighbours noticed during a measurement
 * @normal: wake-ups of an ordinary task that sleeps and works in turn
 * @realtime: wake-ups of a task with SCHED_FIFO
 * @work: the work per second of a task that only works
 * @irqs_most: the greatest lateness of an interrupt, in ns; 0: unknown
 * @poll_most: the longest time that a poll() of the victim's descriptor took, of its own
 * @where: what that interrupt had interrupted, when it was let in: calls, a line each
 */
struct notice {
	struct lateness normal;
	struct lateness realtime;
	double work;
	uint64_t irqs_most;
	uint64_t poll_most;
	char where[2048];
};

/* Start the neighbours on this CPU. */
void neighbours_start(int cpu);
/* Measure for so many seconds. @victim: a descriptor to be polled meanwhile, or -1 */
struct notice neighbours_ask(unsigned int seconds, int victim);
void neighbours_stop(void);

uint64_t now_ns(void);
void stay_on(int cpu);

#endif
