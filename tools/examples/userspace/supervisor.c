// SPDX-License-Identifier: MIT-0
/*
 * A supervisor finds workers that hang. Each worker has a cell, which it shares with the
 * supervisor, and keeps its deadline ahead by one compare-and-swap, no system call. There are
 * workers in several processes. Here one of each process stops after a while.
 */
#include <err.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#include <twheel_device.h>

#define MS		1000000ULL
#define PROCESSES	4
#define WORKERS		250	/* of each process */
#define CELLS		(PROCESSES * WORKERS)

/* A worker hangs if it says nothing for so long. */
#define PATIENCE_NS	(2000 * MS)
#define STEP_NS		(50 * MS)
#define STEPS		10

static uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000000ULL + ts.tv_nsec;
}

/* The last worker of each process works for some steps only. */
static bool worker_hangs(unsigned int number, unsigned int step)
{
	return number % WORKERS == WORKERS - 1 && step > STEPS;
}

static void workers_run(int wheel, unsigned int process, pid_t supervisor)
{
	const struct timespec pause = { .tv_nsec = STEP_NS };
	unsigned int first = process * WORKERS, step, i;
	struct twheel_cells cells;

	/* If the supervisor is killed, its workers end. It may have been already. */
	if (prctl(PR_SET_PDEATHSIG, SIGKILL) || getppid() != supervisor)
		errx(1, "there is no supervisor");
	/* The mapping of the parent has not come along. */
	if (twheel_cells_map(&cells, wheel))
		errx(1, "there are no cells");
	for (step = 0;; step++) {
		uint64_t deadline = now_ns() + PATIENCE_NS;

		for (i = first; i < first + WORKERS; i++) {
			/* Where the machine stopped for long, the deadline has passed: arm. */
			if (!worker_hangs(i, step) &&
			    twheel_cell_extend(&cells, i, deadline) == -ENOENT)
				twheel_cell_arm(&cells, i, deadline, NULL);
		}
		nanosleep(&pause, NULL);
	}
}

/* Returns when one of each process has been found. */
static void supervisor_run(int wheel)
{
	unsigned int found = 0, late = 0, number;
	bool hung[PROCESSES] = { false };
	struct twheel_event event;

	while (found < PROCESSES && twheel_device_events(wheel, &event, 1, -1) == 1) {
		/* The lower half is the number of the cell. */
		number = (uint32_t)event.id;
		if (number % WORKERS != WORKERS - 1 || hung[number / WORKERS]) {
			late++;
			continue;
		}
		hung[number / WORKERS] = true;
		found++;
	}
	printf("%d workers: %u hang, %u were late\n", CELLS, found, late);
}

int main(void)
{
	struct twheel_setup setup = { .max_cells = CELLS };
	int wheel = twheel_device_open(&setup), ret;
	struct twheel_cells cells;
	pid_t pids[PROCESSES], self = getpid();
	unsigned int i;

	ret = wheel < 0 ? wheel : twheel_cells_map(&cells, wheel);
	if (ret)
		errx(1, "/dev/twheel: %s", strerror(-ret));
	for (i = 0; i < CELLS; i++)
		twheel_cell_arm(&cells, i, now_ns() + PATIENCE_NS, NULL);
	for (i = 0; i < PROCESSES; i++) {
		pids[i] = fork();
		if (!pids[i])
			workers_run(wheel, i, self);
		/* -1 would be every process that may be killed. */
		if (pids[i] < 0)
			break;
	}
	if (i == PROCESSES)
		supervisor_run(wheel);
	else
		warn("fork");
	ret = i < PROCESSES;
	while (i--)
		kill(pids[i], SIGKILL);
	return ret;
}
