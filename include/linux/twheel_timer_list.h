/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * For code that has a struct timer_list: its calls, in jiffies, on a wheel.
 *
 *	struct timer_list			struct twheel_timer
 *	timer_setup(t, f, 0)			tw_timer_setup(t, f, 0)
 *	timer_setup_on_stack(t, f, 0)		tw_timer_setup_on_stack(t, f, 0)
 *	destroy_timer_on_stack(t),
 *	timer_destroy_on_stack(t)		tw_timer_destroy_on_stack(t)
 *	from_timer(), timer_container_of()	tw_from_timer()
 *	mod_timer(t, expires)			tw_mod_timer(t, expires)
 *	mod_timer_pending(t, expires)		tw_mod_timer_pending(t, expires)
 *	timer_reduce(t, expires)		tw_timer_reduce(t, expires)
 *	timer_delete(t), del_timer(t)		tw_del_timer(t)
 *	timer_delete_sync(t), del_timer_sync(t)	tw_del_timer_sync(t)
 *	timer_shutdown_sync(t)			tw_timer_shutdown_sync(t)
 *	timer_pending(t)			tw_timer_pending(t)
 *	t->expires, to read it			tw_timer_expires(t)
 *
 * tools/examples/kernel/timer_list.sed does all of these but the last, and sees to the
 * include. Run it over every file of the module that names struct timer_list, its
 * headers included. What remains to be done by hand:
 *  - One file of the module defines "struct twheel *tw_timers;". The name is a macro,
 *    and another one in each module, so ported modules may be linked into one kernel.
 *    The module makes the wheel with twheel_create(), .percpu = true, before it sets a
 *    timer up, ends with twheel_destroy(), and imports the namespace TWHEEL. A library
 *    that has no init function gets one, or its users hand it a wheel.
 *  - "t->expires = e; add_timer(t)" becomes tw_mod_timer(t, e), and add_timer_on()
 *    becomes twheel_arm_on(t, cpu, tw_jiffies_delay(e)). While the timer's
 *    callback runs, it goes there when that has returned.
 *  - "t->function = f" becomes another tw_timer_setup(), while the timer is not
 *    pending and its callback does not run: after tw_del_timer_sync(), say. Where that
 *    cannot be, have one callback that asks a flag; "if (t->function)" needs one, too.
 *  - DEFINE_TIMER() and TIMER_INITIALIZER() become a timer that is set up when the
 *    module is loaded.
 *  - timer_shutdown(), which does not wait, becomes tw_timer_shutdown_sync() where the
 *    caller may wait, and else a flag of your own beside tw_del_timer().
 *  - try_to_del_timer_sync(), timer_delete_sync_try(): tw_del_timer() cancels, but does
 *    not tell "not pending" from "running"; tw_del_timer_sync() waits.
 *  - Flags do not compile. Nothing is deferrable. A timer that is not pending is armed
 *    on the CPU of the call, and so pinned. TIMER_IRQSAFE may need a wheel with
 *    TWHEEL_CONTEXT_HARDIRQ.
 *  - tw_del_timer_sync() of a timer in its own callback returns -EDEADLK.
 *  - round_jiffies() works, but twheel_arm_range() does the same with ns.
 *
 * Callbacks run in softirq, once so many jiffies and one more have passed by the clock.
 * Jiffies themselves may be behind the clock where a CPU is late to count them. So in a
 * callback, jiffies may be before the time that the timer was armed for.
 */
#ifndef _LINUX_TWHEEL_TIMER_LIST_H
#define _LINUX_TWHEEL_TIMER_LIST_H

#include <linux/build_bug.h>
#include <linux/jiffies.h>
#include <linux/kernel.h>

#include <linux/twheel.h>

/* The module's own wheel, for all its timers. Its name has the module's in it. */
#define tw_timers	CONCATENATE(tw_timers_of_, __KBUILD_MODNAME)

extern struct twheel *tw_timers;

#define tw_timer_setup(timer, function, flags)				\
do {									\
	BUILD_BUG_ON(flags);						\
	twheel_timer_init(timer, tw_timers, function);			\
} while (0)

#define tw_timer_setup_on_stack(timer, function, flags)			\
do {									\
	BUILD_BUG_ON(flags);						\
	twheel_timer_init_on_stack(timer, tw_timers, function);		\
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

/* A timer that has been shut down is left alone, and the caller is not told. */
static inline int tw_mod_timer(struct twheel_timer *timer,
			       unsigned long expires)
{
	return twheel_arm(timer, tw_jiffies_delay(expires)) > 0;
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

/* Near enough. That of a timer that is not pending is not in the future. */
static inline unsigned long tw_timer_expires(const struct twheel_timer *timer)
{
	u64 left = twheel_remaining(timer);

	if (left > TWHEEL_NEVER)
		return jiffies;
	return jiffies + min_t(u64, nsecs_to_jiffies64(left), MAX_JIFFY_OFFSET);
}

#define tw_del_timer(timer)			twheel_cancel(timer)
#define tw_del_timer_sync(timer)		twheel_cancel_sync(timer)
#define tw_timer_shutdown_sync(timer)		twheel_shutdown_sync(timer)
#define tw_timer_pending(timer)			twheel_pending(timer)
#define tw_timer_destroy_on_stack(timer)	twheel_timer_destroy_on_stack(timer)

#endif /* _LINUX_TWHEEL_TIMER_LIST_H */
