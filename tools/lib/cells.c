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

/* The lower part of &cell_table.free, as of a link: at most 2^24 cells. */
#define FREE_MASK	((uint64_t)TWHEEL_VIEW_OWNER)

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
	    __builtin_mul_overflow(ticks, wheel->view.tick_ns, &ns))
		return TWHEEL_DELAY_NEVER;
	ns += wheel->cells.origin_ns;
	return ns < TWHEEL_DELAY_NEVER ? ns : TWHEEL_DELAY_NEVER;
}

uint64_t cells_ticks_now(const struct twheel *wheel)
{
	return (twheel_now(wheel) - wheel->cells.origin_ns) / wheel->view.tick_ns;
}

/* The span begins an eighth of it ago, but not before the clock or the ticks did. */
static void view_move(struct twheel *wheel)
{
	struct twheel_view_1 *view = &wheel->view;
	uint64_t now = twheel_now(wheel), before = view->span_ns / 8;

	if (before > now)
		before = now;
	if (before > now - view->base_ns)
		before = now - view->base_ns;
	__atomic_store_n(&view->from_ns, now - before, __ATOMIC_RELAXED);
	__atomic_store_n(&view->limit_ns, now - before - view->base_ns + view->span_ns,
			 __ATOMIC_RELAXED);
}

/* Can a deadline be written as it is, before the span is moved? */
static inline bool view_spans(const struct twheel_view_1 *view, uint64_t deadline_ns)
{
	return deadline_ns - __atomic_load_n(&view->from_ns, __ATOMIC_RELAXED) <
	       view->span_ns;
}

/* Can it be written at all? Others are for the kernel, which refuses them or knows better. */
static bool view_covers(struct twheel *wheel, uint64_t deadline_ns)
{
	if (!wheel->view.bytes)
		return false;
	if (!view_spans(&wheel->view, deadline_ns))
		view_move(wheel);
	return view_spans(&wheel->view, deadline_ns);
}

/* A deadline that can be written, in ticks. */
static inline uint64_t view_ticks(const struct twheel_view_1 *view, uint64_t deadline_ns)
{
	return (deadline_ns - view->base_ns) / view->tick_ns;
}

/* Fill in what the inlines of the header read. */
static void view_init(struct twheel *wheel, const struct twheel_map *map)
{
	struct twheel_view_1 *view = &wheel->view;

	view->cells = (char *)wheel->cells.cells;
	view->bytes = map->cells * sizeof(struct twheel_cell);
	view->tick_ns = map->tick_ns;
	view->base_ns = map->origin_ns - (map->tick_ns - 1);
	/* All deadlines of a span fit into a record, too. */
	if (__builtin_mul_overflow(TWHEEL_CELL_REACH, map->tick_ns, &view->span_ns) ||
	    view->span_ns > RECORD_DEADLINE / 2)
		view->span_ns = RECORD_DEADLINE / 2;
	view_move(wheel);
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
	if (!cells->records || !cells->periods || !cells->links)
		return -ENOMEM;
	while (count--)
		cells->links[count] = (uint64_t)count * sizeof(struct twheel_cell)
				      << TWHEEL_VIEW_OFFSET_SHIFT;
	return 0;
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
		cells_link_set(&wheel->cells, last, head);
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
	return cells_link(cells, first - 1) & FREE_MASK;
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
		cells_link_set(cells, last - 1, head & FREE_MASK);
	} while (!__atomic_compare_exchange_n(&cells->free, &head,
					      (head & ~FREE_MASK) | first, false,
					      __ATOMIC_RELEASE, __ATOMIC_RELAXED));
}

/* Take the first free cell of the list, plus one, and its link; 0: there is none. */
static inline __attribute__((always_inline)) uint32_t
cell_take_free(struct cell_table *cells, uint64_t *link)
{
	uint64_t head = __atomic_load_n(&cells->free, __ATOMIC_ACQUIRE), next;
	uint32_t first;

	do {
		first = head & FREE_MASK;
		if (!first)
			return 0;
		*link = cells_link(cells, first - 1);
		/* Counted: it may be taken and put back between these two. */
		next = (*link & FREE_MASK) + head - first + FREE_MASK + 1;
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
	uint64_t link;
	uint32_t next;

	if (!first)
		first = cell_take_cancelled(wheel);
	if (!first) {
		first = cell_take_free(cells, &link);
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

/* Does a word say that the timer of an identifier is pending? */
static bool word_is_pending(uint64_t word, uint64_t id)
{
	return !((word ^ id) & (TWHEEL_VIEW_OWNER - 1));
}

/*
 * The kernel comes later than a deadline. If the timer is gone meanwhile, nothing happens.
 * Returns 0, so that it can be the last thing that its callers do.
 *
 * A word that is long past would mean the future. No other way than this leads to such a
 * deadline.
 */
static __attribute__((noinline)) int
cell_kick(struct twheel *wheel, uint64_t id, uint32_t cell, uint64_t ticks)
{
	struct twheel_op op = { .id = cells_id_in(id) };
	uint64_t now = cells_ticks_now(wheel), word;

	if (ticks < now && now - ticks > TWHEEL_CELL_PAST / 2) {
		word = cell_load(wheel, cell);
		if (word_is_pending(word, id) &&
		    word >> TWHEEL_CELL_TICKS_SHIFT == (ticks & TWHEEL_CELL_TICKS))
			cell_exchange(wheel, cell, &word,
				      twheel_cell_word(cells_generation(word),
						       TWHEEL_CELL_PENDING, now));
	}
	ioctl(wheel->fd, TWHEEL_IOC_KICK, &op);
	return 0;
}

/*
 * The kernel may come too late to a cell. First the bit of the cell, then that of the summary,
 * then the look at when the kernel comes: see <linux/twheel.h>.
 */
static __attribute__((noinline)) int
cell_submit(struct twheel *wheel, uint64_t id, uint32_t cell, uint64_t ticks)
{
	struct cell_table *cells = &wheel->cells;

	bit_set(cells->leaves, cell);
	bit_set(cells->summary, cell / 64);
	if (__builtin_expect(__atomic_load_n(&cells->map->wake, __ATOMIC_SEQ_CST) > ticks,
			     0))
		return cell_kick(wheel, id, cell, ticks);
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

/* The lower part of the word of the timer that comes after this word's. */
static inline uint64_t cell_next(uint64_t word)
{
	const uint32_t none = (1U << TWHEEL_CELL_GENERATION_SHIFT) - 1;

	return ((word | none) + 1 + (TWHEEL_CELL_PENDING << TWHEEL_CELL_STATE_SHIFT)) &
	       TWHEEL_VIEW_OWNER;
}

/* Does a word say that its cell has a timer, whosever it is? */
static inline bool word_has_timer(uint64_t word)
{
	return (word & 3 << TWHEEL_CELL_STATE_SHIFT) ==
	       TWHEEL_CELL_PENDING << TWHEEL_CELL_STATE_SHIFT;
}

/*
 * Write the word of a cell that has no timer. False if somebody else has written one.
 * @link: the cell's
 */
static bool
cell_begin(struct twheel *wheel, uint32_t cell, uint64_t link, uint64_t ticks, uint64_t *id)
{
	uint64_t word = __atomic_load_n(cell_word(wheel, cell), __ATOMIC_RELAXED);
	uint64_t next = cell_next(word);

	/* Generations wrap to 0, which is left out. */
	if (!(next >> TWHEEL_CELL_GENERATION_SHIFT)) {
		next += 1ULL << TWHEEL_CELL_GENERATION_SHIFT;
		link = cells_epoch_begin(&wheel->cells, cell);
	}
	*id = (link & ~(uint64_t)TWHEEL_VIEW_OWNER) + next;
	return !word_has_timer(word) &&
	       cell_exchange(wheel, cell, &word, next + (ticks << TWHEEL_CELL_TICKS_SHIFT));
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
		 uint32_t first)
{
	uint64_t ticks = view_ticks(&wheel->view, deadline_ns);
	int cell, tries;

	for (tries = 0; tries < ARM_TRIES; tries++) {
		cell = cell_get(wheel, first);
		if (cell < 0)
			break;
		record_wait(wheel);
		record_begin(wheel, cell, deadline_ns, cookie);
		if (cell_begin(wheel, cell, cells_link(&wheel->cells, cell), ticks, id))
			return cell_tell(wheel, *id, cell, ticks);
		/* Somebody else has written there. The cell is forgotten. */
		first = 0;
	}
	return -ENOSPC;
}

/* cells_arm_at() of a deadline that is beyond the span. */
static __attribute__((noinline)) int
cells_arm_beyond(struct twheel *wheel, uint64_t deadline_ns, uint64_t cookie, uint64_t *id)
{
	if (!view_covers(wheel, deadline_ns))
		return timer_arm_call(wheel, deadline_ns, cookie, id);
	return cells_arm_slowly(wheel, deadline_ns, cookie, id, 0);
}

/*
 * The rest of cells_arm_at(), with a cell. In a function of its own, no register has to be
 * saved.
 * @link: the cell's
 */
static __attribute__((noinline)) int
cells_arm_taken(struct twheel *wheel, uint64_t deadline_ns, uint64_t cookie, uint64_t *id,
		uint64_t cell, uint64_t link)
{
	struct twheel_cell *mine = &wheel->cells.cells[cell];
	cell_atomic *word = (cell_atomic *)&mine->word;
	uint64_t old = __atomic_load_n(word, __ATOMIC_RELAXED), next = cell_next(old), ticks;

	if (__builtin_expect(word_has_timer(old) || !(next >> TWHEEL_CELL_GENERATION_SHIFT) ||
			     record_changing(wheel), 0)) {
		/* It leads nowhere: others on its list are others' by now. */
		cells_link_set(&wheel->cells, cell, 0);
		return cells_arm_slowly(wheel, deadline_ns, cookie, id, cell + 1);
	}
	record_begin(wheel, cell, deadline_ns, cookie);
	ticks = view_ticks(&wheel->view, deadline_ns);
	*id = (link & ~FREE_MASK) + next;
	next += ticks << TWHEEL_CELL_TICKS_SHIFT;
	if (__builtin_expect(!__atomic_compare_exchange_n(word, &old, next, false,
							  __ATOMIC_SEQ_CST,
							  __ATOMIC_SEQ_CST), 0))
		return cells_arm_slowly(wheel, deadline_ns, cookie, id, 0);
	if (__builtin_expect(__atomic_load_n(&mine->look, __ATOMIC_SEQ_CST) > ticks, 0))
		return cell_submit(wheel, *id, cell, ticks);
	return 0;
}

int cells_arm_at(struct twheel *wheel, uint64_t deadline_ns, uint64_t cookie, uint64_t *id)
{
	const struct twheel_view_1 *view = &wheel->view;
	uint32_t first;
	uint64_t link;

	/*
	 * In a forked child, and without a mapping, all is 0. One that has long passed is
	 * found in cell_kick().
	 */
	if (__builtin_expect(deadline_ns - view->base_ns >=
			     __atomic_load_n(&view->limit_ns, __ATOMIC_RELAXED), 0))
		return cells_arm_beyond(wheel, deadline_ns, cookie, id);
	first = cell_take_cancelled(wheel);
	if (!first) {
		first = cell_take_free(&wheel->cells, &link);
	} else {
		link = cells_link(&wheel->cells, first - 1);
		if (link & FREE_MASK)
			return cells_arm_slowly(wheel, deadline_ns, cookie, id, first);
	}
	if (__builtin_expect(!first, 0))
		return cells_arm_slowly(wheel, deadline_ns, cookie, id, 0);
	return cells_arm_taken(wheel, deadline_ns, cookie, id, first - 1, link);
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
	uint32_t before;
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
	before = cells_generation(cell_load(wheel, cell));
	ret = op_run(wheel, TWHEEL_OP_ARM, &copy);
	if (ret < 0) {
		cells_put(wheel, cell);
		return ret;
	}
	if (copy.id >> 32 < before)
		cells_epoch_begin(&wheel->cells, cell);
	if (op->period_ns && copy.deadline_ns < TWHEEL_DELAY_NEVER) {
		pthread_mutex_lock(&wheel->lock);
		/* An event that came before knows better. */
		if (record_lock(wheel, copy.id) && !wheel->cells.periods[cell].expected)
			wheel->cells.periods[cell].expected =
				(copy.deadline_ns - wheel->cells.origin_ns) /
				wheel->view.tick_ns;
		record_unlock(wheel);
		pthread_mutex_unlock(&wheel->lock);
	}
	op->id = cells_id_out(&wheel->cells, copy.id);
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
	if (!view_covers(wheel, when))
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
	uint64_t offset = id >> TWHEEL_VIEW_OFFSET_SHIFT;
	uint32_t cell = cells_index(id);

	return offset < wheel->view.bytes && !(offset % sizeof(struct twheel_cell)) &&
	       !((id ^ cells_link(&wheel->cells, cell)) & EPOCH_MASK) ? (int)cell : -1;
}

static bool cell_is_periodic(const struct twheel *wheel, uint32_t cell)
{
	return __atomic_load_n(&wheel->cells.records[cell].deadline_ns,
			       __ATOMIC_RELAXED) & RECORD_PERIODIC;
}

/* The deadline of a word, in ticks, beside one that can be written. */
static uint64_t word_ticks_near(uint64_t word, uint64_t ticks)
{
	if (word & 1)
		return TWHEEL_CELL_NEVER;
	return ticks + ((int64_t)(word - (ticks << TWHEEL_CELL_TICKS_SHIFT)) >>
			TWHEEL_CELL_TICKS_SHIFT);
}

static int cells_modify(struct twheel *wheel, int cell, struct twheel_op *op)
{
	uint64_t when, ticks, word, before;

	if (!op_plain(op, TWHEEL_ABS | TWHEEL_LATER) || op->cookie)
		return CELLS_NEED_CALL;
	when = op_time(wheel, op);
	if (!view_covers(wheel, when))
		return CELLS_NEED_CALL;
	ticks = view_ticks(&wheel->view, when);
	word = cell_load(wheel, cell);
	do {
		/* A period may go back to a deadline before: the kernel's matter. */
		if (!word_is_pending(word, op->id) || cell_is_periodic(wheel, cell))
			return CELLS_NEED_CALL;
		before = word_ticks_near(word, ticks);
		if (op->flags & TWHEEL_LATER && ticks <= before) {
			op->deadline_ns = cells_ticks_to_ns(wheel, before);
			return 1;
		}
	} while (!cell_exchange(wheel, cell, &word,
				twheel_cell_word(cells_generation(word),
						 TWHEEL_CELL_PENDING, ticks)));
	if (ticks < before)
		cell_tell(wheel, op->id, cell, ticks);
	op->deadline_ns = cells_ticks_to_ns(wheel, ticks);
	return 0;
}

static int cells_cancel(struct twheel *wheel, int cell, const struct twheel_op *op)
{
	uint64_t word;

	if (!op_plain(op, 0) || op->cookie || op->deadline_ns)
		return CELLS_NEED_CALL;
	word = cell_load(wheel, cell);
	do {
		if (!word_is_pending(word, op->id))
			return CELLS_NEED_CALL;
	} while (!cell_exchange(wheel, cell, &word,
				twheel_cell_word(cells_generation(word),
						 TWHEEL_CELL_CANCELLED, 0)));
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

static int cells_query(struct twheel *wheel, int cell, struct twheel_op *op)
{
	uint64_t word, cookie;
	bool fired;

	if (!op_plain(op, 0) || op->cookie || op->deadline_ns)
		return CELLS_NEED_CALL;
	word = cell_load(wheel, cell);
	cookie = __atomic_load_n(&wheel->cells.records[cell].cookie, __ATOMIC_ACQUIRE);
	fired = cell_has_event(wheel, cell, word);
	if (cells_generation(word) != cells_generation(op->id) ||
	    cell_is_periodic(wheel, cell) ||
	    !(fired || word_is_pending(word, op->id)) || cell_load(wheel, cell) != word)
		return CELLS_NEED_CALL;
	op->cookie = cookie;
	op->deadline_ns = cells_ticks_to_ns(wheel, twheel_cell_ticks(word,
							cells_ticks_now(wheel)));
	op->state = fired ? TWHEEL_STATE_FIRED : TWHEEL_STATE_PENDING;
	return 0;
}

int cells_perform(struct twheel *wheel, uint32_t code, struct twheel_op *op)
{
	int cell = cell_of(wheel, op->id);

	if (cell < 0)
		return -ENOENT;
	switch (code) {
	case TWHEEL_OP_CANCEL:
		return cells_cancel(wheel, cell, op);
	case TWHEEL_OP_MODIFY:
		return cells_modify(wheel, cell, op);
	case TWHEEL_OP_QUERY:
		return cells_query(wheel, cell, op);
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
