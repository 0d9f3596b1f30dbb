// SPDX-License-Identifier: GPL-2.0-only
/*
 * The clock of a base, made of an hrtimer.
 *
 * The alarm is set under the base lock. Where the alarm function has to set it
 * again, it is cheaper to have the hrtimer core restart the timer; but an arm on
 * another CPU may have started it in the meantime, between the alarm going off
 * and the alarm function taking the lock. Then it is queued, and its expiry must
 * not be written.
 *
 * A clock with a home CPU has its hrtimer there. Another CPU that has to set the
 * alarm sends for the home CPU, which sets it. While the home CPU is offline,
 * whoever sets the alarm has it; the hrtimers of a CPU that goes offline are moved
 * by their own core. So a base needs no moving of its timers, ever.
 */
#include <linux/bottom_half.h>
#include <linux/cpumask.h>
#include <linux/kernel.h>
#include <linux/ktime.h>
#include <linux/sched.h>
#include <linux/timekeeping.h>

#include "../compat.h"
#include "clock.h"

static ktime_t to_ktime(u64 ns)
{
	return ns_to_ktime(min_t(u64, ns, KTIME_MAX));
}

static bool to_work(const struct tw_clock *clock)
{
	return clock->context == TWHEEL_CONTEXT_WORK ||
	       READ_ONCE(clock->hand_over);
}

static void queue(struct tw_clock *clock)
{
	/* A CPU that has never been online has nobody to do the work. */
	if (clock->cpu == TW_ANY_CPU || !cpu_online(clock->cpu))
		queue_work(clock->workqueue, &clock->work);
	else
		queue_work_on(clock->cpu, clock->workqueue, &clock->work);
}

static __always_inline enum hrtimer_restart go_off(struct tw_clock *clock)
{
	/* It may have rested since. */
	if (READ_ONCE(clock->hand_over))
		clock->ops->reconsider(clock);
	if (to_work(clock)) {
		queue(clock);
		return HRTIMER_NORESTART;
	}
	return clock->ops->alarm(clock, false) ? HRTIMER_RESTART :
						 HRTIMER_NORESTART;
}

static enum hrtimer_restart clock_alarm(struct hrtimer *timer)
{
	return go_off(container_of(timer, struct tw_clock, timer));
}

/*
 * Without high resolution, a tick looks at softirq hrtimers when the first of them is
 * due by what was worked out when that was queued. Where CLOCK_REALTIME is set, that is
 * not worked out anew on the CPU that does it, and without NOHZ on none (seen on 6.1;
 * see clock_was_set() there). Those in hard interrupt context are looked at in each
 * tick. So there the alarm is one of these, and has the next softirq call us: a tick
 * later, on a clock that is never set.
 */
static bool needs_relay(const struct tw_clock *clock)
{
	return clock->id == TWHEEL_CLOCK_REALTIME &&
	       clock->context == TWHEEL_CONTEXT_SOFTIRQ &&
	       hrtimer_resolution > 1;
}

static enum hrtimer_restart clock_relay(struct hrtimer *timer)
{
	struct tw_clock *clock = container_of(timer, struct tw_clock, timer);
	enum hrtimer_mode pinned = clock->mode & HRTIMER_MODE_PINNED;

	hrtimer_start(&clock->relay, 0, HRTIMER_MODE_ABS_SOFT | pinned);
	return HRTIMER_NORESTART;
}

static enum hrtimer_restart clock_relayed(struct hrtimer *timer)
{
	return go_off(container_of(timer, struct tw_clock, relay));
}

static void clock_work(struct work_struct *work)
{
	struct tw_clock *clock = container_of(work, struct tw_clock, work);

	if (clock->context == TWHEEL_CONTEXT_WORK) {
		clock->ops->alarm(clock, true);
		return;
	}
	local_bh_disable();
	clock->ops->alarm(clock, true);
	local_bh_enable();
}

static void come_home(void *arg)
{
	struct tw_clock *clock = arg;

	clock->ops->home(clock);
}

static clockid_t clockid(enum twheel_clock id)
{
	switch (id) {
	case TWHEEL_CLOCK_BOOTTIME:
		return CLOCK_BOOTTIME;
	case TWHEEL_CLOCK_REALTIME:
		return CLOCK_REALTIME;
	default:
		return CLOCK_MONOTONIC;
	}
}

/*
 * tw_clock_init() - set up a clock whose alarm is not set
 * @cpu: where it is at home, or %TW_ANY_CPU
 */
void tw_clock_init(struct tw_clock *clock, const struct twheel_config *config,
		   int cpu, const struct tw_clock_ops *ops)
{
	clock->id = config->clock;
	clock->context = config->context;
	clock->workqueue = config->workqueue;
	clock->cpu = cpu;
	clock->virtual_ns = config->start_ns;
	clock->ops = ops;
	clock->relays = needs_relay(clock);
	/* To queue the work, hard interrupt context is as good, and earlier. */
	clock->mode = clock->context == TWHEEL_CONTEXT_SOFTIRQ &&
		      !clock->relays ? HRTIMER_MODE_ABS_SOFT :
				       HRTIMER_MODE_ABS_HARD;
	if (cpu != TW_ANY_CPU)
		clock->mode |= HRTIMER_MODE_PINNED;
	hrtimer_setup(&clock->timer, clock->relays ? clock_relay : clock_alarm,
		      clockid(clock->id), clock->mode);
	if (clock->relays)
		hrtimer_setup(&clock->relay, clock_relayed, CLOCK_MONOTONIC,
			      HRTIMER_MODE_ABS_SOFT);
	INIT_CSD(&clock->csd, come_home, clock);
	INIT_WORK(&clock->work, clock_work);
}

/* tw_clock_now() - the time in ns */
u64 tw_clock_now(const struct tw_clock *clock)
{
	switch (clock->id) {
	case TWHEEL_CLOCK_VIRTUAL:
		return READ_ONCE(clock->virtual_ns);
	case TWHEEL_CLOCK_BOOTTIME:
		return ktime_get_boottime_ns();
	case TWHEEL_CLOCK_REALTIME:
		return ktime_get_real_ns();
	default:
		return ktime_get_ns();
	}
}

/* tw_clock_is_remote() - does it have a home, which is not here? */
bool tw_clock_is_remote(const struct tw_clock *clock)
{
	return clock->target_online && clock->cpu != raw_smp_processor_id();
}

/* Send for the home CPU. */
static bool call_home(struct tw_clock *clock)
{
	int ret;

	if (!tw_clock_is_remote(clock))
		return false;
	if (clock->calling)
		return true;
	/* -EBUSY: it was sent for, and has yet to take the base lock. */
	ret = smp_call_function_single_async(clock->cpu, &clock->csd);
	clock->calling = !ret;
	return !ret || ret == -EBUSY;
}

/* tw_clock_set() - have the alarm go off at @ns instead of what it was set to */
void tw_clock_set(struct tw_clock *clock, u64 ns)
{
	if (clock->id == TWHEEL_CLOCK_VIRTUAL || call_home(clock))
		return;
	hrtimer_start(&clock->timer, to_ktime(ns), clock->mode);
}

/*
 * tw_clock_resume() - tw_clock_set() from the alarm function
 *
 * @ns must not be in the past of the moment of this call, or the hrtimer core,
 * whose own now stands still while it works, would never leave its loop. @threaded
 * is as the alarm function was told.
 *
 * Return: what the alarm function has to return.
 */
bool tw_clock_resume(struct tw_clock *clock, u64 ns, bool threaded)
{
	if (clock->id == TWHEEL_CLOCK_VIRTUAL)
		return false;
	if (to_work(clock) && ns <= tw_clock_now(clock)) {
		queue(clock);
		return false;
	}
	if (threaded || clock->relays || tw_clock_is_remote(clock) ||
	    hrtimer_is_queued(&clock->timer)) {
		tw_clock_set(clock, ns);
		return false;
	}
	hrtimer_set_expires(&clock->timer, to_ktime(ns));
	return true;
}

/* tw_clock_unset() - the alarm need not go off. It may be going off right now. */
void tw_clock_unset(struct tw_clock *clock)
{
	if (clock->id != TWHEEL_CLOCK_VIRTUAL)
		hrtimer_try_to_cancel(&clock->timer);
}

/*
 * tw_clock_stop() - unset the alarm, and wait for its function. May sleep. Nobody
 * sets the alarm any more, nor does its function.
 */
void tw_clock_stop(struct tw_clock *clock)
{
	if (clock->id == TWHEEL_CLOCK_VIRTUAL)
		return;
	hrtimer_cancel(&clock->timer);
	if (clock->relays)
		hrtimer_cancel(&clock->relay);
	if (clock->workqueue)
		cancel_work_sync(&clock->work);
}
