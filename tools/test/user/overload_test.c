// SPDX-License-Identifier: GPL-2.0-only
/*
 * A file that exceeds its CPU budget is served by a thread. So are the files of a user other
 * than root that exceed it files_together.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "lib/device.h"
#include "lib/tap.h"

#define PARAMETER	"/sys/module/twheel/parameters/device_share"

/* Expiring so many takes more than a hundredth of any CPU. */
#define GREEDY		5000
#define ROUNDS		300

static void device_share_set(const char *percent)
{
	FILE *file = fopen(PARAMETER, "w");

	if (!file)
		tap_skip("%s cannot be written", PARAMETER);
	NEED(fprintf(file, "%s\n", percent) > 0);
	NEED(fclose(file) == 0);
}

static void device_share_reset(void)
{
	device_share_set("25");
}

/* Arm so many for now, and cancel them when they have expired. */
static void expire_many(int fd, unsigned int count)
{
	struct twheel_op *ops = calloc(count, sizeof(*ops));
	unsigned int i;

	NEED(ops);
	for (i = 0; i < count; i++)
		ops[i].op = TWHEEL_OP_ARM;
	NEED(dev_batch(fd, ops, count) == (int)count);
	dev_wait_unread(fd, count);
	NEED(dev_cancel_all(fd) == (int)count);
	free(ops);
}

/* Each expires once, by a thread or not. A modest file is not affected. */
static void greedy_gets_a_thread(void)
{
	struct twheel_info info;
	int greedy, modest;
	unsigned int i;

	device_share_set("1");
	atexit(device_share_reset);
	greedy = dev_open();
	modest = dev_open();
	for (i = 0; i < ROUNDS && !dev_info(greedy).threaded; i++)
		expire_many(greedy, GREEDY);
	CHECK(dev_info(greedy).threaded);
	expire_many(greedy, GREEDY);

	dev_arm(modest, 5 * MS, 7);
	CHECK_EQ(dev_read(modest).cookie, 7);
	CHECK_EQ(dev_info(modest).threaded, 0);

	info = dev_info(greedy);
	CHECK_EQ(info.fired, (i + 1) * GREEDY);
	CHECK_EQ(info.timers, 0);
	CHECK(info.threaded <= info.passes);
	close(greedy);
	close(modest);
}

/* Each CPU has a budget of its own. */
static void stay_on_one_cpu(void)
{
	cpu_set_t one;

	CPU_ZERO(&one);
	CPU_SET(0, &one);
	NEED(sched_setaffinity(0, sizeof(one), &one) == 0);
}

#define FILES		40
/* In tens: one file rounds_alone may do it at least so often before a thread serves it. */
#define OFTEN		2
/* In tens: no machine allows it so often. */
#define TOO_OFTEN	250

static unsigned int nibble_timers;

/* How often one file may do it before a thread serves it, in tens. */
static int rounds_alone(int unused)
{
	int fd = dev_open(), i;

	(void)unused;
	stay_on_one_cpu();
	for (i = 0; i < 10 * TOO_OFTEN && !dev_info(fd).threaded; i++)
		expire_many(fd, nibble_timers);
	return i / 10;
}

/* What files_together() returns. Anything else: an event was lost, or came twice. */
#define A_THREAD	42
#define NO_THREAD	43

/*
 * Many files do it in turn, ten times as often as one may, in total; each of them a quarter
 * of what it may rounds_alone. Are they served by a thread?
 */
static int files_together(int tenths)
{
	int fds[FILES], n, i;
	bool over = false;

	stay_on_one_cpu();
	for (n = 0; n < FILES; n++) {
		fds[n] = dev_open();
		/* The first timer makes the wheel. */
		NEED(dev_cancel(fds[n], dev_arm(fds[n], 3600 * S, 0)) == 0);
	}
	for (i = 0; i < 100 * tenths && !over; i++) {
		expire_many(fds[i % FILES], nibble_timers);
		over = dev_info(fds[i % FILES]).threaded;
	}
	for (n = 0; n < FILES; n++)
		if (dev_info(fds[n]).fired !=
		    (uint64_t)(i / FILES + (n < i % FILES)) * nibble_timers)
			return 0;
	return over ? A_THREAD : NO_THREAD;
}

static void files_of_a_user_are_one(void)
{
	int tenths = 0, ends = 0, i;
	unsigned int uid = 1001;
	struct stat st;

	device_share_set("1");
	atexit(device_share_reset);
	NEED(stat("/dev/twheel", &st) == 0);
	NEED(chmod("/dev/twheel", 0666) == 0);
	/* Find a number of timers that this machine serves often enough. */
	for (nibble_timers = 2048; nibble_timers > 1 && tenths < OFTEN;) {
		nibble_timers /= 2;
		tenths = dev_as_user(uid++, rounds_alone, 0);
	}
	printf("# %u timers: %u0 times\n", nibble_timers, tenths);
	CHECK(tenths >= OFTEN && tenths < TOO_OFTEN);
	CHECK_EQ(dev_as_user(uid, files_together, tenths), A_THREAD);
	/*
	 * Root has no budget beyond that of each file. But a file exceeds that at once if the
	 * host stops the guest within a pass: try again.
	 */
	for (i = 0; i < 20 && ends != NO_THREAD; i++)
		ends = dev_as_user(0, files_together, tenths);
	CHECK_EQ(ends, NO_THREAD);
	NEED(chmod("/dev/twheel", st.st_mode & 07777) == 0);
}

static void no_budget_no_thread(void)
{
	unsigned int i;
	int fd;

	device_share_set("0");
	atexit(device_share_reset);
	fd = dev_open();
	for (i = 0; i < 5; i++)
		expire_many(fd, GREEDY);
	CHECK_EQ(dev_info(fd).threaded, 0);
	CHECK_EQ(dev_info(fd).fired, 5 * GREEDY);
	close(fd);
}

/* The process of a user's thread; 0 if there is none. */
static pid_t thread_of(unsigned int uid)
{
	DIR *proc = opendir("/proc");
	char want[32], path[64], is[32];
	struct dirent *entry;
	pid_t found = 0;

	NEED(proc);
	snprintf(want, sizeof(want), "twheel/%u\n", uid);
	while (!found && (entry = readdir(proc))) {
		pid_t pid = atoi(entry->d_name);
		FILE *file;

		snprintf(path, sizeof(path), "/proc/%d/comm", pid);
		file = pid ? fopen(path, "r") : NULL;
		if (!file)
			continue;
		if (fgets(is, sizeof(is), file) && !strcmp(is, want))
			found = pid;
		fclose(file);
	}
	closedir(proc);
	return found;
}

/* Exceed the budget of a file until its thread is there. */
static pid_t overload(int fd, unsigned int uid)
{
	pid_t thread = 0;
	unsigned int i;

	for (i = 0; i < ROUNDS && !dev_info(fd).threaded; i++)
		expire_many(fd, GREEDY);
	CHECK(dev_info(fd).threaded);
	thread = thread_of(uid);
	CHECK(thread);
	return thread;
}

/* In which cgroups is a process, as /proc says it? */
static void read_cgroups(pid_t pid, char *text, size_t size)
{
	char path[64];
	FILE *file;
	size_t n;

	snprintf(path, sizeof(path), "/proc/%d/cgroup", pid);
	file = fopen(path, "r");
	NEED(file);
	n = fread(text, 1, size - 1, file);
	text[n] = '\0';
	fclose(file);
}

enum { THREAD_UID = 1050 };

static int thread_is_ours(int unused)
{
	char ours[512], its[512];
	int fd = dev_open(), more = dev_open();
	pid_t thread = overload(fd, THREAD_UID);

	(void)unused;
	read_cgroups(getpid(), ours, sizeof(ours));
	read_cgroups(thread, its, sizeof(its));
	printf("# in %s", its);
	CHECK(!strcmp(ours, its));
	CHECK(strstr(its, "/twheel"));
	CHECK_EQ(getpriority(PRIO_PROCESS, thread), 0);
	/* Of all files. */
	CHECK_EQ(overload(more, THREAD_UID), thread);
	close(fd);
	CHECK_EQ(thread_of(THREAD_UID), thread);
	close(more);
	CHECK_EQ(thread_of(THREAD_UID), 0);
	return 0;
}

static void thread_is_in_the_users_cgroups(void)
{
	char root[32] = "/tmp/cgroup-XXXXXX", group[64], procs[96];
	struct stat st;
	pid_t child;
	FILE *file;
	int status;

	NEED(mkdtemp(root));
	if (mount("none", root, "cgroup2", 0, NULL)) {
		rmdir(root);
		tap_skip("no cgroups here: %s", strerror(errno));
	}
	device_share_set("1");
	atexit(device_share_reset);
	NEED(stat("/dev/twheel", &st) == 0);
	NEED(chmod("/dev/twheel", 0666) == 0);
	snprintf(group, sizeof(group), "%s/twheel", root);
	snprintf(procs, sizeof(procs), "%s/cgroup.procs", group);
	NEED(mkdir(group, 0755) == 0);
	child = fork();
	NEED(child >= 0);
	if (!child) {
		file = fopen(procs, "w");
		NEED(file && fputs("0", file) >= 0 && fclose(file) == 0);
		_exit(dev_as_user(THREAD_UID, thread_is_ours, 0));
	}
	NEED(waitpid(child, &status, 0) == child);
	CHECK_EQ(status, 0);
	/* It has left the cgroup with the files. */
	CHECK_EQ(rmdir(group), 0);
	CHECK_EQ(umount2(root, MNT_DETACH), 0);
	CHECK_EQ(rmdir(root), 0);
	NEED(chmod("/dev/twheel", st.st_mode & 07777) == 0);
}

/* Who opened the file has ended, and left it to this process. */
static int thread_gives_way(int unused)
{
	int fd, status;
	pid_t child, thread;

	(void)unused;
	/* The child has the same descriptors. */
	child = syscall(SYS_clone, CLONE_FILES | SIGCHLD, 0, 0, 0, 0);
	NEED(child >= 0);
	if (!child)
		_exit(dev_open());
	NEED(waitpid(child, &status, 0) == child);
	fd = WEXITSTATUS(status);
	thread = overload(fd, THREAD_UID + 1);
	CHECK_EQ(getpriority(PRIO_PROCESS, thread), 19);
	return 0;
}

static void thread_of_nobody_gives_way(void)
{
	struct stat st;

	device_share_set("1");
	atexit(device_share_reset);
	NEED(stat("/dev/twheel", &st) == 0);
	NEED(chmod("/dev/twheel", 0666) == 0);
	CHECK_EQ(dev_as_user(THREAD_UID + 1, thread_gives_way, 0), 0);
	CHECK_EQ(thread_of(THREAD_UID + 1), 0);
	NEED(chmod("/dev/twheel", st.st_mode & 07777) == 0);
}

int main(int argc, char **argv)
{
	static const struct tap_test tests[] = {
		TAP(greedy_gets_a_thread),
		TAP(files_of_a_user_are_one),
		TAP(no_budget_no_thread),
		TAP(thread_is_in_the_users_cgroups),
		TAP(thread_of_nobody_gives_way),
	};

	return tap_main(tests, sizeof(tests) / sizeof(*tests), argc, argv);
}
