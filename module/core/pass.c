// SPDX-License-Identifier: GPL-2.0-only
/*
 * A pass: what a base does when its alarm goes off.
 *
 * One timer at a time is claimed and unlinked under the lock, and its callback
 * called without it. So a timer that is due but not yet claimed can still be
 * cancelled, also by a callback before it in the same pass.
 *
 * A pass has a budget, and holds the lock for a slice at most. What is left over
 * is done by another pass, for which the alarm is set to a now read afresh: that
 * lets other softirqs in. Due timers go first; then crowded buckets are emptied
 * ahead of their time, slice by slice, with a look at the clock in between.
 *
 * In hard interrupt context nothing can be let in before the pass ends. So the
 * budget is small, and the next pass is as far off as this one took: half of the
 * CPU remains for others.
 *
 * A base that takes more than its share of a CPU in softirq is served by a thread
 * meanwhile, with softirqs off as ever: see budget.h.
 *
 * A round is all that was due at one moment, over as many passes as that takes.
 * Timers that are armed for the past, by callbacks perhaps, wait for the next
 * round: they can neither keep a pass busy for ever nor starve the others.
 */
#include <linux/bottom_half.h>
#include <linux/irqflags.h>
#include <linux/jiffies.h>
#include <linux/kernel.h>
#include <linux/lockdep.h>
#include <linux/preempt.h>
#include <linux/processor.h>
#include <linux/sched.h>
#include <linux/timekeeping.h>

#include "base.h"
#include "debug.h"
#include "pass.h"
#include "trace.h"

/*
 * Timers looked at with the lock held and interrupts off. At some 60 instructions
 * each that is about 2000: below what one interrupt costs.
 */
#define SLICE		32U

/*
 * Timers served by one pass. With callbacks of a few hundred nanoseconds a pass
 * takes a fraction of a millisecond: well under what softirq processing grants
 * before it defers to a thread.
 */
#define BUDGET		1024U

/*
 * The same in hard interrupt context: some 50 us, no more than other drivers'
 * handlers take. And in a thread, which others are to get the CPU from.
 */
#define SHORT_BUDGET	128U

/* The shortest pause between two such passes: a few times what one costs. */
#define HARD_PAUSE	(10 * NSEC_PER_USEC)

/*
 * It is so late, to tell by it how late timers are. What is due is past, even if the
 * clock was set back since it was found to be.
 */
static __always_inline void set_time(struct twheel_base *base, u64 ns)
{
	base->time = max(ns, base->wheel.now_ns + 1);
}

/* Look at the clock. Returns the last tick that has come. */
static u64 floor_now(struct twheel_base *base)
{
	base->time = tw_clock_now(&base->clock);
	return tw_wheel_floor(&base->wheel, base->time);
}

static __always_inline void lock(struct twheel_base *base,
				 enum twheel_context context)
{
	if (context == TWHEEL_CONTEXT_HARDIRQ)
		raw_spin_lock(&base->lock);
	else
		raw_spin_lock_irq(&base->lock);
}

static __always_inline void unlock(struct twheel_base *base,
				   enum twheel_context context)
{
	if (context == TWHEEL_CONTEXT_HARDIRQ)
		raw_spin_unlock(&base->lock);
	else
		raw_spin_unlock_irq(&base->lock);
}

/*
 * Jiffies cost a load; but they may stand still in hard interrupt context. (So may
 * local_clock(), where it is not stable.)
 */
static __always_inline u64 stopwatch(enum twheel_context context)
{
	return context == TWHEEL_CONTEXT_HARDIRQ ? ktime_get_ns() : jiffies;
}

static noinline void check_time(struct twheel_base *base, twheel_fn function,
				enum twheel_context context, u64 now)
{
	u64 took = now - base->watch;

	if (context == TWHEEL_CONTEXT_HARDIRQ) {
		base->time += took;
	} else {
		took *= TICK_NSEC;
		set_time(base, tw_clock_now(&base->clock));
	}
	base->watch = now;
	if (!tw_debug_took(function, took))
		return;
	base->overruns++;
	/* It takes long to say that, too. */
	base->watch = stopwatch(context);
	/* Jiffies have moved on an idle CPU: then it is not to be told once more. */
	if (base->since)
		base->since = ktime_get_ns();
}

/*
 * Jiffies stand still, too, in a softirq that has interrupted the idle task, which
 * has no tick. There the time is read, once for all callbacks between two looks.
 */
static noinline void check_idle_time(struct twheel_base *base,
				     twheel_fn function, unsigned int calls)
{
	u64 now = ktime_get_ns();

	base->overruns += tw_debug_took(function,
					div_u64(now - base->since, calls));
	base->since = ktime_get_ns();
}

/*
 * Call a timer's function, and look at what it has left behind.
 * @count: the preempt count to find
 */
static __always_inline void call(struct twheel_base *base,
				 struct twheel_timer *timer, twheel_fn function,
				 enum twheel_context context, int count)
{
	u64 now;
#ifdef CONFIG_LOCKDEP
	/* The timer may be freed while its function runs. */
	struct lockdep_map map;

	lockdep_copy_map(&map, &timer->lockdep_map);
#endif
	tw_debug_map_acquire(&map, context);
	function(timer);
	lock_map_release(&map);

	if (unlikely(count != preempt_count()))
		tw_debug_preempt_count(function, count);
	/* In process context it may take as long as it wants. */
	if (context == TWHEEL_CONTEXT_WORK)
		return;
	now = stopwatch(context);
	if (unlikely(base->watch != now))
		check_time(base, function, context, now);
}

/* With the base lock: a timer is called so late. */
static __always_inline void count_late(struct twheel_base *base, u64 late)
{
	base->late_sum += late;
	base->late[tw_top_bit(late)]++;
}

/* Claim what is due, and call it. Returns what is left of the budget. */
static __always_inline unsigned int serve(struct twheel_base *base,
					  unsigned int budget, int count,
					  enum twheel_context context,
					  bool traced)
{
	unsigned int slice = SLICE, before = budget;
	struct twheel_timer *timer;
	s64 fired = ~(u64)TWHEEL_FIRED;
	u64 late, start = 0;
	twheel_fn function;

	/* Keep it in a register, rather than load it for each. */
	OPTIMIZER_HIDE_VAR(fired);
	lockdep_assert_held(&base->lock);
	base->watch = stopwatch(context);
	set_time(base, base->time);
	do {
		/* The one before may have slept. */
		if (context == TWHEEL_CONTEXT_WORK)
			set_time(base, tw_clock_now(&base->clock));
again:
		timer = tw_wheel_due(&base->wheel);
		if (!timer)
			break;
		if (unlikely(!tw_wheel_claim(&base->wheel, timer, fired,
					     base->time, &late))) {
			if (!tw_wheel_requeue_due(&base->wheel, timer, &slice))
				break;
			goto again;
		}
		count_late(base, late);
		tw_wheel_dequeue_due(&base->wheel, timer);
		base->room++;
		/* tw_pass_wait() reads it without the lock. */
		WRITE_ONCE(base->running, timer);
		tw_debug_deactivate(timer);
		unlock(base, context);
		/* From here on @timer may be freed: by its own function. */
		function = timer->function;
		if (traced) {
			tw_trace_expire_entry(base, timer, function,
					      base->time - late);
			start = ktime_get_ns();
		}
		call(base, timer, function, context, count);
		if (traced)
			tw_trace_expire_exit(base, timer, function,
					     ktime_get_ns() - start);
		lock(base, context);
		if (context == TWHEEL_CONTEXT_WORK) {
			WRITE_ONCE(base->running, NULL);
			if (wq_has_sleeper(&base->idle))
				wake_up_all(&base->idle);
		}
	} while (--budget);
	WRITE_ONCE(base->running, NULL);
	/* Each that was filed anew is one less of the slice. */
	tw_trace_moved(base, base->wheel.cascades,
		       base->wheel.requeued - (SLICE - slice));
	if (context == TWHEEL_CONTEXT_SOFTIRQ && base->since &&
	    before != budget)
		check_idle_time(base, function, before - budget);
	return budget - min(budget, SLICE - slice);
}

/* The same, and tell of it: no need for it to be fast. */
static noinline unsigned int serve_traced(struct twheel_base *base,
					  unsigned int budget, int count,
					  enum twheel_context context)
	__must_hold(&base->lock)
{
	return serve(base, budget, count, context, true);
}

/* Let interrupts, and whoever waits for the lock, in. */
static __always_inline void breathe(struct twheel_base *base,
				    enum twheel_context context)
{
	unlock(base, context);
	if (context == TWHEEL_CONTEXT_WORK)
		cond_resched();
	else
		cpu_relax();
	lock(base, context);
}

static void begin(struct twheel_base *base, bool threaded)
{
	struct tw_wheel *w = &base->wheel;
	u64 now = floor_now(base);

	/* tw_base_inside() looks at it without the lock. */
	WRITE_ONCE(base->runner, current);
	base->passes++;
	base->threaded += threaded && base->share.percent;
	/* A clock set back since ends the round sooner: it is early for what is left. */
	if (!base->in_round || unlikely(now < base->target)) {
		base->target = now;
		if (unlikely(base->target < w->now))
			tw_wheel_move_back(w, base->target);
	}
	tw_wheel_begin_round(w, !base->in_round);
	/* tw_pass_advance() looks at it without the lock. */
	WRITE_ONCE(base->in_round, true);
}

/* Returns true if the clock is to restart its alarm; not before @pause from now. */
static bool finish(struct twheel_base *base, struct tw_clock *clock, u64 pause,
		   bool threaded)
{
	u64 next = tw_wheel_next_event(&base->wheel);
	u64 now, ns;

	WRITE_ONCE(base->runner, NULL);
	if (base->stopped)
		return false;
	if (base->credits)
		tw_base_return_quota(base);
	if (next == TW_WHEEL_ASLEEP)
		return false;
	now = tw_clock_now(clock);
	ns = tw_base_wake_ns(base);
	return tw_clock_resume(clock, ns > now ? ns : now + pause, threaded);
}

static __always_inline bool pass(struct twheel_base *base,
				 struct tw_clock *clock,
				 enum twheel_context context, bool threaded)
{
	bool hard = context == TWHEEL_CONTEXT_HARDIRQ;
	unsigned int budget = hard || threaded ? SHORT_BUDGET : BUDGET;
	u64 start = hard || base->share.percent ? ktime_get_ns() : 0;
	struct tw_wheel *w = &base->wheel;
	struct twheel_trace_pass trace;
	int count = preempt_count();
	bool restart, traced;
	u64 pause = 0;

	lock(base, context);
	/* Another pass is on, a thread's or an alarm's: it sets the next alarm. */
	if (unlikely(base->runner)) {
		unlock(base, context);
		return false;
	}
	base->since = context == TWHEEL_CONTEXT_SOFTIRQ &&
		      is_idle_task(current) ? ktime_get_ns() : 0;
	traced = tw_trace_pass_begin(base, &trace);
	begin(base, threaded);
	while (budget && !base->stopped) {
		unsigned int slice = min(budget, SLICE);
		u64 cascades = w->cascades, requeued = w->requeued;
		unsigned int before = slice;
		enum tw_advance turn = tw_wheel_advance(w, base->target, &slice);

		tw_trace_moved(base, cascades, requeued);
		if (turn == TW_ADVANCE_DUE) {
			budget = tw_trace_expiry() ?
				 serve_traced(base, budget, count, context) :
				 serve(base, budget, count, context, false);
			continue;
		}
		if (turn == TW_ADVANCE_DONE) {
			bool empty;

			WRITE_ONCE(base->in_round, false);
			cascades = w->cascades;
			requeued = w->requeued;
			empty = tw_wheel_drain_ahead(w, &slice);
			tw_trace_moved(base, cascades, requeued);
			if (empty)
				break;
			/* What has become due meanwhile is a round, too. */
			base->target = floor_now(base);
			WRITE_ONCE(base->in_round, true);
		}
		budget -= before - slice;
		breathe(base, context);
	}
	base->exhausted += !budget;
	if (hard)
		pause = max_t(u64, ktime_get_ns() - start, HARD_PAUSE);
	if (context == TWHEEL_CONTEXT_SOFTIRQ && base->share.percent)
		tw_clock_hand_over(clock, tw_base_spend(base, start,
							ktime_get_ns(),
							threaded));
	restart = finish(base, clock, pause, threaded);
	if (unlikely(traced)) {
		trace.exhausted = !budget;
		trace.threaded = threaded && base->share.percent;
		__tw_trace_pass_end(base, &trace);
	}
	unlock(base, context);
	return restart;
}

static bool soft_pass(struct twheel_base *base, struct tw_clock *clock,
		      bool threaded)
{
	bool restart;

#ifdef CONFIG_PREEMPT_RT
	spin_lock(&base->expiry_lock);
#endif
	restart = pass(base, clock, TWHEEL_CONTEXT_SOFTIRQ, threaded);
#ifdef CONFIG_PREEMPT_RT
	spin_unlock(&base->expiry_lock);
#endif
	return restart;
}

static bool any_pass(struct twheel_base *base, struct tw_clock *clock,
		     bool threaded)
{
	switch (clock->context) {
	case TWHEEL_CONTEXT_HARDIRQ:
		return pass(base, clock, TWHEEL_CONTEXT_HARDIRQ, false);
	case TWHEEL_CONTEXT_WORK:
		return pass(base, clock, TWHEEL_CONTEXT_WORK, true);
	default:
		return soft_pass(base, clock, threaded);
	}
}

/* tw_pass_alarm() - the alarm function of every base's clock */
bool tw_pass_alarm(struct tw_clock *clock, bool threaded)
{
	struct twheel_base *base = container_of(clock, struct twheel_base,
						clock);

	return any_pass(base, clock, threaded);
}

/*
 * tw_pass_wait() - wait until a timer's callback has ended
 *
 * The pass may run in a thread that the caller has preempted: on PREEMPT_RT
 * spinning would be for ever. Blocking on a lock that the pass holds lends it the
 * caller's priority. (The idea is kernel/time/timer.c's.)
 */
void tw_pass_wait(struct twheel_base *base, const struct twheel_timer *timer)
{
	if (base->clock.context == TWHEEL_CONTEXT_WORK) {
		wait_event(base->idle, READ_ONCE(base->running) != timer);
		return;
	}
#ifdef CONFIG_PREEMPT_RT
	if (base->clock.context == TWHEEL_CONTEXT_SOFTIRQ) {
		spin_lock_bh(&base->expiry_lock);
		spin_unlock_bh(&base->expiry_lock);
		return;
	}
#endif
	cpu_relax();
}

static void virtual_alarm(struct tw_clock *clock)
{
	switch (clock->context) {
	case TWHEEL_CONTEXT_HARDIRQ:
		local_irq_disable();
		tw_pass_alarm(clock, false);
		local_irq_enable();
		break;
	case TWHEEL_CONTEXT_WORK:
		tw_pass_alarm(clock, false);
		break;
	default:
		local_bh_disable();
		tw_pass_alarm(clock, false);
		local_bh_enable();
		break;
	}
}

/*
 * tw_pass_advance() - set a virtual clock to @now_ns and serve what is due
 *
 * What callbacks arm for now meanwhile is left for the next call.
 *
 * Return: the instant at which there is something to do next, which may be now,
 * or more than %TWHEEL_NEVER.
 */
u64 tw_pass_advance(struct twheel_base *base, u64 now_ns)
{
	u64 next;

	WRITE_ONCE(base->clock.virtual_ns, now_ns);
	do {
		virtual_alarm(&base->clock);
		cond_resched();
	} while (READ_ONCE(base->in_round) && !READ_ONCE(base->stopped));

	raw_spin_lock_irq(&base->lock);
	next = max(tw_base_wake_ns(base), tw_clock_now(&base->clock));
	raw_spin_unlock_irq(&base->lock);
	return next;
}
