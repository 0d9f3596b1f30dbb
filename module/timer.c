// SPDX-License-Identifier: GPL-2.0-only
/*
 * The operations on a timer that other modules call.
 *
 * The word of a timer is its deadline while it is pending, and else its state.
 * It is exchanged under the base lock, with one exception: twheel_extend_at()
 * lets a pending word grow without. So under the lock
 *
 *	the timer is linked  if and only if  its word is a deadline,
 *
 * and the tick it is filed under is never later than its word.
 */
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/overflow.h>
#include <linux/preempt.h>

#include <linux/twheel.h>

#include "base.h"
#include "compat.h"

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

static u64 after(const struct twheel_timer *timer, u64 delay_ns)
{
	return saturating_add(tw_clock_now(&timer->base->clock), delay_ns);
}

static bool is_deadline(u64 word)
{
	return word <= TWHEEL_NEVER;
}

/**
 * twheel_timer_init() - initialise a timer
 * @timer: the timer; must not be pending
 * @wheel: the wheel it is to belong to
 * @function: what it does when it fires
 *
 * Context: any.
 */
void twheel_timer_init(struct twheel_timer *timer, struct twheel *wheel,
		       twheel_fn function)
{
	INIT_HLIST_NODE(&timer->node);
	atomic64_set(&timer->word, ~(u64)TWHEEL_IDLE);
	timer->function = function;
	timer->base = &wheel->base;
}
TW_EXPORT(twheel_timer_init);

static int set_deadline(struct twheel_timer *timer, u64 deadline,
			enum before before)
{
	struct twheel_base *base = timer->base;
	unsigned long flags;
	u64 word;
	int ret;

	/* A later deadline leaves the timer where it is. */
	deadline = min(deadline, TWHEEL_NEVER);
	if (twheel_extend_at(timer, deadline) == 1)
		return 1;

	raw_spin_lock_irqsave(&base->lock, flags);
	word = atomic64_read(&timer->word);
	if (is_deadline(word)) {
		/* An extension that comes between is overruled. */
		atomic64_xchg(&timer->word, deadline);
		tw_wheel_del(&base->wheel, timer);
		tw_base_file(base, timer);
		ret = 1;
	} else if (before == PENDING) {
		ret = 0;
	} else if (word == ~(u64)TWHEEL_SHUTDOWN || base->stopped) {
		ret = -ESHUTDOWN;
	} else if (base->pending >= base->limit) {
		ret = -ENOSPC;
	} else {
		/* Nobody but the holder of the lock writes an idle word. */
		atomic64_set(&timer->word, deadline);
		base->pending++;
		base->armed++;
		tw_base_file(base, timer);
		ret = 0;
	}
	raw_spin_unlock_irqrestore(&base->lock, flags);
	return ret;
}

/**
 * twheel_arm_at() - arm a timer for a deadline
 * @timer: the timer
 * @deadline_ns: when, on the wheel's clock. One in the past is due at once; it is
 *	served soon, but never from within this call
 *
 * A timer that is pending already gets the new deadline, nearer or later.
 *
 * Context: any.
 * Return:
 * * 0 - the timer was not pending, and is now
 * * 1 - it was pending, and has moved
 * * -ESHUTDOWN - the timer has been shut down, or the wheel stopped
 * * -ENOSPC - as many timers as the wheel's limit are pending
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
 * Context: any.
 * Return: as twheel_arm_at().
 */
int twheel_arm(struct twheel_timer *timer, u64 delay_ns)
{
	return set_deadline(timer, after(timer, delay_ns), ANY);
}
TW_EXPORT(twheel_arm);

/*
 * The instant in [deadline, deadline + slack] whose tick has the most trailing
 * zeros: many timers come to share it, and it lies on the boundary of the largest
 * bucket that the range allows.
 */
static u64 within(const struct twheel_timer *timer, u64 deadline, u64 slack)
{
	const struct tw_wheel *w = &timer->base->wheel;
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
 * Context: any.
 * Return: as twheel_arm_at().
 */
int twheel_arm_range_at(struct twheel_timer *timer, u64 deadline_ns,
			u64 slack_ns)
{
	return set_deadline(timer, within(timer, deadline_ns, slack_ns), ANY);
}
TW_EXPORT(twheel_arm_range_at);

/**
 * twheel_arm_range() - twheel_arm_range_at() for a delay from now
 * @timer: the timer
 * @delay_ns: the shortest delay
 * @slack_ns: by how much it may be longer, beyond the tick
 *
 * Context: any.
 * Return: as twheel_arm_at().
 */
int twheel_arm_range(struct twheel_timer *timer, u64 delay_ns, u64 slack_ns)
{
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
 * Context: any.
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
 * Context: any.
 * Return: as twheel_modify_at().
 */
int twheel_modify(struct twheel_timer *timer, u64 delay_ns)
{
	return set_deadline(timer, after(timer, delay_ns), PENDING);
}
TW_EXPORT(twheel_modify);

/**
 * twheel_extend() - twheel_extend_at() for a delay from now
 * @timer: the timer
 * @delay_ns: the new delay
 *
 * Context: any. Lock-free.
 * Return: as twheel_extend_at().
 */
int twheel_extend(struct twheel_timer *timer, u64 delay_ns)
{
	return twheel_extend_at(timer, after(timer, delay_ns));
}
TW_EXPORT(twheel_extend);

/* With the base lock: make the timer not pending. Was it? */
static int withdraw(struct twheel_base *base, struct twheel_timer *timer,
		    enum twheel_state state)
{
	u64 word = atomic64_read(&timer->word);

	lockdep_assert_held(&base->lock);
	if (!is_deadline(word)) {
		if (state == TWHEEL_SHUTDOWN)
			atomic64_set(&timer->word, ~(u64)state);
		return 0;
	}
	/* Pairs with the compare-and-swap in twheel_extend_at(). */
	atomic64_xchg(&timer->word, ~(u64)state);
	base->cancelled++;
	tw_base_unfile(base, timer);
	return 1;
}

/**
 * twheel_cancel() - cancel a timer, without waiting for its callback
 * @timer: the timer
 *
 * When this returns 0 the callback may be about to run or running on another CPU:
 * see twheel_cancel_sync().
 *
 * Context: any.
 * Return:
 * * 1 - the timer was pending; its callback will not be called for that deadline
 * * 0 - it was not pending
 */
int twheel_cancel(struct twheel_timer *timer)
{
	struct twheel_base *base = timer->base;
	unsigned long flags;
	int ret;

	if (!twheel_pending(timer))
		return 0;
	raw_spin_lock_irqsave(&base->lock, flags);
	ret = withdraw(base, timer, TWHEEL_CANCELLED);
	raw_spin_unlock_irqrestore(&base->lock, flags);
	return ret;
}
TW_EXPORT(twheel_cancel);

static int withdraw_sync(struct twheel_timer *timer, enum twheel_state state)
{
	struct twheel_base *base = timer->base;
	unsigned long flags;
	bool running;
	int ret = 0;

	/* It would wait for the callback that it interrupts. */
	WARN_ON_ONCE(in_hardirq());

	do {
		raw_spin_lock_irqsave(&base->lock, flags);
		running = base->running == timer;
		/*
		 * The callback may arm the timer again. Cancelling before it has
		 * ended, and once more after, would be two cancellations that
		 * the caller learns of as one. A shutdown is final at once.
		 */
		if (running && base->runner == current)
			ret = -EDEADLK;
		else if (!running || state == TWHEEL_SHUTDOWN)
			ret |= withdraw(base, timer, state);
		raw_spin_unlock_irqrestore(&base->lock, flags);
		if (ret < 0)
			return ret;
		if (running)
			tw_base_wait(base);
	} while (running);
	return ret;
}

/**
 * twheel_cancel_sync() - cancel a timer and wait for its callback
 * @timer: the timer
 *
 * When this returns, the timer is not pending and its callback does not run on
 * any CPU, unless somebody arms it again; the caller has to see to that, or use
 * twheel_shutdown_sync().
 *
 * Do not call it with a lock held that the callback takes: the callback would
 * wait for the lock, and this for the callback.
 *
 * Context: process or softirq, not hard interrupt. Spins while the callback runs;
 * on PREEMPT_RT it sleeps.
 * Return:
 * * 1 - the timer was pending and has been cancelled
 * * 0 - it was not pending
 * * -EDEADLK - called from the timer's own callback; nothing has been done. Use
 *   twheel_cancel() there
 */
int twheel_cancel_sync(struct twheel_timer *timer)
{
	return withdraw_sync(timer, TWHEEL_CANCELLED);
}
TW_EXPORT(twheel_cancel_sync);

/**
 * twheel_shutdown_sync() - cancel a timer for good
 * @timer: the timer
 *
 * As twheel_cancel_sync(), and every later arm fails with -ESHUTDOWN, also those
 * of callbacks and other CPUs that race with this: what the timer is part of can
 * be freed. twheel_timer_init() brings the timer back to life.
 *
 * Context: as twheel_cancel_sync().
 * Return: as twheel_cancel_sync().
 */
int twheel_shutdown_sync(struct twheel_timer *timer)
{
	return withdraw_sync(timer, TWHEEL_SHUTDOWN);
}
TW_EXPORT(twheel_shutdown_sync);

/**
 * twheel_remaining() - how long until the timer's deadline?
 * @timer: the timer
 *
 * Context: any. Lock-free.
 * Return: ns, 0 if the deadline has passed, or more than %TWHEEL_NEVER if the
 * timer is not pending.
 */
u64 twheel_remaining(const struct twheel_timer *timer)
{
	u64 word = atomic64_read(&timer->word);
	u64 now = tw_clock_now(&timer->base->clock);

	if (!is_deadline(word))
		return word;
	return word > now ? word - now : 0;
}
TW_EXPORT(twheel_remaining);

/**
 * twheel_of() - the wheel a timer belongs to
 * @timer: the timer
 *
 * Context: any.
 * Return: the wheel.
 */
struct twheel *twheel_of(const struct twheel_timer *timer)
{
	return timer->base->owner;
}
TW_EXPORT(twheel_of);
