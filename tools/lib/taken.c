// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/* The shared mapping, from the program's side: events. */
#include <errno.h>
#include <sys/ioctl.h>

#include "handle.h"

/* The period that the kernel has for a timer, in ticks. */
static uint64_t cell_period(const struct twheel *wheel,
			    const struct cell_period *period)
{
	uint64_t tick_ns = wheel->view.tick_ns;
	uint64_t ns = period->fixed ? fixed_period(wheel) : period->period_ns;

	return (ns + tick_ns - 1) / tick_ns;
}

/*
 * The deadline as the program gave it, if @ticks are that deadline rounded up. All
 * deadlines of a periodic timer are rounded by as much as the first one.
 */
static uint64_t cell_deadline(const struct twheel *wheel, const struct cell_record *record,
			      uint64_t ticks)
{
	uint64_t ns = cells_ticks_to_ns(wheel, ticks), tick_ns = wheel->view.tick_ns;
	uint64_t given = record->deadline_ns & RECORD_DEADLINE, over;

	if (record->deadline_ns & RECORD_PERIODIC && given > wheel->cells.origin_ns) {
		over = (given - wheel->cells.origin_ns) % tick_ns;
		return over ? ns - (tick_ns - over) : ns;
	}
	/* A deadline long past is due at the first tick. */
	if (given && given <= ns && (given + tick_ns > ns || !ticks))
		return given;
	return ns;
}

/*
 * The first of the deadlines that @count expiries of a periodic timer stand for. Its
 * word has the next deadline, @ticks.
 *
 * The kernel moves the word, and then adds to the event. An event taken in between is
 * one expiry short. It looks as if the program had extended the timer by a whole number
 * of periods. Such an event is reported with the expected deadline. If the timer has
 * truly been extended, the next event is as far ahead, and is believed.
 */
static uint64_t cell_first_deadline(const struct twheel *wheel, struct cell_period *record,
				    uint64_t ticks, uint64_t count)
{
	uint64_t period = cell_period(wheel, record);
	uint64_t all = period * count, first = ticks > all ? ticks - all : 0;

	record->corrected = !record->corrected && record->expected &&
			 first > record->expected &&
			 (first - record->expected) % period == 0;
	if (record->corrected)
		first = record->expected;
	record->expected = first + all;
	return first;
}

/* A timer has fired, and this has taken its event: its cell is free. */
static bool cell_event_last(struct twheel *wheel, uint32_t cell, uint64_t word,
			    struct twheel_event *event)
{
	const struct cell_record *record = &wheel->cells.records[cell];

	*event = (struct twheel_event){
		.id = cells_id(cells_generation(word), cell),
		.cookie = record->cookie,
		.deadline_ns = cell_deadline(wheel, record, word & TWHEEL_CELL_NEVER),
		.count = 1,
		.flags = TWHEEL_EVENT_LAST,
	};
	cells_put(wheel, cell);
	return true;
}

/* A periodic timer has expired. False if it is gone. */
static bool cell_event_period(struct twheel *wheel, uint32_t cell, uint64_t word,
			      uint64_t count, struct twheel_event *event)
{
	const struct cell_record *record = &wheel->cells.records[cell];
	struct cell_period *period = &wheel->cells.periods[cell];
	uint64_t id = (uint64_t)cells_generation(word) << 32 | cell;
	uint64_t ticks = word & TWHEEL_CELL_NEVER;
	bool there = record_lock(wheel, id) && record->deadline_ns & RECORD_PERIODIC;

	if (there) {
		ticks = cell_first_deadline(wheel, period, ticks, count);
		*event = (struct twheel_event){
			.id = cells_id_out(id),
			.cookie = record->cookie,
			.deadline_ns = cell_deadline(wheel, record, ticks),
			.count = period->fixed ? 1 : count,
			.flags = count == UINT32_MAX ? TWHEEL_EVENT_SATURATED : 0,
		};
	}
	record_unlock(wheel);
	return there;
}

/* Make the record of a cell's event. False if its timer is gone. */
static bool cell_event(struct twheel *wheel, uint32_t cell, uint64_t word,
		       uint64_t count, struct twheel_event *event)
{
	switch (cells_state(word)) {
	case TWHEEL_CELL_FIRED:
		return cell_event_last(wheel, cell, word, event);
	case TWHEEL_CELL_PENDING:
		return cell_event_period(wheel, cell, word, count, event);
	default:
		/* Cancelled in the meantime. */
		return false;
	}
}

/* Take the next entry of the ring: 1 for an event, 0 for none, -1 at the end. */
static int ring_take(struct twheel *wheel, struct twheel_event *event)
{
	struct cell_table *cells = &wheel->cells;
	struct twheel_map *map = cells->map;
	uint32_t tail = cells->tail, cell, there;
	uint64_t happened, word;

	/* More than fit are nonsense, until the kernel writes the next one. */
	there = __atomic_load_n(&map->head, __ATOMIC_ACQUIRE) - tail;
	if (!there || there > cells->mask + 1)
		return -1;
	cell = cells->ring[tail & cells->mask];
	/*
	 * First the tail, then the word. A kernel that finds the word 0 writes
	 * another entry, and needs room for it.
	 */
	cells->tail = tail + 1;
	__atomic_store_n(&map->tail, cells->tail, __ATOMIC_SEQ_CST);
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	if (cell >= wheel->cells.count)
		return 0;
	/*
	 * The event before its cell's word. Whoever withdraws the event first leaves
	 * nothing here.
	 */
	happened = __atomic_exchange_n(&cells->events[cell].word, 0,
				       __ATOMIC_SEQ_CST);
	word = __atomic_load_n(&cells->cells[cell].word, __ATOMIC_SEQ_CST);
	if (!(uint32_t)happened || happened >> 32 != cells_generation(word))
		return 0;
	return cell_event(wheel, cell, word, (uint32_t)happened, event);
}

/*
 * The event of a timer with a fixed delay is taken: begin the next delay. The kernel
 * has pushed the deadline far away. If the timer is gone by now, nothing happens.
 */
static void cell_again(struct twheel *wheel, uint64_t id)
{
	struct twheel_op op = { .id = cells_id_in(id) };
	struct cell_period *period = &wheel->cells.periods[(uint32_t)op.id];

	if (!period->fixed)
		return;
	op.deadline_ns = period->period_ns;
	if (op_run(wheel, TWHEEL_OP_MODIFY, &op))
		return;
	if (record_lock(wheel, op.id)) {
		period->expected = 0;
		/* Only the first deadline was the program's. */
		wheel->cells.records[(uint32_t)op.id].deadline_ns = RECORD_PERIODIC;
	}
	record_unlock(wheel);
}

/*
 * The event of a periodic timer is taken: if it was due again meanwhile, the kernel waits
 * for this. If the timer is gone by now, nothing happens.
 */
static void cell_goes_on(struct twheel *wheel, uint64_t id)
{
	struct twheel_op op = { .id = cells_id_in(id) };
	const struct twheel_cell *cell = &wheel->cells.cells[(uint32_t)op.id];
	uint64_t word = __atomic_load_n(&cell->word, __ATOMIC_SEQ_CST);

	if ((word & TWHEEL_CELL_NEVER) < __atomic_load_n(&cell->look, __ATOMIC_SEQ_CST))
		ioctl(wheel->fd, TWHEEL_IOC_KICK, &op);
}

unsigned int cells_take(struct twheel *wheel, struct twheel_event *events,
			unsigned int most)
{
	unsigned int got = 0, i;
	uint64_t now;
	int ret;

	while (got < most && (ret = ring_take(wheel, &events[got])) >= 0)
		got += ret;
	if (!got)
		return 0;
	/* The mapping does not say when each expired, but it was not after now. */
	now = twheel_now(wheel);
	for (i = 0; i < got; i++) {
		events[i].fired_ns = now;
		/* A periodic timer may have been extended since. */
		if (events[i].deadline_ns > now)
			events[i].deadline_ns = now;
		if (events[i].flags & TWHEEL_EVENT_LAST)
			continue;
		if (__atomic_load_n(&wheel->cells.fixed, __ATOMIC_RELAXED))
			cell_again(wheel, events[i].id);
		cell_goes_on(wheel, events[i].id);
	}
	return got;
}
