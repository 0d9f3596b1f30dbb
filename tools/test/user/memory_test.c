// SPDX-License-Identifier: GPL-2.0-only
/* The memory of timers is charged to the memory cgroup of the task that arms them. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "lib/device.h"
#include "lib/tap.h"

#define MIB	(1024 * 1024LL)

/* So many that other charges, which are made in portions, do not matter. */
#define TIMERS	50000

/* The size of a timer, and what a cell adds to it. Lockdep makes timers larger. */
#define TIMER_BYTES	96
#define TIMER_MOST	(access("/proc/lockdep", F_OK) ? TIMER_BYTES : 256)
#define CELL_BYTES	(16 + 8 + 4)

static char group[64];

static void put(const char *file, const char *text)
{
	char path[128];
	int fd;

	snprintf(path, sizeof(path), "%s/%s", group, file);
	fd = open(path, O_WRONLY);
	NEED(fd >= 0);
	NEED(write(fd, text, strlen(text)) == (ssize_t)strlen(text));
	close(fd);
}

static const char *text_of(const char *file)
{
	static char text[256];
	char path[128];
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "%s/%s", group, file);
	fd = open(path, O_RDONLY);
	NEED(fd >= 0);
	n = read(fd, text, sizeof(text) - 1);
	NEED(n >= 0);
	text[n] = '\0';
	close(fd);
	return text;
}

static long long get(const char *file)
{
	return atoll(text_of(file));
}

static bool offers(const char *controller)
{
	return strstr(text_of("cgroup.controllers"), controller);
}

/* Make a memory cgroup, or skip the test. */
static void make_group(void)
{
	char root[32] = "/tmp/cgroup-XXXXXX";

	NEED(mkdtemp(root));
	if (mount("none", root, "cgroup2", 0, NULL)) {
		rmdir(root);
		tap_skip("no cgroups here: %s", strerror(errno));
	}
	strcpy(group, root);
	if (!offers("memory")) {
		umount(root);
		rmdir(root);
		tap_skip("no cgroup of this kind counts memory here");
	}
	put("cgroup.subtree_control", "+memory");
	snprintf(group, sizeof(group), "%s/twheel", root);
	NEED(mkdir(group, 0755) == 0);
}

static void remove_group(void)
{
	char *slash = strrchr(group, '/');
	int i;

	/* A process that was in it may still be on its way out. */
	for (i = 0; i < 6000 && rmdir(group); i++)
		usleep(10000);
	CHECK(i < 6000);
	*slash = '\0';
	CHECK_EQ(umount2(group, MNT_DETACH), 0);
	CHECK_EQ(rmdir(group), 0);
}

/* Run @fn in the group. Returns its wait status. */
static int in_group(void (*fn)(int fd), int fd)
{
	pid_t child = fork();
	int status;

	NEED(child >= 0);
	if (!child) {
		put("cgroup.procs", "0");
		fn(fd);
		fflush(stdout);
		_exit(0);
	}
	NEED(waitpid(child, &status, 0) == child);
	return status;
}

/*
 * Has the group grown by @count objects of @least to @most bytes? Charges are made in
 * portions, and other objects come and go.
 */
static bool grown(const char *what, long long by, long long count, int least,
		  int most)
{
	printf("# %s: %lld bytes each\n", what, by / count);
	return CHECK(by >= count * least - MIB &&
		     by <= count * most + MIB);
}

static struct twheel_op *arms(void)
{
	struct twheel_op *ops = calloc(TIMERS, sizeof(*ops));
	unsigned int i;

	NEED(ops);
	for (i = 0; i < TIMERS; i++) {
		ops[i].op = TWHEEL_OP_ARM;
		ops[i].deadline_ns = 3600 * S;
	}
	return ops;
}

/* Arm in a file that another process has opened. */
static void arm_and_leave(int fd)
{
	struct twheel_op *ops = arms();
	long long before = get("memory.current");

	CHECK_EQ(dev_batch(fd, ops, TIMERS), TIMERS);
	CHECK_EQ(dev_info(fd).timers, TIMERS);
	if (!grown("timers", get("memory.current") - before, TIMERS,
		   TIMER_BYTES, TIMER_MOST))
		_exit(1);
}

static void who_arms_pays(void)
{
	int fd = dev_open();
	long long held;

	make_group();
	CHECK_EQ(in_group(arm_and_leave, fd), 0);
	/* The charge lasts as long as the timers. */
	held = get("memory.current");
	CHECK(held >= TIMERS * TIMER_BYTES - MIB);
	close(fd);
	CHECK(get("memory.current") <= held - TIMERS * TIMER_BYTES + MIB);
	remove_group();
}

static void set_up_cells(int unused)
{
	struct twheel_setup setup = {
		.clockid = CLOCK_MONOTONIC, .flags = TWHEEL_SETUP_CELLS,
		.max_timers = TIMERS,
	};
	int fd = dev_open();
	long long before = get("memory.current"), held;

	(void)unused;
	NEED(ioctl(fd, TWHEEL_IOC_SETUP, &setup) == 0);
	held = get("memory.current");
	if (!grown("cells", held - before, TIMERS, TIMER_BYTES + CELL_BYTES,
		   TIMER_MOST + 2 * CELL_BYTES))
		_exit(1);
	close(fd);
	if (!CHECK(get("memory.current") <=
		   held - TIMERS * (TIMER_BYTES + CELL_BYTES) + MIB))
		_exit(1);
}

static void cells_are_paid_for(void)
{
	if (!(dev_info(dev_open()).features & TWHEEL_FEATURE_CELLS))
		tap_skip("no shared mapping on this machine");
	make_group();
	CHECK_EQ(in_group(set_up_cells, -1), 0);
	remove_group();
}

/* A few at a time, since the kernel takes long to refuse one. */
static void until_refused(int fd)
{
	struct twheel_op *ops = arms();
	unsigned int i;

	for (i = 0; i + 32 <= TIMERS; i += 32) {
		CHECK_EQ(dev_batch(fd, ops + i, 32), 32);
		if (ops[i + 31].result) {
			CHECK_EQ(ops[i + 31].result, -ENOMEM);
			return;
		}
	}
}

/* The group's limit holds: a task that arms beyond it is refused memory, or killed. */
static void the_limit_holds(void)
{
	int fd = dev_open(), status;
	uint64_t timers;

	make_group();
	/* The array of operations takes 3 MiB of it. */
	put("memory.max", "6291456");
	status = in_group(until_refused, fd);
	CHECK(status == 0 ||
	      (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL));
	CHECK(get("memory.peak") <= 6 * MIB);
	timers = dev_info(fd).timers;
	printf("# %llu timers fit\n", (unsigned long long)timers);
	CHECK(timers > 0);
	CHECK(timers < TIMERS);
	/* Other processes are not affected. */
	dev_arm(fd, 0, 0);
	dev_read(fd);
	CHECK_EQ(ioctl(fd, TWHEEL_IOC_CANCEL_ALL), timers);
	close(fd);
	remove_group();
}

static const struct tap_test tests[] = {
	TAP(who_arms_pays),
	TAP(cells_are_paid_for),
	TAP(the_limit_holds),
};

int main(int argc, char **argv)
{
	return tap_main(tests, sizeof(tests) / sizeof(*tests), argc, argv);
}
