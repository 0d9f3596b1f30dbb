// SPDX-License-Identifier: GPL-2.0-only
/* What a wheel says of itself: its time, its shape, what it holds and has done. */
#include <linux/bitmap.h>
#include <linux/bitops.h>
#include <linux/build_bug.h>
#include <linux/debugfs.h>
#include <linux/kernel.h>
#include <linux/minmax.h>
#include <linux/seq_file.h>
#include <linux/spinlock.h>
#include <linux/string.h>

#include <linux/twheel.h>
#include <linux/twheel_stats.h>

#include "../export.h"
#include "base.h"

/**
 * twheel_now() - the time on a wheel's clock
 * @wheel: the wheel; that of a timer is twheel_of()
 *
 * On %TWHEEL_CLOCK_MONOTONIC, as of the system wheel, that is ktime_get_ns().
 *
 * Return:
 * * ns
 */
u64 twheel_now(const struct twheel *wheel)
{
	return tw_clock_now(&tw_instance_base(wheel)->clock);
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
 */
void twheel_get_stats(struct twheel *wheel, struct twheel_stats *stats)
{
	struct twheel_base *base = tw_instance_base(wheel);
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
 * @buckets: filled in, with 0 for levels that the wheel has not. A level has four times as
 *	many as &twheel_stats.slots. Those of a per-CPU wheel are added up
 */
void tw_instance_occupied(struct twheel *wheel, unsigned int buckets[TWHEEL_LEVELS_MAX])
{
	struct twheel_base *base;
	unsigned int level, i;
	unsigned long flags;

	BUILD_BUG_ON(tw_wheel_levels(3, 62) != TWHEEL_LEVELS_MAX);
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
 * Return:
 * * the pointer
 */
void *twheel_data(const struct twheel *wheel)
{
	return wheel->data;
}
TW_EXPORT(twheel_data);

/*
 * What people and tools see of the wheels of modules. Each wheel is a file in debugfs, named
 * by its number, with a line for each fact. Open files of /dev/twheel have theirs in fdinfo.
 */

/* "4294967295" and the terminating zero. */
#define VIEW_NAME_BYTES	11

static struct dentry *view_folder;

static const char * const view_clock_names[] = {
	[TWHEEL_CLOCK_MONOTONIC]	= "monotonic",
	[TWHEEL_CLOCK_BOOTTIME]		= "boottime",
	[TWHEEL_CLOCK_REALTIME]		= "realtime",
	[TWHEEL_CLOCK_TAI]		= "tai",
	[TWHEEL_CLOCK_VIRTUAL]		= "virtual",
};

static const char * const view_context_names[] = {
	[TWHEEL_CONTEXT_SOFTIRQ]	= "softirq",
	[TWHEEL_CONTEXT_WORK]		= "work",
};

/* A line with all counts of lateness. */
static void view_show_late(struct seq_file *seq, const u64 *late)
{
	unsigned int i;

	seq_puts(seq, "late:\t");
	for (i = 0; i < TWHEEL_LATE_BUCKETS; i++)
		seq_printf(seq, "%llu%c", late[i],
			   i + 1 < TWHEEL_LATE_BUCKETS ? ' ' : '\n');
}

/* A line with the number of occupied buckets of each level. */
static noinline_for_stack void view_show_occupied(struct seq_file *seq, struct twheel *wheel,
						  unsigned int levels)
{
	unsigned int buckets[TWHEEL_LEVELS_MAX] = { };
	unsigned int i;

	tw_instance_occupied(wheel, buckets);
	seq_puts(seq, "occupied:\t");
	for (i = 0; i < levels; i++)
		seq_printf(seq, "%u%c", buckets[i], i + 1 < levels ? ' ' : '\n');
}

static int view_show(struct seq_file *seq, void *unused)
{
	struct twheel *wheel = seq->private;
	enum twheel_context context = tw_instance_base(wheel)->clock.context;
	struct twheel_stats stats;

	twheel_get_stats(wheel, &stats);
	seq_printf(seq, "wheel:\t%u\n", wheel->id);
	seq_printf(seq, "name:\t%s\n", wheel->name);
	seq_printf(seq, "owner:\t%s\n", wheel->owner_name);
	seq_printf(seq, "clock:\t%s\n", view_clock_names[stats.clock]);
	seq_printf(seq, "context:\t%s\n", view_context_names[context]);
	seq_printf(seq, "percpu:\t%u\n", wheel->percpu);
	seq_printf(seq, "tick_ns:\t%llu\n", stats.tick_ns);
	seq_printf(seq, "slots:\t%u\n", stats.slots);
	seq_printf(seq, "levels:\t%u\n", stats.levels);
	seq_printf(seq, "pending:\t%llu\n", stats.pending);
	seq_printf(seq, "armed:\t%llu\n", stats.armed);
	seq_printf(seq, "fired:\t%llu\n", stats.fired);
	seq_printf(seq, "cancelled:\t%llu\n", stats.cancelled);
	seq_printf(seq, "unfired:\t%llu\n", stats.unfired);
	seq_printf(seq, "extended:\t%llu\n", stats.requeued);
	seq_printf(seq, "cascades:\t%llu\n", stats.cascades);
	seq_printf(seq, "passes:\t%llu\n", stats.passes);
	seq_printf(seq, "exhausted:\t%llu\n", stats.exhausted);
	seq_printf(seq, "late_sum_ns:\t%llu\n", stats.late_sum);
	view_show_late(seq, stats.late);
	view_show_occupied(seq, wheel, stats.levels);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(view);

/* tw_view_add() - show a wheel. Returns what tw_view_remove() takes */
struct dentry *tw_view_add(struct twheel *wheel)
{
	char number[VIEW_NAME_BYTES];

	snprintf(number, sizeof(number), "%u", wheel->id);
	/* Errors are ignored, as debugfs asks. */
	return debugfs_create_file(number, 0400, view_folder, wheel, &view_fops);
}

/* tw_view_remove() - show it no more. Readers have left it when this returns */
void tw_view_remove(struct dentry *view)
{
	debugfs_remove(view);
}

/* tw_view_init() - get ready to show wheels */
void __init tw_view_init(void)
{
	view_folder = debugfs_create_dir(KBUILD_MODNAME, NULL);
}

/* tw_view_exit() - there are no wheels any more */
void tw_view_exit(void)
{
	debugfs_remove(view_folder);
}
