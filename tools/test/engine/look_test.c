// SPDX-License-Identifier: GPL-2.0-only
/*
 * The engine asks its host about deadlines that are kept elsewhere: &tw_wheel.look. The
 * oracle knows the kept ones, see rig_keep() and rig_drop(). The device works like that.
 */
#include "rig.h"

static void look_init(struct rig *rig, struct kunit *test, const char *what,
		      unsigned int slots, unsigned int count)
{
	rig_init(rig, test, what, 1, slots, 0, count);
	rig->w.look = rig_look;
}

/* Arm all for one bucket of the second level, with 16 slots. */
static void look_crowd(struct rig *rig)
{
	unsigned int i;

	for (i = 0; i < rig->count; i++)
		rig_add(rig, i, 19 * 16 + i % 16);
}

static void look_keep_all(struct rig *rig, u64 deadline)
{
	unsigned int i;

	for (i = 0; i < rig->count; i++)
		rig_keep(rig, i, deadline + i);
}

static void kept_deadlines_are_followed(struct kunit *test)
{
	struct rig rig;

	look_init(&rig, test, "kept", 16, 100);
	look_crowd(&rig);
	look_keep_all(&rig, 20000);
	/* The bucket is emptied ahead. That is all, until the new one is. */
	KUNIT_EXPECT_EQ(test, rig_follow(&rig, 12000), 1U);
	KUNIT_EXPECT_EQ(test, rig.looks, 100U);
	KUNIT_EXPECT_EQ(test, rig.w.requeued, 100ULL);
	KUNIT_EXPECT_EQ(test, rig.w.cascades, 0ULL);
	rig_audit(&rig);
	rig_follow(&rig, 30000);
	KUNIT_EXPECT_EQ(test, rig.fired, 100U);
	KUNIT_EXPECT_EQ(test, rig_pending(&rig), 0U);
	rig_exit(&rig);
}

static void words_alone_are_followed(struct kunit *test)
{
	unsigned int i;
	struct rig rig;

	/* What says nothing new goes down level by level, and is asked about on each. */
	look_init(&rig, test, "not kept", 16, 100);
	for (i = 0; i < 100; i++)
		rig_add(&rig, i, 20000 + i);
	rig_follow(&rig, 19999);
	KUNIT_EXPECT_EQ(test, rig.fired, 0U);
	KUNIT_EXPECT_EQ(test, rig.w.requeued, 0ULL);
	KUNIT_EXPECT_GT(test, rig.w.cascades, 100ULL);
	rig_follow(&rig, 20100);
	KUNIT_EXPECT_EQ(test, rig.fired, 100U);
	rig_exit(&rig);
}

static void taken_nodes_are_forgotten(struct kunit *test)
{
	unsigned int i;
	struct rig rig;

	look_init(&rig, test, "taken", 16, 100);
	look_crowd(&rig);
	for (i = 0; i < 100; i++) {
		if (i % 3)
			rig_drop(&rig, i);
	}
	rig_follow(&rig, 19 * 16 - 1);
	KUNIT_EXPECT_EQ(test, rig.fired, 0U);
	KUNIT_EXPECT_EQ(test, rig.taken, 66U);
	rig_audit(&rig);
	rig_follow(&rig, 500);
	KUNIT_EXPECT_EQ(test, rig.fired, 34U);
	/* Their memory is used for new ones. */
	for (i = 0; i < 100; i++)
		rig_add(&rig, i, 1000 + i);
	rig_follow(&rig, 2000);
	KUNIT_EXPECT_EQ(test, rig.fired, 134U);
	rig_exit(&rig);
}

static void bucket_is_taken_whole(struct kunit *test)
{
	struct rig rig;
	unsigned int i;

	look_init(&rig, test, "all taken", 16, 100);
	look_crowd(&rig);
	for (i = 0; i < 100; i++)
		rig_drop(&rig, i);
	rig_follow(&rig, 1000);
	KUNIT_EXPECT_EQ(test, rig.taken, 100U);
	KUNIT_EXPECT_EQ(test, rig.w.wake, TW_WHEEL_ASLEEP);
	rig_audit(&rig);
	rig_exit(&rig);
}

/* It is asked about as many as the slice lets move: those of other levels cost two. */
static void as_many_looks_as_moves(struct kunit *test)
{
	/* Bucket 5 of level 1 is emptied at tick 64: 128 is four buckets later. */
	static const struct {
		u64 kept;
		unsigned int slice, looks;
	} cases[] = {
		{ 0, 4, 4 }, { 127, 4, 4 }, { 128, 4, 2 }, { 128, 5, 3 }, { 1000, 2, 1 },
		{ 1000, 1, 1 },
	};
	unsigned int i, j, n = 8, slice;
	struct rig rig;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		look_init(&rig, test, "as many", 16, n);
		for (j = 0; j < n; j++)
			rig_add(&rig, j, 80 + j);
		rig_run(&rig, 63);
		tw_wheel_begin_round(&rig.w, true);
		slice = cases[i].slice;
		KUNIT_EXPECT_EQ(test, tw_wheel_advance(&rig.w, 64, &slice), TW_ADVANCE_DONE);
		for (j = 0; j < n && cases[i].kept; j++)
			rig_keep(&rig, j, cases[i].kept);
		KUNIT_EXPECT_FALSE(test, tw_wheel_drain_ahead(&rig.w, &slice));
		KUNIT_EXPECT_EQ_MSG(test, rig.looks, cases[i].looks, "case %u", i);
		KUNIT_EXPECT_EQ(test, rig.w.cascades + rig.w.requeued, rig.looks);
		tw_wheel_next_event(&rig.w);
		rig.served = 64;
		rig_follow(&rig, 1000);
		KUNIT_EXPECT_EQ(test, rig.fired, n);
		rig_exit(&rig);
	}
}

static void lone_timer_is_asked_about(struct kunit *test)
{
	struct rig rig;

	/* It goes from its upper bucket to those that are due at once: see rig_pop(). */
	look_init(&rig, test, "lone", 16, 2);
	rig_add(&rig, 0, 5000);
	rig_keep(&rig, 0, 9000);
	rig_run(&rig, 5000);
	KUNIT_EXPECT_EQ(test, rig.fired, 0U);
	KUNIT_EXPECT_EQ(test, rig.w.requeued, 1ULL);
	KUNIT_EXPECT_EQ(test, rig_follow(&rig, 9000), 1U);
	KUNIT_EXPECT_EQ(test, rig.fired, 1U);

	/* A later one is still found after it was taken. */
	rig_add(&rig, 0, 20000);
	rig_drop(&rig, 0);
	rig_add(&rig, 1, 30000);
	rig_run(&rig, 25000);
	KUNIT_EXPECT_EQ(test, rig.taken, 1U);
	KUNIT_EXPECT_EQ(test, rig.w.now, 25000ULL);
	rig_audit(&rig);
	rig_run(&rig, 30000);
	KUNIT_EXPECT_EQ(test, rig.fired, 2U);
	rig_exit(&rig);
}

static void arming_asks_too(struct kunit *test)
{
	unsigned int i;
	struct rig rig;

	/* Between passes the position follows the clock, and empties buckets on its way. */
	look_init(&rig, test, "forward", 16, 4);
	for (i = 0; i < 4; i++)
		rig_add(&rig, i, 299);
	rig_keep(&rig, 1, 400);
	rig_drop(&rig, 2);
	rig_keep(&rig, 3, 299);
	tw_wheel_move_forward(&rig.w, 297);
	KUNIT_EXPECT_EQ(test, rig.w.now, 297ULL);
	KUNIT_EXPECT_EQ(test, rig.looks, 4U);
	KUNIT_EXPECT_EQ(test, rig.taken, 1U);
	KUNIT_EXPECT_EQ(test, rig.w.requeued, 1ULL);
	rig_audit(&rig);
	rig_run(&rig, 299);
	KUNIT_EXPECT_EQ(test, rig.fired, 2U);
	rig_follow(&rig, 400);
	KUNIT_EXPECT_EQ(test, rig.fired, 3U);
	rig_exit(&rig);
}

static void taking_costs_of_the_slice(struct kunit *test)
{
	unsigned int i, slice = 10;
	struct rig rig;

	look_init(&rig, test, "slice", 16, 30);
	for (i = 0; i < 30; i++) {
		rig_add(&rig, i, 300);
		if (i)
			rig_drop(&rig, i);
	}
	tw_wheel_begin_round(&rig.w, true);
	KUNIT_EXPECT_EQ(test, tw_wheel_advance(&rig.w, 299, &slice), TW_ADVANCE_MORE);
	KUNIT_EXPECT_EQ(test, slice, 0U);
	KUNIT_EXPECT_EQ(test, rig.looks, 10U);
	KUNIT_EXPECT_EQ(test, rig.w.searched, 10ULL);
	KUNIT_EXPECT_EQ(test, rig.w.cascades, 0ULL);
	tw_wheel_next_event(&rig.w);
	rig_audit(&rig);
	rig_follow(&rig, 300);
	KUNIT_EXPECT_EQ(test, rig.fired, 1U);
	rig_exit(&rig);
}

static void kept_for_ever(struct kunit *test)
{
	struct rig rig;

	look_init(&rig, test, "for ever", 16, 20);
	look_crowd(&rig);
	look_keep_all(&rig, TWHEEL_NEVER - 19);
	rig_follow(&rig, 5000);
	KUNIT_EXPECT_EQ(test, rig.w.requeued, 20ULL);
	KUNIT_EXPECT_GT(test, rig.w.wake, 1ULL << 60);
	KUNIT_EXPECT_EQ(test, rig_pending(&rig), 20U);
	rig_audit(&rig);
	rig_exit(&rig);
}

static struct kunit_case look_cases[] = {
	KUNIT_CASE(kept_deadlines_are_followed),
	KUNIT_CASE(words_alone_are_followed),
	KUNIT_CASE(taken_nodes_are_forgotten),
	KUNIT_CASE(bucket_is_taken_whole),
	KUNIT_CASE(as_many_looks_as_moves),
	KUNIT_CASE(lone_timer_is_asked_about),
	KUNIT_CASE(arming_asks_too),
	KUNIT_CASE(taking_costs_of_the_slice),
	KUNIT_CASE(kept_for_ever),
	{ }
};

static struct kunit_suite twheel_look_suite = {
	.name		= "twheel_look",
	.test_cases	= look_cases,
};

kunit_test_suite(twheel_look_suite);
