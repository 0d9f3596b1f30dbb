/* SPDX-License-Identifier: GPL-2.0-only */
/* The attacks. */
#ifndef ATTACK_WAYS_H
#define ATTACK_WAYS_H

#include <stdbool.h>

/**
 * struct way - an attack
 * @name: its name
 * @what: what it does
 * @tasks: the number of tasks that do it
 * @users: the number of users whose tasks they are; 0: one
 * @children: how many of the tasks are others' children
 * @subordinate: each is another subordinate user of one user
 * @steps: root sets the clock back and forth meanwhile
 * @device: it uses /dev/twheel, and is checked; the others are for comparison
 * @floor: a way without the device in which the kernel does the same work, with interrupts
 *	off for as long; NULL: none
 * @run: attacks until killed; calls attack_begun() once it has begun
 */
struct way {
	const char *name;
	const char *what;
	unsigned int tasks;
	bool device;
	void (*run)(unsigned int task);
	unsigned int users;
	unsigned int children;
	bool subordinate;
	bool steps;
	const char *floor;
};

extern const struct way ways[];

/* Called by an attacker when its attack has begun. */
void attack_begun(void);

#endif
