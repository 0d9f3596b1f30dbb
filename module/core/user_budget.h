/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What several bases take in softirq together, on each CPU: the files of one user. For
 * each CPU there is a bucket as in budget.h.
 *
 * Only what is done in softirq flows in. So when one base takes more than its own share,
 * and has a thread, the others do not suffer from that. When all together take more,
 * those whose turn it is get threads, until the bucket has run half dry.
 */
#ifndef _TWHEEL_USER_BUDGET_H
#define _TWHEEL_USER_BUDGET_H

#include <linux/errno.h>
#include <linux/lockdep.h>
#include <linux/percpu.h>
#include <linux/types.h>

#include "budget.h"

/**
 * struct tw_user_budget - what bases take together
 * @percent: how much of a CPU they may
 * @shares: of each CPU; touched by that one only, with interrupts off
 */
struct tw_user_budget {
	unsigned int percent;
	struct tw_budget __percpu *shares;
};

/* Return: 0, -ENOMEM. */
static inline int tw_user_budget_init(struct tw_user_budget *account)
{
	account->shares = alloc_percpu_gfp(struct tw_budget, GFP_KERNEL_ACCOUNT);
	return account->shares ? 0 : -ENOMEM;
}

/* No base has it any more. */
static inline void tw_user_budget_exit(struct tw_user_budget *account)
{
	free_percpu(account->shares);
}

/*
 * tw_user_budget_spend() - this CPU has been in softirq for it from @start to @end, in ns
 *
 * Return: has the share been exceeded?
 */
static inline bool tw_user_budget_spend(struct tw_user_budget *account, u64 start,
				    u64 end)
{
	struct tw_budget *share = this_cpu_ptr(account->shares);

	lockdep_assert_irqs_disabled();
	/* The parameter may have changed. */
	share->percent = READ_ONCE(account->percent);
	return tw_budget_spend(share, start, end);
}

#endif /* _TWHEEL_USER_BUDGET_H */
