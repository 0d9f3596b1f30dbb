// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <string.h>

#include "ring.h"
#include "tap.h"

#define ENTRIES	64

struct io_uring ring_open(unsigned int flags)
{
	struct io_uring ring;
	int ret = io_uring_queue_init(ENTRIES, &ring, flags);

	if (ret == -ENOSYS || ret == -EPERM)
		tap_skip("no io_uring here: %s", strerror(-ret));
	if (ret == -EINVAL && flags)
		tap_skip("this kernel has no such rings of io_uring's");
	NEED(ret == 0);
	return ring;
}

struct io_uring_sqe *ring_sqe(struct io_uring *ring)
{
	struct io_uring_sqe *sqe = io_uring_get_sqe(ring);

	NEED(sqe);
	return sqe;
}

void ring_submit(struct io_uring *ring, int n)
{
	int ret = io_uring_submit(ring);

	/*
	 * With SQPOLL, the kernel's thread may already have taken some: only
	 * completions tell.
	 */
	if (ring->flags & IORING_SETUP_SQPOLL)
		NEED(ret >= 0);
	else
		NEED(ret == n);
}

struct io_uring_cqe ring_wait(struct io_uring *ring)
{
	struct io_uring_cqe *cqe, copy;
	int ret;

	/* The freezer wakes it, where the machine goes to sleep. */
	do {
		ret = io_uring_wait_cqe(ring, &cqe);
	} while (ret == -EINTR);
	NEED(ret == 0);
	copy = *cqe;
	io_uring_cqe_seen(ring, cqe);
	return copy;
}

int ring_run(struct io_uring *ring)
{
	ring_submit(ring, 1);
	return ring_wait(ring).res;
}

void ring_quiet(struct io_uring *ring)
{
	struct __kernel_timespec ts = { .tv_nsec = 20000000 };
	struct io_uring_cqe *cqe;

	CHECK_EQ(io_uring_wait_cqe_timeout(ring, &cqe, &ts), -ETIME);
}
