// SPDX-License-Identifier: GPL-2.0-only
/* Fields of trace events of files. */
#include "trace.h"

/* tw_file_trace_tick() - the tick at which a timer is due */
u64 tw_file_trace_tick(const struct tw_file *file, const struct twheel_node *node)
{
	return tw_wheel_ceil(&file->wheel, atomic64_read(&node->word));
}

/* tw_file_trace_level() - the level of a timer's bucket; -1: it is past */
int tw_file_trace_level(const struct tw_file *file, const struct twheel_node *node)
{
	u64 tick = tw_file_trace_tick(file, node);
	const struct tw_wheel *w = &file->wheel;

	return tick <= w->horizon ? -1 :
	       w->rows[tw_top_bit((tick - w->now) | w->mask)].level;
}
