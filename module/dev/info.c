// SPDX-License-Identifier: GPL-2.0-only
/* What people can learn of an open file. */
#include <linux/bitops.h>
#include <linux/fs.h>
#include <linux/kernel.h>
#include <linux/seq_file.h>

#include "cells.h"
#include "file.h"

static const char * const info_clock_names[] = {
	[TWHEEL_MONOTONIC]	= "monotonic",
	[TWHEEL_BOOTTIME]	= "boottime",
	[TWHEEL_REALTIME]	= "realtime",
	[TWHEEL_TAI]		= "tai",
	[TWHEEL_VIRTUAL]	= "virtual",
};

static unsigned int info_count_occupied(const struct tw_wheel *w, unsigned int level)
{
	const unsigned long *words = w->buckets.occupied;
	unsigned int index, count = 0;

	for (index = 0; index <= w->mask; index += BITS_PER_LONG)
		count += hweight_long(READ_ONCE(words[BIT_WORD(tw_wheel_index(w, level,
									      index))]));
	return count;
}

/* On 64 bits each number is right at some instant. This takes no lock that others wait for. */
static void info_show_counters(struct seq_file *seq, const struct tw_file *file)
{
	const struct tw_cells *cells = tw_file_cells(file);
	const struct tw_wheel *w = &file->wheel;
	unsigned int i;

	seq_printf(seq, "cells:\t%u\n", cells ? tw_file_number(cells->known) : 0);
	seq_printf(seq, "armed:\t%llu\n", tw_file_number(file->armed));
	seq_printf(seq, "fired:\t%llu\n", tw_file_number(file->fired));
	seq_printf(seq, "cancelled:\t%llu\n", tw_file_number(file->cancelled));
	seq_printf(seq, "extended:\t%llu\n", tw_file_number(file->extended));
	seq_printf(seq, "cascades:\t%llu\n", tw_file_number(w->cascades));
	seq_printf(seq, "alarms:\t%llu\n", (u64)atomic64_read(&file->alarms));
	seq_printf(seq, "postponed:\t%llu\n", (u64)atomic64_read(&file->postponed));
	seq_printf(seq, "late_max_ns:\t%llu\n", tw_file_number(file->late_max));
	seq_printf(seq, "late_sum_ns:\t%llu\n", tw_file_number(file->late_sum));
	seq_puts(seq, "late:\t");
	for (i = 0; i < TW_FILE_LATE; i++)
		seq_printf(seq, "%llu%c", tw_file_number(file->late[i]),
			   i + 1 < TW_FILE_LATE ? ' ' : '\n');
	seq_puts(seq, "occupied:\t");
	for (i = 0; i < w->levels; i++)
		seq_printf(seq, "%u%c", info_count_occupied(w, i), i + 1 < w->levels ? ' ' : '\n');
}

/* tw_info_show() - what /proc/PID/fdinfo says */
void tw_info_show(struct seq_file *seq, struct file *filp)
{
	struct tw_file *file = filp->private_data;
	struct twheel_info info;

	tw_file_info(file, &info);
	seq_printf(seq, "wheel:\t%u\n", file->number);
	seq_printf(seq, "clock:\t%s\n", info_clock_names[info.clock]);
	seq_printf(seq, "tick_ns:\t%llu\n", info.tick_ns);
	seq_printf(seq, "max_timers:\t%u\n", info.max_timers);
	seq_printf(seq, "max_cells:\t%u\n", info.max_cells);
	seq_printf(seq, "timers:\t%llu\n", info.timers);
	seq_printf(seq, "file_memory:\t%llu\n", info.file_memory);
	seq_printf(seq, "user_timers:\t%llu\n", info.user_timers);
	seq_printf(seq, "user_limit:\t%llu\n", info.user_limit);
	seq_printf(seq, "user_memory:\t%llu\n", info.user_memory);
	seq_printf(seq, "user_memory_limit:\t%llu\n", info.user_memory_limit);
	if (tw_file_is_ready(file))
		info_show_counters(seq, file);
}
