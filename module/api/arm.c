// SPDX-License-Identifier: GPL-2.0-only
/*
 * Arming, modifying and extending timers.
 *
 * All bases of a wheel have the same clock and the same tick, and a timer never leaves
 * its wheel. So a deadline that was computed from the timer's base holds for the base
 * under whose lock it is stored, even if the timer has moved in between.
 */
#include <linux/cpumask.h>
#include <linux/errno.h>
#include <linux/lockdep.h>
#include <linux/overflow.h>
#include <linux/smp.h>

#include <linux/twheel.h>

#include "../core/base.h"
#include "../core/debug.h"
#include "../core/trace.h"
#include "../export.h"
#include "instance.h"
#include "timer.h"

/* Which timers are given a new deadline. */
enum arm_which {
	ARM_ANY,
	ARM_PENDING,
};

/*
 * The word for any deadline. Functions here take words: they are computed once, and
 * compared with those of timers and bases.
 */
static __always_inline s64 arm_word(u64 deadline)
{
	return tw_word(min(deadline, TWHEEL_NEVER));
}

/* The sum may be beyond TWHEEL_NEVER, as any deadline given to twheel_arm_at() may. */
static u64 arm_add(u64 a, u64 b)
{
	u64 sum;

	if (check_add_overflow(a, b, &sum))
		return TWHEEL_NEVER;
	return sum;
}

/* May the timer be given a delay? Some wheels take deadlines only. */
static __always_inline bool arm_takes_delay(const struct twheel_timer *timer)
{
	const struct twheel_base *base = tw_timer_any_base(timer);

	return likely(base) && likely(!base->absolute);
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
static __always_inline bool arm_is_idle(s64 word)
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
 * With the base lock: arm a timer that is idle, if there is room. The calls that can be
 * armed in one go are written for this.
 */
static __always_inline bool arm_idle(struct twheel_base *base,
				     struct twheel_timer *timer, s64 word)
{
	if (unlikely(!arm_is_idle(atomic64_read(&timer->node.word))))
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

/* A later deadline leaves a pending timer where it is. */
static __always_inline bool arm_extend(struct twheel_timer *timer, s64 word)
{
	if (tw_node_extend(&timer->node, word) != 1)
		return false;
	tw_trace_extend(timer, tw_word(word));
	return true;
}

/*
 * With the base lock: put a timer where it waits. One that is sent to another CPU while its
 * callback runs waits for that to return.
 */
static void arm_enqueue(struct twheel_base *base, struct twheel_timer *timer, s64 word)
{
	if (unlikely(base->sent_to) && tw_base_runs(base, timer))
		hlist_add_head(&timer->node.link, &base->sent);
	else
		tw_base_enqueue(base, timer, word);
}

/* With the base lock: give the timer its deadline. */
static noinline int arm_held(struct twheel_base *base, struct twheel_timer *timer,
			     s64 word, enum arm_which which)
{
	s64 before = atomic64_read(&timer->node.word);

	lockdep_assert_held(&base->lock);
	if (tw_timer_is_deadline(before)) {
		arm_dequeue(base, timer, word);
		arm_enqueue(base, timer, word);
		tw_trace_modify(base, timer);
		return 1;
	}
	if (which == ARM_PENDING)
		return -ENOENT;
	/* With a static initialiser, the word is 0 before the first arm. */
	if ((!arm_is_idle(before) && before) || base->stopped)
		return -ESHUTDOWN;
	if (!tw_base_take_room(base))
		return -ENOSPC;
	arm_make_pending(timer, word);
	arm_enqueue(base, timer, word);
	tw_trace_arm(base, timer);
	return 0;
}

/*
 * With the base lock: the base on which to arm a timer for @cpu, or for %TW_ANY_CPU.
 * If no CPU is named, a pending timer stays where it is, and so does one whose callback
 * runs.
 */
static struct twheel_base *arm_pick_base(const struct twheel_timer *timer,
					 struct twheel_base *from,
					 enum arm_which which, int cpu)
{
	struct twheel *wheel = from->owner;

	if (!wheel->percpu)
		return from;
	if (cpu == TW_ANY_CPU) {
		if (which == ARM_PENDING || tw_base_runs(from, timer) ||
		    tw_timer_is_deadline(atomic64_read(&timer->node.word)))
			return from;
		cpu = raw_smp_processor_id();
	}
	return tw_instance_base(wheel, cpu);
}

/*
 * With the lock of the base that runs the timer's callback: give the timer its deadline on
 * @to, where it goes when the callback has returned.
 */
static int arm_send(struct twheel_timer *timer, struct twheel_base *from,
		    struct twheel_base *to, s64 word)
{
	int ret;

	from->sent_to = to == from ? NULL : to;
	/* The pass looks after each group of callbacks: let this one end it. */
	from->group = 1;
	ret = arm_held(from, timer, word, ARM_ANY);
	if (ret < 0)
		from->sent_to = NULL;
	return ret;
}

/* With both locks: give a timer of @from its deadline on @to. */
static int arm_move(struct twheel_timer *timer, struct twheel_base *from,
		    struct twheel_base *to, s64 word, enum arm_which which)
{
	/* The bases are being emptied, one after the other. */
	if (from->stopped || to->stopped)
		return which == ARM_PENDING ? -ENOENT : -ESHUTDOWN;
	if (tw_timer_is_deadline(atomic64_read(&timer->node.word))) {
		/* This overrules an extension that comes in between. */
		atomic64_xchg(&timer->node.word, word);
		tw_base_move(from, to, timer, word);
		tw_trace_modify(to, timer);
		return 1;
	}
	tw_base_welcome(to, timer);
	return arm_held(to, timer, word, which);
}

/* With the lock of the timer's base: give it its deadline there. */
static int arm_stay(struct twheel_base *base, struct twheel_timer *timer,
		    s64 word, enum arm_which which)
{
	return arm_extend(timer, word) ? 1 : arm_held(base, timer, word, which);
}

/*
 * With both locks, after that of @base was released for a moment: is all still so?
 * Returns -EAGAIN if not.
 */
static int arm_both(struct twheel_timer *timer, struct twheel_base *base,
		    struct twheel_base *to, s64 word, enum arm_which which, int cpu)
{
	if (READ_ONCE(timer->base) != base)
		return -EAGAIN;
	if (cpu != TW_ANY_CPU && tw_base_runs(base, timer))
		return arm_send(timer, base, to, word);
	if (arm_pick_base(timer, base, which, cpu) != to)
		return arm_stay(base, timer, word, which);
	return arm_move(timer, base, to, word, which);
}

/* Give a timer its deadline, on a wheel that may have several bases. */
static noinline int arm_set_on(struct twheel_timer *timer, s64 word,
			       enum arm_which which, int cpu)
{
	struct twheel_base *base, *to;
	unsigned long flags;
	int ret;

	/* A deadline beyond TWHEEL_NEVER makes a word that is none: saturate it. */
	if (word >= 0)
		word = arm_word(TWHEEL_NEVER);
again:
	base = tw_timer_lock_base(timer, &flags);
	to = arm_pick_base(timer, base, which, cpu);
	if (cpu != TW_ANY_CPU && unlikely(tw_base_runs(base, timer))) {
		ret = arm_send(timer, base, to, word);
	} else if (to == base) {
		ret = arm_stay(base, timer, word, which);
	} else {
		ret = tw_base_lock_second(base, to) ?
		      arm_move(timer, base, to, word, which) :
		      arm_both(timer, base, to, word, which, cpu);
		raw_spin_unlock(&to->lock);
	}
	raw_spin_unlock_irqrestore(&base->lock, flags);
	if (unlikely(ret == -EAGAIN))
		goto again;
	return ret;
}

static noinline int arm_held_and_unlock(struct twheel_base *base,
					struct twheel_timer *timer, s64 word,
					enum arm_which which, unsigned long flags)
	__releases(&base->lock)
{
	int ret = arm_held(base, timer, word, which);

	raw_spin_unlock_irqrestore(&base->lock, flags);
	return ret;
}

/* Give a timer that is likely to be pending a deadline that is likely to be nearer. */
static __always_inline int arm_nearer(struct twheel_timer *timer, s64 word,
				      enum arm_which which)
{
	struct twheel_base *base = READ_ONCE(timer->base);
	unsigned long flags;

	if (unlikely(!base || word >= base->plain))
		return arm_set_on(timer, word, which, TW_ANY_CPU);
	raw_spin_lock_irqsave(&base->lock, flags);
	/* Rather than keep the lock's address in a register of its own. */
	OPTIMIZER_HIDE_VAR(base);
	if (likely(tw_timer_is_deadline(atomic64_read(&timer->node.word)))) {
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
				       enum arm_which which)
{
	return arm_nearer(timer, word, which);
}

/* Give a timer a deadline that is pending, shut down, or was never initialised. */
static noinline int arm_pending(struct twheel_timer *timer, s64 word, enum arm_which which)
{
	if (unlikely(!tw_timer_any_base(timer)))
		return which == ARM_PENDING ? -ENOENT : -EINVAL;
	if (unlikely(word >= 0))
		return arm_set_on(timer, word, which, TW_ANY_CPU);
	/* A later deadline leaves the timer where it is. */
	return arm_extend(timer, word) ? 1 : arm_pending_nearer(timer, word, which);
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
 * A timer that is pending already gets the new deadline, nearer or later.
 *
 * Context:
 * * any but NMI
 * Return:
 * * 0 - the timer was not pending, and is now
 * * 1 - it was pending, and has the new deadline
 * * -ESHUTDOWN - the timer has been shut down, or the wheel stopped
 * * -ENOSPC - as many timers as the wheel's limit are pending
 * * -EINVAL - the timer was never initialised
 */
int twheel_arm_at(struct twheel_timer *timer, u64 deadline_ns)
{
	s64 word = tw_word(deadline_ns);
	struct twheel_base *base;
	unsigned long flags;

	if (!tw_debug_assert_init(timer))
		return -EINVAL;
	if (!arm_is_idle(atomic64_read(&timer->node.word)))
		return arm_pending(timer, word, ARM_ANY);
	base = READ_ONCE(timer->base);
	if (unlikely(!base || word >= base->plain))
		return arm_set_on(timer, word, ARM_ANY, TW_ANY_CPU);

	raw_spin_lock_irqsave(&base->lock, flags);
	/* Rather than keep the lock's address in a register of its own. */
	OPTIMIZER_HIDE_VAR(base);
	if (likely(arm_idle(base, timer, word))) {
		raw_spin_unlock_irqrestore(&base->lock, flags);
		return 0;
	}
	return arm_held_and_unlock(base, timer, word, ARM_ANY, flags);
}
TW_EXPORT(twheel_arm_at);

/**
 * twheel_arm() - arm a timer for a delay from now
 * @timer: the timer
 * @delay_ns: how long. A delay of 0 ends at the next tick boundary
 *
 * Context:
 * * any but NMI
 * Return:
 * * as twheel_arm_at()
 * * -EINVAL - also if the wheel is on %TWHEEL_CLOCK_REALTIME, which takes deadlines
 *   only: use a wheel on %TWHEEL_CLOCK_MONOTONIC. Nothing has been done
 */
int twheel_arm(struct twheel_timer *timer, u64 delay_ns)
{
	if (!tw_debug_assert_init(timer) || !arm_takes_delay(timer))
		return -EINVAL;
	return twheel_arm_at(timer, arm_after(timer, delay_ns));
}
TW_EXPORT(twheel_arm);

/**
 * twheel_arm_on_at() - arm a timer for a deadline, on a CPU
 * @timer: the timer
 * @cpu: the CPU on which it is to fire, of a per-CPU wheel. Other wheels do not
 *	choose CPUs, and ignore it
 * @deadline_ns: when, as for twheel_arm_at()
 *
 * If the CPU is offline when the deadline comes, the timer fires on another.
 *
 * While the timer's callback runs, the timer is pending at once, but goes to @cpu when the
 * callback has returned. So a callback may send its own timer on, and the next callback
 * never begins before this one has ended.
 *
 * Context:
 * * any but NMI
 * Return:
 * * as twheel_arm_at()
 * * -EINVAL - also if there can be no such CPU
 */
int twheel_arm_on_at(struct twheel_timer *timer, int cpu, u64 deadline_ns)
{
	if (!tw_debug_assert_init(timer) || !tw_timer_any_base(timer))
		return -EINVAL;
	if (cpu < 0 || cpu >= nr_cpu_ids || !cpu_possible(cpu))
		return -EINVAL;
	return arm_set_on(timer, tw_word(deadline_ns), ARM_ANY, cpu);
}
TW_EXPORT(twheel_arm_on_at);

/**
 * twheel_arm_on() - arm a timer for a delay from now, on a CPU
 * @timer: the timer
 * @cpu: as for twheel_arm_on_at()
 * @delay_ns: how long
 *
 * Context:
 * * any but NMI
 * Return:
 * * as twheel_arm_on_at()
 * * -EINVAL - also where twheel_arm() says so
 */
int twheel_arm_on(struct twheel_timer *timer, int cpu, u64 delay_ns)
{
	if (!tw_debug_assert_init(timer) || !arm_takes_delay(timer))
		return -EINVAL;
	return twheel_arm_on_at(timer, cpu, arm_after(timer, delay_ns));
}
TW_EXPORT(twheel_arm_on);

/**
 * twheel_arm_range_at() - arm a timer that may be a little late
 * @timer: the timer
 * @deadline_ns: the earliest instant
 * @slack_ns: by how much it may be later, beyond the tick
 *
 * The wheel picks an instant within the range that many timers will share, and
 * that needs few wake-ups. The timer's deadline is then that instant.
 *
 * Context:
 * * any but NMI
 * Return:
 * * as twheel_arm_at()
 */
int twheel_arm_range_at(struct twheel_timer *timer, u64 deadline_ns,
			u64 slack_ns)
{
	const struct twheel_base *base = tw_timer_any_base(timer);

	if (!tw_debug_assert_init(timer) || !base)
		return -EINVAL;
	return twheel_arm_at(timer, tw_wheel_share(&base->wheel, deadline_ns, slack_ns));
}
TW_EXPORT(twheel_arm_range_at);

/**
 * twheel_arm_range() - twheel_arm_range_at() for a delay from now
 * @timer: the timer
 * @delay_ns: the shortest delay
 * @slack_ns: by how much it may be longer, beyond the tick
 *
 * Context:
 * * any but NMI
 * Return:
 * * as twheel_arm()
 */
int twheel_arm_range(struct twheel_timer *timer, u64 delay_ns, u64 slack_ns)
{
	if (!tw_debug_assert_init(timer) || !arm_takes_delay(timer))
		return -EINVAL;
	return twheel_arm_range_at(timer, arm_after(timer, delay_ns), slack_ns);
}
TW_EXPORT(twheel_arm_range);

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
		return arm_pending(timer, word, ARM_PENDING);
	return arm_nearer(timer, word, ARM_PENDING);
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
 * * -EINVAL - the wheel is on %TWHEEL_CLOCK_REALTIME, see twheel_arm(); nothing has
 *   been done
 */
int twheel_modify(struct twheel_timer *timer, u64 delay_ns)
{
	if (!tw_debug_assert_init(timer) || !READ_ONCE(timer->base))
		return -ENOENT;
	if (!arm_takes_delay(timer))
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
 * * -EINVAL - the wheel is on %TWHEEL_CLOCK_REALTIME, see twheel_arm(); nothing has
 *   been done
 */
int twheel_extend(struct twheel_timer *timer, u64 delay_ns)
{
	const struct twheel_base *base;
	u64 deadline;
	int ret;

	if (!tw_debug_assert_init(timer))
		return -ENOENT;
	base = READ_ONCE(timer->base);
	if (unlikely(!base))
		return -ENOENT;
	if (unlikely(base->absolute))
		return -EINVAL;
	deadline = min(arm_add(tw_clock_now(&base->clock), delay_ns), TWHEEL_NEVER);
	ret = tw_node_extend(&timer->node, tw_word(deadline));
	if (ret == 1)
		tw_trace_extend(timer, deadline);
	return ret;
}
TW_EXPORT(twheel_extend);

/* tw_arm_at_held() - twheel_arm_at() with the lock of the timer's base */
int tw_arm_at_held(struct twheel_timer *timer, u64 deadline_ns)
{
	s64 word = tw_word(deadline_ns);

	if (!tw_debug_assert_init(timer))
		return -EINVAL;
	if (likely(word < timer->base->plain) &&
	    likely(arm_idle(timer->base, timer, word)))
		return 0;
	return arm_held(timer->base, timer, word, ARM_ANY);
}
