// SPDX-License-Identifier: GPL-2.0-only
/*
 * Races on wheels of each kind, with books kept: see stress.h.
 */
#include <linux/cpumask.h>

#include <linux/twheel_stats.h>

#include "stress.h"

/* The sum over all CPUs, with two threads each. */
#define RACE_ROUNDS	16000

/* The callback of a timer never runs twice at a time. */
static void race_run(struct kunit *test, const struct twheel_config *config,
		     bool stop_amidst)
{
	struct stress stress;

	stress_begin(test, &stress, config, RACE_ROUNDS / num_online_cpus(), true);
	stress_end(test, &stress, stop_amidst);
	KUNIT_EXPECT_EQ(test, atomic_read(&stress.overlaps), 0);
}

static void every_pair_balances(struct kunit *test)
{
	static const struct twheel_config config = { .name = "one base" };

	race_run(test, &config, false);
}

static void stop_amidst_balances(struct kunit *test)
{
	static const struct twheel_config config = { .name = "one base" };
	unsigned int round;

	for (round = 0; round < 3; round++)
		race_run(test, &config, true);
}

static void percpu_softirq_balances(struct kunit *test)
{
	static const struct twheel_config config = {
		.name = "percpu softirq", .percpu = true,
	};

	race_run(test, &config, false);
}

static void percpu_work_balances(struct kunit *test)
{
	static const struct twheel_config config = {
		.name = "percpu work", .percpu = true,
		.context = TWHEEL_CONTEXT_WORK,
	};

	race_run(test, &config, false);
}

static void percpu_wall_clock_balances(struct kunit *test)
{
	static const struct twheel_config config = {
		.name = "percpu wall", .percpu = true,
		.clock = TWHEEL_CLOCK_REALTIME,
	};

	race_run(test, &config, false);
}

static void wall_clock_balances(struct kunit *test)
{
	static const struct twheel_config config = {
		.name = "wall", .clock = TWHEEL_CLOCK_REALTIME,
	};

	race_run(test, &config, false);
}

static void percpu_limit_balances(struct kunit *test)
{
	static const struct twheel_config config = {
		.name = "percpu limit", .percpu = true, .max_pending = 40,
	};

	race_run(test, &config, false);
}

static void percpu_stop_amidst_balances(struct kunit *test)
{
	struct twheel_config config = {
		.name = "percpu stop", .percpu = true,
	};

	for_each_callback_context(config.context) {
		config.clock = TWHEEL_CLOCK_MONOTONIC;
		race_run(test, &config, true);
		config.clock = TWHEEL_CLOCK_REALTIME;
		race_run(test, &config, true);
	}
}

/* A timer whose callback moves it to another wheel, as if it were a new one. */
struct emigrant {
	struct twheel_timer timer;
	struct twheel *other;
	atomic_t waiting;
};

static void emigrant_arrive(struct twheel_timer *timer)
{
}

static void emigrant_leave(struct twheel_timer *timer)
{
	struct emigrant *emigrant = container_of(timer, struct emigrant, timer);

	(void)await(atomic_read(&emigrant->waiting));
	/* For the waiter to get there. If it does not, the test sees less. */
	msleep(50);
	twheel_timer_init(timer, emigrant->other, emigrant_arrive);
	twheel_arm(timer, HOUR);
}

/* The call that waits for the callback cancels it there. */
static void waited_for_on_another_wheel(struct kunit *test)
{
	struct twheel_config config = { .context = TWHEEL_CONTEXT_WORK };
	struct twheel *wheel = wheel_new(test, &config);
	struct emigrant *emigrant = test_memory(test, sizeof(*emigrant));
	struct twheel_stats stats;

	emigrant->other = wheel_new(test, &config);
	twheel_timer_init(&emigrant->timer, wheel, emigrant_leave);
	twheel_arm(&emigrant->timer, 0);
	KUNIT_EXPECT_TRUE(test, await(twheel_state(&emigrant->timer) == TWHEEL_FIRED));
	atomic_set(&emigrant->waiting, 1);
	KUNIT_EXPECT_EQ(test, twheel_cancel_sync(&emigrant->timer), 1);
	twheel_get_stats(wheel, &stats);
	KUNIT_EXPECT_EQ(test, stats.armed - stats.fired, 0);
	twheel_get_stats(emigrant->other, &stats);
	KUNIT_EXPECT_EQ(test, stats.pending, 0);
	KUNIT_EXPECT_EQ(test, stats.cancelled, 1);
}

static struct kunit_case race_cases[] = {
	KUNIT_CASE(waited_for_on_another_wheel),
	KUNIT_CASE(every_pair_balances),
	KUNIT_CASE(stop_amidst_balances),
	KUNIT_CASE(percpu_softirq_balances),
	KUNIT_CASE(percpu_work_balances),
	KUNIT_CASE(percpu_wall_clock_balances),
	KUNIT_CASE(wall_clock_balances),
	KUNIT_CASE(percpu_limit_balances),
	KUNIT_CASE(percpu_stop_amidst_balances),
	{ }
};

static struct kunit_suite twheel_race_suite = {
	.name		= "twheel_race",
	.exit		= smp_test_exit,
	.test_cases	= race_cases,
};

kunit_test_suite(twheel_race_suite);
