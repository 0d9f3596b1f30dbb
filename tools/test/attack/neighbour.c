// SPDX-License-Identifier: GPL-2.0-only
#define _GNU_SOURCE
#include <err.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "neighbour.h"

#define IRQS	"/sys/module/twheel_irqs/parameters/late"
#define WHERE	"/sys/module/twheel_irqs/parameters/where"

/* How long a neighbour sleeps. */
#define SLEEP_NS	1000000

/* Above most kernel threads, below watchdogs. */
#define PRIORITY	10

enum { NORMAL, REALTIME, WORKER, NEIGHBOURS };

/**
 * struct shared - measurements of the neighbours
 * @asked: measuring is on
 * @work: the amount of work that the worker has done
 * @late: how late each sleeper was woken up
 */
static struct shared {
	atomic_bool asked;
	atomic_ulong work;
	struct lateness late[WORKER];
} *shared;

static pid_t pids[NEIGHBOURS];

uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000000ULL + ts.tv_nsec;
}

void stay_on(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	if (sched_setaffinity(0, sizeof(set), &set))
		err(1, "cannot stay on CPU %d", cpu);
}

static void neighbour_sleep(int who)
{
	struct sched_param param = { .sched_priority = PRIORITY };
	struct lateness *late = &shared->late[who];

	if (who == REALTIME && sched_setscheduler(0, SCHED_FIFO, &param))
		err(1, "SCHED_FIFO");
	for (;;) {
		struct timespec ts;
		uint64_t until = now_ns() + SLEEP_NS, by;

		ts.tv_sec = until / 1000000000;
		ts.tv_nsec = until % 1000000000;
		clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &ts, NULL);
		if (!shared->asked)
			continue;
		by = now_ns() - until;
		if (by > late->most)
			late->most = by;
		late->samples++;
	}
}

static void neighbour_work(void)
{
	volatile unsigned int x = 1;
	unsigned int i;

	for (;;) {
		for (i = 0; i < 1000; i++)
			x = x * 1664525 + 1013904223;
		shared->work++;
	}
}

void neighbours_start(int cpu)
{
	int who;

	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE,
		      MAP_SHARED | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	if (shared == MAP_FAILED)
		err(1, "memory");
	for (who = 0; who < NEIGHBOURS; who++) {
		pids[who] = fork();
		if (pids[who] < 0)
			err(1, "fork");
		if (pids[who])
			continue;
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		stay_on(cpu);
		if (who == WORKER)
			neighbour_work();
		neighbour_sleep(who);
	}
}

static void irqs_begin(void)
{
	FILE *file = fopen(IRQS, "w");

	if (!file)
		return;
	fputs("0\n", file);
	fclose(file);
}

static void irqs_end(struct notice *notice)
{
	FILE *file = fopen(IRQS, "r");
	unsigned long most;

	if (!file)
		return;
	if (fscanf(file, "%lu", &most) == 1)
		notice->irqs_most = most;
	fclose(file);
	file = fopen(WHERE, "r");
	if (!file)
		return;
	(void)!fread(notice->where, 1, sizeof(notice->where) - 1, file);
	fclose(file);
}

/* How long poll() takes, of this task's own time. */
static uint64_t victim_poll(int fd)
{
	struct pollfd pfd = { .fd = fd, .events = POLLIN };
	struct timespec begin, end;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &begin);
	poll(&pfd, 1, 0);
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &end);
	return (end.tv_sec - begin.tv_sec) * 1000000000ULL + end.tv_nsec - begin.tv_nsec;
}

struct notice neighbours_ask(unsigned int seconds, int victim)
{
	struct notice notice = { };
	uint64_t start, end, took;
	unsigned long work;

	memset(shared->late, 0, sizeof(shared->late));
	irqs_begin();
	start = now_ns();
	work = shared->work;
	shared->asked = true;
	while (now_ns() < start + seconds * 1000000000ULL) {
		took = victim < 0 ? 0 : victim_poll(victim);
		if (took > notice.poll_most)
			notice.poll_most = took;
		usleep(victim < 0 ? 100000 : 1000);
	}
	shared->asked = false;
	work = shared->work - work;
	end = now_ns();
	irqs_end(&notice);
	/* Let a sample that is being taken be counted. */
	usleep(20000);
	notice.normal = shared->late[NORMAL];
	notice.realtime = shared->late[REALTIME];
	notice.work = work * 1e9 / (end - start);
	return notice;
}

void neighbours_stop(void)
{
	int who;

	for (who = 0; who < NEIGHBOURS; who++) {
		kill(pids[who], SIGKILL);
		waitpid(pids[who], NULL, 0);
	}
}
