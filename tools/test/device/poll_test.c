// SPDX-License-Identifier: GPL-2.0-only
/* poll(), select() and epoll: ready if something is due, and only then. Waiting: wake_test.c. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <unistd.h>

#include "lib/device.h"
#include "lib/tap.h"

#define ALL	(POLLIN | POLLRDNORM | POLLOUT | POLLWRNORM | POLLPRI | POLLRDHUP)

static int poll_all(int fd)
{
	struct pollfd pfd = { .fd = fd, .events = ALL };
	int n = poll(&pfd, 1, 0);

	CHECK_EQ(n, !!pfd.revents);
	return pfd.revents;
}

/* Which sets is it in? 1: that for reading, 2: for writing, 4: exceptions. */
static int select_all(int fd)
{
	struct timeval now = { };
	fd_set sets[3];
	int i, in = 0;

	for (i = 0; i < 3; i++) {
		FD_ZERO(&sets[i]);
		FD_SET(fd, &sets[i]);
	}
	NEED(select(fd + 1, &sets[0], &sets[1], &sets[2], &now) >= 0);
	for (i = 0; i < 3; i++)
		in |= !!FD_ISSET(fd, &sets[i]) << i;
	return in;
}

/* The mask that epoll tells now; 0: nothing. */
static uint32_t epoll_now(int epoll)
{
	struct epoll_event event = { };
	int n = epoll_wait(epoll, &event, 1, 0);

	NEED(n >= 0);
	return n ? event.events : 0;
}

static void check_ready(int fd, bool ready)
{
	int mask = POLLIN | POLLRDNORM, epoll = dev_epoll(fd, ALL);

	CHECK_EQ(poll_all(fd), ready ? mask : 0);
	CHECK_EQ(select_all(fd), ready);
	CHECK_EQ(epoll_now(epoll), ready ? mask : 0);
	close(epoll);
}

TEST(ready_if_something_is_due)
{
	int unused = dev_open(), fd = dev_open_virtual();
	uint64_t id;

	check_ready(unused, false);
	check_ready(fd, false);
	id = dev_arm(fd, 2 * MS, 0);
	check_ready(fd, false);
	dev_advance(fd, 2 * MS - 1);
	check_ready(fd, false);
	dev_advance(fd, 1);
	check_ready(fd, true);
	check_ready(fd, true);
	/* It says so until nothing is due, whatever the reason. */
	CHECK_EQ(dev_modify(fd, id, 0, MS), 1);
	check_ready(fd, false);
	dev_advance(fd, MS);
	check_ready(fd, true);
	CHECK_EQ(dev_cancel(fd, id), 1);
	check_ready(fd, false);
	id = dev_arm(fd, 0, 0);
	dev_advance(fd, MS);
	check_ready(fd, true);
	CHECK_EQ(dev_cancel_all(fd), 1);
	check_ready(fd, false);
	dev_arm(fd, 0, 0);
	dev_advance(fd, MS);
	dev_read(fd);
	check_ready(fd, false);
}

static void drain(int fd, unsigned int count)
{
	struct twheel_event event;

	while (events_read(fd, &event, 1) == 1)
		count--;
	CHECK_EQ(errno, EAGAIN);
	CHECK_EQ(count, 0);
}

/* Who reads until there is nothing more, gets an edge for what comes then. */
TEST(edge_triggered)
{
	int fd = dev_open_virtual(), epoll = dev_epoll(fd, EPOLLIN | EPOLLET), i;

	CHECK_EQ(epoll_now(epoll), 0);
	for (i = 1; i < 20; i++) {
		CHECK_EQ(dev_arm_many(fd, i, MS), i);
		CHECK_EQ(epoll_now(epoll), 0);
		dev_advance(fd, MS);
		CHECK_EQ(epoll_now(epoll), EPOLLIN);
		CHECK_EQ(epoll_now(epoll), 0);
		drain(fd, i);
		CHECK_EQ(epoll_now(epoll), 0);
	}
	/* What is due when a watch begins or is changed is an edge as well. */
	dev_arm(fd, MS, 0);
	dev_advance(fd, MS);
	close(epoll);
	epoll = dev_epoll(fd, EPOLLIN | EPOLLET);
	CHECK_EQ(epoll_now(epoll), EPOLLIN);
	CHECK_EQ(epoll_now(epoll), 0);
	NEED(epoll_ctl(epoll, EPOLL_CTL_MOD, fd,
		       &(struct epoll_event) { .events = EPOLLIN | EPOLLET }) == 0);
	CHECK_EQ(epoll_now(epoll), EPOLLIN);
}

/* An edge that is cancelled before the program looks leaves no edge, and takes none away. */
TEST(edges_of_cancelled_timers)
{
	int fd = dev_open_virtual(), epoll = dev_epoll(fd, EPOLLIN | EPOLLET), i;

	for (i = 0; i < 20; i++) {
		uint64_t id = dev_arm(fd, MS, i);

		dev_advance(fd, MS);
		if (i % 3)
			CHECK_EQ(dev_cancel(fd, id), 1);
		else
			CHECK_EQ(dev_modify(fd, id, 0, 2 * MS), 1);
		CHECK_EQ(epoll_now(epoll), 0);
		dev_arm(fd, MS, i);
		dev_advance(fd, MS);
		CHECK_EQ(epoll_now(epoll), EPOLLIN);
		drain(fd, 1);
		dev_cancel_all(fd);
	}
}

/* A poll need not do all the work at once. In the end it tells of events, and they are read. */
TEST(much_to_move_first)
{
	enum { N = 30000 };
	int fd = dev_open_virtual(), i;

	/* Not due, but in the way. */
	for (i = 0; i < 10; i++)
		CHECK_EQ(dev_arm_many(fd, N / 10, HOUR + i * S), N / 10);
	dev_arm(fd, HOUR - MS, 9);
	check_ready(fd, false);
	dev_advance(fd, HOUR - MS);
	CHECK_EQ(dev_readable(fd, -1), 1);
	CHECK_EQ(dev_read(fd).cookie, 9);
	CHECK_EQ(dev_readable(fd, 100), 0);
	dev_advance(fd, MS);
	CHECK_EQ(dev_readable(fd, -1), 1);
	CHECK_EQ(dev_cancel_all(fd), N);
	check_ready(fd, false);
}
