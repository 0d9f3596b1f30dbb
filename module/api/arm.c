// SPDX-License-Identifier: GPL-2.0-only
/* Arming, modifying and extending timers. */
#include <linux/cpumask.h>
#include <linux/errno.h>
#include <linux/lockdep.h>
#include <linux/overflow.h>
#include <linux/processor.h>
#include <linux/smp.h>

#include <linux/twheel.h>

#include "../core/base.h"
#include "../core/debug.h"
#include "../core/trace.h"
#include "../export.h"
#include "hold.h"
#include "instance.h"
#include "timer.h"

/* What a timer's word may be before it is given a new deadline. */
enum before {
	ANY,
	PENDING,
};

static u64 saturating_add(u64 a, u64 b)
{
	u64 sum;

	if (check_add_overflow(a, b, &sum))
		return TWHEEL_NEVER;
	return min(sum, TWHEEL_NEVER);
}

/* Is the timer on a wheel that takes deadlines only? */
static __always_inline bool takes_no_delay(const struct twheel_timer *timer)
{
	return unlikely(READ_ONCE(timer->base)->absolute);
}

/* The instant after a delay. */
static u64 after(const struct twheel_timer *timer, u64 delay_ns)
{
	const struct twheel_base *base = READ_ONCE(timer->base);

	return saturating_add(tw_clock_now(&base->clock), delay_ns);
}

/* One comparison tells the states that can be armed from all other words. */
static __always_inline bool is_idle(u64 word)
{
	BUILD_BUG_ON(~(u64)TWHEEL_SHUTDOWN > ~(u64)TWHEEL_UNFIRED);
	return word > ~(u64)TWHEEL_SHUTDOWN;
}

/* With the base lock and a credit: an idle timer becomes pending. */
static __always_inline void make_pending(struct twheel_timer *timer, u64 deadline)
{
	tw_debug_activate(timer);
	/* Nobody but the holder of the lock writes an idle word. */
	atomic64_set(&timer->word, deadline);
}

/*
 * With the base lock: arm a timer that is idle, if there is room without a look at
 * credits. It is what all that can be armed in one go is written for.
 */
static __always_inline bool arm_idle(struct twheel_base *base,
				     struct twheel_timer *timer, u64 word,
				     u64 deadline)
{
	if (unlikely(!is_idle(word)))
		return false;
	if (unlikely(--base->room < 0)) {
		/* Or the old value would be kept, rather than counted back. */
		barrier();
		base->room++;
		return false;
	}
	make_pending(timer, deadline);
	tw_base_enqueue_soon(base, timer, deadline);
	tw_trace_arm(base, timer);
	return true;
}

/* With the base lock: a pending timer gets another deadline, and has to be filed. */
static __always_inline void take_out(struct twheel_base *base,
				     struct twheel_timer *timer, u64 deadline)
{
	/* An extension that comes between is overruled. */
	atomic64_xchg(&timer->word, deadline);
	tw_wheel_dequeue(&base->wheel, timer);
}

/* A later deadline, up to TWHEEL_NEVER, leaves a pending timer where it is. */
static __always_inline bool extend(struct twheel_timer *timer, u64 deadline)
{
	if (tw_extend(timer, deadline) != 1)
		return false;
	tw_trace_extend(timer, deadline);
	return true;
}

/* With the base lock: give the timer its deadline. */
static noinline int place(struct twheel_base *base, struct twheel_timer *timer,
			  u64 deadline, enum before before)
{
	u64 word = atomic64_read(&timer->word);

	lockdep_assert_held(&base->lock);
	if (tw_timer_is_deadline(word)) {
		take_out(base, timer, deadline);
		tw_base_enqueue(base, timer, deadline);
		tw_trace_modify(base, timer);
		return 1;
	}
	if (before == PENDING)
		return 0;
	if (!is_idle(word) || base->stopped)
		return -ESHUTDOWN;
	if (--base->room < 0) {
		base->room++;
		if (!tw_base_refill(base))
			return -ENOSPC;
		base->room--;
	}
	make_pending(timer, deadline);
	tw_base_enqueue(base, timer, deadline);
	tw_trace_arm(base, timer);
	return 0;
}

/*
 * The base on which to arm a timer for @cpu, or for %TW_ANY_CPU.
 *
 * If no CPU is named, a pending timer stays where it is. So does one whose callback
 * runs, because cancel_sync looks for that on the timer's base only.
 */
static struct twheel_base *pick(struct twheel_base *from, int cpu, bool stay)
{
	struct twheel *wheel = from->owner;

	if (!wheel->percpu)
		cpu = 0;
	else if (cpu == TW_ANY_CPU)
		cpu = stay ? from->clock.cpu : raw_smp_processor_id();
	return tw_instance_base(wheel, cpu);
}

/* With both locks: the timer moves, if it is pending with the credit it lives on. */
static void change_base(struct twheel_timer *timer, struct twheel_base *from,
			struct twheel_base *to, u64 deadline)
{
	if (tw_timer_is_deadline(atomic64_read(&timer->word))) {
		atomic64_xchg(&timer->word, deadline);
		tw_base_dequeue(from, timer);
		if (from->credits) {
			from->limit--;
			from->room--;
			to->limit++;
		} else {
			to->room--;
		}
		tw_base_enqueue(to, timer, deadline);
		tw_trace_modify(to, timer);
	}
	/* Pairs with tw_timer_lock_base(), by the lock of @to. */
	WRITE_ONCE(timer->base, to);
}

/* As set_deadline(), on a wheel that has several bases. */
static noinline int set_deadline_on(struct twheel_timer *timer, u64 deadline,
				    enum before before, int cpu)
{
	struct twheel_base *base, *to;
	unsigned long flags;
	bool pending;
	int ret;

	deadline = min(deadline, TWHEEL_NEVER);
again:
	base = tw_timer_lock_base(timer, &flags);
	pending = tw_timer_is_deadline(atomic64_read(&timer->word));
	ret = 0;
	if (!pending && before == PENDING)
		goto out;
	to = pick(base, cpu, pending || tw_timer_runs(base, timer));
	if (to == base) {
		ret = pending && extend(timer, deadline) ? 1 :
		      place(base, timer, deadline, before);
		goto out;
	}
	ret = -EBUSY;
	if (tw_timer_runs(base, timer))
		goto out;
	/* In whichever order: nobody waits for the second one. */
	if (!raw_spin_trylock(&to->lock)) {
		if (cpu == TW_ANY_CPU) {
			/* Another CPU does as well. */
			ret = place(base, timer, deadline, before);
			goto out;
		}
		raw_spin_unlock_irqrestore(&base->lock, flags);
		cpu_relax();
		goto again;
	}
	if (base->stopped || to->stopped) {
		/* The bases are being emptied, one after the other. */
		ret = before == PENDING ? 0 : -ESHUTDOWN;
		raw_spin_unlock(&to->lock);
		goto out;
	}
	change_base(timer, base, to, deadline);
	raw_spin_unlock(&base->lock);
	base = to;
	ret = pending ? 1 : place(base, timer, deadline, before);
out:
	raw_spin_unlock_irqrestore(&base->lock, flags);
	return ret;
}

static noinline int place_and_unlock(struct twheel_base *base,
				     struct twheel_timer *timer, u64 deadline,
				     enum before before, unsigned long flags)
	__releases(&base->lock)
{
	int ret = place(base, timer, deadline, before);

	raw_spin_unlock_irqrestore(&base->lock, flags);
	return ret;
}

/* As set_deadline(), for a timer that is pending or not to be armed. */
static noinline int set_deadline_here(struct twheel_timer *timer, u64 deadline,
				      enum before before)
{
	struct twheel_base *base = timer->base;
	unsigned long flags;

	/* A later deadline leaves the timer where it is. */
	if (extend(timer, deadline))
		return 1;
	raw_spin_lock_irqsave(&base->lock, flags);
	return place_and_unlock(base, timer, deadline, before, flags);
}

/*
 * Give the timer a deadline. Arming one that is idle, on a wheel of one base, is what
 * this is written for.
 */
static __always_inline int set_deadline(struct twheel_timer *timer, u64 deadline,
					enum before before)
{
	struct twheel_base *base;
	unsigned long flags;
	u64 word;

	if (!tw_debug_assert_init(timer))
		return before == PENDING ? 0 : -EINVAL;
	base = READ_ONCE(timer->base);
	if (unlikely(deadline >= base->plain))
		return set_deadline_on(timer, deadline, before, TW_ANY_CPU);
	if ((u64)atomic64_read(&timer->word) < deadline)
		return set_deadline_here(timer, deadline, before);

	raw_spin_lock_irqsave(&base->lock, flags);
	/* Rather than keep the lock's address in a register of its own. */
	OPTIMIZER_HIDE_VAR(base);
	word = atomic64_read(&timer->word);
	if (before == ANY && likely(arm_idle(base, timer, word, deadline))) {
		raw_spin_unlock_irqrestore(&base->lock, flags);
		return 0;
	}
	if (likely(tw_timer_is_deadline(word))) {
		take_out(base, timer, deadline);
		tw_base_enqueue_soon(base, timer, deadline);
		tw_trace_modify(base, timer);
		raw_spin_unlock_irqrestore(&base->lock, flags);
		return 1;
	}
	return place_and_unlock(base, timer, deadline, before, flags);
}

/**
 * twheel_arm_at() - arm a timer for a deadline
 * @timer: the timer
 * @deadline_ns: when, on the wheel's clock. One in the past is due at once; it is
 *	served soon, but never from within this call
 *
 * A timer that is pending already gets the new deadline, nearer or later.
 *
 * Context:
 * * any
 * Return:
 * * 0 - the timer was not pending, and is now
 * * 1 - it was pending, and has moved
 * * -ESHUTDOWN - the timer has been shut down, or the wheel stopped
 * * -ENOSPC - as many timers as the wheel's limit are pending
 * * -EINVAL - the timer was never initialised; found out, and reported, only by
 *   kernels with CONFIG_DEBUG_OBJECTS
 */
int twheel_arm_at(struct twheel_timer *timer, u64 deadline_ns)
{
	return set_deadline(timer, deadline_ns, ANY);
}
TW_EXPORT(twheel_arm_at);

/**
 * twheel_arm() - arm a timer for a delay from now
 * @timer: the timer
 * @delay_ns: how long
 *
 * Context:
 * * any
 * Return:
 * * as twheel_arm_at()
 * * -EINVAL - the wheel is on %TWHEEL_CLOCK_REALTIME, which takes absolute deadlines
 *   only: use a wheel on %TWHEEL_CLOCK_MONOTONIC; nothing has been done
 */
int twheel_arm(struct twheel_timer *timer, u64 delay_ns)
{
	if (!tw_debug_assert_init(timer) || takes_no_delay(timer))
		return -EINVAL;
	return twheel_arm_at(timer, after(timer, delay_ns));
}
TW_EXPORT(twheel_arm);

/**
 * twheel_arm_on_at() - arm a timer for a deadline, on a CPU
 * @timer: the timer
 * @cpu: the CPU on which it is to fire, of a per-CPU wheel; another kind of wheel
 *	has no place for timers but one, and ignores it
 * @deadline_ns: when, as for twheel_arm_at()
 *
 * If the CPU is offline when the deadline comes, the timer fires on another.
 *
 * Context:
 * * any
 * Return:
 * * as twheel_arm_at()
 * * -EBUSY - the timer's callback is running on another CPU; nothing has been done
 * * -EINVAL - there can be no such CPU
 */
int twheel_arm_on_at(struct twheel_timer *timer, int cpu, u64 deadline_ns)
{
	if (!tw_debug_assert_init(timer))
		return -EINVAL;
	if (cpu < 0 || cpu >= nr_cpu_ids || !cpu_possible(cpu))
		return -EINVAL;
	return set_deadline_on(timer, deadline_ns, ANY, cpu);
}
TW_EXPORT(twheel_arm_on_at);

/**
 * twheel_arm_on() - arm a timer for a delay from now, on a CPU
 * @timer: the timer
 * @cpu: as for twheel_arm_on_at()
 * @delay_ns: how long
 *
 * Context:
 * * any
 * Return:
 * * as twheel_arm_on_at()
 * * -EINVAL - also where twheel_arm() says so
 */
int twheel_arm_on(struct twheel_timer *timer, int cpu, u64 delay_ns)
{
	if (!tw_debug_assert_init(timer) || takes_no_delay(timer))
		return -EINVAL;
	return twheel_arm_on_at(timer, cpu, after(timer, delay_ns));
}
TW_EXPORT(twheel_arm_on);

/*
 * The instant in [deadline, deadline + slack] whose tick has the most trailing
 * zeros: many timers come to share it, and it lies on the boundary of the largest
 * bucket that the range allows.
 */
static u64 within(const struct twheel_timer *timer, u64 deadline, u64 slack)
{
	const struct tw_wheel *w = &READ_ONCE(timer->base)->wheel;
	u64 first, last, ns;

	deadline = min(deadline, TWHEEL_NEVER);
	first = tw_wheel_ceil(w, deadline);
	last = tw_wheel_floor(w, saturating_add(deadline, slack));
	if (last <= first)
		return deadline;
	/* Keep what first - 1 and last have in common, and the bit after it. */
	last &= ~(u64)0 << (fls64((first - 1) ^ last) - 1);
	ns = tw_wheel_ns(w, last);
	return min(ns, TWHEEL_NEVER);
}

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
 * * any
 * Return:
 * * as twheel_arm_at()
 */
int twheel_arm_range_at(struct twheel_timer *timer, u64 deadline_ns,
			u64 slack_ns)
{
	if (!tw_debug_assert_init(timer))
		return -EINVAL;
	return twheel_arm_at(timer, within(timer, deadline_ns, slack_ns));
}
TW_EXPORT(twheel_arm_range_at);

/**
 * twheel_arm_range() - twheel_arm_range_at() for a delay from now
 * @timer: the timer
 * @delay_ns: the shortest delay
 * @slack_ns: by how much it may be longer, beyond the tick
 *
 * Context:
 * * any
 * Return:
 * * as twheel_arm()
 */
int twheel_arm_range(struct twheel_timer *timer, u64 delay_ns, u64 slack_ns)
{
	if (!tw_debug_assert_init(timer) || takes_no_delay(timer))
		return -EINVAL;
	return twheel_arm_range_at(timer, after(timer, delay_ns), slack_ns);
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
 * * any
 * Return:
 * * 1 - the timer has moved
 * * 0 - it was not pending
 */
int twheel_modify_at(struct twheel_timer *timer, u64 deadline_ns)
{
	return set_deadline(timer, deadline_ns, PENDING);
}
TW_EXPORT(twheel_modify_at);

/**
 * twheel_modify() - twheel_modify_at() for a delay from now
 * @timer: the timer
 * @delay_ns: the new delay
 *
 * Context:
 * * any
 * Return:
 * * as twheel_modify_at()
 * * -EINVAL - as from twheel_arm(); nothing has been done
 */
int twheel_modify(struct twheel_timer *timer, u64 delay_ns)
{
	if (!tw_debug_assert_init(timer))
		return 0;
	if (takes_no_delay(timer))
		return -EINVAL;
	return twheel_modify_at(timer, after(timer, delay_ns));
}
TW_EXPORT(twheel_modify);

/**
 * twheel_extend() - twheel_extend_at() for a delay from now
 * @timer: the timer
 * @delay_ns: the new delay
 *
 * Context:
 * * any
 * * lock-free
 * Return:
 * * as twheel_extend_at()
 * * -EINVAL - as from twheel_arm(); nothing has been done
 */
int twheel_extend(struct twheel_timer *timer, u64 delay_ns)
{
	u64 deadline;
	int ret;

	if (!tw_debug_assert_init(timer))
		return -ENOENT;
	if (takes_no_delay(timer))
		return -EINVAL;
	deadline = after(timer, delay_ns);
	ret = tw_extend(timer, deadline);
	if (ret == 1)
		tw_trace_extend(timer, deadline);
	return ret;
}
TW_EXPORT(twheel_extend);

/* tw_arm_at_held() - twheel_arm_at() with the lock of the timer's base, see hold.h */
int tw_arm_at_held(struct twheel_timer *timer, u64 deadline_ns)
{
	if (!tw_debug_assert_init(timer))
		return -EINVAL;
	if (likely(deadline_ns < timer->base->plain) &&
	    likely(arm_idle(timer->base, timer, atomic64_read(&timer->word),
			    deadline_ns)))
		return 0;
	return place(timer->base, timer, min(deadline_ns, TWHEEL_NEVER), ANY);
}

/* tw_modify_at_held() - twheel_modify_at() with the lock of the timer's base */
int tw_modify_at_held(struct twheel_timer *timer, u64 deadline_ns)
{
	if (!tw_debug_assert_init(timer))
		return 0;
	deadline_ns = min(deadline_ns, TWHEEL_NEVER);
	/* A later deadline leaves the timer where it is. */
	if (extend(timer, deadline_ns))
		return 1;
	return place(timer->base, timer, deadline_ns, PENDING);
}
