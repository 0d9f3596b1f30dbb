/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What a timer's word says, and where its base and its callback are.
 *
 * The word of a timer is its deadline while it is pending, and else its state, see
 * tw_word(). A timer that was never initialised is all zeros: it reads as idle, and has
 * no base.
 *
 * The word is exchanged under the base lock, with one exception: twheel_extend_at()
 * lets a pending word grow without it. So under the lock
 *
 *	the timer is linked  if and only if  its word is a deadline,
 *
 * and the tick it is filed under is never later than its word.
 */
#ifndef _TWHEEL_TIMER_H
#define _TWHEEL_TIMER_H

#include <linux/atomic.h>
#include <linux/compiler.h>
#include <linux/irqflags.h>
#include <linux/lockdep.h>
#include <linux/smp.h>
#include <linux/spinlock.h>
#include <linux/types.h>

#include <linux/twheel.h>

#include "../core/base.h"
#include "../core/debug.h"
#include "instance.h"

/* Is this word a deadline? */
static inline bool tw_timer_is_deadline(s64 word)
{
	return word < 0;
}

/*
 * The base of a timer, locked. The base may change as long as it is not. It may be the
 * wheel's @nowhere, which all timers can leave without its lock: then the timer was
 * idle at some moment of this call, but need not be any more.
 */
static __always_inline struct twheel_base *
tw_timer_lock_base(struct twheel_timer *timer, unsigned long *flags)
{
	for (;;) {
		struct twheel_base *base = READ_ONCE(timer->base);

		raw_spin_lock_irqsave(&base->lock, *flags);
		/* Rather than keep the lock's address in a register, too. */
		OPTIMIZER_HIDE_VAR(base);
		if (likely(base == READ_ONCE(timer->base)))
			return base;
		raw_spin_unlock_irqrestore(&base->lock, *flags);
	}
}

/*
 * With the lock of @base: does the timer belong there? One that was nowhere comes there
 * now. Of two CPUs that want it the first one has it, and the other sees that by the
 * lock.
 */
static inline bool tw_timer_adopt(struct twheel_timer *timer,
				  struct twheel_base *base)
{
	struct twheel_base *nowhere = base->owner->nowhere;
	struct twheel_base *from = READ_ONCE(timer->base);

	if (from == base)
		return true;
	if (!nowhere || from != nowhere ||
	    cmpxchg(&timer->base, from, base) != from)
		return false;
	/* A callback may have freed its timer, and this one have its address. */
	if (unlikely(tw_base_runs(base, timer)))
		tw_base_forget_held(base, timer);
	return true;
}

/*
 * tw_timer_lock_own_base() - tw_timer_lock_base() of a base that holds timers
 *
 * A timer that has not been armed yet comes to this CPU's base, and no other CPU's
 * lock is taken for that.
 */
static inline struct twheel_base *
tw_timer_lock_own_base(struct twheel_timer *timer, unsigned long *flags)
{
	for (;;) {
		struct twheel_base *base = READ_ONCE(timer->base);
		const struct twheel *wheel = base->owner;

		local_irq_save(*flags);
		if (unlikely(base == wheel->nowhere))
			base = tw_instance_base(wheel, raw_smp_processor_id());
		raw_spin_lock(&base->lock);
		if (likely(tw_timer_adopt(timer, base)))
			return base;
		raw_spin_unlock_irqrestore(&base->lock, *flags);
	}
}

/*
 * As the exported functions without "held"; with the lock of the timer's base, and for
 * deadlines up to %TWHEEL_NEVER.
 */
int tw_arm_at_held(struct twheel_timer *timer, u64 deadline_ns);
int tw_cancel_held(struct twheel_timer *timer);
void tw_cancel_misused(struct twheel_timer *timer);

#endif /* _TWHEEL_TIMER_H */
