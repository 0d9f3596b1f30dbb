// SPDX-License-Identifier: GPL-2.0-only
/*
 * Sets the wall clock and handles suspend, and knows which times the clock has shown.
 *
 * A timer on the wall clock may fire once its deadline has been shown. When its callback
 * runs, the clock may have been set back again. So this keeps the epochs between clock
 * steps. An epoch's end, and its offset to CLOCK_MONOTONIC, tell the latest time that the
 * clock has shown in it. An epoch is entered before the step, without an end. The end is
 * entered after the step, so that it is never too early.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/freezer.h>
#include <linux/hrtimer.h>
#include <linux/kthread.h>
#include <linux/math64.h>
#include <linux/moduleparam.h>
#include <linux/random.h>
#include <linux/sched.h>
#include <linux/suspend.h>
#include <linux/timekeeping.h>

#include "compat.h"
#include "torture.h"

static bool steps;
module_param(steps, bool, 0444);
MODULE_PARM_DESC(steps, "Set the wall clock forth and back");

static unsigned int wake_ms;
module_param(wake_ms, uint, 0644);
MODULE_PARM_DESC(wake_ms, "Wake a machine that suspends to idle after this; 0: never");

/* A timer lives for seconds, and there are about ten steps per second. */
#define NR_WALL_EPOCHS	1024

/* The clock is never further off than this. */
#define WALL_OFFSET_MAX	(20LL * NSEC_PER_SEC)

struct wall_epoch {
	u64 end;
	s64 offset;
};

static struct wall_epoch wall_epochs[NR_WALL_EPOCHS];
/* Number of epochs whose end has been entered or is about to be. */
static unsigned int wall_nr_epochs;
static unsigned int wall_nr_sleeps;
static s64 wall_offset;
static s64 wall_asleep_before;
static struct task_struct *wall_thread;
static struct hrtimer wall_alarm;

unsigned int wall_steps(void)
{
	return wall_nr_epochs;
}

unsigned int wall_sleeps(void)
{
	return wall_nr_sleeps;
}

/* What CLOCK_BOOTTIME is ahead of CLOCK_MONOTONIC, and what it took to read both. */
static s64 wall_asleep_ns(void)
{
	u64 mono = ktime_get_ns();

	return ktime_get_boottime_ns() - mono;
}

/* wall_asleep_ms() - for how long CLOCK_BOOTTIME alone went on */
u64 wall_asleep_ms(void)
{
	s64 ns = wall_asleep_ns() - wall_asleep_before;

	return ns > 0 ? div_u64(ns, NSEC_PER_MSEC) : 0;
}

/* wall_reached() - whether the wall clock has shown @deadline at some time after @since */
bool wall_reached(u64 since, u64 deadline)
{
	u64 now = ktime_get_ns();
	unsigned int i;

	/* Pairs with wall_step(), which fills an epoch before it counts it. */
	for (i = smp_load_acquire(&wall_nr_epochs); i; i--) {
		const struct wall_epoch *epoch = &wall_epochs[(i - 1) % NR_WALL_EPOCHS];
		u64 end = READ_ONCE(epoch->end);

		if (end < since)
			return false;
		if (min(end, now) + epoch->offset >= deadline)
			return true;
		if (wall_nr_epochs - i > NR_WALL_EPOCHS / 2)
			return true;
	}
	return false;
}

static void wall_step(s64 by)
{
	struct wall_epoch *epoch = &wall_epochs[wall_nr_epochs % NR_WALL_EPOCHS];
	struct timespec64 ts;

	/* Converting 0 yields the offset: no time passes between two reads. */
	epoch->offset = ktime_to_ns(ktime_mono_to_real(0));
	WRITE_ONCE(epoch->end, U64_MAX);
	/* Pairs with wall_reached(). */
	smp_store_release(&wall_nr_epochs, wall_nr_epochs + 1);
	ts = ns_to_timespec64(ktime_get_real_ns() + by);
	if (do_settimeofday64(&ts))
		pr_warn("the wall clock cannot be set\n");
	WRITE_ONCE(epoch->end, ktime_get_ns());
	wall_offset += by;
}

static void wall_pause_ms(unsigned int ms)
{
	schedule_timeout_interruptible(msecs_to_jiffies(ms));
}

/*
 * Leave the clock as far back as it goes, until a lost timer would have been found. A wheel that
 * overlooks a step back is late only until the clock is where it was.
 */
static void wall_stay_back(void)
{
	unsigned int until;

	wall_step(WALL_OFFSET_MAX - wall_offset);
	wall_pause_ms(100);
	wall_step(-2 * WALL_OFFSET_MAX);
	until = arenas_until();
	while ((int)(arenas_lived() - until) < 0 && !kthread_freezable_should_stop(NULL))
		wall_pause_ms(250);
}

static int wall_walk(void *unused)
{
	unsigned int n = 0;

	set_freezable();
	while (!kthread_freezable_should_stop(NULL)) {
		s64 by = get_random_u32();

		if (get_random_u32() % 2)
			by = -by;
		if (abs(wall_offset + by) > WALL_OFFSET_MAX)
			by = -wall_offset;
		wall_step(by);
		wall_pause_ms(20 + get_random_u32() % 200);
		/* Most of the time is for steps: staying back takes seconds. */
		if (n++ % 256 == 8)
			wall_stay_back();
	}
	wall_step(-wall_offset);
	return 0;
}

static enum hrtimer_restart wall_wake(struct hrtimer *timer)
{
	pm_system_wakeup();
	return HRTIMER_NORESTART;
}

static int wall_pm_event(struct notifier_block *nb, unsigned long event, void *data)
{
	if (event == PM_SUSPEND_PREPARE || event == PM_POST_SUSPEND)
		WRITE_ONCE(wall_nr_sleeps, wall_nr_sleeps + 1);
	if (event == PM_SUSPEND_PREPARE && wake_ms)
		hrtimer_start(&wall_alarm, ms_to_ktime(wake_ms), HRTIMER_MODE_REL);
	if (event == PM_POST_SUSPEND)
		hrtimer_cancel(&wall_alarm);
	return NOTIFY_OK;
}

static struct notifier_block wall_pm_notifier = {
	.notifier_call	= wall_pm_event,
};

int wall_init(void)
{
	wall_asleep_before = wall_asleep_ns();
	hrtimer_setup(&wall_alarm, wall_wake, CLOCK_MONOTONIC, HRTIMER_MODE_REL);
	register_pm_notifier(&wall_pm_notifier);
	if (!steps)
		return 0;
	wall_thread = kthread_run(wall_walk, NULL, "torture_wall");
	if (!IS_ERR(wall_thread))
		return 0;
	unregister_pm_notifier(&wall_pm_notifier);
	return PTR_ERR(wall_thread);
}

void wall_exit(void)
{
	if (!IS_ERR_OR_NULL(wall_thread))
		kthread_stop(wall_thread);
	wall_thread = NULL;
	unregister_pm_notifier(&wall_pm_notifier);
	hrtimer_cancel(&wall_alarm);
}
