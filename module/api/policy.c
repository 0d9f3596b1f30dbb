// SPDX-License-Identifier: GPL-2.0-only
/*
 * Policies over plain timers: periodic work, retries, idle watches.
 *
 * Periodic work and retries are series: callbacks that follow one another. The difficulty
 * is what happens while a callback runs, perhaps on another CPU. Then the timer is not
 * pending, and a cancel finds nothing to cancel. So each start and each stop changes the
 * number of the series, under the lock under which the timer is armed too:
 *
 *  - A callback that has ended arms the timer only if the number is what it was
 *    when it began. A stop in between is obeyed, and the deadline of a new start
 *    is left alone.
 *  - The wheel may have claimed the timer just before a stop, and call it after
 *    that: the callback finds the series off. After a start, it finds the timer
 *    pending, as nobody else arms it: then this call is not for the new deadline,
 *    and does nothing.
 *
 * The lock is not held while a caller's callback runs. It is not touched after a
 * callback that says that it is done, which may have freed the object. A wheel may
 * call back in any context, so interrupts are left as they are.
 */
#include <linux/atomic.h>
#include <linux/errno.h>
#include <linux/init.h>
#include <linux/kernel.h>
#include <linux/lockdep.h>
#include <linux/math64.h>
#include <linux/random.h>
#include <linux/spinlock.h>

#include <linux/twheel_idle.h>
#include <linux/twheel_periodic.h>
#include <linux/twheel_retry.h>
#include <linux/twheel_state.h>

#include "../core/base.h"
#include "../core/debug.h"
#include "../export.h"
#include "instance.h"
#include "timer.h"

static bool policy_is_span(u64 ns)
{
	return ns && ns <= TWHEEL_SPAN_MAX;
}

/* An instant and a span, short of wrapping around. */
static u64 policy_later(u64 ns, u64 span)
{
	return ns > TWHEEL_NEVER - span ? TWHEEL_NEVER : ns + span;
}

static u64 policy_now(const struct twheel_series *s)
{
	return twheel_now(twheel_of(&s->timer));
}

/* The callback of a policy calls @function of its user: messages are to name that. */
static void policy_calls(const struct twheel_timer *timer, const void *function)
{
	WRITE_ONCE(READ_ONCE(timer->base)->last, function);
}

/* With the lock, the timer has been called: whether that is for the present series. */
static bool series_due(const struct twheel_series *s)
{
	lockdep_assert_held(&s->lock);
	return s->on && twheel_state(&s->timer) == TWHEEL_FIRED;
}

/*
 * With the lock: wait for @deadline next. If that fails, the series is over.
 * Returns what twheel_arm_at() has returned.
 */
static int series_arm(struct twheel_series *s, u64 deadline)
{
	int ret;

	lockdep_assert_held(&s->lock);
	ret = twheel_arm_at(&s->timer, deadline);
	s->on = ret >= 0;
	return ret;
}

/* With the lock: series_arm() for a new series. */
static int series_begin(struct twheel_series *s, u64 deadline)
{
	s->number++;
	return series_arm(s, deadline);
}

/* With the lock: find the deadline that this is for, and count those that were missed. */
static void periodic_count(struct twheel_periodic *p)
{
	u64 now = policy_now(&p->series);
	u64 overruns = 0;

	if (p->pace == TWHEEL_FIXED_RATE && now > p->deadline)
		overruns = div64_u64(now - p->deadline, p->period);
	p->overruns = overruns;
	p->missed += overruns;
	p->deadline += overruns * p->period;
}

static void periodic_again(struct twheel_periodic *p, unsigned int number)
{
	unsigned long flags;
	u64 next;
	int ret;

	raw_spin_lock_irqsave(&p->series.lock, flags);
	if (p->series.number == number) {
		next = p->pace == TWHEEL_FIXED_RATE ? p->deadline : policy_now(&p->series);
		next = policy_later(next, p->period);
		ret = series_arm(&p->series, next);
		if (ret < 0)
			p->error = ret;
		else
			p->deadline = next;
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
	policy_calls(timer, p->function);
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
 * __twheel_periodic_start() - start periodic work
 * @periodic: the periodic work
 * @from_now: the first deadline is counted from now
 * @first_ns: the first deadline
 * @period_ns: the period
 * @pace: one of enum twheel_pace
 *
 * Use twheel_periodic_start() or twheel_periodic_start_at().
 *
 * Context:
 * * any but NMI
 * Return:
 * * as they
 */
int __twheel_periodic_start(struct twheel_periodic *periodic, bool from_now, u64 first_ns,
			    u64 period_ns, enum twheel_pace pace)
{
	struct twheel_series *s = &periodic->series;
	unsigned long flags;
	int ret;

	if (!periodic->function || !policy_is_span(period_ns) ||
	    (pace != TWHEEL_FIXED_RATE && pace != TWHEEL_FIXED_DELAY))
		return -EINVAL;
	/* Of zeros, it has no lock either. */
	if (from_now || pace == TWHEEL_FIXED_DELAY ? !tw_timer_takes_delay(&s->timer) :
						     !tw_timer_any_base(&s->timer))
		return -EINVAL;
	if (from_now)
		first_ns = policy_later(policy_now(s), first_ns);

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
TW_EXPORT(__twheel_periodic_start);

/* The counter that jitter is drawn from. */
static atomic64_t retry_jitter;

/*
 * tw_policy_seed() - seed the jitter
 *
 * The kernel's own generator is asked once, here, in process context: on PREEMPT_RT it
 * takes locks that hard interrupt context must not take.
 */
void __init tw_policy_seed(void)
{
	atomic64_set(&retry_jitter, get_random_u64());
}

/*
 * 64 random bits: the generator SplitMix64. It needs no lock, and so may run anywhere;
 * jitter needs nothing that is hard to guess. (G. Steele, D. Lea, C. Flood, "Fast
 * Splittable Pseudorandom Number Generators", OOPSLA 2014.)
 */
static u64 retry_random(void)
{
	u64 bits = atomic64_add_return(0x9e3779b97f4a7c15ULL, &retry_jitter);

	bits = (bits ^ (bits >> 30)) * 0xbf58476d1ce4e5b9ULL;
	bits = (bits ^ (bits >> 27)) * 0x94d049bb133111ebULL;
	return bits ^ (bits >> 31);
}

/* With the lock: an attempt has failed. Wait for the next, or say why not. */
static int retry_wait(struct twheel_retry *r)
{
	u64 delay = r->backoff.grace_ns;

	if (r->made < r->backoff.attempts) {
		u64 most = mul_u64_u32_div(r->delay, r->backoff.jitter, 100);

		delay = r->delay - mul_u64_u64_shr(retry_random(), most + 1, 64);
		r->delay = min(r->delay * 2, r->backoff.ceiling_ns);
	} else if (!delay) {
		r->series.on = false;
		return -ETIMEDOUT;
	}
	return series_arm(&r->series, policy_later(policy_now(&r->series), delay));
}

static void retry_give_up(struct twheel_retry *r, int error)
{
	if (!r->give_up)
		return;
	policy_calls(&r->series.timer, r->give_up);
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
	policy_calls(timer, r->attempt);
	raw_spin_lock_irqsave(&r->series.lock, flags);
	number = r->series.number;
	due = series_due(&r->series);
	over = r->made == r->backoff.attempts;
	if (due && over)
		r->series.on = false;
	else if (due)
		r->made++;
	raw_spin_unlock_irqrestore(&r->series.lock, flags);

	if (due && over)
		retry_give_up(r, -ETIMEDOUT);
	else if (due && r->attempt(r) == TWHEEL_AGAIN)
		retry_again(r, number);
}

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
 * The first attempt is made at the next tick boundary, or now if this is one, but never from
 * within this call.
 * A delay is counted from the end of the attempt before. If the caller has sent already,
 * add one to the attempts. Let the first return %TWHEEL_AGAIN and do nothing else:
 * twheel_retry_attempts() is 1 there.
 *
 * A retry ends in exactly one way. An attempt says %TWHEEL_DONE, the retry is given up,
 * it is cancelled or shut down, or twheel_stop() hands its timer back.
 *
 * A retry that is started already begins anew with its first attempt; if an
 * attempt is running, what that one returns does not count.
 *
 * Context:
 * * any but NMI
 * Return:
 * * 0 - started
 * * 1 - started anew: it was waiting for its next attempt
 * * -EINVAL - a field of @backoff out of range, a wheel whose clock can be set, no function,
 *   or never initialised; nothing has been done
 * * -ESHUTDOWN - shut down, or the wheel is stopped
 * * -ENOSPC - as many timers as the wheel's limit are pending. As with -ESHUTDOWN, it is not
 *   started, even if it was before. An attempt that was due is not made
 */
int twheel_retry_start(struct twheel_retry *retry,
		       const struct twheel_backoff *backoff)
{
	struct twheel_series *s = &retry->series;
	unsigned long flags;
	int ret;

	if (!retry->attempt || !backoff_valid(backoff) || !tw_timer_takes_delay(&s->timer))
		return -EINVAL;

	raw_spin_lock_irqsave(&s->lock, flags);
	retry->backoff = *backoff;
	if (!backoff->ceiling_ns)
		retry->backoff.ceiling_ns = TWHEEL_SPAN_MAX;
	retry->made = 0;
	retry->delay = backoff->first_ns;
	ret = series_begin(s, policy_now(s));
	raw_spin_unlock_irqrestore(&s->lock, flags);
	return ret;
}
TW_EXPORT(twheel_retry_start);

static void idle_fire(struct twheel_timer *timer)
{
	struct twheel_idle *idle = container_of(timer, struct twheel_idle, timer);

	policy_calls(timer, idle->function);
	idle->function(idle);
}

/**
 * __twheel_policy_init() - initialise the timer of a policy
 * @timer: the timer
 * @policy: which policy it is of
 * @wheel: the wheel it is to belong to; NULL: the system wheel
 * @name: for lockdep
 * @key: for lockdep
 *
 * Use twheel_periodic_init(), twheel_retry_init() or twheel_idle_init().
 *
 * Context:
 * * any but NMI
 */
void __twheel_policy_init(struct twheel_timer *timer, enum __twheel_policy policy,
			  struct twheel *wheel, const char *name,
			  struct lock_class_key *key)
{
	static const twheel_fn functions[] = {
		[__TWHEEL_PERIODIC]	= periodic_fire,
		[__TWHEEL_RETRY]	= retry_fire,
		[__TWHEEL_IDLE]		= idle_fire,
	};

	struct twheel_series *s = container_of(timer, struct twheel_series, timer);

	__twheel_timer_init(timer, wheel, functions[policy], false, name, key);
	if (policy == __TWHEEL_IDLE)
		return;
	raw_spin_lock_init(&s->lock);
	s->number = 0;
	s->on = false;
}
TW_EXPORT(__twheel_policy_init);

/* tw_debug_function() - what a timer calls: of a policy its user's function, not ours */
const void *tw_debug_function(const struct twheel_timer *timer)
{
	twheel_fn function = READ_ONCE(timer->function);

	if (function == periodic_fire)
		return container_of(timer, struct twheel_periodic, series.timer)->function;
	if (function == retry_fire)
		return container_of(timer, struct twheel_retry, series.timer)->attempt;
	if (function == idle_fire)
		return container_of(timer, struct twheel_idle, timer)->function;
	return function;
}
