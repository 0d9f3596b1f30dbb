// SPDX-License-Identifier: GPL-2.0-only
/*
 * What people and tools see of a wheel.
 *
 * Each wheel that a module has made is a file in debugfs, named by its number, with a
 * line for each thing. An open file of /dev/twheel has the same lines, where they
 * apply, in fdinfo: there it is whoever may look into the process who sees them, and
 * to open a file makes no files elsewhere.
 */
#include <linux/debugfs.h>
#include <linux/kernel.h>
#include <linux/seq_file.h>

#include <linux/twheel.h>

#include "../api/instance.h"
#include "counters.h"
#include "view.h"

/* "4294967295" and the end. */
#define NUMBER	11

static struct dentry *folder;

static const char * const clock_names[] = {
	[TWHEEL_CLOCK_MONOTONIC]	= "monotonic",
	[TWHEEL_CLOCK_BOOTTIME]		= "boottime",
	[TWHEEL_CLOCK_REALTIME]		= "realtime",
	[TWHEEL_CLOCK_VIRTUAL]		= "virtual",
};

static const char * const context_names[] = {
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
	struct tw_instance_description wheel_is;
	struct twheel_geometry geometry;
	struct twheel_stats stats;

	tw_instance_describe(wheel, &wheel_is);
	twheel_get_geometry(wheel, &geometry);
	twheel_get_stats(wheel, &stats);
	seq_printf(seq, "wheel:\t%u\n", wheel_is.id);
	seq_printf(seq, "name:\t%s\n", wheel_is.name);
	seq_printf(seq, "owner:\t%s\n", wheel_is.owner);
	seq_printf(seq, "clock:\t%s\n", clock_names[geometry.clock]);
	seq_printf(seq, "context:\t%s\n", context_names[wheel_is.context]);
	seq_printf(seq, "percpu:\t%u\n", wheel_is.percpu);
	seq_printf(seq, "tick_ns:\t%llu\n", geometry.tick_ns);
	seq_printf(seq, "slots:\t%u\n", geometry.slots);
	seq_printf(seq, "levels:\t%u\n", geometry.levels);
#define SKIP(...)
#define SHOW(name, field)	\
	seq_printf(seq, #name ":\t%llu\n", stats.field);
#define SHOW_EACH(name, of_file, field, ...)	SHOW(name, field)
#define SHOW_MODULE(name, field, ...)	SHOW(name, field)
	TW_COUNTERS(SKIP, SHOW_EACH, SHOW_EACH, SHOW_MODULE)
#undef SHOW_MODULE
#undef SHOW_EACH
#undef SHOW
#undef SKIP
	tw_view_late(seq, stats.late);
	tw_view_occupied(seq, wheel, NULL, geometry.levels);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(view);

static void *view_add(struct twheel *wheel)
{
	char number[NUMBER];

	snprintf(number, sizeof(number), "%u", twheel_id(wheel));
	/* Errors are ignored, as debugfs asks. */
	return debugfs_create_file(number, 0400, folder, wheel, &view_fops);
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
	folder = debugfs_create_dir(KBUILD_MODNAME, NULL);
	tw_instances_observe(&view_observer);
}

/* tw_view_exit() - show them no longer */
void tw_view_exit(void)
{
	tw_instances_observe(NULL);
	debugfs_remove(folder);
}
