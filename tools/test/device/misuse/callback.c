// SPDX-License-Identifier: GPL-2.0-only
/* Callbacks that keep locks, or wait for themselves. */
#include <linux/err.h>
#include <linux/hrtimer.h>
#include <linux/ktime.h>
#include <linux/preempt.h>
#include <linux/spinlock.h>

#include <linux/twheel_idle.h>
#include <linux/twheel_periodic.h>
#include <linux/twheel_virtual.h>

#include "compat.h"
#include "misuse.h"

static void misuse_softirq_holds(struct twheel_timer *timer)
{
	preempt_disable();
}

static void misuse_work_holds(struct twheel_timer *timer)
{
	preempt_disable();
}

/* One callback in a context, and one after it. */
static void call_in(enum twheel_context context, twheel_fn function)
{
	struct twheel *other = misuse_new_wheel("misused", context);
	static struct twheel_timer timer;

	if (!expect(!IS_ERR(other)))
		return;
	twheel_timer_init(&timer, other, function);
	twheel_arm(&timer, 20 * MS);
	misuse_goes_on(other);
	twheel_destroy(other);
}

void misuse_preempt(void)
{
	call_in(TWHEEL_CONTEXT_SOFTIRQ, misuse_softirq_holds);
	call_in(TWHEEL_CONTEXT_WORK, misuse_work_holds);
	expect(!preempt_count());
}

/* The functions of policies, which are to be named, and not twheel's that call them. */
static enum twheel_next misuse_period(struct twheel_periodic *periodic)
{
	preempt_disable();
	return TWHEEL_DONE;
}

static void misuse_silence(struct twheel_idle *idle)
{
	preempt_disable();
}

/* One after the other, on one wheel: each is to be named for what it does itself. */
void misuse_preempt_policy(void)
{
	static struct twheel_periodic periodic;
	static struct twheel_idle idle;

	twheel_periodic_init(&periodic, misuse_wheel, misuse_period);
	twheel_periodic_start(&periodic, 20 * MS, TWHEEL_FIXED_RATE);
	misuse_goes_on(misuse_wheel);
	twheel_idle_init(&idle, misuse_wheel, misuse_silence);
	twheel_idle_start(&idle, 20 * MS);
	misuse_goes_on(misuse_wheel);
	twheel_periodic_shutdown_sync(&periodic);
	twheel_idle_shutdown_sync(&idle);
}

static struct twheel_timer victim;

static enum hrtimer_restart misuse_waits(struct hrtimer *interrupt)
{
	atomic_add(twheel_cancel_sync(&victim), &misuse_fired);
	return HRTIMER_NORESTART;
}

/*
 * For a timer of a wheel whose callbacks are in softirq. One has run, so that lockdep would
 * have something to say, too.
 */
void misuse_hardirq(void)
{
	static struct hrtimer interrupt;

	twheel_timer_init(&victim, misuse_wheel, misuse_expired);
	twheel_arm(&victim, 20 * MS);
	misuse_goes_on(misuse_wheel);
	expect(atomic_read(&misuse_fired) == 1);
	twheel_arm(&victim, 3600 * 1000 * MS);
	hrtimer_setup(&interrupt, misuse_waits, CLOCK_MONOTONIC, HRTIMER_MODE_REL_HARD);
	hrtimer_start(&interrupt, ns_to_ktime(20 * MS), HRTIMER_MODE_REL_HARD);
	misuse_goes_on(misuse_wheel);
	hrtimer_cancel(&interrupt);
	expect(!twheel_pending(&victim));
	expect(atomic_read(&misuse_fired) == 2);
}

static u64 advanced;

static void misuse_advances(struct twheel_timer *timer)
{
	advanced = twheel_advance(twheel_of(timer), 20 * MS);
	atomic_inc(&misuse_fired);
}

/* A callback that waits for the pass that has called it. */
void misuse_advance(void)
{
	struct twheel *other = twheel_create(&(struct twheel_config) {
		.name = "virtual", .clock = TWHEEL_CLOCK_VIRTUAL,
	});

	twheel_timer_init(&victim, other, misuse_advances);
	twheel_arm(&victim, 10 * MS);
	twheel_advance(other, 10 * MS);
	/* Nor has any other clock an advance. */
	expect(twheel_advance(misuse_wheel, 20 * MS) > TWHEEL_NEVER);
	expect(atomic_read(&misuse_fired) == 1);
	expect(advanced > TWHEEL_NEVER);
	expect(twheel_now(other) == 10 * MS);
	twheel_destroy(other);
	misuse_goes_on(misuse_wheel);
}

static DEFINE_SPINLOCK(misuse_lock);

static void misuse_takes_lock(struct twheel_timer *timer)
{
	spin_lock(&misuse_lock);
	atomic_inc(&misuse_fired);
	spin_unlock(&misuse_lock);
}

/* The callback has run before, so that it is not waited for: it never hangs. */
void misuse_deadlock(void)
{
	twheel_timer_init(&victim, misuse_wheel, misuse_takes_lock);
	twheel_arm(&victim, 20 * MS);
	misuse_goes_on(misuse_wheel);
	expect(atomic_read(&misuse_fired) == 1);
	spin_lock_bh(&misuse_lock);
	twheel_cancel_sync(&victim);
	spin_unlock_bh(&misuse_lock);
	misuse_goes_on(misuse_wheel);
}
