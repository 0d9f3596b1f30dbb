/* SPDX-License-Identifier: GPL-2.0-only */
/* How events are read. */
#ifndef _TWHEEL_READ_H
#define _TWHEEL_READ_H

#include <linux/types.h>

struct iov_iter;
struct tw_file;

ssize_t tw_read(struct tw_file *file, struct iov_iter *to, bool wait);

#endif /* _TWHEEL_READ_H */
