// SPDX-License-Identifier: GPL-2.0-only
/* Trace events of files: as many as the counters say, with fields that agree. */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/mount.h>
#include <unistd.h>

#include "lib/acts.h"
#include "lib/device.h"
#include "lib/mapped.h"
#include "lib/tap.h"

/* Not an instance of our own: under emulation, the kernel takes long to make one. */
#define TRACING		"/sys/kernel/tracing"

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

/* Trace the events of a file. */
static void trace_start(int fd)
{
	char filter[32];

	if (access(TRACING "/events/twheel", F_OK))
		mount("tracefs", TRACING, "tracefs", 0, NULL);
	if (access(TRACING "/events/twheel", F_OK))
		tap_skip("there is no tracefs here");
	tap_at_end(trace_stop);
	/* Settings that an earlier test may have left. */
	trace_stop();
	NEED(tracefs_write("trace", "\n") == 0);
	NEED(tracefs_write("tracing_on", "1") == 0);
	/* In a smaller buffer, events could be lost. */
	NEED(tracefs_write("buffer_size_kb", "4096") == 0);
	snprintf(filter, sizeof(filter), "wheel == %llu",
		 (unsigned long long)dev_stat(fd, "wheel"));
	NEED(tracefs_write("events/twheel/filter", filter) == 0);
	NEED(tracefs_write("events/twheel/enable", "1") == 0);
}

/** struct line - an event, as the trace shows it */
struct line {
	char text[256];
	char event[32];
	char timer[32];
	uint64_t deadline_ns;
	uint64_t tick;
	uint64_t late_ns;
};

/* The number after "key=" in a line; 0 if it is not there. */
static uint64_t line_number(const char *line, const char *key)
{
	char with[32];
	const char *at;

	snprintf(with, sizeof(with), " %s=", key);
	at = strstr(line, with);
	return at ? strtoull(at + strlen(with), NULL, 10) : 0;
}

/* Stop, and take all events. Returns how many there are. */
static unsigned int trace_finish(struct line *lines, unsigned int most)
{
	unsigned int n = 0;
	char line[1024];
	FILE *file;

	NEED(tracefs_write("tracing_on", "0") == 0);
	file = fopen(TRACING "/trace", "r");
	NEED(file);
	while (fgets(line, sizeof(line), file)) {
		const char *at = strstr(line, ": twheel_");

		CHECK(!strstr(line, "LOST"));
		if (*line == '#' || !at)
			continue;
		NEED(n < most);
		NEED(sscanf(at, ": %31[a-z_]:", lines[n].event) == 1);
		CHECK(strstr(at, " name=/dev/twheel "));
		CHECK(!strstr(at, " function=") || strstr(at, "(null)") ||
		      strstr(at, " function=0 ") || strstr(at, "function=0x0 "));
		/* Before 5.12, pointers of all events are shown as they are. */
		CHECK(!strstr(at, " timer=ffff") || access(TRACING "/options/hash-ptr", F_OK));
		NEED(sscanf(strstr(at, " timer=") ?: "", " timer=%31s", lines[n].timer) == 1 ||
		     !strcmp(lines[n].event, "twheel_act"));
		snprintf(lines[n].text, sizeof(lines[n].text), "%s", at);
		lines[n].deadline_ns = line_number(at, "deadline_ns");
		lines[n].tick = line_number(at, "tick");
		lines[n++].late_ns = line_number(at, "late_ns");
	}
	fclose(file);
	trace_stop();
	return n;
}

static unsigned int line_count(const struct line *lines, unsigned int n, const char *event)
{
	unsigned int count = 0, i;

	for (i = 0; i < n; i++)
		count += !strcmp(lines[i].event, event);
	return count;
}

TEST(events_are_what_was_counted)
{
	int fd = dev_open_virtual(), other = dev_open_virtual();
	static struct line lines[1000];
	struct twheel_op op = { .period_ns = 50 * MS };
	uint64_t ids[50];
	unsigned int i, n;

	trace_start(fd);
	for (i = 0; i < 50; i++)
		ids[i] = dev_arm(fd, i < 30 ? i * MS : HOUR, i);
	dev_arm_op(fd, &op);
	/* Another file is not traced, nor is what is refused. */
	dev_arm(other, 0, 0);
	CHECK_ERR(dev_cancel(fd, 99), ENOENT);
	for (i = 30; i < 40; i++)
		CHECK_EQ(dev_cancel(fd, ids[i]), 1);
	for (i = 40; i < 47; i++)
		CHECK_EQ(dev_modify(fd, ids[i], i % 2 ? TWHEEL_LATER : 0, 2 * HOUR), 1);
	CHECK_EQ(dev_modify(fd, ids[47], TWHEEL_LATER, S), 0);
	dev_advance(fd, 200 * MS);
	for (i = 0; i < 31; i++)
		dev_read(fd);
	dev_silent(fd);
	CHECK_EQ(dev_cancel_all(fd), 11);
	n = trace_finish(lines, SIZE_OF(lines));
	CHECK_EQ(line_count(lines, n, "twheel_arm"), dev_stat(fd, "armed"));
	CHECK_EQ(line_count(lines, n, "twheel_cancel"), dev_stat(fd, "cancelled"));
	CHECK_EQ(line_count(lines, n, "twheel_expire_entry"), dev_stat(fd, "fired"));
	CHECK_EQ(line_count(lines, n, "twheel_modify"), 7);
	CHECK_EQ(n, 51 + 21 + 31 + 7);
}

/* The life of one timer, with a deadline between two ticks. */
TEST(fields_agree)
{
	static const char * const events[] = {
		"twheel_arm", "twheel_modify", "twheel_expire_entry", "twheel_cancel",
	};
	struct twheel_op op = { .time_ns = 10 * MS + 1, .period_ns = S };
	uint64_t deadlines[] = { 10 * MS + 1, 20 * MS + 3, 20 * MS + 3, S + 20 * MS + 3 };
	int fd = dev_open_virtual();
	struct line lines[8];
	unsigned int i;

	trace_start(fd);
	dev_arm_op(fd, &op);
	CHECK_EQ(dev_modify(fd, op.id, 0, deadlines[1]), 1);
	dev_advance(fd, 30 * MS);
	CHECK_EQ(dev_read(fd).count, 1);
	CHECK_EQ(dev_cancel(fd, op.id), 1);
	NEED(trace_finish(lines, SIZE_OF(lines)) == 4);
	for (i = 0; i < 4; i++) {
		CHECK(!strcmp(lines[i].event, events[i]));
		CHECK_EQ(lines[i].deadline_ns, deadlines[i]);
		CHECK(!strcmp(lines[i].timer, lines[0].timer));
		if (i != 2)
			CHECK_EQ(lines[i].tick, deadlines[i] / MS + 1);
	}
	CHECK_EQ(lines[2].late_ns, 30 * MS - deadlines[2]);
}

/* What acted, on whom, and with which result. */
TEST(actions_are_traced)
{
	struct twheel_setup setup = { .clock = TWHEEL_VIRTUAL, .flags = TWHEEL_SETUP_ACT };
	struct twheel_act act = {
		.number = 5,
		.action = { TWHEEL_ACT_SIGNAL, getpid(), SIGURG, 0 },
		.then = { TWHEEL_ACT_SIGNAL, getpid(), SIGURG, 0 },
		.after_ns = MS,
	};
	char done[64], *failed = " number=6 stage=1 kind=0 target=0 result=-2\n";
	char then[64], *any = " number=7 stage=1 kind=3 target=0 result=0\n";
	int fd = dev_open_setup(&setup);
	unsigned int i, n, seen = 0;
	struct line lines[16];

	NEED(ioctl(fd, TWHEEL_IOC_ACT, &act) == 0);
	trace_start(fd);
	dev_arm(fd, MS, 5);
	dev_arm(fd, MS, 6);
	dev_advance(fd, MS);
	act_wait(fd, 2);
	dev_advance(fd, MS);
	act_wait(fd, 3);
	/* Of an action for any number, too, it tells for which one that was. */
	act = (struct twheel_act) { .number = TWHEEL_ACT_ANY };
	act.action = act_of(TWHEEL_ACT_EVENTFD, eventfd(0, EFD_CLOEXEC));
	NEED(act_choose(fd, act) == 0);
	dev_arm(fd, MS, 7);
	dev_advance(fd, MS);
	act_wait(fd, 4);
	n = trace_finish(lines, SIZE_OF(lines));
	CHECK_EQ(line_count(lines, n, "twheel_act"), 4);
	snprintf(done, sizeof(done), " number=5 stage=1 kind=1 target=%d result=0\n", getpid());
	snprintf(then, sizeof(then), " number=5 stage=2 kind=1 target=%d result=0\n", getpid());
	for (i = 0; i < n; i++)
		seen += strstr(lines[i].text, done) || strstr(lines[i].text, failed) ||
			strstr(lines[i].text, then) || strstr(lines[i].text, any);
	CHECK_EQ(seen, 4);
}

/* A cell is armed without a call, so only its event is seen. */
TEST(cells_are_traced)
{
	struct mapped m = map_open_virtual(2);
	uint64_t tick = map_now(&m) + 10, id;
	struct line lines[8];
	unsigned int n;

	trace_start(m.fd);
	map_arm(&m, 0, tick, &id);
	map_advance(&m, 10);
	map_take(&m, id, tick);
	n = trace_finish(lines, SIZE_OF(lines));
	CHECK_EQ(line_count(lines, n, "twheel_expire_entry"), 1);
}
