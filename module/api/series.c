// SPDX-License-Identifier: GPL-2.0-only
/* Callbacks that follow one another. See series.h. */
#include <linux/lockdep.h>
#include <linux/spinlock.h>

#include <linux/twheel_policy.h>

#include "../export.h"
#include "series.h"

/* tw_series_init() - initialise a series; @name and @key are for lockdep */
void tw_series_init(struct twheel_series *s, struct twheel *wheel, twheel_fn function,
		    const char *name, struct lock_class_key *key)
{
	__twheel_timer_init(&s->timer, wheel, function, false, name, key);
	raw_spin_lock_init(&s->lock);
	s->number = 0;
	s->on = false;
}

/*
 * tw_series_arm() - with the lock: wait for @deadline next. If that fails, the series is
 * over. Returns what twheel_arm_at() has returned
 */
int tw_series_arm(struct twheel_series *s, u64 deadline)
{
	int ret;

	lockdep_assert_held(&s->lock);
	ret = twheel_arm_at(&s->timer, deadline);
	s->on = ret >= 0;
	return ret;
}

/* tw_series_begin() - with the lock: tw_series_arm() for a new series */
int tw_series_begin(struct twheel_series *s, u64 deadline)
{
	lockdep_assert_held(&s->lock);
	s->number++;
	return tw_series_arm(s, deadline);
}

/**
 * twheel_series_end() - end a series, without waiting
 * @s: the series of a policy
 *
 * Context: any.
 * Return: 1 if its timer was pending, else 0.
 */
int twheel_series_end(struct twheel_series *s)
{
	unsigned long flags;
	int ret;

	raw_spin_lock_irqsave(&s->lock, flags);
	s->number++;
	s->on = false;
	ret = twheel_cancel(&s->timer);
	raw_spin_unlock_irqrestore(&s->lock, flags);
	return ret;
}
TW_EXPORT(twheel_series_end);

/**
 * twheel_series_end_sync() - end a series, and wait for its callback
 * @s: the series of a policy
 * @sync: twheel_cancel_sync() or twheel_shutdown_sync()
 *
 * Ended first, the series cannot keep the wait going by arming its timer again and again.
 *
 * Context: as @sync.
 * Return: as twheel_series_end(), or -EDEADLK.
 */
int twheel_series_end_sync(struct twheel_series *s,
			   int (*sync)(struct twheel_timer *timer))
{
	int ended = twheel_series_end(s);
	int ret = sync(&s->timer);

	return ret < 0 ? ret : ret | ended;
}
TW_EXPORT(twheel_series_end_sync);
