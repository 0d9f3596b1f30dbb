// SPDX-License-Identifier: GPL-2.0-only
/* How events are waited for, and taken. */
#define _GNU_SOURCE
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/uio.h>
#include <unistd.h>

#include "executor.h"

/* An event that is due may take as long as that on a busy machine. */
#define DRAIN_MS	30000

#define MAX_IOV		4

/* What was read into good memory. */
void judge_events(struct thread *thread, const struct call *call,
		  const void *buffer, long bytes)
{
	const struct twheel_event *event = buffer;
	long i;

	if (bytes % (long)sizeof(*event)) {
		judge_fail(&thread->executor->judge, "read: %ld bytes", bytes);
		return;
	}
	thread->executor->counters->events += bytes / sizeof(*event);
	for (i = 0; i < bytes / (long)sizeof(*event); i++) {
		struct twheel_event copy;

		memcpy(&copy, &event[i], sizeof(copy));
		if (copy.fired_ns < copy.deadline_ns)
			judge_fail(&thread->executor->judge,
				   "early: fired before its deadline");
		if (file_of(thread, call))
			model_event(file_of(thread, call), &copy,
				    &thread->executor->judge);
	}
}

static uint32_t may_read(struct thread *thread, const struct call *call,
			 size_t bytes)
{
	const struct file_model *file = file_of(thread, call);
	uint32_t may = OUT_MORE | OUT_EAGAIN | OUT_EINTR;

	if (bytes < sizeof(struct twheel_event))
		return OUT_EINVAL;
	if (!file || file->vague)
		return may | OUT_EINVAL;
	if (file->cells)
		return OUT_EINVAL;
	return file->live ? may : may & ~OUT_MORE;
}

/* Where nothing can be is seen before the device is asked. */
static bool cannot_be(enum place place)
{
	return place == PLACE_KERNEL || place == PLACE_NOWHERE ||
	       place == PLACE_TOP;
}

/* Memory that is not there is noticed only if there is something to write. */
static void judge_read(struct thread *thread, const struct call *call,
		       enum place place, size_t bytes, void *buffer, long ret,
		       int error)
{
	struct file_model *file = file_of(thread, call);
	uint32_t may = may_read(thread, call, bytes);

	if (cannot_be(place) || (!memory_is_good(place) && may & OUT_MORE))
		may |= OUT_EFAULT;
	judge_out(thread, call, out_of(ret, error),
		  may_be_closed(thread, call, may));
	if (ret > (long)bytes)
		judge_fail(&thread->executor->judge, "read: too much");
	else if (ret > 0 && memory_is_good(place))
		judge_events(thread, call, buffer, ret);
	else if (ret > 0 && file)
		file->vague = true;
	judge_file(thread, call);
}

static void read_events(struct thread *thread, const struct call *call)
{
	size_t bytes = call->arg[1] % MEMORY_BODY;
	enum place place = call->arg[2] % NR_PLACES;
	void *buffer = memory_at(&thread->memory, place, bytes, true,
				 mapping_for(thread));
	int error;
	long ret;

	alarm_on(thread, fd_of(call));
	ret = read(fd_of(call), buffer, bytes);
	error = errno;
	alarm_off(thread);
	judge_read(thread, call, place, bytes, buffer, ret, error);
}

static void read_vector(struct thread *thread, const struct call *call)
{
	unsigned int count = 1 + call->arg[1] % MAX_IOV, i;
	size_t bytes = call->arg[2] % 4096;
	enum place place = call->arg[3] % NR_PLACES;
	struct iovec iov[MAX_IOV];
	char *buffer = memory_at(&thread->memory, place, bytes * count, true,
				 mapping_for(thread));
	int error;
	long ret;

	for (i = 0; i < count; i++)
		iov[i] = (struct iovec) { buffer + i * bytes, bytes };
	alarm_on(thread, fd_of(call));
	ret = preadv2(fd_of(call), iov, count, -1,
		      call->arg[1] & 8 ? RWF_NOWAIT : 0);
	error = errno;
	alarm_off(thread);
	/* Nothing at all is not asked of the device. */
	if (!bytes && !ret)
		return;
	judge_read(thread, call, place, bytes * count, buffer, ret, error);
}

static void poll_file(struct thread *thread, const struct call *call)
{
	struct pollfd pfd = { .fd = fd_of(call), .events = POLLIN | POLLOUT };
	int ret = poll(&pfd, 1, call->arg[1] % 4);

	if (ret > 0 && pfd.revents & ~(POLLIN | POLLNVAL))
		judge_fail(&thread->executor->judge, "poll: %#x", pfd.revents);
}

static void add_to_epoll(const struct call *call)
{
	static const uint32_t flags[] = {
		EPOLLIN, EPOLLIN | EPOLLET, EPOLLIN | EPOLLONESHOT,
		EPOLLIN | EPOLLEXCLUSIVE,
	};
	struct epoll_event event = { .events = flags[call->arg[1] % 4] };
	int fd;

	if (epoll_ctl(FD_EPOLL, EPOLL_CTL_ADD, fd_of(call), &event) ||
	    errno != EBADF)
		return;
	fd = epoll_create1(EPOLL_CLOEXEC);
	dup2(fd, FD_EPOLL);
	close(fd);
	epoll_ctl(FD_EPOLL, EPOLL_CTL_ADD, fd_of(call), &event);
}

/* Wait until no event is owed any more. */
static void drain(struct thread *thread, const struct call *call)
{
	struct file_model *file = file_of(thread, call);
	struct pollfd pfd = { .fd = fd_of(call), .events = POLLIN };
	struct twheel_event events[16];
	uint32_t due = file ? model_due(file) : 0;
	long ret;

	while (due) {
		if (poll(&pfd, 1, DRAIN_MS) == 0) {
			judge_fail(&thread->executor->judge,
				   "lost: %u events are due", due);
			return;
		}
		alarm_on(thread, pfd.fd);
		ret = read(pfd.fd, events, sizeof(events));
		alarm_off(thread);
		if (ret > 0)
			judge_events(thread, call, events, ret);
		else if (errno != EINTR && errno != EAGAIN)
			return;
		due = model_due(file);
	}
}

void call_event(struct thread *thread, const struct call *call)
{
	struct epoll_event events[4];

	switch (call->code) {
	case CALL_READ:
		read_events(thread, call);
		break;
	case CALL_READV:
		read_vector(thread, call);
		break;
	case CALL_POLL:
		poll_file(thread, call);
		break;
	case CALL_EPOLL_ADD:
		add_to_epoll(call);
		break;
	case CALL_EPOLL_WAIT:
		epoll_wait(FD_EPOLL, events, 4, call->arg[0] % 4);
		break;
	case CALL_EPOLL_DEL:
		epoll_ctl(FD_EPOLL, EPOLL_CTL_DEL, fd_of(call), events);
		break;
	case CALL_DRAIN:
		drain(thread, call);
		break;
	}
}
