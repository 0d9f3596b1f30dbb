// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * The shared mapping, from the program's side.
 *
 * An arm names the cell, so the library keeps a list of free cells. A cancellation
 * in the mapping is one compare-and-swap, and another that puts the cell on a list of
 * cancelled ones, which the library takes as a whole when it has no free cell.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>

#include "handle.h"

static uint64_t cell_word(const struct twheel *wheel, uint32_t cell)
{
	return __atomic_load_n(&wheel->cells.cells[cell].word, __ATOMIC_ACQUIRE);
}

static uint32_t word_state(uint64_t word)
{
	return word >> TWHEEL_CELL_STATE_SHIFT & 3;
}

static uint32_t word_generation(uint64_t word)
{
	return word >> TWHEEL_CELL_GENERATION_SHIFT;
}

static uint64_t ticks_to_ns(const struct twheel *wheel, uint64_t ticks)
{
	uint64_t ns;

	if (ticks == TWHEEL_CELL_NEVER ||
	    __builtin_mul_overflow(ticks, wheel->view.tick_ns, &ns) ||
	    __builtin_add_overflow(ns, wheel->cells.origin_ns, &ns) ||
	    ns > TWHEEL_DELAY_NEVER)
		return TWHEEL_DELAY_NEVER;
	return ns;
}

/* Fill in what the inlines of the header read. */
static void view_init(struct twheel *wheel, const struct twheel_map *map)
{
	struct twheel_view_1 *view = &wheel->view;

	view->cells = (char *)wheel->cells.cells;
	view->bytes = map->cells * sizeof(struct twheel_cell);
	view->tick_ns = map->tick_ns;
	view->base_ns = map->origin_ns - (map->tick_ns - 1);
	/* Deadlines up to this one are before never, in ns and in ticks. */
	if (__builtin_mul_overflow(TWHEEL_CELL_NEVER - 1, map->tick_ns,
				   &view->limit_ns) ||
	    view->limit_ns > TWHEEL_DELAY_NEVER - 1 - view->base_ns)
		view->limit_ns = TWHEEL_DELAY_NEVER - 1 - view->base_ns;
}

/* Is a part of the mapping, of so many elements, within it? */
static bool map_part_valid(uint64_t bytes, uint64_t offset, uint64_t count, size_t size)
{
	return offset % sizeof(uint64_t) == 0 && offset <= bytes &&
	       count <= (bytes - offset) / size;
}

static bool map_valid(const struct twheel_map *map, uint64_t bytes)
{
	return map->version == TWHEEL_MAP_VERSION && map->tick_ns && map->cells &&
	       map->entries && !(map->entries & (map->entries - 1)) &&
	       map_part_valid(bytes, map->cells_offset, map->cells,
			      sizeof(struct twheel_cell)) &&
	       map_part_valid(bytes, map->events_offset, map->cells,
			      sizeof(struct cell_event)) &&
	       map_part_valid(bytes, map->ring_offset, map->entries, sizeof(uint32_t));
}

int cells_map(struct twheel *wheel, uint64_t bytes)
{
	struct cell_table *cells = &wheel->cells;
	struct twheel_map map;
	char *start;

	start = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, wheel->fd,
		     0);
	if (start == MAP_FAILED)
		return -errno;
	memcpy(&map, start, sizeof(map));
	if (!map_valid(&map, bytes)) {
		munmap(start, bytes);
		return -EPROTO;
	}
	cells->records = calloc(map.cells, sizeof(*cells->records));
	wheel->view.links = calloc(map.cells, sizeof(*wheel->view.links));
	if (!cells->records || !wheel->view.links) {
		free(cells->records);
		free(wheel->view.links);
		munmap(start, bytes);
		return -ENOMEM;
	}
	cells->map = (struct twheel_map *)start;
	cells->bytes = bytes;
	cells->events = (struct cell_event *)(start + map.events_offset);
	cells->ring = (uint32_t *)(start + map.ring_offset);
	cells->cells = (struct twheel_cell *)(start + map.cells_offset);
	cells->origin_ns = map.origin_ns;
	cells->count = map.cells;
	cells->mask = map.entries - 1;
	cells->tail = map.tail;
	view_init(wheel, &map);
	return 0;
}

void cells_unmap(struct twheel *wheel)
{
	struct cell_table *cells = &wheel->cells;

	if (!cells->map)
		return;
	munmap(cells->map, cells->bytes);
	free(cells->records);
	free(wheel->view.links);
}

static void cell_put(struct twheel *wheel, uint32_t cell)
{
	struct cell_record *record = &wheel->cells.records[cell];

	record->state = RECORD_FREE;
	record->next = wheel->cells.free;
	wheel->cells.free = cell + 1;
}

/* Has the timer ended in the mapping? One that has fired still has its event. */
static bool cell_ended(const struct twheel *wheel, uint32_t cell)
{
	uint32_t state;

	if (cell >= wheel->cells.count ||
	    wheel->cells.records[cell].state != RECORD_USED)
		return false;
	state = word_state(cell_word(wheel, cell));
	return state == TWHEEL_CELL_CANCELLED || state == TWHEEL_CELL_FREE;
}

/*
 * Free the cells that were cancelled in the mapping. One that is freed otherwise meanwhile,
 * by cancelling all, may come on the list twice, and the list may then have no end.
 */
static void cells_collect_cancelled(struct twheel *wheel)
{
	uint32_t head = __atomic_exchange_n(&wheel->view.cancelled, 0, __ATOMIC_ACQUIRE);
	uint32_t left = wheel->cells.count;

	for (; head && left; left--) {
		uint32_t cell = head - 1;

		head = __atomic_load_n(&wheel->view.links[cell], __ATOMIC_RELAXED);
		if (cell_ended(wheel, cell))
			cell_put(wheel, cell);
	}
	if (head)
		wheel->cells.scan = true;
}

static void cells_collect_all(struct twheel *wheel)
{
	uint32_t cell;

	for (cell = 0; cell < wheel->cells.fresh; cell++) {
		if (cell_ended(wheel, cell))
			cell_put(wheel, cell);
	}
}

static int cell_get(struct twheel *wheel)
{
	struct cell_table *cells = &wheel->cells;
	uint32_t cell;

	if (!cells->free)
		cells_collect_cancelled(wheel);
	if (!cells->free && cells->fresh < wheel->cells.count)
		return cells->fresh++;
	if (!cells->free && cells->scan) {
		cells->scan = false;
		cells_collect_all(wheel);
	}
	if (!cells->free)
		return -ENOSPC;
	cell = cells->free - 1;
	cells->free = cells->records[cell].next;
	return cell;
}

int cells_before_arm(struct twheel *wheel, struct twheel_op *op)
{
	struct cell_record *record;
	int cell;

	/* The kernel would take another number for that of a cell. */
	if (op->id || (op->flags & TWHEEL_FIXED_DELAY && !fixed_valid(op)))
		return -EINVAL;
	pthread_mutex_lock(&wheel->lock);
	cell = cell_get(wheel);
	if (cell >= 0) {
		record = &wheel->cells.records[cell];
		record->cookie = op->cookie;
		record->period_ns = op->period_ns;
		record->expected = 0;
		record->corrected = false;
		record->fixed = op->flags & TWHEEL_FIXED_DELAY;
		/* The deadline that the kernel reports is rounded up. */
		record->deadline_ns = op->flags & TWHEEL_ABS ?
				   op->deadline_ns : 0;
		record->state = RECORD_ARMING;
		op->id = cell;
		/* In the mapping a timer fires without slack. */
		op->slack_ns = 0;
		if (record->fixed) {
			wheel->cells.fixed = true;
			op->flags &= ~TWHEEL_FIXED_DELAY;
			op->period_ns = fixed_period(wheel);
		}
	}
	pthread_mutex_unlock(&wheel->lock);
	return cell < 0 ? cell : 0;
}

void cells_after_arm(struct twheel *wheel, struct twheel_op *op, uint32_t cell,
		     int result)
{
	struct cell_record *record = &wheel->cells.records[cell];

	pthread_mutex_lock(&wheel->lock);
	if (record->fixed) {
		op->flags |= TWHEEL_FIXED_DELAY;
		op->period_ns = record->period_ns;
	}
	if (result < 0 || record->state == RECORD_TAKEN) {
		cell_put(wheel, cell);
	} else {
		record->state = RECORD_USED;
		record->generation = op->id >> 32;
		/* An event that came before knows better. */
		if (!record->expected && op->deadline_ns > wheel->cells.origin_ns)
			record->expected = (op->deadline_ns -
					 wheel->cells.origin_ns) /
					wheel->view.tick_ns;
	}
	if (record->deadline_ns && result >= 0)
		op->deadline_ns = record->deadline_ns;
	pthread_mutex_unlock(&wheel->lock);
	op->id = result < 0 ? 0 : cells_id_out(op->id);
}

/* With the lock held: does the cell still have this timer? */
static bool cell_is_used(const struct twheel *wheel, uint64_t id)
{
	uint32_t cell = id;
	const struct cell_record *record = &wheel->cells.records[cell];

	return cell < wheel->cells.count && record->state == RECORD_USED &&
	       record->generation == id >> 32;
}

/* With the lock held: a timer has another deadline, which the kernel has rounded up. */
static void cell_modified(struct cell_record *record, const struct twheel_op *op)
{
	record->expected = 0;
	record->deadline_ns = 0;
	if (op->flags & TWHEEL_SET_COOKIE)
		record->cookie = op->cookie;
	if (op->flags & TWHEEL_SET_PERIOD) {
		record->period_ns = op->period_ns;
		record->fixed = false;
	}
}

/* With the lock held: the kernel has done an operation on a timer of ours. */
static void cell_settle(struct twheel *wheel, uint32_t code,
			struct twheel_op *op)
{
	struct cell_record *record = &wheel->cells.records[(uint32_t)op->id];

	if (code == TWHEEL_OP_CANCEL)
		cell_put(wheel, op->id);
	else if (code == TWHEEL_OP_MODIFY)
		cell_modified(record, op);
	else if (code == TWHEEL_OP_QUERY && record->fixed)
		op->period_ns = record->period_ns;
}

int cells_settle(struct twheel *wheel, uint32_t code, struct twheel_op *op,
		 int result)
{
	bool used, fired;

	pthread_mutex_lock(&wheel->lock);
	used = cell_is_used(wheel, op->id);
	if (used && result >= 0 && !(code == TWHEEL_OP_MODIFY && result == 1))
		cell_settle(wheel, code, op);
	pthread_mutex_unlock(&wheel->lock);
	/* The kernel does not know whether the program has taken the event. */
	fired = (code == TWHEEL_OP_MODIFY && result == -EALREADY) ||
		(code == TWHEEL_OP_QUERY && !result &&
		 op->state == TWHEEL_STATE_FIRED);
	return fired && !used ? -ENOENT : result;
}

void cells_cancelled(struct twheel *wheel)
{
	pthread_mutex_lock(&wheel->lock);
	cells_collect_all(wheel);
	/* A thread may be about to list a cell that it has cancelled. */
	wheel->cells.scan = true;
	pthread_mutex_unlock(&wheel->lock);
}

/* The period that the kernel has for a timer, in ticks. */
static uint64_t cell_period(const struct twheel *wheel,
			    const struct cell_record *record)
{
	uint64_t tick_ns = wheel->view.tick_ns;
	uint64_t ns = record->fixed ? fixed_period(wheel) : record->period_ns;

	return (ns + tick_ns - 1) / tick_ns;
}

/*
 * The deadline as the program gave it, if @ticks are that deadline rounded up. All
 * deadlines of a periodic timer are rounded by as much as the first one.
 */
static uint64_t cell_deadline(const struct twheel *wheel, const struct cell_record *record,
			      uint64_t ticks)
{
	uint64_t ns = ticks_to_ns(wheel, ticks), tick_ns = wheel->view.tick_ns;
	uint64_t given = record->deadline_ns, over;

	if (record->period_ns && given > wheel->cells.origin_ns) {
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
static uint64_t cell_first_deadline(const struct twheel *wheel, struct cell_record *record,
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

/* Make the record of a cell's event. False if its timer is gone. */
static bool cell_event(struct twheel *wheel, uint32_t cell, uint64_t word,
		       uint64_t count, struct twheel_event *event)
{
	struct cell_record *record = &wheel->cells.records[cell];
	uint64_t ticks = word & TWHEEL_CELL_NEVER;

	if (word_state(word) == TWHEEL_CELL_PENDING && record->period_ns) {
		ticks = cell_first_deadline(wheel, record, ticks, count);
	} else if (word_state(word) != TWHEEL_CELL_FIRED) {
		/* Cancelled in the meantime. */
		return false;
	}
	*event = (struct twheel_event){
		.id = cells_id(word_generation(word), cell),
		.cookie = record->cookie,
		.deadline_ns = cell_deadline(wheel, record, ticks),
		.count = record->fixed ? 1 : count,
		.flags = (word_state(word) == TWHEEL_CELL_FIRED ?
			  TWHEEL_EVENT_LAST : 0) |
			 (count == UINT32_MAX ? TWHEEL_EVENT_SATURATED : 0),
	};
	if (word_state(word) == TWHEEL_CELL_PENDING)
		return true;
	if (record->state == RECORD_ARMING)
		record->state = RECORD_TAKEN;
	else if (record->state == RECORD_USED)
		cell_put(wheel, cell);
	return true;
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
	 * The event before its cell's word. Pairs with tw_cell_cancel(), which frees
	 * the cell only if it has withdrawn the event.
	 */
	happened = __atomic_exchange_n(&cells->events[cell].word, 0,
				       __ATOMIC_SEQ_CST);
	word = cell_word(wheel, cell);
	if (!(uint32_t)happened || happened >> 32 != word_generation(word))
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
	struct cell_record *record = &wheel->cells.records[(uint32_t)op.id];

	if (!record->fixed)
		return;
	op.deadline_ns = record->period_ns;
	if (op_run(wheel, TWHEEL_OP_MODIFY, &op))
		return;
	record->expected = 0;
	/* Only the first deadline was the program's. */
	record->deadline_ns = 0;
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
		if (wheel->cells.fixed)
			cell_again(wheel, events[i].id);
		if (!(events[i].flags & TWHEEL_EVENT_LAST))
			cell_goes_on(wheel, events[i].id);
	}
	return got;
}
