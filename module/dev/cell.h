/* SPDX-License-Identifier: GPL-2.0-only */
/* Timers whose deadline is a word in the shared mapping. */
#ifndef _TWHEEL_CELL_H
#define _TWHEEL_CELL_H

#include <linux/types.h>

#include <uapi/linux/twheel.h>

struct tw_file;
struct tw_entry;

int tw_cell_arm(struct tw_file *file, const struct twheel_op *op, u64 deadline);
int tw_cell_cancel(struct tw_file *file, struct tw_entry *slot);
int tw_cell_modify(struct tw_file *file, struct tw_entry *slot, u64 deadline,
		   bool later);
int tw_cell_query(struct tw_file *file, struct tw_entry *slot, u64 *deadline);
int tw_cell_kick(struct tw_file *file, struct tw_entry *slot);
bool tw_cell_expire(struct tw_file *file, struct tw_entry *slot);

#endif /* _TWHEEL_CELL_H */
