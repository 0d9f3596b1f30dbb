// SPDX-License-Identifier: GPL-2.0-only
/*
 * Operations on the timers of an open file, several under one hold of its lock. A
 * single one is done in the same way.
 *
 * The table is called directly, so that the compiler inlines it: this is the hot path.
 */
#include <linux/errno.h>
#include <linux/minmax.h>
#include <linux/sched.h>
#include <linux/spinlock.h>

#include "file.h"
#include "op.h"
#include "setup.h"
#include "store.h"
#include "table.h"

/* How many entries "cancel all" visits under one hold of the lock. */
#define OP_CANCEL_SLICE	64

/* How many operations ahead an entry is fetched from memory. */
#define OP_PREFETCH	8

#define OP_SET_FLAGS	(TWHEEL_SET_PERIOD | TWHEEL_SET_SLACK | TWHEEL_SET_COOKIE)

/* Are the times of an operation valid, which may begin or change a timer? */
static __always_inline bool op_times_valid(const struct tw_file *file,
					   const struct twheel_op *op)
{
	if ((op->deadline_ns | op->period_ns | op->slack_ns) > TWHEEL_DELAY_NEVER ||
	    (op->period_ns && op->period_ns < file->tick_ns))
		return false;
	/* Every other clock is that one, or can be set. */
	return likely(!(op->flags & TWHEEL_MONOTONIC)) ||
	       file->clockid != CLOCK_BOOTTIME;
}

/* Does an operation say nothing but which timer it is for? */
static __always_inline bool op_is_bare(const struct twheel_op *op)
{
	return !(op->flags | op->cookie | op->deadline_ns | op->period_ns |
		 op->slack_ns);
}

/* The program may have armed a timer without a call. */
static noinline struct tw_entry *op_adopt(struct tw_file *file, u64 id)
{
	if (!file->ops->adopt)
		return NULL;
	file->ops->adopt(file, lower_32_bits(id));
	return tw_entries_find(&file->entries, id);
}

/* The entry of the timer that an identifier names, or NULL. */
static __always_inline struct tw_entry *op_find(struct tw_file *file, u64 id)
{
	struct tw_entry *entry = tw_entries_find(&file->entries, id);

	return likely(entry) ? entry : op_adopt(file, id);
}

/* Modify the timer that @op->id names; if there is none, arm a new one. */
static noinline int op_arm_or_modify(struct tw_run *run, struct twheel_op *op)
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

static int op_arm(struct tw_run *run, struct twheel_op *op)
{
	struct tw_file *file = run->file;

	if (op->flags & ~(TWHEEL_ABS | TWHEEL_MONOTONIC | TWHEEL_OR_MODIFY) ||
	    !op_times_valid(file, op))
		return -EINVAL;
	if (unlikely(op->flags & TWHEEL_OR_MODIFY))
		return op_arm_or_modify(run, op);
	return likely(file->ops == &tw_table_ops) ? tw_table_arm(run, op) :
						    file->ops->arm(run, op);
}

static __always_inline int op_cancel_entry(struct tw_run *run,
					   struct tw_entry *entry)
{
	const struct tw_store_ops *ops = run->file->ops;

	return likely(ops == &tw_table_ops) ? tw_table_cancel(run, entry) :
					      ops->cancel(run, entry);
}

static int op_cancel(struct tw_run *run, const struct twheel_op *op)
{
	struct tw_entry *entry;

	if (!op_is_bare(op))
		return -EINVAL;
	entry = op_find(run->file, op->id);
	return likely(entry) ? op_cancel_entry(run, entry) : -ENOENT;
}

static int op_modify(struct tw_run *run, struct twheel_op *op)
{
	const struct tw_store_ops *ops = run->file->ops;
	struct tw_entry *entry;

	if (op->flags & ~(TWHEEL_ABS | TWHEEL_LATER | TWHEEL_MONOTONIC | OP_SET_FLAGS) ||
	    !op_times_valid(run->file, op))
		return -EINVAL;
	if ((op->period_ns && !(op->flags & TWHEEL_SET_PERIOD)) ||
	    (op->slack_ns && !(op->flags & TWHEEL_SET_SLACK)) ||
	    (op->cookie && !(op->flags & TWHEEL_SET_COOKIE)))
		return -EINVAL;
	entry = op_find(run->file, op->id);
	if (!entry)
		return -ENOENT;
	return likely(ops == &tw_table_ops) ? tw_table_modify(run, entry, op) :
					      ops->modify(run, entry, op);
}

static int op_query(struct tw_run *run, struct twheel_op *op)
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

static int op_kick(struct tw_run *run, const struct twheel_op *op)
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

static __always_inline int op_run_one(struct tw_run *run, struct twheel_op *op)
{
	if (unlikely(op->reserved || op->result || op->state))
		return -EINVAL;
	/* Compared one by one: a mispredicted jump table costs more. */
	if (op->op == TWHEEL_OP_ARM)
		return op_arm(run, op);
	if (op->op == TWHEEL_OP_CANCEL)
		return op_cancel(run, op);
	if (op->op == TWHEEL_OP_MODIFY)
		return op_modify(run, op);
	if (op->op == TWHEEL_OP_QUERY)
		return op_query(run, op);
	if (op->op == TWHEEL_OP_KICK)
		return op_kick(run, op);
	return -EINVAL;
}

/* With the file's lock: begin to do operations. */
static __always_inline void op_run_begin(struct tw_run *run)
{
	struct tw_file *file = run->file;

	/* For the clock that the file has now: it may have been set up meanwhile. */
	run->offset = tw_file_offset(file, false);
	run->delay_offset = run->offset;
	if (unlikely(tw_file_clock_steps(file)))
		run->delay_offset = tw_file_offset(file, true);
	run->shifted = run->offset || run->delay_offset;
	if (likely(file->ops == &tw_table_ops))
		tw_table_hold(run);
}

/*
 * Do as many operations as possible under one hold of the lock. Returns how many are
 * done. If that is not all, the next one's result says what it needs.
 */
static unsigned int op_run_some(struct tw_file *file, struct twheel_op *ops,
				unsigned int count)
{
	struct tw_run run = { .file = file };
	struct twheel_op *op, *end = ops + count;

	spin_lock_bh(&file->lock);
	op_run_begin(&run);
	for (op = ops; op < end; op++) {
		/* With millions of timers each entry is a cache miss. */
		if (op + OP_PREFETCH < end &&
		    op[OP_PREFETCH].op != TWHEEL_OP_ARM)
			tw_entries_prefetch(&file->entries, op[OP_PREFETCH].id);
		op->result = op_run_one(&run, op);
		if (unlikely(op->result == TW_NEEDS_ROOM ||
			     op->result == TW_NEEDS_DELAY_WHEEL))
			break;
	}
	tw_table_release(&run);
	spin_unlock_bh(&file->lock);
	return op - ops;
}

/*
 * tw_op_run() - do operations
 * @ops: each gets a result, and an arm or a query what it fills in
 * @count: how many; few enough to be done under one spinlock
 *
 * Context: process, may sleep.
 */
void tw_op_run(struct tw_file *file, struct twheel_op *ops, unsigned int count)
{
	unsigned int done = 0;

	for (;;) {
		int ret;

		done += op_run_some(file, ops + done, count - done);
		if (done == count)
			return;
		if (ops[done].result == TW_NEEDS_ROOM)
			ret = tw_setup_make_room(file);
		else
			ret = tw_setup_make_delay_wheel(file);
		ops[done].result = ret;
		if (ret)
			done++;
	}
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
				done += op_cancel_entry(&run, entry) >= 0;
		}
		spin_unlock_bh(&file->lock);
		cond_resched();
	}
	return done;
}
