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
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "lib/device.h"
#include "lib/group.h"
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

/*
 * Arm so many for now. In two words each: what a program pays for each word is not counted
 * against its budget, and on an emulated riscv64 it would be most of all time.
 */
static void arm_many(int fd, unsigned int count)
{
	struct twheel_new *news = calloc(count, sizeof(*news));
	uint64_t *ids = calloc(count, sizeof(*ids));
	struct twheel_many many = {
		.elements = (uintptr_t)news, .results = (uintptr_t)ids, .count = count,
	};

	NEED(news && ids);
	NEED(ioctl(fd, TWHEEL_IOC_ARM_MANY, &many) == (int)count);
	free(ids);
	free(news);
}

/* The same, and cancel them when they have expired. */
static void expire_many(int fd, unsigned int count)
{
	arm_many(fd, count);
	dev_wait_unread(fd, count);
	NEED(dev_cancel_all(fd) == (int)count);
}

/* Each expires once, by a thread or not. A modest file is not affected. */
static void greedy_gets_a_thread(void)
{
	struct twheel_info info;
	int greedy, modest;
	unsigned int i;

	device_share_set("1");
	tap_at_end(device_share_reset);
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

/*
 * Each CPU has a budget of its own. Keep a process or thread on the first one; 0: this
 * process.
 */
static void stay_on_one_cpu(pid_t pid)
{
	cpu_set_t one;

	CPU_ZERO(&one);
	CPU_SET(0, &one);
	NEED(sched_setaffinity(pid, sizeof(one), &one) == 0);
}

#define FILES		40
/* In tens: one file rounds_alone may do it at least so often before a thread serves it. */
#define OFTEN		2
/* In tens: no machine allows it so often. */
#define TOO_OFTEN	250
/* A host that stops the guest within a pass ends it early. So the most of some tries counts. */
#define TRIES		4

static unsigned int nibble_timers;

/* How often one file may do it before a thread serves it, in tens. */
static int rounds_alone(int unused)
{
	int fd = dev_open(), i;

	(void)unused;
	stay_on_one_cpu(0);
	for (i = 0; i < 10 * TOO_OFTEN && !dev_info(fd).threaded; i++)
		expire_many(fd, nibble_timers);
	return i / 10;
}

/* What files_together() returns. Anything else: an event was lost, or came twice. */
#define A_THREAD	42
#define NO_THREAD	43

/*
 * So many files after each other are served by a thread where their user's budget is exceeded.
 * Where it is not, a file exceeds its own if the host stops the guest within a pass. That is
 * one of them, and rarely the next ones as well.
 */
#define IN_A_ROW	4

/*
 * Many files do it in turn, ten times as often as one may, in total; each of them a quarter
 * of what it may rounds_alone. Are they served by a thread?
 */
static int files_together(int tenths)
{
	int fds[FILES], in_a_row = 0, n, i;

	stay_on_one_cpu(0);
	for (n = 0; n < FILES; n++) {
		fds[n] = dev_open();
		/* The first timer makes the wheel. */
		NEED(dev_cancel(fds[n], dev_arm(fds[n], 3600 * S, 0)) == 0);
	}
	for (i = 0; i < 100 * tenths && in_a_row < IN_A_ROW; i++) {
		int fd = fds[i % FILES];
		uint64_t threaded = dev_info(fd).threaded;

		expire_many(fd, nibble_timers);
		in_a_row = dev_info(fd).threaded > threaded ? in_a_row + 1 : 0;
	}
	for (n = 0; n < FILES; n++)
		if (dev_info(fds[n]).fired !=
		    (uint64_t)(i / FILES + (n < i % FILES)) * nibble_timers)
			return 0;
	return in_a_row == IN_A_ROW ? A_THREAD : NO_THREAD;
}

/* The same, without what stops of the machine take. Each try is a user of his own. */
static int rounds_undisturbed(unsigned int *uid)
{
	int most = 0, i;

	for (i = 0; i < TRIES; i++) {
		int tenths = dev_as_user((*uid)++, rounds_alone, 0);

		most = tenths > most ? tenths : most;
	}
	return most;
}

static void files_of_a_user_are_one(void)
{
	int tenths = 0, ends = 0, i;
	unsigned int uid = 1001;
	struct stat st;

	device_share_set("1");
	tap_at_end(device_share_reset);
	NEED(stat("/dev/twheel", &st) == 0);
	NEED(chmod("/dev/twheel", 0666) == 0);
	/* Find a number of timers that this machine serves often enough. */
	for (nibble_timers = 2048; nibble_timers > 1 && tenths < OFTEN;) {
		nibble_timers /= 2;
		tenths = rounds_undisturbed(&uid);
	}
	printf("# %u timers: %u0 times\n", nibble_timers, tenths);
	CHECK(tenths >= OFTEN && tenths < TOO_OFTEN);
	/* If the machine has become faster meanwhile, it allows this more often. */
	for (i = 0; i < TRIES && tenths < TOO_OFTEN && ends != A_THREAD; i++) {
		ends = dev_as_user(uid++, files_together, tenths);
		NEED(ends == A_THREAD || ends == NO_THREAD);
		if (ends != A_THREAD)
			tenths = rounds_undisturbed(&uid);
	}
	CHECK_EQ(ends, A_THREAD);
	/*
	 * Root has no budget beyond that of each file. If the host stops the guest in one pass
	 * after the other, try again.
	 */
	for (i = 0; i < 20 && ends != NO_THREAD; i++) {
		ends = dev_as_user(0, files_together, tenths);
		NEED(ends == A_THREAD || ends == NO_THREAD);
	}
	CHECK_EQ(ends, NO_THREAD);
	NEED(chmod("/dev/twheel", st.st_mode & 07777) == 0);
}

static void no_budget_no_thread(void)
{
	unsigned int i;
	int fd;

	device_share_set("0");
	tap_at_end(device_share_reset);
	fd = dev_open();
	for (i = 0; i < 5; i++)
		expire_many(fd, GREEDY);
	CHECK_EQ(dev_info(fd).threaded, 0);
	CHECK_EQ(dev_info(fd).fired, 5 * GREEDY);
	close(fd);
}

/* How many threads has a user? @last: the process of the last one; 0 if there is none. */
static unsigned int threads_of(unsigned int uid, pid_t *last)
{
	DIR *proc = opendir("/proc");
	char want[32], path[64], is[32];
	struct dirent *entry;
	unsigned int count = 0;

	NEED(proc);
	*last = 0;
	snprintf(want, sizeof(want), "twheel/%u\n", uid);
	while ((entry = readdir(proc))) {
		pid_t pid = atoi(entry->d_name);
		FILE *file;

		snprintf(path, sizeof(path), "/proc/%d/comm", pid);
		file = pid ? fopen(path, "r") : NULL;
		if (!file)
			continue;
		if (fgets(is, sizeof(is), file) && !strcmp(is, want)) {
			*last = pid;
			count++;
		}
		fclose(file);
	}
	closedir(proc);
	return count;
}

static pid_t thread_of(unsigned int uid)
{
	pid_t thread;

	threads_of(uid, &thread);
	return thread;
}

/* Does a user's thread end? It does so by itself: nobody waits for it. */
static bool thread_ends(unsigned int uid)
{
	unsigned int i;

	for (i = 0; i < 6000 && thread_of(uid); i++)
		usleep(10000);
	return !thread_of(uid);
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

/* Where a thread that its cgroup stops could stop others, it joins none. */
static void thread_joins(void)
{
	struct utsname kernel;

	NEED(uname(&kernel) == 0);
	if (strstr(kernel.version, "PREEMPT_RT"))
		tap_skip("on PREEMPT_RT a thread joins no cgroups");
}

/* Before 6.0, threads of the kernel's join cgroups of version 1 alone. */
static void thread_joins_version_2(void)
{
	struct utsname kernel;

	thread_joins();
	NEED(uname(&kernel) == 0);
	if (atoi(kernel.release) < 6)
		tap_skip("on %s a thread joins no cgroup of version 2", kernel.release);
}

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
	overload(more, THREAD_UID);
	CHECK_EQ(threads_of(THREAD_UID, &thread), 1);
	close(fd);
	close(more);
	CHECK(thread_ends(THREAD_UID));
	return 0;
}

static void thread_is_in_the_users_cgroups(void)
{
	struct group group;
	struct stat st;
	pid_t child;
	int status;

	thread_joins_version_2();
	group = group_new("cgroup2", NULL);
	device_share_set("1");
	tap_at_end(device_share_reset);
	NEED(stat("/dev/twheel", &st) == 0);
	NEED(chmod("/dev/twheel", 0666) == 0);
	child = fork();
	NEED(child >= 0);
	if (!child) {
		NEED(group_write(group.path, "cgroup.procs", "0"));
		_exit(dev_as_user(THREAD_UID, thread_is_ours, 0));
	}
	NEED(waitpid(child, &status, 0) == child);
	CHECK_EQ(status, 0);
	/* It has left the cgroup with the files. */
	group_free(&group);
	NEED(chmod("/dev/twheel", st.st_mode & 07777) == 0);
}

/** struct owner - a process in a cgroup that has opened two files for this one */
struct owner {
	pid_t pid;
	int fd;
	int other;
};

/* A child with the same table of descriptors. s390x has the stack first, then the flags. */
static pid_t fork_sharing_files(void)
{
#ifdef __s390__
	return syscall(SYS_clone, 0, CLONE_FILES | SIGCHLD, 0, 0, 0);
#else
	return syscall(SYS_clone, CLONE_FILES | SIGCHLD, 0, 0, 0, 0);
#endif
}

static struct owner owner_new(const struct group *group)
{
	struct owner owner;
	int told[2];
	pid_t pid;

	NEED(pipe(told) == 0);
	/* The child has the same descriptors. */
	pid = fork_sharing_files();
	NEED(pid >= 0);
	if (!pid) {
		NEED(group_write(group->path, "cgroup.procs", "0"));
		owner = (struct owner) { getpid(), dev_open(), dev_open() };
		NEED(write(told[1], &owner, sizeof(owner)) == sizeof(owner));
		for (;;)
			pause();
	}
	NEED(read(told[0], &owner, sizeof(owner)) == sizeof(owner));
	close(told[0]);
	close(told[1]);
	return owner;
}

static void owner_end(const struct owner *owner)
{
	kill(owner->pid, SIGKILL);
	NEED(waitpid(owner->pid, NULL, 0) == owner->pid);
}

/* Within this time all timers would have come, as a rule. */
#define STUCK_MS	200

/* Are timers that are due still waiting after that time? */
static bool is_stuck(int fd, unsigned int count)
{
	unsigned int ms;

	for (ms = 0; ms < STUCK_MS && dev_info(fd).unread < count; ms += 10)
		usleep(10000);
	return dev_info(fd).unread < count;
}

/*
 * Arm timers for now until that is more than the file's share in softirq allows, and the
 * rest is not served. @armed: so many are due already. Returns how many are due then.
 */
static unsigned int arm_until_stuck(int fd, unsigned int armed)
{
	unsigned int i;

	for (i = 0; i < ROUNDS && !is_stuck(fd, armed); i++) {
		arm_many(fd, GREEDY);
		armed += GREEDY;
	}
	CHECK(is_stuck(fd, armed));
	return armed;
}

static void thread_freezes(struct group group, const char *name, const char *freeze,
			   const char *thaw)
{
	struct owner owner = owner_new(&group);
	unsigned int armed;
	uint64_t threaded;

	device_share_set("1");
	tap_at_end(device_share_reset);
	/* If a CPU stops, all stop that are looked at here: none of them seems stuck. */
	stay_on_one_cpu(0);
	stay_on_one_cpu(overload(owner.fd, 0));
	overload(owner.other, 0);
	NEED(group_write(group.path, name, freeze));
	/* It leaves, and another one comes after the thaw. */
	CHECK(thread_ends(0));
	threaded = dev_info(owner.fd).threaded;
	armed = arm_until_stuck(owner.fd, 0);
	CHECK(dev_info(owner.fd).threaded <= threaded + 1);
	/* Nobody waits who closes a file. */
	arm_until_stuck(owner.other, 0);
	close(owner.other);

	NEED(group_write(group.path, name, thaw));
	dev_wait_unread(owner.fd, armed);
	CHECK(dev_info(owner.fd).threaded > threaded);
	/* The thread ends in a frozen cgroup, too. */
	NEED(group_write(group.path, name, freeze));
	arm_until_stuck(owner.fd, armed);
	close(owner.fd);
	CHECK(thread_ends(0));
	NEED(group_write(group.path, name, thaw));
	owner_end(&owner);
	group_free(&group);
}

static void thread_freezes_with_its_cgroup(void)
{
	thread_joins();
	thread_freezes(group_new("cgroup2", NULL), "cgroup.freeze", "1", "0");
}

static void thread_freezes_with_its_controller(void)
{
	thread_joins();
	thread_freezes(group_new("cgroup", "freezer"), "freezer.state", "FROZEN", "THAWED");
}

/* The thread is alone in a cgroup that may take a hundredth of a CPU: it is throttled. */
static void thread_is_bound_by_cpu_max(void)
{
	struct owner owner;
	struct group group;
	unsigned int i;
	char pid[16];

	thread_joins_version_2();
	group = group_new("cgroup2", NULL);
	if (!group_write(group.root, "cgroup.subtree_control", "+cpu")) {
		group_free(&group);
		tap_skip("no cpu controller here");
	}
	device_share_set("1");
	tap_at_end(device_share_reset);
	owner = owner_new(&group);
	overload(owner.fd, 0);
	snprintf(pid, sizeof(pid), "%d", owner.pid);
	NEED(group_write(group.root, "cgroup.procs", pid));
	NEED(group_write(group.path, "cpu.max", "1000 100000"));
	for (i = 0; i < ROUNDS && !group_number(&group, "cpu.stat", "nr_throttled "); i++)
		expire_many(owner.fd, GREEDY);
	CHECK(group_number(&group, "cpu.stat", "nr_throttled "));
	close(owner.fd);
	close(owner.other);
	owner_end(&owner);
	group_free(&group);
}

/* Within this time a file is closed, on a slow machine too. */
#define CLOSE_S		40

/* Is a file closed by a process, in that time? It cannot be killed if not. */
static bool closes(int fd)
{
	unsigned int i;
	pid_t child;

	/* The child has a descriptor of its own, which is the last one. */
	child = fork();
	NEED(child >= 0);
	if (!child) {
		usleep(200000);
		close(fd);
		_exit(0);
	}
	close(fd);
	for (i = 0; i < CLOSE_S * 100; i++) {
		if (waitpid(child, NULL, WNOHANG) == child)
			return true;
		usleep(10000);
	}
	return false;
}

static pid_t spinner_new(const char *path)
{
	pid_t child = fork();

	NEED(child >= 0);
	if (!child) {
		NEED(group_write(path, "cgroup.procs", "0"));
		for (;;)
			;
	}
	return child;
}

/*
 * The thread's cgroup gets a ten-thousandth of what others get beside it, and all of them get
 * a thousandth of a CPU. So it does not run for hours. Nobody waits for it who closes a file.
 */
static void nobody_waits_for_the_thread(void)
{
	enum { SPINNERS = 8 };
	struct group group, x, y;
	pid_t spinners[SPINNERS];
	struct owner owner;
	unsigned int i;

	thread_joins();
	group = group_new("cgroup2", NULL);
	x = group;
	y = group;
	NEED(snprintf(x.path, sizeof(x.path), "%s/x", group.path) < (int)sizeof(x.path));
	NEED(snprintf(y.path, sizeof(y.path), "%s/y", group.path) < (int)sizeof(y.path));
	if (!group_write(group.root, "cgroup.subtree_control", "+cpu")) {
		group_free(&group);
		tap_skip("no cpu controller here");
	}
	NEED(group_write(group.path, "cgroup.subtree_control", "+cpu"));
	NEED(mkdir(x.path, 0755) == 0 && mkdir(y.path, 0755) == 0);
	NEED(group_write(x.path, "cpu.weight", "1"));
	NEED(group_write(y.path, "cpu.weight", "10000"));
	device_share_set("1");
	tap_at_end(device_share_reset);
	owner = owner_new(&x);
	overload(owner.fd, 0);
	for (i = 0; i < SPINNERS; i++)
		spinners[i] = spinner_new(i < SPINNERS / 2 ? x.path : y.path);
	/* What they get beside the others is used up. */
	sleep(4);
	NEED(group_write(group.path, "cpu.max", "1000 1000000"));
	/* It has something to do. */
	arm_many(owner.fd, GREEDY);
	close(owner.other);
	CHECK(closes(owner.fd));

	NEED(group_write(group.path, "cpu.max", "max"));
	/* Who is in the small cgroup does not even get to end while the others spin. */
	for (i = 0; i < SPINNERS; i++)
		kill(spinners[i], SIGKILL);
	for (i = 0; i < SPINNERS; i++)
		NEED(waitpid(spinners[i], NULL, 0) == spinners[i]);
	owner_end(&owner);
	CHECK(thread_ends(0));
	NEED(rmdir(x.path) == 0 && rmdir(y.path) == 0);
	group_free(&group);
}

/* Does a cgroup get empty, some time? */
static bool group_empties(const struct group *group)
{
	unsigned int i;

	for (i = 0; i < 6000 && group_number(group, "cgroup.events", "populated "); i++)
		usleep(10000);
	return !group_number(group, "cgroup.events", "populated ");
}

/* The program ends that opened the file. Its cgroup is empty then. */
static void thread_leaves_with_the_program(void)
{
	struct owner owner;
	struct group group;
	unsigned int i;

	thread_joins_version_2();
	group = group_new("cgroup2", NULL);
	device_share_set("1");
	tap_at_end(device_share_reset);
	owner = owner_new(&group);
	CHECK_EQ(getpriority(PRIO_PROCESS, overload(owner.fd, 0)), 0);
	owner_end(&owner);
	CHECK(group_empties(&group));
	/* Another serves the file from now on. */
	for (i = 0; i < ROUNDS && !thread_of(0); i++)
		expire_many(owner.fd, GREEDY);
	CHECK(thread_of(0));
	CHECK_EQ(getpriority(PRIO_PROCESS, thread_of(0)), 19);
	close(owner.fd);
	close(owner.other);
	CHECK(thread_ends(0));
	group_free(&group);
}

/* Who opened the file has ended, and left it to this process. */
static int thread_gives_way(int unused)
{
	int fd, status;
	pid_t child, thread;

	(void)unused;
	/* The child has the same descriptors. */
	child = fork_sharing_files();
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
	tap_at_end(device_share_reset);
	NEED(stat("/dev/twheel", &st) == 0);
	NEED(chmod("/dev/twheel", 0666) == 0);
	CHECK_EQ(dev_as_user(THREAD_UID + 1, thread_gives_way, 0), 0);
	CHECK(thread_ends(THREAD_UID + 1));
	NEED(chmod("/dev/twheel", st.st_mode & 07777) == 0);
}

int main(int argc, char **argv)
{
	static const struct tap_test tests[] = {
		TAP(greedy_gets_a_thread),
		TAP(files_of_a_user_are_one),
		TAP(no_budget_no_thread),
		TAP(thread_is_in_the_users_cgroups),
		TAP(thread_freezes_with_its_cgroup),
		TAP(thread_freezes_with_its_controller),
		TAP(thread_is_bound_by_cpu_max),
		TAP(nobody_waits_for_the_thread),
		TAP(thread_leaves_with_the_program),
		TAP(thread_of_nobody_gives_way),
	};

	return tap_main(tests, sizeof(tests) / sizeof(*tests), argc, argv);
}
