// SPDX-License-Identifier: MIT-0
/*
 * Worker processes, of which one hangs after a while. Each has a lease, and feeds it by a store,
 * no system call. Their supervisor feeds as well, so that it is found if it hangs itself. What
 * acts is outside of all of them:
 *
 *	twheel guard --timeout 1s supervisor
 *
 * It says that the lease of worker 3 ran out, and ends them all.
 */
#include <err.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <twheel_guard.h>

#define MS	1000000ULL
#define WORKERS	4

/* A worker hangs if it says nothing for so long. */
#define PATIENCE_NS	(1500 * MS)
#define STEPS		20

static const struct timespec step = { .tv_nsec = 50 * MS };

static void worker_run(int number)
{
	struct twheel_guard_lease lease;
	struct twheel_guard guard;
	char name[16];
	int ret, i;

	/* What the parent has opened is not for its children. */
	ret = twheel_guard_open(&guard);
	snprintf(name, sizeof(name), "worker %d", number);
	if (!ret)
		ret = twheel_guard_lease_open(&guard, &lease, name, PATIENCE_NS);
	if (ret)
		errx(1, "%s: %s", name, strerror(-ret));
	for (i = 0; number != WORKERS - 1 || i < STEPS; i++) {
		twheel_guard_lease_feed(&lease);
		nanosleep(&step, NULL);
	}
	pause();
}

int main(void)
{
	struct twheel_guard guard;
	int ret = twheel_guard_open(&guard), i;
	pid_t pid;

	if (ret == -ENOENT)
		errx(1, "it is to be run by: twheel guard --timeout 1s supervisor");
	if (ret)
		errx(1, "guard: %s", strerror(-ret));
	for (i = 0; i < WORKERS; i++) {
		pid = fork();
		if (pid < 0)
			err(1, "fork");
		if (!pid) {
			worker_run(i);
			_exit(0);
		}
	}
	while (!waitpid(-1, NULL, WNOHANG)) {
		twheel_guard_feed(&guard);
		nanosleep(&step, NULL);
	}
	errx(1, "a worker has ended");
}
