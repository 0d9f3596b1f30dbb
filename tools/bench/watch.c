// SPDX-License-Identifier: GPL-2.0-only
/*
 * Watches: how late something comes while something else goes on.
 *
 * An interrupt comes as late as the stretch with interrupts off that it falls
 * into is long, and a due timer as late as what is served before it takes. Both
 * are had by a timer that goes off again and again and looks at the clock: a
 * hard hrtimer, or one of the peer in question.
 *
 * A sample is left out where the kernel's own tick came since the one before:
 * the tick keeps interrupts off for longer than what is looked for.
 */
#include <linux/hrtimer.h>
#include <linux/jiffies.h>
#include <linux/ktime.h>
#include <linux/limits.h>
#include <linux/timekeeping.h>
#include <linux/timer.h>

#include "compat.h"
#include "subject.h"
#include "watch.h"

/*
 * A prime, so that samples fall anywhere in what recurs; several times what one
 * costs.
 */
#define PERIOD_NS	10007

static struct hrtimer interrupt;
static struct twheel_timer wheel_probe;
static struct timer_list list_probe;
static struct hrtimer hr_probe;

static struct lateness seen;
static u64 seen_jiffies;
static bool stopping;
/* The instant at which jiffies were zero, had they always been counted. */
static u64 jiffies_ns;

static void see(u64 late_ns)
{
	u64 now = get_jiffies_64();

	if (now == seen_jiffies) {
		seen.samples++;
		seen.least = min(seen.least, late_ns);
		seen.most = max(seen.most, late_ns);
	}
	seen_jiffies = now;
}

static enum hrtimer_restart interrupt_fires(struct hrtimer *timer)
{
	ktime_t now = ktime_get();

	see(now - hrtimer_get_expires(timer));
	hrtimer_forward(timer, now, PERIOD_NS);
	return HRTIMER_RESTART;
}

/* The first boundary of the wheel's tick after now */
static u64 next_tick(void)
{
	u64 now = ktime_get_ns();

	return now - now % TWHEEL_TICK_DEFAULT + TWHEEL_TICK_DEFAULT;
}

/* When the probe that is pending is due */
static u64 due_ns;

static void wheel_probe_fires(struct twheel_timer *timer)
{
	see(ktime_get_ns() - due_ns);
	due_ns = next_tick();
	if (!READ_ONCE(stopping))
		twheel_arm_at(timer, due_ns);
}

/* Expiring at once is, for timer_list, with the next jiffy. */
static void list_probe_arm(u64 now)
{
	due_ns = jiffies_ns + (now + 1) * TICK_NSEC;
	if (!READ_ONCE(stopping))
		mod_timer(&list_probe, now);
}

static void list_probe_fires(struct timer_list *timer)
{
	u64 now = get_jiffies_64();

	/* It goes off at the tick, which is what see() would leave out. */
	seen_jiffies = now;
	see(ktime_get_ns() - due_ns);
	list_probe_arm(now);
}

static enum hrtimer_restart hr_probe_fires(struct hrtimer *timer)
{
	see(ktime_get_ns() - due_ns);
	due_ns = next_tick();
	hrtimer_set_expires(timer, due_ns);
	return READ_ONCE(stopping) ? HRTIMER_NORESTART : HRTIMER_RESTART;
}

/* watch_calibrate() - set up watches, and see when jiffies change */
void watch_calibrate(void)
{
	u64 start;

	hrtimer_setup(&interrupt, interrupt_fires, CLOCK_MONOTONIC,
		      HRTIMER_MODE_ABS_HARD);
	twheel_timer_init(&wheel_probe, wheel, wheel_probe_fires);
	timer_setup(&list_probe, list_probe_fires, 0);
	hrtimer_setup(&hr_probe, hr_probe_fires, CLOCK_MONOTONIC,
		      HRTIMER_MODE_ABS_SOFT);

	start = get_jiffies_64();
	while (get_jiffies_64() == start)
		cpu_relax();
	jiffies_ns = ktime_get_ns() - (start + 1) * TICK_NSEC;
}

/* watch_start() - begin to look. May be called by a callback. */
void watch_start(unsigned int watch)
{
	u64 now = get_jiffies_64();

	seen = (struct lateness){ .least = U64_MAX };
	seen_jiffies = now;
	WRITE_ONCE(stopping, false);
	due_ns = next_tick();
	switch (watch) {
	case WATCH_INTERRUPTS:
		hrtimer_start(&interrupt, ktime_get() + PERIOD_NS,
			      HRTIMER_MODE_ABS_HARD);
		break;
	case PEER_WHEEL:
		twheel_arm_at(&wheel_probe, due_ns);
		break;
	case PEER_LIST:
		list_probe_arm(now);
		break;
	case PEER_HR:
		hrtimer_start(&hr_probe, due_ns, HRTIMER_MODE_ABS_SOFT);
		break;
	}
}

/* watch_stop() - have done with it. Returns what was seen. */
struct lateness watch_stop(unsigned int watch)
{
	WRITE_ONCE(stopping, true);
	switch (watch) {
	case WATCH_INTERRUPTS:
		hrtimer_cancel(&interrupt);
		break;
	case PEER_WHEEL:
		twheel_cancel_sync(&wheel_probe);
		break;
	case PEER_LIST:
		del_timer_sync(&list_probe);
		break;
	case PEER_HR:
		hrtimer_cancel(&hr_probe);
		break;
	}
	return seen;
}
