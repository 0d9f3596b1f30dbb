/* SPDX-License-Identifier: GPL-2.0-only */
/* What a file gets after open(): its wheels, entries, and shared memory. */
#ifndef _TWHEEL_SETUP_H
#define _TWHEEL_SETUP_H

#include <linux/types.h>

#include <uapi/linux/twheel.h>

struct tw_file;

int tw_setup(struct tw_file *file, const struct twheel_setup *setup);
int tw_setup_make_room(struct tw_file *file);
int tw_setup_make_delay_wheel(struct tw_file *file);

#endif /* _TWHEEL_SETUP_H */
