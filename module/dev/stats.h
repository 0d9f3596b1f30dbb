/* SPDX-License-Identifier: GPL-2.0-only */
/* What programs can ask of an open file: information and statistics. */
#ifndef _TWHEEL_DEV_STATS_H
#define _TWHEEL_DEV_STATS_H

#include <uapi/linux/twheel.h>

struct seq_file;
struct tw_file;

void tw_stats_info(struct tw_file *file, struct twheel_info *info);
void tw_stats_get(struct tw_file *file, struct twheel_file_stats *stats);
void tw_stats_show(struct seq_file *seq, struct tw_file *file);

#endif /* _TWHEEL_DEV_STATS_H */
