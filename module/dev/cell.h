/* SPDX-License-Identifier: GPL-2.0-only */
/* Cells: timers whose deadline is a word in memory shared with the program. */
#ifndef _TWHEEL_CELL_H
#define _TWHEEL_CELL_H

#include "store.h"

extern const struct tw_store_ops tw_cell_ops;

u32 tw_cell_unread(const struct tw_file *file);
u32 tw_cell_waiting(const struct tw_file *file);

int tw_cell_read_times(struct tw_run *run, const struct twheel_op *op, u64 *ticks,
		       u64 *period);
u64 tw_cell_ticks(struct tw_run *run, const struct tw_entry *entry, u64 word);
int tw_cell_query(struct tw_run *run, const struct tw_entry *entry, u64 word, bool armed,
		  u64 *deadline);
u64 tw_cell_shown(const struct tw_run *run, u64 ticks);

#endif /* _TWHEEL_CELL_H */
