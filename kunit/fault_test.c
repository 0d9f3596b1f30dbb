// SPDX-License-Identifier: GPL-2.0-only
/*
 * Fault injection: each allocation of a call fails in turn. Making a wheel succeeds or
 * leaves nothing behind; kmemleak and unloading the module show that. No operation on a
 * timer needs memory.
 */
#include <kunit/test.h>
#include <linux/err.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/workqueue.h>

#include <linux/twheel.h>

#include "../module/core/base.h"
#include "basics.h"

/* More allocations than any call makes. */
#define ALLOCATIONS_MAX	2000U

#ifdef CONFIG_FAULT_INJECTION
/* Let the @n-th allocation of this task from now fail. */
static void fault_set(unsigned int n)
{
	WRITE_ONCE(current->fail_nth, n);
}

/* Inject no more; returns whether one was injected. */
static bool fault_taken(void)
{
	return !xchg(&current->fail_nth, 0);
}
#else
static void fault_set(unsigned int n)
{
}

static bool fault_taken(void)
{
	return false;
}
#endif

/* Skip the test on kernels that inject no faults into allocations that may sleep. */
static void fault_need(struct kunit *test)
{
	void *memory;

	fault_set(1);
	memory = kmalloc(8, GFP_KERNEL);
	if (!fault_taken() || memory)
		kunit_skip(test, "no faults are injected");
	kfree(memory);
}

/* Make a wheel while the @n-th allocation fails; 0: none does. Returns whether it was refused. */
static bool wheel_is_refused(struct kunit *test, const struct twheel_config *config,
			     unsigned int n, bool *injected)
{
	struct twheel *wheel;

	fault_set(n);
	wheel = twheel_create(config);
	*injected = fault_taken() && n;
	if (IS_ERR(wheel)) {
		KUNIT_EXPECT_TRUE(test, *injected);
		KUNIT_EXPECT_EQ(test, PTR_ERR(wheel), (long)-ENOMEM);
		return true;
	}
	if (config->context == TWHEEL_CONTEXT_WORK)
		KUNIT_EXPECT_NOT_NULL(test, tw_instance_base(wheel)->clock.workqueue);
	KUNIT_EXPECT_EQ(test, twheel_destroy(wheel), 0);
	return false;
}

/* Check that at least @wanted allocations are ours, and that each is refused cleanly. */
static void wheel_expect_refusals(struct kunit *test,
				  const struct twheel_config *config,
				  unsigned int wanted)
{
	unsigned int n, refused = 0;
	bool injected = true;

	for (n = 1; injected && n < ALLOCATIONS_MAX; n++) {
		if (wheel_is_refused(test, config, n, &injected)) {
			refused++;
		} else if (injected) {
			/*
			 * Some allocations are not needed: those of kmemleak and of debugfs, or
			 * now and then one of debug objects, where ours would be. These get
			 * theirs by a wheel without a fault, and then the number is ours.
			 */
			wheel_is_refused(test, config, 0, &injected);
			refused += wheel_is_refused(test, config, n, &injected);
		}
	}
	KUNIT_EXPECT_FALSE(test, injected);
	KUNIT_EXPECT_GE_MSG(test, refused, wanted,
			    "%s: clock %d, context %d%s%s%s",
			    config->name ?: "(no name)", config->clock,
			    config->context, config->percpu ? ", percpu" : "",
			    config->max_pending ? ", max_pending" : "",
			    config->workqueue ? ", workqueue" : "");
}

/* The wheel, its name, its bases; a workqueue. */
static void makes_wheels(struct kunit *test)
{
	char name[] = "not a constant";
	const struct twheel_config configs[] = {
		{ },
		{ .name = name },
		{ .name = name, .clock = TWHEEL_CLOCK_REALTIME },
		{ .name = name, .clock = TWHEEL_CLOCK_VIRTUAL, .slots = 1024 },
		{ .name = name, .max_pending = 10 },
		{ .name = name, .percpu = true, .max_pending = 10 },
		{ .name = name, .percpu = true, .clock = TWHEEL_CLOCK_REALTIME },
		{ .name = "kunit-fault", .context = TWHEEL_CONTEXT_WORK },
		{ .name = "kunit-fault", .context = TWHEEL_CONTEXT_WORK, .percpu = true },
		{ .name = "kunit-fault", .context = TWHEEL_CONTEXT_WORK, .percpu = true,
		  .workqueue = system_long_wq },
	};
	unsigned int i, wanted;

	fault_need(test);
	for (i = 0; i < ARRAY_SIZE(configs); i++) {
		const struct twheel_config *config = &configs[i];

		wanted = config->percpu ? num_possible_cpus() : 1;
		/* Memory of several pages has another allocator to fall back on. */
		if (sizeof(struct twheel_base) > PAGE_SIZE)
			wanted = 0;
		wanted += config->name ? 2 : 1;
		if (config->context == TWHEEL_CONTEXT_WORK)
			wanted = config->workqueue ? 2 : 3;
		wheel_expect_refusals(test, config, wanted);
	}
}

static void timer_nothing(struct twheel_timer *timer)
{
}

/* Number of timers; debug objects may allocate in so many of the calls. */
#define NR_TIMERS		64U
#define NOT_OURS_MAX	(NR_TIMERS / 4)

/* Make a call on each timer while the first allocation in it fails. */
#define EACH_TIMER(test, wanted, call)					\
do {									\
	unsigned int __failed = 0, __i;					\
									\
	for (__i = 0; __i < NR_TIMERS; __i++) {				\
		struct twheel_timer *timer = &timers[__i];		\
		int __ret;						\
									\
		fault_set(1);						\
		__ret = (call);						\
		__failed += fault_taken();					\
		KUNIT_EXPECT_EQ_MSG(test, __ret, wanted, #call);	\
		(void)timer;						\
	}								\
	KUNIT_EXPECT_LE_MSG(test, __failed, NOT_OURS_MAX, #call);		\
} while (0)

static void timers_use(struct kunit *test, struct twheel *wheel, bool limited)
{
	struct twheel_timer *timers, extra;
	unsigned int i;

	timers = test_memory(test, NR_TIMERS * sizeof(*timers));
	/* Debug objects allocate here what they need. */
	for (i = 0; i < NR_TIMERS; i++)
		twheel_timer_init(&timers[i], wheel, timer_nothing);
	EACH_TIMER(test, 0, twheel_arm(timer, HOUR));
	EACH_TIMER(test, 1, twheel_modify(timer, 2 * MS));
	EACH_TIMER(test, 1, twheel_extend(timer, HOUR));
	EACH_TIMER(test, 1, twheel_arm_range(timer, MS, MS));
	if (limited) {
		twheel_timer_init_on_stack(&extra, wheel, timer_nothing);
		EACH_TIMER(test, -ENOSPC, twheel_arm(&extra, HOUR));
		twheel_timer_destroy_on_stack(&extra);
	}
	EACH_TIMER(test, 1, twheel_cancel(timer));
	EACH_TIMER(test, 0, twheel_arm_at(timer, DAY));
	EACH_TIMER(test, 1, twheel_cancel_sync(timer));
	EACH_TIMER(test, 0, twheel_arm(timer, HOUR));
	EACH_TIMER(test, 1, twheel_shutdown_sync(timer));
	EACH_TIMER(test, -ESHUTDOWN, twheel_arm(timer, HOUR));
	KUNIT_EXPECT_EQ(test, pending_count(wheel), 0ULL);
}

static void timers_need_no_memory(struct kunit *test)
{
	struct twheel_config config = {
		.name = "kunit-fault", .clock = TWHEEL_CLOCK_VIRTUAL,
	};
	struct twheel *wheel;
	unsigned int i;

	fault_need(test);
	for (i = 0; i < 3; i++) {
		config.max_pending = i == 1 ? NR_TIMERS : 0;
		config.percpu = i == 2;
		wheel = wheel_new(test, &config);
		timers_use(test, wheel, config.max_pending);
	}
}

static struct kunit_case fault_cases[] = {
	KUNIT_CASE(makes_wheels),
	KUNIT_CASE(timers_need_no_memory),
	{ }
};

static struct kunit_suite twheel_fault_suite = {
	.name		= "twheel_fault",
	.exit		= wheels_end,
	.test_cases	= fault_cases,
};

kunit_test_suite(twheel_fault_suite);
