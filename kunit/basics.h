/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Shared by tests on virtual clocks and tests on real ones. Inline, because these are
 * two modules.
 *
 * Suites that include only this, probe.h or life.h need nothing of the kernel's. A program runs
 * them as well, on the process wheels of tools/lib: make library.
 */
#ifndef _TWHEEL_KUNIT_BASICS_H
#define _TWHEEL_KUNIT_BASICS_H

#ifndef PROCESS_WHEELS
#include <kunit/test.h>
#include <linux/delay.h>
#include <linux/err.h>
#include <linux/jiffies.h>
#include <linux/math64.h>
#include <linux/processor.h>
#include <linux/sched/task_stack.h>
#include <linux/slab.h>
#include <linux/time64.h>
#include <linux/timekeeping.h>
#include <linux/types.h>

#include <linux/twheel.h>
#include <linux/twheel_idle.h>
#include <linux/twheel_periodic.h>
#include <linux/twheel_state.h>
#include <linux/twheel_stats.h>
#include <linux/twheel_virtual.h>

/* How long a test waits for an event before it fails. */
#define PATIENCE	(60 * HZ)

/* Wait until @condition is true; false if it does not become so. */
#define await(condition)						\
({									\
	unsigned long __end = jiffies + PATIENCE;			\
	bool __is;							\
									\
	while (!(__is = (condition)) && time_before(jiffies, __end))	\
		usleep_range(200, 1000);				\
	__is;								\
})

/*
 * Spin, for callbacks that take a while. It reads the clock: udelay() goes by what the
 * kernel measured at boot, which is next to nothing on a busy machine that emulates CPUs.
 */
static inline void spin_ns(u64 ns)
{
	u64 end = ktime_get_ns() + ns;

	while (ktime_get_ns() < end)
		cpu_relax();
}

static inline u64 pass_count(struct twheel *wheel)
{
	struct twheel_stats stats;

	twheel_get_stats(wheel, &stats);
	return stats.passes;
}
#else
#include "process_wheel.h"
#endif

#define US	((u64)NSEC_PER_USEC)
#define MS	((u64)NSEC_PER_MSEC)
#define HOUR	(3600ULL * NSEC_PER_SEC)
#define DAY	(24 * HOUR)

/* The next pseudo-random number; every run has the same ones. */
static inline u32 test_random(u32 *seed)
{
	/* xorshift */
	*seed ^= *seed << 13;
	*seed ^= *seed >> 17;
	*seed ^= *seed << 5;
	return *seed;
}

static inline u64 pending_count(struct twheel *wheel)
{
	struct twheel_stats stats;

	twheel_get_stats(wheel, &stats);
	return stats.pending;
}

/* Memory of zeros, until the test has ended. */
static inline void *test_memory(struct kunit *test, size_t size)
{
	void *memory = kunit_kzalloc(test, size, GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, memory);
	return memory;
}

/* The wheels of a test. The first is the one that its suite made, if that makes any. */
struct test_wheels {
	unsigned int count;
	struct twheel *wheels[64];
};

/* A wheel, until the test has ended. No timer on the stack may be pending then. */
static inline struct twheel *wheel_new(struct kunit *test, const struct twheel_config *config)
{
	struct test_wheels *all = test->priv ?: test_memory(test, sizeof(*all));
	struct twheel *wheel = twheel_create(config);

	KUNIT_ASSERT_FALSE(test, IS_ERR(wheel));
	test->priv = all;
	all->wheels[all->count++] = wheel;
	KUNIT_ASSERT_LT(test, all->count, ARRAY_SIZE(all->wheels));
	return wheel;
}

#define wheel_with(test, ...)	wheel_new(test, &(struct twheel_config) { __VA_ARGS__ })

static inline struct twheel *wheel_of_test(struct kunit *test)
{
	return ((struct test_wheels *)test->priv)->wheels[0];
}

/* It ends before the test does. */
static inline int wheel_end(struct kunit *test, struct twheel *wheel)
{
	struct test_wheels *all = test->priv;
	unsigned int i;

	for (i = 0; all->wheels[i] != wheel; i++)
		;
	all->wheels[i] = all->wheels[--all->count];
	return twheel_destroy(wheel);
}

/* After a test, while there still is the memory of its timers. */
static inline void wheels_end(struct kunit *test)
{
	struct test_wheels *all = test->priv;

	while (all && all->count)
		twheel_destroy(all->wheels[--all->count]);
}

#endif /* _TWHEEL_KUNIT_BASICS_H */
