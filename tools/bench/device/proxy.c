// SPDX-License-Identifier: GPL-2.0-only
/*
 * Traffic: a program arms so many timeouts a second, for 5 s or for a minute. It cancels nine
 * of ten before they are due. Measures what an arm costs over a long run, all included, in
 * cells and in a process wheel.
 */
#include <err.h>
#include <string.h>
#include <unistd.h>

#include "../../cli/chance.h"
#include "../../lib/twheel.h"
#include "parts.h"

#define TRAFFIC_RATE	10000ULL	/* a second */
#define TRAFFIC_STEP	(5 * MS)	/* how often the program looks at its clock */
#define TRAFFIC_STEPS	(90 * S / TRAFFIC_STEP)
#define TRAFFIC_SHORT	(5 * S)
#define TRAFFIC_LONG	(60 * S)
#define TRAFFIC_LISTS	(TRAFFIC_LONG / TRAFFIC_STEP + 2)
/* A timeout takes 32.5 s in the mean: more seconds' arms are never pending. */
#define TRAFFIC_COUNT	(TRAFFIC_RATE * 40)

/**
 * struct traffic - the program
 * @cells: its cells, or NULL
 * @wheel: its process wheel, or NULL. With neither, all but what is done to timeouts
 * @seed: of its random numbers
 * @next: for each timeout, the next one in its list. The first one ends all lists
 * @free: those that are not in use
 * @ending: those that end in a step, by a cancellation or by their event
 */
static struct traffic {
	struct twheel_cells *cells;
	struct twheel *wheel;
	uint64_t seed;
	uint32_t next[TRAFFIC_COUNT];
	uint32_t free;
	uint32_t ending[TRAFFIC_LISTS];
} traffic;

/* The timeouts of the process wheel. */
static struct twheel_timer traffic_timers[TRAFFIC_COUNT];

static void list_push(uint32_t *list, uint32_t number)
{
	traffic.next[number] = *list;
	*list = number;
}

static uint32_t list_pop(uint32_t *list)
{
	uint32_t number = *list;

	*list = traffic.next[number];
	return number;
}

/* As in any event loop, the time is that of the step: the clock is not read for each. */
static void traffic_arm(uint64_t step, uint64_t now)
{
	uint64_t chance = chance_roll(&traffic.seed);
	uint64_t delay = chance & 1 ? TRAFFIC_SHORT : TRAFFIC_LONG;
	uint32_t number = list_pop(&traffic.free);

	if (!number)
		errx(1, "too few timeouts");
	if (traffic.cells)
		device_need(twheel_cell_arm(traffic.cells, number, now + delay, NULL), "arming");
	if (traffic.wheel)
		device_need(twheel_arm_at(&traffic_timers[number], now + delay), "arming");
	chance >>= 32;
	/* One of ten is left alone; its event is there after that. */
	step += chance % 10 ? delay / TRAFFIC_STEP * (chance / 10 % 1000) / 1000 :
			      delay / TRAFFIC_STEP + 1;
	list_push(&traffic.ending[step % TRAFFIC_LISTS], number);
}

static void traffic_end(uint64_t step)
{
	uint32_t *list = &traffic.ending[step % TRAFFIC_LISTS], number;

	while ((number = list_pop(list))) {
		/* These say no, of one that is due. */
		if (traffic.cells)
			twheel_cell_cancel(traffic.cells, number);
		if (traffic.wheel)
			twheel_cancel(&traffic_timers[number]);
		list_push(&traffic.free, number);
	}
}

/* What the program does with what is due is left out. */
static void traffic_serve(void)
{
	struct twheel_event events[64];
	int fd = traffic.cells ? traffic.cells->fd : -1;

	while (fd >= 0 &&
	       device_need(twheel_device_events(fd, events, 64, 0), "reading") == 64)
		;
	while (traffic.wheel && device_need(twheel_run(traffic.wheel, 64), "running"))
		;
}

/* Returns how long the machine was busy. */
static double traffic_run(struct twheel_cells *cells, struct twheel *wheel)
{
	uint64_t start = now_ns(), step, now;
	struct stopwatch watch;
	uint32_t number, i;

	memset(&traffic, 0, sizeof(traffic));
	traffic.cells = cells;
	traffic.wheel = wheel;
	for (number = TRAFFIC_COUNT - 1; number; number--)
		list_push(&traffic.free, number);
	stopwatch_start(&watch);
	for (step = 0; step < TRAFFIC_STEPS; step++) {
		sleep_until(start + step * TRAFFIC_STEP);
		traffic_serve();
		now = now_ns();
		traffic_end(step);
		for (i = 0; i < TRAFFIC_RATE * TRAFFIC_STEP / S; i++)
			traffic_arm(step, now);
	}
	return stopwatch_stop(&watch);
}

static void traffic_fires(struct twheel_timer *timer)
{
	(void)timer;
}

static void traffic_report(const char *peer, double cost)
{
	cost_report("traffic", peer, "arm-long",
		    cost / (TRAFFIC_STEPS * TRAFFIC_RATE * TRAFFIC_STEP / S));
}

void measure_traffic(void)
{
	struct twheel *wheel = twheel_create(NULL);
	struct twheel_cells cells;
	int fd = wheel_open_cells(&cells, TRAFFIC_COUNT, 0);
	uint32_t number;
	double none;

	if (!wheel)
		err(1, "process wheel");
	for (number = 0; number < TRAFFIC_COUNT; number++)
		twheel_timer_init(&traffic_timers[number], wheel, traffic_fires);
	none = traffic_run(NULL, NULL);
	traffic_report("cells", traffic_run(&cells, NULL) - none);
	traffic_report("process", traffic_run(NULL, wheel) - none);
	twheel_destroy(wheel);
	close(fd);
}
