// SPDX-License-Identifier: GPL-2.0-only
/* What is done with the descriptor as with any other: open it, pass it on, close it. */
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

/* What is known of a file that another descriptor now leads to. */
static void same_file(struct thread *thread, uint64_t to,
		      struct file_model *file)
{
	thread->executor->file[to % NR_FILES] = file;
}

static void open_file(struct thread *thread, const struct call *call)
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
		judge_fail(&executor->judge, "open: %s", strerror(errno));
		return;
	}
	if (!executor->single) {
		dup3(fd, fd_of(call), O_CLOEXEC);
		close(fd);
		return;
	}
	ioctl(fd, TWHEEL_IOC_INFO, &info);
	dup3(fd, fd_of(call), O_CLOEXEC);
	close(fd);
	file = &executor->opened[executor->nr_opened++];
	model_open(file, &info, false);
	same_file(thread, call->arg[A_FILE], file);
}

static void duplicate(struct thread *thread, const struct call *call)
{
	unsigned int to = call->arg[1] % NR_FILES;

	if (dup2(fd_of(call), FD_FILE + to) >= 0 && thread->executor->single)
		same_file(thread, to, file_of(thread, call));
}

static void send_file(struct thread *thread, const struct call *call)
{
	char control[CMSG_SPACE(sizeof(int))] = { }, byte = 0;
	struct iovec iov = { &byte, 1 };
	struct msghdr message = {
		.msg_iov = &iov, .msg_iovlen = 1,
		.msg_control = control, .msg_controllen = sizeof(control),
	};
	struct cmsghdr *cmsg = CMSG_FIRSTHDR(&message);
	int fd = fd_of(call), pair[2];

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
	if (sendmsg(FD_SOCKETS, &message, 0) == 1 && file_of(thread, call))
		/* Which one comes out again is not followed. */
		file_of(thread, call)->vague = true;
}

static void receive_file(struct thread *thread, const struct call *call)
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
	dup2(fd, fd_of(call));
	close(fd);
	if (thread->executor->single)
		same_file(thread, call->arg[A_FILE], NULL);
}

/* Each has an outcome of its own, whatever the file holds. */
static void other(struct thread *thread, const struct call *call)
{
	int fd = fd_of(call), number = 0;
	char byte = 0;
	long ret;

	switch (call->arg[1] % 8) {
	case 0:
		ret = lseek(fd, 4096, SEEK_SET);
		judge_out(thread, call, out_of(ret, errno),
			  may_be_closed(thread, call, OUT_ESPIPE | OUT_0));
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
		/* There are no signals; that fcntl() was asked for them may be noted. */
		ret = ioctl(fd, FIOASYNC, &number);
		judge_out(thread, call, out_of(ret, errno),
			  may_be_closed(thread, call, OUT_0 | OUT_ENOTTY));
		return;
	default:
		ret = fsync(fd);
		break;
	}
	judge_out(thread, call, out_of(ret, errno),
		  may_be_closed(thread, call, OUT_EINVAL | OUT_ESPIPE |
				OUT_ENOTTY));
	judge_file(thread, call);
}

static void control(const struct call *call)
{
	int fd = fd_of(call), flags = fcntl(fd, F_GETFL);

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

static void read_fdinfo(struct thread *thread, const struct call *call)
{
	struct file_model *file = file_of(thread, call);
	unsigned long long armed;
	char path[64], text[2048];
	const char *line;
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", fd_of(call));
	fd = open(path, O_RDONLY);
	if (fd < 0)
		return;
	n = read(fd, text, sizeof(text) - 1);
	close(fd);
	text[n < 0 ? 0 : n] = '\0';
	line = strstr(text, "\narmed:");
	if (n > 0 && (!line || sscanf(line, " armed: %llu", &armed) != 1))
		judge_fail(&thread->executor->judge, "fdinfo does not say armed");
	else if (file && !file->vague && armed != file->armed)
		judge_fail(&thread->executor->judge, "fdinfo: %llu armed", armed);
}

/* Any command. Known ones with a size that is not theirs are call_op's business. */
static void any_ioctl(struct thread *thread, const struct call *call)
{
	unsigned int command = call->arg[1];
	void *user = memory_at(&thread->memory, call->arg[2] % NR_PLACES, 64,
			       false, mapping_for(thread));
	/* The kernel's own, of any file, are below "T" and "f". */
	bool ours = _IOC_TYPE(command) == TWHEEL_IOC_TYPE;
	long ret;

	if (!ours)
		command = _IOC(_IOC_DIR(command), TWHEEL_IOC_TYPE + 1,
			       _IOC_NR(command), _IOC_SIZE(command));
	/* Numbers from here on will not be given away soon. */
	else if (_IOC_NR(command) < 0x40)
		command |= 0x40;
	ret = ioctl(fd_of(call), (unsigned long)command, user);
	judge_out(thread, call, out_of(ret, errno),
		  may_be_closed(thread, call, OUT_ENOTTY));
	judge_file(thread, call);
}

void call_file(struct thread *thread, const struct call *call)
{
	switch (call->code) {
	case CALL_OPEN:
		open_file(thread, call);
		break;
	case CALL_CLOSE:
		close(fd_of(call));
		if (thread->executor->single)
			same_file(thread, call->arg[A_FILE], NULL);
		break;
	case CALL_DUP:
		duplicate(thread, call);
		break;
	case CALL_SEND:
		send_file(thread, call);
		break;
	case CALL_RECEIVE:
		receive_file(thread, call);
		break;
	case CALL_OTHER:
		other(thread, call);
		break;
	case CALL_FCNTL:
		control(call);
		break;
	case CALL_FDINFO:
		read_fdinfo(thread, call);
		break;
	case CALL_IOCTL:
		any_ioctl(thread, call);
		break;
	}
}
