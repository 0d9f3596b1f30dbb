// SPDX-License-Identifier: GPL-2.0-only
/* Operations with delays, and events that are due when the program reads them. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "parts.h"

/* Arming ends before the first is due. */
#define HEADSTART	(3 * S)

static uint64_t delay_of(uint32_t which)
{
	return HOUR + plan.drawn[which] % HOUR;
}

void measure_operations(void)
{
	uint64_t *ids = calloc(plan.count, sizeof(*ids));
	int fd = wheel_open();
	double cost;

	cost = COST_OF_EACH(n, device_need(twheel_device_arm(fd, delay_of(n), n, &ids[n]),
					   "arming"));
	cost_report("1-h", "ioctl", "arm-delay-new", cost);
	twheel_device_cancel_all(fd);
	cost = COST_OF_EACH(n, device_need(twheel_device_arm(fd, delay_of(n), n, &ids[n]),
					   "arming"));
	cost_report("1-h", "ioctl", "arm-delay", cost);
	cost = COST_OF_EACH(n, device_need(twheel_device_modify(fd, ids[n], HOUR + delay_of(n)),
					   "modifying"));
	cost_report("1-h", "ioctl", "modify-delay-later", cost);
	cost = COST_OF_EACH(n, device_need(twheel_device_modify(fd, ids[n], delay_of(n)),
					   "modifying"));
	cost_report("1-h", "ioctl", "modify-delay-nearer", cost);
	close(fd);
	free(ids);
}

/* Read all, which are due, @most at a time. Returns what one costs. */
static double take_events(int fd, unsigned int most)
{
	struct twheel_event events[64];
	uint64_t start = now_ns();
	size_t taken = 0;

	while (taken < plan.count)
		taken += device_need(events_read(fd, events, most), "reading");
	return ((double)now_ns() - start) / plan.count;
}

static void measure_reading(const char *delays, uint64_t within_ns, unsigned int most)
{
	uint64_t due = now_ns() / MS * MS + HEADSTART, id;
	char name[32];
	int fd = wheel_open();

	COST_OF_EACH(n, device_need(twheel_device_arm_at(fd, due + plan.drawn[n] % within_ns,
							 n, &id), "arming"));
	sleep_until(due + within_ns + 5 * MS);
	snprintf(name, sizeof(name), "read-%u", most);
	cost_report(delays, "ioctl", name, take_events(fd, most));
	close(fd);
}

void measure_events(void)
{
	static const unsigned int sizes[] = { 1, 8, 16, 32, 64 };
	size_t i;

	for (i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
		measure_reading("one-tick", 1, sizes[i]);
		if (spread_ns)
			measure_reading("backlog", spread_ns, sizes[i]);
	}
}

/* The same of cells. @swept: the kernel has found them before they are due. */
static void measure_reading_cells(bool swept)
{
	uint64_t due = now_ns() / MS * MS + HEADSTART;
	struct twheel_cells cells;
	struct twheel_event event;
	int fd = wheel_open_cells(&cells, plan.count, 0);

	COST_OF_EACH(n, twheel_cell_arm(&cells, n, due, NULL));
	if (swept) {
		/* One is nearer, and wakes the program, which sweeps. */
		twheel_cell_arm(&cells, 0, now_ns(), NULL);
		device_need(twheel_device_events(fd, &event, 1, -1), "reading");
		device_need(twheel_device_wait(fd, 0), "waiting");
		twheel_cell_arm(&cells, 0, due, NULL);
	}
	sleep_until(due + 5 * MS);
	cost_report("one-tick", "cells", swept ? "read-64-swept" : "read-64", take_events(fd, 64));
	close(fd);
}

void measure_cells(void)
{
	measure_reading_cells(false);
	measure_reading_cells(true);
}
