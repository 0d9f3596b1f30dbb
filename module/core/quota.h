/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A limit on timers that several bases share.
 *
 * Each base has a part of the limit, its quota, so that arming touches no shared cache
 * line. It takes quota from the pool in batches, and gives back what it does not need.
 * So the limit is never exceeded. It may look reached while other bases have quota that
 * they do not use: each at most twice what it may keep.
 */
#ifndef _TWHEEL_QUOTA_H
#define _TWHEEL_QUOTA_H

#include <linux/atomic.h>
#include <linux/minmax.h>

/* How much is taken at a time: enough to make that rare. */
#define TW_QUOTA_BATCH	64U

/**
 * struct tw_quota - the pool
 * @left: how many timers no base has quota for
 * @batch: how much a base takes at a time
 * @keep: how much unused quota a base keeps
 */
struct tw_quota {
	atomic_t left;
	unsigned int batch;
	unsigned int keep;
};

/* @bases share @limit, of at most INT_MAX. */
static inline void tw_quota_init(struct tw_quota *quota,
				 unsigned int limit, unsigned int bases)
{
	atomic_set(&quota->left, limit);
	/* All unused quota together stays below half of the limit. */
	quota->keep = min(limit / (4 * bases), TW_QUOTA_BATCH);
	quota->batch = max(quota->keep, 1U);
}

/* Take a batch, or what is left. Returns how much. */
static inline unsigned int tw_quota_take(struct tw_quota *quota)
{
	int left = atomic_read(&quota->left);
	int taken;

	do {
		taken = min_t(int, left, quota->batch);
		if (!taken)
			return 0;
	} while (!atomic_try_cmpxchg(&quota->left, &left, left - taken));
	return taken;
}

/* How much of @spare, its unused quota, a base should give back. */
static inline unsigned int tw_quota_surplus(const struct tw_quota *quota,
					    unsigned int spare)
{
	return spare > 2 * quota->keep ? spare - quota->keep : 0;
}

static inline void tw_quota_give(struct tw_quota *quota,
				 unsigned int given)
{
	atomic_add(given, &quota->left);
}

#endif /* _TWHEEL_QUOTA_H */
