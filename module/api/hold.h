/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Different operations under one hold of a wheel's lock: for the device.
 *
 * Between tw_hold() and tw_release() nobody else gets at the wheel's timers, and no
 * timer that is due is served. So keep it short: some tens of operations. The caller
 * may use the functions below on timers of that wheel, and what is lock-free; any
 * other function of twheel would wait for the lock for ever.
 */
#ifndef _TWHEEL_HOLD_H
#define _TWHEEL_HOLD_H

#include <linux/spinlock.h>
#include <linux/types.h>

#include <linux/twheel.h>

#include "../core/base.h"
#include "instance.h"

/*
 * tw_hold() - take the lock of a wheel of one base
 * @flags: keeps the state of interrupts, which are off until tw_release()
 *
 * Context: any.
 */
static inline void tw_hold(struct twheel *wheel, unsigned long *flags)
	__acquires(&wheel->bases[0]->lock)
{
	WARN_ON_ONCE(wheel->nr_bases > 1);
	raw_spin_lock_irqsave(&wheel->bases[0]->lock, *flags);
}

/* tw_release() - release the lock that tw_hold() has taken */
static inline void tw_release(struct twheel *wheel, unsigned long *flags)
	__releases(&wheel->bases[0]->lock)
{
	raw_spin_unlock_irqrestore(&wheel->bases[0]->lock, *flags);
}

/*
 * As the exported functions without "held"; with the lock of the timer's base, and for
 * deadlines up to %TWHEEL_NEVER.
 */
int tw_arm_at_held(struct twheel_timer *timer, u64 deadline_ns);
int tw_modify_at_held(struct twheel_timer *timer, u64 deadline_ns);
int tw_cancel_held(struct twheel_timer *timer);

#endif /* _TWHEEL_HOLD_H */
