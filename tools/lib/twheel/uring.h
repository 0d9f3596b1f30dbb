/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * Timeouts of requests that a program makes through io_uring. With max_timers a timer is
 * armed, extended and cancelled in memory, and one poll, which stays, tells of events. So
 * no request needs a system call, nor an entry of the ring, for its timeout:
 *
 *	twheel_uring_prep_poll(io_uring_get_sqe(&ring), wheel, POLL);
 *	...
 *	io_uring_prep_recv(sqe, ...);		(user_data: the request)
 *	twheel_arm(wheel, 5000000000, user_data, &request->timer);
 *	...
 *	(a completion of POLL)
 *	while (twheel_uring_next(&ring, wheel, TIMED_OUT) == 1)
 *		continue;
 *	(a completion of the request: -ECANCELED is a timeout)
 *	twheel_cancel(wheel, request->timer);
 *
 * The rest is for files without shared memory. There a batch of operations, and a read of
 * events, are entries of the ring.
 */
#ifndef TWHEEL_URING_H
#define TWHEEL_URING_H

#include <errno.h>
#include <liburing.h>
#include <poll.h>
#include <string.h>

#include <libtwheel.h>

/**
 * twheel_uring_prep_poll() - completions when there are events, again and again
 * @sqe: the entry
 * @wheel: the wheel
 * @user_data: that of the completions
 *
 * A completion without IORING_CQE_F_MORE is the last one: poll anew. After each, take all
 * events there are.
 */
static inline void twheel_uring_prep_poll(struct io_uring_sqe *sqe, struct twheel *wheel,
					  __u64 user_data)
{
	io_uring_prep_poll_multishot(sqe, twheel_fd(wheel), POLLIN);
	sqe->user_data = user_data;
}

/**
 * twheel_uring_next() - take an event, and cancel the request that it is of
 * @ring: the ring of the request
 * @wheel: the wheel, whose cookies are the user_data of requests
 * @user_data: that of the completion of cancelling, which is 0, -ENOENT or -EALREADY
 *
 * The program submits what this prepares, with its next entries.
 *
 * Return: 1; 0 if there is no event; -EBUSY if the ring has no room: submit, and call
 * again; as twheel_next().
 */
static inline int twheel_uring_next(struct io_uring *ring, struct twheel *wheel,
				    __u64 user_data)
{
	struct twheel_event event;
	struct io_uring_sqe *sqe;
	int ret;

	/* An event that is taken must find room. */
	if (!io_uring_sq_space_left(ring))
		return -EBUSY;
	ret = twheel_next(wheel, &event, 0);
	if (ret != 1)
		return ret;
	sqe = io_uring_get_sqe(ring);
	io_uring_prep_cancel64(sqe, event.cookie, 0);
	sqe->user_data = user_data;
	return 1;
}

/**
 * twheel_uring_prep_batch() - operations of a file without shared memory
 * @sqe: the entry
 * @fd: the device's descriptor, of a kernel with TWHEEL_FEATURE_URING
 * @batch: the operations; it and they stay until the completion, whose result is what
 *	TWHEEL_IOC_BATCH would have returned
 *
 * Events that libtwheel has read ahead are not withdrawn: use a descriptor without a
 * handle, or take all events through the ring.
 */
static inline void twheel_uring_prep_batch(struct io_uring_sqe *sqe, int fd,
					   struct twheel_batch *batch)
{
	const __u64 words[2] = { (__u64)(uintptr_t)batch, 0 };

	io_uring_prep_rw(IORING_OP_URING_CMD, sqe, fd, NULL, 0, 0);
	sqe->cmd_op = TWHEEL_IOC_BATCH;
	memcpy(sqe->cmd, words, sizeof(words));
}

/**
 * twheel_uring_prep_read() - events of a file without shared memory
 * @sqe: the entry
 * @fd: the device's descriptor
 * @events: are filled in by the completion, whose result is their length in bytes
 * @most: how many there is room for
 */
static inline void twheel_uring_prep_read(struct io_uring_sqe *sqe, int fd,
					  struct twheel_event *events, unsigned int most)
{
	io_uring_prep_read(sqe, fd, events, most * sizeof(*events), 0);
}

#endif
