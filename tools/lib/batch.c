// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/* Many operations at once. */
#include <errno.h>
#include <limits.h>
#include <sys/ioctl.h>

#include "handle.h"

/* For a kernel that has no batches: the same results, by as many system calls. */
static int one_by_one(struct twheel *wheel, struct twheel_op *ops,
		      unsigned int count)
{
	unsigned int i;

	for (i = 0; i < count; i++) {
		struct twheel_op op = ops[i];
		int ret;

		op.op = 0;
		ret = run_op(wheel, ops[i].op, &op);
		op.op = ops[i].op;
		op.result = ret;
		ops[i] = op;
	}
	return count;
}

/* One system call. Returns how many operations are done, or -errno. */
static int together(struct twheel *wheel, struct twheel_op *ops,
		    unsigned int count)
{
	struct twheel_batch batch = {
		.ops = (uintptr_t)ops, .op_size = sizeof(*ops), .count = count,
	};
	int ret = ioctl(wheel->fd, TWHEEL_IOC_BATCH, &batch);

	return ret < 0 ? -errno : ret;
}

static int run(struct twheel *wheel, struct twheel_op *ops, unsigned int count)
{
	unsigned int done = 0;
	int ret;

	/* A signal ends a call early, but never before something is done. */
	while (done < count) {
		ret = together(wheel, ops + done, count - done);
		if (ret == -ENOTTY && !done) {
			__atomic_store_n(&wheel->batch, false,
					 __ATOMIC_RELAXED);
			return one_by_one(wheel, ops, count);
		}
		if (ret <= 0)
			return done ? (int)done : ret;
		done += ret;
	}
	return done;
}

/* What an arm has for a cell that gets none before the others have been done. */
#define LATER	UINT64_MAX
#define NEVER	(UINT64_MAX - 1)

static void find_cells(struct twheel *wheel, struct twheel_op *ops,
		       unsigned int count)
{
	unsigned int i;
	int ret;

	for (i = 0; i < count; i++) {
		if (ops[i].op != TWHEEL_OP_ARM) {
			ops[i].id = cells_id_in(ops[i].id);
			continue;
		}
		ret = cells_before_arm(wheel, &ops[i]);
		if (ret)
			ops[i].id = ret == -ENOSPC ? LATER : NEVER;
	}
}

static void arm_later(struct twheel *wheel, struct twheel_op *op)
{
	op->op = 0;
	op->id = 0;
	op->result = 0;
	op->result = arm_in_cell(wheel, op);
	op->op = TWHEEL_OP_ARM;
}

/* Of the first @done there are results. */
static void settle_cells(struct twheel *wheel, struct twheel_op *ops,
			 unsigned int count, unsigned int done)
{
	unsigned int i;

	for (i = 0; i < count; i++) {
		if (ops[i].op != TWHEEL_OP_ARM) {
			if (i < done)
				ops[i].result = settle(wheel, ops[i].op,
						       &ops[i], ops[i].result);
			ops[i].id = cells_id_out(ops[i].id);
		} else if (ops[i].id < NEVER) {
			cells_after_arm(wheel, &ops[i], ops[i].id,
					i < done ? ops[i].result : -EIO);
		} else if (ops[i].id == LATER && i < done) {
			arm_later(wheel, &ops[i]);
		} else {
			ops[i].id = 0;
		}
	}
}

int twheel_batch(struct twheel *wheel, struct twheel_op *ops,
		 unsigned int count)
{
	int ret, i;

	if (count > INT_MAX)
		return -EINVAL;
	if (wheel->cells.map)
		find_cells(wheel, ops, count);
	if (__atomic_load_n(&wheel->batch, __ATOMIC_RELAXED))
		ret = run(wheel, ops, count);
	else
		ret = one_by_one(wheel, ops, count);
	if (wheel->cells.map) {
		settle_cells(wheel, ops, count, ret < 0 ? 0 : ret);
		return ret;
	}
	/* As a rule the program has taken all there were. */
	if (ret <= 0 || !ahead_any(wheel))
		return ret;
	for (i = 0; i < ret; i++)
		ops[i].result = settle(wheel, ops[i].op, &ops[i],
				       ops[i].result);
	return ret;
}
