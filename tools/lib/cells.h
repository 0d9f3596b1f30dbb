/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/* The shared mapping: which cell is whose, and the events that come through it. */
#ifndef LIBTWHEEL_CELLS_H
#define LIBTWHEEL_CELLS_H

#include <stdbool.h>

#include "libtwheel.h"

/* Cells are words of 64 bits that are written at once: not for every machine. */
#if __SIZEOF_POINTER__ == 8
#define CELLS_POSSIBLE	1
#else
#define CELLS_POSSIBLE	0
#endif

/**
 * enum own_state - what the library knows of a cell
 * @OWN_FREE: nobody's
 * @OWN_ARMING: an arm is under way
 * @OWN_TAKEN: likewise, and the event has been taken before the arm was through
 * @OWN_USED: a timer's, until its last event is taken or it is cancelled; if that
 *	was done in the mapping, nobody may have noticed
 */
enum own_state {
	OWN_FREE,
	OWN_ARMING,
	OWN_TAKEN,
	OWN_USED,
};

/**
 * struct own - what the kernel does not keep for a cell, or not where we see it
 * @cookie: the program's
 * @deadline_ns: as armed for a time, which the cell has rounded up to ticks; or 0
 * @period_ns: as armed
 * @expected: of a periodic timer, the deadline that its next event is to begin with,
 *	in ticks; 0: not known
 * @generation: of the timer, with OWN_USED
 * @next: the next free cell, with OWN_FREE
 * @state: enum own_state
 * @corrected: the last event was said to begin with @expected, and not as the word has it
 */
struct own {
	uint64_t cookie;
	uint64_t deadline_ns;
	uint64_t period_ns;
	uint64_t expected;
	uint32_t generation;
	uint32_t next;
	uint32_t state;
	bool corrected;
};

/**
 * struct cells - a mapping
 * @map: its start; NULL: there is none
 * @bytes: how long it is
 * @origin_ns: from where deadlines count
 * @count: how many cells
 * @cells: the cells
 * @events: the word of each cell
 * @ring: cells with an event
 * @own: what we know of each cell
 * @free: the first of the free cells, plus one; 0: none
 * @fresh: cells from here on have never been used
 */
struct cells {
	struct twheel_map *map;
	uint64_t bytes;
	uint64_t origin_ns;
	uint32_t count;
	struct twheel_cell *cells;
	uint64_t *events;
	uint32_t *ring;
	struct own *own;
	uint32_t free;
	uint32_t fresh;
};

/* An identifier as the kernel has it, and as the inlines want it. */
static inline uint64_t cells_id(uint32_t generation, uint32_t cell)
{
	return twheel_cell_word(generation, TWHEEL_CELL_PENDING,
				cell * sizeof(struct twheel_cell));
}

static inline uint64_t cells_id_out(uint64_t id)
{
	return cells_id(id >> 32, id);
}

static inline uint64_t cells_id_in(uint64_t id)
{
	return id >> TWHEEL_CELL_GENERATION_SHIFT << 32 |
	       (uint32_t)id / sizeof(struct twheel_cell);
}

/* Map the wheel's cells. 0 or -errno. */
int cells_map(struct twheel *wheel, uint64_t bytes);
void cells_unmap(struct twheel *wheel);

/*
 * The arm of a timer in a cell, in three parts: find a cell, and name it in the
 * operation (-ENOSPC: there is none); the system call; then say what came of
 * it, and have the identifier as the program is to see it.
 */
int cells_before_arm(struct twheel *wheel, struct twheel_op *op);
void cells_after_arm(struct twheel *wheel, struct twheel_op *op,
		     uint32_t cell, int result);

/* What another operation's result is, with the kernel's identifier still in it. */
int cells_settle(struct twheel *wheel, uint32_t what, struct twheel_op *op,
		 int result);

/* All timers are cancelled. */
void cells_cancelled(struct twheel *wheel);

/* Take events that are there, with the handle's lock held. */
unsigned int cells_take(struct twheel *wheel, struct twheel_event *events,
			unsigned int most);

#endif
