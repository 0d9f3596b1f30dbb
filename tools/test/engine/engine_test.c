// SPDX-License-Identifier: GPL-2.0-only
/*
 * The engine against an oracle, on a virtual clock: exhaustive with tiny geometries, at
 * every edge with larger ones, and at random. round_test.c tests rounds and
 * wake-ups, cost_test.c how much is done at once.
 */
#include "rig.h"

#define DAY_TICKS	(86400ULL * 1000)	/* in ticks of a millisecond */

/* Arm for all deadlines after @start, and advance in steps of one size. */
static void engine_sweep(struct kunit *test, u64 tick_ns, unsigned int slots,
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
	for (start = 0; start < 34; start += RIG_STRIDE) {
		for (i = 0; i < ARRAY_SIZE(steps); i++)
			engine_sweep(test, 1, 2, start, steps[i], 150, false);
		engine_sweep(test, 1, 2, start, 0, 150, true);
	}
	for (start = 0; start < 34; start += 3 * RIG_STRIDE) {
		for (i = 0; i < ARRAY_SIZE(steps); i++)
			engine_sweep(test, 3, 4, start, steps[i], 250, false);
		engine_sweep(test, 3, 4, start, 0, 250, true);
	}
}

static void every_deadline_alone(struct kunit *test)
{
	struct rig rig;
	u64 start, d;

	/* The engine peeks at a lone timer, so it takes other paths than a crowd. */
	for (start = 0; start < 20; start += RIG_STRIDE) {
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
		(1ULL << 32) - 70, (1ULL << 53) - 70, (1ULL << 62) - 70,
		TWHEEL_NEVER - 161,
	};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(starts); i++) {
		engine_sweep(test, 1, 2, starts[i], 1, 150, false);
		engine_sweep(test, 1, 4, starts[i], 7, 150, false);
		engine_sweep(test, 1, 256, starts[i], 3, 150, false);
		engine_sweep(test, 1, 2, starts[i], 0, 150, true);
	}
}

static void last_ticks_there_are(struct kunit *test)
{
	unsigned int i, n = 100;
	struct rig rig;
	u64 t;

	/* Reach the last tick from far and from near. */
	for (t = 0; t < 63; t++) {
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
	static const u64 starts[] = { 0, 255, 256, 511, 65535, 12 * DAY_TICKS,
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
				/* Step to the tick before it, with other timers. */
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
		u64 deadline = (12 + days[i]) * DAY_TICKS + 1;

		/* After twelve days of uptime, with a tick of 1 ms. */
		rig_init(&rig, test, "days", 1000000, 256, 12 * DAY_TICKS, 1);
		rig_add(&rig, 0, deadline * 1000000 - 999999);
		rig_run(&rig, deadline - 1);
		KUNIT_EXPECT_EQ(test, rig.fired, 0);
		rig_run(&rig, deadline);
		KUNIT_EXPECT_EQ(test, rig.fired, 1);
		rig_exit(&rig);
	}
}

/* A random sequence of operations. */
static void engine_at_random(struct kunit *test, const char *what, u64 tick_ns,
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

		i = rig_pick(&seed, n);
		op = rig_pick(&seed, 16);
		/* Of any magnitude up to 2^40 ticks; some are past. */
		deadline = now + rig_rest(rig_roll(&seed) >> (24 + rig_pick(&seed, 40)),
					  tick_ns << 40);
		if (!rig_pick(&seed, 8))
			deadline = now - min(now, rig_pick(&seed, 1000));

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
			rig_run(&rig, rig.served + rig_pick(&seed, 100));
			break;
		case 13:
			rig_run(&rig, rig.served + (rig_roll(&seed) >>
						    (30 + rig_pick(&seed, 34))));
			break;
		case 14:
			if (rig.w.wake != TW_WHEEL_ASLEEP)
				rig_run(&rig, max(rig.w.wake, rig.served));
			break;
		case 15:
			/* Time has passed, and an arm moves the position forward. */
			if (rig.w.wake > rig.served + 1 && rig.w.wake !=
			    TW_WHEEL_ASLEEP) {
				u64 gap = rig.w.wake - rig.served;

				rig.served += rig_pick(&seed, gap);
				tw_wheel_move_forward(&rig.w, rig.served);
			}
			break;
		}
		if (rounds % 16 == 0)
			rig_audit(&rig);
		/* The alarm is never too late for a timer. */
		KUNIT_ASSERT_LE_MSG(test, rig.w.wake,
				    max(rig_first(&rig), rig.w.now),
				    "%s seed %llu", what, seed);
	}
	rig_audit(&rig);
	while ((i = rig_pending(&rig)) && !rig.bad) {
		/* Past timers are due before @served. */
		rig_follow(&rig, max(rig_first(&rig), rig.served));
		KUNIT_ASSERT_LT(test, rig_pending(&rig), i);
	}
	rig_exit(&rig);
}

static void random_operations(struct kunit *test)
{
	engine_at_random(test, "random 2", 1, 2, 0, 11, RIG_ROUNDS(6000), 1 << 20);
	engine_at_random(test, "random 2, slices of one", 1, 2, 77, 12, RIG_ROUNDS(3000), 1);
	engine_at_random(test, "random 4, tick 3", 3, 4, 1000, 13, RIG_ROUNDS(6000), 1 << 20);
	engine_at_random(test, "random 16", 1, 16, 1ULL << 33, 14, RIG_ROUNDS(6000), 5);
	engine_at_random(test, "random 256, tick 1 ms", 1000000, 256, 5, 15, RIG_ROUNDS(4000), 32);
}

/* Pairs of timers of one tick: what is armed from near and from far, one after the other. */
static void order_at_random(struct kunit *test, unsigned int slots, unsigned int slice)
{
	u64 seed = slots + slice, pairs = 0, ticks[8] = { };
	unsigned int of_tick[ARRAY_SIZE(ticks)] = { };
	unsigned int i, t, n = 400;
	struct rig rig;

	rig_init(&rig, test, "order", 1, slots, 5, n);
	rig.slice = slice;
	while (pairs < RIG_ROUNDS(8000) && !rig.bad) {
		t = rig_pick(&seed, ARRAY_SIZE(ticks));
		i = rig_pick(&seed, n);
		if (ticks[t] <= rig.served) {
			ticks[t] = rig.served + 1 + (rig_roll(&seed) >> (40 + rig_pick(&seed, 22)));
			of_tick[t] = 0;
		}
		if (!rig.timers[i].pending) {
			rig_add(&rig, i, ticks[t]);
			pairs += of_tick[t]++;
		} else if (rig_pick(&seed, 8) == 0) {
			rig_extend(&rig, i, ticks[t]);
		} else if (rig_pick(&seed, 8) == 0) {
			rig_del(&rig, i);
		}
		/* On the way to one of the ticks, some steps or all. */
		if (rig_pick(&seed, 32) == 0)
			rig_run(&rig, rig.served + rig_pick(&seed, ticks[t] - rig.served + 1));
		if (rig_pending(&rig) > n - 10)
			rig_run(&rig, ticks[t]);
	}
	rig_exit(&rig);
}

static void one_tick_in_the_order_of_arming(struct kunit *test)
{
	static const unsigned int slices[] = { 1, 3, 4096 };
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(slices); i++) {
		order_at_random(test, 2, slices[i]);
		order_at_random(test, 16, slices[i]);
		order_at_random(test, 256, slices[i]);
	}
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
		tw_wheel_move_forward(&rig.w, i * 5000000ULL - 1);
		KUNIT_EXPECT_EQ(test, rig.w.now, i * 5000000ULL - 1);
		rig_audit(&rig);
	}
	/* The position stops where there is work. */
	tw_wheel_move_forward(&rig.w, 60000000);
	KUNIT_EXPECT_LT(test, rig.w.now, 50000000ULL);
	rig.served = rig.w.now;
	rig_add(&rig, 2, rig.w.now + 20);
	KUNIT_EXPECT_TRUE(test, test_bit((rig.w.now + 20) & rig.w.mask,
					 rig.w.buckets.occupied));
	rig_follow(&rig, 80000000);
	KUNIT_EXPECT_EQ(test, rig.fired, 3);
	rig_exit(&rig);
}

/* A clock that is set back */

static void engine_set_back(struct kunit *test, unsigned int slots, u64 seed,
			    unsigned int slice)
{
	unsigned int rounds, i, n = 60;
	struct rig rig;

	rig_init(&rig, test, "set back", 3, slots, 1ULL << 20, n);
	rig.slice = slice;
	for (rounds = 0; rounds < RIG_ROUNDS(4000) && !rig.bad; rounds++) {
		unsigned int far = rig_pick(&seed, 20);
		u64 ahead = rig_roll(&seed) & (BIT_ULL(far) - 1);

		i = rig_pick(&seed, n);
		switch (rig_pick(&seed, 8)) {
		case 0 ... 3:
			if (rig.timers[i].pending)
				rig_del(&rig, i);
			rig_add(&rig, i, 3 * (rig.served + ahead) +
				rig_pick(&seed, 3));
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
			/* Sometimes several times in a row. */
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
	engine_set_back(test, 2, 21, 1);
	engine_set_back(test, 16, 22, 3);
	engine_set_back(test, 256, 23, 1 << 20);
}

static void back_leaves_what_is_past(struct kunit *test)
{
	struct rig rig;

	/* The alarm is set for a past timer; another timer must not postpone it. */
	rig_init(&rig, test, "past", 1, 16, 100, 2);
	rig_add(&rig, 0, 5);
	rig_back(&rig, 50);
	KUNIT_EXPECT_LE(test, rig.w.wake, 50ULL);
	rig_add(&rig, 1, 60);
	KUNIT_EXPECT_LE(test, rig.w.wake, 50ULL);
	rig_run(&rig, 50);
	KUNIT_EXPECT_EQ(test, rig.fired, 1);
	rig_run(&rig, 60);
	KUNIT_EXPECT_EQ(test, rig.fired, 2);
	rig_exit(&rig);
}

/* A round in a backlog gets an earlier target: what comes after that is not past. */
static void back_in_a_backlog(struct kunit *test)
{
	unsigned int slice = 1;
	struct rig rig;

	rig_init(&rig, test, "backlog", 1, 16, 0, 2);
	rig_add(&rig, 0, 5);
	tw_wheel_begin_round(&rig.w, true);
	KUNIT_EXPECT_EQ(test, tw_wheel_advance(&rig.w, 1000, &slice), TW_ADVANCE_DUE);
	KUNIT_EXPECT_LE(test, rig.w.now, 500ULL);
	tw_wheel_advance(&rig.w, 500, &slice);
	rig_add(&rig, 1, 600);
	KUNIT_EXPECT_TRUE(test, tw_list_empty(&rig.w.due));
	rig_run(&rig, 500);
	KUNIT_EXPECT_EQ(test, rig.fired, 1);
	rig_run(&rig, 600);
	KUNIT_EXPECT_EQ(test, rig.fired, 2);
	rig_exit(&rig);
}

static struct kunit_case engine_cases[] = {
	KUNIT_CASE(every_start_every_step),
	KUNIT_CASE(every_deadline_alone),
	KUNIT_CASE(far_starts),
	KUNIT_CASE(last_ticks_there_are),
	KUNIT_CASE(every_level_has_edges),
	KUNIT_CASE(days_ahead),
	KUNIT_CASE(random_operations),
	KUNIT_CASE(one_tick_in_the_order_of_arming),
	KUNIT_CASE(long_sleep),
	KUNIT_CASE(forward_keeps_short_delays_short),
	KUNIT_CASE(clock_set_back),
	KUNIT_CASE(back_leaves_what_is_past),
	KUNIT_CASE(back_in_a_backlog),
	{ }
};

static struct kunit_suite twheel_engine_suite = {
	.name		= "twheel_engine",
	.test_cases	= engine_cases,
};

kunit_test_suite(twheel_engine_suite);
