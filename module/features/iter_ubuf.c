// SPDX-License-Identifier: GPL-2.0-only
/* 6.0: a read into one array of a program's is a kind of its own. */
#include <linux/uio.h>

static inline void __user *tw_feature(const struct iov_iter *iter)
{
	return iter_is_ubuf(iter) ? iter->ubuf : NULL;
}
