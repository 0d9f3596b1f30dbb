// SPDX-License-Identifier: GPL-2.0-only
/*
 * Compiles for every kernel, or the build stops. It has all that the others include: what
 * they do not compile for is the feature that they use.
 */
#include <linux/export.h>
#include <linux/hrtimer.h>
#include <linux/io_uring.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/sched/isolation.h>
#include <linux/uio.h>
#include <linux/workqueue.h>
#if __has_include(<linux/io_uring/cmd.h>)
#include <linux/io_uring/cmd.h>
#endif

static_assert(!__same_type(struct hrtimer, struct vm_area_struct));

static inline void tw_feature(struct hrtimer *timer)
{
	hrtimer_cancel(timer);
}
