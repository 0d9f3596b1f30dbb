/* SPDX-License-Identifier: GPL-2.0-only */
/* Operations on the timers of an open file. */
#ifndef _TWHEEL_OP_H
#define _TWHEEL_OP_H

#include <uapi/linux/twheel.h>

struct tw_file;

/* How many operations are done under one hold of the lock. They are on the stack. */
#define TW_OP_MOST	10U

void tw_op_run(struct tw_file *file, struct twheel_op *ops, unsigned int count);

#endif /* _TWHEEL_OP_H */
