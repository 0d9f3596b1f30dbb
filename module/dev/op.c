// SPDX-License-Identifier: GPL-2.0-only
/* Operations on the timers of an open file: those that programs do now and then. */
#include <linux/errno.h>
#include <linux/minmax.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>
#include <linux/spinlock.h>
#include <linux/wait.h>

#include "cells.h"
#include "due.h"
#include "op.h"

/* How many entries "cancel all" visits under one hold of the lock. */
#define OP_CANCEL_SLICE	64U

static s64 op_query(struct tw_file *file, struct twheel_op *op)
{
	const struct tw_wheel *w = &file->wheel;
	struct tw_entry *entry;

	if (!tw_op_is_bare(op))
		return -EINVAL;
	entry = tw_table_find(&file->table, op->id);
	if (!entry)
		return -ENOENT;
	op->deadline_ns = tw_timens_add(entry->deadline_ns, tw_timens_offset(file->clock));
	return tw_wheel_ceil(w, atomic64_read(&entry->node.word)) <=
	       tw_wheel_floor(w, tw_file_now(file));
}

/*
 * Timers that are armed meanwhile need not be cancelled. A task that is killed stops: an array
 * may have hundreds of these, over a table of millions.
 */
static s64 op_cancel_all(struct tw_file *file, const struct twheel_op *op)
{
	u32 count = file->table.count;
	s64 done = 0;
	u32 i;

	if (!tw_op_is_bare(op) || op->id)
		return -EINVAL;
	for (i = 0; i < count; i++) {
		struct tw_entry *entry = tw_table_at(&file->table, i);

		if (i && !(i % OP_CANCEL_SLICE)) {
			spin_unlock(&file->lock);
			cond_resched();
			spin_lock(&file->lock);
			if (fatal_signal_pending(current))
				break;
		}
		if (!tw_entry_is_free(entry)) {
			tw_op_end(file, entry);
			done++;
		}
	}
	return done;
}

/*
 * tw_op_wake() - wake the waiters
 *
 * Context: with the file's lock, which is released meanwhile.
 */
void tw_op_wake(struct tw_file *file)
{
	spin_unlock(&file->lock);
	tw_alarm_wake(file);
	spin_lock(&file->lock);
}

static s64 op_kick(struct tw_file *file, const struct twheel_op *op)
{
	bool wake = false;
	int ret;

	if (!tw_op_is_bare(op))
		return -EINVAL;
	if (!tw_file_cells(file))
		return -ENOENT;
	ret = tw_cells_kick(file, op->id, &wake);
	if (wake)
		tw_op_wake(file);
	return ret;
}

static s64 op_advance(struct tw_file *file, struct twheel_op *op)
{
	struct tw_op_run run = { .file = file };
	const struct tw_wheel *w = &file->wheel;
	u64 now;

	if (file->clock != TWHEEL_VIRTUAL || !tw_op_time_valid(file, op, TWHEEL_ABS) ||
	    op->id | op->cookie | op->period_ns | op->slack_ns)
		return -EINVAL;
	now = tw_op_deadline(&run, op);
	if (now < file->virtual_ns || now >= TWHEEL_NEVER_NS)
		return -ERANGE;
	WRITE_ONCE(file->virtual_ns, now);
	op->deadline_ns = now;
	/* There is no alarm: this is it. */
	if (min(w->wake, tw_cells_sweep_tick(file)) <= tw_wheel_floor(w, now) &&
	    tw_due_near(file, 0, now))
		tw_op_wake(file);
	return 0;
}

/*
 * tw_op_rare() - do an operation, by its code
 *
 * Context: with the file's lock, which may be released meanwhile.
 * Return: the result, or a negative error number.
 */
s64 tw_op_rare(struct tw_file *file, struct twheel_op *op)
{
	switch (op->op) {
	case TWHEEL_OP_QUERY:
		return op_query(file, op);
	case TWHEEL_OP_CANCEL_ALL:
		return op_cancel_all(file, op);
	case TWHEEL_OP_KICK:
		return op_kick(file, op);
	case TWHEEL_OP_ADVANCE:
		return op_advance(file, op);
	default:
		return -EINVAL;
	}
}
