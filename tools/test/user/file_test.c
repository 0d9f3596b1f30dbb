// SPDX-License-Identifier: GPL-2.0-only
/* /dev/twheel as a file: waiting for it, passing it on, closing it. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/device.h"
#include "lib/tap.h"

static void files_are_apart(void)
{
	int a = dev_open(), b = dev_open_flags(O_NONBLOCK);
	uint64_t id = dev_arm(a, 3600 * S, 1);
	struct twheel_event event;

	CHECK_ERR(dev_cancel(b, id), ENOENT);
	dev_arm(b, 3600 * S, 2);
	CHECK_EQ(dev_info(a).timers, 1);
	CHECK_EQ(dev_info(b).timers, 1);
	CHECK_EQ(dev_modify(a, id, 0, 0), 0);
	dev_read(a);
	CHECK_ERR(read(b, &event, sizeof(event)), EAGAIN);
}

static void nonblocking_says_eagain(void)
{
	int fd = dev_open_flags(O_NONBLOCK);
	struct twheel_event event;

	CHECK_ERR(read(fd, &event, sizeof(event)), EAGAIN);
	dev_arm(fd, 3600 * S, 0);
	CHECK_ERR(read(fd, &event, sizeof(event)), EAGAIN);
}

static void nothing(int signal)
{
	(void)signal;
}

static void signal_interrupts_read(void)
{
	struct sigaction action = { .sa_handler = nothing };
	struct twheel_event event;
	int fd = dev_open();
	pid_t self = getpid(), child;

	sigaction(SIGUSR1, &action, NULL);
	dev_arm(fd, 3600 * S, 0);
	child = fork();
	NEED(child >= 0);
	/* Repeat it: a signal before the read begins has no effect. */
	while (!child) {
		usleep(100000);
		kill(self, SIGUSR1);
	}
	CHECK_ERR(read(fd, &event, sizeof(event)), EINTR);
	kill(child, SIGKILL);
	NEED(waitpid(child, NULL, 0) == child);
	CHECK_EQ(dev_info(fd).timers, 1);
}

static void poll_and_epoll(void)
{
	int fd = dev_open(), ep = epoll_create1(0), et = epoll_create1(0);
	struct epoll_event want = { .events = EPOLLIN }, got;

	NEED(epoll_ctl(ep, EPOLL_CTL_ADD, fd, &want) == 0);
	want.events |= EPOLLET;
	NEED(epoll_ctl(et, EPOLL_CTL_ADD, fd, &want) == 0);
	CHECK_EQ(dev_readable(fd, 0), 0);
	CHECK_EQ(epoll_wait(ep, &got, 1, 0), 0);

	dev_arm(fd, 20 * MS, 0);
	CHECK_EQ(epoll_wait(ep, &got, 1, 60000), 1);
	CHECK_EQ(got.events, EPOLLIN);
	CHECK_EQ(epoll_wait(et, &got, 1, 60000), 1);
	/* Level: while an event is unread. Edge: once for each event. */
	CHECK_EQ(epoll_wait(ep, &got, 1, 0), 1);
	CHECK_EQ(epoll_wait(et, &got, 1, 50), 0);
	dev_arm(fd, 20 * MS, 0);
	CHECK_EQ(epoll_wait(et, &got, 1, 60000), 1);
	CHECK_EQ(dev_readable(fd, 0), 1);
	dev_read(fd);
	dev_read(fd);
	CHECK_EQ(epoll_wait(ep, &got, 1, 0), 0);
	CHECK_EQ(dev_readable(fd, 0), 0);
}

static void fork_and_dup_share(void)
{
	int fd = dev_open(), copy = dup(fd), status;
	uint64_t id = dev_arm(copy, 20 * MS, 3);
	pid_t child = fork();

	if (!child) {
		close(fd);
		_exit(dev_read(copy).cookie != 3);
	}
	waitpid(child, &status, 0);
	CHECK_EQ(status, 0);
	CHECK_ERR(dev_cancel(fd, id), ENOENT);
	close(fd);
	dev_arm(copy, MS, 4);
	CHECK_EQ(dev_read(copy).cookie, 4);
}

static void passes_through_a_socket(void)
{
	char control[CMSG_SPACE(sizeof(int))] = "", byte = 'x';
	struct iovec iov = { &byte, 1 };
	struct msghdr msg = {
		.msg_iov = &iov, .msg_iovlen = 1,
		.msg_control = control, .msg_controllen = sizeof(control),
	};
	struct cmsghdr *cmsg = CMSG_FIRSTHDR(&msg);
	int fd = dev_open(), pair[2], status, got;

	NEED(socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0);
	dev_arm(fd, 20 * MS, 8);
	cmsg->cmsg_level = SOL_SOCKET;
	cmsg->cmsg_type = SCM_RIGHTS;
	cmsg->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(cmsg), &fd, sizeof(int));
	NEED(sendmsg(pair[0], &msg, 0) == 1);
	close(fd);
	if (!fork()) {
		NEED(recvmsg(pair[1], &msg, 0) == 1);
		memcpy(&got, CMSG_DATA(CMSG_FIRSTHDR(&msg)), sizeof(int));
		_exit(dev_read(got).cookie != 8);
	}
	wait(&status);
	CHECK_EQ(status, 0);
}

static void close_with_everything_on(void)
{
	int i, fd;

	for (i = 0; i < 50; i++) {
		struct twheel_op op = {
			.deadline_ns = MS, .period_ns = 2 * MS,
		};
		int j;

		fd = dev_open();
		for (j = 0; j < 300; j++)
			dev_arm(fd, j % 4 * MS, j);
		dev_arm(fd, 3600 * S, 0);
		dev_arm_op(fd, &op);
		usleep(i % 5 * 1000);
		close(fd);
	}
}

/* The thread that is about to read; 0: not yet. */
static atomic_int reader_tid;

static void *blocked_reader(void *arg)
{
	struct twheel_event event;

	reader_tid = gettid();
	/* Closing the file does not end a blocked read: the event does. */
	if (read(*(int *)arg, &event, sizeof(event)) == sizeof(event) &&
	    event.cookie == 77)
		return arg;
	return NULL;
}

/* Does it sleep? After reader_tid is set, it can only sleep in read(). */
static bool reader_sleeps(void)
{
	char path[64], state = '?';
	FILE *file;

	snprintf(path, sizeof(path), "/proc/self/task/%d/stat", reader_tid);
	file = fopen(path, "r");
	NEED(file);
	NEED(fscanf(file, "%*d (%*[^)]) %c", &state) == 1);
	fclose(file);
	return state == 'S';
}

static void close_under_a_reader(void)
{
	int fd = dev_open(), number = fd;
	pthread_t reader;
	uint64_t id;
	void *good;

	id = dev_arm(fd, 3600 * S, 77);
	NEED(pthread_create(&reader, NULL, blocked_reader, &number) == 0);
	while (!reader_tid || !reader_sleeps())
		usleep(1000);
	CHECK_EQ(dev_modify(fd, id, 0, 50 * MS), 0);
	close(fd);
	NEED(pthread_join(reader, &good) == 0);
	CHECK(good);
}

static const struct tap_test tests[] = {
	TAP(files_are_apart),
	TAP(nonblocking_says_eagain),
	TAP(signal_interrupts_read),
	TAP(poll_and_epoll),
	TAP(fork_and_dup_share),
	TAP(passes_through_a_socket),
	TAP(close_with_everything_on),
	TAP(close_under_a_reader),
};

int main(int argc, char **argv)
{
	return tap_main(tests, sizeof(tests) / sizeof(*tests), argc, argv);
}
