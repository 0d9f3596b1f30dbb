// SPDX-License-Identifier: GPL-2.0-only
/* Setting a file up beside all else: it is done in one piece, or not at all. */
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "lib/device.h"
#include "lib/tap.h"

#define PARAMETER	"/sys/module/twheel/parameters/user_timers"

/** struct beside - what another thread does while a file is set up */
struct beside {
	int fd;
	atomic_bool over;
};

/* Arms, and names timers that may just have come into being. */
static void *use(void *arg)
{
	struct beside *beside = arg;
	uint32_t i = 0;

	while (!beside->over) {
		struct twheel_op op = {
			.flags = i % 2 ? TWHEEL_ABS : 0,
			.deadline_ns = 3600 * S,
		};

		i++;
		if (ioctl(beside->fd, TWHEEL_IOC_ARM, &op) && errno != EBUSY &&
		    errno != EINVAL && errno != EDQUOT)
			return arg;
		dev_cancel(beside->fd, 1ULL << 32 | i * 61 % 2048);
		if (!(i % 16))
			ioctl(beside->fd, TWHEEL_IOC_CANCEL_ALL);
	}
	return NULL;
}

/* Set files up with cells beside that. Returns how often that did not fail. */
static int set_up(int rounds)
{
	struct twheel_setup setup = {
		.clockid = CLOCK_MONOTONIC, .flags = TWHEEL_SETUP_CELLS,
		.max_timers = 2000,
	};
	int good = 0, i;

	for (i = 0; i < rounds; i++) {
		struct beside beside = { .fd = dev_open() };
		pthread_t thread;
		void *wrong;

		NEED(!pthread_create(&thread, NULL, use, &beside));
		if (!ioctl(beside.fd, TWHEEL_IOC_SETUP, &setup)) {
			good++;
			CHECK(dev_info(beside.fd).map_bytes > 0);
			CHECK_EQ(dev_info(beside.fd).max_timers, 2000);
		} else {
			CHECK(errno == EBUSY || errno == EDQUOT);
		}
		beside.over = true;
		pthread_join(thread, &wrong);
		CHECK(!wrong);
		ioctl(beside.fd, TWHEEL_IOC_CANCEL_ALL);
		CHECK_EQ(dev_info(beside.fd).timers, 0);
		close(beside.fd);
	}
	return good;
}

static void beside_arms(void)
{
	int fd = dev_open();

	if (!(dev_info(fd).features & TWHEEL_FEATURE_CELLS))
		tap_skip("no shared mapping on this machine");
	set_up(100);
	CHECK_EQ(dev_info(fd).user_timers, 0);
}

static void set_limit(unsigned long limit)
{
	FILE *file = fopen(PARAMETER, "w");

	if (!file)
		tap_skip("%s cannot be written", PARAMETER);
	NEED(fprintf(file, "%lu\n", limit) > 0 && fclose(file) == 0);
}

static unsigned long limit(void)
{
	FILE *file = fopen(PARAMETER, "r");
	unsigned long limit;

	if (!file)
		tap_skip("%s cannot be read", PARAMETER);
	NEED(fscanf(file, "%lu", &limit) == 1);
	fclose(file);
	return limit;
}

/* Run @fn as a user who may have so many timers, and expect it to return 0. */
static void with_limit(unsigned long most, int (*fn)(void))
{
	unsigned long before = limit();
	int status = -1;
	struct stat st;
	pid_t child;

	NEED(stat("/dev/twheel", &st) == 0 && chmod("/dev/twheel", 0666) == 0);
	set_limit(most);
	child = fork();
	if (!child) {
		NEED(setgid(1234) == 0 && setuid(1234) == 0);
		_exit(fn());
	}
	waitpid(child, &status, 0);
	set_limit(before);
	NEED(chmod("/dev/twheel", st.st_mode & 07777) == 0);
	CHECK_EQ(status, 0);
}

static int fails_half_way(void)
{
	bool none = CHECK_EQ(set_up(100), 0);

	return !(none && CHECK_EQ(dev_info(dev_open()).user_timers, 0));
}

static void fails_beside_others(void)
{
	int fd = dev_open();

	if (!(dev_info(fd).features & TWHEEL_FEATURE_CELLS))
		tap_skip("no shared mapping on this machine");
	with_limit(1024, fails_half_way);
}

static int refused_for_the_user(void)
{
	struct twheel_setup setup = { .clockid = CLOCK_BOOTTIME };
	struct twheel_op op = { .deadline_ns = 3600 * S };
	int fd = dev_open();

	return !(CHECK_ERR(ioctl(fd, TWHEEL_IOC_ARM, &op), EDQUOT) &&
		 CHECK_EQ(dev_info(fd).user_timers, 0) &&
		 CHECK_EQ(ioctl(fd, TWHEEL_IOC_SETUP, &setup), 0) &&
		 CHECK_EQ(dev_info(fd).clockid, CLOCK_BOOTTIME));
}

/* What fails changes nothing: no timer was armed, so it is not too late. */
static void after_refused_arms(void)
{
	struct twheel_op op = { .deadline_ns = 3600 * S, .period_ns = 1 };
	struct twheel_setup setup = { .clockid = CLOCK_BOOTTIME };
	int fd = dev_open();

	CHECK_ERR(ioctl(fd, TWHEEL_IOC_ARM, &op), EINVAL);
	CHECK_EQ(ioctl(fd, TWHEEL_IOC_SETUP, &setup), 0);
	CHECK_EQ(dev_info(fd).clockid, CLOCK_BOOTTIME);
	with_limit(100, refused_for_the_user);
}

static const struct tap_test tests[] = {
	TAP(beside_arms),
	TAP(fails_beside_others),
	TAP(after_refused_arms),
};

int main(int argc, char **argv)
{
	return tap_main(tests, sizeof(tests) / sizeof(*tests), argc, argv);
}
