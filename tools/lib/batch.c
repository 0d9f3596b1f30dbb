// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/* Many operations at once. */
#define _GNU_SOURCE	/* syscall() */
#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "handle.h"

/* Older 32-bit systems have the first, newer ones only the second. */
#ifndef SYS_futex
#define SYS_futex SYS_futex_time64
#endif

/*
 * Can the memory be read and written? The library itself reads and writes operations on
 * some handles, and would die where the kernel says EFAULT. So the kernel adds 0 to a word
 * of each page, as an atomic operation that belongs to a futex on which nobody waits. If
 * it must not, the memory is taken to be good.
 */
bool memory_accessible(const void *start, size_t bytes)
{
	const uintptr_t page = sysconf(_SC_PAGESIZE);
	uintptr_t at = (uintptr_t)start, end = at + bytes;

	for (; at < end; at = (at | (page - 1)) + 1)
		if (syscall(SYS_futex, at, FUTEX_WAKE_OP_PRIVATE, 0, 0, at,
			    FUTEX_OP(FUTEX_OP_ADD, 0, FUTEX_OP_CMP_EQ, 0)) < 0 &&
		    errno == EFAULT)
			return false;
	return true;
}

/* For a kernel that has no batches: the same results, by as many system calls. */
static int batch_one_by_one(struct twheel *wheel, struct twheel_op *ops,
			    unsigned int count)
{
	unsigned int i;

	for (i = 0; i < count; i++) {
		struct twheel_op op = ops[i];
		int ret;

		op.op = 0;
		ret = op_run(wheel, ops[i].op, &op);
		op.op = ops[i].op;
		op.result = ret;
		ops[i] = op;
	}
	return count;
}

/* One system call. Returns how many operations are done, or -errno. */
static int batch_ioctl(struct twheel *wheel, struct twheel_op *ops,
		       unsigned int count)
{
	struct twheel_batch batch = {
		.ops = (uintptr_t)ops, .op_size = sizeof(*ops), .count = count,
	};
	int ret = ioctl(wheel->fd, TWHEEL_IOC_BATCH, &batch);

	return ret < 0 ? -errno : ret;
}

static int batch_run(struct twheel *wheel, struct twheel_op *ops,
		     unsigned int count)
{
	unsigned int done = 0;
	int ret;

	if (!__atomic_load_n(&wheel->batch, __ATOMIC_RELAXED))
		return batch_one_by_one(wheel, ops, count);
	/* A signal ends a call early, but never before something is done. */
	while (done < count) {
		ret = batch_ioctl(wheel, ops + done, count - done);
		if (ret == -ENOTTY && !done) {
			__atomic_store_n(&wheel->batch, false,
					 __ATOMIC_RELAXED);
			return batch_one_by_one(wheel, ops, count);
		}
		if (ret <= 0)
			return done ? (int)done : ret;
		done += ret;
	}
	return done;
}

/* The kernel has not done this arm, or has refused it: the library does. */
static void batch_arm(struct twheel *wheel, struct twheel_op *op)
{
	op->op = 0;
	op->result = 0;
	op->result = op_arm(wheel, op);
	op->op = TWHEEL_OP_ARM;
}

/* One operation of a batch, by itself. With a mapping, most need no call. */
static int batch_single(struct twheel *wheel, uint32_t code, struct twheel_op *op)
{
	switch (code) {
	case TWHEEL_OP_ARM:
		return op_arm(wheel, op);
	case TWHEEL_OP_CANCEL:
	case TWHEEL_OP_MODIFY:
	case TWHEEL_OP_QUERY:
		return op_perform(wheel, code, op);
	default:
		return -EINVAL;
	}
}

static int batch_each(struct twheel *wheel, struct twheel_op *ops, unsigned int count)
{
	unsigned int i;

	for (i = 0; i < count; i++) {
		struct twheel_op op = ops[i];

		op.op = 0;
		op.result = batch_single(wheel, ops[i].op, &op);
		op.op = ops[i].op;
		ops[i] = op;
	}
	return count;
}

/* All flags of a batch. Four at a time: most batches need no other pass here. */
static uint32_t batch_flags(const struct twheel_op *ops, unsigned int count)
{
	uint32_t flags = 0;

	for (; count >= 4; ops += 4, count -= 4)
		flags |= ops[0].flags | ops[1].flags | ops[2].flags |
			 ops[3].flags;
	for (; count; ops++, count--)
		flags |= ops->flags;
	return flags;
}

/* All by as few calls as possible, and then what only the library knows. */
static int batch_together(struct twheel *wheel, struct twheel_op *ops, unsigned int count)
{
	int done, i;

	done = batch_run(wheel, ops, count);
	/* As a rule the program has taken all events, and has no fixed delays. */
	if (done <= 0 || (!ahead_any(wheel) && !fixed_any(wheel) &&
			  !(batch_flags(ops, done) & TWHEEL_FIXED_DELAY)))
		return done;
	for (i = 0; i < done; i++) {
		/* The kernel does not know that flag, and has refused the arm. */
		if (ops[i].op == TWHEEL_OP_ARM &&
		    ops[i].flags & TWHEEL_FIXED_DELAY)
			batch_arm(wheel, &ops[i]);
		else
			ops[i].result = op_settle(wheel, ops[i].op, &ops[i],
						  ops[i].result);
	}
	return done;
}

/* Must the library know the identifier, or an event, before the kernel does it? */
static bool batch_op_alone(struct twheel *wheel, const struct twheel_op *op)
{
	return (op->op == TWHEEL_OP_ARM && op->flags & TWHEEL_OR_MODIFY) ||
	       op_extends_not(wheel, op->op, op);
}

/* Events have been read ahead, which the kernel does not know any more. */
static int batch_in_parts(struct twheel *wheel, struct twheel_op *ops, unsigned int count)
{
	unsigned int done = 0, end;
	int ret;

	while (done < count) {
		for (end = done; end < count && !batch_op_alone(wheel, &ops[end]);)
			end++;
		if (end == done) {
			done += batch_each(wheel, ops + done, 1);
			continue;
		}
		ret = batch_together(wheel, ops + done, end - done);
		if (ret <= 0)
			return done ? (int)done : ret;
		done += ret;
		if (done < end)
			return done;
	}
	return done;
}

int batch_all(struct twheel *wheel, struct twheel_op *ops, unsigned int count)
{
	bool ahead = ahead_any(wheel);

	if (count > INT_MAX)
		return -EINVAL;
	if (handle_dead(wheel))
		return -ESTALE;
	if ((ahead || wheel->cells.map || !__atomic_load_n(&wheel->batch, __ATOMIC_RELAXED)) &&
	    !memory_accessible(ops, count * sizeof(*ops)))
		return -EFAULT;
	if (wheel->cells.map)
		return batch_each(wheel, ops, count);
	return ahead ? batch_in_parts(wheel, ops, count) : batch_together(wheel, ops, count);
}
