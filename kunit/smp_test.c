// SPDX-License-Identifier: GPL-2.0-only
/*
 * The API on real clocks and several CPUs. Races with books kept are in race_test.c.
 */
#include <linux/cpumask.h>
#include <linux/delay.h>
#include <linux/sched.h>
#include <linux/slab.h>

#include <linux/twheel_stats.h>

#include "smp.h"

/* Timers fire exactly once and never early, in each context, on every clock and tick. */
static void never_early(struct kunit *test)
{
	static const struct twheel_config configs[] = {
		{ .tick_ns = MS }, { .tick_ns = 100 * US }, { .tick_ns = 7777777 },
		{ .clock = TWHEEL_CLOCK_BOOTTIME }, { .context = TWHEEL_CONTEXT_WORK },
	};
	unsigned int i, k, n = 2000;
	u32 seed = 12345;

	for (k = 0; k < ARRAY_SIZE(configs); k++) {
		struct twheel *wheel = wheel_new(test, &configs[k]);
		struct oneshot *oneshots = oneshots_new(test, wheel, n);

		for (i = 0; i < n; i++) {
			u64 delay = test_random(&seed) % (300 * (u32)MS);

			oneshots[i].deadline = twheel_now(wheel) + delay;
			if (i % 2)
				twheel_arm_at(&oneshots[i].timer, oneshots[i].deadline);
			else
				twheel_arm(&oneshots[i].timer, delay);
		}
		oneshots_expect(test, oneshots, n);
	}
}

static void cancel_leaves_the_next_alarm(struct kunit *test)
{
	struct twheel *wheel = wheel_with(test, .tick_ns = MS);
	struct oneshot *oneshots = oneshots_new(test, wheel, 3);
	unsigned int i;

	/* Nothing else is armed meanwhile, which would set the alarm anew. */
	for (i = 0; i < 3; i++) {
		oneshots[i].deadline = twheel_now(wheel) + (5 + i) * 20 * MS;
		twheel_arm_at(&oneshots[i].timer, oneshots[i].deadline);
	}
	twheel_cancel(&oneshots[0].timer);
	twheel_cancel_sync(&oneshots[1].timer);
	oneshots_expect(test, &oneshots[2], 1);
}

static void empty_wheel_is_silent(struct kunit *test)
{
	struct twheel *wheel = wheel_with(test, .tick_ns = MS);
	struct twheel *percpu = wheel_with(test, .percpu = true);
	struct oneshot *oneshots = oneshots_new(test, wheel, 3);
	struct twheel_timer *timer = &oneshots_new(test, percpu, 1)->timer;
	unsigned int i;
	u64 deadline;
	int cpu;

	KUNIT_EXPECT_EQ_MSG(test, pass_count(wheel), 0, "not lazy");
	for (i = 0; i < 3; i++)
		twheel_arm(&oneshots[i].timer, (1500 + 30 * i) * MS);
	for (i = 0; i < 3; i++)
		KUNIT_EXPECT_EQ(test, twheel_cancel(&oneshots[i].timer), 1);
	for_each_online_cpu(cpu) {
		twheel_arm_on(timer, cpu, HOUR);
		twheel_cancel(timer);
	}
	msleep(1800);
	/* The alarm is left where it was, for one pass. */
	KUNIT_EXPECT_LE_MSG(test, pass_count(wheel), 1, "an empty wheel woke up");
	KUNIT_EXPECT_EQ(test, pass_count(percpu), 0);

	/* One pass for one instant, and no wake-up after it. */
	deadline = twheel_now(wheel) + 500 * MS;
	for (i = 0; i < 3; i++)
		twheel_arm_at(&oneshots[i].timer, deadline);
	oneshots_expect(test, oneshots, 3);
	msleep(200);
	KUNIT_EXPECT_LE(test, pass_count(wheel), 4);
	KUNIT_EXPECT_GE(test, pass_count(wheel), 1);
}

/* shutdown_sync against a callback that always arms itself again */

struct restless {
	struct twheel_timer timer;
	unsigned int fired;
	bool gone;
	bool after_gone;
};

static void restless_run(struct twheel_timer *timer)
{
	struct restless *r = container_of(timer, struct restless, timer);

	r->fired++;
	if (READ_ONCE(r->gone))
		r->after_gone = true;
	twheel_arm(timer, r->fired % 3 * 100 * US);
}

static void shutdown_beats_rearm(struct kunit *test)
{
	struct twheel *wheel = wheel_with(test, .tick_ns = 100 * US);
	unsigned int round, fired = 0;
	struct twheel_stats stats;

	for (round = 0; round < 200; round++) {
		struct restless *r = kzalloc(sizeof(*r), GFP_KERNEL);
		u64 until;

		KUNIT_ASSERT_NOT_NULL(test, r);
		twheel_timer_init(&r->timer, wheel, restless_run);
		twheel_arm(&r->timer, 0);
		until = twheel_now(wheel) + round % 16 * 50 * US;
		while (twheel_now(wheel) < until)
			cond_resched();
		KUNIT_EXPECT_GE(test, twheel_shutdown_sync(&r->timer), 0);
		WRITE_ONCE(r->gone, true);
		KUNIT_EXPECT_FALSE(test, twheel_pending(&r->timer));
		spin_ns(50 * US);
		KUNIT_EXPECT_FALSE(test, READ_ONCE(r->after_gone));
		fired += r->fired;
		/* KASAN reports a callback that still comes. */
		kfree(r);
	}
	twheel_get_stats(wheel, &stats);
	KUNIT_EXPECT_EQ(test, stats.pending, 0);
	KUNIT_EXPECT_EQ(test, stats.fired, fired);
	KUNIT_EXPECT_GT(test, fired, 0);
}

/* A timer does not fire before the deadline of an extension that returned 1. */

/* The sum over all CPUs. */
#define EXTENDER_ROUNDS	600

struct extender {
	struct kunit *test;
	struct twheel *wheel;
	atomic_t early;
	atomic_t extended;
};

static int extender_run(void *arg, unsigned int number)
{
	struct extender *extender = arg;
	u32 seed = 77 + number;
	unsigned int round;

	for (round = 0; round < EXTENDER_ROUNDS / num_online_cpus(); round++) {
		struct oneshot oneshot = { };
		u64 acked;

		twheel_timer_init_on_stack(&oneshot.timer, extender->wheel, oneshot_fire);
		acked = twheel_now(extender->wheel) + test_random(&seed) % (u32)(200 * US);
		twheel_arm_at(&oneshot.timer, acked);
		for (;;) {
			u64 later = acked + test_random(&seed) % (u32)(150 * US);
			int ret = twheel_extend_at(&oneshot.timer, later);

			if (ret == -ENOENT)
				break;
			if (ret == 1) {
				acked = later;
				atomic_inc(&extender->extended);
			}
			/* Extend close to the deadline, where it races. */
			while (twheel_pending(&oneshot.timer) &&
			       twheel_now(extender->wheel) + test_random(&seed) %
			       (u32)(20 * US) < acked)
				cpu_relax();
			cond_resched();
		}
		twheel_shutdown_sync(&oneshot.timer);
		twheel_timer_destroy_on_stack(&oneshot.timer);
		if (oneshot.fired_at < acked || atomic_read(&oneshot.fired) != 1)
			atomic_inc(&extender->early);
	}
	return 0;
}

static void extension_holds(struct kunit *test)
{
	struct extender extender = {
		.wheel = wheel_with(test, .tick_ns = 100 * US),
	};
	struct crew crew;

	crew_start(test, &crew, 1, true, extender_run, &extender);
	crew_wait(test, &crew);
	KUNIT_EXPECT_EQ(test, atomic_read(&extender.early), 0);
	KUNIT_EXPECT_GT(test, atomic_read(&extender.extended), 0);
}

/*
 * A wake-up could be lost when a pass sets the alarm for the next timer that it knows
 * while another CPU arms a nearer one. No third timer here would hide that.
 */

struct arm_race {
	struct twheel *wheel;
	struct oneshot *oneshots;
	atomic_t ready;
	atomic_t lost;
	unsigned int members;
};

static bool arm_race_ready(struct arm_race *race, unsigned int round)
{
	unsigned int i;

	for (i = 0; i < 10000000; i++) {
		if (atomic_read(&race->ready) >= round * race->members)
			return true;
		if (i % 64 == 63)
			cond_resched();
		cpu_relax();
	}
	return false;
}

static int arm_race_run(void *arg, unsigned int number)
{
	struct arm_race *race = arg;
	struct oneshot *oneshot = &race->oneshots[number];
	u32 seed = 1 + number;
	unsigned int round, spins;

	for (round = 1; round <= 1000 / race->members; round++) {
		if (atomic_read(&race->lost))
			break;
		atomic_inc(&race->ready);
		if (!arm_race_ready(race, round))
			break;
		/* Arm about when the pass of the other CPU ends. */
		for (spins = test_random(&seed) % 512; spins; spins--)
			cpu_relax();
		twheel_arm(&oneshot->timer, test_random(&seed) % 2 ? 0 :
			   test_random(&seed) % (u32)(300 * US));
		if (!await(atomic_read(&oneshot->fired) == round))
			atomic_inc(&race->lost);
	}
	/* The other threads must not wait for this one. */
	atomic_add(1000000, &race->ready);
	return 0;
}

static void no_wake_up_is_lost(struct kunit *test)
{
	unsigned int n = num_online_cpus();
	struct arm_race race = {
		.wheel = wheel_with(test, .tick_ns = 100 * US),
		.members = n,
	};
	struct crew crew;

	race.oneshots = oneshots_new(test, race.wheel, n);
	crew_start(test, &crew, 1, true, arm_race_run, &race);
	crew_wait(test, &crew);
	KUNIT_EXPECT_EQ(test, atomic_read(&race.lost), 0);
	KUNIT_EXPECT_GT(test, atomic_read(&race.oneshots[0].fired), 1);
}

static struct kunit_case smp_cases[] = {
	KUNIT_CASE(never_early),
	KUNIT_CASE(cancel_leaves_the_next_alarm),
	KUNIT_CASE(empty_wheel_is_silent),
	KUNIT_CASE(shutdown_beats_rearm),
	KUNIT_CASE(extension_holds),
	KUNIT_CASE(no_wake_up_is_lost),
	{ }
};

static struct kunit_suite twheel_smp_suite = {
	.name		= "twheel_smp",
	.exit		= smp_test_exit,
	.test_cases	= smp_cases,
};

kunit_test_suite(twheel_smp_suite);
