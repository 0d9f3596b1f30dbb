/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Operations on the timers of an open file.
 *
 * Nothing is served here. An operation that makes something due marks the file and wakes the
 * waiters. One that ends or moves a due timer leaves the mark: the waiters then find nothing.
 *
 * What programs do all the time is inline, so that a single operation stays in registers: an
 * arm by TWHEEL_IOC_OP takes 100 instructions less.
 */
#ifndef _TWHEEL_OP_H
#define _TWHEEL_OP_H

#include <linux/errno.h>
#include <linux/lockdep.h>
#include <linux/minmax.h>
#include <linux/overflow.h>

#include <uapi/linux/twheel.h>

#include "../compat.h"
#include "due.h"
#include "trace.h"

/* A result: the operation needs a free entry first. It is no error number. */
#define TW_OP_NEEDS_ROOM	S64_MIN

/**
 * struct tw_op_run - operations under one hold of the lock
 * @file: the file
 * @now: the time on its clock; 0: nobody has asked yet. Delays of operations that are done
 *	together count from one reading
 * @offset: what the caller's time namespace adds to it
 * @wake: the waiters have to be woken, without the lock
 */
struct tw_op_run {
	struct tw_file *file;
	u64 now;
	s64 offset;
	bool wake;
};

s64 tw_op_rare(struct tw_file *file, struct twheel_op *op);
void tw_op_wake(struct tw_file *file);

/* The deadline that an operation asks for, on the kernel's clock; later ones are never. */
static __always_inline u64 tw_op_deadline(struct tw_op_run *run, const struct twheel_op *op)
{
	u64 ns = op->time_ns;

	if (op->flags & TWHEEL_ABS) {
		ns = tw_timens_add(ns, -run->offset);
	} else {
		if (!run->now)
			run->now = tw_file_now(run->file);
		if (unlikely(check_add_overflow(ns, run->now, &ns)))
			return TWHEEL_NEVER_NS;
	}
	return min_t(u64, ns, TWHEEL_NEVER_NS);
}

/* Delays on a clock that can be set are refused. */
static __always_inline bool tw_op_time_valid(const struct tw_file *file,
					     const struct twheel_op *op, u32 flags)
{
	return !(op->flags & ~flags) &&
	       (op->flags & TWHEEL_ABS || !tw_file_clock_can_be_set(file->clock));
}

/* Whether an operation names its timer, and nothing else. */
static __always_inline bool tw_op_is_bare(const struct twheel_op *op)
{
	return !(op->flags | op->cookie | op->time_ns | op->period_ns | op->slack_ns);
}

static __always_inline bool tw_op_enqueue(struct tw_file *file, struct tw_entry *entry)
{
	u64 ns = entry->deadline_ns;

	if (unlikely(entry->slack_ns))
		ns = tw_wheel_share(&file->wheel, ns, entry->slack_ns);
	return tw_due_enqueue(file, &entry->node, ns);
}

static __always_inline s64 tw_op_arm(struct tw_op_run *run, struct twheel_op *op)
{
	struct tw_file *file = run->file;
	struct tw_entry *entry;

	if (unlikely(!tw_op_time_valid(file, op, TWHEEL_ABS) ||
		     max(op->period_ns, op->slack_ns) > TWHEEL_NEVER_NS))
		return -EINVAL;
	if (unlikely(file->table.used >= file->max_timers))
		return -ENOSPC;
	if (unlikely(!file->table.free))
		return TW_OP_NEEDS_ROOM;
	entry = tw_table_take(&file->table);
	entry->cookie = op->cookie;
	entry->deadline_ns = tw_op_deadline(run, op);
	entry->period_ns = op->period_ns;
	entry->slack_ns = op->slack_ns;
	run->wake |= tw_op_enqueue(file, entry);
	file->armed++;
	tw_file_trace(arm, file, &entry->node, entry->deadline_ns);
	op->id = entry->id;
	op->deadline_ns = tw_timens_add(entry->deadline_ns, run->offset);
	return 0;
}

/* A timer ends before its event is read. */
static __always_inline void tw_op_end(struct tw_file *file, struct tw_entry *entry)
{
	tw_file_trace(cancel, file, &entry->node, entry->deadline_ns);
	tw_wheel_dequeue(&file->wheel, &entry->node);
	tw_table_put(&file->table, entry);
	file->cancelled++;
}

static __always_inline s64 tw_op_cancel(struct tw_op_run *run, const struct twheel_op *op)
{
	struct tw_entry *entry;

	if (unlikely(!tw_op_is_bare(op)))
		return -EINVAL;
	entry = tw_table_find(&run->file->table, op->id);
	if (unlikely(!entry))
		return -ENOENT;
	tw_op_end(run->file, entry);
	return 1;
}

/* Put a timer where its new deadline wants it. One that is later is moved when it is reached. */
static __always_inline void tw_op_requeue(struct tw_op_run *run, struct tw_entry *entry)
{
	u64 word = tw_word(entry->deadline_ns);

	if (likely(!entry->slack_ns && word >= (u64)atomic64_read(&entry->node.word))) {
		atomic64_set(&entry->node.word, word);
		return;
	}
	tw_wheel_dequeue(&run->file->wheel, &entry->node);
	run->wake |= tw_op_enqueue(run->file, entry);
}

static __always_inline s64 tw_op_modify(struct tw_op_run *run, struct twheel_op *op)
{
	struct tw_file *file = run->file;
	struct tw_entry *entry;
	u64 deadline;

	if (unlikely(!tw_op_time_valid(file, op, TWHEEL_ABS | TWHEEL_LATER) ||
		     op->cookie | op->period_ns | op->slack_ns))
		return -EINVAL;
	entry = tw_table_find(&file->table, op->id);
	if (unlikely(!entry))
		return -ENOENT;
	deadline = tw_op_deadline(run, op);
	if (op->flags & TWHEEL_LATER && deadline <= entry->deadline_ns) {
		op->deadline_ns = tw_timens_add(entry->deadline_ns, run->offset);
		return 0;
	}
	entry->deadline_ns = deadline;
	tw_op_requeue(run, entry);
	tw_file_trace(modify, file, &entry->node, deadline);
	op->deadline_ns = tw_timens_add(deadline, run->offset);
	return 1;
}

/* With the file's lock, which may be released meanwhile: do an operation. */
static __always_inline s64 tw_op_do(struct tw_op_run *run, struct twheel_op *op)
{
	/* If the compiler cleared this and @run, an arm would take 843 instructions, not 820. */
	struct twheel_op rare __uninitialized;
	s64 result;

	lockdep_assert_held(&run->file->lock);
	/* Compared one by one: a mispredicted jump table costs more. */
	if (op->op == TWHEEL_OP_ARM)
		return tw_op_arm(run, op);
	if (op->op == TWHEEL_OP_CANCEL)
		return tw_op_cancel(run, op);
	if (op->op == TWHEEL_OP_MODIFY)
		return tw_op_modify(run, op);
	/* It may take long without the lock, and others rely on the mark. */
	if (run->wake) {
		run->wake = false;
		tw_op_wake(run->file);
	}
	/* A copy, as it has to be in memory. */
	rare = *op;
	result = tw_op_rare(run->file, &rare);
	op->deadline_ns = rare.deadline_ns;
	/* That was perhaps long ago. */
	run->now = 0;
	return result;
}

#endif /* _TWHEEL_OP_H */
