/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The share of a CPU that a base may take in softirq. A leaky bucket: what its
 * passes take flows in, the share of the time that goes by flows out. When it
 * runs over, a thread does the passes, until it has half run dry: so a burst is
 * served at once, and who is greedy for long competes with other tasks, and is
 * itself the one that is late.
 *
 * It is time that is counted, interruptions and on PREEMPT_RT preemption included;
 * what is not is the interrupt around a pass.
 */
#ifndef _TWHEEL_BUDGET_H
#define _TWHEEL_BUDGET_H

#include <linux/math64.h>
#include <linux/minmax.h>
#include <linux/time64.h>
#include <linux/types.h>

/*
 * How much may be taken beyond the share: some times the 2 ms that the kernel
 * lets softirqs go on before it leaves them to a thread, so as not to meddle
 * with loads that this copes with.
 */
#define TW_BUDGET_BURST	(10 * NSEC_PER_MSEC)

/* What fits in; from there it has run half dry soon enough once the load is over. */
#define TW_BUDGET_MAX	(2 * TW_BUDGET_BURST)

/**
 * struct tw_budget - how much a base takes
 * @percent: how much it may; 0: whatever it needs
 * @over: that has been exceeded
 * @spent: ns taken beyond the share
 * @last: until when that is counted
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
 * Return: has the share been exceeded?
 */
static inline bool tw_budget_spend(struct tw_budget *share, u64 start, u64 end)
{
	/* Whatever fits in is gone in two seconds, also at one per cent. */
	u64 time = min_t(u64, end - share->last, 2 * NSEC_PER_SEC);
	u64 allowed = div_u64(time * share->percent, 100);
	u64 spent = share->spent + (end - start);

	spent -= min(spent, allowed);
	share->spent = min_t(u64, spent, TW_BUDGET_MAX);
	share->last = end;
	share->over = share->spent > (share->over ? TW_BUDGET_BURST / 2 :
						    TW_BUDGET_BURST);
	return share->over;
}

#endif /* _TWHEEL_BUDGET_H */
