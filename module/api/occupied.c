// SPDX-License-Identifier: GPL-2.0-only
/*
 * How full a wheel is: a picture for people, from the bitmaps alone.
 */
#include <linux/bitmap.h>
#include <linux/bitops.h>
#include <linux/build_bug.h>
#include <linux/spinlock.h>

#include <linux/twheel.h>

#include "../core/base.h"
#include "../export.h"
#include "instance.h"

/* How many buckets of a level have a timer. */
static unsigned int count(const struct tw_wheel *w, unsigned int level)
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

/**
 * twheel_get_occupied() - how many buckets of each level have a timer
 * @wheel: the wheel
 * @buckets: filled in, with 0 for levels that there are not. A level has twice as
 *	many as &twheel_geometry.slots. Those of a per-CPU wheel are
 *	added up
 *
 * It counts the bits of bitmaps, a level at a time: some hundred instructions at most
 * with the lock held, however many timers there are.
 *
 * Context:
 * * any
 */
void twheel_get_occupied(struct twheel *wheel,
			 unsigned int buckets[TWHEEL_LEVELS_MAX])
{
	unsigned int level, i;

	BUILD_BUG_ON(TWHEEL_LEVELS_MAX != tw_wheel_levels(1));
	for (level = 0; level < TWHEEL_LEVELS_MAX; level++)
		buckets[level] = 0;
	for (i = 0; i < wheel->nr_bases; i++) {
		struct twheel_base *base = wheel->bases[i];

		for (level = 0; base && level < base->wheel.levels; level++) {
			unsigned long flags;

			raw_spin_lock_irqsave(&base->lock, flags);
			buckets[level] += count(&base->wheel, level);
			raw_spin_unlock_irqrestore(&base->lock, flags);
		}
	}
}
TW_EXPORT(twheel_get_occupied);
