// SPDX-License-Identifier: GPL-2.0-only
/*
 * Watches: how late timers fire and interrupts come while something else goes on.
 *
 * An interrupt is late by the rest of the stretch with interrupts off into which it falls. A
 * due timer is late by the work that is done before it. A timer that fires again and again
 * and reads the clock measures both: a hard hrtimer for interrupts, or one of the peer.
 *
 * A sample is dropped if the kernel's own tick came since the one before. The tick keeps
 * interrupts off for longer than the stretches of interest.
 */
#include <linux/hrtimer.h>
#include <linux/jiffies.h>
#include <linux/ktime.h>
#include <linux/limits.h>
#include <linux/sched.h>
#include <linux/timekeeping.h>
#include <linux/timer.h>

#include "compat.h"
#include "subject.h"
#include "watch.h"

static struct hrtimer interrupt_probe;
static struct twheel_timer wheel_probe;
static struct timer_list list_probe;
static struct hrtimer hr_probe;

static struct watch_lateness watch_seen;
static u64 watch_jiffies;
static bool watch_stopping;
/* The instant at which jiffies would have been 0. */
static u64 jiffies_ns;

static void watch_sample(u64 late_ns)
{
	u64 now = get_jiffies_64();

	if (now == watch_jiffies) {
		watch_seen.samples++;
		watch_seen.least = min(watch_seen.least, late_ns);
		watch_seen.most = max(watch_seen.most, late_ns);
	}
	watch_jiffies = now;
}

static enum hrtimer_restart interrupt_probe_fires(struct hrtimer *timer)
{
	ktime_t now = ktime_get();

	watch_sample(now - hrtimer_get_expires(timer));
	hrtimer_forward(timer, now, WATCH_PERIOD_NS);
	return HRTIMER_RESTART;
}

/* The first boundary of the wheel's tick after now */
static u64 next_tick(void)
{
	u64 now = ktime_get_ns();

	return now - now % TWHEEL_TICK_DEFAULT + TWHEEL_TICK_DEFAULT;
}

/* The deadline of the pending probe. */
static u64 probe_due_ns;

static void wheel_probe_fires(struct twheel_timer *timer)
{
	watch_sample(ktime_get_ns() - probe_due_ns);
	probe_due_ns = next_tick();
	if (!READ_ONCE(watch_stopping))
		twheel_arm_at(timer, probe_due_ns);
}

/* For timer_list, the next instant to expire at is the next jiffy. */
static void list_probe_arm(u64 now)
{
	probe_due_ns = jiffies_ns + (now + 1) * TICK_NSEC;
	if (!READ_ONCE(watch_stopping))
		mod_timer(&list_probe, now);
}

static void list_probe_fires(struct timer_list *timer)
{
	u64 now = get_jiffies_64();

	/* It always fires at the tick: keep watch_sample() from dropping it. */
	watch_jiffies = now;
	watch_sample(ktime_get_ns() - probe_due_ns);
	list_probe_arm(now);
}

static enum hrtimer_restart hr_probe_fires(struct hrtimer *timer)
{
	watch_sample(ktime_get_ns() - probe_due_ns);
	probe_due_ns = next_tick();
	hrtimer_set_expires(timer, probe_due_ns);
	return READ_ONCE(watch_stopping) ? HRTIMER_NORESTART : HRTIMER_RESTART;
}

/* watch_calibrate() - set up the watches, and find out when jiffies change */
void watch_calibrate(void)
{
	u64 start;

	hrtimer_setup(&interrupt_probe, interrupt_probe_fires, CLOCK_MONOTONIC,
		      HRTIMER_MODE_ABS_HARD);
	twheel_timer_init(&wheel_probe, wheel, wheel_probe_fires);
	timer_setup(&list_probe, list_probe_fires, 0);
	hrtimer_setup(&hr_probe, hr_probe_fires, CLOCK_MONOTONIC,
		      HRTIMER_MODE_ABS_SOFT);

	start = get_jiffies_64();
	while (time_before_eq64(get_jiffies_64(), start))
		cpu_relax();
	jiffies_ns = ktime_get_ns() - (start + 1) * TICK_NSEC;
}

/* watch_spin_until() - keep the CPU busy */
void watch_spin_until(u64 ns)
{
	while (ktime_get_ns() < ns) {
		cpu_relax();
		cond_resched();
	}
}

/* watch_nothing() - what a watch sees while nothing goes on */
struct watch_lateness watch_nothing(unsigned int watch)
{
	watch_start(watch);
	watch_spin_until(ktime_get_ns() + WATCH_WINDOW_NS);
	return watch_stop(watch);
}

/* watch_start() - begin to take samples. A callback may call it. */
void watch_start(unsigned int watch)
{
	u64 now = get_jiffies_64();

	watch_seen = (struct watch_lateness){ .least = U64_MAX };
	watch_jiffies = now;
	WRITE_ONCE(watch_stopping, false);
	probe_due_ns = next_tick();
	switch (watch) {
	case WATCH_INTERRUPTS:
		hrtimer_start(&interrupt_probe, ktime_get() + WATCH_PERIOD_NS,
			      HRTIMER_MODE_ABS_HARD);
		break;
	case PEER_WHEEL:
		twheel_arm_at(&wheel_probe, probe_due_ns);
		break;
	case PEER_LIST:
		list_probe_arm(now);
		break;
	case PEER_HR:
		hrtimer_start(&hr_probe, probe_due_ns, HRTIMER_MODE_ABS_SOFT);
		break;
	}
}

/* watch_stop() - end it. Returns what was watch_seen. */
struct watch_lateness watch_stop(unsigned int watch)
{
	WRITE_ONCE(watch_stopping, true);
	switch (watch) {
	case WATCH_INTERRUPTS:
		hrtimer_cancel(&interrupt_probe);
		break;
	case PEER_WHEEL:
		twheel_cancel_sync(&wheel_probe);
		break;
	case PEER_LIST:
		timer_delete_sync(&list_probe);
		break;
	case PEER_HR:
		hrtimer_cancel(&hr_probe);
		break;
	}
	return watch_seen;
}
