/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A limit on timers that several bases share.
 *
 * Each base arms on credits of its own, so that arming touches no shared cache
 * line. It fetches them from the pool in batches, and takes back to it what it
 * does not need. So the limit is never exceeded, and may seem reached while other
 * bases hold unused credits: at most twice what they may keep, each.
 */
#ifndef _TWHEEL_QUOTA_H
#define _TWHEEL_QUOTA_H

#include <linux/atomic.h>
#include <linux/minmax.h>

/* So many at a time: rare enough not to be felt. */
#define TW_QUOTA_BATCH	64U

/**
 * struct tw_quota - the pool
 * @left: credits that no base holds
 * @batch: how many a base takes at a time
 * @keep: how many unused ones a base keeps
 */
struct tw_quota {
	atomic_t left;
	unsigned int batch;
	unsigned int keep;
};

/* @bases share @limit, of at most INT_MAX. */
static inline void tw_quota_init(struct tw_quota *credits,
				   unsigned int limit, unsigned int bases)
{
	atomic_set(&credits->left, limit);
	/* What the others may hold unused stays below half of the limit. */
	credits->keep = min(limit / (4 * bases), TW_QUOTA_BATCH);
	credits->batch = max(credits->keep, 1U);
}

/* Fetch a batch, or what there is. Returns how many. */
static inline unsigned int tw_quota_take(struct tw_quota *credits)
{
	int left = atomic_read(&credits->left);
	int taken;

	do {
		taken = min_t(int, left, credits->batch);
		if (!taken)
			return 0;
	} while (!atomic_try_cmpxchg(&credits->left, &left, left - taken));
	return taken;
}

/* How many of @spare unused credits a base should give back. */
static inline unsigned int tw_quota_surplus(const struct tw_quota *credits,
					      unsigned int spare)
{
	return spare > 2 * credits->keep ? spare - credits->keep : 0;
}

static inline void tw_quota_give(struct tw_quota *credits,
				   unsigned int given)
{
	atomic_add(given, &credits->left);
}

#endif /* _TWHEEL_QUOTA_H */
