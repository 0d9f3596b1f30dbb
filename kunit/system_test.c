// SPDX-License-Identifier: GPL-2.0-only
/*
 * The wheel that is always there, and timers with static initialisers.
 */

#include <linux/twheel_many.h>
#include <linux/twheel_periodic.h>
#include <linux/twheel_state.h>
#include <linux/twheel_stats.h>

#include "../module/core/base.h"
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
	twheel_timer_init_on_stack(&timer, NULL, system_fire);
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

static enum twheel_next system_recur(struct twheel_periodic *periodic)
{
	return TWHEEL_AGAIN;
}

/* As in a built-in driver that comes before twheel. */
static void timer_before_the_wheel_works(struct kunit *test)
{
	struct twheel *wheel = tw_system_wheel;
	static struct twheel_periodic periodic;
	struct twheel_timer timer;

	atomic_set(&system_fired, 0);
	WRITE_ONCE(tw_system_wheel, NULL);
	twheel_timer_init_on_stack(&timer, NULL, system_fire);
	twheel_periodic_init(&periodic, NULL, system_recur);
	KUNIT_EXPECT_EQ(test, twheel_arm(&timer, 0), -EINVAL);
	KUNIT_EXPECT_EQ(test, twheel_shutdown_sync(&system_timer), 0);
	KUNIT_EXPECT_EQ(test, twheel_modify_at(&system_timer, TWHEEL_NEVER + 1), -ENOENT);
	WRITE_ONCE(tw_system_wheel, wheel);
	KUNIT_EXPECT_EQ(test, twheel_arm(&system_timer, 0), -ESHUTDOWN);
	system_renew();
	KUNIT_EXPECT_EQ(test, twheel_periodic_start(&periodic, HOUR, TWHEEL_FIXED_RATE), 0);
	KUNIT_EXPECT_EQ(test, twheel_periodic_shutdown_sync(&periodic), 1);
	KUNIT_EXPECT_FALSE(test, twheel_pending(&timer));
	KUNIT_EXPECT_EQ(test, twheel_arm(&timer, 0), 0);
	KUNIT_EXPECT_TRUE(test, await(atomic_read(&system_fired) == 1));
	KUNIT_EXPECT_EQ(test, twheel_shutdown_sync(&timer), 0);
	twheel_timer_destroy_on_stack(&timer);
}

static void static_timer_works(struct kunit *test)
{
	struct twheel_item item = { .timer = &system_member.timer, .deadline_ns = MS };
	struct twheel *wheel = wheel_new(test, NULL);
	int last = cpu_last();

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

static int system_result;

/* As if its callback had freed it, and another one were allocated there. */
static void system_reuse(struct twheel_timer *timer)
{
	system_renew();
	twheel_arm(timer, HOUR);
	system_result = twheel_try_cancel(timer);
	atomic_inc(&system_fired);
}

static void static_timer_has_an_old_address(struct kunit *test)
{
	atomic_set(&system_fired, 0);
	system_timer.function = system_reuse;
	KUNIT_EXPECT_EQ(test, twheel_arm(&system_timer, 0), 0);
	KUNIT_EXPECT_TRUE(test, await(atomic_read(&system_fired) == 1));
	KUNIT_EXPECT_EQ(test, system_result, 1);
	KUNIT_EXPECT_EQ(test, twheel_cancel_sync(&system_timer), 0);
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
		crew_start(test, &crew, 2, true, static_timer_arm, &system_timer);
		crew_wait(test, &crew);
		KUNIT_EXPECT_EQ(test, atomic_read(&system_refused), 0);
		KUNIT_EXPECT_EQ(test, twheel_cancel_sync(&system_timer), 1);
	}
	system_renew();
}

/* A callback on that wheel, which arms another timer for the first time, and goes on. */
static struct host {
	struct twheel_timer timer;
	bool armed, release, gave_up;
} system_host;

static void system_host_run(struct twheel_timer *timer)
{
	twheel_arm(&system_timer, HOUR);
	WRITE_ONCE(system_host.armed, true);
	if (!callback_hold(&system_host.release))
		WRITE_ONCE(system_host.gave_up, true);
}

/* A timer that joins a base is not taken for the one whose callback runs there. */
static void static_timer_joins_while_another_runs(struct kunit *test)
{
	int ret;

	test_needs_two_cpus(test);
	system_renew();
	memset(&system_host, 0, sizeof(system_host));
	twheel_timer_init(&system_host.timer, NULL, system_host_run);
	set_cpus_allowed_ptr(current, cpumask_of(cpu_first()));
	KUNIT_EXPECT_EQ(test, twheel_arm_on(&system_host.timer, cpu_last(), 0), 0);
	KUNIT_EXPECT_TRUE(test, await(READ_ONCE(system_host.armed)));
	ret = twheel_try_cancel(&system_host.timer);
	if (!READ_ONCE(system_host.gave_up))
		KUNIT_EXPECT_EQ(test, ret, -EBUSY);
	WRITE_ONCE(system_host.release, true);
	KUNIT_EXPECT_EQ(test, twheel_shutdown_sync(&system_host.timer), 0);
	KUNIT_EXPECT_EQ(test, twheel_cancel_sync(&system_timer), 1);
	system_renew();
}

static struct kunit_case system_cases[] = {
	KUNIT_CASE(system_wheel_is_there),
	KUNIT_CASE(timer_before_the_wheel_works),
	KUNIT_CASE(static_timer_works),
	KUNIT_CASE(static_timer_has_an_old_address),
	KUNIT_CASE(static_timer_is_raced_for),
	KUNIT_CASE(static_timer_joins_while_another_runs),
	{ }
};

static struct kunit_suite twheel_system_suite = {
	.name		= "twheel_system",
	.exit		= smp_test_exit,
	.test_cases	= system_cases,
};

kunit_test_suite(twheel_system_suite);
