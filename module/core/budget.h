/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The CPU budget of a base: how much of a CPU it may take in softirq.
 *
 * It is a leaky bucket. The time of the base's passes flows in, and the allowed part of
 * elapsed time flows out. When the bucket runs over, a thread does the passes until the
 * bucket is half empty. So a burst is served at once. A base that takes too much for
 * long competes with other tasks, and only its own timers are late.
 *
 * What counts is elapsed time, with interruptions, and on PREEMPT_RT with preemption. A
 * fixed time is added for the interrupt and the softirq around a pass.
 */
#ifndef _TWHEEL_BUDGET_H
#define _TWHEEL_BUDGET_H

#include <linux/math64.h>
#include <linux/minmax.h>
#include <linux/time64.h>
#include <linux/types.h>

/*
 * How much a base may take beyond its budget. That is twice the 2 ms after which the
 * kernel leaves softirqs to a thread, so that loads which that copes with are left alone.
 * Many files of a user whose timers are due at one instant keep others waiting so long.
 */
#define TW_BUDGET_BURST	(5 * NSEC_PER_MSEC)

/*
 * The interrupt, the softirq, and going back to what they interrupted. An hrtimer alone,
 * with a callback that does nothing, takes 1700 instructions of Linux 6.1.
 */
#define TW_BUDGET_AROUND	(2 * NSEC_PER_USEC)

/* The size of the bucket: once the load is over, it is half empty soon enough. */
#define TW_BUDGET_MAX	(2 * TW_BUDGET_BURST)

/**
 * struct tw_budget - how much a base takes
 * @percent: how much of a CPU it may take; 0: no limit
 * @over: the budget has been exceeded
 * @spent: ns taken beyond it
 * @last: the time up to which @spent counts
 */
struct tw_budget {
	unsigned int percent;
	bool over;
	u64 spent;
	u64 last;
};

/*
 * tw_budget_spend() - a pass has taken from @start to @end, in ns
 *
 * Return: true if the budget has been exceeded.
 */
static inline bool tw_budget_spend(struct tw_budget *budget, u64 start, u64 end)
{
	/* Even at one per cent, a full bucket is empty after two seconds. */
	u64 time = min_t(u64, end - budget->last, 2 * NSEC_PER_SEC);
	u64 allowed = div_u64(time * budget->percent, 100);
	u64 spent = budget->spent + (end - start);

	spent -= min(spent, allowed);
	budget->spent = min_t(u64, spent, TW_BUDGET_MAX);
	budget->last = end;
	/* tw_user_budget_was_over() reads it without the lock. */
	WRITE_ONCE(budget->over, budget->spent > (budget->over ? TW_BUDGET_BURST / 2 :
								 TW_BUDGET_BURST));
	return budget->over;
}

#endif /* _TWHEEL_BUDGET_H */
