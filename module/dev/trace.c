// SPDX-License-Identifier: GPL-2.0-only
/* Trace events of files, whose fields are computed out of line. */
#include "trace.h"

static u64 trace_tick(const struct tw_file *file, const struct twheel_node *node)
{
	return tw_wheel_ceil(&file->wheel, atomic64_read(&node->word));
}

/* The level of a timer's bucket, or -1 if it is past. */
static int trace_level(const struct tw_file *file, u64 tick)
{
	const struct tw_wheel *w = &file->wheel;

	return tick <= w->horizon ? -1 :
	       w->rows[tw_top_bit((tick - w->now) | w->mask)].level;
}

void __tw_file_trace_arm(const struct tw_file *file, const struct twheel_node *node,
			 u64 deadline)
{
	u64 tick = trace_tick(file, node);

	trace_twheel_arm(file->number, TW_FILE_TRACE_NAME, (const void *)node, NULL, deadline,
			 tick, trace_level(file, tick));
}

void __tw_file_trace_modify(const struct tw_file *file, const struct twheel_node *node,
			    u64 deadline)
{
	u64 tick = trace_tick(file, node);

	trace_twheel_modify(file->number, TW_FILE_TRACE_NAME, (const void *)node, NULL,
			    deadline, tick, trace_level(file, tick));
}

void __tw_file_trace_cancel(const struct tw_file *file, const struct twheel_node *node,
			    u64 deadline)
{
	trace_twheel_cancel(file->number, TW_FILE_TRACE_NAME, (const void *)node, NULL,
			    deadline, trace_tick(file, node));
}
