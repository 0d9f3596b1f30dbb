/* SPDX-License-Identifier: GPL-2.0-only */
/* How operations come from a program, and results go back. */
#ifndef _TWHEEL_OPS_H
#define _TWHEEL_OPS_H

#include <linux/types.h>

#include <uapi/linux/twheel.h>

struct tw_file;

/* How many operations are done even if a signal waits: some ten microseconds. */
#define TW_OPS_UNBROKEN	256U

long tw_ops_one(struct tw_file *file, void __user *arg, size_t size);
long tw_ops_all(struct tw_file *file, const struct twheel_ops *ops);

#endif /* _TWHEEL_OPS_H */
