// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * The shared mapping, from the program's side: arming and the rest. For events see
 * taken.c.
 *
 * Whoever ends a timer puts its cell on a list of free ones: with the compare-and-swap
 * that cancels it, the exchange that takes its event, or the call that says so. Only one
 * of them can succeed. So a cell comes on the list once, and nothing has to be searched.
 * The last one put there is used first: it is in the cache, and its look may still serve.
 *
 * There are two such lists. The inlines put cells on that of &twheel_view_1, which can only
 * be taken as a whole. An arm takes it, keeps the first cell, and puts the others on the
 * list of free ones, from which any thread can take one.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>

#include "handle.h"

/* The lower part of &cell_table.free: at most 2^24 cells. */
#define FREE_MASK	((1ULL << 25) - 1)

/* How many cells an arm tries, if their words are not as they were left. */
#define ARM_TRIES	8

static cell_atomic *cell_word(const struct twheel *wheel, uint32_t cell)
{
	return (cell_atomic *)&wheel->cells.cells[cell].word;
}

static uint64_t cell_load(const struct twheel *wheel, uint32_t cell)
{
	return __atomic_load_n(cell_word(wheel, cell), __ATOMIC_SEQ_CST);
}

static bool cell_exchange(struct twheel *wheel, uint32_t cell, uint64_t *word, uint64_t new)
{
	return __atomic_compare_exchange_n(cell_word(wheel, cell), word, new, false,
					   __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
}

uint64_t cells_ticks_to_ns(const struct twheel *wheel, uint64_t ticks)
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
	/* Deadlines up to this one are before never in ticks, and fit into a record. */
	if (__builtin_mul_overflow(TWHEEL_CELL_NEVER - 1, map->tick_ns,
				   &view->limit_ns) ||
	    view->limit_ns > RECORD_DEADLINE - view->base_ns)
		view->limit_ns = RECORD_DEADLINE - view->base_ns;
}

/* Is a part of the mapping, of so many elements, within it? */
static bool map_part_valid(uint64_t bytes, uint64_t offset, uint64_t count, size_t size)
{
	return offset % sizeof(uint64_t) == 0 && offset <= bytes &&
	       count <= (bytes - offset) / size;
}

static bool map_valid(const struct twheel_map *map, uint64_t bytes)
{
	uint64_t leaves = (map->cells + 63ULL) / 64;

	return map->version == TWHEEL_MAP_VERSION_SUBMIT && map->tick_ns && map->cells &&
	       map->cells < FREE_MASK &&
	       map->entries && !(map->entries & (map->entries - 1)) &&
	       map_part_valid(bytes, map->cells_offset, map->cells,
			      sizeof(struct twheel_cell)) &&
	       map_part_valid(bytes, map->events_offset, map->cells,
			      sizeof(struct cell_event)) &&
	       map_part_valid(bytes, map->ring_offset, map->entries, sizeof(uint32_t)) &&
	       map_part_valid(bytes, map->leaves_offset, leaves, sizeof(uint64_t)) &&
	       map_part_valid(bytes, map->summary_offset, (leaves + 63) / 64,
			      sizeof(uint64_t));
}

static int cells_alloc(struct cell_table *cells, uint32_t count)
{
	cells->records = calloc(count, sizeof(*cells->records));
	cells->periods = calloc(count, sizeof(*cells->periods));
	cells->links = calloc(count, sizeof(*cells->links));
	return cells->records && cells->periods && cells->links ? 0 : -ENOMEM;
}

static void cells_free(struct cell_table *cells)
{
	free(cells->records);
	free(cells->periods);
	free(cells->links);
}

int cells_map(struct twheel *wheel, uint64_t bytes)
{
	struct cell_table *cells = &wheel->cells;
	struct twheel_map map;
	char *start;
	int ret;

	start = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, wheel->fd, 0);
	if (start == MAP_FAILED)
		return -errno;
	memcpy(&map, start, sizeof(map));
	ret = map_valid(&map, bytes) ? cells_alloc(cells, map.cells) : -EPROTO;
	if (ret) {
		cells_free(cells);
		munmap(start, bytes);
		return ret;
	}
	cells->map = (struct twheel_map *)start;
	cells->bytes = bytes;
	cells->events = (struct cell_event *)(start + map.events_offset);
	cells->ring = (uint32_t *)(start + map.ring_offset);
	cells->cells = (struct twheel_cell *)(start + map.cells_offset);
	cells->leaves = (struct cell_event *)(start + map.leaves_offset);
	cells->summary = (struct cell_event *)(start + map.summary_offset);
	cells->origin_ns = map.origin_ns;
	cells->count = map.cells;
	cells->mask = map.entries - 1;
	cells->tail = map.tail;
	view_init(wheel, &map);
	wheel->view.links = cells->links;
	return 0;
}

void cells_unmap(struct twheel *wheel)
{
	struct cell_table *cells = &wheel->cells;

	if (!cells->map)
		return;
	/* In a forked child, other memory may be there. */
	if (!handle_dead(wheel))
		munmap(cells->map, cells->bytes);
	cells_free(cells);
}

void cells_put_chain(struct twheel *wheel, uint32_t first, uint32_t last)
{
	uint32_t head = __atomic_load_n(&wheel->view.cancelled, __ATOMIC_RELAXED);

	do {
		__atomic_store_n(&wheel->cells.links[last], head, __ATOMIC_RELAXED);
	} while (!__atomic_compare_exchange_n(&wheel->view.cancelled, &head, first,
					      false, __ATOMIC_RELEASE,
					      __ATOMIC_RELAXED));
}

void cells_put(struct twheel *wheel, uint32_t cell)
{
	cells_put_chain(wheel, cell + 1, cell);
}

/* The cell that comes after another on a list, both plus one; 0: none does. */
static inline uint32_t cell_link(const struct cell_table *cells, uint32_t first)
{
	return __atomic_load_n(&cells->links[first - 1], __ATOMIC_RELAXED);
}

/*
 * Put the cells that @first, which is a cell plus one, leads to on the list of free ones.
 * If that is empty, the last of them need not be found.
 *
 * A hostile writer can make the library put a cell there twice, and the list have no end. An
 * arm then finds a cell that has a timer, and leaves it out. A walk that does not end forgets
 * the list.
 */
static __attribute__((noinline)) void cells_free_chain(struct cell_table *cells, uint32_t first)
{
	uint64_t head = __atomic_load_n(&cells->free, __ATOMIC_RELAXED);
	uint32_t last, next = first, left = cells->count;

	if (!(head & FREE_MASK) &&
	    __atomic_compare_exchange_n(&cells->free, &head, head | first, false,
					__ATOMIC_RELEASE, __ATOMIC_RELAXED))
		return;
	do {
		if (!left--)
			return;
		last = next;
		next = cell_link(cells, last);
	} while (next);
	do {
		__atomic_store_n(&cells->links[last - 1], head & FREE_MASK,
				 __ATOMIC_RELAXED);
	} while (!__atomic_compare_exchange_n(&cells->free, &head,
					      (head & ~FREE_MASK) | first, false,
					      __ATOMIC_RELEASE, __ATOMIC_RELAXED));
}

/* Take the first free cell of the list, plus one; 0: there is none. */
static inline __attribute__((always_inline)) uint32_t cell_take_free(struct cell_table *cells)
{
	uint64_t head = __atomic_load_n(&cells->free, __ATOMIC_ACQUIRE), next;
	uint32_t first;

	do {
		first = head & FREE_MASK;
		if (!first)
			return 0;
		next = __atomic_load_n(&cells->links[first - 1], __ATOMIC_RELAXED);
		/* Counted: it may be taken and put back between these two. */
		next += head - first + FREE_MASK + 1;
	} while (!__atomic_compare_exchange_n(&cells->free, &head, next, false,
					      __ATOMIC_ACQUIRE, __ATOMIC_ACQUIRE));
	return first;
}

/* Take a cell that was never used, plus one; 0: there is none. */
static uint32_t cell_take_fresh(struct cell_table *cells)
{
	uint32_t fresh = __atomic_load_n(&cells->fresh, __ATOMIC_RELAXED);

	do {
		if (fresh >= cells->count)
			return 0;
	} while (!__atomic_compare_exchange_n(&cells->fresh, &fresh, fresh + 1, false,
					      __ATOMIC_RELAXED, __ATOMIC_RELAXED));
	return fresh + 1;
}

/* Take all cells that the inlines have put back: the first of them, plus one; 0: none. */
static inline __attribute__((always_inline)) uint32_t cell_take_cancelled(struct twheel *wheel)
{
	if (!__atomic_load_n(&wheel->view.cancelled, __ATOMIC_RELAXED))
		return 0;
	return __atomic_exchange_n(&wheel->view.cancelled, 0, __ATOMIC_ACQUIRE);
}

/*
 * A cell for a timer, or -1.
 * @first: one that was taken from the cancelled ones, plus one, which leads to the others; or 0
 */
static int cell_get(struct twheel *wheel, uint32_t first)
{
	struct cell_table *cells = &wheel->cells;
	uint32_t next;

	if (!first)
		first = cell_take_cancelled(wheel);
	if (!first) {
		first = cell_take_free(cells);
		return (int)(first ? first : cell_take_fresh(cells)) - 1;
	}
	next = cell_link(cells, first);
	if (next)
		cells_free_chain(cells, next);
	return first - 1;
}

bool record_lock(struct twheel *wheel, uint64_t id)
{
	uint64_t word;

	/*
	 * Then the word: if the timer is there, whoever has its cell next comes later,
	 * and waits in record_wait().
	 */
	__atomic_store_n(&wheel->cells.changing, true, __ATOMIC_SEQ_CST);
	word = cell_load(wheel, id);
	return cells_generation(word) == id >> 32 &&
	       cells_state(word) == TWHEEL_CELL_PENDING;
}

void record_unlock(struct twheel *wheel)
{
	__atomic_store_n(&wheel->cells.changing, false, __ATOMIC_RELEASE);
}

static __attribute__((noinline)) void record_wait_locked(struct twheel *wheel)
{
	pthread_mutex_lock(&wheel->lock);
	pthread_mutex_unlock(&wheel->lock);
}

/* Is anybody about to change the record of a cell that was free just now? */
static inline bool record_changing(const struct twheel *wheel)
{
	return __builtin_expect(__atomic_load_n(&wheel->cells.changing, __ATOMIC_SEQ_CST), 0);
}

/* A cell was taken from the free ones: nobody may be about to change its record. */
static inline void record_wait(struct twheel *wheel)
{
	if (record_changing(wheel))
		record_wait_locked(wheel);
}

static void bit_set(struct cell_event *words, uint32_t bit)
{
	struct cell_event *word = &words[bit / 64];

	if (!(__atomic_load_n(&word->word, __ATOMIC_SEQ_CST) >> bit % 64 & 1))
		__atomic_fetch_or(&word->word, 1ULL << bit % 64, __ATOMIC_SEQ_CST);
}

/*
 * The kernel comes later than a deadline. If the timer is gone meanwhile, nothing happens.
 * Returns 0, so that it can be the last thing that its callers do.
 */
static __attribute__((noinline)) int cell_kick(struct twheel *wheel, uint64_t id)
{
	struct twheel_op op = { .id = cells_id_in(id) };

	ioctl(wheel->fd, TWHEEL_IOC_KICK, &op);
	return 0;
}

/*
 * The kernel may come too late to a cell. First the bit of the cell, then that of the summary,
 * then the look at when the kernel comes: see <linux/twheel.h>.
 */
static inline __attribute__((always_inline)) int
cell_submit(struct twheel *wheel, uint64_t id, uint32_t cell, uint64_t ticks)
{
	struct cell_table *cells = &wheel->cells;

	bit_set(cells->leaves, cell);
	bit_set(cells->summary, cell / 64);
	if (__builtin_expect(__atomic_load_n(&cells->map->wake, __ATOMIC_SEQ_CST) > ticks,
			     0))
		return cell_kick(wheel, id);
	return 0;
}

/* The deadline of a timer may be nearer than the kernel knows. Returns 0. */
static inline __attribute__((always_inline)) int
cell_tell(struct twheel *wheel, uint64_t id, uint32_t cell, uint64_t ticks)
{
	if (__atomic_load_n(&wheel->cells.cells[cell].look, __ATOMIC_SEQ_CST) > ticks)
		return cell_submit(wheel, id, cell, ticks);
	return 0;
}

/* The upper part, with the state, of the word of the timer that comes after this word's. */
static inline uint64_t cell_next(uint64_t word)
{
	uint64_t next = ((word >> TWHEEL_CELL_STATE_SHIFT | 3) + 1 + TWHEEL_CELL_PENDING)
			<< TWHEEL_CELL_STATE_SHIFT;

	/* It wraps to 0, which is left out. */
	return next >> TWHEEL_CELL_GENERATION_SHIFT ? next :
	       next + (1ULL << TWHEEL_CELL_GENERATION_SHIFT);
}

/* Write the word of a cell that has no timer. False if somebody else has written one. */
static inline __attribute__((always_inline)) bool
cell_begin(struct twheel *wheel, uint32_t cell, uint64_t ticks, uint64_t *id)
{
	uint64_t word = __atomic_load_n(cell_word(wheel, cell), __ATOMIC_RELAXED);
	uint64_t next = cell_next(word) + ticks;

	if (__builtin_expect(cells_state(word) == TWHEEL_CELL_PENDING ||
			     !cell_exchange(wheel, cell, &word, next), 0))
		return false;
	*id = next - ticks + (uint64_t)cell * sizeof(struct twheel_cell);
	return true;
}

/* What the kernel does not keep of a timer that is about to be armed. */
static inline void record_begin(struct twheel *wheel, uint32_t cell, uint64_t deadline_ns,
				uint64_t cookie)
{
	struct cell_record *record = &wheel->cells.records[cell];

	record->cookie = cookie;
	record->deadline_ns = deadline_ns;
}

/*
 * cells_arm_at() where something is in the way.
 * @first: as of cell_get()
 */
static __attribute__((noinline)) int
cells_arm_slowly(struct twheel *wheel, uint64_t deadline_ns, uint64_t cookie, uint64_t *id,
		 uint64_t ticks, uint32_t first)
{
	int cell, tries;

	for (tries = 0; tries < ARM_TRIES; tries++) {
		cell = cell_get(wheel, first);
		if (cell < 0)
			break;
		record_wait(wheel);
		record_begin(wheel, cell, deadline_ns, cookie);
		if (cell_begin(wheel, cell, ticks, id))
			return cell_tell(wheel, *id, cell, ticks);
		/* Somebody else has written there. The cell is forgotten. */
		first = 0;
	}
	return -ENOSPC;
}

/* Nothing here is called before the cell is armed: no register has to be saved. */
int cells_arm_at(struct twheel *wheel, uint64_t deadline_ns, uint64_t cookie, uint64_t *id)
{
	const struct twheel_view_1 *view = &wheel->view;
	uint64_t ahead_ns = deadline_ns - view->base_ns, ticks;
	uint32_t first;

	/* A deadline before the base wraps. In a forked child, and without a mapping, all is 0. */
	if (__builtin_expect(ahead_ns >= view->limit_ns, 0))
		return timer_arm_call(wheel, deadline_ns, cookie, id);
	ticks = ahead_ns / view->tick_ns;
	first = cell_take_cancelled(wheel);
	if (!first)
		first = cell_take_free(&wheel->cells);
	else if (cell_link(&wheel->cells, first))
		return cells_arm_slowly(wheel, deadline_ns, cookie, id, ticks, first);
	if (__builtin_expect(!first, 0))
		return cells_arm_slowly(wheel, deadline_ns, cookie, id, ticks, 0);
	if (record_changing(wheel)) {
		/* It leads nowhere: others on its list are others' by now. */
		__atomic_store_n(&wheel->cells.links[first - 1], 0, __ATOMIC_RELAXED);
		return cells_arm_slowly(wheel, deadline_ns, cookie, id, ticks, first);
	}
	record_begin(wheel, first - 1, deadline_ns, cookie);
	if (cell_begin(wheel, first - 1, ticks, id))
		return cell_tell(wheel, *id, first - 1, ticks);
	return cells_arm_slowly(wheel, deadline_ns, cookie, id, ticks, 0);
}

/* The time that an operation means; beyond all limits if it is none. */
static uint64_t op_time(const struct twheel *wheel, const struct twheel_op *op)
{
	uint64_t now;

	if (op->flags & TWHEEL_ABS || op->deadline_ns >= TWHEEL_DELAY_NEVER)
		return op->deadline_ns;
	now = twheel_now(wheel);
	return op->deadline_ns < TWHEEL_DELAY_NEVER - now ? now + op->deadline_ns :
							    TWHEEL_DELAY_NEVER;
}

/* Are all fields 0 that no operation in the mapping uses? The kernel refuses others. */
static bool op_plain(const struct twheel_op *op, uint32_t flags)
{
	return !(op->flags & ~flags || op->op || op->result || op->state ||
		 op->reserved || op->period_ns || op->slack_ns);
}

/* Arm a timer by a call: it has a period, or only the kernel can say what is wrong. */
static int cells_arm_call(struct twheel *wheel, struct twheel_op *op)
{
	bool fixed = op->flags & TWHEEL_FIXED_DELAY;
	struct twheel_op copy = *op;
	int cell, ret;

	cell = cell_get(wheel, 0);
	if (cell < 0)
		return -ENOSPC;
	record_wait(wheel);
	wheel->cells.records[cell] = (struct cell_record){
		.cookie = op->cookie,
		.deadline_ns = (op->flags & TWHEEL_ABS && op->deadline_ns <= RECORD_DEADLINE ?
				op->deadline_ns : 0) |
			       (op->period_ns ? RECORD_PERIODIC : 0),
	};
	if (op->period_ns)
		wheel->cells.periods[cell] = (struct cell_period){
			.period_ns = op->period_ns, .fixed = fixed,
		};
	if (fixed) {
		__atomic_store_n(&wheel->cells.fixed, true, __ATOMIC_RELAXED);
		copy.flags &= ~TWHEEL_FIXED_DELAY;
		copy.period_ns = fixed_period(wheel);
	}
	copy.id = cell;
	copy.slack_ns = 0;
	ret = op_run(wheel, TWHEEL_OP_ARM, &copy);
	if (ret < 0) {
		cells_put(wheel, cell);
		return ret;
	}
	if (op->period_ns && copy.deadline_ns > wheel->cells.origin_ns) {
		pthread_mutex_lock(&wheel->lock);
		/* An event that came before knows better. */
		if (record_lock(wheel, copy.id) && !wheel->cells.periods[cell].expected)
			wheel->cells.periods[cell].expected =
				(copy.deadline_ns - wheel->cells.origin_ns) /
				wheel->view.tick_ns;
		record_unlock(wheel);
		pthread_mutex_unlock(&wheel->lock);
	}
	op->id = cells_id_out(copy.id);
	/* The deadline that the kernel reports is rounded up. */
	if (!(op->flags & TWHEEL_ABS && op->deadline_ns))
		op->deadline_ns = copy.deadline_ns;
	return 0;
}

int cells_arm(struct twheel *wheel, struct twheel_op *op)
{
	struct twheel_op copy = *op;
	uint64_t when, id;
	int ret;

	/* The kernel would take another number for that of a cell. */
	if (op->id || (op->flags & TWHEEL_FIXED_DELAY && !fixed_valid(op)))
		return -EINVAL;
	/* In the mapping a timer fires without slack. */
	copy.slack_ns = 0;
	if (!op_plain(&copy, TWHEEL_ABS))
		return cells_arm_call(wheel, op);
	when = op_time(wheel, op);
	if (when - wheel->view.base_ns >= wheel->view.limit_ns)
		return cells_arm_call(wheel, op);
	ret = cells_arm_at(wheel, when, op->cookie, &id);
	if (ret)
		return ret;
	op->id = id;
	op->deadline_ns = when;
	return 0;
}

/* The cell of an identifier, or -1. */
static int cell_of(const struct twheel *wheel, uint64_t id)
{
	uint32_t offset = (uint32_t)id;

	return offset < wheel->view.bytes && !(offset % sizeof(struct twheel_cell)) ?
	       (int)(offset / sizeof(struct twheel_cell)) : -1;
}

static bool cell_is_periodic(const struct twheel *wheel, uint32_t cell)
{
	return __atomic_load_n(&wheel->cells.records[cell].deadline_ns,
			       __ATOMIC_RELAXED) & RECORD_PERIODIC;
}

/* Does a word say that the timer of an identifier, whose upper part this is, is pending? */
static bool word_is_pending(uint64_t word, uint64_t id)
{
	return !((word ^ id) >> TWHEEL_CELL_STATE_SHIFT);
}

static int cells_modify(struct twheel *wheel, struct twheel_op *op)
{
	int cell = cell_of(wheel, op->id);
	uint64_t ahead_ns, ticks, word;

	if (cell < 0 || !op_plain(op, TWHEEL_ABS | TWHEEL_LATER) || op->cookie)
		return CELLS_NEED_CALL;
	ahead_ns = op_time(wheel, op) - wheel->view.base_ns;
	if (ahead_ns > wheel->view.limit_ns)
		return CELLS_NEED_CALL;
	ticks = ahead_ns / wheel->view.tick_ns;
	word = cell_load(wheel, cell);
	do {
		/* A period may go back to a deadline before: the kernel's matter. */
		if (!word_is_pending(word, op->id) || cell_is_periodic(wheel, cell))
			return CELLS_NEED_CALL;
		if (op->flags & TWHEEL_LATER && ticks <= (word & TWHEEL_CELL_NEVER)) {
			op->deadline_ns = cells_ticks_to_ns(wheel,
							    word & TWHEEL_CELL_NEVER);
			return 1;
		}
	} while (!cell_exchange(wheel, cell, &word, (word & ~TWHEEL_CELL_NEVER) | ticks));
	if (ticks < (word & TWHEEL_CELL_NEVER))
		cell_tell(wheel, op->id, cell, ticks);
	op->deadline_ns = cells_ticks_to_ns(wheel, ticks);
	return 0;
}

static int cells_cancel(struct twheel *wheel, const struct twheel_op *op)
{
	int cell = cell_of(wheel, op->id);
	uint64_t word;

	if (cell < 0 || !op_plain(op, 0) || op->cookie || op->deadline_ns)
		return CELLS_NEED_CALL;
	word = cell_load(wheel, cell);
	do {
		if (!word_is_pending(word, op->id))
			return CELLS_NEED_CALL;
	} while (!cell_exchange(wheel, cell, &word,
				twheel_cell_word(cells_generation(word),
						 TWHEEL_CELL_CANCELLED,
						 word & TWHEEL_CELL_NEVER)));
	cells_put(wheel, cell);
	return 0;
}

/* Does a timer without a period have an event that has not been taken? */
static bool cell_has_event(const struct twheel *wheel, uint32_t cell, uint64_t word)
{
	uint64_t event = __atomic_load_n(&wheel->cells.events[cell].word, __ATOMIC_SEQ_CST);

	return cells_state(word) == TWHEEL_CELL_FIRED && (uint32_t)event &&
	       event >> 32 == cells_generation(word);
}

static int cells_query(struct twheel *wheel, struct twheel_op *op)
{
	int cell = cell_of(wheel, op->id);
	uint64_t word, cookie;
	bool fired;

	if (cell < 0 || !op_plain(op, 0) || op->cookie || op->deadline_ns)
		return CELLS_NEED_CALL;
	word = cell_load(wheel, cell);
	cookie = __atomic_load_n(&wheel->cells.records[cell].cookie, __ATOMIC_ACQUIRE);
	fired = cell_has_event(wheel, cell, word);
	if (cells_generation(word) != cells_generation(op->id) ||
	    cell_is_periodic(wheel, cell) ||
	    !(fired || word_is_pending(word, op->id)) || cell_load(wheel, cell) != word)
		return CELLS_NEED_CALL;
	op->cookie = cookie;
	op->deadline_ns = cells_ticks_to_ns(wheel, word & TWHEEL_CELL_NEVER);
	op->state = fired ? TWHEEL_STATE_FIRED : TWHEEL_STATE_PENDING;
	return 0;
}

int cells_perform(struct twheel *wheel, uint32_t code, struct twheel_op *op)
{
	switch (code) {
	case TWHEEL_OP_CANCEL:
		return cells_cancel(wheel, op);
	case TWHEEL_OP_MODIFY:
		return cells_modify(wheel, op);
	case TWHEEL_OP_QUERY:
		return cells_query(wheel, op);
	default:
		return CELLS_NEED_CALL;
	}
}

/* The kernel has given a timer another deadline, and perhaps more. */
static void cell_modified(struct twheel *wheel, const struct twheel_op *op)
{
	struct cell_record *record = &wheel->cells.records[(uint32_t)op->id];
	struct cell_period *period = &wheel->cells.periods[(uint32_t)op->id];

	record->deadline_ns &= RECORD_PERIODIC;
	if (op->flags & TWHEEL_SET_COOKIE)
		record->cookie = op->cookie;
	if (op->flags & TWHEEL_SET_PERIOD) {
		record->deadline_ns = op->period_ns ? RECORD_PERIODIC : 0;
		period->period_ns = op->period_ns;
		period->fixed = false;
	}
	if (record->deadline_ns)
		period->expected = 0;
}

int cells_settle(struct twheel *wheel, uint32_t code, struct twheel_op *op, int result)
{
	uint32_t cell = op->id;

	if (result < 0 || cell >= wheel->cells.count)
		return result;
	if (code == TWHEEL_OP_CANCEL) {
		cells_put(wheel, cell);
		return result;
	}
	pthread_mutex_lock(&wheel->lock);
	if (record_lock(wheel, op->id)) {
		if (code == TWHEEL_OP_MODIFY && result != 1)
			cell_modified(wheel, op);
		if (code == TWHEEL_OP_QUERY)
			op->cookie = wheel->cells.records[cell].cookie;
		if (code == TWHEEL_OP_QUERY && cell_is_periodic(wheel, cell) &&
		    wheel->cells.periods[cell].fixed)
			op->period_ns = wheel->cells.periods[cell].period_ns;
	}
	record_unlock(wheel);
	pthread_mutex_unlock(&wheel->lock);
	return result;
}

/* End the timer of a cell, or withdraw its event. False if it has neither. */
static bool cell_end(struct twheel *wheel, uint32_t cell)
{
	uint64_t word = cell_load(wheel, cell);
	__u64 event;

	while (cells_state(word) == TWHEEL_CELL_PENDING)
		if (cell_exchange(wheel, cell, &word,
				  twheel_cell_word(cells_generation(word),
						   TWHEEL_CELL_CANCELLED, 0)))
			return true;
	event = __atomic_load_n(&wheel->cells.events[cell].word, __ATOMIC_SEQ_CST);
	while (cells_state(word) == TWHEEL_CELL_FIRED && (uint32_t)event &&
	       event >> 32 == cells_generation(word))
		/* The entry in the ring stays, and stands for no expiry. */
		if (__atomic_compare_exchange_n(&wheel->cells.events[cell].word, &event,
						event >> 32 << 32, false,
						__ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST))
			return true;
	return false;
}

int cells_cancel_all(struct twheel *wheel)
{
	uint32_t fresh = __atomic_load_n(&wheel->cells.fresh, __ATOMIC_RELAXED), cell;
	int ended = 0;

	for (cell = 0; cell < fresh; cell++) {
		if (cell_end(wheel, cell)) {
			cells_put(wheel, cell);
			ended++;
		}
	}
	return ended;
}
