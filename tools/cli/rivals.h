/* SPDX-License-Identifier: GPL-2.0-only */
/* The rivals of twheel bench: the ways for a program to have many timeouts. */
#ifndef TWHEEL_RIVALS_H
#define TWHEEL_RIVALS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "plan.h"

/**
 * struct rival - a way to have timeouts
 * @name: its name in the table
 * @word: the same in one word; NULL: --cost leaves it out, as it is measured elsewhere
 * @sample: how many timeouts to extend and cancel, where that is slower the more there
 *	are; 0: all
 * @open: make room for so many timeouts; may lower the number to what the system allows.
 *	NULL, with errno, if this system does not have it
 * @arm: arm all of them
 * @extend: extend those of the plan
 * @cancel: cancel those of the plan
 * @cancel_all: cancel all at once, where that is faster; NULL: it is not. False if this
 *	system cannot
 * @expire: take the events of all, which are armed. False if one does not come in time, or
 *	SIGINT comes
 *
 * Any other failure ends the program. There is no close: the process ends.
 */
struct rival {
	const char *name;
	const char *word;
	size_t sample;
	void *(*open)(size_t *count);
	void (*arm)(void *self, const struct plan *plan);
	void (*extend)(void *self, const struct plan *plan);
	void (*cancel)(void *self, const struct plan *plan);
	bool (*cancel_all)(void *self);
	bool (*expire)(void *self);
};

extern const struct rival process_rival;
extern const struct rival twheel_rival;
extern const struct rival batch_rival;
extern const struct rival cells_rival;
extern const struct rival timerfd_rival;
extern const struct rival posix_rival;
extern const struct rival uring_rival;

/* An event that does not come within this time is lost. */
#define RIVAL_PATIENCE_MS	10000

#endif
