// SPDX-License-Identifier: GPL-2.0-only
/* Calls that wait for events and read them. */
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

/* How late a due event may come on a busy machine. */
#define DRAIN_MS	30000

#define MAX_IOV		4

/* Check the events that were read into good memory. */
void check_events(struct thread *thread, const struct call *call,
		  const void *buffer, long bytes)
{
	static const char empty[TWHEEL_EVENT_SIZE_MAX];
	struct file_model *file = call_file_model(thread, call);
	const char *record = buffer;
	struct twheel_event copy;
	long size, i;

	/* Without a model, another thread may have agreed on another size. */
	size = file ? file->event_size : sizeof(copy);
	thread->executor->counters->events += bytes / size;
	if (!file)
		return;
	if (bytes % size) {
		verdict_fail(&thread->executor->verdict, "read: %ld bytes", bytes);
		return;
	}
	for (i = 0; i < bytes / size; i++, record += size) {
		memcpy(&copy, record, sizeof(copy));
		model_event(file, &copy, &thread->executor->verdict);
		if (memcmp(record + sizeof(copy), empty, size - sizeof(copy)))
			verdict_fail(&thread->executor->verdict,
				     "an event with an end that is not 0");
	}
}

static uint32_t outcome_of_read(struct thread *thread, const struct call *call,
				size_t bytes)
{
	const struct file_model *file = call_file_model(thread, call);
	uint32_t may = OUT_MORE | OUT_EAGAIN | OUT_EINTR;

	if (bytes < TWHEEL_EVENT_SIZE_0)
		return OUT_EINVAL;
	if (!file || file->vague)
		return may | OUT_EINVAL;
	if (bytes < file->event_size)
		return OUT_EINVAL;
	if (file->cells)
		return OUT_EINVAL;
	return file->live ? may : may & ~OUT_MORE;
}

/* The kernel refuses these places before it calls the device. */
static bool place_is_refused(enum place place)
{
	return place == PLACE_KERNEL || place == PLACE_NOWHERE ||
	       place == PLACE_TOP;
}

/* Bad memory matters only if there is an event to write. */
static void check_read(struct thread *thread, const struct call *call,
		       enum place place, size_t bytes, void *buffer, long ret,
		       int error)
{
	struct file_model *file = call_file_model(thread, call);
	uint32_t may = outcome_of_read(thread, call, bytes);

	if (place_is_refused(place) || (!memory_is_good(place) && may & OUT_MORE))
		may |= OUT_EFAULT;
	check_outcome(thread, call, outcome_of(ret, error),
		      outcome_or_closed(thread, call, may));
	if (ret > (long)bytes)
		verdict_fail(&thread->executor->verdict, "read: too much");
	else if (ret > 0 && memory_is_good(place))
		check_events(thread, call, buffer, ret);
	else if (ret > 0 && file)
		file->vague = true;
	check_file(thread, call);
}

static void call_read(struct thread *thread, const struct call *call)
{
	size_t bytes = call->arg[1] % MEMORY_BODY;
	enum place place = call->arg[2] % NR_PLACES;
	void *buffer = memory_at(&thread->memory, place, bytes, true,
				 thread_mapping(thread));
	int error;
	long ret;

	alarm_on(thread, call_fd(call));
	ret = read(call_fd(call), buffer, bytes);
	error = errno;
	alarm_off(thread);
	check_read(thread, call, place, bytes, buffer, ret, error);
}

static void call_readv(struct thread *thread, const struct call *call)
{
	unsigned int count = 1 + call->arg[1] % MAX_IOV, i;
	size_t bytes = call->arg[2] % 4096;
	enum place place = call->arg[3] % NR_PLACES;
	struct iovec iov[MAX_IOV];
	char *buffer = memory_at(&thread->memory, place, bytes * count, true,
				 thread_mapping(thread));
	int error;
	long ret;

	for (i = 0; i < count; i++)
		iov[i] = (struct iovec) { buffer + i * bytes, bytes };
	alarm_on(thread, call_fd(call));
	ret = preadv2(call_fd(call), iov, count, -1,
		      call->arg[1] & 8 ? RWF_NOWAIT : 0);
	error = errno;
	alarm_off(thread);
	/* A read of 0 bytes does not reach the device. */
	if (!bytes && !ret)
		return;
	check_read(thread, call, place, bytes * count, buffer, ret, error);
}

static void call_poll(struct thread *thread, const struct call *call)
{
	struct pollfd pfd = { .fd = call_fd(call), .events = POLLIN | POLLOUT };
	int ret = poll(&pfd, 1, call->arg[1] % 4);

	if (ret > 0 && pfd.revents & ~(POLLIN | POLLNVAL))
		verdict_fail(&thread->executor->verdict, "poll: %#x", pfd.revents);
}

static void call_epoll_add(const struct call *call)
{
	static const uint32_t flags[] = {
		EPOLLIN, EPOLLIN | EPOLLET, EPOLLIN | EPOLLONESHOT,
		EPOLLIN | EPOLLEXCLUSIVE,
	};
	struct epoll_event event = { .events = flags[call->arg[1] % 4] };
	int fd;

	if (epoll_ctl(FD_EPOLL, EPOLL_CTL_ADD, call_fd(call), &event) ||
	    errno != EBADF)
		return;
	fd = epoll_create1(EPOLL_CLOEXEC);
	dup2(fd, FD_EPOLL);
	close(fd);
	epoll_ctl(FD_EPOLL, EPOLL_CTL_ADD, call_fd(call), &event);
}

/* Read until all due events have come. */
static void call_drain(struct thread *thread, const struct call *call)
{
	struct file_model *file = call_file_model(thread, call);
	struct pollfd pfd = { .fd = call_fd(call), .events = POLLIN };
	char events[16 * TWHEEL_EVENT_SIZE_MAX];
	uint32_t due = file ? model_due(file) : 0;
	long ret;

	while (due) {
		if (poll(&pfd, 1, DRAIN_MS) == 0) {
			verdict_fail(&thread->executor->verdict,
				     "lost: %u events are due", due);
			return;
		}
		alarm_on(thread, pfd.fd);
		ret = read(pfd.fd, events, sizeof(events));
		alarm_off(thread);
		if (ret > 0)
			check_events(thread, call, events, ret);
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
		call_read(thread, call);
		break;
	case CALL_READV:
		call_readv(thread, call);
		break;
	case CALL_POLL:
		call_poll(thread, call);
		break;
	case CALL_EPOLL_ADD:
		call_epoll_add(call);
		break;
	case CALL_EPOLL_WAIT:
		epoll_wait(FD_EPOLL, events, 4, call->arg[0] % 4);
		break;
	case CALL_EPOLL_DEL:
		epoll_ctl(FD_EPOLL, EPOLL_CTL_DEL, call_fd(call), events);
		break;
	case CALL_DRAIN:
		call_drain(thread, call);
		break;
	}
}
