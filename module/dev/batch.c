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

#include "../compat.h"
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
static void __user *batch_element(const struct twheel_batch *batch, u32 i)
{
	return u64_to_user_ptr(batch->ops + (u64)i * batch->op_size);
}

/*
 * Between user_access_begin() and user_access_end(): fetch an operation. All that must be
 * 0 before it is done comes into one word.
 */
static __always_inline bool batch_get(union batch_op *op,
				      const union batch_op __user *user)
{
	u64 zero, reserved;

#define BATCH_GET(n)	unsafe_get_user(op->word[n], &user->word[n], fault)
	BATCH_GET(0);
	BATCH_GET(1);
	BATCH_GET(2);
	BATCH_GET(3);
	BATCH_GET(4);
	BATCH_GET(5);
	unsafe_get_user(zero, &user->word[BATCH_WORD(result)], fault);
	unsafe_get_user(reserved, &user->word[BATCH_WORD(reserved)], fault);
	op->word[BATCH_WORD(result)] = zero | reserved;
#undef BATCH_GET
	return true;
fault:
	return false;
}

/*
 * Likewise: can operations from the first to the last be answered? They are on two pages
 * at most. An answer begins with the flags and ends with the result.
 */
static __always_inline bool batch_probe(const union batch_op *op,
					union batch_op __user *first,
					union batch_op __user *last)
{
	unsafe_put_user(op->op.flags, &first->op.flags, fault);
	unsafe_put_user(0, &last->op.result, fault);
	return true;
fault:
	return false;
}

/* Likewise: answer an operation. */
static __always_inline bool batch_put(const union batch_op *op,
				      union batch_op __user *user)
{
#define BATCH_PUT(n)	unsafe_put_user(op->word[n], &user->word[n], fault)
	if (op->op.op == TWHEEL_OP_ARM) {
		BATCH_PUT(BATCH_WORD(id));
		BATCH_PUT(BATCH_WORD(deadline_ns));
	} else if (op->op.op == TWHEEL_OP_MODIFY) {
		BATCH_PUT(BATCH_WORD(deadline_ns));
	} else if (op->op.op == TWHEEL_OP_QUERY) {
		BATCH_PUT(BATCH_WORD(cookie));
		BATCH_PUT(BATCH_WORD(deadline_ns));
		BATCH_PUT(BATCH_WORD(period_ns));
		BATCH_PUT(BATCH_WORD(slack_ns));
	}
	if (unlikely(op->op.flags & TWHEEL_MONOTONIC))
		unsafe_put_user(op->op.flags, &user->op.flags, fault);
	BATCH_PUT(BATCH_WORD(result));
#undef BATCH_PUT
	return true;
fault:
	return false;
}

/* Fetch operations. Returns how many could be read; 0 if they cannot all be answered. */
static unsigned int batch_fetch(const struct twheel_batch *batch, u32 first,
				union batch_op *ops, unsigned int count)
{
	void __user *begin = batch_element(batch, first), *user = begin;
	const union batch_op *end = ops + count;
	const size_t size = batch->op_size;
	union batch_op *op = ops;

	if (!user_access_begin(begin, count * size))
		return 0;
	for (; op < end && batch_get(op, user); op++)
		user += size;
	if (op > ops && !batch_probe(ops, begin, user - size))
		op = ops;
	user_access_end();
	return op - ops;
}

/* Answer operations. Returns how many could be answered. */
static unsigned int batch_answer(const struct twheel_batch *batch, u32 first,
				 const union batch_op *ops, unsigned int count)
{
	void __user *user = batch_element(batch, first);
	const union batch_op *end = ops + count, *op = ops;
	const size_t size = batch->op_size;

	if (!user_access_begin(user, count * size))
		return 0;
	for (; op < end && batch_put(op, user); op++)
		user += size;
	user_access_end();
	return op - ops;
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
			tw_op_run_one(file, &op);
	}
}

/* An element may be longer than the kernel knows: there must be only zeroes in the rest. */
static int batch_check_tail(union batch_op __user *element, size_t size)
{
	int ret = check_zeroed_user(element + 1, size - sizeof(*element));

	return ret == 1 ? 0 : ret ?: -E2BIG;
}

/* Returns how many from @first on have such a rest, or an error if the first has not. */
static int batch_count_empty_tails(const struct twheel_batch *batch, u32 first,
				   unsigned int count)
{
	unsigned int i;

	for (i = 0; i < count; i++) {
		int ret = batch_check_tail(batch_element(batch, first + i),
					   batch->op_size);

		if (ret)
			return i ?: ret;
	}
	return i;
}

/*
 * How many operations from @first on are tried together. They span a page at most, so they
 * are on two.
 */
static unsigned int batch_chunk(const struct twheel_batch *batch, u32 first)
{
	BUILD_BUG_ON(BATCH_OP_SIZE_MAX > PAGE_SIZE);
	return min3(batch->count - first, TW_RUN_MAX,
		    (u32)(BATCH_OP_SIZE_MAX / batch->op_size));
}

/*
 * Do up to a chunk of operations from @first on, in @ops. Returns how many are done and
 * answered: 0 if their memory is not there.
 */
static unsigned int batch_do_chunk(struct tw_file *file,
				   const struct twheel_batch *batch, u32 first,
				   union batch_op *ops)
{
	unsigned int count = batch_chunk(batch, first);
	unsigned int fetched, answered;
	int ret;

	if (unlikely(batch->op_size > sizeof(*ops))) {
		ret = batch_count_empty_tails(batch, first, count);
		if (ret == -E2BIG) {
			fetched = batch_fetch(batch, first, ops, 1);
			ops[0].op = (struct twheel_op) { .result = ret };
			return fetched ? batch_answer(batch, first, ops, 1) : 0;
		}
		if (ret < 0)
			return 0;
		count = ret;
	}
	fetched = batch_fetch(batch, first, ops, count);
	/* The first may be on a page that can be written, unlike the last. */
	if (unlikely(!fetched))
		fetched = batch_fetch(batch, first, ops, 1);
	tw_op_run(file, &ops[0].op, fetched);
	answered = batch_answer(batch, first, ops, fetched);
	if (unlikely(answered < fetched))
		batch_undo(file, ops + answered, fetched - answered);
	return answered;
}

/*
 * tw_batch_get_buffer() - TW_BATCH_BUFFER bytes, until tw_batch_put_buffer(); or NULL
 *
 * A file keeps one buffer, because allocating one for each batch costs more.
 */
void *tw_batch_get_buffer(struct tw_file *file)
{
	void *buffer = xchg(&file->buffer, NULL);

	return buffer ?: kmalloc(TW_BATCH_BUFFER, GFP_KERNEL_ACCOUNT);
}

void tw_batch_put_buffer(struct tw_file *file, void *buffer)
{
	kfree(xchg(&file->buffer, buffer));
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

	ops = tw_batch_get_buffer(file);
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
	tw_batch_put_buffer(file, ops);
	if (!done && batch->count)
		return -EFAULT;
	return done;
}

static __always_inline bool batch_fetch_one(union batch_op *op, union batch_op __user *user,
					    bool answered)
{
	bool there;

	if (!user_access_begin(user, sizeof(*user)))
		return false;
	there = batch_get(op, user) && (!answered || batch_probe(op, user, user));
	user_access_end();
	return there;
}

static __always_inline bool batch_answer_one(const union batch_op *op,
					     union batch_op __user *user)
{
	bool there;

	if (!user_access_begin(user, sizeof(*user)))
		return false;
	there = batch_put(op, user);
	user_access_end();
	return there;
}

/*
 * tw_batch_one() - the ioctl of one operation
 * @arg: the operation
 * @size: its size, as the program knows it
 * @code: which operation
 * @answered: the program gets an answer in @arg
 *
 * Return: the result of the operation, or an error.
 */
long tw_batch_one(struct tw_file *file, void __user *arg, size_t size,
		  u32 code, bool answered)
{
	union batch_op __user *user = arg;
	union batch_op op __uninitialized;
	int ret;

	if (unlikely(size > sizeof(op))) {
		ret = batch_check_tail(user, size);
		if (ret)
			return ret;
	}
	if (unlikely(!batch_fetch_one(&op, user, answered)))
		return -EFAULT;
	if (unlikely(op.op.op))
		return -EINVAL;
	op.op.op = code;
	tw_op_run_one(file, &op.op);
	ret = op.op.result;
	if (ret < 0 || !answered)
		return ret;
	op.op.result = 0;
	/* Or the compiler keeps the address of each word in a register. */
	OPTIMIZER_HIDE_VAR(user);
	if (unlikely(!batch_answer_one(&op, user))) {
		op.op.result = ret;
		batch_undo(file, &op, 1);
		return -EFAULT;
	}
	return ret;
}
