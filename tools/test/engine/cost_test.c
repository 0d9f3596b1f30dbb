// SPDX-License-Identifier: GPL-2.0-only
/*
 * What the engine does in one call, counted exactly. Slices are kept, searches and moves cost
 * what they say, and the counters tell what happened. On a virtual clock.
 */
#include "rig.h"

static void slices_are_kept(struct kunit *test)
{
	unsigned int i, n = 1000, slice, pops = 0;
	enum tw_advance turn;
	struct rig rig;
	u64 cascades, searched;

	rig_init(&rig, test, "slices", 1, 16, 0, n);
	for (i = 0; i < n; i++)
		rig_add(&rig, i, 600 + i % 3);
	tw_wheel_begin_round(&rig.w, true);
	do {
		cascades = rig.w.cascades;
		searched = rig.w.searched;
		slice = 7;
		turn = tw_wheel_advance(&rig.w, 601, &slice);
		KUNIT_EXPECT_EQ(test, rig.w.cascades - cascades +
				rig.w.searched - searched, 7 - slice);
		slice = 7;
		while (turn == TW_ADVANCE_DUE && rig_pop(&rig.w, &slice))
			pops++;
		KUNIT_ASSERT_LE(test, slice, 7U);
	} while (turn != TW_ADVANCE_DONE);
	KUNIT_EXPECT_EQ(test, pops, 667);
	KUNIT_EXPECT_EQ(test, rig.w.now, 601);
	rig_exit(&rig);
}

static void slice_ends_within_a_bucket(struct kunit *test)
{
	unsigned int i, n = 20, slice = 5;
	struct rig rig;

	/* At tick 64 the crowd in bucket 5 of level 1 begins to move: five of it. */
	rig_init(&rig, test, "within", 1, 16, 0, n);
	for (i = 0; i < n; i++)
		rig_add(&rig, i, 5 * 16 + i % 16);
	rig_run(&rig, 63);
	tw_wheel_begin_round(&rig.w, true);
	KUNIT_EXPECT_EQ(test, tw_wheel_advance(&rig.w, 64, &slice), TW_ADVANCE_DONE);
	KUNIT_EXPECT_FALSE(test, tw_wheel_drain_ahead(&rig.w, &slice));
	KUNIT_EXPECT_EQ(test, slice, 0);
	rig_audit(&rig);
	/* The last one added is the first of the list. */
	for (i = n; i--; ) {
		rig_del(&rig, i);
		rig_audit(&rig);
	}
	KUNIT_EXPECT_EQ(test, tw_wheel_next_event(&rig.w), TW_WHEEL_ASLEEP);
	rig_exit(&rig);
}

static void rest_of_a_crowd_comes_at_once(struct kunit *test)
{
	unsigned int i, n = 20, slice = 5;
	struct rig rig;

	/* As above; a timer of level 0 is due before the crowd is. */
	rig_init(&rig, test, "rest", 1, 16, 0, n + 1);
	for (i = 0; i < n; i++)
		rig_add(&rig, i, 5 * 16 + i % 16);
	rig_run(&rig, 63);
	rig_add(&rig, n, 70);
	tw_wheel_begin_round(&rig.w, true);
	KUNIT_EXPECT_EQ(test, tw_wheel_advance(&rig.w, 64, &slice), TW_ADVANCE_DONE);
	KUNIT_EXPECT_FALSE(test, tw_wheel_drain_ahead(&rig.w, &slice));
	KUNIT_EXPECT_LE(test, tw_wheel_next_event(&rig.w), 64);
	rig.served = 64;
	rig_follow(&rig, 6 * 16);
	KUNIT_EXPECT_EQ(test, rig.fired, n + 1);
	rig_exit(&rig);
}

/*
 * The timers of a tick come at once, however many they are. Those of many ticks do not: the
 * position stops with the last tick that was gathered, of 32.
 */
static void many_ticks_end_the_way(struct kunit *test)
{
	unsigned int i, n = 1000, slice = 100;
	struct rig rig;

	rig_init(&rig, test, "way", 1, 256, 0, n);
	for (i = 0; i < n - 40; i++)
		rig_add(&rig, i, 10);
	for (; i < n; i++)
		rig_add(&rig, i, 20 + i - (n - 40));
	tw_wheel_begin_round(&rig.w, true);
	KUNIT_EXPECT_EQ(test, tw_wheel_advance(&rig.w, 100, &slice), TW_ADVANCE_DUE);
	KUNIT_EXPECT_EQ(test, rig.w.now, 20 + 30);
	rig_run(&rig, 100);
	KUNIT_EXPECT_EQ(test, rig.fired, n);
	KUNIT_EXPECT_EQ(test, rig.w.requeued, 0);
	rig_exit(&rig);
}

/*
 * So do buckets of an upper level with a timer each: none of them is emptied into lower ones. The
 * position stops after 32, or where a bucket of the next level begins.
 */
static void lone_timers_end_the_way(struct kunit *test)
{
	static const struct {
		unsigned int first, last;
	} ways[] = {
		{ 4, 35 }, { 110, 141 }, { 240, 255 },
	};
	unsigned int i, j, n = 40;
	struct rig rig;

	for (j = 0; j < ARRAY_SIZE(ways); j++) {
		unsigned int slice = 100;

		rig_init(&rig, test, "alone", 1, 256, 0, n);
		for (i = 0; i < n; i++)
			rig_add(&rig, i, 256 * (ways[j].first + i) + 7);
		tw_wheel_begin_round(&rig.w, true);
		KUNIT_EXPECT_EQ(test, tw_wheel_advance(&rig.w, 100000, &slice), TW_ADVANCE_DUE);
		KUNIT_EXPECT_EQ(test, rig.w.now, 256 * ways[j].last + 7);
		rig_run(&rig, 100000);
		KUNIT_EXPECT_EQ(test, rig.fired, n);
		KUNIT_EXPECT_EQ(test, rig.w.cascades, 0);
		rig_exit(&rig);
	}
}

static void displaced_are_looked_for_in_slices(struct kunit *test)
{
	unsigned int slice = 0;
	struct tw_wheel *w;
	struct rig rig;

	/* Level 3 of 256 slots: before more buckets than are searched at a time. */
	rig_init(&rig, test, "displaced", 1, 256, 1000, 1);
	w = &rig.w;
	rig_add(&rig, 0, 1000 + 5 * (1ULL << 24));
	rig_back(&rig, 500);
	KUNIT_ASSERT_TRUE(test, w->displaced);
	tw_wheel_begin_round(w, true);
	KUNIT_EXPECT_EQ(test, tw_wheel_advance(w, 500, &slice), TW_ADVANCE_MORE);
	KUNIT_EXPECT_EQ(test, w->displaced * BITS_PER_LONG, w->nr);
	slice = 1;
	KUNIT_EXPECT_EQ(test, tw_wheel_advance(w, 500, &slice), TW_ADVANCE_MORE);
	KUNIT_EXPECT_EQ(test, slice, 0);
	KUNIT_EXPECT_EQ(test, w->displaced * BITS_PER_LONG, w->nr - 1024);
	rig_run(&rig, 500);
	rig_follow(&rig, rig_deadline(&rig, 0));
	KUNIT_EXPECT_EQ(test, rig.fired, 1);
	rig_exit(&rig);

	/* Level 0: each look costs two, or what is left. */
	rig_init(&rig, test, "displaced far", 1, 256, 1000, 1);
	w = &rig.w;
	rig_add(&rig, 0, 1005);
	rig_back(&rig, 500);
	tw_wheel_begin_round(w, true);
	slice = 3;
	KUNIT_EXPECT_EQ(test, tw_wheel_advance(w, 500, &slice), TW_ADVANCE_MORE);
	KUNIT_EXPECT_EQ(test, slice, 0);
	KUNIT_EXPECT_EQ(test, w->displaced * BITS_PER_LONG, w->nr - 2048);
	rig_run(&rig, 500);
	rig_exit(&rig);
}

static void counters_say_what_moved(struct kunit *test)
{
	unsigned int slice = 100;
	struct tw_wheel *w;
	struct rig rig;

	/* Bucket 5 of level 1: one timer for its last tick, one for four buckets after 64. */
	rig_init(&rig, test, "counters", 1, 16, 0, 2);
	w = &rig.w;
	rig_add(&rig, 0, 95);
	rig_add(&rig, 1, 90);
	KUNIT_EXPECT_TRUE(test, rig_extend(&rig, 1, 128));
	rig_run(&rig, 63);
	tw_wheel_begin_round(w, true);
	KUNIT_EXPECT_EQ(test, tw_wheel_advance(w, 64, &slice), TW_ADVANCE_DONE);
	KUNIT_EXPECT_EQ(test, w->cascaded, 0);
	KUNIT_EXPECT_TRUE(test, tw_wheel_drain_ahead(w, &slice));
	KUNIT_EXPECT_EQ(test, w->cascaded, BIT_ULL(1));
	KUNIT_EXPECT_EQ(test, w->cascades, 1);
	KUNIT_EXPECT_EQ(test, w->requeued, 1);
	KUNIT_EXPECT_EQ(test, tw_wheel_advance(w, 64, &slice), TW_ADVANCE_DONE);
	KUNIT_EXPECT_EQ(test, w->cascaded, 0);
	w->cascaded = BIT_ULL(2);
	KUNIT_EXPECT_TRUE(test, tw_wheel_drain_ahead(w, &slice));
	KUNIT_EXPECT_EQ(test, w->cascaded, 0);
	tw_wheel_next_event(w);
	rig_follow(&rig, 128);
	KUNIT_EXPECT_EQ(test, rig.fired, 2);
	rig_exit(&rig);
}

/* What a search of all levels costs, in timers of a slice: see wheel_edge_cost(). */
static void search_of_all_levels_costs(struct kunit *test)
{
	static const struct {
		unsigned int slots, cost;
	} shapes[] = {
		{ 16, 5 }, { 256, 12 }, { 4096, 100 },
	};
	unsigned int i, slice;
	struct rig rig;

	for (i = 0; i < ARRAY_SIZE(shapes); i++) {
		u64 far = 5ULL * shapes[i].slots * shapes[i].slots + 7;

		rig_init(&rig, test, "all levels", 1, shapes[i].slots, 0, 1);
		rig_add(&rig, 0, far);
		tw_wheel_begin_round(&rig.w, true);
		slice = 0;
		KUNIT_EXPECT_EQ(test, tw_wheel_advance(&rig.w, far, &slice),
				TW_ADVANCE_MORE);
		KUNIT_EXPECT_EQ(test, rig.w.now, 0);
		/* It is alone, and need not be moved. */
		slice = shapes[i].cost;
		KUNIT_EXPECT_EQ(test, tw_wheel_advance(&rig.w, far, &slice),
				TW_ADVANCE_DUE);
		KUNIT_EXPECT_EQ(test, rig.w.searched, shapes[i].cost);
		KUNIT_EXPECT_EQ(test, rig.w.cascades, 0);
		KUNIT_EXPECT_EQ(test, slice, 0);
		KUNIT_EXPECT_EQ(test, rig.w.now, far);
		rig_exit(&rig);
	}
}

/* What is in the next block, or begins with it, is found without a search of all levels. */
static void search_of_a_block_costs_less(struct kunit *test)
{
	unsigned int slice = 100;
	u64 searched;
	struct tw_wheel *w;
	struct rig rig;

	rig_init(&rig, test, "a block", 1, 256, 0, 3);
	w = &rig.w;
	rig_add(&rig, 0, 511);
	tw_wheel_begin_round(w, true);
	KUNIT_EXPECT_EQ(test, tw_wheel_advance(w, 700, &slice), TW_ADVANCE_DUE);
	KUNIT_EXPECT_EQ(test, w->now, 511);
	KUNIT_EXPECT_EQ(test, w->searched, 1);
	KUNIT_EXPECT_NOT_NULL(test, rig_pop(w, &slice));
	rig_exit(&rig);

	/* The bucket of the other two begins with tick 512. */
	rig_init(&rig, test, "begins", 1, 128, 0, 3);
	w = &rig.w;
	rig_add(&rig, 1, 600);
	rig_add(&rig, 2, 601);
	rig_run(&rig, 300);
	searched = w->searched;
	rig_add(&rig, 0, 511);
	tw_wheel_begin_round(w, true);
	slice = 100;
	KUNIT_EXPECT_EQ(test, tw_wheel_advance(w, 700, &slice), TW_ADVANCE_DUE);
	KUNIT_EXPECT_NOT_NULL(test, rig_pop(w, &slice));
	slice = 1;
	KUNIT_EXPECT_EQ(test, tw_wheel_advance(w, 700, &slice), TW_ADVANCE_MORE);
	KUNIT_EXPECT_EQ(test, w->now, 511);
	slice = 100;
	KUNIT_EXPECT_EQ(test, tw_wheel_advance(w, 700, &slice), TW_ADVANCE_DUE);
	KUNIT_EXPECT_EQ(test, w->cascades, 2);
	/* One for each: the tick before, the bucket, the tick of the timers. */
	KUNIT_EXPECT_EQ(test, w->searched - searched, 3);
	rig_exit(&rig);
}

/*
 * A bucket of level 1 begins with tick 64, the next block. It is looked at first if level 0 has
 * timers, or if the position stands before it. Otherwise all levels are searched. If level 0 has
 * timers, the bucket is emptied into it, and one more search finds the tick.
 */
static void search_begins_with_the_next_block(struct kunit *test)
{
	static const struct {
		u64 position;
		bool other;
		unsigned int cost;
	} searches[] = {
		{ 50, false, 5 }, { 50, true, 2 }, { 62, false, 5 }, { 63, false, 1 },
		{ 63, true, 2 },
	};
	unsigned int i, slice;
	struct rig rig;

	for (i = 0; i < ARRAY_SIZE(searches); i++) {
		rig_init(&rig, test, "next block", 1, 16, 0, 2);
		rig_add(&rig, 0, 64);
		tw_wheel_begin_round(&rig.w, true);
		slice = 100;
		KUNIT_EXPECT_EQ(test, tw_wheel_advance(&rig.w, searches[i].position, &slice),
				TW_ADVANCE_DONE);
		KUNIT_EXPECT_EQ(test, slice, 100);
		if (searches[i].other)
			rig_add(&rig, 1, 100);
		KUNIT_EXPECT_EQ(test, tw_wheel_advance(&rig.w, 70, &slice), TW_ADVANCE_DUE);
		KUNIT_EXPECT_EQ_MSG(test, rig.w.searched, searches[i].cost, "search %u", i);
		rig_run(&rig, 100);
		rig_exit(&rig);
	}
}

/* A search forgets the levels that it has found empty. */
static void search_forgets_empty_levels(struct kunit *test)
{
	unsigned int i, slice = 100;
	struct rig rig;

	for (i = 0; i < 2; i++) {
		rig_init(&rig, test, "forgets", 1, 16, 0, 3);
		rig_add(&rig, 0, 40);
		rig_add(&rig, 1, 100);
		rig_add(&rig, 2, 2000);
		KUNIT_EXPECT_EQ(test, rig.w.active, BIT_ULL(0) | BIT_ULL(1) | BIT_ULL(2));
		rig_del(&rig, 0);
		rig_del(&rig, 1);
		rig_del(&rig, 2);
		tw_wheel_begin_round(&rig.w, true);
		/* The pass searches for the next edge, and its end for the next event. */
		if (i)
			tw_wheel_advance(&rig.w, 3000, &slice);
		else
			tw_wheel_next_event(&rig.w);
		KUNIT_EXPECT_EQ(test, rig.w.active, 0);
		rig_exit(&rig);
	}
}

static void forward_counts_what_moved(struct kunit *test)
{
	struct rig rig;

	/* The last tick of bucket 5 of level 1, and one that has left the bucket. */
	rig_init(&rig, test, "forward", 1, 16, 0, 2);
	rig_add(&rig, 0, 95);
	rig_add(&rig, 1, 95);
	KUNIT_EXPECT_TRUE(test, rig_extend(&rig, 1, 150));
	tw_wheel_move_forward(&rig.w, 90);
	KUNIT_EXPECT_EQ(test, rig.w.now, 90);
	KUNIT_EXPECT_EQ(test, rig.w.cascades, 1);
	KUNIT_EXPECT_EQ(test, rig.w.requeued, 1);
	rig.served = 90;
	rig_follow(&rig, 150);
	KUNIT_EXPECT_EQ(test, rig.fired, 2);
	rig_exit(&rig);
}

/* Those that belong one level lower cost one each, others two: see tw_bucket_empty(). */
static void lower_by_two_levels_costs_more(struct kunit *test)
{
	unsigned int slice = 100;
	struct tw_wheel *w;
	struct rig rig;

	/* Bucket 4 of level 2 begins with tick 1024; 64 ticks ahead is level 1. */
	rig_init(&rig, test, "two levels", 1, 16, 0, 4);
	w = &rig.w;
	rig_add(&rig, 0, 1023 + 63);
	rig_add(&rig, 1, 1023 + 64);
	rig_add(&rig, 2, 1279);
	rig_add(&rig, 3, 1100);
	KUNIT_EXPECT_TRUE(test, rig_extend(&rig, 3, 2047));
	tw_wheel_begin_round(w, true);
	KUNIT_EXPECT_EQ(test, tw_wheel_advance(w, 1025, &slice), TW_ADVANCE_DONE);
	KUNIT_EXPECT_EQ(test, w->cascades, 3);
	KUNIT_EXPECT_EQ(test, w->requeued, 1);
	/* The search, the first and the last one. */
	KUNIT_EXPECT_EQ(test, w->searched, 5 + 2);
	KUNIT_EXPECT_EQ(test, slice, 100 - 5 - 6);
	tw_wheel_next_event(w);
	rig.served = 1025;
	rig_follow(&rig, 2047);
	KUNIT_EXPECT_EQ(test, rig.fired, 4);
	rig_exit(&rig);
}

static void slice_of_two_moves_one_of_these(struct kunit *test)
{
	unsigned int slice = 2;
	struct tw_wheel *w;
	struct rig rig;

	rig_init(&rig, test, "slice of two", 1, 16, 0, 2);
	w = &rig.w;
	/* The last one added is the first of the list. */
	rig_add(&rig, 0, 1023 + 62);
	rig_add(&rig, 1, 1023 + 63);
	tw_wheel_begin_round(w, true);
	KUNIT_EXPECT_EQ(test, tw_wheel_advance(w, 1025, &slice), TW_ADVANCE_MORE);
	KUNIT_EXPECT_EQ(test, slice, 0);
	KUNIT_EXPECT_EQ(test, w->now, 1023);
	KUNIT_EXPECT_EQ(test, w->cascades, 1);
	KUNIT_EXPECT_EQ(test, w->searched, 1);
	tw_wheel_next_event(w);
	rig_follow(&rig, 1086);
	KUNIT_EXPECT_EQ(test, rig.fired, 2);
	rig_exit(&rig);
}

/* Two buckets are emptied together: a timer of each in turn, until the first one is empty. */
static void two_buckets_are_emptied_together(struct kunit *test)
{
	/* Timers of buckets 5, 6 and 7 of level 1; how many are moved when bucket 4 begins. */
	static const struct {
		unsigned int count[3], slice, moved;
		bool done;
	} cases[] = {
		{ { 4, 4, 4 }, 100, 8, true }, { { 2, 4, 4 }, 100, 4, true },
		{ { 4, 2, 4 }, 100, 6, true }, { { 4, 0, 4 }, 100, 4, true },
		{ { 4, 4, 4 }, 4, 4, false }, { { 1, 4, 4 }, 3, 1, true },
	};
	unsigned int i, j, k, n, slice;
	struct rig rig;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		rig_init(&rig, test, "together", 1, 16, 0, 12);
		for (j = 0, n = 0; j < 3; j++) {
			for (k = 0; k < cases[i].count[j]; k++)
				rig_add(&rig, n++, 16 * (5 + j) + k);
		}
		rig_run(&rig, 63);
		tw_wheel_begin_round(&rig.w, true);
		slice = cases[i].slice;
		KUNIT_EXPECT_EQ(test, tw_wheel_advance(&rig.w, 64, &slice), TW_ADVANCE_DONE);
		KUNIT_EXPECT_EQ(test, tw_wheel_drain_ahead(&rig.w, &slice), cases[i].done);
		KUNIT_EXPECT_EQ(test, tw_wheel_is_drained(&rig.w), cases[i].done);
		KUNIT_EXPECT_EQ_MSG(test, rig.w.cascades, cases[i].moved, "case %u", i);
		KUNIT_EXPECT_EQ(test, slice, cases[i].slice - cases[i].moved);
		tw_wheel_next_event(&rig.w);
		rig_audit(&rig);
		rig.served = 64;
		rig_follow(&rig, 200);
		KUNIT_EXPECT_EQ(test, rig.fired, n);
		rig_exit(&rig);
	}
}

static void due_is_not_put_back(struct kunit *test)
{
	unsigned int slice = 100;
	struct twheel_node *node;
	struct tw_wheel *w;
	struct rig rig;

	rig_init(&rig, test, "due", 1, 16, 0, 1);
	w = &rig.w;
	rig_add(&rig, 0, 10);
	tw_wheel_begin_round(w, true);
	KUNIT_EXPECT_EQ(test, tw_wheel_advance(w, 10, &slice), TW_ADVANCE_DUE);
	node = tw_wheel_due(w);
	KUNIT_ASSERT_PTR_EQ(test, node, &rig.timers[0].node);
	/* Due at its very instant: it stays, and costs nothing. */
	slice = 0;
	KUNIT_EXPECT_TRUE(test, tw_wheel_requeue_due(w, node, &slice));
	KUNIT_EXPECT_PTR_EQ(test, tw_wheel_due(w), node);
	KUNIT_EXPECT_EQ(test, w->requeued, 0);
	/* Extended: it goes, as soon as the slice lets it. */
	KUNIT_EXPECT_TRUE(test, rig_extend(&rig, 0, 11));
	KUNIT_EXPECT_FALSE(test, tw_wheel_requeue_due(w, node, &slice));
	KUNIT_EXPECT_PTR_EQ(test, tw_wheel_due(w), node);
	slice = 1;
	KUNIT_EXPECT_TRUE(test, tw_wheel_requeue_due(w, node, &slice));
	KUNIT_EXPECT_EQ(test, slice, 0);
	KUNIT_EXPECT_NULL(test, tw_wheel_due(w));
	KUNIT_EXPECT_EQ(test, w->requeued, 1);
	tw_wheel_next_event(w);
	rig_run(&rig, 11);
	KUNIT_EXPECT_EQ(test, rig.fired, 1);
	rig_exit(&rig);
}

static void claim_tells_how_late(struct kunit *test)
{
	unsigned int slice = 100;
	struct twheel_node *node;
	struct tw_wheel *w;
	struct rig rig;
	u64 late = 0;

	rig_init(&rig, test, "late", 10, 16, 0, 1);
	w = &rig.w;
	rig_add(&rig, 0, 95);
	tw_wheel_begin_round(w, true);
	KUNIT_EXPECT_EQ(test, tw_wheel_advance(w, 12, &slice), TW_ADVANCE_DUE);
	node = tw_wheel_due(w);
	KUNIT_ASSERT_NOT_NULL(test, node);
	KUNIT_EXPECT_TRUE(test, tw_wheel_claim(w, node, RIG_FIRED, tw_word(123), &late));
	KUNIT_EXPECT_EQ(test, late, 123 - 95);
	tw_wheel_dequeue_due(w, node);
	KUNIT_EXPECT_NULL(test, tw_wheel_due(w));
	rig_exit(&rig);
}

static struct kunit_case cost_cases[] = {
	KUNIT_CASE(slices_are_kept),
	KUNIT_CASE(slice_ends_within_a_bucket),
	KUNIT_CASE(rest_of_a_crowd_comes_at_once),
	KUNIT_CASE(many_ticks_end_the_way),
	KUNIT_CASE(lone_timers_end_the_way),
	KUNIT_CASE(displaced_are_looked_for_in_slices),
	KUNIT_CASE(counters_say_what_moved),
	KUNIT_CASE(search_of_all_levels_costs),
	KUNIT_CASE(search_of_a_block_costs_less),
	KUNIT_CASE(search_begins_with_the_next_block),
	KUNIT_CASE(search_forgets_empty_levels),
	KUNIT_CASE(forward_counts_what_moved),
	KUNIT_CASE(lower_by_two_levels_costs_more),
	KUNIT_CASE(slice_of_two_moves_one_of_these),
	KUNIT_CASE(two_buckets_are_emptied_together),
	KUNIT_CASE(due_is_not_put_back),
	KUNIT_CASE(claim_tells_how_late),
	{ }
};

static struct kunit_suite twheel_cost_suite = {
	.name		= "twheel_cost",
	.test_cases	= cost_cases,
};

kunit_test_suite(twheel_cost_suite);
