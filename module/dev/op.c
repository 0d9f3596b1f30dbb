// SPDX-License-Identifier: GPL-2.0-only
/*
 * Operations on the timers of an open file, several under one hold of its lock.
 *
 * Nothing is served here. An operation that makes something due marks the file and wakes the
 * waiters. One that ends or moves what they were told of leaves the mark: they will see.
 */
#include <linux/errno.h>
#include <linux/lockdep.h>
#include <linux/minmax.h>
#include <linux/overflow.h>
#include <linux/prefetch.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>
#include <linux/spinlock.h>
#include <linux/wait.h>

#include "../compat.h"
#include "cells.h"
#include "due.h"
#include "op.h"
#include "trace.h"

/* How many entries "cancel all" visits under one hold of the lock. */
#define OP_CANCEL_SLICE	64U

/* A result: the operation needs a free entry first. It is no error number. */
#define OP_NEEDS_ROOM	S64_MIN

/**
 * struct op_run - operations under one hold of the lock
 * @file: the file
 * @now: the time on its clock; 0: nobody has asked yet
 * @offset: what the caller's time namespace adds to it
 * @wake: the waiters have to be woken, without the lock
 */
struct op_run {
	struct tw_file *file;
	u64 now;
	s64 offset;
	bool wake;
};

static void op_run_begin(struct op_run *run, struct tw_file *file)
{
	run->file = file;
	run->now = 0;
	run->offset = tw_file_offset(file);
	run->wake = false;
	spin_lock(&file->lock);
}

static void op_run_end(struct op_run *run)
{
	spin_unlock(&run->file->lock);
	if (unlikely(run->wake))
		wake_up(&run->file->wait);
}

/* Delays of operations that are done together count from one reading of the clock. */
static u64 op_now(struct op_run *run)
{
	if (!run->now)
		run->now = tw_file_now(run->file);
	return run->now;
}

/* The deadline that an operation asks for, on the kernel's clock; later ones are never. */
static u64 op_deadline(struct op_run *run, const struct twheel_op *op)
{
	u64 ns = op->time_ns;

	if (op->flags & TWHEEL_ABS)
		ns = tw_timens_in(ns, run->offset);
	else if (unlikely(check_add_overflow(ns, op_now(run), &ns)))
		return TWHEEL_NEVER_NS;
	return min_t(u64, ns, TWHEEL_NEVER_NS);
}

/* Delays on a clock that can be set are refused. */
static bool op_time_valid(const struct tw_file *file, const struct twheel_op *op, u32 flags)
{
	return !(op->flags & ~(flags | TWHEEL_FLAGS_LIBRARY)) &&
	       (op->flags & TWHEEL_ABS || !tw_clock_can_be_set(file->clock));
}

/* Does an operation say nothing but which timer it is for? */
static bool op_is_bare(const struct twheel_op *op)
{
	return !((op->flags & ~TWHEEL_FLAGS_LIBRARY) | op->cookie | op->time_ns |
		 op->period_ns | op->slack_ns);
}

static bool op_enqueue(struct op_run *run, struct tw_entry *entry)
{
	u64 ns = entry->deadline_ns;

	if (unlikely(entry->slack_ns))
		ns = tw_wheel_share(&run->file->wheel, ns, entry->slack_ns);
	return tw_due_enqueue(run->file, &entry->node, ns);
}

static s64 op_arm(struct op_run *run, struct twheel_op *op)
{
	struct tw_file *file = run->file;
	struct tw_entry *entry;

	if (unlikely(!op_time_valid(file, op, TWHEEL_ABS) ||
		     (op->period_ns | op->slack_ns) > TWHEEL_NEVER_NS))
		return -EINVAL;
	if (unlikely(file->table.used >= file->max_timers))
		return -ENOSPC;
	if (unlikely(!file->table.free))
		return OP_NEEDS_ROOM;
	entry = tw_table_take(&file->table);
	entry->cookie = op->cookie;
	entry->deadline_ns = op_deadline(run, op);
	entry->period_ns = op->period_ns;
	entry->slack_ns = op->slack_ns;
	run->wake |= op_enqueue(run, entry);
	file->armed++;
	tw_file_trace_arm(file, &entry->node, entry->deadline_ns);
	op->id = entry->id;
	op->deadline_ns = tw_timens_out(entry->deadline_ns, run->offset);
	return 0;
}

static void op_end(struct tw_file *file, struct tw_entry *entry)
{
	tw_file_trace_cancel(file, &entry->node, entry->deadline_ns);
	tw_wheel_dequeue(&file->wheel, &entry->node);
	tw_table_put(&file->table, entry);
	file->cancelled++;
}

static s64 op_cancel(struct op_run *run, const struct twheel_op *op)
{
	struct tw_entry *entry;

	if (unlikely(!op_is_bare(op)))
		return -EINVAL;
	entry = tw_table_find(&run->file->table, op->id);
	if (unlikely(!entry))
		return -ENOENT;
	op_end(run->file, entry);
	return 1;
}

/* Put a timer where its new deadline wants it. One that is later is moved when it is reached. */
static void op_requeue(struct op_run *run, struct tw_entry *entry)
{
	u64 word = tw_word(entry->deadline_ns);

	if (likely(!entry->slack_ns && word >= (u64)atomic64_read(&entry->node.word))) {
		atomic64_set(&entry->node.word, word);
		return;
	}
	tw_wheel_dequeue(&run->file->wheel, &entry->node);
	run->wake |= op_enqueue(run, entry);
}

static s64 op_modify(struct op_run *run, struct twheel_op *op)
{
	struct tw_file *file = run->file;
	struct tw_entry *entry;
	u64 deadline;

	if (unlikely(!op_time_valid(file, op, TWHEEL_ABS | TWHEEL_LATER) ||
		     op->cookie | op->period_ns | op->slack_ns))
		return -EINVAL;
	entry = tw_table_find(&file->table, op->id);
	if (unlikely(!entry))
		return -ENOENT;
	deadline = op_deadline(run, op);
	if (op->flags & TWHEEL_LATER && deadline <= entry->deadline_ns) {
		op->deadline_ns = tw_timens_out(entry->deadline_ns, run->offset);
		return 0;
	}
	entry->deadline_ns = deadline;
	op_requeue(run, entry);
	tw_file_trace_modify(file, &entry->node, deadline);
	op->deadline_ns = tw_timens_out(deadline, run->offset);
	return 1;
}

static s64 op_query(struct op_run *run, struct twheel_op *op)
{
	const struct tw_wheel *w = &run->file->wheel;
	struct tw_entry *entry;

	if (!op_is_bare(op))
		return -EINVAL;
	entry = tw_table_find(&run->file->table, op->id);
	if (!entry)
		return -ENOENT;
	op->deadline_ns = tw_timens_out(entry->deadline_ns, run->offset);
	return tw_wheel_ceil(w, atomic64_read(&entry->node.word)) <=
	       tw_wheel_floor(w, op_now(run));
}

/* Timers that are armed meanwhile need not be cancelled. */
static s64 op_cancel_all(struct op_run *run, const struct twheel_op *op)
{
	struct tw_file *file = run->file;
	u32 count = file->table.count;
	s64 done = 0;
	u32 i;

	if (!op_is_bare(op) || op->id)
		return -EINVAL;
	for (i = 0; i < count; i++) {
		struct tw_entry *entry = tw_table_at(&file->table, i);

		if (i && !(i % OP_CANCEL_SLICE)) {
			op_run_end(run);
			cond_resched();
			op_run_begin(run, file);
		}
		if (!tw_entry_is_free(entry)) {
			op_end(file, entry);
			done++;
		}
	}
	return done;
}

static s64 op_kick(struct op_run *run, const struct twheel_op *op)
{
	return op_is_bare(op) ? tw_cells_kick(run->file, op->id, &run->wake) : -EINVAL;
}

static s64 op_advance(struct op_run *run, struct twheel_op *op)
{
	struct tw_file *file = run->file;
	const struct tw_wheel *w = &file->wheel;
	u64 now;

	if (file->clock != TWHEEL_VIRTUAL || !op_time_valid(file, op, TWHEEL_ABS) ||
	    op->id | op->cookie | op->period_ns | op->slack_ns)
		return -EINVAL;
	now = op_deadline(run, op);
	if (now < file->virtual_ns || now >= TWHEEL_NEVER_NS)
		return -ERANGE;
	WRITE_ONCE(file->virtual_ns, now);
	run->now = now;
	op->deadline_ns = now;
	/* There is no alarm: this is it. */
	if (min(w->wake, tw_cells_sweep_tick(file)) <= tw_wheel_floor(w, now))
		run->wake |= tw_due_near(file, 0, now);
	return 0;
}

static s64 op_run_one(struct op_run *run, struct twheel_op *op)
{
	/* Compared one by one: a mispredicted jump table costs more. */
	if (op->op == TWHEEL_OP_ARM)
		return op_arm(run, op);
	if (op->op == TWHEEL_OP_CANCEL)
		return op_cancel(run, op);
	if (op->op == TWHEEL_OP_MODIFY)
		return op_modify(run, op);
	if (op->op == TWHEEL_OP_QUERY)
		return op_query(run, op);
	if (op->op == TWHEEL_OP_CANCEL_ALL)
		return op_cancel_all(run, op);
	if (op->op == TWHEEL_OP_KICK)
		return op_kick(run, op);
	if (op->op == TWHEEL_OP_ADVANCE)
		return op_advance(run, op);
	return -EINVAL;
}

/* With millions of timers each entry is a cache miss: have them all come. */
static void op_prefetch(const struct tw_file *file, const struct twheel_op *ops,
			unsigned int count)
{
	unsigned int i;

	for (i = 0; i < count; i++)
		if (ops[i].op != TWHEEL_OP_ARM)
			prefetchw(tw_table_look_up(&file->table, ops[i].id));
}

/*
 * tw_op_run() - do operations
 * @ops: each gets a result, and the other outputs that it has
 * @count: how many, at most %TW_OP_MOST
 *
 * Context: process, may sleep. The file is ready.
 */
void tw_op_run(struct tw_file *file, struct twheel_op *ops, unsigned int count)
{
	struct op_run run;
	unsigned int i;

	op_run_begin(&run, file);
	if (count > 1)
		op_prefetch(file, ops, count);
	for (i = 0; i < count; i++) {
		while (unlikely((ops[i].result = op_run_one(&run, &ops[i])) == OP_NEEDS_ROOM)) {
			op_run_end(&run);
			ops[i].result = tw_file_make_room(file);
			op_run_begin(&run, file);
			if (ops[i].result)
				break;
		}
	}
	op_run_end(&run);
}
