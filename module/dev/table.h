/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The table: timers without a mapping, whose events are read().
 *
 * Arming, cancelling, modifying and expiring are inline, for the callers that do
 * nothing else millions of times. Everybody else uses tw_table_ops.
 */
#ifndef _TWHEEL_TABLE_H
#define _TWHEEL_TABLE_H

#include <linux/build_bug.h>
#include <linux/errno.h>
#include <linux/minmax.h>

#include <linux/twheel.h>

#include "../api/hold.h"
#include "store.h"

extern const struct tw_store_ops tw_table_ops;

/* How many events are copied to a reader at a time. They are on the stack. */
#define TW_TAKE_MAX	8U

/**
 * struct tw_taken - events on their way to a reader
 * @entries: their entries
 * @events: what the reader gets
 * @next: for a periodic timer, its next deadline
 * @count: how many there are
 */
struct tw_taken {
	struct tw_entry *entries[TW_TAKE_MAX];
	struct twheel_event events[TW_TAKE_MAX];
	u64 next[TW_TAKE_MAX];
	unsigned int count;
};

bool tw_table_take(struct tw_file *file, struct tw_taken *taken,
		   unsigned int most);
void tw_table_delivered(struct tw_file *file, struct tw_taken *taken);
void tw_table_give_back(struct tw_file *file, struct tw_taken *taken);

void tw_table_arm_timer(struct tw_entry *entry);
void tw_table_choose_wheel(struct tw_file *file, struct tw_entry *entry,
			   bool delay);
void tw_table_arm_moved(struct tw_file *file, struct tw_entry *entry);
int tw_table_modify_slowly(struct tw_run *run, struct tw_entry *entry,
			   struct twheel_op *op);

/* With the file's lock: hold the lock of its wheel too, if one wheel has all timers. */
static __always_inline void tw_table_hold(struct tw_run *run)
{
	struct tw_file *file = run->file;

	run->held = tw_file_wheel(file) && !tw_file_clock_steps(file);
	if (run->held) {
		tw_hold(file->wheel, &run->flags);
		/* Sparse does not follow a lock that is taken on a condition. */
		__release(run);
	}
}

static __always_inline void tw_table_release(struct tw_run *run)
{
	if (run->held) {
		__acquire(run);
		tw_release(run->file->wheel, &run->flags);
	}
	run->held = false;
}

/* See &tw_store_ops.arm. */
static __always_inline int tw_table_arm(struct tw_run *run,
					struct twheel_op *op)
{
	bool delay = tw_run_is_delay(run, op);
	struct tw_file *file = run->file;
	struct tw_entry *entry;

	if (unlikely(op->id))
		return -EINVAL;
	if (unlikely(file->timers >= file->max_timers))
		return -ENOSPC;
	if (unlikely(delay && !file->delay_wheel))
		return TW_NEEDS_DELAY_WHEEL;
	/* A file without a wheel has none either. */
	entry = tw_entries_get(&file->entries);
	if (unlikely(!entry))
		return TW_NEEDS_ROOM;

	entry->deadline_ns = tw_run_deadline(run, op);
	op->id = entry->tag;
	BUILD_BUG_ON(TW_ENTRY_TAG(TW_ENTRY_FREE));
	entry->tag |= TW_ENTRY_TAG(TW_ENTRY_ARMED);
	entry->cookie = op->cookie;
	entry->period_ns = op->period_ns;
	entry->slack_ns = op->slack_ns;
	if (unlikely(tw_file_clock_steps(file)))
		tw_table_choose_wheel(file, entry, delay);
	tw_run_answer(run, op, entry);
	file->timers++;
	file->armed++;
	if (likely(run->held && !entry->slack_ns)) {
		tw_arm_at_held(&entry->timer, entry->deadline_ns);
		return 0;
	}
	tw_table_release(run);
	tw_table_arm_timer(entry);
	tw_table_hold(run);
	return 0;
}

/* See &tw_store_ops.cancel. */
static __always_inline int tw_table_cancel(struct tw_run *run,
					   struct tw_entry *entry)
{
	struct tw_file *file = run->file;
	int ret = 0;

	if (likely(tw_entry_state(entry) == TW_ENTRY_ARMED)) {
		if (likely(run->held ? tw_cancel_held(&entry->timer) :
				       twheel_cancel(&entry->timer)))
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

/* See &tw_store_ops.modify. */
static __always_inline int tw_table_modify(struct tw_run *run,
					   struct tw_entry *entry,
					   struct twheel_op *op)
{
	u64 deadline;

	/* All else is rare: two wheels, slack, more to change, an event. */
	if (unlikely(!run->held || tw_entry_state(entry) != TW_ENTRY_ARMED ||
		     entry->slack_ns || op->flags & ~(TWHEEL_ABS | TWHEEL_LATER)))
		return tw_table_modify_slowly(run, entry, op);

	deadline = tw_run_deadline(run, op);
	if (op->flags & TWHEEL_LATER && deadline <= entry->deadline_ns) {
		if (!twheel_pending(&entry->timer))
			return -EALREADY;
		tw_run_answer(run, op, entry);
		return 1;
	}
	/* It may have expired while its callback waits for our lock. */
	if (!tw_modify_at_held(&entry->timer, deadline))
		return tw_table_modify_slowly(run, entry, op);
	entry->deadline_ns = deadline;
	tw_run_answer(run, op, entry);
	return 0;
}

/* See &tw_store_ops.waiting. */
static __always_inline u32 tw_table_waiting(const struct tw_file *file)
{
	if (file->events.first == TW_NO_ENTRY)
		return 0;
	return file->events.first == file->events.last ? 1 : 2;
}

#endif /* _TWHEEL_TABLE_H */
