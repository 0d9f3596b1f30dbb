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

#define HOUR	(3600 * NS_PER_S)

/* So that nothing expires before all are armed. */
#define HEADSTART	(NS_PER_S / 20)

static uint64_t now(void)
{
	return clock_now(CLOCK_MONOTONIC);
}

/* How long a step takes. */
#define TOOK(step)							\
({									\
	uint64_t start_ = now();					\
									\
	step;								\
	now() - start_;							\
})

/* The rival, or NULL if there is none of it here. */
static void *make(const struct rival *rival, struct plan *plan,
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

/* What is done to timeouts that do not expire meanwhile */
static bool operations(const struct rival *rival, struct plan *plan, bool exact,
		       struct score *score)
{
	uint64_t start, created;
	struct plan some, others;
	void *self;

	plan_hour(plan, 0);
	score->walk = TOOK(plan_walk(plan));
	if (exact)
		score->bytes = -memory_used();
	created = TOOK(self = make(rival, plan, score));
	if (!self)
		return true;
	score->sample = score->count;
	if (rival->sample && rival->sample < score->count)
		score->sample = rival->sample;
	/* What was extended may be where it takes longest to be found. */
	plan_sample(&some, plan, score->sample, 0);
	plan_sample(&others, plan, score->sample, 1);

	start = now() + HOUR;
	plan_hour(plan, start);
	score->arm = TOOK(rival->arm(self, plan));
	if (exact)
		score->bytes += memory_used();
	if (score->sample == score->count) {
		created += score->arm;
		rival->cancel(self, plan);
		score->arm = TOOK(rival->arm(self, plan));
		created -= score->arm < created ? score->arm : created;
	}
	score->create = created;
	plan_hour(&some, start + HOUR);
	score->extend = TOOK(rival->extend(self, &some));
	score->cancel = TOOK(rival->cancel(self, &others));
	return true;
}

static bool expiry(const struct rival *rival, struct plan *plan, bool exact,
		   struct score *score)
{
	uint64_t due, end, idle_ns = 0;
	bool one_cpu = idle_can(), good;
	void *self = make(rival, plan, score);

	if (!self)
		return true;
	if (one_cpu)
		idle_start();
	due = now() + 3 * score->arm + HEADSTART;
	plan_instant(plan, due);
	rival->arm(self, plan);
	if (now() > due && exact) {
		warnx("%s: some were due before all were armed", rival->name);
		return false;
	}
	if (now() > due)
		due = now();
	if (one_cpu)
		idle_from(due);
	good = rival->expire(self);
	end = now();
	if (one_cpu)
		idle_ns = idle_stop();
	score->expire = end - due - idle_ns;
	if (!good && !interrupted)
		warnx("%s: an expiry did not come", rival->name);
	return good;
}

typedef bool step_fn(const struct rival *rival, struct plan *plan, bool exact,
		     struct score *score);

static bool in_child(step_fn *step, const struct rival *rival, size_t count,
		     bool exact, struct score *score)
{
	struct plan plan;
	int fds[2];
	pid_t pid;
	bool good;

	if (pipe(fds))
		err(STATUS_FAILED, "pipe");
	/* Else what is in the buffer would be written twice. */
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
	return in_child(operations, rival, count, exact, score) &&
	       (!score->count ||
		in_child(expiry, rival, score->count, exact, score));
}
