// SPDX-License-Identifier: GPL-2.0-only
/* What fdinfo tells of a file: its keys, and counters that are exact. */
#include <stdio.h>
#include <unistd.h>

#include "lib/device.h"
#include "lib/dice.h"
#include "lib/mapped.h"
#include "lib/tap.h"

#define LATE	64

/* These keys, in this order, each with a tab; and that is all. */
TEST(keys_and_names)
{
	static const char * const keys[] = {
		"wheel", "clock", "tick_ns", "max_timers", "max_cells", "timers",
		"file_memory", "user_timers", "user_limit", "user_memory",
		"user_memory_limit", "cells", "armed", "fired", "cancelled", "extended",
		"cascades", "alarms", "postponed", "late_max_ns", "late_sum_ns", "late",
		"occupied",
	};
	static const char * const clocks[] = {
		"monotonic", "boottime", "realtime", "tai", "virtual",
	};
	char line[2048], want[64];
	unsigned int clock, i;

	for (clock = 0; clock < SIZE_OF(clocks); clock++) {
		FILE *file = dev_fdinfo(dev_open_clock(clock));

		do
			NEED(fgets(line, sizeof(line), file));
		while (strncmp(line, "wheel:", 6));
		for (i = 0; i < SIZE_OF(keys); i++) {
			snprintf(want, sizeof(want), "%s:\t", keys[i]);
			tap_check(!strncmp(line, want, strlen(want)), __FILE__, __LINE__,
				  "%s is not %s", line, keys[i]);
			if (i == 1) {
				snprintf(want, sizeof(want), "clock:\t%s\n", clocks[clock]);
				CHECK(!strcmp(line, want));
			}
			CHECK_EQ(!fgets(line, sizeof(line), file), i == SIZE_OF(keys) - 1);
		}
		fclose(file);
	}
}

TEST(same_as_info)
{
	struct twheel_setup setup = {
		.clock = TWHEEL_VIRTUAL, .tick_ns = 2 * MS, .max_timers = 77,
	};
	int fd = dev_open_setup(&setup);
	struct twheel_info info;

	dev_arm(fd, HOUR, 0);
	info = dev_info(fd);
	CHECK_EQ(dev_stat(fd, "tick_ns"), info.tick_ns);
	CHECK_EQ(dev_stat(fd, "max_timers"), info.max_timers);
	CHECK_EQ(dev_stat(fd, "max_cells"), info.max_cells);
	CHECK_EQ(dev_stat(fd, "timers"), info.timers);
	CHECK_EQ(dev_stat(fd, "file_memory"), info.file_memory);
	CHECK_EQ(dev_stat(fd, "user_timers"), info.user_timers);
	CHECK_EQ(dev_stat(fd, "user_limit"), info.user_limit);
	CHECK_EQ(dev_stat(fd, "user_memory"), info.user_memory);
	CHECK_EQ(dev_stat(fd, "user_memory_limit"), info.user_memory_limit);
	CHECK(dev_stat(fd, "wheel") != dev_stat(dev_open_virtual(), "wheel"));
}

/* The books of a file, as its user keeps them. */
struct books {
	uint64_t armed, fired, cancelled, late_max, late_sum;
	uint64_t late[LATE];
};

static void books_take(struct books *books, const struct twheel_event *event)
{
	uint64_t late = event->now_ns - event->deadline_ns;

	books->fired++;
	books->late_sum += late;
	if (late > books->late_max)
		books->late_max = late;
	books->late[late ? 63 - __builtin_clzll(late) : 0]++;
}

static void books_compare(const struct books *books, int fd)
{
	uint64_t late[LATE];

	CHECK_EQ(dev_stat(fd, "armed"), books->armed);
	CHECK_EQ(dev_stat(fd, "fired"), books->fired);
	CHECK_EQ(dev_stat(fd, "cancelled"), books->cancelled);
	CHECK_EQ(dev_stat(fd, "late_max_ns"), books->late_max);
	CHECK_EQ(dev_stat(fd, "late_sum_ns"), books->late_sum);
	CHECK_EQ(dev_stats(fd, "late", late, LATE), LATE);
	CHECK(!memcmp(late, books->late, sizeof(late)));
	CHECK_EQ(dev_stat(fd, "timers"), dev_info(fd).timers);
	CHECK_EQ(dev_stat(fd, "alarms") | dev_stat(fd, "postponed"), 0);
}

/* One event is one, however many deadlines it stands for. A modify changes nothing. */
TEST(counters_are_exact)
{
	int fd = dev_open_virtual(), i, all;
	struct books books = { };
	struct twheel_event event;
	uint32_t seed = 3;
	uint64_t id = 0;

	books_compare(&books, fd);
	for (i = 0; i < 2000; i++) {
		struct twheel_op op = {
			.time_ns = roll(&seed) >> roll(&seed) % 32,
			.period_ns = roll(&seed) % 4 ? 0 : roll(&seed),
		};

		id = dev_arm_op(fd, &op);
		books.armed++;
		if (i % 3 == 0)
			NEED(dev_modify(fd, id, i % 2 ? TWHEEL_LATER : 0, S) >= 0);
		if (i % 5 == 0)
			books.cancelled += dev_cancel(fd, id);
		dev_advance(fd, roll(&seed) >> roll(&seed) % 32);
		while (i % 4 && events_read(fd, &event, 1) > 0)
			books_take(&books, &event);
	}
	books_compare(&books, fd);
	all = dev_cancel_all(fd);
	CHECK(all > 0);
	books.cancelled += all;
	books_compare(&books, fd);
	CHECK_EQ(dev_cancel_all(fd) + dev_cancel(fd, id), -1);
	books_compare(&books, fd);
}

/* Timers that cascade do so once a level, and buckets are occupied by those that wait. */
TEST(where_timers_wait)
{
	uint64_t occupied[LATE];
	int fd = dev_open_virtual();

	CHECK(dev_stats(fd, "occupied", occupied, LATE) >= 5);
	CHECK_EQ(occupied[0] + occupied[1] + occupied[2], 0);
	dev_arm(fd, 10 * MS, 0);
	dev_arm(fd, 20 * MS, 0);
	dev_arm(fd, 20 * MS, 0);
	dev_arm(fd, S, 0);
	dev_arm(fd, S, 0);
	CHECK_EQ(dev_stat(fd, "cascades"), 0);
	dev_stats(fd, "occupied", occupied, LATE);
	CHECK_EQ(occupied[0], 2);
	CHECK_EQ(occupied[1], 1);
	dev_advance(fd, 999 * MS);
	CHECK_EQ(dev_readable(fd, 0), 1);
	CHECK_EQ(dev_cancel_all(fd), 5);
	dev_readable(fd, 0);
	CHECK(dev_stat(fd, "cascades") <= 2);
	dev_stats(fd, "occupied", occupied, LATE);
	CHECK_EQ(occupied[0] + occupied[1] + occupied[2], 0);
}

/* Cells count when the kernel finds them. */
TEST(counters_of_cells)
{
	struct mapped m = map_open_virtual(3);
	uint64_t tick = map_now(&m) + 10, ids[3];
	struct books books = { .armed = 3 };
	int i;

	for (i = 0; i < 3; i++)
		map_arm(&m, i, tick + i * 10, &ids[i]);
	map_advance(&m, 10);
	map_take(&m, ids[0], tick);
	books.fired = 1;
	books.late[0] = 1;
	books_compare(&books, m.fd);
	CHECK_EQ(dev_stat(m.fd, "cells"), 2);
	CHECK(map_cancel(&m, ids[1]));
	CHECK(map_extend(&m, ids[2], tick + 90));
	map_advance(&m, 20);
	dev_silent(m.fd);
	books.cancelled = 1;
	books_compare(&books, m.fd);
	CHECK_EQ(dev_stat(m.fd, "extended"), 1);
	CHECK_EQ(dev_stat(m.fd, "cells"), 1);
	CHECK_EQ(dev_info(m.fd).timers, 0);
}
