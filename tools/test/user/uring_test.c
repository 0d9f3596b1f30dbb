// SPDX-License-Identifier: GPL-2.0-only
/* Reading and polling /dev/twheel through io_uring. */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include "lib/device.h"
#include "lib/mapped.h"
#include "lib/ring.h"
#include "lib/tap.h"

#define RECORD	((int)sizeof(struct twheel_event))

static struct io_uring_sqe *read_sqe(struct io_uring *ring, int fd, void *buf,
				     unsigned int size)
{
	struct io_uring_sqe *sqe = ring_sqe(ring);

	io_uring_prep_read(sqe, fd, buf, size, 0);
	return sqe;
}

/* The read comes first, then the event. */
static void read_waits_for_an_event(void)
{
	struct io_uring ring = ring_open(0);
	struct twheel_event event;
	int fd = dev_open();

	read_sqe(&ring, fd, &event, sizeof(event));
	ring_submit(&ring, 1);
	ring_quiet(&ring);
	dev_arm(fd, 20 * MS, 42);
	CHECK_EQ(ring_wait(&ring).res, RECORD);
	CHECK_EQ(event.cookie, 42);
	CHECK(event.fired_ns >= event.deadline_ns);
	CHECK_EQ(dev_info(fd).timers, 0);
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

/* A waiting read is a poll, and needs no kernel thread. */
static void waiting_takes_no_thread(void)
{
	struct io_uring ring = ring_open(0);
	struct twheel_event events[8] = { };
	int fds[8], i;

	CHECK_EQ(thread_count(), 1);
	for (i = 0; i < 8; i++) {
		fds[i] = dev_open();
		read_sqe(&ring, fds[i], &events[i], sizeof(events[i]));
	}
	ring_submit(&ring, 8);
	ring_quiet(&ring);
	CHECK_EQ(thread_count(), 1);
	for (i = 0; i < 8; i++)
		dev_arm(fds[i], 20 * MS, i + 1);
	for (i = 0; i < 8; i++)
		CHECK_EQ(ring_wait(&ring).res, RECORD);
	for (i = 0; i < 8; i++)
		CHECK_EQ(events[i].cookie, i + 1);
	CHECK_EQ(thread_count(), 1);
}

/* A read that blocks in a thread of io_uring. */
static void a_worker_waits(void)
{
	struct io_uring ring = ring_open(0);
	struct twheel_event event;
	int fd = dev_open();

	io_uring_sqe_set_flags(read_sqe(&ring, fd, &event, sizeof(event)),
			       IOSQE_ASYNC);
	ring_submit(&ring, 1);
	ring_quiet(&ring);
	dev_arm(fd, 20 * MS, 43);
	CHECK_EQ(ring_wait(&ring).res, RECORD);
	CHECK_EQ(event.cookie, 43);
}

/* Whole records, wherever the buffers end. */
static void vectors_and_registered_buffers(void)
{
	struct io_uring ring = ring_open(0);
	struct twheel_event events[4];
	struct iovec vec[3] = {
		{ events, 40 }, { (char *)events + 40, 60 },
		{ (char *)events + 100, 2 * RECORD + 7 - 100 },
	};
	struct iovec all = { events, sizeof(events) };
	struct io_uring_sqe *sqe;
	int fd = dev_open(), i;

	for (i = 0; i < 6; i++)
		dev_arm(fd, i * MS, i);
	dev_wait_unread(fd, 6);
	memset(events, 0xee, sizeof(events));
	sqe = ring_sqe(&ring);
	io_uring_prep_readv(sqe, fd, vec, 3, 0);
	ring_submit(&ring, 1);
	CHECK_EQ(ring_wait(&ring).res, 2 * RECORD);
	CHECK_EQ(events[0].cookie, 0);
	CHECK_EQ(events[1].cookie, 1);
	CHECK_EQ(events[2].id, 0xeeeeeeeeeeeeeeeeULL);

	NEED(io_uring_register_buffers(&ring, &all, 1) == 0);
	sqe = ring_sqe(&ring);
	io_uring_prep_read_fixed(sqe, fd, events, sizeof(events), 0, 0);
	ring_submit(&ring, 1);
	CHECK_EQ(ring_wait(&ring).res, 4 * RECORD);
	for (i = 0; i < 4; i++)
		CHECK_EQ(events[i].cookie, 2 + i);
	CHECK_EQ(dev_info(fd).unread, 0);
}

static void nowait_does_not_wait(void)
{
	struct io_uring ring = ring_open(0);
	struct twheel_event event;
	struct iovec vec = { &event, sizeof(event) };
	int fd = dev_open();

	read_sqe(&ring, fd, &event, sizeof(event))->rw_flags = RWF_NOWAIT;
	ring_submit(&ring, 1);
	CHECK_EQ(ring_wait(&ring).res, -EAGAIN);
	CHECK_ERR(preadv2(fd, &vec, 1, -1, RWF_NOWAIT), EAGAIN);
	dev_arm(fd, 0, 7);
	dev_wait_unread(fd, 1);
	CHECK_EQ(preadv2(fd, &vec, 1, -1, RWF_NOWAIT), RECORD);
	CHECK_EQ(event.cookie, 7);
}

static void bad_reads(void)
{
	struct twheel_setup setup = {
		.clockid = CLOCK_MONOTONIC, .flags = TWHEEL_SETUP_CELLS,
		.max_timers = 10,
	};
	struct io_uring ring = ring_open(0);
	size_t page = sysconf(_SC_PAGESIZE);
	struct twheel_event event;
	int fd = dev_open();
	char *memory;

	dev_arm(fd, 0, 1);
	dev_wait_unread(fd, 1);
	dev_arm(fd, 0, 2);
	dev_wait_unread(fd, 2);
	read_sqe(&ring, fd, &event, sizeof(event) - 1);
	ring_submit(&ring, 1);
	CHECK_EQ(ring_wait(&ring).res, -EINVAL);
	/* There is no memory for the second record: no event is lost. */
	memory = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE,
		      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	NEED(memory != MAP_FAILED);
	NEED(munmap(memory + page, page) == 0);
	read_sqe(&ring, fd, memory + page - RECORD - 8, 2 * RECORD);
	ring_submit(&ring, 1);
	CHECK_EQ(ring_wait(&ring).res, -EFAULT);
	CHECK_EQ(dev_info(fd).unread, 2);
	CHECK_EQ(dev_read(fd).cookie, 1);
	CHECK_EQ(dev_read(fd).cookie, 2);

	fd = dev_open();
	if (!(dev_info(fd).features & TWHEEL_FEATURE_CELLS))
		return;
	NEED(ioctl(fd, TWHEEL_IOC_SETUP, &setup) == 0);
	read_sqe(&ring, fd, &event, sizeof(event));
	ring_submit(&ring, 1);
	CHECK_EQ(ring_wait(&ring).res, -EINVAL);
}

static void poll_once(void)
{
	struct io_uring ring = ring_open(0);
	int fd = dev_open(), i;
	struct io_uring_cqe cqe;

	for (i = 0; i < 3; i++) {
		io_uring_prep_poll_add(ring_sqe(&ring), fd, POLLIN);
		ring_submit(&ring, 1);
		ring_quiet(&ring);
		dev_arm(fd, 10 * MS, i);
		cqe = ring_wait(&ring);
		CHECK_EQ(cqe.res, POLLIN);
		CHECK(!(cqe.flags & IORING_CQE_F_MORE));
		CHECK_EQ(dev_read(fd).cookie, i);
	}
	/* An event that is there completes the poll at once. */
	dev_arm(fd, 0, 9);
	dev_wait_unread(fd, 1);
	io_uring_prep_poll_add(ring_sqe(&ring), fd, POLLIN);
	ring_submit(&ring, 1);
	CHECK_EQ(ring_wait(&ring).res, POLLIN);
}

static void poll_again_and_again(void)
{
	struct io_uring ring = ring_open(0);
	int fd = dev_open(), i;
	struct io_uring_cqe cqe;
	struct io_uring_sqe *sqe;

	sqe = ring_sqe(&ring);
	io_uring_prep_poll_multishot(sqe, fd, POLLIN);
	sqe->user_data = 5;
	ring_submit(&ring, 1);
	for (i = 0; i < 10; i++) {
		ring_quiet(&ring);
		dev_arm(fd, 10 * MS, i);
		cqe = ring_wait(&ring);
		CHECK_EQ(cqe.res, POLLIN);
		CHECK_EQ(cqe.user_data, 5);
		NEED(cqe.flags & IORING_CQE_F_MORE);
		CHECK_EQ(dev_read(fd).cookie, i);
	}
	sqe = ring_sqe(&ring);
	io_uring_prep_poll_remove(sqe, 5);
	sqe->user_data = 6;
	ring_submit(&ring, 1);
	for (i = 0; i < 2; i++) {
		cqe = ring_wait(&ring);
		CHECK_EQ(cqe.res, cqe.user_data == 5 ? -ECANCELED : 0);
	}
}

static void poll_many(struct io_uring *ring, int fd)
{
	io_uring_prep_poll_multishot(ring_sqe(ring), fd, POLLIN);
	ring_submit(ring, 1);
}

/* One poll for a thousand timers; after each completion, read all events. */
static void poll_misses_nothing(void)
{
	enum { N = 1000 };
	static struct twheel_op ops[N];
	struct io_uring ring = ring_open(0);
	int fd = dev_open_flags(O_NONBLOCK), got = 0, i, n;
	struct twheel_event event;

	poll_many(&ring, fd);
	for (i = 0; i < N; i++) {
		ops[i].op = TWHEEL_OP_ARM;
		ops[i].deadline_ns = i * MS / 2;
	}
	/* Work of io_uring for this thread ends a batch early. */
	for (i = 0; i < N; i += n) {
		n = dev_batch(fd, ops + i, N - i);
		NEED(n > 0);
	}
	while (got < N) {
		struct io_uring_cqe cqe = ring_wait(&ring);

		NEED(cqe.res == POLLIN);
		/* The poll ends when there is no room for its completions. */
		if (!(cqe.flags & IORING_CQE_F_MORE))
			poll_many(&ring, fd);
		while (read(fd, &event, sizeof(event)) == RECORD)
			got++;
	}
	CHECK_EQ(got, N);
}

/* After an event that is cancelled and not read, the next one still completes. */
static void poll_after_cancelled_events(void)
{
	struct io_uring ring = ring_open(0);
	int fd = dev_open(), i;

	poll_many(&ring, fd);
	for (i = 0; i < 10; i++) {
		uint64_t id = dev_arm(fd, 5 * MS, i);
		struct io_uring_cqe cqe = ring_wait(&ring);

		NEED(cqe.res == POLLIN && cqe.flags & IORING_CQE_F_MORE);
		CHECK_EQ(dev_cancel(fd, id), 1);
	}
}

/* Events are taken from a mapping, without a call to the kernel. */
static void poll_of_a_ring(void)
{
	struct io_uring ring = ring_open(0);
	struct mapped m = map_cells(4);
	uint32_t cell;
	uint64_t event;
	int i;

	poll_many(&ring, m.fd);
	for (i = 0; i < 10; i++) {
		struct io_uring_cqe cqe;

		map_arm(&m, i % 4, 5 * MS);
		cqe = ring_wait(&ring);
		NEED(cqe.res == POLLIN && cqe.flags & IORING_CQE_F_MORE);
		CHECK(map_take(&m, &cell, &event));
		CHECK_EQ(cell, i % 4);
	}
}

static void poll_exclusive(struct io_uring *ring, int fd, unsigned int number)
{
	struct io_uring_sqe *sqe = ring_sqe(ring);

	io_uring_prep_poll_add(sqe, fd, POLLIN | EPOLLEXCLUSIVE);
	sqe->user_data = number;
	ring_submit(ring, 1);
}

/* The first waiter does not read; the next event wakes the other one. */
static void exclusive_polls_take_turns(void)
{
	struct io_uring ring = ring_open(0);
	unsigned int seen = 0, i;
	int fd = dev_open();

	poll_exclusive(&ring, fd, 1);
	poll_exclusive(&ring, fd, 2);
	for (i = 0; i < 2; i++) {
		dev_arm(fd, 20 * MS, i);
		seen |= ring_wait(&ring).user_data;
	}
	CHECK_EQ(seen, 3);
}

/* One of two reads gets the event; the other one goes on waiting. */
static void each_event_once(void)
{
	struct io_uring ring = ring_open(0);
	struct twheel_event events[2] = { };
	struct io_uring_sqe *sqe;
	int fd = dev_open(), i;

	for (i = 0; i < 2; i++)
		read_sqe(&ring, fd, &events[i], sizeof(events[i]))->user_data =
			i;
	ring_submit(&ring, 2);
	dev_arm(fd, 10 * MS, 77);
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
	/* The cancelled read has taken no event. */
	dev_arm(fd, 0, 78);
	CHECK_EQ(dev_read(fd).cookie, 78);
}

/* A read keeps the file open, and its timers running. */
static void closed_while_reading(void)
{
	struct io_uring ring = ring_open(0);
	struct twheel_event event;
	int fd = dev_open();

	read_sqe(&ring, fd, &event, sizeof(event));
	ring_submit(&ring, 1);
	dev_arm(fd, 50 * MS, 6);
	close(fd);
	CHECK_EQ(ring_wait(&ring).res, RECORD);
	CHECK_EQ(event.cookie, 6);
	/* The ring goes away while a read waits. */
	fd = dev_open();
	read_sqe(&ring, fd, &event, sizeof(event));
	ring_submit(&ring, 1);
	close(fd);
	io_uring_queue_exit(&ring);
}

static const struct tap_test tests[] = {
	TAP(read_waits_for_an_event),
	TAP(waiting_takes_no_thread),
	TAP(a_worker_waits),
	TAP(vectors_and_registered_buffers),
	TAP(nowait_does_not_wait),
	TAP(bad_reads),
	TAP(poll_once),
	TAP(poll_again_and_again),
	TAP(poll_misses_nothing),
	TAP(poll_after_cancelled_events),
	TAP(poll_of_a_ring),
	TAP(exclusive_polls_take_turns),
	TAP(each_event_once),
	TAP(closed_while_reading),
};

int main(int argc, char **argv)
{
	return tap_main(tests, sizeof(tests) / sizeof(*tests), argc, argv);
}
