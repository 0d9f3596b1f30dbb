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

#define BATCH	256

/* Descriptors that the program has besides. */
#define SPARE	16

struct self {
	int epoll;
	size_t count;
	int fds[];
};

/* How many timers there may be, of those that are wanted. */
static size_t descriptors(size_t count)
{
	struct rlimit limit = { count + SPARE, count + SPARE };

	/* Beyond the limit is for root, and up to the sysctl fs.nr_open. */
	if (!setrlimit(RLIMIT_NOFILE, &limit))
		return count;
	if (getrlimit(RLIMIT_NOFILE, &limit))
		return 0;
	limit.rlim_cur = limit.rlim_max;
	if (setrlimit(RLIMIT_NOFILE, &limit) || limit.rlim_cur < SPARE)
		return 0;
	return limit.rlim_cur - SPARE < count ? limit.rlim_cur - SPARE : count;
}

static bool add_one(struct self *self)
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
	struct self *self;

	*count = descriptors(*count);
	self = calloc(1, sizeof(*self) + *count * sizeof(*self->fds));
	if (!self)
		return NULL;
	self->epoll = epoll_create1(EPOLL_CLOEXEC);
	if (self->epoll < 0)
		return NULL;
	while (self->count < *count && add_one(self))
		;
	*count = self->count;
	return self->count ? self : NULL;
}

static void set(int fd, uint64_t ns)
{
	struct itimerspec when = {
		.it_value = { ns / NS_PER_S, ns % NS_PER_S },
	};

	if (timerfd_settime(fd, TFD_TIMER_ABSTIME, &when, NULL))
		err(STATUS_FAILED, "timerfd_settime");
}

static void timerfd_arm(void *arg, const struct plan *plan)
{
	struct self *self = arg;
	size_t i;

	for (i = 0; i < plan->count; i++)
		set(self->fds[plan->order[i]], plan->when[i]);
}

static void timerfd_cancel(void *arg, const struct plan *plan)
{
	struct self *self = arg;
	size_t i;

	for (i = 0; i < plan->count; i++)
		set(self->fds[plan->order[i]], 0);
}

static bool timerfd_expire(void *arg)
{
	struct epoll_event events[BATCH];
	struct self *self = arg;
	size_t taken = 0;
	uint64_t times;
	int got, i;

	while (taken < self->count) {
		got = epoll_wait(self->epoll, events, BATCH,
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
