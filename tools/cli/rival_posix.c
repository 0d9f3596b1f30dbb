// SPDX-License-Identifier: GPL-2.0-only
/* A POSIX timer for each timeout; its expiry is a signal that the program waits for. */
#include <err.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>

#include "command.h"
#include "duration.h"
#include "rivals.h"

struct posix_timeouts {
	sigset_t set;
	size_t count;
	timer_t timers[];
};

/* Each timer takes one of the signals that a user may have pending. */
static void posix_raise_limit(size_t count)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_SIGPENDING, &limit) || limit.rlim_cur >= count)
		return;
	limit = (struct rlimit){ count, count };
	/* Only root may; others get fewer timers. */
	setrlimit(RLIMIT_SIGPENDING, &limit);
}

static void *posix_open(size_t *count)
{
	struct sigevent event = {
		.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGRTMIN,
	};
	struct posix_timeouts *self;

	self = calloc(1, sizeof(*self) + *count * sizeof(*self->timers));
	if (!self)
		return NULL;
	sigemptyset(&self->set);
	sigaddset(&self->set, SIGRTMIN);
	sigprocmask(SIG_BLOCK, &self->set, NULL);
	posix_raise_limit(*count);
	while (self->count < *count &&
	       !timer_create(CLOCK_MONOTONIC, &event,
			     &self->timers[self->count]))
		self->count++;
	*count = self->count;
	return self->count ? self : NULL;
}

static void posix_set(timer_t timer, uint64_t ns)
{
	struct itimerspec when = {
		.it_value = { ns / NS_PER_S, ns % NS_PER_S },
	};

	if (timer_settime(timer, TIMER_ABSTIME, &when, NULL))
		err(STATUS_FAILED, "timer_settime");
}

static void posix_arm(void *arg, const struct plan *plan)
{
	struct posix_timeouts *self = arg;
	size_t i;

	for (i = 0; i < plan->count; i++)
		posix_set(self->timers[plan->order[i]], plan->when[i]);
}

static void posix_cancel(void *arg, const struct plan *plan)
{
	struct posix_timeouts *self = arg;
	size_t i;

	for (i = 0; i < plan->count; i++)
		posix_set(self->timers[plan->order[i]], 0);
}

static bool posix_expire(void *arg)
{
	struct timespec patience = { RIVAL_PATIENCE_MS / 1000, 0 };
	struct posix_timeouts *self = arg;
	size_t taken;

	for (taken = 0; taken < self->count; taken++) {
		if (sigtimedwait(&self->set, NULL, &patience) < 0)
			return false;
	}
	return true;
}

const struct rival posix_rival = {
	.name = "POSIX timers",
	.word = "posix",
	/* The kernel searches one of 512 lists. */
	.sample = 100000,
	.open = posix_open,
	.arm = posix_arm,
	.extend = posix_arm,
	.cancel = posix_cancel,
	.expire = posix_expire,
};
