/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The table: timers without a mapping, whose events are read().
 *
 * What is done to most timers is inline, for callers that do nothing else millions of
 * times. For all others there is tw_table_ops.
 */
#ifndef _TWHEEL_TABLE_H
#define _TWHEEL_TABLE_H

#include <linux/build_bug.h>
#include <linux/errno.h>
#include <linux/minmax.h>

#include <linux/twheel.h>

#include "run.h"
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

/*
 * &tw_store_ops.arm in a plain run, for what most timers are: one-shot and without slack.
 * The caller has asked &tw_file.max_timers, and counts what is armed.
 */
static __always_inline int tw_table_arm_plain(struct tw_file *file, u64 deadline_ns,
					      u64 cookie, u64 *id)
{
	struct tw_entry *entry = tw_entries_get(&file->entries);

	if (unlikely(!entry))
		return TW_NEEDS_ROOM;
	*id = entry->tag;
	BUILD_BUG_ON(TW_ENTRY_TAG(TW_ENTRY_FREE));
	entry->tag |= TW_ENTRY_TAG(TW_ENTRY_ARMED);
	entry->deadline_ns = deadline_ns;
	entry->cookie = cookie;
	entry->period_ns = 0;
	entry->slack_ns = 0;
	return tw_arm_at_held(&entry->timer, deadline_ns);
}

/*
 * &tw_store_ops.cancel in a plain run.
 * @entry: what tw_entries_look_up() has found for @id
 *
 * Returns false, and does nothing, for a timer that
 * has expired.
 */
static __always_inline bool tw_table_cancel_plain(struct tw_run *run,
						  struct tw_entry *entry, u64 id)
{
	struct tw_file *file = run->file;

	if (unlikely(!tw_entry_is_armed(entry, id) || !tw_cancel_held(&entry->timer)))
		return false;
	tw_entries_put_id(&file->entries, entry, id);
	file->timers--;
	file->cancelled++;
	return true;
}

/*
 * &tw_store_ops.modify in a plain run.
 * @entry: as for tw_table_cancel_plain()
 * @deadline_ns: in: the new deadline. Out: the timer's
 * @later: only to a later one
 *
 * Returns %TW_NEEDS_CARE, and does nothing, for a timer with slack, and for one that has
 * expired.
 */
static __always_inline int tw_table_modify_plain(struct tw_entry *entry, u64 id,
						 u64 *deadline_ns, bool later)
{
	if (unlikely(!tw_entry_is_armed(entry, id) || entry->slack_ns))
		return TW_NEEDS_CARE;
	if (later && *deadline_ns <= entry->deadline_ns) {
		if (!twheel_pending(&entry->timer))
			return TW_NEEDS_CARE;
		*deadline_ns = entry->deadline_ns;
		return 1;
	}
	if (unlikely(!tw_modify_at_held(&entry->timer, *deadline_ns)))
		return TW_NEEDS_CARE;
	entry->deadline_ns = *deadline_ns;
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
