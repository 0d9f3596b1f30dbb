/* SPDX-License-Identifier: GPL-2.0-only */
/* How many periods of a timer have been missed: the only place that says so. */
#ifndef _TWHEEL_OVERRUNS_H
#define _TWHEEL_OVERRUNS_H

#include <linux/math64.h>
#include <linux/types.h>

/*
 * tw_overruns() - how many deadlines have passed since @deadline
 * @now: the time, in the unit of the other two: ns or ticks
 * @deadline: the one that is served now; it does not count
 * @period: not 0
 *
 * The last deadline that has come is @deadline plus that number of periods.
 */
static inline u64 tw_overruns(u64 now, u64 deadline, u64 period)
{
	return now > deadline ? div64_u64(now - deadline, period) : 0;
}

#endif /* _TWHEEL_OVERRUNS_H */
