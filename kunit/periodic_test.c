// SPDX-License-Identifier: GPL-2.0-only
/* Periodic work on a virtual clock, which makes every moment predictable. */
#include "probe.h"

/*
 * Periodic work that counts its calls.
 *
 * @last: the call that returns TWHEEL_DONE; 0: none does
 * @act: what the second call does before it returns
 */
struct beat {
	struct twheel_periodic periodic;
	unsigned int calls;
	unsigned int last;
	u64 called_at;
	u64 missed;
	int (*act)(struct twheel_periodic *periodic);
	int result;
};

static enum twheel_next beat_run(struct twheel_periodic *periodic)
{
	struct beat *b = container_of(periodic, struct beat, periodic);

	b->calls++;
	b->called_at = twheel_now(twheel_of(&periodic->timer));
	b->missed += twheel_periodic_overruns(periodic);
	if (b->act && b->calls == 2)
		b->result = b->act(periodic);
	return b->calls == b->last ? TWHEEL_DONE : TWHEEL_AGAIN;
}

static struct beat *beat_new(struct kunit *test, struct twheel *wheel)
{
	struct beat *b = test_memory(test, sizeof(*b));

	twheel_periodic_init(&b->periodic, wheel, beat_run);
	return b;
}

static int beat_start(struct beat *b, u64 period, enum twheel_pace pace)
{
	return twheel_periodic_start(&b->periodic, period, pace);
}

static int beat_start_at(struct beat *b, u64 first, u64 period, enum twheel_pace pace)
{
	return twheel_periodic_start_at(&b->periodic, first, period, pace);
}

static u64 beat_next(struct beat *b)
{
	return twheel_deadline(&b->periodic.timer);
}

/* So many calls were made, the last of which had so many overruns; and what is its deadline? */
static void beat_expect(struct kunit *test, struct beat *b, unsigned int calls, u64 overruns,
			u64 next)
{
	KUNIT_EXPECT_EQ(test, b->calls, calls);
	KUNIT_EXPECT_EQ(test, twheel_periodic_overruns(&b->periodic), overruns);
	KUNIT_EXPECT_EQ(test, twheel_periodic_missed(&b->periodic), b->missed);
	KUNIT_EXPECT_EQ(test, twheel_periodic_error(&b->periodic), 0);
	KUNIT_EXPECT_EQ(test, beat_next(b), next);
}

static void rate_keeps_its_phase(struct kunit *test)
{
	struct twheel *wheel = wheel_of_test(test);
	struct beat *b = beat_new(test, wheel);

	KUNIT_EXPECT_EQ(test, beat_start_at(b, 7 * MS, 3 * MS, TWHEEL_FIXED_RATE), 0);
	wheel_run_until(wheel, 7 * MS - 1);
	beat_expect(test, b, 0, 0, 7 * MS);
	wheel_run_until(wheel, 14 * MS);
	KUNIT_EXPECT_EQ(test, b->called_at, 13 * MS);
	beat_expect(test, b, 3, 0, 16 * MS);

	/* The deadlines 16, 19, ... 46 have passed: one call, 10 overruns, no burst. */
	twheel_advance(wheel, 48 * MS);
	beat_expect(test, b, 4, 10, 49 * MS);
	wheel_run_until(wheel, 48 * MS);
	KUNIT_EXPECT_EQ(test, b->calls, 4);

	/* The next call is in time, without an overrun; the total stays. */
	wheel_run_until(wheel, 49 * MS);
	KUNIT_EXPECT_EQ(test, b->called_at, 49 * MS);
	beat_expect(test, b, 5, 0, 52 * MS);
	KUNIT_EXPECT_EQ(test, b->missed, 10);

	/* A whole period late is one overrun; less is none. */
	twheel_advance(wheel, 55 * MS - 1);
	beat_expect(test, b, 6, 0, 55 * MS);
	twheel_advance(wheel, 58 * MS);
	beat_expect(test, b, 7, 1, 61 * MS);
	KUNIT_EXPECT_EQ(test, twheel_periodic_stop(&b->periodic), 1);
}

static enum twheel_next beat_run_steady(struct twheel_periodic *periodic)
{
	struct beat *b = container_of(periodic, struct beat, periodic);
	u64 deadline = twheel_periodic_deadline(periodic);

	/* It is called on the first tick at or after each deadline. */
	if (deadline != 5 * MS + b->calls * 3700 * US ||
	    twheel_now(twheel_of(&periodic->timer)) !=
	    div64_u64(deadline + MS - 1, MS) * MS)
		b->result++;
	return beat_run(periodic);
}

static void rate_does_not_drift(struct kunit *test)
{
	struct twheel *wheel = wheel_of_test(test);
	struct beat *b = beat_new(test, wheel);

	twheel_periodic_init(&b->periodic, wheel, beat_run_steady);
	beat_start_at(b, 5 * MS, 3700 * US, TWHEEL_FIXED_RATE);
	wheel_run_until(wheel, 5 * MS + 10000 * 3700 * US);
	KUNIT_EXPECT_EQ(test, b->calls, 10001);
	KUNIT_EXPECT_EQ_MSG(test, b->result, 0, "calls at another moment");
	KUNIT_EXPECT_EQ(test, beat_next(b), 5 * MS + 10001 * 3700 * US);
	KUNIT_EXPECT_EQ(test, twheel_periodic_missed(&b->periodic), 0);
	twheel_periodic_stop(&b->periodic);
}

static void rate_misses_none_uncounted(struct kunit *test)
{
	static const u64 periods[] = { 1, 7, 300 * US, MS, 2500 * US, 40 * MS };
	struct twheel *wheel = wheel_of_test(test);
	u32 seed = 99;
	unsigned int i, step;

	/* Every deadline is counted, however far the clock advances at a time. */
	for (i = 0; i < ARRAY_SIZE(periods); i++) {
		u64 first = twheel_now(wheel) + 3 * MS;
		struct beat *b = beat_new(test, wheel);

		beat_start_at(b, first, periods[i], TWHEEL_FIXED_RATE);
		for (step = 0; step < 300; step++) {
			u64 last, due;

			twheel_advance(wheel, twheel_now(wheel) +
				       test_random(&seed) % (u32)(9 * MS));
			if (!b->calls)
				continue;
			last = beat_next(b) - periods[i];
			due = div64_u64(last - first, periods[i]) + 1;
			KUNIT_ASSERT_LE(test, last, b->called_at);
			KUNIT_ASSERT_GT(test, beat_next(b), b->called_at);
			KUNIT_ASSERT_EQ(test, b->calls + b->missed, due);
			KUNIT_ASSERT_EQ(test, b->missed, twheel_periodic_missed(&b->periodic));
		}
		KUNIT_EXPECT_GT(test, b->calls, 1);
		twheel_periodic_stop(&b->periodic);
	}
}

static void rate_from_the_past(struct kunit *test)
{
	struct twheel *wheel = wheel_of_test(test);
	struct beat *b = beat_new(test, wheel);

	twheel_advance(wheel, 100 * MS);
	KUNIT_EXPECT_EQ(test, beat_start_at(b, 5 * MS, 10 * MS, TWHEEL_FIXED_RATE), 0);
	KUNIT_EXPECT_EQ_MSG(test, b->calls, 0, "called from within start");
	wheel_run_until(wheel, 100 * MS);
	beat_expect(test, b, 1, 9, 105 * MS);
}

static void delay_has_no_overruns(struct kunit *test)
{
	struct twheel *wheel = wheel_of_test(test);
	struct beat *b = beat_new(test, wheel);

	beat_start_at(b, 2 * MS, 10 * MS, TWHEEL_FIXED_DELAY);
	wheel_run_until(wheel, 12 * MS);
	beat_expect(test, b, 2, 0, 22 * MS);
	twheel_advance(wheel, 77 * MS);
	beat_expect(test, b, 3, 0, 87 * MS);
	wheel_run_until(wheel, 87 * MS);
	beat_expect(test, b, 4, 0, 97 * MS);
	KUNIT_EXPECT_EQ(test, b->missed, 0);
}

static void periodic_starts_anew(struct kunit *test)
{
	struct twheel *wheel = wheel_of_test(test);
	struct beat *b = beat_new(test, wheel);

	twheel_advance(wheel, 5 * MS);
	KUNIT_EXPECT_EQ(test, beat_start(b, 4 * MS, TWHEEL_FIXED_RATE), 0);
	KUNIT_EXPECT_EQ(test, beat_next(b), 9 * MS);
	twheel_advance(wheel, 30 * MS);
	beat_expect(test, b, 1, 5, 33 * MS);
	KUNIT_EXPECT_EQ(test, beat_start(b, 50 * MS, TWHEEL_FIXED_DELAY), 1);
	b->missed = 0;
	beat_expect(test, b, 1, 0, 80 * MS);
	wheel_run_until(wheel, 79 * MS);
	KUNIT_EXPECT_EQ(test, twheel_periodic_stop(&b->periodic), 1);
	KUNIT_EXPECT_EQ(test, twheel_periodic_stop(&b->periodic), 0);
	KUNIT_EXPECT_EQ(test, twheel_periodic_stop_sync(&b->periodic), 0);
	wheel_run_until(wheel, DAY);
	KUNIT_EXPECT_EQ(test, b->calls, 1);

	/* Start again after a stop. */
	KUNIT_EXPECT_EQ(test, beat_start(b, MS, TWHEEL_FIXED_RATE), 0);
	wheel_run_until(wheel, DAY + 3 * MS);
	beat_expect(test, b, 4, 0, DAY + 4 * MS);
	KUNIT_EXPECT_EQ(test, twheel_periodic_stop_sync(&b->periodic), 1);
	KUNIT_EXPECT_EQ(test, pending_count(wheel), 0);
}

static void periodic_refuses(struct kunit *test)
{
	static const struct {
		u64 period;
		int pace;
		int ret;
	} cases[] = {
		{ 0, TWHEEL_FIXED_RATE, -EINVAL },
		{ TWHEEL_SPAN_MAX + 1, TWHEEL_FIXED_RATE, -EINVAL },
		{ ~(u64)0, TWHEEL_FIXED_DELAY, -EINVAL },
		{ MS, TWHEEL_FIXED_DELAY + 1, -EINVAL },
		{ MS, -1, -EINVAL },
		{ 1, TWHEEL_FIXED_RATE, 1 },
		{ TWHEEL_SPAN_MAX, TWHEEL_FIXED_DELAY, 1 },
	};
	struct twheel *wheel = wheel_of_test(test);
	struct beat *without = beat_new(test, wheel);
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		struct beat *b = beat_new(test, wheel);
		u64 period = cases[i].period;
		int ret = cases[i].ret;

		/* A refused call does not move it. */
		beat_start(b, 5 * MS, TWHEEL_FIXED_RATE);
		KUNIT_EXPECT_EQ_MSG(test, beat_start(b, period, cases[i].pace), ret, "%u", i);
		KUNIT_EXPECT_TRUE(test, ret > 0 || beat_next(b) == 5 * MS);
		KUNIT_EXPECT_EQ_MSG(test, beat_start_at(b, MS, period, cases[i].pace), ret,
				    "%u", i);
		KUNIT_EXPECT_TRUE(test, ret > 0 || beat_next(b) == 5 * MS);
	}
	twheel_periodic_init(&without->periodic, wheel, NULL);
	KUNIT_EXPECT_EQ(test, beat_start(without, MS, TWHEEL_FIXED_RATE), -EINVAL);
}

static int beat_restart(struct twheel_periodic *periodic)
{
	return twheel_periodic_start(periodic, 30 * MS, TWHEEL_FIXED_DELAY);
}

static int beat_stop_and_restart(struct twheel_periodic *periodic)
{
	int ret = twheel_periodic_stop(periodic);

	return ret == 0 ? beat_restart(periodic) : ret;
}

/*
 * What the second call does, at 20 ms, and what comes of it. It returns AGAIN, or DONE. A new
 * series goes on, whatever the callback of the old one returns; else there is none.
 */
static void callback_acts(struct kunit *test)
{
	static const struct {
		int (*act)(struct twheel_periodic *periodic);
		int result;
		bool goes_on;
	} cases[] = {
		{ twheel_periodic_stop, 0, false },
		{ twheel_periodic_stop_sync, -EDEADLK, false },
		{ twheel_periodic_shutdown_sync, -EDEADLK, false },
		{ beat_stop_and_restart, 0, true },
		{ beat_restart, 0, true },
	};
	unsigned int i;

	for (i = 0; i < 2 * ARRAY_SIZE(cases); i++) {
		struct twheel *wheel = virtual_wheel(test, MS, 0);
		struct beat *b = beat_new(test, wheel);
		bool goes_on = cases[i / 2].goes_on;

		b->act = cases[i / 2].act;
		b->last = i % 2 ? 2 : 0;
		beat_start(b, 10 * MS, TWHEEL_FIXED_RATE);
		wheel_run_until(wheel, 20 * MS);
		KUNIT_EXPECT_EQ_MSG(test, b->result, cases[i / 2].result, "case %u", i);
		/* Without one, it can be started again. */
		KUNIT_EXPECT_EQ_MSG(test, goes_on || beat_restart(&b->periodic), goes_on,
				    "case %u", i);
		beat_expect(test, b, 2, 0, 50 * MS);
	}
}

static void callback_is_done(struct kunit *test)
{
	struct twheel *wheel = wheel_of_test(test);
	struct beat *b = beat_new(test, wheel);

	b->last = 2;
	beat_start(b, 10 * MS, TWHEEL_FIXED_RATE);
	wheel_run_until(wheel, DAY);
	KUNIT_EXPECT_EQ(test, b->called_at, 20 * MS);
	KUNIT_EXPECT_FALSE(test, twheel_pending(&b->periodic.timer));
	KUNIT_EXPECT_EQ(test, twheel_periodic_stop(&b->periodic), 0);
	KUNIT_EXPECT_EQ(test, beat_restart(&b->periodic), 0);
	beat_expect(test, b, 2, 0, DAY + 30 * MS);
}

static unsigned int beat_frees;

static enum twheel_next beat_run_and_free(struct twheel_periodic *periodic)
{
	struct beat *b = container_of(periodic, struct beat, periodic);

	if (++b->calls < b->last)
		return TWHEEL_AGAIN;
	beat_frees++;
	kfree(b);
	return TWHEEL_DONE;
}

static void callback_frees_its_work(struct kunit *test)
{
	struct twheel *wheel = wheel_of_test(test);
	unsigned int i;

	beat_frees = 0;
	for (i = 0; i < 60; i++) {
		struct beat *b = kmalloc(sizeof(*b), GFP_KERNEL);

		KUNIT_ASSERT_NOT_NULL(test, b);
		memset(b, 0, sizeof(*b));
		twheel_periodic_init(&b->periodic, wheel, beat_run_and_free);
		b->last = 1 + i % 3;
		beat_start(b, MS + i % 7 * MS, i % 2);
	}
	wheel_run_until(wheel, 50 * MS);
	KUNIT_EXPECT_EQ(test, beat_frees, 60);
	KUNIT_EXPECT_EQ(test, pending_count(wheel), 0);
}

static void periodic_shutdown(struct kunit *test)
{
	struct twheel *wheel = wheel_of_test(test);
	struct beat *b = beat_new(test, wheel);

	beat_start(b, MS, TWHEEL_FIXED_RATE);
	KUNIT_EXPECT_EQ(test, twheel_periodic_shutdown_sync(&b->periodic), 1);
	KUNIT_EXPECT_EQ(test, twheel_periodic_shutdown_sync(&b->periodic), 0);
	KUNIT_EXPECT_EQ(test, beat_start(b, MS, TWHEEL_FIXED_RATE), -ESHUTDOWN);
	KUNIT_EXPECT_EQ(test, beat_start_at(b, 0, MS, TWHEEL_FIXED_DELAY), -ESHUTDOWN);
	KUNIT_EXPECT_EQ(test, twheel_periodic_stop(&b->periodic), 0);
	wheel_run_until(wheel, DAY);
	KUNIT_EXPECT_EQ(test, b->calls, 0);
	twheel_periodic_init(&b->periodic, wheel, beat_run);
	KUNIT_EXPECT_EQ(test, beat_start(b, MS, TWHEEL_FIXED_RATE), 0);
	twheel_periodic_stop(&b->periodic);
}

static void periodic_on_stopped_wheel(struct kunit *test)
{
	struct twheel *wheel = wheel_of_test(test);
	struct beat *b = beat_new(test, wheel);

	beat_start(b, MS, TWHEEL_FIXED_RATE);
	wheel_run_until(wheel, 2 * MS);
	wheel_expect_handed_back(test, wheel, &b->periodic.timer);
	KUNIT_EXPECT_EQ(test, beat_start(b, MS, TWHEEL_FIXED_RATE), -ESHUTDOWN);
	KUNIT_EXPECT_EQ(test, twheel_periodic_stop_sync(&b->periodic), 0);
	KUNIT_EXPECT_EQ(test, b->calls, 2);
}

static struct probe beat_intruder;

static int beat_intrude(struct twheel_periodic *periodic)
{
	(void)periodic;
	return twheel_arm(&beat_intruder.timer, DAY);
}

static void periodic_without_room(struct kunit *test)
{
	struct twheel *wheel = virtual_wheel_for_one(test, &beat_intruder);
	struct beat *b = beat_new(test, wheel);

	b->act = beat_intrude;
	KUNIT_EXPECT_EQ(test, beat_start(b, MS, TWHEEL_FIXED_RATE), 0);
	wheel_run_until(wheel, MS);
	KUNIT_EXPECT_EQ(test, twheel_periodic_error(&b->periodic), 0);
	wheel_run_until(wheel, 5 * MS);
	KUNIT_EXPECT_EQ(test, b->result, 0);
	KUNIT_EXPECT_EQ(test, b->calls, 2);
	KUNIT_EXPECT_EQ(test, twheel_periodic_deadline(&b->periodic), 2 * MS);
	KUNIT_EXPECT_EQ(test, twheel_periodic_error(&b->periodic), -ENOSPC);
	KUNIT_EXPECT_EQ(test, beat_start(b, MS, TWHEEL_FIXED_RATE), -ENOSPC);
	twheel_cancel(&beat_intruder.timer);
	KUNIT_EXPECT_EQ(test, beat_start(b, MS, TWHEEL_FIXED_RATE), 0);
	KUNIT_EXPECT_EQ(test, twheel_periodic_error(&b->periodic), 0);
}

static void periodic_saturates(struct kunit *test)
{
	u64 from = div64_u64(TWHEEL_NEVER, MS) * MS - 10 * MS;
	enum twheel_pace pace;

	for (pace = TWHEEL_FIXED_RATE; pace <= TWHEEL_FIXED_DELAY; pace++) {
		struct twheel *wheel = virtual_wheel(test, MS, from);
		struct beat *b = beat_new(test, wheel);

		beat_start(b, 4 * MS, pace);
		twheel_advance(wheel, from + 5 * MS);
		KUNIT_EXPECT_EQ(test, b->calls, 1);
		twheel_advance(wheel, from + 9 * MS);
		beat_expect(test, b, 2, 0, TWHEEL_NEVER);
		KUNIT_EXPECT_EQ(test, twheel_periodic_deadline(&b->periodic), TWHEEL_NEVER);
		beat_start(b, TWHEEL_SPAN_MAX, pace);
		KUNIT_EXPECT_EQ(test, beat_next(b), TWHEEL_NEVER);
		beat_start_at(b, ~(u64)0, MS, pace);
		KUNIT_EXPECT_EQ(test, beat_next(b), TWHEEL_NEVER);
	}
}

static struct kunit_case periodic_cases[] = {
	KUNIT_CASE(rate_keeps_its_phase),
	KUNIT_CASE(rate_does_not_drift),
	KUNIT_CASE(rate_misses_none_uncounted),
	KUNIT_CASE(rate_from_the_past),
	KUNIT_CASE(delay_has_no_overruns),
	KUNIT_CASE(periodic_starts_anew),
	KUNIT_CASE(periodic_refuses),
	KUNIT_CASE(callback_acts),
	KUNIT_CASE(callback_is_done),
	KUNIT_CASE(callback_frees_its_work),
	KUNIT_CASE(periodic_shutdown),
	KUNIT_CASE(periodic_on_stopped_wheel),
	KUNIT_CASE(periodic_without_room),
	KUNIT_CASE(periodic_saturates),
	{ }
};

static struct kunit_suite twheel_periodic_suite = {
	.name		= "twheel_periodic",
	.init		= probe_test_init,
	.exit		= wheels_end,
	.test_cases	= periodic_cases,
};

kunit_test_suite(twheel_periodic_suite);
