/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A base: an engine and a clock under one lock, and the pass that serves the
 * timers that are due.
 */
#ifndef _TWHEEL_BASE_H
#define _TWHEEL_BASE_H

#include <linux/limits.h>
#include <linux/lockdep.h>
#include <linux/sched.h>
#include <linux/spinlock.h>
#include <linux/types.h>
#include <linux/wait.h>

#include <linux/twheel.h>

#include "../engine/wheel.h"
#include "user_budget.h"
#include "clock.h"
#include "quota.h"
#include "budget.h"

/**
 * struct twheel_base - what the timers of a base share
 * @wheel: the engine. First, so that its address is the base's
 * @lock: guards all of this; taken from hard interrupt context too
 * @limit: how many timers may be pending
 * @room: how many more may be armed; below zero once stopped
 * @plain: deadlines below are armed here, and soon; 0 if the wheel has other bases,
 *	between which timers move
 * @absolute: its clock may be set, so timers are armed for deadlines only, not for
 *	delays
 * @stopped: no timer may be armed any more
 * @in_round: the last pass ran out of budget before it had served all that was
 *	due by @target
 * @unfired: timers handed back
 * @running: the timer whose callback runs, or has just been claimed to
 * @late: how many callbacks were called so late, see &twheel_stats.late
 * @late_sum: and how late all in all
 * @cancelled: timers cancelled while pending
 * @passes: passes begun
 * @threaded: those that a thread did for want of a share
 * @exhausted: passes that used up their budget
 * @overruns: callbacks that took too long
 * @target: the tick up to which the round serves
 * @time: what the clock showed when the pass last looked, and at least one ns more than
 *	the position's instant
 * @watch: when the present callback, or one shortly before it, began; in jiffies or
 *	ns
 * @since: the same on an idle CPU, in ns; else 0
 * @runner: the task on whose back the pass runs, NULL between passes
 * @clock: the clock
 * @owner: the wheel it is part of
 * @id: the wheel's number, for traces
 * @name: the wheel's name, for traces
 * @credits: where @limit comes from, if bases share it, or NULL
 * @share: how much of a CPU it may take in softirq
 * @account: how much it may take together with others, or NULL
 * @idle: who waits for a callback that may sleep
 * @expiry_lock: on PREEMPT_RT held across a pass, so that who waits for a
 *	callback lends it its priority
 */
struct twheel_base {
	struct tw_wheel wheel;
	raw_spinlock_t lock;
	u64 plain;
	long room;
	long limit;
	bool absolute;
	bool stopped;
	bool in_round;
	struct twheel_timer *running;
	u64 time;
	u64 late_sum;
	u64 cancelled;
	u64 unfired;
	u64 passes;
	u64 threaded;
	u64 exhausted;
	u64 overruns;
	u64 target;
	u64 watch;
	u64 since;
	struct task_struct *runner;
	struct tw_clock clock;
	struct twheel *owner;
	unsigned int id;
	const char *name;
	struct tw_quota *credits;
	struct tw_budget share;
	struct tw_user_budget *account;
	wait_queue_head_t idle;
#ifdef CONFIG_PREEMPT_RT
	spinlock_t expiry_lock;
#endif
	u64 late[TWHEEL_LATE_BUCKETS];
};

/* The limit of a base that has none. Halves of the range, so that none wraps. */
#define TW_BASE_ENDLESS		(LONG_MAX / 2)

/* How many timers are pending. Without the lock it is a guess. */
static inline unsigned int tw_base_pending(const struct twheel_base *base)
{
	/*
	 * Both are counted with plain instructions by who holds the lock, which is
	 * the hot path, and are words that do not tear.
	 */
	return data_race(READ_ONCE(base->limit) - READ_ONCE(base->room));
}

/* With the base lock: how many callbacks have been called. */
static inline u64 tw_base_fired(const struct twheel_base *base)
{
	unsigned int i;
	u64 sum = 0;

	for (i = 0; i < TWHEEL_LATE_BUCKETS; i++)
		sum += base->late[i];
	return sum;
}

/*
 * With the lock: it was served from @start to @end, in ns. Is it to be served by a
 * thread from now on?
 */
static inline bool tw_base_spend(struct twheel_base *base, u64 start, u64 end,
				 bool threaded)
{
	bool over = tw_budget_spend(&base->share, start, end);

	if (base->account &&
	    tw_user_budget_spend(base->account, threaded ? end : start, end))
		over = true;
	return over;
}

int tw_base_plan(const struct twheel_config *config,
		 struct twheel_geometry *geometry);
struct twheel_base *tw_base_new(struct twheel *owner,
				const struct twheel_config *config, int cpu);
struct twheel_base *tw_base_new_bare(struct twheel *owner,
				     const struct twheel_config *config);
void tw_base_free(struct twheel_base *base);
void tw_base_enqueue_near(struct twheel_base *base, struct twheel_timer *timer);
void tw_base_emptied(struct twheel_base *base);
bool tw_base_refill(struct twheel_base *base);
void tw_base_return_quota(struct twheel_base *base);
void tw_base_set_online(struct twheel_base *base, bool target_online);
bool tw_base_inside(const struct twheel_base *base);
void tw_base_stop(struct twheel_base *base);
void tw_base_stopped(struct twheel_base *base);
struct twheel_timer *tw_base_evict(struct twheel_base *base);

/*
 * tw_base_wake_ns() - the instant at which the engine has something to do
 *
 * For what is due that is the beginning of time, not the present, nor the position:
 * the clock may be set back, or have been, and what is due there then is for the pass
 * to find out.
 */
static inline u64 tw_base_wake_ns(const struct twheel_base *base)
{
	const struct tw_wheel *w = &base->wheel;

	return w->wake <= w->now ? 0 : tw_wheel_ns(w, w->wake);
}

/*
 * tw_base_enqueue_soon() - put a timer with a deadline into the wheel, and see to it
 * that the alarm goes off in time
 * @deadline: not beyond what the engine divides fast, see &twheel_base.plain
 */
static __always_inline void tw_base_enqueue_soon(struct twheel_base *base,
					      struct twheel_timer *timer,
					      u64 deadline)
{
	lockdep_assert_held(&base->lock);
	if (unlikely(!tw_wheel_enqueue(&base->wheel, timer, deadline)))
		tw_base_enqueue_near(base, timer);
}

/* tw_base_enqueue() - the same, of any deadline */
static inline void tw_base_enqueue(struct twheel_base *base,
				struct twheel_timer *timer, u64 deadline)
{
	if (unlikely(deadline > base->wheel.recip_max))
		tw_base_enqueue_near(base, timer);
	else
		tw_base_enqueue_soon(base, timer, deadline);
}

/*
 * tw_base_dequeue() - take a timer out of the wheel for good
 *
 * While other timers wait, an alarm that this makes superfluous is left to go off:
 * moving it would cost more. An empty wheel has no alarm.
 */
static __always_inline void tw_base_dequeue(struct twheel_base *base,
					   struct twheel_timer *timer)
{
	lockdep_assert_held(&base->lock);
	tw_wheel_dequeue(&base->wheel, timer);
	if (unlikely(++base->room == base->limit))
		tw_base_emptied(base);
}

#endif /* _TWHEEL_BASE_H */
