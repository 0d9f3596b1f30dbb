/* SPDX-License-Identifier: GPL-2.0-only */
/* Ways to be a nuisance. */
#ifndef ATTACK_WAYS_H
#define ATTACK_WAYS_H

#include <stdbool.h>

/**
 * struct way - a way to be a nuisance
 * @name: its name
 * @what: what it does
 * @tasks: how many do it
 * @device: with /dev/twheel, which has to bear it; else it is there to compare with
 * @run: does it until killed; calls at_it() once it has begun
 */
struct way {
	const char *name;
	const char *what;
	unsigned int tasks;
	bool device;
	void (*run)(unsigned int task);
};

extern const struct way ways[];

/* Whoever attacks says that the attack is on. */
void at_it(void);

#endif
