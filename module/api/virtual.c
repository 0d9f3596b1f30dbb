// SPDX-License-Identifier: GPL-2.0-only
/* Wheels on a virtual clock. Passes run in the task that lets the time pass. */
#include <linux/bottom_half.h>
#include <linux/bug.h>
#include <linux/kernel.h>
#include <linux/minmax.h>
#include <linux/sched.h>
#include <linux/spinlock.h>

#include <linux/twheel_virtual.h>

#include "../core/base.h"
#include "../core/clock.h"
#include "../export.h"
#include "instance.h"

static void virtual_run(struct tw_clock *clock)
{
	bool soft = clock->context == TWHEEL_CONTEXT_SOFTIRQ;

	if (soft)
		local_bh_disable();
	tw_pass_alarm(clock);
	if (soft)
		local_bh_enable();
}

/* Serve what is due. Timers that callbacks arm for now meanwhile are left for the next call. */
static void virtual_serve(struct twheel_base *base)
{
	do {
		virtual_run(&base->clock);
		cond_resched();
	} while (READ_ONCE(base->in_round) && !READ_ONCE(base->stopped));
}

/* When there is something to do next: perhaps now, or later than %TWHEEL_NEVER. */
static u64 virtual_next(struct twheel_base *base)
{
	u64 next;

	raw_spin_lock_irq(&base->lock);
	next = max(tw_base_wake_ns(base), tw_clock_now(&base->clock));
	raw_spin_unlock_irq(&base->lock);
	return next;
}

/**
 * twheel_advance() - let the time of a virtual clock pass
 * @wheel: a wheel with %TWHEEL_CLOCK_VIRTUAL
 * @now_ns: the new time. Before the present one, it sets the clock back: timers
 *	wait for their deadlines again. The clock stops just before %TWHEEL_NEVER
 *
 * Runs the callbacks of all timers that are due by then, here, in the order that
 * linux/twheel.h promises. A per-CPU wheel serves one CPU's after the other's. Timers
 * that callbacks arm for the past wait for the next call, or for another CPU's turn.
 * linux/twheel_virtual.h says how callbacks differ from those on a real clock, and how to go
 * from one event to the next.
 *
 * Context:
 * * process, may sleep; one caller at a time, and not from a callback of the wheel,
 *   which is reported
 * Return:
 * * the instant at which a real clock would interrupt next. It is @now_ns if work is left for
 *   the next call, such as after a clock set back. It is no timer's deadline where the wheel
 *   only moves timers nearer, or looks at one that was extended
 * * %TWHEEL_NEVER or more - there is none, or nothing has been done
 */
u64 twheel_advance(struct twheel *wheel, u64 now_ns)
{
	u64 next = TW_WHEEL_ASLEEP;
	struct twheel_base *base;
	unsigned int i;

	if (WARN_ON_ONCE(wheel->first->clock.id != TWHEEL_CLOCK_VIRTUAL))
		return next;
	/* It would wait for the pass that it is called from. */
	tw_for_each_base(base, i, wheel)
		if (WARN_ON_ONCE(tw_base_inside(base)))
			return next;
	might_sleep();
	now_ns = min(now_ns, TWHEEL_NEVER - 1);
	/* All of them first: callbacks see one time, whichever base they use. */
	tw_for_each_base(base, i, wheel)
		tw_clock_set_virtual(&base->clock, now_ns);
	tw_for_each_base(base, i, wheel)
		virtual_serve(base);
	/* Callbacks may have armed timers on any base. */
	tw_for_each_base(base, i, wheel)
		next = min(next, virtual_next(base));
	return next;
}
TW_EXPORT(twheel_advance);
