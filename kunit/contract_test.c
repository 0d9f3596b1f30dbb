// SPDX-License-Identifier: GPL-2.0-only
/*
 * Promises of the header that are easily broken, and once were. They are about timers
 * before they are armed, about "past" and about "in order". A program has the same.
 */
#include "probe.h"

/* A timer of zeros, as kzalloc() leaves it, without twheel_timer_init(). */
static void zeros_read_as_idle(struct kunit *test)
{
	struct twheel_timer *t = test_memory(test, sizeof(*t));

	KUNIT_EXPECT_FALSE(test, twheel_pending(t));
	KUNIT_EXPECT_EQ(test, twheel_state(t), TWHEEL_IDLE);
	KUNIT_EXPECT_GT(test, twheel_deadline(t), TWHEEL_NEVER);
	KUNIT_EXPECT_EQ(test, twheel_extend_at(t, 0), -ENOENT);
	KUNIT_EXPECT_EQ(test, twheel_extend_at(t, MS), -ENOENT);
	KUNIT_EXPECT_EQ(test, twheel_extend_at(t, ~(u64)0), -ENOENT);
	KUNIT_EXPECT_FALSE(test, twheel_pending(t));
	KUNIT_EXPECT_PTR_EQ(test, twheel_of(t), NULL);
}

/* The calls that debug objects watch; there, the misuse test has the same. */
static void zeros_are_not_pending(struct kunit *test)
{
	struct twheel_timer *t;

	if (IS_ENABLED(CONFIG_DEBUG_OBJECTS))
		kunit_skip(test, "debug objects would report it");
	t = test_memory(test, sizeof(*t));
	KUNIT_EXPECT_EQ(test, twheel_cancel(t), 0);
	KUNIT_EXPECT_EQ(test, twheel_cancel_sync(t), 0);
	KUNIT_EXPECT_EQ(test, twheel_shutdown_sync(t), 0);
	KUNIT_EXPECT_EQ(test, twheel_modify(t, MS), -ENOENT);
	KUNIT_EXPECT_EQ(test, twheel_modify_at(t, 0), -ENOENT);
	KUNIT_EXPECT_EQ(test, twheel_modify_at(t, ~(u64)0), -ENOENT);
	KUNIT_EXPECT_EQ(test, twheel_extend(t, MS), -ENOENT);
	KUNIT_EXPECT_GT(test, twheel_remaining(t), TWHEEL_NEVER);
	/* It has no wheel to be armed on. */
	KUNIT_EXPECT_EQ(test, twheel_arm(t, MS), -EINVAL);
	KUNIT_EXPECT_EQ(test, twheel_arm_at(t, 0), -EINVAL);
	KUNIT_EXPECT_EQ(test, twheel_arm_at(t, ~(u64)0), -EINVAL);
	KUNIT_EXPECT_EQ(test, twheel_arm_range(t, MS, MS), -EINVAL);
	KUNIT_EXPECT_EQ(test, twheel_arm_range_at(t, MS, MS), -EINVAL);
	KUNIT_EXPECT_FALSE(test, twheel_pending(t));
}

/* Deadline 0 is a deadline like others, though zeros read as idle. */
static void deadline_zero_is_pending(struct kunit *test)
{
	struct twheel *wheel = virtual_wheel(test, MS, 0);
	struct probe *probe = probes_new(test, wheel, 1, probe_fire);
	struct twheel_timer *t = &probe->timer;

	KUNIT_EXPECT_EQ(test, twheel_arm_at(t, 0), 0);
	KUNIT_EXPECT_TRUE(test, twheel_pending(t));
	KUNIT_EXPECT_EQ(test, twheel_arm_at(t, 0), 1);
	KUNIT_EXPECT_TRUE(test, twheel_pending(t));
	KUNIT_EXPECT_EQ(test, twheel_extend_at(t, 0), 0);
	KUNIT_EXPECT_EQ(test, twheel_arm_at(t, DAY), 1);
	KUNIT_EXPECT_EQ(test, twheel_modify_at(t, 0), 1);
	KUNIT_EXPECT_TRUE(test, twheel_pending(t));
	KUNIT_EXPECT_EQ(test, twheel_cancel(t), 1);
	KUNIT_EXPECT_EQ(test, twheel_arm_at(t, 0), 0);
	KUNIT_EXPECT_EQ(test, twheel_deadline(t), 0);
	KUNIT_EXPECT_EQ(test, twheel_remaining(t), 0);
	twheel_advance(wheel, 0);
	KUNIT_EXPECT_EQ(test, probe->fired, 1);
	KUNIT_EXPECT_EQ(test, pending_count(wheel), 0);
}

/* A deadline in the past still waits for its tick boundary, if that is ahead. */
static void past_waits_for_its_boundary(struct kunit *test)
{
	u64 now = 10 * HOUR + HOUR / 2;
	struct twheel *wheel = virtual_wheel(test, HOUR, now);
	struct probe *probes = probes_new(test, wheel, 2, probe_fire);

	/* Its boundary is 11 h; that of the other one has passed. */
	twheel_arm_at(&probes[0].timer, 10 * HOUR + HOUR / 4);
	twheel_arm_at(&probes[1].timer, 9 * HOUR);
	KUNIT_EXPECT_EQ(test, probes[1].fired, 0);
	twheel_advance(wheel, now);
	KUNIT_EXPECT_EQ(test, probes[0].fired, 0);
	KUNIT_EXPECT_EQ(test, probes[1].fired, 1);
	twheel_advance(wheel, 11 * HOUR - 1);
	KUNIT_EXPECT_EQ(test, probes[0].fired, 0);
	twheel_advance(wheel, 11 * HOUR);
	KUNIT_EXPECT_EQ(test, probes[0].fired, 1);
}

/* Timers that were not moved fire in the order of their ticks. */
struct ordered {
	struct twheel_timer timer;
	u64 *last;
	unsigned int *disorder;
	u64 tick;
};

static void note_order(struct twheel_timer *timer)
{
	struct ordered *o = container_of(timer, struct ordered, timer);

	*o->disorder += o->tick < *o->last;
	*o->last = o->tick;
}

static void ticks_are_in_order(struct kunit *test)
{
	struct twheel *wheel = virtual_wheel(test, MS, 0);
	unsigned int i, n = 300, disorder = 0;
	struct ordered *timers;
	u32 seed = 4711;
	u64 last = 0;

	timers = test_memory(test, n * sizeof(*timers));
	for (i = 0; i < n; i++) {
		timers[i].last = &last;
		timers[i].disorder = &disorder;
		timers[i].tick = 1 + test_random(&seed) % 100000;
		twheel_timer_init(&timers[i].timer, wheel, note_order);
		twheel_arm_at(&timers[i].timer, timers[i].tick * MS);
	}
	twheel_advance(wheel, 50000 * MS);
	twheel_advance(wheel, 100000 * MS);
	KUNIT_EXPECT_EQ(test, disorder, 0);
	KUNIT_EXPECT_EQ(test, pending_count(wheel), 0);
}

static struct kunit_case contract_cases[] = {
	KUNIT_CASE(zeros_read_as_idle),
	KUNIT_CASE(zeros_are_not_pending),
	KUNIT_CASE(deadline_zero_is_pending),
	KUNIT_CASE(past_waits_for_its_boundary),
	KUNIT_CASE(ticks_are_in_order),
	{ }
};

static struct kunit_suite twheel_contract_suite = {
	.name		= "twheel_contract",
	.exit		= wheels_end,
	.test_cases	= contract_cases,
};

kunit_test_suite(twheel_contract_suite);
