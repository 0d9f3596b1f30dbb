/* SPDX-License-Identifier: GPL-2.0-only */
/* What people and tools see of a wheel: lines of fdinfo, and files in debugfs. */
#ifndef _TWHEEL_VIEW_H
#define _TWHEEL_VIEW_H

#include <linux/types.h>

struct seq_file;
struct twheel;

void tw_view_late(struct seq_file *seq, const u64 *late);
void tw_view_occupied(struct seq_file *seq, struct twheel *wheel,
		      struct twheel *more, unsigned int levels);

void tw_view_init(void);
void tw_view_exit(void);

#endif /* _TWHEEL_VIEW_H */
