// SPDX-License-Identifier: GPL-2.0-only
/* Reading and polling through io_uring. Operations: uring_ops_test.c. */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/uio.h>
#include <unistd.h>

#include "lib/device.h"
#include "lib/ring.h"
#include "lib/tap.h"

#define RECORD	((int)sizeof(struct twheel_event))

/* Something is due now. */
static void make_due(int fd, uint64_t cookie)
{
	dev_arm(fd, MS, cookie);
	dev_advance(fd, MS);
}

static struct io_uring_sqe *read_sqe(struct io_uring *ring, int fd, void *buffer,
				     unsigned int size)
{
	struct io_uring_sqe *sqe = ring_sqe(ring);

	io_uring_prep_read(sqe, fd, buffer, size, 0);
	return sqe;
}

static unsigned int thread_count(void)
{
	DIR *tasks = opendir("/proc/self/task");
	struct dirent *entry;
	unsigned int n = 0;

	NEED(tasks);
	while ((entry = readdir(tasks)))
		n += entry->d_name[0] != '.';
	closedir(tasks);
	return n;
}

/* Reads come first, then the events. Waiting takes no thread. */
TEST(reads_wait_for_events)
{
	struct io_uring ring = ring_open(0);
	struct twheel_event events[8] = { };
	int fds[8], i;

	for (i = 0; i < 8; i++) {
		fds[i] = i % 2 ? dev_open_blocking(TWHEEL_VIRTUAL) : dev_open();
		read_sqe(&ring, fds[i], &events[i], sizeof(events[i]));
	}
	ring_submit(&ring, 8);
	ring_quiet(&ring);
	CHECK_EQ(thread_count(), 1);
	for (i = 0; i < 8; i++) {
		if (i % 2) {
			make_due(fds[i], i);
			continue;
		}
		/* The read has waited before the file has its wheel. */
		NEED(events_setup(fds[i], (struct twheel_setup) { }) == 0);
		dev_arm(fds[i], 20 * MS, i);
	}
	for (i = 0; i < 8; i++)
		CHECK_EQ(ring_wait(&ring).res, RECORD);
	for (i = 0; i < 8; i++)
		CHECK_EQ(events[i].cookie, i);
	CHECK_EQ(thread_count(), 1);
}

/* A read that blocks in a thread of io_uring. */
TEST(a_worker_waits)
{
	struct io_uring ring = ring_open(0);
	struct twheel_event event;
	int fd = dev_open_blocking(TWHEEL_VIRTUAL);

	io_uring_sqe_set_flags(read_sqe(&ring, fd, &event, sizeof(event)), IOSQE_ASYNC);
	ring_submit(&ring, 1);
	ring_quiet(&ring);
	make_due(fd, 43);
	CHECK_EQ(ring_wait(&ring).res, RECORD);
	CHECK_EQ(event.cookie, 43);
}

/* Whole records, into memory that io_uring knows already. */
TEST(registered_buffers)
{
	struct io_uring ring = ring_open(0);
	struct twheel_event events[4];
	struct iovec all = { events, sizeof(events) };
	int fd = dev_open_blocking(TWHEEL_VIRTUAL), i;

	for (i = 0; i < 6; i++)
		make_due(fd, i);
	NEED(io_uring_register_buffers(&ring, &all, 1) == 0);
	io_uring_prep_read_fixed(ring_sqe(&ring), fd, events, sizeof(events), 0, 0);
	CHECK_EQ(ring_run(&ring), 4 * RECORD);
	for (i = 0; i < 4; i++)
		CHECK_EQ(events[i].cookie, i);
	io_uring_prep_read_fixed(ring_sqe(&ring), fd, events, 2 * RECORD + 7, 0, 0);
	CHECK_EQ(ring_run(&ring), 2 * RECORD);
	CHECK_EQ(events[1].cookie, 5);
	CHECK_EQ(dev_info(fd).timers, 0);
}

TEST(reads_that_fail)
{
	struct io_uring ring = ring_open(0);
	struct twheel_event event;
	int fd = dev_open_blocking(TWHEEL_VIRTUAL);

	read_sqe(&ring, fd, &event, sizeof(event))->rw_flags = RWF_NOWAIT;
	CHECK_EQ(ring_run(&ring), -EAGAIN);
	make_due(fd, 1);
	read_sqe(&ring, fd, &event, sizeof(event) - 1);
	CHECK_EQ(ring_run(&ring), -EINVAL);
	read_sqe(&ring, fd, (void *)8, RECORD);
	CHECK_EQ(ring_run(&ring), -EFAULT);
	CHECK_EQ(dev_read(fd).cookie, 1);
}

/* Each of two reads gets an event; one that is cancelled gets none. */
TEST(each_event_once)
{
	struct io_uring ring = ring_open(0);
	struct twheel_event events[2] = { };
	int fd = dev_open_blocking(TWHEEL_VIRTUAL), i;
	struct io_uring_sqe *sqe;

	for (i = 0; i < 2; i++)
		read_sqe(&ring, fd, &events[i], sizeof(events[i]))->user_data = i;
	ring_submit(&ring, 2);
	make_due(fd, 77);
	i = ring_wait(&ring).user_data;
	CHECK_EQ(events[i].cookie, 77);
	ring_quiet(&ring);
	CHECK_EQ(events[!i].cookie, 0);
	sqe = ring_sqe(&ring);
	io_uring_prep_cancel64(sqe, !i, 0);
	sqe->user_data = 9;
	ring_submit(&ring, 1);
	for (i = 0; i < 2; i++) {
		struct io_uring_cqe cqe = ring_wait(&ring);

		CHECK_EQ(cqe.res, cqe.user_data == 9 ? 0 : -ECANCELED);
	}
	make_due(fd, 78);
	CHECK_EQ(dev_read(fd).cookie, 78);
}

static void poll_many(struct io_uring *ring, int fd)
{
	struct io_uring_sqe *sqe = ring_sqe(ring);

	io_uring_prep_poll_multishot(sqe, fd, POLLIN);
	sqe->user_data = 5;
	ring_submit(ring, 1);
}

TEST(poll_again_and_again)
{
	struct io_uring ring = ring_open(0);
	int fd = dev_open_virtual(), i;
	struct io_uring_cqe cqe;
	struct io_uring_sqe *sqe;

	poll_many(&ring, fd);
	for (i = 0; i < 10; i++) {
		/* What is cancelled does not count. */
		CHECK_EQ(dev_cancel(fd, dev_arm(fd, MS, 99)), 1);
		dev_advance(fd, MS);
		ring_quiet(&ring);
		make_due(fd, i);
		cqe = ring_wait(&ring);
		CHECK_EQ(cqe.res, POLLIN);
		CHECK_EQ(cqe.user_data, 5);
		NEED(cqe.flags & IORING_CQE_F_MORE);
		CHECK_EQ(dev_read(fd).cookie, i);
		dev_silent(fd);
	}
	sqe = ring_sqe(&ring);
	io_uring_prep_poll_remove(sqe, 5);
	sqe->user_data = 6;
	ring_submit(&ring, 1);
	for (i = 0; i < 2; i++) {
		cqe = ring_wait(&ring);
		CHECK_EQ(cqe.res, cqe.user_data == 5 ? -ECANCELED : 0);
	}
	/* What is due already completes a poll at once. */
	make_due(fd, 9);
	io_uring_prep_poll_add(ring_sqe(&ring), fd, POLLIN);
	CHECK_EQ(ring_run(&ring), POLLIN);
}

/* One poll for a thousand timers; after each completion, read until there is nothing more. */
TEST(poll_misses_nothing)
{
	enum { N = 1000 };
	struct io_uring ring = ring_open(0);
	int fd = dev_open_clock(TWHEEL_MONOTONIC), got = 0, i;
	struct twheel_event event;

	poll_many(&ring, fd);
	for (i = 0; i < N; i++)
		dev_arm(fd, i * MS / 2, i);
	while (got < N) {
		struct io_uring_cqe cqe = ring_wait(&ring);

		NEED(cqe.res == POLLIN);
		/* The poll ends when there is no room for its completions. */
		if (!(cqe.flags & IORING_CQE_F_MORE))
			poll_many(&ring, fd);
		while (events_read(fd, &event, 1) == 1)
			got++;
	}
	CHECK_EQ(got, N);
}

/* A read keeps the file open, and its timers running. */
TEST(closed_while_reading)
{
	struct io_uring ring = ring_open(0);
	struct twheel_event event;
	int fd = dev_open_blocking(TWHEEL_MONOTONIC);

	read_sqe(&ring, fd, &event, sizeof(event));
	ring_submit(&ring, 1);
	dev_arm(fd, 50 * MS, 6);
	close(fd);
	CHECK_EQ(ring_wait(&ring).res, RECORD);
	CHECK_EQ(event.cookie, 6);
	/* The ring goes away while a read waits. */
	fd = dev_open_blocking(TWHEEL_MONOTONIC);
	read_sqe(&ring, fd, &event, sizeof(event));
	ring_submit(&ring, 1);
	close(fd);
	io_uring_queue_exit(&ring);
}

/* An exclusive watcher would take wake-ups from others, and this one is never told. */
TEST(a_poll_for_other_events_alone_is_refused)
{
	struct io_uring ring = ring_open(0);
	struct io_uring_sqe *sqe = ring_sqe(&ring);
	struct io_uring_cqe cqe;

	io_uring_prep_poll_add(sqe, dev_open(), EPOLLOUT | EPOLLEXCLUSIVE);
	ring_submit(&ring, 1);
	cqe = ring_wait(&ring);
	CHECK_EQ(cqe.res, -EINVAL);
}
