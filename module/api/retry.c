// SPDX-License-Identifier: GPL-2.0-only
/* Retries: a series of attempts, with a back-off, jitter, and an end. */
#include <linux/atomic.h>
#include <linux/errno.h>
#include <linux/init.h>
#include <linux/kernel.h>
#include <linux/random.h>
#include <linux/spinlock.h>

#include <linux/twheel_policy.h>

#include "../export.h"
#include "jitter.h"
#include "policy.h"
#include "retry.h"
#include "series.h"

/* The counter that jitter is drawn from, see tw_jitter_mix(). */
static atomic64_t retry_jitter_counter;

/*
 * tw_retry_seed() - seed the jitter
 *
 * The kernel's own generator is asked once, here, in process context: on PREEMPT_RT it
 * takes locks that hard interrupt context must not take.
 */
void __init tw_retry_seed(void)
{
	atomic64_set(&retry_jitter_counter, get_random_u64());
}

static u64 retry_random(void)
{
	return tw_jitter_mix(atomic64_add_return(TW_JITTER_STEP,
						 &retry_jitter_counter));
}

/* With the lock: an attempt has failed. Wait for the next, or say why not. */
static int retry_wait(struct twheel_retry *r)
{
	u64 delay = r->backoff.grace_ns;

	if (r->made < r->backoff.attempts) {
		delay = r->delay - tw_jitter(r->delay, r->backoff.jitter,
					     retry_random());
		r->delay = min(r->delay * 2, r->backoff.ceiling_ns);
	} else if (!delay) {
		r->series.on = false;
		return -ETIMEDOUT;
	}
	return tw_series_arm(&r->series, tw_policy_later(tw_series_now(&r->series), delay));
}

static void retry_give_up(struct twheel_retry *r, int error)
{
	if (!r->give_up)
		return;
	tw_policy_calls(&r->series.timer, r->give_up);
	r->give_up(r, error);
}

static void retry_again(struct twheel_retry *r, unsigned int number)
{
	unsigned long flags;
	int ret = 0;

	raw_spin_lock_irqsave(&r->series.lock, flags);
	if (r->series.number == number)
		ret = retry_wait(r);
	raw_spin_unlock_irqrestore(&r->series.lock, flags);

	if (ret < 0)
		retry_give_up(r, ret);
}

static void retry_fire(struct twheel_timer *timer)
{
	struct twheel_retry *r;
	unsigned long flags;
	unsigned int number;
	bool due, over;

	r = container_of(timer, struct twheel_retry, series.timer);
	raw_spin_lock_irqsave(&r->series.lock, flags);
	number = r->series.number;
	due = tw_series_due(&r->series);
	over = r->made == r->backoff.attempts;
	if (due && over)
		r->series.on = false;
	else if (due)
		r->made++;
	raw_spin_unlock_irqrestore(&r->series.lock, flags);

	if (!due)
		return;
	if (over) {
		retry_give_up(r, -ETIMEDOUT);
		return;
	}
	tw_policy_calls(timer, r->attempt);
	if (r->attempt(r) == TWHEEL_AGAIN)
		retry_again(r, number);
}

/**
 * __twheel_retry_init() - initialise a retry
 * @retry: the retry; must not be started
 * @wheel: the wheel it is to belong to
 * @attempt: makes an attempt
 * @give_up: called when all have failed; may be NULL
 * @name: of the retry, for lockdep
 * @key: for lockdep
 *
 * Use twheel_retry_init().
 *
 * Context:
 * * any but NMI
 */
void __twheel_retry_init(struct twheel_retry *retry, struct twheel *wheel,
			 twheel_attempt_fn attempt, twheel_give_up_fn give_up,
			 const char *name, struct lock_class_key *key)
{
	*retry = (struct twheel_retry) {
		.attempt	= attempt,
		.give_up	= give_up,
	};
	tw_series_init(&retry->series, wheel, retry_fire, name, key);
}
TW_EXPORT(__twheel_retry_init);

static bool backoff_valid(const struct twheel_backoff *b)
{
	if (!b->attempts || b->jitter > 100 || !tw_policy_is_span(b->first_ns))
		return false;
	if (b->ceiling_ns &&
	    (b->ceiling_ns < b->first_ns || b->ceiling_ns > TWHEEL_SPAN_MAX))
		return false;
	return b->grace_ns <= TWHEEL_SPAN_MAX;
}

/**
 * twheel_retry_start() - start trying
 * @retry: the retry
 * @backoff: how often and when; copied
 *
 * The first attempt is made at the next tick boundary, never from within this call.
 * A delay is counted from the end of the attempt before.
 *
 * A retry ends in exactly one of these ways: an attempt says %TWHEEL_DONE, it is given
 * up, it is cancelled or shut down, or twheel_stop() hands its timer back.
 *
 * A retry that is started already begins anew with its first attempt; if an
 * attempt is running, what that one returns does not count.
 *
 * Context:
 * * any but NMI
 * Return:
 * * 0 - started
 * * 1 - started anew: it was waiting for its next attempt
 * * -EINVAL - a field of @backoff out of range, or a wheel with
 *   %TWHEEL_CLOCK_REALTIME; nothing has been done
 * * -ESHUTDOWN - shut down, or the wheel is stopped
 * * -ENOSPC - as many timers as the wheel's limit are pending
 */
int twheel_retry_start(struct twheel_retry *retry,
		       const struct twheel_backoff *backoff)
{
	struct twheel_series *s = &retry->series;
	unsigned long flags;
	int ret;

	if (!backoff_valid(backoff) || !tw_policy_takes_delay(&s->timer))
		return -EINVAL;

	raw_spin_lock_irqsave(&s->lock, flags);
	retry->backoff = *backoff;
	if (!backoff->ceiling_ns)
		retry->backoff.ceiling_ns = TWHEEL_SPAN_MAX;
	retry->made = 0;
	retry->delay = backoff->first_ns;
	ret = tw_series_begin(s, tw_series_now(s));
	raw_spin_unlock_irqrestore(&s->lock, flags);
	return ret;
}
TW_EXPORT(twheel_retry_start);
