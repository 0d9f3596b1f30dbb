/* SPDX-License-Identifier: GPL-2.0-only */
/* The fibers of stub.c, for the explorer, and for the machine of suites. */
#ifndef _CPUS_H
#define _CPUS_H

#include "stub.h"

/* How many calls the explorer makes at once, and how many fibers there may be. */
#define CPUS_MAX	3
#define CPUS_FIBERS	320
#define CPUS_ANY	(-1)

/* Why a CPU went no further: it was to pause, it waits for another one, its call has ended. */
enum cpus_turn {
	CPUS_PAUSED,
	CPUS_WAITS,
	CPUS_ENDED,
};

/* What interrupts: other CPUs, the clock, and, as if that were an interrupt, works. */
enum cpus_source {
	CPUS_CALLS = 1,
	CPUS_HARD_ALARMS = 2,
	CPUS_SOFT_ALARMS = 4,
	CPUS_WORKS = 8,
	CPUS_ALL = 15,
};

extern const char *cpus_fault;
/* A scheduler picks who goes on: time passes, and a fault ends the program. */
extern bool stub_machine;
extern struct tracepoint stub_start;

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
/* This fiber is to go no further for now. */
void cpus_pause(void);
/* A point between two steps of a call that is not atomic. */
void cpus_boundary(void);
/* Nothing is queued any more. */
void cpus_forget_all(void);
/* The CPU of who runs, to be changed. */
int *cpus_cpu(void);
/* A fiber's task, and its CPU. */
struct task_struct *cpus_task(int number);
int cpus_where(int number);
void cpus_place(int number, int cpu);
/* Is there something that interrupts a CPU; a work that is queued? */
bool cpus_interrupted(int cpu, unsigned int what);
struct work_struct *cpus_work(void);
void cpus_run_work(struct work_struct *work);
/* Alarms and calls of a CPU that goes are another one's. */
void cpus_move(int from, int to);
/* Run what interrupts a CPU: enum cpus_source. */
void cpus_interrupt(int cpu, unsigned int what);
/* When an hrtimer expires next. */
u64 cpus_next_alarm(void);
u64 cpus_time(void);
void cpus_set_time(u64 ns);
/* If it is set, it is called at each point. */
extern void (*cpus_look)(void);

#endif /* _CPUS_H */
