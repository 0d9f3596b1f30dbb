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
#include <sys/sysinfo.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "lib/device.h"
#include "lib/tap.h"

#define MIB		(1024 * 1024LL)

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

/*
 * As a user who can be root again, to change a parameter, and has no privilege otherwise.
 * The real user ID counts.
 */
static void as_switching_user(unsigned int uid, void (*fn)(void))
{
	struct stat st;
	pid_t child;
	int status;

	NEED(stat("/dev/twheel", &st) == 0);
	NEED(chmod("/dev/twheel", 0666) == 0);
	child = fork();
	NEED(child >= 0);
	if (!child) {
		NEED(setresuid(uid, uid, 0) == 0);
		fn();
		_exit(tap_failed());
	}
	NEED(waitpid(child, &status, 0) == child);
	CHECK_EQ(status, 0);
	NEED(chmod("/dev/twheel", st.st_mode & 07777) == 0);
}

/* Set user_memory; 0: the default. */
static void memory_limit_set(uint64_t bytes)
{
	uid_t uid = geteuid();
	FILE *file;

	NEED(seteuid(0) == 0);
	file = fopen("/sys/module/twheel/parameters/user_memory", "w");
	NEED(file);
	NEED(fprintf(file, "%llu\n", (unsigned long long)bytes) > 0);
	NEED(fclose(file) == 0);
	NEED(seteuid(uid) == 0);
}

/** struct spender - something that takes memory */
struct spender {
	const char *name;
	/* What comes first, or NULL; and what takes the memory. Both return as ioctl(). */
	int (*before)(int fd);
	int (*spend)(int fd);
};

static int spend_arm(int fd)
{
	struct twheel_op op = { .deadline_ns = 3600 * S };

	return ioctl(fd, TWHEEL_IOC_ARM, &op);
}

static int spend_large(int fd)
{
	struct twheel_setup setup = { .clockid = CLOCK_MONOTONIC, .slots = 4096 };

	return ioctl(fd, TWHEEL_IOC_SETUP, &setup);
}

static int spend_cells(int fd)
{
	struct twheel_setup setup = { .clockid = CLOCK_MONOTONIC, .max_timers = 1000,
				      .flags = TWHEEL_SETUP_CELLS };

	return ioctl(fd, TWHEEL_IOC_SETUP, &setup);
}

static int spend_chunk(int fd)
{
	return arm_many(fd, 256) == 256 ? 0 : -1;
}

static int wall_clock(int fd)
{
	struct twheel_setup setup = { .clockid = CLOCK_REALTIME };
	struct twheel_op op = { .flags = TWHEEL_ABS, .cookie = 9,
				.deadline_ns = TWHEEL_DELAY_NEVER };

	return ioctl(fd, TWHEEL_IOC_SETUP, &setup) ?: ioctl(fd, TWHEEL_IOC_ARM, &op);
}

static int spend_modify(int fd)
{
	struct twheel_op op = { .deadline_ns = 3600 * S, .id = 1ULL << 32 };

	return ioctl(fd, TWHEEL_IOC_MODIFY, &op);
}

static const struct spender spenders[] = {
	{ "first arm", NULL, spend_arm },
	{ "large geometry", NULL, spend_large },
	{ "cells", NULL, spend_cells },
	{ "more timers", spend_chunk, spend_arm },
	{ "first delay", wall_clock, spend_arm },
	{ "modify for a delay", wall_clock, spend_modify },
};

/* Each is refused with one byte less than it needs, and leaves nothing behind. */
static void spend_exactly(const struct spender *s)
{
	struct twheel_info was, is;
	uint64_t opened;
	int fd;

	memory_limit_set(0);
	fd = dev_open();
	if (s->spend == spend_cells && !(dev_info(fd).features & TWHEEL_FEATURE_CELLS)) {
		printf("# %s: no shared mapping on this machine\n", s->name);
		close(fd);
		return;
	}
	opened = dev_info(fd).file_memory;
	CHECK_EQ(dev_info(fd).user_memory, opened);
	CHECK(opened > 1000);
	NEED(!s->before || !s->before(fd));
	CHECK_EQ(s->spend(fd), 0);
	is = dev_info(fd);
	CHECK_EQ(is.user_memory, is.file_memory);
	printf("# %s: %llu bytes, %llu of them open\n", s->name,
	       (unsigned long long)is.file_memory, (unsigned long long)opened);
	CHECK(is.file_memory > opened);
	close(fd);

	memory_limit_set(opened - 1);
	CHECK_ERR(open("/dev/twheel", O_RDWR), EDQUOT);
	memory_limit_set(opened);
	fd = dev_open();
	CHECK_EQ(dev_info(fd).user_memory_limit, opened);
	CHECK_EQ(dev_info(fd).user_memory, opened);
	memory_limit_set(is.file_memory - 1);
	NEED(!s->before || !s->before(fd));
	was = dev_state(fd);
	CHECK_ERR(s->spend(fd), EDQUOT);
	dev_same(fd, &was);
	memory_limit_set(is.file_memory);
	CHECK_EQ(s->spend(fd), 0);
	CHECK_EQ(dev_info(fd).file_memory, is.file_memory);
	close(fd);
}

static void memory_of_a_user(void)
{
	unsigned int i;
	int fd;

	for (i = 0; i < sizeof(spenders) / sizeof(*spenders); i++)
		spend_exactly(&spenders[i]);
	/* Several files count together, and it recovers. */
	memory_limit_set(0);
	fd = dev_open();
	memory_limit_set(2 * dev_info(fd).file_memory);
	CHECK_EQ(close(dev_open()), 0);
	CHECK(dev_open() >= 0);
	CHECK_ERR(open("/dev/twheel", O_RDWR), EDQUOT);
	/* One who is exempt counts, and is not refused. */
	NEED(seteuid(0) == 0);
	CHECK_EQ(dev_info(dev_open()).user_memory_limit, TWHEEL_NO_LIMIT);
}

static void a_user_has_so_much_memory(void)
{
	as_switching_user(1005, memory_of_a_user);
	memory_limit_set(0);
	CHECK(dev_info(dev_open()).features & TWHEEL_FEATURE_USER_LIMIT);
}

/* The default is a sixteenth of the machine's memory. */
static void default_memory(void)
{
	struct sysinfo machine;
	uint64_t limit, share;

	NEED(!sysinfo(&machine));
	limit = dev_info(dev_open()).user_memory_limit;
	share = (uint64_t)machine.totalram * machine.mem_unit / 16;
	CHECK(limit <= share + MIB);
	CHECK(limit >= share - MIB);
}

static void a_sixteenth_by_default(void)
{
	as_switching_user(1005, default_memory);
}

/* Open a file as another user of the namespace whose root this is. */
static int open_as(unsigned int uid)
{
	int fd;

	NEED(setresuid(uid, uid, 0) == 0);
	fd = dev_open();
	NEED(setresuid(0, 0, 0) == 0);
	return fd;
}

static int inner_namespace(int unused)
{
	int fd;

	(void)unused;
	NEED(prctl(PR_SET_DUMPABLE, 1) == 0);
	NEED(unshare(CLONE_NEWUSER) == 0);
	fd = dev_open();
	CHECK_EQ(dev_info(fd).user_timers, 512);
	return arm_many(fd, 2000) != 512;
}

/* Root of a namespace with subordinate users. Its pipes tell that it is there, and mapped. */
static void crowd_of_one(int ready, int mapped)
{
	int files[3], i;
	char byte = 0;

	NEED(prctl(PR_SET_DUMPABLE, 1) == 0);
	NEED(unshare(CLONE_NEWUSER) == 0);
	NEED(write(ready, &byte, 1) == 1);
	NEED(read(mapped, &byte, 1) == 1);
	NEED(setresuid(0, 0, 0) == 0);
	for (i = 0; i < 3; i++)
		files[i] = open_as(i + 1);
	CHECK_EQ(arm_many(files[0], 512), 512);
	/* What the others have is seen. */
	CHECK_EQ(dev_info(files[1]).user_timers, 512);
	CHECK_EQ(arm_many(files[1], 1000), 512);
	CHECK_EQ(arm_many(files[2], 1), 0);
	/* So it is for the owner himself. */
	CHECK_EQ(arm_many(dev_open(), 1), 0);
	close(files[0]);
	CHECK_EQ(dev_info(files[2]).user_timers, 512);
	/* And in a namespace of a subordinate user. */
	as_user(4, inner_namespace, -1);
	CHECK_EQ(dev_info(files[2]).user_timers, 512);
}

static int owner_of_a_crowd(int unused)
{
	(void)unused;
	CHECK_EQ(dev_info(dev_open()).user_timers, 0);
	return arm_many(dev_open(), 1024) != 1024;
}

static void subordinate_users_are_one_more(void)
{
	char path[64], byte = 0;
	int up[2], down[2], status;
	struct stat st;
	pid_t child;

	if (access("/proc/self/ns/user", F_OK))
		tap_skip("this kernel has no user namespaces");
	NEED(stat("/dev/twheel", &st) == 0);
	NEED(chmod("/dev/twheel", 0666) == 0);
	user_limit_set(1024);
	NEED(!pipe(up) && !pipe(down));
	child = fork();
	NEED(child >= 0);
	if (!child) {
		NEED(setgid(1006) == 0 && setuid(1006) == 0);
		crowd_of_one(up[1], down[0]);
		_exit(tap_failed());
	}
	NEED(read(up[0], &byte, 1) == 1);
	snprintf(path, sizeof(path), "/proc/%d/uid_map", child);
	file_write(path, "0 1006 1\n1 200000 64\n");
	snprintf(path, sizeof(path), "/proc/%d/gid_map", child);
	file_write(path, "0 1006 1\n1 200000 64\n");
	NEED(write(down[1], &byte, 1) == 1);
	NEED(waitpid(child, &status, 0) == child);
	CHECK_EQ(status, 0);
	/* All of it has gone from all accounts. */
	as_user(1006, owner_of_a_crowd, -1);
	as_user(200000, owner_of_a_crowd, -1);
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
	TAP(a_user_has_so_much_memory),
	TAP(a_sixteenth_by_default),
	TAP(subordinate_users_are_one_more),
	TAP(info_shows_the_users_timers),
	TAP(close_lets_others_run),
	TAP(cancel_all_lets_others_run),
};

int main(int argc, char **argv)
{
	return tap_main(tests, sizeof(tests) / sizeof(*tests), argc, argv);
}
