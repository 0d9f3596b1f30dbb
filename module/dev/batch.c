// SPDX-License-Identifier: GPL-2.0-only
/*
 * Operations that travel together: copied in by chunks, done under one hold of the
 * file's lock, and answered.
 *
 * An operation is 64 bytes. Copying it word by word costs less than setting up a copy,
 * and only those words of the answer are written that have changed.
 */
#include <linux/build_bug.h>
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "batch.h"
#include "file.h"
#include "op.h"

/* Longer elements are refused. */
#define BATCH_OP_SIZE_MAX	4096U

#define BATCH_OP_WORDS	(sizeof(struct twheel_op) / sizeof(u64))

/**
 * union batch_op - an operation, and the words that are copied
 * @op: the operation
 * @word: the words
 */
union batch_op {
	struct twheel_op op;
	u64 word[BATCH_OP_WORDS];
};

#define BATCH_WORD(field)	(offsetof(struct twheel_op, field) / sizeof(u64))

static_assert(BATCH_OP_WORDS == 8);
/* The answer of every operation is one word; arm, modify and query have more. */
static_assert(BATCH_WORD(state) == BATCH_WORD(result));
static_assert(BATCH_WORD(slack_ns) == BATCH_WORD(cookie) + 3);

/* The operation @i of an array whose elements may be longer than we know. */
static union batch_op __user *batch_element(const struct twheel_batch *batch,
					    u32 i)
{
	return u64_to_user_ptr(batch->ops + (u64)i * batch->op_size);
}

/*
 * Fetch operations. Returns how many could be read.
 * @answered: also make sure that they can be answered, by setting their results to 0. An
 *	answer begins with the flags and ends with the result; every word between them
 *	is on the page of one or the other
 */
static __always_inline unsigned int
batch_fetch(const struct twheel_batch *batch, u32 first, union batch_op *ops,
	    unsigned int count, bool answered)
{
	union batch_op __user *user = batch_element(batch, first);
	unsigned int i = 0;

#define BATCH_GET(n)	unsafe_get_user(ops[i].word[n], &user->word[n], fault)
	if (!user_access_begin(user, (size_t)count * batch->op_size))
		return 0;
	for (; i < count; i++) {
		BATCH_GET(0);
		BATCH_GET(1);
		BATCH_GET(2);
		BATCH_GET(3);
		BATCH_GET(4);
		BATCH_GET(5);
		BATCH_GET(6);
		BATCH_GET(7);
		if (answered) {
			unsafe_put_user(ops[i].word[BATCH_WORD(flags)],
					&user->word[BATCH_WORD(flags)], fault);
			unsafe_put_user(0, &user->word[BATCH_WORD(result)], fault);
		}
		user = (void __user *)user + batch->op_size;
	}
fault:
	user_access_end();
#undef BATCH_GET
	return i;
}

/* Answer operations. Returns how many could be answered. */
static unsigned int batch_answer(const struct twheel_batch *batch, u32 first,
				 const union batch_op *ops, unsigned int count)
{
	union batch_op __user *user = batch_element(batch, first);
	unsigned int i = 0;

#define BATCH_PUT(n)	unsafe_put_user(ops[i].word[n], &user->word[n], fault)
	if (!user_access_begin(user, (size_t)count * batch->op_size))
		return 0;
	for (; i < count; i++) {
		if (ops[i].op.op == TWHEEL_OP_ARM) {
			BATCH_PUT(BATCH_WORD(id));
			BATCH_PUT(BATCH_WORD(deadline_ns));
		} else if (ops[i].op.op == TWHEEL_OP_MODIFY) {
			BATCH_PUT(BATCH_WORD(deadline_ns));
		} else if (ops[i].op.op == TWHEEL_OP_QUERY) {
			BATCH_PUT(BATCH_WORD(cookie));
			BATCH_PUT(BATCH_WORD(deadline_ns));
			BATCH_PUT(BATCH_WORD(period_ns));
			BATCH_PUT(BATCH_WORD(slack_ns));
		}
		if (unlikely(ops[i].op.flags & TWHEEL_MONOTONIC))
			unsafe_put_user(ops[i].op.flags, &user->op.flags, fault);
		BATCH_PUT(BATCH_WORD(result));
		user = (void __user *)user + batch->op_size;
	}
fault:
	user_access_end();
#undef BATCH_PUT
	return i;
}

/* Cancel timers whose identifiers the program cannot get: its memory went away. */
static void batch_undo(struct tw_file *file, union batch_op *ops,
		       unsigned int count)
{
	unsigned int i;

	for (i = 0; i < count; i++) {
		struct twheel_op op = {
			.op = TWHEEL_OP_CANCEL, .id = ops[i].op.id,
		};

		if (ops[i].op.op == TWHEEL_OP_ARM && !ops[i].op.result)
			tw_op_run(file, &op, 1);
	}
}

/*
 * Elements may be longer than the kernel knows. Returns how many from @first on have
 * only zeroes in the rest, or an error if the first has not.
 */
static int batch_count_empty_tails(const struct twheel_batch *batch, u32 first,
				   unsigned int count)
{
	unsigned int i;

	for (i = 0; i < count; i++) {
		void __user *tail = batch_element(batch, first + i) + 1;
		int ret;

		ret = check_zeroed_user(tail, batch->op_size -
					sizeof(union batch_op));
		if (ret == 1)
			continue;
		if (i)
			break;
		return ret ?: -E2BIG;
	}
	return i;
}

/*
 * Do up to a chunk of operations from @first on, in @ops. Returns how many are done and
 * answered: 0 if their memory is not there.
 */
static unsigned int batch_do_chunk(struct tw_file *file,
				   const struct twheel_batch *batch, u32 first,
				   union batch_op *ops)
{
	unsigned int count = min(batch->count - first, TW_BATCH_CHUNK);
	unsigned int fetched, answered;
	int ret;

	if (unlikely(batch->op_size > sizeof(*ops))) {
		ret = batch_count_empty_tails(batch, first, count);
		if (ret == -E2BIG) {
			fetched = batch_fetch(batch, first, ops, 1, true);
			ops[0].op = (struct twheel_op) { .result = ret };
			return fetched ? batch_answer(batch, first, ops, 1) : 0;
		}
		if (ret < 0)
			return 0;
		count = ret;
	}
	fetched = batch_fetch(batch, first, ops, count, true);
	tw_op_run(file, &ops[0].op, fetched);
	answered = batch_answer(batch, first, ops, fetched);
	if (unlikely(answered < fetched))
		batch_undo(file, ops + answered, fetched - answered);
	return answered;
}

/* A file keeps one buffer, because allocating one for each batch costs more. */
static union batch_op *batch_get_buffer(struct tw_file *file)
{
	union batch_op *ops = xchg(&file->buffer, NULL);

	return ops ?: kmalloc_array(TW_BATCH_CHUNK, sizeof(*ops),
				    GFP_KERNEL_ACCOUNT);
}

static void batch_put_buffer(struct tw_file *file, union batch_op *ops)
{
	kfree(xchg(&file->buffer, ops));
}

/*
 * tw_batch() - TWHEEL_IOC_BATCH
 *
 * Return: how many operations are done, or an error if none is.
 */
long tw_batch(struct tw_file *file, const struct twheel_batch *batch)
{
	union batch_op *ops;
	u32 done = 0;

	if (batch->flags || batch->done || batch->reserved ||
	    batch->count > INT_MAX || !IS_ALIGNED(batch->ops, sizeof(u64)) ||
	    batch->op_size < sizeof(struct twheel_op) ||
	    batch->op_size > BATCH_OP_SIZE_MAX ||
	    !IS_ALIGNED(batch->op_size, sizeof(u64)))
		return -EINVAL;

	ops = batch_get_buffer(file);
	if (!ops)
		return -ENOMEM;
	while (done < batch->count) {
		unsigned int now = batch_do_chunk(file, batch, done, ops);

		done += now;
		if (!now || (done >= TW_BATCH_UNBROKEN &&
			     signal_pending(current)))
			break;
		cond_resched();
	}
	batch_put_buffer(file, ops);
	if (!done && batch->count)
		return -EFAULT;
	return done;
}

/*
 * tw_batch_one() - the ioctl of one operation
 * @user: the operation
 * @size: its size, as the program knows it
 * @code: which operation
 * @answered: the program gets an answer in @user
 *
 * Return: the result of the operation, or an error.
 */
long tw_batch_one(struct tw_file *file, void __user *user, size_t size,
		  u32 code, bool answered)
{
	const struct twheel_batch batch = {
		.ops = (uintptr_t)user, .op_size = size, .count = 1,
	};
	union batch_op ops[1];
	int ret;

	if (unlikely(size > sizeof(*ops))) {
		ret = batch_count_empty_tails(&batch, 0, 1);
		if (ret < 0)
			return ret;
	}
	if (!(answered ? batch_fetch(&batch, 0, ops, 1, true) :
			 batch_fetch(&batch, 0, ops, 1, false)))
		return -EFAULT;
	if (ops->op.op)
		return -EINVAL;
	ops->op.op = code;
	tw_op_run(file, &ops->op, 1);
	ret = ops->op.result;
	if (ret < 0 || !answered)
		return ret;
	ops->op.result = 0;
	if (unlikely(!batch_answer(&batch, 0, ops, 1))) {
		ops->op.result = ret;
		batch_undo(file, ops, 1);
		return -EFAULT;
	}
	return ret;
}
