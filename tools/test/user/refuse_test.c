// SPDX-License-Identifier: GPL-2.0-only
/*
 * What /dev/twheel refuses: each call is valid but for one thing, and changes nothing.
 */
#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "lib/device.h"
#include "lib/tap.h"

/* A file with two timers: one pending, one fired and unread. */
struct held {
	int fd;
	uint64_t id;
	struct twheel_info before;
};

static struct held held_open(void)
{
	struct held held = { .fd = dev_open_flags(O_NONBLOCK) };

	held.id = dev_arm(held.fd, 3600 * S, 11);
	dev_arm(held.fd, MS, 22);
	dev_wait_unread(held.fd, 1);
	held.before = dev_info(held.fd);
	return held;
}

/* Check that nothing has changed. */
static void held_unchanged(const struct held *held)
{
	struct twheel_info now = dev_info(held->fd);
	struct twheel_op op;

	CHECK_EQ(now.timers, held->before.timers);
	CHECK_EQ(now.pending, held->before.pending);
	CHECK_EQ(now.unread, held->before.unread);
	CHECK_EQ(now.armed, held->before.armed);
	CHECK_EQ(now.fired, held->before.fired);
	CHECK_EQ(now.cancelled, held->before.cancelled);
	CHECK_EQ(now.tick_ns, held->before.tick_ns);
	CHECK_EQ(now.max_timers, held->before.max_timers);
	CHECK_EQ(dev_query(held->fd, held->id, &op), 0);
	CHECK_EQ(op.state, TWHEEL_STATE_PENDING);
}

static const unsigned long op_commands[] = {
	TWHEEL_IOC_ARM, TWHEEL_IOC_CANCEL, TWHEEL_IOC_MODIFY, TWHEEL_IOC_QUERY,
};

#define NR_OPS	(sizeof(op_commands) / sizeof(*op_commands))

/* An operation that succeeds. */
static struct twheel_op good_op(const struct held *held, unsigned long command)
{
	struct twheel_op op = { };

	if (command == TWHEEL_IOC_ARM)
		op.deadline_ns = 3600 * S;
	else
		op.id = held->id;
	if (command == TWHEEL_IOC_MODIFY)
		op.deadline_ns = 7200 * S;
	return op;
}

static void unknown_commands(void)
{
	struct held held = held_open();
	struct twheel_op op = good_op(&held, TWHEEL_IOC_ARM);

	CHECK_ERR(ioctl(held.fd, _IOWR(TWHEEL_IOC_TYPE, 0x7f, op), &op), ENOTTY);
	CHECK_ERR(ioctl(held.fd, _IOWR(TWHEEL_IOC_TYPE + 1, 0x02, op), &op),
		  ENOTTY);
	/* The right number, the wrong direction. */
	CHECK_ERR(ioctl(held.fd, _IOR(TWHEEL_IOC_TYPE, 0x02, op), &op), ENOTTY);
	CHECK_ERR(ioctl(held.fd, _IOW(TWHEEL_IOC_TYPE, 0x00,
				      struct twheel_info), &op), ENOTTY);
	held_unchanged(&held);
}

static const uint32_t op_flags[] = {
	TWHEEL_ABS | TWHEEL_MONOTONIC | TWHEEL_OR_MODIFY, 0,
	TWHEEL_ABS | TWHEEL_MONOTONIC | TWHEEL_LATER | TWHEEL_SET_PERIOD |
	TWHEEL_SET_SLACK | TWHEEL_SET_COOKIE, 0,
};

static void unknown_flags(void)
{
	struct held held = held_open();
	unsigned int i, bit;

	for (i = 0; i < NR_OPS; i++) {
		for (bit = 0; bit < 32; bit++) {
			struct twheel_op op = good_op(&held, op_commands[i]);

			op.flags = 1U << bit;
			if (op.flags & op_flags[i])
				continue;
			CHECK_ERR(ioctl(held.fd, op_commands[i], &op), EINVAL);
		}
	}
	held_unchanged(&held);
}

/* Flags of former versions, in arms that these accepted. */
static void former_flags(void)
{
	struct held held = held_open();
	unsigned int bit;

	for (bit = 2; bit <= 3; bit++) {
		struct twheel_op op = good_op(&held, TWHEEL_IOC_ARM);

		op.period_ns = S;
		op.flags = 1U << bit;
		CHECK_ERR(ioctl(held.fd, TWHEEL_IOC_ARM, &op), EINVAL);
		op.flags |= TWHEEL_ABS;
		CHECK_ERR(ioctl(held.fd, TWHEEL_IOC_ARM, &op), EINVAL);
		/* Three attempts, two doublings. */
		op.flags = 1U << bit;
		op.reserved = 0x0203;
		CHECK_ERR(ioctl(held.fd, TWHEEL_IOC_ARM, &op), EINVAL);
		op.flags = 0;
		CHECK_ERR(ioctl(held.fd, TWHEEL_IOC_ARM, &op), EINVAL);
	}
	/* Features of former versions. */
	CHECK_EQ(held.before.features & (1U << 2 | 1U << 3 | 1U << 7), 0);
	held_unchanged(&held);
}

/* The former command for an eventfd; and SIGIO. */
static void former_commands(void)
{
	struct held held = held_open();
	uint64_t arg[2] = { ~0U, 0 };

	CHECK_ERR(ioctl(held.fd, _IOC(_IOC_WRITE, TWHEEL_IOC_TYPE, 0x08, 16),
			arg), ENOTTY);
	CHECK_ERR(ioctl(held.fd, _IOC(_IOC_NONE, TWHEEL_IOC_TYPE, 0x08, 0)),
		  ENOTTY);
	held_unchanged(&held);
}

static void reserved_fields(void)
{
	struct held held = held_open();
	unsigned int i;

	for (i = 0; i < NR_OPS; i++) {
		struct twheel_op op = good_op(&held, op_commands[i]);

		op.reserved = 1;
		CHECK_ERR(ioctl(held.fd, op_commands[i], &op), EINVAL);
		op = good_op(&held, op_commands[i]);
		op.op = 1;
		CHECK_ERR(ioctl(held.fd, op_commands[i], &op), EINVAL);
		op = good_op(&held, op_commands[i]);
		op.result = 1;
		CHECK_ERR(ioctl(held.fd, op_commands[i], &op), EINVAL);
		op = good_op(&held, op_commands[i]);
		op.state = 1;
		CHECK_ERR(ioctl(held.fd, op_commands[i], &op), EINVAL);
	}
	held_unchanged(&held);
}

/* What an operation does not use has to be 0. */
static void unused_fields(void)
{
	struct held held = held_open();
	unsigned int i;

	for (i = 1; i < NR_OPS; i++) {
		struct twheel_op op = good_op(&held, op_commands[i]);

		op.cookie = 1;
		CHECK_ERR(ioctl(held.fd, op_commands[i], &op), EINVAL);
		op = good_op(&held, op_commands[i]);
		op.period_ns = S;
		CHECK_ERR(ioctl(held.fd, op_commands[i], &op), EINVAL);
		op = good_op(&held, op_commands[i]);
		op.slack_ns = 1;
		CHECK_ERR(ioctl(held.fd, op_commands[i], &op), EINVAL);
		if (op_commands[i] == TWHEEL_IOC_MODIFY)
			continue;
		op = good_op(&held, op_commands[i]);
		op.deadline_ns = 1;
		CHECK_ERR(ioctl(held.fd, op_commands[i], &op), EINVAL);
	}
	held_unchanged(&held);
}

/* Times on a clock on which the file has no timers. */
static void monotonic_on_boottime(void)
{
	const struct twheel_setup setup = { .clockid = CLOCK_BOOTTIME };
	struct twheel_op op = {
		.flags = TWHEEL_ABS | TWHEEL_MONOTONIC,
		.deadline_ns = dev_now(CLOCK_BOOTTIME) + 3600 * S,
	};
	int fd = dev_open();
	uint64_t id;

	NEED(ioctl(fd, TWHEEL_IOC_SETUP, &setup) == 0);
	CHECK_ERR(ioctl(fd, TWHEEL_IOC_ARM, &op), EINVAL);
	op.flags = TWHEEL_ABS;
	id = dev_arm_op(fd, &op);
	CHECK_ERR(dev_modify(fd, id, TWHEEL_ABS | TWHEEL_MONOTONIC, op.deadline_ns),
		  EINVAL);
	CHECK_EQ(dev_modify(fd, id, TWHEEL_ABS, op.deadline_ns), 0);
}

static void arm_values(void)
{
	struct held held = held_open();
	struct twheel_op good = good_op(&held, TWHEEL_IOC_ARM), op;

	op = good;
	op.id = held.id;
	CHECK_ERR(ioctl(held.fd, TWHEEL_IOC_ARM, &op), EINVAL);
	op = good;
	op.deadline_ns = TWHEEL_DELAY_NEVER + 1;
	CHECK_ERR(ioctl(held.fd, TWHEEL_IOC_ARM, &op), EINVAL);
	op = good;
	op.period_ns = TWHEEL_DELAY_NEVER + 1;
	CHECK_ERR(ioctl(held.fd, TWHEEL_IOC_ARM, &op), EINVAL);
	op = good;
	op.slack_ns = TWHEEL_DELAY_NEVER + 1;
	CHECK_ERR(ioctl(held.fd, TWHEEL_IOC_ARM, &op), EINVAL);
	/* Below one tick. */
	op = good;
	op.period_ns = MS - 1;
	CHECK_ERR(ioctl(held.fd, TWHEEL_IOC_ARM, &op), EINVAL);
	op = good_op(&held, TWHEEL_IOC_MODIFY);
	op.deadline_ns = TWHEEL_DELAY_NEVER + 1;
	CHECK_ERR(ioctl(held.fd, TWHEEL_IOC_MODIFY, &op), EINVAL);
	op = good_op(&held, TWHEEL_IOC_MODIFY);
	op.flags = TWHEEL_SET_PERIOD;
	op.period_ns = MS - 1;
	CHECK_ERR(ioctl(held.fd, TWHEEL_IOC_MODIFY, &op), EINVAL);
	op = good_op(&held, TWHEEL_IOC_MODIFY);
	op.flags = TWHEEL_SET_SLACK;
	op.slack_ns = TWHEEL_DELAY_NEVER + 1;
	CHECK_ERR(ioctl(held.fd, TWHEEL_IOC_MODIFY, &op), EINVAL);
	held_unchanged(&held);
}

static void cancel_all_values(void)
{
	const struct twheel_cancel_all bad[] = {
		{ .flags = 1 }, { .flags = 1U << 31 }, { .pad = 1 },
		{ .reserved = 1 },
	};
	struct held held = held_open();
	unsigned int i;

	for (i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		CHECK_ERR(ioctl(held.fd, TWHEEL_IOC_CANCEL_ALL, &bad[i]), EINVAL);
	CHECK_ERR(ioctl(held.fd, TWHEEL_IOC_CANCEL_ALL, NULL), EFAULT);
	/* Without a structure, as in the first versions. */
	CHECK_ERR(ioctl(held.fd, _IO(TWHEEL_IOC_TYPE, 0x06)), ENOTTY);
	CHECK_ERR(ioctl(held.fd, _IOC(_IOC_WRITE, TWHEEL_IOC_TYPE, 0x06, 8),
			&bad[0]), EINVAL);
	held_unchanged(&held);
	CHECK_EQ(dev_cancel_all(held.fd), 2);
}

static void void_identifiers(void)
{
	struct held held = held_open();
	int other = dev_open();
	uint64_t foreign = dev_arm(other, 3600 * S, 0);
	uint64_t stale = dev_arm(other, 3600 * S, 0);
	uint64_t ids[6];
	unsigned int i, j;

	NEED(dev_cancel(other, stale) == 0);
	dev_arm(other, 3600 * S, 0);
	ids[0] = 0;
	ids[1] = ~0ULL;
	ids[2] = held.id + (1ULL << 32);
	ids[3] = held.id + 12345;
	ids[4] = held.id & 0xffffffff;
	ids[5] = foreign + (7ULL << 32);
	for (i = 1; i < NR_OPS; i++) {
		struct twheel_op op;

		for (j = 0; j < 6; j++) {
			op = good_op(&held, op_commands[i]);
			op.id = ids[j];
			CHECK_ERR(ioctl(held.fd, op_commands[i], &op), ENOENT);
		}
		op = good_op(&held, op_commands[i]);
		op.id = stale;
		CHECK_ERR(ioctl(other, op_commands[i], &op), ENOENT);
		/* A file without any timer. */
		CHECK_ERR(ioctl(dev_open(), op_commands[i], &op), ENOENT);
	}
	held_unchanged(&held);
}

static void setup_values(void)
{
	const struct twheel_setup good = {
		.clockid = CLOCK_MONOTONIC, .tick_ns = MS, .slots = 64,
		.max_timers = 100,
	};
	int fd = dev_open();
	struct twheel_info info = dev_info(fd);
	struct twheel_setup bad[16];
	unsigned int i, n = 0;

	for (i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		bad[i] = good;
	bad[n++].clockid = CLOCK_PROCESS_CPUTIME_ID;
	bad[n++].clockid = 99;
	bad[n++].clockid = ~0U;
	bad[n++].flags = 1U << 1;
	bad[n++].tick_ns = info.tick_min_ns - 1;
	bad[n++].tick_ns = 3600 * S + 1;
	bad[n++].tick_ns = ~0ULL;
	bad[n++].slots = 1;
	bad[n++].slots = 4097;
	bad[n++].max_timers = info.limit_timers + 1;
	bad[n++].event_size = TWHEEL_EVENT_SIZE_0 - 8;
	bad[n++].event_size = TWHEEL_EVENT_SIZE_0 + 4;
	bad[n++].event_size = TWHEEL_EVENT_SIZE_MAX + 8;
	bad[n++].event_size = 1;
	bad[n++].event_size = ~7U;
	bad[n++].reserved = 1;
	for (i = 0; i < n; i++) {
		if (!tap_check(ioctl(fd, TWHEEL_IOC_SETUP, &bad[i]) == -1 &&
			       errno == EINVAL, __FILE__, __LINE__,
			       "bad[%u]: errno %d", i, errno))
			fd = dev_open();
	}
	CHECK_EQ(dev_info(fd).slots, 256);
	CHECK_EQ(dev_info(fd).max_timers, info.max_timers);
	/* A refused setup does not count as the one that is allowed. */
	CHECK_EQ(ioctl(fd, TWHEEL_IOC_SETUP, &good), 0);
	CHECK_EQ(dev_info(fd).slots, 64);
	CHECK_ERR(ioctl(fd, TWHEEL_IOC_SETUP, &good), EBUSY);
	fd = dev_open();
	dev_arm(fd, S, 0);
	CHECK_ERR(ioctl(fd, TWHEEL_IOC_SETUP, &good), EBUSY);
	CHECK_EQ(dev_info(fd).slots, 256);
}

static void full_file(void)
{
	struct twheel_setup setup = {
		.clockid = CLOCK_MONOTONIC, .max_timers = 300,
	};
	struct twheel_op op = { .deadline_ns = 3600 * S };
	int fd = dev_open(), i;

	NEED(ioctl(fd, TWHEEL_IOC_SETUP, &setup) == 0);
	for (i = 0; i < 300; i++)
		dev_arm(fd, 3600 * S, i);
	CHECK_ERR(ioctl(fd, TWHEEL_IOC_ARM, &op), ENOSPC);
	CHECK_EQ(dev_info(fd).timers, 300);
	CHECK_EQ(dev_info(fd).armed, 300);
}

static void bad_pointers(void)
{
	struct held held = held_open();
	struct twheel_op good = good_op(&held, TWHEEL_IOC_ARM), *op;
	size_t page = sysconf(_SC_PAGESIZE);
	unsigned int i;
	char *memory;

	for (i = 0; i < NR_OPS; i++) {
		CHECK_ERR(ioctl(held.fd, op_commands[i], NULL), EFAULT);
		CHECK_ERR(ioctl(held.fd, op_commands[i], ~0UL & ~63UL), EFAULT);
	}
	CHECK_ERR(ioctl(held.fd, TWHEEL_IOC_INFO, 1), EFAULT);
	CHECK_ERR(ioctl(dev_open(), TWHEEL_IOC_SETUP, 1), EFAULT);

	memory = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE,
		      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	NEED(memory != MAP_FAILED);
	NEED(munmap(memory + page, page) == 0);
	/* Half of it is mapped. */
	CHECK_ERR(ioctl(held.fd, TWHEEL_IOC_ARM, memory + page - 32), EFAULT);
	/* It can be read but not written: nothing is armed. */
	op = (struct twheel_op *)memory;
	*op = good;
	NEED(mprotect(memory, page, PROT_READ) == 0);
	CHECK_ERR(ioctl(held.fd, TWHEEL_IOC_ARM, op), EFAULT);
	CHECK_EQ(op->id, 0);
	held_unchanged(&held);
}

static void sizes(void)
{
	struct held held = held_open();
	struct {
		struct twheel_op op;
		uint64_t tail[2];
	} large;
	struct {
		struct twheel_info info;
		uint64_t tail[2];
	} info;
	unsigned int i;

	for (i = 0; i < NR_OPS; i++) {
		unsigned long command = op_commands[i];
		unsigned int dir = _IOC_DIR(command), nr = _IOC_NR(command);

		memset(&large, 0, sizeof(large));
		large.op = good_op(&held, command);
		CHECK_ERR(ioctl(held.fd, _IOC(dir, TWHEEL_IOC_TYPE, nr,
					      sizeof(large.op) - 8), &large),
			  EINVAL);
		large.tail[1] = 1;
		CHECK_ERR(ioctl(held.fd, _IOC(dir, TWHEEL_IOC_TYPE, nr,
					      sizeof(large)), &large), E2BIG);
	}
	CHECK_ERR(ioctl(held.fd, _IOC(_IOC_READ, TWHEEL_IOC_TYPE, 0,
				      sizeof(info.info) - 8), &info), EINVAL);
	held_unchanged(&held);

	/* A longer structure than the kernel knows is accepted if the rest is 0. */
	memset(&info, 0xff, sizeof(info));
	CHECK_EQ(ioctl(held.fd, _IOC(_IOC_READ, TWHEEL_IOC_TYPE, 0,
				     sizeof(info)), &info), 0);
	CHECK_EQ(info.tail[0] | info.tail[1], 0);
	memset(&large, 0, sizeof(large));
	large.op = good_op(&held, TWHEEL_IOC_ARM);
	CHECK_EQ(ioctl(held.fd, _IOC(_IOC_READ | _IOC_WRITE, TWHEEL_IOC_TYPE, 2,
				     sizeof(large)), &large), 0);
	CHECK_EQ(dev_cancel(held.fd, large.op.id), 0);
}

static void reads(void)
{
	size_t page = sysconf(_SC_PAGESIZE);
	struct held held = held_open();
	/* volatile, or the compiler would warn */
	void *volatile nowhere = (void *)8;
	struct twheel_event event;
	char *memory;

	CHECK_ERR(read(held.fd, &event, sizeof(event) - 1), EINVAL);
	CHECK_ERR(read(held.fd, &event, 0), EINVAL);
	CHECK_ERR(read(held.fd, nowhere, sizeof(event)), EFAULT);
	CHECK_ERR(write(held.fd, &event, sizeof(event)), EINVAL);
	/* Events have no position. */
	CHECK_ERR(pread(held.fd, &event, sizeof(event), 0), ESPIPE);
	CHECK_ERR(lseek(held.fd, 0, SEEK_SET), ESPIPE);
	held_unchanged(&held);

	/* There is no memory for the second record. */
	dev_arm(held.fd, MS, 33);
	dev_wait_unread(held.fd, 2);
	memory = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE,
		      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	NEED(memory != MAP_FAILED);
	NEED(munmap(memory + page, page) == 0);
	CHECK_ERR(read(held.fd, memory + page - sizeof(event) - 8,
		       2 * sizeof(event)), EFAULT);
	CHECK_EQ(dev_info(held.fd).unread, 2);
	/* No event is lost, and their order is kept. */
	CHECK_EQ(dev_readable(held.fd, 0), 1);
	CHECK_EQ(dev_read(held.fd).cookie, 22);
	CHECK_EQ(dev_read(held.fd).cookie, 33);
}

/* Each would succeed with a descriptor of the other kind. */
static void descriptors_of_one_kind(void)
{
	int reader = open("/dev/twheel", O_RDONLY | O_CLOEXEC);
	int writer = open("/dev/twheel", O_WRONLY | O_CLOEXEC);
	struct twheel_op op = { };
	struct twheel_op armed = { .op = TWHEEL_OP_ARM };
	struct twheel_batch batch = {
		.ops = (uintptr_t)&armed, .op_size = sizeof(armed), .count = 1,
	};
	struct twheel_event event;
	unsigned int i;

	for (i = 0; i < NR_OPS; i++) {
		int error = op_commands[i] == TWHEEL_IOC_QUERY ? ENOENT : EBADF;

		CHECK_ERR(ioctl(reader, op_commands[i], &op), error);
	}
	CHECK_ERR(ioctl(reader, TWHEEL_IOC_KICK, &op), EBADF);
	CHECK_ERR(ioctl(reader, TWHEEL_IOC_BATCH, &batch), EBADF);
	CHECK_ERR(dev_cancel_all(reader), EBADF);
	CHECK_EQ(op.id | armed.id, 0);
	CHECK_EQ(dev_info(reader).armed, 0);

	CHECK_EQ(ioctl(writer, TWHEEL_IOC_ARM, &op), 0);
	dev_wait_unread(writer, 1);
	CHECK_ERR(read(writer, &event, sizeof(event)), EBADF);
	CHECK_EQ(dev_info(writer).unread, 1);
	CHECK_EQ(dev_cancel(writer, op.id), 1);
	CHECK_EQ(ioctl(writer, TWHEEL_IOC_BATCH, &batch), 1);
	CHECK_EQ(dev_cancel_all(writer), 1);
}

static void module_in_use(void)
{
	struct held held = held_open();

	if (access("/sys/module/twheel/refcnt", R_OK))
		tap_skip("twheel is not a module here");
	CHECK_ERR(syscall(SYS_delete_module, "twheel", O_NONBLOCK),
		  EWOULDBLOCK);
	held_unchanged(&held);
}

static const struct tap_test tests[] = {
	TAP(unknown_commands),
	TAP(unknown_flags),
	TAP(former_flags),
	TAP(former_commands),
	TAP(reserved_fields),
	TAP(unused_fields),
	TAP(monotonic_on_boottime),
	TAP(arm_values),
	TAP(cancel_all_values),
	TAP(void_identifiers),
	TAP(setup_values),
	TAP(full_file),
	TAP(bad_pointers),
	TAP(sizes),
	TAP(reads),
	TAP(descriptors_of_one_kind),
	TAP(module_in_use),
};

int main(int argc, char **argv)
{
	return tap_main(tests, sizeof(tests) / sizeof(*tests), argc, argv);
}
