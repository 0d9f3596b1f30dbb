// SPDX-License-Identifier: GPL-2.0-only
/*
 * The table: timers without a mapping, whose events are read().
 *
 * The life of a timer: an entry is taken and armed; the callback puts it on the queue
 * of events; a reader takes it off, copies the event, and frees the entry or, if it is
 * periodic, arms it for its next period. Each step is a change of the entry's state
 * under the file's lock. So a timer ends in exactly one way: its event is delivered,
 * or it is cancelled.
 *
 * Only the first step allocates: no event is lost for want of memory.
 */
#include <linux/lockdep.h>

#include "../api/overruns.h"
#include "table.h"

/* tw_table_arm_timer() - arm the timer of an entry for the entry's deadline */
void tw_table_arm_timer(struct tw_entry *entry)
{
	struct twheel_timer *timer = &entry->timer;

	if (unlikely(entry->slack_ns))
		twheel_arm_range_at(timer, entry->deadline_ns, entry->slack_ns);
	else
		twheel_arm_at(timer, entry->deadline_ns);
}

/*
 * tw_table_choose_wheel() - have a timer belong to the right one of a file's two wheels
 * @entry: its timer is not pending, and its callback has had the file's lock: after
 *	that, the callback does not touch the timer
 * @delay: the timer belongs to the wheel for delays
 */
void tw_table_choose_wheel(struct tw_file *file, struct tw_entry *entry,
			   bool delay)
{
	struct twheel *wheel = delay ? file->delay_wheel : file->wheel;
	struct twheel_timer *timer = &entry->timer;

	lockdep_assert_held(&file->lock);
	if (twheel_of(timer) != wheel)
		twheel_timer_init(timer, wheel, timer->function);
	entry->tag = (entry->tag & ~TW_ENTRY_DELAY) |
		     (delay ? TW_ENTRY_DELAY : 0);
}

/*
 * tw_table_change_wheel() - move a pending timer to the other wheel of its file
 *
 * Return: true, or false if the timer was not pending.
 */
bool tw_table_change_wheel(struct tw_file *file, struct tw_entry *entry,
			   u64 deadline, bool delay)
{
	if (!twheel_cancel(&entry->timer))
		return false;
	tw_table_choose_wheel(file, entry, delay);
	twheel_arm_at(&entry->timer, deadline);
	return true;
}

static int table_query(struct tw_run *run, struct tw_entry *entry,
		       u64 *deadline)
{
	*deadline = tw_run_shown(run, entry);
	return tw_entry_state(entry) == TW_ENTRY_ARMED ? TWHEEL_STATE_PENDING :
							 TWHEEL_STATE_FIRED;
}

/* The number of entries that are in the queue or on their way to a reader. */
static u32 table_unread(const struct tw_file *file)
{
	return file->unread;
}

const struct tw_store_ops tw_table_ops = {
	.arm		= tw_table_arm,
	.cancel		= tw_table_cancel,
	.modify		= tw_table_modify,
	.query		= table_query,
	.expire		= tw_table_expire,
	.waiting	= tw_table_waiting,
	.unread		= table_unread,
};

/* Make the event of an entry. @next: a periodic timer's next deadline. */
static void table_make_event(const struct tw_file *file,
			     const struct tw_entry *entry,
			     struct twheel_event *event, u64 *next)
{
	bool delay = entry->tag & TW_ENTRY_DELAY;
	s64 offset = tw_file_offset(file, delay);
	u64 missed = 0;

	if (entry->period_ns) {
		missed = tw_overruns(tw_file_now(file, delay), entry->deadline_ns,
				     entry->period_ns);
		/* Neither now nor a period has its top bit set. */
		*next = min_t(u64, TWHEEL_DELAY_NEVER, entry->deadline_ns +
			      missed * entry->period_ns + entry->period_ns);
	}
	*event = (struct twheel_event) {
		.id		= tw_entry_id(entry),
		.cookie		= entry->cookie,
		.deadline_ns	= tw_timens_out(entry->deadline_ns, offset),
		.fired_ns	= tw_timens_out(entry->fired_ns, offset),
		.count		= missed + 1,
		.flags		= (entry->period_ns ? 0 : TWHEEL_EVENT_LAST) |
				  (delay && tw_file_clock_steps(file) ?
				   TWHEEL_EVENT_MONOTONIC : 0),
	};
}

/*
 * tw_table_take() - take the oldest events off the queue, to copy them to a reader
 * @most: how many at most
 *
 * Call tw_table_delivered() or tw_table_give_back() next. Until then nobody else gets
 * these events.
 *
 * Return: true if there are any.
 */
bool tw_table_take(struct tw_file *file, struct tw_taken *taken,
		   unsigned int most)
{
	struct tw_entry *entry;
	unsigned int n = 0;

	spin_lock_bh(&file->lock);
	file->woken = false;
	while (n < min(most, TW_TAKE_MAX)) {
		entry = tw_queue_first(&file->entries, &file->events);
		if (!entry)
			break;
		tw_queue_del(&file->entries, &file->events, entry);
		tw_entry_set_state(entry, TW_ENTRY_TAKEN);
		taken->entries[n] = entry;
		table_make_event(file, entry, &taken->events[n],
				 &taken->next[n]);
		n++;
	}
	spin_unlock_bh(&file->lock);
	taken->count = n;
	return n;
}

/* tw_table_delivered() - the reader has got the events */
void tw_table_delivered(struct tw_file *file, struct tw_taken *taken)
{
	unsigned int i;

	spin_lock_bh(&file->lock);
	for (i = 0; i < taken->count; i++) {
		struct tw_entry *entry = taken->entries[i];

		if (tw_entry_state(entry) == TW_ENTRY_GONE) {
			/* Cancelled meanwhile, and the counters know it. */
			tw_entries_put(&file->entries, entry);
			continue;
		}
		file->unread--;
		if (entry->period_ns) {
			tw_entry_set_state(entry, TW_ENTRY_ARMED);
			entry->deadline_ns = taken->next[i];
			tw_table_arm_timer(entry);
		} else {
			file->timers--;
			tw_entries_put(&file->entries, entry);
		}
	}
	spin_unlock_bh(&file->lock);
}

/*
 * tw_table_give_back() - the events could not be copied: they are the oldest again
 *
 * Call tw_event_wake() next: a waiter may have looked meanwhile and found nothing.
 */
void tw_table_give_back(struct tw_file *file, struct tw_taken *taken)
{
	unsigned int i;

	spin_lock_bh(&file->lock);
	for (i = taken->count; i--; ) {
		struct tw_entry *entry = taken->entries[i];

		if (tw_entry_state(entry) == TW_ENTRY_GONE) {
			tw_entries_put(&file->entries, entry);
			continue;
		}
		tw_entry_set_state(entry, TW_ENTRY_FIRED);
		tw_queue_add_first(&file->entries, &file->events, entry);
	}
	spin_unlock_bh(&file->lock);
}
