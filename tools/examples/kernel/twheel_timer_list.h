/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * To try twheel in an afternoon: the calls of struct timer_list, in jiffies, on the system
 * wheel. Each has its name with "tw_" before it, as cmd_try in Kbuild writes them. To move
 * for good, take timer_list.sh instead: then nothing of this is needed.
 *
 * What has no such call does not compile: see tools/doc/migration.md.
 */
#ifndef _TWHEEL_TIMER_LIST_H
#define _TWHEEL_TIMER_LIST_H

#include <linux/build_bug.h>
#include <linux/kernel.h>

#include "twheel_port.h"

#define tw_timer_setup(timer, function, flags)				\
do {									\
	BUILD_BUG_ON(flags);						\
	twheel_timer_init(timer, NULL, function);			\
} while (0)

#define tw_timer_setup_on_stack(timer, function, flags)			\
do {									\
	BUILD_BUG_ON(flags);						\
	twheel_timer_init_on_stack(timer, NULL, function);		\
} while (0)

#define tw_from_timer(var, timer, field)				\
	container_of(timer, typeof(*(var)), field)

static inline u64 tw_jiffies_delay(unsigned long expires)
{
	long left = expires - jiffies;

	return left > 0 ? jiffies64_to_nsecs(min_t(u64, left, S64_MAX / TICK_NSEC)) : 0;
}

/* A timer that has been shut down is left alone, and the caller is not told. */
static inline int tw_mod_timer(struct twheel_timer *timer,
			       unsigned long expires)
{
	return mod_twheel(timer, tw_jiffies_delay(expires)) > 0;
}

static inline int tw_mod_timer_pending(struct twheel_timer *timer,
				       unsigned long expires)
{
	return twheel_modify(timer, tw_jiffies_delay(expires)) > 0;
}

/* Where CPUs may do this to one timer at once, the last one wins: lock against that. */
static inline int tw_timer_reduce(struct twheel_timer *timer,
				  unsigned long expires)
{
	u64 delay = tw_jiffies_delay(expires);

	/* More than any delay if the timer is not pending. */
	if (twheel_remaining(timer) <= delay)
		return 1;
	return twheel_arm(timer, delay) > 0;
}

/* A callback that runs, in which -EBUSY or -EDEADLK is the result, is no pending timer. */
static inline int tw_timer_shutdown(struct twheel_timer *timer)
{
	return twheel_shutdown(timer) > 0;
}

static inline int tw_timer_shutdown_sync(struct twheel_timer *timer)
{
	return twheel_shutdown_sync(timer) > 0;
}

#define tw_del_timer			twheel_cancel
#define tw_del_timer_sync		twheel_cancel_sync
#define tw_try_to_del_timer_sync	twheel_try_cancel
#define tw_timer_delete			twheel_cancel
#define tw_timer_delete_sync		twheel_cancel_sync
#define tw_timer_delete_sync_try	twheel_try_cancel
#define tw_timer_pending		twheel_pending
#define tw_timer_destroy_on_stack	twheel_timer_destroy_on_stack
#define tw_destroy_timer_on_stack	twheel_timer_destroy_on_stack
#define tw_timer_container_of		tw_from_timer

#endif /* _TWHEEL_TIMER_LIST_H */
