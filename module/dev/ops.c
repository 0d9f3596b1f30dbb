// SPDX-License-Identifier: GPL-2.0-only
/*
 * How operations come from a program, and results go back.
 *
 * An operation is copied word by word, which costs less than setting up a copy. Before it is
 * done, its outputs but for the identifier are written once: what cannot be answered is not
 * done. A timer whose identifier cannot be written is ended again.
 */
#include <linux/build_bug.h>
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/lockdep.h>
#include <linux/minmax.h>
#include <linux/overflow.h>
#include <linux/prefetch.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>
#include <linux/spinlock.h>
#include <linux/uaccess.h>
#include <linux/wait.h>

#include <uapi/linux/twheel.h>

#include "../compat.h"
#include "cells.h"
#include "due.h"
#include "file.h"

static_assert(sizeof(struct twheel_op) == TWHEEL_OP_SIZE_0);

/*
 * Operations on the timers of an open file.
 *
 * Nothing is served here. An operation that makes something due marks the file and wakes the
 * waiters. One that ends or moves a due timer leaves the mark: the waiters then find nothing.
 *
 * What programs do all the time is inline, so that a single operation stays in registers: an
 * arm by TWHEEL_IOC_OP takes 100 instructions less.
 */

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

/* Operations on the timers of an open file: those that programs do now and then. */

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

/* How many operations are done under one hold of the lock. They are on the stack. */
#define OPS_MOST	10U

/* The operation @i of an array whose elements may be longer than we know. */
static struct twheel_op __user *ops_element(const struct twheel_ops *ops, u32 i)
{
	return u64_to_user_ptr(ops->ops + (u64)i * ops->stride);
}

/* Between user_access_begin() and user_access_end(): fetch an operation. */
static __always_inline bool ops_get(struct twheel_op *op, struct twheel_op __user *user)
{
	/* Not all of 32-bit ARM can fetch 64 bits at a time. */
	if (IS_ENABLED(CONFIG_ARM)) {
		if (__copy_from_user(op, user, sizeof(*op)))
			goto fault;
		goto check;
	}
	unsafe_get_user(op->op, &user->op, fault);
	unsafe_get_user(op->flags, &user->flags, fault);
	unsafe_get_user(op->id, &user->id, fault);
	unsafe_get_user(op->cookie, &user->cookie, fault);
	unsafe_get_user(op->time_ns, &user->time_ns, fault);
	unsafe_get_user(op->period_ns, &user->period_ns, fault);
	unsafe_get_user(op->slack_ns, &user->slack_ns, fault);
	unsafe_get_user(op->deadline_ns, &user->deadline_ns, fault);
check:
	unsafe_put_user(op->deadline_ns, &user->deadline_ns, fault);
	unsafe_put_user(0, &user->result, fault);
	return true;
fault:
	return false;
}

/* Likewise: answer an operation. */
static __always_inline bool ops_put(const struct twheel_op *op, struct twheel_op __user *user)
{
	if (likely(op->result >= 0)) {
		if (op->op == TWHEEL_OP_ARM)
			unsafe_put_user(op->id, &user->id, fault);
		if (op->op != TWHEEL_OP_CANCEL && op->op != TWHEEL_OP_CANCEL_ALL &&
		    op->op != TWHEEL_OP_KICK)
			unsafe_put_user(op->deadline_ns, &user->deadline_ns, fault);
	}
	unsafe_put_user(op->result, &user->result, fault);
	return true;
fault:
	return false;
}

/*
 * Fetch operations, or with @answer, answer them. Returns for how many the memory is there. The
 * compiler makes two loops of it.
 */
static __always_inline unsigned int ops_copy(const struct twheel_ops *ops, u32 first,
					     struct twheel_op *some, unsigned int count,
					     bool answer)
{
	void __user *begin = ops_element(ops, first), *user = begin;
	unsigned int i;

	if (!user_access_begin(begin, count * ops->stride))
		return 0;
	for (i = 0; i < count; i++, user += ops->stride)
		if (!(answer ? ops_put(&some[i], user) : ops_get(&some[i], user)))
			break;
	user_access_end();
	return i;
}

static __always_inline void ops_begin(struct tw_op_run *run, struct tw_file *file, s64 offset)
{
	run->file = file;
	run->now = 0;
	run->offset = offset;
	run->wake = false;
	spin_lock(&file->lock);
}

static __always_inline void ops_end(struct tw_op_run *run)
{
	spin_unlock(&run->file->lock);
	if (unlikely(run->wake))
		tw_alarm_wake(run->file);
}

/* One operation, under a hold of the lock of its own. */
static __always_inline s64 ops_run_one(struct tw_file *file, struct twheel_op *op)
{
	struct tw_op_run run __uninitialized;
	s64 result;

	do {
		ops_begin(&run, file,
			  op->op == TWHEEL_OP_CANCEL ? 0 : tw_timens_offset(file->clock));
		result = tw_op_do(&run, op);
		ops_end(&run);
		if (likely(result != TW_OP_NEEDS_ROOM))
			return result;
		result = tw_file_make_room(file);
	} while (!result);
	return result;
}

/*
 * With millions of timers each entry is a cache miss: prefetch them all. If the first operation
 * is an arm, so are mostly the others, and need none.
 */
static void ops_prefetch(const struct tw_file *file, const struct twheel_op *ops,
			 unsigned int count)
{
	unsigned int i;

	if (ops[0].op == TWHEEL_OP_ARM)
		return;
	for (i = 0; i < count; i++)
		if (ops[i].op != TWHEEL_OP_ARM)
			prefetchw(tw_table_look_up(&file->table, ops[i].id));
}

/* Do operations under one hold of the lock, which is released to make a free entry. */
static void ops_run(struct tw_file *file, struct twheel_op *ops, unsigned int count)
{
	struct tw_op_run run __uninitialized;
	unsigned int i;

	ops_begin(&run, file, tw_timens_offset(file->clock));
	ops_prefetch(file, ops, count);
	for (i = 0; i < count; i++) {
		s64 result = tw_op_do(&run, &ops[i]);

		if (unlikely(result == TW_OP_NEEDS_ROOM)) {
			ops_end(&run);
			result = ops_run_one(file, &ops[i]);
			ops_begin(&run, file, run.offset);
		}
		ops[i].result = result;
	}
	ops_end(&run);
}

static noinline void ops_cancel(struct tw_file *file, u64 id)
{
	struct twheel_op cancel = { .op = TWHEEL_OP_CANCEL, .id = id };

	ops_run(file, &cancel, 1);
}

/* Cancel timers whose identifiers the program cannot get: its memory went away. */
static void ops_undo(struct tw_file *file, const struct twheel_op *ops, unsigned int count)
{
	unsigned int i;

	for (i = 0; i < count; i++)
		if (ops[i].op == TWHEEL_OP_ARM && !ops[i].result)
			ops_cancel(file, ops[i].id);
}

/* An element may be longer than the kernel knows: there must be only zeroes in the rest. */
static int ops_check_tail(struct twheel_op __user *element, size_t size)
{
	int ret = check_zeroed_user(element + 1, size - sizeof(*element));

	return ret == 1 ? 0 : ret ?: -E2BIG;
}

/* Do some operations from @first on. Returns how many are done and answered. */
static unsigned int ops_do_some(struct tw_file *file, const struct twheel_ops *ops, u32 first)
{
	unsigned int count = min(ops->count - first, OPS_MOST);
	struct twheel_op some[OPS_MOST] __uninitialized;
	unsigned int answered;
	int tail = 0;

	/* One that is longer than the kernel knows comes alone. */
	if (unlikely(ops->stride > sizeof(some[0]))) {
		tail = ops_check_tail(ops_element(ops, first), ops->stride);
		count = tail != -EFAULT;
	}
	count = ops_copy(ops, first, some, count, false);
	if (!count)
		return 0;
	if (likely(!tail))
		ops_run(file, some, count);
	else
		some[0].result = tail;
	answered = ops_copy(ops, first, some, count, true);
	if (unlikely(answered < count))
		ops_undo(file, some + answered, count - answered);
	return answered;
}

static bool ops_valid(const struct twheel_ops *ops)
{
	return !ops->flags && !ops->reserved && ops->count <= INT_MAX &&
	       IS_ALIGNED(ops->ops, sizeof(u64)) &&
	       ops->stride >= TWHEEL_OP_SIZE_0 && ops->stride <= TWHEEL_OP_SIZE_MAX &&
	       IS_ALIGNED(ops->stride, sizeof(u64));
}

/*
 * tw_ops_all() - TWHEEL_IOC_OPS
 *
 * Return: how many operations are done, or an error if none is.
 */
long tw_ops_all(struct tw_file *file, const struct twheel_ops *user)
{
	struct twheel_ops ops = *user;
	u32 done = 0, now;
	int ret;

	if (!ops.stride)
		ops.stride = TWHEEL_OP_SIZE_0;
	if (!ops_valid(&ops))
		return -EINVAL;
	if (!ops.count)
		return 0;
	/* A kernel of 32 bits would cut the pointer, and use other memory. */
	if ((uintptr_t)ops.ops != ops.ops)
		return -EFAULT;
	if (unlikely(!tw_file_is_ready(file))) {
		ret = tw_file_start(file);
		if (ret)
			return ret;
	}
	while (done < ops.count) {
		now = ops_do_some(file, &ops, done);
		done += now;
		if (!now || (done >= TW_OPS_UNBROKEN && signal_pending(current)))
			break;
		cond_resched();
	}
	return (long)done ?: -EFAULT;
}

/*
 * tw_ops_one() - TWHEEL_IOC_OP
 * @arg: the operation
 * @size: its size, as the program knows it
 *
 * Return: the result of the operation, or an error.
 */
long tw_ops_one(struct tw_file *file, void __user *arg, size_t size)
{
	struct twheel_op __user *user = arg;
	struct twheel_op op __uninitialized;
	bool there;
	int ret;

	if (unlikely(size != sizeof(op))) {
		ret = size < sizeof(op) ? -EINVAL : ops_check_tail(user, size);
		if (ret)
			return ret;
	}
	if (!user_access_begin(user, sizeof(*user)))
		return -EFAULT;
	there = ops_get(&op, user);
	user_access_end();
	if (unlikely(!there))
		return -EFAULT;
	if (unlikely(!tw_file_is_ready(file))) {
		ret = tw_file_start(file);
		if (ret)
			return ret;
	}
	op.result = ops_run_one(file, &op);
	if (!user_access_begin(user, sizeof(*user)))
		goto undo;
	there = ops_put(&op, user);
	user_access_end();
	if (likely(there))
		return op.result;
undo:
	if (op.op == TWHEEL_OP_ARM && !op.result)
		ops_cancel(file, op.id);
	return -EFAULT;
}
