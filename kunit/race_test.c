// SPDX-License-Identifier: GPL-2.0-only
/*
 * Races on wheels of each kind, with books kept: see ledger.h.
 */
#include <linux/cpumask.h>

#include <linux/twheel_stats.h>

#include "stress.h"

/* The sum over all CPUs, with two threads each. */
#define RACE_ROUNDS	16000

static void race_run(struct kunit *test, const struct twheel_config *config,
		     bool stop_amidst)
{
	struct stress stress;

	stress_begin(test, &stress, config, RACE_ROUNDS / num_online_cpus(), true);
	stress_end(test, &stress, stop_amidst);
}

static void every_pair_balances(struct kunit *test)
{
	static const struct twheel_config configs[] = {
		{ .name = "one base" },
		{ .name = "wall", .clock = TWHEEL_CLOCK_REALTIME },
		{ .name = "limit", .max_pending = 40 },
	};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(configs); i++)
		race_run(test, &configs[i], false);
}

static void percpu_balances(struct kunit *test)
{
	static const struct twheel_config configs[] = {
		{ .name = "percpu softirq", .percpu = true },
		{ .name = "percpu work", .percpu = true, .context = TWHEEL_CONTEXT_WORK },
		{ .name = "percpu wall", .percpu = true, .clock = TWHEEL_CLOCK_REALTIME },
		{ .name = "percpu limit", .percpu = true, .max_pending = 40 },
	};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(configs); i++)
		race_run(test, &configs[i], false);
}

/* context, clock, per CPU */
static void stop_amidst_balances(struct kunit *test)
{
	unsigned int i;

	for (i = 0; i < 2 * 2 * 2; i++)
		race_run(test, &(struct twheel_config) {
				.context = i / 4, .percpu = i % 2,
				.clock = i / 2 % 2 ? TWHEEL_CLOCK_REALTIME : 0 }, true);
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
	KUNIT_CASE(percpu_balances),
	{ }
};

static struct kunit_suite twheel_race_suite = {
	.name		= "twheel_race",
	.exit		= smp_test_exit,
	.test_cases	= race_cases,
};

kunit_test_suite(twheel_race_suite);
