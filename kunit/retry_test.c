// SPDX-License-Identifier: GPL-2.0-only
/*
 * Retries on a virtual clock, which makes every moment predictable.
 *
 * The objects under test are static: debug objects have to be told of timers on the
 * stack, and policies have no call for that.
 */
#include <linux/errno.h>
#include <linux/math64.h>
#include <linux/slab.h>

#include <linux/twheel_retry.h>
#include <linux/twheel_virtual.h>

#include "probe.h"

/*
 * A retry that counts its attempts.
 *
 * @success: the attempt that succeeds; 0: none does
 * @act: what the second attempt does before it returns
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

static enum twheel_next trial_attempt(struct twheel_retry *retry)
{
	struct trial *t = container_of(retry, struct trial, retry);

	t->attempts++;
	t->tried_at = twheel_now(twheel_of(&retry->series.timer));
	if (t->act && t->attempts == 2)
		t->result = t->act(retry);
	return t->attempts == t->success ? TWHEEL_DONE : TWHEEL_AGAIN;
}

static void trial_give_up(struct twheel_retry *retry, int error)
{
	struct trial *t = container_of(retry, struct trial, retry);

	t->given_up++;
	t->given_up_at = twheel_now(twheel_of(&retry->series.timer));
	t->error = error;
}

static void trial_init(struct trial *t, struct twheel *wheel)
{
	memset(t, 0, sizeof(*t));
	twheel_retry_init(&t->retry, wheel, trial_attempt, trial_give_up);
}

static bool trial_pending(const struct trial *t)
{
	return twheel_pending(&t->retry.series.timer);
}

/* From the last attempt to the next. */
static u64 trial_wait(const struct trial *t)
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
	trial_init(&t, wheel);
	KUNIT_EXPECT_EQ(test, twheel_retry_start(&t.retry, &backoff), 0);
	KUNIT_EXPECT_EQ_MSG(test, t.attempts, 0, "called from within start");
	KUNIT_EXPECT_EQ(test, twheel_retry_attempts(&t.retry), 0);
	for (i = 0; i < ARRAY_SIZE(at); i++) {
		wheel_run_until(wheel, at[i] * MS - !!i);
		KUNIT_EXPECT_EQ(test, t.attempts, i + !i);
		KUNIT_EXPECT_EQ(test, t.given_up, 0);
		wheel_run_until(wheel, at[i] * MS);
		KUNIT_EXPECT_EQ(test, t.attempts, i + 1);
		KUNIT_EXPECT_EQ(test, twheel_retry_attempts(&t.retry), i + 1);
		KUNIT_EXPECT_EQ(test, t.tried_at, at[i] * MS);
	}
	/* The last attempt has failed: it gives up at once, and once only. */
	KUNIT_EXPECT_EQ(test, t.given_up, 1);
	KUNIT_EXPECT_EQ(test, t.error, -ETIMEDOUT);
	KUNIT_EXPECT_EQ(test, pending_count(wheel), 0);
	KUNIT_EXPECT_EQ(test, twheel_retry_cancel(&t.retry), 0);
	wheel_run_until(wheel, DAY);
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

			trial_init(&t, wheel);
			t.success = success;
			twheel_retry_start(&t.retry, &backoff);
			wheel_run_until(wheel, twheel_now(wheel) + 100 * MS);
			end = succeeds ? success : backoff.attempts;
			KUNIT_EXPECT_EQ(test, t.attempts, end);
			KUNIT_EXPECT_EQ(test, t.given_up, !succeeds);
			KUNIT_EXPECT_FALSE(test, trial_pending(&t));
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

	trial_init(&t, wheel);
	twheel_retry_start(&t.retry, &backoff);
	wheel_run_until(wheel, 499 * MS);
	KUNIT_EXPECT_EQ(test, t.attempts, 2);
	KUNIT_EXPECT_EQ(test, t.given_up, 0);
	wheel_run_until(wheel, DAY);
	KUNIT_EXPECT_EQ(test, t.attempts, 2);
	KUNIT_EXPECT_EQ(test, t.given_up, 1);
	KUNIT_EXPECT_EQ(test, t.error, -ETIMEDOUT);
	KUNIT_EXPECT_EQ(test, t.given_up_at, t.tried_at + 500 * MS);
	KUNIT_EXPECT_EQ(test, twheel_retry_attempts(&t.retry), 2);

	/* Its success becomes known within the grace time. */
	trial_init(&t, wheel);
	twheel_retry_start(&t.retry, &backoff);
	wheel_run_until(wheel, DAY + 400 * MS);
	KUNIT_EXPECT_EQ(test, t.attempts, 2);
	KUNIT_EXPECT_EQ(test, twheel_retry_cancel(&t.retry), 1);
	wheel_run_until(wheel, 2 * DAY);
	KUNIT_EXPECT_EQ(test, t.given_up, 0);
}

static void trial_jitter(struct kunit *test, struct twheel *wheel, u64 delay,
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

	trial_init(&t, wheel);
	for (i = 0; i < 400; i++) {
		twheel_retry_start(&t.retry, &backoff);
		wheel_run_until(wheel, twheel_now(wheel));
		lowest = min(lowest, trial_wait(&t));
		highest = max(highest, trial_wait(&t));
		twheel_retry_cancel(&t.retry);
		t.attempts = 0;
	}
	KUNIT_EXPECT_GE(test, lowest, least);
	KUNIT_EXPECT_LE(test, highest, delay);
	/* The distribution is even: some of 400 delays are in the first and last tenth. */
	KUNIT_EXPECT_LE(test, lowest, least + tenth);
	KUNIT_EXPECT_GE(test, highest, delay - tenth);
}

static void retry_jitters(struct kunit *test)
{
	static const unsigned int percents[] = { 0, 1, 25, 50, 100 };
	struct twheel *wheel = test->priv;
	unsigned int i;

	/* Multiples of 100, so that the bounds need no rounding. */
	for (i = 0; i < ARRAY_SIZE(percents); i++) {
		trial_jitter(test, wheel, DAY, percents[i]);
		trial_jitter(test, wheel, 500 * MS, percents[i]);
		trial_jitter(test, wheel, TWHEEL_SPAN_MAX / 100 * 100, percents[i]);
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

		trial_init(&t, wheel);
		twheel_retry_start(&t.retry, &backoff);
		wheel_run_until(wheel, twheel_now(wheel) + MS);
		for (i = 1; i < 8; i++) {
			u64 wait = trial_wait(&t);

			/* A short delay does not shorten those after it. */
			KUNIT_ASSERT_LE(test, wait, delay);
			KUNIT_ASSERT_GE(test, wait, div_u64(delay, 10) * 6);
			wheel_run_until(wheel, t.tried_at + wait + MS);
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
		trial_init(&t, wheel);
		twheel_retry_start(&t.retry, &slow);
		wheel_run_until(wheel, 0);
		KUNIT_EXPECT_EQ_MSG(test, cases[i].ret,
				    twheel_retry_start(&t.retry,
						       &cases[i].backoff),
				    "case %u", i);
		if (cases[i].ret < 0)
			KUNIT_EXPECT_EQ_MSG(test, trial_wait(&t), DAY,
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

	trial_init(&t, wheel);
	twheel_retry_start(&t.retry, &backoff);
	wheel_run_until(wheel, 0);
	KUNIT_EXPECT_EQ(test, trial_wait(&t), TWHEEL_SPAN_MAX / 2 + 1);
	twheel_advance(wheel, TWHEEL_SPAN_MAX / 2 + 2 * MS);
	KUNIT_EXPECT_EQ(test, t.attempts, 2);
	KUNIT_EXPECT_EQ(test, trial_wait(&t), TWHEEL_SPAN_MAX);
	/* More than half of all time has passed, so the next deadline saturates. */
	twheel_advance(wheel, TWHEEL_SPAN_MAX / 2 * 3 + 10 * MS);
	KUNIT_EXPECT_EQ(test, t.attempts, 3);
	KUNIT_EXPECT_EQ(test, twheel_deadline(&t.retry.series.timer),
			TWHEEL_NEVER);
	KUNIT_EXPECT_EQ(test, twheel_retry_cancel(&t.retry), 1);
}

static int trial_restart(struct twheel_retry *retry)
{
	const struct twheel_backoff backoff = {
		.attempts = 4, .first_ns = 7 * MS,
	};

	return twheel_retry_start(retry, &backoff);
}

static struct probe trial_intruder;

static int trial_intrude(struct twheel_retry *retry)
{
	return twheel_arm(&trial_intruder.timer, DAY);
}

/* The second attempt, at 10 ms, does @act; then it fails. */
static void trial_act_midway(struct kunit *test, struct trial *t,
			     struct twheel *wheel, unsigned int attempts,
			     int (*act)(struct twheel_retry *retry))
{
	const struct twheel_backoff backoff = {
		.attempts = attempts, .first_ns = 10 * MS,
	};
	u64 start = twheel_now(wheel);

	trial_init(t, wheel);
	t->act = act;
	KUNIT_EXPECT_EQ(test, twheel_retry_start(&t->retry, &backoff), 0);
	wheel_run_until(wheel, start + 10 * MS);
	/* A restart makes its first attempt at once. */
	KUNIT_EXPECT_EQ(test, t->attempts, act == trial_restart ? 3 : 2);
}

static void retry_is_cancelled(struct kunit *test)
{
	const struct twheel_backoff backoff = { .attempts = 3, .first_ns = MS };
	struct twheel *wheel = test->priv;
	unsigned int attempts;
	static struct trial t;

	trial_init(&t, wheel);
	KUNIT_EXPECT_EQ(test, twheel_retry_cancel(&t.retry), 0);
	twheel_retry_start(&t.retry, &backoff);
	KUNIT_EXPECT_EQ(test, twheel_retry_cancel(&t.retry), 1);
	KUNIT_EXPECT_EQ(test, twheel_retry_cancel(&t.retry), 0);
	twheel_retry_start(&t.retry, &backoff);
	wheel_run_until(wheel, MS);
	KUNIT_EXPECT_EQ(test, t.attempts, 2);
	KUNIT_EXPECT_EQ(test, twheel_retry_cancel_sync(&t.retry), 1);
	KUNIT_EXPECT_EQ(test, twheel_retry_cancel_sync(&t.retry), 0);
	wheel_run_until(wheel, 100 * MS);
	KUNIT_EXPECT_EQ(test, t.attempts, 2);
	KUNIT_EXPECT_EQ(test, t.given_up, 0);

	/* Cancelled from an attempt, also from the last: no other comes, no giving up. */
	for (attempts = 2; attempts <= 3; attempts++) {
		trial_act_midway(test, &t, wheel, attempts, twheel_retry_cancel);
		KUNIT_EXPECT_EQ(test, t.result, 0);
		KUNIT_EXPECT_FALSE(test, trial_pending(&t));
		KUNIT_EXPECT_EQ(test, t.given_up, 0);
		trial_act_midway(test, &t, wheel, attempts, twheel_retry_cancel_sync);
		KUNIT_EXPECT_EQ(test, t.result, -EDEADLK);
		KUNIT_EXPECT_FALSE(test, trial_pending(&t));
		KUNIT_EXPECT_EQ(test, t.given_up, 0);
	}
}

static void retry_shutdown(struct kunit *test)
{
	struct twheel *wheel = test->priv;
	static struct trial t;

	trial_act_midway(test, &t, wheel, 9, twheel_retry_shutdown_sync);
	KUNIT_EXPECT_EQ(test, t.result, -EDEADLK);
	/* It has ended, but may be started again. */
	KUNIT_EXPECT_FALSE(test, trial_pending(&t));
	KUNIT_EXPECT_EQ(test, trial_restart(&t.retry), 0);
	KUNIT_EXPECT_EQ(test, twheel_retry_shutdown_sync(&t.retry), 1);
	KUNIT_EXPECT_EQ(test, twheel_retry_shutdown_sync(&t.retry), 0);
	KUNIT_EXPECT_EQ(test, trial_restart(&t.retry), -ESHUTDOWN);
	KUNIT_EXPECT_EQ(test, twheel_retry_cancel(&t.retry), 0);
	wheel_run_until(wheel, DAY);
	KUNIT_EXPECT_EQ(test, t.attempts, 2);
	KUNIT_EXPECT_EQ(test, t.given_up, 0);
	trial_init(&t, wheel);
	KUNIT_EXPECT_EQ(test, trial_restart(&t.retry), 0);
	KUNIT_EXPECT_EQ(test, twheel_retry_cancel(&t.retry), 1);
}

static void retry_starts_anew(struct kunit *test)
{
	struct twheel *wheel = test->priv;
	unsigned int attempts;
	static struct trial t;

	for (attempts = 2; attempts <= 3; attempts++) {
		trial_act_midway(test, &t, wheel, attempts, trial_restart);
		KUNIT_EXPECT_EQ(test, t.result, 0);
		KUNIT_EXPECT_EQ(test, t.given_up, 0);
		/* Four more attempts, at once and after 7, 14 and 28 ms. */
		KUNIT_EXPECT_EQ(test, trial_restart(&t.retry), 1);
		wheel_run_until(wheel, twheel_now(wheel) + 48 * MS);
		KUNIT_EXPECT_EQ(test, t.attempts, 6);
		wheel_run_until(wheel, twheel_now(wheel) + MS);
		KUNIT_EXPECT_EQ(test, t.attempts, 7);
		KUNIT_EXPECT_EQ(test, t.given_up, 1);
	}
}

static void trial_restart_once(struct twheel_retry *retry, int error)
{
	struct trial *t = container_of(retry, struct trial, retry);

	trial_give_up(retry, error);
	if (t->given_up == 1)
		t->result = trial_restart(retry);
}

static void giving_up_starts_anew(struct kunit *test)
{
	struct twheel_backoff backoff = { .attempts = 2, .first_ns = MS };
	struct twheel *wheel = test->priv;
	static struct trial t;

	for (backoff.grace_ns = 0; backoff.grace_ns <= MS;
	     backoff.grace_ns += MS) {
		trial_init(&t, wheel);
		twheel_retry_init(&t.retry, wheel, trial_attempt, trial_restart_once);
		twheel_retry_start(&t.retry, &backoff);
		wheel_run_until(wheel, twheel_now(wheel) + 100 * MS);
		KUNIT_EXPECT_EQ(test, t.result, 0);
		KUNIT_EXPECT_EQ(test, t.attempts, 6);
		KUNIT_EXPECT_EQ(test, t.given_up, 2);
	}
}

static unsigned int trial_frees;

static enum twheel_next trial_attempt_and_free(struct twheel_retry *retry)
{
	struct trial *t = container_of(retry, struct trial, retry);

	if (++t->attempts != t->success)
		return TWHEEL_AGAIN;
	trial_frees++;
	kfree(t);
	return TWHEEL_DONE;
}

static void trial_give_up_and_free(struct twheel_retry *retry, int error)
{
	trial_frees++;
	kfree(container_of(retry, struct trial, retry));
}

static void callback_frees_its_retry(struct kunit *test)
{
	struct twheel_backoff backoff = { .attempts = 3, .first_ns = MS };
	struct twheel *wheel = test->priv;
	unsigned int i;

	trial_frees = 0;
	for (i = 0; i < 60; i++) {
		struct trial *t = kmalloc(sizeof(*t), GFP_KERNEL);

		KUNIT_ASSERT_NOT_NULL(test, t);
		trial_init(t, wheel);
		t->success = i % 5;
		backoff.grace_ns = i % 2 * MS;
		twheel_retry_init(&t->retry, wheel, trial_attempt_and_free,
				  trial_give_up_and_free);
		twheel_retry_start(&t->retry, &backoff);
	}
	wheel_run_until(wheel, 50 * MS);
	KUNIT_EXPECT_EQ(test, trial_frees, 60);
	KUNIT_EXPECT_EQ(test, pending_count(wheel), 0);
}

static void retry_without_giving_up(struct kunit *test)
{
	struct twheel_backoff backoff = { .attempts = 2, .first_ns = MS };
	struct twheel *wheel = test->priv;
	static struct trial t;

	for (backoff.grace_ns = 0; backoff.grace_ns <= MS;
	     backoff.grace_ns += MS) {
		trial_init(&t, wheel);
		twheel_retry_init(&t.retry, wheel, trial_attempt, NULL);
		twheel_retry_start(&t.retry, &backoff);
		wheel_run_until(wheel, twheel_now(wheel) + 10 * MS);
		KUNIT_EXPECT_EQ(test, t.attempts, 2);
		KUNIT_EXPECT_FALSE(test, trial_pending(&t));
	}
}

static void retry_without_room(struct kunit *test)
{
	struct twheel *wheel = virtual_wheel_for_one(test, &trial_intruder);
	static struct trial t;

	trial_act_midway(test, &t, wheel, 9, trial_intrude);
	KUNIT_EXPECT_EQ(test, t.result, 0);
	KUNIT_EXPECT_EQ(test, t.given_up, 1);
	KUNIT_EXPECT_EQ(test, t.error, -ENOSPC);
	KUNIT_EXPECT_EQ(test, trial_restart(&t.retry), -ENOSPC);
	KUNIT_EXPECT_EQ(test, twheel_stop(wheel, NULL, NULL), 1);
	KUNIT_EXPECT_EQ(test, trial_restart(&t.retry), -ESHUTDOWN);
	KUNIT_EXPECT_EQ(test, twheel_retry_cancel_sync(&t.retry), 0);
	KUNIT_EXPECT_EQ(test, t.attempts, 2);
	twheel_destroy(wheel);
}

static struct kunit_case retry_cases[] = {
	KUNIT_CASE(retry_doubles),
	KUNIT_CASE(retry_ends_exactly),
	KUNIT_CASE(retry_has_grace),
	KUNIT_CASE(retry_jitters),
	KUNIT_CASE(jitter_leaves_the_backoff),
	KUNIT_CASE(retry_refuses),
	KUNIT_CASE(retry_saturates),
	KUNIT_CASE(retry_is_cancelled),
	KUNIT_CASE(retry_shutdown),
	KUNIT_CASE(retry_starts_anew),
	KUNIT_CASE(giving_up_starts_anew),
	KUNIT_CASE(callback_frees_its_retry),
	KUNIT_CASE(retry_without_giving_up),
	KUNIT_CASE(retry_without_room),
	{ }
};

struct kunit_suite twheel_retry_suite = {
	.name		= "twheel_retry",
	.init		= probe_test_init,
	.exit		= probe_test_exit,
	.test_cases	= retry_cases,
};
