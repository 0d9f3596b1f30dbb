// SPDX-License-Identifier: GPL-2.0-only
/* 6.17: a workqueue says so if it is per CPU; later ones complain if it does not. */
#include <linux/workqueue.h>

static inline unsigned int tw_feature(void)
{
	return WQ_PERCPU;
}
