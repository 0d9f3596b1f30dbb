// SPDX-License-Identifier: GPL-2.0-only
/*
 * The wheel that is always there, and timers with static initialisers; and what code calls
 * that was ported from timer_list.
 */
#include <linux/cpumask.h>

#include <linux/twheel_many.h>
#include <linux/twheel_state.h>
#include <linux/twheel_stats.h>
#include <linux/twheel_timer_list.h>

#include "smp.h"

static void system_fire(struct twheel_timer *timer);

static atomic_t system_fired;
static DEFINE_TWHEEL_TIMER(system_timer, system_fire);
static struct {
	struct twheel_timer timer;
} system_member = { .timer = TWHEEL_TIMER_INIT(system_member.timer, system_fire) };

static void system_fire(struct twheel_timer *timer)
{
	atomic_inc(&system_fired);
}

/* As at first: tests may be run more than once. */
static void system_renew(void)
{
	system_timer = (struct twheel_timer)TWHEEL_TIMER_INIT(system_timer, system_fire);
	system_member.timer = system_timer;
}

static void system_wheel_is_there(struct kunit *test)
{
	struct twheel_timer timer;
	struct twheel_stats stats;
	struct twheel *wheel;

	atomic_set(&system_fired, 0);
	twheel_timer_init_on_stack(&timer, system_fire);
	wheel = twheel_of(&timer);
	KUNIT_ASSERT_NOT_NULL(test, wheel);
	twheel_get_stats(wheel, &stats);
	KUNIT_EXPECT_EQ(test, stats.clock, TWHEEL_CLOCK_MONOTONIC);
	KUNIT_EXPECT_EQ(test, stats.tick_ns, MS);
	KUNIT_EXPECT_EQ(test, twheel_arm(&timer, 0), 0);
	KUNIT_EXPECT_TRUE(test, await(atomic_read(&system_fired) == 1));
	KUNIT_EXPECT_EQ(test, twheel_shutdown_sync(&timer), 0);
	twheel_timer_destroy_on_stack(&timer);
}

static void static_timer_works(struct kunit *test)
{
	struct twheel_item item = { .timer = &system_member.timer, .deadline_ns = MS };
	struct twheel_config config = { };
	struct twheel *wheel = wheel_new(test, &config);
	int last = cpumask_last(cpu_online_mask);

	atomic_set(&system_fired, 0);
	/* Not armed yet. */
	KUNIT_EXPECT_EQ(test, twheel_state(&system_timer), TWHEEL_IDLE);
	KUNIT_EXPECT_FALSE(test, twheel_pending(&system_timer));
	KUNIT_EXPECT_GT(test, twheel_remaining(&system_timer), TWHEEL_NEVER);
	KUNIT_EXPECT_EQ(test, twheel_cancel(&system_timer), 0);
	KUNIT_EXPECT_EQ(test, twheel_modify(&system_timer, HOUR), -ENOENT);
	KUNIT_EXPECT_EQ(test, twheel_extend(&system_timer, HOUR), -ENOENT);
	KUNIT_EXPECT_EQ(test, twheel_arm_many(wheel, &item, 1), 0);
	KUNIT_EXPECT_EQ(test, item.result, -EINVAL);
	twheel_destroy(wheel);
	/* All that arms. */
	KUNIT_EXPECT_EQ(test, twheel_arm(&system_timer, HOUR), 0);
	KUNIT_EXPECT_EQ(test, twheel_arm(&system_timer, 0), 1);
	KUNIT_EXPECT_TRUE(test, await(atomic_read(&system_fired) == 1));
	KUNIT_EXPECT_EQ(test, twheel_arm_at(&system_member.timer, 1), 0);
	KUNIT_EXPECT_TRUE(test, await(atomic_read(&system_fired) == 2));
	twheel_cancel_sync(&system_timer);
	twheel_cancel_sync(&system_member.timer);
	system_renew();
	KUNIT_EXPECT_EQ(test, twheel_arm_on_at(&system_timer, last, 1), 0);
	KUNIT_EXPECT_TRUE(test, await(atomic_read(&system_fired) == 3));
	KUNIT_EXPECT_EQ(test, twheel_arm_range(&system_member.timer, MS, MS), 0);
	KUNIT_EXPECT_TRUE(test, await(atomic_read(&system_fired) == 4));
	twheel_cancel_sync(&system_timer);
	twheel_cancel_sync(&system_member.timer);
	/* A shutdown before the first arm. */
	system_renew();
	KUNIT_EXPECT_EQ(test, twheel_shutdown_sync(&system_timer), 0);
	KUNIT_EXPECT_EQ(test, twheel_arm(&system_timer, 0), -ESHUTDOWN);
	KUNIT_EXPECT_EQ(test, twheel_cancel_sync(&system_member.timer), 0);
	KUNIT_EXPECT_EQ(test, twheel_arm(&system_member.timer, HOUR), 0);
	KUNIT_EXPECT_EQ(test, twheel_shutdown_sync(&system_member.timer), 1);
	system_renew();
}

static atomic_t system_refused;

static int static_timer_arm(void *arg, unsigned int number)
{
	unsigned int i;

	for (i = 0; i < 100; i++)
		if (twheel_arm(arg, HOUR) < 0)
			atomic_inc(&system_refused);
	return 0;
}

/* Two CPUs arm it for the first time. */
static void static_timer_is_raced_for(struct kunit *test)
{
	struct crew crew;
	unsigned int round;

	for (round = 0; round < 10; round++) {
		system_renew();
		crew_start(test, &crew, 2, static_timer_arm, &system_timer);
		crew_wait(test, &crew);
		KUNIT_EXPECT_EQ(test, atomic_read(&system_refused), 0);
		KUNIT_EXPECT_EQ(test, twheel_cancel_sync(&system_timer), 1);
	}
	system_renew();
}

/* What ported code calls, in jiffies. */
struct twheel *tw_timers;

/* Read before jiffies: C leaves open which side time_after() reads first. */
static bool expires_in_future(const struct twheel_timer *timer)
{
	unsigned long expires = tw_timer_expires(timer);

	return time_after(expires, jiffies);
}

static void ported_calls_answer_alike(struct kunit *test)
{
	struct oneshot *shot = kunit_kzalloc(test, sizeof(*shot), GFP_KERNEL);
	const struct twheel_config config = { .name = "ported", .percpu = true };
	struct twheel_timer *t = &shot->timer;
	struct twheel_timer local;

	KUNIT_ASSERT_NOT_NULL(test, shot);
	tw_timers = wheel_new(test, &config);
	tw_timer_setup(t, oneshot_fire, 0);
	/* Not pending: its time is not in the future. */
	KUNIT_EXPECT_FALSE(test, expires_in_future(t));
	KUNIT_EXPECT_EQ(test, tw_mod_timer_pending(t, jiffies + HZ), 0);
	KUNIT_EXPECT_EQ(test, tw_del_timer(t), 0);
	/* Reduced: armed if it is not pending, and never put off. */
	KUNIT_EXPECT_EQ(test, tw_timer_reduce(t, jiffies + 1000 * HZ), 0);
	KUNIT_EXPECT_TRUE(test, time_after(tw_timer_expires(t), jiffies + 900 * HZ));
	KUNIT_EXPECT_EQ(test, tw_timer_reduce(t, jiffies + 2000 * HZ), 1);
	KUNIT_EXPECT_TRUE(test, time_before(tw_timer_expires(t),
					    jiffies + 1100 * HZ));
	KUNIT_EXPECT_EQ(test, tw_timer_reduce(t, jiffies + 500 * HZ), 1);
	KUNIT_EXPECT_TRUE(test, time_before(tw_timer_expires(t),
					    jiffies + 600 * HZ));
	KUNIT_EXPECT_EQ(test, tw_mod_timer(t, jiffies + 1), 1);
	KUNIT_EXPECT_TRUE(test, oneshots_fired(shot, 1));
	/* After it has expired, too. */
	KUNIT_EXPECT_FALSE(test, expires_in_future(t));
	KUNIT_EXPECT_EQ(test, tw_timer_shutdown_sync(t), 0);
	KUNIT_EXPECT_EQ(test, tw_mod_timer(t, jiffies), 0);
	KUNIT_EXPECT_FALSE(test, tw_timer_pending(t));

	tw_timer_setup_on_stack(&local, oneshot_fire, 0);
	KUNIT_EXPECT_EQ(test, tw_mod_timer(&local, jiffies + 1000 * HZ), 0);
	KUNIT_EXPECT_EQ(test, tw_del_timer_sync(&local), 1);
	tw_timer_destroy_on_stack(&local);
	twheel_destroy(tw_timers);
}

static struct kunit_case system_cases[] = {
	KUNIT_CASE(system_wheel_is_there),
	KUNIT_CASE(static_timer_works),
	KUNIT_CASE(static_timer_is_raced_for),
	KUNIT_CASE(ported_calls_answer_alike),
	{ }
};

struct kunit_suite twheel_system_suite = {
	.name		= "twheel_system",
	.test_cases	= system_cases,
};
