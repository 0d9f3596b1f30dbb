/* SPDX-License-Identifier: GPL-2.0-only */
/* Operations on the timers of an open file. */
#ifndef _TWHEEL_OP_H
#define _TWHEEL_OP_H

#include <uapi/linux/twheel.h>

struct tw_file;
struct tw_run;

void tw_op_run(struct tw_file *file, struct twheel_op *ops, unsigned int count);
void tw_op_run_one(struct tw_file *file, struct twheel_op *op);
int tw_op_arm(struct tw_run *run, struct twheel_op *op);
int tw_op_cancel(struct tw_run *run, u64 id);
int tw_op_provide(struct tw_file *file, int need);
int tw_op_cancel_all(struct tw_file *file);

#endif /* _TWHEEL_OP_H */
