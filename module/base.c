// SPDX-License-Identifier: GPL-2.0-only
/*
 * A base: an engine and a clock under one lock.
 *
 * The alarm of the clock is set, under the lock, for the engine's next event; it
 * is not set when there is none. When it goes off a pass serves what is due: one
 * timer at a time is claimed and unlinked under the lock, and its callback called
 * without it. So a timer that is due but not yet claimed can still be cancelled,
 * also by a callback before it in the same pass.
 *
 * A pass has a budget, and holds the lock for a slice at most. What is left over
 * is done by another pass, for which the alarm is set to a now read afresh: that
 * lets other softirqs in. Due timers go first; then crowded buckets are emptied
 * ahead of their time, slice by slice, with a look at the clock in between.
 *
 * A round is all that was due at one moment, over as many passes as that takes.
 * Timers that are armed for the past, by callbacks perhaps, wait for the next
 * round: they can neither keep a pass busy for ever nor starve the others.
 */
#include <linux/bottom_half.h>
#include <linux/errno.h>
#include <linux/lockdep.h>
#include <linux/processor.h>

#include "base.h"
#include "compat.h"

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

static bool base_alarm(struct tw_clock *clock);

static u64 floor_now(struct twheel_base *base)
{
	return tw_wheel_floor(&base->wheel, tw_clock_now(&base->clock));
}

/*
 * tw_base_shape() - the engine that @config asks for, as yet without buckets
 *
 * Return: 0, -EINVAL.
 */
int tw_base_shape(struct tw_wheel *wheel, const struct twheel_config *config)
{
	u64 tick_ns = config->tick_ns ?: TWHEEL_TICK_DEFAULT;

	if (tick_ns < TWHEEL_TICK_MIN || !tw_clock_valid(config->clock) ||
	    (config->start_ns && config->clock != TWHEEL_CLOCK_VIRTUAL))
		return -EINVAL;
	return tw_wheel_shape(wheel, tick_ns,
			      config->slots ?: TWHEEL_SLOTS_DEFAULT);
}

/*
 * tw_base_init() - make an empty base
 *
 * Return: 0, -EINVAL (@config), -ENOMEM.
 */
int tw_base_init(struct twheel_base *base, struct twheel *owner,
		 const struct twheel_config *config)
{
	int ret;

	ret = tw_base_shape(&base->wheel, config);
	if (ret)
		return ret;
	tw_clock_init(&base->clock, config->clock, config->start_ns,
		      base_alarm);
	ret = tw_wheel_init(&base->wheel, floor_now(base));
	if (ret)
		return ret;

	raw_spin_lock_init(&base->lock);
#ifdef CONFIG_PREEMPT_RT
	spin_lock_init(&base->expiry_lock);
#endif
	base->limit = config->max_pending ?: UINT_MAX;
	base->owner = owner;
	return 0;
}

void tw_base_exit(struct twheel_base *base)
{
	tw_wheel_exit(&base->wheel);
}

/*
 * tw_base_file() - put a timer with a deadline into the wheel, and see to it that
 * the alarm goes off in time
 */
void tw_base_file(struct twheel_base *base, struct twheel_timer *timer)
{
	struct tw_wheel *w = &base->wheel;
	u64 wake;

	lockdep_assert_held(&base->lock);
	if (tw_clock_moved(&base->clock))
		tw_wheel_forward(w, floor_now(base));
	wake = w->wake;
	tw_wheel_add(w, timer);
	if (unlikely(w->wake < wake))
		tw_clock_set(&base->clock, tw_wheel_ns(w, w->wake));
}

/*
 * tw_base_unfile() - take a timer out of the wheel for good
 *
 * While other timers wait, an alarm that this makes superfluous is left to go off:
 * moving it would cost more. An empty wheel has no alarm.
 */
void tw_base_unfile(struct twheel_base *base, struct twheel_timer *timer)
{
	lockdep_assert_held(&base->lock);
	tw_wheel_del(&base->wheel, timer);
	if (!--base->pending && base->wheel.wake) {
		base->wheel.wake = TW_WHEEL_ASLEEP;
		tw_clock_unset(&base->clock);
	}
}

/* Claim what is due, and call it. Returns what is left of the budget. */
static unsigned int serve(struct twheel_base *base, unsigned int budget)
{
	struct twheel_timer *timer;
	unsigned int slice = SLICE;

	lockdep_assert_held(&base->lock);
	while (budget) {
		unsigned int before = slice;

		timer = tw_wheel_pop(&base->wheel, &slice);
		budget -= min(budget, before - slice);
		if (!timer)
			break;

		base->pending--;
		base->fired++;
		base->running = timer;
		raw_spin_unlock_irq(&base->lock);
		/* From here on @timer may be freed: by its own callback. */
		timer->function(timer);
		raw_spin_lock_irq(&base->lock);
		base->running = NULL;
		slice = SLICE;
	}
	return budget;
}

/* Let interrupts, and whoever waits for the lock, in. */
static void breathe(struct twheel_base *base)
{
	raw_spin_unlock_irq(&base->lock);
	cpu_relax();
	raw_spin_lock_irq(&base->lock);
}

/*
 * One pass. Returns true if the clock is to restart its alarm.
 */
static bool pass(struct twheel_base *base, struct tw_clock *clock)
{
	struct tw_wheel *w = &base->wheel;
	unsigned int budget = BUDGET;
	bool restart = false;
	u64 next;

	raw_spin_lock_irq(&base->lock);
	base->runner = current;
	base->passes++;
	tw_wheel_begin(w, !base->in_round);
	if (!base->in_round)
		base->target = floor_now(base);
	base->in_round = true;

	while (budget && !base->stopped) {
		unsigned int slice = min(budget, SLICE);
		unsigned int before = slice;
		enum tw_turn turn = tw_wheel_turn(w, base->target, &slice);

		if (turn == TW_TURN_DUE) {
			budget = serve(base, budget);
			continue;
		}
		if (turn == TW_TURN_DONE) {
			base->in_round = false;
			if (tw_wheel_ahead(w, &slice))
				break;
			base->target = floor_now(base);
		}
		budget -= before - slice;
		breathe(base);
	}
	base->exhausted += !budget;

	base->runner = NULL;
	next = tw_wheel_next(w);
	if (next != TW_WHEEL_ASLEEP && !base->stopped) {
		u64 now = tw_clock_now(clock);

		restart = tw_clock_resume(clock, max(tw_wheel_ns(w, next), now));
	}
	raw_spin_unlock_irq(&base->lock);
	return restart;
}

#ifdef CONFIG_PREEMPT_RT
static void expiry_lock(struct twheel_base *base)
{
	spin_lock(&base->expiry_lock);
}

static void expiry_unlock(struct twheel_base *base)
{
	spin_unlock(&base->expiry_lock);
}

/*
 * tw_base_wait() - let the pass that is on make progress
 *
 * The pass may run in a thread that the caller has preempted: spinning would be
 * for ever. Blocking on a lock that the pass holds lends it the caller's
 * priority. (The idea is kernel/time/timer.c's.)
 */
void tw_base_wait(struct twheel_base *base)
{
	spin_lock_bh(&base->expiry_lock);
	spin_unlock_bh(&base->expiry_lock);
}
#else
static void expiry_lock(struct twheel_base *base) { }
static void expiry_unlock(struct twheel_base *base) { }

void tw_base_wait(struct twheel_base *base)
{
	cpu_relax();
}
#endif

static bool base_alarm(struct tw_clock *clock)
{
	struct twheel_base *base;
	bool restart;

	base = container_of(clock, struct twheel_base, clock);
	expiry_lock(base);
	restart = pass(base, clock);
	expiry_unlock(base);
	return restart;
}

/*
 * tw_base_advance() - set a virtual clock to @now_ns and serve what is due
 *
 * What callbacks arm for now meanwhile is left for the next call.
 *
 * Return: the instant at which there is something to do next, which may be now,
 * or more than %TWHEEL_NEVER.
 */
u64 tw_base_advance(struct twheel_base *base, u64 now_ns)
{
	u64 next;

	WRITE_ONCE(base->clock.virtual_ns, now_ns);
	do {
		local_bh_disable();
		base_alarm(&base->clock);
		local_bh_enable();
		cond_resched();
	} while (READ_ONCE(base->in_round) && !READ_ONCE(base->stopped));

	raw_spin_lock_irq(&base->lock);
	next = base->wheel.wake;
	next = next == TW_WHEEL_ASLEEP ? next : tw_wheel_ns(&base->wheel, next);
	raw_spin_unlock_irq(&base->lock);
	return next;
}

/*
 * tw_base_stop() - let nothing be armed and nothing fire any more
 *
 * Context: process, may sleep.
 * Return: 0, -EDEADLK from a callback of this base, -EALREADY.
 */
int tw_base_stop(struct twheel_base *base)
{
	bool passing;
	int ret = 0;

	raw_spin_lock_irq(&base->lock);
	if (base->runner == current)
		ret = -EDEADLK;
	else if (base->stopped)
		ret = -EALREADY;
	else
		base->stopped = true;
	raw_spin_unlock_irq(&base->lock);
	if (ret)
		return ret;

	tw_clock_stop(&base->clock);
	/* A virtual clock's pass is not the alarm's. */
	do {
		raw_spin_lock_irq(&base->lock);
		passing = base->runner;
		raw_spin_unlock_irq(&base->lock);
		if (passing)
			tw_base_wait(base);
	} while (passing);
	return 0;
}

/*
 * tw_base_evict() - take a pending timer out of a stopped base
 *
 * Return: the timer, its word %TWHEEL_UNFIRED; NULL if there is none left.
 */
struct twheel_timer *tw_base_evict(struct twheel_base *base)
{
	struct twheel_timer *timer;

	raw_spin_lock_irq(&base->lock);
	timer = tw_wheel_evict(&base->wheel);
	if (timer) {
		/* twheel_extend_at() now finds it no longer pending. */
		atomic64_xchg(&timer->word, ~(u64)TWHEEL_UNFIRED);
		base->pending--;
	}
	raw_spin_unlock_irq(&base->lock);
	return timer;
}
