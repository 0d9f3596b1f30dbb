/* SPDX-License-Identifier: GPL-2.0-only */
/* The wheels of all processes, as /proc tells of them. */
#ifndef TWHEEL_WHEELS_H
#define TWHEEL_WHEELS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Levels of the finest wheel there is: one for each bit. */
#define MOST_LEVELS	64

/**
 * struct wheel - a wheel that a process has open
 * @pid: the process
 * @fd: its descriptor
 * @name: of the process
 * @told: what follows is known; else only that it is there
 * @clockid: its clock
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
 * @late_told: @late_ns is known
 * @late_ns: the largest lateness so far
 * @occupied: in how many buckets of each level there are timers
 * @occupied_levels: of how many levels that is known
 */
struct wheel {
	pid_t pid;
	int fd;
	char name[32];
	bool told;
	int clockid;
	uint64_t tick_ns;
	uint64_t slots, levels, max_timers;
	uint64_t timers, pending, unread;
	uint64_t armed, fired, cancelled;
	bool late_told;
	uint64_t late_ns;
	uint64_t occupied[MOST_LEVELS];
	unsigned int occupied_levels;
};

/*
 * Those of one process, or of all if @pid is 0. Returns an array to be freed,
 * and in *@count how many there are; *@hidden tells whether there are processes
 * that we may not look into.
 */
struct wheel *find_wheels(pid_t pid, size_t *count, bool *hidden);

#endif
