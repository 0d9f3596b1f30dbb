// SPDX-License-Identifier: GPL-2.0-only
/* A timerfd for each timeout, and one epoll for them all. */
#include <err.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "command.h"
#include "duration.h"
#include "rivals.h"

#define TIMERFD_BATCH	256

/* Descriptors for all else. */
#define TIMERFD_SPARE	16

struct timerfd_timeouts {
	int epoll;
	size_t count;
	int fds[];
};

/* How many of @count timers the limits allow; raises them as far as possible. */
static size_t timerfd_raise_limit(size_t count)
{
	struct rlimit limit = { count + TIMERFD_SPARE, count + TIMERFD_SPARE };

	/* Only root may exceed the hard limit, up to the sysctl fs.nr_open. */
	if (!setrlimit(RLIMIT_NOFILE, &limit))
		return count;
	if (getrlimit(RLIMIT_NOFILE, &limit))
		return 0;
	limit.rlim_cur = limit.rlim_max;
	if (setrlimit(RLIMIT_NOFILE, &limit) || limit.rlim_cur < TIMERFD_SPARE)
		return 0;
	return limit.rlim_cur - TIMERFD_SPARE < count ? limit.rlim_cur - TIMERFD_SPARE : count;
}

static bool timerfd_add(struct timerfd_timeouts *self)
{
	struct epoll_event event = { .events = EPOLLIN };
	int fd = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);

	if (fd < 0)
		return false;
	event.data.fd = fd;
	if (epoll_ctl(self->epoll, EPOLL_CTL_ADD, fd, &event)) {
		close(fd);
		return false;
	}
	self->fds[self->count++] = fd;
	return true;
}

static void *timerfd_open(size_t *count)
{
	struct timerfd_timeouts *self;

	*count = timerfd_raise_limit(*count);
	self = calloc(1, sizeof(*self) + *count * sizeof(*self->fds));
	if (!self)
		return NULL;
	self->epoll = epoll_create1(EPOLL_CLOEXEC);
	if (self->epoll < 0)
		return NULL;
	while (self->count < *count && timerfd_add(self))
		;
	*count = self->count;
	return self->count ? self : NULL;
}

static void timerfd_set(int fd, uint64_t ns)
{
	struct itimerspec when = {
		.it_value = { ns / NS_PER_S, ns % NS_PER_S },
	};

	if (timerfd_settime(fd, TFD_TIMER_ABSTIME, &when, NULL))
		err(STATUS_FAILED, "timerfd_settime");
}

static void timerfd_arm(void *arg, const struct plan *plan)
{
	struct timerfd_timeouts *self = arg;
	size_t i;

	for (i = 0; i < plan->count; i++)
		timerfd_set(self->fds[plan->order[i]], plan->when[i]);
}

static void timerfd_cancel(void *arg, const struct plan *plan)
{
	struct timerfd_timeouts *self = arg;
	size_t i;

	for (i = 0; i < plan->count; i++)
		timerfd_set(self->fds[plan->order[i]], 0);
}

static bool timerfd_expire(void *arg)
{
	struct epoll_event events[TIMERFD_BATCH];
	struct timerfd_timeouts *self = arg;
	size_t taken = 0;
	uint64_t times;
	int got, i;

	while (taken < self->count) {
		got = epoll_wait(self->epoll, events, TIMERFD_BATCH,
				 RIVAL_PATIENCE_MS);
		if (got <= 0)
			return false;
		for (i = 0; i < got; i++)
			taken += read(events[i].data.fd, &times,
				      sizeof(times)) == sizeof(times);
	}
	return true;
}

const struct rival timerfd_rival = {
	.name = "timerfd",
	.word = "timerfd",
	.open = timerfd_open,
	.arm = timerfd_arm,
	.extend = timerfd_arm,
	.cancel = timerfd_cancel,
	.expire = timerfd_expire,
};
