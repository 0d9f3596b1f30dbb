// SPDX-License-Identifier: GPL-2.0-only
/*
 * Injected faults in epoll, poll, select and fdinfo. See fault_test.c.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <time.h>
#include <unistd.h>

#include "lib/device.h"
#include "lib/fault.h"
#include "lib/tap.h"

#define HOUR	(3600 * S)

struct epoll_call {
	int epoll;
	int fd;
};

static long epoll_add(void *arg)
{
	struct epoll_call *call = arg;
	struct epoll_event event = { .events = EPOLLIN };

	return epoll_ctl(call->epoll, EPOLL_CTL_ADD, call->fd, &event);
}

static void epoll_waits(void)
{
	struct epoll_event event;
	struct fault fault;
	unsigned int n;

	fault_prepare();
	FAULT_SWEEP(n, fault, 1) {
		struct epoll_call call = { epoll_create1(EPOLL_CLOEXEC),
					   dev_open() };

		NEED(call.epoll >= 0);
		fault = fault_call(n, epoll_add, &call);
		if (!fault_survived(&fault))
			NEED(epoll_add(&call) == 0);
		CHECK_ERR(epoll_add(&call), EEXIST);
		dev_arm(call.fd, MS, n);
		CHECK_EQ(epoll_wait(call.epoll, &event, 1, 60000), 1);
		CHECK_EQ(dev_read(call.fd).cookie, n);
		close(call.fd);
		close(call.epoll);
	}
}

static long poll_now(void *arg)
{
	struct pollfd pfd = { .fd = *(int *)arg, .events = POLLIN };

	return poll(&pfd, 1, 0);
}

static long select_now(void *arg)
{
	int fd = *(int *)arg;
	struct timeval now = { };
	fd_set set;

	FD_ZERO(&set);
	FD_SET(fd, &set);
	return select(fd + 1, &set, NULL, NULL, &now);
}

static void poll_and_select(void)
{
	long (* const calls[])(void *) = { poll_now, select_now };
	struct fault fault;
	unsigned int n, i;
	int fd;

	fault_prepare();
	fd = dev_open();
	dev_arm(fd, 0, 1);
	dev_wait_unread(fd, 1);
	for (i = 0; i < 2; i++) {
		FAULT_SWEEP(n, fault, 1) {
			fault = fault_call(n, calls[i], &fd);
			if (fault_survived(&fault))
				CHECK_EQ(fault.ret, 1);
			CHECK_EQ(dev_info(fd).unread, 1);
		}
	}
	CHECK_EQ(dev_read(fd).cookie, 1);
}

struct file_call {
	char path[64];
	char text[4096];
};

static long file_show(void *arg)
{
	struct file_call *call = arg;
	int fd = open(call->path, O_RDONLY | O_CLOEXEC);
	ssize_t n, all = 0;
	int error;

	if (fd < 0)
		return -1;
	do {
		n = read(fd, call->text + all, sizeof(call->text) - 1 - all);
		if (n > 0)
			all += n;
	} while (n > 0);
	error = errno;
	close(fd);
	errno = error;
	call->text[all] = '\0';
	return n < 0 ? -1 : all;
}

static void fdinfo_is_read(void)
{
	static struct file_call call, whole;
	struct twheel_info was;
	struct fault fault;
	unsigned int n;
	int fd;

	fault_prepare();
	fd = dev_open();
	dev_arm(fd, HOUR, 1);
	was = dev_state(fd);
	snprintf(whole.path, sizeof(whole.path), "/proc/self/fdinfo/%d", fd);
	call = whole;
	NEED(file_show(&whole) > 0);
	NEED(strstr(whole.text, "occupied:"));
	FAULT_SWEEP(n, fault, 1) {
		fault = fault_call(n, file_show, &call);
		if (fault_survived(&fault))
			CHECK(!strcmp(call.text, whole.text));
		dev_same(fd, &was);
	}
}

int main(int argc, char **argv)
{
	static const struct tap_test tests[] = {
		TAP(epoll_waits),
		TAP(poll_and_select),
		TAP(fdinfo_is_read),
	};

	return tap_main(tests, sizeof(tests) / sizeof(*tests), argc, argv);
}
