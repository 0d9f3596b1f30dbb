/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Helpers of tests on real clocks and several CPUs: timers that note when and where
 * they fire, crews of threads, and waiting with a limit.
 *
 * No test checks how late a timer is, because the machine may be busy. Tests check that
 * timers are never early, that they fire exactly once, and that counters agree.
 */
#ifndef _TWHEEL_KUNIT_SMP_H
#define _TWHEEL_KUNIT_SMP_H

#include <linux/completion.h>
#include <linux/cpumask.h>

#include <linux/twheel_many.h>

#include "basics.h"

/* How long a race goes on at most, on a machine that is too slow for all its rounds. */
#define RACE_TIME	(3 * HZ)

/* After a test: its wheels end, and its task may run on every CPU again. */
void smp_test_exit(struct kunit *test);

#define for_each_callback_context(context)					\
	for ((context) = TWHEEL_CONTEXT_SOFTIRQ;			\
	     (context) <= TWHEEL_CONTEXT_WORK; (context)++)

/* The first CPU that is online, and the last. */
static inline int cpu_first(void)
{
	return cpumask_first(cpu_online_mask);
}

/* The online CPU after that one; after the last one, the first. */
static inline int cpu_after(int cpu)
{
	cpu = cpumask_next(cpu, cpu_online_mask);
	return cpu < nr_cpu_ids ? cpu : cpu_first();
}

static inline int cpu_last(void)
{
	return cpumask_last(cpu_online_mask);
}

/* Call it before anything is made: with one CPU it does not return. */
static inline void test_needs_two_cpus(struct kunit *test)
{
	if (cpu_first() == cpu_last())
		kunit_skip(test, "needs two CPUs");
}

/**
 * struct oneshot - a timer that has to fire once
 * @timer: the timer
 * @deadline: the earliest time at which it may fire
 * @fired_at: when it last fired
 * @fired_on: the CPU on which it last fired
 * @fired: how often it has fired
 */
struct oneshot {
	struct twheel_timer timer;
	u64 deadline;
	u64 fired_at;
	int fired_on;
	atomic_t fired;
};

/* Delays from now, also on the wall clock, which takes deadlines only. */
int arm_after(struct twheel_timer *timer, u64 delay);
int arm_on_after(struct twheel_timer *timer, int cpu, u64 delay);
int arm_range_after(struct twheel_timer *timer, u64 delay, u64 slack);
int modify_after(struct twheel_timer *timer, u64 delay);
int extend_after(struct twheel_timer *timer, u64 delay);

/* The callback of a oneshot. */
void oneshot_fire(struct twheel_timer *timer);
/* Arm it for a deadline so far from now. */
void oneshot_arm(struct oneshot *oneshot, u64 delay);
struct oneshot *oneshots_new(struct kunit *test, struct twheel *wheel,
			     unsigned int n);
/* Wait until all have fired; false if one does not. */
bool oneshots_fired(struct oneshot *oneshots, unsigned int n);
/* Wait for all, and check that each fires once and none early. */
void oneshots_expect(struct kunit *test, struct oneshot *oneshots, unsigned int n);

/* Threads that all run the same function. */
struct crew {
	struct completion done;
	atomic_t left;
	int (*work)(void *arg, unsigned int number);
	void *arg;
};

/* Start @per_cpu threads on every CPU, or as many that are bound to none. Returns their number. */
unsigned int crew_start(struct kunit *test, struct crew *crew, unsigned int per_cpu, bool bound,
			int (*work)(void *arg, unsigned int number), void *arg);
void crew_wait(struct kunit *test, struct crew *crew);

/*
 * In a callback: wait for @release. Returns false if it gave up, before the kernel takes this
 * for a lock-up.
 */
bool callback_hold(const bool *release);

/* Call @work on a CPU, in process context; returns what it returned. */
int cpu_run(int cpu, int (*work)(void *arg), void *arg);

/* Set the wall clock: to an instant, or by so much. */
void wall_set(struct kunit *test, u64 ns);
void wall_step(struct kunit *test, s64 by);
/* Before and after a test that does so. The clock is put right. */
int clock_set_test_init(struct kunit *test);
void clock_set_test_exit(struct kunit *test);

/* More items than any hold of the lock serves, and not a multiple of that. */
#define MANY		400
/* What no result of an item can be. */
#define UNTOUCHED	4711

/* An array of the timers of @shots, all @n untouched. */
struct twheel_item *many_items(struct kunit *test, struct oneshot *shots,
			       unsigned int n);
/* How many items have this result. */
unsigned int items_results(const struct twheel_item *items, unsigned int n, int result);

#endif /* _TWHEEL_KUNIT_SMP_H */
