// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * Arming in the shared mapping, and the cells that are free for it.
 *
 * Whoever ends a timer puts its cell on a list of free ones: with the compare-and-swap
 * that cancels it, the exchange that takes its event, or the call that says so. Only one
 * of them can succeed. So a cell comes on the list once, and nothing has to be searched.
 * The last one put there is used first: it is in the cache, and its look may still serve.
 *
 * There are two such lists. The inlines put cells on that of &twheel_view_1, which can only
 * be taken as a whole. An arm takes it, keeps the first cell, and puts the others on the
 * list of free ones, from which any thread can take one. Before it takes more than one, it
 * says that it holds cells. An arm that finds none waits for those who do.
 */
#include <sys/ioctl.h>
#include <time.h>

#include "handle.h"

/* The lower part of &cell_table.free, as of a link: at most 2^24 cells. */
#define FREE_MASK	((uint64_t)TWHEEL_VIEW_OWNER)

/* &cell_table.holders: how many there are, and above it how many have come. */
#define HOLDER_ONE	((1ULL << 32) + 1)
#define HOLDERS_NOW	((1ULL << 32) - 1)

/* How long to wait for a thread that holds cells: it may have to get a processor first. */
#define HOLDER_WAIT_NS	20000

/* How many cells an arm tries, if their words are not as they were left. */
#define ARM_TRIES	8

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
static void cells_free_chain(struct cell_table *cells, uint32_t first)
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

/* Cells are about to be taken from the cancelled ones: more than one, perhaps. */
static void cells_hold(struct cell_table *cells)
{
	__atomic_fetch_add(&cells->holders, HOLDER_ONE, __ATOMIC_RELAXED);
}

/* Keep the first of these cells, plus one, or 0. The others are free. */
static uint32_t cells_keep_first(struct cell_table *cells, uint32_t first)
{
	uint32_t next = first ? cell_link(cells, first) : 0;

	if (next)
		cells_free_chain(cells, next);
	__atomic_fetch_sub(&cells->holders, 1, __ATOMIC_RELEASE);
	return first;
}

static bool any_cancelled(const struct twheel *wheel)
{
	return __atomic_load_n(&wheel->view.cancelled, __ATOMIC_ACQUIRE);
}

/* Take all cells that the inlines have put back, and keep one of them, plus one; 0: none. */
static uint32_t cell_take_cancelled(struct twheel *wheel)
{
	if (!any_cancelled(wheel))
		return 0;
	cells_hold(&wheel->cells);
	return cells_keep_first(&wheel->cells, __atomic_exchange_n(&wheel->view.cancelled, 0,
								   __ATOMIC_ACQ_REL));
}

/*
 * An arm has found no cell, and @before were the holders until then: are all in use? Only
 * holders put cells on the list of free ones. If there was none, it is empty still, and the
 * other list is looked at again. If there was one, wait.
 */
static bool cells_all_used(const struct twheel *wheel, uint64_t before)
{
	const struct timespec wait = { .tv_nsec = HOLDER_WAIT_NS };

	if (!(before & HOLDERS_NOW))
		return !any_cancelled(wheel) &&
		       __atomic_load_n(&wheel->cells.holders, __ATOMIC_RELAXED) == before;
	nanosleep(&wait, NULL);
	return false;
}

/* A cell for a timer, or -1. */
static int cell_get(struct twheel *wheel)
{
	struct cell_table *cells = &wheel->cells;
	uint64_t holders, link;
	uint32_t first;

	do {
		holders = __atomic_load_n(&cells->holders, __ATOMIC_ACQUIRE);
		first = cell_take_cancelled(wheel);
		if (!first)
			first = cell_take_free(cells, &link);
		if (!first)
			first = cell_take_fresh(cells);
	} while (!first && !cells_all_used(wheel, holders));
	return (int)first - 1;
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

static inline bool bit_is_set(const struct cell_event *words, uint64_t bit)
{
	return __atomic_load_n(&words[bit / 64].word, __ATOMIC_SEQ_CST) >> bit % 64 & 1;
}

static void bit_set(struct cell_event *words, uint32_t bit)
{
	if (!bit_is_set(words, bit))
		__atomic_fetch_or(&words[bit / 64].word, 1ULL << bit % 64, __ATOMIC_SEQ_CST);
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
		word = cell_load(&wheel->cells, cell);
		if (word_is_pending(word, id) &&
		    word >> TWHEEL_CELL_TICKS_SHIFT == (ticks & TWHEEL_CELL_TICKS))
			cell_exchange(&wheel->cells, cell, &word,
				      twheel_cell_word(twheel_cell_generation(word),
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
cell_submit_anew(struct twheel *wheel, uint64_t id, uint64_t cell, uint64_t ticks)
{
	struct cell_table *cells = &wheel->cells;

	bit_set(cells->leaves, cell);
	bit_set(cells->summary, cell / 64);
	if (__atomic_load_n(&cells->map->wake, __ATOMIC_SEQ_CST) > ticks)
		return cell_kick(wheel, id, cell, ticks);
	return 0;
}

/* The same where most often all is done already. */
static inline int cell_submit(struct twheel *wheel, const uint64_t *id, uint64_t cell,
			      uint64_t ticks)
{
	const struct cell_table *cells = &wheel->cells;

	if (__builtin_expect(!bit_is_set(cells->leaves, cell) ||
			     !bit_is_set(cells->summary, cell / 64) ||
			     __atomic_load_n(&cells->map->wake, __ATOMIC_SEQ_CST) > ticks, 0))
		return cell_submit_anew(wheel, *id, cell, ticks);
	return 0;
}

int cells_tell(struct twheel *wheel, uint64_t id, uint32_t cell, uint64_t ticks)
{
	if (__atomic_load_n(&wheel->cells.cells[cell].look, __ATOMIC_SEQ_CST) > ticks)
		return cell_submit_anew(wheel, id, cell, ticks);
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

/* Write the word of a cell that has no timer. False if somebody else has written one. */
static bool cell_begin(struct twheel *wheel, uint32_t cell, uint64_t ticks, uint64_t *id)
{
	uint64_t word = __atomic_load_n(cell_word(&wheel->cells, cell), __ATOMIC_RELAXED);
	uint64_t next = cell_next(word), link = cells_link(&wheel->cells, cell);

	/* Generations wrap to 0, which is left out. */
	if (!(next >> TWHEEL_CELL_GENERATION_SHIFT)) {
		next += 1ULL << TWHEEL_CELL_GENERATION_SHIFT;
		link = cells_epoch_begin(&wheel->cells, cell);
	}
	*id = (link & ~(uint64_t)TWHEEL_VIEW_OWNER) + next;
	return !word_has_timer(word) &&
	       cell_exchange(&wheel->cells, cell, &word, next + (ticks << TWHEEL_CELL_TICKS_SHIFT));
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
 * @first: a cell that was taken, plus one, which may lead to others; or 0
 */
static __attribute__((noinline)) int
cells_arm_slowly(struct twheel *wheel, uint64_t deadline_ns, uint64_t cookie, uint64_t *id,
		 uint32_t first)
{
	uint64_t ticks = view_ticks(&wheel->view, deadline_ns);
	int cell, tries;

	if (first) {
		cells_hold(&wheel->cells);
		cells_keep_first(&wheel->cells, first);
	}
	for (tries = 0; tries < ARM_TRIES; tries++) {
		cell = first ? (int)first - 1 : cell_get(wheel);
		if (cell < 0)
			break;
		record_wait(wheel);
		record_begin(wheel, cell, deadline_ns, cookie);
		if (cell_begin(wheel, cell, ticks, id))
			return cells_tell(wheel, *id, cell, ticks);
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
 * Somebody else has written the word of a cell whose record was begun. Only one who breaks
 * the rules does.
 */
static __attribute__((noinline, cold)) int
cells_arm_again(struct twheel *wheel, uint64_t *id, uint64_t cell)
{
	struct cell_record record = wheel->cells.records[cell];

	return cells_arm_slowly(wheel, record.deadline_ns, record.cookie, id, 0);
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

	if (__builtin_expect(word_has_timer(old) || next < 1 << TWHEEL_CELL_GENERATION_SHIFT ||
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
		return cells_arm_again(wheel, id, cell);
	if (__atomic_load_n(&mine->look, __ATOMIC_SEQ_CST) > ticks)
		return cell_submit(wheel, id, cell, ticks);
	return 0;
}

int cells_arm_at(struct twheel *wheel, uint64_t deadline_ns, uint64_t cookie, uint64_t *id)
{
	struct twheel_view_1 *view = &wheel->view;
	const cell_atomic *mine;
	uint64_t link;
	uint32_t first;

	/*
	 * In a forked child, and without a mapping, all is 0. What is no time at all is beyond
	 * the span, too, though it may look like a time before the clock began.
	 */
	if (__builtin_expect(!view_spans(view, deadline_ns), 0))
		return view->bytes ? cells_arm_beyond(wheel, deadline_ns, cookie, id) :
				     timer_arm_call(wheel, deadline_ns, cookie, id);
	first = __atomic_load_n(&view->cancelled, __ATOMIC_ACQUIRE);
	if (!first) {
		first = cell_take_free(&wheel->cells, &link);
		return first ? cells_arm_taken(wheel, deadline_ns, cookie, id, first - 1,
					       link) :
			       cells_arm_slowly(wheel, deadline_ns, cookie, id, 0);
	}
	/* Who takes one that leads to no other holds nothing. */
	mine = &wheel->cells.links[first - 1];
	link = __atomic_load_n(mine, __ATOMIC_RELAXED);
	if (link & FREE_MASK ||
	    !__atomic_compare_exchange_n(&view->cancelled, &first, 0, false, __ATOMIC_ACQUIRE,
					 __ATOMIC_RELAXED))
		return cells_arm_slowly(wheel, deadline_ns, cookie, id, 0);
	/* It may have been armed in between, and cancelled after others. */
	if (__builtin_expect(__atomic_load_n(mine, __ATOMIC_RELAXED) != link, 0))
		return cells_arm_slowly(wheel, deadline_ns, cookie, id, first);
	return cells_arm_taken(wheel, deadline_ns, cookie, id, first - 1, link);
}

/* Arm a timer by a call: it has a period, or only the kernel can say what is wrong. */
static int cells_arm_call(struct twheel *wheel, struct twheel_op *op)
{
	bool fixed = op->flags & TWHEEL_FIXED_DELAY;
	struct twheel_op copy = *op;
	uint32_t before;
	int cell, ret;

	cell = cell_get(wheel);
	if (cell < 0)
		return -ENOSPC;
	record_wait(wheel);
	wheel->cells.records[cell] = (struct cell_record){
		.cookie = op->cookie,
		.deadline_ns = (op->flags & TWHEEL_ABS && op->deadline_ns <= RECORD_DEADLINE ?
				op->deadline_ns : 0) |
			       (op->period_ns ? RECORD_PERIODIC | RECORD_APART : 0),
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
	before = twheel_cell_generation(cell_load(&wheel->cells, cell));
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
	if (!cells_op_plain(&copy, TWHEEL_ABS))
		return cells_arm_call(wheel, op);
	when = cells_op_time(wheel, op);
	if (!view_covers(wheel, when))
		return cells_arm_call(wheel, op);
	ret = cells_arm_at(wheel, when, op->cookie, &id);
	if (ret)
		return ret;
	op->id = id;
	op->deadline_ns = when;
	return 0;
}
