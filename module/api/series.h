/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Series: callbacks that follow one another, of periodic work or a retry.
 *
 * The difficulty is what happens while a callback runs, perhaps on another CPU.
 * Then the timer is not pending, and a cancel finds nothing to cancel. So each
 * start and each stop changes the number of the series, under the lock under
 * which the timer is armed too:
 *
 *  - A callback that has ended arms the timer only if the number is what it was
 *    when it began. A stop in between is obeyed, and the deadline of a new start
 *    is left alone.
 *  - The wheel may have claimed the timer just before a stop, and call it after
 *    that: the callback finds the series off. After a start, it finds the timer
 *    pending, for nobody else arms it: then this call is not for the new deadline,
 *    and does nothing.
 *
 * The lock is not held while a caller's callback runs. It is not touched after a
 * callback that says that it is done, which may have freed the object. A wheel may
 * call back in any context, so interrupts are left as they are.
 */
#ifndef _TWHEEL_SERIES_H
#define _TWHEEL_SERIES_H

#include <linux/lockdep.h>
#include <linux/types.h>

#include <linux/twheel_policy.h>

void tw_series_init(struct twheel_series *s, struct twheel *wheel, twheel_fn function,
		    const char *name, struct lock_class_key *key);
int tw_series_arm(struct twheel_series *s, u64 deadline);
int tw_series_begin(struct twheel_series *s, u64 deadline);

static inline u64 tw_series_now(const struct twheel_series *s)
{
	return twheel_now(twheel_of(&s->timer));
}

/* With the lock, the timer has been called: is that for the present series? */
static inline bool tw_series_due(const struct twheel_series *s)
{
	lockdep_assert_held(&s->lock);
	return s->on && !twheel_pending(&s->timer);
}

#endif /* _TWHEEL_SERIES_H */
