// SPDX-License-Identifier: GPL-2.0-only
/*
 * Policies over plain timers: periodic work, idle watches.
 *
 * Periodic work is a series: callbacks that follow one another. The difficulty is what happens
 * while a callback runs, perhaps on another CPU. Then the timer is not pending, and a cancel
 * finds nothing to cancel. So each start and each stop changes the number of the series, under
 * the lock under which the timer is armed too:
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
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/lockdep.h>
#include <linux/math64.h>
#include <linux/spinlock.h>

#include <linux/twheel_idle.h>
#include <linux/twheel_periodic.h>
#include <linux/twheel_state.h>

#include "../export.h"
#include "base.h"
#include "debug.h"
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
 * Use twheel_periodic_init() or twheel_idle_init().
 */
void __twheel_policy_init(struct twheel_timer *timer, enum __twheel_policy policy,
			  struct twheel *wheel, const char *name,
			  struct lock_class_key *key)
{
	static const twheel_fn functions[] = {
		[__TWHEEL_PERIODIC]	= periodic_fire,
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
	if (function == idle_fire)
		return container_of(timer, struct twheel_idle, timer)->function;
	return function;
}
