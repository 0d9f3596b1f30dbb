// SPDX-License-Identifier: GPL-2.0-only
/* Cancelling timers, and waiting for their callbacks. */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/bug.h>
#include <linux/errno.h>
#include <linux/irqflags.h>
#include <linux/kernel.h>
#include <linux/lockdep.h>
#include <linux/preempt.h>

#include <linux/twheel.h>
#include <linux/twheel_state.h>

#include "../compat.h"
#include "../core/base.h"
#include "../core/debug.h"
#include "../core/waiter.h"
#include "../export.h"
#include "instance.h"
#include "timer.h"

/**
 * twheel_cancel() - cancel a timer, without waiting for its callback
 * @timer: the timer
 *
 * When this returns 0 the callback may run, perhaps on another CPU: see twheel_cancel_sync().
 *
 * Context:
 * * any but NMI
 * Return:
 * * 1 - the timer was pending; its callback will not be called for that deadline
 * * 0 - it was not pending
 */
int twheel_cancel(struct twheel_timer *timer)
{
	struct twheel_base *base;
	unsigned long flags;
	int ret;

	if (!tw_debug_assert_init(timer) || unlikely(!twheel_pending(timer)))
		return 0;
	base = tw_timer_lock_base(timer, &flags);
	ret = tw_base_withdraw(base, timer, TWHEEL_CANCELLED);
	raw_spin_unlock_irqrestore(&base->lock, flags);
	return ret;
}
TW_EXPORT(twheel_cancel);

/*
 * A timer that was never initialised, or has no wheel, is not pending. Without a wheel, as in
 * early boot, its word says that it is shut down when it comes to the system wheel.
 */
static bool cancel_can_use(struct twheel_timer *timer, enum twheel_state state)
{
	if (!tw_debug_assert_init(timer))
		return false;
	if (state == TWHEEL_SHUTDOWN && !READ_ONCE(timer->base) && timer->function)
		atomic64_cmpxchg(&timer->node.word, 0, TWHEEL_SHUTDOWN);
	return tw_timer_any_base(timer);
}

/*
 * Withdraw a timer, and have @waiter, if there is one, wait for the callback that runs. It is
 * -EDEADLK if that is the caller. Without a waiter, -EBUSY says that one runs.
 */
static int cancel_try(struct twheel_timer *timer, enum twheel_state state,
		      struct tw_waiter *waiter)
{
	struct twheel_base *base;
	unsigned long flags;
	bool runs;
	int ret = 0;

	base = tw_timer_lock_base(timer, &flags);
	runs = tw_base_runs(base, timer);
	/*
	 * The callback may arm the timer again. Cancelling before it has ended, and
	 * once more after, would be two cancellations that the caller learns of as
	 * one. A shutdown is final at once.
	 */
	if (runs && waiter && tw_base_inside(base))
		ret = -EDEADLK;
	else if (!runs || state == TWHEEL_SHUTDOWN)
		ret = tw_base_withdraw(base, timer, state);
	if (runs && waiter && ret >= 0)
		tw_waiter_add(base, waiter);
	else if (runs && !ret)
		ret = -EBUSY;
	raw_spin_unlock_irqrestore(&base->lock, flags);
	return ret;
}

/**
 * twheel_try_cancel() - cancel a timer whose callback does not run
 * @timer: the timer
 *
 * Unlike twheel_cancel() it tells a timer that is not pending from one whose callback
 * runs. Unlike twheel_cancel_sync() it does not wait. It is for objects that a callback
 * may still use, and for callers that hold a lock which the callback takes. Do not call it in a
 * loop: the callback may need this CPU.
 *
 * Context:
 * * any but NMI
 * Return:
 * * 1 - the timer was pending; it will not fire, and its callback does not run
 * * 0 - it was not pending, and its callback does not run
 * * -EBUSY - its callback runs, perhaps in the caller; nothing has been done
 */
int twheel_try_cancel(struct twheel_timer *timer)
{
	return cancel_can_use(timer, TWHEEL_CANCELLED) ?
	       cancel_try(timer, TWHEEL_CANCELLED, NULL) : 0;
}
TW_EXPORT(twheel_try_cancel);

/**
 * twheel_shutdown() - cancel a timer for good, without waiting for its callback
 * @timer: the timer
 *
 * Every later arm fails with -ESHUTDOWN, also those of the callback. For objects that
 * outlive a callback that runs, such as those that RCU frees.
 *
 * With %TWHEEL_CONTEXT_SOFTIRQ, a callback is an RCU reader from before its timer is claimed
 * until it has returned. That holds on PREEMPT_RT, and on a virtual clock. So under one lock,
 * unlink the object and call this for each of its timers; then kfree_rcu() it. With
 * %TWHEEL_CONTEXT_WORK, a callback is no reader: there call twheel_shutdown_sync() first.
 *
 * A reader that has found the object before may still make calls on its timers. So do that with
 * all objects, under the same lock, and call synchronize_rcu(), before twheel_destroy(). A
 * module with timers on the system wheel does so before it goes: rcu_barrier() alone does not
 * wait for callbacks.
 *
 * Context:
 * * any but NMI, the timer's own callback included
 * Return:
 * * 1 - the timer was pending, and will not fire. The callback of an earlier deadline may
 *   still run
 * * 0 - it was not pending, and its callback does not run
 * * -EBUSY - it was not pending, and its callback runs. It is shut down all the same
 */
int twheel_shutdown(struct twheel_timer *timer)
{
	return cancel_can_use(timer, TWHEEL_SHUTDOWN) ?
	       cancel_try(timer, TWHEEL_SHUTDOWN, NULL) : 0;
}
TW_EXPORT(twheel_shutdown);

/*
 * Have a debug kernel report a caller that must not wait for the timer's callback, even if it
 * does not run. Lockdep learns that this may wait.
 *
 * It cannot wait when a callback of the same base calls it, if the wheel has no other base. A
 * base runs one callback at a time, and now that is the caller. So two callbacks of such
 * a wheel may wait for each other's timers, and timers of one class for one another. With
 * several bases the other callback may run on another CPU, and wait for this one there.
 *
 * Where a wait spins, every caller may wait. On PREEMPT_RT an RCU reader may block on a
 * spinlock, and callbacks are such readers: might_sleep() would report them.
 */
static void cancel_may_wait(struct twheel_timer *timer)
{
#if defined(CONFIG_LOCKDEP) || defined(CONFIG_DEBUG_ATOMIC_SLEEP)
	const struct twheel_base *base = READ_ONCE(timer->base);
	enum twheel_context context = base->clock.context;
	unsigned long __maybe_unused flags;

	if (base->owner->nr_bases == 1 && tw_base_inside(base))
		return;
	might_sleep_if(context == TWHEEL_CONTEXT_WORK);
	if (IS_ENABLED(CONFIG_PREEMPT_RT) && context == TWHEEL_CONTEXT_SOFTIRQ)
		lockdep_assert_preemption_enabled();
#ifdef CONFIG_LOCKDEP
	/* It is held with softirqs on here, and by the callback in softirq. */
	local_irq_save(flags);
	tw_debug_map_acquire(&timer->lockdep_map, context);
	lock_map_release(&timer->lockdep_map);
	local_irq_restore(flags);
#endif
#endif
}

static int cancel_and_wait(struct twheel_timer *timer, enum twheel_state state)
{
	bool hardirq = in_hardirq();
	/* Lockdep would say the same again, and then nothing more. */
	bool told = hardirq;
	int ret = 0, tried, waited;

	if (!cancel_can_use(timer, state))
		return 0;
	do {
		struct tw_waiter waiter = { .timer = timer, .state = state };

		tried = cancel_try(timer, state, &waiter);
		if (tried < 0)
			return tried;
		/* It would wait for the callback that it interrupts. */
		WARN_ONCE(hardirq, pr_fmt("waiting for %ps in hard interrupt context\n"),
			  tw_debug_function(timer));
		/* Not from the callback itself, where it would be wrong. */
		if (!told)
			cancel_may_wait(timer);
		told = true;
		waited = waiter.base ? tw_waiter_wait(&waiter) : 0;
		ret |= tried || waited == 1;
	} while (waited < 0);
	return ret;
}

/**
 * twheel_cancel_sync() - cancel a timer and wait for its callback
 * @timer: the timer
 *
 * When this returns, the timer is not pending and its callback does not run on
 * any CPU, unless somebody arms it after that. The caller prevents that, or uses
 * twheel_shutdown_sync(). An arm while the callback runs, there or elsewhere, is undone.
 * Each 1 is for one arm that had returned 0. If several callers wait, one of them gets it.
 *
 * Do not call it with a lock held that the callback takes: the callback would
 * wait for the lock, and this for the callback. Nor with a lock that the handler of a hard
 * interrupt takes: it may interrupt the callback in softirq, and wait for the lock.
 *
 * Lockdep finds that, and callbacks that may wait for each other. All timers that one line
 * of code initialises are one class to it. So it reports a callback that waits for another
 * timer of its own class: initialise that timer on another line. If a wheel is not per CPU, it
 * runs one callback at a time, so lockdep does not report two of its timers.
 *
 * Context:
 * * process or softirq, not hard interrupt
 * * spins while the callback runs, with interrupts on or off
 * * on PREEMPT_RT it blocks as spin_lock() does, if the wheel has %TWHEEL_CONTEXT_SOFTIRQ:
 *   interrupts and preemption must be on
 * * on a wheel with %TWHEEL_CONTEXT_WORK process only: it sleeps
 * Return:
 * * 1 - the timer was pending and has been cancelled, or was armed while this waited
 * * 0 - it was not pending
 * * -EDEADLK - called from the timer's own callback; nothing has been done. Use
 *   twheel_cancel() there
 */
int twheel_cancel_sync(struct twheel_timer *timer)
{
	return cancel_and_wait(timer, TWHEEL_CANCELLED);
}
TW_EXPORT(twheel_cancel_sync);

/**
 * twheel_shutdown_sync() - cancel a timer for good
 * @timer: the timer
 *
 * As twheel_cancel_sync(), and every later arm fails with -ESHUTDOWN, also in
 * callbacks and on CPUs that race with this. So the object that the timer is part of
 * can be freed. After twheel_timer_init() the timer can be armed again.
 *
 * Context:
 * * as twheel_cancel_sync()
 * Return:
 * * as twheel_cancel_sync()
 * * -EDEADLK - called from the timer's own callback: nothing has been done. Use
 *   twheel_shutdown() there
 */
int twheel_shutdown_sync(struct twheel_timer *timer)
{
	return cancel_and_wait(timer, TWHEEL_SHUTDOWN);
}
TW_EXPORT(twheel_shutdown_sync);

/*
 * tw_debug_withdraw() - cancel a timer that is freed or initialised while it is pending
 *
 * A caller that may sleep also waits for a callback that has armed the timer again and
 * still uses it. One that holds a lock, or is that callback, would wait for ever.
 */
void tw_debug_withdraw(struct twheel_timer *timer)
{
	if (!preemptible() || twheel_cancel_sync(timer) == -EDEADLK)
		twheel_cancel(timer);
}
