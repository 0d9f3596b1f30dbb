/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The budget of several bases together, for each CPU: the files of one user, and those
 * of all users. Each CPU has a bucket as in budget.h.
 *
 * Only time in softirq flows in. So a base that exceeds its own budget, and is served by
 * a thread, takes nothing from the others. If all together take too much, threads serve
 * the next ones, until the bucket is half empty. An alarm asks before a pass begins: a
 * base that is new gets no softirq where the others have used up the time.
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
 * @percent: how much of a CPU they may take; 0: no limit
 * @all: the budget that this one is a part of, or NULL
 * @budgets: one for each CPU. Only that CPU changes it, with interrupts off
 */
struct tw_user_budget {
	unsigned int percent;
	struct tw_user_budget *all;
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
 * Return: true if the budget has been exceeded, or one that it is a part of.
 */
static inline bool tw_user_budget_spend(struct tw_user_budget *user, u64 start,
					u64 end)
{
	bool over = false;

	lockdep_assert_irqs_disabled();
	for (; user; user = user->all) {
		struct tw_budget *budget = this_cpu_ptr(user->budgets);

		/* The parameter may have changed. */
		budget->percent = READ_ONCE(user->percent);
		if (budget->percent)
			over |= tw_budget_spend(budget, start, end);
		else
			budget->over = false;
	}
	return over;
}

/*
 * tw_user_budget_was_over() - was the budget exceeded on this CPU, when somebody last
 * spent of it?
 */
static inline bool tw_user_budget_was_over(const struct tw_user_budget *user)
{
	for (; user; user = user->all)
		/* A migration in between, or an old value, does no harm. */
		if (READ_ONCE(raw_cpu_ptr(user->budgets)->over))
			return true;
	return false;
}

#endif /* _TWHEEL_USER_BUDGET_H */
