/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The budget of several bases together, for each CPU: the files of one user. Each CPU
 * has a bucket as in budget.h.
 *
 * Only time in softirq flows in. So a base that exceeds its own budget, and is served by
 * a thread, takes nothing from the others. If all together take too much, threads serve
 * the next ones, until the bucket is half empty.
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
 * @percent: how much of a CPU they may take
 * @budgets: one for each CPU. Only that CPU uses it, with interrupts off
 */
struct tw_user_budget {
	unsigned int percent;
	struct tw_budget __percpu *budgets;
};

/* Return: 0, -ENOMEM. */
static inline int tw_user_budget_init(struct tw_user_budget *user)
{
	user->budgets = alloc_percpu_gfp(struct tw_budget, GFP_KERNEL_ACCOUNT);
	return user->budgets ? 0 : -ENOMEM;
}

/* No base uses it any more. */
static inline void tw_user_budget_exit(struct tw_user_budget *user)
{
	free_percpu(user->budgets);
}

/*
 * tw_user_budget_spend() - this CPU has been in softirq for it from @start to @end, in ns
 *
 * Return: true if the budget has been exceeded.
 */
static inline bool tw_user_budget_spend(struct tw_user_budget *user, u64 start,
					u64 end)
{
	struct tw_budget *budget = this_cpu_ptr(user->budgets);

	lockdep_assert_irqs_disabled();
	/* The parameter may have changed. */
	budget->percent = READ_ONCE(user->percent);
	return tw_budget_spend(budget, start, end);
}

#endif /* _TWHEEL_USER_BUDGET_H */
