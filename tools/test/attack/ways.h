/* SPDX-License-Identifier: GPL-2.0-only */
/* The attacks. */
#ifndef ATTACK_WAYS_H
#define ATTACK_WAYS_H

#include <stdbool.h>

/* A descriptor that a victim gets, and polls, has this number. */
#define VICTIM_FD	900

/**
 * struct way - an attack
 * @name: its name
 * @what: what it does
 * @tasks: the number of tasks that do it
 * @users: the number of users whose tasks they are; 0: one
 * @subordinate: each is another subordinate user of one user
 * @victim: another process polls its %VICTIM_FD meanwhile
 * @slow_device: the clock event device cannot be set for less than some microseconds
 * @device: it uses /dev/twheel, and is checked; the others are for comparison
 * @floor: a way without the device in which the kernel does the same work, with interrupts
 *	off for as long; NULL: none
 * @files: how many files a task has; @spins: it reads without waiting. For some only
 * @run: attacks until killed; calls attack_begun() once it has begun
 */
struct way {
	const char *name;
	const char *what;
	unsigned int tasks;
	unsigned int users;
	bool subordinate;
	bool victim;
	bool slow_device;
	bool device;
	const char *floor;
	unsigned int files;
	bool spins;
	void (*run)(void);
};

extern const struct way ways[];

/* Attack in this way. */
void way_run(const struct way *way);

/* Called by an attacker when its attack has begun. */
void attack_begun(void);

#endif
