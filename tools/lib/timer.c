// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/* Timers of process wheels: arm, modify, extend, cancel. */
#include "process.h"

/*
 * Whether it is initialised, and neither pending nor shut down. A plain read, which the compiler
 * makes a comparison in memory. Where there are other threads, all is looked at once more under
 * the lock. gcc forgets the attribute where it inlines this, so its sanitizer gets another read.
 */
static inline bool __attribute__((__no_sanitize_thread__))
timer_startable(const struct twheel_timer *timer)
{
#ifdef __SANITIZE_THREAD__
	return tw_node_startable(READ_ONCE(timer->tw_word));
#else
	return tw_node_startable(timer->tw_word);
#endif
}

/* The same for a plain read of its base, which is a bet: see twheel_arm_at(). */
static inline bool __attribute__((__no_sanitize_thread__))
timer_is_of(const struct twheel_timer *timer, const struct tw_base *b)
{
#ifdef __SANITIZE_THREAD__
	return tw_base_of(timer) == b;
#else
	return timer->tw_base == &b->base;
#endif
}

/* tw_timer_near() - it needs attention soon, or at once. The position follows the clock first */
void tw_timer_near(struct tw_base *b, struct twheel_node *node)
{
	u64 word = atomic64_read(&node->word);
	u64 wake = b->wheel.wake;

	if (!b->wheel.in_pass)
		tw_wheel_follow(&b->wheel, tw_wheel_floor(&b->wheel, tw_clock_keep(b)));
	if (!tw_wheel_enqueue(&b->wheel, node, word))
		tw_wheel_enqueue_near(&b->wheel, node);
	/* While a call serves the base, it is 0. That call sets the alarm at its end. */
	if (b->wheel.wake < wake)
		tw_alarm_lower(b);
}

/* tw_timer_arm() - with the lock: give a timer its deadline, whether it is pending or not */
int tw_timer_arm(struct tw_base *b, struct twheel_timer *timer, s64 word)
{
	return unlikely(b->end) ? -ESHUTDOWN : tw_node_arm(&b->wheel, tw_node(timer), word);
}

/* With the lock: arm a timer that is not idle, or near, or with a limit. */
static noinline int timer_arm_locked(struct tw_base *b, struct twheel_timer *timer, s64 word)
{
	int ret = tw_lost(b->base.wheel) ?: tw_timer_arm(b, timer, word);

	tw_unlock(b);
	return ret;
}

static noinline int timer_arm(struct twheel_timer *timer, s64 word)
{
	struct tw_base *b = tw_base_of(timer);

	if (!b)
		return -EINVAL;
	return timer_arm_locked(tw_lock_home(timer, b), timer, word);
}

/* The timer is not of the plain wheel that was armed last. Mostly its wheel has a lock. */
static noinline int timer_arm_other(struct twheel_timer *timer, s64 word)
{
	struct tw_base *b = tw_base_of(timer);

	if (!b->odd)
		tw_recent = b;
	if (!b->base.threads || unlikely(!tw_is_home(b)) || unlikely(!tw_try_lock(&b->lock)))
		return timer_arm(timer, word);
	if (unlikely(!tw_still_of(timer, b))) {
		tw_unlock(b);
		return timer_arm(timer, word);
	}
	if (unlikely(b->bound) || unlikely(!timer_startable(timer)) ||
	    unlikely(!tw_wheel_enqueue(&b->wheel, tw_node(timer), word)))
		return timer_arm_locked(b, timer, word);
	atomic64_set(&tw_node(timer)->word, word);
	b->armed++;
	tw_unlock(b);
	return 0;
}

/*
 * A timer is often not in the cache, and its wheel is read from it. Nearly always it is the wheel
 * of the last arm. So the processor computes with that wheel, and checks the bet when the
 * timer has come. Without the hint, the compiler goes on with the wheel that was read. By make
 * bench MODE=wheels, an arm among 100 000 timers takes a third less with it. The idea:
 * F. Mazzoli, "Beating the L1 cache with value speculation", 2021.
 *
 * What is rare is in calls at the end, so that the rest saves and moves no registers. Nothing is
 * changed before them.
 */
int twheel_arm_at(struct twheel_timer *timer, uint64_t deadline_ns)
{
	struct tw_base *b = tw_recent, *bet = b;
	s64 word = tw_deadline_word(deadline_ns);

	OPTIMIZER_HIDE_VAR(b);
	if (unlikely(!timer_startable(timer)))
		return timer_arm(timer, word);
	if (unlikely(!timer_is_of(timer, bet)) || unlikely(b->odd))
		return timer_arm_other(timer, word);
	if (unlikely(!tw_wheel_enqueue(&b->wheel, tw_node(timer), word)))
		return timer_arm(timer, word);
	atomic64_set(&tw_node(timer)->word, word);
	b->armed++;
	return 0;
}

/* The timer is near, or its wheel has a lock or a limit. */
static noinline int timer_add(struct twheel *w, struct twheel_timer *timer, s64 word)
{
	if (TW_CHECKED)
		tw_check_add(w, timer);
	return w->first.base.threads ? timer_arm_other(timer, word) : timer_arm(timer, word);
}

/*
 * A branch on what a cold line holds fills the processor with work that cannot end, so few arms
 * wait for memory at a time. A store waits for nothing. So this reads nothing of the timer.
 */
int twheel_add_at(struct twheel *w, struct twheel_timer *timer, uint64_t deadline_ns)
{
	struct tw_base *b = &w->first;
	s64 word = tw_deadline_word(deadline_ns);

	if (unlikely(b->odd) || unlikely(!tw_wheel_enqueue(&b->wheel, tw_node(timer), word)))
		return timer_add(w, timer, word);
	atomic64_set(&tw_node(timer)->word, word);
	b->armed++;
	return 0;
}

int twheel_modify_at(struct twheel_timer *timer, uint64_t deadline_ns)
{
	struct tw_base *b = tw_base_of(timer);
	int ret = -ENOENT;

	if (unlikely(!b))
		return ret;
	b = tw_lock_timer(timer, b);
	if (likely(twheel_pending(timer)))
		ret = tw_lost(b->base.wheel) ?: unlikely(b->end) ? -ESHUTDOWN :
		      tw_node_arm(&b->wheel, tw_node(timer), tw_deadline_word(deadline_ns));
	tw_unlock(b);
	return ret;
}

int twheel_extend_shared(struct twheel_timer *timer, uint64_t deadline_ns)
{
	struct twheel_node *node = tw_node(timer);

	if (TW_CHECKED) {
		struct tw_base *b = tw_lock_timer(timer, tw_base_of(timer));

		if (twheel_pending(timer))
			tw_check_link(&node->link, node->link.pprev);
		tw_unlock(b);
	}
	return tw_node_extend(node, tw_deadline_word(deadline_ns));
}

/*
 * Now and a delay, which saturates. Returns 0; @none if the timer has no wheel; -EINVAL if that
 * takes no delays.
 */
static inline int timer_deadline(const struct twheel_timer *timer, u64 delay_ns, int none,
				 u64 *deadline_ns)
{
	const struct tw_base *b = tw_base_of(timer);

	if (!b)
		return none;
	if (unlikely(tw_settable(b)))
		return -EINVAL;
	if (__builtin_add_overflow(tw_clock_read(b), delay_ns, deadline_ns))
		*deadline_ns = TWHEEL_NEVER;
	return 0;
}

int twheel_arm(struct twheel_timer *timer, uint64_t delay_ns)
{
	u64 deadline_ns;
	int ret = timer_deadline(timer, delay_ns, -EINVAL, &deadline_ns);

	return ret ?: twheel_arm_at(timer, deadline_ns);
}

int twheel_arm_range_at(struct twheel_timer *timer, uint64_t deadline_ns, uint64_t slack_ns)
{
	const struct tw_base *b = tw_base_of(timer);

	if (!b)
		return -EINVAL;
	return twheel_arm_at(timer, tw_wheel_share(&b->wheel, deadline_ns, slack_ns));
}

int twheel_arm_range(struct twheel_timer *timer, uint64_t delay_ns, uint64_t slack_ns)
{
	u64 deadline_ns;
	int ret = timer_deadline(timer, delay_ns, -EINVAL, &deadline_ns);

	return ret ?: twheel_arm_range_at(timer, deadline_ns, slack_ns);
}

int twheel_modify(struct twheel_timer *timer, uint64_t delay_ns)
{
	u64 deadline_ns;
	int ret = timer_deadline(timer, delay_ns, -ENOENT, &deadline_ns);

	return ret ?: twheel_modify_at(timer, deadline_ns);
}

int twheel_extend(struct twheel_timer *timer, uint64_t delay_ns)
{
	u64 deadline_ns;
	int ret = timer_deadline(timer, delay_ns, -ENOENT, &deadline_ns);

	return ret ?: twheel_extend_at(timer, deadline_ns);
}

/* The library has it as well, for those who do not inline it, or look it up by its name. */
extern inline int twheel_cancel(struct twheel_timer *timer);

static noinline int timer_cancel_shared(struct tw_base *b, struct twheel_timer *timer)
{
	int ret;

	tw_lock(b);
	if (unlikely(!tw_still_of(timer, b))) {
		tw_unlock(b);
		b = tw_lock_shared(timer, tw_base_of(timer));
	}
	ret = tw_timer_withdraw(b, timer, TWHEEL_CANCELLED);
	tw_unlock(b);
	return ret;
}

/* twheel_cancel_pending() - cancel a timer that was pending just now */
int twheel_cancel_pending(struct twheel_timer *timer)
{
	struct tw_base *b = tw_base_of(timer);

	if (unlikely(b->base.threads))
		return timer_cancel_shared(b, timer);
	atomic64_set(&tw_node(timer)->word, TWHEEL_CANCELLED);
	b->cancelled++;
	tw_wheel_dequeue(&b->wheel, tw_node(timer));
	return 1;
}

/*
 * While the callback runs, it may arm the timer again. So the timer is cancelled when the
 * callback has ended, and not before that as well. A shutdown is final at once. The function
 * of twheel_stop() may wait for its own timer: that is nobody's any more.
 */
static int timer_end(struct twheel_timer *timer, s64 state)
{
	int ret = 0, cancelled = -1;
	struct tw_base *b = tw_base_of(timer);
	struct tw_call *call;

	if (!b)
		return ret;
	b = tw_lock_timer(timer, b);
	while (cancelled < 0 && (call = tw_call_of(b, timer)) &&
	       READ_ONCE(b->base.wheel->stopper) != tw_self()) {
		if (tw_inside(b->base.wheel)) {
			tw_unlock(b);
			return -EDEADLK;
		}
		if (state == TWHEEL_SHUTDOWN)
			ret |= tw_timer_withdraw(b, timer, state);
		else if (!call->cancelled)
			call->cancelled = &cancelled;
		tw_wait_for_end(b);
		/* Now it may be armed in another base. */
		tw_unlock(b);
		b = tw_lock_timer(timer, tw_base_of(timer));
	}
	ret |= cancelled < 0 ? tw_timer_withdraw(b, timer, state) : cancelled;
	tw_unlock(b);
	return ret;
}

int twheel_cancel_sync(struct twheel_timer *timer)
{
	return timer_end(timer, TWHEEL_CANCELLED);
}

int twheel_shutdown_sync(struct twheel_timer *timer)
{
	return timer_end(timer, TWHEEL_SHUTDOWN);
}

uint64_t twheel_remaining(const struct twheel_timer *timer)
{
	u64 deadline_ns = twheel_deadline(timer), now;

	if (deadline_ns > TWHEEL_NEVER)
		return UINT64_MAX;
	now = tw_clock_read(tw_base_of(timer));
	return deadline_ns > now ? deadline_ns - now : 0;
}
