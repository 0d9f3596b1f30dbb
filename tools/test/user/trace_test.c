// SPDX-License-Identifier: GPL-2.0-only
/*
 * The tracepoints: there are as many events as the counters of the file say, and their
 * fields agree with each other.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <time.h>
#include <unistd.h>

#include "lib/device.h"
#include "lib/tap.h"

/* Not an instance of our own: under emulation, the kernel takes long to make one. */
#define TRACING		"/sys/kernel/tracing"

/* The events of each kind. */
struct seen {
	uint64_t arm, modify, extend, cancel, unfired, cascade, requeue;
	uint64_t entry, exit, pass;
	/* Sums of the counts in the events. */
	uint64_t cascaded, requeued, fired_in_passes, cascaded_in_passes;
	uint64_t requeued_in_passes;
	unsigned int exhausted;
	/* Calls that took as long as the one before. */
	uint64_t took_ns, alike;
};

static int tracefs_write(const char *file, const char *text)
{
	char path[256];
	int fd, ret;

	snprintf(path, sizeof(path), TRACING "/%s", file);
	fd = open(path, O_WRONLY | O_TRUNC);
	if (fd < 0)
		return -1;
	ret = write(fd, text, strlen(text)) == (ssize_t)strlen(text) ? 0 : -1;
	close(fd);
	return ret;
}

static void trace_stop(void)
{
	tracefs_write("events/twheel/enable", "0");
	tracefs_write("events/twheel/filter", "0");
	tracefs_write("buffer_size_kb", "1");
}

/* Trace one wheel; 0: all. */
static void trace_start(uint32_t wheel)
{
	char filter[32];

	if (access(TRACING "/events/twheel", F_OK))
		mount("tracefs", TRACING, "tracefs", 0, NULL);
	if (access(TRACING "/events/twheel", F_OK))
		tap_skip("there is no tracefs here");
	/* Settings that an earlier test may have left. */
	trace_stop();
	NEED(tracefs_write("trace", "\n") == 0);
	NEED(tracefs_write("tracing_on", "1") == 0);
	/* In a smaller buffer, events could be lost. */
	NEED(tracefs_write("buffer_size_kb", "8192") == 0);
	if (wheel) {
		snprintf(filter, sizeof(filter), "wheel == %u", wheel);
		NEED(tracefs_write("events/twheel/filter", filter) == 0);
	}
	NEED(tracefs_write("events/twheel/enable", "1") == 0);
}

/* The number after "key=" in a line; ends the test without one. */
static long long line_number(const char *line, const char *key)
{
	char with[32];
	const char *at;

	snprintf(with, sizeof(with), " %s=", key);
	at = strstr(line, with);
	if (!tap_check(at, __FILE__, __LINE__, "no %s in %s", key, line))
		tap_abort();
	return strtoll(at + strlen(with), NULL, 0);
}

static void seen_take_pass(struct seen *seen, const char *line)
{
	seen->pass++;
	seen->fired_in_passes += line_number(line, "fired");
	seen->cascaded_in_passes += line_number(line, "cascades");
	seen->requeued_in_passes += line_number(line, "requeued");
	seen->exhausted += line_number(line, "exhausted");
}

static void seen_take(struct seen *seen, const char *line)
{
	const struct {
		const char *name;
		uint64_t *count;
	} events[] = {
		{ ": twheel_arm: ", &seen->arm },
		{ ": twheel_modify: ", &seen->modify },
		{ ": twheel_extend: ", &seen->extend },
		{ ": twheel_cancel: ", &seen->cancel },
		{ ": twheel_unfired: ", &seen->unfired },
		{ ": twheel_expire_entry: ", &seen->entry },
		{ ": twheel_expire_exit: ", &seen->exit },
	};
	size_t i;

	CHECK(strstr(line, " name=/dev/twheel "));
	for (i = 0; i < sizeof(events) / sizeof(*events); i++) {
		if (!strstr(line, events[i].name))
			continue;
		++*events[i].count;
		/* The function is shown by its name, and no address is. */
		CHECK(strstr(line, " function=tw_event_expire "));
		/* Before 5.12, pointers of all events are shown as they are. */
		CHECK(!strstr(line, " timer=ffff") ||
		      access(TRACING "/options/hash-ptr", F_OK));
		if (events[i].count == &seen->exit) {
			uint64_t took = line_number(line, "took_ns");

			seen->alike += took == seen->took_ns;
			seen->took_ns = took;
		}
		return;
	}
	if (strstr(line, ": twheel_cascade: ")) {
		seen->cascade++;
		seen->cascaded += line_number(line, "timers");
		CHECK(line_number(line, "levels") > 1);
	} else if (strstr(line, ": twheel_requeue: ")) {
		seen->requeue++;
		seen->requeued += line_number(line, "timers");
	} else if (strstr(line, ": twheel_pass: ")) {
		seen_take_pass(seen, line);
	} else {
		tap_check(false, __FILE__, __LINE__, "what is this: %s", line);
	}
}

/* Check the tick of a line that has a deadline. */
static void line_check_tick(const char *line, uint64_t tick_ns)
{
	uint64_t deadline, tick;

	if (!strstr(line, " tick="))
		return;
	deadline = line_number(line, "deadline_ns");
	tick = line_number(line, "tick");
	CHECK_EQ(tick, (deadline + tick_ns - 1) / tick_ns);
}

/* Stop, and take all events. */
static struct seen trace_finish(uint64_t tick_ns)
{
	struct seen seen = { };
	char line[1024];
	FILE *file;

	NEED(tracefs_write("tracing_on", "0") == 0);
	file = fopen(TRACING "/trace", "r");
	NEED(file);
	while (fgets(line, sizeof(line), file)) {
		/* No event may be lost. */
		CHECK(!strstr(line, "LOST"));
		if (*line == '#' || !strstr(line, ": twheel_"))
			continue;
		seen_take(&seen, line);
		line_check_tick(line, tick_ns);
	}
	fclose(file);
	trace_stop();
	return seen;
}

/* A file that has a wheel, and no timer yet. */
static int open_wheel(uint32_t *wheel)
{
	struct twheel_setup setup = { .clockid = CLOCK_MONOTONIC };
	struct twheel_file_stats stats;
	int fd = dev_open();

	NEED(ioctl(fd, TWHEEL_IOC_SETUP, &setup) == 0);
	NEED(ioctl(fd, TWHEEL_IOC_STATS, &stats) == 0);
	NEED(stats.wheel);
	*wheel = stats.wheel;
	return fd;
}

static void events_are_what_was_counted(void)
{
	struct twheel_file_stats stats;
	uint64_t ids[50];
	struct seen seen;
	uint32_t wheel;
	unsigned int i;
	int other = dev_open(), fd = open_wheel(&wheel);

	trace_start(wheel);
	for (i = 0; i < 50; i++)
		ids[i] = dev_arm(fd, i < 30 ? i * MS : 3600 * S, i);
	/* Another wheel is not traced. */
	dev_arm(other, 0, 0);
	for (i = 30; i < 40; i++)
		CHECK_EQ(dev_cancel(fd, ids[i]), 0);
	for (i = 40; i < 44; i++)
		CHECK_EQ(dev_modify(fd, ids[i], TWHEEL_LATER, 7200 * S), 0);
	for (i = 44; i < 47; i++)
		CHECK_EQ(dev_modify(fd, ids[i], 0, 1800 * S), 0);
	dev_wait_unread(fd, 30);
	NEED(ioctl(fd, TWHEEL_IOC_STATS, &stats) == 0);
	CHECK_EQ(stats.pending, 10);
	close(fd);
	seen = trace_finish(MS);

	CHECK_EQ(seen.arm, 50);
	CHECK_EQ(seen.arm, stats.armed);
	CHECK_EQ(seen.cancel, 10);
	CHECK_EQ(seen.cancel, stats.cancelled);
	CHECK_EQ(seen.extend, 4);
	CHECK_EQ(seen.modify, 3);
	CHECK_EQ(seen.entry, 30);
	CHECK_EQ(seen.exit, 30);
	CHECK_EQ(seen.entry, stats.fired);
	CHECK_EQ(seen.fired_in_passes, 30);
	CHECK_EQ(seen.pass, stats.passes);
	CHECK_EQ(seen.cascaded_in_passes, stats.cascades);
}

static void extended_and_cascaded(void)
{
	struct twheel_file_stats stats;
	struct seen seen;
	uint32_t wheel;
	uint64_t id, delay;
	int fd = -1;

	/* A delay from level 1 on, so that it cascades. It is extended after a while. */
	FOR_EACH_DELAY(delay) {
		if (delay <= S)
			continue;
		fd = open_wheel(&wheel);
		trace_start(wheel);
		id = dev_arm(fd, delay, 1);
		/* With a second timer, the bucket is not searched. */
		dev_arm(fd, delay, 2);
		dev_wait_passed(dev_now(CLOCK_MONOTONIC) + delay / 16);
		if (!dev_modify(fd, id, TWHEEL_LATER, 2 * delay))
			break;
		CHECK_EQ(errno, EALREADY);
		trace_stop();
		close(fd);
	}
	dev_wait_unread(fd, 2);
	NEED(ioctl(fd, TWHEEL_IOC_STATS, &stats) == 0);
	seen = trace_finish(MS);

	CHECK_EQ(seen.entry, 2);
	CHECK_EQ(seen.extend, 1);
	CHECK(stats.cascades > 0 || stats.extended > 0);
	CHECK_EQ(seen.requeued, stats.extended);
	CHECK_EQ(seen.requeued_in_passes, stats.extended);
	CHECK_EQ(seen.cascaded, stats.cascades);
	CHECK_EQ(seen.pass, stats.passes);
}

static void pass_events_show_their_budget(void)
{
	static struct twheel_op ops[2500];
	struct twheel_file_stats stats;
	struct seen seen;
	uint32_t wheel;
	unsigned int i;
	uint64_t when;
	int fd = open_wheel(&wheel);

	trace_start(wheel);
	/* One tick for all, which mostly comes after the last arm. */
	when = dev_now(CLOCK_MONOTONIC) + 2 * S;
	for (i = 0; i < 2500; i++)
		ops[i] = (struct twheel_op) {
			.op = TWHEEL_OP_ARM, .flags = TWHEEL_ABS,
			.deadline_ns = when,
		};
	CHECK_EQ(dev_batch(fd, ops, 2500), 2500);
	dev_wait_unread(fd, 2500);
	NEED(ioctl(fd, TWHEEL_IOC_STATS, &stats) == 0);
	seen = trace_finish(MS);
	CHECK_EQ(seen.arm, 2500);
	CHECK_EQ(seen.entry, 2500);
	CHECK_EQ(seen.exit, 2500);
	CHECK_EQ(seen.fired_in_passes, 2500);
	/* Up to 32 are handed over by one call, which took as long for each of them. */
	CHECK(seen.alike > 2500 / 2);
	CHECK_EQ(seen.exhausted, stats.exhausted);
	CHECK_EQ(seen.pass, stats.passes);
}

/* Filter by lateness: one of two timers is late by almost the whole uptime. */
static void lateness_can_be_filtered(void)
{
	struct twheel_op op = { .flags = TWHEEL_ABS, .deadline_ns = 1 };
	struct seen seen;
	uint32_t wheel;
	int fd = open_wheel(&wheel);
	char filter[96];

	trace_start(0);
	snprintf(filter, sizeof(filter),
		 "wheel == %u && late_ns > %llu", wheel,
		 (unsigned long long)dev_now(CLOCK_MONOTONIC) / 2);
	NEED(tracefs_write("events/twheel/enable", "0") == 0);
	NEED(tracefs_write("events/twheel/twheel_expire_entry/filter", filter) == 0);
	NEED(tracefs_write("events/twheel/twheel_expire_entry/enable", "1") == 0);
	dev_arm(fd, 10 * MS, 0);
	dev_arm_op(fd, &op);
	dev_wait_unread(fd, 2);
	seen = trace_finish(MS);
	CHECK_EQ(seen.entry, 1);
	CHECK_EQ(seen.arm, 0);
}

static const struct tap_test tests[] = {
	TAP(events_are_what_was_counted),
	TAP(extended_and_cascaded),
	TAP(pass_events_show_their_budget),
	TAP(lateness_can_be_filtered),
};

int main(int argc, char **argv)
{
	return tap_main(tests, sizeof(tests) / sizeof(*tests), argc, argv);
}
