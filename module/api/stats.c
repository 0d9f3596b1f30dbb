// SPDX-License-Identifier: GPL-2.0-only
/* What a wheel says of itself: its time, its shape, what it holds and has done. */
#include <linux/bitmap.h>
#include <linux/bitops.h>
#include <linux/build_bug.h>
#include <linux/minmax.h>
#include <linux/spinlock.h>
#include <linux/string.h>

#include <linux/twheel.h>
#include <linux/twheel_stats.h>

#include "../core/base.h"
#include "../export.h"
#include "instance.h"

/**
 * twheel_now() - the time on a wheel's clock
 * @wheel: the wheel; that of a timer is twheel_of()
 *
 * On %TWHEEL_CLOCK_MONOTONIC, as of the system wheel, that is ktime_get_ns().
 *
 * Context:
 * * any but NMI
 * Return:
 * * ns
 */
u64 twheel_now(const struct twheel *wheel)
{
	return tw_clock_now(&wheel->first->clock);
}
TW_EXPORT(twheel_now);

static void stats_add(struct twheel_base *base, struct twheel_stats *stats)
{
	unsigned long flags;
	unsigned int i;
	u64 fired;

	raw_spin_lock_irqsave(&base->lock, flags);
	stats->pending += tw_base_pending(base);
	fired = tw_base_fired(base);
	/* Each timer that became pending still is, or ended in one of these ways. */
	stats->armed += tw_base_pending(base) + fired + base->cancelled +
			base->unfired;
	stats->fired += fired;
	stats->cancelled += base->cancelled;
	stats->unfired += base->unfired;
	stats->cascades += base->wheel.cascades;
	stats->requeued += base->wheel.requeued;
	stats->passes += base->passes;
	stats->exhausted += base->exhausted;
	stats->late_sum += base->late_sum;
	for (i = 0; i < TWHEEL_LATE_BUCKETS; i++)
		stats->late[i] += base->late[i];
	raw_spin_unlock_irqrestore(&base->lock, flags);
}

/**
 * twheel_get_stats() - what a wheel is, holds and has done
 * @wheel: the wheel
 * @stats: filled in. Of a per-CPU wheel it adds up one snapshot of
 *	each CPU's base
 *
 * Context:
 * * any but NMI
 */
void twheel_get_stats(struct twheel *wheel, struct twheel_stats *stats)
{
	struct twheel_base *base = wheel->first;
	unsigned int i;

	*stats = (struct twheel_stats) {
		.tick_ns	= base->wheel.tick_ns,
		.clock		= base->clock.id,
		.slots		= 1U << base->wheel.shift,
		.levels		= base->wheel.levels,
	};
	tw_for_each_base(base, i, wheel)
		stats_add(base, stats);
}
TW_EXPORT(twheel_get_stats);

/* How many buckets of a level have a timer. */
static unsigned int stats_count_level(const struct tw_wheel *w, unsigned int level)
{
	unsigned int first = tw_wheel_index(w, level, 0);
	unsigned int buckets = w->mask + 1;
	const unsigned long *words = w->buckets.occupied + BIT_WORD(first);

	if (!(w->active & BIT_ULL(level)))
		return 0;
	if (buckets >= BITS_PER_LONG)
		return bitmap_weight(words, buckets);
	/* Several levels to a word. */
	return hweight_long(*words >> first % BITS_PER_LONG &
			    GENMASK(buckets - 1, 0));
}

/*
 * tw_instance_occupied() - how many buckets of each level have a timer
 * @buckets: filled in, with 0 for levels that the wheel has not. A level has twice as
 *	many as &twheel_stats.slots. Those of a per-CPU wheel are added up
 */
void tw_instance_occupied(struct twheel *wheel, unsigned int buckets[TWHEEL_LEVELS_MAX])
{
	struct twheel_base *base;
	unsigned int level, i;
	unsigned long flags;

	BUILD_BUG_ON(tw_wheel_levels(3) != TWHEEL_LEVELS_MAX);
	memset(buckets, 0, TWHEEL_LEVELS_MAX * sizeof(*buckets));
	tw_for_each_base(base, i, wheel) {
		for (level = 0; level < base->wheel.levels; level++) {
			raw_spin_lock_irqsave(&base->lock, flags);
			buckets[level] += stats_count_level(&base->wheel, level);
			raw_spin_unlock_irqrestore(&base->lock, flags);
		}
	}
}
TW_EXPORT_FOR_TESTS(tw_instance_occupied);

/**
 * twheel_data() - the pointer that was &twheel_config.data
 * @wheel: the wheel
 *
 * Context:
 * * any but NMI
 * Return:
 * * the pointer
 */
void *twheel_data(const struct twheel *wheel)
{
	return wheel->data;
}
TW_EXPORT(twheel_data);
