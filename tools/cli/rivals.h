/* SPDX-License-Identifier: GPL-2.0-only */
/* What twheel bench compares: ways for a program to have many timeouts. */
#ifndef TWHEEL_RIVALS_H
#define TWHEEL_RIVALS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "plan.h"

/**
 * struct rival - a way to have timeouts
 * @name: as the table has it
 * @word: the same in one word
 * @sample: where an extension or a cancellation takes the longer the more
 *	timeouts there are: how many of them are enough; 0: all
 * @open: make room for so many; may lower the number to what the system allows.
 *	NULL with errno if there is none of it here
 * @arm: all of them
 * @extend: those of the plan
 * @cancel: likewise
 * @expire: take the events of all, which were armed. False if some did not come
 *	in time, or SIGINT came
 *
 * What fails in between ends the program. There is no end to it but that of the
 * process.
 */
struct rival {
	const char *name;
	const char *word;
	size_t sample;
	void *(*open)(size_t *count);
	void (*arm)(void *self, const struct plan *plan);
	void (*extend)(void *self, const struct plan *plan);
	void (*cancel)(void *self, const struct plan *plan);
	bool (*expire)(void *self);
};

extern const struct rival twheel_rival;
extern const struct rival batch_rival;
extern const struct rival mapping_rival;
extern const struct rival timerfd_rival;
extern const struct rival posix_rival;
extern const struct rival uring_rival;

/* How long to wait for the next event before it counts as lost. */
#define RIVAL_PATIENCE_MS	10000

#endif
