// SPDX-License-Identifier: GPL-2.0-only
/* A wheel's shape, and its arithmetic: ticks of instants, instants of ticks. */
#include "rig.h"

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
		unsigned int slots;
		u64 tick_ns;
		unsigned int shift, levels;
	} shapes[] = {
		{ 2, 1, 1, 61 }, { 3, 1, 2, 31 }, { 4, 1, 2, 31 }, { 5, 1, 3, 21 },
		{ 255, 1, 8, 8 }, { 256, 1, 8, 8 }, { 257, 1, 9, 7 }, { 4096, 1, 12, 6 },
		{ 256, 1000, 8, 7 }, { 256, NSEC_PER_MSEC, 8, 6 }, { 16, NSEC_PER_MSEC, 4, 11 },
		{ 256, TWHEEL_TICK_MAX, 8, 3 }, { 4096, TWHEEL_TICK_MAX, 12, 2 },
	};
	struct tw_wheel w;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(shapes); i++) {
		KUNIT_ASSERT_EQ(test, tw_wheel_shape(&w, shapes[i].tick_ns, shapes[i].slots), 0);
		KUNIT_EXPECT_EQ(test, w.shift, shapes[i].shift);
		KUNIT_EXPECT_EQ(test, w.levels, shapes[i].levels);
		KUNIT_EXPECT_EQ(test, w.mask + 1, 4U << shapes[i].shift);
	}
}

/* Each bucket has a list and a bit, and the bits are whole words. */
static void shape_takes_so_much_memory(struct kunit *test)
{
	struct tw_wheel w;

	KUNIT_ASSERT_EQ(test, tw_wheel_shape(&w, 1, 256), 0);
	KUNIT_EXPECT_EQ(test, tw_wheel_bytes(&w), 8192 * sizeof(struct tw_list) + 1024);
	/* 488 buckets */
	KUNIT_ASSERT_EQ(test, tw_wheel_shape(&w, 1, 2), 0);
	KUNIT_EXPECT_EQ(test, tw_wheel_bytes(&w), 512 * sizeof(struct tw_list) + 64);
}

/* A timer is near if emptying its bucket may have to begin before the wake-up. */
static void near_is_a_bucket_ahead(struct kunit *test)
{
	struct twheel_node *node;
	struct rig rig;
	u64 wake;

	/* Bucket 5 of level 1 has ticks 80 to 95: it may have to be emptied from tick 64 on. */
	for (wake = 64; wake < 66; wake++) {
		rig_init(&rig, test, "near", 1, 16, 0, 2);
		rig_add(&rig, 0, wake);
		node = &rig.timers[1].node;
		atomic64_set(&node->word, tw_word(95));
		rig.timers[1].pending = true;
		KUNIT_EXPECT_EQ(test, tw_wheel_enqueue(&rig.w, node, tw_word(95)), wake == 64);
		if (wake == 65)
			tw_wheel_enqueue_near(&rig.w, node);
		rig_audit(&rig);
		rig_follow(&rig, 95);
		KUNIT_EXPECT_EQ(test, rig.fired, 2);
		rig_exit(&rig);
	}
}

/* From the beginning of time, the last deadline there is still has a bucket. */
static void last_deadline_has_a_bucket(struct kunit *test)
{
	static const u64 ticks[] = { 1, 3, 1000, 1 << 20, 999983, NSEC_PER_MSEC, TWHEEL_TICK_MAX };
	unsigned int slots, i;
	struct rig rig;

	for (slots = 2; slots <= TWHEEL_SLOTS_MAX; slots *= 2) {
		for (i = 0; i < ARRAY_SIZE(ticks); i++) {
			rig_init(&rig, test, "last deadline", ticks[i], slots, 0, 2);
			rig_add(&rig, 0, TWHEEL_NEVER);
			rig_add(&rig, 1, TWHEEL_NEVER - ticks[i]);
			rig_audit(&rig);
			rig_follow(&rig, U64_MAX - 1);
			KUNIT_EXPECT_EQ(test, rig.fired, 2);
			rig_exit(&rig);
		}
	}
}

static void division_is_exact(struct kunit *test)
{
	static const u64 ticks[] = {
		1, 2, 3, 7, 10, 1000, 1024, 1000000, 999983, 1 << 20,
		4294967291ULL, 4294967296ULL, 60ULL * NSEC_PER_SEC,
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

			/* Include values near multiples, and the ends of the range. */
			if (j % 3 == 1)
				ns = ns - rig_rest(ns, d) + j % 5 - 2;
			if (j < 8)
				ns = S64_MAX - j;
			else if (j < 16)
				ns = TWHEEL_NEVER + j - 12;
			else if (j < 24)
				ns = j - 16;
			/* Instants have 63 bits. */
			ns &= S64_MAX;
			floor = div64_u64(ns, d);
			wrong += tw_wheel_floor(&w, ns) != floor;
			ns = min(ns, TWHEEL_NEVER);
			floor = div64_u64(ns, d);
			wrong += tw_wheel_ceil(&w, tw_word(ns)) !=
				 floor + (floor * d != ns);
		}
		KUNIT_EXPECT_EQ_MSG(test, wrong, 0, "tick %llu", d);
		/* A tick that never comes is not before the last deadline. */
		KUNIT_EXPECT_GT(test, tw_wheel_ns(&w, TW_WHEEL_ASLEEP), TWHEEL_NEVER);
	}
}

/* The lowest bit of a tick; more than any for tick 0. */
static u64 shape_roundness(u64 tick)
{
	return (tick & -tick) - 1;
}

static void shared_instants_are_round(struct kunit *test)
{
	static const u64 ticks[] = { 1, 3, 1000, 1 << 20 };
	u64 seed = 41, deadline, slack, tick, at;
	struct tw_wheel w;
	unsigned int i;

	for (i = 0; i < 80000; i++) {
		u64 d = ticks[i % ARRAY_SIZE(ticks)], best;

		KUNIT_ASSERT_EQ(test, tw_wheel_shape(&w, d, 2), 0);
		deadline = rig_pick(&seed, BIT_ULL(i % 30)) + rig_pick(&seed, d);
		slack = rig_pick(&seed, d * 70);
		at = tw_wheel_share(&w, deadline, slack);
		KUNIT_ASSERT_LE(test, deadline, at);
		KUNIT_ASSERT_LE(test, at, deadline + slack);
		/* None of the range is rounder than that. */
		tick = tw_wheel_ceil(&w, tw_word(at));
		best = shape_roundness(tick);
		for (at = tw_wheel_ceil(&w, tw_word(deadline)); at * d <= deadline + slack; at++)
			KUNIT_ASSERT_LE(test, shape_roundness(at), best);
	}
}

static void shared_instants_saturate(struct kunit *test)
{
	struct tw_wheel w;

	KUNIT_ASSERT_EQ(test, tw_wheel_shape(&w, 1000000, 2), 0);
	KUNIT_EXPECT_EQ(test, tw_wheel_share(&w, 0, U64_MAX), 0ULL);
	KUNIT_EXPECT_EQ(test, tw_wheel_share(&w, 1, U64_MAX), BIT_ULL(43) * 1000000);
	KUNIT_EXPECT_EQ(test, tw_wheel_share(&w, U64_MAX, 0), TWHEEL_NEVER);
	KUNIT_EXPECT_EQ(test, tw_wheel_share(&w, TWHEEL_NEVER, U64_MAX), TWHEEL_NEVER);
	/* The range ends at the last instant, also where the sum would not wrap. */
	KUNIT_EXPECT_EQ(test, tw_wheel_share(&w, 9000000000000000000, TWHEEL_NEVER),
			33 * BIT_ULL(38) * 1000000);
	/* Of a tick that is not whole, the deadline stays as it is. */
	KUNIT_EXPECT_EQ(test, tw_wheel_share(&w, 5000001, 999998), 5000001ULL);
	/* The next tick is the one that it has anyway. */
	KUNIT_EXPECT_EQ(test, tw_wheel_share(&w, 5000001, 999999), 5000001ULL);
	KUNIT_EXPECT_EQ(test, tw_wheel_share(&w, 5000001, 2999999), 8000000ULL);
}

/* A file that was refused is given another shape. */
static void shape_forgets_the_one_before(struct kunit *test)
{
	static struct tw_wheel used, fresh;

	memset(&used, 0xa5, sizeof(used));
	memset(&fresh, 0, sizeof(fresh));
	KUNIT_ASSERT_EQ(test, tw_wheel_shape(&used, 1000000, 16), 0);
	KUNIT_ASSERT_EQ(test, tw_wheel_shape(&fresh, 1000000, 16), 0);
	KUNIT_EXPECT_EQ(test, memcmp(&used, &fresh, sizeof(used)), 0);
}

static struct kunit_case shape_cases[] = {
	KUNIT_CASE(shape_refuses),
	KUNIT_CASE(shape_rounds_up),
	KUNIT_CASE(shape_takes_so_much_memory),
	KUNIT_CASE(near_is_a_bucket_ahead),
	KUNIT_CASE(last_deadline_has_a_bucket),
	KUNIT_CASE(division_is_exact),
	KUNIT_CASE(shared_instants_are_round),
	KUNIT_CASE(shared_instants_saturate),
	KUNIT_CASE(shape_forgets_the_one_before),
	{ }
};

static struct kunit_suite twheel_shape_suite = {
	.name		= "twheel_shape",
	.test_cases	= shape_cases,
};

kunit_test_suite(twheel_shape_suite);
