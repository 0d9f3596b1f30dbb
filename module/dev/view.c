// SPDX-License-Identifier: GPL-2.0-only
/*
 * What people and tools see of a wheel.
 *
 * Each wheel of a module is a file in debugfs, named by its number, with a line for each
 * thing. An open file of /dev/twheel has the same lines, where they apply, in fdinfo.
 * There they can be read with the rights to look into the process, and opening the
 * device makes no file in debugfs.
 */
#include <linux/debugfs.h>
#include <linux/kernel.h>
#include <linux/seq_file.h>

#include <linux/twheel.h>

#include "../api/instance.h"
#include "counters.h"
#include "view.h"

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
	[TWHEEL_CONTEXT_HARDIRQ]	= "hardirq",
	[TWHEEL_CONTEXT_WORK]		= "work",
};

/*
 * tw_view_late() - a line with all counts of lateness
 * @late: as &twheel_stats.late
 */
void tw_view_late(struct seq_file *seq, const u64 *late)
{
	unsigned int i;

	seq_puts(seq, "late:\t");
	for (i = 0; i < TWHEEL_LATE_BUCKETS; i++)
		seq_printf(seq, "%llu%c", late[i],
			   i + 1 < TWHEEL_LATE_BUCKETS ? ' ' : '\n');
}

/*
 * tw_view_occupied() - a line with the number of occupied buckets of each level
 * @wheel: the wheel, or NULL
 * @more: another one like it, whose buckets are added; or NULL
 */
void tw_view_occupied(struct seq_file *seq, struct twheel *wheel,
		      struct twheel *more, unsigned int levels)
{
	unsigned int buckets[TWHEEL_LEVELS_MAX] = { };
	unsigned int extra[TWHEEL_LEVELS_MAX] = { };
	unsigned int i;

	if (wheel)
		twheel_get_occupied(wheel, buckets);
	if (more)
		twheel_get_occupied(more, extra);
	for (i = 0; i < levels; i++)
		buckets[i] += extra[i];
	seq_puts(seq, "occupied:\t");
	for (i = 0; i < levels; i++)
		seq_printf(seq, "%u%c", buckets[i], i + 1 < levels ? ' ' : '\n');
}

static int view_show(struct seq_file *seq, void *unused)
{
	struct twheel *wheel = seq->private;
	struct tw_instance_description description;
	struct twheel_geometry geometry;
	struct twheel_stats stats;

	tw_instance_describe(wheel, &description);
	twheel_get_geometry(wheel, &geometry);
	twheel_get_stats(wheel, &stats);
	seq_printf(seq, "wheel:\t%u\n", description.id);
	seq_printf(seq, "name:\t%s\n", description.name);
	seq_printf(seq, "owner:\t%s\n", description.owner);
	seq_printf(seq, "clock:\t%s\n", view_clock_names[geometry.clock]);
	seq_printf(seq, "context:\t%s\n", view_context_names[description.context]);
	seq_printf(seq, "percpu:\t%u\n", description.percpu);
	seq_printf(seq, "tick_ns:\t%llu\n", geometry.tick_ns);
	seq_printf(seq, "slots:\t%u\n", geometry.slots);
	seq_printf(seq, "levels:\t%u\n", geometry.levels);
#define COUNTER_SKIP(...)
#define COUNTER_SHOW(name, field)	\
	seq_printf(seq, #name ":\t%llu\n", stats.field);
#define SHOW_EACH(name, of_file, field, ...)	COUNTER_SHOW(name, field)
#define SHOW_MODULE(name, field, ...)	COUNTER_SHOW(name, field)
	TW_COUNTERS(COUNTER_SKIP, SHOW_EACH, SHOW_EACH, SHOW_MODULE)
#undef SHOW_MODULE
#undef SHOW_EACH
#undef COUNTER_SHOW
#undef COUNTER_SKIP
	tw_view_late(seq, stats.late);
	tw_view_occupied(seq, wheel, NULL, geometry.levels);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(view);

static void *view_add(struct twheel *wheel)
{
	char number[VIEW_NAME_BYTES];

	snprintf(number, sizeof(number), "%u", twheel_id(wheel));
	/* Errors are ignored, as debugfs asks. */
	return debugfs_create_file(number, 0400, view_folder, wheel, &view_fops);
}

/* Readers of the file have left it when this returns. */
static void view_remove(void *file)
{
	debugfs_remove(file);
}

static const struct tw_instance_observer view_observer = {
	.added		= view_add,
	.removed	= view_remove,
};

/* tw_view_init() - show the wheels of modules, from now on */
void __init tw_view_init(void)
{
	view_folder = debugfs_create_dir(KBUILD_MODNAME, NULL);
	tw_instances_observe(&view_observer);
}

/* tw_view_exit() - show no wheels any more */
void tw_view_exit(void)
{
	tw_instances_observe(NULL);
	debugfs_remove(view_folder);
}
