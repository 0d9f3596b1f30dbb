// SPDX-License-Identifier: GPL-2.0-only
/* Calls that open and set up files, and those that do operations. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "fuzz.h"

#define PICK(dice, array)	((array)[dice_roll(dice, sizeof(array) / sizeof(*(array)))])

/* The most that an ioctl says that its structure has. */
#define SIZE_MOST	((1U << _IOC_SIZEBITS) - 1)

/* Operations of an array that are prepared: the kernel must not come further. */
#define OPS_MOST	600U

/* So many are done even if a signal waits. */
#define OPS_UNBROKEN	256

/* What operations may give if others come between. */
static const int op_errors[] = {
	EINVAL, ENOENT, ENOSPC, EDQUOT, ERANGE, EFAULT, E2BIG, EBADF, ENOMEM, EINTR, 0
};

static uint64_t random_edge(struct dice *dice)
{
	static const uint64_t edges[] = {
		1, 63, 64, 4096, 0x7fffffff, 0xffffffff, 0x100000000, TWHEEL_NEVER_NS - 1,
		TWHEEL_NEVER_NS, TWHEEL_NEVER_NS + 1, ~0ULL, TWHEEL_CELL_TICKS + 1,
	};

	return dice_roll(dice, 2) ? PICK(dice, edges) : dice_bits(dice) >> dice_roll(dice, 64);
}

/* Most times are soon, so that timers expire while the program runs. */
uint64_t random_time(struct dice *dice)
{
	switch (dice_roll(dice, 10)) {
	case 0:
		return 0;
	case 1 ... 4:
		return dice_roll(dice, 2 * MS);
	case 5 ... 6:
		return dice_roll(dice, 20) * MS;
	case 7:
		return dice_roll(dice, 3600) * S;
	case 8:
		return 1ULL << dice_roll(dice, 63);
	default:
		return random_edge(dice);
	}
}

/* Once in a while, a number in a place where there should be 0. */
static uint64_t random_zero(struct dice *dice)
{
	return dice_once_in(dice, 60) ? random_edge(dice) : 0;
}

/* The size of a structure as a program says it; @most: of the memory for it. */
static size_t random_size(struct dice *dice, size_t size)
{
	static const int deltas[] = { -64, -16, -8, -1, 1, 8, 8, 16, 64, 4032, 4096, 16000 };
	int delta = dice_once_in(dice, 16) ? PICK(dice, deltas) : 0;
	long sum = (long)size + delta;

	return sum < 0 ? 0 : sum > SIZE_MOST ? SIZE_MOST : sum;
}

static unsigned long command_with_size(unsigned long command, size_t size)
{
	return _IOC(_IOC_DIR(command), _IOC_TYPE(command), _IOC_NR(command), size);
}

/** struct argument - a structure for an ioctl, of another size and in another place */
struct argument {
	void *user;
	size_t size;
	enum place place;
	bool odd;
};

/* @alone: it may lie in the places where arrays lie. */
static struct argument argument_random(struct task *task, bool alone, const void *from,
				       size_t size)
{
	struct argument arg = { .size = random_size(&task->dice, size) };
	char zero[64] = { };
	size_t at;

	if (alone)
		arg.place = place_random(task, arg.size);
	arg.user = place_at(task, arg.place, arg.size, false);
	memory_put(task, arg.user, from, size < arg.size ? size : arg.size);
	for (at = size; at < arg.size; at += sizeof(zero))
		memory_put(task, (char *)arg.user + at, zero, arg.size - at < sizeof(zero) ?
							arg.size - at : sizeof(zero));
	if (arg.size > size && arg.place <= PLACE_END && dice_once_in(&task->dice, 3)) {
		((char *)arg.user)[arg.size - 1] = 1;
		arg.odd = true;
	}
	return arg;
}

/* What is wrong with the argument itself: an error, or 0. @writes: it is written as well. */
static long argument_error(const struct argument *arg, size_t size, bool writes)
{
	if (arg->odd)
		return -E2BIG;
	if (place_reads(arg->place, arg->size) < arg->size)
		return -EFAULT;
	if (writes && (arg->place == PLACE_HALF ? size > 64 :
		       place_writes(arg->place, arg->size) < arg->size))
		return -EFAULT;
	return 0;
}

/* What is wrong with the call before its argument is looked at. */
static long slot_error(const struct file *file, const struct argument *arg, size_t size,
		       bool writes)
{
	if (!file)
		return -EBADF;
	if (arg->size < size)
		return -EINVAL;
	return writes && file->mode == O_RDONLY ? -EBADF : 0;
}

/* A slot gets another file, or none. Nobody watches the old one by it any more. */
static void slot_set(struct world *world, unsigned int slot, struct file *file)
{
	if (!world->exact)
		return;
	epoll_ctl(FD_EPOLL, EPOLL_CTL_DEL, fd_of(slot), NULL);
	world->fds[slot] = file;
	world->watches[slot] = (struct watch) { };
}

void call_open(struct task *task)
{
	static const int modes[] = { O_RDWR, O_RDWR, O_RDWR, O_RDWR, O_RDWR, O_RDONLY, O_WRONLY };
	int flags = PICK(&task->dice, modes);
	unsigned int slot = slot_random(task);
	struct world *world = task->world;
	struct twheel_info info;
	struct file *file;
	int fd;

	if (!task->call)
		flags = O_RDWR;
	if (dice_roll(&task->dice, 5))
		flags |= O_NONBLOCK;
	/* The model of a file is never used again. */
	if (world->nr_files == MAX_FILES)
		return;
	fd = open("/dev/twheel", flags | O_CLOEXEC);
	tell(task, "open(%#o) = %d, in %u", flags, fd, slot);
	if (fd < 0) {
		want_any(task, "open", result(fd), (const int[]) { EDQUOT, EMFILE, ENOMEM, 0 });
		return;
	}
	file = &world->files[world->nr_files];
	slot_set(world, slot, file);
	dup3(fd, fd_of(slot), O_CLOEXEC);
	close(fd);
	if (!world->exact)
		return;
	world->nr_files++;
	*file = (struct file) { .mode = flags & O_ACCMODE, .blocks = !(flags & O_NONBLOCK) };
	ioctl(fd_of(slot), TWHEEL_IOC_INFO, &info);
	model_ready(file, &(struct twheel_setup) {
		.tick_ns = info.tick_ns, .max_timers = info.max_timers,
		.event_size = info.event_size,
	});
	file->ready = false;
	model_check(task, fd_of(slot), file);
}

void call_close(struct task *task)
{
	unsigned int slot = slot_random(task);

	slot_set(task->world, slot, NULL);
	tell(task, "close(%u) = %s", slot, result_name(result(close(fd_of(slot)))));
}

void call_dup(struct task *task)
{
	unsigned int from = slot_random(task), to = dice_roll(&task->dice, NR_FDS);

	if (from == to || (task->world->exact && !task->world->fds[from]))
		return;
	slot_set(task->world, to, task->world->fds[from]);
	tell(task, "dup(%u, %u) = %s", from, to,
	     result_name(result(dup3(fd_of(from), fd_of(to), O_CLOEXEC))));
}

/* To oneself through a socket; it comes back as another descriptor. */
void call_send(struct task *task)
{
	unsigned int from = slot_random(task), to = dice_roll(&task->dice, NR_FDS);
	char control[CMSG_SPACE(sizeof(int))] = { }, byte = 0;
	struct iovec iov = { &byte, 1 };
	struct msghdr message = {
		.msg_iov = &iov, .msg_iovlen = 1,
		.msg_control = control, .msg_controllen = sizeof(control),
	};
	struct cmsghdr *header = CMSG_FIRSTHDR(&message);
	int fd = fd_of(from), sockets[2];

	/* In threads, two would have the same numbers. */
	if (from == to || !task->world->exact || !task->world->fds[from] ||
	    socketpair(AF_UNIX, SOCK_SEQPACKET, 0, sockets))
		return;
	header->cmsg_level = SOL_SOCKET;
	header->cmsg_type = SCM_RIGHTS;
	header->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(header), &fd, sizeof(fd));
	sendmsg(sockets[0], &message, 0);
	recvmsg(sockets[1], &message, MSG_CMSG_CLOEXEC);
	memcpy(&fd, CMSG_DATA(header), sizeof(fd));
	slot_set(task->world, to, task->world->fds[from]);
	dup3(fd, fd_of(to), O_CLOEXEC);
	close(fd);
	close(sockets[0]);
	close(sockets[1]);
	tell(task, "sent %u, received %u", from, to);
}

static struct twheel_setup setup_random(struct dice *dice)
{
	static const uint32_t clocks[] = {
		TWHEEL_VIRTUAL, TWHEEL_VIRTUAL, TWHEEL_VIRTUAL, TWHEEL_MONOTONIC,
		TWHEEL_MONOTONIC, TWHEEL_BOOTTIME, TWHEEL_REALTIME, TWHEEL_TAI,
	};
	static const uint32_t cells[] = { 1, 40, 64, 65, 100, 100, 1000, 4097, 30000 };

	return (struct twheel_setup) {
		.clock = dice_once_in(dice, 30) ? dice_bits(dice) : PICK(dice, clocks),
		.flags = random_zero(dice),
		.tick_ns = dice_roll(dice, 3) ? 10000 + dice_roll(dice, 300000) :
			   dice_roll(dice, 3) ? 0 : random_time(dice),
		.max_timers = dice_roll(dice, 3) ? dice_roll(dice, 3) * dice_roll(dice, 40) :
			      dice_roll(dice, 4) ? dice_roll(dice, 3000) : random_edge(dice),
		.max_cells = dice_roll(dice, 2) ? 0 : dice_once_in(dice, 20) ? random_edge(dice) :
			     PICK(dice, cells),
		.event_size = dice_roll(dice, 3) ? 0 : dice_roll(dice, 6) ?
			      48 + 8 * dice_roll(dice, 27) : dice_bits(dice) % 300,
		.reserved = random_zero(dice),
	};
}

void call_setup(struct task *task)
{
	unsigned int slot = slot_random(task);
	struct twheel_setup setup = setup_random(&task->dice);
	struct file *file = slot_file(task, slot);
	struct argument arg = argument_random(task, true, &setup, sizeof(setup));
	unsigned long command = command_with_size(TWHEEL_IOC_SETUP, arg.size);
	long ret = result(ioctl(fd_of(slot), command, arg.user)), expected;

	tell(task, "setup(%u, clock %u, tick %llu, timers %u, cells %u, record %u; size %zu, place %u) = %s",
	     slot, setup.clock, setup.tick_ns, setup.max_timers, setup.max_cells,
	     setup.event_size, arg.size, arg.place, result_name(ret));
	if (!task->world->exact) {
		want_any(task, "setup", ret, (const int[]) { EINVAL, ERANGE, EBUSY, EDQUOT, EFAULT,
							     E2BIG, EBADF, EINTR, ENOMEM, 0 });
		return;
	}
	expected = slot_error(file, &arg, sizeof(setup), true);
	if (!expected)
		expected = argument_error(&arg, sizeof(setup), false);
	if (!expected)
		expected = model_setup(task, file, &setup, ret);
	want(task, "setup", ret, expected, expected);
	if (!ret && file)
		model_ready(file, &setup);
	if (file)
		model_check(task, fd_of(slot), file);
}

void call_info(struct task *task)
{
	unsigned int slot = slot_random(task);
	struct file *file = slot_file(task, slot);
	struct twheel_info info;
	struct argument arg;
	long ret, expected;

	memset(&info, 0x5a, sizeof(info));
	arg = argument_random(task, true, &info, sizeof(info));
	ret = result(ioctl(fd_of(slot), command_with_size(TWHEEL_IOC_INFO, arg.size), arg.user));
	tell(task, "info(%u; size %zu, place %u) = %s", slot, arg.size, arg.place, result_name(ret));
	if (!task->world->exact)
		return;
	expected = slot_error(file, &arg, sizeof(info), false);
	if (!expected && place_writes(arg.place, arg.size) < arg.size)
		expected = -EFAULT;
	want(task, "info", ret, expected, expected);
	if (!ret && arg.size > sizeof(info) && ((char *)arg.user)[arg.size - 1])
		wrong(task->world, "info: an end that is not 0");
	if (file)
		model_check(task, fd_of(slot), file);
}

/* A number that is no command, or a command with something turned. */
void call_ioctl(struct task *task)
{
	static const unsigned long commands[] = {
		TWHEEL_IOC_INFO, TWHEEL_IOC_SETUP, TWHEEL_IOC_OP, TWHEEL_IOC_OPS,
	};
	unsigned int slot = slot_random(task), i;
	unsigned long command = PICK(&task->dice, commands) ^
				(1U << dice_roll(&task->dice, 32));
	struct file *file = slot_file(task, slot);
	unsigned long size = (unsigned long)_IOC_SIZEMASK << _IOC_SIZESHIFT;
	bool known = false;
	long ret;

	for (i = 0; i < 4; i++)
		known |= !((commands[i] ^ command) & ~size);
	if (known)
		return;
	ret = result(ioctl(fd_of(slot), command, place_at(task, PLACE_GOOD, 0, false)));
	tell(task, "ioctl(%u, %#lx) = %s", slot, command, result_name(ret));
	if (task->world->exact)
		want(task, "ioctl", ret, file ? -ENOTTY : -EBADF, file ? -ENOTTY : -EBADF);
}

static uint64_t random_id(struct task *task)
{
	uint64_t id = task->world->ids[dice_roll(&task->dice, NR_IDS)];

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
		op.cookie = dice_bits(dice);
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
	tell(task, "%s(op %u, flags %#x, id %#llx, time %llu, period %llu, slack %llu) = %s",
	     what, op->op, op->flags, op->id, op->time_ns, op->period_ns, op->slack_ns,
	     result_name(ret));
}

static void op_note_id(struct task *task, const struct twheel_op *op)
{
	if (op->op == TWHEEL_OP_ARM)
		task->world->ids[op->cookie % NR_IDS] = op->id;
}

/* The first operation of a file gives it its wheel, also if it fails. */
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
	uint64_t span[2] = { file_now(file) };
	bool known = asked->op >= TWHEEL_OP_ARM && asked->op <= TWHEEL_OP_ADVANCE;
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
	expected = slot_error(file, &arg, sizeof(*asked), true);
	if (!expected)
		expected = argument_error(&arg, sizeof(*asked), true);
	if (!expected && !file->ready && !known)
		expected = -EINVAL;
	if (expected) {
		want(task, "op", ret, expected, expected);
	} else {
		file_start(file);
		if (arg.place == PLACE_HALF && asked->op == TWHEEL_OP_ARM && ret == -EFAULT) {
			/* Its identifier cannot be written: it is cancelled again. */
			file->armed++;
			file->cancelled++;
		} else {
			model_op(task, file, asked, arg.user, ret, span);
			if (ret >= 0)
				op_note_id(task, arg.user);
		}
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
		memory_put(task, call->user + i * call->stride, element, call->stride);
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
		      const uint64_t span[2])
{
	long expected = ops_expected(call), i;

	/* What io_uring has for this process to do looks like a signal. */
	if (ring_is_used() && ret >= OPS_UNBROKEN && ret < expected)
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
	unsigned int slot = slot_random(task);
	static _Thread_local struct ops_call call;
	struct file *file = slot_file(task, slot);
	struct argument arg = { .size = sizeof(call.ops) };
	bool by_ring = task->world->exact && dice_once_in(&task->dice, 5);
	uint64_t span[2];
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
	expected = slot_error(file, &arg, sizeof(call.ops), true);
	if (!expected)
		expected = argument_error(&arg, sizeof(call.ops), false);
	if (expected)
		want(task, "ops", ret, expected, expected);
	else
		ops_check(task, file, &call, ret, span);
	if (file)
		model_check(task, fd_of(slot), file);
}
