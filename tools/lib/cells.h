/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/* The shared mapping: which timer each cell has, and the events that come there. */
#ifndef LIBTWHEEL_CELLS_H
#define LIBTWHEEL_CELLS_H

#include <stdbool.h>

#include "libtwheel.h"

/* A cell is written as one word of 64 bits. Not every machine can do that. */
#if __SIZEOF_POINTER__ == 8
#define CELLS_POSSIBLE	1
#else
#define CELLS_POSSIBLE	0
#endif

/**
 * enum record_state - what the library knows of a cell
 * @RECORD_FREE: it has no timer
 * @RECORD_ARMING: an arm is under way
 * @RECORD_TAKEN: an arm is under way, and its event has been taken already
 * @RECORD_USED: it has a timer, until the last event is taken or the timer is
 *	cancelled. A cancellation in the mapping leaves this state as it is
 */
enum record_state {
	RECORD_FREE,
	RECORD_ARMING,
	RECORD_TAKEN,
	RECORD_USED,
};

/**
 * struct cell_record - what the kernel does not keep for a cell, or does not show
 * @cookie: the program's
 * @deadline_ns: the time that the program armed for, before the cell rounded it up
 *	to ticks; 0: it gave none
 * @period_ns: as armed
 * @expected: of a periodic timer, the deadline that its next event should begin
 *	with, in ticks; 0: not known
 * @generation: of the timer, with RECORD_USED
 * @next: the next free cell, with RECORD_FREE
 * @state: enum record_state
 * @corrected: the last event began with @expected, although the word said otherwise
 * @fixed: @period_ns is a fixed delay, see fixed.h
 */
struct cell_record {
	uint64_t cookie;
	uint64_t deadline_ns;
	uint64_t period_ns;
	uint64_t expected;
	uint32_t generation;
	uint32_t next;
	uint32_t state;
	bool corrected;
	bool fixed;
};

/**
 * struct cell_event - the event word of a cell
 * @word: the generation in its upper half, and how many expiries in its lower one
 *
 * On 32-bit machines a pointer to 64 bits alone would not say that it is aligned.
 */
struct cell_event {
	__aligned_u64 word;
};

/**
 * struct cell_table - a mapping. Another process may write there at any time, so what
 * it says of itself is copied here when it is mapped
 * @map: its start; NULL: the handle has no mapping
 * @bytes: its length
 * @origin_ns: the time that deadlines count from
 * @count: number of cells
 * @cells: the cells
 * @events: the event word of each cell
 * @ring: cells that have an event
 * @mask: entries of the ring, minus one
 * @tail: how many entries have been taken; written to the mapping, and not read there
 * @records: what the library knows of each cell
 * @free: the first of the free cells, plus one; 0: none
 * @fresh: cells from here on have never been used
 * @scan: cells may have been freed behind the library's back: by cancelling all
 * @fixed: a timer with a fixed delay has been armed
 */
struct cell_table {
	struct twheel_map *map;
	uint64_t bytes;
	uint64_t origin_ns;
	uint32_t count;
	struct twheel_cell *cells;
	struct cell_event *events;
	uint32_t *ring;
	uint32_t mask;
	uint32_t tail;
	struct cell_record *records;
	uint32_t free;
	uint32_t fresh;
	bool scan;
	bool fixed;
};

/* An identifier in the form that the inlines need, from its parts. */
static inline uint64_t cells_id(uint32_t generation, uint32_t cell)
{
	return twheel_cell_word(generation, TWHEEL_CELL_PENDING,
				cell * sizeof(struct twheel_cell));
}

/* The kernel's identifier as the program sees it, and the way back. */
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
 * An arm in a cell has three parts. The first finds a cell and writes its number
 * into the operation; it returns -ENOSPC if no cell is free, or -EINVAL. The second
 * is the system call. The third notes the result, and gives the operation the
 * identifier that the program sees.
 */
int cells_before_arm(struct twheel *wheel, struct twheel_op *op);
void cells_after_arm(struct twheel *wheel, struct twheel_op *op,
		     uint32_t cell, int result);

/* In the mapping a timer fires without slack. */
static inline void cells_ignore_slack(struct twheel_op *op)
{
	if (op->flags & TWHEEL_SET_SLACK)
		op->slack_ns = 0;
	op->flags &= ~TWHEEL_SET_SLACK;
}

/* The result of another operation, which still has the kernel's identifier. */
int cells_settle(struct twheel *wheel, uint32_t code, struct twheel_op *op,
		 int result);

/* All timers have been cancelled. */
void cells_cancelled(struct twheel *wheel);

/* Take the events that wait. The caller holds the handle's lock. */
unsigned int cells_take(struct twheel *wheel, struct twheel_event *events,
			unsigned int most);

#endif
