/* SPDX-License-Identifier: GPL-2.0-only */
/* Operations that travel together. */
#ifndef _TWHEEL_BATCH_H
#define _TWHEEL_BATCH_H

#include <uapi/linux/twheel.h>

struct tw_file;

/* How many operations are done under one hold of the lock: some microseconds. */
#define TW_BATCH_CHUNK		32U

/* The buffer that a file keeps for them. */
#define TW_BATCH_BUFFER		(TW_BATCH_CHUNK * sizeof(struct twheel_op))

/* How many operations are done even if a signal waits: some ten microseconds. */
#define TW_BATCH_UNBROKEN	256U

long tw_batch(struct tw_file *file, const struct twheel_batch *batch);
long tw_batch_one(struct tw_file *file, void __user *user, size_t size,
		  u32 code, bool answered);

#endif /* _TWHEEL_BATCH_H */
