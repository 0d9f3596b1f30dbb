/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * For code that has a struct timer_list: its calls, in jiffies, on a wheel.
 *
 *	struct timer_list			struct twheel_timer
 *	timer_setup(t, f, 0)			tw_timer_setup(t, f, 0)
 *	from_timer(), timer_container_of()	tw_from_timer()
 *	mod_timer(t, expires)			tw_mod_timer(t, expires)
 *	mod_timer_pending(t, expires)		tw_mod_timer_pending(t, expires)
 *	timer_delete(t), del_timer(t)		tw_del_timer(t)
 *	timer_delete_sync(t), del_timer_sync(t)	tw_del_timer_sync(t)
 *	timer_shutdown_sync(t)			tw_timer_shutdown_sync(t)
 *	timer_pending(t)			tw_timer_pending(t)
 *	t->expires, to read it			tw_timer_expires(t)
 *
 * tools/examples/kernel/timer_list.sed does all of these but the last. By hand:
 *  - one file has "struct twheel *tw_timers;"; the module makes it with
 *    twheel_create(), .percpu = true, before it sets a timer up, and ends with
 *    twheel_destroy(); the namespace TWHEEL is imported;
 *  - "t->expires = e; add_timer(t)" becomes tw_mod_timer(t, e), add_timer_on()
 *    twheel_arm_on(t, cpu, tw_jiffies_delay(e));
 *  - DEFINE_TIMER() becomes a timer that is set up when the module is loaded;
 *  - flags do not compile. Nothing is deferrable. A timer is pinned, as it were,
 *    if it is not pending when it is armed. TIMER_IRQSAFE may need a wheel with
 *    TWHEEL_CONTEXT_HARDIRQ;
 *  - tw_del_timer_sync() of a timer in its own callback returns -EDEADLK.
 *
 * Callbacks run in softirq, once so many jiffies and one more have passed by
 * the clock. Jiffies themselves may lag behind, where a CPU is late to count
 * them: a callback that compares them with expires may find them short of it.
 */
#ifndef _LINUX_TWHEEL_TIMER_LIST_H
#define _LINUX_TWHEEL_TIMER_LIST_H

#include <linux/build_bug.h>
#include <linux/jiffies.h>

#include <linux/twheel.h>

/* The module's own: for all its timers. */
extern struct twheel *tw_timers;

#define tw_timer_setup(timer, function, flags)				\
do {									\
	BUILD_BUG_ON(flags);						\
	twheel_timer_init(timer, tw_timers, function);			\
} while (0)

#define tw_from_timer(var, timer, field)				\
	container_of(timer, typeof(*(var)), field)

/* From now, somewhere in a jiffy, to when jiffies will have that value. */
static inline u64 tw_jiffies_delay(unsigned long expires)
{
	long left = expires - jiffies;

	if (left <= 0)
		return 0;
	return jiffies64_to_nsecs(min_t(u64, left, S64_MAX / TICK_NSEC) + 1);
}

static inline int tw_mod_timer(struct twheel_timer *timer,
			       unsigned long expires)
{
	/* One that has been shut down is left alone, and nobody told. */
	return twheel_arm(timer, tw_jiffies_delay(expires)) > 0;
}

static inline int tw_mod_timer_pending(struct twheel_timer *timer,
				       unsigned long expires)
{
	return twheel_modify(timer, tw_jiffies_delay(expires));
}

/* Near enough; of a timer that is not pending it is far off. */
static inline unsigned long tw_timer_expires(const struct twheel_timer *timer)
{
	return jiffies + min_t(u64, nsecs_to_jiffies64(twheel_remaining(timer)),
			       MAX_JIFFY_OFFSET);
}

#define tw_del_timer(timer)		twheel_cancel(timer)
#define tw_del_timer_sync(timer)	twheel_cancel_sync(timer)
#define tw_timer_shutdown_sync(timer)	twheel_shutdown_sync(timer)
#define tw_timer_pending(timer)		twheel_pending(timer)

#endif /* _LINUX_TWHEEL_TIMER_LIST_H */
