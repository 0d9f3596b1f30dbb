/* SPDX-License-Identifier: GPL-2.0-only */
/* The wheels of all processes, from /proc, and those of modules, from debugfs. */
#ifndef TWHEEL_WHEELS_H
#define TWHEEL_WHEELS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "../../module/dev/counters.h"

/* A wheel with two slots has a level for each bit. */
#define WHEEL_LEVELS_MOST	64
/* Counts of lateness. */
#define WHEEL_LATE_BUCKETS	64

/**
 * struct wheel - a wheel that a process has open, or a module has made
 * @pid: the process; 0: a module
 * @fd: its descriptor; -1: none
 * @name: the name of the process, or of a module's wheel, made printable
 * @raw_name: the same, as it is
 * @owner: the module
 * @id: its number; 0: none yet, or unknown
 * @told: the fields below are known
 * @clockid: its clock; -1: a module's own
 * @tick_ns: its tick
 * @slots: ratio of one level to the next; 0: unknown
 * @levels: how many levels; 0: unknown
 * @max_timers: its limit
 * @timers: this and the following ones are the counters of counters.h; a counter that this
 *	kind of wheel does not have is 0
 * @late: how many timers were how late, as struct twheel_file_stats has it
 * @late_buckets: how many of these are known
 * @occupied: the number of buckets in use, of each level
 * @occupied_levels: for how many levels that is known
 */
struct wheel {
	pid_t pid;
	int fd;
	char name[32];
	char raw_name[32];
	char owner[64];
	uint64_t id;
	bool told;
	int clockid;
	uint64_t tick_ns;
	uint64_t slots, levels, max_timers;
#define WHEEL_COUNTER(name, ...)	uint64_t name;
	TW_COUNTERS(WHEEL_COUNTER, WHEEL_COUNTER, WHEEL_COUNTER, WHEEL_COUNTER)
#undef WHEEL_COUNTER
	uint64_t late[WHEEL_LATE_BUCKETS];
	unsigned int late_buckets;
	uint64_t occupied[WHEEL_LEVELS_MOST];
	unsigned int occupied_levels;
};

/* The wheels that have a counter. */
enum wheel_kind { WHEEL_ANY, WHEEL_OF_FILE, WHEEL_OF_MODULE };

/**
 * struct wheel_counter - a counter of a wheel
 * @name: its name in fdinfo and debugfs; NULL ends an array
 * @kind: the wheels that have it
 * @offset: its place in struct wheel
 * @metric: its name for Prometheus, without "twheel_"; "": it has none
 * @type: "counter" or "gauge"
 * @help: what it counts
 */
struct wheel_counter {
	const char *name;
	enum wheel_kind kind;
	size_t offset;
	const char *metric;
	const char *type;
	const char *help;
};

/* Those of counters.h, and the limit. */
extern const struct wheel_counter wheel_counters[];

/* Does this kind of wheel have the counter, and is it known? */
bool wheel_has(const struct wheel *wheel, const struct wheel_counter *counter);
uint64_t wheel_count(const struct wheel *wheel,
		     const struct wheel_counter *counter);

/*
 * Find the wheels of one process; if @pid is 0, of all processes and modules. Returns an
 * array of *@count wheels, to be freed. *@hidden: some processes may not be looked into.
 */
struct wheel *find_wheels(pid_t pid, size_t *count, bool *hidden);

/*
 * So many per cent of the expiries between two views were less late than this; 0: there
 * were none.
 */
uint64_t late_percentile(const uint64_t *late, const uint64_t *before,
			 unsigned int percent);

#endif
