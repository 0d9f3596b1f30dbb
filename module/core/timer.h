/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * How a timer's base is found and locked.
 *
 * engine/timer.h has what its word says. A timer that was never initialised is all zeros: it
 * reads as idle, and has no base. One with a static initialiser has a function besides. It comes
 * to the system wheel with the first call that needs its base, and its word stays 0 until it is
 * armed. A shutdown of a timer that has no base yet makes that word %TWHEEL_SHUTDOWN, without a
 * lock.
 */
#ifndef _TWHEEL_TIMER_H
#define _TWHEEL_TIMER_H

#include <linux/compiler.h>
#include <linux/lockdep.h>
#include <linux/spinlock.h>
#include <linux/types.h>

#include <linux/twheel.h>

#include "base.h"

/* Which timers are given a new deadline. */
enum tw_arm_which {
	TW_ARM_ANY,
	TW_ARM_PENDING,
};

struct twheel_base *tw_timer_adopt(struct twheel_timer *timer);

/* The base of any timer; NULL if it was never initialised. */
static inline struct twheel_base *tw_timer_any_base(const struct twheel_timer *timer)
{
	struct twheel_base *base = READ_ONCE(timer->base);

	return likely(base) ? base : tw_timer_adopt((struct twheel_timer *)timer);
}

/*
 * The base of a timer that has one, locked. The base may change as long as it is not.
 *
 * Of a timer with a static initialiser, this CPU may see that it was armed before it sees the
 * base. Then tw_timer_adopt() finds that.
 */
static __always_inline struct twheel_base *
tw_timer_lock_base(struct twheel_timer *timer, unsigned long *flags)
{
	for (;;) {
		struct twheel_base *base = tw_timer_any_base(timer);

		raw_spin_lock_irqsave(&base->lock, *flags);
		/* Rather than keep the lock's address in a register, too. */
		OPTIMIZER_HIDE_VAR(base);
		if (likely(base == READ_ONCE(timer->base)))
			return base;
		raw_spin_unlock_irqrestore(&base->lock, *flags);
	}
}

/* The base by whose clock a delay ends; NULL if the wheel takes none, or for a timer of zeros. */
static __always_inline const struct twheel_base *
tw_timer_delay_base(const struct twheel_timer *timer)
{
	const struct twheel_base *base = tw_timer_any_base(timer);

	return likely(base) && likely(!tw_clock_can_be_set(base->clock.id)) ? base : NULL;
}

int tw_arm_at_held(struct twheel_timer *timer, u64 deadline_ns);

#endif /* _TWHEEL_TIMER_H */
