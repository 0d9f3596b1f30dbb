// SPDX-License-Identifier: GPL-2.0-only
/* Limits of users: by who has opened a file, and whose user namespaces they are in. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/sysinfo.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/device.h"
#include "lib/tap.h"

#define MIB	(1024 * 1024LL)

/* Who has limits in the tests of memory. Root sets them meanwhile. */
#define USER	1005

/* What a user may have in the tests, and so much room comes at a time. */
#define MOST	1024
#define ROOM	64

/* No free entry is left over: so many are armed, and one more is refused. */
static int arms_up_to(int count)
{
	struct twheel_op op = { .op = TWHEEL_OP_ARM, .time_ns = HOUR };
	int fd = dev_open();

	CHECK_EQ(dev_arm_many(fd, count + 100, HOUR), count);
	CHECK_ERR(dev_op(fd, &op), EDQUOT);
	return 0;
}

static int files_count_together(int unused)
{
	int a = dev_open(), b = dev_open();

	(void)unused;
	CHECK_EQ(dev_info(a).user_limit, MOST);
	CHECK_EQ(dev_info(a).user_timers, 0);
	CHECK_EQ(dev_arm_many(a, 7 * ROOM - 1, HOUR), 7 * ROOM - 1);
	/* Room counts, and not what is in it. */
	CHECK_EQ(dev_info(b).user_timers, 7 * ROOM);
	CHECK_EQ(dev_arm_many(b, MOST, HOUR), MOST - 7 * ROOM);
	CHECK_EQ(dev_arm_many(a, 2, HOUR), 1);
	/* It is kept until the file is closed. */
	CHECK_EQ(dev_cancel_all(a), 7 * ROOM);
	CHECK_EQ(dev_info(b).user_timers, MOST);
	CHECK_EQ(dev_arm_many(b, 1, HOUR), 0);
	close(a);
	CHECK_EQ(dev_info(b).user_timers, MOST - 7 * ROOM);
	CHECK_EQ(dev_arm_many(b, MOST, HOUR), 7 * ROOM);
	return dev_info(b).timers != MOST;
}

static int arms_in_roots_file(int fd)
{
	CHECK_EQ(dev_info(fd).user_limit, TWHEEL_NO_LIMIT);
	return dev_arm_many(fd, 2 * MOST, HOUR) != 2 * MOST;
}

/* The other way round: root arms for a user. */
static void arms_in_users_file(void)
{
	int fd = dev_open_limited();

	CHECK_EQ(dev_arm_many(fd, 2 * MOST, HOUR), MOST);
	CHECK_EQ(dev_info(fd).user_limit, MOST);
}

TEST(a_user_has_a_limit)
{
	dev_for_everybody();
	dev_param_set("user_timers", MOST);
	CHECK_EQ(dev_as_user(1001, files_count_together, -1), 0);
	/* All of it has gone with the process. Another user has a limit of their own. */
	CHECK_EQ(dev_as_user(1001, arms_up_to, MOST), 0);
	CHECK_EQ(dev_as_user(1002, arms_up_to, MOST), 0);
	CHECK_EQ(dev_as_user(1003, arms_in_roots_file, dev_open()), 0);
	arms_in_users_file();
	/* Root itself is exempt. */
	CHECK_EQ(dev_arm_many(dev_open(), 2 * MOST, HOUR), 2 * MOST);
	/* A limit that is lowered takes nothing away, and one that is raised helps at once. */
	dev_param_set("user_timers", 0);
	CHECK_EQ(dev_as_user(1001, arms_up_to, 0), 0);
	dev_param_set("user_timers", ROOM);
	CHECK_EQ(dev_as_user(1001, arms_up_to, ROOM), 0);
}

/* Cells count as timers do, and all at once. */
static int sets_up_cells(int unused)
{
	struct twheel_setup setup = { .max_cells = MOST + 1 };
	int fd = dev_open();

	(void)unused;
	CHECK_ERR(ioctl(fd, TWHEEL_IOC_SETUP, &setup), EDQUOT);
	CHECK_EQ(dev_info(fd).user_timers, 0);
	setup.max_cells -= ROOM;
	CHECK_EQ(ioctl(fd, TWHEEL_IOC_SETUP, &setup), 0);
	CHECK_EQ(dev_info(fd).user_timers, MOST + 1 - ROOM);
	return dev_arm_many(fd, 1, HOUR) != 0;
}

TEST(cells_count)
{
	if (!(dev_info(dev_open()).features & TWHEEL_FEATURE_CELLS))
		tap_skip("no shared mapping on this machine");
	dev_for_everybody();
	dev_param_set("user_timers", MOST);
	CHECK_EQ(dev_as_user(1001, sets_up_cells, 0), 0);
	CHECK_EQ(dev_as_user(1001, arms_up_to, MOST), 0);
}

/** struct spender - something that takes memory, and what comes before it */
struct spender {
	const char *name;
	void (*before)(int fd);
	int (*spend)(int fd);
};

static int spend_arm(int fd)
{
	struct twheel_op op = { .op = TWHEEL_OP_ARM, .time_ns = HOUR };

	return dev_op(fd, &op);
}

static void before_timers(int fd)
{
	NEED(dev_cancel_all(fd) == 0);
}

static void before_more(int fd)
{
	NEED(dev_arm_many(fd, ROOM, HOUR) == ROOM);
}

static int spend_setup(int fd)
{
	return events_setup(fd, (struct twheel_setup) { .clock = TWHEEL_REALTIME });
}

static int spend_cells(int fd)
{
	return events_setup(fd, (struct twheel_setup) { .max_cells = 1000 });
}

static const struct spender spenders[] = {
	{ "wheel", NULL, dev_cancel_all },
	{ "first timer", before_timers, spend_arm },
	{ "setup", NULL, spend_setup },
	{ "cells", NULL, spend_cells },
	{ "more timers", before_more, spend_arm },
};

/* Each is refused with one byte less than it needs, and leaves nothing behind. */
static void spend_exactly(const struct spender *spender)
{
	struct dev_state was;
	uint64_t opened, spent;
	int fd;

	dev_param_set("user_memory", 0);
	fd = dev_open_as(USER, 0);
	if (spender->spend == spend_cells && !(dev_info(fd).features & TWHEEL_FEATURE_CELLS)) {
		printf("# %s: no shared mapping on this machine\n", spender->name);
		close(fd);
		return;
	}
	opened = dev_info(fd).file_memory;
	if (spender->before)
		spender->before(fd);
	CHECK_EQ(spender->spend(fd), 0);
	spent = dev_info(fd).file_memory;
	CHECK_EQ(dev_info(fd).user_memory, spent);
	printf("# %s: %llu bytes, %llu of them open\n", spender->name,
	       (unsigned long long)spent, (unsigned long long)opened);
	CHECK(opened > 200 && spent > opened);
	close(fd);

	dev_param_set("user_memory", opened - 1);
	CHECK_ERR(dev_open_as(USER, 0), EDQUOT);
	dev_param_set("user_memory", opened);
	fd = dev_open_as(USER, 0);
	CHECK_EQ(dev_info(fd).user_memory_limit, opened);
	CHECK_EQ(dev_info(fd).user_memory, opened);
	/* Others' files do not count, and who is exempt is not refused. */
	CHECK_EQ(dev_info(dev_open()).user_memory_limit, TWHEEL_NO_LIMIT);
	dev_param_set("user_memory", spent - 1);
	if (spender->before)
		spender->before(fd);
	was = dev_state(fd);
	CHECK_ERR(spender->spend(fd), EDQUOT);
	dev_same(fd, &was);
	dev_param_set("user_memory", spent);
	CHECK_EQ(spender->spend(fd), 0);
	CHECK_EQ(dev_info(fd).file_memory, spent);
	CHECK_ERR(dev_open_as(USER, 0), EDQUOT);
	close(fd);
}

TEST(a_user_has_so_much_memory)
{
	unsigned int i;

	dev_for_everybody();
	for (i = 0; i < SIZE_OF(spenders); i++)
		spend_exactly(&spenders[i]);
}

/* The default is a sixteenth of the machine's memory. */
TEST(a_sixteenth_by_default)
{
	struct twheel_info info = dev_info(dev_open_limited());
	struct sysinfo machine;
	uint64_t share;

	NEED(!sysinfo(&machine));
	share = (uint64_t)machine.totalram * machine.mem_unit / 16;
	CHECK(info.user_memory_limit <= share + MIB);
	CHECK(info.user_memory_limit >= share - MIB);
	CHECK_EQ(info.user_limit, dev_param("user_timers"));
}

static void need_namespaces(void)
{
	if (access("/proc/self/ns/user", F_OK))
		tap_skip("this kernel has no user namespaces");
	dev_for_everybody();
	dev_param_set("user_timers", MOST);
}

/* Run @fn as root of a new user namespace, made by that user. Others there begin with 200000. */
static void in_namespace(unsigned int uid, void (*fn)(void))
{
	pid_t child = fork();
	int status;

	NEED(child >= 0);
	if (!child) {
		dev_enter_namespace(uid, 200000, 64);
		fn();
		_exit(tap_failed());
	}
	NEED(waitpid(child, &status, 0) == child);
	CHECK_EQ(status, 0);
}

/* Who makes a namespace has one limit for all that is in it. Capabilities there are none here. */
static void users_within_are_one(void)
{
	int files[3], i;

	for (i = 0; i < 3; i++)
		files[i] = dev_open_as(i + 1, 0);
	CHECK_EQ(dev_arm_many(files[0], MOST / 2, HOUR), MOST / 2);
	CHECK_EQ(dev_info(files[0]).user_limit, MOST);
	/* INFO tells the opener's alone. */
	CHECK_EQ(dev_info(files[0]).user_timers, MOST / 2);
	CHECK_EQ(dev_info(files[1]).user_timers, 0);
	CHECK_EQ(dev_arm_many(files[1], MOST, HOUR), MOST / 2);
	CHECK_EQ(dev_arm_many(files[2], 1, HOUR), 0);
	/* So it is for root of this namespace, who is its owner. */
	CHECK_EQ(dev_arm_many(dev_open(), 1, HOUR), 0);
	CHECK_EQ(dev_info(dev_open()).user_timers, MOST);
	/* And in a namespace of a subordinate user. */
	close(files[0]);
	NEED(setresuid(4, 4, 4) == 0);
	NEED(prctl(PR_SET_DUMPABLE, 1) == 0);
	NEED(unshare(CLONE_NEWUSER) == 0);
	CHECK_EQ(dev_arm_many(dev_open(), MOST, HOUR), MOST / 2);
}

TEST(a_namespace_shares_the_limit)
{
	need_namespaces();
	in_namespace(1006, users_within_are_one);
	/* All of it has gone from all accounts. */
	CHECK_EQ(dev_as_user(1006, arms_up_to, MOST), 0);
	CHECK_EQ(dev_as_user(200000, arms_up_to, MOST), 0);
}

static void users_within_are_apart(void)
{
	int i;

	for (i = 1; i <= 3; i++)
		CHECK_EQ(dev_arm_many(dev_open_as(i, 0), 2 * MOST, HOUR), MOST);
}

/* Containers that root makes do not share one limit: each user in them has their own. */
TEST(root_pays_for_no_container)
{
	need_namespaces();
	in_namespace(0, users_within_are_apart);
	CHECK_EQ(dev_as_user(200002, arms_up_to, MOST), 0);
}
