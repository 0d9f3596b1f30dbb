// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * Operations on timers in the shared mapping. For arming see arming.c, for events taken.c.
 */
#include "handle.h"

bool record_lock(struct twheel *wheel, uint64_t id)
{
	uint64_t word;

	/*
	 * Then the word: if the timer is there, whoever has its cell next comes later,
	 * and waits in record_wait().
	 */
	__atomic_store_n(&wheel->cells.changing, true, __ATOMIC_SEQ_CST);
	word = cell_load(&wheel->cells, id);
	return twheel_cell_generation(word) == id >> 32 &&
	       twheel_cell_state(word) == TWHEEL_CELL_PENDING;
}

void record_unlock(struct twheel *wheel)
{
	__atomic_store_n(&wheel->cells.changing, false, __ATOMIC_RELEASE);
}

uint64_t cells_op_time(const struct twheel *wheel, const struct twheel_op *op)
{
	uint64_t now;

	if (op->flags & TWHEEL_ABS || op->deadline_ns >= TWHEEL_DELAY_NEVER)
		return op->deadline_ns;
	now = twheel_now(wheel);
	return op->deadline_ns < TWHEEL_DELAY_NEVER - now ? now + op->deadline_ns :
							    TWHEEL_DELAY_NEVER;
}

bool cells_op_plain(const struct twheel_op *op, uint32_t flags)
{
	return !(op->flags & ~flags || op->op || op->result || op->state ||
		 op->reserved || op->period_ns || op->slack_ns);
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

/*
 * Has a timer ended in its word? Whoever ended it has given its cell back: nobody else may do
 * so. A waiting event tells nothing then, since the inlines leave that of a timer that has
 * got a period.
 */
static bool word_has_ended(uint64_t word, uint64_t id)
{
	uint32_t state = twheel_cell_state(word);

	return twheel_cell_generation(word) == twheel_cell_generation(id) &&
	       (state == TWHEEL_CELL_CANCELLED || state == TWHEEL_CELL_FREE);
}

/* The deadline of a word, in ticks, beside one that can be written. */
static uint64_t word_ticks_near(uint64_t word, uint64_t ticks)
{
	if (word & 1)
		return TWHEEL_CELL_NEVER;
	return ticks + ((int64_t)(word - (ticks << TWHEEL_CELL_TICKS_SHIFT)) >>
			TWHEEL_CELL_TICKS_SHIFT);
}

/* The deadline of a timer that may be pending is not the program's any more. */
static void record_forget_deadline(struct twheel *wheel, uint64_t id)
{
	cell_atomic *deadline =
		(cell_atomic *)&wheel->cells.records[cells_index(id)].deadline_ns;

	if (!(__atomic_load_n(deadline, __ATOMIC_RELAXED) & RECORD_DEADLINE))
		return;
	pthread_mutex_lock(&wheel->lock);
	if (record_lock(wheel, cells_id_in(id)))
		*deadline &= ~RECORD_DEADLINE;
	record_unlock(wheel);
	pthread_mutex_unlock(&wheel->lock);
}

static int cells_modify(struct twheel *wheel, int cell, struct twheel_op *op)
{
	uint64_t when, ticks, word, before;

	if (!cells_op_plain(op, TWHEEL_ABS | TWHEEL_LATER) || op->cookie)
		return CELLS_NEED_CALL;
	when = cells_op_time(wheel, op);
	if (!view_covers(wheel, when))
		return CELLS_NEED_CALL;
	ticks = view_ticks(&wheel->view, when);
	word = cell_load(&wheel->cells, cell);
	do {
		/* A period may go back to a deadline before: the kernel's matter. */
		if (!word_is_pending(word, op->id) || cell_is_periodic(wheel, cell))
			return CELLS_NEED_CALL;
		before = word_ticks_near(word, ticks);
		if (op->flags & TWHEEL_LATER && ticks <= before) {
			op->deadline_ns = cells_ticks_to_ns(wheel, before);
			return 1;
		}
		/* After an extension alone, the word tells that. */
		if (ticks <= before)
			record_forget_deadline(wheel, op->id);
	} while (!cell_exchange(&wheel->cells, cell, &word,
				twheel_cell_word(twheel_cell_generation(word),
						 TWHEEL_CELL_PENDING, ticks)));
	if (ticks < before)
		cells_tell(wheel, op->id, cell, ticks);
	op->deadline_ns = cells_ticks_to_ns(wheel, ticks);
	return 0;
}

/* Withdraw a cell's event of one generation. False if none waits. */
static bool event_withdraw(struct twheel *wheel, uint32_t cell, uint32_t generation)
{
	cell_atomic *word = (cell_atomic *)&wheel->cells.events[cell].word;
	uint64_t event = __atomic_load_n(word, __ATOMIC_SEQ_CST);

	/* The entry in the ring stays, and stands for no expiry. */
	while ((uint32_t)event && event >> 32 == generation)
		if (__atomic_compare_exchange_n(word, &event, event >> 32 << 32, false,
						__ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST))
			return true;
	return false;
}

/*
 * End the timer of a cell, if @word says that it is pending, and of this identifier. Returns
 * whether its event was withdrawn, or CELLS_NEED_CALL and the word that says otherwise.
 */
static inline int cell_end(struct twheel *wheel, uint32_t cell, uint64_t *word, uint64_t id)
{
	const uint64_t flip = twheel_cell_word(0, TWHEEL_CELL_PENDING ^ TWHEEL_CELL_CANCELLED,
					       0);
	bool withdrawn;

	do {
		if (!word_is_pending(*word, id))
			return CELLS_NEED_CALL;
	} while (!cell_exchange(&wheel->cells, cell, word, *word ^ flip));
	/* A timer with a period may have one, and go on all the same. */
	withdrawn = event_withdraw(wheel, cell, twheel_cell_generation(*word));
	cells_put(wheel, cell);
	return withdrawn;
}

static int cells_cancel(struct twheel *wheel, int cell, const struct twheel_op *op)
{
	uint64_t word;
	int ret;

	if (!cells_op_plain(op, 0) || op->cookie || op->deadline_ns)
		return CELLS_NEED_CALL;
	word = cell_load(&wheel->cells, cell);
	ret = cell_end(wheel, cell, &word, op->id);
	if (ret == CELLS_NEED_CALL && word_has_ended(word, op->id)) {
		event_withdraw(wheel, cell, twheel_cell_generation(word));
		return -ENOENT;
	}
	return ret;
}

/* Does a timer without a period have an event that has not been taken? */
static bool cell_has_event(const struct twheel *wheel, uint32_t cell, uint64_t word)
{
	uint64_t event = __atomic_load_n(&wheel->cells.events[cell].word, __ATOMIC_SEQ_CST);

	return twheel_cell_state(word) == TWHEEL_CELL_FIRED && (uint32_t)event &&
	       event >> 32 == twheel_cell_generation(word);
}

static int cells_query(struct twheel *wheel, int cell, struct twheel_op *op)
{
	uint64_t word, cookie, ticks;
	bool fired;

	if (!cells_op_plain(op, 0) || op->cookie || op->deadline_ns)
		return CELLS_NEED_CALL;
	word = cell_load(&wheel->cells, cell);
	cookie = __atomic_load_n(&wheel->cells.records[cell].cookie, __ATOMIC_ACQUIRE);
	fired = cell_has_event(wheel, cell, word);
	if (twheel_cell_generation(word) != twheel_cell_generation(op->id) ||
	    cell_is_periodic(wheel, cell) ||
	    !(fired || word_is_pending(word, op->id)) || cell_load(&wheel->cells, cell) != word)
		return CELLS_NEED_CALL;
	op->cookie = cookie;
	ticks = twheel_cell_ticks(word, cells_ticks_now(wheel));
	op->deadline_ns = cells_ticks_to_ns(wheel, ticks);
	op->state = fired ? TWHEEL_STATE_FIRED : TWHEEL_STATE_PENDING;
	return 0;
}

int cells_perform(struct twheel *wheel, uint32_t code, struct twheel_op *op)
{
	int cell = cell_of(wheel, op->id);

	/* In a forked child there are none. */
	if (cell < 0)
		return handle_dead(wheel) ? -ESTALE : -ENOENT;
	/* Words that are compared with it are of pending timers. */
	op->id |= twheel_cell_word(0, TWHEEL_CELL_PENDING, 0);
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

	record->deadline_ns &= RECORD_PERIODIC | RECORD_APART;
	if (op->flags & TWHEEL_SET_COOKIE)
		record->cookie = op->cookie;
	if (op->flags & TWHEEL_SET_PERIOD) {
		record->deadline_ns &= ~RECORD_PERIODIC;
		if (op->period_ns)
			record->deadline_ns |= RECORD_PERIODIC;
		period->period_ns = op->period_ns;
		period->fixed = false;
	}
	if (record->deadline_ns & RECORD_PERIODIC)
		period->expected = 0;
}

static int call_cancel(struct twheel *wheel, struct twheel_op *op)
{
	int ret = op_run(wheel, TWHEEL_OP_CANCEL, op);

	if (ret >= 0)
		cells_put(wheel, op->id);
	return ret;
}

int cells_call(struct twheel *wheel, uint32_t code, struct twheel_op *op)
{
	const struct cell_table *cells = &wheel->cells;
	uint32_t cell = op->id;
	int ret;

	if (code == TWHEEL_OP_CANCEL)
		return call_cancel(wheel, op);
	/*
	 * The lock is held until the record tells what the kernel does: another thread can
	 * take an event of the period only after that.
	 */
	pthread_mutex_lock(&wheel->lock);
	if (code == TWHEEL_OP_MODIFY && op->period_ns)
		__atomic_store_n(&wheel->cells.given, true, __ATOMIC_RELAXED);
	ret = op_run(wheel, code, op);
	if (ret >= 0 && record_lock(wheel, op->id)) {
		if (code == TWHEEL_OP_MODIFY && ret != 1)
			cell_modified(wheel, op);
		if (code == TWHEEL_OP_QUERY)
			op->cookie = cells->records[cell].cookie;
		if (code == TWHEEL_OP_QUERY && cell_is_periodic(wheel, cell) &&
		    cells->periods[cell].fixed)
			op->period_ns = cells->periods[cell].period_ns;
	}
	record_unlock(wheel);
	pthread_mutex_unlock(&wheel->lock);
	return ret;
}

/* Withdraw the event of a timer that has fired. False if it has none. */
static bool cell_end_fired(struct twheel *wheel, uint32_t cell, uint64_t word)
{
	if (twheel_cell_state(word) != TWHEEL_CELL_FIRED ||
	    !event_withdraw(wheel, cell, twheel_cell_generation(word)))
		return false;
	cells_put(wheel, cell);
	return true;
}

int cells_cancel_all(struct twheel *wheel)
{
	uint32_t fresh = __atomic_load_n(&wheel->cells.fresh, __ATOMIC_RELAXED), cell;
	int ended = 0;

	for (cell = 0; cell < fresh; cell++) {
		uint64_t word = cell_load(&wheel->cells, cell);
		uint64_t id = twheel_cell_word(twheel_cell_generation(word),
					       TWHEEL_CELL_PENDING, 0);

		ended += cell_end(wheel, cell, &word, id) >= 0 ||
			 cell_end_fired(wheel, cell, word);
	}
	return ended;
}
