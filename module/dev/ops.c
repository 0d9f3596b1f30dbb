// SPDX-License-Identifier: GPL-2.0-only
/*
 * Operations on the timers of an open file: how they come from a program, what they do, and how
 * results go back.
 *
 * Nothing is served here. An operation that makes something due marks the file and wakes the
 * waiters. One that ends or moves a due timer leaves the mark: the waiters then find nothing.
 *
 * An operation is copied word by word, which costs less than setting up a copy. Before it is
 * done, its outputs but for the identifier are written once: what cannot be answered is not
 * done. A timer whose identifier cannot be written is ended again.
 *
 * What programs do all the time is inline, so that a single operation stays in registers.
 */
#include <linux/build_bug.h>
#include <linux/errno.h>
#include <linux/gfp.h>
#include <linux/kernel.h>
#include <linux/lockdep.h>
#include <linux/log2.h>
#include <linux/minmax.h>
#include <linux/mm.h>
#include <linux/mutex.h>
#include <linux/overflow.h>
#include <linux/prefetch.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/string.h>
#include <linux/uaccess.h>

#include <uapi/linux/twheel.h>

#include "../compat.h"
#include "due.h"
#include "file.h"
#include "user.h"

static_assert(sizeof(struct twheel_op) == TWHEEL_OP_SIZE_0);

/* How many operations are done under one hold of the lock. They are on the stack, 64 bytes each. */
#define OPS_MOST	10U

/* How many entries "cancel all" looks at under one hold of the lock. */
#define OPS_CANCEL_SLICE	64U

/* A result: the operation needs a free entry first. It is no error number. */
#define OPS_NEED_ROOM	S64_MIN

/**
 * struct ops_batch - operations under one hold of the lock
 * @file: the file
 * @offset: what the caller's time namespace adds to the time on its clock
 * @now: that time; 0: nobody has asked yet. Delays of operations that are done together count
 *	from one reading
 * @wake: the waiters have to be woken, without the lock
 */
struct ops_batch {
	struct tw_file *file;
	s64 offset;
	u64 now;
	bool wake;
};

static void ops_begin(struct ops_batch *batch)
	__acquires(&batch->file->lock)
{
	batch->now = 0;
	batch->wake = false;
	spin_lock(&batch->file->lock);
}

static void ops_end(struct ops_batch *batch)
	__releases(&batch->file->lock)
{
	spin_unlock(&batch->file->lock);
	if (unlikely(batch->wake))
		tw_due_wake(batch->file);
}

/* How many chunks the array of a table has room for: a power of two, or none. */
static u32 table_room(u32 chunks)
{
	return chunks ? roundup_pow_of_two(chunks) : 0;
}

/* tw_table_exit() - free a table, whose timers are in no wheel any more */
void tw_table_exit(struct tw_table *table)
{
	u32 chunks = table->count >> TW_CHUNK_SHIFT;

	while (chunks) {
		kfree(table->chunks[--chunks]);
		cond_resched();
	}
	kvfree(table->chunks);
}

/* Add a chunk of free entries. */
static int table_add_chunk(struct tw_file *file)
{
	struct tw_table *table = &file->table;
	struct tw_entry **array = table->chunks, *chunk;
	u32 chunks = table->count >> TW_CHUNK_SHIFT, room = table_room(chunks + 1), i;
	u32 more_room = room - table_room(chunks);
	size_t cost = TW_CHUNK_ENTRIES * sizeof(*chunk) + more_room * sizeof(*array);
	int ret = tw_users_charge(file->users, TW_CHUNK_ENTRIES, cost);

	if (ret)
		return ret;
	chunk = kcalloc(TW_CHUNK_ENTRIES, sizeof(*chunk), GFP_KERNEL_ACCOUNT);
	if (chunk && more_room)
		array = kvmalloc_array(room, sizeof(*array), GFP_KERNEL_ACCOUNT);
	if (!chunk || !array) {
		kfree(chunk);
		tw_users_uncharge(file->users, TW_CHUNK_ENTRIES, cost);
		return -ENOMEM;
	}
	if (more_room)
		memcpy(array, table->chunks, chunks * sizeof(*array));
	for (i = 0; i < TW_CHUNK_ENTRIES; i++) {
		chunk[i].id = 1ULL << 32 | (table->count + i);
		chunk[i].free = &chunk[i + 1];
	}
	array[chunks] = chunk;
	spin_lock(&file->lock);
	swap(array, table->chunks);
	chunk[TW_CHUNK_ENTRIES - 1].free = table->free;
	table->free = chunk;
	table->count += TW_CHUNK_ENTRIES;
	spin_unlock(&file->lock);
	if (more_room)
		kvfree(array);
	return 0;
}

/*
 * Have a free entry, which another thread may take first. Other threads may also have used up
 * all that the file may have, since the caller looked. Then it stays as it is.
 */
static int table_ensure_free(struct tw_file *file)
{
	int ret = 0;

	mutex_lock(&file->setup_lock);
	/* Another thread may have added some while this one waited. Only growing writes @count. */
	if (!data_race(READ_ONCE(file->table.free)) && file->table.count < file->max_timers)
		ret = table_add_chunk(file);
	mutex_unlock(&file->setup_lock);
	return ret;
}

/* The deadline that an operation asks for, on the kernel's clock; later ones are never. */
static __always_inline u64 op_deadline(struct ops_batch *batch, const struct twheel_op *op)
{
	u64 ns = op->time_ns;

	if (op->flags & TWHEEL_ABS) {
		ns = tw_timens_add(ns, -batch->offset);
	} else {
		if (!batch->now)
			batch->now = tw_file_now(batch->file);
		if (unlikely(check_add_overflow(ns, batch->now, &ns)))
			return TWHEEL_NEVER_NS;
	}
	return min_t(u64, ns, TWHEEL_NEVER_NS);
}

/* Delays on a clock that can be set are refused. */
static bool op_time_valid(const struct tw_file *file, const struct twheel_op *op, u32 flags)
{
	return !(op->flags & ~flags) &&
	       (op->flags & TWHEEL_ABS || !tw_clock_can_be_set(file->clock));
}

/* Whether an operation names its timer, and nothing else. */
static bool op_is_bare(const struct twheel_op *op)
{
	return !(op->flags | op->cookie | op->time_ns | op->period_ns | op->slack_ns);
}

static __always_inline void op_enqueue(struct ops_batch *batch, struct tw_entry *entry)
{
	u64 ns = entry->deadline_ns;

	if (unlikely(entry->slack_ns))
		ns = tw_wheel_share(&batch->file->wheel, ns, entry->slack_ns);
	batch->wake |= tw_due_enqueue(batch->file, &entry->node, ns);
}

static __always_inline s64 op_arm(struct ops_batch *batch, struct twheel_op *op)
{
	struct tw_file *file = batch->file;
	struct tw_entry *entry;

	if (unlikely(!op_time_valid(file, op, TWHEEL_ABS) ||
		     max(op->period_ns, op->slack_ns) > TWHEEL_NEVER_NS ||
		     (op->period_ns && file->act)))
		return -EINVAL;
	if (unlikely(file->table.used >= file->max_timers))
		return -ENOSPC;
	if (unlikely(!file->table.free))
		return OPS_NEED_ROOM;
	entry = tw_table_take(&file->table);
	entry->cookie = op->cookie;
	entry->deadline_ns = op_deadline(batch, op);
	entry->period_ns = op->period_ns;
	entry->slack_ns = op->slack_ns;
	op_enqueue(batch, entry);
	file->armed++;
	tw_file_trace(arm, file, &entry->node, entry->deadline_ns);
	op->id = entry->id;
	op->deadline_ns = tw_timens_add(entry->deadline_ns, batch->offset);
	return 0;
}

/* A timer ends before its event is read. */
static __always_inline void op_end(struct tw_file *file, struct tw_entry *entry)
{
	tw_file_trace(cancel, file, &entry->node, entry->deadline_ns);
	tw_wheel_dequeue(&file->wheel, &entry->node);
	tw_table_put(&file->table, entry);
	file->cancelled++;
}

static __always_inline s64 op_cancel(struct tw_file *file, const struct twheel_op *op)
{
	struct tw_entry *entry;

	if (unlikely(!op_is_bare(op)))
		return -EINVAL;
	entry = tw_table_find(&file->table, op->id);
	if (unlikely(!entry))
		return -ENOENT;
	op_end(file, entry);
	return 1;
}

static __always_inline s64 op_modify(struct ops_batch *batch, struct twheel_op *op)
{
	struct tw_file *file = batch->file;
	struct tw_entry *entry;
	u64 deadline;

	if (unlikely(!op_time_valid(file, op, TWHEEL_ABS | TWHEEL_LATER) ||
		     op->cookie | op->period_ns | op->slack_ns))
		return -EINVAL;
	entry = tw_table_find(&file->table, op->id);
	if (unlikely(!entry))
		return -ENOENT;
	deadline = op_deadline(batch, op);
	if (op->flags & TWHEEL_LATER && deadline <= entry->deadline_ns) {
		op->deadline_ns = tw_timens_add(entry->deadline_ns, batch->offset);
		return 0;
	}
	entry->deadline_ns = deadline;
	if (likely(!entry->slack_ns &&
		   tw_word(deadline) >= (u64)atomic64_read(&entry->node.word))) {
		/* The wheel moves it when it is reached. */
		atomic64_set(&entry->node.word, tw_word(deadline));
	} else {
		tw_wheel_dequeue(&file->wheel, &entry->node);
		op_enqueue(batch, entry);
	}
	tw_file_trace(modify, file, &entry->node, deadline);
	op->deadline_ns = tw_timens_add(deadline, batch->offset);
	return 1;
}

static s64 op_query(const struct ops_batch *batch, struct twheel_op *op)
{
	const struct tw_wheel *w = &batch->file->wheel;
	struct tw_entry *entry;

	if (!op_is_bare(op))
		return -EINVAL;
	entry = tw_table_find(&batch->file->table, op->id);
	if (!entry)
		return -ENOENT;
	op->deadline_ns = tw_timens_add(entry->deadline_ns, batch->offset);
	return tw_wheel_ceil(w, atomic64_read(&entry->node.word)) <=
	       tw_wheel_floor(w, tw_file_now(batch->file));
}

/*
 * Timers that are armed meanwhile need not be cancelled. A task that is killed stops: an array
 * may have hundreds of these, over a table of millions.
 */
static s64 op_cancel_all(struct ops_batch *batch, const struct twheel_op *op)
{
	struct tw_table *table = &batch->file->table;
	u32 count = table->count, i;
	s64 done = 0;

	if (!op_is_bare(op) || op->id)
		return -EINVAL;
	for (i = 0; i < count; i++) {
		struct tw_entry *entry = tw_table_at(table, i);

		if (i && !(i % OPS_CANCEL_SLICE)) {
			ops_end(batch);
			cond_resched();
			ops_begin(batch);
			if (fatal_signal_pending(current))
				break;
		}
		if (!tw_entry_is_free(entry)) {
			op_end(batch->file, entry);
			done++;
		}
	}
	return done;
}

static s64 op_kick(struct ops_batch *batch, const struct twheel_op *op)
{
	if (!op_is_bare(op))
		return -EINVAL;
	return tw_due_kick(batch->file, op->id, &batch->wake);
}

static s64 op_advance(struct ops_batch *batch, struct twheel_op *op)
{
	struct tw_file *file = batch->file;
	u64 now;

	if (file->clock != TWHEEL_VIRTUAL || !op_time_valid(file, op, TWHEEL_ABS) ||
	    op->id | op->cookie | op->period_ns | op->slack_ns)
		return -EINVAL;
	now = op_deadline(batch, op);
	if (now < file->virtual_ns || now >= TWHEEL_NEVER_NS)
		return -ERANGE;
	WRITE_ONCE(file->virtual_ns, now);
	batch->now = now;
	op->deadline_ns = now;
	batch->wake |= tw_due_advanced(file, now);
	return 0;
}

/* What programs do now and then. */
static s64 op_do_rare(struct ops_batch *batch, struct twheel_op *op)
{
	switch (op->op) {
	case TWHEEL_OP_QUERY:
		return op_query(batch, op);
	case TWHEEL_OP_CANCEL_ALL:
		return op_cancel_all(batch, op);
	case TWHEEL_OP_KICK:
		return op_kick(batch, op);
	case TWHEEL_OP_ADVANCE:
		return op_advance(batch, op);
	default:
		return -EINVAL;
	}
}

/* With the file's lock, which may be released meanwhile: do an operation. */
static __always_inline s64 op_do(struct ops_batch *batch, struct twheel_op *op)
{
	struct ops_batch rare_batch __uninitialized;
	struct twheel_op rare __uninitialized;
	s64 result;

	lockdep_assert_held(&batch->file->lock);
	/* Compared one by one: a mispredicted jump table costs more. */
	if (op->op == TWHEEL_OP_ARM)
		return op_arm(batch, op);
	if (op->op == TWHEEL_OP_CANCEL)
		return op_cancel(batch->file, op);
	if (op->op == TWHEEL_OP_MODIFY)
		return op_modify(batch, op);
	/* Copies, as these have to be in memory. */
	rare = *op;
	rare_batch = *batch;
	result = op_do_rare(&rare_batch, &rare);
	op->deadline_ns = rare.deadline_ns;
	*batch = rare_batch;
	return result;
}

/* One operation, under a hold of the lock of its own. */
static __always_inline s64 ops_run_one(struct tw_file *file, struct twheel_op *op)
{
	struct ops_batch batch __uninitialized;
	s64 result;

	batch.file = file;
	batch.offset = op->op == TWHEEL_OP_CANCEL ? 0 : tw_timens_offset(file->clock);
	do {
		ops_begin(&batch);
		result = op_do(&batch, op);
		ops_end(&batch);
		if (likely(result != OPS_NEED_ROOM))
			return result;
		result = table_ensure_free(file);
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
	struct ops_batch batch __uninitialized;
	unsigned int i;

	batch.file = file;
	batch.offset = tw_timens_offset(file->clock);
	ops_begin(&batch);
	ops_prefetch(file, ops, count);
	for (i = 0; i < count; i++) {
		s64 result = op_do(&batch, &ops[i]);

		if (unlikely(result == OPS_NEED_ROOM)) {
			ops_end(&batch);
			result = ops_run_one(file, &ops[i]);
			ops_begin(&batch);
		}
		ops[i].result = result;
	}
	ops_end(&batch);
}

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

	/* An array may end where no program has memory. What comes before that is done. */
	while (!user_access_begin(begin, count * ops->stride))
		if (!--count)
			return 0;
	for (i = 0; i < count; i++, user += ops->stride)
		if (!(answer ? ops_put(&some[i], user) : ops_get(&some[i], user)))
			break;
	user_access_end();
	return i;
}

static void ops_cancel(struct tw_file *file, u64 id)
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
		if (tail == -EFAULT)
			return 0;
		count = 1;
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

/*
 * tw_ops_all() - TWHEEL_IOC_OPS
 * @ops: valid, and not empty
 *
 * Return: how many operations are done, or an error if none is.
 */
long tw_ops_all(struct tw_file *file, const struct twheel_ops *ops)
{
	u32 done = 0, now;

	while (done < ops->count) {
		now = ops_do_some(file, ops, done);
		done += now;
		if (!now || (done >= TW_OPS_BURST && signal_pending(current)))
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
