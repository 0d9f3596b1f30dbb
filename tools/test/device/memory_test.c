// SPDX-License-Identifier: GPL-2.0-only
/*
 * The memory of a file is charged to the memory cgroup of the task that makes it grow. As much
 * is charged to its user, so that INFO tells what a cgroup will see.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/device.h"
#include "lib/tap.h"

#define MIB	(1024 * 1024LL)

/* So many that other charges, which are made in portions, do not matter. */
#define TIMERS	60000

/* What has to happen, happens within this time. */
#define PATIENCE_MS	60000

/* Where the hierarchy of cgroups is mounted, and the cgroup of the test there. */
static char root[32] = "/tmp/cgroup-XXXXXX", group[48];

/* Returns false if the folder has no such file, or if that does not take the text. */
static bool file_write(const char *folder, const char *name, const char *text)
{
	char path[96];
	FILE *file;
	bool good;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	file = fopen(path, "w");
	if (!file)
		return false;
	good = fputs(text, file) >= 0;
	return fclose(file) == 0 && good;
}

static void memory_write(const char *name, const char *text)
{
	NEED(file_write(group, name, text));
}

static long long memory_now(void)
{
	long long number;
	char path[96];
	FILE *file;

	snprintf(path, sizeof(path), "%s/memory.current", group);
	file = fopen(path, "r");
	NEED(file && fscanf(file, "%lld", &number) == 1);
	fclose(file);
	return number;
}

/*
 * A task that has ended may still be in the cgroup. A kernel thread leaves it some time after
 * others see its end. That takes long if the cgroup seldom lets the thread run.
 */
static void group_end(void)
{
	int ret, i;

	for (i = 0; i < PATIENCE_MS / 10; i++) {
		ret = rmdir(group);
		if (!ret || errno != EBUSY)
			break;
		usleep(10000);
	}
	CHECK_EQ(ret, 0);
	CHECK_EQ(umount2(root, MNT_DETACH), 0);
	CHECK_EQ(rmdir(root), 0);
}

static void group_make(void)
{
	NEED(mkdtemp(root));
	if (mount("none", root, "cgroup2", 0, NULL)) {
		rmdir(root);
		tap_skip("no cgroup2 here: %s", strerror(errno));
	}
	snprintf(group, sizeof(group), "%s/twheel", root);
	NEED(mkdir(group, 0755) == 0);
	if (!file_write(root, "cgroup.subtree_control", "+memory")) {
		group_end();
		tap_skip("no cgroup of this kind counts memory here");
	}
}

/* Run @fn in the group. Returns its wait status. */
static int group_run(void (*fn)(int fd), int fd)
{
	pid_t child = fork();
	int status;

	NEED(child >= 0);
	if (!child) {
		memory_write("cgroup.procs", "0");
		fn(fd);
		fflush(stdout);
		_exit(tap_failed());
	}
	NEED(waitpid(child, &status, 0) == child);
	return status;
}

/* Has the group grown by as much as the file? A kernel that finds faults makes objects larger. */
static void check_grown(const char *what, long long by, long long file)
{
	long long most = access("/proc/lockdep", F_OK) ? file * 5 / 4 : file * 5 / 2;

	printf("# %s: the file takes %lld bytes, the group %lld\n", what, file, by);
	CHECK(by >= file - MIB);
	CHECK(by <= most + MIB);
}

/* Arm in a file that another process has opened. */
static void arm_and_leave(int fd)
{
	long long before = memory_now(), file = dev_info(fd).file_memory;
	int i;

	/* In parts: the array of operations is charged as well. */
	for (i = 0; i < TIMERS; i += 1000)
		CHECK_EQ(dev_arm_many(fd, 1000, HOUR), 1000);
	file = dev_info(fd).file_memory - file;
	/* 64 bytes a timer; of a kernel of 32 bits 56 */
	CHECK(file >= 56LL * TIMERS);
	check_grown("timers", memory_now() - before, file);
}

TEST(arming_task_is_charged)
{
	int fd = dev_open_virtual();
	long long held, file;

	group_make();
	CHECK_EQ(group_run(arm_and_leave, fd), 0);
	/* The charge lasts as long as the file. */
	held = memory_now();
	file = dev_info(fd).file_memory;
	CHECK(held >= file - MIB);
	CHECK_EQ(dev_cancel_all(fd), TIMERS);
	CHECK(memory_now() >= file - MIB);
	close(fd);
	CHECK(memory_now() <= held - file + MIB);
	group_end();
}

/* What the group is charged for cells: before 5.11 the mapping is not, see twheel_limits(7). */
static long long cells_charged(int fd)
{
	struct twheel_info info = dev_info(fd);
	struct utsname name;
	int major, minor;

	NEED(!uname(&name));
	NEED(sscanf(name.release, "%d.%d", &major, &minor) == 2);
	return info.file_memory - (major == 5 && minor < 11 ? info.map_bytes : 0);
}

static void set_up_cells(int unused)
{
	struct twheel_setup setup = { .clock = TWHEEL_VIRTUAL, .max_cells = TIMERS };
	long long before = memory_now(), held, charged;
	char *map;
	int fd;

	(void)unused;
	fd = dev_open_setup(&setup);
	/* All of it is charged at once: nothing more by its use. */
	held = memory_now();
	charged = cells_charged(fd);
	CHECK(dev_info(fd).file_memory >= dev_info(fd).map_bytes);
	check_grown("cells", held - before, charged);
	map = mmap(NULL, dev_info(fd).map_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	NEED(map != MAP_FAILED);
	/* What the mapping needs beside that is page tables. */
	memset(map + dev_info(fd).map_bytes / 2, 0, dev_info(fd).map_bytes / 2);
	CHECK(memory_now() <= held + MIB);
	NEED(munmap(map, dev_info(fd).map_bytes) == 0);
	close(fd);
	CHECK(memory_now() <= held - charged + MIB);
}

TEST(cells_are_charged)
{
	if (!(dev_info(dev_open()).features & TWHEEL_FEATURE_CELLS))
		tap_skip("no shared mapping on this machine");
	group_make();
	CHECK_EQ(group_run(set_up_cells, -1), 0);
	group_end();
}

/* A few at a time, since the kernel takes long to refuse one. */
static void until_refused(int fd)
{
	struct twheel_op ops[32] = { };
	unsigned int i, n;

	for (n = 0; n < TIMERS; n += SIZE_OF(ops)) {
		for (i = 0; i < SIZE_OF(ops); i++)
			ops[i] = (struct twheel_op) { .op = TWHEEL_OP_ARM, .time_ns = HOUR };
		CHECK_EQ(dev_ops(fd, ops, SIZE_OF(ops)), SIZE_OF(ops));
		if (ops[SIZE_OF(ops) - 1].result) {
			CHECK_EQ(ops[SIZE_OF(ops) - 1].result, -ENOMEM);
			return;
		}
	}
}

/* The group's limit holds: a task that arms beyond it is refused memory, or killed. */
TEST(group_limit_holds)
{
	int fd = dev_open_virtual(), status;
	uint64_t timers;

	group_make();
	memory_write("memory.max", "3145728");
	status = group_run(until_refused, fd);
	CHECK(status == 0 || (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL));
	timers = dev_info(fd).timers;
	printf("# %llu timers fit\n", (unsigned long long)timers);
	CHECK(timers > 0 && timers < TIMERS);
	CHECK(memory_now() <= 3 * MIB);
	/* Other processes are not affected, nor is the file. */
	CHECK_EQ(dev_arm_many(fd, 1000, HOUR), 1000);
	dev_advance(fd, 2 * HOUR);
	dev_read(fd);
	CHECK_EQ(dev_cancel_all(fd), timers + 999);
	close(fd);
	group_end();
}
