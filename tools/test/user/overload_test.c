// SPDX-License-Identifier: GPL-2.0-only
/*
 * A file that takes more than its share of a CPU is served by a thread, and so are the
 * files of a user that do so together, unless that is root.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
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

/* Arm so many that are due at once; when they have expired, they are cancelled. */
static void gorge(int fd, unsigned int count)
{
	struct twheel_op *ops = calloc(count, sizeof(*ops));
	unsigned int i;

	NEED(ops);
	for (i = 0; i < count; i++)
		ops[i].op = TWHEEL_OP_ARM;
	NEED(dev_batch(fd, ops, count) == (int)count);
	dev_wait_unread(fd, count);
	NEED(ioctl(fd, TWHEEL_IOC_CANCEL_ALL) == (int)count);
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
		gorge(greedy, GREEDY);
	CHECK(dev_info(greedy).threaded);
	gorge(greedy, GREEDY);

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

/* Each CPU has an account of its own. */
static void stay_on_one_cpu(void)
{
	cpu_set_t one;

	CPU_ZERO(&one);
	CPU_SET(0, &one);
	NEED(sched_setaffinity(0, sizeof(one), &one) == 0);
}

#define FILES		40
/* So often at least may one file nibble before a thread serves it; ten times that. */
#define OFTEN		2
/* More often than it does, whatever the machine. */
#define TOO_OFTEN	250

static unsigned int nibble;

/* How often may one file do that before a thread serves it? A tenth of it. */
static int alone(int unused)
{
	int fd = dev_open(), i;

	(void)unused;
	stay_on_one_cpu();
	for (i = 0; i < 10 * TOO_OFTEN && !dev_info(fd).threaded; i++)
		gorge(fd, nibble);
	return i / 10;
}

/* What together() returns; anything else: an event was lost, or there was one too many. */
#define A_THREAD	42
#define NO_THREAD	43

/*
 * And many in turn? Not ten times as often, though they may be slower at it; each of them
 * a quarter of what it may.
 */
static int together(int tenths)
{
	int fds[FILES], n, i;
	bool over = false;

	stay_on_one_cpu();
	for (n = 0; n < FILES; n++) {
		fds[n] = dev_open();
		/* That makes its wheel. */
		NEED(dev_cancel(fds[n], dev_arm(fds[n], 3600 * S, 0)) == 0);
	}
	for (i = 0; i < 100 * tenths && !over; i++) {
		gorge(fds[i % FILES], nibble);
		over = dev_info(fds[i % FILES]).threaded;
	}
	for (n = 0; n < FILES; n++)
		if (dev_info(fds[n]).fired !=
		    (uint64_t)(i / FILES + (n < i % FILES)) * nibble)
			return 0;
	return over ? A_THREAD : NO_THREAD;
}

static void files_of_a_user_are_one(void)
{
	int tenths = 0, ends = 0, i;
	unsigned int uid = 1001;
	struct stat st;

	set_share("1");
	atexit(set_default);
	NEED(stat("/dev/twheel", &st) == 0);
	NEED(chmod("/dev/twheel", 0666) == 0);
	/* As many timers as this machine may serve that often. */
	for (nibble = 2048; nibble > 1 && tenths < OFTEN;) {
		nibble /= 2;
		tenths = dev_as_user(uid++, alone, 0);
	}
	printf("# %u timers: %u0 times\n", nibble, tenths);
	CHECK(tenths >= OFTEN && tenths < TOO_OFTEN);
	CHECK_EQ(dev_as_user(uid, together, tenths), A_THREAD);
	/*
	 * Root may take what it likes, but for what each file may: that is exceeded at
	 * once where the host lets the guest wait within a pass.
	 */
	for (i = 0; i < 20 && ends != NO_THREAD; i++)
		ends = dev_as_user(0, together, tenths);
	CHECK_EQ(ends, NO_THREAD);
	NEED(chmod("/dev/twheel", st.st_mode & 07777) == 0);
}

static void no_limit_no_thread(void)
{
	unsigned int i;
	int fd;

	set_share("0");
	atexit(set_default);
	fd = dev_open();
	for (i = 0; i < 20; i++)
		gorge(fd, GREEDY);
	CHECK_EQ(dev_info(fd).threaded, 0);
	CHECK_EQ(dev_info(fd).fired, 20 * GREEDY);
	close(fd);
}

/* More than all of it is all of it. */
int main(int argc, char **argv)
{
	static const struct tap_test tests[] = {
		TAP(greedy_gets_a_thread),
		TAP(files_of_a_user_are_one),
		TAP(no_limit_no_thread),
	};

	return tap_main(tests, sizeof(tests) / sizeof(*tests), argc, argv);
}
