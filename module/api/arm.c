// SPDX-License-Identifier: GPL-2.0-only
/*
 * Arming, modifying and extending timers.
 *
 * All bases of a wheel have the same clock and the same tick, and a timer never leaves
 * its wheel. A deadline is computed from the timer's base, and stored under the lock of
 * its base. Both fit, even if the timer has moved to another base in between.
 */
#include <linux/cpumask.h>
#include <linux/errno.h>
#include <linux/lockdep.h>
#include <linux/overflow.h>

#include <linux/twheel.h>
#include <linux/twheel_state.h>

#include "../core/base.h"
#include "../core/debug.h"
#include "../export.h"
#include "timer.h"

/* The sum may be beyond TWHEEL_NEVER, as any deadline given to twheel_arm_at() may. */
static u64 arm_add(u64 a, u64 b)
{
	u64 sum;

	if (check_add_overflow(a, b, &sum))
		return TWHEEL_NEVER;
	return sum;
}

static u64 arm_after(const struct twheel_timer *timer, u64 delay_ns)
{
	const struct twheel_base *base = READ_ONCE(timer->base);

	return arm_add(tw_clock_now(&base->clock), delay_ns);
}

/*
 * One comparison tells the states that can be armed from deadlines, a timer that was
 * never initialised, and one that was shut down.
 */
static __always_inline bool arm_can_begin(s64 word)
{
	BUILD_BUG_ON(TWHEEL_SHUTDOWN != 1);
	return word > TWHEEL_SHUTDOWN;
}

/* With the base lock and room for the timer: an idle timer becomes pending. */
static __always_inline void arm_make_pending(struct twheel_timer *timer, s64 word)
{
	tw_debug_activate(timer);
	/* Only the holder of the lock writes an idle word. */
	atomic64_set(&timer->node.word, word);
}

/*
 * With the base lock: arm a timer that is idle, if there is room. This is the fast path of
 * all calls that arm.
 */
static __always_inline bool arm_idle(struct twheel_base *base,
				     struct twheel_timer *timer, s64 word)
{
	if (unlikely(!arm_can_begin(atomic64_read(&timer->node.word))))
		return false;
	if (unlikely(!tw_base_take_room(base)))
		return false;
	arm_make_pending(timer, word);
	tw_base_enqueue_soon(base, timer, word);
	tw_trace_arm(base, timer);
	return true;
}

/* With the base lock: a pending timer gets another deadline, and leaves its bucket. */
static __always_inline void arm_dequeue(struct twheel_base *base,
					struct twheel_timer *timer, s64 word)
{
	/* This overrules an extension that comes in between. */
	atomic64_xchg(&timer->node.word, word);
	tw_wheel_dequeue(&base->wheel, &timer->node);
}

/* tw_arm_held() - with the base lock: give the timer its deadline on that base */
noinline int tw_arm_held(struct twheel_base *base, struct twheel_timer *timer, s64 word,
			 enum tw_arm_which which)
{
	s64 before = atomic64_read(&timer->node.word);

	lockdep_assert_held(&base->lock);
	if (before < 0) {
		arm_dequeue(base, timer, word);
		tw_base_enqueue(base, timer, word);
		tw_trace_modify(base, timer);
		return 1;
	}
	if (which == TW_ARM_PENDING)
		return -ENOENT;
	/* With a static initialiser, the word is 0 before the first arm. */
	if ((!arm_can_begin(before) && before) || base->stopped)
		return -ESHUTDOWN;
	if (!tw_base_take_room(base))
		return -ENOSPC;
	arm_make_pending(timer, word);
	tw_base_enqueue(base, timer, word);
	tw_trace_arm(base, timer);
	return 0;
}

static noinline int arm_held_and_unlock(struct twheel_base *base,
					struct twheel_timer *timer, s64 word,
					enum tw_arm_which which, unsigned long flags)
	__releases(&base->lock)
{
	int ret = tw_arm_held(base, timer, word, which);

	raw_spin_unlock_irqrestore(&base->lock, flags);
	return ret;
}

/* Give a timer that is likely to be pending a deadline that is likely to be nearer. */
static __always_inline int arm_nearer(struct twheel_timer *timer, s64 word,
				      enum tw_arm_which which)
{
	struct twheel_base *base = READ_ONCE(timer->base);
	unsigned long flags;

	if (unlikely(!base || word >= base->plain))
		/* Shut down before there was a wheel, it has no base, and is not pending. */
		return tw_timer_any_base(timer) ?
		       tw_place(timer, word, which, TW_ANY_CPU) : -ENOENT;
	raw_spin_lock_irqsave(&base->lock, flags);
	/* Rather than keep the lock's address in a register of its own. */
	OPTIMIZER_HIDE_VAR(base);
	if (likely(twheel_pending(timer))) {
		arm_dequeue(base, timer, word);
		tw_base_enqueue_soon(base, timer, word);
		tw_trace_modify(base, timer);
		raw_spin_unlock_irqrestore(&base->lock, flags);
		return 1;
	}
	return arm_held_and_unlock(base, timer, word, which, flags);
}

/* A call, so that arm_pending() saves no registers for what it seldom does. */
static noinline int arm_pending_nearer(struct twheel_timer *timer, s64 word,
				       enum tw_arm_which which)
{
	return arm_nearer(timer, word, which);
}

/* Set the deadline of a timer that is pending, shut down, or was never initialised. */
static noinline int arm_pending(struct twheel_timer *timer, s64 word, enum tw_arm_which which)
{
	if (unlikely(!tw_timer_any_base(timer)))
		return which == TW_ARM_PENDING ? -ENOENT : -EINVAL;
	if (unlikely(word >= 0))
		return tw_place(timer, word, which, TW_ANY_CPU);
	/* A later deadline leaves the timer where it is. */
	return tw_arm_extend(timer, word) == 1 ? 1 : arm_pending_nearer(timer, word, which);
}

/**
 * twheel_arm_at() - arm a timer for a deadline
 * @timer: the timer
 * @deadline_ns: when, on the wheel's clock
 *
 * The timer fires on the first tick boundary at or after its deadline. A deadline in
 * the past is no exception: it may still have to wait for its tick boundary, for less
 * than a tick. If that has passed too, the timer is due at once, and the wheel's next
 * pass serves it; this call never does.
 *
 * A timer that is pending already gets the new deadline, nearer or later, whatever the limit.
 * Where it is not pending, and the wheel has no limit, this fails only if the timer was shut
 * down, or the wheel stopped.
 *
 * Context:
 * * any but NMI
 * Return:
 * * 0 - the timer was not pending, and is now
 * * 1 - it was pending, and has the new deadline
 * * -ESHUTDOWN - the timer has been shut down, or the wheel stopped
 * * -ENOSPC - as many timers as the wheel's limit are pending, and this one is not
 * * -EINVAL - the timer was never initialised
 */
int twheel_arm_at(struct twheel_timer *timer, u64 deadline_ns)
{
	s64 word = tw_word(deadline_ns);
	struct twheel_base *base;
	unsigned long flags;

	if (!tw_debug_assert_init(timer))
		return -EINVAL;
	if (!arm_can_begin(atomic64_read(&timer->node.word)))
		return arm_pending(timer, word, TW_ARM_ANY);
	base = READ_ONCE(timer->base);
	if (unlikely(!base || word >= base->plain))
		return tw_place(timer, word, TW_ARM_ANY, TW_ANY_CPU);

	raw_spin_lock_irqsave(&base->lock, flags);
	/* Rather than keep the lock's address in a register of its own. */
	OPTIMIZER_HIDE_VAR(base);
	if (likely(arm_idle(base, timer, word))) {
		raw_spin_unlock_irqrestore(&base->lock, flags);
		return 0;
	}
	return arm_held_and_unlock(base, timer, word, TW_ARM_ANY, flags);
}
TW_EXPORT(twheel_arm_at);

/**
 * twheel_arm() - arm a timer for a delay from now
 * @timer: the timer
 * @delay_ns: how long. A delay of 0 ends at the next tick boundary, or now if this is one
 *
 * Context:
 * * any but NMI
 * Return:
 * * as twheel_arm_at()
 * * -EINVAL - also if the wheel is on %TWHEEL_CLOCK_REALTIME or %TWHEEL_CLOCK_TAI, which
 *   take deadlines only. Nothing has been done
 */
int twheel_arm(struct twheel_timer *timer, u64 delay_ns)
{
	if (!tw_debug_assert_init(timer) || !tw_timer_takes_delay(timer))
		return -EINVAL;
	return twheel_arm_at(timer, arm_after(timer, delay_ns));
}
TW_EXPORT(twheel_arm);

/**
 * __twheel_arm_with() - arm a timer on a CPU, or with slack
 * @timer: the timer
 * @cpu: the CPU, with %__TWHEEL_ON_CPU
 * @when_ns: the deadline; with %__TWHEEL_DELAY a delay from now
 * @slack_ns: by how much it may be later
 * @how: these flags
 *
 * Use twheel_arm_on(), twheel_arm_range() and the like.
 *
 * Context:
 * * any but NMI
 * Return:
 * * as they
 */
int __twheel_arm_with(struct twheel_timer *timer, int cpu, u64 when_ns, u64 slack_ns,
		      unsigned int how)
{
	const struct twheel_base *base;

	if (!tw_debug_assert_init(timer))
		return -EINVAL;
	base = tw_timer_any_base(timer);
	if (!base || (how & __TWHEEL_DELAY && base->absolute))
		return -EINVAL;
	if (how & __TWHEEL_DELAY)
		when_ns = arm_after(timer, when_ns);
	if (!(how & __TWHEEL_ON_CPU))
		return twheel_arm_at(timer, tw_wheel_share(&base->wheel, when_ns, slack_ns));
	if (cpu < 0 || cpu >= nr_cpu_ids || !cpu_possible(cpu))
		return -EINVAL;
	return tw_place(timer, tw_word(when_ns), TW_ARM_ANY, cpu);
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
 * Context:
 * * any but NMI
 * Return:
 * * 1 - the timer has the new deadline
 * * -ENOENT - it is not pending
 */
int twheel_modify_at(struct twheel_timer *timer, u64 deadline_ns)
{
	s64 word = tw_word(deadline_ns);

	if (!tw_debug_assert_init(timer))
		return -ENOENT;
	/* It is not pending, or a later deadline leaves it where it is. */
	if ((u64)atomic64_read(&timer->node.word) <= (u64)word)
		return arm_pending(timer, word, TW_ARM_PENDING);
	return arm_nearer(timer, word, TW_ARM_PENDING);
}
TW_EXPORT(twheel_modify_at);

/**
 * twheel_modify() - twheel_modify_at() for a delay from now
 * @timer: the timer
 * @delay_ns: the new delay
 *
 * Context:
 * * any but NMI
 * Return:
 * * as twheel_modify_at()
 * * -EINVAL - the clock of the wheel can be set, see twheel_arm(); nothing has
 *   been done
 */
int twheel_modify(struct twheel_timer *timer, u64 delay_ns)
{
	if (!tw_debug_assert_init(timer) || !tw_timer_any_base(timer))
		return -ENOENT;
	if (!tw_timer_takes_delay(timer))
		return -EINVAL;
	return twheel_modify_at(timer, arm_after(timer, delay_ns));
}
TW_EXPORT(twheel_modify);

/**
 * twheel_extend() - twheel_extend_at() for a delay from now
 * @timer: the timer
 * @delay_ns: the new delay
 *
 * Context:
 * * any but NMI
 * * lock-free
 * Return:
 * * as twheel_extend_at()
 * * -EINVAL - the clock of the wheel can be set, see twheel_arm(); nothing has
 *   been done
 */
int twheel_extend(struct twheel_timer *timer, u64 delay_ns)
{
	const struct twheel_base *base;
	u64 deadline;

	if (!tw_debug_assert_init(timer))
		return -ENOENT;
	base = tw_timer_any_base(timer);
	if (unlikely(!base))
		return -ENOENT;
	if (unlikely(base->absolute))
		return -EINVAL;
	deadline = min(arm_add(tw_clock_now(&base->clock), delay_ns), TWHEEL_NEVER);
	return tw_arm_extend(timer, tw_word(deadline));
}
TW_EXPORT(twheel_extend);

/* tw_arm_at_held() - twheel_arm_at() with the base lock, for deadlines up to %TWHEEL_NEVER */
int tw_arm_at_held(struct twheel_timer *timer, u64 deadline_ns)
{
	s64 word = tw_word(deadline_ns);

	if (!tw_debug_assert_init(timer))
		return -EINVAL;
	if (likely(word < timer->base->plain) &&
	    likely(arm_idle(timer->base, timer, word)))
		return 0;
	return tw_arm_held(timer->base, timer, word, TW_ARM_ANY);
}
