// SPDX-License-Identifier: GPL-2.0-only
/*
 * The wall clock is set, and the machine sleeps: what that means for those who are to
 * tell whether a timer was early.
 *
 * A timer that waits for a time on the wall clock may fire once that has been shown;
 * when its callback runs, the clock may have been set back again. So the epochs
 * between one step and the next are kept: an epoch's offset to CLOCK_MONOTONIC, and
 * until when it lasted, tell the latest time that it has shown. That is noted before
 * the step, as not having ended; the end is noted after it, so that it is never too
 * early.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/freezer.h>
#include <linux/hrtimer.h>
#include <linux/kthread.h>
#include <linux/moduleparam.h>
#include <linux/sched.h>
#include <linux/suspend.h>
#include <linux/timekeeping.h>

#include "compat.h"
#include "torture.h"

static bool steps;
module_param(steps, bool, 0444);
MODULE_PARM_DESC(steps, "Set the wall clock back and forth");

static unsigned int wake_ms;
module_param(wake_ms, uint, 0644);
MODULE_PARM_DESC(wake_ms, "Wake a machine that suspends to idle after this; 0: do not");

/* A timer lives for seconds, and there are some ten steps a second. */
#define NR_EPOCHS	1024

/* By how much the clock may be off at most, all in all. */
#define FARTHEST	((s64)(20 * NSEC_PER_SEC))

struct epoch {
	u64 end;
	s64 offset;
};

static struct epoch epochs[NR_EPOCHS];
/* How many have begun to end. */
static unsigned int nr_epochs;
static unsigned int nr_sleeps;
/* How often a step has begun or ended. */
static u32 marks;
static s64 off;
static struct task_struct *stepper;
static struct hrtimer alarm;

/* wall_epoch() - changes with each step and each sleep */
u32 wall_epoch(void)
{
	return READ_ONCE(marks) + READ_ONCE(nr_sleeps);
}

/* wall_mark() - odd while the clock is being set, and changes with that */
u32 wall_mark(void)
{
	/* Pairs with step(): what was read before is of before. */
	return smp_load_acquire(&marks);
}

unsigned int wall_steps(void)
{
	return nr_epochs;
}

unsigned int wall_sleeps(void)
{
	return nr_sleeps;
}

/* wall_reached() - has the wall clock shown @deadline since @since, or later? */
bool wall_reached(u64 since, u64 deadline)
{
	u64 now = ktime_get_ns();
	unsigned int i;

	/* Pairs with step(): the epoch is there before it is counted. */
	for (i = smp_load_acquire(&nr_epochs); i; i--) {
		const struct epoch *epoch = &epochs[(i - 1) % NR_EPOCHS];
		u64 end = READ_ONCE(epoch->end);

		if (end < since)
			return false;
		if (min(end, now) + epoch->offset >= deadline)
			return true;
		if (nr_epochs - i > NR_EPOCHS / 2)
			return true;
	}
	return false;
}

static void step(s64 by)
{
	struct epoch *epoch = &epochs[nr_epochs % NR_EPOCHS];
	struct timespec64 ts;

	/* Of one clock made of the other: no moment passes in between. */
	epoch->offset = ktime_to_ns(ktime_mono_to_real(0));
	WRITE_ONCE(epoch->end, U64_MAX);
	/* Pairs with wall_reached(). */
	smp_store_release(&nr_epochs, nr_epochs + 1);
	/* Pairs with wall_mark(), and so does the next one. */
	smp_store_release(&marks, marks + 1);
	ts = ns_to_timespec64(ktime_get_real_ns() + by);
	if (do_settimeofday64(&ts))
		pr_warn("the wall clock cannot be set\n");
	WRITE_ONCE(epoch->end, ktime_get_ns());
	/* See above. */
	smp_store_release(&marks, marks + 1);
	off += by;
}

static void pause_ms(unsigned int ms)
{
	schedule_timeout_interruptible(msecs_to_jiffies(ms));
}

/*
 * Leave the clock as far back as it goes, until the watch would have called a timer
 * lost: for who has not noticed that the clock was set back is late only until it is
 * where it was.
 */
static void rest(void)
{
	unsigned int round;

	step(FARTHEST - off);
	pause_ms(100);
	step(-2 * FARTHEST);
	round = watch_until();
	while (watch_before(round) && !kthread_freezable_should_stop(NULL))
		pause_ms(250);
}

static int walk(void *unused)
{
	unsigned int n = 0;

	set_freezable();
	while (!kthread_freezable_should_stop(NULL)) {
		s64 by = some_delay(8 + roll() % 24) + roll();

		if (roll() % 2)
			by = -by;
		if (abs(off + by) > FARTHEST)
			by = -off;
		step(by);
		pause_ms(20 + roll() % 200);
		/* Each shows something else: most of the time is for steps. */
		if (n++ % 256 == 8)
			rest();
	}
	step(-off);
	return 0;
}

static enum hrtimer_restart wake(struct hrtimer *timer)
{
	pm_system_wakeup();
	return HRTIMER_NORESTART;
}

static int sleeps(struct notifier_block *nb, unsigned long event, void *data)
{
	if (event == PM_SUSPEND_PREPARE || event == PM_POST_SUSPEND)
		WRITE_ONCE(nr_sleeps, nr_sleeps + 1);
	if (event == PM_SUSPEND_PREPARE && wake_ms)
		hrtimer_start(&alarm, ms_to_ktime(wake_ms), HRTIMER_MODE_REL);
	if (event == PM_POST_SUSPEND)
		hrtimer_cancel(&alarm);
	return NOTIFY_OK;
}

static struct notifier_block sleep_notifier = {
	.notifier_call	= sleeps,
};

int wall_init(void)
{
	hrtimer_setup(&alarm, wake, CLOCK_MONOTONIC, HRTIMER_MODE_REL);
	register_pm_notifier(&sleep_notifier);
	if (!steps)
		return 0;
	stepper = kthread_run(walk, NULL, "torture_wall");
	if (!IS_ERR(stepper))
		return 0;
	unregister_pm_notifier(&sleep_notifier);
	return PTR_ERR(stepper);
}

void wall_exit(void)
{
	if (!IS_ERR_OR_NULL(stepper))
		kthread_stop(stepper);
	stepper = NULL;
	unregister_pm_notifier(&sleep_notifier);
	hrtimer_cancel(&alarm);
}
