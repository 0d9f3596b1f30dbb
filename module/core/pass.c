// SPDX-License-Identifier: GPL-2.0-only
/*
 * A pass: what a base does when its alarm goes off.
 *
 * One timer at a time is claimed and unlinked under the lock, and its callback is
 * called without it. So a timer that is due but not yet claimed can still be cancelled,
 * even by the callback before it.
 *
 * The lock is held for one slice of work at most. Claiming a timer ends the hold, so
 * only timers that are moved count: cascaded, found extended, or put back after the
 * clock was set back.
 *
 * A pass has a budget. Another pass does what is left over, and its alarm is set to a
 * time read afresh, which lets other softirqs in. Due timers go first. Then crowded
 * buckets are emptied ahead of their time, slice by slice, with a look at the clock in
 * between.
 *
 * In hard interrupt context nothing else can run before the pass ends. So the budget is
 * small, and the next pass is as far away as this one took: half of the CPU remains for
 * others.
 *
 * A base that takes more than its share of a CPU in softirq is served by a thread
 * meanwhile, with softirqs off: see budget.h.
 *
 * A round is all that was due at one moment, over as many passes as that takes. Timers
 * that are armed for the past, by callbacks perhaps, wait for the next round. So they
 * cannot keep a pass busy for ever, nor starve others.
 *
 * Waiters: a call that waits for a callback puts itself on the base's list of waiters.
 * When the callback returns, the pass takes each waiter's timer out if the callback has
 * armed it again. So a waiter waits for one callback, even if the timer arms itself.
 */
#include <linux/bottom_half.h>
#include <linux/errno.h>
#include <linux/irqflags.h>
#include <linux/jiffies.h>
#include <linux/kernel.h>
#include <linux/lockdep.h>
#include <linux/preempt.h>
#include <linux/processor.h>
#include <linux/sched.h>
#include <linux/timekeeping.h>
#include <linux/wait.h>

#include "base.h"
#include "debug.h"
#include "pass.h"
#include "trace.h"

/*
 * How many timers may be moved under one hold of the lock, with interrupts off. At some
 * 80 instructions each that is about 2000: below what one interrupt costs.
 */
#define PASS_SLICE		24U

/*
 * How many timers one pass serves. With callbacks of a few hundred nanoseconds that
 * takes a fraction of a millisecond: well below what softirq processing may take before
 * it defers to a thread.
 */
#define PASS_BUDGET		1024U

/*
 * The same in hard interrupt context: some 50 us, no more than other drivers' handlers
 * take. And in a thread, which has to leave the CPU to others.
 */
#define PASS_SHORT_BUDGET	128U

/* The shortest pause between two passes in hard interrupt: a few times what one costs. */
#define PASS_HARD_PAUSE		(10 * NSEC_PER_USEC)

/* On an idle CPU, how many callbacks are timed together. */
#define PASS_IDLE_STRIDE	32U

/* A watch that differs from any time. */
#define PASS_WATCH_CLOSELY	(~(u64)0)

/* What is left of the work that a pass may do. */
struct pass_left {
	unsigned int budget;
	unsigned int slice;
};

/*
 * Set the time that lateness is measured against. A due timer is past, even if the
 * clock was set back after it was found due.
 */
static __always_inline void pass_set_time(struct twheel_base *base, u64 ns)
{
	base->time = max(ns, base->wheel.now_ns + 1);
}

/* Read the clock. Returns the last tick that has come. */
static u64 pass_read_clock(struct twheel_base *base)
{
	base->time = tw_clock_now(&base->clock);
	return tw_wheel_floor(&base->wheel, base->time);
}

static __always_inline void pass_lock(struct twheel_base *base,
				      enum twheel_context context)
{
	if (context == TWHEEL_CONTEXT_HARDIRQ)
		raw_spin_lock(&base->lock);
	else
		raw_spin_lock_irq(&base->lock);
}

static __always_inline void pass_unlock(struct twheel_base *base,
					enum twheel_context context)
{
	if (context == TWHEEL_CONTEXT_HARDIRQ)
		raw_spin_unlock(&base->lock);
	else
		raw_spin_unlock_irq(&base->lock);
}

/* Release the lock for a moment: for interrupts, and for CPUs that spin on it. */
static __always_inline void pass_breathe(struct twheel_base *base,
					 enum twheel_context context)
{
	base->breaths++;
	pass_unlock(base, context);
	if (context == TWHEEL_CONTEXT_WORK)
		cond_resched();
	else
		cpu_relax();
	pass_lock(base, context);
}

/*
 * The base's watch tells callbacks that take too long. Jiffies cost a load only, but may
 * stand still in hard interrupt context. (local_clock() may stand still, too, where it
 * is not stable.) They also stand still in a softirq that has interrupted the idle task:
 * there each callback has a closer look, see pass_check_idle().
 */
static __always_inline u64 pass_watch(const struct twheel_base *base,
				      enum twheel_context context)
{
	if (context == TWHEEL_CONTEXT_HARDIRQ)
		return ktime_get_ns();
	if (context == TWHEEL_CONTEXT_SOFTIRQ && base->idle_since)
		return PASS_WATCH_CLOSELY;
	return jiffies;
}

/* A callback took so long: is that to be counted, and reported? */
static bool pass_overran(struct twheel_base *base, twheel_fn function, u64 took)
{
	if (likely(!tw_debug_is_overrun(took)))
		return false;
	/* Time that the host has taken is not the callback's. */
	took -= min(took, tw_debug_stolen() - base->stolen);
	if (!tw_debug_is_overrun(took))
		return false;
	/* Without the lock: added to the base's count at the end of the pass. */
	base->overran++;
	if (!base->silent)
		tw_debug_report_overrun(function, took);
	return true;
}

/*
 * On an idle CPU: read the clock after the first callback, and then after each 32. If
 * that is too long for 32 together, which of them it was is not known: from then on
 * each is timed by itself.
 */
static void pass_check_idle(struct twheel_base *base, twheel_fn function)
{
	u64 now, took;

	now = ktime_get_ns();
	took = now - base->idle_since;
	if (took >= TICK_NSEC)
		pass_set_time(base, tw_clock_now(&base->clock));
	base->idle_since = now;
	if (base->idle_calls > 1 && tw_debug_is_overrun(took))
		base->idle_exact = PASS_BUDGET;
	else if (base->idle_calls == 1 && pass_overran(base, function, took))
		base->idle_since = ktime_get_ns();
	base->idle_calls = 0;
	base->idle_stride = PASS_IDLE_STRIDE;
	if (base->idle_exact) {
		base->idle_exact--;
		base->idle_stride = 1;
	}
}

static noinline void pass_check_time(struct twheel_base *base, twheel_fn function,
				     enum twheel_context context, u64 now)
{
	u64 took = now - base->watch;

	if (context == TWHEEL_CONTEXT_SOFTIRQ && base->idle_since) {
		pass_check_idle(base, function);
		return;
	}
	if (context == TWHEEL_CONTEXT_HARDIRQ) {
		base->time += took;
	} else {
		took *= TICK_NSEC;
		pass_set_time(base, tw_clock_now(&base->clock));
	}
	/* A report takes long, too. */
	base->watch = pass_overran(base, function, took) ?
		      pass_watch(base, context) : now;
	base->stolen = tw_debug_stolen();
}

/*
 * Call a timer's function, and check what it has left behind.
 * @count: the preempt count to find
 */
static __always_inline void pass_call(struct twheel_base *base,
				      struct twheel_timer *timer,
				      twheel_fn function,
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
	now = context == TWHEEL_CONTEXT_HARDIRQ ? ktime_get_ns() : jiffies;
	if (likely(base->watch == now))
		return;
	/* Inline, or each callback on an idle CPU would pay for the call. */
	if (context == TWHEEL_CONTEXT_SOFTIRQ && base->idle_since &&
	    ++base->idle_calls < base->idle_stride)
		return;
	pass_check_time(base, function, context, now);
}

/*
 * The expiry locks of PREEMPT_RT. A pass in softirq context holds one of them. A waiter
 * blocks on that one, and so lends the pass its priority. Where the pass has told
 * waiters it goes on with the other lock: if it released the lock and took it again, it
 * could be faster than the waiters, each time.
 */
#ifdef CONFIG_PREEMPT_RT
static unsigned int pass_lock_expiry(struct twheel_base *base)
{
	unsigned int held = READ_ONCE(base->expiry_lock);

	spin_lock(&base->expiry_locks[held]);
	return held;
}

static void pass_unlock_expiry(struct twheel_base *base, unsigned int held)
{
	spin_unlock(&base->expiry_locks[held]);
}

/*
 * With the base lock: the pass begins. While it waited for its expiry lock, the pass
 * before it may have changed to the other one.
 */
static void pass_own_expiry(struct twheel_base *base, unsigned int held)
{
	base->expiry_lock = held;
}

/* With the base lock: the pass ends. Returns which expiry lock it holds now. */
static unsigned int pass_held_expiry(const struct twheel_base *base)
{
	return base->expiry_lock;
}

static void pass_change_expiry(struct twheel_base *base)
{
	unsigned int old = base->expiry_lock;

	/* Nobody waits at this moment: no callback runs. */
	spin_lock_nested(&base->expiry_locks[!old], SINGLE_DEPTH_NESTING);
	WRITE_ONCE(base->expiry_lock, !old);
	spin_unlock(&base->expiry_locks[old]);
}

/*
 * Softirqs are left on: to turn them off is to wait until this CPU's softirqs have
 * ended, and the whole pass with them. They run in threads, so they cannot interrupt
 * the holder of the lock, which lockdep does not know.
 */
static void pass_wait_expiry(struct twheel_base *base,
			     const struct tw_pass_waiter *waiter)
{
	spinlock_t *lock = &base->expiry_locks[waiter->expiry_lock];

	lockdep_off();
	/* Pairs with pass_tell_waiters(). */
	while (!smp_load_acquire(&waiter->done)) {
		spin_lock(lock);
		spin_unlock(lock);
	}
	lockdep_on();
}
#else
static unsigned int pass_lock_expiry(struct twheel_base *base) { return 0; }
static void pass_unlock_expiry(struct twheel_base *base, unsigned int held) { }
static void pass_own_expiry(struct twheel_base *base, unsigned int held) { }
static unsigned int pass_held_expiry(const struct twheel_base *base) { return 0; }
static void pass_change_expiry(struct twheel_base *base) { }
static void pass_wait_expiry(struct twheel_base *base,
			     const struct tw_pass_waiter *waiter)
{
}
#endif

/*
 * With the lock: the callback of @base->running has returned, and some wait for that.
 *
 * The lock is released once they have been told: nothing that may sleep on PREEMPT_RT,
 * as waking them up does, is done with it.
 */
static noinline void pass_tell_waiters(struct twheel_base *base,
				       enum twheel_context context)
{
	struct tw_pass_waiter *waiter;

	WRITE_ONCE(base->running, NULL);
	while ((waiter = base->waiters)) {
		base->waiters = waiter->next;
		if (waiter->state == TWHEEL_PENDING ||
		    READ_ONCE(waiter->timer->base) != base)
			waiter->ret = -EAGAIN;
		else
			waiter->ret = tw_base_withdraw(base, waiter->timer,
						       waiter->state);
		/* Pairs with tw_pass_wait(), after which @waiter is gone. */
		smp_store_release(&waiter->done, true);
	}
	pass_unlock(base, context);
	if (context == TWHEEL_CONTEXT_WORK)
		wake_up_all(&base->idle);
	if (context == TWHEEL_CONTEXT_SOFTIRQ)
		pass_change_expiry(base);
	pass_lock(base, context);
}

/* With the base lock: a timer is called so late. */
static __always_inline void pass_count_late(struct twheel_base *base, u64 late)
{
	base->late_sum += late;
	base->late[tw_top_bit(late)]++;
}

/* Claim the timers that are due, and call them. Returns what is left of @left. */
static __always_inline struct pass_left
pass_serve(struct twheel_base *base, struct pass_left left, int count,
	   enum twheel_context context, bool traced)
{
	u64 requeued = base->wheel.requeued;
	struct twheel_timer *timer;
	s64 fired = ~(u64)TWHEEL_FIRED;
	u64 late, start = 0;
	twheel_fn function;

	/* Keep it in a register, rather than load it for each. */
	OPTIMIZER_HIDE_VAR(fired);
	lockdep_assert_held(&base->lock);
	base->watch = pass_watch(base, context);
	pass_set_time(base, base->time);
	do {
		/* The callback before may have slept. */
		if (context == TWHEEL_CONTEXT_WORK)
			pass_set_time(base, tw_clock_now(&base->clock));
again:
		timer = tw_wheel_due(&base->wheel);
		if (!timer)
			break;
		if (unlikely(!tw_wheel_claim(&base->wheel, timer, fired,
					     base->time, &late))) {
			if (!tw_wheel_requeue_due(&base->wheel, timer, &left.slice))
				break;
			goto again;
		}
		pass_count_late(base, late);
		tw_wheel_dequeue_due(&base->wheel, timer);
		base->room++;
		/* Some look at it without the lock. */
		WRITE_ONCE(base->running, timer);
		tw_debug_deactivate(timer);
		pass_unlock(base, context);
		/* From here on @timer may be freed, by its own function. */
		function = timer->function;
		if (traced) {
			tw_trace_expire_entry(base, timer, function,
					      base->time - late);
			start = ktime_get_ns();
		}
		pass_call(base, timer, function, context, count);
		if (traced)
			tw_trace_expire_exit(base, timer, function,
					     ktime_get_ns() - start);
		pass_lock(base, context);
		if (unlikely(base->waiters))
			pass_tell_waiters(base, context);
		left.slice = PASS_SLICE;
	} while (--left.budget);
	WRITE_ONCE(base->running, NULL);
	requeued = base->wheel.requeued - requeued;
	tw_trace_moved(base, base->wheel.cascades, base->wheel.requeued - requeued);
	left.budget -= min_t(u64, left.budget, requeued);
	return left;
}

/* pass_serve() with trace events: this one need not be fast. */
static noinline struct pass_left
pass_serve_traced(struct twheel_base *base, struct pass_left left, int count,
		  enum twheel_context context)
	__must_hold(&base->lock)
{
	return pass_serve(base, left, count, context, true);
}

static void pass_begin(struct twheel_base *base, bool threaded)
{
	struct tw_wheel *w = &base->wheel;
	u64 now = pass_read_clock(base);

	/* tw_base_inside() reads it without the lock. */
	WRITE_ONCE(base->runner, current);
	base->passes++;
	base->threaded += threaded && base->budget.percent;
	base->stolen = tw_debug_stolen();
	/* A clock set back since then ends the round: what is left of it is early. */
	if (!base->in_round || unlikely(now < base->target)) {
		base->target = now;
		if (unlikely(base->target < w->now))
			tw_wheel_move_back(w, base->target);
	}
	tw_wheel_begin_round(w, !base->in_round);
	/* tw_pass_advance() reads it without the lock. */
	WRITE_ONCE(base->in_round, true);
}

/* Returns true if the clock is to restart its alarm; not before @pause from now. */
static bool pass_finish(struct twheel_base *base, struct tw_clock *clock, u64 pause,
			bool threaded)
{
	u64 next = tw_wheel_next_event(&base->wheel);
	u64 now, ns;

	WRITE_ONCE(base->runner, NULL);
	base->overruns += base->overran;
	base->overran = 0;
	if (base->stopped)
		return false;
	if (base->quota)
		tw_base_return_quota(base);
	if (next == TW_WHEEL_ASLEEP)
		return false;
	now = tw_clock_now(clock);
	ns = tw_base_wake_ns(base);
	return tw_clock_resume(clock, ns > now ? ns : now + pause, threaded);
}

/*
 * Nothing is due: empty crowded buckets ahead of their time. Returns false if that is
 * done. Else another round begins, of what has become due meanwhile.
 */
static bool pass_drain_ahead(struct twheel_base *base, unsigned int *slice)
{
	struct tw_wheel *w = &base->wheel;
	u64 cascades = w->cascades, requeued = w->requeued;
	bool empty;

	WRITE_ONCE(base->in_round, false);
	empty = tw_wheel_drain_ahead(w, slice);
	tw_trace_moved(base, cascades, requeued);
	if (empty)
		return false;
	base->target = pass_read_clock(base);
	WRITE_ONCE(base->in_round, true);
	return true;
}

/* With the lock: do what is due, within @budget. Returns what is left of that. */
static __always_inline unsigned int
pass_work(struct twheel_base *base, unsigned int budget, int count,
	  enum twheel_context context)
{
	struct pass_left left = { .budget = budget, .slice = PASS_SLICE };
	struct tw_wheel *w = &base->wheel;

	while (left.budget && !base->stopped) {
		u64 cascades = w->cascades, requeued = w->requeued;
		unsigned int slice = left.slice;
		enum tw_advance turn = tw_wheel_advance(w, base->target, &slice);

		tw_trace_moved(base, cascades, requeued);
		if (turn == TW_ADVANCE_DONE && !pass_drain_ahead(base, &slice))
			break;
		left.budget -= min(left.budget, left.slice - slice);
		left.slice = slice;
		if (turn == TW_ADVANCE_DUE && left.budget)
			left = tw_trace_expiry() ?
			       pass_serve_traced(base, left, count, context) :
			       pass_serve(base, left, count, context, false);
		if (!left.slice) {
			pass_breathe(base, context);
			left.slice = PASS_SLICE;
		}
	}
	return left.budget;
}

static __always_inline bool pass_run(struct twheel_base *base,
				     struct tw_clock *clock,
				     enum twheel_context context, bool threaded,
				     unsigned int *expiry)
{
	bool hard = context == TWHEEL_CONTEXT_HARDIRQ;
	unsigned int budget = hard || threaded ? PASS_SHORT_BUDGET : PASS_BUDGET;
	u64 start = hard || base->budget.percent ? ktime_get_ns() : 0;
	struct twheel_trace_pass trace;
	int count = preempt_count();
	bool restart, traced;
	u64 pause = 0;

	pass_lock(base, context);
	/* Another pass is on, a thread's or an alarm's: it sets the next alarm. */
	if (unlikely(base->runner)) {
		pass_unlock(base, context);
		return false;
	}
	pass_own_expiry(base, *expiry);
	base->idle_since = context == TWHEEL_CONTEXT_SOFTIRQ &&
			   is_idle_task(current) ? ktime_get_ns() : 0;
	base->idle_stride = 1;
	base->idle_calls = 0;
	traced = tw_trace_pass_begin(base, &trace);
	pass_begin(base, threaded);
	budget = pass_work(base, budget, count, context);
	base->exhausted += !budget;
	if (hard)
		pause = max_t(u64, ktime_get_ns() - start, PASS_HARD_PAUSE);
	if (context == TWHEEL_CONTEXT_SOFTIRQ && base->budget.percent)
		tw_clock_hand_over(clock, tw_base_spend(base, start,
							ktime_get_ns(),
							threaded));
	restart = pass_finish(base, clock, pause, threaded);
	*expiry = pass_held_expiry(base);
	if (unlikely(traced)) {
		trace.exhausted = !budget;
		trace.threaded = threaded && base->budget.percent;
		__tw_trace_pass_end(base, &trace);
	}
	pass_unlock(base, context);
	return restart;
}

static bool pass_run_soft(struct twheel_base *base, struct tw_clock *clock,
			  bool threaded)
{
	unsigned int expiry = pass_lock_expiry(base);
	bool restart;

	restart = pass_run(base, clock, TWHEEL_CONTEXT_SOFTIRQ, threaded, &expiry);
	pass_unlock_expiry(base, expiry);
	return restart;
}

/* tw_pass_alarm() - the alarm function of every base's clock */
bool tw_pass_alarm(struct tw_clock *clock, bool threaded)
{
	struct twheel_base *base = container_of(clock, struct twheel_base,
						clock);
	unsigned int none = 0;

	switch (clock->context) {
	case TWHEEL_CONTEXT_HARDIRQ:
		return pass_run(base, clock, TWHEEL_CONTEXT_HARDIRQ, false, &none);
	case TWHEEL_CONTEXT_WORK:
		return pass_run(base, clock, TWHEEL_CONTEXT_WORK, true, &none);
	default:
		return pass_run_soft(base, clock, threaded);
	}
}

/*
 * tw_pass_add_waiter() - wait for the callback that runs, with the base lock
 * @waiter: its @timer and @state are set. It goes to tw_pass_wait(), without the lock
 */
void tw_pass_add_waiter(struct twheel_base *base, struct tw_pass_waiter *waiter)
{
	lockdep_assert_held(&base->lock);
	waiter->base = base;
	waiter->done = false;
#ifdef CONFIG_PREEMPT_RT
	waiter->expiry_lock = base->expiry_lock;
#endif
	waiter->next = base->waiters;
	base->waiters = waiter;
}

/*
 * tw_pass_wait() - wait until the callback has returned
 *
 * On PREEMPT_RT the pass may run in a thread that the caller has preempted, so spinning
 * would never end. Blocking on a lock that the pass holds lends the pass the caller's
 * priority. (The idea is kernel/time/timer.c's.)
 *
 * Return: 1 if the callback had armed the timer again, and it has been withdrawn; 0 if it
 * had not; -EAGAIN if the timer was left alone, or now has another base.
 */
int tw_pass_wait(struct tw_pass_waiter *waiter)
{
	struct twheel_base *base = waiter->base;

	if (base->clock.context == TWHEEL_CONTEXT_WORK) {
		/* Pairs with pass_tell_waiters(). */
		wait_event(base->idle, smp_load_acquire(&waiter->done));
	}
	if (base->clock.context == TWHEEL_CONTEXT_SOFTIRQ)
		pass_wait_expiry(base, waiter);
	/* The same. */
	while (!smp_load_acquire(&waiter->done))
		cpu_relax();
	return waiter->ret;
}

static void pass_run_virtual(struct tw_clock *clock)
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
 * Timers that callbacks arm for now meanwhile are left for the next call.
 *
 * Return: the instant at which there is something to do next, which may be now, or more
 * than %TWHEEL_NEVER.
 */
u64 tw_pass_advance(struct twheel_base *base, u64 now_ns)
{
	u64 next;

	tw_clock_set_virtual(&base->clock, now_ns);
	do {
		pass_run_virtual(&base->clock);
		cond_resched();
	} while (READ_ONCE(base->in_round) && !READ_ONCE(base->stopped));

	raw_spin_lock_irq(&base->lock);
	next = max(tw_base_wake_ns(base), tw_clock_now(&base->clock));
	raw_spin_unlock_irq(&base->lock);
	return next;
}
