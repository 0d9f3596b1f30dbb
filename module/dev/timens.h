/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Absolute times are in the caller's time namespace: its clocks show the kernel's time
 * plus an offset. CLOCK_REALTIME is the same everywhere.
 */
#ifndef _TWHEEL_TIMENS_H
#define _TWHEEL_TIMENS_H

#include <linux/minmax.h>
#include <linux/time64.h>
#include <linux/time_namespace.h>
#include <linux/types.h>

#include <uapi/linux/twheel.h>

/* What the caller's time namespace adds to the kernel's time, in ns. */
static inline s64 tw_timens_offset(u32 clockid)
{
#ifdef CONFIG_TIME_NS
	const struct timens_offsets *offsets =
		&current->nsproxy->time_ns->offsets;

	if (clockid == CLOCK_MONOTONIC)
		return timespec64_to_ns(&offsets->monotonic);
	if (clockid == CLOCK_BOOTTIME)
		return timespec64_to_ns(&offsets->boottime);
#endif
	return 0;
}

/* A kernel time as the caller's clock shows it. Never stays never. */
static inline u64 tw_timens_out(u64 ns, s64 offset)
{
	return ns == TWHEEL_DELAY_NEVER ? ns : ns + offset;
}

/* A time on the caller's clock as a kernel time. Times before boot become 0. */
static inline u64 tw_timens_in(u64 ns, s64 offset)
{
	if (likely(!offset) || ns == TWHEEL_DELAY_NEVER)
		return ns;
	/* Neither has its top bit set, but for the sign. */
	return clamp_t(s64, ns - offset, 0, TWHEEL_DELAY_NEVER);
}

#endif /* _TWHEEL_TIMENS_H */
