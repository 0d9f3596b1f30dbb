/* SPDX-License-Identifier: GPL-2.0-only */
/* What /dev/twheel costs a program, beyond what "twheel bench --cost" measures. */
#ifndef BENCH_PARTS_H
#define BENCH_PARTS_H

#include <stdbool.h>
#include <stdint.h>

#include "../../cli/plan.h"
#include "../../lib/twheel_device.h"
#include "../../test/device/lib/events.h"

#define MS	1000000ULL
#define S	(1000 * MS)

/* How many timers there are, which, in which order, and over how long they are spread. */
extern struct plan plan;
extern uint64_t spread_ns;

/* A line of results; the cost is in ns. */
void cost_report(const char *delays, const char *peer, const char *operation, double cost);

/* End the program if @ret is an error: -1 with errno, or -errno. Else return it. */
long device_need(long ret, const char *what);

uint64_t now_ns(void);
void sleep_until(uint64_t ns);

/* How long the machine, which has one CPU, is busy. */
struct stopwatch {
	uint64_t start, idle;
};

void stopwatch_start(struct stopwatch *watch);
double stopwatch_stop(const struct stopwatch *watch);

/* A wheel for as many timers, and one with cells, which acts if @flags say so. */
int wheel_open(void);
int wheel_open_cells(struct twheel_cells *cells, uint32_t count, uint32_t flags);

/* An epoll that watches a descriptor. */
int epoll_of(int fd);

/* What one of all costs, without the loop itself. */
#define COST_OF_EACH(which, statement)						\
({									\
	uint64_t start_ = now_ns(), walk_;					\
	size_t i_;							\
									\
	plan_walk(&plan);							\
	walk_ = now_ns() - start_;						\
	start_ = now_ns();						\
	for (i_ = 0; i_ < plan.count; i_++) {				\
		uint32_t which = plan.order[i_];				\
									\
		statement;						\
	}								\
	((double)now_ns() - start_ - walk_) / plan.count;			\
})

void measure_events(void);
void measure_cells(void);
void measure_alone(void);
void measure_idle_server(void);
void measure_traffic(void);
void measure_leases(void);
void measure_feeds(void);

#endif
