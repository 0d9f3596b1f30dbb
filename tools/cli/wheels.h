/* SPDX-License-Identifier: GPL-2.0-only */
/* The wheels of all processes, as /proc tells of them, and those of modules, as debugfs. */
#ifndef TWHEEL_WHEELS_H
#define TWHEEL_WHEELS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Levels of the finest wheel there is: one for each bit. */
#define MOST_LEVELS	64
/* And counts of lateness. */
#define LATE_BUCKETS	64

/**
 * struct wheel - a wheel that a process has open, or a module has made
 * @pid: the process; 0: a module
 * @fd: its descriptor; -1: none
 * @name: of the process, or the wheel, as it may be printed
 * @raw_name: the same as it is
 * @owner: the module
 * @id: its number; 0: it has none yet, or that is not told
 * @told: what follows is known; else only that it is there
 * @clockid: its clock; -1: one that only modules have
 * @tick_ns: its tick
 * @slots: ratio of one level to the next; 0: not told
 * @levels: how many levels; 0: not told
 * @max_timers: its limit
 * @timers: timers that exist
 * @pending: those that wait
 * @unread: those whose event waits
 * @armed: since it was opened
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
 * @late: how many were how late, as struct twheel_file_stats has it
 * @late_buckets: how many of these are known
 * @occupied: in how many buckets of each level there are timers
 * @occupied_levels: of how many levels that is known
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
	uint64_t late[LATE_BUCKETS];
	unsigned int late_buckets;
	uint64_t occupied[MOST_LEVELS];
	unsigned int occupied_levels;
};

/*
 * Those of one process, or of all, and of modules, if @pid is 0. Returns an array to be freed,
 * and in *@count how many there are; *@hidden tells whether there are processes
 * that we may not look into.
 */
struct wheel *find_wheels(pid_t pid, size_t *count, bool *hidden);

/*
 * So many per cent of the expiries between two looks were less late than this; 0: there
 * were none.
 */
uint64_t late_percentile(const uint64_t *late, const uint64_t *before,
			 unsigned int percent);

#endif
