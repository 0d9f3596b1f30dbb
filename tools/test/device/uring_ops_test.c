// SPDX-License-Identifier: GPL-2.0-only
/* Arrays of operations through io_uring, what it refuses, and injected faults: see fault_test.c. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "lib/device.h"
#include "lib/fault.h"
#include "lib/ring.h"
#include "lib/tap.h"

/* The size of the second half of a large entry. */
#define LARGE	sizeof(struct io_uring_sqe)

static int device_open(void)
{
	int fd = dev_open_virtual();

	if (!(dev_info(fd).features & TWHEEL_FEATURE_URING))
		tap_skip("this kernel has no commands of io_uring's");
	return fd;
}

static struct twheel_ops array_of(const struct twheel_op *ops, uint32_t count)
{
	return (struct twheel_ops) { .ops = (uintptr_t)ops, .count = count };
}

static struct twheel_op *ops_arm(unsigned int count)
{
	struct twheel_op *ops = calloc(count, sizeof(*ops));
	unsigned int i;

	NEED(ops);
	for (i = 0; i < count; i++)
		ops[i] = (struct twheel_op) {
			.op = TWHEEL_OP_ARM, .time_ns = S, .cookie = i,
		};
	return ops;
}

static struct io_uring_sqe *ops_sqe(struct io_uring *ring, int fd, const void *array)
{
	struct io_uring_sqe *sqe = ring_sqe(ring);

	ring_prep_ops(sqe, fd, array);
	return sqe;
}

static int ops_run(struct io_uring *ring, int fd, const void *array)
{
	ops_sqe(ring, fd, array);
	return ring_run(ring);
}

/* Each has its result, and none ends the others. */
TEST(each_has_its_result)
{
	enum { N = 200 };
	struct io_uring ring = ring_open(0);
	struct twheel_op *ops = ops_arm(N);
	struct twheel_ops array = array_of(ops, N), none = { };
	int fd = device_open(), i;

	CHECK_EQ(ops_run(&ring, fd, &array), N);
	CHECK_EQ(dev_info(fd).timers, N);
	for (i = 0; i < N; i++) {
		CHECK_EQ(ops[i].result, 0);
		CHECK_EQ(dev_query(fd, ops[i].id, NULL), 0);
		ops[i] = (struct twheel_op) { .op = TWHEEL_OP_CANCEL, .id = ops[i].id };
	}
	ops[7].id = 0;
	ops[8].op = 99;
	CHECK_EQ(ops_run(&ring, fd, &array), N);
	for (i = 0; i < N; i++)
		CHECK_EQ(ops[i].result, i == 7 ? -ENOENT : i == 8 ? -EINVAL : 1);
	CHECK_EQ(dev_info(fd).timers, 2);
	CHECK_EQ(ops_run(&ring, fd, &none), 0);
}

/* Time passes and events are read through the ring, one after the other. */
TEST(linked_with_a_read)
{
	struct io_uring ring = ring_open(0);
	struct twheel_op *ops = ops_arm(2);
	struct twheel_ops array = array_of(ops, 2);
	struct twheel_event event;
	int fd = device_open();

	ops[1].op = TWHEEL_OP_ADVANCE;
	ops[1].cookie = 0;
	io_uring_sqe_set_flags(ops_sqe(&ring, fd, &array), IOSQE_IO_LINK);
	io_uring_prep_read(ring_sqe(&ring), fd, &event, sizeof(event), 0);
	ring_submit(&ring, 2);
	CHECK_EQ(ring_wait(&ring).res, 2);
	CHECK_EQ(ring_wait(&ring).res, sizeof(event));
	CHECK_EQ(event.id, ops->id);
	CHECK_EQ(event.now_ns, S);
}

/* Arrays that are too long to be done during submission. Entries can be used again at once. */
TEST(long_ones_go_to_a_thread)
{
	enum { N = 2000, ARRAYS = 8 };
	struct io_uring ring = ring_open(0);
	struct twheel_op *ops = ops_arm(N * ARRAYS);
	struct twheel_ops arrays[ARRAYS];
	int fd = device_open(), i;

	for (i = 0; i < ARRAYS; i++) {
		arrays[i] = array_of(ops + i * N, N);
		ops_sqe(&ring, fd, &arrays[i]);
		ring_submit(&ring, 1);
		memset(ring.sq.sqes, 0xff, ring.sq.ring_entries * sizeof(*ring.sq.sqes));
	}
	for (i = 0; i < ARRAYS; i++)
		CHECK_EQ(ring_wait(&ring).res, N);
	CHECK_EQ(dev_info(fd).timers, N * ARRAYS);
	for (i = 0; i < N * ARRAYS; i++)
		NEED(ops[i].id && !ops[i].result);
}

/* Submitted by io_uring's own thread; for a thread; and by large entries. */
TEST(in_each_way)
{
	static const struct {
		unsigned int ring, sqe;
	} ways[] = {
		{ IORING_SETUP_SQPOLL, 0 }, { 0, IOSQE_ASYNC }, { IORING_SETUP_SQE128, 0 },
	};
	struct twheel_op *ops = ops_arm(5000);
	struct twheel_ops arrays[] = { array_of(ops, 10), array_of(ops, 5000) };
	int fd = device_open();
	unsigned int i, j;

	for (i = 0; i < SIZE_OF(ways); i++) {
		struct io_uring ring = ring_open(ways[i].ring);
		int done, all = 0;

		for (j = 0; j < SIZE_OF(arrays); j++) {
			struct io_uring_sqe *sqe = ops_sqe(&ring, fd, &arrays[j]);

			io_uring_sqe_set_flags(sqe, ways[i].sqe);
			/* Other work of io_uring may end it after 256. */
			done = ring_run(&ring);
			CHECK(done == (int)arrays[j].count || (j && done >= 256));
			all += done;
		}
		CHECK_EQ(dev_cancel_all(fd), all);
		io_uring_queue_exit(&ring);
	}
}

/* A long array is done, or as much of it as was done; a ring that goes waits for it. */
TEST(cancelled_and_closed)
{
	enum { N = 50000 };
	struct io_uring ring = ring_open(0);
	struct twheel_op *ops = ops_arm(N);
	struct twheel_ops array = array_of(ops, N);
	struct io_uring_sqe *sqe;
	int fd = device_open(), done = 0, i;

	ops_sqe(&ring, fd, &array)->user_data = 1;
	ring_submit(&ring, 1);
	sqe = ring_sqe(&ring);
	io_uring_prep_cancel64(sqe, 1, 0);
	sqe->user_data = 2;
	ring_submit(&ring, 1);
	for (i = 0; i < 2; i++) {
		struct io_uring_cqe cqe = ring_wait(&ring);

		if (cqe.user_data == 1)
			done = cqe.res;
	}
	if (done < 0) {
		CHECK(done == -ECANCELED || done == -EINTR);
		done = 0;
	}
	CHECK_EQ(dev_info(fd).timers, done);
	for (i = 0; i < N; i++)
		NEED(!ops[i].id == (i >= done));

	ops_sqe(&ring, fd, &array);
	ring_submit(&ring, 1);
	io_uring_queue_exit(&ring);
	CHECK(dev_info(fd).timers <= (uint64_t)done + N);
	dev_cancel_all(fd);
}

TEST(memory_that_is_not_there)
{
	struct io_uring ring = ring_open(0);
	struct twheel_op *ops = ops_arm(1);
	struct twheel_ops array = array_of(NULL, 1);
	int fd = device_open();
	struct dev_state was = dev_state(fd);

	CHECK_EQ(ops_run(&ring, fd, &array), -EFAULT);
	CHECK_EQ(ops_run(&ring, fd, (void *)8), -EFAULT);
	CHECK_EQ(ops_run(&ring, fd, NULL), -EFAULT);
	CHECK_EQ(ops_run(&ring, fd, (void *)~63UL), -EFAULT);
	array = array_of(NULL, 1000);
	CHECK_EQ(ops_run(&ring, fd, &array), -EFAULT);
	dev_same(fd, &was);
	array = array_of(ops, 1);
	CHECK_EQ(ops_run(&ring, fd, &array), 1);
}

TEST(commands_refused)
{
	struct io_uring ring = ring_open(0);
	struct twheel_op *ops = ops_arm(1);
	struct {
		struct twheel_ops array;
		uint64_t tail;
	} large = { array_of(ops, 1), 1 };
	const unsigned int unknown[] = {
		_IOW(TWHEEL_IOC_TYPE, 0x7f, struct twheel_ops),
		_IOW(TWHEEL_IOC_TYPE + 1, 0x13, struct twheel_ops),
		_IOR(TWHEEL_IOC_TYPE, 0x13, struct twheel_ops),
		TWHEEL_IOC_OP, TWHEEL_IOC_SETUP, TWHEEL_IOC_INFO, 0, ~0U,
	};
	const unsigned int longer = _IOC(_IOC_WRITE, TWHEEL_IOC_TYPE, 0x13, sizeof(large));
	int fd = device_open();
	struct dev_state was = dev_state(fd);
	unsigned int i;

	for (i = 0; i < SIZE_OF(unknown); i++) {
		/* The operation is valid as an ioctl. */
		ops_sqe(&ring, fd, unknown[i] == TWHEEL_IOC_OP ? (void *)ops :
			(void *)&large.array)->cmd_op = unknown[i];
		CHECK_EQ(ring_run(&ring), -ENOTTY);
	}
	ops_sqe(&ring, fd, &large)->cmd_op =
		_IOC(_IOC_WRITE, TWHEEL_IOC_TYPE, 0x13, sizeof(large.array) - 8);
	CHECK_EQ(ring_run(&ring), -EINVAL);
	ops_sqe(&ring, fd, &large)->cmd_op = longer;
	CHECK_EQ(ring_run(&ring), -E2BIG);
	dev_same(fd, &was);
	large.tail = 0;
	ops_sqe(&ring, fd, &large)->cmd_op = longer;
	CHECK_EQ(ring_run(&ring), 1);
}

TEST(words_refused)
{
	struct twheel_op *ops = ops_arm(1000);
	struct twheel_ops good = array_of(ops, 1), many = array_of(ops, 1000), bad[5];
	struct io_uring ring = ring_open(0);
	struct iovec vec = { ops, sizeof(*ops) };
	int fd = device_open();
	struct dev_state was = dev_state(fd);
	unsigned int i;

	for (i = 0; i < 8; i++) {
		ops_sqe(&ring, fd, &good)->cmd[8 + i] = 1;
		CHECK_EQ(ring_run(&ring), -EINVAL);
	}
	NEED(io_uring_register_buffers(&ring, &vec, 1) == 0);
	ops_sqe(&ring, fd, &good)->rw_flags = IORING_URING_CMD_FIXED;
	CHECK_EQ(ring_run(&ring), -EINVAL);
	for (i = 0; i < SIZE_OF(bad); i++)
		bad[i] = good;
	bad[0].flags = 1;
	bad[1].reserved = 1;
	bad[2].count = 1U << 31;
	bad[3].stride = sizeof(*ops) - 8;
	bad[4].ops += 4;
	for (i = 0; i < SIZE_OF(bad); i++)
		CHECK_EQ(ops_run(&ring, fd, &bad[i]), -EINVAL);
	/* The same in a thread. */
	many.reserved = 1;
	CHECK_EQ(ops_run(&ring, fd, &many), -EINVAL);
	dev_same(fd, &was);
	many.reserved = 0;
	CHECK_EQ(ops_run(&ring, fd, &many), 1000);
}

/* Each byte of the second half of a large entry, at once and in a thread. */
TEST(second_half_refused)
{
	static const unsigned int ways[] = { 0, IOSQE_ASYNC };
	struct twheel_op *ops = ops_arm(1);
	struct twheel_ops array = array_of(ops, 1);
	struct io_uring ring = ring_open(IORING_SETUP_SQE128);
	int fd = device_open();
	struct dev_state was = dev_state(fd);
	struct io_uring_sqe *sqe;
	unsigned int i, j;

	for (i = 0; i < SIZE_OF(ways); i++)
		for (j = 0; j < LARGE; j++) {
			sqe = ops_sqe(&ring, fd, &array);
			io_uring_sqe_set_flags(sqe, ways[i]);
			memset((char *)sqe + LARGE, 0, LARGE);
			((char *)sqe)[LARGE + j] = 1;
			CHECK_EQ(ring_run(&ring), -EINVAL);
		}
	dev_same(fd, &was);
	for (i = 0; i < SIZE_OF(ways); i++) {
		sqe = ops_sqe(&ring, fd, &array);
		io_uring_sqe_set_flags(sqe, ways[i]);
		memset((char *)sqe + LARGE, 0, LARGE);
		CHECK_EQ(ring_run(&ring), 1);
	}
}

/* A descriptor that is open for reading only. */
TEST(needs_a_writer)
{
	struct io_uring ring = ring_open(0);
	struct twheel_op *ops = ops_arm(1);
	struct twheel_ops array = array_of(ops, 1);
	int reader = open("/dev/twheel", O_RDONLY | O_CLOEXEC);

	NEED(reader >= 0);
	close(device_open());
	CHECK_EQ(ops_run(&ring, reader, &array), -EBADF);
	CHECK_EQ(dev_info(reader).timers, 0);
}

static long ring_submit_call(void *arg)
{
	long ret = io_uring_submit(arg);

	errno = ret < 0 ? -ret : 0;
	return ret < 0 ? -1 : ret;
}

/* The array is done or not, as its completion says; or io_uring itself fails. */
TEST(submits_an_array)
{
	enum { N = 300 };
	struct io_uring ring = ring_open(0);
	struct dev_state was;
	struct fault fault;
	unsigned int n, i;

	close(device_open());
	fault_prepare();
	/* A long one goes to a thread of io_uring, without faults. */
	FAULT_SWEEP(n, fault, 0) {
		struct twheel_op *ops = ops_arm(N);
		struct twheel_ops array = array_of(ops, n % 2 ? 200 : N);
		unsigned int good = 0;
		int fd = dev_open(), res;

		ops_sqe(&ring, fd, &array);
		was = dev_state(fd);
		fault = fault_call(n, ring_submit_call, &ring);
		/* An entry that was not taken can be submitted again. */
		if (fault.ret != 1) {
			CHECK(fault.injected);
			NEED(io_uring_submit(&ring) == 1);
		}
		res = ring_wait(&ring).res;
		if (res < 0) {
			CHECK(fault.injected);
			if (res != -ENOMEM && res != -EAGAIN)
				CHECK_EQ(res, -EFAULT);
			dev_same(fd, &was);
			close(fd);
			continue;
		}
		CHECK_EQ(res, array.count);
		for (i = 0; i < array.count; i++) {
			if (ops[i].result)
				CHECK_EQ(ops[i].result, -ENOMEM);
			else
				good++;
		}
		CHECK(good >= array.count - 1);
		CHECK_EQ(dev_info(fd).timers, good);
		close(fd);
	}
}
