// SPDX-License-Identifier: GPL-2.0-only
/*
 * The events of an open file: how they come up, and how a reader takes them.
 */
#include <linux/jiffies.h>
#include <linux/math64.h>
#include <linux/poll.h>
#include <linux/wait.h>

#include "cell.h"
#include "event.h"
#include "file.h"
#include "op.h"
#include "ring.h"

/* With the file's lock: an event has come up. */
static void post(struct tw_file *file, struct tw_entry *slot)
{
	tw_entry_set_state(slot, TW_ENTRY_FIRED);
	/* The real-time clock may have been set back just now. */
	slot->fired_ns = max(tw_file_now(file, slot->tag & TW_RELATIVE),
			     slot->deadline_ns);
	tw_queue_add(&file->slots, &file->events, slot);
	file->unread++;
	tw_file_count_fired(file, slot->fired_ns - slot->deadline_ns);
}

/* With the file's lock: is the event that has come up all that there is to take? */
static bool alone(const struct tw_file *file)
{
	if (!tw_file_ring(file))
		return file->events.first == file->events.last;
	/*
	 * Pairs with the reader's between taking an entry and looking for another:
	 * it sees this one, or we that it has taken the one before.
	 */
	smp_mb();
	return tw_ring_unread(file->ring) <= 1;
}

/*
 * With the file's lock: an event has come up. Is who waits to be woken up?
 *
 * Who was woken up has yet to look, and to look clears @told. Until then there is no
 * need to wake anybody up again: when a thousand timers expire on one tick, that
 * would be the dearest part. But to take events is not always to look (those in a
 * ring; those that are cancelled), so the first one always wakes; and one of several
 * exclusive waiters may never look, so another is woken up a jiffy later.
 */
static bool has_to_wake(struct tw_file *file)
{
	if (file->told && file->woken == jiffies && !alone(file))
		return false;
	file->told = true;
	file->woken = jiffies;
	return true;
}

/* tw_event_expire() - the callback of every timer of a file */
void tw_event_expire(struct twheel_timer *timer)
{
	struct tw_entry *slot = container_of(timer, struct tw_entry, timer);
	struct tw_file *file = twheel_data(twheel_of(timer));
	bool posted = true;
	bool wake;

	spin_lock(&file->lock);
	if (tw_file_ring(file)) {
		posted = tw_cell_expire(file, slot);
	} else if (tw_entry_state(slot) == TW_ENTRY_ARMED) {
		post(file, slot);
	} else {
		/* Cancelled when it was too late to stop this call. */
		tw_table_put(&file->slots, slot);
		posted = false;
	}
	wake = posted && has_to_wake(file);
	spin_unlock(&file->lock);
	if (!posted)
		return;

	/*
	 * Whoever looked for events before the lock was taken here is on @wait
	 * by now: poll() and read() queue themselves first, and look with the
	 * lock held. wq_has_sleeper() has the barrier for waiters that look
	 * without it.
	 */
	if (wake && wq_has_sleeper(&file->wait))
		wake_up_interruptible_poll(&file->wait,
					   EPOLLIN | EPOLLRDNORM);
}

/* tw_event_readable() - does an event wait to be read? */
bool tw_event_readable(struct tw_file *file)
{
	bool readable;

	spin_lock_bh(&file->lock);
	file->told = false;
	readable = tw_file_ring(file) ? tw_ring_unread(file->ring) :
		   file->events.first != TW_NO_ENTRY;
	spin_unlock_bh(&file->lock);
	return readable;
}

/*
 * tw_event_pass_on() - a reader has enough, and leaves what there is to others
 *
 * Of those who wait with EPOLLEXCLUSIVE only one has been woken up.
 */
void tw_event_pass_on(struct tw_file *file)
{
	/*
	 * Who adds an event after this look wakes somebody up; a row is changed with
	 * plain instructions, by who holds the lock.
	 */
	if (data_race(READ_ONCE(file->events.first)) != TW_NO_ENTRY &&
	    wq_has_sleeper(&file->wait))
		wake_up_interruptible_poll(&file->wait,
					   EPOLLIN | EPOLLRDNORM);
}

/* What a reader is told of a slot; and when the slot is due again, if it is. */
static void tell(const struct tw_file *file, const struct tw_entry *slot,
		 struct twheel_event *event, u64 *next)
{
	bool relative = slot->tag & TW_RELATIVE;
	s64 offset = tw_file_offset(file, relative);
	u64 missed = 0;

	if (slot->period_ns) {
		u64 now = max(tw_file_now(file, relative), slot->deadline_ns);

		missed = div64_u64(now - slot->deadline_ns, slot->period_ns);
		/* Neither summand has its top bit set. */
		*next = min_t(u64, TWHEEL_DELAY_NEVER,
			      slot->deadline_ns + missed * slot->period_ns +
			      slot->period_ns);
	}
	*event = (struct twheel_event) {
		.id		= tw_entry_id(slot),
		.cookie		= slot->cookie,
		.deadline_ns	= tw_timens_out(slot->deadline_ns, offset),
		.fired_ns	= tw_timens_out(slot->fired_ns, offset),
		.count		= missed + 1,
	};
}

/*
 * tw_event_take() - take the oldest events off the queue, to copy them to a reader
 * @most: how many at most
 *
 * To be followed by tw_event_delivered() or tw_event_give_back(). Meanwhile the
 * events are nobody else's.
 *
 * Return: true if there are any.
 */
bool tw_event_take(struct tw_file *file, struct tw_taken *taken,
		   unsigned int most)
{
	struct tw_entry *slot;
	unsigned int n = 0;

	spin_lock_bh(&file->lock);
	file->told = false;
	while (n < min(most, TW_TAKE)) {
		slot = tw_queue_first(&file->slots, &file->events);
		if (!slot)
			break;
		tw_queue_del(&file->slots, &file->events, slot);
		tw_entry_set_state(slot, TW_ENTRY_TAKEN);
		taken->slots[n] = slot;
		tell(file, slot, &taken->events[n], &taken->next[n]);
		n++;
	}
	spin_unlock_bh(&file->lock);
	taken->count = n;
	return n;
}

/* tw_event_delivered() - the reader has got the events */
void tw_event_delivered(struct tw_file *file, struct tw_taken *taken)
{
	unsigned int i;

	spin_lock_bh(&file->lock);
	for (i = 0; i < taken->count; i++) {
		struct tw_entry *slot = taken->slots[i];

		if (tw_entry_state(slot) == TW_ENTRY_GONE) {
			/* Cancelled meanwhile, and the books are done. */
			tw_table_put(&file->slots, slot);
			continue;
		}
		file->unread--;
		if (slot->period_ns) {
			tw_entry_set_state(slot, TW_ENTRY_ARMED);
			slot->deadline_ns = taken->next[i];
			tw_op_arm_entry(slot);
		} else {
			file->timers--;
			tw_table_put(&file->slots, slot);
		}
	}
	spin_unlock_bh(&file->lock);
}

/*
 * tw_event_give_back() - the reader could not be given the events: they are the
 * oldest again
 */
void tw_event_give_back(struct tw_file *file, struct tw_taken *taken)
{
	unsigned int i;

	spin_lock_bh(&file->lock);
	for (i = taken->count; i--; ) {
		struct tw_entry *slot = taken->slots[i];

		if (tw_entry_state(slot) == TW_ENTRY_GONE) {
			tw_table_put(&file->slots, slot);
			continue;
		}
		tw_entry_set_state(slot, TW_ENTRY_FIRED);
		tw_queue_add_first(&file->slots, &file->events, slot);
	}
	spin_unlock_bh(&file->lock);

	/* Somebody may have looked meanwhile and found nothing. */
	wake_up_interruptible_poll(&file->wait, EPOLLIN | EPOLLRDNORM);
}
