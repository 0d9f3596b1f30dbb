// SPDX-License-Identifier: GPL-2.0-only
/*
 * An idle server: each connection has a timeout of a minute, and extends it once a second, so
 * none is ever due. What the kernel does for that; the program's part is the same on memory
 * that the kernel does not know, and is subtracted.
 */
#define _GNU_SOURCE	/* epoll_pwait2() */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "parts.h"

#define SERVER_TIMEOUT	(60 * S)
/* So often, the program extends some of all. */
#define SERVER_STEP	(10 * MS)
#define SERVER_STEPS	(S / SERVER_STEP)
/* From when to when, in seconds. After two timeouts all is as it stays. */
#define SERVER_FROM	120
#define SERVER_TO	240

/* The same structure, in memory of the program's own. No deadline is before its wake. */
static void cells_pretend(struct twheel_cells *cells)
{
	char *map = calloc(1, cells->map->bytes);

	memcpy(map, cells->map, cells->map->bytes);
	cells->cells = map + cells->map->cells_offset;
	cells->bitmap = (__u64 *)(map + cells->map->bitmap_offset);
	cells->summary = (__u64 *)(map + cells->map->summary_offset);
	cells->wake = (__u64 *)(map + cells->map->wake_offset);
	*cells->wake = 0;
}

/* Take events until it is @until, as a loop would that serves connections as well. */
static void server_wait(int fd, int epoll, uint64_t until)
{
	struct twheel_event events[64];
	struct epoll_event ready;
	struct timespec ts;
	uint64_t now;

	while ((now = now_ns()) < until) {
		ts = (struct timespec){ 0, until - now };
		if (!device_need(epoll_pwait2(epoll, &ready, 1, &ts, NULL), "epoll_pwait2"))
			break;
		device_need(twheel_device_events(fd, events, 64, 0), "reading");
	}
}

/* How often the wheel has woken the program. */
static uint64_t wheel_alarms(int fd)
{
	uint64_t alarms = 0;
	char line[256];
	FILE *file;

	snprintf(line, sizeof(line), "/proc/self/fdinfo/%d", fd);
	file = fopen(line, "r");
	while (file && fgets(line, sizeof(line), file) &&
	       sscanf(line, "alarms: %lu", &alarms) != 1)
		;
	if (file)
		fclose(file);
	return alarms;
}

/* Returns how long the machine was busy in a second. */
static double server_run(bool pretend)
{
	size_t part = plan.count / SERVER_STEPS, next = 0, i;
	uint64_t alarms = 0, step;
	struct twheel_cells cells;
	struct stopwatch watch;
	uint64_t start;
	double busy;
	int fd, epoll;

	fd = wheel_open_cells(&cells, plan.count, 0);
	epoll = epoll_of(fd);
	if (pretend)
		cells_pretend(&cells);
	start = now_ns();
	for (i = 0; i < plan.count; i++)
		device_need(twheel_cell_arm(&cells, i, start + SERVER_TIMEOUT, NULL), "arming");
	for (step = 0; step < SERVER_TO * SERVER_STEPS; step++) {
		uint64_t now;

		if (step == SERVER_FROM * SERVER_STEPS) {
			stopwatch_start(&watch);
			alarms = wheel_alarms(fd);
		}
		server_wait(fd, epoll, start + step * SERVER_STEP);
		now = now_ns();
		for (i = 0; i < part; i++) {
			device_need(twheel_cell_extend(&cells, next, now + SERVER_TIMEOUT),
				    "extending");
			next = (next + 1) % plan.count;
		}
	}
	busy = stopwatch_stop(&watch);
	if (!pretend)
		cost_report("60-s", "cells", "idle-server-alarms",
			    (double)(wheel_alarms(fd) - alarms) / (SERVER_TO - SERVER_FROM));
	close(epoll);
	close(fd);
	return busy / (SERVER_TO - SERVER_FROM);
}

void measure_idle_server(void)
{
	double real = server_run(false);

	cost_report("60-s", "cells", "idle-server", real - server_run(true));
}
