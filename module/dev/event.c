// SPDX-License-Identifier: GPL-2.0-only
/* How the waiters for a file's events learn of them. */
#include <linux/jiffies.h>
#include <linux/poll.h>
#include <linux/wait.h>

#include "event.h"
#include "file.h"
#include "step.h"
#include "store.h"
#include "table.h"

/* With the file's lock: how many events can be taken? 2 may stand for more. */
static __always_inline u32 event_waiting(const struct tw_file *file)
{
	return likely(file->ops == &tw_table_ops) ? tw_table_waiting(file) :
						    file->ops->waiting(file);
}

/*
 * With the file's lock: events may have been posted. Should a waiter be woken up?
 *
 * A waiter that was woken up will look for events, and looking clears @woken. Until
 * then another wake-up is not needed. There are two exceptions. Events can be taken
 * without looking (those of a ring, and those that are cancelled), so a single event
 * always wakes. And one of several exclusive waiters may never look, so another one is
 * woken up a jiffy later.
 */
static bool event_should_wake(struct tw_file *file)
{
	u32 waiting = event_waiting(file);

	if (!waiting || (file->woken && file->woken_jiffies == jiffies && waiting > 1))
		return false;
	file->woken = true;
	file->woken_jiffies = jiffies;
	return true;
}

/* tw_event_expire() - timers of a file have expired: &twheel_config.expire of its wheels */
void tw_event_expire(struct twheel *wheel, struct twheel_timer *timers[],
		     unsigned int count)
{
	struct tw_file *file = twheel_data(wheel);
	u64 now = twheel_now(wheel);

	spin_lock(&file->lock);
	file->ops->expire(file, timers, count, now);
	spin_unlock(&file->lock);
}

/* tw_event_expired() - a pass ends: &twheel_config.expired, so one wake-up for a pass */
void tw_event_expired(struct twheel *wheel)
{
	struct tw_file *file = twheel_data(wheel);
	bool wake;

	/*
	 * A waiter that looked for events before they were posted is on @wait by now:
	 * poll() and read() queue first, and then look with the lock held.
	 * wq_has_sleeper() has the barrier for waiters that look without it.
	 */
	if (!wq_has_sleeper(&file->wait))
		return;
	spin_lock(&file->lock);
	wake = event_should_wake(file);
	spin_unlock(&file->lock);
	if (wake)
		tw_event_wake(file);
}

/* tw_event_readable() - is there an event to be taken? */
bool tw_event_readable(struct tw_file *file)
{
	bool readable;

	spin_lock_bh(&file->lock);
	file->woken = false;
	readable = event_waiting(file) || tw_step_pending(file);
	spin_unlock_bh(&file->lock);
	return readable;
}

/* tw_event_wake() - wake up the waiters for events */
void tw_event_wake(struct tw_file *file)
{
	wake_up_interruptible_poll(&file->wait, EPOLLIN | EPOLLRDNORM);
}

/*
 * tw_event_pass_on() - a reader has enough, and leaves the rest to other readers
 *
 * Of the waiters with EPOLLEXCLUSIVE only one has been woken up.
 */
void tw_event_pass_on(struct tw_file *file)
{
	/*
	 * An event that is added after this look wakes a waiter. The queue is changed
	 * with plain instructions by the holder of the lock.
	 */
	if (data_race(READ_ONCE(file->events.first)) != TW_NO_ENTRY &&
	    wq_has_sleeper(&file->wait))
		tw_event_wake(file);
}
