/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What several bases take in softirq together, on each CPU: the files of one user. For
 * each CPU there is a bucket as in share.h.
 *
 * Only what is done in softirq flows in. So when one base takes more than its own share,
 * and has a thread, the others do not suffer from that. When all together take more,
 * those whose turn it is get threads, until the bucket has run half dry.
 */
#ifndef _TWHEEL_ACCOUNT_H
#define _TWHEEL_ACCOUNT_H

#include <linux/errno.h>
#include <linux/lockdep.h>
#include <linux/percpu.h>
#include <linux/types.h>

#include "share.h"

/**
 * struct tw_account - what bases take together
 * @percent: how much of a CPU they may
 * @shares: of each CPU; touched by that one only, with interrupts off
 */
struct tw_account {
	unsigned int percent;
	struct tw_share __percpu *shares;
};

/* Return: 0, -ENOMEM. */
static inline int tw_account_init(struct tw_account *account)
{
	account->shares = alloc_percpu_gfp(struct tw_share, GFP_KERNEL_ACCOUNT);
	return account->shares ? 0 : -ENOMEM;
}

/* No base has it any more. */
static inline void tw_account_exit(struct tw_account *account)
{
	free_percpu(account->shares);
}

/*
 * tw_account_spend() - this CPU has been in softirq for it from @start to @end, in ns
 *
 * Return: has the share been exceeded?
 */
static inline bool tw_account_spend(struct tw_account *account, u64 start,
				    u64 end)
{
	struct tw_share *share = this_cpu_ptr(account->shares);

	lockdep_assert_irqs_disabled();
	/* The parameter may have changed. */
	share->percent = READ_ONCE(account->percent);
	return tw_share_spend(share, start, end);
}

#endif /* _TWHEEL_ACCOUNT_H */
