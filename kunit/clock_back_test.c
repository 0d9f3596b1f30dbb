// SPDX-License-Identifier: GPL-2.0-only
/*
 * A virtual clock that is set back: what fires when, to the tick. For the wall
 * clock see clock_set_test.c, for the engine alone round_test.c.
 */
#include <linux/delay.h>
#include <linux/interrupt.h>

#include <linux/twheel_stats.h>
#include <linux/twheel_virtual.h>

#include "../module/core/base.h"
#include "probe.h"

/* At its own deadline, not at once, nor at where the wheel has been. */
static void between_clock_and_position(struct kunit *test)
{
	struct twheel *wheel = wheel_of_test(test);
	struct probe *p = probes_new(test, wheel, 3, probe_fire);
	unsigned int i;

	twheel_advance(wheel, 1000 * MS);
	twheel_arm_at(&p[0].timer, 1010 * MS);
	KUNIT_EXPECT_EQ(test, twheel_advance(wheel, 500 * MS), 1010 * MS);
	twheel_arm_at(&p[1].timer, 700 * MS);
	twheel_arm_at(&p[2].timer, 1000 * MS);
	KUNIT_EXPECT_EQ(test, twheel_advance(wheel, 500 * MS), 700 * MS);
	wheel_run_until(wheel, 700 * MS - 1);
	KUNIT_EXPECT_EQ_MSG(test, p[1].fired, 0, "early");
	wheel_run_until(wheel, 2000 * MS);
	KUNIT_EXPECT_EQ(test, p[1].fired_at, 700 * MS);
	KUNIT_EXPECT_EQ(test, p[2].fired_at, 1000 * MS);
	KUNIT_EXPECT_EQ(test, p[0].fired_at, 1010 * MS);
	for (i = 0; i < 3; i++)
		KUNIT_EXPECT_EQ(test, p[i].fired, 1);
}

static void fired_is_fired(struct kunit *test)
{
	struct twheel *wheel = wheel_of_test(test);
	struct probe *p = probes_new(test, wheel, 1, probe_fire);

	twheel_arm_at(&p->timer, 50 * MS);
	wheel_run_until(wheel, 100 * MS);
	twheel_advance(wheel, 10 * MS);
	wheel_run_until(wheel, 200 * MS);
	KUNIT_EXPECT_EQ_MSG(test, p->fired, 1, "fired again");
}

/* Whatever the steps: due is what the clock has come to, and nothing else. */

static void one_step(struct kunit *test, struct twheel *wheel,
		     struct probe *probes, unsigned int n, u64 to)
{
	unsigned int i;

	for (i = 0; i < n; i++) {
		struct twheel_timer *timer = &probes[i].timer;

		probes[i].fired = 0;
		/* What is past needs no tick boundary. */
		probes[i].result = twheel_pending(timer) &&
				   twheel_deadline(timer) <= to;
	}
	/* A real clock calls as long as there is something to do. */
	for (i = 0; i < 100 && twheel_advance(wheel, to) <= to; i++)
		;
	KUNIT_EXPECT_LT_MSG(test, i, 100, "no end at %llu", to);
	for (i = 0; i < n; i++)
		KUNIT_EXPECT_EQ_MSG(test, probes[i].fired, probes[i].result,
				    "probe %u at %llu", i, to);
}

static void steps_at_random(struct kunit *test)
{
	struct twheel *wheel = wheel_of_test(test);
	unsigned int i, round, n = 40;
	struct probe *probes = probes_new(test, wheel, n, probe_fire);
	u32 seed = 2024;
	u64 now = 1000;

	for (round = 0; round < 600; round++) {
		/* Up to days. */
		u32 far = 1 + test_random(&seed) % (1U << test_random(&seed) % 29);

		for (i = 0; i < 6; i++) {
			struct probe *p = &probes[test_random(&seed) % n];
			/* A few are past, and not served before the clock is set. */
			u64 deadline = (now - now / 8 + test_random(&seed) % (2 * far)) * MS;

			switch (test_random(&seed) % 4) {
			case 0:
				twheel_cancel(&p->timer);
				break;
			case 1:
				twheel_modify_at(&p->timer, deadline);
				break;
			case 2:
				twheel_extend_at(&p->timer, deadline);
				break;
			default:
				twheel_arm_at(&p->timer, deadline);
			}
		}
		if (test_random(&seed) % 3 == 0)
			now -= min_t(u64, now, far);
		else
			now += far;
		one_step(test, wheel, probes, n, now * MS);
	}
}

/* During a pass, or between two passes of a round. */

static void set_back(struct twheel_timer *timer, u64 now_ns)
{
	tw_instance_set_time(timer->base->owner, now_ns);
}

static void note_and_set_back(struct twheel_timer *timer)
{
	struct probe *probe = container_of(timer, struct probe, timer);

	probe_fire(timer);
	set_back(timer, 100 * MS);
	twheel_arm_at(&probe->other->timer, 200 * MS);
}

static void back_in_a_callback(struct kunit *test)
{
	struct twheel *wheel = wheel_of_test(test);
	struct probe *p = probes_new(test, wheel, 2, probe_fire);

	probe_init(&p[0], wheel, note_and_set_back);
	p[0].other = &p[1];
	twheel_arm_at(&p[0].timer, 1000 * MS);
	/* An alarm set for where the wheel has been would be late. */
	KUNIT_EXPECT_LE(test, twheel_advance(wheel, 1000 * MS), 200 * MS);
	KUNIT_EXPECT_EQ(test, p[0].fired, 1);
	wheel_run_until(wheel, 1000 * MS);
	KUNIT_EXPECT_EQ(test, p[1].fired, 1);
	KUNIT_EXPECT_EQ(test, p[1].fired_at, 200 * MS);
}

/* It takes longer than a pass may, on any machine, so that a round takes several. */
#define CROWD		300
#define CALL_US		2

struct between {
	struct tasklet_struct tasklet;
	struct probe *later;
};

static struct between between;

static void note_and_call(struct twheel_timer *timer)
{
	probe_fire(timer);
	udelay(CALL_US);
	/* It runs when the pass lets softirqs in. */
	tasklet_schedule(&between.tasklet);
}

static void after_the_pass(struct tasklet_struct *tasklet)
{
	set_back(&between.later->timer, 100 * MS);
	twheel_arm_at(&between.later->timer, 500 * MS);
}

static unsigned int crowd_fired(const struct probe *crowd)
{
	unsigned int i, fired = 0;

	for (i = 0; i < CROWD; i++)
		fired += crowd[i].fired;
	return fired;
}

static void back_within_a_round(struct kunit *test)
{
	struct twheel *wheel = wheel_of_test(test);
	struct probe *crowd = probes_new(test, wheel, CROWD, note_and_call);
	struct probe *later = probes_new(test, wheel, 1, probe_fire);
	unsigned int i, fired;

	between.later = later;
	tasklet_setup(&between.tasklet, after_the_pass);
	for (i = 0; i < CROWD; i++)
		twheel_arm_at(&crowd[i].timer, 1000 * MS);
	twheel_advance(wheel, 1000 * MS);
	tasklet_kill(&between.tasklet);
	fired = crowd_fired(crowd);
	KUNIT_EXPECT_LT_MSG(test, fired, CROWD, "before their time");
	KUNIT_EXPECT_EQ_MSG(test, later->fired, 0, "early");

	/* The others are not due any more. */
	wheel_run_until(wheel, 999 * MS);
	KUNIT_EXPECT_EQ(test, crowd_fired(crowd), fired);
	KUNIT_EXPECT_EQ(test, later->fired, 1);
	KUNIT_EXPECT_EQ(test, later->fired_at, 500 * MS);
	for (i = 0; i < CROWD; i++)
		crowd[i].timer.function = probe_fire;
	wheel_run_until(wheel, 1000 * MS);
	KUNIT_EXPECT_EQ(test, crowd_fired(crowd), CROWD);
}

static struct kunit_case back_cases[] = {
	KUNIT_CASE(between_clock_and_position),
	KUNIT_CASE(fired_is_fired),
	KUNIT_CASE(back_in_a_callback),
	KUNIT_CASE(back_within_a_round),
	KUNIT_CASE(steps_at_random),
	{ }
};

static struct kunit_suite twheel_back_suite = {
	.name		= "twheel_clock_back",
	.init		= probe_test_init,
	.exit		= wheels_end,
	.test_cases	= back_cases,
};

kunit_test_suite(twheel_back_suite);
