/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/* The shared mapping: which timer each cell has, and the events that come there. */
#ifndef LIBTWHEEL_CELLS_H
#define LIBTWHEEL_CELLS_H

#include <errno.h>
#include <stdbool.h>

#include "libtwheel.h"

/* A cell is written as one word of 64 bits. Not every machine can do that. */
#if __SIZEOF_POINTER__ == 8
#define CELLS_POSSIBLE	1
#else
#define CELLS_POSSIBLE	0
#endif

/* Changed by one instruction, also on 32 bits, where the compiler aligns 64 bits to 4. */
typedef uint64_t cell_atomic __attribute__((aligned(8)));

/* Bits of &cell_record.deadline_ns that no deadline has. */
#define RECORD_PERIODIC	(1ULL << 63)	/* the kernel keeps a period: see cell_period */
#define RECORD_APART	(1ULL << 62)	/* its identifier is one of CELLS_APART */
#define RECORD_DEADLINE	((1ULL << 62) - 1)

/*
 * A timer that is armed with a period has these bits 0 in its identifier, and no word is like
 * that. So the inlines leave it to the library, which looks for an event that waits.
 */
#define CELLS_APART	((uint64_t)3 << TWHEEL_CELL_STATE_SHIFT)

/**
 * struct cell_record - what the kernel does not keep of a timer in a cell
 * @cookie: the program's
 * @deadline_ns: the time that the timer was armed for, before the cell rounded it up to
 *	ticks; 0: not known. RECORD_PERIODIC and RECORD_APART beside it
 *
 * It is written by who has the cell: who has taken it from the free ones, and not yet
 * written its word. For later changes see record_lock().
 */
struct cell_record {
	cell_atomic cookie;
	cell_atomic deadline_ns;
};

/**
 * struct cell_period - more of a periodic timer; memory that no such timer uses is none
 * @period_ns: as armed
 * @expected: the deadline that its next event should begin with, in ticks; 0: not known
 * @corrected: the last event began with @expected, although the word said otherwise
 * @fixed: @period_ns is a fixed delay, see fixed.h
 */
struct cell_period {
	uint64_t period_ns;
	uint64_t expected;
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
 * @leaves: a bit for each cell: it is submitted
 * @summary: a bit for each word of the leaves
 * @links: for each cell, see &struct twheel_view_1; also for lists of free ones
 * @records: what the library knows of each cell
 * @periods: more, of those with periodic timers
 * @free: free cells, beside those that &twheel_view_1.cancelled leads to: the first one,
 *	plus one, and above it how often one was taken, so that a head is not mistaken
 * @holders: threads that have taken cells from the one list, and will put them on the other
 * @fresh: cells from here on have never been used
 * @changing: a record is changed whose timer may be cancelled meanwhile
 * @fixed: a timer with a fixed delay has been armed
 * @given: a timer may have got a period after it was armed, which no inline knows
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
	struct cell_event *leaves;
	struct cell_event *summary;
	cell_atomic *links;
	struct cell_record *records;
	struct cell_period *periods;
	cell_atomic free;
	cell_atomic holders;
	uint32_t fresh;
	bool changing;
	bool fixed;
	bool given;
};

/*
 * The epoch of a cell, in an identifier: between what is the word's and the offset. With it,
 * a cell is armed 2^33 times before an identifier comes again.
 */
#define EPOCH_ONE	(1ULL << TWHEEL_CELL_TICKS_SHIFT)
#define EPOCH_MASK	((1ULL << TWHEEL_VIEW_OFFSET_SHIFT) - EPOCH_ONE)

/* What all identifiers of a cell have now, and what is on the list. */
static inline uint64_t cells_link(const struct cell_table *cells, uint32_t cell)
{
	return __atomic_load_n(&cells->links[cell], __ATOMIC_RELAXED);
}

/* The cell that comes after this one on a list, plus one. */
static inline void cells_link_set(struct cell_table *cells, uint32_t cell, uint32_t next)
{
	__atomic_store_n(&cells->links[cell],
			 (cells_link(cells, cell) & ~(uint64_t)TWHEEL_VIEW_OWNER) | next,
			 __ATOMIC_RELAXED);
}

/* The generations of a cell, which nobody else has, begin again. Returns its link. */
static inline uint64_t cells_epoch_begin(struct cell_table *cells, uint32_t cell)
{
	uint64_t link = cells_link(cells, cell);

	link = (link & ~EPOCH_MASK) | ((link + EPOCH_ONE) & EPOCH_MASK);
	__atomic_store_n(&cells->links[cell], link, __ATOMIC_RELAXED);
	return link;
}

/* An identifier in the form that the inlines need, from its parts. */
static inline uint64_t cells_id(const struct cell_table *cells, uint32_t generation,
				uint32_t cell)
{
	return twheel_cell_word(generation, TWHEEL_CELL_PENDING, 0) |
	       (cells_link(cells, cell) & ~(uint64_t)TWHEEL_VIEW_OWNER);
}

/* The cell of an identifier that is known to be one. */
static inline uint32_t cells_index(uint64_t id)
{
	return (id >> TWHEEL_VIEW_OFFSET_SHIFT) / sizeof(struct twheel_cell);
}

/* The kernel's identifier as the program sees it, and the way back. */
static inline uint64_t cells_id_out(const struct cell_table *cells, uint64_t id)
{
	uint64_t out = cells_id(cells, id >> 32, id);

	return cells->records[(uint32_t)id].deadline_ns & RECORD_APART ? out & ~CELLS_APART :
									out;
}

static inline uint64_t cells_id_in(uint64_t id)
{
	return (uint64_t)twheel_cell_generation(id) << 32 | cells_index(id);
}

/* Map the wheel's cells. 0 or -errno. */
int cells_map(struct twheel *wheel, uint64_t bytes);
void cells_unmap(struct twheel *wheel);

static inline cell_atomic *cell_word(const struct cell_table *cells, uint32_t cell)
{
	return (cell_atomic *)&cells->cells[cell].word;
}

static inline uint64_t cell_load(const struct cell_table *cells, uint32_t cell)
{
	return __atomic_load_n(cell_word(cells, cell), __ATOMIC_SEQ_CST);
}

static inline bool cell_exchange(const struct cell_table *cells, uint32_t cell,
				 uint64_t *word, uint64_t new)
{
	return __atomic_compare_exchange_n(cell_word(cells, cell), word, new, false,
					   __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
}

/* Does a word say that the timer of an identifier is pending? */
static inline bool word_is_pending(uint64_t word, uint64_t id)
{
	return !((word ^ id) & (TWHEEL_VIEW_OWNER - 1));
}

/* Can a deadline be written as it is, before the span is moved? */
static inline bool view_spans(const struct twheel_view_1 *view, uint64_t deadline_ns)
{
	return deadline_ns - __atomic_load_n(&view->from_ns, __ATOMIC_RELAXED) <
	       view->span_ns;
}

/* Can it be written at all? Others are for the kernel, which refuses them or knows better. */
bool view_covers(struct twheel *wheel, uint64_t deadline_ns);

/* A deadline that can be written, in ticks. */
static inline uint64_t view_ticks(const struct twheel_view_1 *view, uint64_t deadline_ns)
{
	return (deadline_ns - view->base_ns) / view->tick_ns;
}

/* What only a call can do. No program sees it. */
#define CELLS_NEED_CALL	(-EAGAIN)

/* Arm a timer without a period, by a call if it has to be. Any handle will do. */
int cells_arm_at(struct twheel *wheel, uint64_t deadline_ns, uint64_t cookie, uint64_t *id);

/* Arm a timer with all options, by a call if it has to be. */
int cells_arm(struct twheel *wheel, struct twheel_op *op);

/*
 * Another operation, as far as it can be done in the mapping; else CELLS_NEED_CALL. -ENOENT
 * if the identifier is of no cell, or of an epoch before. -ESTALE in a forked child.
 */
int cells_perform(struct twheel *wheel, uint32_t code, struct twheel_op *op);

/* The time that an operation means; beyond all limits if it is none. */
uint64_t cells_op_time(const struct twheel *wheel, const struct twheel_op *op);

/* Are all fields 0 that no operation in the mapping uses? The kernel refuses others. */
bool cells_op_plain(const struct twheel_op *op, uint32_t flags);

/* The deadline of a timer may be nearer than the kernel knows. Returns 0. */
int cells_tell(struct twheel *wheel, uint64_t id, uint32_t cell, uint64_t ticks);

/* A cell has no timer any more, nor an event. */
void cells_put(struct twheel *wheel, uint32_t cell);

/* The same for those from @first, which is a cell plus one, to @last. They are linked. */
void cells_put_chain(struct twheel *wheel, uint32_t first, uint32_t last);

/*
 * Change the record of a timer that others may cancel meanwhile. False if it is gone, and
 * the cell may have the next one. The caller holds the handle's lock, and ends with
 * record_unlock() in either case.
 */
bool record_lock(struct twheel *wheel, uint64_t id);
void record_unlock(struct twheel *wheel);

uint64_t cells_ticks_to_ns(const struct twheel *wheel, uint64_t ticks);

/* The time in ticks. */
uint64_t cells_ticks_now(const struct twheel *wheel);

/* In the mapping a timer fires without slack. */
static inline void cells_ignore_slack(struct twheel_op *op)
{
	if (op->flags & TWHEEL_SET_SLACK)
		op->slack_ns = 0;
	op->flags &= ~TWHEEL_SET_SLACK;
}

/* Have the kernel do another operation, of a cell and with the kernel's identifier. */
int cells_call(struct twheel *wheel, uint32_t code, struct twheel_op *op);

/* Cancel all timers, and withdraw all events. Returns how many. */
int cells_cancel_all(struct twheel *wheel);

/* Take the events that wait. The caller holds the handle's lock. */
unsigned int cells_take(struct twheel *wheel, struct twheel_event *events,
			unsigned int most);

#endif
