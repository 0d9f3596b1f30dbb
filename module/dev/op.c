// SPDX-License-Identifier: GPL-2.0-only
/*
 * Operations on the timers of an open file, several under one hold of its lock. A
 * single one is done in the same way.
 *
 * What most programs do to most timers of a table is inline: this is the hot path.
 */
#include <linux/errno.h>
#include <linux/minmax.h>
#include <linux/sched.h>
#include <linux/spinlock.h>

#include "../compat.h"
#include "file.h"
#include "op.h"
#include "run.h"
#include "setup.h"
#include "store.h"
#include "table.h"

/* How many entries "cancel all" visits under one hold of the lock. */
#define OP_CANCEL_SLICE	64

#define OP_SET_FLAGS	(TWHEEL_SET_PERIOD | TWHEEL_SET_SLACK | TWHEEL_SET_COOKIE)

/* Are the times of an operation valid, which may begin or change a timer? */
static bool op_times_valid(const struct tw_file *file, const struct twheel_op *op)
{
	if ((op->deadline_ns | op->period_ns | op->slack_ns) > TWHEEL_DELAY_NEVER ||
	    (op->period_ns && op->period_ns < file->tick_ns))
		return false;
	/* Every other clock is that one, or can be set. */
	return !(op->flags & TWHEEL_MONOTONIC) || file->clockid != CLOCK_BOOTTIME;
}

/* Does an operation say nothing but which timer it is for? */
static __always_inline bool op_is_bare(const struct twheel_op *op)
{
	return !(op->flags | op->cookie | op->deadline_ns | op->period_ns |
		 op->slack_ns);
}

/* The program may have armed a timer without a call. */
static struct tw_entry *op_adopt(struct tw_file *file, u64 id)
{
	if (!file->ops->adopt)
		return NULL;
	file->ops->adopt(file, lower_32_bits(id));
	return tw_entries_find(&file->entries, id);
}

/* The entry of the timer that an identifier names, or NULL. */
static struct tw_entry *op_find(struct tw_file *file, u64 id)
{
	struct tw_entry *entry = tw_entries_find(&file->entries, id);

	return entry ?: op_adopt(file, id);
}

/* Modify the timer that @op->id names; if there is none, arm a new one. */
static int op_arm_or_modify(struct tw_run *run, struct twheel_op *op)
{
	struct tw_file *file = run->file;
	struct tw_entry *entry = op_find(file, op->id);
	int ret = entry ? file->ops->modify(run, entry, op) : -ENOENT;
	u64 id = op->id;

	if (ret != -ENOENT)
		return ret;
	op->id = file->ops->mapped ? lower_32_bits(id) : 0;
	ret = file->ops->arm(run, op);
	if (ret)
		op->id = id;
	return ret;
}

/* tw_op_arm() - TWHEEL_IOC_ARM, for any timer of any file */
int tw_op_arm(struct tw_run *run, struct twheel_op *op)
{
	struct tw_file *file = run->file;

	if (op->flags & ~(TWHEEL_ABS | TWHEEL_MONOTONIC | TWHEEL_OR_MODIFY) ||
	    !op_times_valid(file, op))
		return -EINVAL;
	return op->flags & TWHEEL_OR_MODIFY ? op_arm_or_modify(run, op) :
					      file->ops->arm(run, op);
}

/* The deadline that an operation asks for, in a plain run. */
static __always_inline u64 op_deadline_plain(struct tw_run *run,
					     const struct twheel_op *op)
{
	return op->flags & TWHEEL_ABS ? op->deadline_ns :
					tw_run_after(run, op->deadline_ns);
}

/* Most arms take the short way: one comparison tells them from all others. */
static __always_inline int op_arm(struct tw_run *run, struct twheel_op *op)
{
	struct tw_file *file = run->file;
	u64 deadline;
	int ret;

	if (unlikely(!run->plain || op->flags & ~TWHEEL_ABS ||
		     op->id | op->period_ns | op->slack_ns ||
		     op->deadline_ns > TWHEEL_DELAY_NEVER))
		return tw_op_arm(run, op);
	if (unlikely(file->timers >= file->max_timers))
		return -ENOSPC;
	deadline = op_deadline_plain(run, op);
	ret = tw_table_arm_plain(file, deadline, op->cookie, &op->id);
	if (unlikely(ret))
		return ret;
	op->deadline_ns = deadline;
	file->timers++;
	file->armed++;
	return 0;
}

/* tw_op_cancel() - TWHEEL_IOC_CANCEL, for any timer of any file */
int tw_op_cancel(struct tw_run *run, u64 id)
{
	struct tw_entry *entry = op_find(run->file, id);

	return entry ? run->file->ops->cancel(run, entry) : -ENOENT;
}

/* As op_arm(). */
static __always_inline int op_cancel(struct tw_run *run, const struct twheel_op *op,
				     struct tw_entry *entry)
{
	if (unlikely(!op_is_bare(op)))
		return -EINVAL;
	if (likely(run->plain && tw_table_cancel_plain(run, entry, op->id)))
		return 0;
	return tw_op_cancel(run, op->id);
}

static noinline int op_modify_any(struct tw_run *run, struct twheel_op *op)
{
	struct tw_entry *entry;

	if (op->flags & ~(TWHEEL_ABS | TWHEEL_LATER | TWHEEL_MONOTONIC | OP_SET_FLAGS) ||
	    !op_times_valid(run->file, op))
		return -EINVAL;
	if ((op->period_ns && !(op->flags & TWHEEL_SET_PERIOD)) ||
	    (op->slack_ns && !(op->flags & TWHEEL_SET_SLACK)) ||
	    (op->cookie && !(op->flags & TWHEEL_SET_COOKIE)))
		return -EINVAL;
	entry = op_find(run->file, op->id);
	return entry ? run->file->ops->modify(run, entry, op) : -ENOENT;
}

/* As op_arm(). */
static __always_inline int op_modify(struct tw_run *run, struct twheel_op *op,
				     struct tw_entry *entry)
{
	u64 deadline;
	int ret;

	if (unlikely(!run->plain || op->flags & ~(TWHEEL_ABS | TWHEEL_LATER) ||
		     op->cookie | op->period_ns | op->slack_ns ||
		     op->deadline_ns > TWHEEL_DELAY_NEVER))
		return op_modify_any(run, op);
	deadline = op_deadline_plain(run, op);
	ret = tw_table_modify_plain(entry, op->id, &deadline, op->flags & TWHEEL_LATER);
	if (unlikely(ret == TW_NEEDS_CARE))
		return op_modify_any(run, op);
	op->deadline_ns = deadline;
	return ret;
}

static noinline int op_query(struct tw_run *run, struct twheel_op *op)
{
	struct tw_entry *entry;
	u64 deadline;
	int state;

	if (!op_is_bare(op))
		return -EINVAL;
	entry = op_find(run->file, op->id);
	if (!entry)
		return -ENOENT;
	state = run->file->ops->query(run, entry, &deadline);
	if (state < 0)
		return state;
	op->cookie = entry->cookie;
	op->deadline_ns = deadline;
	op->period_ns = entry->period_ns;
	op->slack_ns = entry->slack_ns;
	op->state = state;
	if (entry->tag & TW_ENTRY_DELAY)
		op->flags = TWHEEL_MONOTONIC;
	return 0;
}

static noinline int op_kick(struct tw_run *run, const struct twheel_op *op)
{
	struct tw_file *file = run->file;
	struct tw_entry *entry;

	if (!op_is_bare(op))
		return -EINVAL;
	if (!file->ops->kick)
		return -EOPNOTSUPP;
	entry = op_find(file, op->id);
	return entry ? file->ops->kick(run, entry) : -ENOENT;
}

/* The entry that an operation's identifier would have. Arming looks for none. */
static __always_inline struct tw_entry *op_look_up(struct tw_file *file,
						   const struct twheel_op *op)
{
	return op->op == TWHEEL_OP_ARM ? NULL :
					 tw_entries_look_up(&file->entries, op->id);
}

/* @entry: the entry that its identifier would have */
static __always_inline int op_run_one(struct tw_run *run, struct twheel_op *op,
				      struct tw_entry *entry)
{
	if (unlikely(op->result || op->state))
		return -EINVAL;
	/* Compared one by one: a mispredicted jump table costs more. */
	if (op->op == TWHEEL_OP_ARM)
		return op_arm(run, op);
	if (op->op == TWHEEL_OP_CANCEL)
		return op_cancel(run, op, entry);
	if (op->op == TWHEEL_OP_MODIFY)
		return op_modify(run, op, entry);
	if (op->op == TWHEEL_OP_QUERY)
		return op_query(run, op);
	if (op->op == TWHEEL_OP_KICK)
		return op_kick(run, op);
	return -EINVAL;
}

/*
 * Do up to a chunk of operations under one hold of the file's lock. Returns how many are
 * done. If that is not all, the next one's result says what it needs.
 */
static unsigned int op_run_some(struct tw_file *file, struct twheel_op *ops,
				unsigned int count)
{
	struct tw_entry *entries[TW_RUN_MAX] __uninitialized;
	struct tw_run run __uninitialized;
	unsigned int i;

	tw_run_begin(&run, file);
	/* With millions of timers each entry is a cache miss: have them all come. */
	for (i = 0; i < count; i++) {
		entries[i] = op_look_up(file, &ops[i]);
		tw_entry_prefetch(entries[i]);
	}
	for (i = 0; i < count; i++) {
		if (unlikely(i == TW_RUN_HELD))
			tw_run_let_in(&run);
		ops[i].result = op_run_one(&run, &ops[i], entries[i]);
		if (unlikely(tw_run_has_need(ops[i].result)))
			break;
	}
	tw_run_end(&run);
	return i;
}

/* tw_op_provide() - make what an operation needs. Return: 0 if it can be done now, or its result */
int tw_op_provide(struct tw_file *file, int need)
{
	return need == TW_NEEDS_ROOM ? tw_setup_make_room(file) :
				       tw_setup_make_delay_wheel(file);
}

/*
 * tw_op_run() - do operations
 * @ops: each gets a result, and an arm or a query what it fills in. &twheel_op.reserved is
 *	not looked at
 * @count: how many, at most TW_RUN_MAX
 *
 * Context: process, may sleep.
 */
void tw_op_run(struct tw_file *file, struct twheel_op *ops, unsigned int count)
{
	struct twheel_op *end = ops + count;

	while ((ops += op_run_some(file, ops, end - ops)) < end) {
		ops->result = tw_op_provide(file, ops->result);
		if (ops->result)
			ops++;
	}
}

/* tw_op_run_one() - tw_op_run() for one operation */
void tw_op_run_one(struct tw_file *file, struct twheel_op *op)
{
	struct tw_run run __uninitialized;

	do {
		tw_run_begin(&run, file);
		op->result = op_run_one(&run, op, op_look_up(file, op));
		tw_run_end(&run);
		if (likely(!tw_run_has_need(op->result)))
			return;
		op->result = tw_op_provide(file, op->result);
	} while (!op->result);
}

/* tw_op_cancel_all() - TWHEEL_IOC_CANCEL_ALL. Return: how many timers ended. */
int tw_op_cancel_all(struct tw_file *file)
{
	/* It only grows. Timers armed from now on need not be cancelled. */
	u32 count = data_race(READ_ONCE(file->entries.count));
	struct tw_run run = { .file = file };
	u32 done = 0;
	u32 i = 0;

	while (i < count) {
		u32 end = min(count, i + OP_CANCEL_SLICE);

		spin_lock_bh(&file->lock);
		for (; i < end; i++) {
			struct tw_entry *entry = tw_entries_at(&file->entries, i);

			if (file->ops->adopt)
				file->ops->adopt(file, i);
			if (tw_entry_is_live(entry))
				done += file->ops->cancel(&run, entry) >= 0;
		}
		spin_unlock_bh(&file->lock);
		cond_resched();
	}
	return done;
}
