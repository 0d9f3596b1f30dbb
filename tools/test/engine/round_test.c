// SPDX-License-Identifier: GPL-2.0-only
/*
 * Rounds of the engine on a virtual clock: when a round is due, and how timers behave that
 * change during a round.
 */
#include "rig.h"

/* When to wake up */

static void lone_timer_wakes_once(struct kunit *test)
{
	const u64 day = 86400ULL * 1000;	/* in ticks */
	struct rig rig;

	rig_init(&rig, test, "lone", 1000000, 256, 1234567, 20);
	rig_add(&rig, 0, (10 * day + 1) * 1000000);
	KUNIT_EXPECT_EQ(test, rig_follow(&rig, 100 * day), 1);
	KUNIT_EXPECT_EQ(test, rig.served, 10 * day + 1);
	rig_exit(&rig);
}

static void an_alarm_for_each_instant(struct kunit *test)
{
	unsigned int i, n = 30;
	struct rig rig;

	/* Three timers at each instant; the instants do not share buckets. */
	rig_init(&rig, test, "instants", 1, 256, 99, 3 * n);
	for (i = 0; i < 3 * n; i++)
		rig_add(&rig, i, 100000 + (i / 3) * 40000000ULL);
	KUNIT_EXPECT_EQ(test, rig_follow(&rig, U64_MAX - 1), n);
	KUNIT_EXPECT_EQ(test, rig.fired, 3 * n);
	rig_exit(&rig);
}

static void crowd_behind_a_lone_timer(struct kunit *test)
{
	unsigned int i, n = 200;
	struct rig rig;

	/*
	 * Level 1, buckets of 256 ticks: one timer at the end of bucket 4, a crowd in
	 * bucket 5. The engine has to begin with the crowd when bucket 4 begins.
	 */
	rig_init(&rig, test, "crowd", 1, 256, 0, n);
	rig_add(&rig, 0, 5 * 256 - 1);
	rig_run(&rig, 1);
	for (i = 1; i < n; i++)
		rig_add(&rig, i, 5 * 256 + i);
	KUNIT_EXPECT_EQ(test, tw_wheel_next_event(&rig.w), 4 * 256);
	rig_run(&rig, 4 * 256);
	/* The lone timer cascades, too, because its bucket begins. */
	KUNIT_EXPECT_EQ_MSG(test, rig.w.cascades, n,
			    "the crowd was not emptied ahead");
	rig_follow(&rig, 6 * 256);
	KUNIT_EXPECT_EQ(test, rig.fired, n);
	rig_exit(&rig);
}

static void crowd_comes_before_the_wake_up(struct kunit *test)
{
	unsigned int i, n = 10;
	struct rig rig;

	/*
	 * Level 1, buckets of 16 ticks: one timer in bucket 4, and then a crowd comes to
	 * bucket 5. It lowers the wake-up, although all of it is due after that.
	 */
	rig_init(&rig, test, "crowd comes", 1, 16, 0, n);
	rig_add(&rig, 0, 4 * 16 + 8);
	KUNIT_EXPECT_EQ(test, rig.w.wake, 4 * 16 + 8);
	for (i = 1; i < n; i++)
		rig_add(&rig, i, 5 * 16 + i);
	KUNIT_EXPECT_EQ(test, rig.w.wake, 4 * 16);
	rig_audit(&rig);
	rig_follow(&rig, 6 * 16);
	KUNIT_EXPECT_EQ(test, rig.fired, n);
	rig_exit(&rig);
}

static void few_are_a_crowd_from_nine(struct kunit *test)
{
	unsigned int i;
	struct rig rig;

	/* Up to eight timers of a bucket are looked at, and the wheel sleeps until the first. */
	rig_init(&rig, test, "few", 1, 16, 0, 9);
	for (i = 0; i < 8; i++)
		rig_add(&rig, i, 5 * 16 + 5 + i);
	rig_run(&rig, 1);
	KUNIT_EXPECT_EQ(test, rig.w.wake, 5 * 16 + 5);
	rig_add(&rig, 8, 5 * 16 + 15);
	rig_run(&rig, 2);
	KUNIT_EXPECT_EQ(test, rig.w.wake, 4 * 16);
	rig_exit(&rig);
}

static void extended_hides_no_crowd(struct kunit *test)
{
	unsigned int i, n = 10;
	struct rig rig;

	/*
	 * Level 1: the only timer of bucket 4 is extended beyond a crowd in bucket 6.
	 * The crowd has to be emptied from the beginning of bucket 5 on.
	 */
	rig_init(&rig, test, "hides", 1, 16, 0, n);
	rig_add(&rig, 0, 4 * 16);
	KUNIT_EXPECT_TRUE(test, rig_extend(&rig, 0, 1000));
	for (i = 1; i < n; i++)
		rig_add(&rig, i, 6 * 16 + i);
	rig_run(&rig, 1);
	KUNIT_EXPECT_LE(test, rig.w.wake, 5 * 16);
	rig_audit(&rig);
	rig_follow(&rig, 1000);
	KUNIT_EXPECT_EQ(test, rig.fired, n);
	rig_exit(&rig);
}

static void extended_needs_nothing_until_its_bucket_ends(struct kunit *test)
{
	struct rig rig;

	/* Bucket 4 of level 1 has ticks 64 to 79. */
	rig_init(&rig, test, "bucket ends", 1, 16, 0, 1);
	rig_add(&rig, 0, 70);
	KUNIT_EXPECT_TRUE(test, rig_extend(&rig, 0, 1000));
	KUNIT_EXPECT_EQ(test, tw_wheel_next_event(&rig.w), 79);
	rig_follow(&rig, 1000);
	KUNIT_EXPECT_EQ(test, rig.fired, 1);
	rig_exit(&rig);
}

static void extended_out_of_its_bucket(struct kunit *test)
{
	struct rig rig;

	rig_init(&rig, test, "extended", 1, 16, 0, 1);
	rig_add(&rig, 0, 40);
	KUNIT_EXPECT_TRUE(test, rig_extend(&rig, 0, 1000000));
	/* Woken for the old deadline and its levels, but not for the new one yet. */
	KUNIT_EXPECT_LE(test, rig_follow(&rig, 999999), 10);
	KUNIT_EXPECT_EQ(test, rig.fired, 0);
	KUNIT_EXPECT_EQ(test, rig_follow(&rig, 1000000), 1);
	KUNIT_EXPECT_EQ(test, rig.fired, 1);
	rig_exit(&rig);
}

/* A crowd in one bucket must not cost one long pause when the bucket begins. */

static void crowd_is_emptied_ahead(struct kunit *test)
{
	unsigned int i, n = 20000, slice, most = 0;
	struct twheel_node *node;
	struct tw_wheel *w;
	struct rig rig;
	u64 tick;

	/*
	 * All timers are in bucket 5 of level 2, which has 65536 ticks. Before that another
	 * timer comes every 64 ticks. A slice of one timer per tick is enough.
	 */
	rig_init(&rig, test, "cliff", 1, 256, 0, n + 1);
	w = &rig.w;
	for (i = 0; i < n; i++)
		rig_add(&rig, i, 5 * 65536 + i);
	rig_run(&rig, 4 * 65536 - 1);
	KUNIT_EXPECT_EQ(test, w->cascades, 0);
	KUNIT_EXPECT_EQ(test, w->wake, 4 * 65536);

	for (tick = 4 * 65536; tick < 5 * 65536 && !rig.bad; tick++) {
		bool extra = tick % 64 == 0;

		if (extra)
			rig_add(&rig, n, tick + 1);
		tw_wheel_begin_round(w, true);
		slice = 1;
		if (tw_wheel_advance(w, tick + 1, &slice) == TW_ADVANCE_DUE) {
			slice = 8;
			node = rig_pop(w, &slice);
			KUNIT_ASSERT_PTR_EQ(test, node, &rig.timers[n].node);
			rig.timers[n].pending = false;
			slice = 1;
			KUNIT_ASSERT_EQ(test, tw_wheel_advance(w, tick + 1,
							       &slice),
					TW_ADVANCE_DONE);
		}
		KUNIT_ASSERT_EQ_MSG(test, w->now, tick + 1,
				    "held up behind the crowd");
		KUNIT_ASSERT_FALSE(test, extra && rig.timers[n].pending);
		slice = 1;
		i = w->cascades;
		tw_wheel_drain_ahead(w, &slice);
		most = max_t(unsigned int, most, w->cascades - i);
		if (w->cascades == n)
			break;
	}
	KUNIT_EXPECT_EQ(test, most, 1);
	KUNIT_EXPECT_EQ(test, w->cascades, n);
	KUNIT_EXPECT_LT(test, w->now, 5 * 65536);
	rig.served = w->now;
	rig_audit(&rig);
	rig.fired = 0;
	rig_run(&rig, 5 * 65536 + n);
	KUNIT_EXPECT_EQ(test, rig.fired, n);
	/* Once per level: from 2 to 1, and from 1 to 0. */
	KUNIT_EXPECT_LE(test, w->cascades, 2 * n);
	rig_exit(&rig);
}

/* Rounds and claims */

static void past_waits_for_the_next_round(struct kunit *test)
{
	unsigned int slice = 100;
	struct rig rig;

	rig_init(&rig, test, "past", 1, 16, 50, 3);
	rig_add(&rig, 0, 60);
	tw_wheel_begin_round(&rig.w, true);
	KUNIT_EXPECT_EQ(test, tw_wheel_advance(&rig.w, 70, &slice), TW_ADVANCE_DUE);
	KUNIT_EXPECT_NOT_NULL(test, rig_pop(&rig.w, &slice));
	rig.timers[0].pending = false;
	/* Deadlines that this round has served, or serves, wait for the next round. */
	rig_add(&rig, 0, 10);
	rig_add(&rig, 1, 60);
	rig_add(&rig, 2, 70);
	KUNIT_EXPECT_NULL(test, rig_pop(&rig.w, &slice));
	KUNIT_EXPECT_EQ(test, tw_wheel_advance(&rig.w, 70, &slice), TW_ADVANCE_DONE);
	/* A pass that resumes does not begin a round. */
	tw_wheel_begin_round(&rig.w, false);
	KUNIT_EXPECT_EQ(test, tw_wheel_advance(&rig.w, 70, &slice), TW_ADVANCE_DONE);
	KUNIT_EXPECT_LE(test, tw_wheel_next_event(&rig.w), 70ULL);
	rig.served = 70;
	rig_run(&rig, 70);
	KUNIT_EXPECT_EQ(test, rig.fired, 3);
	rig_exit(&rig);
}

static void round_leaves_none_behind(struct kunit *test)
{
	unsigned int slice = 100, i, n = 10;
	struct rig rig;

	/* A pass may end with due timers, and with past ones. */
	rig_init(&rig, test, "left", 1, 16, 50, 2 * n);
	for (i = 0; i < n; i++)
		rig_add(&rig, i, 60 + i % 3);
	tw_wheel_begin_round(&rig.w, true);
	KUNIT_EXPECT_EQ(test, tw_wheel_advance(&rig.w, 70, &slice), TW_ADVANCE_DUE);
	for (; i < 2 * n; i++)
		rig_add(&rig, i, 55);
	KUNIT_EXPECT_LE(test, tw_wheel_next_event(&rig.w), 70ULL);
	rig_audit(&rig);
	/* The next pass begins a round. */
	tw_wheel_begin_round(&rig.w, true);
	rig_audit(&rig);
	rig.stepped = true;
	rig_run(&rig, 70);
	KUNIT_EXPECT_EQ(test, rig.fired, 2 * n);
	rig_exit(&rig);
}

static void extension_beats_the_claim(struct kunit *test)
{
	unsigned int slice = 100;
	struct rig rig;

	rig_init(&rig, test, "claim", 10, 16, 0, 2);
	rig_add(&rig, 0, 95);
	rig_add(&rig, 1, 95);
	tw_wheel_begin_round(&rig.w, true);
	KUNIT_EXPECT_EQ(test, tw_wheel_advance(&rig.w, 10, &slice), TW_ADVANCE_DUE);
	/* It is due, and not yet handed out. */
	KUNIT_EXPECT_TRUE(test, rig_extend(&rig, 0, 101));
	/* The new deadline is within the tick that is served: it stays due. */
	KUNIT_EXPECT_TRUE(test, rig_extend(&rig, 1, 100));
	KUNIT_EXPECT_PTR_EQ(test, rig_pop(&rig.w, &slice),
			    &rig.timers[1].node);
	KUNIT_EXPECT_NULL(test, rig_pop(&rig.w, &slice));
	KUNIT_EXPECT_EQ(test, rig.w.requeued, 1);
	KUNIT_EXPECT_FALSE(test, rig_extend(&rig, 1, 500));
	rig.timers[1].pending = false;
	rig.served = 10;
	rig_run(&rig, 10);
	KUNIT_EXPECT_EQ(test, rig.fired, 0);
	rig_run(&rig, 11);
	KUNIT_EXPECT_EQ(test, rig.fired, 1);
	rig_exit(&rig);
}

static void evict_takes_all_once(struct kunit *test)
{
	unsigned int i, n = 500, evicted = 0, slice = 3;
	struct twheel_node *node;
	u64 seed = 3;
	struct rig rig;

	rig_init(&rig, test, "evict", 1, 4, 1000, n);
	for (i = 0; i < n; i++)
		rig_add(&rig, i, rig_roll(&seed) >> (i % 64 / 2 + 32));
	/* Some are due, some are past, most are in buckets. */
	tw_wheel_begin_round(&rig.w, true);
	tw_wheel_advance(&rig.w, 1010, &slice);
	rig_del(&rig, 0);
	rig_add(&rig, 0, 5);
	while ((node = tw_wheel_evict(&rig.w))) {
		struct rig_timer *rt = rig_timer_of(node);

		KUNIT_ASSERT_TRUE(test, rt->pending);
		rt->pending = false;
		evicted++;
	}
	KUNIT_EXPECT_EQ(test, evicted, n);
	rig_audit(&rig);
	KUNIT_EXPECT_EQ(test, tw_wheel_next_event(&rig.w), TW_WHEEL_ASLEEP);
	rig_exit(&rig);
}

/* As a walk begins: whatever is armed from then on is past. */
static void all_leave_the_buckets(struct kunit *test)
{
	unsigned int slice = 100, i, n = 5;
	struct rig rig;

	rig_init(&rig, test, "leave", 1, 16, 1000, n);
	for (i = 0; i < n - 1; i++)
		rig_add(&rig, i, 1005 + (i << 5 * i));
	tw_wheel_begin_displace(&rig.w);
	rig_audit(&rig);
	rig_add(&rig, n - 1, TWHEEL_NEVER);
	while (rig.w.displaced)
		tw_wheel_displace(&rig.w, &slice);
	rig_audit(&rig);
	KUNIT_EXPECT_EQ(test, rig.w.active, 0);
	for (i = 0; i < n; i++) {
		KUNIT_ASSERT_FALSE(test, tw_list_empty(&rig.w.due));
		rig_timer_of(tw_wheel_evict(&rig.w))->pending = false;
	}
	KUNIT_EXPECT_NULL(test, tw_wheel_evict(&rig.w));
	rig_exit(&rig);
}

/* What a step of the clock leaves half done is in order. */

static void back_again_wakes_again(struct kunit *test)
{
	struct rig rig;

	/* The displaced timers of the first step still wait: the position stays. */
	rig_init(&rig, test, "again", 1, 16, 1000, 2);
	rig_add(&rig, 0, 5000);
	rig_back(&rig, 500);
	KUNIT_EXPECT_LE(test, rig.w.wake, 500ULL);
	rig_back(&rig, 300);
	KUNIT_EXPECT_LE(test, rig.w.wake, 300ULL);
	rig_audit(&rig);
	rig_add(&rig, 1, 400);
	rig_run(&rig, 399);
	KUNIT_EXPECT_EQ(test, rig.fired, 0);
	rig_run(&rig, 400);
	KUNIT_EXPECT_EQ(test, rig.fired, 1);
	rig_follow(&rig, 5000);
	KUNIT_EXPECT_EQ(test, rig.fired, 2);
	rig_exit(&rig);
}

/* The device looks for what is due before it advances. */
static void back_again_is_due_no_more(struct kunit *test)
{
	unsigned int slice = 2;
	struct rig rig;

	/* Past when it is armed. Then the clock is set back to before it. */
	rig_init(&rig, test, "no more", 1, 16, 1000, 2);
	rig_add(&rig, 0, 5000);
	rig_back(&rig, 500);
	rig_add(&rig, 1, 450);
	rig_back(&rig, 300);
	tw_wheel_begin_round(&rig.w, true);
	KUNIT_EXPECT_TRUE_MSG(test, !rig_pop(&rig.w, &slice), "early");
	rig_run(&rig, 449);
	KUNIT_EXPECT_EQ(test, rig.fired, 0);
	rig_follow(&rig, 5000);
	KUNIT_EXPECT_EQ(test, rig.fired, 2);
	rig_exit(&rig);
}

/* The device begins a round with each slice of a search. The search ends, and loses no timer. */
static void back_between_slices(struct kunit *test)
{
	unsigned int i, n = 40, guard = 1000;
	enum tw_advance turn;
	struct rig rig;

	rig_init(&rig, test, "a round a slice", 1, 16, 1000, n);
	rig_add(&rig, 0, 100000);
	for (i = 1; i < n; i++)
		rig_add(&rig, i, 1001 + i % 20);
	rig_back(&rig, 500);
	do {
		unsigned int slice = 8;

		tw_wheel_begin_round(&rig.w, true);
		do {
			KUNIT_EXPECT_TRUE_MSG(test, !rig_pop(&rig.w, &slice), "early");
			turn = tw_wheel_due(&rig.w) ? TW_ADVANCE_MORE :
						      tw_wheel_advance(&rig.w, 500, &slice);
		} while (turn == TW_ADVANCE_DUE);
	} while (turn == TW_ADVANCE_MORE && --guard);
	KUNIT_EXPECT_GT_MSG(test, guard, 0, "the search has no end");
	KUNIT_EXPECT_EQ(test, rig.w.now, 500);
	tw_wheel_next_event(&rig.w);
	rig.stepped = false;
	rig_audit(&rig);
	rig_follow(&rig, 100000);
	KUNIT_EXPECT_EQ(test, rig.fired, n);
	rig_exit(&rig);
}

/*
 * A round has found timers due. Then the clock is set back, or the round gets an earlier target:
 * what is later waits again.
 */
static void back_within_a_round(struct kunit *test)
{
	/*
	 * The clock cannot be set; a bucket has a timer; the tick of those that are due; where
	 * the clock is set back to, and again; the earlier target.
	 */
	static const struct {
		bool fixed, far;
		u64 tick, back, again, target;
	} ways[] = {
		{ false, false, 1060, 0, 0, 1055 },
		{ false, true, 1060, 0, 0, 1055 },
		{ false, true, 1058, 1059, 0, 1055 },
		{ false, false, 1060, 1055, 0, 0 },
		{ false, true, 1060, 1055, 0, 0 },
		{ false, true, 1058, 1059, 1055, 0 },
		{ true, false, 1060, 1055, 0, 0 },
		{ true, true, 1060, 1055, 0, 0 },
	};
	unsigned int slice = 100, i;
	struct rig rig;

	for (i = 0; i < ARRAY_SIZE(ways); i++) {
		rig_init(&rig, test, "within a round", 1, 16, 1000, 3);
		rig.w.goes_back = !ways[i].fixed;
		rig_add(&rig, 0, ways[i].tick);
		rig_add(&rig, 1, ways[i].tick);
		tw_wheel_begin_round(&rig.w, true);
		KUNIT_EXPECT_EQ(test, tw_wheel_advance(&rig.w, 1060, &slice), TW_ADVANCE_DUE);
		KUNIT_EXPECT_EQ(test, rig.w.now, 1060);
		KUNIT_EXPECT_PTR_EQ(test, rig_pop(&rig.w, &slice), &rig.timers[0].node);
		rig.timers[0].pending = false;
		if (ways[i].far)
			rig_add(&rig, 2, 5000);
		if (ways[i].back)
			tw_wheel_move_back(&rig.w, ways[i].back);
		if (ways[i].again)
			tw_wheel_move_back(&rig.w, ways[i].again);
		/* On a clock that cannot be set, this was an old reading. */
		KUNIT_EXPECT_FALSE(test, ways[i].fixed && rig.w.displaced);
		if (ways[i].target)
			KUNIT_EXPECT_EQ(test, tw_wheel_advance(&rig.w, ways[i].target, &slice),
					TW_ADVANCE_DUE);
		KUNIT_EXPECT_TRUE_MSG(test, !rig_pop(&rig.w, &slice), "early, way %u", i);
		rig_audit(&rig);
		KUNIT_EXPECT_LE(test, tw_wheel_next_event(&rig.w), ways[i].tick);
		rig.served = 1055;
		rig.stepped = true;
		rig_order_forget(&rig);
		if (!ways[i].fixed)
			rig_run(&rig, ways[i].tick - 1);
		KUNIT_EXPECT_EQ(test, rig.fired, 0);
		rig_run(&rig, ways[i].tick);
		KUNIT_EXPECT_EQ(test, rig.fired, 1);
		rig_follow(&rig, 5000);
		KUNIT_EXPECT_EQ(test, rig.fired, 1 + ways[i].far);
		rig_exit(&rig);
	}
}

static void back_forgets_what_was_quiet(struct kunit *test)
{
	unsigned int i, n = 10, slice = 100;
	struct rig rig;

	/*
	 * Up to tick 1007 nothing was needed. Now the position is at the end of block 3, and
	 * the pass ends before it has looked ahead. Bucket 5 has a crowd: see
	 * crowd_needs_the_end_of_a_block().
	 */
	rig_init(&rig, test, "quiet", 1, 16, 1000, n);
	rig_run(&rig, 1000);
	rig_back(&rig, 15);
	rig_add(&rig, 0, 78);
	for (i = 1; i < n; i++)
		rig_add(&rig, i, 95);
	tw_wheel_begin_round(&rig.w, true);
	KUNIT_EXPECT_EQ(test, tw_wheel_advance(&rig.w, 63, &slice), TW_ADVANCE_DONE);
	KUNIT_EXPECT_EQ(test, tw_wheel_next_event(&rig.w), 64);
	rig.served = 63;
	rig_follow(&rig, 95);
	KUNIT_EXPECT_EQ(test, rig.fired, n);
	rig_exit(&rig);
}

static void empty_wheel_goes_back_asleep(struct kunit *test)
{
	struct rig rig;

	rig_init(&rig, test, "asleep", 1, 16, 1000, 1);
	rig_run(&rig, 1010);
	rig_back(&rig, 500);
	KUNIT_EXPECT_EQ(test, rig.w.wake, TW_WHEEL_ASLEEP);
	/* What was past before is not past any more. */
	rig_add(&rig, 0, 700);
	KUNIT_EXPECT_EQ(test, rig.w.wake, 700);
	rig_audit(&rig);
	rig_run(&rig, 700);
	KUNIT_EXPECT_EQ(test, rig.fired, 1);
	rig_exit(&rig);
}

/* Between passes the position follows the clock, up to where a pass has something to do. */
static void pass_moves_to_its_tick(struct kunit *test)
{
	struct rig rig;

	rig_init(&rig, test, "forward", 1, 16, 0, 1);
	rig_add(&rig, 0, 100);
	tw_wheel_move_forward(&rig.w, 100);
	KUNIT_EXPECT_EQ(test, rig.w.now, 0);
	tw_wheel_move_forward(&rig.w, 99);
	KUNIT_EXPECT_EQ(test, rig.w.now, 99);
	KUNIT_EXPECT_EQ(test, rig.w.wake, 100);
	rig_audit(&rig);
	rig_run(&rig, 100);
	KUNIT_EXPECT_EQ(test, rig.fired, 1);
	rig_exit(&rig);
}

static void crowd_needs_the_end_of_a_block(struct kunit *test)
{
	unsigned int i, n = 10;
	struct rig rig;

	/*
	 * The position is at the end of block 3. In block 4 there is only a timer for its
	 * last tick. But from its first one on, the crowd in bucket 5 has to be emptied.
	 */
	rig_init(&rig, test, "end of a block", 1, 16, 0, n);
	for (i = 1; i < n; i++)
		rig_add(&rig, i, 95);
	rig_run(&rig, 30);
	rig_add(&rig, 0, 79);
	rig_run(&rig, 63);
	KUNIT_EXPECT_EQ(test, rig.w.wake, 64);
	rig_audit(&rig);
	rig_follow(&rig, 95);
	KUNIT_EXPECT_EQ(test, rig.fired, n);
	rig_exit(&rig);
}

static void forward_makes_a_crowd(struct kunit *test)
{
	unsigned int i, n = 10;
	struct rig rig;

	/*
	 * Five timers in bucket 4 of level 2, and five in bucket 79 of level 1, where an arm
	 * moves the first ones, too. Together they are a crowd, which lowers the wake-up.
	 */
	rig_init(&rig, test, "a crowd", 1, 16, 0, n);
	for (i = 0; i < 5; i++)
		rig_add(&rig, i, 1264 + i);
	tw_wheel_move_forward(&rig.w, 400);
	for (; i < n; i++)
		rig_add(&rig, i, 1264 + i);
	KUNIT_EXPECT_EQ(test, rig.w.wake, 1264);
	tw_wheel_move_forward(&rig.w, 1100);
	KUNIT_EXPECT_EQ(test, rig.w.now, 1100);
	KUNIT_EXPECT_EQ(test, rig.w.cascades, 5);
	KUNIT_EXPECT_EQ(test, rig.w.wake, 1248);
	rig_audit(&rig);
	rig.served = 1100;
	rig_follow(&rig, 1300);
	KUNIT_EXPECT_EQ(test, rig.fired, n);
	rig_exit(&rig);
}

static struct kunit_case round_cases[] = {
	KUNIT_CASE(lone_timer_wakes_once),
	KUNIT_CASE(an_alarm_for_each_instant),
	KUNIT_CASE(crowd_behind_a_lone_timer),
	KUNIT_CASE(crowd_comes_before_the_wake_up),
	KUNIT_CASE(few_are_a_crowd_from_nine),
	KUNIT_CASE(extended_hides_no_crowd),
	KUNIT_CASE(extended_needs_nothing_until_its_bucket_ends),
	KUNIT_CASE(extended_out_of_its_bucket),
	KUNIT_CASE(crowd_is_emptied_ahead),
	KUNIT_CASE(past_waits_for_the_next_round),
	KUNIT_CASE(round_leaves_none_behind),
	KUNIT_CASE(extension_beats_the_claim),
	KUNIT_CASE(evict_takes_all_once),
	KUNIT_CASE(all_leave_the_buckets),
	KUNIT_CASE(empty_wheel_goes_back_asleep),
	KUNIT_CASE(pass_moves_to_its_tick),
	KUNIT_CASE(back_again_wakes_again),
	KUNIT_CASE(back_again_is_due_no_more),
	KUNIT_CASE(back_between_slices),
	KUNIT_CASE(back_within_a_round),
	KUNIT_CASE(back_forgets_what_was_quiet),
	KUNIT_CASE(crowd_needs_the_end_of_a_block),
	KUNIT_CASE(forward_makes_a_crowd),
	{ }
};

static struct kunit_suite twheel_round_suite = {
	.name		= "twheel_round",
	.test_cases	= round_cases,
};

kunit_test_suite(twheel_round_suite);
