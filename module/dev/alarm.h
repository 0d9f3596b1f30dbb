/* SPDX-License-Identifier: GPL-2.0-only */
/* The alarm of a file: all that runs in interrupt context. */
#ifndef _TWHEEL_ALARM_H
#define _TWHEEL_ALARM_H

#include <linux/types.h>

struct tw_file;

void tw_alarm_init(struct tw_file *file);
void tw_alarm_exit(struct tw_file *file);
void tw_alarm_set(struct tw_file *file, u64 ns);
void tw_alarm_soon(struct tw_file *file);

#endif /* _TWHEEL_ALARM_H */
