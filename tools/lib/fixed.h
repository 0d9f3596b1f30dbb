/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/* Periodic timers whose delay counts from when their event is taken. */
#ifndef LIBTWHEEL_FIXED_H
#define LIBTWHEEL_FIXED_H

#include <stdbool.h>

#include "libtwheel.h"

/**
 * struct fixed_entry - a timer with a fixed delay
 * @id: the timer; 0: the place is free
 * @delay_ns: its delay
 */
struct fixed_entry {
	uint64_t id;
	uint64_t delay_ns;
};

/**
 * struct fixed_table - all such timers of a handle without a mapping
 * @entries: a hash table, with linear probing; guarded by the handle's lock
 * @size: places in the table, a power of two, or 0
 * @count: timers in it
 *
 * With a mapping, what is known of a cell has the delay.
 */
struct fixed_table {
	struct fixed_entry *entries;
	uint32_t size;
	uint32_t count;
};

/* Is the arm valid, as far as the kernel does not see it? */
bool fixed_valid(const struct twheel_op *op);

/*
 * The period that the kernel is given. It is so long that it never ends: the timer
 * keeps its identifier, and does not expire again until the event is taken.
 */
uint64_t fixed_period(const struct twheel *wheel);

/* The rest is for handles without a mapping. */

int fixed_arm(struct twheel *wheel, struct twheel_op *op);

/* Does the handle have such timers? Is this one of them? */
bool fixed_any(const struct twheel *wheel);
bool fixed_find(struct twheel *wheel, uint64_t id, uint64_t *delay_ns);

/* The timer has ended, or all have. */
void fixed_drop(struct twheel *wheel, uint64_t id);
void fixed_drop_all(struct twheel *wheel);
void fixed_free(struct twheel *wheel);

/* Their events have been taken: begin the next delay. */
void fixed_again(struct twheel *wheel, struct twheel_event *events,
		 unsigned int count);

#endif
