// SPDX-License-Identifier: GPL-2.0-only
/*
 * Periodic work on a virtual clock, which makes every moment predictable.
 *
 * The objects under test are static: debug objects have to be told of timers on the
 * stack, and policies have no call for that.
 */
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

static void beat_init(struct beat *b, struct twheel *wheel)
{
	memset(b, 0, sizeof(*b));
	twheel_periodic_init(&b->periodic, wheel, beat_run);
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

static void rate_keeps_its_phase(struct kunit *test)
{
	struct twheel *wheel = test->priv;
	static struct beat b;

	beat_init(&b, wheel);
	KUNIT_EXPECT_EQ(test, beat_start_at(&b, 7 * MS, 3 * MS, TWHEEL_FIXED_RATE), 0);
	wheel_run_until(wheel, 7 * MS - 1);
	KUNIT_EXPECT_EQ(test, b.calls, 0);
	wheel_run_until(wheel, 14 * MS);
	KUNIT_EXPECT_EQ(test, b.calls, 3);
	KUNIT_EXPECT_EQ(test, b.called_at, 13 * MS);
	KUNIT_EXPECT_EQ(test, b.missed, 0);

	/* The deadlines 16, 19, ... 46 have passed: one call, 10 overruns. */
	twheel_advance(wheel, 48 * MS);
	KUNIT_EXPECT_EQ(test, b.calls, 4);
	KUNIT_EXPECT_EQ(test, twheel_periodic_overruns(&b.periodic), 10);
	KUNIT_EXPECT_EQ(test, beat_next(&b), 49 * MS);
	wheel_run_until(wheel, 48 * MS);
	KUNIT_EXPECT_EQ_MSG(test, b.calls, 4, "a burst");

	/* The next call is in time, without an overrun; the total stays. */
	wheel_run_until(wheel, 49 * MS);
	KUNIT_EXPECT_EQ(test, b.calls, 5);
	KUNIT_EXPECT_EQ(test, b.called_at, 49 * MS);
	KUNIT_EXPECT_EQ(test, twheel_periodic_overruns(&b.periodic), 0);
	KUNIT_EXPECT_EQ(test, twheel_periodic_missed(&b.periodic), 10);

	/* A whole period late is one overrun; less is none. */
	twheel_advance(wheel, 55 * MS - 1);
	KUNIT_EXPECT_EQ(test, twheel_periodic_overruns(&b.periodic), 0);
	twheel_advance(wheel, 58 * MS);
	KUNIT_EXPECT_EQ(test, twheel_periodic_overruns(&b.periodic), 1);
	KUNIT_EXPECT_EQ(test, beat_next(&b), 61 * MS);
	KUNIT_EXPECT_EQ(test, twheel_periodic_missed(&b.periodic), b.missed);
	KUNIT_EXPECT_EQ(test, twheel_periodic_stop(&b.periodic), 1);
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
	struct twheel *wheel = test->priv;
	static struct beat b;

	beat_init(&b, wheel);
	twheel_periodic_init(&b.periodic, wheel, beat_run_steady);
	beat_start_at(&b, 5 * MS, 3700 * US, TWHEEL_FIXED_RATE);
	wheel_run_until(wheel, 5 * MS + 10000 * 3700 * US);
	KUNIT_EXPECT_EQ(test, b.calls, 10001);
	KUNIT_EXPECT_EQ_MSG(test, b.result, 0, "calls at another moment");
	KUNIT_EXPECT_EQ(test, beat_next(&b), 5 * MS + 10001 * 3700 * US);
	KUNIT_EXPECT_EQ(test, twheel_periodic_missed(&b.periodic), 0);
	twheel_periodic_stop(&b.periodic);
}

static void rate_misses_none_uncounted(struct kunit *test)
{
	static const u64 periods[] = { 1, 7, 300 * US, MS, 2500 * US, 40 * MS };
	struct twheel *wheel = test->priv;
	u32 seed = 99;
	unsigned int i, step;

	/* Every deadline is counted, however far the clock advances at a time. */
	for (i = 0; i < ARRAY_SIZE(periods); i++) {
		u64 first = twheel_now(wheel) + 3 * MS;
		static struct beat b;

		beat_init(&b, wheel);
		beat_start_at(&b, first, periods[i], TWHEEL_FIXED_RATE);
		for (step = 0; step < 300; step++) {
			u64 last, due;

			twheel_advance(wheel, twheel_now(wheel) +
				       test_random(&seed) % (u32)(9 * MS));
			if (!b.calls)
				continue;
			last = beat_next(&b) - periods[i];
			due = div64_u64(last - first, periods[i]) + 1;
			KUNIT_ASSERT_LE(test, last, b.called_at);
			KUNIT_ASSERT_GT(test, beat_next(&b), b.called_at);
			KUNIT_ASSERT_EQ(test, b.calls + b.missed, due);
			KUNIT_ASSERT_EQ(test, b.missed,
					twheel_periodic_missed(&b.periodic));
		}
		KUNIT_EXPECT_GT(test, b.calls, 1);
		twheel_periodic_stop(&b.periodic);
	}
}

static void rate_from_the_past(struct kunit *test)
{
	struct twheel *wheel = test->priv;
	static struct beat b;

	twheel_advance(wheel, 100 * MS);
	beat_init(&b, wheel);
	KUNIT_EXPECT_EQ(test, beat_start_at(&b, 5 * MS, 10 * MS, TWHEEL_FIXED_RATE), 0);
	KUNIT_EXPECT_EQ_MSG(test, b.calls, 0, "called from within start");
	wheel_run_until(wheel, 100 * MS);
	KUNIT_EXPECT_EQ(test, b.calls, 1);
	KUNIT_EXPECT_EQ(test, b.missed, 9);
	KUNIT_EXPECT_EQ(test, beat_next(&b), 105 * MS);
	twheel_periodic_stop(&b.periodic);
}

static void delay_has_no_overruns(struct kunit *test)
{
	struct twheel *wheel = test->priv;
	static struct beat b;

	beat_init(&b, wheel);
	beat_start_at(&b, 2 * MS, 10 * MS, TWHEEL_FIXED_DELAY);
	wheel_run_until(wheel, 12 * MS);
	KUNIT_EXPECT_EQ(test, b.calls, 2);
	twheel_advance(wheel, 77 * MS);
	KUNIT_EXPECT_EQ(test, b.calls, 3);
	KUNIT_EXPECT_EQ(test, beat_next(&b), 87 * MS);
	wheel_run_until(wheel, 87 * MS);
	KUNIT_EXPECT_EQ(test, b.calls, 4);
	KUNIT_EXPECT_EQ(test, b.missed, 0);
	KUNIT_EXPECT_EQ(test, twheel_periodic_missed(&b.periodic), 0);
	twheel_periodic_stop(&b.periodic);
}

static void periodic_starts_anew(struct kunit *test)
{
	struct twheel *wheel = test->priv;
	static struct beat b;

	beat_init(&b, wheel);
	twheel_advance(wheel, 5 * MS);
	KUNIT_EXPECT_EQ(test, beat_start(&b, 4 * MS, TWHEEL_FIXED_RATE), 0);
	KUNIT_EXPECT_EQ(test, beat_next(&b), 9 * MS);
	twheel_advance(wheel, 30 * MS);
	KUNIT_EXPECT_EQ(test, twheel_periodic_missed(&b.periodic), 5);
	KUNIT_EXPECT_EQ(test, beat_start(&b, 50 * MS, TWHEEL_FIXED_DELAY), 1);
	KUNIT_EXPECT_EQ(test, twheel_periodic_missed(&b.periodic), 0);
	KUNIT_EXPECT_EQ(test, twheel_periodic_overruns(&b.periodic), 0);
	KUNIT_EXPECT_EQ(test, beat_next(&b), 80 * MS);
	wheel_run_until(wheel, 79 * MS);
	KUNIT_EXPECT_EQ(test, b.calls, 1);
	KUNIT_EXPECT_EQ(test, twheel_periodic_stop(&b.periodic), 1);
	KUNIT_EXPECT_EQ(test, twheel_periodic_stop(&b.periodic), 0);
	KUNIT_EXPECT_EQ(test, twheel_periodic_stop_sync(&b.periodic), 0);
	wheel_run_until(wheel, DAY);
	KUNIT_EXPECT_EQ(test, b.calls, 1);

	/* Start again after a stop. */
	KUNIT_EXPECT_EQ(test, beat_start(&b, MS, TWHEEL_FIXED_RATE), 0);
	wheel_run_until(wheel, DAY + 3 * MS);
	KUNIT_EXPECT_EQ(test, b.calls, 4);
	KUNIT_EXPECT_EQ(test, twheel_periodic_stop_sync(&b.periodic), 1);
	KUNIT_EXPECT_EQ(test, twheel_periodic_error(&b.periodic), 0);
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
	struct twheel *wheel = test->priv;
	unsigned int i;
	static struct beat b;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		enum twheel_pace pace = cases[i].pace;
		int ret = cases[i].ret;

		beat_init(&b, wheel);
		beat_start(&b, 5 * MS, TWHEEL_FIXED_RATE);
		KUNIT_EXPECT_EQ_MSG(test, beat_start(&b, cases[i].period, pace), ret,
				    "case %u", i);
		if (ret < 0)
			KUNIT_EXPECT_EQ_MSG(test, beat_next(&b), 5 * MS,
					    "the refused call has moved it");
		KUNIT_EXPECT_EQ_MSG(test, beat_start_at(&b, MS, cases[i].period, pace), ret,
				    "case %u", i);
		if (ret < 0)
			KUNIT_EXPECT_EQ(test, beat_next(&b), 5 * MS);
		twheel_periodic_stop(&b.periodic);
	}
	twheel_periodic_init(&b.periodic, wheel, NULL);
	KUNIT_EXPECT_EQ(test, beat_start(&b, MS, TWHEEL_FIXED_RATE), -EINVAL);
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

/* The second call, at 20 ms, does @act; then it returns AGAIN or DONE. */
static void beat_act_midway(struct kunit *test, struct beat *b,
			    int (*act)(struct twheel_periodic *periodic), bool done)
{
	struct twheel *wheel = virtual_wheel(test, MS, 0);

	beat_init(b, wheel);
	b->act = act;
	b->last = done ? 2 : 0;
	beat_start(b, 10 * MS, TWHEEL_FIXED_RATE);
	wheel_run_until(wheel, 20 * MS);
	KUNIT_EXPECT_EQ(test, b->calls, 2);
}

static void beat_end(struct beat *b)
{
	twheel_destroy(twheel_of(&b->periodic.timer));
}

static void callback_stops(struct kunit *test)
{
	static const struct {
		int (*act)(struct twheel_periodic *periodic);
		int result;
	} cases[] = {
		{ twheel_periodic_stop, 0 },
		{ twheel_periodic_stop_sync, -EDEADLK },
		{ twheel_periodic_shutdown_sync, -EDEADLK },
	};
	unsigned int i;
	static struct beat b;

	for (i = 0; i < 2 * ARRAY_SIZE(cases); i++) {
		beat_act_midway(test, &b, cases[i / 2].act, i % 2);
		KUNIT_EXPECT_EQ_MSG(test, b.result, cases[i / 2].result,
				    "case %u", i);
		KUNIT_EXPECT_FALSE_MSG(test,
				       twheel_pending(&b.periodic.timer),
				       "case %u: its AGAIN was heard", i);
		/* It can be started again. */
		KUNIT_EXPECT_EQ(test, beat_restart(&b.periodic), 0);
		KUNIT_EXPECT_EQ(test, beat_next(&b), 50 * MS);
		beat_end(&b);
	}
}

static void callback_starts_anew(struct kunit *test)
{
	unsigned int i;
	static struct beat b;

	/* The new series goes on, whatever the callback of the old one returns. */
	for (i = 0; i < 4; i++) {
		beat_act_midway(test, &b, i / 2 ? beat_restart : beat_stop_and_restart,
				i % 2);
		KUNIT_EXPECT_EQ(test, b.result, 0);
		KUNIT_EXPECT_EQ_MSG(test, beat_next(&b), 50 * MS, "case %u", i);
		beat_end(&b);
	}
}

static void callback_is_done(struct kunit *test)
{
	static struct beat b;

	beat_act_midway(test, &b, NULL, true);
	KUNIT_EXPECT_FALSE(test, twheel_pending(&b.periodic.timer));
	KUNIT_EXPECT_EQ(test, twheel_periodic_stop(&b.periodic), 0);
	KUNIT_EXPECT_EQ(test, twheel_periodic_error(&b.periodic), 0);
	KUNIT_EXPECT_EQ(test, beat_restart(&b.periodic), 0);
	beat_end(&b);
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
	struct twheel *wheel = test->priv;
	unsigned int i;

	beat_frees = 0;
	for (i = 0; i < 60; i++) {
		struct beat *b = kmalloc(sizeof(*b), GFP_KERNEL);

		KUNIT_ASSERT_NOT_NULL(test, b);
		beat_init(b, wheel);
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
	struct twheel *wheel = test->priv;
	static struct beat b;

	beat_init(&b, wheel);
	beat_start(&b, MS, TWHEEL_FIXED_RATE);
	KUNIT_EXPECT_EQ(test, twheel_periodic_shutdown_sync(&b.periodic), 1);
	KUNIT_EXPECT_EQ(test, twheel_periodic_shutdown_sync(&b.periodic), 0);
	KUNIT_EXPECT_EQ(test, beat_start(&b, MS, TWHEEL_FIXED_RATE), -ESHUTDOWN);
	KUNIT_EXPECT_EQ(test, beat_start_at(&b, 0, MS, TWHEEL_FIXED_DELAY), -ESHUTDOWN);
	KUNIT_EXPECT_EQ(test, twheel_periodic_stop(&b.periodic), 0);
	wheel_run_until(wheel, DAY);
	KUNIT_EXPECT_EQ(test, b.calls, 0);
	twheel_periodic_init(&b.periodic, wheel, beat_run);
	KUNIT_EXPECT_EQ(test, beat_start(&b, MS, TWHEEL_FIXED_RATE), 0);
	twheel_periodic_stop(&b.periodic);
}

static void periodic_on_stopped_wheel(struct kunit *test)
{
	struct twheel *wheel = test->priv;
	static struct beat b;

	beat_init(&b, wheel);
	beat_start(&b, MS, TWHEEL_FIXED_RATE);
	wheel_run_until(wheel, 2 * MS);
	wheel_expect_handed_back(test, wheel, &b.periodic.timer);
	KUNIT_EXPECT_EQ(test, beat_start(&b, MS, TWHEEL_FIXED_RATE), -ESHUTDOWN);
	KUNIT_EXPECT_EQ(test, twheel_periodic_stop_sync(&b.periodic), 0);
	KUNIT_EXPECT_EQ(test, b.calls, 2);
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
	static struct beat b;

	beat_init(&b, wheel);
	b.act = beat_intrude;
	KUNIT_EXPECT_EQ(test, beat_start(&b, MS, TWHEEL_FIXED_RATE), 0);
	wheel_run_until(wheel, MS);
	KUNIT_EXPECT_EQ(test, twheel_periodic_error(&b.periodic), 0);
	wheel_run_until(wheel, 5 * MS);
	KUNIT_EXPECT_EQ(test, b.result, 0);
	KUNIT_EXPECT_EQ(test, b.calls, 2);
	KUNIT_EXPECT_EQ(test, twheel_periodic_deadline(&b.periodic), 2 * MS);
	KUNIT_EXPECT_EQ(test, twheel_periodic_error(&b.periodic), -ENOSPC);
	KUNIT_EXPECT_EQ(test, beat_start(&b, MS, TWHEEL_FIXED_RATE), -ENOSPC);
	twheel_cancel(&beat_intruder.timer);
	KUNIT_EXPECT_EQ(test, beat_start(&b, MS, TWHEEL_FIXED_RATE), 0);
	KUNIT_EXPECT_EQ(test, twheel_periodic_error(&b.periodic), 0);
	twheel_destroy(wheel);
}

static void periodic_saturates(struct kunit *test)
{
	u64 from = div64_u64(TWHEEL_NEVER, MS) * MS - 10 * MS;
	enum twheel_pace pace;
	static struct beat b;

	for (pace = TWHEEL_FIXED_RATE; pace <= TWHEEL_FIXED_DELAY; pace++) {
		struct twheel *wheel = virtual_wheel(test, MS, from);

		beat_init(&b, wheel);
		beat_start(&b, 4 * MS, pace);
		twheel_advance(wheel, from + 5 * MS);
		KUNIT_EXPECT_EQ(test, b.calls, 1);
		twheel_advance(wheel, from + 9 * MS);
		KUNIT_EXPECT_EQ(test, b.calls, 2);
		KUNIT_EXPECT_EQ(test, beat_next(&b), TWHEEL_NEVER);
		KUNIT_EXPECT_EQ(test, twheel_periodic_deadline(&b.periodic), TWHEEL_NEVER);
		beat_start(&b, TWHEEL_SPAN_MAX, pace);
		KUNIT_EXPECT_EQ(test, beat_next(&b), TWHEEL_NEVER);
		beat_start_at(&b, ~(u64)0, MS, pace);
		KUNIT_EXPECT_EQ(test, beat_next(&b), TWHEEL_NEVER);
		KUNIT_EXPECT_EQ(test, twheel_periodic_stop(&b.periodic), 1);
		twheel_destroy(wheel);
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
	KUNIT_CASE(callback_stops),
	KUNIT_CASE(callback_starts_anew),
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
	.exit		= probe_test_exit,
	.test_cases	= periodic_cases,
};

kunit_test_suite(twheel_periodic_suite);
