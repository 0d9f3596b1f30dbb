// SPDX-License-Identifier: GPL-2.0-only
/* Batches through io_uring, and refusals. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include <twheel/uring.h>

#include "lib/device.h"
#include "lib/ring.h"
#include "lib/tap.h"

/* The size of the second half of a large entry. */
#define LARGE	sizeof(struct io_uring_sqe)

static int device_open(void)
{
	int fd = dev_open();

	if (!(dev_info(fd).features & TWHEEL_FEATURE_URING))
		tap_skip("this kernel has no commands of io_uring's");
	return fd;
}

static struct twheel_batch batch_of(struct twheel_op *ops, uint32_t count)
{
	return (struct twheel_batch) {
		.ops = (uintptr_t)ops, .op_size = sizeof(*ops), .count = count,
	};
}

static struct twheel_op *ops_arm(unsigned int count, uint64_t delay_ns)
{
	struct twheel_op *ops = calloc(count, sizeof(*ops));
	unsigned int i;

	NEED(ops);
	for (i = 0; i < count; i++) {
		ops[i].op = TWHEEL_OP_ARM;
		ops[i].deadline_ns = delay_ns;
		ops[i].cookie = i;
	}
	return ops;
}

static struct io_uring_sqe *batch_sqe(struct io_uring *ring, int fd,
				      const void *batch)
{
	struct io_uring_sqe *sqe = ring_sqe(ring);

	twheel_uring_prep_batch(sqe, fd, (struct twheel_batch *)batch);
	return sqe;
}

static int ring_run(struct io_uring *ring)
{
	ring_submit(ring, 1);
	return ring_wait(ring).res;
}

static int run_batch(struct io_uring *ring, int fd, const void *batch)
{
	batch_sqe(ring, fd, batch);
	return ring_run(ring);
}

static void arms_and_cancels(void)
{
	enum { N = 256 };
	struct io_uring ring = ring_open(0);
	struct twheel_op *ops = ops_arm(N, 3600 * S), got;
	struct twheel_batch batch = batch_of(ops, N);
	int fd = device_open(), i;

	CHECK_EQ(run_batch(&ring, fd, &batch), N);
	CHECK_EQ(batch.done, N);
	CHECK_EQ(dev_info(fd).timers, N);
	for (i = 0; i < N; i++) {
		CHECK_EQ(ops[i].result, 0);
		CHECK_EQ(dev_query(fd, ops[i].id, &got), 0);
		CHECK_EQ(got.cookie, i);
		ops[i] = (struct twheel_op) {
			.op = TWHEEL_OP_CANCEL, .id = ops[i].id,
		};
	}
	ops[7].id = 0;
	batch.done = 0;
	CHECK_EQ(run_batch(&ring, fd, &batch), N);
	for (i = 0; i < N; i++)
		CHECK_EQ(ops[i].result, i == 7 ? -ENOENT : 0);
	CHECK_EQ(dev_info(fd).timers, 1);
	batch = batch_of(NULL, 0);
	CHECK_EQ(run_batch(&ring, fd, &batch), 0);
}

/* Arm timers and read their events, both through the ring. */
static void fires_through_the_ring(void)
{
	enum { N = 40 };
	struct io_uring ring = ring_open(0);
	struct twheel_op *ops = ops_arm(N, 5 * MS);
	struct twheel_batch batch = batch_of(ops, N);
	struct twheel_event events[N];
	unsigned char fired[N] = "";
	int fd = device_open(), got = 0, i;

	batch_sqe(&ring, fd, &batch)->user_data = 1;
	ring_submit(&ring, 1);
	CHECK_EQ(ring_wait(&ring).res, N);
	while (got < N) {
		struct io_uring_sqe *sqe = ring_sqe(&ring);
		int res;

		twheel_uring_prep_read(sqe, fd, events, N);
		res = ring_run(&ring);
		NEED(res > 0 && !(res % sizeof(*events)));
		for (i = 0; i < res / (int)sizeof(*events); i++) {
			NEED(events[i].cookie < N);
			NEED(!fired[events[i].cookie]++);
			CHECK_EQ(events[i].id, ops[events[i].cookie].id);
		}
		got += i;
	}
	CHECK_EQ(dev_info(fd).timers, 0);
}

/* A batch that is too long to be done during submission. */
static void long_ones_go_to_a_thread(void)
{
	enum { N = 5000 };
	struct io_uring ring = ring_open(0);
	struct twheel_op *ops = ops_arm(N, 3600 * S);
	struct twheel_batch batch = batch_of(ops, N);
	int fd = device_open(), i;

	CHECK_EQ(run_batch(&ring, fd, &batch), N);
	CHECK_EQ(batch.done, N);
	CHECK_EQ(dev_info(fd).timers, N);
	for (i = 0; i < N; i++)
		NEED(ops[i].id && !ops[i].result);
}

/* An entry can be reused as soon as it is submitted. */
static void entries_are_copied(void)
{
	enum { N = 2000, RINGS = 8 };
	struct io_uring ring = ring_open(0);
	struct twheel_op *ops = ops_arm(N * RINGS, 3600 * S);
	static struct twheel_batch batches[RINGS];
	int fd = device_open(), i;

	for (i = 0; i < RINGS; i++) {
		batches[i] = batch_of(ops + i * N, N);
		batch_sqe(&ring, fd, &batches[i]);
		ring_submit(&ring, 1);
		memset(ring.sq.sqes, 0xff,
		       ring.sq.ring_entries * sizeof(*ring.sq.sqes));
	}
	for (i = 0; i < RINGS; i++)
		CHECK_EQ(ring_wait(&ring).res, N);
	CHECK_EQ(dev_info(fd).timers, N * RINGS);
}

static void asked_for_a_thread(void)
{
	struct io_uring ring = ring_open(0);
	struct twheel_op *ops = ops_arm(10, 3600 * S);
	struct twheel_batch batch = batch_of(ops, 10);
	int fd = device_open();

	io_uring_sqe_set_flags(batch_sqe(&ring, fd, &batch), IOSQE_ASYNC);
	CHECK_EQ(ring_run(&ring), 10);
	CHECK_EQ(dev_info(fd).timers, 10);
}

/* Submitted by io_uring's own thread. */
static void no_call_at_all(void)
{
	struct io_uring ring = ring_open(IORING_SETUP_SQPOLL);
	struct twheel_op *ops = ops_arm(1000, 3600 * S);
	struct twheel_batch batch = batch_of(ops, 20);
	struct twheel_batch longer = batch_of(ops + 20, 980);
	int fd = device_open();

	CHECK_EQ(run_batch(&ring, fd, &batch), 20);
	CHECK_EQ(run_batch(&ring, fd, &longer), 980);
	CHECK_EQ(dev_info(fd).timers, 1000);
}

static void linked_with_a_read(void)
{
	struct io_uring ring = ring_open(0);
	struct twheel_op *ops = ops_arm(1, 10 * MS);
	struct twheel_batch batch = batch_of(ops, 1);
	struct twheel_event event;
	struct io_uring_sqe *sqe;
	int fd = device_open();

	io_uring_sqe_set_flags(batch_sqe(&ring, fd, &batch), IOSQE_IO_LINK);
	sqe = ring_sqe(&ring);
	io_uring_prep_read(sqe, fd, &event, sizeof(event), 0);
	ring_submit(&ring, 2);
	CHECK_EQ(ring_wait(&ring).res, 1);
	CHECK_EQ(ring_wait(&ring).res, sizeof(event));
	CHECK_EQ(event.id, ops->id);
}

/* The second half of a large entry is ignored. */
static void large_entries(void)
{
	struct io_uring ring = ring_open(IORING_SETUP_SQE128);
	struct twheel_op *ops = ops_arm(3, 3600 * S), *many = ops_arm(1000, 3600 * S);
	struct twheel_batch batch = batch_of(ops, 3);
	struct twheel_batch longer = batch_of(many, 1000);
	int fd = device_open();

	memset((char *)batch_sqe(&ring, fd, &batch) + LARGE, 0xee, LARGE);
	CHECK_EQ(ring_run(&ring), 3);
	memset((char *)batch_sqe(&ring, fd, &longer) + LARGE, 0xee, LARGE);
	CHECK_EQ(ring_run(&ring), 1000);
	CHECK_EQ(dev_info(fd).timers, 1003);
}

static void memory_ends(void)
{
	struct io_uring ring = ring_open(0);
	struct twheel_op *ops = ops_arm(1, 3600 * S);
	struct twheel_batch batch = batch_of(NULL, 1);
	int fd = device_open();

	CHECK_EQ(run_batch(&ring, fd, &batch), -EFAULT);
	CHECK_EQ(run_batch(&ring, fd, (void *)8), -EFAULT);
	CHECK_EQ(run_batch(&ring, fd, NULL), -EFAULT);
	CHECK_EQ(run_batch(&ring, fd, (void *)~63UL), -EFAULT);
	batch = batch_of(NULL, 1000);
	CHECK_EQ(run_batch(&ring, fd, &batch), -EFAULT);
	CHECK_EQ(dev_info(fd).armed, 0);
	batch = batch_of(ops, 1);
	CHECK_EQ(run_batch(&ring, fd, &batch), 1);
}

static void bad_commands(void)
{
	struct io_uring ring = ring_open(0);
	struct twheel_op *ops = ops_arm(1, 3600 * S);
	struct twheel_batch batch = batch_of(ops, 1);
	struct {
		struct twheel_batch batch;
		uint64_t tail;
	} large = { batch, 1 };
	const unsigned int unknown[] = {
		_IOWR(TWHEEL_IOC_TYPE, 0x7f, struct twheel_batch),
		_IOWR(TWHEEL_IOC_TYPE + 1, 0x07, struct twheel_batch),
		_IOR(TWHEEL_IOC_TYPE, 0x07, struct twheel_batch),
		TWHEEL_IOC_ARM, TWHEEL_IOC_CANCEL_ALL, TWHEEL_IOC_INFO, 0, ~0U,
	};
	const unsigned int longer = _IOC(_IOC_READ | _IOC_WRITE,
					 TWHEEL_IOC_TYPE, 7, sizeof(large));
	struct io_uring_sqe *sqe;
	int fd = device_open();
	unsigned int i;

	for (i = 0; i < sizeof(unknown) / sizeof(*unknown); i++) {
		/* The arm is valid as an ioctl. */
		sqe = batch_sqe(&ring, fd, unknown[i] == TWHEEL_IOC_ARM ?
				(void *)ops : (void *)&batch);
		sqe->cmd_op = unknown[i];
		CHECK_EQ(ring_run(&ring), -ENOTTY);
	}
	batch_sqe(&ring, fd, &batch)->cmd_op =
		_IOC(_IOC_READ | _IOC_WRITE, TWHEEL_IOC_TYPE, 7,
		     sizeof(batch) - 8);
	CHECK_EQ(ring_run(&ring), -EINVAL);
	batch_sqe(&ring, fd, &large)->cmd_op = longer;
	CHECK_EQ(ring_run(&ring), -E2BIG);
	CHECK_EQ(dev_info(fd).armed, 0);
	large.tail = 0;
	batch_sqe(&ring, fd, &large)->cmd_op = longer;
	CHECK_EQ(ring_run(&ring), 1);
}

static void bad_words(void)
{
	struct twheel_op *ops = ops_arm(1000, 3600 * S);
	const struct twheel_batch good = batch_of(ops, 1);
	struct io_uring ring = ring_open(0);
	struct iovec vec = { ops, sizeof(*ops) };
	struct twheel_batch bad[6], batch = good;
	unsigned int i, n = 0;
	int fd = device_open();

	for (i = 0; i < 8; i++) {
		batch = good;
		batch_sqe(&ring, fd, &batch)->cmd[8 + i] = 1;
		CHECK_EQ(ring_run(&ring), -EINVAL);
	}
	NEED(io_uring_register_buffers(&ring, &vec, 1) == 0);
	batch = good;
	batch_sqe(&ring, fd, &batch)->rw_flags = IORING_URING_CMD_FIXED;
	CHECK_EQ(ring_run(&ring), -EINVAL);
	for (i = 0; i < 6; i++)
		bad[i] = good;
	bad[n++].flags = 1;
	bad[n++].done = 1;
	bad[n++].reserved = 1;
	bad[n++].count = 1U << 31;
	bad[n++].op_size = sizeof(*ops) - 8;
	bad[n++].ops += 4;
	for (i = 0; i < n; i++) {
		int res = run_batch(&ring, fd, &bad[i]);

		tap_check(res == -EINVAL, __FILE__, __LINE__,
			  "bad[%u]: %d", i, res);
	}
	/* The same in a thread. */
	batch = batch_of(ops, 1000);
	batch.reserved = 1;
	CHECK_EQ(run_batch(&ring, fd, &batch), -EINVAL);
	CHECK_EQ(dev_info(fd).armed, 0);
	batch.reserved = 0;
	batch.done = 0;
	CHECK_EQ(run_batch(&ring, fd, &batch), 1000);
}

static const struct tap_test tests[] = {
	TAP(arms_and_cancels),
	TAP(fires_through_the_ring),
	TAP(long_ones_go_to_a_thread),
	TAP(entries_are_copied),
	TAP(asked_for_a_thread),
	TAP(no_call_at_all),
	TAP(linked_with_a_read),
	TAP(large_entries),
	TAP(memory_ends),
	TAP(bad_commands),
	TAP(bad_words),
};

int main(int argc, char **argv)
{
	return tap_main(tests, sizeof(tests) / sizeof(*tests), argc, argv);
}
