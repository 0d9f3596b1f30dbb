// SPDX-License-Identifier: GPL-2.0-only
/*
 * attack: overload the machine as an ordinary user, and measure what its neighbours
 * suffer.
 *
 * Any program may spin with several tasks, and neighbours have to bear that. An attack
 * with /dev/twheel must not be much worse than as many spinning tasks. While its tasks are
 * stopped, it must cost almost nothing. The last line is "N passed, N failed".
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
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../device/lib/device.h"
#include "memory.h"
#include "neighbour.h"
#include "ways.h"

#define DEVICE		"/dev/twheel"

/* A user without files or processes. */
#define USER		12345

/* The limit of an attacker's descriptors; a thousand is usual. */
#define DESCRIPTORS	4096

/* What a slow clock event device cannot do in less time, in ns. */
#define SLOW_DEVICE_NS	"4000"
#define DEVICE_LEAST	"/sys/module/twheel_irqs/parameters/least_ns"

/* Arming half a million timers takes a while on a busy machine that emulates CPUs. */
#define BEGIN_S		120
#define END_S		120

#define TASKS_MAX	64
#define NR_WAYS		32

/*
 * The bars, in per cent. A task does so much of the work that it does beside as many tasks
 * that spin; of all work, if the attackers are stopped. The interrupts of users add up, to what
 * all of them may take.
 */
#define WORK_LEAST		90
#define WORK_LEAST_MANY		70
#define WORK_LEAST_STOPPED	95

/* So much longer than beside tasks that spin is a neighbour kept from the CPU, in ns. */
#define WAIT_MOST_NS	5000000

/* The time that a victim's poll() may take, in ns. */
#define POLL_MOST_NS	1000000

/*
 * So much longer than with nobody there an interrupt waits, in ns: instructions, where the
 * clock counts them. If the kernel itself does the same work for programs without the device,
 * that is compared.
 */
#define IRQS_MOST_NS	5000
/* In per cent: how much longer than in the way that is compared. No two runs are alike. */
#define FLOOR_MORE	25

/* The files of a user may take so much more memory than is charged. */
#define MEMORY_SLACK	1048576LL

/* Subordinate users begin here. */
#define SUBORDINATE	300000

/* What was noticed of each attack, and while its tasks were stopped. */
static struct notice noticed[NR_WAYS], noticed_stopped[NR_WAYS];
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

static void file_write(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY);

	if (fd < 0 || write(fd, text, strlen(text)) < 0)
		err(1, "%s", path);
	close(fd);
}

static void become_user(const struct way *way, unsigned int task)
{
	unsigned int uid = USER + (way->users ? task % way->users : 0);

	if (setgroups(0, NULL) || setgid(USER))
		err(1, "cannot become an ordinary user");
	if (way->subordinate)
		dev_enter_namespace(USER, SUBORDINATE, 64);
	if (setuid(way->subordinate ? task + 1 : uid))
		err(1, "cannot become an ordinary user");
}

static pid_t attacker_start(const struct way *way, unsigned int task)
{
	struct rlimit limit = { DESCRIPTORS, DESCRIPTORS };
	pid_t pid = fork();

	if (pid < 0)
		err(1, "fork");
	if (pid)
		return pid;
	/* It may have children, which are stopped with it. */
	setpgid(0, 0);
	setrlimit(RLIMIT_NOFILE, &limit);
	become_user(way, task);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	stay_on(task % sysconf(_SC_NPROCESSORS_ONLN));
	way_run(way);
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
		kill(-pids[i], SIGKILL);
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

/* What the device has charged to a user. */
static struct twheel_info user_charged(unsigned int uid)
{
	int fd = dev_open_as(uid, 0);
	struct twheel_info info = dev_info(fd);

	close(fd);
	/* Without the file that was open to ask. */
	info.user_memory -= info.file_memory;
	return info;
}

/*
 * Are timers or memory of the attackers left? Their children, for whom nobody waits, end a
 * little later.
 */
static bool user_has_left(void)
{
	uint64_t end = now_ns() + END_S * 1000000000ULL;
	struct twheel_info info;

	do {
		info = user_charged(USER);
		if (!info.user_timers && !info.user_memory)
			return false;
		usleep(10000);
	} while (now_ns() < end);
	return true;
}

/*
 * The attackers are stopped. No user has more than the limit. The kernel has no more memory
 * than before, except for what is charged and MEMORY_SLACK for each user.
 */
static void memory_check(const struct way *way, long long before, long long free_before)
{
	unsigned int users = way->subordinate ? 1 : way->users ?: 1, i;
	long long taken, charged = 0, free_in_slabs;

	for (i = 0; i < users; i++) {
		struct twheel_info info = user_charged(USER + i);

		test_check(info.user_memory <= info.user_memory_limit, way->name,
			   "a user has more memory than the limit");
		charged += info.user_memory;
	}
	taken = memory_of_kernel(&free_in_slabs) - before;
	printf("%-10s %lld KiB charged, %lld KiB taken, %lld KiB free in slabs\n",
	       "  memory", charged >> 10, taken >> 10,
	       (free_in_slabs - free_before) >> 10);
	test_check(taken <= charged + users * MEMORY_SLACK, way->name,
		   "it takes memory that is not charged");
}

static void attackers_stop(const pid_t *pids, unsigned int tasks)
{
	unsigned int i;

	for (i = 0; i < tasks; i++)
		kill(-pids[i], SIGSTOP);
	/* What was due before it is served. */
	sleep(1);
}

/* The descriptor that an attacker has for others; -1: none. */
static int victim_get(const struct way *way, pid_t attacker)
{
	int pidfd;

	if (!way->victim)
		return -1;
	pidfd = syscall(SYS_pidfd_open, attacker, 0);
	return pidfd < 0 ? -1 : syscall(SYS_pidfd_getfd, pidfd, VICTIM_FD, 0);
}

static void attack(const struct way *way, unsigned int seconds)
{
	long long free_in_slabs, memory = memory_of_kernel(&free_in_slabs);
	unsigned long long killed = proc_number("/proc/vmstat", "oom_kill");
	pid_t pids[TASKS_MAX];
	unsigned int i;
	int victim;

	if (pipe2(begun, O_NONBLOCK | O_CLOEXEC))
		err(1, "pipe");
	if (way->slow_device)
		file_write(DEVICE_LEAST, SLOW_DEVICE_NS);
	for (i = 0; i < way->tasks; i++)
		pids[i] = attacker_start(way, i);
	test_check(attackers_begun(way->tasks), way->name, "it does not begin");
	victim = victim_get(way, pids[0]);
	test_check(!way->victim || victim >= 0, way->name, "the victim has no descriptor");
	noticed[way - ways] = neighbours_ask(seconds, victim);
	if (victim >= 0)
		close(victim);
	if (way->device) {
		attackers_stop(pids, way->tasks);
		noticed_stopped[way - ways] = neighbours_ask(seconds, -1);
		memory_check(way, memory, free_in_slabs);
	}
	test_check(attackers_end(pids, way->tasks), way->name, "it ended early, or never");
	test_check(!user_has_left(), way->name, "something is left behind");
	test_check(proc_number("/proc/vmstat", "oom_kill") == killed, way->name,
		   "a process was killed for lack of memory");
	if (way->slow_device)
		file_write(DEVICE_LEAST, "0");
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

static void notice_print(const struct notice *n, const char *name, const char *what)
{
	printf("%-10s %9s %9s %4.0f %% %9s  %s\n", name, time_text(n->normal.most),
	       time_text(n->realtime.most), 100 * n->work / noticed[0].work,
	       time_text(n->irqs_most), what);
	fflush(stdout);
}

static void way_print_one(const struct notice *n, const char *name, const char *what)
{
	notice_print(n, name, what);
	if (n->irqs_most > noticed[0].irqs_most + IRQS_MOST_NS)
		printf("%s", n->where);
}

/* What was noticed of the way without the device that this one is compared with. */
static const struct notice *notice_of(const char *name)
{
	const struct way *way;

	for (way = ways; name && way->name; way++)
		if (!strcmp(way->name, name))
			return &noticed[way - ways];
	return &noticed[0];
}

/* What is fair: as many tasks that spin. */
static const struct notice *notice_fair(const struct way *way)
{
	char name[16];

	snprintf(name, sizeof(name), "spin-%u", way->tasks);
	return notice_of(name);
}

static void way_print(const struct way *way)
{
	const struct notice *n = &noticed[way - ways];

	way_print_one(n, way->name, way->what);
	if (way->device)
		printf("%-10s %.0f %% of what is fair; a victim's poll() takes %s at most\n", "",
		       100 * n->work / notice_fair(way)->work, time_text(n->poll_most));
	if (way->device)
		way_print_one(&noticed_stopped[way - ways], "  stopped", "");
}

static void notice_check(const struct way *way, const struct notice *n,
			 const struct notice *fair, unsigned int least)
{
	uint64_t irqs_most = notice_of(way->floor)->irqs_most;

	if (way->floor)
		irqs_most = irqs_most * (100 + FLOOR_MORE) / 100;
	test_check(n->work * 100 >= fair->work * least, way->name,
		   fair == &noticed[0] ? "a neighbour gets too little done while it is stopped" :
					 "a neighbour gets too little done");
	test_check(n->normal.samples && n->normal.most <= fair->normal.most + WAIT_MOST_NS,
		   way->name, "a neighbour waits too long");
	test_check(n->realtime.samples && n->realtime.most <= fair->realtime.most + WAIT_MOST_NS,
		   way->name, "a real-time neighbour waits too long");
	test_check(n->irqs_most <= irqs_most + IRQS_MOST_NS, way->name,
		   "interrupts are off too long");
	test_check(n->poll_most <= POLL_MOST_NS, way->name, "poll() takes a victim's time");
}

static void way_check(const struct way *way)
{
	notice_check(way, &noticed[way - ways], notice_fair(way),
		     way->users ? WORK_LEAST_MANY : WORK_LEAST);
	notice_check(way, &noticed_stopped[way - ways], &noticed[0], WORK_LEAST_STOPPED);
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
	printf("%-10s %9s %9s %6s %9s\n", "late by", "a sleeper", "real-time", "work",
	       "interrupt");
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
