// SPDX-License-Identifier: GPL-2.0-only
/*
 * Operations that travel together: in by chunks, done under one lock, out again.
 *
 * An operation is 64 bytes. Copied word by word it costs less than setting up a
 * copy would, and of the answer only those words go back that have changed.
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

/* So many are done with the lock held: some microseconds. */
#define CHUNK	32U

/* Longer elements are not even looked at. */
#define OP_SIZE_MAX	4096U

#define OP_WORDS	(sizeof(struct twheel_op) / sizeof(u64))

/**
 * union words - an operation, and the words that it is copied by
 * @op: the operation
 * @word: the words
 */
union words {
	struct twheel_op op;
	u64 word[OP_WORDS];
};

#define WORD(field)	(offsetof(struct twheel_op, field) / sizeof(u64))

static_assert(OP_WORDS == 8);
/* The answer: one word for all, and more for two of them. */
static_assert(WORD(state) == WORD(result));
static_assert(WORD(slack_ns) == WORD(cookie) + 3);

/* The operation @i of an array whose elements may be longer than we know. */
static union words __user *element(const struct twheel_batch *batch, u32 i)
{
	return u64_to_user_ptr(batch->ops + (u64)i * batch->op_size);
}

/*
 * Fetch operations. Returns how many of them are there.
 * @answered: see that they can be answered: their results become 0. An answer begins
 *	with the identifier and ends with the result, and what is between them is on
 *	the page of one or the other
 */
static __always_inline unsigned int
fetch(const struct twheel_batch *batch, u32 first, union words *ops,
      unsigned int count, bool answered)
{
	union words __user *user = element(batch, first);
	unsigned int i = 0;

#define GET(n)	unsafe_get_user(ops[i].word[n], &user->word[n], fault)
	if (!user_access_begin(user, (size_t)count * batch->op_size))
		return 0;
	for (; i < count; i++) {
		GET(0);
		GET(1);
		GET(2);
		GET(3);
		GET(4);
		GET(5);
		GET(7);
		ops[i].word[WORD(result)] = 0;
		if (answered) {
			unsafe_put_user(ops[i].word[WORD(id)],
					&user->word[WORD(id)], fault);
			unsafe_put_user(0, &user->word[WORD(result)], fault);
		}
		user = (void __user *)user + batch->op_size;
	}
fault:
	user_access_end();
#undef GET
	return i;
}

/* Answer operations. Returns how many could be. */
static unsigned int answer(const struct twheel_batch *batch, u32 first,
			   const union words *ops, unsigned int count)
{
	union words __user *user = element(batch, first);
	unsigned int i = 0;

#define PUT(n)	unsafe_put_user(ops[i].word[n], &user->word[n], fault)
	if (!user_access_begin(user, (size_t)count * batch->op_size))
		return 0;
	for (; i < count; i++) {
		if (ops[i].op.op == TWHEEL_OP_ARM) {
			PUT(WORD(id));
			PUT(WORD(deadline_ns));
		} else if (ops[i].op.op == TWHEEL_OP_QUERY) {
			PUT(WORD(cookie));
			PUT(WORD(deadline_ns));
			PUT(WORD(period_ns));
			PUT(WORD(slack_ns));
		}
		PUT(WORD(result));
		user = (void __user *)user + batch->op_size;
	}
fault:
	user_access_end();
#undef PUT
	return i;
}

/* The memory went away just now: nobody learns of these timers. */
static void undo(struct tw_file *file, union words *ops, unsigned int count)
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
 * Of elements longer than ours, how many have nothing in the rest? A negative
 * number is what is wrong with the first.
 */
static int tails_empty(const struct twheel_batch *batch, u32 first,
		       unsigned int count)
{
	unsigned int i;

	for (i = 0; i < count; i++) {
		void __user *tail = element(batch, first + i) + 1;
		int ret;

		ret = check_zeroed_user(tail, batch->op_size -
					sizeof(union words));
		if (ret == 1)
			continue;
		if (i)
			break;
		return ret ?: -E2BIG;
	}
	return i;
}

/*
 * Do operations from @first on, as many as a chunk, in @ops. Returns how many are
 * done and answered: 0, if their memory is not there.
 */
static unsigned int do_chunk(struct tw_file *file,
			     const struct twheel_batch *batch, u32 first,
			     union words *ops)
{
	unsigned int count = min(batch->count - first, CHUNK);
	unsigned int fetched, answered;
	int ret;

	if (unlikely(batch->op_size > sizeof(*ops))) {
		ret = tails_empty(batch, first, count);
		if (ret == -E2BIG) {
			fetched = fetch(batch, first, ops, 1, true);
			ops[0].op = (struct twheel_op) { .result = ret };
			return fetched ? answer(batch, first, ops, 1) : 0;
		}
		if (ret < 0)
			return 0;
		count = ret;
	}
	fetched = fetch(batch, first, ops, count, true);
	tw_op_run(file, &ops[0].op, fetched);
	answered = answer(batch, first, ops, fetched);
	if (unlikely(answered < fetched))
		undo(file, ops + answered, fetched - answered);
	return answered;
}

/* A file keeps one, rather than have the kernel clear another each time. */
static union words *get_buffer(struct tw_file *file)
{
	union words *ops = xchg(&file->buffer, NULL);

	return ops ?: kmalloc_array(CHUNK, sizeof(*ops), GFP_KERNEL_ACCOUNT);
}

static void put_buffer(struct tw_file *file, union words *ops)
{
	kfree(xchg(&file->buffer, ops));
}

/*
 * tw_batch() - TWHEEL_IOC_BATCH
 *
 * Return: how many operations are done, or an error if that is none.
 */
long tw_batch(struct tw_file *file, const struct twheel_batch *batch)
{
	union words *ops;
	u32 done = 0;

	if (batch->flags || batch->done || batch->reserved ||
	    batch->count > INT_MAX || !IS_ALIGNED(batch->ops, sizeof(u64)) ||
	    batch->op_size < sizeof(struct twheel_op) ||
	    batch->op_size > OP_SIZE_MAX ||
	    !IS_ALIGNED(batch->op_size, sizeof(u64)))
		return -EINVAL;

	ops = get_buffer(file);
	if (!ops)
		return -ENOMEM;
	while (done < batch->count) {
		unsigned int now = do_chunk(file, batch, done, ops);

		done += now;
		if (!now || (done >= TW_BATCH_UNBROKEN &&
			     signal_pending(current)))
			break;
		cond_resched();
	}
	put_buffer(file, ops);
	if (!done && batch->count)
		return -EFAULT;
	return done;
}

/*
 * tw_batch_one() - the ioctl of one operation
 * @user: the operation
 * @size: its size, as the program knows it
 * @code: which operation
 * @answered: does the program get an answer in @user?
 *
 * Return: the result of the operation, or an error.
 */
long tw_batch_one(struct tw_file *file, void __user *user, size_t size,
		  u32 code, bool answered)
{
	const struct twheel_batch batch = {
		.ops = (uintptr_t)user, .op_size = size, .count = 1,
	};
	union words ops[1];
	int ret;

	if (unlikely(size > sizeof(*ops))) {
		ret = tails_empty(&batch, 0, 1);
		if (ret < 0)
			return ret;
	}
	if (!(answered ? fetch(&batch, 0, ops, 1, true) :
			 fetch(&batch, 0, ops, 1, false)))
		return -EFAULT;
	if (ops->op.op)
		return -EINVAL;
	ops->op.op = code;
	tw_op_run(file, &ops->op, 1);
	ret = ops->op.result;
	if (ret || !answered)
		return ret;
	if (unlikely(!answer(&batch, 0, ops, 1))) {
		undo(file, ops, 1);
		return -EFAULT;
	}
	return 0;
}
