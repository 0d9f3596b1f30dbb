// SPDX-License-Identifier: GPL-2.0-only
/* 6.13: the function of an hrtimer is set with the rest of it; 6.15: by nothing else. */
#include <linux/hrtimer.h>

static inline void tw_feature(struct hrtimer *timer,
			      enum hrtimer_restart (*function)(struct hrtimer *))
{
	hrtimer_setup(timer, function, CLOCK_MONOTONIC, HRTIMER_MODE_ABS);
}
