// SPDX-License-Identifier: GPL-2.0-only
/* What fdinfo shows, and the slack of periodic timers. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "lib/device.h"
#include "lib/tap.h"

/* The text of fdinfo. */
static const char *fdinfo_text(int fd)
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

static uint64_t fdinfo_late_max(int fd)
{
	const char *line = strstr(fdinfo_text(fd), "\nlate_max_ns:\t");

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
	text = fdinfo_text(fd);
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

/* The largest lateness of an expiry, whether its event is read or not. */
static void fdinfo_shows_lateness(void)
{
	struct twheel_op past = { .flags = TWHEEL_ABS };
	int fd = dev_open(), i;
	uint64_t late = 0;

	CHECK_EQ(fdinfo_late_max(fd), 0);
	for (i = 0; i < 20; i++)
		dev_arm(fd, i * MS, 0);
	for (i = 0; i < 20; i++) {
		struct twheel_event event = dev_read(fd);

		if (event.fired_ns - event.deadline_ns > late)
			late = event.fired_ns - event.deadline_ns;
	}
	CHECK_EQ(fdinfo_late_max(fd), late);
	past.deadline_ns = dev_now(CLOCK_MONOTONIC) / 2;
	late = dev_now(CLOCK_MONOTONIC) - past.deadline_ns;
	dev_arm_op(fd, &past);
	dev_wait_unread(fd, 1);
	CHECK(fdinfo_late_max(fd) >= late);
	CHECK(fdinfo_late_max(fd) <= dev_now(CLOCK_MONOTONIC) - past.deadline_ns);
	late = fdinfo_late_max(fd);
	CHECK_EQ(dev_cancel(fd, past.id), 1);
	dev_arm(fd, 0, 0);
	dev_read(fd);
	CHECK_EQ(fdinfo_late_max(fd), late);
}

static void fdinfo_shows_lateness_of_cells(void)
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
	CHECK_EQ(fdinfo_late_max(fd), 0);
	before = dev_now(CLOCK_MONOTONIC);
	NEED(ioctl(fd, TWHEEL_IOC_ARM, &op) == 0);
	dev_wait_unread(fd, 1);
	/* No timer fires at its very nanosecond. */
	CHECK(fdinfo_late_max(fd) > 0);
	CHECK(fdinfo_late_max(fd) <= dev_now(CLOCK_MONOTONIC) - before);
}

/* The number of buckets with timers, for each level. */
static void fdinfo_shows_buckets(void)
{
	struct twheel_op op = { .flags = TWHEEL_ABS };
	uint64_t now = dev_now(CLOCK_MONOTONIC), ids[4];
	static const uint64_t delays[4] = {
		60 * S, 3600 * S, 3600 * S, 3600 * 24 * 3650 * S,
	};
	int fd = dev_open(), i;

	CHECK(strstr(fdinfo_text(fd), "\noccupied:\t0 0 0 0 0 0 0 0\n"));
	for (i = 0; i < 4; i++) {
		op.id = 0;
		op.deadline_ns = now + delays[i];
		ids[i] = dev_arm_op(fd, &op);
	}
	CHECK(strstr(fdinfo_text(fd), "\noccupied:\t0 1 1 0 1 0 0 0\n"));
	CHECK_EQ(dev_cancel(fd, ids[1]), 0);
	CHECK(strstr(fdinfo_text(fd), "\noccupied:\t0 1 1 0 1 0 0 0\n"));
	CHECK_EQ(dev_cancel(fd, ids[2]), 0);
	CHECK(strstr(fdinfo_text(fd), "\noccupied:\t0 1 0 0 1 0 0 0\n"));
	for (i = 1; i <= 200; i++) {
		op.id = 0;
		op.deadline_ns = now + 3600 * S + i * 66 * S;
		dev_arm_op(fd, &op);
	}
	CHECK(strstr(fdinfo_text(fd), "\noccupied:\t0 1 200 0 1 0 0 0\n"));
}

/* Levels with fewer buckets than a word of the bitmap has bits. */
static void fdinfo_shows_small_levels(void)
{
	struct twheel_setup setup = { .clockid = CLOCK_MONOTONIC, .slots = 2 };
	int fd = dev_open(), n;
	uint64_t buckets = 0;
	const char *line;
	char *end;

	NEED(ioctl(fd, TWHEEL_IOC_SETUP, &setup) == 0);
	/* Each delay is twice the last one: a level each, and two of its four buckets. */
	for (n = 20; n < 40; n++) {
		dev_arm(fd, MS << n, 0);
		dev_arm(fd, (MS << n) + (MS << n) / 2, 0);
	}
	line = strstr(fdinfo_text(fd), "\noccupied:\t");
	NEED(line);
	line = strchr(line, '\t');
	for (n = 0; *line != '\n'; n++, line = end)
		buckets += strtoull(line, &end, 10);
	CHECK_EQ(n, 63);
	CHECK_EQ(n, dev_info(fd).levels);
	CHECK_EQ(buckets, 40);
	CHECK_EQ(dev_info(fd).pending, 40);
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

		/* It may be late by the slack, but keeps its phase. */
		CHECK_EQ(event.deadline_ns,
			 op.deadline_ns + total * op.period_ns);
		total += event.count;
		CHECK_EQ(dev_query(fd, op.id, &got), 0);
		CHECK_EQ(got.slack_ns, 40 * MS);
	}
}

static const struct tap_test tests[] = {
	TAP(fdinfo_shows),
	TAP(fdinfo_shows_lateness),
	TAP(fdinfo_shows_lateness_of_cells),
	TAP(fdinfo_shows_buckets),
	TAP(fdinfo_shows_small_levels),
	TAP(slack_of_every_period),
};

int main(int argc, char **argv)
{
	return tap_main(tests, sizeof(tests) / sizeof(*tests), argc, argv);
}
