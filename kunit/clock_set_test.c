// SPDX-License-Identifier: GPL-2.0-only
/*
 * Wheels on the wall clock, while it is set: timers follow it, none is lost. The clock is put
 * right after each test. For the same on a virtual clock, to the tick, see clock_back_test.c;
 * for the delays that are refused, life_test.c.
 */
#include <linux/bottom_half.h>
#include <linux/hrtimer.h>
#include <linux/ktime.h>
#include <linux/timekeeping.h>
#include <linux/workqueue.h>

#include <linux/twheel_stats.h>

#include "../module/compat.h"
#include "smp.h"

static struct twheel *wall_wheel(struct kunit *test, bool percpu)
{
	return wheel_with(test, .clock = TWHEEL_CLOCK_REALTIME, .percpu = percpu);
}

static bool shots_unfired(struct oneshot *oneshots, unsigned int n)
{
	unsigned int i;

	for (i = 0; i < n; i++)
		if (atomic_read(&oneshots[i].fired))
			return false;
	return true;
}

#define SOME	20

/* clock, per CPU. CLOCK_TAI is set with CLOCK_REALTIME. */
static void forward_makes_due(struct kunit *test)
{
	unsigned int i, round;

	for (round = 0; round < 2 * 2; round++) {
		struct twheel *wheel = wheel_with(test, .percpu = round % 2,
						  .clock = round / 2 ? TWHEEL_CLOCK_TAI :
								       TWHEEL_CLOCK_REALTIME);
		struct oneshot *passed = oneshots_new(test, wheel, SOME);
		struct oneshot *ahead_still = oneshots_new(test, wheel, SOME);

		KUNIT_EXPECT_GE(test, twheel_now(wheel), ktime_get_real_ns() - HOUR);
		for (i = 0; i < SOME; i++) {
			oneshot_arm(&passed[i], HOUR + i * MS);
			oneshot_arm(&ahead_still[i], 5 * HOUR);
		}
		wall_step(test, 3 * HOUR);
		oneshots_expect(test, passed, SOME);
		KUNIT_EXPECT_TRUE(test, shots_unfired(ahead_still, SOME));
		for (i = 0; i < SOME; i++) {
			KUNIT_EXPECT_GT(test, twheel_remaining(&ahead_still[i].timer), HOUR);
			KUNIT_EXPECT_LE(test, twheel_remaining(&ahead_still[i].timer), 2 * HOUR);
		}
		KUNIT_EXPECT_EQ(test, twheel_stop(wheel, NULL, NULL), SOME);
	}
}

/* Returns false if the machine was too slow for the test. */
static bool wall_step_back(struct kunit *test, bool percpu)
{
	struct twheel *wheel = wall_wheel(test, percpu);
	struct oneshot *oneshots = oneshots_new(test, wheel, SOME);
	u64 start = ktime_get_ns();
	unsigned int i;
	bool in_time;

	for (i = 0; i < SOME; i++)
		oneshot_arm(&oneshots[i], 300 * MS + i * MS);
	wall_step(test, -(s64)HOUR);
	in_time = ktime_get_ns() - start < 300 * MS;
	if (in_time) {
		/* Where they would have been due, had nobody set the clock. */
		msleep(500);
		KUNIT_EXPECT_TRUE_MSG(test, shots_unfired(oneshots, SOME), "early");
		for (i = 0; i < SOME; i++)
			KUNIT_EXPECT_GT(test, twheel_remaining(&oneshots[i].timer), HOUR / 2);
		wall_step(test, HOUR);
		oneshots_expect(test, oneshots, SOME);
	}
	wheel_end(test, wheel);
	return in_time;
}

static void back_waits(struct kunit *test)
{
	unsigned int i, percpu;

	for (percpu = 0; percpu < 2; percpu++) {
		for (i = 0; i < 10 && !wall_step_back(test, percpu); i++)
			;
		KUNIT_EXPECT_LT_MSG(test, i, 10, "too slow to be tested");
	}
}

/*
 * After a step back there is time between the clock and where the wheel has
 * been. A deadline there is neither past, nor as late as that. The wheel may
 * have looked at the clock a moment before the step, or not for long.
 */
static void after_back(struct kunit *test, bool percpu, bool look_before)
{
	struct twheel *wheel = wall_wheel(test, percpu);
	struct oneshot *oneshots = oneshots_new(test, wheel, 4);
	struct oneshot *far = oneshots_new(test, wheel, 1);

	oneshot_arm(&oneshots[0], MS);
	oneshots_expect(test, oneshots, 1);
	if (look_before)
		oneshot_arm(far, HOUR);
	wall_step(test, -1000 * (s64)NSEC_PER_SEC);
	oneshot_arm(&oneshots[1], 10 * MS);
	oneshot_arm(&oneshots[2], 30 * MS);
	oneshot_arm(&oneshots[3], 2 * MS);
	oneshots_expect(test, oneshots + 1, 3);
	KUNIT_EXPECT_EQ(test, atomic_read(&far->fired), 0);
}

static void arm_after_back(struct kunit *test)
{
	unsigned int i;

	for (i = 0; i < 40; i++)
		after_back(test, i & 1, i & 2);
}

/* Past when it was armed, not any more when its turn comes: not yet lost. */
static void due_amidst_back(struct kunit *test)
{
	struct twheel *wheel = wall_wheel(test, false);
	struct oneshot *oneshots = oneshots_new(test, wheel, 100);
	unsigned int i;

	for (i = 0; i < 100; i++) {
		oneshot_arm(&oneshots[i], i % 3 * MS);
		if (i % 10 == 9)
			wall_step(test, -(s64)(20 * MS));
	}
	KUNIT_EXPECT_TRUE_MSG(test, oneshots_fired(oneshots, 100), "a timer is lost");
	for (i = 0; i < 100; i++)
		KUNIT_EXPECT_EQ(test, atomic_read(&oneshots[i].fired), 1);
}

/**
 * struct relayed - an alarm that has gone off, and the softirq that it waits for
 * @closer: stops the wheel, on another CPU
 * @after: goes off after the alarm, on its CPU
 * @oneshot: the timer
 * @test: owns the wheel
 * @raised: the alarm has gone off
 * @closed: the wheel is gone
 * @unfired: what its stop has returned
 */
struct relayed {
	struct work_struct closer;
	struct hrtimer after;
	struct oneshot *oneshot;
	struct kunit *test;
	atomic_t raised;
	atomic_t closed;
	long unfired;
};

static enum hrtimer_restart relayed_raise(struct hrtimer *timer)
{
	struct relayed *relayed = container_of(timer, struct relayed, after);

	atomic_set(&relayed->raised, 1);
	return HRTIMER_NORESTART;
}

static void relayed_close(struct work_struct *work)
{
	struct relayed *relayed = container_of(work, struct relayed, closer);
	struct twheel *wheel = twheel_of(&relayed->oneshot->timer);

	await(atomic_read(&relayed->raised));
	relayed->unfired = twheel_stop(wheel, NULL, NULL);
	wheel_end(relayed->test, wheel);
	atomic_set(&relayed->closed, 1);
}

static int relayed_hold(void *arg)
{
	u64 end = ktime_get_ns() + 5ULL * NSEC_PER_SEC;
	struct relayed *relayed = arg;

	local_bh_disable();
	oneshot_arm(relayed->oneshot, MS);
	hrtimer_start(&relayed->after, ns_to_ktime(relayed->oneshot->deadline + 10 * MS),
		      HRTIMER_MODE_ABS_PINNED_HARD);
	while (!atomic_read(&relayed->closed) && ktime_get_ns() < end)
		cpu_relax();
	local_bh_enable();
	return 0;
}

/*
 * The alarm has gone off, and has started the timer that calls the pass in softirq. That
 * one, too, is gone with its wheel: debug objects report a timer that is freed while it is
 * queued.
 */
static void closed_after_the_alarm(struct kunit *test)
{
	struct relayed *relayed;
	struct twheel *wheel;

	test_needs_two_cpus(test);
	if (IS_ENABLED(CONFIG_PREEMPT_RT))
		kunit_skip(test, "softirqs are tasks here");
	relayed = test_memory(test, sizeof(*relayed));
	relayed->test = test;
	wheel = wall_wheel(test, false);
	relayed->oneshot = oneshots_new(test, wheel, 1);
	hrtimer_setup(&relayed->after, relayed_raise, CLOCK_REALTIME, HRTIMER_MODE_ABS_PINNED_HARD);
	INIT_WORK(&relayed->closer, relayed_close);
	schedule_work_on(cpu_first(), &relayed->closer);
	cpu_run(cpu_last(), relayed_hold, relayed);
	flush_work(&relayed->closer);
	hrtimer_cancel(&relayed->after);
	/* A host that is busy for seconds lets it fire. */
	KUNIT_EXPECT_EQ(test, relayed->unfired + atomic_read(&relayed->oneshot->fired), 1L);
}

/* Steps both ways, while timers are due all the time. */
static void steps_of_a_wheel(struct kunit *test, bool percpu)
{
	struct twheel *wheel = wall_wheel(test, percpu);
	unsigned int i, n = 600;
	struct oneshot *oneshots = oneshots_new(test, wheel, n);
	struct twheel_stats stats;
	u64 last = 0;
	u32 seed = 8;

	for (i = 0; i < n; i++) {
		oneshot_arm(&oneshots[i], test_random(&seed) % (300 * (u32)MS));
		last = max(last, oneshots[i].deadline);
		if (i % 40)
			continue;
		wall_step(test, (s64)(test_random(&seed) % (600 * (u32)MS)) - (s64)(300 * MS));
		msleep(5);
	}
	/* However far back it is now: all are due. */
	wall_set(test, last + MS);
	KUNIT_EXPECT_TRUE_MSG(test, oneshots_fired(oneshots, n), "a timer is lost");
	twheel_get_stats(wheel, &stats);
	KUNIT_EXPECT_EQ(test, stats.fired, n);
	KUNIT_EXPECT_EQ(test, stats.pending, 0);
	for (i = 0; i < n; i++)
		KUNIT_EXPECT_EQ_MSG(test, atomic_read(&oneshots[i].fired), 1, "oneshot %u", i);
}

static void steps_lose_nothing(struct kunit *test)
{
	steps_of_a_wheel(test, false);
	steps_of_a_wheel(test, true);
}

/* Due again at once, by any clock. */
static void oneshot_again(struct twheel_timer *timer)
{
	oneshot_fire(timer);
	twheel_arm_at(timer, 1);
}

/* What is due when a pass ends does not wait until a clock that is set back comes there again. */
static void back_in_a_pause(struct kunit *test)
{
	enum twheel_context context;
	int round, fired;

	for_each_callback_context(context) {
		struct twheel *wheel = wheel_with(test, .context = context,
						  .clock = TWHEEL_CLOCK_REALTIME);
		struct oneshot *t = oneshots_new(test, wheel, 1);

		twheel_timer_init(&t->timer, wheel, oneshot_again);
		twheel_arm_at(&t->timer, 1);
		for (round = 0; round < 20; round++) {
			wall_step(test, -(s64)HOUR);
			fired = atomic_read(&t->fired);
			KUNIT_ASSERT_TRUE(test, await(atomic_read(&t->fired) > fired + 1));
		}
		twheel_shutdown_sync(&t->timer);
	}
}

static struct kunit_case clock_set_cases[] = {
	KUNIT_CASE(forward_makes_due),
	KUNIT_CASE(back_waits),
	KUNIT_CASE(back_in_a_pause),
	KUNIT_CASE(arm_after_back),
	KUNIT_CASE(due_amidst_back),
	KUNIT_CASE(closed_after_the_alarm),
	KUNIT_CASE(steps_lose_nothing),
	{ }
};

static struct kunit_suite twheel_clock_set_suite = {
	.name		= "twheel_clock_set",
	.init		= clock_set_test_init,
	.exit		= clock_set_test_exit,
	.test_cases	= clock_set_cases,
};

kunit_test_suite(twheel_clock_set_suite);
