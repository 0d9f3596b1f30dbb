// SPDX-License-Identifier: GPL-2.0-only
/* Operations, one by one and in arrays. */
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "../device/lib/ring.h"
#include "fuzz.h"

/* Operations of an array that are prepared: the kernel must not come further. */
#define OPS_MOST	600U

/* So many are done even if a signal waits. */
#define OPS_UNBROKEN	256

/* What operations may give if others come between. */
static const int op_errors[] = {
	EINVAL, ENOENT, ENOSPC, EDQUOT, ERANGE, EFAULT, E2BIG, EBADF, ENOMEM, EINTR, 0
};

/* A process keeps its ring. */
static struct io_uring ring;
/* Whose it is, or was; 0: there was none. */
static pid_t ring_owner;

static long ring_ops(int fd, const struct twheel_ops *ops)
{
	if (!(dev_info(FD_WITNESS).features & TWHEEL_FEATURE_URING))
		return result(ioctl(fd, TWHEEL_IOC_OPS, ops));
	if (ring_owner != getpid())
		ring = ring_open(0);
	ring_owner = getpid();
	ring_prep_ops(ring_sqe(&ring), fd, ops);
	return ring_run(&ring);
}

void ring_close(void)
{
	if (ring_owner == getpid())
		io_uring_queue_exit(&ring);
}

static __u64 random_id(struct task *task)
{
	__u64 id = task->world->ids[dice_roll(&task->dice, NR_IDS)];

	return dice_once_in(&task->dice, 30) ? id ^ 1ULL << dice_roll(&task->dice, 64) : id;
}

static struct twheel_op op_random(struct task *task, const struct file *file)
{
	static const uint32_t codes[] = {
		TWHEEL_OP_ARM, TWHEEL_OP_ARM, TWHEEL_OP_ARM, TWHEEL_OP_ARM, TWHEEL_OP_CANCEL,
		TWHEEL_OP_MODIFY, TWHEEL_OP_MODIFY, TWHEEL_OP_QUERY, TWHEEL_OP_KICK,
	};
	struct dice *dice = &task->dice;
	struct twheel_op op = {
		.op = PICK(dice, codes), .deadline_ns = dice_bits(dice),
		.result = dice_bits(dice), .id = random_id(task),
	};

	switch (dice_roll(dice, 80)) {
	case 0:
		op.op = dice_roll(dice, 2) ? dice_roll(dice, 10) : dice_bits(dice);
		break;
	case 1:
		op.op = TWHEEL_OP_CANCEL_ALL;
		op.id = random_zero(dice);
		break;
	case 2:
		op.op = TWHEEL_OP_ADVANCE;
		op.id = 0;
	}
	if (op.op == TWHEEL_OP_ARM || op.op == TWHEEL_OP_MODIFY || op.op == TWHEEL_OP_ADVANCE) {
		op.time_ns = random_time(dice);
		if (!dice_roll(dice, 3) || (file && (file->clock == TWHEEL_REALTIME ||
						     file->clock == TWHEEL_TAI))) {
			op.flags = TWHEEL_ABS;
			op.time_ns += file_now(file) - dice_roll(dice, 2) * dice_roll(dice, MS);
		}
	}
	if (op.op == TWHEEL_OP_MODIFY && dice_once_in(dice, 3))
		op.flags |= TWHEEL_LATER;
	if (op.op == TWHEEL_OP_ARM) {
		op.cookie = file && !file->act ? dice_bits(dice) : random_number(task, file);
		op.period_ns = dice_roll(dice, 4) ? 0 : dice_roll(dice, 5 * MS);
		op.slack_ns = dice_roll(dice, 6) ? 0 : random_time(dice);
	}
	if (op.op == TWHEEL_OP_KICK)
		op.id = dice_roll(dice, file ? file->max_cells + 2 : 100);
	switch (dice_roll(dice, 120)) {
	case 0:
		op.flags ^= 1U << dice_roll(dice, 32);
		break;
	case 1:
		op.cookie = random_edge(dice);
		break;
	case 2:
		op.period_ns = random_edge(dice);
		break;
	case 3:
		op.slack_ns = random_edge(dice);
		break;
	case 4:
		op.time_ns = random_edge(dice);
	}
	return op;
}

static void op_tell(const struct task *task, const char *what, const struct twheel_op *op,
		    long ret)
{
	tell(task, "%s(op %u, flags %#x, id %#llx, time %llu, period %llu, slack %llu) = %s", what,
	     op->op, op->flags, op->id, op->time_ns, op->period_ns, op->slack_ns, result_name(ret));
}

static void op_note_id(struct task *task, const struct twheel_op *op)
{
	if (op->op == TWHEEL_OP_ARM)
		task->world->ids[op->cookie % NR_IDS] = op->id;
}

/* The first operation of a file gives it its wheel, also if it is malformed. */
static void file_start(struct file *file)
{
	if (!file->ready)
		model_ready(file, &(struct twheel_setup) { });
}

static void op_do(struct task *task, unsigned int slot, const struct twheel_op *asked)
{
	struct file *file = slot_file(task, slot);
	struct argument arg = argument_random(task, true, asked, sizeof(*asked));
	unsigned long command = command_with_size(TWHEEL_IOC_OP, arg.size);
	__u64 span[2] = { file_now(file) };
	long ret = result(ioctl(fd_of(slot), command, arg.user)), expected;

	span[1] = file_now(file);
	op_tell(task, "op", asked, ret);
	tell(task, "   in %u; size %zu, place %u", slot, arg.size, arg.place);
	if (!task->world->exact) {
		want_any(task, "op", ret, op_errors);
		if (ret >= 0 && place_writes(arg.place, 64) == 64)
			op_note_id(task, arg.user);
		return;
	}
	if (file && file->mode != O_RDONLY)
		file_start(file);
	expected = argument_error(file, &arg, sizeof(*asked), true);
	if (expected) {
		want(task, "op", ret, expected, expected);
	} else {
		/* If its identifier cannot be written, it is cancelled again. */
		if (arg.place != PLACE_HALF || asked->op != TWHEEL_OP_ARM || ret != -EFAULT)
			model_op(task, file, asked, arg.user, ret, span);
		else
			act_may_happen(task->world, file, asked->cookie);
		if (ret >= 0)
			op_note_id(task, arg.user);
	}
	if (file)
		model_check(task, fd_of(slot), file);
}

void call_op(struct task *task)
{
	unsigned int slot = slot_random(task);
	struct twheel_op op = op_random(task, slot_file(task, slot));

	op_do(task, slot, &op);
}

/* Time passes: most often so far that something may be due. */
void call_advance(struct task *task)
{
	unsigned int slot = slot_random(task);
	struct twheel_op op = { .op = TWHEEL_OP_ADVANCE, .time_ns = random_time(&task->dice) };
	struct file *file = slot_file(task, slot);

	if (file && file->clock != TWHEEL_VIRTUAL)
		return;
	if (op.time_ns > 3600 * S && dice_roll(&task->dice, 4))
		op.time_ns = dice_roll(&task->dice, 5 * MS);
	op_do(task, slot, &op);
}

/** struct ops_call - an array of operations */
struct ops_call {
	struct twheel_ops ops;
	enum place place;
	char *user;
	unsigned int prepared;
	size_t stride;
	struct twheel_op asked[OPS_MOST];
};

static bool element_is_odd(const struct ops_call *call, unsigned int i)
{
	return call->stride > 64 && i % 7 == 3;
}

static void ops_prepare(struct task *task, const struct file *file, struct ops_call *call)
{
	static const unsigned int strides[] = { 0, 0, 0, 0, 0, 64, 72, 128, 1024, 1032, 56, 68 };
	struct dice *dice = &task->dice;
	unsigned int i;

	call->ops = (struct twheel_ops) {
		.count = dice_roll(dice, 12) ? dice_roll(dice, 40) : dice_roll(dice, 4) ?
			 dice_roll(dice, OPS_MOST) : random_edge(dice),
		.stride = PICK(dice, strides),
		.flags = random_zero(dice), .reserved = random_zero(dice),
	};
	call->stride = call->ops.stride ?: 64;
	call->place = place_random(task, BODY_BYTES);
	call->prepared = call->ops.count < OPS_MOST ? call->ops.count : OPS_MOST;
	if (call->prepared * call->stride > BODY_BYTES - 8)
		call->prepared = (BODY_BYTES - 8) / call->stride;
	/* The kernel must find nothing else than what is known here. */
	if (call->ops.count > call->prepared && call->place < PLACE_CUT)
		call->place = PLACE_END;
	if (call->place == PLACE_HALF)
		call->place = PLACE_READ_ONLY;
	/* That is a page. */
	if (call->place == PLACE_READ_ONLY && call->prepared > 3)
		call->prepared = 3;
	call->user = place_at(task, call->place, call->prepared * call->stride, true);
	call->ops.ops = (uintptr_t)call->user;
	for (i = 0; i < call->prepared && call->stride >= 64; i++) {
		char element[1032] = { };

		call->asked[i] = op_random(task, file);
		memcpy(element, &call->asked[i], sizeof(struct twheel_op));
		element[call->stride - 1] |= element_is_odd(call, i);
		/* What lies beyond a hole is not this array's. */
		if (!memory_put(task, call->user + i * call->stride, element, call->stride))
			break;
	}
}

/* How many can be done, or what is wrong with the array. */
static long ops_expected(const struct ops_call *call)
{
	const struct twheel_ops *ops = &call->ops;
	size_t bytes = call->prepared * call->stride;

	if (ops->flags || ops->reserved || ops->count > 0x7fffffff || ops->ops % 8 ||
	    call->stride < 64 || call->stride > TWHEEL_OP_SIZE_MAX || call->stride % 8)
		return -EINVAL;
	if (!ops->count)
		return 0;
	bytes = place_writes(call->place, bytes);
	return bytes < call->stride ? -EFAULT : (long)(bytes / call->stride);
}

static void ops_check(struct task *task, struct file *file, struct ops_call *call, long ret,
		      const __u64 span[2])
{
	long expected = ops_expected(call), i;

	/* What io_uring has for this process to do looks like a signal. */
	if (ring_owner && ret >= OPS_UNBROKEN && ret < expected)
		expected = ret;
	want(task, "ops", ret, expected, expected);
	if (expected != -EINVAL && expected)
		file_start(file);
	for (i = 0; i < ret && i < (long)call->prepared; i++) {
		struct twheel_op *answer = (void *)(call->user + i * call->stride);

		op_tell(task, "   ", &call->asked[i], answer->result);
		if (element_is_odd(call, i)) {
			want(task, "an element that is too long", answer->result, -E2BIG, -E2BIG);
			continue;
		}
		model_op(task, file, &call->asked[i], answer, answer->result, span);
		if (answer->result >= 0)
			op_note_id(task, answer);
	}
}

void call_ops(struct task *task)
{
	static _Thread_local struct ops_call call;
	unsigned int slot = slot_random(task);
	struct file *file = slot_file(task, slot);
	struct argument arg = { .size = sizeof(call.ops) };
	bool by_ring = task->world->exact && dice_once_in(&task->dice, 5);
	__u64 span[2];
	long ret, expected;

	ops_prepare(task, file, &call);
	if (!by_ring)
		arg = argument_random(task, !call.place, &call.ops, sizeof(call.ops));
	span[0] = file_now(file);
	ret = by_ring ? ring_ops(fd_of(slot), &call.ops) :
	      result(ioctl(fd_of(slot), command_with_size(TWHEEL_IOC_OPS, arg.size), arg.user));
	span[1] = file_now(file);
	tell(task, "ops(%u, count %u, stride %u, place %u; size %zu, place %u%s) = %s", slot,
	     call.ops.count, call.ops.stride, call.place, arg.size, arg.place,
	     by_ring ? ", by io_uring" : "", result_name(ret));
	if (!task->world->exact) {
		want_any(task, "ops", ret, op_errors);
		return;
	}
	expected = argument_error(file, &arg, sizeof(call.ops), false);
	if (expected)
		want(task, "ops", ret, expected, expected);
	else
		ops_check(task, file, &call, ret, span);
	if (file)
		model_check(task, fd_of(slot), file);
}
