/* SPDX-License-Identifier: GPL-2.0-only */
/* Those who live on the same machine, and what they notice. */
#ifndef ATTACK_NEIGHBOUR_H
#define ATTACK_NEIGHBOUR_H

#include <stdint.h>

/* How late a neighbour that sleeps was woken up, in ns. */
struct lateness {
	unsigned int samples;
	uint64_t median, p99, most;
};

/**
 * struct notice - what the neighbours have noticed for a while
 * @normal: one that sleeps and works in turn, like most
 * @realtime: one with SCHED_FIFO
 * @work: how much got done by one that only works, per second
 * @irqs_p999: how late interrupts were, but for one of a thousand; 0: not known
 * @irqs_most: and at most
 */
struct notice {
	struct lateness normal;
	struct lateness realtime;
	double work;
	uint64_t irqs_p999;
	uint64_t irqs_most;
};

/* Neighbours move in, on this CPU. */
void neighbours_start(int cpu);
/* What do they notice within so many seconds? */
struct notice neighbours_ask(unsigned int seconds);
void neighbours_stop(void);

uint64_t now_ns(void);
void stay_on(int cpu);

#endif
