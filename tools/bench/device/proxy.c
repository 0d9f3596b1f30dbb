// SPDX-License-Identifier: GPL-2.0-only
/*
 * Traffic: a program arms so many cells a second, for 5 s or for a minute. It cancels nine of
 * ten before they are due. Measures what an arm costs over a long run, all included.
 */
#include <err.h>
#include <string.h>
#include <unistd.h>

#include "../../cli/chance.h"
#include "parts.h"

#define TRAFFIC_RATE	10000ULL	/* a second */
#define TRAFFIC_STEP	(5 * MS)	/* how often the program looks at its clock */
#define TRAFFIC_STEPS	(90 * S / TRAFFIC_STEP)
#define TRAFFIC_SHORT	(5 * S)
#define TRAFFIC_LONG	(60 * S)
#define TRAFFIC_LISTS	(TRAFFIC_LONG / TRAFFIC_STEP + 2)
/* A timeout takes 32.5 s in the mean: more seconds' arms are never pending. */
#define TRAFFIC_CELLS	(TRAFFIC_RATE * 40)

/**
 * struct traffic - the program
 * @cells: its cells, or NULL: all but what is done to them
 * @seed: of its random numbers
 * @next: for each cell, the next one in its list. The first cell ends all lists
 * @free: those that are not in use
 * @ending: those that end in a step, by a cancellation or by their event
 */
static struct traffic {
	struct twheel_cells *cells;
	uint64_t seed;
	uint32_t next[TRAFFIC_CELLS];
	uint32_t free;
	uint32_t ending[TRAFFIC_LISTS];
} traffic;

static void list_push(uint32_t *list, uint32_t cell)
{
	traffic.next[cell] = *list;
	*list = cell;
}

static uint32_t list_pop(uint32_t *list)
{
	uint32_t cell = *list;

	*list = traffic.next[cell];
	return cell;
}

/* As in any event loop, the time is that of the step: the clock is not read for each. */
static void traffic_arm(uint64_t step, uint64_t now)
{
	uint64_t chance = chance_roll(&traffic.seed);
	uint64_t delay = chance & 1 ? TRAFFIC_SHORT : TRAFFIC_LONG;
	uint32_t cell = list_pop(&traffic.free);

	if (!cell)
		errx(1, "too few cells");
	if (traffic.cells)
		device_need(twheel_cell_arm(traffic.cells, cell, now + delay, NULL), "arming");
	chance >>= 32;
	/* One of ten is left alone; its event is there after that. */
	step += chance % 10 ? delay / TRAFFIC_STEP * (chance / 10 % 1000) / 1000 :
			      delay / TRAFFIC_STEP + 1;
	list_push(&traffic.ending[step % TRAFFIC_LISTS], cell);
}

static void traffic_end(uint64_t step)
{
	uint32_t *list = &traffic.ending[step % TRAFFIC_LISTS], cell;

	while ((cell = list_pop(list))) {
		/* This says no, of one that is due. */
		if (traffic.cells)
			twheel_cell_cancel(traffic.cells, cell);
		list_push(&traffic.free, cell);
	}
}

/* Returns how long the machine was busy. */
static double traffic_run(struct twheel_cells *cells)
{
	struct twheel_event events[64];
	uint64_t start = now_ns(), step, now;
	struct stopwatch watch;
	uint32_t cell, i;
	int got;

	memset(&traffic, 0, sizeof(traffic));
	traffic.cells = cells;
	for (cell = TRAFFIC_CELLS - 1; cell; cell--)
		list_push(&traffic.free, cell);
	stopwatch_start(&watch);
	for (step = 0; step < TRAFFIC_STEPS; step++) {
		sleep_until(start + step * TRAFFIC_STEP);
		do {
			got = cells ? twheel_device_events(cells->fd, events, 64, 0) : 0;
		} while (device_need(got, "reading") == 64);
		now = now_ns();
		traffic_end(step);
		for (i = 0; i < TRAFFIC_RATE * TRAFFIC_STEP / S; i++)
			traffic_arm(step, now);
	}
	return stopwatch_stop(&watch);
}

void measure_traffic(void)
{
	struct twheel_cells cells;
	int fd = wheel_open_cells(&cells, TRAFFIC_CELLS);
	double none, all;

	none = traffic_run(NULL);
	all = traffic_run(&cells);
	cost_report("traffic", "cells", "arm-long",
		    (all - none) / (TRAFFIC_STEPS * TRAFFIC_RATE * TRAFFIC_STEP / S));
	close(fd);
}
