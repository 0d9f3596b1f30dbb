// SPDX-License-Identifier: GPL-2.0-only
/* Limits of a user; and long operations let other tasks run. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "lib/device.h"
#include "lib/tap.h"

#define PARAMETER	"/sys/module/twheel/parameters/user_timers"

static unsigned long old_limit;

static void user_limit_set(unsigned long limit)
{
	FILE *file = fopen(PARAMETER, "r+");

	if (!file)
		tap_skip("%s cannot be written", PARAMETER);
	if (!old_limit)
		NEED(fscanf(file, "%lu", &old_limit) == 1);
	rewind(file);
	NEED(fprintf(file, "%lu\n", limit) > 0);
	NEED(fclose(file) == 0);
}

static void as_user(unsigned int uid, int (*fn)(int fd), int fd)
{
	CHECK_EQ(dev_as_user(uid, fn, fd), 0);
}

static int arm_many(int fd, unsigned int count)
{
	struct twheel_op *ops = calloc(count, sizeof(*ops));
	unsigned int i, good = 0;

	NEED(ops);
	for (i = 0; i < count; i++) {
		ops[i].op = TWHEEL_OP_ARM;
		ops[i].deadline_ns = 3600 * S;
	}
	NEED(dev_batch(fd, ops, count) == (int)count);
	for (i = 0; i < count; i++) {
		good += !ops[i].result;
		if (ops[i].result)
			CHECK_EQ(ops[i].result, -EDQUOT);
	}
	free(ops);
	return good;
}

static int up_to_the_limit(int unused)
{
	struct twheel_op op = { .deadline_ns = S };
	int a = dev_open(), b = dev_open();

	(void)unused;
	CHECK_EQ(dev_info(a).user_limit, 1024);
	CHECK_EQ(dev_info(a).user_timers, 0);
	CHECK_EQ(arm_many(a, 700), 700);
	CHECK_EQ(dev_info(b).user_timers, 768);
	/* Both files count, in units of 256. */
	CHECK_EQ(arm_many(b, 300), 256);
	CHECK_ERR(ioctl(b, TWHEEL_IOC_ARM, &op), EDQUOT);
	CHECK_EQ(arm_many(a, 100), 68);
	CHECK_EQ(dev_info(a).timers, 768);
	/* The limit recovers. */
	CHECK_EQ(dev_cancel_all(a), 768);
	CHECK_EQ(arm_many(a, 768), 768);
	close(a);
	CHECK_EQ(dev_info(b).user_timers, 256);
	CHECK_EQ(arm_many(b, 800), 768);
	return dev_info(b).timers != 1024;
}

static int all_of_it(int unused)
{
	(void)unused;
	return arm_many(dev_open(), 1024) != 1024;
}

static int others_file(int fd)
{
	int good = arm_many(fd, 2000);

	/* Root has opened it, so no limit applies. */
	return good != 2000 || dev_info(fd).user_limit != TWHEEL_NO_LIMIT;
}

static void a_user_has_a_limit(void)
{
	struct stat st;

	NEED(stat("/dev/twheel", &st) == 0);
	NEED(chmod("/dev/twheel", 0666) == 0);
	user_limit_set(1024);
	as_user(1001, up_to_the_limit, -1);
	as_user(1001, all_of_it, -1);
	as_user(1002, all_of_it, -1);
	as_user(1003, others_file, dev_open());
	/* Root itself is exempt. */
	CHECK_EQ(dev_info(dev_open()).user_limit, TWHEEL_NO_LIMIT);
	CHECK_EQ(arm_many(dev_open(), 2000), 2000);
	user_limit_set(old_limit);
	NEED(chmod("/dev/twheel", st.st_mode & 07777) == 0);
}

static void file_write(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY);

	NEED(fd >= 0);
	NEED(write(fd, text, strlen(text)) == (ssize_t)strlen(text));
	close(fd);
}

/* Root of a user's own namespace is no new user. */
static int root_of_nothing(int unused)
{
	char map[32];
	int fd;

	(void)unused;
	snprintf(map, sizeof(map), "0 %u 1", getuid());
	NEED(unshare(CLONE_NEWUSER) == 0);
	file_write("/proc/self/uid_map", map);
	NEED(getuid() == 0);
	fd = dev_open();
	CHECK_EQ(dev_info(fd).user_limit, 1024);
	/* The timers that this user has outside count. */
	CHECK_EQ(dev_info(fd).user_timers, 512);
	CHECK_EQ(arm_many(fd, 1000), 512);
	return dev_info(fd).timers != 512;
}

static int outside_and_inside(int unused)
{
	int fd = dev_open(), status;
	pid_t child;

	(void)unused;
	CHECK_EQ(arm_many(fd, 512), 512);
	child = fork();
	NEED(child >= 0);
	if (!child) {
		/* Or it could not write to its own /proc/self. */
		NEED(prctl(PR_SET_DUMPABLE, 1) == 0);
		_exit(root_of_nothing(-1));
	}
	NEED(waitpid(child, &status, 0) == child);
	CHECK_EQ(status, 0);
	return arm_many(fd, 512) != 512;
}

static void a_user_namespace_shares_the_limit(void)
{
	struct stat st;

	if (access("/proc/self/ns/user", F_OK))
		tap_skip("this kernel has no user namespaces");
	NEED(stat("/dev/twheel", &st) == 0);
	NEED(chmod("/dev/twheel", 0666) == 0);
	user_limit_set(1024);
	as_user(1004, outside_and_inside, -1);
	user_limit_set(old_limit);
	NEED(chmod("/dev/twheel", st.st_mode & 07777) == 0);
}

static void info_shows_the_users_timers(void)

{
	int fd = dev_open();
	uint64_t before = dev_info(fd).user_timers;

	CHECK(dev_info(fd).features & TWHEEL_FEATURE_USER_LIMIT);
	dev_arm(fd, 3600 * S, 0);
	CHECK_EQ(dev_info(fd).user_timers, before + 256);
}

/* A million, unless the kernel tracks each as a debug object. */
#define CROWD	(access("/sys/kernel/debug/debug_objects", F_OK) ? \
		 1000000 : 50000)

static atomic_long ticks;
static atomic_bool closed;
static uint64_t longest_ns;

static void on_first_cpu(void)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(0, &set);
	NEED(sched_setaffinity(0, sizeof(set), &set) == 0);
}

static void *neighbour(void *arg)
{
	uint64_t before = dev_now(CLOCK_MONOTONIC), now;

	on_first_cpu();
	while (!closed) {
		now = dev_now(CLOCK_MONOTONIC);
		if (ticks && now - before > longest_ns)
			longest_ns = now - before;
		before = now;
		ticks++;
		usleep(1000);
	}
	return arg;
}

/*
 * Run @fn, which takes a while. Does another task on the same CPU run meanwhile, again and
 * again?
 */
static bool lets_others_run(const char *what, int (*fn)(int fd), int fd)
{
	pthread_t thread;
	uint64_t took;
	long ran;

	ticks = 0;
	closed = false;
	longest_ns = 0;
	on_first_cpu();
	NEED(pthread_create(&thread, NULL, neighbour, NULL) == 0);
	while (!ticks)
		usleep(1000);
	ran = ticks;
	took = dev_now(CLOCK_MONOTONIC);
	CHECK(fn(fd) >= 0);
	took = dev_now(CLOCK_MONOTONIC) - took;
	ran = ticks - ran;
	closed = true;
	pthread_join(thread, NULL);
	printf("# %s took %llu us; meanwhile its neighbour ran %ld times, and waited for %llu us at most\n",
	       what, (unsigned long long)took / 1000, ran,
	       (unsigned long long)longest_ns / 1000);
	if (took > 100 * MS && ran < 5)
		return false;
	/* A slow machine slows down both tasks, since they share a CPU. */
	return took <= 4 * S || longest_ns < took / 2;
}

static int cancel_all(int fd)
{
	return dev_cancel_all(fd);
}

static int crowd_open(void)
{
	int fd = dev_open(), count = CROWD, i;

	for (i = 0; i < count; i += count / 10)
		NEED(arm_many(fd, count / 10) == count / 10);
	CHECK_EQ(dev_info(fd).pending, count);
	printf("# %d timers\n", count);
	return fd;
}

/* A machine that stops may look like that, too, but not every time. */
#define CROWD_TRIES	3

static void close_lets_others_run(void)
{
	bool good = false;
	int i;

	for (i = 0; i < CROWD_TRIES && !good; i++)
		good = lets_others_run("closing", close, crowd_open());
	CHECK(good);
}

static void cancel_all_lets_others_run(void)
{
	bool good = false;
	int i, fd;

	for (i = 0; i < CROWD_TRIES && !good; i++) {
		fd = crowd_open();
		good = lets_others_run("cancelling", cancel_all, fd);
		CHECK_EQ(dev_info(fd).timers, 0);
		good &= lets_others_run("closing what is empty", close, fd);
	}
	CHECK(good);
}

static const struct tap_test tests[] = {
	TAP(a_user_has_a_limit),
	TAP(a_user_namespace_shares_the_limit),
	TAP(info_shows_the_users_timers),
	TAP(close_lets_others_run),
	TAP(cancel_all_lets_others_run),
};

int main(int argc, char **argv)
{
	return tap_main(tests, sizeof(tests) / sizeof(*tests), argc, argv);
}
