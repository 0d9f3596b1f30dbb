// SPDX-License-Identifier: GPL-2.0-only
/* Waiters: calls that wait for a callback. See waiter.h. */
#include <linux/errno.h>
#include <linux/lockdep.h>
#include <linux/minmax.h>
#include <linux/processor.h>
#include <linux/spinlock.h>

#include <linux/twheel_state.h>

#include "base.h"
#include "waiter.h"

#ifdef CONFIG_PREEMPT_RT
/*
 * Softirqs are left on: to turn them off is to wait until this CPU's softirqs have
 * ended, and the whole pass with them. They run in threads, so they cannot interrupt
 * the holder of the lock.
 *
 * A callback may wait for one of another base. That is why a waiter's lock is a class of
 * its own. Lockdep sees callbacks that wait for each other by the maps of their timers.
 */
static void waiter_pause(const struct tw_waiter *waiter)
{
	spinlock_t *lock = &waiter->base->expiry_lock;

	spin_lock_nested(lock, SINGLE_DEPTH_NESTING);
	spin_unlock(lock);
}
#else
static void waiter_pause(const struct tw_waiter *waiter)
{
	cpu_relax();
}
#endif

/*
 * tw_waiter_add() - wait for the callback that runs, with the base lock
 * @waiter: its @timer and @state are set. It goes to tw_waiter_wait(), without the lock
 */
void tw_waiter_add(struct twheel_base *base, struct tw_waiter *waiter)
{
	lockdep_assert_held(&base->lock);
	waiter->base = base;
	init_completion(&waiter->done);
	waiter->next = base->waiters;
	if (waiter->next && waiter->next->state == TWHEEL_SHUTDOWN)
		waiter->state = TWHEEL_SHUTDOWN;
	base->waiters = waiter;
	/* The pass looks after each group of callbacks: let this one end it. */
	base->group = 1;
}

/*
 * tw_waiter_wait() - wait until the callback has returned
 *
 * Return:
 * * 1 - the callback had armed the timer again, and this has withdrawn it
 * * 0 - it had not, or another waiter has been told that
 * * -EAGAIN - the timer has another base by now, and was left alone
 */
int tw_waiter_wait(struct tw_waiter *waiter)
{
	if (waiter->base->clock.context == TWHEEL_CONTEXT_WORK)
		wait_for_completion(&waiter->done);
	else
		while (!completion_done(&waiter->done))
			waiter_pause(waiter);
	return waiter->ret;
}

/*
 * tw_waiter_judge() - with the base lock: what runs has returned, and some wait for it
 *
 * All of them wait for the same timer. It is taken out if it is pending again.
 *
 * Return: what the first of them is to be told.
 */
int tw_waiter_judge(struct twheel_base *base)
{
	struct tw_waiter *first = base->waiters;

	lockdep_assert_held(&base->lock);
	WRITE_ONCE(base->running, NULL);
	base->waiters = NULL;
	/* Only now: the timer may have been initialised again since the waiter came. */
	if (READ_ONCE(first->timer->base) != base)
		return -EAGAIN;
	return tw_base_withdraw(base, first->timer, first->state);
}

/*
 * tw_waiter_release() - without a lock: let waiters go on
 * @waiters: they are in no list any more
 * @ret: what the first one is told. If that is that it has cancelled, it was the only one
 */
void tw_waiter_release(struct tw_waiter *waiters, int ret)
{
	while (waiters) {
		struct tw_waiter *next = waiters->next;

		waiters->ret = ret;
		/* After that, the waiter is gone. */
		complete(&waiters->done);
		waiters = next;
		ret = min(ret, 0);
	}
}
