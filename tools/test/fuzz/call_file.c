// SPDX-License-Identifier: GPL-2.0-only
/* Calls that any descriptor allows: open it, pass it on, close it. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "executor.h"

/* Another descriptor now refers to this file. */
static void file_set_model(struct thread *thread, uint64_t to,
			   struct file_model *file)
{
	thread->executor->file[to % NR_FILES] = file;
}

static void call_open(struct thread *thread, const struct call *call)
{
	struct executor *executor = thread->executor;
	int flags = O_RDWR | (call->arg[1] % 4 == 3 ? 0 : O_NONBLOCK);
	struct twheel_info info;
	struct file_model *file;
	int fd;

	if (executor->single && executor->nr_opened == MAX_OPENED)
		return;
	fd = open("/dev/twheel", flags);
	if (fd < 0) {
		verdict_fail(&executor->verdict, "open: %s", strerror(errno));
		return;
	}
	if (!executor->single) {
		dup3(fd, call_fd(call), O_CLOEXEC);
		close(fd);
		return;
	}
	ioctl(fd, TWHEEL_IOC_INFO, &info);
	dup3(fd, call_fd(call), O_CLOEXEC);
	close(fd);
	file = &executor->opened[executor->nr_opened++];
	model_open(file, &info, false);
	file_set_model(thread, call->arg[A_FILE], file);
}

static void call_dup(struct thread *thread, const struct call *call)
{
	unsigned int to = call->arg[1] % NR_FILES;

	if (dup2(call_fd(call), FD_FILE + to) >= 0 && thread->executor->single)
		file_set_model(thread, to, call_file_model(thread, call));
}

static void call_send(struct thread *thread, const struct call *call)
{
	char control[CMSG_SPACE(sizeof(int))] = { }, byte = 0;
	struct iovec iov = { &byte, 1 };
	struct msghdr message = {
		.msg_iov = &iov, .msg_iovlen = 1,
		.msg_control = control, .msg_controllen = sizeof(control),
	};
	struct cmsghdr *cmsg = CMSG_FIRSTHDR(&message);
	int fd = call_fd(call), pair[2];

	if (fcntl(FD_SOCKETS, F_GETFD) < 0) {
		if (socketpair(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK, 0, pair))
			return;
		dup2(pair[0], FD_SOCKETS);
		dup2(pair[1], FD_SOCKETS + 1);
		close(pair[0]);
		close(pair[1]);
	}
	cmsg->cmsg_level = SOL_SOCKET;
	cmsg->cmsg_type = SCM_RIGHTS;
	cmsg->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(cmsg), &fd, sizeof(fd));
	if (sendmsg(FD_SOCKETS, &message, 0) == 1 && call_file_model(thread, call))
		/* The model does not follow which file is received. */
		call_file_model(thread, call)->vague = true;
}

static void call_receive(struct thread *thread, const struct call *call)
{
	char control[CMSG_SPACE(sizeof(int))], byte;
	struct iovec iov = { &byte, 1 };
	struct msghdr message = {
		.msg_iov = &iov, .msg_iovlen = 1,
		.msg_control = control, .msg_controllen = sizeof(control),
	};
	struct cmsghdr *cmsg;
	int fd;

	if (recvmsg(FD_SOCKETS + 1, &message, 0) != 1)
		return;
	cmsg = CMSG_FIRSTHDR(&message);
	if (!cmsg || cmsg->cmsg_type != SCM_RIGHTS)
		return;
	memcpy(&fd, CMSG_DATA(cmsg), sizeof(fd));
	dup2(fd, call_fd(call));
	close(fd);
	if (thread->executor->single)
		file_set_model(thread, call->arg[A_FILE], NULL);
}

/* Calls whose outcome does not depend on the file's state. */
static void call_other(struct thread *thread, const struct call *call)
{
	int fd = call_fd(call), number = 0;
	char byte = 0;
	long ret;

	switch (call->arg[1] % 8) {
	case 0:
		ret = lseek(fd, 4096, SEEK_SET);
		check_outcome(thread, call, outcome_of(ret, errno),
			      outcome_or_closed(thread, call, OUT_ESPIPE | OUT_0));
		return;
	case 1:
		ret = pread(fd, &byte, 1, 0);
		break;
	case 2:
		ret = pwrite(fd, &byte, 1, 0);
		break;
	case 3:
		ret = write(fd, &byte, 1);
		break;
	case 4:
		ret = ioctl(fd, FIONREAD, &number);
		break;
	case 5:
		ret = ftruncate(fd, 4096);
		break;
	case 6:
		/* There are no signals; O_ASYNC may have been set by fcntl(). */
		ret = ioctl(fd, FIOASYNC, &number);
		check_outcome(thread, call, outcome_of(ret, errno),
			      outcome_or_closed(thread, call, OUT_0 | OUT_ENOTTY));
		return;
	default:
		ret = fsync(fd);
		break;
	}
	check_outcome(thread, call, outcome_of(ret, errno),
		      outcome_or_closed(thread, call, OUT_EINVAL | OUT_ESPIPE |
					OUT_ENOTTY));
	check_file(thread, call);
}

static void call_fcntl(const struct call *call)
{
	int fd = call_fd(call), flags = fcntl(fd, F_GETFL);

	switch (call->arg[1] % 6) {
	case 0:
		fcntl(fd, F_SETFL, flags | O_ASYNC);
		fcntl(fd, F_SETOWN, getpid());
		break;
	case 1:
		fcntl(fd, F_SETFL, flags & ~O_ASYNC);
		break;
	case 2:
		fcntl(fd, F_SETFL, flags ^ O_NONBLOCK);
		break;
	case 3:
		fcntl(fd, F_SETOWN, -getpgrp());
		break;
	case 4:
		fcntl(fd, F_SETSIG, SIGUSR2);
		break;
	default:
		fcntl(fd, F_SETFD, FD_CLOEXEC);
		break;
	}
}

static void call_fdinfo(struct thread *thread, const struct call *call)
{
	struct file_model *file = call_file_model(thread, call);
	unsigned long long armed;
	char path[64], text[2048];
	const char *line;
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", call_fd(call));
	fd = open(path, O_RDONLY);
	if (fd < 0)
		return;
	n = read(fd, text, sizeof(text) - 1);
	close(fd);
	text[n < 0 ? 0 : n] = '\0';
	line = strstr(text, "\narmed:");
	if (n > 0 && (!line || sscanf(line, " armed: %llu", &armed) != 1))
		verdict_fail(&thread->executor->verdict, "fdinfo does not say armed");
	else if (file && !file->vague && !model_armed_may_be(file, armed))
		verdict_fail(&thread->executor->verdict, "fdinfo: %llu armed", armed);
}

/* An unknown command. Known ones with another size are made in call_op.c. */
static void call_ioctl(struct thread *thread, const struct call *call)
{
	unsigned int command = call->arg[1];
	void *user = memory_at(&thread->memory, call->arg[2] % NR_PLACES, 64,
			       false, thread_mapping(thread));
	/* Types "T" and "f" have commands that the kernel handles for any file. */
	bool ours = _IOC_TYPE(command) == TWHEEL_IOC_TYPE;
	long ret;

	if (!ours)
		command = _IOC(_IOC_DIR(command), TWHEEL_IOC_TYPE + 1,
			       _IOC_NR(command), _IOC_SIZE(command));
	/* Numbers from 0x40 on will not be used soon. */
	else if (_IOC_NR(command) < 0x40)
		command |= 0x40;
	ret = ioctl(call_fd(call), (unsigned long)command, user);
	check_outcome(thread, call, outcome_of(ret, errno),
		      outcome_or_closed(thread, call, OUT_ENOTTY));
	check_file(thread, call);
}

void call_file(struct thread *thread, const struct call *call)
{
	switch (call->code) {
	case CALL_OPEN:
		call_open(thread, call);
		break;
	case CALL_CLOSE:
		close(call_fd(call));
		if (thread->executor->single)
			file_set_model(thread, call->arg[A_FILE], NULL);
		break;
	case CALL_DUP:
		call_dup(thread, call);
		break;
	case CALL_SEND:
		call_send(thread, call);
		break;
	case CALL_RECEIVE:
		call_receive(thread, call);
		break;
	case CALL_OTHER:
		call_other(thread, call);
		break;
	case CALL_FCNTL:
		call_fcntl(call);
		break;
	case CALL_FDINFO:
		call_fdinfo(thread, call);
		break;
	case CALL_IOCTL:
		call_ioctl(thread, call);
		break;
	}
}
