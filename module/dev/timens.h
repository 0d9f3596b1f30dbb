/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Absolute times are in the caller's time namespace: its clocks show the kernel's time
 * plus an offset. Clocks that can be set are the same everywhere.
 */
#ifndef _TWHEEL_TIMENS_H
#define _TWHEEL_TIMENS_H

#include <linux/minmax.h>
#include <linux/overflow.h>
#include <linux/sched.h>
#include <linux/time64.h>
#include <linux/time_namespace.h>
#include <linux/types.h>

#include <uapi/linux/twheel.h>

/* What the caller's time namespace adds to the kernel's time, in ns. */
static inline s64 tw_timens_offset(u32 clock)
{
#ifdef CONFIG_TIME_NS
	const struct timens_offsets *offsets = &current->nsproxy->time_ns->offsets;
	const struct timespec64 *offset;

	if (clock == TWHEEL_MONOTONIC)
		offset = &offsets->monotonic;
	else if (clock == TWHEEL_BOOTTIME)
		offset = &offsets->boottime;
	else
		return 0;
	/*
	 * 0 for most callers, who are in the first namespace. Not timespec64_to_ns(): before
	 * 5.16 it takes negative seconds for a time without end.
	 */
	return offset->tv_sec * NSEC_PER_SEC + offset->tv_nsec;
#else
	return 0;
#endif
}

/*
 * A kernel time as the caller's clock shows it; with -@offset, the other way round. Never stays
 * never, and times before the clock began are 0.
 *
 * Always inline: objtool allows no call between user_access_begin() and user_access_end(). At
 * -Os it would be one.
 */
static __always_inline u64 tw_timens_add(u64 ns, s64 offset)
{
	s64 sum;

	if (likely(!offset) || ns >= TWHEEL_NEVER_NS)
		return ns;
	/* Only upwards can it overflow. */
	if (check_add_overflow((s64)ns, offset, &sum))
		return TWHEEL_NEVER_NS;
	return clamp_t(s64, sum, 0, TWHEEL_NEVER_NS);
}

#endif /* _TWHEEL_TIMENS_H */
