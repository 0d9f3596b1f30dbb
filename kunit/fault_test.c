// SPDX-License-Identifier: GPL-2.0-only
/*
 * Injected faults: each allocation of a call fails in turn. Making a wheel succeeds
 * or leaves nothing behind, which kmemleak and unloading the module tell; nothing
 * that is done with a timer needs memory.
 */
#include <kunit/test.h>
#include <linux/err.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/workqueue.h>

#include <linux/twheel.h>

#include "basics.h"

/* No call makes so many allocations. */
#define MOST	2000U
/* How often something else may fail instead, in all of them. */
#define AGAIN	10U

/* And where that goes on, so often all of it is tried anew. */
#define SWEEPS	4U

#ifdef CONFIG_FAULT_INJECTION
/* Let this task's @n-th allocation from now on fail. */
static void fail_nth(unsigned int n)
{
	WRITE_ONCE(current->fail_nth, n);
}

/* None any more. Did one? */
static bool failed(void)
{
	return !xchg(&current->fail_nth, 0);
}
#else
static void fail_nth(unsigned int n)
{
}

static bool failed(void)
{
	return false;
}
#endif

/* Where allocations that may sleep never fail, there is nothing to be seen. */
static void need_faults(struct kunit *test)
{
	void *memory;

	fail_nth(1);
	memory = kmalloc(8, GFP_KERNEL);
	if (!failed() || memory)
		kunit_skip(test, "no faults are injected");
	kfree(memory);
}

/* Make a wheel with ever later allocations failing. Returns how often it failed. */
static unsigned int sweep(struct kunit *test,
			  const struct twheel_config *config)
{
	unsigned int n, again = 0, refused = 0;
	struct twheel *wheel;
	bool injected = true;

	for (n = 1; injected && n < MOST; n++) {
		fail_nth(n);
		wheel = twheel_create(config);
		injected = failed();
		if (!IS_ERR(wheel)) {
			KUNIT_EXPECT_EQ(test, twheel_destroy(wheel), 0);
			/*
			 * Debug objects take memory now and then, and do without. That
			 * was then what failed instead of ours: once more, when they
			 * have got it. Else it is them whom each try would hit.
			 */
			if (injected && again++ < AGAIN) {
				wheel = twheel_create(config);
				KUNIT_ASSERT_FALSE(test, IS_ERR(wheel));
				KUNIT_EXPECT_EQ(test, twheel_destroy(wheel), 0);
				n--;
			}
			continue;
		}
		KUNIT_EXPECT_TRUE(test, injected);
		KUNIT_EXPECT_EQ(test, PTR_ERR(wheel), (long)-ENOMEM);
		refused++;
	}
	KUNIT_EXPECT_FALSE(test, injected);
	return refused;
}

/* So many allocations are ours, or more: each has been seen to fail. */
static void expect_refusals(struct kunit *test,
			    const struct twheel_config *config,
			    unsigned int wanted)
{
	unsigned int i, most = 0;

	for (i = 0; i < SWEEPS && most < wanted; i++)
		most = max(most, sweep(test, config));
	KUNIT_EXPECT_GE_MSG(test, most, wanted,
			    "%s: clock %d, context %d%s%s%s",
			    config->name ?: "(no name)", config->clock,
			    config->context, config->percpu ? ", percpu" : "",
			    config->max_pending ? ", max_pending" : "",
			    config->workqueue ? ", workqueue" : "");
}

static void make_wheels(struct kunit *test, const struct twheel_config *configs,
			unsigned int n)
{
	unsigned int i, bases;

	need_faults(test);
	for (i = 0; i < n; i++) {
		bases = configs[i].percpu ? num_possible_cpus() : 1;
		if (configs[i].clock == TWHEEL_CLOCK_REALTIME)
			bases *= 2;
		/* The wheel, its name, its bases. */
		expect_refusals(test, &configs[i],
				bases + (configs[i].name ? 2 : 1));
	}
}

static void makes_wheels(struct kunit *test)
{
	char name[] = "not a constant";
	const struct twheel_config configs[] = {
		{ },
		{ .name = name },
		{ .name = name, .clock = TWHEEL_CLOCK_REALTIME },
		{ .name = name, .clock = TWHEEL_CLOCK_VIRTUAL, .slots = 1024 },
		{ .name = name, .context = TWHEEL_CONTEXT_HARDIRQ,
		  .max_pending = 10 },
		{ .name = name, .share = 50 },
	};

	make_wheels(test, configs, ARRAY_SIZE(configs));
}

static void makes_percpu_wheels(struct kunit *test)
{
	char name[] = "not a constant";
	const struct twheel_config configs[] = {
		{ .name = name, .percpu = true, .max_pending = 10 },
		{ .name = name, .percpu = true,
		  .clock = TWHEEL_CLOCK_REALTIME },
	};

	make_wheels(test, configs, ARRAY_SIZE(configs));
}

static void makes_workqueues(struct kunit *test)
{
	struct twheel_config config = {
		.name = "kunit-fault", .context = TWHEEL_CONTEXT_WORK,
	};

	need_faults(test);
	expect_refusals(test, &config, 3);
	config.percpu = true;
	expect_refusals(test, &config, 3);
	config.workqueue = system_long_wq;
	expect_refusals(test, &config, 2);
}

static void nothing(struct twheel_timer *timer)
{
}

/* So many timers, and so many of the calls may be what debug objects take memory for. */
#define TIMERS		64U
#define NOT_OURS	(TIMERS / 4)

/* Do something with each timer, its first allocation failing. */
#define EACH(test, wanted, call)					\
do {									\
	unsigned int __failed = 0, __i;					\
									\
	for (__i = 0; __i < TIMERS; __i++) {				\
		struct twheel_timer *timer = &timers[__i];		\
		int __ret;						\
									\
		fail_nth(1);						\
		__ret = (call);						\
		__failed += failed();					\
		KUNIT_EXPECT_EQ_MSG(test, __ret, wanted, #call);	\
		(void)timer;						\
	}								\
	KUNIT_EXPECT_LE_MSG(test, __failed, NOT_OURS, #call);		\
} while (0)

static void use_timers(struct kunit *test, struct twheel *wheel, bool limited)
{
	struct twheel_timer *timers, extra;
	unsigned int i;

	timers = kunit_kcalloc(test, TIMERS, sizeof(*timers), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, timers);
	/* Here debug objects, where there are any, take what they need. */
	for (i = 0; i < TIMERS; i++)
		twheel_timer_init(&timers[i], wheel, nothing);
	EACH(test, 0, twheel_arm(timer, HOUR));
	EACH(test, 1, twheel_modify(timer, 2 * MS));
	EACH(test, 1, twheel_extend(timer, HOUR));
	EACH(test, 1, twheel_arm_range(timer, MS, MS));
	if (limited) {
		twheel_timer_init_on_stack(&extra, wheel, nothing);
		EACH(test, -ENOSPC, twheel_arm(&extra, HOUR));
		twheel_timer_destroy_on_stack(&extra);
	}
	EACH(test, 1, twheel_cancel(timer));
	EACH(test, 0, twheel_arm_at(timer, DAY));
	EACH(test, 1, twheel_cancel_sync(timer));
	EACH(test, 0, twheel_arm(timer, HOUR));
	EACH(test, 1, twheel_shutdown_sync(timer));
	EACH(test, -ESHUTDOWN, twheel_arm(timer, HOUR));
	KUNIT_EXPECT_EQ(test, pending(wheel), 0ULL);
}

static void timers_need_no_memory(struct kunit *test)
{
	struct twheel_config config = {
		.name = "kunit-fault", .clock = TWHEEL_CLOCK_VIRTUAL,
	};
	struct twheel *wheel;
	unsigned int i;

	need_faults(test);
	for (i = 0; i < 3; i++) {
		config.max_pending = i == 1 ? TIMERS : 0;
		config.percpu = i == 2;
		wheel = twheel_create(&config);
		KUNIT_ASSERT_FALSE(test, IS_ERR(wheel));
		use_timers(test, wheel, config.max_pending);
		twheel_destroy(wheel);
	}
}

static struct kunit_case fault_cases[] = {
	KUNIT_CASE(makes_wheels),
	KUNIT_CASE(makes_percpu_wheels),
	KUNIT_CASE(makes_workqueues),
	KUNIT_CASE(timers_need_no_memory),
	{ }
};

struct kunit_suite twheel_fault_suite = {
	.name		= "twheel_fault",
	.test_cases	= fault_cases,
};
