/* SPDX-License-Identifier: GPL-2.0-only */
/* The wheels of all processes, from /proc, and those of modules, from debugfs. */
#ifndef TWHEEL_WHEELS_H
#define TWHEEL_WHEELS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

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
 * @timers: timers that exist
 * @pending: those that are pending
 * @unread: those with an event to be read
 * @armed: counts since it was opened, as struct twheel_file_stats has them
 * @fired: likewise
 * @cancelled: likewise
 * @extended: likewise
 * @cascades: likewise
 * @passes: likewise
 * @threaded: likewise
 * @exhausted: likewise
 * @overruns: likewise
 * @late_told: @late_ns is known
 * @late_ns: the largest lateness so far
 * @late_sum_ns: the sum of all
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
	uint64_t timers, pending, unread;
	uint64_t armed, fired, cancelled, extended;
	uint64_t cascades, passes, threaded, exhausted, overruns;
	bool late_told;
	uint64_t late_ns, late_sum_ns;
	uint64_t late[WHEEL_LATE_BUCKETS];
	unsigned int late_buckets;
	uint64_t occupied[WHEEL_LEVELS_MOST];
	unsigned int occupied_levels;
};

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
