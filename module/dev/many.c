// SPDX-License-Identifier: GPL-2.0-only
/*
 * Many timers at once, in two words or one each: for what batches are used for most, at
 * half their price.
 *
 * They are copied by chunks, word by word. The results of a chunk are on two pages at most.
 * So whether they can be written is tried with the first and the last of them, before
 * anything happens. What is there is written again: if no result comes, it stays, and may be
 * an element that is not done yet.
 */
#include <linux/build_bug.h>
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/limits.h>
#include <linux/sched/signal.h>
#include <linux/uaccess.h>

#include "../compat.h"
#include "batch.h"
#include "many.h"
#include "op.h"
#include "run.h"
#include "store.h"
#include "table.h"

/**
 * struct many_chunk - a chunk, in the buffer of batches
 * @news: to arm: the timers
 * @ids: their identifiers; later, to cancel, the results
 */
struct many_chunk {
	struct twheel_new news[TW_RUN_MAX];
	u64 ids[TW_RUN_MAX];
};

static_assert(sizeof(struct many_chunk) <= TW_BATCH_BUFFER);

/* Fetch timers to arm. Returns how many could be read. */
static unsigned int many_fetch_news(struct twheel_new *news,
				    const struct twheel_new __user *user,
				    unsigned int count)
{
	unsigned int i = 0;

	if (!user_read_access_begin(user, count * sizeof(*user)))
		return 0;
	for (; i < count; i++) {
		unsafe_get_user(news[i].deadline_ns, &user[i].deadline_ns, fault);
		unsafe_get_user(news[i].cookie, &user[i].cookie, fault);
	}
fault:
	user_read_access_end();
	return i;
}

/* Fetch identifiers. Returns how many could be read. */
static unsigned int many_fetch_ids(u64 *ids, const u64 __user *user, unsigned int count)
{
	unsigned int i = 0;

	if (!user_read_access_begin(user, count * sizeof(*user)))
		return 0;
	for (; i < count; i++)
		unsafe_get_user(ids[i], &user[i], fault);
fault:
	user_read_access_end();
	return i;
}

/* How many results can be written? All, or the first one, or none. */
static unsigned int many_probe(u64 __user *user, unsigned int count)
{
	unsigned int good = 0;
	u64 word;

	if (!count || !user_access_begin(user, count * sizeof(*user)))
		return 0;
	unsafe_get_user(word, user, fault);
	unsafe_put_user(word, user, fault);
	good = 1;
	unsafe_get_user(word, user + count - 1, fault);
	unsafe_put_user(word, user + count - 1, fault);
	good = count;
fault:
	user_access_end();
	return good;
}

/* Write results. Returns how many could be written. */
static unsigned int many_answer(u64 __user *user, const u64 *results, unsigned int count)
{
	unsigned int i = 0;

	if (!user_write_access_begin(user, count * sizeof(*user)))
		return 0;
	for (; i < count; i++)
		unsafe_put_user(results[i], &user[i], fault);
fault:
	user_write_access_end();
	return i;
}

/* In a plain run: arm timers up to the first that cannot be. Returns how many. */
static unsigned int many_arm_plain(struct tw_run *run, const struct twheel_new *news,
				   u64 *ids, unsigned int count, bool absolute, int *error)
{
	struct tw_file *file = run->file;
	unsigned int most = min(count, file->max_timers - file->timers), i;
	int ret = most < count ? -ENOSPC : 0;

	for (i = 0; i < most; i++) {
		u64 deadline = news[i].deadline_ns;
		int now;

		if (unlikely(deadline > TWHEEL_DELAY_NEVER)) {
			ret = -EINVAL;
			break;
		}
		if (!absolute)
			deadline = tw_run_after(run, deadline);
		now = tw_table_arm_plain(file, deadline, news[i].cookie, &ids[i]);
		if (unlikely(now)) {
			ret = now;
			break;
		}
	}
	file->timers += i;
	file->armed += i;
	*error = ret;
	return i;
}

/* In any run, as their own ioctls would. */
static unsigned int many_arm_any(struct tw_run *run, const struct twheel_new *news, u64 *ids,
				 unsigned int count, u32 flags, int *error)
{
	unsigned int i;

	*error = -EOPNOTSUPP;
	/* There the program chooses the cell, and needs no call. */
	if (run->file->ops->mapped)
		return 0;
	for (i = 0; i < count; i++) {
		struct twheel_op op = {
			.op = TWHEEL_OP_ARM,
			.flags = flags,
			.deadline_ns = news[i].deadline_ns,
			.cookie = news[i].cookie,
		};

		*error = tw_op_arm(run, &op);
		if (*error)
			break;
		ids[i] = op.id;
	}
	return i;
}

/* Arm timers up to the first that cannot be. Returns how many, and the error of that one. */
static unsigned int many_arm_some(struct tw_file *file, struct many_chunk *chunk,
				  unsigned int count, u32 flags, int *error)
{
	struct tw_run run __uninitialized;
	unsigned int done = 0;

	while (done < count) {
		const struct twheel_new *news = chunk->news + done;
		u64 *ids = chunk->ids + done;

		tw_run_begin(&run, file);
		if (likely(run.plain && !(flags & TWHEEL_MONOTONIC)))
			done += many_arm_plain(&run, news, ids, count - done,
					       flags & TWHEEL_ABS, error);
		else
			done += many_arm_any(&run, news, ids, count - done, flags, error);
		tw_run_end(&run);
		if (tw_run_has_need(*error))
			*error = tw_op_provide(file, *error);
		if (*error)
			break;
	}
	return done;
}

/* Cancel timers whose identifiers the program cannot get: its memory went away. */
static void many_undo(struct tw_file *file, const u64 *ids, unsigned int count)
{
	unsigned int i;

	for (i = 0; i < count; i++) {
		struct twheel_op op = { .op = TWHEEL_OP_CANCEL, .id = ids[i] };

		tw_op_run_one(file, &op);
	}
}

/* Do up to a chunk. Returns how many are armed and answered, and why it is not all. */
static unsigned int many_arm_chunk(struct tw_file *file, struct many_chunk *chunk,
				   const struct twheel_new __user *user,
				   u64 __user *results, unsigned int count,
				   u32 flags, int *error)
{
	unsigned int armed, answered;

	count = many_fetch_news(chunk->news, user, min(count, TW_RUN_MAX));
	count = many_probe(results, count);
	armed = many_arm_some(file, chunk, count, flags, error);
	answered = many_answer(results, chunk->ids, armed);
	if (unlikely(answered < armed))
		many_undo(file, chunk->ids + answered, armed - answered);
	if (unlikely(!count || answered < armed))
		*error = -EFAULT;
	return answered;
}

static bool many_is_valid(const struct twheel_many *many, u32 flags)
{
	return !(many->flags & ~flags || many->reserved || many->count > INT_MAX) &&
	       IS_ALIGNED(many->elements | many->results, sizeof(u64));
}

/* After some elements: may the call go on with the next ones? */
static bool many_goes_on(u32 done)
{
	cond_resched();
	return done < TW_BATCH_UNBROKEN || !signal_pending(current);
}

/*
 * tw_many_arm() - TWHEEL_IOC_ARM_MANY
 *
 * Return: how many timers are armed, or an error if none is.
 */
long tw_many_arm(struct tw_file *file, const struct twheel_many *many)
{
	const struct twheel_new __user *user = u64_to_user_ptr(many->elements);
	u64 __user *results = u64_to_user_ptr(many->results);
	struct many_chunk *chunk;
	int error = 0;
	u32 done = 0;

	if (!many_is_valid(many, TWHEEL_ABS | TWHEEL_MONOTONIC))
		return -EINVAL;
	chunk = tw_batch_get_buffer(file);
	if (!chunk)
		return -ENOMEM;
	while (done < many->count && !error && many_goes_on(done))
		done += many_arm_chunk(file, chunk, user + done, results + done,
				       many->count - done, many->flags, &error);
	tw_batch_put_buffer(file, chunk);
	return done ?: error;
}

/* Each identifier becomes the result of its cancel. */
static void many_cancel_some(struct tw_file *file, u64 *ids, unsigned int count)
{
	struct tw_entry *entries[TW_RUN_MAX] __uninitialized;
	struct tw_run run __uninitialized;
	unsigned int i;

	tw_run_begin(&run, file);
	/* With millions of timers each entry is a cache miss: have them all come. */
	for (i = 0; i < count; i++) {
		entries[i] = tw_entries_look_up(&file->entries, ids[i]);
		tw_entry_prefetch(entries[i]);
	}
	for (i = 0; i < count; i++) {
		if (likely(run.plain && tw_table_cancel_plain(&run, entries[i], ids[i])))
			ids[i] = 0;
		else
			ids[i] = (s64)tw_op_cancel(&run, ids[i]);
	}
	tw_run_end(&run);
}

static unsigned int many_cancel_chunk(struct tw_file *file, const u64 __user *user,
				      u64 __user *results, unsigned int count)
{
	u64 ids[TW_RUN_MAX] __uninitialized;

	count = many_fetch_ids(ids, user, min(count, TW_RUN_MAX));
	if (results)
		count = many_probe(results, count);
	many_cancel_some(file, ids, count);
	return results ? many_answer(results, ids, count) : count;
}

/*
 * tw_many_cancel() - TWHEEL_IOC_CANCEL_MANY
 *
 * Return: how many identifiers are done, or an error if none is.
 */
long tw_many_cancel(struct tw_file *file, const struct twheel_many *many)
{
	const u64 __user *user = u64_to_user_ptr(many->elements);
	u64 __user *results = u64_to_user_ptr(many->results);
	u32 done = 0;

	if (!many_is_valid(many, 0))
		return -EINVAL;
	while (done < many->count && many_goes_on(done)) {
		unsigned int now = many_cancel_chunk(file, user + done,
						     results ? results + done : NULL,
						     many->count - done);

		if (!now)
			break;
		done += now;
	}
	if (!done && many->count)
		return -EFAULT;
	return done;
}
