/* SPDX-License-Identifier: GPL-2.0-only */
/* What twheel bench compares: ways for a program to have many timeouts. */
#ifndef TWHEEL_RIVALS_H
#define TWHEEL_RIVALS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/**
 * struct rival - a way to have timeouts
 * @name: as the table has it
 * @open: make room for so many; may lower the number to what the system allows.
 *	NULL with errno if there is none of it here
 * @arm: all of them, for times on CLOCK_MONOTONIC, from @ns up in steps of @step
 * @extend: all of them, likewise
 * @cancel: all of them
 * @expire: take the events of all, which were armed. False if some did not come
 *	in time, or SIGINT came
 * @close: everything is gone
 *
 * What fails in between ends the program.
 */
struct rival {
	const char *name;
	void *(*open)(size_t *count);
	void (*arm)(void *self, uint64_t ns, uint64_t step);
	void (*extend)(void *self, uint64_t ns, uint64_t step);
	void (*cancel)(void *self);
	bool (*expire)(void *self);
	void (*close)(void *self);
};

extern const struct rival twheel_rival;
extern const struct rival batch_rival;
extern const struct rival mapping_rival;
extern const struct rival timerfd_rival;
extern const struct rival posix_rival;

/* How long to wait for the next event before it counts as lost. */
#define RIVAL_PATIENCE_MS	10000

#endif
