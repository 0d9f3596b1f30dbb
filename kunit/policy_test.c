// SPDX-License-Identifier: GPL-2.0-only
/*
 * Periodic work, retries and idle watches: on a virtual clock, where every
 * moment is known; and at the end on a real one, for what needs time to pass
 * within a callback, or another CPU.
 *
 * What is tried is static: debug objects want to be told of timers that are on
 * the stack, and policies have no words for that.
 */
#include <linux/completion.h>
#include <linux/cpumask.h>
#include <linux/delay.h>
#include <linux/err.h>
#include <linux/errno.h>
#include <linux/jiffies.h>
#include <linux/kthread.h>
#include <linux/math64.h>
#include <linux/sched.h>
#include <linux/slab.h>

#include <linux/twheel_policy.h>

#include "probe.h"

#define US	((u64)NSEC_PER_USEC)

static u32 roll(u32 *seed)
{
	/* xorshift: the same every run */
	*seed ^= *seed << 13;
	*seed ^= *seed >> 17;
	*seed ^= *seed << 5;
	return *seed;
}

static struct twheel *make_wheel(struct kunit *test,
				 const struct twheel_config *config)
{
	struct twheel *wheel = twheel_create(config);

	KUNIT_ASSERT_FALSE(test, IS_ERR(wheel));
	return wheel;
}

/*
 * Periodic work that keeps its own books.
 *
 * @last: the call that says TWHEEL_DONE; 0: none does
 * @act: what the second call does before it answers
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

static enum twheel_next beat(struct twheel_periodic *periodic)
{
	struct beat *b = container_of(periodic, struct beat, periodic);

	b->calls++;
	b->called_at = twheel_now(twheel_of(&periodic->series.timer));
	b->missed += twheel_periodic_overruns(periodic);
	if (b->act && b->calls == 2)
		b->result = b->act(periodic);
	return b->calls == b->last ? TWHEEL_DONE : TWHEEL_AGAIN;
}

static void init_beat(struct beat *b, struct twheel *wheel)
{
	memset(b, 0, sizeof(*b));
	twheel_periodic_init(&b->periodic, wheel, beat);
}

static u64 next_of(struct beat *b)
{
	return twheel_deadline(&b->periodic.series.timer);
}

static void rate_keeps_its_phase(struct kunit *test)
{
	struct twheel *wheel = test->priv;
	static struct beat b;

	init_beat(&b, wheel);
	KUNIT_EXPECT_EQ(test, twheel_periodic_start_at(&b.periodic, 7 * MS,
						       3 * MS,
						       TWHEEL_FIXED_RATE), 0);
	run_until(wheel, 7 * MS - 1);
	KUNIT_EXPECT_EQ(test, b.calls, 0);
	run_until(wheel, 14 * MS);
	KUNIT_EXPECT_EQ(test, b.calls, 3);
	KUNIT_EXPECT_EQ(test, b.called_at, 13 * MS);
	KUNIT_EXPECT_EQ(test, b.missed, 0);

	/* 16, 19, ... 46 have passed: one call, 10 overruns. */
	twheel_advance(wheel, 48 * MS);
	KUNIT_EXPECT_EQ(test, b.calls, 4);
	KUNIT_EXPECT_EQ(test, twheel_periodic_overruns(&b.periodic), 10);
	KUNIT_EXPECT_EQ(test, next_of(&b), 49 * MS);
	run_until(wheel, 48 * MS);
	KUNIT_EXPECT_EQ_MSG(test, b.calls, 4, "a burst");

	/* The next is in time, and no overrun; the total stays. */
	run_until(wheel, 49 * MS);
	KUNIT_EXPECT_EQ(test, b.calls, 5);
	KUNIT_EXPECT_EQ(test, b.called_at, 49 * MS);
	KUNIT_EXPECT_EQ(test, twheel_periodic_overruns(&b.periodic), 0);
	KUNIT_EXPECT_EQ(test, twheel_periodic_missed(&b.periodic), 10);

	/* Late by a whole period is one overrun; by less, none. */
	twheel_advance(wheel, 55 * MS - 1);
	KUNIT_EXPECT_EQ(test, twheel_periodic_overruns(&b.periodic), 0);
	twheel_advance(wheel, 58 * MS);
	KUNIT_EXPECT_EQ(test, twheel_periodic_overruns(&b.periodic), 1);
	KUNIT_EXPECT_EQ(test, next_of(&b), 61 * MS);
	KUNIT_EXPECT_EQ(test, twheel_periodic_missed(&b.periodic), b.missed);
	KUNIT_EXPECT_EQ(test, twheel_periodic_stop(&b.periodic), 1);
}

static enum twheel_next steady(struct twheel_periodic *periodic)
{
	struct beat *b = container_of(periodic, struct beat, periodic);
	u64 deadline = twheel_periodic_deadline(periodic);

	/* On the first tick at or after each deadline. */
	if (deadline != 5 * MS + b->calls * 3700 * US ||
	    twheel_now(twheel_of(&periodic->series.timer)) !=
	    div64_u64(deadline + MS - 1, MS) * MS)
		b->result++;
	return beat(periodic);
}

static void rate_does_not_drift(struct kunit *test)
{
	struct twheel *wheel = test->priv;
	static struct beat b;

	init_beat(&b, wheel);
	twheel_periodic_init(&b.periodic, wheel, steady);
	twheel_periodic_start_at(&b.periodic, 5 * MS, 3700 * US,
				 TWHEEL_FIXED_RATE);
	run_until(wheel, 5 * MS + 10000 * 3700 * US);
	KUNIT_EXPECT_EQ(test, b.calls, 10001);
	KUNIT_EXPECT_EQ_MSG(test, b.result, 0, "calls at another moment");
	KUNIT_EXPECT_EQ(test, next_of(&b), 5 * MS + 10001 * 3700 * US);
	KUNIT_EXPECT_EQ(test, twheel_periodic_missed(&b.periodic), 0);
	twheel_periodic_stop(&b.periodic);
}

static void rate_misses_none_uncounted(struct kunit *test)
{
	static const u64 periods[] = { 1, 7, 300 * US, MS, 2500 * US, 40 * MS };
	struct twheel *wheel = test->priv;
	u32 seed = 99;
	unsigned int i, step;

	/* Whatever the steps of the clock, every deadline is accounted for. */
	for (i = 0; i < ARRAY_SIZE(periods); i++) {
		u64 first = twheel_now(wheel) + 3 * MS;
		static struct beat b;

		init_beat(&b, wheel);
		twheel_periodic_start_at(&b.periodic, first, periods[i],
					 TWHEEL_FIXED_RATE);
		for (step = 0; step < 300; step++) {
			u64 last, due;

			twheel_advance(wheel, twheel_now(wheel) +
				       roll(&seed) % (u32)(9 * MS));
			if (!b.calls)
				continue;
			last = next_of(&b) - periods[i];
			due = div64_u64(last - first, periods[i]) + 1;
			KUNIT_ASSERT_LE(test, last, b.called_at);
			KUNIT_ASSERT_GT(test, next_of(&b), b.called_at);
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
	init_beat(&b, wheel);
	KUNIT_EXPECT_EQ(test, twheel_periodic_start_at(&b.periodic, 5 * MS,
						       10 * MS,
						       TWHEEL_FIXED_RATE), 0);
	KUNIT_EXPECT_EQ_MSG(test, b.calls, 0, "called from within start");
	run_until(wheel, 100 * MS);
	KUNIT_EXPECT_EQ(test, b.calls, 1);
	KUNIT_EXPECT_EQ(test, b.missed, 9);
	KUNIT_EXPECT_EQ(test, next_of(&b), 105 * MS);
	twheel_periodic_stop(&b.periodic);
}

static void delay_has_no_overruns(struct kunit *test)
{
	struct twheel *wheel = test->priv;
	static struct beat b;

	init_beat(&b, wheel);
	twheel_periodic_start_at(&b.periodic, 2 * MS, 10 * MS,
				 TWHEEL_FIXED_DELAY);
	run_until(wheel, 12 * MS);
	KUNIT_EXPECT_EQ(test, b.calls, 2);
	twheel_advance(wheel, 77 * MS);
	KUNIT_EXPECT_EQ(test, b.calls, 3);
	KUNIT_EXPECT_EQ(test, next_of(&b), 87 * MS);
	run_until(wheel, 87 * MS);
	KUNIT_EXPECT_EQ(test, b.calls, 4);
	KUNIT_EXPECT_EQ(test, b.missed, 0);
	KUNIT_EXPECT_EQ(test, twheel_periodic_missed(&b.periodic), 0);
	twheel_periodic_stop(&b.periodic);
}

static void periodic_starts_anew(struct kunit *test)
{
	struct twheel *wheel = test->priv;
	static struct beat b;

	init_beat(&b, wheel);
	twheel_advance(wheel, 5 * MS);
	KUNIT_EXPECT_EQ(test, twheel_periodic_start(&b.periodic, 4 * MS,
						    TWHEEL_FIXED_RATE), 0);
	KUNIT_EXPECT_EQ(test, next_of(&b), 9 * MS);
	twheel_advance(wheel, 30 * MS);
	KUNIT_EXPECT_EQ(test, twheel_periodic_missed(&b.periodic), 5);
	KUNIT_EXPECT_EQ(test, twheel_periodic_start(&b.periodic, 50 * MS,
						    TWHEEL_FIXED_DELAY), 1);
	KUNIT_EXPECT_EQ(test, twheel_periodic_missed(&b.periodic), 0);
	KUNIT_EXPECT_EQ(test, twheel_periodic_overruns(&b.periodic), 0);
	KUNIT_EXPECT_EQ(test, next_of(&b), 80 * MS);
	run_until(wheel, 79 * MS);
	KUNIT_EXPECT_EQ(test, b.calls, 1);
	KUNIT_EXPECT_EQ(test, twheel_periodic_stop(&b.periodic), 1);
	KUNIT_EXPECT_EQ(test, twheel_periodic_stop(&b.periodic), 0);
	KUNIT_EXPECT_EQ(test, twheel_periodic_stop_sync(&b.periodic), 0);
	run_until(wheel, DAY);
	KUNIT_EXPECT_EQ(test, b.calls, 1);

	/* And after a stop. */
	KUNIT_EXPECT_EQ(test, twheel_periodic_start(&b.periodic, MS,
						    TWHEEL_FIXED_RATE), 0);
	run_until(wheel, DAY + 3 * MS);
	KUNIT_EXPECT_EQ(test, b.calls, 4);
	KUNIT_EXPECT_EQ(test, twheel_periodic_stop_sync(&b.periodic), 1);
	KUNIT_EXPECT_EQ(test, twheel_periodic_error(&b.periodic), 0);
	KUNIT_EXPECT_EQ(test, pending(wheel), 0);
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

		init_beat(&b, wheel);
		twheel_periodic_start(&b.periodic, 5 * MS, TWHEEL_FIXED_RATE);
		KUNIT_EXPECT_EQ_MSG(test, ret,
				    twheel_periodic_start(&b.periodic,
							  cases[i].period,
							  pace), "case %u", i);
		if (ret < 0)
			KUNIT_EXPECT_EQ_MSG(test, next_of(&b), 5 * MS,
					    "the refused call has moved it");
		KUNIT_EXPECT_EQ_MSG(test, ret,
				    twheel_periodic_start_at(&b.periodic, MS,
							     cases[i].period,
							     pace),
				    "case %u", i);
		if (ret < 0)
			KUNIT_EXPECT_EQ(test, next_of(&b), 5 * MS);
		twheel_periodic_stop(&b.periodic);
	}
}

static int act_stop(struct twheel_periodic *periodic)
{
	return twheel_periodic_stop(periodic);
}

static int act_stop_sync(struct twheel_periodic *periodic)
{
	return twheel_periodic_stop_sync(periodic);
}

static int act_shutdown_sync(struct twheel_periodic *periodic)
{
	return twheel_periodic_shutdown_sync(periodic);
}

static int act_start(struct twheel_periodic *periodic)
{
	return twheel_periodic_start(periodic, 30 * MS, TWHEEL_FIXED_DELAY);
}

static int act_stop_and_start(struct twheel_periodic *periodic)
{
	return twheel_periodic_stop(periodic) ?: act_start(periodic);
}

/* The second call, at 20 ms, acts; then it says AGAIN, or DONE. */
static void act_amidst(struct kunit *test, struct beat *b,
		       int (*act)(struct twheel_periodic *periodic), bool done)
{
	struct twheel *wheel = new_wheel(test, MS, 0);

	init_beat(b, wheel);
	b->act = act;
	b->last = done ? 2 : 0;
	twheel_periodic_start(&b->periodic, 10 * MS, TWHEEL_FIXED_RATE);
	run_until(wheel, 20 * MS);
	KUNIT_EXPECT_EQ(test, b->calls, 2);
}

static void end_act(struct beat *b)
{
	twheel_destroy(twheel_of(&b->periodic.series.timer));
}

static void callback_stops(struct kunit *test)
{
	static const struct {
		int (*act)(struct twheel_periodic *periodic);
		int result;
	} cases[] = {
		{ act_stop, 0 },
		{ act_stop_sync, -EDEADLK },
		{ act_shutdown_sync, -EDEADLK },
	};
	unsigned int i;
	static struct beat b;

	for (i = 0; i < 2 * ARRAY_SIZE(cases); i++) {
		act_amidst(test, &b, cases[i / 2].act, i % 2);
		KUNIT_EXPECT_EQ_MSG(test, b.result, cases[i / 2].result,
				    "case %u", i);
		KUNIT_EXPECT_FALSE_MSG(test,
				       twheel_pending(&b.periodic.series.timer),
				       "case %u: its AGAIN was heard", i);
		/* It can be started once more. */
		KUNIT_EXPECT_EQ(test, act_start(&b.periodic), 0);
		KUNIT_EXPECT_EQ(test, next_of(&b), 50 * MS);
		end_act(&b);
	}
}

static void callback_starts_anew(struct kunit *test)
{
	unsigned int i;
	static struct beat b;

	/* The new series holds, whatever the old one's callback says. */
	for (i = 0; i < 4; i++) {
		act_amidst(test, &b, i / 2 ? act_start : act_stop_and_start,
			   i % 2);
		KUNIT_EXPECT_EQ(test, b.result, 0);
		KUNIT_EXPECT_EQ_MSG(test, next_of(&b), 50 * MS, "case %u", i);
		end_act(&b);
	}
}

static void callback_is_done(struct kunit *test)
{
	static struct beat b;

	act_amidst(test, &b, NULL, true);
	KUNIT_EXPECT_FALSE(test, twheel_pending(&b.periodic.series.timer));
	KUNIT_EXPECT_EQ(test, twheel_periodic_stop(&b.periodic), 0);
	KUNIT_EXPECT_EQ(test, twheel_periodic_error(&b.periodic), 0);
	KUNIT_EXPECT_EQ(test, act_start(&b.periodic), 0);
	end_act(&b);
}

static unsigned int frees;

static enum twheel_next free_beat(struct twheel_periodic *periodic)
{
	struct beat *b = container_of(periodic, struct beat, periodic);

	if (++b->calls < b->last)
		return TWHEEL_AGAIN;
	frees++;
	kfree(b);
	return TWHEEL_DONE;
}

static void callback_frees_its_work(struct kunit *test)
{
	struct twheel *wheel = test->priv;
	unsigned int i;

	frees = 0;
	for (i = 0; i < 60; i++) {
		struct beat *b = kmalloc(sizeof(*b), GFP_KERNEL);

		KUNIT_ASSERT_NOT_NULL(test, b);
		init_beat(b, wheel);
		b->last = 1 + i % 3;
		twheel_periodic_init(&b->periodic, wheel, free_beat);
		twheel_periodic_start(&b->periodic, MS + i % 7 * MS, i % 2);
	}
	run_until(wheel, 50 * MS);
	KUNIT_EXPECT_EQ(test, frees, 60);
	KUNIT_EXPECT_EQ(test, pending(wheel), 0);
}

static void periodic_shutdown(struct kunit *test)
{
	struct twheel *wheel = test->priv;
	static struct beat b;

	init_beat(&b, wheel);
	twheel_periodic_start(&b.periodic, MS, TWHEEL_FIXED_RATE);
	KUNIT_EXPECT_EQ(test, twheel_periodic_shutdown_sync(&b.periodic), 1);
	KUNIT_EXPECT_EQ(test, twheel_periodic_shutdown_sync(&b.periodic), 0);
	KUNIT_EXPECT_EQ(test, twheel_periodic_start(&b.periodic, MS,
						    TWHEEL_FIXED_RATE),
			-ESHUTDOWN);
	KUNIT_EXPECT_EQ(test, twheel_periodic_start_at(&b.periodic, 0, MS,
						       TWHEEL_FIXED_DELAY),
			-ESHUTDOWN);
	KUNIT_EXPECT_EQ(test, twheel_periodic_stop(&b.periodic), 0);
	run_until(wheel, DAY);
	KUNIT_EXPECT_EQ(test, b.calls, 0);
	twheel_periodic_init(&b.periodic, wheel, beat);
	KUNIT_EXPECT_EQ(test, twheel_periodic_start(&b.periodic, MS,
						    TWHEEL_FIXED_RATE), 0);
	twheel_periodic_stop(&b.periodic);
}

static struct twheel_timer *handed_back;

static void take_back(struct twheel_timer *timer, void *arg)
{
	handed_back = timer;
}

static void periodic_on_stopped_wheel(struct kunit *test)
{
	struct twheel *wheel = test->priv;
	static struct beat b;

	init_beat(&b, wheel);
	twheel_periodic_start(&b.periodic, MS, TWHEEL_FIXED_RATE);
	run_until(wheel, 2 * MS);
	KUNIT_EXPECT_EQ(test, twheel_stop(wheel, take_back, NULL), 1);
	KUNIT_EXPECT_PTR_EQ(test, handed_back, &b.periodic.series.timer);
	KUNIT_EXPECT_EQ(test, twheel_periodic_start(&b.periodic, MS,
						    TWHEEL_FIXED_RATE),
			-ESHUTDOWN);
	KUNIT_EXPECT_EQ(test, twheel_periodic_stop_sync(&b.periodic), 0);
	KUNIT_EXPECT_EQ(test, b.calls, 2);
}

static struct probe intruder;

static int act_intrude(struct twheel_periodic *periodic)
{
	return twheel_arm(&intruder.timer, DAY);
}

/* A wheel for one timer at a time. */
static struct twheel *narrow_wheel(struct kunit *test)
{
	const struct twheel_config config = {
		.clock = TWHEEL_CLOCK_VIRTUAL, .tick_ns = MS, .max_pending = 1,
	};
	struct twheel *wheel = make_wheel(test, &config);

	init_probe(&intruder, wheel, note);
	return wheel;
}

static void periodic_without_room(struct kunit *test)
{
	struct twheel *wheel = narrow_wheel(test);
	static struct beat b;

	init_beat(&b, wheel);
	b.act = act_intrude;
	KUNIT_EXPECT_EQ(test, twheel_periodic_start(&b.periodic, MS,
						    TWHEEL_FIXED_RATE), 0);
	run_until(wheel, MS);
	KUNIT_EXPECT_EQ(test, twheel_periodic_error(&b.periodic), 0);
	run_until(wheel, 5 * MS);
	KUNIT_EXPECT_EQ(test, b.result, 0);
	KUNIT_EXPECT_EQ(test, b.calls, 2);
	KUNIT_EXPECT_EQ(test, twheel_periodic_error(&b.periodic), -ENOSPC);
	KUNIT_EXPECT_EQ(test, twheel_periodic_start(&b.periodic, MS,
						    TWHEEL_FIXED_RATE),
			-ENOSPC);
	twheel_cancel(&intruder.timer);
	KUNIT_EXPECT_EQ(test, twheel_periodic_start(&b.periodic, MS,
						    TWHEEL_FIXED_RATE), 0);
	KUNIT_EXPECT_EQ(test, twheel_periodic_error(&b.periodic), 0);
	twheel_destroy(wheel);
}

static void periodic_saturates(struct kunit *test)
{
	u64 start = div64_u64(TWHEEL_NEVER, MS) * MS - 10 * MS;
	enum twheel_pace pace;
	static struct beat b;

	for (pace = TWHEEL_FIXED_RATE; pace <= TWHEEL_FIXED_DELAY; pace++) {
		struct twheel *wheel = new_wheel(test, MS, start);

		init_beat(&b, wheel);
		twheel_periodic_start(&b.periodic, 4 * MS, pace);
		twheel_advance(wheel, start + 5 * MS);
		KUNIT_EXPECT_EQ(test, b.calls, 1);
		twheel_advance(wheel, start + 9 * MS);
		KUNIT_EXPECT_EQ(test, b.calls, 2);
		KUNIT_EXPECT_EQ(test, next_of(&b), TWHEEL_NEVER);
		twheel_periodic_start(&b.periodic, TWHEEL_SPAN_MAX, pace);
		KUNIT_EXPECT_EQ(test, next_of(&b), TWHEEL_NEVER);
		twheel_periodic_start_at(&b.periodic, ~(u64)0, MS, pace);
		KUNIT_EXPECT_EQ(test, next_of(&b), TWHEEL_NEVER);
		KUNIT_EXPECT_EQ(test, twheel_periodic_stop(&b.periodic), 1);
		twheel_destroy(wheel);
	}
}

/*
 * A retry that keeps its own books.
 *
 * @success: the attempt that succeeds; 0: none does
 * @act: what the second attempt does before it answers
 */
struct trial {
	struct twheel_retry retry;
	unsigned int attempts;
	unsigned int success;
	unsigned int given_up;
	u64 tried_at;
	u64 given_up_at;
	int error;
	int (*act)(struct twheel_retry *retry);
	int result;
};

static enum twheel_next attempt(struct twheel_retry *retry)
{
	struct trial *t = container_of(retry, struct trial, retry);

	t->attempts++;
	t->tried_at = twheel_now(twheel_of(&retry->series.timer));
	if (t->act && t->attempts == 2)
		t->result = t->act(retry);
	return t->attempts == t->success ? TWHEEL_DONE : TWHEEL_AGAIN;
}

static void give_up(struct twheel_retry *retry, int error)
{
	struct trial *t = container_of(retry, struct trial, retry);

	t->given_up++;
	t->given_up_at = twheel_now(twheel_of(&retry->series.timer));
	t->error = error;
}

static void init_trial(struct trial *t, struct twheel *wheel)
{
	memset(t, 0, sizeof(*t));
	twheel_retry_init(&t->retry, wheel, attempt, give_up);
}

static bool waits(const struct trial *t)
{
	return twheel_pending(&t->retry.series.timer);
}

/* From the last attempt to the next. */
static u64 wait_of(const struct trial *t)
{
	return twheel_deadline(&t->retry.series.timer) - t->tried_at;
}

static void retry_doubles(struct kunit *test)
{
	static const u64 at[] = { 3, 13, 33, 73, 118, 163 };
	const struct twheel_backoff backoff = {
		.attempts = 6, .first_ns = 10 * MS, .ceiling_ns = 45 * MS,
	};
	struct twheel *wheel = test->priv;
	static struct trial t;
	unsigned int i;

	twheel_advance(wheel, 3 * MS);
	init_trial(&t, wheel);
	KUNIT_EXPECT_EQ(test, twheel_retry_start(&t.retry, &backoff), 0);
	KUNIT_EXPECT_EQ_MSG(test, t.attempts, 0, "called from within start");
	KUNIT_EXPECT_EQ(test, twheel_retry_attempts(&t.retry), 0);
	for (i = 0; i < ARRAY_SIZE(at); i++) {
		run_until(wheel, at[i] * MS - !!i);
		KUNIT_EXPECT_EQ(test, t.attempts, i + !i);
		KUNIT_EXPECT_EQ(test, t.given_up, 0);
		run_until(wheel, at[i] * MS);
		KUNIT_EXPECT_EQ(test, t.attempts, i + 1);
		KUNIT_EXPECT_EQ(test, twheel_retry_attempts(&t.retry), i + 1);
		KUNIT_EXPECT_EQ(test, t.tried_at, at[i] * MS);
	}
	/* The last one has failed: at once, and once. */
	KUNIT_EXPECT_EQ(test, t.given_up, 1);
	KUNIT_EXPECT_EQ(test, t.error, -ETIMEDOUT);
	KUNIT_EXPECT_EQ(test, pending(wheel), 0);
	KUNIT_EXPECT_EQ(test, twheel_retry_cancel(&t.retry), 0);
	run_until(wheel, DAY);
	KUNIT_EXPECT_EQ(test, t.attempts, 6);
	KUNIT_EXPECT_EQ(test, t.given_up, 1);
}

static void retry_ends_exactly(struct kunit *test)
{
	struct twheel_backoff backoff = { .first_ns = MS };
	struct twheel *wheel = test->priv;
	static struct trial t;
	unsigned int success, end;

	for (backoff.attempts = 1; backoff.attempts <= 5; backoff.attempts++) {
		for (success = 0; success <= 6; success++) {
			bool succeeds = success && success <= backoff.attempts;

			init_trial(&t, wheel);
			t.success = success;
			twheel_retry_start(&t.retry, &backoff);
			run_until(wheel, twheel_now(wheel) + 100 * MS);
			end = succeeds ? success : backoff.attempts;
			KUNIT_EXPECT_EQ(test, t.attempts, end);
			KUNIT_EXPECT_EQ(test, t.given_up, !succeeds);
			KUNIT_EXPECT_FALSE(test, waits(&t));
		}
	}
}

static void retry_has_grace(struct kunit *test)
{
	const struct twheel_backoff backoff = {
		.attempts = 2, .jitter = 100, .first_ns = MS, .ceiling_ns = MS,
		.grace_ns = 500 * MS,
	};
	struct twheel *wheel = test->priv;
	static struct trial t;

	init_trial(&t, wheel);
	twheel_retry_start(&t.retry, &backoff);
	run_until(wheel, 499 * MS);
	KUNIT_EXPECT_EQ(test, t.attempts, 2);
	KUNIT_EXPECT_EQ(test, t.given_up, 0);
	run_until(wheel, DAY);
	KUNIT_EXPECT_EQ(test, t.attempts, 2);
	KUNIT_EXPECT_EQ(test, t.given_up, 1);
	KUNIT_EXPECT_EQ(test, t.error, -ETIMEDOUT);
	KUNIT_EXPECT_EQ(test, t.given_up_at, t.tried_at + 500 * MS);
	KUNIT_EXPECT_EQ(test, twheel_retry_attempts(&t.retry), 2);

	/* Its success is learnt of in time. */
	init_trial(&t, wheel);
	twheel_retry_start(&t.retry, &backoff);
	run_until(wheel, DAY + 400 * MS);
	KUNIT_EXPECT_EQ(test, t.attempts, 2);
	KUNIT_EXPECT_EQ(test, twheel_retry_cancel(&t.retry), 1);
	run_until(wheel, 2 * DAY);
	KUNIT_EXPECT_EQ(test, t.given_up, 0);
}

static void jitter(struct kunit *test, struct twheel *wheel, u64 delay,
		   unsigned int percent)
{
	const struct twheel_backoff backoff = {
		.attempts = 3, .jitter = percent, .first_ns = delay,
	};
	u64 least = delay - div_u64(delay, 100) * percent;
	u64 tenth = div_u64(delay - least, 10);
	u64 lowest = delay, highest = 0;
	static struct trial t;
	unsigned int i;

	init_trial(&t, wheel);
	for (i = 0; i < 400; i++) {
		twheel_retry_start(&t.retry, &backoff);
		run_until(wheel, twheel_now(wheel));
		lowest = min(lowest, wait_of(&t));
		highest = max(highest, wait_of(&t));
		twheel_retry_cancel(&t.retry);
		t.attempts = 0;
	}
	KUNIT_EXPECT_GE(test, lowest, least);
	KUNIT_EXPECT_LE(test, highest, delay);
	/* Even: 400 throws do not all miss a tenth at either end. */
	KUNIT_EXPECT_LE(test, lowest, least + tenth);
	KUNIT_EXPECT_GE(test, highest, delay - tenth);
}

static void retry_jitters(struct kunit *test)
{
	static const unsigned int percents[] = { 0, 1, 25, 50, 100 };
	struct twheel *wheel = test->priv;
	unsigned int i;

	/* Delays of whole hundreds, or the bounds would be rounded. */
	for (i = 0; i < ARRAY_SIZE(percents); i++) {
		jitter(test, wheel, DAY, percents[i]);
		jitter(test, wheel, 500 * MS, percents[i]);
		jitter(test, wheel, TWHEEL_SPAN_MAX / 100 * 100, percents[i]);
	}
}

static void jitter_leaves_the_backoff(struct kunit *test)
{
	const struct twheel_backoff backoff = {
		.attempts = 8, .jitter = 40, .first_ns = 100 * MS,
		.ceiling_ns = 1000 * MS,
	};
	struct twheel *wheel = test->priv;
	unsigned int round, i;
	static struct trial t;

	for (round = 0; round < 50; round++) {
		u64 delay = 100 * MS;

		init_trial(&t, wheel);
		twheel_retry_start(&t.retry, &backoff);
		run_until(wheel, twheel_now(wheel) + MS);
		for (i = 1; i < 8; i++) {
			u64 wait = wait_of(&t);

			/* A short delay does not shorten those after it. */
			KUNIT_ASSERT_LE(test, wait, delay);
			KUNIT_ASSERT_GE(test, wait, delay / 10 * 6);
			run_until(wheel, t.tried_at + wait + MS);
			KUNIT_ASSERT_EQ(test, t.attempts, i + 1);
			delay = min(2 * delay, 1000 * MS);
		}
		KUNIT_ASSERT_EQ(test, t.given_up, 1);
	}
}

static void retry_refuses(struct kunit *test)
{
	static const struct {
		struct twheel_backoff backoff;
		int ret;
	} cases[] = {
		/* attempts, jitter, first, ceiling, grace */
		{ { 0, 10, MS, MS, MS }, -EINVAL },
		{ { 1, 101, MS, MS, MS }, -EINVAL },
		{ { 1, ~0U, MS, MS, MS }, -EINVAL },
		{ { 1, 10, 0, MS, MS }, -EINVAL },
		{ { 1, 10, TWHEEL_SPAN_MAX + 1, 0, MS }, -EINVAL },
		{ { 1, 10, ~(u64)0, ~(u64)0, MS }, -EINVAL },
		{ { 1, 10, MS, MS - 1, MS }, -EINVAL },
		{ { 1, 10, MS, TWHEEL_SPAN_MAX + 1, MS }, -EINVAL },
		{ { 1, 10, MS, MS, TWHEEL_SPAN_MAX + 1 }, -EINVAL },
		{ { 1, 10, MS, MS, MS }, 1 },
		{ { 1, 0, 1, 0, 0 }, 1 },
		{ { ~0U, 100, TWHEEL_SPAN_MAX, TWHEEL_SPAN_MAX,
		    TWHEEL_SPAN_MAX }, 1 },
	};
	const struct twheel_backoff slow = { .attempts = 5, .first_ns = DAY };
	struct twheel *wheel = test->priv;
	static struct trial t;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		init_trial(&t, wheel);
		twheel_retry_start(&t.retry, &slow);
		run_until(wheel, 0);
		KUNIT_EXPECT_EQ_MSG(test, cases[i].ret,
				    twheel_retry_start(&t.retry,
						       &cases[i].backoff),
				    "case %u", i);
		if (cases[i].ret < 0)
			KUNIT_EXPECT_EQ_MSG(test, wait_of(&t), DAY,
					    "the refused call has moved it");
		KUNIT_EXPECT_EQ(test, twheel_retry_attempts(&t.retry),
				cases[i].ret < 0);
		twheel_retry_cancel(&t.retry);
	}
}

static void retry_saturates(struct kunit *test)
{
	struct twheel_backoff backoff = {
		.attempts = ~0U, .first_ns = TWHEEL_SPAN_MAX / 2 + 1,
	};
	struct twheel *wheel = test->priv;
	static struct trial t;

	init_trial(&t, wheel);
	twheel_retry_start(&t.retry, &backoff);
	run_until(wheel, 0);
	KUNIT_EXPECT_EQ(test, wait_of(&t), TWHEEL_SPAN_MAX / 2 + 1);
	twheel_advance(wheel, TWHEEL_SPAN_MAX / 2 + 2 * MS);
	KUNIT_EXPECT_EQ(test, t.attempts, 2);
	KUNIT_EXPECT_EQ(test, wait_of(&t), TWHEEL_SPAN_MAX);
	/* Now beyond half of all time: the next deadline is too far. */
	twheel_advance(wheel, TWHEEL_SPAN_MAX / 2 * 3 + 10 * MS);
	KUNIT_EXPECT_EQ(test, t.attempts, 3);
	KUNIT_EXPECT_EQ(test, twheel_deadline(&t.retry.series.timer),
			TWHEEL_NEVER);
	KUNIT_EXPECT_EQ(test, twheel_retry_cancel(&t.retry), 1);
}

static int act_cancel(struct twheel_retry *retry)
{
	return twheel_retry_cancel(retry);
}

static int act_cancel_sync(struct twheel_retry *retry)
{
	return twheel_retry_cancel_sync(retry);
}

static int act_try_anew(struct twheel_retry *retry)
{
	const struct twheel_backoff backoff = {
		.attempts = 4, .first_ns = 7 * MS,
	};

	return twheel_retry_start(retry, &backoff);
}

static int act_fill(struct twheel_retry *retry)
{
	return twheel_arm(&intruder.timer, DAY);
}

/* The second attempt, at 10 ms, acts; then it fails. */
static void act_amidst_attempt(struct kunit *test, struct trial *t,
			       struct twheel *wheel, unsigned int attempts,
			       int (*act)(struct twheel_retry *retry))
{
	const struct twheel_backoff backoff = {
		.attempts = attempts, .first_ns = 10 * MS,
	};
	u64 start = twheel_now(wheel);

	init_trial(t, wheel);
	t->act = act;
	KUNIT_EXPECT_EQ(test, twheel_retry_start(&t->retry, &backoff), 0);
	run_until(wheel, start + 10 * MS);
	/* One that starts anew does so at once. */
	KUNIT_EXPECT_EQ(test, t->attempts, act == act_try_anew ? 3 : 2);
}

static void retry_is_cancelled(struct kunit *test)
{
	const struct twheel_backoff backoff = { .attempts = 3, .first_ns = MS };
	struct twheel *wheel = test->priv;
	unsigned int attempts;
	static struct trial t;

	init_trial(&t, wheel);
	KUNIT_EXPECT_EQ(test, twheel_retry_cancel(&t.retry), 0);
	twheel_retry_start(&t.retry, &backoff);
	KUNIT_EXPECT_EQ(test, twheel_retry_cancel(&t.retry), 1);
	KUNIT_EXPECT_EQ(test, twheel_retry_cancel(&t.retry), 0);
	twheel_retry_start(&t.retry, &backoff);
	run_until(wheel, MS);
	KUNIT_EXPECT_EQ(test, t.attempts, 2);
	KUNIT_EXPECT_EQ(test, twheel_retry_cancel_sync(&t.retry), 1);
	KUNIT_EXPECT_EQ(test, twheel_retry_cancel_sync(&t.retry), 0);
	run_until(wheel, 100 * MS);
	KUNIT_EXPECT_EQ(test, t.attempts, 2);
	KUNIT_EXPECT_EQ(test, t.given_up, 0);

	/* From an attempt, the last one too: no other, and nobody gives up. */
	for (attempts = 2; attempts <= 3; attempts++) {
		act_amidst_attempt(test, &t, wheel, attempts, act_cancel);
		KUNIT_EXPECT_EQ(test, t.result, 0);
		KUNIT_EXPECT_FALSE(test, waits(&t));
		KUNIT_EXPECT_EQ(test, t.given_up, 0);
		act_amidst_attempt(test, &t, wheel, attempts, act_cancel_sync);
		KUNIT_EXPECT_EQ(test, t.result, -EDEADLK);
		KUNIT_EXPECT_FALSE(test, waits(&t));
		KUNIT_EXPECT_EQ(test, t.given_up, 0);
	}
}

static void retry_starts_anew(struct kunit *test)
{
	struct twheel *wheel = test->priv;
	unsigned int attempts;
	static struct trial t;

	for (attempts = 2; attempts <= 3; attempts++) {
		act_amidst_attempt(test, &t, wheel, attempts, act_try_anew);
		KUNIT_EXPECT_EQ(test, t.result, 0);
		KUNIT_EXPECT_EQ(test, t.given_up, 0);
		/* Four more, at once and after 7, 14, 28 ms. */
		KUNIT_EXPECT_EQ(test, act_try_anew(&t.retry), 1);
		run_until(wheel, twheel_now(wheel) + 48 * MS);
		KUNIT_EXPECT_EQ(test, t.attempts, 6);
		run_until(wheel, twheel_now(wheel) + MS);
		KUNIT_EXPECT_EQ(test, t.attempts, 7);
		KUNIT_EXPECT_EQ(test, t.given_up, 1);
	}
}

static void try_anew_once(struct twheel_retry *retry, int error)
{
	struct trial *t = container_of(retry, struct trial, retry);

	give_up(retry, error);
	if (t->given_up == 1)
		t->result = act_try_anew(retry);
}

static void giving_up_starts_anew(struct kunit *test)
{
	struct twheel_backoff backoff = { .attempts = 2, .first_ns = MS };
	struct twheel *wheel = test->priv;
	static struct trial t;

	for (backoff.grace_ns = 0; backoff.grace_ns <= MS;
	     backoff.grace_ns += MS) {
		init_trial(&t, wheel);
		twheel_retry_init(&t.retry, wheel, attempt, try_anew_once);
		twheel_retry_start(&t.retry, &backoff);
		run_until(wheel, twheel_now(wheel) + 100 * MS);
		KUNIT_EXPECT_EQ(test, t.result, 0);
		KUNIT_EXPECT_EQ(test, t.attempts, 6);
		KUNIT_EXPECT_EQ(test, t.given_up, 2);
	}
}

static enum twheel_next attempt_and_free(struct twheel_retry *retry)
{
	struct trial *t = container_of(retry, struct trial, retry);

	if (++t->attempts != t->success)
		return TWHEEL_AGAIN;
	frees++;
	kfree(t);
	return TWHEEL_DONE;
}

static void give_up_and_free(struct twheel_retry *retry, int error)
{
	frees++;
	kfree(container_of(retry, struct trial, retry));
}

static void callback_frees_its_retry(struct kunit *test)
{
	struct twheel_backoff backoff = { .attempts = 3, .first_ns = MS };
	struct twheel *wheel = test->priv;
	unsigned int i;

	frees = 0;
	for (i = 0; i < 60; i++) {
		struct trial *t = kmalloc(sizeof(*t), GFP_KERNEL);

		KUNIT_ASSERT_NOT_NULL(test, t);
		init_trial(t, wheel);
		t->success = i % 5;
		backoff.grace_ns = i % 2 * MS;
		twheel_retry_init(&t->retry, wheel, attempt_and_free,
				  give_up_and_free);
		twheel_retry_start(&t->retry, &backoff);
	}
	run_until(wheel, 50 * MS);
	KUNIT_EXPECT_EQ(test, frees, 60);
	KUNIT_EXPECT_EQ(test, pending(wheel), 0);
}

static void retry_without_giving_up(struct kunit *test)
{
	struct twheel_backoff backoff = { .attempts = 2, .first_ns = MS };
	struct twheel *wheel = test->priv;
	static struct trial t;

	for (backoff.grace_ns = 0; backoff.grace_ns <= MS;
	     backoff.grace_ns += MS) {
		init_trial(&t, wheel);
		twheel_retry_init(&t.retry, wheel, attempt, NULL);
		twheel_retry_start(&t.retry, &backoff);
		run_until(wheel, twheel_now(wheel) + 10 * MS);
		KUNIT_EXPECT_EQ(test, t.attempts, 2);
		KUNIT_EXPECT_FALSE(test, waits(&t));
	}
}

static void retry_without_room(struct kunit *test)
{
	struct twheel *wheel = narrow_wheel(test);
	static struct trial t;

	act_amidst_attempt(test, &t, wheel, 9, act_fill);
	KUNIT_EXPECT_EQ(test, t.result, 0);
	KUNIT_EXPECT_EQ(test, t.given_up, 1);
	KUNIT_EXPECT_EQ(test, t.error, -ENOSPC);
	KUNIT_EXPECT_EQ(test, act_try_anew(&t.retry), -ENOSPC);
	KUNIT_EXPECT_EQ(test, twheel_stop(wheel, NULL, NULL), 1);
	KUNIT_EXPECT_EQ(test, act_try_anew(&t.retry), -ESHUTDOWN);
	KUNIT_EXPECT_EQ(test, twheel_retry_cancel_sync(&t.retry), 0);
	KUNIT_EXPECT_EQ(test, t.attempts, 2);
	twheel_destroy(wheel);
}

/* A watch that keeps its own books. */
struct guard {
	struct twheel_idle idle;
	unsigned int calls;
	u64 called_at;
	int (*act)(struct twheel_idle *idle);
	int result;
};

static void report(struct twheel_idle *idle)
{
	struct guard *g = container_of(idle, struct guard, idle);

	g->calls++;
	g->called_at = twheel_now(twheel_of(&idle->timer));
	if (g->act)
		g->result = g->act(idle);
}

static void init_guard(struct guard *g, struct twheel *wheel)
{
	memset(g, 0, sizeof(*g));
	twheel_idle_init(&g->idle, wheel, report);
}

static void idle_reports_silence(struct kunit *test)
{
	struct twheel *wheel = test->priv;
	static struct guard quiet, lively;
	unsigned int i;

	init_guard(&quiet, wheel);
	init_guard(&lively, wheel);
	KUNIT_EXPECT_EQ(test, twheel_idle_touch(&quiet.idle), -ENOENT);
	KUNIT_EXPECT_EQ(test, twheel_idle_start(&quiet.idle, 10 * MS), 0);
	KUNIT_EXPECT_EQ(test, twheel_idle_start(&lively.idle, 10 * MS), 0);
	KUNIT_EXPECT_EQ(test, twheel_idle_touch(&lively.idle), 0);
	for (i = 1; i <= 100; i++) {
		run_until(wheel, i * 9 * MS);
		KUNIT_ASSERT_EQ(test, twheel_idle_touch(&lively.idle), 1);
		KUNIT_ASSERT_EQ(test, twheel_idle_touch(&lively.idle), 0);
	}
	KUNIT_EXPECT_EQ(test, quiet.calls, 1);
	KUNIT_EXPECT_EQ(test, quiet.called_at, 10 * MS);
	KUNIT_EXPECT_EQ(test, lively.calls, 0);
	KUNIT_EXPECT_EQ(test, twheel_idle_touch(&quiet.idle), -ENOENT);

	run_until(wheel, DAY);
	KUNIT_EXPECT_EQ(test, quiet.calls, 1);
	KUNIT_EXPECT_EQ(test, lively.calls, 1);
	KUNIT_EXPECT_EQ(test, lively.called_at, 910 * MS);
	KUNIT_EXPECT_EQ(test, twheel_idle_touch(&lively.idle), -ENOENT);
}

static void idle_changes_its_timeout(struct kunit *test)
{
	struct twheel *wheel = test->priv;
	static struct guard g;

	init_guard(&g, wheel);
	KUNIT_EXPECT_EQ(test, twheel_idle_set_timeout(&g.idle, MS), 0);
	KUNIT_EXPECT_EQ_MSG(test, pending(wheel), 0, "that has started it");

	/* Shorter, from now: and so for touches to come. */
	KUNIT_EXPECT_EQ(test, twheel_idle_start(&g.idle, 100 * MS), 0);
	run_until(wheel, 10 * MS);
	KUNIT_EXPECT_EQ(test, twheel_idle_set_timeout(&g.idle, 20 * MS), 1);
	KUNIT_EXPECT_EQ(test, twheel_deadline(&g.idle.timer), 30 * MS);
	run_until(wheel, 15 * MS);
	KUNIT_EXPECT_EQ(test, twheel_idle_touch(&g.idle), 1);
	KUNIT_EXPECT_EQ(test, twheel_deadline(&g.idle.timer), 35 * MS);

	/* Longer. */
	KUNIT_EXPECT_EQ(test, twheel_idle_set_timeout(&g.idle, 200 * MS), 1);
	KUNIT_EXPECT_EQ(test, twheel_deadline(&g.idle.timer), 215 * MS);
	run_until(wheel, 50 * MS);
	KUNIT_EXPECT_EQ(test, twheel_idle_touch(&g.idle), 1);
	KUNIT_EXPECT_EQ(test, twheel_deadline(&g.idle.timer), 250 * MS);

	/* A second start is the same. */
	KUNIT_EXPECT_EQ(test, twheel_idle_start(&g.idle, 40 * MS), 1);
	run_until(wheel, 89 * MS);
	KUNIT_EXPECT_EQ(test, g.calls, 0);
	run_until(wheel, 90 * MS);
	KUNIT_EXPECT_EQ(test, g.calls, 1);
	KUNIT_EXPECT_EQ(test, twheel_idle_set_timeout(&g.idle, MS), 0);
	KUNIT_EXPECT_EQ(test, pending(wheel), 0);
}

static int act_watch_on(struct twheel_idle *idle)
{
	return twheel_idle_start(idle, 5 * MS);
}

static int act_idle_stop_sync(struct twheel_idle *idle)
{
	return twheel_idle_stop_sync(idle);
}

static int act_idle_free(struct twheel_idle *idle)
{
	frees++;
	kfree(container_of(idle, struct guard, idle));
	return 0;
}

static void just_free(struct twheel_idle *idle)
{
	act_idle_free(idle);
}

static void idle_callback_acts(struct kunit *test)
{
	struct twheel *wheel = test->priv;
	struct guard *gone;
	static struct guard g;

	init_guard(&g, wheel);
	g.act = act_watch_on;
	twheel_idle_start(&g.idle, 10 * MS);
	run_until(wheel, 22 * MS);
	KUNIT_EXPECT_EQ(test, g.calls, 3);
	KUNIT_EXPECT_EQ(test, g.result, 0);
	g.act = act_idle_stop_sync;
	run_until(wheel, 100 * MS);
	KUNIT_EXPECT_EQ(test, g.calls, 4);
	KUNIT_EXPECT_EQ(test, g.result, -EDEADLK);

	frees = 0;
	gone = kmalloc(sizeof(*gone), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, gone);
	init_guard(gone, wheel);
	twheel_idle_init(&gone->idle, wheel, just_free);
	twheel_idle_start(&gone->idle, MS);
	run_until(wheel, 200 * MS);
	KUNIT_EXPECT_EQ(test, frees, 1);
}

static void idle_stops(struct kunit *test)
{
	struct twheel *wheel = test->priv;
	static struct guard g;

	init_guard(&g, wheel);
	KUNIT_EXPECT_EQ(test, twheel_idle_stop(&g.idle), 0);
	twheel_idle_start(&g.idle, 10 * MS);
	KUNIT_EXPECT_EQ(test, twheel_idle_stop(&g.idle), 1);
	KUNIT_EXPECT_EQ(test, twheel_idle_stop(&g.idle), 0);
	KUNIT_EXPECT_EQ(test, twheel_idle_touch(&g.idle), -ENOENT);
	twheel_idle_start(&g.idle, 10 * MS);
	KUNIT_EXPECT_EQ(test, twheel_idle_stop_sync(&g.idle), 1);
	KUNIT_EXPECT_EQ(test, twheel_idle_stop_sync(&g.idle), 0);
	KUNIT_EXPECT_EQ(test, twheel_idle_touch(&g.idle), -ENOENT);
	run_until(wheel, DAY);
	KUNIT_EXPECT_EQ(test, g.calls, 0);

	twheel_idle_start(&g.idle, 10 * MS);
	KUNIT_EXPECT_EQ(test, twheel_stop(wheel, take_back, NULL), 1);
	KUNIT_EXPECT_PTR_EQ(test, handed_back, &g.idle.timer);
	KUNIT_EXPECT_EQ(test, twheel_idle_start(&g.idle, MS), -ESHUTDOWN);
	KUNIT_EXPECT_EQ(test, twheel_idle_touch(&g.idle), -ENOENT);
}

static void idle_refuses(struct kunit *test)
{
	static const struct {
		u64 timeout;
		int ret;
	} cases[] = {
		{ 0, -EINVAL }, { TWHEEL_SPAN_MAX + 1, -EINVAL },
		{ ~(u64)0, -EINVAL }, { 1, 1 }, { TWHEEL_SPAN_MAX, 1 },
	};
	struct twheel *wheel = test->priv;
	static struct guard g;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		init_guard(&g, wheel);
		twheel_idle_start(&g.idle, 10 * MS);
		KUNIT_EXPECT_EQ(test, twheel_idle_set_timeout(&g.idle,
							      cases[i].timeout),
				cases[i].ret);
		KUNIT_EXPECT_EQ(test, twheel_idle_start(&g.idle,
							cases[i].timeout),
				cases[i].ret);
		if (cases[i].ret < 0) {
			/* Neither the deadline nor the timeout has changed. */
			KUNIT_EXPECT_EQ(test, twheel_idle_touch(&g.idle), 0);
			KUNIT_EXPECT_EQ(test, twheel_deadline(&g.idle.timer),
					10 * MS);
		}
		twheel_idle_stop(&g.idle);
	}
}

static void idle_saturates(struct kunit *test)
{
	struct twheel *wheel = new_wheel(test, MS, TWHEEL_NEVER - 5 * MS);
	static struct guard g;

	init_guard(&g, wheel);
	KUNIT_EXPECT_EQ(test, twheel_idle_start(&g.idle, TWHEEL_SPAN_MAX), 0);
	KUNIT_EXPECT_EQ(test, twheel_deadline(&g.idle.timer), TWHEEL_NEVER);
	KUNIT_EXPECT_EQ(test, twheel_idle_set_timeout(&g.idle, MS), 1);
	KUNIT_EXPECT_EQ(test, twheel_idle_set_timeout(&g.idle, 6 * MS), 1);
	KUNIT_EXPECT_EQ(test, twheel_idle_touch(&g.idle), 0);
	KUNIT_EXPECT_EQ(test, twheel_deadline(&g.idle.timer), TWHEEL_NEVER);
	twheel_destroy(wheel);
}

/* On a real clock: time passes while a callback runs. */

struct slow {
	struct twheel_periodic periodic;
	struct completion done;
	u64 ended_at;
	u64 early;
	u64 missed;
	unsigned int calls;
};

static enum twheel_next slow_beat(struct twheel_periodic *periodic)
{
	struct twheel *wheel = twheel_of(&periodic->series.timer);
	struct slow *slow = container_of(periodic, struct slow, periodic);
	u64 now = twheel_now(wheel);

	slow->missed += twheel_periodic_overruns(periodic);
	if (slow->calls && now < slow->ended_at + 2 * MS)
		slow->early++;
	if (now < twheel_periodic_deadline(periodic))
		slow->early++;
	if (++slow->calls == 20) {
		complete(&slow->done);
		return TWHEEL_DONE;
	}
	mdelay(3);
	slow->ended_at = twheel_now(wheel);
	return TWHEEL_AGAIN;
}

static void delay_counts_from_the_end(struct kunit *test)
{
	const struct twheel_config config = { .tick_ns = 100 * US };
	struct twheel *wheel = make_wheel(test, &config);
	static struct slow slow;

	init_completion(&slow.done);
	twheel_periodic_init(&slow.periodic, wheel, slow_beat);
	twheel_periodic_start(&slow.periodic, 2 * MS, TWHEEL_FIXED_DELAY);
	KUNIT_EXPECT_NE(test, wait_for_completion_timeout(&slow.done, 60 * HZ),
			0UL);
	twheel_periodic_stop_sync(&slow.periodic);
	KUNIT_EXPECT_EQ(test, slow.calls, 20);
	KUNIT_EXPECT_EQ(test, slow.early, 0);
	KUNIT_EXPECT_EQ(test, slow.missed, 0);
	twheel_destroy(wheel);
}

static enum twheel_next slow_rate(struct twheel_periodic *periodic)
{
	struct slow *slow = container_of(periodic, struct slow, periodic);

	slow->missed += twheel_periodic_overruns(periodic);
	slow->ended_at = twheel_periodic_deadline(periodic);
	if (++slow->calls == 20) {
		complete(&slow->done);
		return TWHEEL_DONE;
	}
	mdelay(3);
	return TWHEEL_AGAIN;
}

static void slow_callback_overruns(struct kunit *test)
{
	const struct twheel_config config = { .tick_ns = 100 * US };
	struct twheel *wheel = make_wheel(test, &config);
	static struct slow slow;
	u64 first;

	/* A callback that takes three periods misses two, every time. */
	init_completion(&slow.done);
	twheel_periodic_init(&slow.periodic, wheel, slow_rate);
	first = twheel_now(wheel);
	twheel_periodic_start_at(&slow.periodic, first, MS, TWHEEL_FIXED_RATE);
	KUNIT_EXPECT_NE(test, wait_for_completion_timeout(&slow.done, 60 * HZ),
			0UL);
	twheel_periodic_stop_sync(&slow.periodic);
	KUNIT_EXPECT_GE(test, slow.missed, 19 * 2);
	KUNIT_EXPECT_EQ(test, slow.calls + slow.missed,
			div64_u64(slow.ended_at - first, MS) + 1);
	twheel_destroy(wheel);
}

/*
 * Two CPUs: on one, callbacks that always ask for another; on the other,
 * somebody who stops them.
 */

/* As many as this, unless the machine is slow. */
#define ROUNDS	1000
#define ENOUGH	(10 * HZ)

struct restless {
	struct twheel_periodic periodic;
	struct twheel_retry retry;
	unsigned int calls;
	bool gone;
	unsigned int *ghosts;
};

struct duel {
	struct twheel *wheel;
	struct restless *restless;
	unsigned int round;
	unsigned int started;
	bool stop;
	unsigned int ghosts;
};

static void count(struct restless *r)
{
	WRITE_ONCE(r->calls, r->calls + 1);
	if (READ_ONCE(r->gone))
		(*r->ghosts)++;
}

static enum twheel_next never_done(struct twheel_periodic *periodic)
{
	count(container_of(periodic, struct restless, periodic));
	return TWHEEL_AGAIN;
}

static enum twheel_next never_succeeds(struct twheel_retry *retry)
{
	count(container_of(retry, struct restless, retry));
	return TWHEEL_AGAIN;
}

static void count_give_up(struct twheel_retry *retry, int error)
{
	count(container_of(retry, struct restless, retry));
}

/* Starts them from its own CPU, and keeps it awake: the alarm stays there. */
static int provoke(void *data)
{
	const struct twheel_backoff backoff = {
		.attempts = ~0U, .jitter = 50, .first_ns = 10 * US,
		.ceiling_ns = 20 * US,
	};
	struct duel *duel = data;
	unsigned int seen = 0;

	while (!READ_ONCE(duel->stop)) {
		/* Pairs with the store in next_round(). */
		unsigned int round = smp_load_acquire(&duel->round);

		if (round != seen) {
			struct restless *r = duel->restless;

			seen = round;
			twheel_periodic_start(&r->periodic, 15 * US, round % 2);
			twheel_retry_start(&r->retry, &backoff);
			/* Pairs with the load in next_round(). */
			smp_store_release(&duel->started, round);
		}
		cpu_relax();
		cond_resched();
	}
	while (!kthread_should_stop())
		schedule_timeout_interruptible(1);
	return 0;
}

static struct restless *next_round(struct kunit *test, struct duel *duel,
				   u32 *seed)
{
	struct restless *r = kzalloc(sizeof(*r), GFP_KERNEL);
	unsigned int spins, calls = roll(seed) % 4 + 2;

	KUNIT_ASSERT_NOT_NULL(test, r);
	r->ghosts = &duel->ghosts;
	twheel_periodic_init(&r->periodic, duel->wheel, never_done);
	twheel_retry_init(&r->retry, duel->wheel, never_succeeds,
			  count_give_up);
	duel->restless = r;
	/* Pairs with the load in provoke(). */
	smp_store_release(&duel->round, duel->round + 1);
	/* Pairs with the store in provoke(). */
	while (smp_load_acquire(&duel->started) != duel->round ||
	       READ_ONCE(r->calls) < calls)
		cond_resched();
	for (spins = roll(seed) % 512; spins; spins--)
		cpu_relax();
	return r;
}

/* Stop without waiting, and start for much later: that is the deadline. */
static unsigned int put_off(struct restless *r, struct twheel *wheel)
{
	u64 later = twheel_now(wheel) + DAY;

	twheel_periodic_stop(&r->periodic);
	twheel_periodic_start_at(&r->periodic, later, 15 * US,
				 TWHEEL_FIXED_DELAY);
	udelay(300);
	return twheel_deadline(&r->periodic.series.timer) != later;
}

static void stop_beats_again(struct kunit *test)
{
	const struct twheel_config config = { .tick_ns = 5 * US };
	struct duel duel = { .wheel = make_wheel(test, &config) };
	unsigned int round, alive = 0, moved = 0;
	unsigned long end = jiffies + ENOUGH;
	struct task_struct *task;
	u32 seed = 20;

	task = kthread_create(provoke, &duel, "twheel/provoke");
	KUNIT_ASSERT_FALSE(test, IS_ERR(task));
	kthread_bind(task, cpumask_last(cpu_online_mask));
	set_cpus_allowed_ptr(current,
			     cpumask_of(cpumask_first(cpu_online_mask)));
	wake_up_process(task);

	for (round = 0; round < ROUNDS && time_before(jiffies, end); round++) {
		struct restless *r = next_round(test, &duel, &seed);

		if (round % 4 == 0)
			moved += put_off(r, duel.wheel);
		if (round % 4 == 1)
			twheel_periodic_shutdown_sync(&r->periodic);
		else
			twheel_periodic_stop_sync(&r->periodic);
		twheel_retry_cancel_sync(&r->retry);
		WRITE_ONCE(r->gone, true);
		if (round % 2)
			udelay(50);
		alive += twheel_pending(&r->periodic.series.timer) ||
			 twheel_pending(&r->retry.series.timer);
		/* KASAN sees who still touches it. */
		kfree(r);
	}
	kunit_info(test, "%u rounds\n", round);
	KUNIT_EXPECT_EQ_MSG(test, duel.ghosts, 0, "callbacks after a stop");
	KUNIT_EXPECT_EQ_MSG(test, alive, 0, "pending after a stop");
	KUNIT_EXPECT_EQ_MSG(test, moved, 0, "a start was overruled");
	WRITE_ONCE(duel.stop, true);
	kthread_stop(task);
	set_cpus_allowed_ptr(current, cpu_possible_mask);
	twheel_destroy(duel.wheel);
}

static struct kunit_case policy_cases[] = {
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
	KUNIT_CASE(retry_doubles),
	KUNIT_CASE(retry_ends_exactly),
	KUNIT_CASE(retry_has_grace),
	KUNIT_CASE(retry_jitters),
	KUNIT_CASE(jitter_leaves_the_backoff),
	KUNIT_CASE(retry_refuses),
	KUNIT_CASE(retry_saturates),
	KUNIT_CASE(retry_is_cancelled),
	KUNIT_CASE(retry_starts_anew),
	KUNIT_CASE(giving_up_starts_anew),
	KUNIT_CASE(callback_frees_its_retry),
	KUNIT_CASE(retry_without_giving_up),
	KUNIT_CASE(retry_without_room),
	KUNIT_CASE(idle_reports_silence),
	KUNIT_CASE(idle_changes_its_timeout),
	KUNIT_CASE(idle_callback_acts),
	KUNIT_CASE(idle_stops),
	KUNIT_CASE(idle_refuses),
	KUNIT_CASE(idle_saturates),
	KUNIT_CASE(delay_counts_from_the_end),
	KUNIT_CASE(slow_callback_overruns),
	KUNIT_CASE(stop_beats_again),
	{ }
};

struct kunit_suite twheel_policy_suite = {
	.name		= "twheel_policy",
	.init		= probe_test_init,
	.exit		= probe_test_exit,
	.test_cases	= policy_cases,
};
