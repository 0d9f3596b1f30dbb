/* SPDX-License-Identifier: GPL-2.0-only */
/* io_uring as the tests use it: what has to succeed, or end the test. */
#ifndef TEST_RING_H
#define TEST_RING_H

#include <liburing.h>

/* A ring; without io_uring the test is skipped. @flags: IORING_SETUP_* */
struct io_uring ring_open(unsigned int flags);
struct io_uring_sqe *ring_sqe(struct io_uring *ring);
/* Submit @n entries. The count is checked unless a thread of the kernel takes them. */
void ring_submit(struct io_uring *ring, int n);
/* The next completion, which comes within a minute. */
struct io_uring_cqe ring_wait(struct io_uring *ring);
/* There is no completion for a while. */
void ring_quiet(struct io_uring *ring);

#endif
