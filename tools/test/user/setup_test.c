// SPDX-License-Identifier: GPL-2.0-only
/* A file that is being set up, while other threads use it already. */
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "lib/device.h"
#include "lib/tap.h"

#define DEVICE	"/dev/twheel"
#define PARAMETER	"/sys/module/twheel/parameters/user_timers"
#define TICK_MIN	"/sys/module/twheel/parameters/tick_min_ns"

#define ROUNDS		10

/* How often the other thread has to come while a file is being set up. */
#define IN_TIME		5

/* To set up cells takes a while. If it ends too soon, more cells are set up. */
#define FEWEST_CELLS	5000
#define MOST_CELLS	2000000

static atomic_bool setup_over;
static unsigned int nr_cells;
static int fd;
static uint64_t before;

/* Has the setup begun? */
static bool setup_goes_on(void)
{
	return dev_info(fd).user_timers > before;
}

/* Every call that names a timer or arms one, while there is none yet. */
static void *hasty_thread(void *arg)
{
	bool *armed = arg;

	while (!setup_goes_on() && !setup_over)
		;
	for (unsigned int i = 0; !setup_over; i++) {
		struct twheel_op op = { .id = 1ULL << 32 | i % nr_cells };

		CHECK_ERR(ioctl(fd, TWHEEL_IOC_QUERY, &op), ENOENT);
		CHECK_ERR(ioctl(fd, TWHEEL_IOC_CANCEL, &op), ENOENT);
		CHECK_EQ(dev_cancel_all(fd), 0);
		dev_info(fd);
		dev_readable(fd, 0);
		if (armed && i > 2) {
			/* Waits until the setup is done. */
			op = (struct twheel_op) { .deadline_ns = 3600 * S };
			*armed = !ioctl(fd, TWHEEL_IOC_ARM, &op);
			break;
		}
	}
	return NULL;
}

static int set_up(void)
{
	struct twheel_setup setup = {
		.clockid = CLOCK_MONOTONIC, .flags = TWHEEL_SETUP_CELLS,
		.max_timers = nr_cells,
	};

	return ioctl(fd, TWHEEL_IOC_SETUP, &setup);
}

static void need_cells(void)
{
	fd = dev_open();
	if (!(dev_info(fd).features & TWHEEL_FEATURE_CELLS))
		tap_skip("no shared mapping on this machine");
	close(fd);
}

static void arms_when_it_is_done(void)
{
	unsigned int in_time = 0;
	pthread_t thread;
	bool armed;

	need_cells();
	nr_cells = FEWEST_CELLS;
	while (in_time < IN_TIME) {
		NEED(nr_cells <= MOST_CELLS);
		setup_over = false;
		armed = false;
		fd = dev_open();
		before = dev_info(fd).user_timers;
		NEED(!pthread_create(&thread, NULL, hasty_thread, &armed));
		NEED(set_up() == 0);
		setup_over = true;
		pthread_join(thread, NULL);
		CHECK_EQ(dev_info(fd).max_timers, nr_cells);
		CHECK_EQ(dev_info(fd).timers, armed);
		if (armed)
			in_time++;
		else
			nr_cells += nr_cells / 4;
		close(fd);
	}
}

static void user_limit_set(const char *limit)
{
	FILE *file = fopen(PARAMETER, "w");

	if (!file)
		tap_skip("%s cannot be written", PARAMETER);
	NEED(fprintf(file, "%s\n", limit) > 0);
	NEED(fclose(file) == 0);
}

static void user_limit_reset(void)
{
	user_limit_set("4194304");
}

/* Open a file without root's exemption from limits. */
static int open_limited(void)
{
	struct stat st;
	int limited;

	NEED(stat(DEVICE, &st) == 0);
	NEED(chmod(DEVICE, 0666) == 0);
	NEED(seteuid(1234) == 0);
	limited = dev_open();
	NEED(seteuid(0) == 0);
	NEED(chmod(DEVICE, st.st_mode & 07777) == 0);
	CHECK(dev_info(limited).user_limit != TWHEEL_NO_LIMIT);
	return limited;
}

/* It runs out of room halfway, and leaves nothing behind. */
static void fails_as_a_whole(void)
{
	pthread_t thread;
	int i;

	need_cells();
	nr_cells = 10000;
	user_limit_set("8000");
	tap_at_end(user_limit_reset);
	fd = open_limited();
	before = dev_info(fd).user_timers;
	NEED(!pthread_create(&thread, NULL, hasty_thread, NULL));
	for (i = 0; i < ROUNDS; i++) {
		CHECK_ERR(set_up(), EDQUOT);
		CHECK_EQ(dev_info(fd).user_timers, before);
	}
	setup_over = true;
	pthread_join(thread, NULL);
	dev_arm(fd, MS, 7);
	CHECK_EQ(dev_read(fd).cookie, 7);
	close(fd);
}

/* A refused arm changes nothing: the file can still be set up. */
static void is_not_late(void)
{
	struct twheel_setup setup = { .clockid = CLOCK_BOOTTIME };

	CHECK_EQ(ioctl(fd, TWHEEL_IOC_SETUP, &setup), 0);
	CHECK_EQ(dev_info(fd).clockid, CLOCK_BOOTTIME);
	close(fd);
}

static void after_refused_arms(void)
{
	struct twheel_op op = { .deadline_ns = 3600 * S, .period_ns = 1 };

	fd = dev_open();
	CHECK_ERR(ioctl(fd, TWHEEL_IOC_ARM, &op), EINVAL);
	is_not_late();
	user_limit_set("100");
	tap_at_end(user_limit_reset);
	fd = open_limited();
	op.period_ns = 0;
	CHECK_ERR(ioctl(fd, TWHEEL_IOC_ARM, &op), EDQUOT);
	CHECK_EQ(dev_info(fd).user_timers, 0);
	is_not_late();
}

static void tick_min_set(const char *value)
{
	FILE *parameter = fopen(TICK_MIN, "w");

	NEED(parameter && fputs(value, parameter) >= 0 && fclose(parameter) == 0);
}

static void tick_min_reset(void)
{
	tick_min_set("10000");
}

/* The default tick is a millisecond, but no less than a program may ask for. */
static void default_tick(void)
{
	struct twheel_setup setup = { .clockid = CLOCK_MONOTONIC };
	struct twheel_op op = { .deadline_ns = MS, .period_ns = MS };
	int early = dev_open(), plain;

	tap_at_end(tick_min_reset);
	tick_min_set("500000");
	CHECK_EQ(dev_info(dev_open()).tick_ns, MS);
	tick_min_set("1000000000");
	plain = dev_open();
	CHECK_EQ(dev_info(plain).tick_ns, S);
	CHECK_ERR(ioctl(plain, TWHEEL_IOC_ARM, &op), EINVAL);
	op.period_ns = S;
	CHECK_EQ(ioctl(plain, TWHEEL_IOC_ARM, &op), 0);
	CHECK_EQ(dev_info(plain).tick_ns, S);
	/* A file has the default of when it was opened, or set up. */
	CHECK_EQ(dev_info(early).tick_ns, MS);
	plain = dev_open();
	CHECK_EQ(ioctl(early, TWHEEL_IOC_SETUP, &setup), 0);
	CHECK_EQ(dev_info(early).tick_ns, S);
	tick_min_reset();
	CHECK_EQ(dev_info(plain).tick_ns, S);
	dev_arm(plain, S, 0);
	CHECK_EQ(dev_info(plain).tick_ns, S);
}

int main(int argc, char **argv)
{
	static const struct tap_test tests[] = {
		TAP(arms_when_it_is_done),
		TAP(fails_as_a_whole),
		TAP(after_refused_arms),
		TAP(default_tick),
	};

	return tap_main(tests, sizeof(tests) / sizeof(*tests), argc, argv);
}
