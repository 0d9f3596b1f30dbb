// SPDX-License-Identifier: GPL-2.0-only
/*
 * Retries on a virtual clock, which makes every moment predictable.
 *
 * The object under test is static: debug objects have to be told of timers on the stack,
 * and policies have no call for that.
 */
#include <linux/errno.h>

#include <linux/twheel_retry.h>

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

/* The one under test. */
static struct trial trial;

static void trial_init(struct twheel *wheel, twheel_give_up_fn give_up)
{
	memset(&trial, 0, sizeof(trial));
	twheel_retry_init(&trial.retry, wheel, trial_attempt, give_up);
}

static bool trial_pending(void)
{
	return twheel_pending(&trial.retry.series.timer);
}

/* From the last attempt to the next. */
static u64 trial_wait(void)
{
	return twheel_deadline(&trial.retry.series.timer) - trial.tried_at;
}

static void retry_doubles(struct kunit *test)
{
	static const u64 at[] = { 3, 13, 33, 73, 118, 163 };
	const struct twheel_backoff backoff = {
		.attempts = 6, .first_ns = 10 * MS, .ceiling_ns = 45 * MS,
	};
	struct twheel *wheel = test->priv;
	unsigned int i;

	twheel_advance(wheel, 3 * MS);
	trial_init(wheel, trial_give_up);
	KUNIT_EXPECT_EQ(test, twheel_retry_start(&trial.retry, &backoff), 0);
	KUNIT_EXPECT_EQ_MSG(test, trial.attempts, 0, "called from within start");
	KUNIT_EXPECT_EQ(test, twheel_retry_attempts(&trial.retry), 0);
	for (i = 0; i < ARRAY_SIZE(at); i++) {
		wheel_run_until(wheel, at[i] * MS - !!i);
		KUNIT_EXPECT_EQ(test, trial.attempts, i + !i);
		KUNIT_EXPECT_EQ(test, trial.given_up, 0);
		wheel_run_until(wheel, at[i] * MS);
		KUNIT_EXPECT_EQ(test, trial.attempts, i + 1);
		KUNIT_EXPECT_EQ(test, twheel_retry_attempts(&trial.retry), i + 1);
		KUNIT_EXPECT_EQ(test, trial.tried_at, at[i] * MS);
	}
	/* The last attempt has failed: it gives up at once, and once only. */
	KUNIT_EXPECT_EQ(test, trial.given_up, 1);
	KUNIT_EXPECT_EQ(test, trial.error, -ETIMEDOUT);
	KUNIT_EXPECT_EQ(test, pending_count(wheel), 0);
	KUNIT_EXPECT_EQ(test, twheel_retry_cancel(&trial.retry), 0);
	wheel_run_until(wheel, DAY);
	KUNIT_EXPECT_EQ(test, trial.attempts, 6);
	KUNIT_EXPECT_EQ(test, trial.given_up, 1);
}

static void retry_ends_exactly(struct kunit *test)
{
	struct twheel_backoff backoff = { .first_ns = MS };
	struct twheel *wheel = test->priv;
	unsigned int success, end;

	for (backoff.attempts = 1; backoff.attempts <= 5; backoff.attempts++) {
		for (success = 0; success <= 6; success++) {
			bool succeeds = success && success <= backoff.attempts;

			trial_init(wheel, trial_give_up);
			trial.success = success;
			twheel_retry_start(&trial.retry, &backoff);
			wheel_run_until(wheel, twheel_now(wheel) + 100 * MS);
			end = succeeds ? success : backoff.attempts;
			KUNIT_EXPECT_EQ(test, trial.attempts, end);
			KUNIT_EXPECT_EQ(test, trial.given_up, !succeeds);
			KUNIT_EXPECT_FALSE(test, trial_pending());
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

	trial_init(wheel, trial_give_up);
	twheel_retry_start(&trial.retry, &backoff);
	wheel_run_until(wheel, 499 * MS);
	KUNIT_EXPECT_EQ(test, trial.attempts, 2);
	KUNIT_EXPECT_EQ(test, trial.given_up, 0);
	wheel_run_until(wheel, DAY);
	KUNIT_EXPECT_EQ(test, trial.attempts, 2);
	KUNIT_EXPECT_EQ(test, trial.given_up, 1);
	KUNIT_EXPECT_EQ(test, trial.error, -ETIMEDOUT);
	KUNIT_EXPECT_EQ(test, trial.given_up_at, trial.tried_at + 500 * MS);
	KUNIT_EXPECT_EQ(test, twheel_retry_attempts(&trial.retry), 2);

	/* Its success becomes known within the grace time. */
	trial_init(wheel, trial_give_up);
	twheel_retry_start(&trial.retry, &backoff);
	wheel_run_until(wheel, DAY + 400 * MS);
	KUNIT_EXPECT_EQ(test, trial.attempts, 2);
	KUNIT_EXPECT_EQ(test, twheel_retry_cancel(&trial.retry), 1);
	wheel_run_until(wheel, 2 * DAY);
	KUNIT_EXPECT_EQ(test, trial.given_up, 0);
}

static void trial_jitter(struct kunit *test, struct twheel *wheel, u64 delay, unsigned int percent)
{
	const struct twheel_backoff backoff = {
		.attempts = 3, .jitter = percent, .first_ns = delay,
	};
	u64 least = delay - div_u64(delay, 100) * percent;
	u64 tenth = div_u64(delay - least, 10);
	u64 lowest = delay, highest = 0;
	unsigned int i;

	trial_init(wheel, trial_give_up);
	for (i = 0; i < 400; i++) {
		twheel_retry_start(&trial.retry, &backoff);
		wheel_run_until(wheel, twheel_now(wheel));
		lowest = min(lowest, trial_wait());
		highest = max(highest, trial_wait());
		twheel_retry_cancel(&trial.retry);
		trial.attempts = 0;
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
		.attempts = 8, .jitter = 40, .first_ns = 100 * MS, .ceiling_ns = 1000 * MS,
	};
	struct twheel *wheel = test->priv;
	unsigned int round, i;

	for (round = 0; round < 50; round++) {
		u64 delay = 100 * MS;

		trial_init(wheel, trial_give_up);
		twheel_retry_start(&trial.retry, &backoff);
		wheel_run_until(wheel, twheel_now(wheel) + MS);
		for (i = 1; i < 8; i++) {
			u64 wait = trial_wait();

			/* A short delay does not shorten those after it. */
			KUNIT_ASSERT_LE(test, wait, delay);
			KUNIT_ASSERT_GE(test, wait, div_u64(delay, 10) * 6);
			wheel_run_until(wheel, trial.tried_at + wait + MS);
			KUNIT_ASSERT_EQ(test, trial.attempts, i + 1);
			delay = min(2 * delay, 1000 * MS);
		}
		KUNIT_ASSERT_EQ(test, trial.given_up, 1);
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
		{ { ~0U, 100, TWHEEL_SPAN_MAX, TWHEEL_SPAN_MAX, TWHEEL_SPAN_MAX }, 1 },
	};
	const struct twheel_backoff slow = { .attempts = 5, .first_ns = DAY };
	struct twheel *wheel = test->priv;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		trial_init(wheel, trial_give_up);
		twheel_retry_start(&trial.retry, &slow);
		wheel_run_until(wheel, 0);
		KUNIT_EXPECT_EQ_MSG(test, twheel_retry_start(&trial.retry, &cases[i].backoff),
				    cases[i].ret, "case %u", i);
		if (cases[i].ret < 0)
			KUNIT_EXPECT_EQ_MSG(test, trial_wait(), DAY, "the refusal has moved it");
		KUNIT_EXPECT_EQ(test, twheel_retry_attempts(&trial.retry), cases[i].ret < 0);
		twheel_retry_cancel(&trial.retry);
	}
	twheel_retry_init(&trial.retry, wheel, NULL, trial_give_up);
	KUNIT_EXPECT_EQ(test, twheel_retry_start(&trial.retry, &slow), -EINVAL);
}

static void retry_saturates(struct kunit *test)
{
	struct twheel_backoff backoff = { .attempts = ~0U, .first_ns = TWHEEL_SPAN_MAX / 2 + 1 };
	struct twheel *wheel = test->priv;

	trial_init(wheel, trial_give_up);
	twheel_retry_start(&trial.retry, &backoff);
	wheel_run_until(wheel, 0);
	KUNIT_EXPECT_EQ(test, trial_wait(), TWHEEL_SPAN_MAX / 2 + 1);
	twheel_advance(wheel, TWHEEL_SPAN_MAX / 2 + 2 * MS);
	KUNIT_EXPECT_EQ(test, trial.attempts, 2);
	KUNIT_EXPECT_EQ(test, trial_wait(), TWHEEL_SPAN_MAX);
	/* More than half of all time has passed, so the next deadline saturates. */
	twheel_advance(wheel, TWHEEL_SPAN_MAX / 2 * 3 + 10 * MS);
	KUNIT_EXPECT_EQ(test, trial.attempts, 3);
	KUNIT_EXPECT_EQ(test, twheel_deadline(&trial.retry.series.timer), TWHEEL_NEVER);
	KUNIT_EXPECT_EQ(test, twheel_retry_cancel(&trial.retry), 1);
}

static int trial_restart(struct twheel_retry *retry)
{
	const struct twheel_backoff backoff = { .attempts = 4, .first_ns = 7 * MS };

	return twheel_retry_start(retry, &backoff);
}

static struct probe trial_intruder;

static int trial_intrude(struct twheel_retry *retry)
{
	return twheel_arm(&trial_intruder.timer, DAY);
}

/* The second attempt, at 10 ms, does @act, which returns @result; then it fails. */
static void trial_act_midway(struct kunit *test, struct twheel *wheel, unsigned int attempts,
			     int (*act)(struct twheel_retry *retry), int result)
{
	const struct twheel_backoff backoff = { .attempts = attempts, .first_ns = 10 * MS };
	u64 start = twheel_now(wheel);

	trial_init(wheel, trial_give_up);
	trial.act = act;
	KUNIT_EXPECT_EQ(test, twheel_retry_start(&trial.retry, &backoff), 0);
	wheel_run_until(wheel, start + 10 * MS);
	/* A restart makes its first attempt at once. */
	KUNIT_EXPECT_EQ(test, trial.attempts, act == trial_restart ? 3 : 2);
	KUNIT_EXPECT_EQ(test, trial.result, result);
}

static void retry_is_cancelled(struct kunit *test)
{
	const struct twheel_backoff backoff = { .attempts = 3, .first_ns = MS };
	struct twheel *wheel = test->priv;
	unsigned int attempts;

	trial_init(wheel, trial_give_up);
	KUNIT_EXPECT_EQ(test, twheel_retry_cancel(&trial.retry), 0);
	twheel_retry_start(&trial.retry, &backoff);
	KUNIT_EXPECT_EQ(test, twheel_retry_cancel(&trial.retry), 1);
	KUNIT_EXPECT_EQ(test, twheel_retry_cancel(&trial.retry), 0);
	twheel_retry_start(&trial.retry, &backoff);
	wheel_run_until(wheel, MS);
	KUNIT_EXPECT_EQ(test, trial.attempts, 2);
	KUNIT_EXPECT_EQ(test, twheel_retry_cancel_sync(&trial.retry), 1);
	KUNIT_EXPECT_EQ(test, twheel_retry_cancel_sync(&trial.retry), 0);
	wheel_run_until(wheel, 100 * MS);
	KUNIT_EXPECT_EQ(test, trial.attempts, 2);
	KUNIT_EXPECT_EQ(test, trial.given_up, 0);

	/* Cancelled from an attempt, also from the last: no other comes, no giving up. */
	for (attempts = 2; attempts <= 3; attempts++) {
		trial_act_midway(test, wheel, attempts, twheel_retry_cancel, 0);
		KUNIT_EXPECT_FALSE(test, trial_pending());
		KUNIT_EXPECT_EQ(test, trial.given_up, 0);
		trial_act_midway(test, wheel, attempts, twheel_retry_cancel_sync, -EDEADLK);
		KUNIT_EXPECT_FALSE(test, trial_pending());
		KUNIT_EXPECT_EQ(test, trial.given_up, 0);
	}
}

static void retry_shutdown(struct kunit *test)
{
	struct twheel *wheel = test->priv;

	trial_act_midway(test, wheel, 9, twheel_retry_shutdown_sync, -EDEADLK);
	/* It has ended, but may be started again. */
	KUNIT_EXPECT_FALSE(test, trial_pending());
	KUNIT_EXPECT_EQ(test, trial_restart(&trial.retry), 0);
	KUNIT_EXPECT_EQ(test, twheel_retry_shutdown_sync(&trial.retry), 1);
	KUNIT_EXPECT_EQ(test, twheel_retry_shutdown_sync(&trial.retry), 0);
	KUNIT_EXPECT_EQ(test, trial_restart(&trial.retry), -ESHUTDOWN);
	KUNIT_EXPECT_EQ(test, twheel_retry_cancel(&trial.retry), 0);
	wheel_run_until(wheel, DAY);
	KUNIT_EXPECT_EQ(test, trial.attempts, 2);
	KUNIT_EXPECT_EQ(test, trial.given_up, 0);
	trial_init(wheel, trial_give_up);
	KUNIT_EXPECT_EQ(test, trial_restart(&trial.retry), 0);
	KUNIT_EXPECT_EQ(test, twheel_retry_cancel(&trial.retry), 1);
}

static void retry_starts_anew(struct kunit *test)
{
	struct twheel *wheel = test->priv;
	unsigned int attempts;

	for (attempts = 2; attempts <= 3; attempts++) {
		trial_act_midway(test, wheel, attempts, trial_restart, 0);
		KUNIT_EXPECT_EQ(test, trial.given_up, 0);
		/* Four more attempts, at once and after 7, 14 and 28 ms. */
		KUNIT_EXPECT_EQ(test, trial_restart(&trial.retry), 1);
		wheel_run_until(wheel, twheel_now(wheel) + 48 * MS);
		KUNIT_EXPECT_EQ(test, trial.attempts, 6);
		wheel_run_until(wheel, twheel_now(wheel) + MS);
		KUNIT_EXPECT_EQ(test, trial.attempts, 7);
		KUNIT_EXPECT_EQ(test, trial.given_up, 1);
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

	for (backoff.grace_ns = 0; backoff.grace_ns <= MS; backoff.grace_ns += MS) {
		trial_init(wheel, trial_restart_once);
		twheel_retry_start(&trial.retry, &backoff);
		wheel_run_until(wheel, twheel_now(wheel) + 100 * MS);
		KUNIT_EXPECT_EQ(test, trial.result, 0);
		KUNIT_EXPECT_EQ(test, trial.attempts, 6);
		KUNIT_EXPECT_EQ(test, trial.given_up, 2);
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
		struct trial *t = kzalloc(sizeof(*t), GFP_KERNEL);

		KUNIT_ASSERT_NOT_NULL(test, t);
		t->success = i % 5;
		backoff.grace_ns = i % 2 * MS;
		twheel_retry_init(&t->retry, wheel, trial_attempt_and_free, trial_give_up_and_free);
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

	for (backoff.grace_ns = 0; backoff.grace_ns <= MS; backoff.grace_ns += MS) {
		trial_init(wheel, NULL);
		twheel_retry_start(&trial.retry, &backoff);
		wheel_run_until(wheel, twheel_now(wheel) + 10 * MS);
		KUNIT_EXPECT_EQ(test, trial.attempts, 2);
		KUNIT_EXPECT_FALSE(test, trial_pending());
	}
}

static void retry_without_room(struct kunit *test)
{
	struct twheel *wheel = virtual_wheel_for_one(test, &trial_intruder);

	trial_act_midway(test, wheel, 9, trial_intrude, 0);
	KUNIT_EXPECT_EQ(test, trial.given_up, 1);
	KUNIT_EXPECT_EQ(test, trial.error, -ENOSPC);
	KUNIT_EXPECT_EQ(test, trial_restart(&trial.retry), -ENOSPC);
	KUNIT_EXPECT_EQ(test, twheel_stop(wheel, NULL, NULL), 1);
	KUNIT_EXPECT_EQ(test, trial_restart(&trial.retry), -ESHUTDOWN);
	KUNIT_EXPECT_EQ(test, twheel_retry_cancel_sync(&trial.retry), 0);
	KUNIT_EXPECT_EQ(test, trial.attempts, 2);
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

static struct kunit_suite twheel_retry_suite = {
	.name		= "twheel_retry",
	.init		= probe_test_init,
	.exit		= probe_test_exit,
	.test_cases	= retry_cases,
};

kunit_test_suite(twheel_retry_suite);
