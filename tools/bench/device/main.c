// SPDX-License-Identifier: GPL-2.0-only
/*
 * device COUNT SPREAD [PART]: what /dev/twheel costs a program with COUNT timers, beside
 * timerfd where that has the same. Timers that expire each by itself are spread over SPREAD
 * seconds; 0: leave out what takes long. PART is one of those below, by itself. Prints lines
 * of the deadlines, the peer, the operation, COUNT, and ns in which the machine, which has
 * one CPU, was not idle.
 */
#include <err.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <time.h>

#include "parts.h"

struct plan plan;
uint64_t spread_ns;

void cost_report(const char *delays, const char *peer, const char *operation, double cost)
{
	printf("%s %s %s %zu %.2f\n", delays, peer, operation, plan.count, cost);
	fflush(stdout);
}

long device_need(long ret, const char *what)
{
	if (ret < 0)
		errx(1, "%s: %s", what, strerror(ret == -1 ? errno : -ret));
	return ret;
}

uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * S + ts.tv_nsec;
}

void sleep_until(uint64_t ns)
{
	struct timespec ts = { ns / S, ns % S };

	clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &ts, NULL);
}

/* How long the machine has been idle. Other files have it in hundredths of a second. */
static uint64_t idle_ns(void)
{
	FILE *file = fopen("/proc/timer_list", "r");
	uint64_t idle = 0;
	char line[256];

	if (!file)
		err(1, "/proc/timer_list");
	while (fgets(line, sizeof(line), file) &&
	       sscanf(line, " .idle_sleeptime : %lu nsecs", &idle) != 1)
		;
	fclose(file);
	return idle;
}

/* Reading that takes long; it is not measured. */
void stopwatch_start(struct stopwatch *watch)
{
	watch->idle = idle_ns();
	watch->start = now_ns();
}

double stopwatch_stop(const struct stopwatch *watch)
{
	uint64_t now = now_ns();

	return (double)(now - watch->start) - (idle_ns() - watch->idle);
}

static int wheel_open_setup(struct twheel_setup setup)
{
	int fd = device_need(twheel_device_open(NULL), "/dev/twheel");

	device_need(events_setup(fd, setup), "setting up");
	return fd;
}

int wheel_open(void)
{
	return wheel_open_setup((struct twheel_setup){ .max_timers = plan.count + 1 });
}

int wheel_open_cells(struct twheel_cells *cells, uint32_t count, uint32_t flags)
{
	int fd = wheel_open_setup((struct twheel_setup){ .max_cells = count, .flags = flags });
	char *byte;

	device_need(twheel_cells_map(cells, fd), "mapping the cells");
	/* Page faults are not measured. */
	for (byte = (char *)cells->map; byte < (char *)cells->map + cells->map->bytes;
	     byte += 4096)
		__atomic_fetch_or(byte, 0, __ATOMIC_RELAXED);
	return fd;
}

int epoll_of(int fd)
{
	struct epoll_event event = { .events = EPOLLIN };
	int epoll = device_need(epoll_create1(0), "epoll");

	device_need(epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event), "epoll_ctl");
	return epoll;
}

static const struct {
	const char *name;
	void (*measure)(void);
	bool is_long;
} parts[] = {
	{ "events", measure_events, false },
	{ "cells", measure_cells, false },
	{ "alone", measure_alone, true },
	{ "server", measure_idle_server, true },
	{ "traffic", measure_traffic, true },
	{ "leases", measure_leases, true },
	{ "feeds", measure_feeds, false },
};

int main(int argc, char **argv)
{
	struct rlimit limit;
	size_t i;

	if (argc != 3 && argc != 4)
		errx(2, "usage: device COUNT SPREAD [PART]");
	plan_init(&plan, atoi(argv[1]));
	spread_ns = atoi(argv[2]) * S;
	limit = (struct rlimit){ plan.count + 100, plan.count + 100 };
	device_need(setrlimit(RLIMIT_NOFILE, &limit), "setrlimit");
	for (i = 0; i < sizeof(parts) / sizeof(*parts); i++)
		if (argc == 4 ? !strcmp(argv[3], parts[i].name) :
				spread_ns || !parts[i].is_long)
			parts[i].measure();
	return 0;
}
