// SPDX-License-Identifier: GPL-2.0-only
/*
 * The engine against an oracle, on a virtual clock: exhaustively where the
 * geometry is tiny, at every edge where it is not, and at random.
 */
#include <kunit/test.h>
#include <linux/limits.h>
#include <linux/math64.h>

#include "rig.h"

#define DAY	(86400ULL * 1000)	/* in ticks of a millisecond */

static void shape_refuses(struct kunit *test)
{
	static const struct {
		u64 tick_ns;
		unsigned int slots;
	} bad[] = {
		{ 0, 16 }, { TWHEEL_TICK_MAX + 1, 16 }, { U64_MAX, 16 },
		{ 1, 0 }, { 1, 1 }, { 1, 4097 }, { 1, UINT_MAX },
	};
	struct tw_wheel w;
	unsigned int i;

	KUNIT_EXPECT_EQ(test, tw_wheel_shape(&w, 1, 16), 0);
	for (i = 0; i < ARRAY_SIZE(bad); i++)
		KUNIT_EXPECT_EQ_MSG(test,
				    tw_wheel_shape(&w, bad[i].tick_ns,
						   bad[i].slots),
				    -EINVAL, "bad[%u]", i);
}

static void shape_rounds_up(struct kunit *test)
{
	static const struct {
		unsigned int slots, shift, levels;
	} shapes[] = {
		{ 2, 1, 63 }, { 3, 2, 32 }, { 4, 2, 32 }, { 5, 3, 21 },
		{ 255, 8, 8 }, { 256, 8, 8 }, { 257, 9, 7 }, { 4096, 12, 6 },
	};
	struct tw_wheel w;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(shapes); i++) {
		KUNIT_ASSERT_EQ(test, tw_wheel_shape(&w, 1, shapes[i].slots),
				0);
		KUNIT_EXPECT_EQ(test, w.shift, shapes[i].shift);
		KUNIT_EXPECT_EQ(test, w.levels, shapes[i].levels);
		KUNIT_EXPECT_EQ(test, w.mask + 1, 2U << shapes[i].shift);
	}
}

static void division_is_exact(struct kunit *test)
{
	static const u64 ticks[] = {
		1, 2, 3, 7, 10, 1000, 1024, 1000000, 999983, 1 << 20,
		4294967291ULL, 4294967296ULL, 60 * NSEC_PER_SEC,
		TWHEEL_TICK_MAX,
	};
	u64 seed = 88172645463325252ULL;
	unsigned int i, j, wrong = 0;
	struct tw_wheel w;

	for (i = 0; i < ARRAY_SIZE(ticks); i++) {
		u64 d = ticks[i];

		KUNIT_ASSERT_EQ(test, tw_wheel_shape(&w, d, 2), 0);
		for (j = 0; j < 3000; j++) {
			u64 ns = rig_roll(&seed) >> (j % 64), floor;

			/* Also about the multiples, and the ends of the range. */
			if (j % 3 == 1)
				ns = ns - ns % d + j % 5 - 2;
			if (j < 8)
				ns = U64_MAX - j;
			else if (j < 16)
				ns = S64_MAX + j - 12;
			else if (j < 24)
				ns = j - 16;
			floor = div64_u64(ns, d);
			wrong += tw_wheel_floor(&w, ns) != floor;
			wrong += tw_wheel_ceil(&w, ns) !=
				 floor + (floor * d != ns);
		}
		KUNIT_EXPECT_EQ_MSG(test, wrong, 0, "tick %llu", d);
	}
}

/* All deadlines at once, from a start, by steps of one size. */
static void sweep(struct kunit *test, u64 tick_ns, unsigned int slots,
		  u64 start, u64 step, unsigned int reach, bool follow)
{
	char what[80];
	struct rig rig;
	unsigned int i;
	u64 t;

	snprintf(what, sizeof(what), "tick %llu slots %u start %llu step %llu",
		 tick_ns, slots, start, step);
	rig_init(&rig, test, what, tick_ns, slots, start, reach);
	for (i = 0; i < reach; i++)
		rig_add(&rig, i, (start + 1) * tick_ns + i);
	rig_audit(&rig);
	if (follow) {
		rig_follow(&rig, start + reach + 1);
	} else {
		for (t = start + step; !rig.bad; t += step) {
			rig_run(&rig, t);
			if (t > start + reach)
				break;
		}
	}
	KUNIT_EXPECT_EQ_MSG(test, rig.fired, reach, "%s", what);
	rig_audit(&rig);
	rig_exit(&rig);
}

static void every_start_every_step(struct kunit *test)
{
	static const u64 steps[] = { 1, 2, 3, 5, 8, 13, 31, 64, 200 };
	unsigned int i;
	u64 start;

	/* Ratio 2: 150 ticks are six levels and their wraps. */
	for (start = 0; start < 34; start++) {
		for (i = 0; i < ARRAY_SIZE(steps); i++)
			sweep(test, 1, 2, start, steps[i], 150, false);
		sweep(test, 1, 2, start, 0, 150, true);
	}
	for (start = 0; start < 34; start += 3) {
		for (i = 0; i < ARRAY_SIZE(steps); i++)
			sweep(test, 3, 4, start, steps[i], 250, false);
		sweep(test, 3, 4, start, 0, 250, true);
	}
}

static void every_deadline_alone(struct kunit *test)
{
	struct rig rig;
	u64 start, d;

	/* Alone a timer takes other ways than in company: it is peeked at. */
	for (start = 0; start < 20; start++) {
		for (d = 1; d < 140; d++) {
			rig_init(&rig, test, "alone", 1, 2, start, 1);
			rig_add(&rig, 0, start + d);
			KUNIT_EXPECT_EQ(test, rig.w.wake, start + d);
			KUNIT_EXPECT_EQ(test, rig_follow(&rig, U64_MAX - 1), 1);
			KUNIT_EXPECT_EQ(test, rig.served, start + d);
			KUNIT_EXPECT_EQ(test, rig.fired, 1);
			rig_exit(&rig);
		}
	}
}

static void far_starts(struct kunit *test)
{
	static const u64 starts[] = {
		(1ULL << 32) - 70, (1ULL << 53) - 70, S64_MAX - 70,
		TWHEEL_NEVER - 161,
	};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(starts); i++) {
		sweep(test, 1, 2, starts[i], 1, 150, false);
		sweep(test, 1, 4, starts[i], 7, 150, false);
		sweep(test, 1, 256, starts[i], 3, 150, false);
		sweep(test, 1, 2, starts[i], 0, 150, true);
	}
}

static void last_ticks_there_are(struct kunit *test)
{
	unsigned int i, n = 100;
	struct rig rig;
	u64 t;

	/* The last tick there is, reached from afar and from near. */
	for (t = 0; t < 64; t++) {
		rig_init(&rig, test, "the end", 1, 2 << (t % 5), TWHEEL_NEVER -
			 (1ULL << t), n);
		for (i = 0; i < n; i++)
			rig_add(&rig, i, TWHEEL_NEVER - min_t(u64, i,
							      (1ULL << t) - 1));
		rig_audit(&rig);
		rig_follow(&rig, TWHEEL_NEVER);
		KUNIT_EXPECT_EQ(test, rig.fired, n);
		rig_exit(&rig);
	}
}

static void every_level_has_edges(struct kunit *test)
{
	static const u64 starts[] = { 0, 255, 256, 511, 65535, 12 * DAY,
				      (1ULL << 40) - 1 };
	unsigned int i, level, side;

	for (i = 0; i < ARRAY_SIZE(starts); i++) {
		for (level = 0; level < 8; level++) {
			for (side = 0; side < 6; side++) {
				u64 d = (1ULL + side / 3) << (8 * level);
				u64 deadline = starts[i] + d + side % 3 - 1;
				struct rig rig;

				if (deadline <= starts[i])
					continue;
				rig_init(&rig, test, "edge", 1, 256, starts[i],
					 3);
				rig_add(&rig, 0, deadline);
				rig_audit(&rig);
				KUNIT_EXPECT_EQ(test,
						rig_follow(&rig, deadline), 1);
				KUNIT_EXPECT_EQ(test, rig.served, deadline);
				/* And stepped to its eve, with company. */
				rig_add(&rig, 0, deadline + d);
				rig_add(&rig, 1, deadline + d + 1);
				rig_add(&rig, 2, deadline + 1);
				rig_run(&rig, deadline + d - 1);
				rig_run(&rig, deadline + d);
				rig_run(&rig, deadline + d + 1);
				KUNIT_EXPECT_EQ_MSG(test, rig.fired, 4,
						    "start %llu distance %llu",
						    starts[i], d);
				rig_exit(&rig);
			}
		}
	}
}

static void days_ahead(struct kunit *test)
{
	static const u64 days[] = { 10, 12, 15, 25, 50, 3650 };
	struct rig rig;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(days); i++) {
		u64 deadline = (12 + days[i]) * DAY + 1;

		/* After twelve days of uptime, at a millisecond. */
		rig_init(&rig, test, "days", 1000000, 256, 12 * DAY, 1);
		rig_add(&rig, 0, deadline * 1000000 - 999999);
		rig_run(&rig, deadline - 1);
		KUNIT_EXPECT_EQ(test, rig.fired, 0);
		rig_run(&rig, deadline);
		KUNIT_EXPECT_EQ(test, rig.fired, 1);
		rig_exit(&rig);
	}
}

/* Any sequence of operations. */
static void at_random(struct kunit *test, const char *what, u64 tick_ns,
		      unsigned int slots, u64 start, u64 seed,
		      unsigned int rounds, unsigned int slice)
{
	unsigned int i, n = 120;
	struct rig rig;

	rig_init(&rig, test, what, tick_ns, slots, start, n);
	rig.slice = slice;
	while (rounds-- && !rig.bad) {
		u64 now = rig.served * tick_ns, deadline;
		unsigned int op;

		i = rig_roll(&seed) % n;
		op = rig_roll(&seed) % 16;
		/* Of any order of magnitude up to 2^40 ticks, some past. */
		deadline = now + (rig_roll(&seed) >>
				  (24 + rig_roll(&seed) % 40)) % (tick_ns << 40);
		if (!(rig_roll(&seed) % 8))
			deadline = now - min(now, rig_roll(&seed) % 1000);

		switch (op) {
		case 0 ... 6:
			if (rig.timers[i].pending)
				rig_del(&rig, i);
			rig_add(&rig, i, deadline);
			break;
		case 7 ... 8:
			if (rig.timers[i].pending)
				rig_del(&rig, i);
			break;
		case 9 ... 11:
			if (rig.timers[i].pending)
				rig_extend(&rig, i, deadline);
			break;
		case 12:
			rig_run(&rig, rig.served + rig_roll(&seed) % 100);
			break;
		case 13:
			rig_run(&rig, rig.served + (rig_roll(&seed) >>
				(30 + rig_roll(&seed) % 34)));
			break;
		case 14:
			if (rig.w.wake != TW_WHEEL_ASLEEP)
				rig_run(&rig, max(rig.w.wake, rig.served));
			break;
		case 15:
			/* Time has passed, and an arm follows the clock. */
			if (rig.w.wake > rig.served + 1 && rig.w.wake !=
			    TW_WHEEL_ASLEEP) {
				u64 gap = rig.w.wake - rig.served;

				rig.served += rig_roll(&seed) % gap;
				tw_wheel_forward(&rig.w, rig.served);
			}
			break;
		}
		if (rounds % 16 == 0)
			rig_audit(&rig);
		/* Whatever was added, the alarm is not too late for it. */
		KUNIT_ASSERT_LE_MSG(test, rig.w.wake,
				    max(rig_first(&rig), rig.w.now),
				    "%s seed %llu", what, seed);
	}
	rig_audit(&rig);
	while ((i = rig_pending(&rig)) && !rig.bad) {
		/* Past ones are due before what has been served. */
		rig_follow(&rig, max(rig_first(&rig), rig.served));
		KUNIT_ASSERT_LT(test, rig_pending(&rig), i);
	}
	rig_exit(&rig);
}

static void random_operations(struct kunit *test)
{
	at_random(test, "random 2", 1, 2, 0, 11, 6000, 1 << 20);
	at_random(test, "random 2, slices of one", 1, 2, 77, 12, 3000, 1);
	at_random(test, "random 4, tick 3", 3, 4, 1000, 13, 6000, 1 << 20);
	at_random(test, "random 16", 1, 16, 1ULL << 33, 14, 6000, 5);
	at_random(test, "random 256, tick 1 ms", 1000000, 256, 5, 15, 4000, 32);
}

/* When to wake up. */

static void lone_timer_wakes_once(struct kunit *test)
{
	struct rig rig;

	rig_init(&rig, test, "lone", 1000000, 256, 1234567, 20);
	rig_add(&rig, 0, (10 * DAY + 1) * 1000000);
	KUNIT_EXPECT_EQ(test, rig_follow(&rig, 100 * DAY), 1);
	KUNIT_EXPECT_EQ(test, rig.served, 10 * DAY + 1);
	rig_exit(&rig);
}

static void an_alarm_for_each_instant(struct kunit *test)
{
	unsigned int i, n = 30;
	struct rig rig;

	/* Three at each instant, so far apart that none shares a bucket. */
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
	 * Level 1, buckets of 256: one timer at the end of bucket 4, a crowd in
	 * bucket 5. The crowd has to be begun with when bucket 4 begins.
	 */
	rig_init(&rig, test, "crowd", 1, 256, 0, n);
	rig_add(&rig, 0, 5 * 256 - 1);
	rig_run(&rig, 1);
	for (i = 1; i < n; i++)
		rig_add(&rig, i, 5 * 256 + i);
	KUNIT_EXPECT_EQ(test, tw_wheel_next(&rig.w), 4 * 256);
	rig_run(&rig, 4 * 256);
	/* With the lone timer, whose own bucket begins. */
	KUNIT_EXPECT_EQ_MSG(test, rig.w.cascades, n,
			    "the crowd was not emptied ahead");
	rig_follow(&rig, 6 * 256);
	KUNIT_EXPECT_EQ(test, rig.fired, n);
	rig_exit(&rig);
}

static void extended_out_of_its_bucket(struct kunit *test)
{
	struct rig rig;

	rig_init(&rig, test, "extended", 1, 16, 0, 1);
	rig_add(&rig, 0, 40);
	KUNIT_EXPECT_TRUE(test, rig_extend(&rig, 0, 1000000));
	/* Woken for its old deadline; then, once more at most, for its new one. */
	KUNIT_EXPECT_LE(test, rig_follow(&rig, 999999), 10);
	KUNIT_EXPECT_EQ(test, rig.fired, 0);
	KUNIT_EXPECT_EQ(test, rig_follow(&rig, 1000000), 1);
	KUNIT_EXPECT_EQ(test, rig.fired, 1);
	rig_exit(&rig);
}

/* No cascade cliff. */

static void crowd_is_emptied_ahead(struct kunit *test)
{
	unsigned int i, n = 20000, slice, most = 0;
	struct twheel_timer *t;
	struct tw_wheel *w;
	struct rig rig;
	u64 tick;

	/*
	 * Level 2, bucket 5, of 65536 ticks: all of them there, and one timer due
	 * each tick before it. A slice of one timer a tick is enough.
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
		tw_wheel_begin(w, true);
		slice = 1;
		if (tw_wheel_turn(w, tick + 1, &slice) == TW_TURN_DUE) {
			slice = 8;
			t = tw_wheel_pop(w, &slice);
			KUNIT_ASSERT_PTR_EQ(test, t, &rig.timers[n].timer);
			rig.timers[n].pending = false;
			slice = 1;
			KUNIT_ASSERT_EQ(test, tw_wheel_turn(w, tick + 1,
							    &slice),
					TW_TURN_DONE);
		}
		KUNIT_ASSERT_EQ_MSG(test, w->now, tick + 1,
				    "held up behind the crowd");
		KUNIT_ASSERT_FALSE(test, extra && rig.timers[n].pending);
		slice = 1;
		i = w->cascades;
		tw_wheel_ahead(w, &slice);
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
	/* Once for each level: 2 to 1, and 1 to 0. */
	KUNIT_EXPECT_LE(test, w->cascades, 2 * n);
	rig_exit(&rig);
}

static void slices_are_kept(struct kunit *test)
{
	unsigned int i, n = 1000, slice, pops = 0;
	enum tw_turn turn;
	struct rig rig;
	u64 cascades;

	rig_init(&rig, test, "slices", 1, 16, 0, n);
	for (i = 0; i < n; i++)
		rig_add(&rig, i, 600 + i % 3);
	tw_wheel_begin(&rig.w, true);
	do {
		cascades = rig.w.cascades;
		slice = 7;
		turn = tw_wheel_turn(&rig.w, 601, &slice);
		KUNIT_EXPECT_EQ(test, rig.w.cascades - cascades, 7 - slice);
		slice = 7;
		while (turn == TW_TURN_DUE && tw_wheel_pop(&rig.w, &slice))
			pops++;
		KUNIT_ASSERT_LE(test, slice, 7U);
	} while (turn != TW_TURN_DONE);
	KUNIT_EXPECT_EQ(test, pops, 667);
	KUNIT_EXPECT_EQ(test, rig.w.now, 601);
	rig_exit(&rig);
}

/* Rounds, claims. */

static void past_waits_for_the_next_round(struct kunit *test)
{
	unsigned int slice = 100;
	struct rig rig;

	rig_init(&rig, test, "past", 1, 16, 50, 3);
	rig_add(&rig, 0, 60);
	tw_wheel_begin(&rig.w, true);
	KUNIT_EXPECT_EQ(test, tw_wheel_turn(&rig.w, 70, &slice), TW_TURN_DUE);
	KUNIT_EXPECT_NOT_NULL(test, tw_wheel_pop(&rig.w, &slice));
	rig.timers[0].pending = false;
	/* Past, now, and not beyond what this round serves: all for the next. */
	rig_add(&rig, 0, 10);
	rig_add(&rig, 1, 60);
	rig_add(&rig, 2, 70);
	KUNIT_EXPECT_NULL(test, tw_wheel_pop(&rig.w, &slice));
	KUNIT_EXPECT_EQ(test, tw_wheel_turn(&rig.w, 70, &slice), TW_TURN_DONE);
	/* A pass that only goes on is no new round. */
	tw_wheel_begin(&rig.w, false);
	KUNIT_EXPECT_EQ(test, tw_wheel_turn(&rig.w, 70, &slice), TW_TURN_DONE);
	KUNIT_EXPECT_LE(test, tw_wheel_next(&rig.w), 70ULL);
	rig.served = 70;
	rig_run(&rig, 70);
	KUNIT_EXPECT_EQ(test, rig.fired, 3);
	rig_exit(&rig);
}

static void round_leaves_none_behind(struct kunit *test)
{
	unsigned int slice = 100, i, n = 10;
	struct rig rig;

	/* A pass may end with timers on their way out, and others past. */
	rig_init(&rig, test, "left", 1, 16, 50, 2 * n);
	for (i = 0; i < n; i++)
		rig_add(&rig, i, 60 + i % 3);
	tw_wheel_begin(&rig.w, true);
	KUNIT_EXPECT_EQ(test, tw_wheel_turn(&rig.w, 70, &slice), TW_TURN_DUE);
	for (; i < 2 * n; i++)
		rig_add(&rig, i, 55);
	KUNIT_EXPECT_LE(test, tw_wheel_next(&rig.w), 70ULL);
	rig_audit(&rig);
	/* The next one begins a round, or does not. */
	tw_wheel_begin(&rig.w, true);
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
	tw_wheel_begin(&rig.w, true);
	KUNIT_EXPECT_EQ(test, tw_wheel_turn(&rig.w, 10, &slice), TW_TURN_DUE);
	/* Due, and not yet handed out. */
	KUNIT_EXPECT_TRUE(test, rig_extend(&rig, 0, 101));
	/* Within the tick that is being served: it stays due. */
	KUNIT_EXPECT_TRUE(test, rig_extend(&rig, 1, 100));
	KUNIT_EXPECT_PTR_EQ(test, tw_wheel_pop(&rig.w, &slice),
			    &rig.timers[1].timer);
	KUNIT_EXPECT_NULL(test, tw_wheel_pop(&rig.w, &slice));
	KUNIT_EXPECT_EQ(test, rig.w.refiled, 1);
	KUNIT_EXPECT_FALSE(test, rig_extend(&rig, 1, 500));
	rig.timers[1].pending = false;
	rig.served = 10;
	rig_run(&rig, 10);
	KUNIT_EXPECT_EQ(test, rig.fired, 0);
	rig_run(&rig, 11);
	KUNIT_EXPECT_EQ(test, rig.fired, 1);
	rig_exit(&rig);
}

static void long_sleep(struct kunit *test)
{
	unsigned int i, n = 300;
	u64 seed = 5, latest = 0;
	struct rig rig;

	rig_init(&rig, test, "sleep", 1, 256, 0, n);
	for (i = 0; i < n; i++) {
		u64 d = rig_roll(&seed) >> (24 + i % 32);

		rig_add(&rig, i, d + 1);
		latest = max(latest, d + 1);
	}
	/* rig_run() checks that ticks come in their order. */
	rig_run(&rig, latest);
	KUNIT_EXPECT_EQ(test, rig.fired, n);
	KUNIT_EXPECT_LE(test, rig.calls, 2 * n);
	rig_exit(&rig);
}

static void forward_keeps_short_delays_short(struct kunit *test)
{
	struct rig rig;
	unsigned int i;

	rig_init(&rig, test, "forward", 1, 256, 0, 12);
	rig_add(&rig, 0, 50000000);
	rig_add(&rig, 1, 70000000);
	for (i = 1; i < 10; i++) {
		tw_wheel_forward(&rig.w, i * 5000000ULL - 1);
		KUNIT_EXPECT_EQ(test, rig.w.now, i * 5000000ULL - 1);
		rig_audit(&rig);
	}
	/* Up to where there is work, and no further. */
	tw_wheel_forward(&rig.w, 60000000);
	KUNIT_EXPECT_LT(test, rig.w.now, 50000000ULL);
	rig.served = rig.w.now;
	rig_add(&rig, 2, rig.w.now + 20);
	KUNIT_EXPECT_TRUE(test, test_bit((rig.w.now + 20) & rig.w.mask,
					 rig.w.buckets.occupied));
	rig_follow(&rig, 80000000);
	KUNIT_EXPECT_EQ(test, rig.fired, 3);
	rig_exit(&rig);
}

/* A clock that is set back. */

static void set_back(struct kunit *test, unsigned int slots, u64 seed,
		     unsigned int slice)
{
	unsigned int rounds, i, n = 60;
	struct rig rig;

	rig_init(&rig, test, "set back", 3, slots, 1ULL << 20, n);
	rig.slice = slice;
	for (rounds = 0; rounds < 4000 && !rig.bad; rounds++) {
		unsigned int far = rig_roll(&seed) % 20;
		u64 ahead = rig_roll(&seed) & (BIT_ULL(far) - 1);

		i = rig_roll(&seed) % n;
		switch (rig_roll(&seed) % 8) {
		case 0 ... 3:
			if (rig.timers[i].pending)
				rig_del(&rig, i);
			rig_add(&rig, i, 3 * (rig.served + ahead) +
				rig_roll(&seed) % 3);
			break;
		case 4:
			if (rig.timers[i].pending)
				rig_extend(&rig, i, 3 * (rig.served + ahead));
			break;
		case 5:
			if (rig.timers[i].pending)
				rig_del(&rig, i);
			break;
		case 6:
			rig_run(&rig, rig.served + ahead);
			break;
		case 7:
			/* Twice and more in a row, too. */
			rig_back(&rig, rig.served - min(rig.served, ahead));
			break;
		}
		if (rounds % 4 == 0)
			rig_audit(&rig);
	}
	rig_run(&rig, rig.served + BIT_ULL(22));
	KUNIT_EXPECT_EQ(test, rig_pending(&rig), 0);
	rig_exit(&rig);
}

static void clock_set_back(struct kunit *test)
{
	set_back(test, 2, 21, 1);
	set_back(test, 16, 22, 3);
	set_back(test, 256, 23, 1 << 20);
}

static void evict_takes_all_once(struct kunit *test)
{
	unsigned int i, n = 500, evicted = 0, slice = 3;
	u64 seed = 3;
	struct twheel_timer *t;
	struct rig rig;

	rig_init(&rig, test, "evict", 1, 4, 1000, n);
	for (i = 0; i < n; i++)
		rig_add(&rig, i, rig_roll(&seed) >> (i % 64 / 2 + 32));
	/* Some on the way out, some past, most in buckets. */
	tw_wheel_begin(&rig.w, true);
	tw_wheel_turn(&rig.w, 1010, &slice);
	rig_del(&rig, 0);
	rig_add(&rig, 0, 5);
	while ((t = tw_wheel_evict(&rig.w))) {
		struct rig_timer *rt = container_of(t, struct rig_timer, timer);

		KUNIT_ASSERT_TRUE(test, rt->pending);
		rt->pending = false;
		evicted++;
	}
	KUNIT_EXPECT_EQ(test, evicted, n);
	rig_audit(&rig);
	KUNIT_EXPECT_EQ(test, tw_wheel_next(&rig.w), TW_WHEEL_ASLEEP);
	rig_exit(&rig);
}

static struct kunit_case engine_cases[] = {
	KUNIT_CASE(shape_refuses),
	KUNIT_CASE(shape_rounds_up),
	KUNIT_CASE(division_is_exact),
	KUNIT_CASE(every_start_every_step),
	KUNIT_CASE(every_deadline_alone),
	KUNIT_CASE(far_starts),
	KUNIT_CASE(last_ticks_there_are),
	KUNIT_CASE(every_level_has_edges),
	KUNIT_CASE(days_ahead),
	KUNIT_CASE(random_operations),
	KUNIT_CASE(lone_timer_wakes_once),
	KUNIT_CASE(an_alarm_for_each_instant),
	KUNIT_CASE(crowd_behind_a_lone_timer),
	KUNIT_CASE(extended_out_of_its_bucket),
	KUNIT_CASE(crowd_is_emptied_ahead),
	KUNIT_CASE(slices_are_kept),
	KUNIT_CASE(past_waits_for_the_next_round),
	KUNIT_CASE(round_leaves_none_behind),
	KUNIT_CASE(extension_beats_the_claim),
	KUNIT_CASE(long_sleep),
	KUNIT_CASE(forward_keeps_short_delays_short),
	KUNIT_CASE(clock_set_back),
	KUNIT_CASE(evict_takes_all_once),
	{ }
};

struct kunit_suite twheel_engine_suite = {
	.name		= "twheel_engine",
	.test_cases	= engine_cases,
};
