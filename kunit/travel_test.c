// SPDX-License-Identifier: GPL-2.0-only
/* Timers of per-CPU wheels that have no CPU yet, and those that go from CPU to CPU. */
#include <linux/atomic.h>
#include <linux/cpumask.h>
#include <linux/errno.h>
#include <linux/smp.h>

#include <linux/twheel_many.h>

#include "../module/core/base.h"
#include "smp.h"

/* Of a wheel that is per CPU: wherever a timer is initialised, it is armed here. */
static int first_arm(void *arg)
{
	return twheel_arm(arg, HOUR);
}

static void fresh_timer_is_on_any_cpu(struct kunit *test)
{
	const struct twheel_config config = { .name = "travel", .percpu = true };
	struct twheel *wheel = wheel_new(test, &config);
	struct oneshot *shots = oneshots_new(test, wheel, 3);
	struct twheel_item item = { .timer = &shots[1].timer };
	int cpu;

	KUNIT_EXPECT_PTR_EQ(test, twheel_of(&shots[0].timer), wheel);
	for_each_online_cpu(cpu) {
		twheel_timer_init(&shots[0].timer, wheel, oneshot_fire);
		KUNIT_EXPECT_EQ(test, twheel_cancel(&shots[0].timer), 0);
		KUNIT_EXPECT_EQ(test, twheel_modify(&shots[0].timer, MS), -ENOENT);
		KUNIT_EXPECT_EQ(test, twheel_extend(&shots[0].timer, MS), -ENOENT);
		KUNIT_EXPECT_EQ(test, cpu_run(cpu, first_arm, &shots[0].timer), 0);
		KUNIT_EXPECT_EQ(test, shots[0].timer.base->clock.cpu, cpu);
		KUNIT_EXPECT_EQ(test, twheel_shutdown_sync(&shots[0].timer), 1);
	}
	KUNIT_EXPECT_EQ(test, twheel_cancel_many(wheel, &item, 1), 1);
	KUNIT_EXPECT_EQ(test, item.result, 0);
	item.deadline_ns = twheel_now(wheel) + HOUR;
	KUNIT_EXPECT_EQ(test, twheel_arm_many(wheel, &item, 1), 1);
	KUNIT_EXPECT_EQ(test, item.result, 0);
	/* What is shut down before it was ever armed is never armed. */
	KUNIT_EXPECT_EQ(test, twheel_shutdown_sync(&shots[2].timer), 0);
	KUNIT_EXPECT_EQ(test, twheel_arm(&shots[2].timer, MS), -ESHUTDOWN);
	KUNIT_EXPECT_EQ(test, twheel_stop(wheel, NULL, NULL), 1);
	twheel_destroy(wheel);
}

/* All CPUs arm, cancel and shut down the same timers, for the first time. */
#define FRESH	256

struct fresh {
	struct oneshot *shots;
	atomic_t ready, armed, cancelled;
	unsigned int threads;
};

static int fresh_thread(void *arg, unsigned int number)
{
	struct fresh *fresh = arg;
	unsigned long end = jiffies + RACE_TIME;
	unsigned int i;

	atomic_inc(&fresh->ready);
	while (atomic_read(&fresh->ready) < fresh->threads &&
	       time_before(jiffies, end))
		usleep_range(20, 50);
	for (i = 0; i < FRESH; i++) {
		struct twheel_timer *t = &fresh->shots[i].timer;

		if (number % 4 == 3 && i % 2)
			atomic_add(twheel_shutdown_sync(t), &fresh->cancelled);
		else
			atomic_add(!twheel_arm(t, i % 3 ? DAY : 0), &fresh->armed);
	}
	return 0;
}

static void first_arms_race(struct kunit *test)
{
	const struct twheel_config config = {
		.name = "travel", .percpu = true, .tick_ns = 100 * US,
	};
	unsigned long end = jiffies + RACE_TIME;
	unsigned int round, i, fired = 0;
	struct twheel_stats stats;
	struct crew crew;
	long unfired;

	/* At least one; to start many threads takes long on a busy machine. */
	for (round = 0; round < 20 && (!round || time_before(jiffies, end));
	     round++) {
		struct twheel *wheel = wheel_new(test, &config);
		struct fresh fresh = {
			.shots = oneshots_new(test, wheel, FRESH),
			.threads = 4 * num_online_cpus(),
		};

		crew_start(test, &crew, 4, fresh_thread, &fresh);
		crew_wait(test, &crew);
		unfired = twheel_stop(wheel, NULL, NULL);
		for (i = 0, fired = 0; i < FRESH; i++)
			fired += atomic_read(&fresh.shots[i].fired);
		twheel_get_stats(wheel, &stats);
		KUNIT_EXPECT_EQ(test, stats.armed, atomic_read(&fresh.armed));
		KUNIT_EXPECT_EQ(test, stats.cancelled,
				atomic_read(&fresh.cancelled));
		KUNIT_EXPECT_EQ(test, stats.fired, fired);
		KUNIT_EXPECT_EQ(test, stats.armed, stats.fired + stats.cancelled +
				unfired);
		twheel_destroy(wheel);
	}
}

/* A timer that its own callback sends to the next CPU, as a watchdog does. */
struct traveller {
	struct twheel_timer timer;
	unsigned int stops;
	unsigned int refused;
	atomic_t inside;
	bool slow;
};

static void traveller_fire(struct twheel_timer *timer)
{
	struct traveller *t = container_of(timer, struct traveller, timer);
	int cpu = cpumask_next(raw_smp_processor_id(), cpu_online_mask);
	int ret;

	if (cpu >= nr_cpu_ids)
		cpu = cpumask_first(cpu_online_mask);
	atomic_inc(&t->inside);
	t->stops++;
	if (t->slow)
		spin_ns(20 * US);
	atomic_dec(&t->inside);
	/* The last thing: the next callback may begin at once. */
	ret = twheel_arm_on(timer, cpu, 100 * US);
	if (ret && ret != -ESHUTDOWN)
		t->refused++;
}

static void timer_travels(struct kunit *test)
{
	static const enum twheel_context contexts[] = {
		TWHEEL_CONTEXT_SOFTIRQ, TWHEEL_CONTEXT_HARDIRQ,
		TWHEEL_CONTEXT_WORK,
	};
	struct traveller *t = kunit_kzalloc(test, sizeof(*t), GFP_KERNEL);
	unsigned int i, round;

	KUNIT_ASSERT_NOT_NULL(test, t);
	for (i = 0; i < ARRAY_SIZE(contexts); i++) {
		const struct twheel_config config = {
			.name = "travel", .percpu = true, .tick_ns = 100 * US,
			.context = contexts[i],
		};
		struct twheel *wheel = wheel_new(test, &config);

		for (round = 0; round < 20; round++) {
			t->stops = 0;
			t->slow = round % 2;
			twheel_timer_init(&t->timer, wheel, traveller_fire);
			KUNIT_EXPECT_EQ(test, twheel_arm(&t->timer, 0), 0);
			KUNIT_EXPECT_TRUE(test, await(READ_ONCE(t->stops) >= 20));
			KUNIT_EXPECT_GE(test, twheel_shutdown_sync(&t->timer), 0);
			KUNIT_EXPECT_EQ(test, atomic_read(&t->inside), 0);
			KUNIT_EXPECT_FALSE(test, twheel_pending(&t->timer));
		}
		KUNIT_EXPECT_EQ_MSG(test, t->refused, 0, "context %u", i);
		KUNIT_EXPECT_EQ(test, pending_count(wheel), 0);
		twheel_destroy(wheel);
	}
}

/* It waits for itself nowhere: neither before it has sent its timer on, nor after. */
static void sync_after_leaving(struct twheel_timer *timer)
{
	struct traveller *t = container_of(timer, struct traveller, timer);
	int cpu = cpumask_next(raw_smp_processor_id(), cpu_online_mask);

	if (cpu >= nr_cpu_ids)
		cpu = cpumask_first(cpu_online_mask);
	t->refused += twheel_cancel_sync(timer) != -EDEADLK;
	t->refused += twheel_arm_on(timer, cpu, HOUR) != 0;
	t->refused += twheel_cancel_sync(timer) != -EDEADLK;
	t->refused += !twheel_pending(timer);
	t->stops++;
}

static void traveller_does_not_wait_for_itself(struct kunit *test)
{
	const struct twheel_config config = { .name = "travel", .percpu = true };
	struct traveller *t = kunit_kzalloc(test, sizeof(*t), GFP_KERNEL);
	struct twheel *wheel = wheel_new(test, &config);

	KUNIT_ASSERT_NOT_NULL(test, t);
	twheel_timer_init(&t->timer, wheel, sync_after_leaving);
	KUNIT_EXPECT_EQ(test, twheel_arm(&t->timer, 0), 0);
	KUNIT_EXPECT_TRUE(test, await(READ_ONCE(t->stops)));
	KUNIT_EXPECT_EQ(test, twheel_cancel_sync(&t->timer), 1);
	KUNIT_EXPECT_EQ(test, t->refused, 0);
	twheel_destroy(wheel);
}

static struct kunit_case travel_cases[] = {
	KUNIT_CASE(fresh_timer_is_on_any_cpu),
	KUNIT_CASE(first_arms_race),
	KUNIT_CASE(timer_travels),
	KUNIT_CASE(traveller_does_not_wait_for_itself),
	{ }
};

struct kunit_suite twheel_travel_suite = {
	.name		= "twheel_travel",
	.test_cases	= travel_cases,
};
