/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What tests on virtual clocks and on real ones have in common. Inline, because
 * they are two modules.
 */
#ifndef _TWHEEL_KUNIT_BASICS_H
#define _TWHEEL_KUNIT_BASICS_H

#include <linux/processor.h>
#include <linux/time64.h>
#include <linux/timekeeping.h>
#include <linux/types.h>

#include <linux/twheel.h>

#define US	((u64)NSEC_PER_USEC)
#define MS	((u64)NSEC_PER_MSEC)
#define HOUR	(3600ULL * NSEC_PER_SEC)
#define DAY	(24 * HOUR)

/* A number that is the same every run. */
static inline u32 test_random(u32 *seed)
{
	/* xorshift */
	*seed ^= *seed << 13;
	*seed ^= *seed >> 17;
	*seed ^= *seed << 5;
	return *seed;
}

/*
 * For callbacks that take a while. By the clock: a delay loop is as long as the kernel
 * has found it to be when it booted, and on a busy machine that emulates a CPU it may
 * find it to be next to none.
 */
static inline void spin_ns(u64 ns)
{
	u64 end = ktime_get_ns() + ns;

	while (ktime_get_ns() < end)
		cpu_relax();
}

static inline u64 pending_count(struct twheel *wheel)
{
	struct twheel_stats stats;

	twheel_get_stats(wheel, &stats);
	return stats.pending;
}

static inline u64 pass_count(struct twheel *wheel)
{
	struct twheel_stats stats;

	twheel_get_stats(wheel, &stats);
	return stats.passes;
}

/* Earlier names, for tests that still use them. */
#define roll(seed)	test_random(seed)
#define busy(ns)	spin_ns(ns)
#define pending(wheel)	pending_count(wheel)
#define passes(wheel)	pass_count(wheel)

#endif /* _TWHEEL_KUNIT_BASICS_H */
