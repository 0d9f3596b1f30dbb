// SPDX-License-Identifier: GPL-2.0-only
/*
 * Policies on a real clock: callbacks that take time, and other CPUs that stop a series while
 * it goes on. Tests on a virtual clock are in periodic_test.c and idle_test.c. life_module.c
 * has policies in every context, and on each clock.
 */
#include <linux/completion.h>
#include <linux/cpumask.h>
#include <linux/debug_locks.h>
#include <linux/math64.h>
#include <linux/slab.h>

#include <linux/twheel_idle.h>
#include <linux/twheel_periodic.h>

#include "smp.h"

/* Periodic work that takes longer than its period, twenty times. */
struct slow_periodic {
	struct twheel_periodic periodic;
	struct completion done;
	u64 ended_at;
	u64 early;
	u64 missed;
	unsigned int calls;
};

static enum twheel_next slow_period(struct twheel_periodic *periodic)
{
	struct slow_periodic *slow = container_of(periodic, struct slow_periodic, periodic);
	struct twheel *wheel = twheel_of(&periodic->timer);
	u64 now = twheel_now(wheel);

	slow->missed += twheel_periodic_overruns(periodic);
	slow->early += now < slow->ended_at + 2 * MS || now < twheel_periodic_deadline(periodic);
	if (++slow->calls == 20) {
		complete(&slow->done);
		return TWHEEL_DONE;
	}
	spin_ns(3 * MS);
	if (periodic->pace == TWHEEL_FIXED_DELAY)
		slow->ended_at = twheel_now(wheel);
	return TWHEEL_AGAIN;
}

/* Returns the deadline of its last call. */
static u64 slow_periodic_run(struct kunit *test, struct slow_periodic *slow, u64 first,
			     u64 period, enum twheel_pace pace)
{
	init_completion(&slow->done);
	twheel_periodic_start_at(&slow->periodic, first, period, pace);
	KUNIT_EXPECT_NE(test, wait_for_completion_timeout(&slow->done, PATIENCE), 0UL);
	twheel_periodic_stop_sync(&slow->periodic);
	KUNIT_EXPECT_EQ(test, slow->calls, 20);
	KUNIT_EXPECT_EQ(test, slow->early, 0);
	return twheel_periodic_deadline(&slow->periodic);
}

static void delay_counts_from_the_end(struct kunit *test)
{
	struct twheel *wheel = wheel_with(test, .tick_ns = 100 * US);
	struct slow_periodic *slow = test_memory(test, sizeof(*slow));

	twheel_periodic_init(&slow->periodic, wheel, slow_period);
	slow_periodic_run(test, slow, 0, 2 * MS, TWHEEL_FIXED_DELAY);
	KUNIT_EXPECT_EQ(test, slow->missed, 0);
}

/* A callback that takes three periods misses two each time. */
static void slow_callback_overruns(struct kunit *test)
{
	struct twheel *wheel = wheel_with(test, .tick_ns = 100 * US);
	struct slow_periodic *slow = test_memory(test, sizeof(*slow));
	u64 first = twheel_now(wheel), last;

	twheel_periodic_init(&slow->periodic, wheel, slow_period);
	last = slow_periodic_run(test, slow, first, MS, TWHEEL_FIXED_RATE);
	KUNIT_EXPECT_GE(test, slow->missed, 19 * 2);
	KUNIT_EXPECT_EQ(test, slow->calls + slow->missed, div64_u64(last - first, MS) + 1);
}

/* Fewer if the machine is slow: see RACE_TIME. */
#define DUEL_ROUNDS	1000

/* A series on another CPU that always asks for another call, while this one stops it. */
struct restless {
	struct twheel_periodic periodic;
	unsigned int calls;
	bool gone;
	unsigned int *ghosts;
};

static enum twheel_next restless_periodic(struct twheel_periodic *periodic)
{
	struct restless *r = container_of(periodic, struct restless, periodic);

	WRITE_ONCE(r->calls, r->calls + 1);
	if (READ_ONCE(r->gone))
		(*r->ghosts)++;
	return TWHEEL_AGAIN;
}

static int restless_start(void *arg)
{
	struct restless *r = arg;

	return twheel_periodic_start(&r->periodic, 15 * US, TWHEEL_FIXED_RATE);
}

/* Stop without waiting, and start for much later: that deadline has to stay. */
static unsigned int restless_put_off(struct restless *r, struct twheel *wheel)
{
	u64 later = twheel_now(wheel) + DAY;

	twheel_periodic_stop(&r->periodic);
	twheel_periodic_start_at(&r->periodic, later, 15 * US, TWHEEL_FIXED_DELAY);
	spin_ns(300 * US);
	return twheel_deadline(&r->periodic.timer) != later;
}

static void stop_beats_again(struct kunit *test)
{
	struct twheel *wheel = wheel_with(test, .tick_ns = 5 * US, .percpu = true);
	unsigned int round, spins, alive = 0, moved = 0, ghosts = 0;
	unsigned long end = jiffies + RACE_TIME;
	u32 seed = 20;

	set_cpus_allowed_ptr(current, cpumask_of(cpu_first()));
	for (round = 0; round < DUEL_ROUNDS && time_before(jiffies, end); round++) {
		struct restless *r = kzalloc(sizeof(*r), GFP_KERNEL);
		unsigned int calls = test_random(&seed) % 4 + 2;

		KUNIT_ASSERT_NOT_NULL(test, r);
		r->ghosts = &ghosts;
		twheel_periodic_init(&r->periodic, wheel, restless_periodic);
		KUNIT_EXPECT_EQ(test, cpu_run(cpu_last(), restless_start, r), 0);
		while (READ_ONCE(r->calls) < calls)
			cond_resched();
		for (spins = test_random(&seed) % 512; spins; spins--)
			cpu_relax();
		if (round % 4 == 0)
			moved += restless_put_off(r, wheel);
		if (round % 4 == 1)
			twheel_periodic_shutdown_sync(&r->periodic);
		else
			twheel_periodic_stop_sync(&r->periodic);
		WRITE_ONCE(r->gone, true);
		if (round % 2)
			spin_ns(50 * US);
		alive += twheel_pending(&r->periodic.timer);
		/* KASAN reports a callback that still uses it. */
		kfree(r);
	}
	kunit_info(test, "%u rounds\n", round);
	KUNIT_EXPECT_EQ_MSG(test, ghosts, 0, "callbacks after a stop");
	KUNIT_EXPECT_EQ_MSG(test, alive, 0, "pending after a stop");
	KUNIT_EXPECT_EQ_MSG(test, moved, 0, "a start was overruled");
}

/* Policies of zeros have no wheel and no lock. They cannot be started, and are not pending. */
static void zeroed_policies_are_refused(struct kunit *test)
{
	struct {
		struct twheel_periodic periodic;
		struct twheel_idle idle;
	} *zeros = test_memory(test, sizeof(*zeros));
	int locks = debug_locks;

	KUNIT_EXPECT_EQ(test, twheel_periodic_start(&zeros->periodic, MS,
						    TWHEEL_FIXED_RATE), -EINVAL);
	KUNIT_EXPECT_EQ(test, twheel_periodic_start_at(&zeros->periodic, MS, MS,
						       TWHEEL_FIXED_DELAY), -EINVAL);
	KUNIT_EXPECT_EQ(test, twheel_periodic_start_at(&zeros->periodic, MS, MS,
						       TWHEEL_FIXED_RATE), -EINVAL);
	KUNIT_EXPECT_EQ(test, twheel_idle_start(&zeros->idle, MS), -EINVAL);
	KUNIT_EXPECT_EQ(test, twheel_idle_set_timeout(&zeros->idle, MS), -EINVAL);
	/* Lockdep turns itself off where an unknown lock is taken. */
	if (IS_ENABLED(CONFIG_PROVE_LOCKING))
		KUNIT_EXPECT_EQ(test, debug_locks, locks);
	/* Debug objects would report what follows; there, the misuse test has the same. */
	if (IS_ENABLED(CONFIG_DEBUG_OBJECTS))
		return;
	KUNIT_EXPECT_EQ(test, twheel_periodic_stop(&zeros->periodic), 0);
	KUNIT_EXPECT_EQ(test, twheel_periodic_stop_sync(&zeros->periodic), 0);
	KUNIT_EXPECT_EQ(test, twheel_idle_stop(&zeros->idle), 0);
	KUNIT_EXPECT_EQ(test, twheel_idle_stop_sync(&zeros->idle), 0);
}

static struct kunit_case policy_smp_cases[] = {
	KUNIT_CASE(delay_counts_from_the_end),
	KUNIT_CASE(slow_callback_overruns),
	KUNIT_CASE(stop_beats_again),
	KUNIT_CASE(zeroed_policies_are_refused),
	{ }
};

static struct kunit_suite twheel_policy_smp_suite = {
	.name		= "twheel_policy_smp",
	.exit		= smp_test_exit,
	.test_cases	= policy_smp_cases,
};

kunit_test_suite(twheel_policy_smp_suite);
