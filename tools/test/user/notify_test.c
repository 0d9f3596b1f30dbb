// SPDX-License-Identifier: GPL-2.0-only
/* How a program hears of events, and what it can say about periods. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "lib/device.h"
#include "lib/tap.h"

static int attach(int fd, int eventfd)
{
	struct twheel_eventfd arg = { .fd = eventfd };

	return ioctl(fd, TWHEEL_IOC_EVENTFD, &arg);
}

static uint64_t counted(int eventfd)
{
	uint64_t count;

	return read(eventfd, &count, 8) == 8 ? count : 0;
}

static void eventfd_counts(void)
{
	int fd = dev_open(), a = eventfd(0, EFD_NONBLOCK), i;
	int b = eventfd(0, EFD_NONBLOCK);

	CHECK(dev_info(fd).features & TWHEEL_FEATURE_EVENTFD);
	CHECK_EQ(attach(fd, a), 0);
	for (i = 0; i < 5; i++)
		dev_arm(fd, i * MS, 0);
	dev_wait_unread(fd, 5);
	CHECK_EQ(counted(a), 5);
	/* Another one instead, and then none. */
	CHECK_EQ(attach(fd, b), 0);
	dev_arm(fd, MS, 0);
	dev_wait_unread(fd, 6);
	CHECK_EQ(counted(a), 0);
	CHECK_EQ(counted(b), 1);
	CHECK_EQ(attach(fd, -1), 0);
	CHECK_EQ(attach(fd, -1), 0);
	dev_arm(fd, MS, 0);
	dev_wait_unread(fd, 7);
	CHECK_EQ(counted(b), 0);
}

static void eventfd_outlives(void)
{
	int fd = dev_open(), a = eventfd(0, 0), copy = dup(a);

	CHECK_EQ(attach(fd, a), 0);
	close(a);
	dev_arm(fd, 20 * MS, 0);
	/* Blocks until it has fired. */
	CHECK_EQ(counted(copy), 1);
	CHECK_EQ(attach(fd, copy), 0);
	dev_arm(fd, 3600 * S, 0);
	close(copy);
	close(fd);
}

static void eventfd_refused(void)
{
	int fd = dev_open(), good = eventfd(0, EFD_NONBLOCK);
	struct twheel_eventfd bad[2] = {
		{ .fd = good, .flags = 1 }, { .fd = good, .reserved = 1 },
	};

	CHECK_EQ(attach(fd, good), 0);
	CHECK_ERR(ioctl(fd, TWHEEL_IOC_EVENTFD, &bad[0]), EINVAL);
	CHECK_ERR(ioctl(fd, TWHEEL_IOC_EVENTFD, &bad[1]), EINVAL);
	CHECK_ERR(ioctl(fd, TWHEEL_IOC_EVENTFD, 8), EFAULT);
	CHECK_ERR(attach(fd, -2), EINVAL);
	CHECK_ERR(attach(fd, fd), EINVAL);
	CHECK_ERR(attach(fd, 999), EBADF);
	/* What was there still is. */
	dev_arm(fd, 0, 0);
	dev_wait_unread(fd, 1);
	CHECK_EQ(counted(good), 1);
}

static atomic_int signals;

static void note(int signal)
{
	(void)signal;
	signals++;
}

static void sigio_comes(void)
{
	struct sigaction action = { .sa_handler = note };
	int fd = dev_open_flags(O_NONBLOCK), tries;

	sigaction(SIGIO, &action, NULL);
	NEED(fcntl(fd, F_SETOWN, getpid()) == 0);
	dev_arm(fd, 0, 0);
	dev_wait_unread(fd, 1);
	CHECK_EQ(signals, 0);
	NEED(fcntl(fd, F_SETFL, O_NONBLOCK | O_ASYNC) == 0);
	dev_arm(fd, 20 * MS, 0);
	for (tries = 0; !signals && tries < 1000; tries++)
		usleep(10000);
	CHECK_EQ(signals, 1);
	NEED(fcntl(fd, F_SETFL, O_NONBLOCK) == 0);
	dev_arm(fd, 0, 0);
	dev_wait_unread(fd, 3);
	CHECK_EQ(signals, 1);
	NEED(fcntl(fd, F_SETFL, O_NONBLOCK | O_ASYNC) == 0);
	dev_arm(fd, 3600 * S, 0);
	close(fd);
}

/* What fdinfo says. */
static const char *fdinfo(int fd)
{
	static char text[4096];
	char path[64];
	FILE *file;
	size_t n;

	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", fd);
	file = fopen(path, "r");
	NEED(file);
	n = fread(text, 1, sizeof(text) - 1, file);
	NEED(n > 0);
	text[n] = '\0';
	fclose(file);
	return text;
}

static uint64_t late_max(int fd)
{
	const char *line = strstr(fdinfo(fd), "\nlate_max_ns:\t");

	NEED(line);
	return strtoull(strchr(line, '\t'), NULL, 10);
}

static void fdinfo_shows(void)
{
	const char *text;
	int fd = dev_open();

	dev_arm(fd, 3600 * S, 0);
	dev_arm(fd, 0, 0);
	dev_wait_unread(fd, 1);
	text = fdinfo(fd);
	CHECK(strstr(text, "\nclockid:\t1\n"));
	CHECK(strstr(text, "\nslots:\t256\n"));
	CHECK(strstr(text, "\nlevels:\t8\n"));
	CHECK(strstr(text, "\ntick_ns:\t1000000\n"));
	CHECK(strstr(text, "\ntimers:\t2\n"));
	CHECK(strstr(text, "\npending:\t1\n"));
	CHECK(strstr(text, "\nunread:\t1\n"));
	CHECK(strstr(text, "\narmed:\t2\n"));
	CHECK(strstr(text, "\nfired:\t1\n"));
	CHECK(strstr(text, "\ncancelled:\t0\n"));
}

/* The latest expiry there was, whether its event is read or not. */
static void fdinfo_tells_of_lateness(void)
{
	struct twheel_op past = { .flags = TWHEEL_ABS };
	int fd = dev_open(), i;
	uint64_t late = 0;

	CHECK_EQ(late_max(fd), 0);
	for (i = 0; i < 20; i++)
		dev_arm(fd, i * MS, 0);
	for (i = 0; i < 20; i++) {
		struct twheel_event event = dev_read(fd);

		if (event.fired_ns - event.deadline_ns > late)
			late = event.fired_ns - event.deadline_ns;
	}
	CHECK_EQ(late_max(fd), late);
	past.deadline_ns = dev_now(CLOCK_MONOTONIC) / 2;
	late = dev_now(CLOCK_MONOTONIC) - past.deadline_ns;
	dev_arm_op(fd, &past);
	dev_wait_unread(fd, 1);
	CHECK(late_max(fd) >= late);
	CHECK(late_max(fd) <= dev_now(CLOCK_MONOTONIC) - past.deadline_ns);
	late = late_max(fd);
	CHECK_EQ(dev_cancel(fd, past.id), 1);
	dev_arm(fd, 0, 0);
	dev_read(fd);
	CHECK_EQ(late_max(fd), late);
}

static void fdinfo_tells_of_lateness_in_cells(void)
{
	struct twheel_setup setup = {
		.clockid = CLOCK_MONOTONIC, .flags = TWHEEL_SETUP_CELLS,
		.max_timers = 10,
	};
	struct twheel_op op = { .deadline_ns = 0 };
	int fd = dev_open();
	uint64_t before;

	if (!(dev_info(fd).features & TWHEEL_FEATURE_CELLS))
		tap_skip("no shared mapping on this machine");
	NEED(ioctl(fd, TWHEEL_IOC_SETUP, &setup) == 0);
	CHECK_EQ(late_max(fd), 0);
	before = dev_now(CLOCK_MONOTONIC);
	NEED(ioctl(fd, TWHEEL_IOC_ARM, &op) == 0);
	dev_wait_unread(fd, 1);
	/* A tick is never met to the nanosecond. */
	CHECK(late_max(fd) > 0);
	CHECK(late_max(fd) <= dev_now(CLOCK_MONOTONIC) - before);
}

/* A bucket of each level that a timer waits in, and crowds count as one. */
static void fdinfo_tells_of_buckets(void)
{
	struct twheel_op op = { .flags = TWHEEL_ABS };
	uint64_t now = dev_now(CLOCK_MONOTONIC), ids[4];
	static const uint64_t delays[4] = {
		60 * S, 3600 * S, 3600 * S, 3600 * 24 * 3650 * S,
	};
	int fd = dev_open(), i;

	CHECK(strstr(fdinfo(fd), "\noccupied:\t0 0 0 0 0 0 0 0\n"));
	for (i = 0; i < 4; i++) {
		op.id = 0;
		op.deadline_ns = now + delays[i];
		ids[i] = dev_arm_op(fd, &op);
	}
	CHECK(strstr(fdinfo(fd), "\noccupied:\t0 1 1 0 1 0 0 0\n"));
	CHECK_EQ(dev_cancel(fd, ids[1]), 0);
	CHECK(strstr(fdinfo(fd), "\noccupied:\t0 1 1 0 1 0 0 0\n"));
	CHECK_EQ(dev_cancel(fd, ids[2]), 0);
	CHECK(strstr(fdinfo(fd), "\noccupied:\t0 1 0 0 1 0 0 0\n"));
	for (i = 1; i <= 200; i++) {
		op.id = 0;
		op.deadline_ns = now + 3600 * S + i * 66 * S;
		dev_arm_op(fd, &op);
	}
	CHECK(strstr(fdinfo(fd), "\noccupied:\t0 1 200 0 1 0 0 0\n"));
}

/* Levels that are smaller than a word of the bitmap. */
static void fdinfo_tells_of_small_levels(void)
{
	struct twheel_setup setup = { .clockid = CLOCK_MONOTONIC, .slots = 2 };
	int fd = dev_open(), n;
	uint64_t buckets = 0;
	const char *line;
	char *end;

	NEED(ioctl(fd, TWHEEL_IOC_SETUP, &setup) == 0);
	/* Twice as far each time: a level each, and two of its four buckets. */
	for (n = 20; n < 40; n++) {
		dev_arm(fd, MS << n, 0);
		dev_arm(fd, (MS << n) + (MS << n) / 2, 0);
	}
	line = strstr(fdinfo(fd), "\noccupied:\t");
	NEED(line);
	line = strchr(line, '\t');
	for (n = 0; *line != '\n'; n++, line = end)
		buckets += strtoull(line, &end, 10);
	CHECK_EQ(n, 63);
	CHECK_EQ(n, dev_info(fd).levels);
	CHECK_EQ(buckets, 40);
	CHECK_EQ(dev_info(fd).pending, 40);
}

static void fixed_delay_counts_from_reading(void)
{
	int fd = dev_open(), i;
	struct twheel_op op = {
		.flags = TWHEEL_FIXED_DELAY, .deadline_ns = 10 * MS,
		.period_ns = 30 * MS,
	};

	dev_arm_op(fd, &op);
	dev_read(fd);
	for (i = 0; i < 4; i++) {
		uint64_t before = dev_now(CLOCK_MONOTONIC);
		struct twheel_event event;

		usleep(i * 40000);
		event = dev_read(fd);
		CHECK_EQ(event.count, 1);
		/* It was armed when the one before was read. */
		CHECK(event.deadline_ns <= before + 30 * MS);
		CHECK(dev_now(CLOCK_MONOTONIC) >= event.deadline_ns);
		dev_wait_unread(fd, 1);
		CHECK_EQ(dev_query(fd, op.id, &op), 0);
		CHECK(op.deadline_ns >= before + (i * 40 + 30) * MS);
	}
}

static void fixed_delay_needs_a_period(void)
{
	int fd = dev_open();
	struct twheel_op op = {
		.flags = TWHEEL_FIXED_DELAY, .deadline_ns = 10 * MS,
	};

	CHECK_ERR(ioctl(fd, TWHEEL_IOC_ARM, &op), EINVAL);
	op.period_ns = 10 * MS;
	CHECK_EQ(ioctl(fd, TWHEEL_IOC_ARM, &op), 0);
}

static void slack_of_every_period(void)
{
	int fd = dev_open(), i;
	struct twheel_op op = {
		.deadline_ns = 5 * MS, .period_ns = 64 * MS,
		.slack_ns = 40 * MS,
	}, got;
	uint64_t total = 0;

	dev_arm_op(fd, &op);
	for (i = 0; i < 4; i++) {
		struct twheel_event event = dev_read(fd);

		/* Within the slack it may be late; its phase it keeps. */
		CHECK_EQ(event.deadline_ns,
			 op.deadline_ns + total * op.period_ns);
		total += event.count;
		CHECK_EQ(dev_query(fd, op.id, &got), 0);
		CHECK_EQ(got.slack_ns, 40 * MS);
	}
}

static const struct tap_test tests[] = {
	TAP(eventfd_counts),
	TAP(eventfd_outlives),
	TAP(eventfd_refused),
	TAP(sigio_comes),
	TAP(fdinfo_shows),
	TAP(fdinfo_tells_of_lateness),
	TAP(fdinfo_tells_of_lateness_in_cells),
	TAP(fdinfo_tells_of_buckets),
	TAP(fdinfo_tells_of_small_levels),
	TAP(fixed_delay_counts_from_reading),
	TAP(fixed_delay_needs_a_period),
	TAP(slack_of_every_period),
};

int main(int argc, char **argv)
{
	return tap_main(tests, sizeof(tests) / sizeof(*tests), argc, argv);
}
