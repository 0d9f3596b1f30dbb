// SPDX-License-Identifier: GPL-2.0-only
/* A timer, and what can be asked of it. See engine/timer.h for what its word says. */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/atomic.h>
#include <linux/bug.h>
#include <linux/completion.h>
#include <linux/cpumask.h>
#include <linux/errno.h>
#include <linux/irqflags.h>
#include <linux/kernel.h>
#include <linux/lockdep.h>
#include <linux/preempt.h>
#include <linux/processor.h>
#include <linux/smp.h>

#include <linux/twheel.h>
#include <linux/twheel_state.h>

#include "../compat.h"
#include "../export.h"
#include "base.h"
#include "timer.h"

/*
 * A timer that has never been armed comes to a base, if its base is @before. Returns its base.
 *
 * A callback may free its timer, and a new timer may get its address. The new one is not the
 * timer whose callback runs, and calls on it would wait for that callback. Its own callback
 * needs the lock, so it has not begun.
 */
static struct twheel_base *timer_join(struct twheel_timer *timer, struct twheel_base *before,
				      struct twheel_base *base)
{
	struct twheel_base *was;
	unsigned long flags;

	raw_spin_lock_irqsave(&base->lock, flags);
	was = cmpxchg(&timer->base, before, base);
	if (was == before && tw_base_runs(base, timer))
		WRITE_ONCE(base->running, NULL);
	raw_spin_unlock_irqrestore(&base->lock, flags);
	return was ?: base;
}

/*
 * tw_timer_adopt() - a timer with a static initialiser comes to the system wheel
 *
 * Return: its base; NULL if it was never initialised.
 */
struct twheel_base *tw_timer_adopt(struct twheel_timer *timer)
{
	struct twheel *wheel;

	/* A CPU that sees it armed sees the wheel. Pairs with the cmpxchg() of timer_join(). */
	smp_rmb();
	wheel = READ_ONCE(tw_system_wheel);
	if (!timer->function || !wheel)
		return NULL;
	return timer_join(timer, NULL, wheel->bases[raw_smp_processor_id()]);
}

/**
 * __twheel_timer_init() - initialise a timer
 * @timer: the timer; not pending, and its callback does not run
 * @wheel: the wheel it is to belong to; NULL: the system wheel
 * @function: what it does when it fires
 * @on_stack: it is a local variable
 * @name: of the timer, for lockdep
 * @key: for lockdep
 *
 * Use twheel_timer_init().
 */
void __twheel_timer_init(struct twheel_timer *timer, struct twheel *wheel,
			 twheel_fn function, bool on_stack, const char *name,
			 struct lock_class_key *key)
{
	tw_debug_init(timer, on_stack);
	INIT_HLIST_NODE(&timer->node.link);
	atomic64_set(&timer->node.word, TW_WORD_READY);
	timer->function = function;
#ifdef CONFIG_LOCKDEP
	lockdep_init_map(&timer->lockdep_map, name, key, 0);
#endif
	if (!wheel)
		wheel = READ_ONCE(tw_system_wheel);
	/* Without a function it cannot be armed. In early boot, it will be adopted: see above. */
	if (unlikely(!function || !wheel)) {
		atomic64_set(&timer->node.word, 0);
		timer->base = NULL;
		return;
	}
	timer->base = wheel->bases[wheel->percpu ? raw_smp_processor_id() : 0];
	if (unlikely(tw_base_runs(timer->base, timer)))
		timer_join(timer, timer->base, timer->base);
}
TW_EXPORT(__twheel_timer_init);

/**
 * twheel_timer_destroy_on_stack() - end the use of an on-stack timer
 * @timer: the timer; not pending, and its callback does not run
 */
void twheel_timer_destroy_on_stack(struct twheel_timer *timer)
{
	tw_debug_destroy_on_stack(timer);
}
TW_EXPORT(twheel_timer_destroy_on_stack);

/**
 * twheel_of() - the wheel a timer belongs to
 * @timer: the timer
 *
 * Return:
 * * the wheel; with a static initialiser, the system wheel
 * * NULL - the timer was never initialised, or without a function
 */
struct twheel *twheel_of(const struct twheel_timer *timer)
{
	const struct twheel_base *base;

	/* A timer of zeros may be asked for its wheel. */
	if (READ_ONCE(timer->base) && !tw_debug_assert_init(timer))
		return NULL;
	base = tw_timer_any_base(timer);
	return base ? base->owner : NULL;
}
TW_EXPORT(twheel_of);

/*
 * Arming, modifying and extending timers.
 *
 * All bases of a wheel have the same clock and the same tick, and a timer never leaves
 * its wheel. A deadline is computed from the timer's base, and stored under the lock of
 * its base. Both fit, even if the timer has moved to another base in between.
 */

/* The end of a delay. If the sum wraps, the delay itself is after %TWHEEL_NEVER. */
static u64 arm_after(const struct twheel_base *base, u64 delay_ns)
{
	return max(tw_clock_now(&base->clock) + delay_ns, delay_ns);
}

/* The timer's base, if its wheel has no other, or NULL. */
static inline struct twheel_base *arm_only_base(const struct twheel_timer *timer)
{
	struct twheel_base *base = READ_ONCE(timer->base);

	return likely(base && !base->percpu) ? base : NULL;
}

/*
 * Can the timer just be started? It is not pending and not shut down. Nor is its word 0: then it
 * may have no base yet.
 */
static inline bool arm_is_idle(const struct twheel_timer *timer)
{
	return tw_node_startable(atomic64_read(&timer->node.word));
}

/* With the base lock: give any timer its deadline on that base. */
static int arm_held(struct twheel_base *base, struct twheel_timer *timer, s64 word,
		    enum tw_arm_which which)
{
	lockdep_assert_held(&base->lock);
	if (which == TW_ARM_PENDING && !twheel_pending(timer))
		return -ENOENT;
	return tw_node_arm(&base->wheel, &timer->node, word);
}

/*
 * With the base lock: the base on which to arm a timer for @cpu, or for %TW_ANY_CPU.
 * If no CPU is named, a pending timer stays where it is, and so does one whose callback
 * runs.
 */
static struct twheel_base *arm_pick_base(const struct twheel_timer *timer,
					 struct twheel_base *from, int cpu)
{
	struct twheel *wheel = from->owner;

	if (!wheel->percpu)
		return from;
	if (cpu == TW_ANY_CPU) {
		if (tw_base_runs(from, timer) || twheel_pending(timer))
			return from;
		cpu = raw_smp_processor_id();
	}
	return wheel->bases[cpu];
}

/*
 * With the lock of the timer's base: give it its deadline on @to, whose lock is taken as well.
 * Returns -EAGAIN if the timer has changed while the lock of @base was released for that.
 */
static int arm_on_other(struct twheel_timer *timer, struct twheel_base *base,
			struct twheel_base *to, s64 word, int cpu)
{
	bool held = tw_base_lock_second(base, to);
	int ret = 1;

	if (!held && (READ_ONCE(timer->base) != base || arm_pick_base(timer, base, cpu) != to)) {
		ret = -EAGAIN;
	} else if (tw_base_runs(base, timer)) {
		ret = -EBUSY;
	} else if (base->stopped || to->stopped) {
		/* The bases are being emptied, one after the other. */
		ret = -ESHUTDOWN;
	} else if (twheel_pending(timer)) {
		/* This overrules an extension that comes in between. */
		atomic64_xchg(&timer->node.word, word);
		tw_base_move(base, to, timer);
		tw_trace_modify(to, timer);
	} else {
		tw_timer_set_base(to, timer);
		ret = arm_held(to, timer, word, TW_ARM_ANY);
	}
	raw_spin_unlock(&to->lock);
	return ret;
}

/*
 * Give a timer its deadline, on a wheel that may have several bases. @cpu: the CPU it is for, or
 * %TW_ANY_CPU.
 */
static noinline int arm_on_cpu(struct twheel_timer *timer, s64 word, enum tw_arm_which which,
			       int cpu)
{
	struct twheel_base *base, *to;
	unsigned long flags;
	int ret;

	do {
		base = tw_timer_lock_base(timer, &flags);
		/* A timer that is modified stays on its base. */
		to = which == TW_ARM_PENDING ? base : arm_pick_base(timer, base, cpu);
		ret = to == base ? arm_held(base, timer, word, which) :
				   arm_on_other(timer, base, to, word, cpu);
		raw_spin_unlock_irqrestore(&base->lock, flags);
	} while (unlikely(ret == -EAGAIN));
	return ret;
}

/* Give any timer its deadline, on any wheel. */
static noinline int arm_any(struct twheel_timer *timer, s64 word, enum tw_arm_which which)
{
	if (unlikely(!tw_timer_any_base(timer)))
		return which == TW_ARM_PENDING ? -ENOENT : -EINVAL;
	/* A later deadline leaves a pending timer where it is. */
	if (tw_base_extend(timer, word) == 1)
		return 1;
	return arm_on_cpu(timer, word, which, TW_ANY_CPU);
}

/**
 * twheel_arm_at() - arm a timer for a deadline
 * @timer: the timer
 * @deadline_ns: when, on the wheel's clock; a later one than %TWHEEL_NEVER counts as that
 *
 * The timer fires on the first tick boundary at or after its deadline. A deadline in
 * the past is no exception: it may still have to wait for its tick boundary, for less
 * than a tick. If that has passed too, the timer is due at once, and the wheel's next
 * pass serves it; this call never does.
 *
 * A timer that is pending already gets the new deadline, nearer or later, whatever the limit.
 * Where it is not pending, and the wheel has no limit, this fails only if the timer was shut
 * down or cannot be armed at all, or the wheel stopped.
 *
 * Return:
 * * 0 - the timer was not pending, and is now
 * * 1 - it was pending, and has the new deadline
 * * -ESHUTDOWN - the timer has been shut down, or the wheel stopped
 * * -ENOSPC - as many timers as the wheel's limit are pending, and this one is not
 * * -EINVAL - the timer was never initialised, or has no function
 */
int twheel_arm_at(struct twheel_timer *timer, u64 deadline_ns)
{
	s64 word = tw_deadline_word(deadline_ns);
	struct twheel_base *base;
	unsigned long flags;
	bool armed;

	if (!tw_debug_assert_init(timer))
		return -EINVAL;
	/* What is common is short: the timer is idle. */
	base = arm_is_idle(timer) ? arm_only_base(timer) : NULL;
	if (likely(base)) {
		raw_spin_lock_irqsave(&base->lock, flags);
		/* Rather than keep the lock's address in a register of its own. */
		OPTIMIZER_HIDE_VAR(base);
		armed = false;
		if (likely(arm_is_idle(timer)))
			armed = !tw_node_start(&base->wheel, &timer->node, word);
		raw_spin_unlock_irqrestore(&base->lock, flags);
		if (likely(armed))
			return 0;
	}
	return arm_any(timer, word, TW_ARM_ANY);
}
TW_EXPORT(twheel_arm_at);

/**
 * twheel_arm() - arm a timer for a delay from now
 * @timer: the timer
 * @delay_ns: how long, up to %TWHEEL_NEVER. 0 ends at the next tick boundary, or now on one
 *
 * Return:
 * * as twheel_arm_at()
 * * -EINVAL - also if the wheel is on %TWHEEL_CLOCK_REALTIME or %TWHEEL_CLOCK_TAI, which
 *   take deadlines only. Nothing has been done
 */
int twheel_arm(struct twheel_timer *timer, u64 delay_ns)
{
	const struct twheel_base *base = NULL;

	if (tw_debug_assert_init(timer))
		base = tw_timer_delay_base(timer);
	return likely(base) ? twheel_arm_at(timer, arm_after(base, delay_ns)) : -EINVAL;
}
TW_EXPORT(twheel_arm);

/**
 * __twheel_arm_with() - arm a timer on a CPU, with slack, or only if it is pending
 * @timer: the timer
 * @cpu: the CPU, with %__TWHEEL_ON_CPU
 * @when_ns: the deadline; with %__TWHEEL_DELAY a delay from now
 * @slack_ns: by how much it may be later
 * @how: these flags
 *
 * Use twheel_arm_on(), twheel_arm_range(), twheel_modify() and the like.
 *
 * Return:
 * * as they
 */
int __twheel_arm_with(struct twheel_timer *timer, int cpu, u64 when_ns, u64 slack_ns,
		      unsigned int how)
{
	const struct twheel_base *base = NULL;

	if (tw_debug_assert_init(timer))
		base = tw_timer_any_base(timer);
	if (!base)
		return how & __TWHEEL_PENDING ? -ENOENT : -EINVAL;
	if (how & __TWHEEL_DELAY && tw_clock_can_be_set(base->clock.id))
		return -EINVAL;
	if (how & __TWHEEL_DELAY)
		when_ns = arm_after(base, when_ns);
	if (how & __TWHEEL_PENDING)
		return twheel_modify_at(timer, when_ns);
	if (!(how & __TWHEEL_ON_CPU))
		return twheel_arm_at(timer, tw_wheel_share(&base->wheel, when_ns, slack_ns));
	if (cpu < 0 || cpu >= nr_cpu_ids || !cpu_possible(cpu))
		return -EINVAL;
	return arm_on_cpu(timer, tw_deadline_word(when_ns), TW_ARM_ANY, cpu);
}
TW_EXPORT(__twheel_arm_with);

/**
 * twheel_modify_at() - give a pending timer another deadline
 * @timer: the timer
 * @deadline_ns: the new deadline, nearer or later
 *
 * A timer that is not pending is left alone, so this cannot bring back one that
 * another CPU has just cancelled.
 *
 * Return:
 * * 1 - the timer has the new deadline
 * * -ENOENT - it is not pending
 */
int twheel_modify_at(struct twheel_timer *timer, u64 deadline_ns)
{
	s64 word = tw_deadline_word(deadline_ns);
	struct twheel_base *base;
	unsigned long flags;

	if (!tw_debug_assert_init(timer))
		return -ENOENT;
	/* A later deadline leaves the timer where it is. */
	if (tw_base_extend(timer, word) == 1)
		return 1;
	base = arm_only_base(timer);
	if (likely(base)) {
		raw_spin_lock_irqsave(&base->lock, flags);
		OPTIMIZER_HIDE_VAR(base);
		if (likely(twheel_pending(timer))) {
			tw_node_move(&base->wheel, &timer->node, word);
			raw_spin_unlock_irqrestore(&base->lock, flags);
			return 1;
		}
		raw_spin_unlock_irqrestore(&base->lock, flags);
	}
	return arm_any(timer, word, TW_ARM_PENDING);
}
TW_EXPORT(twheel_modify_at);

/**
 * twheel_extend() - twheel_extend_at() for a delay from now
 * @timer: the timer
 * @delay_ns: the new delay
 *
 * Context:
 * * lock-free, but for the first use of a timer that is initialised in its definition
 * Return:
 * * as twheel_extend_at()
 * * -EINVAL - the clock of the wheel can be set, see twheel_arm(); nothing has
 *   been done
 */
int twheel_extend(struct twheel_timer *timer, u64 delay_ns)
{
	const struct twheel_base *base;

	if (!tw_debug_assert_init(timer))
		return -ENOENT;
	base = tw_timer_any_base(timer);
	if (unlikely(!base))
		return -ENOENT;
	if (unlikely(tw_clock_can_be_set(base->clock.id)))
		return -EINVAL;
	return tw_base_extend(timer, tw_deadline_word(arm_after(base, delay_ns)));
}
TW_EXPORT(twheel_extend);

/* tw_arm_at_held() - twheel_arm_at() with the base lock */
int tw_arm_at_held(struct twheel_timer *timer, u64 deadline_ns)
{
	struct twheel_base *base = timer->base;
	s64 word = tw_deadline_word(deadline_ns);

	if (!tw_debug_assert_init(timer))
		return -EINVAL;
	/* What is common is short: the timer is idle. */
	if (likely(arm_is_idle(timer)))
		return tw_node_start(&base->wheel, &timer->node, word);
	return arm_held(base, timer, word, TW_ARM_ANY);
}

/* Cancelling timers, and waiting for their callbacks. */

/**
 * twheel_cancel() - cancel a timer, without waiting for its callback
 * @timer: the timer
 *
 * Whatever this returns, the callback may run, perhaps on another CPU: see twheel_cancel_sync().
 *
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

#ifdef CONFIG_PREEMPT_RT
/*
 * Softirqs are left on: to turn them off is to wait until this CPU's softirqs have
 * ended, and the whole pass with them. They run in threads, so they cannot interrupt
 * the holder of the lock.
 *
 * A callback may wait for one of another base. That is why a waiter's lock is a class of
 * its own. Lockdep sees callbacks that wait for each other by the maps of their timers.
 */
static void cancel_pause(const struct tw_waiter *waiter)
{
	spinlock_t *lock = &waiter->base->expiry_lock;

	spin_lock_nested(lock, SINGLE_DEPTH_NESTING);
	spin_unlock(lock);
}
#else
static void cancel_pause(const struct tw_waiter *waiter)
{
	cpu_relax();
}
#endif

/* With the base lock: the pass is to tell @waiter that the callback has returned. */
static void cancel_add_waiter(struct twheel_base *base, struct tw_waiter *waiter)
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

/* Without the lock: wait until the callback has returned. Returns &tw_waiter.ret. */
static int cancel_wait(struct tw_waiter *waiter)
{
	if (waiter->base->clock.context == TWHEEL_CONTEXT_WORK)
		wait_for_completion(&waiter->done);
	else
		while (!completion_done(&waiter->done))
			cancel_pause(waiter);
	return waiter->ret;
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
		cancel_add_waiter(base, waiter);
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
 * * the timer's own callback included
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
		/* The callback may wait for what this interrupts. */
		WARN_ONCE(hardirq, pr_fmt("waiting for %ps in hard interrupt context\n"),
			  tw_debug_function(timer));
		/* Not from the callback itself, where it would be wrong. */
		if (!told)
			cancel_may_wait(timer);
		told = true;
		waited = waiter.base ? cancel_wait(&waiter) : 0;
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

#ifdef CONFIG_DEBUG_OBJECTS
/*
 * Cancel a timer that is freed or initialised while it is pending.
 *
 * A caller that may sleep also waits for a callback that has armed the timer again and
 * still uses it. One that holds a lock, or is that callback, would wait for ever.
 */
static void debug_withdraw(struct twheel_timer *timer)
{
	if (!preemptible() || twheel_cancel_sync(timer) == -EDEADLK)
		twheel_cancel(timer);
}

static void *debug_hint(void *object)
{
	return (void *)tw_debug_function(object);
}

/* Initialised anew while pending. */
static bool debug_fixup_init(void *object, enum debug_obj_state state)
{
	struct twheel_timer *timer = object;

	if (state != ODEBUG_STATE_ACTIVE)
		return false;
	/* If its memory was overwritten first, no wheel can be asked for it. */
	if (twheel_pending(timer))
		debug_withdraw(timer);
	else
		debug_object_deactivate(timer, &tw_debug_descr);
	debug_object_init(timer, &tw_debug_descr);
	return true;
}

/* Freed while pending. */
static bool debug_fixup_free(void *object, enum debug_obj_state state)
{
	struct twheel_timer *timer = object;

	if (state != ODEBUG_STATE_ACTIVE)
		return false;
	debug_withdraw(timer);
	debug_object_free(timer, &tw_debug_descr);
	return true;
}

/* Used before it was initialised. With no base, every call refuses it. */
static bool debug_fixup_assert_init(void *object, enum debug_obj_state state)
{
	struct twheel_timer *timer = object;

	if (state != ODEBUG_STATE_NOTAVAILABLE)
		return false;
	WRITE_ONCE(timer->base, NULL);
	WRITE_ONCE(timer->function, NULL);
	return true;
}

/* With a static initialiser: before it is armed, its word is 0, and it has a function. */
static bool debug_is_static(void *object)
{
	const struct twheel_timer *timer = object;

	return timer->function && !atomic64_read(&timer->node.word);
}

const struct debug_obj_descr tw_debug_descr = {
	.name			= "twheel_timer",
	.debug_hint		= debug_hint,
	.is_static_object	= debug_is_static,
	.fixup_init		= debug_fixup_init,
	.fixup_free		= debug_fixup_free,
	.fixup_assert_init	= debug_fixup_assert_init,
};
#endif
