/* SPDX-License-Identifier: GPL-2.0-only */
/* Trace events of files. While an event is off, it costs the nop of its static key. */
#ifndef _TWHEEL_DEV_TRACE_H
#define _TWHEEL_DEV_TRACE_H

#include <trace/events/twheel.h>

#include "file.h"

#define TW_FILE_TRACE_NAME	"/dev/twheel"

/* A timer is armed, has another deadline, or is cancelled. */
#define tw_file_trace(event, file, node, deadline)				\
	trace_twheel_##event(&(file)->wheel, (file)->number, TW_FILE_TRACE_NAME,	\
			     (const void *)(node), NULL, deadline,		\
			     atomic64_read(&(node)->word))

/* The event of a timer is read. */
static __always_inline void tw_file_trace_expire(const struct tw_file *file,
						 const struct twheel_node *node,
						 u64 deadline, u64 now)
{
	trace_twheel_expire_entry(file->number, TW_FILE_TRACE_NAME, (const void *)node, NULL,
				  deadline, now);
}

#endif /* _TWHEEL_DEV_TRACE_H */
