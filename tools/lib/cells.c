// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * The shared mapping, from the program's side.
 *
 * Who arms says in which cell: so the library keeps a list of those that are
 * free. A cancellation in the mapping is one compare-and-swap, and tells nobody
 * but by a note of the cell (which other threads may write over). When the list
 * and the notes are at an end, all cells are looked through for those that are
 * cancelled.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "handle.h"

static uint64_t word_of(const struct twheel *wheel, uint32_t cell)
{
	return __atomic_load_n(&wheel->cells.cells[cell].word, __ATOMIC_ACQUIRE);
}

static uint32_t state_in(uint64_t word)
{
	return word >> TWHEEL_CELL_STATE_SHIFT & 3;
}

static uint32_t generation_in(uint64_t word)
{
	return word >> TWHEEL_CELL_GENERATION_SHIFT;
}

static uint64_t to_ns(const struct twheel *wheel, uint64_t ticks)
{
	uint64_t ns;

	if (ticks == TWHEEL_CELL_NEVER ||
	    __builtin_mul_overflow(ticks, wheel->view.tick_ns, &ns) ||
	    __builtin_add_overflow(ns, wheel->cells.origin_ns, &ns) ||
	    ns > TWHEEL_DELAY_NEVER)
		return TWHEEL_DELAY_NEVER;
	return ns;
}

/* What the inlines need. */
static void show(struct twheel *wheel)
{
	const struct twheel_map *map = wheel->cells.map;
	struct twheel_view *view = &wheel->view;

	view->cells = (char *)wheel->cells.cells;
	view->bytes = map->cells * sizeof(struct twheel_cell);
	view->tick_ns = map->tick_ns;
	view->base_ns = map->origin_ns - (map->tick_ns - 1);
	/* Deadlines up to here are less than never, in ns and in ticks. */
	if (__builtin_mul_overflow(TWHEEL_CELL_NEVER - 1, map->tick_ns,
				   &view->limit_ns) ||
	    view->limit_ns > TWHEEL_DELAY_NEVER - 1 - view->base_ns)
		view->limit_ns = TWHEEL_DELAY_NEVER - 1 - view->base_ns;
}

int cells_map(struct twheel *wheel, uint64_t bytes)
{
	struct cells *cells = &wheel->cells;
	struct twheel_map *map;
	char *start;

	start = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, wheel->fd,
		     0);
	if (start == MAP_FAILED)
		return -errno;
	map = (struct twheel_map *)start;
	cells->own = calloc(map->cells, sizeof(*cells->own));
	if (!cells->own) {
		munmap(start, bytes);
		return -ENOMEM;
	}
	cells->map = map;
	cells->bytes = bytes;
	cells->events = (uint64_t *)(start + map->events_offset);
	cells->ring = (uint32_t *)(start + map->ring_offset);
	cells->cells = (struct twheel_cell *)(start + map->cells_offset);
	cells->origin_ns = map->origin_ns;
	cells->count = map->cells;
	show(wheel);
	return 0;
}

void cells_unmap(struct twheel *wheel)
{
	struct cells *cells = &wheel->cells;

	if (!cells->map)
		return;
	munmap(cells->map, cells->bytes);
	free(cells->own);
}

static void put(struct twheel *wheel, uint32_t cell)
{
	struct own *own = &wheel->cells.own[cell];

	own->state = OWN_FREE;
	own->next = wheel->cells.free;
	wheel->cells.free = cell + 1;
}

/* Has the timer ended in the mapping? What has fired has an event to be taken. */
static bool ended(const struct twheel *wheel, uint32_t cell)
{
	uint32_t state;

	if (cell >= wheel->cells.count ||
	    wheel->cells.own[cell].state != OWN_USED)
		return false;
	state = state_in(word_of(wheel, cell));
	return state == TWHEEL_CELL_CANCELLED || state == TWHEEL_CELL_FREE;
}

static void collect_noted(struct twheel *wheel)
{
	unsigned int i;

	for (i = 0; i < TWHEEL_NOTES; i++) {
		uint32_t cell = __atomic_load_n(&wheel->view.notes[i],
						__ATOMIC_RELAXED) /
				sizeof(struct twheel_cell);

		if (ended(wheel, cell))
			put(wheel, cell);
	}
}

static void collect_all(struct twheel *wheel)
{
	uint32_t cell;

	for (cell = 0; cell < wheel->cells.fresh; cell++) {
		if (ended(wheel, cell))
			put(wheel, cell);
	}
}

static int get(struct twheel *wheel)
{
	struct cells *cells = &wheel->cells;
	uint32_t cell;

	if (!cells->free)
		collect_noted(wheel);
	if (!cells->free && cells->fresh < wheel->cells.count)
		return cells->fresh++;
	if (!cells->free)
		collect_all(wheel);
	if (!cells->free)
		return -ENOSPC;
	cell = cells->free - 1;
	cells->free = cells->own[cell].next;
	return cell;
}

int cells_before_arm(struct twheel *wheel, struct twheel_op *op)
{
	struct own *own;
	int cell;

	/* The kernel would take another number for a cell's. */
	if (op->id)
		return -EINVAL;
	pthread_mutex_lock(&wheel->lock);
	cell = get(wheel);
	if (cell >= 0) {
		own = &wheel->cells.own[cell];
		own->cookie = op->cookie;
		own->period_ns = op->period_ns;
		own->expected = 0;
		own->corrected = false;
		/* What the kernel tells is rounded up. */
		own->deadline_ns = op->flags & TWHEEL_ABS ?
				   op->deadline_ns : 0;
		own->state = OWN_ARMING;
		op->id = cell;
		/* In the mapping it fires as early as it may. */
		op->slack_ns = 0;
	}
	pthread_mutex_unlock(&wheel->lock);
	return cell < 0 ? cell : 0;
}

void cells_after_arm(struct twheel *wheel, struct twheel_op *op, uint32_t cell,
		     int result)
{
	struct own *own = &wheel->cells.own[cell];

	pthread_mutex_lock(&wheel->lock);
	if (result < 0 || own->state == OWN_TAKEN) {
		put(wheel, cell);
	} else {
		own->state = OWN_USED;
		own->generation = op->id >> 32;
		/* Unless an event came before. */
		if (!own->expected && op->deadline_ns > wheel->cells.origin_ns)
			own->expected = (op->deadline_ns -
					 wheel->cells.origin_ns) /
					wheel->view.tick_ns;
	}
	if (own->deadline_ns && result >= 0)
		op->deadline_ns = own->deadline_ns;
	pthread_mutex_unlock(&wheel->lock);
	op->id = result < 0 ? 0 : cells_id_out(op->id);
}

/* Is the cell still this timer's? With the lock held. */
static bool is_used(const struct twheel *wheel, uint64_t id)
{
	uint32_t cell = id;
	const struct own *own = &wheel->cells.own[cell];

	return cell < wheel->cells.count && own->state == OWN_USED &&
	       own->generation == id >> 32;
}

int cells_settle(struct twheel *wheel, uint32_t what, struct twheel_op *op,
		 int result)
{
	bool used, fired;

	pthread_mutex_lock(&wheel->lock);
	used = is_used(wheel, op->id);
	if (what == TWHEEL_OP_CANCEL && result >= 0 && used)
		put(wheel, op->id);
	if (what == TWHEEL_OP_MODIFY && result >= 0 && used)
		wheel->cells.own[(uint32_t)op->id].expected = 0;
	pthread_mutex_unlock(&wheel->lock);
	/* The kernel does not know whether its event has been taken. */
	fired = (what == TWHEEL_OP_MODIFY && result == -EALREADY) ||
		(what == TWHEEL_OP_QUERY && !result &&
		 op->state == TWHEEL_STATE_FIRED);
	return fired && !used ? -ENOENT : result;
}

void cells_cancelled(struct twheel *wheel)
{
	pthread_mutex_lock(&wheel->lock);
	collect_all(wheel);
	pthread_mutex_unlock(&wheel->lock);
}

/*
 * The deadline as it was given, if that is the one the ticks stand for. Those
 * of a periodic timer are as far from their ticks as the first one was.
 */
static uint64_t deadline_of(const struct twheel *wheel, const struct own *own,
			    uint64_t ticks)
{
	uint64_t ns = to_ns(wheel, ticks), tick_ns = wheel->view.tick_ns;
	uint64_t given = own->deadline_ns, over;

	if (own->period_ns && given > wheel->cells.origin_ns) {
		over = (given - wheel->cells.origin_ns) % tick_ns;
		return over ? ns - (tick_ns - over) : ns;
	}
	/* One that had passed long ago is due at the first tick. */
	if (given && given <= ns && (given + tick_ns > ns || !ticks))
		return given;
	return ns;
}

/*
 * The first deadline that @count expiries of a periodic timer stand for, whose word
 * has the next one, @ticks.
 *
 * The kernel moves the word, and then adds to the event. What we have taken in between
 * is one short, and looks as if the timer had been extended by a whole number of
 * periods. So it begins with what was expected; if it has truly been extended so, the
 * next one is as far ahead, and is believed.
 */
static uint64_t first_of(const struct twheel *wheel, struct own *own,
			 uint64_t ticks, uint64_t count)
{
	uint64_t tick_ns = wheel->view.tick_ns;
	uint64_t period = (own->period_ns + tick_ns - 1) / tick_ns;
	uint64_t all = period * count, first = ticks > all ? ticks - all : 0;

	own->corrected = !own->corrected && own->expected &&
			 first > own->expected &&
			 (first - own->expected) % period == 0;
	if (own->corrected)
		first = own->expected;
	own->expected = first + all;
	return first;
}

/* An event of a cell, as a record. False if it is nobody's. */
static bool tell(struct twheel *wheel, uint32_t cell, uint64_t word,
		 uint64_t count, struct twheel_event *event)
{
	struct own *own = &wheel->cells.own[cell];
	uint64_t ticks = word & TWHEEL_CELL_NEVER;

	if (state_in(word) == TWHEEL_CELL_PENDING && own->period_ns) {
		ticks = first_of(wheel, own, ticks, count);
	} else if (state_in(word) != TWHEEL_CELL_FIRED) {
		/* Cancelled since. */
		return false;
	}
	*event = (struct twheel_event){
		.id = cells_id(generation_in(word), cell),
		.cookie = own->cookie,
		.deadline_ns = deadline_of(wheel, own, ticks),
		.count = count,
	};
	if (state_in(word) == TWHEEL_CELL_PENDING)
		return true;
	if (own->state == OWN_ARMING)
		own->state = OWN_TAKEN;
	else if (own->state == OWN_USED)
		put(wheel, cell);
	return true;
}

/* The next entry of the ring. Returns -1 if there is none, 0 if it is nothing. */
static int take_entry(struct twheel *wheel, struct twheel_event *event)
{
	struct cells *cells = &wheel->cells;
	struct twheel_map *map = cells->map;
	uint32_t tail = map->tail, cell;
	uint64_t happened, word;

	if (tail == __atomic_load_n(&map->head, __ATOMIC_ACQUIRE))
		return -1;
	cell = cells->ring[tail & (map->entries - 1)];
	/*
	 * First the tail, then the word: the kernel, finding the word 0, writes
	 * another entry, and has to find room for it.
	 */
	__atomic_store_n(&map->tail, tail + 1, __ATOMIC_SEQ_CST);
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	if (cell >= wheel->cells.count)
		return 0;
	/*
	 * And the event before its cell's word. Pairs with tw_cell_cancel(), which frees
	 * the cell only if it has withdrawn the event.
	 */
	happened = __atomic_exchange_n(&cells->events[cell], 0,
				       __ATOMIC_SEQ_CST);
	word = word_of(wheel, cell);
	if (!(uint32_t)happened || happened >> 32 != generation_in(word))
		return 0;
	return tell(wheel, cell, word, (uint32_t)happened, event);
}

unsigned int cells_take(struct twheel *wheel, struct twheel_event *events,
			unsigned int most)
{
	unsigned int got = 0, i;
	uint64_t now;
	int ret;

	while (got < most && (ret = take_entry(wheel, &events[got])) >= 0)
		got += ret;
	if (!got)
		return 0;
	/* When each has expired is not told: not after now. */
	now = twheel_now(wheel);
	for (i = 0; i < got; i++) {
		events[i].fired_ns = now;
		/* A periodic one may have been extended since. */
		if (events[i].deadline_ns > now)
			events[i].deadline_ns = now;
	}
	return got;
}
