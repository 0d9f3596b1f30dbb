/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * Timeouts of requests that a program makes through io_uring. Operations on timers, polls
 * and reads of events are entries of the ring, beside those of the requests:
 *
 *	twheel_uring_prep_poll(io_uring_get_sqe(&ring), fd, POLL);
 *	...
 *	io_uring_prep_recv(sqe, ...);		(user_data: the request)
 *	twheel_device_arm(fd, 5000000000, user_data, &request->timer);
 *	...
 *	(a completion of POLL)
 *	while (twheel_uring_next(&ring, fd, TIMED_OUT) > 0)
 *		continue;
 *	(a completion of the request: -ECANCELED is a timeout)
 *	twheel_device_cancel(fd, request->timer);
 */
#ifndef TWHEEL_URING_H
#define TWHEEL_URING_H

#include <liburing.h>
#include <poll.h>
#include <string.h>

#include <twheel_device.h>

/**
 * twheel_uring_prep_poll() - completions when there are events, again and again
 * @sqe: the entry
 * @fd: the wheel
 * @user_data: that of the completions
 *
 * A completion without IORING_CQE_F_MORE is the last one: poll anew. After each, take all
 * events there are.
 */
static inline void twheel_uring_prep_poll(struct io_uring_sqe *sqe, int fd, __u64 user_data)
{
	io_uring_prep_poll_multishot(sqe, fd, POLLIN);
	sqe->user_data = user_data;
}

/**
 * twheel_uring_next() - take events, and cancel the requests that they are of
 * @ring: the ring of the requests
 * @fd: the wheel, whose cookies are the user_data of requests
 * @user_data: that of the completions of cancelling, which are 0, -ENOENT or -EALREADY
 *
 * The program submits what this prepares, with its next entries.
 *
 * Return: how many, or 0 if there is no event; -EBUSY if the ring has no room: submit, and
 * call again; as twheel_device_events().
 */
static inline int twheel_uring_next(struct io_uring *ring, int fd, __u64 user_data)
{
	struct twheel_event events[64];
	unsigned int room = io_uring_sq_space_left(ring);
	struct io_uring_sqe *sqe;
	int count, i;

	/* Each event that is taken must find room. */
	if (!room)
		return -EBUSY;
	count = twheel_device_events(fd, events, room < 64 ? room : 64, 0);
	for (i = 0; i < count; i++) {
		sqe = io_uring_get_sqe(ring);
		io_uring_prep_cancel64(sqe, events[i].cookie, 0);
		sqe->user_data = user_data;
	}
	return count;
}

/**
 * twheel_uring_prep_ops() - operations
 * @sqe: the entry
 * @fd: the wheel, of a kernel with TWHEEL_FEATURE_URING
 * @ops: the operations; it and they stay until the completion, whose result is what
 *	TWHEEL_IOC_OPS would have returned
 */
static inline void twheel_uring_prep_ops(struct io_uring_sqe *sqe, int fd,
					 const struct twheel_ops *ops)
{
	const __u64 words[2] = { (__u64)(uintptr_t)ops, 0 };

	io_uring_prep_rw(IORING_OP_URING_CMD, sqe, fd, NULL, 0, 0);
	sqe->cmd_op = TWHEEL_IOC_OPS;
	memcpy(sqe->cmd, words, sizeof(words));
}

/**
 * twheel_uring_prep_read() - take events
 * @sqe: the entry
 * @fd: the wheel
 * @events: are filled in by the completion, whose result is their length in bytes
 * @most: how many there is room for
 */
static inline void twheel_uring_prep_read(struct io_uring_sqe *sqe, int fd,
					  struct twheel_event *events, unsigned int most)
{
	io_uring_prep_read(sqe, fd, events, most * sizeof(*events), 0);
}

#endif
