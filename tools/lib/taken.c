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

	if (record->deadline_ns & RECORD_PERIODIC && given &&
	    (int64_t)(given - wheel->cells.origin_ns) > 0) {
		over = (given - wheel->cells.origin_ns) % tick_ns;
		return over ? ns - (tick_ns - over) : ns;
	}
	return given && given <= ns && given + tick_ns > ns ? given : ns;
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

/* A periodic timer has expired. False if it is gone. */
static bool cell_event_period(struct twheel *wheel, uint32_t cell, uint64_t word,
			      uint64_t count, struct twheel_event *event)
{
	const struct cell_record *record = &wheel->cells.records[cell];
	struct cell_period *period = &wheel->cells.periods[cell];
	uint64_t id = (uint64_t)twheel_cell_generation(word) << 32 | cell;
	uint64_t ticks = twheel_cell_ticks(word, cells_ticks_now(wheel));
	bool there = record_lock(wheel, id) && record->deadline_ns & RECORD_PERIODIC;
	uint64_t now;

	if (there) {
		ticks = cell_first_deadline(wheel, period, ticks, count);
		*event = (struct twheel_event){
			.id = cells_id_out(&wheel->cells, id),
			.cookie = record->cookie,
			.deadline_ns = cell_deadline(wheel, record, ticks),
			.count = period->fixed ? 1 : count,
			.flags = count == UINT32_MAX ? TWHEEL_EVENT_SATURATED : 0,
		};
	}
	record_unlock(wheel);
	if (there) {
		now = twheel_now(wheel);
		event->fired_ns = now;
		/* It may have been extended since. */
		if (event->deadline_ns > now)
			event->deadline_ns = now;
	}
	return there;
}

/* The deadline of a timer without a period, as cell_deadline() tells it, to its event. */
static inline void cell_last_deadline(const struct twheel *wheel,
				      const struct cell_record *record, uint64_t word,
				      struct twheel_event *event)
{
	uint64_t given = record->deadline_ns, ticks;

	/* Most often the program's rounds up to the word's. */
	ticks = (given - wheel->view.base_ns) / wheel->view.tick_ns;
	event->deadline_ns = given;
	if (!((word ^ ticks << TWHEEL_CELL_TICKS_SHIFT) >> TWHEEL_CELL_TICKS_SHIFT))
		return;
	event->deadline_ns = cell_deadline(wheel, record,
					   twheel_cell_ticks(word, cells_ticks_now(wheel)));
	/* It had a period once. */
	if (given & RECORD_APART)
		event->id &= ~CELLS_APART;
}

/*
 * Take up to @most entries of the ring: their cells, to the identifiers of @events.
 *
 * First the entries, then the tail, then the event words. A kernel that finds a word 0 writes
 * another entry, and needs room for it.
 */
static unsigned int ring_take(struct twheel *wheel, struct twheel_event *events,
			      unsigned int most)
{
	struct cell_table *cells = &wheel->cells;
	struct twheel_map *map = cells->map;
	uint32_t tail = cells->tail, there, i;

	/* More than fit are nonsense, until the kernel writes the next one. */
	there = __atomic_load_n(&map->head, __ATOMIC_ACQUIRE) - tail;
	if (there > cells->mask + 1)
		return 0;
	if (there > most)
		there = most;
	for (i = 0; i < there; i++)
		events[i].id = __atomic_load_n(&cells->ring[(tail + i) & cells->mask],
					       __ATOMIC_RELAXED);
	if (!there)
		return 0;
	cells->tail = tail + there;
	__atomic_store_n(&map->tail, cells->tail, __ATOMIC_SEQ_CST);
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	return there;
}

/*
 * Take the events of @count cells, whose numbers are the identifiers of @events. Returns how
 * many there are. The cells of timers that have fired are free afterwards.
 * @go_on: set if one is of a timer that goes on
 */
static unsigned int cells_take_events(struct twheel *wheel, struct twheel_event *events,
				      unsigned int count, bool *go_on)
{
	const uint64_t pending = twheel_cell_word(0, TWHEEL_CELL_FIRED ^ TWHEEL_CELL_PENDING,
						  0);
	struct twheel_event *event = events, *end = events + count;
	struct cell_table *cells = &wheel->cells;
	uint32_t first = 0, last = 0, cell;
	const struct twheel_event *next;
	/* It does not say when each expired, but it was not after this. */
	uint64_t now = twheel_now(wheel);

	for (next = events; next < end; next++) {
		uint64_t happened, word, link, fired;

		cell = next->id;
		if (cell >= cells->count)
			continue;
		/*
		 * The event before its cell's word. Whoever withdraws the event first leaves
		 * nothing here.
		 */
		happened = __atomic_exchange_n(&cells->events[cell].word, 0,
					       __ATOMIC_SEQ_CST);
		word = __atomic_load_n(&cells->cells[cell].word, __ATOMIC_SEQ_CST);
		if (!(uint32_t)happened)
			continue;
		fired = twheel_cell_word(happened >> 32, TWHEEL_CELL_FIRED, 0);
		if (__builtin_expect((word & TWHEEL_VIEW_OWNER) != fired, 0)) {
			/* Or it was cancelled in the meantime. */
			if (happened >> 32 != twheel_cell_generation(word) ||
			    twheel_cell_state(word) != TWHEEL_CELL_PENDING ||
			    !cell_event_period(wheel, cell, word, (uint32_t)happened, event))
				continue;
			*go_on = true;
			event++;
			continue;
		}
		link = cells_link(cells, cell) & ~(uint64_t)TWHEEL_VIEW_OWNER;
		event->id = link | (fired ^ pending);
		event->cookie = cells->records[cell].cookie;
		cell_last_deadline(wheel, &cells->records[cell], word, event);
		event->count = 1;
		event->flags = TWHEEL_EVENT_LAST;
		event->reserved = 0;
		/* The cell may have got another timer since the clock was read. */
		if (__builtin_expect(event->deadline_ns > now, 0))
			now = twheel_now(wheel);
		event->fired_ns = now;
		event++;
		__atomic_store_n(&cells->links[cell], link | first, __ATOMIC_RELAXED);
		if (!first)
			last = cell;
		first = cell + 1;
	}
	if (first)
		cells_put_chain(wheel, first, last);
	return event - events;
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
	if (op_run(wheel, TWHEEL_OP_MODIFY, &op) < 0)
		return;
	if (record_lock(wheel, op.id)) {
		period->expected = 0;
		/* Only the first deadline was the program's. */
		wheel->cells.records[(uint32_t)op.id].deadline_ns &= RECORD_PERIODIC |
								     RECORD_APART;
	}
	record_unlock(wheel);
}

/*
 * The event of a periodic timer is taken: if it was due again meanwhile, the kernel waits
 * for this, and no look is set. If the timer is gone by now, nothing happens.
 */
static void cell_goes_on(struct twheel *wheel, uint64_t id)
{
	struct twheel_op op = { .id = cells_id_in(id) };
	const struct twheel_cell *cell = &wheel->cells.cells[(uint32_t)op.id];

	if (__atomic_load_n(&cell->look, __ATOMIC_SEQ_CST) == TWHEEL_CELL_NEVER)
		ioctl(wheel->fd, TWHEEL_IOC_KICK, &op);
}

unsigned int cells_take(struct twheel *wheel, struct twheel_event *events,
			unsigned int most)
{
	unsigned int got = 0, count, i;
	bool go_on = false;

	while (got < most && (count = ring_take(wheel, events + got, most - got)))
		got += cells_take_events(wheel, events + got, count, &go_on);
	for (i = 0; go_on && i < got; i++) {
		if (events[i].flags & TWHEEL_EVENT_LAST)
			continue;
		if (__atomic_load_n(&wheel->cells.fixed, __ATOMIC_RELAXED))
			cell_again(wheel, events[i].id);
		cell_goes_on(wheel, events[i].id);
	}
	return got;
}
