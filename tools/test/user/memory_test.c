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

static void group_write(const char *file, const char *text)
{
	char path[128];
	int fd;

	snprintf(path, sizeof(path), "%s/%s", group, file);
	fd = open(path, O_WRONLY);
	NEED(fd >= 0);
	NEED(write(fd, text, strlen(text)) == (ssize_t)strlen(text));
	close(fd);
}

static const char *group_read(const char *file)
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

static bool group_has(const char *file)
{
	char path[128];

	snprintf(path, sizeof(path), "%s/%s", group, file);
	return !access(path, F_OK);
}

static long long group_read_number(const char *file)
{
	return atoll(group_read(file));
}

static bool group_offers(const char *controller)
{
	return strstr(group_read("cgroup.controllers"), controller);
}

/* Make a memory cgroup, or skip the test. */
static void group_make(void)
{
	char root[32] = "/tmp/cgroup-XXXXXX";

	NEED(mkdtemp(root));
	if (mount("none", root, "cgroup2", 0, NULL)) {
		rmdir(root);
		tap_skip("no cgroups here: %s", strerror(errno));
	}
	strcpy(group, root);
	if (!group_offers("memory")) {
		umount(root);
		rmdir(root);
		tap_skip("no cgroup of this kind counts memory here");
	}
	group_write("cgroup.subtree_control", "+memory");
	snprintf(group, sizeof(group), "%s/twheel", root);
	NEED(mkdir(group, 0755) == 0);
}

static void group_remove(void)
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
static int group_run(void (*fn)(int fd), int fd)
{
	pid_t child = fork();
	int status;

	NEED(child >= 0);
	if (!child) {
		group_write("cgroup.procs", "0");
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
static bool check_grown(const char *what, long long by, long long count, int least,
			int most)
{
	printf("# %s: %lld bytes each\n", what, by / count);
	return CHECK(by >= count * least - MIB &&
		     by <= count * most + MIB);
}

static struct twheel_op *ops_arm(void)
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
	struct twheel_op *ops = ops_arm();
	long long before = group_read_number("memory.current");

	CHECK_EQ(dev_batch(fd, ops, TIMERS), TIMERS);
	CHECK_EQ(dev_info(fd).timers, TIMERS);
	if (!check_grown("timers", group_read_number("memory.current") - before, TIMERS,
			 TIMER_BYTES, TIMER_MOST))
		_exit(1);
}

static void arming_task_is_charged(void)
{
	int fd = dev_open();
	long long held;

	group_make();
	CHECK_EQ(group_run(arm_and_leave, fd), 0);
	/* The charge lasts as long as the timers. */
	held = group_read_number("memory.current");
	CHECK(held >= TIMERS * TIMER_BYTES - MIB);
	close(fd);
	CHECK(group_read_number("memory.current") <= held - TIMERS * TIMER_BYTES + MIB);
	group_remove();
}

/* What a timer without a cell takes on this kernel. */
static int plain_bytes(void)
{
	struct twheel_op *ops = ops_arm();
	int fd = dev_open(), bytes;
	long long before = group_read_number("memory.current");

	NEED(dev_batch(fd, ops, TIMERS) == TIMERS);
	bytes = (group_read_number("memory.current") - before) / TIMERS;
	close(fd);
	free(ops);
	return bytes;
}

static void set_up_cells(int unused)
{
	struct twheel_setup setup = {
		.clockid = CLOCK_MONOTONIC, .flags = TWHEEL_SETUP_CELLS,
		.max_timers = TIMERS,
	};
	long long before, held;
	int plain, fd;

	(void)unused;
	plain = plain_bytes();
	fd = dev_open();
	before = group_read_number("memory.current");
	NEED(ioctl(fd, TWHEEL_IOC_SETUP, &setup) == 0);
	held = group_read_number("memory.current");
	if (!check_grown("cells", held - before, TIMERS, plain + CELL_BYTES,
			 plain + 2 * CELL_BYTES))
		_exit(1);
	close(fd);
	if (!CHECK(group_read_number("memory.current") <=
		   held - TIMERS * (TIMER_BYTES + CELL_BYTES) + MIB))
		_exit(1);
}

static void cells_are_charged(void)
{
	if (!(dev_info(dev_open()).features & TWHEEL_FEATURE_CELLS))
		tap_skip("no shared mapping on this machine");
	group_make();
	CHECK_EQ(group_run(set_up_cells, -1), 0);
	group_remove();
}

/* A few at a time, since the kernel takes long to refuse one. */
static void until_refused(int fd)
{
	struct twheel_op *ops = ops_arm();
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
static void group_limit_holds(void)
{
	int fd = dev_open(), status;
	uint64_t timers;

	group_make();
	/* The array of operations takes 3 MiB of it. */
	group_write("memory.max", "6291456");
	status = group_run(until_refused, fd);
	CHECK(status == 0 ||
	      (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL));
	/* Since 5.19 */
	if (group_has("memory.peak"))
		CHECK(group_read_number("memory.peak") <= 6 * MIB);
	timers = dev_info(fd).timers;
	printf("# %llu timers fit\n", (unsigned long long)timers);
	CHECK(timers > 0);
	CHECK(timers < TIMERS);
	/* Other processes are not affected. */
	dev_arm(fd, 0, 0);
	dev_read(fd);
	CHECK_EQ(dev_cancel_all(fd), timers);
	close(fd);
	group_remove();
}

static const struct tap_test tests[] = {
	TAP(arming_task_is_charged),
	TAP(cells_are_charged),
	TAP(group_limit_holds),
};

int main(int argc, char **argv)
{
	return tap_main(tests, sizeof(tests) / sizeof(*tests), argc, argv);
}
