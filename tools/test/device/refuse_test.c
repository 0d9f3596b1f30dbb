// SPDX-License-Identifier: GPL-2.0-only
/*
 * What /dev/twheel refuses: each call is valid except for one thing, and changes nothing. Edges
 * of memory are in ops_test.c, limits of users in limit_test.c, mappings in cell_test.c.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <limits.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "lib/device.h"
#include "lib/tap.h"

/**
 * struct held - a file with something to lose
 * @pending: a timer
 * @due: a timer whose event can be read
 * @gone: the identifier of one that is cancelled
 * @cells: the number of cells
 * @was: what has to stay
 */
struct held {
	int fd;
	uint64_t pending;
	uint64_t due;
	uint64_t gone;
	uint32_t cells;
	struct dev_state was;
};

static struct held held_open(void)
{
	struct twheel_setup setup = { .clock = TWHEEL_VIRTUAL, .max_timers = 100 };
	struct held held = { };

	if (dev_info(dev_open()).features & TWHEEL_FEATURE_CELLS)
		held.cells = 10;
	setup.max_cells = held.cells;
	held.fd = dev_open_setup(&setup);
	dev_advance(held.fd, HOUR);
	held.gone = dev_arm(held.fd, 0, 1);
	NEED(dev_cancel(held.fd, held.gone) == 1);
	held.due = dev_arm(held.fd, 0, 2);
	held.pending = dev_arm(held.fd, HOUR, 3);
	dev_advance(held.fd, MS);
	NEED(dev_readable(held.fd, 0));
	held.was = dev_state(held.fd);
	return held;
}

static void held_check(const struct held *held)
{
	dev_same(held->fd, &held->was);
	CHECK_EQ(dev_info(held->fd).now_ns, HOUR + MS);
	CHECK_EQ(dev_query(held->fd, held->pending, NULL), 0);
	CHECK_EQ(dev_query(held->fd, held->due, NULL), 1);
	CHECK_EQ(dev_readable(held->fd, 0), 1);
}

/* Every operation that is valid on this file, by its code. */
static struct twheel_op good_op(const struct held *held, uint32_t code)
{
	struct twheel_op op = { .op = code };

	switch (code) {
	case TWHEEL_OP_ARM:
		op.time_ns = S;
		op.period_ns = S;
		op.cookie = 5;
		break;
	case TWHEEL_OP_MODIFY:
	case TWHEEL_OP_ADVANCE:
		op.time_ns = S;
		break;
	case TWHEEL_OP_KICK:
		op.id = 9;
		break;
	}
	if (code >= TWHEEL_OP_CANCEL && code <= TWHEEL_OP_QUERY)
		op.id = held->pending;
	return op;
}

#define CODES	8

/* By itself, and as an element between two others. */
static void refused_at(int line, const struct held *held, const struct twheel_op *bad, int error)
{
	struct twheel_op op = *bad, ops[3] = { };
	int ret = dev_op(held->fd, &op);
	unsigned int i;

	tap_check(ret == -1 && errno == error, __FILE__, line,
		  "op %u is not refused: %d, errno %d", bad->op, ret, errno);
	CHECK_EQ(op.result, -error);
	op.result = bad->result;
	CHECK(!memcmp(&op, bad, sizeof(op)));
	for (i = 0; i < 3; i++)
		ops[i] = (struct twheel_op) { .op = TWHEEL_OP_QUERY, .id = held->due };
	ops[1] = *bad;
	CHECK_EQ(dev_ops(held->fd, ops, 3), 3);
	tap_check(ops[1].result == -error, __FILE__, line, "op %u in an array: %lld", bad->op,
		  (long long)ops[1].result);
	ops[1].result = bad->result;
	CHECK(!memcmp(&ops[1], bad, sizeof(op)));
	CHECK_EQ(ops[0].result & ops[2].result, 1);
}

#define REFUSED(held, op, error)	refused_at(__LINE__, held, op, error)

TEST(codes)
{
	static const uint32_t unknown[] = { 0, 8, 9, 255, 257, 1U << 31, ~0U };
	struct held held = held_open();
	struct twheel_op op;
	unsigned int i;

	for (i = 0; i < SIZE_OF(unknown); i++) {
		op = good_op(&held, TWHEEL_OP_ARM);
		op.op = unknown[i];
		REFUSED(&held, &op, EINVAL);
		op = (struct twheel_op) { .op = unknown[i] };
		REFUSED(&held, &op, EINVAL);
	}
	held_check(&held);
}

/* The fields of inputs, each as a bit. */
static const size_t inputs[] = {
	offsetof(struct twheel_op, id), offsetof(struct twheel_op, cookie),
	offsetof(struct twheel_op, time_ns), offsetof(struct twheel_op, period_ns),
	offsetof(struct twheel_op, slack_ns),
};

enum { ID = 1, COOKIE = 2, TIME = 4, PERIOD = 8, SLACK = 16 };

/* All flags and all fields, but those used. */
TEST(flags_and_fields)
{
	static const struct {
		uint32_t flags;
		unsigned int fields;
	} used[CODES] = {
		[TWHEEL_OP_ARM] = { TWHEEL_ABS, ID | COOKIE | TIME | PERIOD | SLACK },
		[TWHEEL_OP_CANCEL] = { 0, ID },
		[TWHEEL_OP_MODIFY] = { TWHEEL_ABS | TWHEEL_LATER, ID | TIME },
		[TWHEEL_OP_QUERY] = { 0, ID },
		[TWHEEL_OP_KICK] = { 0, ID },
		[TWHEEL_OP_ADVANCE] = { TWHEEL_ABS, TIME },
	};
	static const uint64_t values[] = { 1, 1ULL << 32, 1ULL << 63 };
	struct held held = held_open();
	uint32_t code, i, v;

	for (code = 1; code < CODES; code++) {
		struct twheel_op good = good_op(&held, code), op;

		if (code == TWHEEL_OP_KICK && !held.cells)
			continue;
		for (op = good, i = 0; i < 32; i++) {
			op.flags = 1U << i;
			if (!(op.flags & used[code].flags))
				REFUSED(&held, &op, EINVAL);
		}
		for (i = 0; i < SIZE_OF(inputs); i++)
			for (v = 0; v < SIZE_OF(values) && !(used[code].fields >> i & 1); v++) {
				op = good;
				memcpy((char *)&op + inputs[i], &values[v], sizeof(*values));
				REFUSED(&held, &op, EINVAL);
			}
	}
	held_check(&held);
}

TEST(values)
{
	struct held held = held_open();
	struct twheel_op op;

	op = good_op(&held, TWHEEL_OP_ARM);
	op.period_ns = TWHEEL_NEVER_NS + 1;
	REFUSED(&held, &op, EINVAL);
	op = good_op(&held, TWHEEL_OP_ARM);
	op.slack_ns = TWHEEL_NEVER_NS + 1;
	REFUSED(&held, &op, EINVAL);
	op = good_op(&held, TWHEEL_OP_ADVANCE);
	op.flags = TWHEEL_ABS;
	op.time_ns = HOUR + MS - 1;
	REFUSED(&held, &op, ERANGE);
	op.time_ns = TWHEEL_NEVER_NS;
	REFUSED(&held, &op, ERANGE);
	op.flags = 0;
	REFUSED(&held, &op, ERANGE);
	op = good_op(&held, TWHEEL_OP_KICK);
	for (op.id = held.cells; op.id != ~0ULL; op.id |= op.id << 8 | 255)
		REFUSED(&held, &op, ENOENT);
	held_check(&held);
}

TEST(void_identifiers)
{
	int other = dev_open_virtual();
	struct held held = held_open();
	uint64_t ids[] = {
		0, ~0ULL, held.gone, held.pending + (1ULL << 32), held.pending + 12345,
		held.pending & 0xffffffff, held.pending | 1U << 31, 1ULL << 32 | 99,
	};
	unsigned int i;
	uint32_t code;

	for (code = TWHEEL_OP_CANCEL; code <= TWHEEL_OP_QUERY; code++) {
		struct twheel_op op = good_op(&held, code);

		/* It is another file's. */
		CHECK_ERR(dev_op(other, &op), ENOENT);
		for (i = 0; i < SIZE_OF(ids); i++) {
			op.id = ids[i];
			REFUSED(&held, &op, ENOENT);
		}
	}
	held_check(&held);
}

TEST(full_file)
{
	struct held held = held_open();
	struct twheel_op op = good_op(&held, TWHEEL_OP_ARM);

	CHECK_EQ(dev_arm_many(held.fd, 99, HOUR), 98);
	held.was = dev_state(held.fd);
	CHECK_EQ(held.was.info.timers, 100);
	REFUSED(&held, &op, ENOSPC);
	held_check(&held);
	/* One that is due takes room until its event is read. */
	dev_read(held.fd);
	CHECK_EQ(dev_op(held.fd, &op), 0);
	CHECK_ERR(dev_op(held.fd, &op), ENOSPC);
}

/* What a clock cannot do. */
TEST(clocks)
{
	struct twheel_op op;
	unsigned int i;
	uint64_t id;
	int fd;

	for (i = TWHEEL_REALTIME; i <= TWHEEL_TAI; i++) {
		fd = dev_open_clock(i);
		/* A delay, on a clock that can be set. */
		op = (struct twheel_op) { .op = TWHEEL_OP_ARM, .time_ns = S };
		CHECK_ERR(dev_op(fd, &op), EINVAL);
		op.time_ns = 0;
		CHECK_ERR(dev_op(fd, &op), EINVAL);
		id = dev_arm_at(fd, TWHEEL_NEVER_NS, 0);
		CHECK_ERR(dev_modify(fd, id, 0, S), EINVAL);
		CHECK_ERR(dev_modify(fd, id, TWHEEL_LATER, S), EINVAL);
		CHECK_EQ(dev_query(fd, id, NULL), 0);
	}
	for (i = TWHEEL_MONOTONIC; i < TWHEEL_VIRTUAL; i++) {
		fd = dev_open_clock(i);
		op = (struct twheel_op) { .op = TWHEEL_OP_ADVANCE, .time_ns = 1 };
		CHECK_ERR(dev_op(fd, &op), EINVAL);
		op.time_ns = TWHEEL_NEVER_NS;
		op.flags = TWHEEL_ABS;
		CHECK_ERR(dev_op(fd, &op), EINVAL);
	}
	/* There are no cells. */
	CHECK_ERR(dev_kick(dev_open_virtual(), 0), ENOENT);
}

TEST(setups)
{
	struct twheel_info info = dev_info(dev_open());
	static const struct twheel_setup good = {
		.clock = TWHEEL_BOOTTIME, .tick_ns = 2 * MS, .max_timers = 99, .event_size = 64,
	};
	struct {
		struct twheel_setup setup;
		int error;
	} bad[] = {
		{ { .clock = 5 }, EINVAL },
		{ { .clock = ~0U }, EINVAL },
		{ { .flags = TWHEEL_SETUP_ACT << 1 }, EINVAL },
		{ { .flags = 1U << 31 }, EINVAL },
		{ { .reserved = 1 }, EINVAL },
		{ { .tick_ns = 1 }, ERANGE },
		{ { .tick_ns = info.tick_min_ns - 1 }, ERANGE },
		{ { .tick_ns = HOUR + 1 }, ERANGE },
		{ { .tick_ns = ~0ULL }, ERANGE },
		{ { .max_timers = info.limit_timers + 1 }, ERANGE },
		{ { .max_timers = ~0U }, ERANGE },
		{ { .event_size = 1 }, EINVAL },
		{ { .event_size = TWHEEL_EVENT_SIZE_0 - 8 }, EINVAL },
		{ { .event_size = TWHEEL_EVENT_SIZE_0 + 4 }, EINVAL },
		{ { .event_size = TWHEEL_EVENT_SIZE_MAX + 8 }, EINVAL },
		{ { .event_size = ~7U }, EINVAL },
		{ { .max_cells = 1, .clock = TWHEEL_REALTIME }, EINVAL },
		{ { .max_cells = 1, .clock = TWHEEL_TAI }, EINVAL },
		{ { .max_cells = info.limit_timers + 1 }, ERANGE },
		{ { .max_cells = ~0U }, ERANGE },
	};
	unsigned int i;
	int fd;

	if (!(info.features & TWHEEL_FEATURE_CELLS))
		for (i = SIZE_OF(bad) - 2; i < SIZE_OF(bad); i++)
			bad[i] = (typeof(bad[i])) { { .max_cells = 1 }, EINVAL };
	fd = dev_open();
	info = dev_info(fd);
	for (i = 0; i < SIZE_OF(bad); i++) {
		struct twheel_info now;
		int ret = ioctl(fd, TWHEEL_IOC_SETUP, &bad[i].setup);

		tap_check(ret == -1 && errno == bad[i].error, __FILE__, __LINE__,
			  "setup %u is not refused: %d, errno %d", i, ret, errno);
		now = dev_info(fd);
		now.now_ns = info.now_ns;
		CHECK(!memcmp(&now, &info, sizeof(now)));
	}
	/* Those were not the one setup that there may be. */
	CHECK_EQ(ioctl(fd, TWHEEL_IOC_SETUP, &good), 0);
	CHECK_EQ(dev_info(fd).clock, TWHEEL_BOOTTIME);
	CHECK_ERR(ioctl(fd, TWHEEL_IOC_SETUP, &good), EBUSY);
	CHECK_EQ(dev_info(fd).max_timers, 99);
}

TEST(arrays)
{
	static const struct twheel_ops wrong[] = {
		{ .flags = 1 }, { .flags = 1U << 31 }, { .reserved = 1 }, { .ops = 4 },
		{ .stride = TWHEEL_OP_SIZE_0 - 8 }, { .stride = TWHEEL_OP_SIZE_0 + 4 },
		{ .stride = TWHEEL_OP_SIZE_MAX + 8 }, { .stride = 8 }, { .count = INT_MAX },
	};
	struct held held = held_open();
	struct twheel_op op = good_op(&held, TWHEEL_OP_ARM);
	struct twheel_ops bad;
	unsigned int i;

	for (i = 0; i < SIZE_OF(wrong); i++) {
		bad = wrong[i];
		bad.ops += (uintptr_t)&op;
		bad.count++;
		CHECK_ERR(ioctl(held.fd, TWHEEL_IOC_OPS, &bad), EINVAL);
		/* With none in it as well. */
		bad.count = wrong[i].count ? ~0U : 0;
		CHECK_ERR(ioctl(held.fd, TWHEEL_IOC_OPS, &bad), EINVAL);
	}
	held_check(&held);
	CHECK_EQ(op.id, 0);
	CHECK_EQ(dev_ops(held.fd, &op, 1), 1);
}

TEST(unknown_commands)
{
	struct held held = held_open();
	struct twheel_op op = good_op(&held, TWHEEL_OP_ARM);
	unsigned int nr;

	for (nr = 0; nr < 256; nr++)
		if (nr < _IOC_NR(TWHEEL_IOC_INFO) || nr > _IOC_NR(TWHEEL_IOC_OPS))
			CHECK_ERR(ioctl(held.fd, _IOWR(TWHEEL_IOC_TYPE, nr, op), &op), ENOTTY);
	CHECK_ERR(ioctl(held.fd, _IOWR(TWHEEL_IOC_TYPE + 1, 0x12, op), &op), ENOTTY);
	/* The right number, the wrong direction. */
	CHECK_ERR(ioctl(held.fd, _IOR(TWHEEL_IOC_TYPE, 0x12, op), &op), ENOTTY);
	CHECK_ERR(ioctl(held.fd, _IOW(TWHEEL_IOC_TYPE, 0x12, op), &op), ENOTTY);
	CHECK_ERR(ioctl(held.fd, _IOR(TWHEEL_IOC_TYPE, 0x13, struct twheel_ops), &op), ENOTTY);
	held_check(&held);
}

static unsigned long command_sized(unsigned long command, size_t size)
{
	return _IOC(_IOC_DIR(command), TWHEEL_IOC_TYPE, _IOC_NR(command), size);
}

/* Structures that are shorter than the first version, or longer than the kernel knows. */
TEST(sizes)
{
	static const unsigned long commands[] = {
		TWHEEL_IOC_OP, TWHEEL_IOC_OPS, TWHEEL_IOC_SETUP, TWHEEL_IOC_INFO,
	};
	int plain = dev_open();
	struct held held = held_open();
	unsigned int i;

	for (i = 0; i < SIZE_OF(commands); i++) {
		struct twheel_op op = good_op(&held, TWHEEL_OP_ARM);
		unsigned long command = commands[i];
		size_t size = _IOC_SIZE(command);
		int fd = command == TWHEEL_IOC_SETUP ? plain : held.fd;
		char large[256] = "";

		if (command == TWHEEL_IOC_OP)
			memcpy(large, &op, sizeof(op));
		if (command == TWHEEL_IOC_OPS)
			*(struct twheel_ops *)large = (struct twheel_ops) {
				.ops = (uintptr_t)&op, .count = 1,
			};
		CHECK_ERR(ioctl(fd, command_sized(command, size - 8), large), EINVAL);
		CHECK_ERR(ioctl(fd, command_sized(command, 0), large), EINVAL);
		CHECK_ERR(ioctl(fd, command, NULL), EFAULT);
		CHECK_ERR(ioctl(fd, command, ~0UL & ~63UL), EFAULT);
		large[size + 15] = 1;
		if (command != TWHEEL_IOC_INFO)
			CHECK_ERR(ioctl(fd, command_sized(command, size + 16), large), E2BIG);
		held_check(&held);
		/* A tail of zeros means nothing. INFO fills it with them. */
		large[size + 15] = command == TWHEEL_IOC_INFO;
		CHECK_EQ(ioctl(fd, command_sized(command, size + 16), large),
			 command == TWHEEL_IOC_OPS);
		CHECK_EQ(large[size + 15], 0);
		held.was = dev_state(held.fd);
	}
	CHECK_EQ(held.was.info.timers, 4);
}

/* Each would succeed with a descriptor of the other kind. */
TEST(descriptors_of_one_kind)
{
	int reader = open("/dev/twheel", O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	int writer = open("/dev/twheel", O_WRONLY | O_CLOEXEC | O_NONBLOCK);
	struct twheel_setup setup = { .clock = TWHEEL_VIRTUAL };
	struct held held = { .fd = writer };
	struct twheel_event event;
	struct twheel_op op;
	uint32_t code;

	for (code = 1; code < CODES; code++) {
		op = good_op(&held, code);
		CHECK_ERR(dev_op(reader, &op), EBADF);
		CHECK_ERR(dev_ops(reader, &op, 1), EBADF);
	}
	CHECK_ERR(ioctl(reader, TWHEEL_IOC_SETUP, &setup), EBADF);
	CHECK_EQ(dev_info(reader).clock, TWHEEL_MONOTONIC);
	CHECK_ERR(events_read(reader, &event, 1), EAGAIN);
	CHECK_EQ(dev_readable(reader, 0), 0);

	CHECK_EQ(ioctl(writer, TWHEEL_IOC_SETUP, &setup), 0);
	dev_arm(writer, 0, 1);
	dev_advance(writer, MS);
	CHECK_EQ(dev_readable(writer, 0), 1);
	CHECK_ERR(events_read(writer, &event, 1), EBADF);
	CHECK_EQ(dev_cancel_all(writer), 1);
}

/* It is no file with a position, and nothing is written to it. */
TEST(other_calls)
{
	struct held held = held_open();
	struct twheel_event event;

	CHECK_ERR(write(held.fd, &event, sizeof(event)), EINVAL);
	CHECK_ERR(pread(held.fd, &event, sizeof(event), 0), ESPIPE);
	CHECK_ERR(lseek(held.fd, 0, SEEK_SET), ESPIPE);
	if (!access("/sys/module/twheel/refcnt", R_OK))
		CHECK_ERR(syscall(SYS_delete_module, "twheel", O_NONBLOCK), EWOULDBLOCK);
	held_check(&held);
}
