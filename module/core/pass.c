// SPDX-License-Identifier: GPL-2.0-only
/*
 * A pass: what a base does when its alarm goes off.
 *
 * Timers are claimed, unlinked and called one by one, each call without the lock. So a
 * timer that is due but not yet claimed can still be cancelled.
 *
 * The lock is held for one slice of work at most, with interrupts off. Claiming a timer
 * ends the hold. So what counts is timers that are moved: cascaded, found extended, or put
 * back after the clock was set back. Searching bitmaps for them counts, too.
 *
 * A pass ends when its time is over. It looks at the clock after each group of callbacks,
 * and after each slice. Another pass does what is left over, and its alarm is set to a
 * time read afresh, which lets other softirqs in. Due timers go first. Then the next bucket
 * of each upper level is emptied ahead of its time, slice by slice.
 *
 * A round is all that was due at one moment, over as many passes as that takes. Timers
 * that are armed for the past wait for the next round, so they keep no pass busy for ever.
 * That is as far away as the last pass took, so they starve no task.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/completion.h>
#include <linux/cpumask.h>
#include <linux/errno.h>
#include <linux/hrtimer.h>
#include <linux/kernel.h>
#include <linux/lockdep.h>
#include <linux/minmax.h>
#include <linux/preempt.h>
#include <linux/printk.h>
#include <linux/processor.h>
#include <linux/sched.h>
#include <linux/spinlock.h>
#include <linux/timekeeping.h>
#include <linux/workqueue.h>

#include <linux/twheel_state.h>

#include "../compat.h"
#include "../export.h"
#include "base.h"

/*
 * How many timers may be cascaded in a slice, so that a hold costs less than an interrupt. One that
 * is put back costs as much as three cascades, and counts as two.
 */
#define PASS_SLICE		48U

/*
 * How long a pass may take, in ns. That is well below the 2 ms after which softirq
 * processing defers to a thread, and long enough that resuming costs some 2 % of it. A callback
 * that may sleep occupies only a thread of its workqueue.
 */
#define PASS_TIME_SOFT		(100 * NSEC_PER_USEC)
#define PASS_TIME_WORK		(10 * NSEC_PER_MSEC)

/*
 * The longest pause before a round of timers that were armed for the past. A pass that took longer
 * was stalled, as by a hypervisor, and timers do not wait as long again.
 */
#define PASS_LONG_PAUSE		(20 * NSEC_PER_MSEC)

/* After how many callbacks a pass looks at the clock, which costs as much as a short one. */
#define PASS_GROUP		32U

/*
 * Set the time that lateness is measured against. A due timer is past, even if the
 * clock was set back after it was found due. Returns true if the clock was set back.
 */
static bool pass_set_time(struct twheel_base *base, u64 ns)
{
	base->time_word = max(tw_word(ns), base->wheel.now_word + 1);
	return tw_word(ns) < base->wheel.now_word;
}

/*
 * How many callbacks may be called until the pass looks at the clock. A callback may sleep in
 * workqueue context. A clock that can be set may be set back: then the next pass finds out what
 * is still due.
 */
static unsigned int pass_group(const struct twheel_base *base)
{
	return base->clock.context == TWHEEL_CONTEXT_WORK ||
	       tw_clock_can_be_set(base->clock.id) ? 1 : PASS_GROUP;
}

/* The lock was released: a clock that can be set may have been set back. Returns true if so. */
static bool pass_was_set_back(struct twheel_base *base)
{
	return unlikely(base->group == 1) && pass_set_time(base, tw_clock_now(&base->clock));
}

/* What the base's clock says. @mono: what CLOCK_MONOTONIC says. */
static u64 pass_clock(const struct twheel_base *base, u64 mono)
{
	return likely(base->clock.id == TWHEEL_CLOCK_MONOTONIC) ?
	       mono : tw_clock_now(&base->clock);
}

/* Read the clock. Returns the last tick that has come. */
static u64 pass_read_clock(struct twheel_base *base, u64 mono)
{
	u64 now = pass_clock(base, mono);

	base->time_word = tw_word(now);
	return tw_wheel_floor(&base->wheel, now);
}

/* Whether the time of the pass is over at @mono. */
static bool pass_is_over(const struct twheel_base *base, u64 mono)
{
	return mono - base->began >= (base->clock.context == TWHEEL_CONTEXT_WORK ?
				      PASS_TIME_WORK : PASS_TIME_SOFT);
}

/*
 * Release the lock for a moment: for interrupts, and for CPUs that spin on it. Returns
 * true if the time of the pass is over.
 */
static noinline bool pass_drop_lock(struct twheel_base *base)
	__must_hold(&base->lock)
{
	base->lock_drops++;
	base->slice = PASS_SLICE;
	raw_spin_unlock_irq(&base->lock);
	if (base->clock.context == TWHEEL_CONTEXT_WORK)
		cond_resched();
	else
		cpu_relax();
	raw_spin_lock_irq(&base->lock);
	return pass_is_over(base, ktime_get_ns());
}

/* A callback changed the preempt count, which was @before. */
static noinline void pass_report_preempt_count(const void *function, int before)
{
	pr_err_ratelimited("callback %ps returned with preempt count %#x, was called with %#x\n",
			   function, preempt_count(), before);
	preempt_count_set(before);
}

/* Call a timer's function, and check that it leaves the preempt count as it was. */
static void pass_call(const struct twheel_base *base, struct twheel_timer *timer,
		      twheel_fn function, int count)
{
#ifdef CONFIG_LOCKDEP
	/* The timer may be freed while its function runs. */
	struct lockdep_map map;

	lockdep_copy_map(&map, &timer->lockdep_map);
#endif
	tw_debug_map_acquire(&map, base->clock.context);
	function(timer);
	lock_map_release(&map);
	if (unlikely(count != preempt_count()))
		pass_report_preempt_count(READ_ONCE(base->last), count);
}

static noinline void pass_call_traced(struct twheel_base *base, struct twheel_timer *timer,
				      twheel_fn function, int count, u64 late)
	__releases(&base->lock)
{
	u64 start;

	raw_spin_unlock_irq(&base->lock);
	start = tw_trace_expire_entry(base, timer, late);
	pass_call(base, timer, function, count);
	tw_trace_expire_exit(base, timer, start);
}

/*
 * With the lock: the callback has returned that calls wait for. All of them wait for the same
 * timer. If it is pending again, it is withdrawn, and the first waiter is told.
 */
static noinline void pass_tell_waiters(struct twheel_base *base)
	__must_hold(&base->lock)
{
	struct tw_waiter *waiter = base->waiters, *next;
	int ret = -EAGAIN;

	base->waiters = NULL;
	/* Only now: the timer may have been initialised again since the waiter came. */
	if (READ_ONCE(waiter->timer->base) == base)
		ret = tw_base_withdraw(base, waiter->timer, waiter->state);
	/* Without the lock, as there may be many. On PREEMPT_RT, others may go first. */
	raw_spin_unlock_irq(&base->lock);
	for (; waiter; waiter = next) {
		next = waiter->next;
		waiter->ret = ret;
		/* After that, the waiter is gone. */
		complete(&waiter->done);
		/* Of a timer withdrawn once, only one is told. */
		ret = min(ret, 0);
	}
	if (base->clock.context == TWHEEL_CONTEXT_SOFTIRQ) {
		tw_expiry_unlock(base);
		tw_expiry_lock(base);
	}
	raw_spin_lock_irq(&base->lock);
}

static void pass_count_late(struct twheel_base *base, u64 late)
{
	base->late_sum += late;
	base->late[tw_top_bit(late)]++;
}

/*
 * The group of callbacks is used up, or a call that waits for the callback has ended it.
 * Returns true if the time is over.
 */
static noinline bool pass_serve_break(struct twheel_base *base)
	__must_hold(&base->lock)
{
	u64 now;

	WRITE_ONCE(base->running, NULL);
	if (base->waiters)
		pass_tell_waiters(base);
	base->group = pass_group(base);
	now = ktime_get_ns();
	return pass_set_time(base, pass_clock(base, now)) || pass_is_over(base, now);
}

/*
 * The next timer that is due could not be claimed: it was extended, or the clock was set
 * back. Put it back, and those after it, up to a slice. That ends the hold of the lock.
 * @called: the hold began after a callback. Returns true if the pass ends: its time is over, or
 * the clock was set back.
 */
static noinline bool pass_requeue_due(struct twheel_base *base, bool called)
	__must_hold(&base->lock)
{
	struct tw_wheel *w = &base->wheel;
	unsigned int slice = (called ? PASS_SLICE : base->slice) / 2;
	u64 before = w->requeued, requeued;
	struct twheel_node *node;

	do {
		requeued = w->requeued;
		node = tw_wheel_due(w);
		if (!node || !tw_wheel_requeue_due(w, node, &slice))
			break;
		/* It stayed if its word has grown, and it is due all the same. */
	} while (w->requeued != requeued);
	tw_trace_moved(base, w->cascades, before);
	/* The callback before this has returned: nobody may begin to wait for it. */
	WRITE_ONCE(base->running, NULL);
	return pass_drop_lock(base) || pass_was_set_back(base);
}

/* Claim the timers that are due, and call them. Returns true if the time is over. */
static noinline bool pass_serve(struct twheel_base *base, int count)
	__must_hold(&base->lock)
{
	struct twheel_timer *timer;
	s64 fired = TWHEEL_FIRED;
	twheel_fn function = NULL;
	bool over = false;
	u64 late;

	/* Keep it in a register, rather than load it for each. */
	OPTIMIZER_HIDE_VAR(fired);
	lockdep_assert_held(&base->lock);
	if (pass_was_set_back(base))
		return true;
	pass_set_time(base, tw_word(base->time_word));
	do {
		timer = tw_base_timer(tw_wheel_due(&base->wheel));
		if (!timer)
			break;
		if (unlikely(!tw_wheel_claim(&base->wheel, &timer->node, fired,
					     base->time_word, &late))) {
			over = pass_requeue_due(base, function);
			continue;
		}
		pass_count_late(base, late);
		tw_wheel_dequeue_due(&base->wheel, &timer->node);
		tw_base_release_room(base);
		/* Some look at it without the lock. */
		WRITE_ONCE(base->running, timer);
		tw_debug_deactivate(timer);
		function = timer->function;
		WRITE_ONCE(base->last, function);
		/* Its own function may free @timer. */
		if (tw_trace_expiry()) {
			/* It releases the lock: nothing else needs @late after that. */
			pass_call_traced(base, timer, function, count, late);
		} else {
			raw_spin_unlock_irq(&base->lock);
			pass_call(base, timer, function, count);
		}
		raw_spin_lock_irq(&base->lock);
		if (unlikely(!--base->group))
			over = pass_serve_break(base);
	} while (likely(!over));
	WRITE_ONCE(base->running, NULL);
	return over;
}

static void pass_begin(struct twheel_base *base, u64 mono)
{
	struct tw_wheel *w = &base->wheel;
	u64 now = pass_read_clock(base, mono);

	/* tw_base_inside() reads it without the lock. */
	WRITE_ONCE(base->runner, current);
	base->began = mono;
	base->group = pass_group(base);
	base->passes++;
	/* On a clock set back since then, the round has an earlier target: the rest waits. */
	if (!base->in_round || unlikely(now < base->target)) {
		base->target = now;
		if (unlikely(base->target < w->now))
			tw_wheel_move_back(w, base->target);
	}
	tw_wheel_begin_round(w, !base->in_round);
	/* virtual_serve() reads it without the lock. */
	WRITE_ONCE(base->in_round, true);
}

/*
 * Nothing is due: empty the next buckets ahead of their time. Returns false if that is
 * done. Else the round goes on with a later target. Timers armed for the past still wait.
 */
static bool pass_drain_ahead(struct twheel_base *base)
{
	struct tw_wheel *w = &base->wheel;
	u64 cascades = w->cascades, requeued = w->requeued;
	bool empty;

	empty = tw_wheel_drain_ahead(w, &base->slice);
	tw_trace_moved(base, cascades, requeued);
	if (!empty)
		base->target = pass_read_clock(base, ktime_get_ns());
	WRITE_ONCE(base->in_round, !empty);
	return !empty;
}

/* With the lock: do what is due, as long as the time of the pass lasts. */
static void pass_serve_all(struct twheel_base *base, int count)
{
	struct tw_wheel *w = &base->wheel;
	bool over = false;

	base->slice = PASS_SLICE;
	while (!over && !base->stopped) {
		u64 cascades = w->cascades, requeued = w->requeued;
		enum tw_advance turn = TW_ADVANCE_DONE;

		if (!tw_wheel_is_done(w, base->target)) {
			turn = tw_wheel_advance(w, base->target, &base->slice);
			tw_trace_moved(base, cascades, requeued);
		}
		if (turn == TW_ADVANCE_DONE &&
		    (tw_wheel_is_drained(w) || !pass_drain_ahead(base)))
			break;
		if (turn == TW_ADVANCE_DUE) {
			over = pass_serve(base, count);
			/* At least one callback, or timers put back: a new hold. */
			base->slice = PASS_SLICE;
		}
		if (!base->slice)
			over = pass_drop_lock(base);
	}
}

/*
 * Compute when the next pass is due. A round has ended when nothing is left to do for its
 * target. Timers that were armed for the past meanwhile belong to the next round.
 */
static u64 pass_next_event(struct twheel_base *base)
{
	struct tw_wheel *w = &base->wheel;
	u64 next = tw_wheel_next_event(w);

	if (next > base->target ||
	    (!tw_list_empty(&w->due) && tw_list_empty(&w->expiring) && !w->displaced &&
	     w->now >= base->target))
		WRITE_ONCE(base->in_round, false);
	base->exhausted += base->in_round;
	return next;
}

/* Returns what is left for the clock to do without the lock. */
static enum tw_clock_next pass_finish(struct twheel_base *base, struct tw_clock *clock)
{
	u64 next = pass_next_event(base);
	u64 mono, now, ns;

	WRITE_ONCE(base->runner, NULL);
	if (base->stopped || next == TW_WHEEL_ASLEEP)
		return TW_CLOCK_DONE;
	ns = tw_base_wake_ns(base);
	/*
	 * Read anew, also after one callback: it may have taken until the next event, and then
	 * the base pauses. On other clocks, it may have set the clock.
	 */
	mono = ktime_get_ns();
	now = pass_clock(base, mono);
	if (ns > now)
		return tw_clock_resume_alarm(clock, ns);
	return tw_clock_repeat_alarm(clock, now, base->in_round ? 0 :
				     min_t(u64, mono - base->began, PASS_LONG_PAUSE));
}

/*
 * tw_pass_alarm() - the alarm of a base's clock has gone off: the pass
 *
 * Return: what is left to do for the caller, without a lock.
 */
enum tw_clock_next tw_pass_alarm(struct tw_clock *clock)
{
	struct twheel_base *base = container_of(clock, struct twheel_base, clock);
	bool soft = clock->context == TWHEEL_CONTEXT_SOFTIRQ;
	enum tw_clock_next left = TW_CLOCK_DONE;
	int count = preempt_count();
	bool traced;

	if (soft)
		tw_expiry_lock(base);
	raw_spin_lock_irq(&base->lock);
	/* Another pass runs: it sets the next alarm. */
	if (unlikely(base->runner))
		goto out;
	traced = trace_twheel_pass_enabled();
	if (traced)
		__tw_trace_pass_begin(base);
	pass_begin(base, ktime_get_ns());
	pass_serve_all(base, count);
	left = pass_finish(base, clock);
	if (unlikely(traced))
		__tw_trace_pass_end(base);
out:
	raw_spin_unlock_irq(&base->lock);
	if (soft)
		tw_expiry_unlock(base);
	return left;
}
TW_EXPORT_FOR_TESTS(tw_pass_alarm);

static void pass_queue_work(struct tw_clock *clock)
{
	/* A CPU that has never been online has no worker. */
	if (clock->cpu == TW_ANY_CPU || !cpu_online(clock->cpu))
		queue_work(clock->workqueue, &clock->work);
	else
		queue_work_on(clock->cpu, clock->workqueue, &clock->work);
}

/* The alarm has gone off. To queue work takes locks of the scheduler. */
static enum hrtimer_restart pass_go_off(struct tw_clock *clock)
{
	enum tw_clock_next next = TW_CLOCK_QUEUE;

	if (clock->context != TWHEEL_CONTEXT_WORK)
		next = tw_pass_alarm(clock);
	if (unlikely(next == TW_CLOCK_QUEUE))
		pass_queue_work(clock);
	return next == TW_CLOCK_RESTART ? HRTIMER_RESTART : HRTIMER_NORESTART;
}

static enum hrtimer_restart pass_alarm_0(struct hrtimer *timer)
{
	return pass_go_off(container_of(timer, struct tw_clock, alarms[0].soft));
}

static enum hrtimer_restart pass_alarm_1(struct hrtimer *timer)
{
	return pass_go_off(container_of(timer, struct tw_clock, alarms[1].soft));
}

static void pass_work(struct work_struct *work)
{
	struct tw_clock *clock = container_of(work, struct tw_clock, work);

	if (tw_pass_alarm(clock) == TW_CLOCK_QUEUE)
		pass_queue_work(clock);
}

/* tw_pass_init() - set up the alarm of a new base, whose function is the pass */
void tw_pass_init(struct twheel_base *base)
{
	struct tw_clock *clock = &base->clock;

	tw_alarm_init(&clock->alarms[0], clock->id, pass_alarm_0);
	tw_alarm_init(&clock->alarms[1], clock->id, pass_alarm_1);
	INIT_WORK(&clock->work, pass_work);
}
