// SPDX-License-Identifier: GPL-2.0-only
/* Periodic work: a series whose deadlines are a period apart. */
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/spinlock.h>

#include <linux/twheel_policy.h>

#include "../export.h"
#include "overruns.h"
#include "policy.h"
#include "series.h"

/* With the lock: which deadline is this, and which were missed? */
static void periodic_count(struct twheel_periodic *p)
{
	u64 overruns = 0;

	if (p->pace == TWHEEL_FIXED_RATE)
		overruns = tw_overruns(tw_series_now(&p->series), p->deadline,
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
						      tw_series_now(&p->series);
		p->deadline = tw_policy_later(from, p->period);
		ret = tw_series_arm(&p->series, p->deadline);
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
	due = tw_series_due(&p->series);
	if (due)
		periodic_count(p);
	raw_spin_unlock_irqrestore(&p->series.lock, flags);

	if (!due)
		return;
	tw_policy_calls(timer, p->function);
	if (p->function(p) == TWHEEL_AGAIN)
		periodic_again(p, number);
}

/**
 * __twheel_periodic_init() - initialise periodic work
 * @periodic: the periodic work; must not be started
 * @wheel: the wheel it is to belong to
 * @function: the work
 * @name: of the periodic work, for lockdep
 * @key: for lockdep
 *
 * Use twheel_periodic_init().
 *
 * Context:
 * * any but NMI
 */
void __twheel_periodic_init(struct twheel_periodic *periodic,
			    struct twheel *wheel, twheel_periodic_fn function,
			    const char *name, struct lock_class_key *key)
{
	*periodic = (struct twheel_periodic) { .function = function };
	tw_series_init(&periodic->series, wheel, periodic_fire, name, key);
}
TW_EXPORT(__twheel_periodic_init);

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
 * * any but NMI
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

	if (!tw_policy_is_span(period_ns) ||
	    (pace != TWHEEL_FIXED_RATE && pace != TWHEEL_FIXED_DELAY))
		return -EINVAL;
	if (pace == TWHEEL_FIXED_DELAY && !tw_policy_takes_delay(&s->timer))
		return -EINVAL;

	raw_spin_lock_irqsave(&s->lock, flags);
	periodic->pace = pace;
	periodic->error = 0;
	periodic->period = period_ns;
	periodic->deadline = min(first_ns, TWHEEL_NEVER);
	periodic->overruns = 0;
	periodic->missed = 0;
	ret = tw_series_begin(s, periodic->deadline);
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
 * * any but NMI
 * Return:
 * * as twheel_periodic_start_at()
 * * -EINVAL - also on any wheel with %TWHEEL_CLOCK_REALTIME, which takes no delays
 */
int twheel_periodic_start(struct twheel_periodic *periodic, u64 period_ns,
			  enum twheel_pace pace)
{
	u64 first_ns;

	if (!tw_policy_is_span(period_ns) ||
	    !tw_policy_takes_delay(&periodic->series.timer))
		return -EINVAL;
	first_ns = tw_policy_later(tw_series_now(&periodic->series), period_ns);
	return twheel_periodic_start_at(periodic, first_ns, period_ns, pace);
}
TW_EXPORT(twheel_periodic_start);
