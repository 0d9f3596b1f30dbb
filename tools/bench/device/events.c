// SPDX-License-Identifier: GPL-2.0-only
/* Events that are due when the program reads them. */
#include <stdio.h>
#include <unistd.h>

#include "parts.h"

/* Arming ends before the first is due. */
#define HEADSTART	(3 * S)

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

static void measure_reading(unsigned int most)
{
	uint64_t due = now_ns() / MS * MS + HEADSTART, id;
	char name[32];
	int fd = wheel_open();

	COST_OF_EACH(n, device_need(twheel_device_arm_at(fd, due, n, &id), "arming"));
	sleep_until(due + 5 * MS);
	snprintf(name, sizeof(name), "read-%u", most);
	cost_report("one-tick", "ioctl", name, take_events(fd, most));
	close(fd);
}

void measure_events(void)
{
	measure_reading(1);
	measure_reading(8);
	measure_reading(64);
}

/* The same of cells. */
void measure_cells(void)
{
	uint64_t due = now_ns() / MS * MS + HEADSTART;
	struct twheel_cells cells;
	int fd = wheel_open_cells(&cells, plan.count, 0);

	COST_OF_EACH(n, twheel_cell_arm(&cells, n, due, NULL));
	sleep_until(due + 5 * MS);
	cost_report("one-tick", "cells", "read-64", take_events(fd, 64));
	close(fd);
}
