// SPDX-License-Identifier: GPL-2.0-only
/*
 * The watch scans for owned timers that should have fired long ago. It counts scans and
 * not time: a machine that stands still for a while does not lose timers.
 */
#include <linux/freezer.h>
#include <linux/kthread.h>
#include <linux/moduleparam.h>
#include <linux/sched.h>

#include "torture.h"

static unsigned int lost_scans = 40;
module_param(lost_scans, uint, 0444);
MODULE_PARM_DESC(lost_scans, "A timer is lost if so many scans, 250 ms apart, find it overdue");

static unsigned int life_ms = 1500;
module_param(life_ms, uint, 0444);
MODULE_PARM_DESC(life_ms, "How long a wheel lives");

/* Number of scans. */
static unsigned int watch_round;

unsigned int watch_rounds(void)
{
	return READ_ONCE(watch_round);
}

/* watch_until() - the scan that will have found a timer that is lost now */
unsigned int watch_until(void)
{
	return watch_rounds() + lost_scans + 4;
}

bool watch_before(unsigned int round)
{
	return (int)(watch_rounds() - round) < 0;
}

/* Later than a busy machine makes timers, as a rule. */
#define WATCH_OVERDUE		(50 * NSEC_PER_MSEC)

static bool watch_check(struct owned_timer *owned)
{
	if (owned->seen_armed != owned->armed || owned->seen_fired != owned->fired ||
	    !owned_is_overdue(owned, WATCH_OVERDUE)) {
		owned->seen_armed = owned->armed;
		owned->seen_fired = owned->fired;
		owned->scans = 0;
		return owned_is_overdue(owned, WATCH_OVERDUE);
	}
	if (++owned->scans == lost_scans)
		failure_report(FAILURE_LOST, owned->arena,
			       "overdue by %llu ms and not fired",
			       div_u64(arena_clock(owned->arena) -
				       floor_make(owned->floor), NSEC_PER_MSEC));
	return owned->scans < lost_scans;
}

static void watch_scan(struct arena *arena)
{
	unsigned int i, overdue = 0;

	if (!down_read_trylock(&arena->sem))
		return;
	for (i = 0; i < NR_OWNED && arena->wheel; i++) {
		struct owned_timer *owned = owned_get(arena, i);

		if (!owned)
			continue;
		overdue += watch_check(owned);
		owned_unlock(owned);
	}
	arena->overdue = overdue;
	up_read(&arena->sem);
}

/* watch() - the thread: scan, and replace one wheel after the other */
int watch_thread(void *unused)
{
	unsigned long next = jiffies;
	unsigned int i, turn = 0;

	set_freezable();
	while (!kthread_freezable_should_stop(NULL)) {
		for (i = 0; i < nr_arenas; i++)
			watch_scan(&arenas[i]);
		WRITE_ONCE(watch_round, watch_round + 1);
		while (time_after(jiffies, next)) {
			struct arena *arena = &arenas[turn++ % nr_arenas];

			next += max(msecs_to_jiffies(life_ms) / nr_arenas, 1UL);
			/* Late timers may be lost: keep them until that is known. */
			if (arena->overdue)
				continue;
			if (arena->wheel)
				arena_end(arena);
			else
				down_write(&arena->sem);
			arena_begin(arena);
			up_write(&arena->sem);
			if (time_after(jiffies, next + HZ))
				next = jiffies;
		}
		schedule_timeout_interruptible(HZ / 4);
	}
	return 0;
}
