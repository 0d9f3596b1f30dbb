// SPDX-License-Identifier: GPL-2.0-only
/*
 * Injected faults: each allocation and each copy of each system call fails in turn. The call
 * then returns a documented error and changes nothing; without the fault, it succeeds. Leaks
 * are searched for after all tests, since a scan of the memory takes minutes here.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "lib/device.h"
#include "lib/fault.h"
#include "lib/mapped.h"
#include "lib/tap.h"

/* A file gets room for so many timers at a time. */
#define ROOM	64

/* The files of the user have as much as they had. */
static void same_user(int fd, const struct twheel_info *before)
{
	CHECK_EQ(dev_info(fd).user_timers, before->user_timers);
	CHECK_EQ(dev_info(fd).user_memory, before->user_memory);
}

/* A call with what it needs, and what it leaves. */
struct call {
	int fd;
	struct twheel_setup setup;
	struct twheel_op op;
	struct twheel_op *ops;
	struct twheel_event *events;
	unsigned int count;
	size_t bytes;
	char *start;
};

static long open_one(void *arg)
{
	(void)arg;
	return open("/dev/twheel", O_RDWR | O_CLOEXEC);
}

static long set_up(void *arg)
{
	struct call *call = arg;

	return ioctl(call->fd, TWHEEL_IOC_SETUP, &call->setup);
}

static long map_file(void *arg)
{
	struct call *call = arg;

	call->start = mmap(NULL, call->bytes, PROT_READ | PROT_WRITE, MAP_SHARED, call->fd, 0);
	return call->start == MAP_FAILED ? -1 : 0;
}

static long run_op(void *arg)
{
	struct call *call = arg;

	return dev_op(call->fd, &call->op);
}

static long run_ops(void *arg)
{
	struct call *call = arg;

	return dev_ops(call->fd, call->ops, call->count);
}

static long read_events(void *arg)
{
	struct call *call = arg;

	return events_read(call->fd, call->events, call->count);
}

TEST(opens)
{
	int other = dev_open_virtual(), next = dev_open();
	struct dev_state was;
	struct fault fault;
	unsigned int n;

	fault_prepare();
	close(next);
	was = dev_state(other);
	FAULT_SWEEP(n, fault, 1) {
		fault = fault_call(n, open_one, NULL);
		if (fault_survived(&fault)) {
			dev_arm(fault.ret, HOUR, n);
			close(fault.ret);
		}
		dev_same(other, &was);
		/* No descriptor is leaked. */
		CHECK_EQ(open_one(NULL), next);
		close(next);
	}
}

static void sweep_setup(struct twheel_setup setup)
{
	int other = dev_open();
	struct twheel_info before = dev_info(other);
	struct dev_state was;
	struct fault fault;
	unsigned int n;

	FAULT_SWEEP(n, fault, 2) {
		struct call call = { .fd = dev_open(), .setup = setup };

		was = dev_state(call.fd);
		fault = fault_call(n, set_up, &call);
		if (!fault_survived(&fault)) {
			dev_same(call.fd, &was);
			/* It can still be set up, and in another way. */
			call.setup.tick_ns = 5 * MS;
			NEED(set_up(&call) == 0);
		}
		CHECK_EQ(dev_info(call.fd).clock, setup.clock);
		CHECK_EQ(dev_info(call.fd).max_cells, setup.max_cells);
		CHECK_ERR(set_up(&call), EBUSY);
		dev_arm_at(call.fd, HOUR, 1);
		close(call.fd);
		/* A file that acts ends soon after. */
		while (setup.flags && dev_info(other).user_memory != before.user_memory)
			usleep(1000);
	}
	same_user(other, &before);
	close(other);
}

static long choose_action(void *arg)
{
	struct twheel_act act = {
		.number = 1,
		.action = { TWHEEL_ACT_SIGNAL, getpid(), SIGTERM, 0 },
		.then = { TWHEEL_ACT_SIGNAL, getpid(), SIGKILL, 0 },
	};

	return ioctl(*(int *)arg, TWHEEL_IOC_ACT, &act);
}

TEST(chooses_actions)
{
	struct twheel_setup setup = { .clock = TWHEEL_VIRTUAL, .flags = TWHEEL_SETUP_ACT };
	int fd = dev_open_setup(&setup);
	struct dev_state was = dev_state(fd);
	struct fault fault;
	unsigned int n;

	fault_prepare();
	FAULT_SWEEP(n, fault, 2) {
		fault = fault_call(n, choose_action, &fd);
		if (!fault_survived(&fault))
			dev_same(fd, &was);
	}
	CHECK(dev_info(fd).file_memory > was.info.file_memory);
}

TEST(sets_up)
{
	fault_prepare();
	sweep_setup((struct twheel_setup) { .clock = TWHEEL_MONOTONIC });
	sweep_setup((struct twheel_setup) { .clock = TWHEEL_VIRTUAL, .flags = TWHEEL_SETUP_ACT });
	sweep_setup((struct twheel_setup) { .clock = TWHEEL_REALTIME, .max_timers = 3 });
}

TEST(sets_up_cells)
{
	int fd = dev_open();

	fault_prepare();
	if (!(dev_info(fd).features & TWHEEL_FEATURE_CELLS))
		tap_skip("this kernel has no cells");
	close(fd);
	sweep_setup((struct twheel_setup) { .clock = TWHEEL_VIRTUAL, .max_cells = 1000 });
}

TEST(maps)
{
	struct call call;
	struct dev_state was;
	struct fault fault;
	struct mapped m;
	unsigned int n;

	fault_prepare();
	m = map_open_virtual(1000);
	call = (struct call) { .fd = m.fd, .bytes = m.bytes };
	was = dev_state(m.fd);
	FAULT_SWEEP(n, fault, 1) {
		fault = fault_call(n, map_file, &call);
		if (fault_survived(&fault))
			NEED(munmap(call.start, call.bytes) == 0);
		dev_same(m.fd, &was);
	}
}

/* After a first operation that fails, the file is as new. */
TEST(arms_the_first)
{
	struct call late = { .setup = { .clock = TWHEEL_VIRTUAL } };
	int other = dev_open();
	struct twheel_info before = dev_info(other);
	struct fault fault;
	unsigned int n;

	fault_prepare();
	FAULT_SWEEP(n, fault, 3) {
		struct call call = {
			.fd = dev_open(),
			.op = { .op = TWHEEL_OP_ARM, .time_ns = HOUR, .cookie = n },
		};

		fault = fault_call(n, run_op, &call);
		if (!fault_survived(&fault)) {
			CHECK_EQ(dev_info(call.fd).timers, 0);
			CHECK_EQ(call.op.id | call.op.deadline_ns, 0);
			/* Its wheel may be there already, or not. */
			late.fd = call.fd;
			if (set_up(&late))
				CHECK_EQ(errno, EBUSY);
			NEED(run_op(&call) == 0);
		}
		CHECK_EQ(dev_info(call.fd).timers, 1);
		CHECK_EQ(dev_query(call.fd, call.op.id, NULL), 0);
		close(call.fd);
	}
	same_user(other, &before);
}

/* A file whose first timers take all the room that it has. */
static int open_full(unsigned int timers)
{
	int fd = dev_open_virtual();

	CHECK_EQ(dev_arm_many(fd, timers, HOUR), timers);
	return fd;
}

/* Room is made for one more, of each kind. */
TEST(arms_one_more)
{
	const struct twheel_op kinds[] = {
		{ .op = TWHEEL_OP_ARM, .time_ns = MS },
		{ .op = TWHEEL_OP_ARM, .time_ns = MS, .period_ns = HOUR },
		{ .op = TWHEEL_OP_ARM, .time_ns = MS, .slack_ns = MS },
		{ .op = TWHEEL_OP_ARM, .time_ns = 1, .flags = TWHEEL_ABS },
	};
	struct dev_state was;
	struct fault fault;
	unsigned int n, i;

	fault_prepare();
	for (i = 0; i < SIZE_OF(kinds); i++) {
		FAULT_SWEEP(n, fault, 1) {
			struct call call = { .fd = open_full(ROOM), .op = kinds[i] };

			was = dev_state(call.fd);
			fault = fault_call(n, run_op, &call);
			if (!fault_survived(&fault)) {
				dev_same(call.fd, &was);
				NEED(run_op(&call) == 0);
			}
			CHECK_EQ(dev_info(call.fd).timers, ROOM + 1);
			dev_advance(call.fd, 3 * MS);
			CHECK_EQ(dev_read(call.fd).id, call.op.id);
			close(call.fd);
		}
	}
}

static uint64_t armed_in_all;

static long arm_until_full(void *arg)
{
	while (run_op(arg) == 0)
		armed_in_all++;
	return -1;
}

/* Caches have some memory left, and then there is none. There is again, later. */
TEST(arms_without_pages)
{
	struct call call = { .op = { .op = TWHEEL_OP_ARM, .time_ns = HOUR } };
	struct fault fault;
	unsigned int i;

	fault_prepare();
	call.fd = dev_open_virtual();
	for (i = 0; i < 20; i++) {
		fault = fault_without_pages(arm_until_full, &call);
		CHECK_EQ(fault.error, ENOMEM);
		CHECK_EQ(dev_info(call.fd).timers, armed_in_all);
		CHECK(dev_info(call.fd).user_timers - armed_in_all < ROOM);
		/* This takes the whole room, and leaves the caches something. */
		CHECK_EQ(dev_arm_many(call.fd, ROOM, HOUR), ROOM);
		armed_in_all += ROOM;
		CHECK_EQ(dev_stat(call.fd, "timers"), armed_in_all);
	}
	CHECK_EQ(run_op(&call), 0);
}

/* Operations on what exists need no memory, and succeed. */
TEST(needs_no_memory)
{
	static const struct {
		uint32_t op;
		uint64_t time_ns;
		int result;
	} kinds[] = {
		{ TWHEEL_OP_QUERY, 0, 0 }, { TWHEEL_OP_MODIFY, 2 * HOUR, 1 },
		{ TWHEEL_OP_CANCEL, 0, 1 }, { TWHEEL_OP_ARM, HOUR, 0 },
		{ TWHEEL_OP_ADVANCE, 1, 0 }, { TWHEEL_OP_KICK, 0, 0 },
	};
	struct fault fault;
	struct mapped m;
	unsigned int n, i;

	fault_prepare();
	m = map_open_virtual(1);
	dev_arm(m.fd, HOUR, 1);
	for (i = 0; i < SIZE_OF(kinds); i++) {
		FAULT_SWEEP(n, fault, 0) {
			struct call call = {
				.fd = m.fd,
				.op = { .op = kinds[i].op, .time_ns = kinds[i].time_ns },
			};

			if (call.op.op < TWHEEL_OP_CANCEL_ALL && call.op.op != TWHEEL_OP_ARM)
				call.op.id = dev_arm(m.fd, HOUR, n);
			fault = fault_call(n, run_op, &call);
			CHECK_EQ(fault.ret, kinds[i].result);
		}
	}
}

/* An array that makes the wheel, and room several times. */
TEST(arrays)
{
	enum { N = 4 * ROOM + 5 };
	static struct twheel_op ops[N];
	int other = dev_open();
	struct twheel_info before = dev_info(other);
	struct fault fault;
	unsigned int n, i;

	fault_prepare();
	FAULT_SWEEP(n, fault, 6) {
		struct call call = { .fd = dev_open(), .ops = ops, .count = N };
		unsigned int armed = 0;

		for (i = 0; i < N; i++)
			ops[i] = (struct twheel_op) {
				.op = TWHEEL_OP_ARM, .time_ns = HOUR, .cookie = i,
			};
		fault = fault_call(n, run_ops, &call);
		if (!fault_survived(&fault)) {
			CHECK_EQ(dev_info(call.fd).timers, 0);
			fault.ret = run_ops(&call);
		}
		/* Some find no memory; those after them are done. */
		CHECK_EQ(fault.ret, N);
		for (i = 0; i < N; i++) {
			if (ops[i].result) {
				CHECK_EQ(ops[i].result, -ENOMEM);
				CHECK_EQ(ops[i].id, 0);
				continue;
			}
			armed++;
			NEED(dev_query(call.fd, ops[i].id, NULL) == 0);
		}
		CHECK(armed >= N - 1);
		CHECK_EQ(dev_info(call.fd).timers, armed);
		close(call.fd);
	}
	same_user(other, &before);
}

/* An event that cannot be copied stays due, and is read later: each once. */
TEST(reads)
{
	enum { MANY = 100 };
	/* Not aligned: faults are injected where bytes are copied, not words stored. */
	static char array[MANY * sizeof(struct twheel_event) + 4];
	struct twheel_event *there = (void *)&array[4], event;
	struct fault fault;
	unsigned int n, room, i;
	int fd;

	fault_prepare();
	for (room = 1; room <= MANY; room += MANY - 1) {
		FAULT_SWEEP(n, fault, 1) {
			struct call call = {
				.fd = fd = dev_open_virtual(), .count = room, .events = there,
			};
			unsigned int got = 0;

			for (i = 0; i < room; i++)
				dev_arm(fd, (i + 1) * MS, i);
			dev_advance(fd, room * MS);
			fault = fault_call(n, read_events, &call);
			if (fault_survived(&fault))
				got = fault.ret;
			else
				CHECK_EQ(fault.error, EFAULT);
			CHECK_EQ(dev_info(fd).timers, room - got);
			CHECK_EQ(dev_readable(fd, 0), got < room);
			call.events = &there[got];
			call.count = room - got;
			if (got < room)
				NEED(read_events(&call) == (long)call.count);
			for (i = 0; i < room; i++) {
				memcpy(&event, &array[4 + i * sizeof(event)], sizeof(event));
				NEED(event.cookie == i);
			}
			dev_silent(fd);
			close(fd);
		}
	}
}

static long info_get(void *arg)
{
	struct twheel_info info;

	return ioctl(*(int *)arg, TWHEEL_IOC_INFO, &info);
}

static long poll_now(void *arg)
{
	struct pollfd pfd = { .fd = *(int *)arg, .events = POLLIN };

	return poll(&pfd, 1, 0);
}

static char fdinfo[4096];

static long fdinfo_read(void *arg)
{
	ssize_t n, all = 0;
	char path[64];
	int fd, error;

	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", *(int *)arg);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -1;
	do {
		n = read(fd, fdinfo + all, sizeof(fdinfo) - 1 - all);
		if (n > 0)
			all += n;
	} while (n > 0);
	error = errno;
	close(fd);
	errno = error;
	fdinfo[all] = '\0';
	return n < 0 ? -1 : 0;
}

/* Calls that ask, and change nothing at any time. */
TEST(asks)
{
	static const struct {
		long (*call)(void *arg);
		long ret;
	} kinds[] = { { info_get, 0 }, { poll_now, 1 }, { fdinfo_read, 0 } };
	char whole[sizeof(fdinfo)];
	struct dev_state was;
	struct fault fault;
	unsigned int n, i;
	int fd;

	fault_prepare();
	fd = dev_open_virtual();
	dev_arm(fd, HOUR, 1);
	dev_arm(fd, MS, 1);
	dev_advance(fd, MS);
	NEED(dev_readable(fd, 0) == 1 && fdinfo_read(&fd) == 0);
	memcpy(whole, fdinfo, sizeof(whole));
	was = dev_state(fd);
	for (i = 0; i < SIZE_OF(kinds); i++) {
		FAULT_SWEEP(n, fault, 1) {
			fault = fault_call(n, kinds[i].call, &fd);
			if (fault_survived(&fault)) {
				CHECK_EQ(fault.ret, kinds[i].ret);
				CHECK(!strcmp(fdinfo, whole));
			}
			dev_same(fd, &was);
		}
	}
}
