/* SPDX-License-Identifier: GPL-2.0-only */
/* Cells that the program arms itself, in the mapping. */
#ifndef _TWHEEL_SUBMIT_H
#define _TWHEEL_SUBMIT_H

#include "store.h"

extern const struct tw_store_ops tw_submit_ops;

u64 tw_submit_fire(struct tw_file *file, u32 first, u64 bits, u64 now_ns, u64 due);
u64 tw_submit_visit(struct tw_file *file, u32 cell, u64 now_ns);

#endif /* _TWHEEL_SUBMIT_H */
