// SPDX-License-Identifier: GPL-2.0-only
/* A file that takes more than its share of a CPU is served by a thread. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "lib/device.h"
#include "lib/tap.h"

#define PARAMETER	"/sys/module/twheel/parameters/device_share"

/* What that many take when they expire is more than a hundredth of any CPU. */
#define GREEDY		5000
#define ROUNDS		300

static void set_share(const char *percent)
{
	FILE *file = fopen(PARAMETER, "w");

	if (!file)
		tap_skip("%s cannot be written", PARAMETER);
	NEED(fprintf(file, "%s\n", percent) > 0);
	NEED(fclose(file) == 0);
}

static void set_default(void)
{
	set_share("25");
}

/* Arm many that are due at once; when they have expired, they are cancelled. */
static void gorge(int fd)
{
	struct twheel_op *ops = calloc(GREEDY, sizeof(*ops));
	unsigned int i;

	NEED(ops);
	for (i = 0; i < GREEDY; i++)
		ops[i].op = TWHEEL_OP_ARM;
	CHECK_EQ(dev_batch(fd, ops, GREEDY), GREEDY);
	dev_wait_unread(fd, GREEDY);
	CHECK_EQ(ioctl(fd, TWHEEL_IOC_CANCEL_ALL), GREEDY);
	free(ops);
}

/* Each expires once, whoever serves it; and a modest file knows nothing of that. */
static void greedy_gets_a_thread(void)
{
	struct twheel_info info;
	int greedy, modest;
	unsigned int i;

	set_share("1");
	atexit(set_default);
	greedy = dev_open();
	modest = dev_open();
	for (i = 0; i < ROUNDS && !dev_info(greedy).threaded; i++)
		gorge(greedy);
	CHECK(dev_info(greedy).threaded);
	gorge(greedy);

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

static void no_limit_no_thread(void)
{
	unsigned int i;
	int fd;

	set_share("0");
	atexit(set_default);
	fd = dev_open();
	for (i = 0; i < 20; i++)
		gorge(fd);
	CHECK_EQ(dev_info(fd).threaded, 0);
	CHECK_EQ(dev_info(fd).fired, 20 * GREEDY);
	close(fd);
}

/* More than all of it is all of it. */
int main(int argc, char **argv)
{
	static const struct tap_test tests[] = {
		TAP(greedy_gets_a_thread),
		TAP(no_limit_no_thread),
	};

	return tap_main(tests, sizeof(tests) / sizeof(*tests), argc, argv);
}
