/* SPDX-License-Identifier: GPL-2.0-only */
/* The wheels of all processes, from /proc, and those of modules, from debugfs. */
#ifndef TWHEEL_WHEELS_H
#define TWHEEL_WHEELS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* A wheel whose levels have two slots has a level for each bit. */
#define WHEEL_LEVELS_MOST	64
/* Counts of lateness. */
#define WHEEL_LATE_BUCKETS	64

/**
 * enum wheel_number - the numbers that fdinfo and debugfs show of a wheel
 *
 * The keys and their meanings are in &wheel_numbers. No kind of wheel has all.
 */
enum wheel_number {
	WHEEL_ID,
	WHEEL_TICK,
	WHEEL_PERCPU,
	WHEEL_SLOTS,
	WHEEL_LEVELS,
	WHEEL_MAX_TIMERS,
	WHEEL_MAX_CELLS,
	WHEEL_TIMERS,
	WHEEL_CELLS,
	WHEEL_PENDING,
	WHEEL_ARMED,
	WHEEL_FIRED,
	WHEEL_CANCELLED,
	WHEEL_UNFIRED,
	WHEEL_EXTENDED,
	WHEEL_CASCADES,
	WHEEL_ALARMS,
	WHEEL_POSTPONED,
	WHEEL_PASSES,
	WHEEL_EXHAUSTED,
	WHEEL_FILE_MEMORY,
	WHEEL_USER_TIMERS,
	WHEEL_USER_LIMIT,
	WHEEL_USER_MEMORY,
	WHEEL_USER_MEMORY_LIMIT,
	WHEEL_LATE_MAX,
	WHEEL_LATE_SUM,
	WHEEL_NUMBERS,
};

/**
 * struct wheel_number_info - what a number is
 * @key: its name in fdinfo and debugfs; times end in _ns
 * @metric: its name for Prometheus, without "twheel_"; "": it has none
 * @type: "counter" or "gauge"
 * @help: what it says, in a sentence
 */
struct wheel_number_info {
	const char *key;
	const char *metric;
	const char *type;
	const char *help;
};

extern const struct wheel_number_info wheel_numbers[WHEEL_NUMBERS];

/**
 * struct wheel - a wheel that a process has open, or a module has made
 * @pid: the process; 0: a module
 * @fd: its descriptor; -1: none
 * @name: the name of the process, or of a module's wheel, made printable
 * @raw_name: the same, as it is
 * @owner: the module, made printable
 * @context: where the callbacks of a module's wheel run
 * @clock: its clock, of enum twheel_clock_id
 * @numbers: by enum wheel_number; 0: unknown
 * @known: which of them are known, a bit for each
 * @late: of how many expiries bit i was the highest bit of the lateness in ns, or i was 0
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
	char context[16];
	uint32_t clock;
	uint64_t numbers[WHEEL_NUMBERS];
	uint64_t known;
	uint64_t late[WHEEL_LATE_BUCKETS];
	unsigned int late_buckets;
	uint64_t occupied[WHEEL_LEVELS_MOST];
	unsigned int occupied_levels;
};

bool wheel_knows(const struct wheel *wheel, enum wheel_number number);

/* How many timers it has: pending ones of a module, all that exist of a file. */
uint64_t wheel_timers(const struct wheel *wheel);

/* All that is known, as an object of JSON: an element, or outermost. */
void wheel_print_json(const struct wheel *wheel);

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
