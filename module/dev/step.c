// SPDX-License-Identifier: GPL-2.0-only
/*
 * Steps of the wall clock, for the files whose programs want to know.
 *
 * A step is a change of what the clock is ahead of CLOCK_MONOTONIC. Whoever looks for
 * events compares that with what the program was told last, so no step is lost, and several
 * are one event. The rest of this file wakes the waiters up.
 *
 * timerfd has a hook in clock_was_set(), which modules do not. The notifier for virtual
 * clocks tells of the same steps, but from within the writing of the clock: there nothing
 * may read a clock or wake a task. So it queues an interrupt, which runs when the clock is
 * written, and that one queues work, which may take the mutex of the list.
 */
#include <linux/irq_work.h>
#include <linux/ktime.h>
#include <linux/limits.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/notifier.h>
#include <linux/pvclock_gtod.h>
#include <linux/timekeeping.h>
#include <linux/workqueue.h>

#include "../compat.h"
#include "event.h"
#include "file.h"
#include "step.h"

static LIST_HEAD(step_files);
/* Guards the list. */
static DEFINE_MUTEX(step_lock);

/* How much the clock of a file is ahead of CLOCK_MONOTONIC. */
static s64 step_offset(const struct tw_file *file)
{
	return ktime_mono_to_any(0, file->clockid == CLOCK_TAI ? TK_OFFS_TAI :
								 TK_OFFS_REAL);
}

/* tw_step_pending() - was the clock set, and the program not told? With the file's lock */
bool tw_step_pending(const struct tw_file *file)
{
	return file->setup_flags & TWHEEL_SETUP_CLOCK_SET &&
	       file->step_told != step_offset(file);
}

/* tw_step_take() - take the event of that. Return: true if there is one. */
bool tw_step_take(struct tw_file *file, struct twheel_event *event)
{
	bool pending;

	if (likely(!(READ_ONCE(file->setup_flags) & TWHEEL_SETUP_CLOCK_SET)))
		return false;
	spin_lock_bh(&file->lock);
	pending = tw_step_pending(file);
	if (pending) {
		file->step_told = step_offset(file);
		*event = (struct twheel_event) {
			.fired_ns	= tw_file_now(file, false),
			.count		= 1,
			.flags		= TWHEEL_EVENT_CLOCK_SET,
		};
	}
	spin_unlock_bh(&file->lock);
	return pending;
}

/* tw_step_give_back() - the event could not be copied */
void tw_step_give_back(struct tw_file *file)
{
	spin_lock_bh(&file->lock);
	/* No clock is so far ahead. */
	file->step_told = S64_MIN;
	spin_unlock_bh(&file->lock);
}

static void step_work_run(struct work_struct *work)
{
	struct tw_file *file;

	mutex_lock(&step_lock);
	list_for_each_entry(file, &step_files, step_link)
		if (tw_event_readable(file))
			tw_event_wake(file);
	mutex_unlock(&step_lock);
}

static DECLARE_WORK(step_work, step_work_run);

static void step_irq_run(struct irq_work *irq)
{
	schedule_work(&step_work);
}

static struct irq_work step_irq = IRQ_WORK_INIT(step_irq_run);

static int step_notify(struct notifier_block *block, unsigned long was_set, void *clock)
{
	if (was_set)
		irq_work_queue(&step_irq);
	return NOTIFY_OK;
}

static struct notifier_block step_notifier = { .notifier_call = step_notify };

/* tw_step_begin() - a file gets its clock. With the file's lock */
void tw_step_begin(struct tw_file *file)
{
	file->step_told = step_offset(file);
}

/* tw_step_watch() - a file is set up, and its program wants to know of steps */
void tw_step_watch(struct tw_file *file)
{
	mutex_lock(&step_lock);
	/* Once a tick a call for nothing, but only while somebody wants to know. */
	if (list_empty(&step_files))
		pvclock_gtod_register_notifier(&step_notifier);
	list_add(&file->step_link, &step_files);
	mutex_unlock(&step_lock);
	/* The clock may have been set since, when nobody woke up the waiters. */
	if (tw_event_readable(file))
		tw_event_wake(file);
}

/* tw_step_unwatch() - a file that may be watched is closed */
void tw_step_unwatch(struct tw_file *file)
{
	if (!(file->setup_flags & TWHEEL_SETUP_CLOCK_SET))
		return;
	mutex_lock(&step_lock);
	list_del(&file->step_link);
	if (list_empty(&step_files))
		pvclock_gtod_unregister_notifier(&step_notifier);
	mutex_unlock(&step_lock);
}

/* tw_step_exit() - no file is open any more */
void tw_step_exit(void)
{
	irq_work_sync(&step_irq);
	cancel_work_sync(&step_work);
}
