/* SPDX-License-Identifier: GPL-2.0-only */
/* The CPUs of stub.c, for the explorer. */
#ifndef _CPUS_H
#define _CPUS_H

#include "stub.h"

/* How many calls are made at once. */
#define CPUS_MAX	3
#define CPUS_ANY	(-1)

/* Why a CPU went no further: it was to pause, it waits for another one, its call has ended. */
enum cpus_turn {
	CPUS_PAUSED,
	CPUS_WAITS,
	CPUS_ENDED,
};

extern const char *cpus_fault;

/*
 * A run begins at @ns. @coarse: CPUs pause only at cpus_boundary(). @contended: each lock that
 * is tried is held by somebody else.
 */
void cpus_reset(bool coarse, bool contended, u64 ns);
/* CPU @cpu is to call @function. */
void cpus_begin(int number, int cpu, void (*function)(int number));
/* Go on for so many points; 0: as far as possible. */
enum cpus_turn cpus_go(int number, unsigned int points);
bool cpus_ended(int number);
/* All go on until they have ended. Returns false if they never do. */
bool cpus_finish(int count);
/* A point between two steps of a call that is not atomic. */
void cpus_boundary(void);
/* Run what interrupts a CPU, and with @due also what its clock does. */
void cpus_interrupt(int cpu, bool due);
/* When an hrtimer expires next. */
u64 cpus_next_alarm(void);
u64 cpus_time(void);
void cpus_set_time(u64 ns);
/* The explorer's: called at each point. */
void cpus_look(void);

#endif /* _CPUS_H */
