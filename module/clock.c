// SPDX-License-Identifier: GPL-2.0-only
/*
 * The clock of a base, made of an hrtimer that expires in softirq.
 *
 * The alarm is set under the base lock. Where the alarm function has to set it
 * again, it is cheaper to have the hrtimer core restart the timer; but an arm on
 * another CPU may have started it in the meantime, between the alarm going off
 * and the alarm function taking the lock. Then it is queued, and its expiry must
 * not be written.
 */
#include <linux/kernel.h>
#include <linux/ktime.h>
#include <linux/timekeeping.h>

#include "clock.h"
#include "compat.h"

static ktime_t to_ktime(u64 ns)
{
	return ns_to_ktime(min_t(u64, ns, KTIME_MAX));
}

static enum hrtimer_restart clock_alarm(struct hrtimer *timer)
{
	struct tw_clock *clock = container_of(timer, struct tw_clock, timer);

	return clock->alarm(clock) ? HRTIMER_RESTART : HRTIMER_NORESTART;
}

/* tw_clock_init() - set up a clock whose alarm is not set */
void tw_clock_init(struct tw_clock *clock, enum twheel_clock id, u64 start_ns,
		   bool (*alarm)(struct tw_clock *clock))
{
	clock->id = id;
	clock->virtual_ns = start_ns;
	clock->seen = jiffies;
	clock->alarm = alarm;
	hrtimer_setup(&clock->timer, clock_alarm,
		      id == TWHEEL_CLOCK_BOOTTIME ? CLOCK_BOOTTIME :
						    CLOCK_MONOTONIC,
		      HRTIMER_MODE_ABS_SOFT);
}

/* tw_clock_now() - the time in ns */
u64 tw_clock_now(const struct tw_clock *clock)
{
	switch (clock->id) {
	case TWHEEL_CLOCK_VIRTUAL:
		return READ_ONCE(clock->virtual_ns);
	case TWHEEL_CLOCK_BOOTTIME:
		return ktime_get_boottime_ns();
	default:
		return ktime_get_ns();
	}
}

/* tw_clock_set() - have the alarm go off at @ns instead of what it was set to */
void tw_clock_set(struct tw_clock *clock, u64 ns)
{
	if (clock->id != TWHEEL_CLOCK_VIRTUAL)
		hrtimer_start(&clock->timer, to_ktime(ns),
			      HRTIMER_MODE_ABS_SOFT);
}

/*
 * tw_clock_resume() - tw_clock_set() from the alarm function
 *
 * @ns must not be in the past of the moment of this call, or the hrtimer core,
 * whose own now stands still while it works, would never leave its loop.
 *
 * Return: what the alarm function has to return.
 */
bool tw_clock_resume(struct tw_clock *clock, u64 ns)
{
	if (clock->id == TWHEEL_CLOCK_VIRTUAL)
		return false;
	if (hrtimer_is_queued(&clock->timer)) {
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

/* tw_clock_stop() - unset the alarm, and wait for its function. May sleep. */
void tw_clock_stop(struct tw_clock *clock)
{
	if (clock->id != TWHEEL_CLOCK_VIRTUAL)
		hrtimer_cancel(&clock->timer);
}
