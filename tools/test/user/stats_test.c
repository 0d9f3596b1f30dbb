// SPDX-License-Identifier: GPL-2.0-only
/* The counters of a file, by TWHEEL_IOC_STATS and by fdinfo. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "lib/device.h"
#include "lib/mapped.h"
#include "lib/tap.h"

static struct twheel_file_stats stats_of(int fd)
{
	struct twheel_file_stats stats;

	memset(&stats, 0xff, sizeof(stats));
	NEED(ioctl(fd, TWHEEL_IOC_STATS, &stats) == 0);
	return stats;
}

static void expect_books(int fd, uint64_t armed, uint64_t fired,
			 uint64_t cancelled)
{
	struct twheel_file_stats stats = stats_of(fd);
	unsigned int i;

	CHECK_EQ(stats.armed, armed);
	CHECK_EQ(stats.fired, fired);
	CHECK_EQ(stats.cancelled, cancelled);
	CHECK_EQ(stats.reserved, 0);
	for (i = 0; i < TWHEEL_LATE_BUCKETS; i++)
		fired -= stats.late[i];
	CHECK_EQ(fired, 0);
}

static void a_new_file_has_done_nothing(void)
{
	struct twheel_file_stats stats, zero = { };
	int fd = dev_open();

	stats = stats_of(fd);
	CHECK(!memcmp(&stats, &zero, sizeof(stats)));
	CHECK(dev_info(fd).features & TWHEEL_FEATURE_STATS);
}

static void counters_of_timers(void)
{
	uint64_t id;
	int fd = dev_open();

	dev_arm(fd, 0, 1);
	id = dev_arm(fd, 3600 * S, 2);
	dev_arm(fd, 3600 * S, 3);
	dev_wait_unread(fd, 1);
	expect_books(fd, 3, 1, 0);
	CHECK_EQ(stats_of(fd).timers, 3);
	CHECK_EQ(stats_of(fd).pending, 2);
	CHECK_EQ(stats_of(fd).unread, 1);
	CHECK_EQ(dev_cancel(fd, id), 0);
	dev_read(fd);
	expect_books(fd, 3, 1, 1);
	CHECK_EQ(stats_of(fd).timers, 1);
	CHECK_EQ(stats_of(fd).pending, 1);
	CHECK_EQ(stats_of(fd).unread, 0);
	CHECK(stats_of(fd).passes >= 1);
	/* A modify changes none of these. */
	id = dev_arm(fd, 3600 * S, 4);
	CHECK_EQ(dev_modify(fd, id, 0, 7200 * S), 0);
	CHECK_EQ(dev_modify(fd, id, 0, 1800 * S), 0);
	expect_books(fd, 4, 1, 1);
}

/* Sum, maximum and bucket are of the lateness that the event shows. */
static void lateness_is_that_of_the_event(void)
{
	struct twheel_op op = { .flags = TWHEEL_ABS };
	struct twheel_file_stats stats;
	struct twheel_event event;
	unsigned int bucket;
	uint64_t late;
	int fd = dev_open();

	/* Its deadline was a second and a half ago. */
	op.deadline_ns = dev_now(CLOCK_MONOTONIC) - 3 * S / 2;
	dev_arm_op(fd, &op);
	event = dev_read(fd);
	late = event.fired_ns - event.deadline_ns;
	CHECK(late >= 3 * S / 2);
	stats = stats_of(fd);
	CHECK_EQ(stats.late_max_ns, late);
	CHECK_EQ(stats.late_sum_ns, late);
	bucket = 63 - __builtin_clzll(late);
	CHECK_EQ(stats.late[bucket], 1);

	/* One that is due now. */
	op.id = 0;
	op.deadline_ns = dev_now(CLOCK_MONOTONIC);
	dev_arm_op(fd, &op);
	event = dev_read(fd);
	stats = stats_of(fd);
	CHECK_EQ(stats.late_sum_ns,
		 late + (event.fired_ns - event.deadline_ns));
	CHECK(stats.late_max_ns >= late);
	expect_books(fd, 2, 2, 0);
}

/* Extensions count once, when the old deadline comes, however many there were. */
static void extensions_are_counted_when_found(void)
{
	uint64_t id, delay;
	int fd, ret;

	FOR_EACH_DELAY(delay) {
		fd = dev_open();
		id = dev_arm(fd, delay, 0);
		ret = dev_modify(fd, id, TWHEEL_LATER, 3000 * S);
		if (!ret)
			ret = dev_modify(fd, id, TWHEEL_LATER, 3600 * S);
		/* Both came before the old deadline. */
		if (!ret && !stats_of(fd).extended)
			break;
		close(fd);
	}
	/* One that expires after it. */
	dev_arm(fd, delay + 100 * MS, 1);
	dev_wait_unread(fd, 1);
	CHECK_EQ(stats_of(fd).extended, 1);
	expect_books(fd, 2, 1, 0);
}

static void extensions_of_cells(void)
{
	uint64_t id, word, delay;
	struct mapped m;

	FOR_EACH_DELAY(delay) {
		m = map_cells(4);
		id = map_arm(&m, 0, delay);
		word = load(&m.cells[0].word);
		if (twheel_cell_state(word) == TWHEEL_CELL_PENDING &&
		    cas(&m.cells[0].word, word,
			word_of(id, TWHEEL_CELL_PENDING, ticks_in(&m, 3600 * S))))
			break;
		close(m.fd);
	}
	map_arm(&m, 1, delay + 100 * MS);
	NEED(dev_readable(m.fd, -1));
	CHECK_EQ(stats_of(m.fd).extended, 1);
	expect_books(m.fd, 2, 1, 0);
	CHECK_EQ(stats_of(m.fd).pending, 1);
}

static void wheels_have_numbers(void)
{
	int a = dev_open(), b = dev_open();

	dev_arm(a, 3600 * S, 0);
	dev_arm(b, 3600 * S, 0);
	CHECK(stats_of(a).wheel);
	CHECK(stats_of(b).wheel);
	CHECK(stats_of(a).wheel != stats_of(b).wheel);
}

/* The value of a line of fdinfo; -1: there is no such line. */
static long long line_of(int fd, const char *name)
{
	size_t length = strlen(name);
	long long value = -1;
	char path[64], line[2048];
	FILE *file;

	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", fd);
	file = fopen(path, "r");
	NEED(file);
	while (fgets(line, sizeof(line), file))
		if (!strncmp(line, name, length) && line[length] == ':')
			value = strtoll(line + length + 1, NULL, 10);
	fclose(file);
	return value;
}

static void fdinfo_says_the_same(void)
{
	struct twheel_file_stats stats;
	int fd = dev_open();

	dev_arm(fd, 0, 1);
	dev_arm(fd, 3600 * S, 2);
	CHECK_EQ(dev_cancel(fd, dev_arm(fd, 3600 * S, 3)), 0);
	dev_wait_unread(fd, 1);
	stats = stats_of(fd);
	CHECK_EQ(line_of(fd, "wheel"), stats.wheel);
	CHECK_EQ(line_of(fd, "armed"), 3);
	CHECK_EQ(line_of(fd, "fired"), 1);
	CHECK_EQ(line_of(fd, "cancelled"), 1);
	CHECK_EQ(line_of(fd, "extended"), stats.extended);
	CHECK_EQ(line_of(fd, "cascades"), stats.cascades);
	CHECK_EQ(line_of(fd, "exhausted"), stats.exhausted);
	CHECK_EQ(line_of(fd, "overruns"), stats.overruns);
	CHECK_EQ(line_of(fd, "late_max_ns"), stats.late_max_ns);
	CHECK_EQ(line_of(fd, "late_sum_ns"), stats.late_sum_ns);
	CHECK_EQ(line_of(fd, "late"), stats.late[0]);
}

static void the_structure_may_grow(void)
{
	struct {
		struct twheel_file_stats known;
		uint64_t more[4];
	} big;
	unsigned int nr = _IOC_NR(TWHEEL_IOC_STATS);
	int fd = dev_open();

	dev_arm(fd, 3600 * S, 0);
	memset(&big, 0xff, sizeof(big));
	CHECK_EQ(ioctl(fd, _IOC(_IOC_READ, TWHEEL_IOC_TYPE, nr, sizeof(big)),
		       &big), 0);
	CHECK_EQ(big.known.armed, 1);
	CHECK_EQ(big.more[0] | big.more[1] | big.more[2] | big.more[3], 0);
	/* Shorter than the first version. */
	CHECK_ERR(ioctl(fd, _IOC(_IOC_READ, TWHEEL_IOC_TYPE, nr,
				 sizeof(big.known) - 8), &big), EINVAL);
	CHECK_ERR(ioctl(fd, _IOC(_IOC_WRITE, TWHEEL_IOC_TYPE, nr,
				 sizeof(big.known)), &big), ENOTTY);
	CHECK_ERR(ioctl(fd, TWHEEL_IOC_STATS, NULL), EFAULT);
}

/* In a file with cells: timers that the kernel knows, and entries of the ring. */
static void counters_of_cells(void)
{
	struct mapped m = map_cells(3);
	uint64_t id = map_arm(&m, 0, 0), event;
	uint32_t cell;

	dev_wait_unread(m.fd, 1);
	CHECK_EQ(stats_of(m.fd).timers | stats_of(m.fd).pending, 0);
	/* The entry of an event that was revoked stays until the program takes it. */
	CHECK_EQ(dev_cancel(m.fd, id), 1);
	CHECK_EQ(stats_of(m.fd).unread, 1);
	CHECK_EQ(dev_readable(m.fd, 0), 1);
	NEED(map_take(&m, &cell, &event));
	CHECK_EQ((uint32_t)event, 0);
	CHECK_EQ(stats_of(m.fd).unread, 0);
	CHECK_EQ(dev_readable(m.fd, 0), 0);
	/* A timer that the program has cancelled is there until the kernel looks. */
	id = map_arm(&m, 1, 3600 * S);
	CHECK(map_cancel(&m, id));
	CHECK_EQ(stats_of(m.fd).timers, 1);
	CHECK_EQ(stats_of(m.fd).pending, 1);
	map_kick(&m, id);
	CHECK_EQ(stats_of(m.fd).timers, 0);
	expect_books(m.fd, 2, 1, 2);
}

/* An expiry for each event: a periodic timer's may stand for several. */
static void an_expiry_for_an_event(void)
{
	struct twheel_op op = { .period_ns = MS };
	struct twheel_event event;
	int fd = dev_open();

	dev_arm_op(fd, &op);
	dev_wait_unread(fd, 1);
	usleep(20000);
	event = dev_read(fd);
	CHECK(event.count > 10);
	dev_wait_unread(fd, 1);
	expect_books(fd, 1, 2, 0);
}

/* The count of an event word ends at its last value, and leaves the generation alone. */
static void event_word_saturates(void)
{
	struct mapped m = map_cells(1);
	uint64_t id = map_arm(&m, 0, 3600 * S), last = id | ~0U;

	NEED(cas(&m.events[0], 0, last));
	CHECK_EQ(dev_modify(m.fd, id, 0, 0), 0);
	while (!stats_of(m.fd).fired)
		usleep(1000);
	CHECK_EQ(load(&m.events[0]), last);
}

static const struct tap_test tests[] = {
	TAP(a_new_file_has_done_nothing),
	TAP(counters_of_timers),
	TAP(lateness_is_that_of_the_event),
	TAP(extensions_are_counted_when_found),
	TAP(extensions_of_cells),
	TAP(wheels_have_numbers),
	TAP(fdinfo_says_the_same),
	TAP(the_structure_may_grow),
	TAP(counters_of_cells),
	TAP(an_expiry_for_an_event),
	TAP(event_word_saturates),
};

int main(int argc, char **argv)
{
	return tap_main(tests, sizeof(tests) / sizeof(*tests), argc, argv);
}
