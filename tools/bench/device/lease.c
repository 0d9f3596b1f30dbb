// SPDX-License-Identifier: GPL-2.0-only
/*
 * Leases that act: from the tick of a deadline until what is acted on knows it. The holder cannot
 * help: it is stopped or frozen, or gets little of the CPU. Of some rounds, the worst. Then as
 * many leases as there are timers, and what a feed costs.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../../lib/twheel_guard.h"
#include "parts.h"

#define LEASE_ROUNDS	10
/* Long enough for the holder to arm, with what it gets of the CPU. */
#define LEASE_TIMEOUT	(500 * MS)
/* Arming all ends before the first is due. */
#define LEASE_HEADSTART	(3 * S)
#define LEASE_MEMBERS	5
#define LEASE_LOOPS	8
/* guest.sh has mounted the folder of this one. */
#define GROUP		"/tmp/groups/lease"

/**
 * struct hindrance - why the holder cannot act itself
 * @name: of the figure
 * @loops: so many busy loops run beside it
 * @file: it and they are in a control group, of which this file; NULL: they are in none
 * @text: has this in it
 * @frozen: but only while the lease runs out, and then "0"
 */
struct hindrance {
	const char *name;
	unsigned int loops;
	const char *file, *text;
	bool frozen;
};

/* What the processes share: the tick, who is ready, and when the first one was acted on. */
static volatile struct shared {
	uint64_t tick, acted;
	bool ready;
} *shared;

static void group_write(const char *file, const char *text)
{
	char path[64] = GROUP "/";
	int fd = device_need(open(strcat(path, file), O_WRONLY), file);

	device_need(write(fd, text, strlen(text)), file);
	close(fd);
}

static void acted_on(int signal)
{
	(void)signal;
	shared->acted = now_ns();
	_exit(0);
}

/* Start a process of such a kind; returns when it is ready. Or start a loop, if @run is NULL. */
static pid_t process_start(void (*run)(const void *arg), const void *arg, bool grouped)
{
	pid_t pid;

	shared->ready = !run;
	pid = device_need(fork(), "fork");
	if (!pid) {
		if (grouped)
			group_write("cgroup.procs", "0");
		if (run)
			run(arg);
		for (;;)
			if (run)
				pause();
	}
	while (!shared->ready)
		sleep_until(now_ns() + MS);
	return pid;
}

static void process_end(pid_t pid)
{
	kill(pid, SIGKILL);
	device_need(waitpid(pid, NULL, 0), "waitpid");
}

static void victim_run(const void *unused)
{
	(void)unused;
	signal(SIGTERM, acted_on);
	shared->ready = true;
}

/* One of those that are killed, of which the third one is stopped. */
static void member_run(const void *number)
{
	setsid();
	signal(SIGTERM, SIG_IGN);
	shared->ready = true;
	if (*(const unsigned int *)number == 2)
		raise(SIGSTOP);
}

/* A file that acts, of so many leases, of which each does that. */
static int leases_open(struct twheel_cells *cells, uint32_t count, struct twheel_action action)
{
	int fd = wheel_open_cells(cells, count, TWHEEL_SETUP_ACT);
	struct twheel_act act = { .action = action };

	for (act.number = 0; act.number < count; act.number++)
		device_need(ioctl(fd, TWHEEL_IOC_ACT, &act), "choosing");
	return fd;
}

/* The holder arms its lease, feeds it once, and never again. */
static void holder_run(const void *action)
{
	struct twheel_cells cells;

	leases_open(&cells, 1, *(const struct twheel_action *)action);
	device_need(twheel_cell_arm(&cells, 0, now_ns() + LEASE_TIMEOUT / 2, NULL), "arming");
	shared->tick = now_ns() / MS * MS + LEASE_TIMEOUT;
	device_need(twheel_cell_extend(&cells, 0, shared->tick), "feeding");
	shared->ready = true;
	raise(SIGSTOP);
}

/* How late a process is told. */
static double signal_round(const struct hindrance *how)
{
	struct twheel_action action = { .kind = TWHEEL_ACT_SIGNAL, .signal = SIGTERM };
	pid_t victim = process_start(victim_run, NULL, false), holder;

	action.target = victim;
	holder = process_start(holder_run, &action, how->file);
	if (how->frozen)
		group_write(how->file, how->text);
	device_need(waitpid(victim, NULL, 0), "waitpid");
	if (how->frozen)
		group_write(how->file, "0");
	process_end(holder);
	return (double)shared->acted - shared->tick;
}

/* How late all members of a group are dead, and known to be. */
static double group_round(const struct hindrance *how)
{
	int fd = device_need(open(GROUP "/cgroup.kill", O_WRONLY), "cgroup.kill");
	struct twheel_action action = { .kind = TWHEEL_ACT_GROUP, .target = fd };
	pid_t pids[LEASE_MEMBERS], holder;
	unsigned int i;
	double late;

	(void)how;
	for (i = 0; i < LEASE_MEMBERS; i++)
		pids[i] = process_start(member_run, &i, true);
	holder = process_start(holder_run, &action, false);
	for (i = 0; i < LEASE_MEMBERS; i++)
		device_need(waitpid(pids[i], NULL, 0), "waitpid");
	late = (double)now_ns() - shared->tick;
	process_end(holder);
	close(fd);
	return late;
}

static void measure_hindered(const struct hindrance *how,
			     double (*round)(const struct hindrance *how))
{
	double worst = 0, late;
	pid_t loops[LEASE_LOOPS];
	unsigned int i;

	device_need(mkdir(GROUP, 0755), GROUP);
	if (how->file && !how->frozen)
		group_write(how->file, how->text);
	for (i = 0; i < how->loops; i++)
		loops[i] = process_start(NULL, NULL, how->file);
	/* The first agent after boot may have to wait for a second worker. */
	for (i = 0; i <= LEASE_ROUNDS; i++) {
		late = round(how);
		worst = i && late > worst ? late : worst;
	}
	for (i = 0; i < how->loops; i++)
		process_end(loops[i]);
	device_need(rmdir(GROUP), GROUP);
	cost_report("lease", "cells", how->name, worst);
}

/* Take what an eventfd counts, until it is all. Returns when it was @first, or the last. */
static uint64_t events_wait(int fd, uint64_t all, uint64_t *first)
{
	uint64_t count;

	for (*first = 0; all; all -= count) {
		device_need(read(fd, &count, sizeof(count)), "reading");
		*first = *first ?: now_ns();
	}
	return now_ns();
}

/* The kernel has looked at all before they are due, as at leases that were fed for long. */
static void measure_many_leases(void)
{
	const struct sched_param priority = { .sched_priority = 1 };
	struct twheel_action action = { .kind = TWHEEL_ACT_EVENTFD };
	uint64_t tick, first, last;
	struct twheel_cells cells;
	int fd;

	action.target = device_need(eventfd(0, 0), "eventfd");
	fd = leases_open(&cells, plan.count, action);
	tick = now_ns() / MS * MS + LEASE_HEADSTART;
	COST_OF_EACH(n, device_need(twheel_cell_arm(&cells, n, tick - S, NULL), "arming"));
	COST_OF_EACH(n, device_need(twheel_cell_extend(&cells, n, tick), "feeding"));
	/* The agent is as urgent as an ordinary task can be, and has the only CPU. */
	device_need(sched_setscheduler(0, SCHED_FIFO, &priority), "sched_setscheduler");
	last = events_wait(action.target, plan.count, &first);
	cost_report("lease", "cells", "act-first", (double)first - tick);
	cost_report("lease", "cells", "act-last", (double)last - tick);
	COST_OF_EACH(n, device_need(twheel_cell_arm(&cells, n, now_ns() + HOUR, NULL), "arming"));
	munmap(cells.map, cells.map->bytes);
	tick = now_ns();
	close(fd);
	cost_report("lease", "cells", "close", (double)now_ns() - tick);
	last = events_wait(action.target, plan.count, &first);
	cost_report("lease", "cells", "close-last", (double)last - tick);
	close(action.target);
}

void measure_leases(void)
{
	static const struct hindrance all[] = {
		{ "act-stopped", 0, NULL, NULL, false },
		{ "act-beside-loops", LEASE_LOOPS, NULL, NULL, false },
		{ "act-throttled", LEASE_LOOPS / 2, "cpu.max", "20000", false },
		{ "act-frozen", 0, "cgroup.freeze", "1", true },
	};
	static const struct hindrance group = { .name = "act-group" };
	size_t i;

	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
		      -1, 0);
	for (i = 0; i < sizeof(all) / sizeof(*all); i++)
		measure_hindered(&all[i], signal_round);
	measure_hindered(&group, group_round);
	measure_many_leases();
}

/* Under twheel-guard(1). The reading of the clock is left out. */
void measure_feeds(void)
{
	struct twheel_guard guard;
	double clock, feed;

	if (twheel_guard_open(&guard))
		return;
	clock = COST_OF_EACH(n, (void)n; now_ns());
	feed = COST_OF_EACH(n, (void)n; twheel_guard_feed(&guard));
	cost_report("lease", "cells", "feed", feed - clock);
}
