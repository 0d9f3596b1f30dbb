/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * twheel: the figures of a wheel. /sys/kernel/debug/twheel/NUMBER shows the same, where @requeued
 * is called extended.
 */
#ifndef _LINUX_TWHEEL_STATS_H
#define _LINUX_TWHEEL_STATS_H

#include <linux/types.h>

#include <linux/twheel.h>

/** TWHEEL_LATE_BUCKETS - see &twheel_stats.late; one for each bit of a time */
#define TWHEEL_LATE_BUCKETS	64

/**
 * struct twheel_stats - what a wheel is, holds and has done
 * @tick_ns: its tick
 * @clock: its clock
 * @slots: ratio of a level to the next
 * @levels: how many levels there are
 * @pending: timers that wait for their deadline
 * @armed: timers that became pending. Each is pending still, or has fired, or been
 *	cancelled, or been handed back
 * @fired: callbacks called; the sum of the counts in @late
 * @cancelled: timers cancelled while pending, by cancel or shutdown
 * @unfired: timers handed back by twheel_stop()
 * @cascades: timers moved to a lower level
 * @requeued: timers whose deadline was beyond their bucket when that was reached: they
 *	had been extended, or the clock had been set back. Several extensions of one
 *	timer may be found as one; counting each would cost as much as extending
 * @passes: how often the wheel was woken up to do its work, or to resume it
 * @exhausted: passes that used up the time of a pass, and had to resume
 * @late_sum: how late the callbacks were, all together, in ns. It wraps after 584 years
 * @late: how many callbacks were how late: @late[n] counts those of 2^n ns or more, and
 *	less than 2^(n + 1). Lateness is the time from the deadline to when the wheel, before
 *	the call, last looked at the clock. So it includes the wait for the tick boundary, and
 *	how far in the past a timer was armed; but not slack, since the deadline is then the
 *	later instant. The wheel looks when a pass begins, and again after each 32 callbacks;
 *	in process context, and on the wall clocks, before each callback. At least 1 ns
 *
 * What has been counted is exact. This is a consistent snapshot of each base. The bases of
 * a per-CPU wheel are read one after the other. So @pending may differ from what it was at
 * any one time, if other CPUs arm and cancel meanwhile.
 */
struct twheel_stats {
	u64 tick_ns;
	enum twheel_clock clock;
	unsigned int slots;
	unsigned int levels;
	u64 pending;
	u64 armed;
	u64 fired;
	u64 cancelled;
	u64 unfired;
	u64 cascades;
	u64 requeued;
	u64 passes;
	u64 exhausted;
	u64 late_sum;
	u64 late[TWHEEL_LATE_BUCKETS];
};

/* module/core/stats.c */
void twheel_get_stats(struct twheel *wheel, struct twheel_stats *stats);

#endif /* _LINUX_TWHEEL_STATS_H */
