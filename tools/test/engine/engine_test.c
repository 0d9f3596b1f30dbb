// SPDX-License-Identifier: GPL-2.0-only
/*
 * The engine against an oracle, on a virtual clock: exhaustive with tiny geometries, and at every
 * edge with larger ones. round_test.c tests rounds and wake-ups, cost_test.c how much is done at
 * once, and run.c plays games at random.
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
	for (start = 0; start < 34; start++) {
		for (i = 0; i < ARRAY_SIZE(steps); i++)
			engine_sweep(test, 1, 2, start, steps[i], 150, false);
		engine_sweep(test, 1, 2, start, 0, 150, true);
	}
	for (start = 0; start < 34; start += 3) {
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
	KUNIT_CASE(long_sleep),
	KUNIT_CASE(forward_keeps_short_delays_short),
	KUNIT_CASE(back_leaves_what_is_past),
	KUNIT_CASE(back_in_a_backlog),
	{ }
};

static struct kunit_suite twheel_engine_suite = {
	.name		= "twheel_engine",
	.test_cases	= engine_cases,
};

kunit_test_suite(twheel_engine_suite);
