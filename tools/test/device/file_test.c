// SPDX-License-Identifier: GPL-2.0-only
/* /dev/twheel as a file: passing it on, sharing it, closing it. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/device.h"
#include "lib/tap.h"

TEST(files_are_apart)
{
	int a = dev_open_virtual(), b = dev_open_virtual();
	uint64_t id = dev_arm(a, S, 1);

	CHECK_ERR(dev_cancel(b, id), ENOENT);
	dev_arm(b, S, 2);
	CHECK_EQ(dev_info(a).timers, 1);
	CHECK_EQ(dev_info(b).timers, 1);
	dev_advance(a, 2 * S);
	CHECK_EQ(dev_info(b).now_ns, 0);
	dev_silent(b);
	CHECK_EQ(dev_read(a).cookie, 1);
	CHECK_EQ(dev_cancel_all(a), 0);
	CHECK_EQ(dev_cancel_all(b), 1);
	CHECK(dev_stat(a, "wheel") != dev_stat(b, "wheel"));
}

/* Descriptors of one file: who opened it may even have closed it. */
TEST(fork_and_dup_share)
{
	int fd = dev_open_virtual(), copy = dup(fd), status;
	uint64_t id = dev_arm(copy, S, 3);
	pid_t child = fork();

	NEED(child >= 0);
	if (!child) {
		close(fd);
		dev_advance(copy, 2 * S);
		CHECK_EQ(dev_read(copy).cookie, 3);
		dev_arm(copy, S, 4);
		_exit(tap_failed());
	}
	NEED(waitpid(child, &status, 0) == child);
	CHECK_EQ(status, 0);
	CHECK_ERR(dev_cancel(fd, id), ENOENT);
	close(fd);
	CHECK_EQ(dev_info(copy).timers, 1);
	dev_advance(copy, S + MS);
	CHECK_EQ(dev_read(copy).cookie, 4);
}

/* A file outlives the process that has opened it. */
TEST(passes_through_a_socket)
{
	char control[CMSG_SPACE(sizeof(int))] = "", byte = 'x';
	struct iovec iov = { &byte, 1 };
	struct msghdr msg = {
		.msg_iov = &iov, .msg_iovlen = 1,
		.msg_control = control, .msg_controllen = sizeof(control),
	};
	struct cmsghdr *cmsg = CMSG_FIRSTHDR(&msg);
	int pair[2], status, fd;
	pid_t child;

	NEED(socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0);
	child = fork();
	NEED(child >= 0);
	if (!child) {
		fd = dev_open_blocking(TWHEEL_MONOTONIC);
		dev_arm(fd, 50 * MS, 8);
		cmsg->cmsg_level = SOL_SOCKET;
		cmsg->cmsg_type = SCM_RIGHTS;
		cmsg->cmsg_len = CMSG_LEN(sizeof(int));
		memcpy(CMSG_DATA(cmsg), &fd, sizeof(int));
		_exit(sendmsg(pair[0], &msg, 0) != 1);
	}
	NEED(waitpid(child, &status, 0) == child);
	CHECK_EQ(status, 0);
	NEED(recvmsg(pair[1], &msg, 0) == 1);
	memcpy(&fd, CMSG_DATA(CMSG_FIRSTHDR(&msg)), sizeof(int));
	CHECK_EQ(dev_read(fd).cookie, 8);
	dev_arm(fd, MS, 9);
	CHECK_EQ(dev_read(fd).cookie, 9);
}

/* A million, unless the kernel tracks each as a debug object. */
TEST(closes_with_many)
{
	unsigned int count = access("/sys/kernel/debug/debug_objects", F_OK) ? 1000000 : 50000;
	uint64_t memory, before = dev_info(dev_open()).user_memory;
	int fd = dev_open_virtual(), i;

	for (i = 0; i < 10; i++)
		NEED(dev_arm_many(fd, count / 10, i * HOUR) == count / 10);
	memory = dev_info(fd).file_memory;
	CHECK_EQ(dev_info(fd).timers, count);
	dev_advance(fd, 5 * HOUR);
	CHECK_EQ(dev_readable(fd, -1), 1);
	close(fd);
	/* 64 bytes a timer; of a kernel of 32 bits 56 */
	CHECK(memory > 56 * count);
	CHECK_EQ(dev_info(dev_open()).user_timers, 0);
	CHECK(dev_info(dev_open()).user_memory < before + memory / 10);
}
