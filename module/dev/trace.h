/* SPDX-License-Identifier: GPL-2.0-only */
/* Trace events of files. While an event is off, it costs the nop of its static key. */
#ifndef _TWHEEL_DEV_TRACE_H
#define _TWHEEL_DEV_TRACE_H

#include <trace/events/twheel.h>

#include "file.h"

#define TW_FILE_TRACE_NAME	"/dev/twheel"

u64 tw_file_trace_tick(const struct tw_file *file, const struct twheel_node *node);
int tw_file_trace_level(const struct tw_file *file, const struct twheel_node *node);

/* A timer is armed. */
static __always_inline void tw_file_trace_arm(const struct tw_file *file,
					      const struct twheel_node *node, u64 deadline)
{
	if (trace_twheel_arm_enabled())
		trace_twheel_arm(file->number, TW_FILE_TRACE_NAME, (const void *)node, NULL,
				 deadline, tw_file_trace_tick(file, node),
				 tw_file_trace_level(file, node));
}

/* A timer has another deadline. */
static __always_inline void tw_file_trace_modify(const struct tw_file *file,
						 const struct twheel_node *node, u64 deadline)
{
	if (trace_twheel_modify_enabled())
		trace_twheel_modify(file->number, TW_FILE_TRACE_NAME, (const void *)node, NULL,
				    deadline, tw_file_trace_tick(file, node),
				    tw_file_trace_level(file, node));
}

/* A timer is cancelled. */
static __always_inline void tw_file_trace_cancel(const struct tw_file *file,
						 const struct twheel_node *node, u64 deadline)
{
	if (trace_twheel_cancel_enabled())
		trace_twheel_cancel(file->number, TW_FILE_TRACE_NAME, (const void *)node, NULL,
				    deadline, tw_file_trace_tick(file, node));
}

/* The event of a timer is read. */
static __always_inline void tw_file_trace_expire(const struct tw_file *file,
						 const struct twheel_node *node,
						 u64 deadline, u64 now)
{
	trace_twheel_expire_entry(file->number, TW_FILE_TRACE_NAME, (const void *)node, NULL,
				  deadline, now);
}

#endif /* _TWHEEL_DEV_TRACE_H */
