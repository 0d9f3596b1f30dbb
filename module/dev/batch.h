/* SPDX-License-Identifier: GPL-2.0-only */
/* Operations that travel together. */
#ifndef _TWHEEL_BATCH_H
#define _TWHEEL_BATCH_H

#include <uapi/linux/twheel.h>

#include "run.h"

struct tw_file;

/* The buffer that a file keeps for them. */
#define TW_BATCH_BUFFER		(TW_RUN_MAX * sizeof(struct twheel_op))

/* How many operations are done even if a signal waits: some ten microseconds. */
#define TW_BATCH_UNBROKEN	256U

void *tw_batch_get_buffer(struct tw_file *file);
void tw_batch_put_buffer(struct tw_file *file, void *buffer);
long tw_batch(struct tw_file *file, const struct twheel_batch *batch);
long tw_batch_one(struct tw_file *file, void __user *user, size_t size,
		  u32 code, bool answered);

#endif /* _TWHEEL_BATCH_H */
