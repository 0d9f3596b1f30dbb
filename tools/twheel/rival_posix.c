// SPDX-License-Identifier: GPL-2.0-only
/* A POSIX timer for each timeout, and a signal that is waited for. */
#include <err.h>
#include <signal.h>
#include <stdlib.h>
#include <time.h>

#include "command.h"
#include "duration.h"
#include "rivals.h"

struct self {
	sigset_t set;
	size_t count;
	timer_t timers[];
};

static void posix_close(void *arg)
{
	struct self *self = arg;
	size_t i;

	for (i = 0; i < self->count; i++)
		timer_delete(self->timers[i]);
	sigprocmask(SIG_UNBLOCK, &self->set, NULL);
	free(self);
}

static void *posix_open(size_t *count)
{
	struct sigevent event = {
		.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGRTMIN,
	};
	struct self *self;

	self = calloc(1, sizeof(*self) + *count * sizeof(*self->timers));
	if (!self)
		return NULL;
	sigemptyset(&self->set);
	sigaddset(&self->set, SIGRTMIN);
	sigprocmask(SIG_BLOCK, &self->set, NULL);
	/* Each takes one of the signals that the user may have pending. */
	while (self->count < *count &&
	       !timer_create(CLOCK_MONOTONIC, &event,
			     &self->timers[self->count]))
		self->count++;
	*count = self->count;
	if (self->count)
		return self;
	posix_close(self);
	return NULL;
}

static void set(timer_t timer, uint64_t ns)
{
	struct itimerspec when = {
		.it_value = { ns / NS_PER_S, ns % NS_PER_S },
	};

	if (timer_settime(timer, TIMER_ABSTIME, &when, NULL))
		err(STATUS_FAILED, "timer_settime");
}

static void posix_arm(void *arg, uint64_t ns, uint64_t step)
{
	struct self *self = arg;
	size_t i;

	for (i = 0; i < self->count; i++)
		set(self->timers[i], ns + i * step);
}

static void posix_cancel(void *arg)
{
	struct self *self = arg;
	size_t i;

	for (i = 0; i < self->count; i++)
		set(self->timers[i], 0);
}

static bool posix_expire(void *arg)
{
	struct timespec patience = { RIVAL_PATIENCE_MS / 1000, 0 };
	struct self *self = arg;
	size_t taken;

	for (taken = 0; taken < self->count; taken++) {
		if (sigtimedwait(&self->set, NULL, &patience) < 0)
			return false;
	}
	return true;
}

const struct rival posix_rival = {
	.name = "POSIX timers",
	.open = posix_open,
	.arm = posix_arm,
	.extend = posix_arm,
	.cancel = posix_cancel,
	.expire = posix_expire,
	.close = posix_close,
};
