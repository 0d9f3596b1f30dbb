// SPDX-License-Identifier: GPL-2.0-only
/*
 * Periodic work, retries and idle watches, made of plain timers and the
 * functions that every module has.
 *
 * The difficulty is what happens while a callback runs, perhaps on another CPU.
 * Then the timer is not pending, and a cancel finds nothing to cancel. So each
 * start and each stop changes the number of the series, under the lock under
 * which the timer is armed too:
 *
 *  - A callback that has ended arms the timer only if the number is what it was
 *    when it began. A stop in between is obeyed, and the deadline of a new start
 *    is left alone.
 *  - The wheel may have claimed the timer just before a stop, and call it after
 *    that: the callback finds the series off. After a start, it finds the timer
 *    pending, for nobody else arms it: then this call is not for the new deadline,
 *    and does nothing.
 *
 * The lock is not held while a caller's callback runs. It is not touched after a
 * callback that says that it is done, which may have freed the object. A wheel may
 * call back in any context, so interrupts are left as they are.
 */
#include <linux/atomic.h>
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/lockdep.h>
#include <linux/random.h>

#include <linux/twheel_policy.h>

#include "../core/clock.h"
#include "../export.h"
#include "jitter.h"
#include "overruns.h"
#include "policy.h"

/* The counter that jitter is drawn from, see tw_jitter_mix(). */
static atomic64_t policy_jitter_counter;

/*
 * tw_policy_init() - seed the jitter
 *
 * The kernel's own generator is asked once, here, in process context: on PREEMPT_RT it
 * takes locks that hard interrupt context must not take.
 */
void __init tw_policy_init(void)
{
	atomic64_set(&policy_jitter_counter, get_random_u64());
}

static u64 policy_random(void)
{
	return tw_jitter_mix(atomic64_add_return(TW_JITTER_STEP,
						 &policy_jitter_counter));
}

static bool policy_is_span(u64 ns)
{
	return ns && ns <= TWHEEL_SPAN_MAX;
}

/* An instant and a span, short of wrapping around. */
static u64 policy_later(u64 ns, u64 span)
{
	return ns > TWHEEL_NEVER - span ? TWHEEL_NEVER : ns + span;
}

/* A wheel whose clock may be set takes deadlines only, see twheel_arm(). */
static bool policy_takes_delay(const struct twheel_timer *timer)
{
	const struct twheel *wheel = twheel_of(timer);
	struct twheel_geometry geometry;

	/* A timer of zeros has no wheel. */
	if (!wheel)
		return false;
	twheel_get_geometry(wheel, &geometry);
	return !tw_clock_is_wall(geometry.clock);
}

static u64 series_now(const struct twheel_series *s)
{
	return twheel_now(twheel_of(&s->timer));
}

static void series_init(struct twheel_series *s, struct twheel *wheel,
			twheel_fn function)
{
	twheel_timer_init(&s->timer, wheel, function);
	raw_spin_lock_init(&s->lock);
	s->number = 0;
	s->on = false;
}

/* Wait for @deadline next. If that fails, the series is over. */
static int series_arm(struct twheel_series *s, u64 deadline)
{
	int ret;

	lockdep_assert_held(&s->lock);
	ret = twheel_arm_at(&s->timer, deadline);
	s->on = ret >= 0;
	return ret;
}

static int series_begin(struct twheel_series *s, u64 deadline)
{
	lockdep_assert_held(&s->lock);
	s->number++;
	return series_arm(s, deadline);
}

static int series_end(struct twheel_series *s)
{
	unsigned long flags;
	int ret;

	raw_spin_lock_irqsave(&s->lock, flags);
	s->number++;
	s->on = false;
	ret = twheel_cancel(&s->timer);
	raw_spin_unlock_irqrestore(&s->lock, flags);
	return ret;
}

/*
 * Ended first, the series cannot keep the wait going by arming its timer again
 * and again.
 */
static int series_end_sync(struct twheel_series *s,
			   int (*sync)(struct twheel_timer *timer))
{
	int ended = series_end(s);
	int ret = sync(&s->timer);

	return ret < 0 ? ret : ret | ended;
}

/* The timer has been called: is that for the present series? */
static bool series_due(const struct twheel_series *s)
{
	lockdep_assert_held(&s->lock);
	return s->on && !twheel_pending(&s->timer);
}

/* With the lock: which deadline is this, and which were missed? */
static void periodic_count(struct twheel_periodic *p)
{
	u64 overruns = 0;

	if (p->pace == TWHEEL_FIXED_RATE)
		overruns = tw_overruns(series_now(&p->series), p->deadline,
				       p->period);
	p->overruns = overruns;
	p->missed += overruns;
	p->deadline += overruns * p->period;
}

static void periodic_again(struct twheel_periodic *p, unsigned int number)
{
	unsigned long flags;
	u64 from;
	int ret;

	raw_spin_lock_irqsave(&p->series.lock, flags);
	if (p->series.number == number) {
		from = p->pace == TWHEEL_FIXED_RATE ? p->deadline :
						      series_now(&p->series);
		p->deadline = policy_later(from, p->period);
		ret = series_arm(&p->series, p->deadline);
		if (ret < 0)
			p->error = ret;
	}
	raw_spin_unlock_irqrestore(&p->series.lock, flags);
}

static void periodic_fire(struct twheel_timer *timer)
{
	struct twheel_periodic *p;
	unsigned long flags;
	unsigned int number;
	bool due;

	p = container_of(timer, struct twheel_periodic, series.timer);
	raw_spin_lock_irqsave(&p->series.lock, flags);
	number = p->series.number;
	due = series_due(&p->series);
	if (due)
		periodic_count(p);
	raw_spin_unlock_irqrestore(&p->series.lock, flags);

	if (due && p->function(p) == TWHEEL_AGAIN)
		periodic_again(p, number);
}

/**
 * twheel_periodic_init() - initialise periodic work
 * @periodic: the periodic work; must not be started
 * @wheel: the wheel it is to belong to
 * @function: the work
 *
 * Context:
 * * any
 */
void twheel_periodic_init(struct twheel_periodic *periodic,
			  struct twheel *wheel, twheel_periodic_fn function)
{
	*periodic = (struct twheel_periodic) { .function = function };
	series_init(&periodic->series, wheel, periodic_fire);
}
TW_EXPORT(twheel_periodic_init);

/**
 * twheel_periodic_start_at() - start periodic work at a given moment
 * @periodic: the periodic work
 * @first_ns: the first deadline, on the wheel's clock; may be in the past, and
 *	the periods since then count as overruns
 * @period_ns: the period, 1 to %TWHEEL_SPAN_MAX. One below the wheel's tick
 *	leads to a callback on every tick, with overruns
 * @pace: one of enum twheel_pace
 *
 * Work that is started already is started anew, and its counts begin at 0; if
 * its callback is running, that one goes on.
 *
 * Context:
 * * any
 * Return:
 * * 0 - started
 * * 1 - started anew: it was waiting for a deadline
 * * -EINVAL - @period_ns or @pace out of range, or %TWHEEL_FIXED_DELAY on a wheel with
 *   %TWHEEL_CLOCK_REALTIME; nothing has been done
 * * -ESHUTDOWN - shut down, or the wheel is stopped
 * * -ENOSPC - as many timers as the wheel's limit are pending
 */
int twheel_periodic_start_at(struct twheel_periodic *periodic, u64 first_ns,
			     u64 period_ns, enum twheel_pace pace)
{
	struct twheel_series *s = &periodic->series;
	unsigned long flags;
	int ret;

	if (!policy_is_span(period_ns) ||
	    (pace != TWHEEL_FIXED_RATE && pace != TWHEEL_FIXED_DELAY))
		return -EINVAL;
	if (pace == TWHEEL_FIXED_DELAY && !policy_takes_delay(&s->timer))
		return -EINVAL;

	raw_spin_lock_irqsave(&s->lock, flags);
	periodic->pace = pace;
	periodic->error = 0;
	periodic->period = period_ns;
	periodic->deadline = min(first_ns, TWHEEL_NEVER);
	periodic->overruns = 0;
	periodic->missed = 0;
	ret = series_begin(s, periodic->deadline);
	raw_spin_unlock_irqrestore(&s->lock, flags);
	return ret;
}
TW_EXPORT(twheel_periodic_start_at);

/**
 * twheel_periodic_start() - start periodic work, the first a period from now
 * @periodic: the periodic work
 * @period_ns: the period, 1 to %TWHEEL_SPAN_MAX
 * @pace: one of enum twheel_pace
 *
 * Context:
 * * any
 * Return:
 * * as twheel_periodic_start_at()
 * * -EINVAL - also on any wheel with %TWHEEL_CLOCK_REALTIME, which takes no delays
 */
int twheel_periodic_start(struct twheel_periodic *periodic, u64 period_ns,
			  enum twheel_pace pace)
{
	u64 first_ns;

	if (!policy_is_span(period_ns) ||
	    !policy_takes_delay(&periodic->series.timer))
		return -EINVAL;
	first_ns = policy_later(series_now(&periodic->series), period_ns);
	return twheel_periodic_start_at(periodic, first_ns, period_ns, pace);
}
TW_EXPORT(twheel_periodic_start);

/**
 * twheel_periodic_stop() - stop periodic work, without waiting for its callback
 * @periodic: the periodic work
 *
 * A callback that runs now, or is just being called, is the last one.
 *
 * Context:
 * * any, the work's own callback included
 * Return:
 * * 1 - it was waiting for a deadline, which will not be served
 * * 0 - it was not: it is not started, or its callback is running
 */
int twheel_periodic_stop(struct twheel_periodic *periodic)
{
	return series_end(&periodic->series);
}
TW_EXPORT(twheel_periodic_stop);

/**
 * twheel_periodic_stop_sync() - stop periodic work and wait for its callback
 * @periodic: the periodic work
 *
 * When this returns, the callback does not run on any CPU, and will not unless the
 * work is started again: where nothing does that, its memory can be freed.
 *
 * Do not call it with a lock held that the callback takes.
 *
 * Context:
 * * process or softirq, as twheel_cancel_sync()
 * Return:
 * * 1 - it was waiting for a deadline, which will not be served
 * * 0 - it was not: it was not started, or its callback was running
 * * -EDEADLK - called from the callback: the work is stopped, but this cannot
 *   wait
 */
int twheel_periodic_stop_sync(struct twheel_periodic *periodic)
{
	return series_end_sync(&periodic->series, twheel_cancel_sync);
}
TW_EXPORT(twheel_periodic_stop_sync);

/**
 * twheel_periodic_shutdown_sync() - stop periodic work for good
 * @periodic: the periodic work
 *
 * As twheel_periodic_stop_sync(), and every later start fails with -ESHUTDOWN,
 * also those on other CPUs that race with this. twheel_periodic_init() brings
 * the work back to life.
 *
 * Context:
 * * as twheel_periodic_stop_sync()
 * Return:
 * * as twheel_periodic_stop_sync(); with -EDEADLK it is not shut down
 */
int twheel_periodic_shutdown_sync(struct twheel_periodic *periodic)
{
	return series_end_sync(&periodic->series, twheel_shutdown_sync);
}
TW_EXPORT(twheel_periodic_shutdown_sync);

/* With the lock: an attempt has failed. Wait for the next, or say why not. */
static int retry_wait(struct twheel_retry *r)
{
	u64 delay = r->backoff.grace_ns;

	if (r->made < r->backoff.attempts) {
		delay = r->delay - tw_jitter(r->delay, r->backoff.jitter,
					     policy_random());
		r->delay = min(r->delay * 2, r->backoff.ceiling_ns);
	} else if (!delay) {
		r->series.on = false;
		return -ETIMEDOUT;
	}
	return series_arm(&r->series, policy_later(series_now(&r->series), delay));
}

static void retry_again(struct twheel_retry *r, unsigned int number)
{
	unsigned long flags;
	int ret = 0;

	raw_spin_lock_irqsave(&r->series.lock, flags);
	if (r->series.number == number)
		ret = retry_wait(r);
	raw_spin_unlock_irqrestore(&r->series.lock, flags);

	if (ret < 0 && r->give_up)
		r->give_up(r, ret);
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
	due = series_due(&r->series);
	over = r->made == r->backoff.attempts;
	if (due && over)
		r->series.on = false;
	else if (due)
		r->made++;
	raw_spin_unlock_irqrestore(&r->series.lock, flags);

	if (!due)
		return;
	if (!over && r->attempt(r) == TWHEEL_AGAIN)
		retry_again(r, number);
	else if (over && r->give_up)
		r->give_up(r, -ETIMEDOUT);
}

/**
 * twheel_retry_init() - initialise a retry
 * @retry: the retry; must not be started
 * @wheel: the wheel it is to belong to
 * @attempt: makes an attempt
 * @give_up: called when all have failed; may be NULL
 *
 * Context:
 * * any
 */
void twheel_retry_init(struct twheel_retry *retry, struct twheel *wheel,
		       twheel_attempt_fn attempt, twheel_give_up_fn give_up)
{
	*retry = (struct twheel_retry) {
		.attempt	= attempt,
		.give_up	= give_up,
	};
	series_init(&retry->series, wheel, retry_fire);
}
TW_EXPORT(twheel_retry_init);

static bool backoff_valid(const struct twheel_backoff *b)
{
	if (!b->attempts || b->jitter > 100 || !policy_is_span(b->first_ns))
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
 * up, it is cancelled, or twheel_stop() hands its timer back.
 *
 * A retry that is started already begins anew with its first attempt; if an
 * attempt is running, what that one returns does not count.
 *
 * Context:
 * * any
 * Return:
 * * 0 - started
 * * 1 - started anew: it was waiting for its next attempt
 * * -EINVAL - a field of @backoff out of range, or a wheel with
 *   %TWHEEL_CLOCK_REALTIME; nothing has been done
 * * -ESHUTDOWN - the wheel is stopped
 * * -ENOSPC - as many timers as the wheel's limit are pending
 */
int twheel_retry_start(struct twheel_retry *retry,
		       const struct twheel_backoff *backoff)
{
	struct twheel_series *s = &retry->series;
	unsigned long flags;
	int ret;

	if (!backoff_valid(backoff) || !policy_takes_delay(&s->timer))
		return -EINVAL;

	raw_spin_lock_irqsave(&s->lock, flags);
	retry->backoff = *backoff;
	if (!backoff->ceiling_ns)
		retry->backoff.ceiling_ns = TWHEEL_SPAN_MAX;
	retry->made = 0;
	retry->delay = backoff->first_ns;
	ret = series_begin(s, series_now(s));
	raw_spin_unlock_irqrestore(&s->lock, flags);
	return ret;
}
TW_EXPORT(twheel_retry_start);

/**
 * twheel_retry_cancel() - make no more attempts
 * @retry: the retry
 *
 * An attempt that runs now is the last one. The callback that gives up is not called
 * after this, unless it is just being called.
 *
 * Context:
 * * any, the retry's own callbacks included
 * Return:
 * * 1 - it was waiting, for its next attempt or to give up
 * * 0 - it was not: it is not started, or a callback of it is running
 */
int twheel_retry_cancel(struct twheel_retry *retry)
{
	return series_end(&retry->series);
}
TW_EXPORT(twheel_retry_cancel);

/**
 * twheel_retry_cancel_sync() - make no more attempts, and wait for the last one
 * @retry: the retry
 *
 * When this returns, neither callback runs on any CPU, and none will unless the
 * retry is started again: where nothing does that, its memory can be freed.
 *
 * Do not call it with a lock held that a callback takes.
 *
 * Context:
 * * process or softirq, as twheel_cancel_sync()
 * Return:
 * * 1 - it was waiting, for its next attempt or to give up
 * * 0 - it was not: it was not started, or a callback of it was running
 * * -EDEADLK - called from one of its callbacks: it is cancelled, but this
 *   cannot wait
 */
int twheel_retry_cancel_sync(struct twheel_retry *retry)
{
	return series_end_sync(&retry->series, twheel_cancel_sync);
}
TW_EXPORT(twheel_retry_cancel_sync);

static void idle_fire(struct twheel_timer *timer)
{
	struct twheel_idle *idle = container_of(timer, struct twheel_idle,
						timer);

	idle->function(idle);
}

/**
 * twheel_idle_init() - initialise a watch
 * @idle: the watch; must not be started
 * @wheel: the wheel it is to belong to
 * @function: called when nothing has been heard for the timeout
 *
 * Context:
 * * any
 */
void twheel_idle_init(struct twheel_idle *idle, struct twheel *wheel,
		      twheel_idle_fn function)
{
	twheel_timer_init(&idle->timer, wheel, idle_fire);
	atomic64_set(&idle->timeout, 0);
	idle->function = function;
}
TW_EXPORT(twheel_idle_init);

/*
 * Give the watch another timeout, from now. A touch that comes between the
 * clock being read here and the timer being moved nearer finds a deadline that
 * is late enough, and leaves it: so push it back once more.
 */
static int idle_set(struct twheel_idle *idle, u64 timeout_ns,
		    int (*set)(struct twheel_timer *timer, u64 delay_ns))
{
	int ret;

	if (!policy_is_span(timeout_ns) || !policy_takes_delay(&idle->timer))
		return -EINVAL;
	atomic64_set(&idle->timeout, timeout_ns);
	ret = set(&idle->timer, timeout_ns);
	if (ret == 1)
		twheel_extend(&idle->timer, timeout_ns);
	return ret;
}

/**
 * twheel_idle_start() - start to watch
 * @idle: the watch
 * @timeout_ns: how long nothing is heard before the callback is called, 1 to
 *	%TWHEEL_SPAN_MAX
 *
 * On a watch that is started this is twheel_idle_set_timeout().
 *
 * Context:
 * * any
 * Return:
 * * 0 - started
 * * 1 - it was started
 * * -EINVAL - @timeout_ns out of range, or a wheel with %TWHEEL_CLOCK_REALTIME;
 *   nothing has been done
 * * -ESHUTDOWN - the wheel is stopped
 * * -ENOSPC - as many timers as the wheel's limit are pending
 */
int twheel_idle_start(struct twheel_idle *idle, u64 timeout_ns)
{
	return idle_set(idle, timeout_ns, twheel_arm);
}
TW_EXPORT(twheel_idle_start);

/**
 * twheel_idle_set_timeout() - change the timeout of a watch
 * @idle: the watch
 * @timeout_ns: the new timeout, 1 to %TWHEEL_SPAN_MAX; longer or shorter
 *
 * The timeout starts from now, as if there had been a sign of life. A touch on another
 * CPU at the same moment may still count with the old timeout. A watch that is not
 * started stays so.
 *
 * Context:
 * * any
 * Return:
 * * 1 - the timeout has changed
 * * 0 - the watch is not started
 * * -EINVAL - @timeout_ns out of range, or a wheel with %TWHEEL_CLOCK_REALTIME;
 *   nothing has been done
 */
int twheel_idle_set_timeout(struct twheel_idle *idle, u64 timeout_ns)
{
	return idle_set(idle, timeout_ns, twheel_modify);
}
TW_EXPORT(twheel_idle_set_timeout);

/**
 * twheel_idle_stop() - stop watching, without waiting for the callback
 * @idle: the watch
 *
 * Context:
 * * any, the watch's own callback included
 * Return:
 * * 1 - the callback will not be called
 * * 0 - the watch was not started; the callback may be running
 */
int twheel_idle_stop(struct twheel_idle *idle)
{
	return twheel_cancel(&idle->timer);
}
TW_EXPORT(twheel_idle_stop);

/**
 * twheel_idle_stop_sync() - stop watching and wait for the callback
 * @idle: the watch
 *
 * When this returns, the callback does not run on any CPU, and will not unless the
 * watch is started again: where nothing does that, its memory can be freed.
 *
 * Do not call it with a lock held that the callback takes.
 *
 * Context:
 * * process or softirq, as twheel_cancel_sync()
 * Return:
 * * 1 - the callback will not be called
 * * 0 - the watch was not started
 * * -EDEADLK - called from the callback; nothing has been done
 */
int twheel_idle_stop_sync(struct twheel_idle *idle)
{
	return twheel_cancel_sync(&idle->timer);
}
TW_EXPORT(twheel_idle_stop_sync);
