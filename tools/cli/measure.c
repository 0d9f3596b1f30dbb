// SPDX-License-Identifier: GPL-2.0-only
#include <err.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "clocks.h"
#include "command.h"
#include "duration.h"
#include "idle.h"
#include "measure.h"
#include "memory.h"

#define MEASURE_HOUR	(3600 * NS_PER_S)

/* Arming ends so long before the first deadline, at least. */
#define MEASURE_HEADSTART	(NS_PER_S / 20)

static uint64_t monotonic_now(void)
{
	return clock_now(TWHEEL_MONOTONIC);
}

/* How long a step takes, in ns. */
#define MEASURE_TOOK(step)							\
({									\
	uint64_t start_ = monotonic_now();					\
									\
	step;								\
	monotonic_now() - start_;							\
})

/* Open the rival; NULL if this system does not have it. */
static void *measure_open(const struct rival *rival, struct plan *plan,
			  struct score *score)
{
	void *self = rival->open(&score->count);

	if (!self) {
		score->error = errno;
		score->count = 0;
	}
	plan->count = score->count;
	return self;
}

/* Cancel all, unless that takes long. */
static bool measure_cancel_all(const struct rival *rival, void *self,
			       const struct plan *plan, const struct score *score)
{
	if (rival->cancel_all)
		return rival->cancel_all(self);
	if (score->sample == score->count)
		rival->cancel(self, plan);
	return score->sample == score->count;
}

/* The operations on timeouts that do not expire meanwhile. */
static bool measure_operations(const struct rival *rival, struct plan *plan, bool exact,
			       struct score *score)
{
	uint64_t start, created;
	struct plan some, others;
	void *self;

	plan_hour(plan, 0);
	score->walk = MEASURE_TOOK(plan_walk(plan));
	if (exact)
		score->bytes = -memory_used();
	created = MEASURE_TOOK(self = measure_open(rival, plan, score));
	if (!self)
		return true;
	score->sample = score->count;
	if (rival->sample && rival->sample < score->count)
		score->sample = rival->sample;
	/* A timeout that was extended may be the slowest to find: cancel others. */
	plan_sample(&some, plan, score->sample, 0);
	plan_sample(&others, plan, score->sample, 1);

	start = monotonic_now() + MEASURE_HOUR;
	plan_hour(plan, start);
	score->arm = MEASURE_TOOK(rival->arm(self, plan));
	if (exact)
		score->bytes += memory_used();
	/* Once more, with the memory that the first ones have left. */
	if (measure_cancel_all(rival, self, plan, score)) {
		created += score->arm;
		score->arm = MEASURE_TOOK(rival->arm(self, plan));
		created -= score->arm < created ? score->arm : created;
	}
	score->create = created;
	plan_hour(&some, start + MEASURE_HOUR);
	score->extend = MEASURE_TOOK(rival->extend(self, &some));
	score->cancel = MEASURE_TOOK(rival->cancel(self, &others));
	return true;
}

static bool measure_expiry(const struct rival *rival, struct plan *plan, bool exact,
			   struct score *score)
{
	uint64_t due, end, idle_ns = 0;
	bool one_cpu = idle_can(), good;
	void *self = measure_open(rival, plan, score);

	if (!self)
		return true;
	if (one_cpu)
		idle_start();
	due = monotonic_now() + 3 * score->arm + MEASURE_HEADSTART;
	plan_instant(plan, due);
	rival->arm(self, plan);
	if (monotonic_now() > due && exact) {
		warnx("%s: the first were due before the last were armed", rival->name);
		return false;
	}
	if (monotonic_now() > due)
		due = monotonic_now();
	if (one_cpu)
		idle_from(due);
	good = rival->expire(self);
	end = monotonic_now();
	if (one_cpu)
		idle_ns = idle_stop();
	score->expire = end - due - idle_ns;
	if (!good)
		warnx("%s: an event did not come", rival->name);
	return good;
}

typedef bool measure_step_fn(const struct rival *rival, struct plan *plan, bool exact,
		     struct score *score);

static bool measure_in_child(measure_step_fn *step, const struct rival *rival, size_t count,
			     bool exact, struct score *score)
{
	struct plan plan;
	int fds[2];
	pid_t pid;
	bool good;

	if (pipe(fds))
		err(STATUS_FAILED, "pipe");
	/* Or the child would write the buffers, too. */
	fflush(NULL);
	pid = fork();
	if (pid < 0)
		err(STATUS_FAILED, "fork");
	if (!pid) {
		score->count = count;
		plan_init(&plan, count);
		good = step(rival, &plan, exact, score) &&
		       write(fds[1], score, sizeof(*score)) == sizeof(*score);
		_exit(good ? STATUS_OK : STATUS_FAILED);
	}
	close(fds[1]);
	good = read(fds[0], score, sizeof(*score)) == sizeof(*score);
	close(fds[0]);
	waitpid(pid, NULL, 0);
	return good;
}

bool measure(const struct rival *rival, size_t count, bool exact,
	     struct score *score)
{
	*score = (struct score){ };
	return measure_in_child(measure_operations, rival, count, exact, score) &&
	       (!score->count ||
		measure_in_child(measure_expiry, rival, score->count, exact, score));
}
