// SPDX-License-Identifier: GPL-2.0-only
/*
 * Timers of per-CPU wheels that have no CPU yet, and those that go from CPU to CPU. Also what
 * calls do and tell while a timer's callback runs.
 */
#include <linux/atomic.h>
#include <linux/cpumask.h>
#include <linux/errno.h>
#include <linux/sched.h>
#include <linux/smp.h>

#include <linux/twheel_many.h>
#include <linux/twheel_state.h>
#include <linux/twheel_stats.h>

#include "../module/core/base.h"
#include "smp.h"

/* Of a wheel that is per CPU: wherever a timer is initialised, it is armed here. */
static int first_arm(void *arg)
{
	return twheel_arm(arg, HOUR);
}

static void fresh_timer_is_on_any_cpu(struct kunit *test)
{
	struct twheel *wheel = wheel_with(test, .percpu = true);
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
	while (atomic_read(&fresh->ready) < fresh->threads && time_before(jiffies, end))
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
	unsigned long end = jiffies + RACE_TIME;
	unsigned int round, i, fired = 0;
	struct twheel_stats stats;
	struct crew crew;
	long unfired;

	/* At least one; to start many threads takes long on a busy machine. */
	for (round = 0; round < 20 && (!round || time_before(jiffies, end)); round++) {
		struct twheel *wheel = wheel_with(test, .percpu = true, .tick_ns = 100 * US);
		struct fresh fresh = {
			.shots = oneshots_new(test, wheel, FRESH),
			.threads = 4 * num_online_cpus(),
		};

		crew_start(test, &crew, 4, true, fresh_thread, &fresh);
		crew_wait(test, &crew);
		unfired = twheel_stop(wheel, NULL, NULL);
		for (i = 0, fired = 0; i < FRESH; i++)
			fired += atomic_read(&fresh.shots[i].fired);
		twheel_get_stats(wheel, &stats);
		KUNIT_EXPECT_EQ(test, stats.armed, atomic_read(&fresh.armed));
		KUNIT_EXPECT_EQ(test, stats.cancelled, atomic_read(&fresh.cancelled));
		KUNIT_EXPECT_EQ(test, stats.fired, fired);
		KUNIT_EXPECT_EQ(test, stats.armed, stats.fired + stats.cancelled + unfired);
	}
}

/* A wheel, and this task on one CPU beside another that the test needs. */
static struct twheel *travel_wheel_from_afar(struct kunit *test)
{
	test_needs_two_cpus(test);
	set_cpus_allowed_ptr(current, cpumask_of(cpu_first()));
	return wheel_with(test, .percpu = true);
}

/* A callback that runs on another CPU until it is released. */
struct held_callback {
	struct twheel_timer timer;
	bool running;
	bool release;
	bool gave_up;
	int fired_on;
	unsigned int fired;
};

static void held_callback_run(struct twheel_timer *timer)
{
	struct held_callback *held = container_of(timer, struct held_callback, timer);

	held->fired++;
	held->fired_on = raw_smp_processor_id();
	WRITE_ONCE(held->running, true);
	if (!callback_hold(&held->release))
		WRITE_ONCE(held->gave_up, true);
	/* After all else: who waits for it may free @held. */
	smp_store_release(&held->running, false);
}

/* What an interrupt on the CPU of the callback does. */
struct interruption {
	struct twheel_timer *timer;
	int cpu;
	int ret;
};

static void interruption_arms(void *arg)
{
	struct interruption *in = arg;

	in->ret = twheel_arm_on(in->timer, in->cpu, HOUR);
}

static struct held_callback *held_callback_begin(struct kunit *test, struct twheel *wheel,
						 int cpu)
{
	struct held_callback *held = test_memory(test, sizeof(*held));

	twheel_timer_init(&held->timer, wheel, held_callback_run);
	twheel_arm_on(&held->timer, cpu, 0);
	KUNIT_EXPECT_TRUE(test, await(READ_ONCE(held->running)));
	return held;
}

/* A timer whose callback runs stays on its CPU. Until that has returned, no other can have it. */
static void busy_timer_stays(struct kunit *test)
{
	int here = cpu_first(), there = cpu_last(), ret[5];
	struct twheel_stats before, after;
	struct held_callback *held;
	struct interruption in;
	struct twheel *wheel;
	u64 deadline;

	wheel = travel_wheel_from_afar(test);
	held = held_callback_begin(test, wheel, there);
	in = (struct interruption) { .timer = &held->timer, .cpu = here };
	/* By another CPU, and by what interrupts the callback. */
	twheel_get_stats(wheel, &before);
	ret[0] = twheel_arm_on(&held->timer, here, HOUR);
	smp_call_function_single(there, interruption_arms, &in, 1);
	ret[1] = twheel_state(&held->timer);
	twheel_get_stats(wheel, &after);
	/* Nor does it lose a deadline that it has. */
	ret[2] = twheel_arm_on(&held->timer, there, 2 * HOUR);
	deadline = twheel_deadline(&held->timer);
	ret[3] = twheel_arm_on(&held->timer, here, HOUR);
	ret[4] = deadline == twheel_deadline(&held->timer);
	if (!READ_ONCE(held->gave_up)) {
		KUNIT_EXPECT_EQ(test, ret[0], -EBUSY);
		KUNIT_EXPECT_EQ(test, in.ret, -EBUSY);
		KUNIT_EXPECT_EQ(test, ret[1], TWHEEL_FIRED);
		KUNIT_EXPECT_EQ(test, after.armed - before.armed, 0);
		KUNIT_EXPECT_EQ(test, after.pending, 0);
		KUNIT_EXPECT_EQ(test, ret[2], 0);
		KUNIT_EXPECT_EQ(test, ret[3], -EBUSY);
		KUNIT_EXPECT_TRUE(test, ret[4]);
	}
	WRITE_ONCE(held->release, true);
	KUNIT_EXPECT_TRUE(test, await(twheel_arm_on(&held->timer, here, 0) == 1));
	KUNIT_EXPECT_TRUE(test, await(READ_ONCE(held->fired) == 2));
	KUNIT_EXPECT_EQ(test, twheel_shutdown_sync(&held->timer), 0);
	KUNIT_EXPECT_EQ(test, held->fired_on, here);
}

/* A callback arms its own timer, for another CPU and for its own. */
struct commuter {
	struct twheel_timer timer;
	int other, own, sync;
	atomic_t calls;
};

static void commuter_fire(struct twheel_timer *timer)
{
	struct commuter *c = container_of(timer, struct commuter, timer);
	int cpu = READ_ONCE(timer->base)->clock.cpu;

	c->other = twheel_arm_on(timer, cpu_after(cpu), HOUR);
	c->sync = twheel_pending(timer) ? 1 : twheel_cancel_sync(timer);
	c->own = twheel_arm_on(timer, cpu, HOUR);
	atomic_inc(&c->calls);
}

static void own_callback_stays(struct kunit *test)
{
	struct commuter *c = test_memory(test, sizeof(*c));
	enum twheel_context context;

	test_needs_two_cpus(test);
	for_each_callback_context(context) {
		atomic_set(&c->calls, 0);
		twheel_timer_init(&c->timer, wheel_with(test, .percpu = true, .context = context),
				  commuter_fire);
		KUNIT_EXPECT_EQ(test, twheel_arm(&c->timer, 0), 0);
		KUNIT_EXPECT_TRUE(test, await(atomic_read(&c->calls)));
		KUNIT_EXPECT_EQ(test, c->other, -EBUSY);
		KUNIT_EXPECT_EQ(test, c->sync, -EDEADLK);
		KUNIT_EXPECT_EQ(test, c->own, 0);
		KUNIT_EXPECT_EQ(test, twheel_shutdown_sync(&c->timer), 1);
	}
}

/* A callback may free its timer: a new one at the address does not wait for it. */
static void new_timer_comes_where_the_old_one_runs(struct kunit *test)
{
	struct twheel *wheel = travel_wheel_from_afar(test);
	struct held_callback *held = held_callback_begin(test, wheel, cpu_last());
	int ret;

	twheel_timer_init(&held->timer, wheel, held_callback_run);
	KUNIT_EXPECT_EQ(test, twheel_arm(&held->timer, HOUR), 0);
	KUNIT_EXPECT_EQ(test, twheel_arm_on(&held->timer, cpu_last(), HOUR), 1);
	KUNIT_EXPECT_EQ(test, twheel_try_cancel(&held->timer), 1);
	KUNIT_EXPECT_EQ(test, twheel_arm(&held->timer, HOUR), 0);
	ret = twheel_shutdown_sync(&held->timer);
	if (!READ_ONCE(held->gave_up))
		KUNIT_EXPECT_TRUE(test, READ_ONCE(held->running));
	KUNIT_EXPECT_EQ(test, ret, 1);
	WRITE_ONCE(held->release, true);
	KUNIT_EXPECT_TRUE(test, await(!READ_ONCE(held->running)));
}

/* Calls that do not wait tell a callback that runs from a timer that is not pending. */
static void told_without_waiting(struct kunit *test)
{
	struct twheel *wheel = travel_wheel_from_afar(test);
	struct held_callback *held = held_callback_begin(test, wheel, cpu_last());

	KUNIT_EXPECT_EQ(test, twheel_cancel(&held->timer), 0);
	KUNIT_EXPECT_EQ(test, twheel_try_cancel(&held->timer), -EBUSY);
	twheel_arm(&held->timer, HOUR);
	KUNIT_EXPECT_EQ(test, twheel_try_cancel(&held->timer), -EBUSY);
	KUNIT_EXPECT_TRUE(test, twheel_pending(&held->timer));
	/* A shutdown is final at once. */
	KUNIT_EXPECT_EQ(test, twheel_shutdown(&held->timer), 1);
	KUNIT_EXPECT_EQ(test, twheel_shutdown(&held->timer), -EBUSY);
	KUNIT_EXPECT_EQ(test, twheel_arm(&held->timer, HOUR), -ESHUTDOWN);
	WRITE_ONCE(held->release, true);
	KUNIT_EXPECT_EQ(test, twheel_cancel_sync(&held->timer), 0);
	KUNIT_EXPECT_EQ(test, twheel_try_cancel(&held->timer), 0);
	KUNIT_EXPECT_EQ(test, twheel_shutdown(&held->timer), 0);
	KUNIT_EXPECT_EQ(test, held->fired, 1);
	/* Nothing runs. */
	twheel_timer_init(&held->timer, wheel, held_callback_run);
	KUNIT_EXPECT_EQ(test, twheel_try_cancel(&held->timer), 0);
	twheel_arm(&held->timer, HOUR);
	KUNIT_EXPECT_EQ(test, twheel_try_cancel(&held->timer), 1);
	twheel_arm(&held->timer, HOUR);
	KUNIT_EXPECT_EQ(test, twheel_shutdown(&held->timer), 1);
	KUNIT_EXPECT_EQ(test, twheel_arm(&held->timer, HOUR), -ESHUTDOWN);
}

static struct kunit_case travel_cases[] = {
	KUNIT_CASE(fresh_timer_is_on_any_cpu),
	KUNIT_CASE(first_arms_race),
	KUNIT_CASE(busy_timer_stays),
	KUNIT_CASE(own_callback_stays),
	KUNIT_CASE(new_timer_comes_where_the_old_one_runs),
	KUNIT_CASE(told_without_waiting),
	{ }
};

static struct kunit_suite twheel_travel_suite = {
	.name		= "twheel_travel",
	.exit		= smp_test_exit,
	.test_cases	= travel_cases,
};

kunit_test_suite(twheel_travel_suite);
