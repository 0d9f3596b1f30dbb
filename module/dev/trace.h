/* SPDX-License-Identifier: GPL-2.0-only */
/* Trace events of files. While an event is off, it costs the nop of its static key. */
#ifndef _TWHEEL_DEV_TRACE_H
#define _TWHEEL_DEV_TRACE_H

#include <trace/events/twheel.h>

#include "file.h"

#define TW_FILE_TRACE_NAME	"/dev/twheel"

/*
 * A timer is armed, has another deadline, or is cancelled. Arguments are evaluated once, and
 * only if the event is on.
 */
#define tw_file_trace(event, file, node, deadline)				\
do {										\
	if (trace_twheel_##event##_enabled()) {					\
		const struct tw_file *__file = (file);				\
		const struct twheel_node *__node = (node);			\
										\
		trace_twheel_##event(&__file->wheel, __file->number,		\
				     TW_FILE_TRACE_NAME, (const void *)__node,	\
				     NULL, deadline,				\
				     atomic64_read(&__node->word));		\
	}									\
} while (0)

/* The event of a timer is read. */
static __always_inline void tw_file_trace_expire(const struct tw_file *file,
						 const struct twheel_node *node,
						 u64 deadline, u64 now)
{
	trace_twheel_expire_entry(file->number, TW_FILE_TRACE_NAME, (const void *)node, NULL,
				  deadline, now);
}

#endif /* _TWHEEL_DEV_TRACE_H */
