/* SPDX-License-Identifier: GPL-2.0-only */
/* Many timers at once, named by a word or three. */
#ifndef _TWHEEL_MANY_H
#define _TWHEEL_MANY_H

#include <uapi/linux/twheel.h>

struct tw_file;

long tw_many_arm(struct tw_file *file, const struct twheel_many *many);
long tw_many_cancel(struct tw_file *file, const struct twheel_many *many);

#endif /* _TWHEEL_MANY_H */
