// SPDX-License-Identifier: GPL-2.0-only
/*
 * attack: overload the machine as an ordinary user, and measure what its neighbours
 * suffer.
 *
 * Any program may spin with several tasks, and neighbours have to bear that. An attack
 * with /dev/twheel must not be much worse than as many spinning tasks. The last line is
 * "N passed, N failed".
 */
#define _GNU_SOURCE
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <linux/twheel.h>

#include "neighbour.h"
#include "ways.h"

#define DEVICE		"/dev/twheel"

/* A user without files or processes. */
#define USER		12345

/* The limit of an attacker's descriptors; a thousand is usual. */
#define DESCRIPTORS	4096

/* Arming half a million timers takes a while on a busy machine that emulates CPUs. */
#define BEGIN_S		120
#define END_S		120

#define TASKS_MAX	8
#define NR_WAYS		16

/*
 * A neighbour gets at least a quarter of the work done that it does beside as many
 * spinning tasks. Interrupts take time on top of tasks, at most half, with their softirqs
 * and their entry. The other half is for a machine that is not ours alone.
 */
#define WORK_LEAST	4

/*
 * A real-time neighbour waits for softirqs, which tasks cannot preempt on such a kernel
 * and which last some ms. It must not wait longer than these limits. If the machine
 * itself makes it wait, the limit is NOISE times what it waits beside spinning tasks.
 */
#define MEDIAN_MOST_NS	20000000
#define P99_MOST_NS	200000000
#define NOISE		4

static struct notice noticed[NR_WAYS];
static unsigned int passed, failed;
static int begun[2];

void attack_begun(void)
{
	static int told;

	if (!told++ && write(begun[1], "", 1) != 1)
		err(1, "pipe");
}

static void test_check(bool good, const char *way, const char *what)
{
	if (good) {
		passed++;
		return;
	}
	failed++;
	printf("FAILED: %s: %s\n", way, what);
}

static pid_t attacker_start(const struct way *way, unsigned int task)
{
	struct rlimit limit = { DESCRIPTORS, DESCRIPTORS };
	pid_t pid = fork();

	if (pid < 0)
		err(1, "fork");
	if (pid)
		return pid;
	setrlimit(RLIMIT_NOFILE, &limit);
	if (setgroups(0, NULL) || setgid(USER) || setuid(USER))
		err(1, "cannot become an ordinary user");
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	stay_on(task % sysconf(_SC_NPROCESSORS_ONLN));
	way->run(task);
	_exit(0);
}

/* Wait for a byte from each attacker; false if one does not begin. */
static bool attackers_begun(unsigned int tasks)
{
	uint64_t end = now_ns() + BEGIN_S * 1000000000ULL;
	char byte;

	while (tasks && now_ns() < end) {
		if (read(begun[0], &byte, 1) == 1)
			tasks--;
		else
			usleep(10000);
	}
	return !tasks;
}

/* Kill the attackers and wait until they are gone; false if one had ended before. */
static bool attackers_end(pid_t *pids, unsigned int tasks)
{
	uint64_t end = now_ns() + END_S * 1000000000ULL;
	bool alive = true;
	unsigned int i;

	for (i = 0; i < tasks; i++) {
		alive &= waitpid(pids[i], NULL, WNOHANG) == 0;
		kill(pids[i], SIGKILL);
	}
	for (i = 0; i < tasks; i++) {
		while (waitpid(pids[i], NULL, WNOHANG) == 0) {
			if (now_ns() > end)
				return false;
			usleep(10000);
		}
	}
	return alive;
}

/* Not 0 if timers of the attackers are left. */
static unsigned long long user_timers_left(void)
{
	struct twheel_info info = { .user_timers = ~0ULL };
	pid_t pid = fork();
	int status = -1, fd;

	if (!pid) {
		if (setgid(USER) || setuid(USER))
			_exit(2);
		fd = open(DEVICE, O_RDWR);
		if (fd < 0 || ioctl(fd, TWHEEL_IOC_INFO, &info))
			_exit(2);
		_exit(info.user_timers != 0);
	}
	waitpid(pid, &status, 0);
	return status;
}

static void attack(const struct way *way, unsigned int seconds)
{
	pid_t pids[TASKS_MAX];
	unsigned int i;

	if (pipe2(begun, O_NONBLOCK | O_CLOEXEC))
		err(1, "pipe");
	for (i = 0; i < way->tasks; i++)
		pids[i] = attacker_start(way, i);
	test_check(attackers_begun(way->tasks), way->name, "it does not begin");
	noticed[way - ways] = neighbours_ask(seconds);
	test_check(attackers_end(pids, way->tasks), way->name, "it ended early, or never");
	test_check(!user_timers_left(), way->name, "timers are left behind");
	close(begun[0]);
	close(begun[1]);
}

static const char *time_text(uint64_t ns)
{
	static char text[8][16];
	static unsigned int next;
	char *this = text[next++ % 8];

	if (!ns)
		strcpy(this, "-");
	else if (ns < 1000000)
		snprintf(this, 16, "%.0f us", ns / 1e3);
	else
		snprintf(this, 16, "%.3g ms", ns / 1e6);
	return this;
}

static void table_print_head(void)
{
	printf("%-10s %26s   %26s   %6s   %18s\n", "",
	       "sleeper, late by", "real-time sleeper", "work",
	       "interrupts, late by");
	printf("%-10s %8s %8s %8s   %8s %8s %8s   %6s   %9s %8s\n", "attack",
	       "median", "p99", "max", "median", "p99", "max", "done", "99.9 %",
	       "max");
}

static void way_print(const struct way *way)
{
	const struct notice *n = &noticed[way - ways];

	printf("%-10s %8s %8s %8s   %8s %8s %8s   %4.0f %%   %9s %8s  %s\n",
	       way->name, time_text(n->normal.median), time_text(n->normal.p99),
	       time_text(n->normal.most), time_text(n->realtime.median),
	       time_text(n->realtime.p99), time_text(n->realtime.most),
	       100 * n->work / noticed[0].work, time_text(n->irqs_p999),
	       time_text(n->irqs_most), way->what);
	fflush(stdout);
}

/* What neighbours notice of as many spinning tasks. */
static const struct notice *notice_beside(unsigned int tasks)
{
	const struct way *way;

	for (way = ways; way->name; way++)
		if (!strncmp(way->name, "spin", 4) && way->tasks == tasks)
			return &noticed[way - ways];
	errx(1, "there is nothing to compare %u tasks with", tasks);
}

static uint64_t ns_max(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

static void way_check(const struct way *way)
{
	const struct notice *spin = notice_beside(way->tasks);
	const struct notice *n = &noticed[way - ways];
	const struct lateness *rt = &n->realtime;

	test_check(n->work * WORK_LEAST >= spin->work, way->name,
		   "a neighbour gets too little done");
	test_check(rt->samples && rt->median <=
		   ns_max(MEDIAN_MOST_NS, NOISE * spin->realtime.median), way->name,
		   "a real-time neighbour is woken up late");
	test_check(rt->p99 <= ns_max(P99_MOST_NS, NOISE * spin->realtime.p99),
		   way->name, "a real-time neighbour is shut out");
	test_check(n->normal.samples, way->name, "a neighbour is never woken up");
}

/* It is named, or others are compared with it. */
static bool way_wanted(const struct way *way, int argc, char **argv)
{
	int i;

	for (i = 2; i < argc; i++)
		if (!strcmp(argv[i], way->name))
			return true;
	return argc <= 2 || !way->device;
}

int main(int argc, char **argv)
{
	unsigned int seconds = argc > 1 ? atoi(argv[1]) : 5;
	const struct way *way;
	struct stat st;

	if (!seconds)
		errx(2, "usage: attack [SECONDS [NAME...]]");
	if (stat(DEVICE, &st) || chmod(DEVICE, 0666))
		err(1, DEVICE);
	neighbours_start(sysconf(_SC_NPROCESSORS_ONLN) - 1);
	table_print_head();
	for (way = ways; way->name; way++) {
		if (!way_wanted(way, argc, argv))
			continue;
		attack(way, seconds);
		way_print(way);
	}
	neighbours_stop();
	for (way = ways; way->name; way++)
		if (way->device && way_wanted(way, argc, argv))
			way_check(way);
	chmod(DEVICE, st.st_mode & 07777);
	printf("%u passed, %u failed\n", passed, failed);
	return failed != 0;
}
