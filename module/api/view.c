// SPDX-License-Identifier: GPL-2.0-only
/*
 * What people and tools see of the wheels of modules. Each wheel is a file in debugfs, named
 * by its number, with a line for each fact. Open files of /dev/twheel have theirs in fdinfo.
 */
#include <linux/debugfs.h>
#include <linux/kernel.h>
#include <linux/seq_file.h>

#include <linux/twheel.h>
#include <linux/twheel_stats.h>

#include "../core/base.h"
#include "instance.h"

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
	struct twheel_stats stats;

	twheel_get_stats(wheel, &stats);
	seq_printf(seq, "wheel:\t%u\n", wheel->id);
	seq_printf(seq, "name:\t%s\n", wheel->name);
	seq_printf(seq, "owner:\t%s\n", wheel->owner_name);
	seq_printf(seq, "clock:\t%s\n", view_clock_names[stats.clock]);
	seq_printf(seq, "context:\t%s\n", view_context_names[wheel->first->clock.context]);
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
