/* SPDX-License-Identifier: GPL-2.0-only */
/* Calls of io_uring that have to succeed: a failure ends the test. */
#ifndef TEST_RING_H
#define TEST_RING_H

#include <stdint.h>
#include <string.h>

#include <liburing.h>

#include <linux/twheel.h>

/* Ask for TWHEEL_IOC_OPS. @array: a struct twheel_ops, or what a test has in its place */
static inline void ring_prep_ops(struct io_uring_sqe *sqe, int fd, const void *array)
{
	const uint64_t words[2] = { (uintptr_t)array };

	io_uring_prep_rw(IORING_OP_URING_CMD, sqe, fd, NULL, 0, 0);
	sqe->cmd_op = TWHEEL_IOC_OPS;
	memcpy(sqe->cmd, words, sizeof(words));
}

/* Make a ring; skips the test without io_uring. @flags: IORING_SETUP_* */
struct io_uring ring_open(unsigned int flags);
struct io_uring_sqe *ring_sqe(struct io_uring *ring);
/* Submit @n entries. */
void ring_submit(struct io_uring *ring, int n);
/* Take the next completion. It has to come: the time limit of the test tells that none did. */
struct io_uring_cqe ring_wait(struct io_uring *ring);
/* Submit one entry, and take its result. */
int ring_run(struct io_uring *ring);
/* Check that no completion comes for a while. */
void ring_quiet(struct io_uring *ring);

#endif
