/* SPDX-License-Identifier: GPL-2.0-only */
/* An open file, the tasks that wait for it, and what becomes of its timers: see device.c. */
#ifndef _DEVICE_H
#define _DEVICE_H

#include "cpus.h"

/* Tasks that wait, the one that makes the operations, the agent of a file that acts, the alarm. */
#define DEVICE_WAITERS	3
#define DEVICE_PROGRAM	DEVICE_WAITERS
#define DEVICE_AGENT	(DEVICE_WAITERS + 1)
#define DEVICE_ALARM	(DEVICE_WAITERS + 2)
#define DEVICE_FIBERS	(DEVICE_WAITERS + 3)
/* How many operations a run has at most. */
#define DEVICE_OPS	2

enum waiter_kind {
	WAITER_NONE,
	/* A read() that blocks. */
	WAITER_READER,
	/* INFO, which waits for nothing. */
	WAITER_ASKS,
	/* A thread of the program, which cancels the cell when it was submitted. */
	WAITER_CANCELS,
	/* Or an epoll instance, with a thread that waits for it. */
	WAITER_LEVEL,
	WAITER_EDGE,
};

/* What a task does when it is told. */
enum waiter_does {
	WAITER_READS,
	/* It is stopped: it waits no more. A watcher stays in the queue. */
	WAITER_STOPS,
	WAITER_DIES,
};

/**
 * struct waiter - a task that waits for events
 * @kind: how
 * @does: see &enum waiter_does
 * @calls: a reader ends after so many calls; 0: it goes on
 * @events: of epoll; 0: EPOLLIN
 * @thread: it is a kernel thread, which polls for a program
 */
struct waiter {
	enum waiter_kind kind;
	enum waiter_does does;
	unsigned int calls;
	__poll_t events;
	bool thread;
};

/**
 * struct device_scene - a situation
 * @name: of it, for people
 * @waiters: the tasks that wait
 * @ops: how many operations are made: each sequence of these
 * @from: which operations: a bit for each
 * @clock: of the file
 * @cells: it has a cell, which is armed for so many ms after the beginning; 0: none
 * @crowd: so many timers have later deadlines when the first one is due. It takes several slices
 *	to move them
 * @faults: so many copies find no memory
 * @postponed: so many alarms are postponed
 * @acts: the file acts; its timer has a second stage
 * @debts: each action takes a slice, and its agent waits for a debt before every second slice
 * @late: the file is set up by an operation; the first waiter's buffer is too short then
 */
struct device_scene {
	const char *name;
	struct waiter waiters[DEVICE_WAITERS];
	unsigned int ops;
	unsigned int from;
	u32 clock;
	unsigned int cells;
	unsigned int crowd;
	unsigned int faults;
	unsigned int postponed;
	bool acts;
	bool debts;
	bool late;
};

/**
 * struct device_op - an operation
 * @name: of it, for people
 * @make: it
 * @in: which scenes have it
 */
struct device_op {
	const char *name;
	void (*make)(void);
	unsigned int in;
};

enum {
	OPS_TIMER	= 1,
	OPS_CELL	= 2,
	OPS_SIGNAL	= 4,
	OPS_SETUP	= 8,
	OPS_VIRTUAL	= 16,
	OPS_SUBMIT	= 32,
	OPS_ACT		= 64,
	OPS_CHOOSE	= 128,
	OPS_LEASE	= 256,
};

extern const struct device_scene device_scenes[];
extern const unsigned int device_scene_count;
extern const struct device_op device_ops[];
extern const unsigned int device_op_count;

/* A run: begin it, let tasks run in between, look at it while all sleep, and end it. */
void device_begin(const struct device_scene *scene, const unsigned int ops[DEVICE_OPS]);
void device_rest(void);
void device_end(void);

/* The clock goes on to when the next alarm goes off; is there one? */
bool device_has_alarm(void);
void device_alarm(int number);

/* It is stopped, as by SIGSTOP. */
bool device_stopped(int number);

/* The name of a fiber. */
const char *device_who(int number);

#endif /* _DEVICE_H */
