/* SPDX-License-Identifier: GPL-2.0-only */
/* A machine of several CPUs, for suites: see machine.c. */
#ifndef _MACHINE_H
#define _MACHINE_H

/* Run a function as a task, with all that it starts, until it returns. */
void machine_run(void (*function)(void), unsigned int seed);

/* A task that may not be left. */
bool machine_atomic(const struct task_struct *task);

/* No task can run on this CPU. */
bool machine_is_idle(int cpu);

/* Timers of a CPU that goes, or comes: queue.c. */
void queue_leave(int cpu);
void queue_forget(int cpu);

/* A fault if there is a queued timer in this memory, which is freed: queue.c. */
void queue_check_freed(const char *memory, size_t size);

/* How many allocations are not freed: memory.c. */
extern long memory_held;

/*
 * Of two allocations of this size, the second one gets the higher address; or the lower one, if
 * @falls. Locks may be taken in that order. @other: what the second one will get.
 */
struct memory_pair {
	size_t size;
	bool falls;
	void *other;
};

extern struct memory_pair memory_pair;

/* A CPU that has gone does what it may not leave, and then nothing. */
void machine_leave(int cpu);

#endif /* _MACHINE_H */
