// SPDX-License-Identifier: GPL-2.0-only
/*
 * Policies over plain timers: periodic work, idle watches. What periodic work does is in
 * engine/policy.h, the same for process wheels. A wheel may call back in any context, so its lock
 * leaves interrupts as they are.
 */
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/lockdep.h>
#include <linux/math64.h>
#include <linux/spinlock.h>

#include <linux/twheel_idle.h>
#include <linux/twheel_periodic.h>

#include "../engine/policy.h"
#include "../export.h"
#include "base.h"
#include "timer.h"

static inline unsigned long tw_periodic_lock(struct twheel_periodic *p)
	__acquires(&p->lock)
{
	unsigned long flags;

	raw_spin_lock_irqsave(&p->lock, flags);
	return flags;
}

static inline void tw_periodic_unlock(struct twheel_periodic *p, unsigned long flags)
	__releases(&p->lock)
{
	raw_spin_unlock_irqrestore(&p->lock, flags);
}

static inline u64 tw_periodic_now(const struct twheel_periodic *p)
{
	return twheel_now(twheel_of(&p->timer));
}

static inline int tw_periodic_arm(struct twheel_periodic *p, u64 deadline_ns)
{
	return twheel_arm_at(&p->timer, deadline_ns);
}

/* The callback of a policy calls @function of its user: messages are to name that. */
static void policy_calls(const struct twheel_timer *timer, const void *function)
{
	WRITE_ONCE(READ_ONCE(timer->base)->last, function);
}

/* tw_policy_periodic() - the callback of periodic work */
void tw_policy_periodic(struct twheel_timer *timer)
{
	struct twheel_periodic *p = container_of(timer, struct twheel_periodic, timer);

	policy_calls(timer, p->function);
	tw_periodic_fire(p);
}

/**
 * __twheel_periodic_start() - start periodic work
 * @periodic: the periodic work
 * @from_now: the first deadline is counted from now
 * @first_ns: the first deadline
 * @period_ns: the period
 * @pace: one of enum twheel_pace
 *
 * Use twheel_periodic_start() or twheel_periodic_start_at().
 *
 * Return:
 * * as they
 */
int __twheel_periodic_start(struct twheel_periodic *periodic, bool from_now, u64 first_ns,
			    u64 period_ns, enum twheel_pace pace)
{
	struct twheel_timer *timer = &periodic->timer;

	if (!periodic->function || !tw_span_valid(period_ns) ||
	    (pace != TWHEEL_FIXED_RATE && pace != TWHEEL_FIXED_DELAY))
		return -EINVAL;
	/* Of zeros, it has no lock either. */
	if (from_now || pace == TWHEEL_FIXED_DELAY ? !tw_timer_delay_base(timer) :
						     !tw_timer_any_base(timer))
		return -EINVAL;
	if (from_now)
		first_ns = tw_span_after(tw_periodic_now(periodic), first_ns);
	return tw_periodic_begin(periodic, first_ns, period_ns, pace);
}
TW_EXPORT(__twheel_periodic_start);

/* tw_policy_idle() - the callback of an idle watch */
void tw_policy_idle(struct twheel_timer *timer)
{
	struct twheel_idle *idle = container_of(timer, struct twheel_idle, timer);

	policy_calls(timer, idle->function);
	idle->function(idle);
}

/**
 * __twheel_policy_init() - initialise the timer of a policy
 * @timer: the timer
 * @policy: which policy it is of
 * @wheel: the wheel it is to belong to; NULL: the system wheel
 * @name: for lockdep
 * @key: for lockdep
 *
 * Use twheel_periodic_init() or twheel_idle_init().
 */
void __twheel_policy_init(struct twheel_timer *timer, enum __twheel_policy policy,
			  struct twheel *wheel, const char *name,
			  struct lock_class_key *key)
{
	static const twheel_fn functions[] = {
		[__TWHEEL_PERIODIC]	= tw_policy_periodic,
		[__TWHEEL_IDLE]		= tw_policy_idle,
	};
	struct twheel_periodic *p = container_of(timer, struct twheel_periodic, timer);

	__twheel_timer_init(timer, wheel, functions[policy], false, name, key);
	if (policy == __TWHEEL_IDLE)
		return;
	raw_spin_lock_init(&p->lock);
	p->number = 0;
}
TW_EXPORT(__twheel_policy_init);
