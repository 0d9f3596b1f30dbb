/* SPDX-License-Identifier: GPL-2.0-only */
/* What programs and people can learn of an open file. */
#ifndef _TWHEEL_INFO_H
#define _TWHEEL_INFO_H

#include <uapi/linux/twheel.h>

struct seq_file;
struct tw_file;

void tw_info_get(struct tw_file *file, struct twheel_info *info);
void tw_info_show(struct seq_file *seq, struct tw_file *file);

#endif /* _TWHEEL_INFO_H */
