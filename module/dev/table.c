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
		twheel_timer_init(timer, wheel, NULL);
	entry->tag = (entry->tag & ~TW_ENTRY_DELAY) |
		     (delay ? TW_ENTRY_DELAY : 0);
}

/*
 * tw_table_arm_moved() - arm a timer again, for its changed deadline
 * @entry: as for tw_table_choose_wheel()
 */
void tw_table_arm_moved(struct tw_file *file, struct tw_entry *entry)
{
	entry->tag &= ~TW_ENTRY_MOVED;
	tw_entry_set_state(entry, TW_ENTRY_ARMED);
	if (tw_file_clock_steps(file))
		tw_table_choose_wheel(file, entry, entry->tag & TW_ENTRY_DELAY);
	tw_table_arm_timer(entry);
}

static int table_arm(struct tw_run *run, struct twheel_op *op)
{
	bool delay = tw_run_is_delay(run, op);
	struct tw_file *file = run->file;
	struct tw_entry *entry;

	if (op->id)
		return -EINVAL;
	if (file->timers >= file->max_timers)
		return -ENOSPC;
	if (delay && !file->delay_wheel)
		return TW_NEEDS_DELAY_WHEEL;
	/* A file without a wheel has none either. */
	entry = tw_entries_get(&file->entries);
	if (!entry)
		return TW_NEEDS_ROOM;

	op->id = entry->tag;
	tw_entry_set_state(entry, TW_ENTRY_ARMED);
	entry->deadline_ns = tw_run_deadline(run, op);
	entry->cookie = op->cookie;
	entry->period_ns = op->period_ns;
	entry->slack_ns = op->slack_ns;
	if (tw_file_clock_steps(file))
		tw_table_choose_wheel(file, entry, delay);
	tw_run_answer(run, op, entry);
	file->timers++;
	file->armed++;
	tw_table_arm_timer(entry);
	return 0;
}

static int table_cancel(struct tw_run *run, struct tw_entry *entry)
{
	struct tw_file *file = run->file;
	int ret = 0;

	if (tw_entry_state(entry) == TW_ENTRY_ARMED) {
		if (run->held ? tw_cancel_held(&entry->timer) :
				twheel_cancel(&entry->timer))
			tw_entries_put(&file->entries, entry);
		else
			/* Its callback waits for our lock, and will free it. */
			tw_entry_set_state(entry, TW_ENTRY_GONE);
	} else if (tw_entry_state(entry) == TW_ENTRY_FIRED) {
		tw_queue_del(&file->entries, &file->events, entry);
		file->unread--;
		tw_entries_put(&file->entries, entry);
		ret = 1;
	} else {
		/* TW_ENTRY_TAKEN: the other states have no identifier. */
		if (!entry->period_ns && !(entry->tag & TW_ENTRY_MOVED))
			return -ENOENT;
		tw_entry_set_state(entry, TW_ENTRY_GONE);
		file->unread--;
	}
	file->timers--;
	file->cancelled++;
	return ret;
}

/*
 * May a timer be modified? Returns 0 if it was pending, and is not any more; 2 if it has
 * fired, or is about to; or an error.
 */
static int table_stop(struct tw_entry *entry, const struct twheel_op *op)
{
	bool goes_on = entry->period_ns || entry->tag & TW_ENTRY_MOVED;
	bool again = op->flags & TWHEEL_OR_MODIFY;

	if (tw_entry_state(entry) == TW_ENTRY_ARMED && twheel_cancel(&entry->timer))
		return 0;
	if (tw_entry_state(entry) == TW_ENTRY_TAKEN && !goes_on)
		return again ? -ENOENT : -EALREADY;
	if (entry->tag & TW_ENTRY_MOVED)
		return 2;
	return (goes_on || again) && !(op->flags & TWHEEL_LATER) ? 2 : -EALREADY;
}

/* Let a timer wait for its deadline, which is a new one. */
static void table_restart(struct tw_file *file, struct tw_entry *entry, bool stopped)
{
	switch (tw_entry_state(entry)) {
	case TW_ENTRY_FIRED:
		tw_queue_del(&file->entries, &file->events, entry);
		file->unread--;
		tw_table_arm_moved(file, entry);
		break;
	case TW_ENTRY_ARMED:
		if (stopped) {
			tw_table_arm_moved(file, entry);
			break;
		}
		fallthrough;
	default:
		/* Its callback waits for our lock, or a reader has its event. */
		entry->tag |= TW_ENTRY_MOVED;
	}
}

static int table_modify(struct tw_run *run, struct tw_entry *entry,
			struct twheel_op *op)
{
	bool delay = tw_run_is_delay(run, op);
	/* It was modified just now, which withdrew its event: it counts as pending. */
	bool moved = entry->tag & TW_ENTRY_MOVED;
	struct tw_file *file = run->file;
	u64 deadline;
	int ret;

	/* Times on two clocks cannot be compared. */
	if (op->flags & TWHEEL_LATER && delay != !!(entry->tag & TW_ENTRY_DELAY))
		return -EINVAL;
	if (delay && !file->delay_wheel)
		return TW_NEEDS_DELAY_WHEEL;
	deadline = tw_run_deadline(run, op);
	if (op->flags & TWHEEL_LATER && deadline <= entry->deadline_ns &&
	    tw_entry_state(entry) == TW_ENTRY_ARMED) {
		if (!moved && !twheel_pending(&entry->timer))
			return -EALREADY;
		tw_run_answer(run, op, entry);
		return 1;
	}
	ret = table_stop(entry, op);
	if (ret < 0)
		return ret;
	tw_run_change(entry, op);
	entry->deadline_ns = deadline;
	entry->tag = (entry->tag & ~TW_ENTRY_DELAY) | (delay ? TW_ENTRY_DELAY : 0);
	table_restart(file, entry, !ret);
	tw_run_answer(run, op, entry);
	/* An event that a reader has is not withdrawn. */
	if (moved || tw_entry_state(entry) == TW_ENTRY_TAKEN)
		ret = 0;
	return ret ?: !!(op->flags & TWHEEL_OR_MODIFY);
}

static int table_arm_released(struct tw_run *run, struct twheel_op *op)
{
	int ret;

	tw_run_release_wheel(run);
	ret = table_arm(run, op);
	tw_run_hold_wheel(run);
	return ret;
}

static int table_modify_released(struct tw_run *run, struct tw_entry *entry,
				 struct twheel_op *op)
{
	int ret;

	tw_run_release_wheel(run);
	ret = table_modify(run, entry, op);
	tw_run_hold_wheel(run);
	return ret;
}

static int table_query(struct tw_run *run, struct tw_entry *entry,
		       u64 *deadline)
{
	*deadline = tw_run_shown(run, entry);
	return tw_entry_state(entry) == TW_ENTRY_ARMED ? TWHEEL_STATE_PENDING :
							 TWHEEL_STATE_FIRED;
}

/* How many timers ahead an entry's second cache line is fetched. */
#define TABLE_AHEAD	4

/* The entries become the last of the queue, in one chain. */
static void table_expire(struct tw_file *file, struct twheel_timer *timers[],
			 unsigned int count, u64 now)
{
	struct tw_queue_end end = tw_queue_open(&file->entries, &file->events);
	unsigned int i;

	for (i = 0; i < count; i++) {
		struct tw_entry *entry = container_of(timers[i], struct tw_entry,
						      timer);

		if (i + TABLE_AHEAD < count)
			prefetchw(&container_of(timers[i + TABLE_AHEAD],
						struct tw_entry, timer)->fired_ns);
		if (unlikely(tw_entry_state(entry) != TW_ENTRY_ARMED)) {
			/* It was cancelled when this could not be stopped. */
			tw_entries_put(&file->entries, entry);
			continue;
		}
		if (unlikely(entry->tag & TW_ENTRY_MOVED)) {
			tw_table_arm_moved(file, entry);
			continue;
		}
		tw_entry_set_state(entry, TW_ENTRY_FIRED);
		/* The real-time clock may have been set back just now. */
		entry->fired_ns = max(now, entry->deadline_ns);
		tw_queue_append(&file->events, &end, entry);
		file->unread++;
		tw_file_count_fired(file, entry->fired_ns - entry->deadline_ns, 1);
	}
	tw_queue_close(&file->events, &end);
}

/* The number of entries that are in the queue or on their way to a reader. */
static u32 table_unread(const struct tw_file *file)
{
	return file->unread;
}

const struct tw_store_ops tw_table_ops = {
	.arm		= table_arm_released,
	.cancel		= table_cancel,
	.modify		= table_modify_released,
	.query		= table_query,
	.expire		= table_expire,
	.waiting	= tw_table_waiting,
	.unread		= table_unread,
};

/*
 * Make the event of an entry.
 * @offset: what the caller's time namespace adds to its times
 * @next: a periodic timer's next deadline
 */
static __always_inline void table_make_event(const struct tw_file *file,
					     const struct tw_entry *entry, s64 offset,
					     struct twheel_event *event, u64 *next)
{
	bool delay = entry->tag & TW_ENTRY_DELAY;
	u64 missed = 0;

	if (unlikely(entry->period_ns)) {
		missed = tw_overruns(tw_file_now(file, delay), entry->deadline_ns,
				     entry->period_ns);
		/* Neither now nor a period has its top bit set. */
		*next = min_t(u64, TWHEEL_DELAY_NEVER, entry->deadline_ns +
			      missed * entry->period_ns + entry->period_ns);
	}
	/* One by one: the compiler would clear all of it first. */
	event->id = tw_entry_id(entry);
	event->cookie = entry->cookie;
	event->deadline_ns = tw_timens_out(entry->deadline_ns, offset);
	event->fired_ns = tw_timens_out(entry->fired_ns, offset);
	event->count = missed + 1;
	event->flags = (entry->period_ns ? 0 : TWHEEL_EVENT_LAST) |
		       (delay && tw_file_clock_steps(file) ? TWHEEL_EVENT_MONOTONIC : 0);
	event->reserved = 0;
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
	s64 offset = tw_file_offset(file, false);
	s64 delay_offset = tw_file_offset(file, true);
	unsigned int n;
	u32 index;

	most = min(most, TW_TAKE_MAX);
	spin_lock_bh(&file->lock);
	file->woken = false;
	index = file->events.first;
	for (n = 0; n < most && index != TW_NO_ENTRY; n++) {
		struct tw_entry *entry = tw_entries_at(&file->entries, index);

		index = entry->next;
		tw_entry_set_state(entry, TW_ENTRY_TAKEN);
		taken->entries[n] = entry;
		table_make_event(file, entry, entry->tag & TW_ENTRY_DELAY ?
				 delay_offset : offset, &taken->events[n],
				 &taken->next[n]);
	}
	if (n)
		tw_queue_begin_at(&file->entries, &file->events, index);
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
		if (unlikely(entry->tag & TW_ENTRY_MOVED)) {
			tw_table_arm_moved(file, entry);
		} else if (entry->period_ns) {
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
		if (unlikely(entry->tag & TW_ENTRY_MOVED)) {
			/* Modified meanwhile: that withdraws an event. */
			file->unread--;
			tw_table_arm_moved(file, entry);
			continue;
		}
		tw_entry_set_state(entry, TW_ENTRY_FIRED);
		tw_queue_add_first(&file->entries, &file->events, entry);
	}
	spin_unlock_bh(&file->lock);
}
