/* SPDX-License-Identifier: GPL-2.0-only */
/* Operations on the timers of an open file. */
#ifndef _TWHEEL_OP_H
#define _TWHEEL_OP_H

#include <uapi/linux/twheel.h>

struct tw_file;

void tw_op_run(struct tw_file *file, struct twheel_op *ops, unsigned int count);
int tw_op_cancel_all(struct tw_file *file);

#endif /* _TWHEEL_OP_H */
