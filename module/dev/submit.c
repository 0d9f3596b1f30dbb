// SPDX-License-Identifier: GPL-2.0-only
/*
 * Cells that the program arms itself, in the mapping.
 *
 * The program writes the word of a cell, with a generation of its own, and reads the look.
 * If that comes too late, it submits the cell: see sweep.c. The kernel reads the word when
 * the look comes, in a sweep, and in every call that names the timer. If the word is
 * pending, and of a generation that the kernel does not know, the kernel adopts it. What it
 * has kept of the last generation goes.
 *
 * Of its own accord the kernel changes only words that are pending: to fired, or if the
 * timer has a period, to the next deadline. In a call it does what the program could do:
 * a compare-and-swap from what it has read.
 *
 * A cell can be armed again as soon as its word says that it is not pending. So a look that
 * is to go, goes before the word says so: a program that sees the new word also sees that
 * no look is left. Likewise the look of a cancelled cell goes first. Then the word is read
 * again, with a full barrier in between, as the program may have armed meanwhile and
 * relied on that look.
 *
 * As long as the look is there, it serves whatever is armed for later. So a sweep leaves it
 * alone even if the cell is cancelled: most likely the cell is soon armed again.
 *
 * Hostile writers: a word that changes faster than the kernel can follow is read again in
 * the next tick. Every loop is bounded, and the look in the mapping is never read.
 */
#include <linux/atomic.h>
#include <linux/bitops.h>
#include <linux/bits.h>
#include <linux/build_bug.h>
#include <linux/errno.h>
#include <linux/lockdep.h>
#include <linux/nospec.h>

#include "cell.h"
#include "look.h"
#include "ring.h"
#include "run.h"
#include "submit.h"
#include "sweep.h"
#include "word.h"

/* The timer of a word is the entry's from now on. */
static void submit_adopt(struct tw_file *file, struct tw_entry *entry, u64 word)
{
	if (tw_look_armed(entry) && tw_look_known(entry, word))
		return;
	if (tw_look_armed(entry))
		file->cancelled++;
	else
		file->timers++;
	file->armed++;
	entry->tag = (u64)twheel_cell_generation(word) << 32 |
		     TW_ENTRY_TAG(TW_ENTRY_ARMED) | tw_entry_index(entry);
	entry->look = TWHEEL_CELL_NEVER;
	entry->cookie = 0;
	entry->period_ns = 0;
	entry->slack_ns = 0;
}

/* The word of an armed entry is not pending any more. */
static void submit_release(struct tw_file *file, struct tw_entry *entry)
{
	WRITE_ONCE(tw_look_cell(file, entry)->look, TWHEEL_CELL_NEVER);
	tw_look_end(file, entry, TW_ENTRY_FREE);
	file->cancelled++;
}

/* Does the kernel read the word again in time, with the look at @ticks? */
static bool submit_look_suffices(const struct twheel_cell *cell, u64 ticks, u64 now)
{
	u64 word;

	/* Pairs with the program's, between writing the word and reading the look. */
	smp_mb();
	word = READ_ONCE(cell->word);
	return !tw_word_pending(word) || twheel_cell_ticks(word, now) >= ticks;
}

/*
 * One try at a cell. Returns false if the word has changed meanwhile.
 * @due: set if it was due: an event was posted, or the last one has not been taken.
 *	NULL: post none
 */
static bool submit_follow_once(struct tw_file *file, struct tw_entry *entry, u64 now_ns,
			       bool *due)
{
	struct twheel_cell *cell = tw_look_cell(file, entry);
	u64 now = tw_word_now(file->ring, now_ns);
	u64 word = READ_ONCE(cell->word), ticks;

	if (!tw_word_pending(word)) {
		/* Without a look, whoever arms now will submit. */
		if (!tw_look_armed(entry))
			return true;
		submit_release(file, entry);
		return submit_look_suffices(cell, TWHEEL_CELL_NEVER, now);
	}
	submit_adopt(file, entry, word);
	ticks = tw_look_ticks(entry, word, now);
	if (due && ticks <= now) {
		*due = entry->period_ns && tw_look_park(file, entry, ticks);
		if (*due)
			return true;
		if (!tw_look_fire(file, entry, word, ticks, now_ns))
			return false;
		*due = true;
		if (!entry->period_ns)
			return true;
		word = READ_ONCE(cell->word);
		if (!tw_look_known(entry, word))
			return false;
		ticks = twheel_cell_ticks(word, now);
	}
	tw_look_set(file, entry, ticks);
	return submit_look_suffices(cell, ticks, now);
}

/* Read the word of a cell, and do what it says. Was it due? */
static bool submit_follow(struct tw_file *file, struct tw_entry *entry, u64 now_ns,
			  bool post)
{
	bool due = false;
	unsigned int i;

	lockdep_assert_held(&file->lock);
	for (i = 0; i < TW_WORD_TRIES; i++)
		if (submit_follow_once(file, entry, now_ns, post ? &due : NULL))
			return due;
	submit_adopt(file, entry, READ_ONCE(tw_look_cell(file, entry)->word));
	tw_look_set(file, entry, tw_word_now(file->ring, now_ns) + 1);
	return due;
}

/* The same for a caller that is not a callback: only those wake the waiters. */
static void submit_check(struct tw_file *file, struct tw_entry *entry)
{
	submit_follow(file, entry, twheel_now(file->wheel), false);
}

/*
 * A sweep has found a cell whose timer is due, and which has no look: fire it as one that is
 * the entry's from now on. Returns false if the word has changed meanwhile.
 */
static __always_inline bool submit_fire_found(struct tw_file *file, struct tw_look_run *run,
					      struct tw_entry *entry, u32 index, u64 word,
					      u64 ticks, u64 now_ns)
{
	const u64 flip = twheel_cell_word(0, TWHEEL_CELL_PENDING ^ TWHEEL_CELL_FIRED, 0);
	struct tw_ring *ring = file->ring;
	struct twheel_cell *cell = &ring->cells[index];
	bool armed = tw_look_armed(entry);

	/* Before the word, as in tw_look_fire_once(). */
	WRITE_ONCE(cell->look, TWHEEL_CELL_NEVER);
	if (unlikely(!try_cmpxchg(&cell->word, &word, word ^ flip)))
		return false;
	if (unlikely(armed)) {
		file->timers--;
		file->cancelled += !tw_look_known(entry, word);
	}
	file->armed += !armed || !tw_look_known(entry, word);
	entry->tag = (u64)twheel_cell_generation(word) << 32 |
		     TW_ENTRY_TAG(TW_ENTRY_FIRED) | index;
	entry->look = ticks;
	entry->cookie = 0;
	entry->period_ns = 0;
	entry->slack_ns = 0;
	tw_look_run_add(file, run, ticks, now_ns);
	tw_ring_push_once(ring, index, twheel_cell_generation(word));
	return true;
}

/*
 * tw_submit_fire() - a sweep has found that cells were submitted: fire those that are due
 * @first: the first cell of a word of the bitmap
 * @bits: a bit for each cell
 * @due: the tick that the sweep is due at. What has become due since would get ahead of
 *	timers that the wheel has
 *
 * Return: the bits that are left for tw_submit_visit().
 */
u64 tw_submit_fire(struct tw_file *file, u32 first, u64 bits, u64 now_ns, u64 due)
{
	/* They are in one chunk. */
	struct tw_entry *entries = tw_entries_at(&file->entries, first);
	const struct twheel_cell *cells = &file->ring->cells[first];
	u64 now = tw_word_now(file->ring, now_ns);
	struct tw_look_run run = TW_LOOK_RUN;
	u64 todo, left = 0;

	BUILD_BUG_ON(TW_CHUNK_ENTRIES % BITS_PER_LONG_LONG);
	for (todo = bits; todo; todo &= todo - 1) {
		unsigned int bit = __ffs64(todo);
		struct tw_entry *entry = &entries[bit];
		u64 word = READ_ONCE(cells[bit].word);
		u64 ticks = twheel_cell_ticks(word, now);

		if (!tw_word_pending(word) || ticks > due ||
		    twheel_pending(&entry->timer) ||
		    (tw_look_armed(entry) && entry->period_ns)) {
			left |= BIT_ULL(bit);
			continue;
		}
		if (unlikely(!submit_fire_found(file, &run, entry, first + bit, word, ticks,
						now_ns)))
			left |= BIT_ULL(bit);
	}
	tw_look_run_count(file, &run);
	tw_ring_publish(file->ring);
	return left;
}

/*
 * tw_submit_visit() - a sweep has found that a cell was submitted
 *
 * Return: its deadline, in ticks, if it is pending and not due; else %TW_SWEEP_NEVER.
 */
u64 tw_submit_visit(struct tw_file *file, u32 cell, u64 now_ns)
{
	struct tw_entry *entry = tw_entries_at(&file->entries, cell);
	u64 word = READ_ONCE(tw_look_cell(file, entry)->word);
	u64 now = tw_word_now(file->ring, now_ns);
	u64 ticks = tw_word_pending(word) ? tw_look_ticks(entry, word, now) :
					    TWHEEL_CELL_NEVER;

	/* Unless the look is in time. */
	if (!twheel_pending(&entry->timer) || entry->look > ticks)
		submit_follow(file, entry, now_ns, false);
	return ticks > now ? ticks : TW_SWEEP_NEVER;
}

/* The program has named a timer that is not known: there may be one. */
static void submit_adopt_cell(struct tw_file *file, u32 cell)
{
	struct tw_entry *entry;
	u64 word;

	if (cell >= file->ring->nr_cells)
		return;
	cell = array_index_nospec(cell, file->ring->nr_cells);
	entry = tw_entries_at(&file->entries, cell);
	word = READ_ONCE(tw_look_cell(file, entry)->word);
	if (tw_word_pending(word) &&
	    !(tw_look_armed(entry) && tw_look_known(entry, word)))
		submit_check(file, entry);
}

/*
 * Has an entry a timer? Generations come again. So the program may have armed one of the
 * generation that the entry's last timer had.
 */
static bool submit_has_timer(struct tw_file *file, struct tw_entry *entry)
{
	if (!tw_look_armed(entry) &&
	    tw_look_known(entry, READ_ONCE(tw_look_cell(file, entry)->word)))
		submit_check(file, entry);
	return tw_look_armed(entry);
}

/* Write the word of a cell that is not pending, as the program could. */
static int submit_write_word(struct twheel_cell *cell, u64 ticks, u64 *written)
{
	u64 word = READ_ONCE(cell->word);
	unsigned int i;

	for (i = 0; i < TW_WORD_TRIES && !tw_word_pending(word); i++) {
		*written = twheel_cell_word(twheel_cell_next_generation(word),
					    TWHEEL_CELL_PENDING, ticks);
		if (try_cmpxchg(&cell->word, &word, *written))
			return 0;
	}
	return -EBUSY;
}

static int submit_arm(struct tw_run *run, struct twheel_op *op)
{
	struct tw_file *file = run->file;
	struct tw_entry *entry;
	u64 ticks, period, word;
	int ret;

	if (op->id >= file->ring->nr_cells || op->slack_ns)
		return -EINVAL;
	op->id = array_index_nospec(op->id, file->ring->nr_cells);
	entry = tw_entries_at(&file->entries, op->id);
	if (tw_word_pending(READ_ONCE(tw_look_cell(file, entry)->word)))
		return -EBUSY;
	ret = tw_cell_read_times(run, op, &ticks, &period);
	if (ret)
		return ret;
	ret = submit_write_word(tw_look_cell(file, entry), ticks, &word);
	if (ret)
		return ret;
	tw_ring_revoke(file->ring, op->id, twheel_cell_generation(word));
	submit_adopt(file, entry, word);
	entry->cookie = op->cookie;
	entry->period_ns = period;
	op->id |= (u64)twheel_cell_generation(word) << 32;
	op->deadline_ns = tw_cell_shown(run, ticks);
	submit_check(file, entry);
	return 0;
}

static int submit_cancel(struct tw_run *run, struct tw_entry *entry)
{
	struct twheel_cell *cell = tw_look_cell(run->file, entry);
	struct tw_file *file = run->file;
	bool timer = submit_has_timer(file, entry);
	/* Before the word: a program that sees the new one may arm the cell again. */
	bool fired = timer && tw_look_withdraw(file, entry);
	u64 word = READ_ONCE(cell->word);
	int ret = -ENOENT;
	unsigned int i;

	for (i = 0; i < TW_WORD_TRIES && tw_look_known(entry, word); i++) {
		if (!try_cmpxchg(&cell->word, &word,
				 tw_word_change(word, TWHEEL_CELL_CANCELLED, 0)))
			continue;
		ret = 0;
		break;
	}
	if (timer) {
		submit_check(file, entry);
		return fired ? 1 : ret;
	}
	tw_entry_set_state(entry, TW_ENTRY_FREE);
	if (!tw_ring_revoke(file->ring, tw_entry_index(entry), upper_32_bits(entry->tag)))
		return -ENOENT;
	file->cancelled++;
	return 1;
}

static int submit_modify(struct tw_run *run, struct tw_entry *entry, struct twheel_op *op)
{
	struct twheel_cell *cell = tw_look_cell(run->file, entry);
	bool again = op->flags & TWHEEL_OR_MODIFY;
	u64 word = READ_ONCE(cell->word);
	u64 ticks, period, before;
	unsigned int i;
	bool fired;
	int ret;

	if (op->slack_ns)
		return -EINVAL;
	/* A new timer takes the place of one that has fired. */
	if (!submit_has_timer(run->file, entry))
		return !again && tw_look_has_event(run->file, entry) ? -EALREADY :
								      -ENOENT;
	ret = tw_cell_read_times(run, op, &ticks, &period);
	if (ret)
		return ret;
	for (i = 0;; i++) {
		if (i == TW_WORD_TRIES || !tw_look_known(entry, word)) {
			submit_check(run->file, entry);
			return -ENOENT;
		}
		if (op->flags & TWHEEL_LATER && tw_look_fired(run->file, entry))
			return -EALREADY;
		before = tw_cell_ticks(run, entry, word);
		if (op->flags & TWHEEL_LATER && ticks <= before) {
			op->deadline_ns = tw_cell_shown(run, before);
			return 1;
		}
		if (try_cmpxchg(&cell->word, &word,
				tw_word_change(word, TWHEEL_CELL_PENDING, ticks)))
			break;
	}
	fired = tw_look_withdraw(run->file, entry);
	tw_run_change(entry, op);
	if (op->flags & (TWHEEL_SET_PERIOD | TWHEEL_OR_MODIFY))
		entry->period_ns = period;
	op->deadline_ns = tw_cell_shown(run, ticks);
	if (tw_look_is_due(entry, ticks, tw_word_now(run->file->ring, tw_run_now(run))))
		submit_check(run->file, entry);
	return fired ? 2 : again;
}

static int submit_query(struct tw_run *run, struct tw_entry *entry, u64 *deadline)
{
	u64 word = READ_ONCE(tw_look_cell(run->file, entry)->word);
	bool armed = submit_has_timer(run->file, entry);

	return tw_cell_query(run, entry, word, armed, deadline);
}

static int submit_kick(struct tw_run *run, struct tw_entry *entry)
{
	struct tw_file *file = run->file;
	u64 now_ns = twheel_now(file->wheel);
	u64 now = tw_word_now(file->ring, now_ns);
	u64 word, ticks;

	if (!submit_has_timer(file, entry))
		return -ENOENT;
	submit_follow(file, entry, now_ns, false);
	word = READ_ONCE(tw_look_cell(file, entry)->word);
	ticks = tw_look_ticks(entry, word, now);
	/* Of those that it arms for the past, each needs a kick of its own anyway. */
	if (tw_look_known(entry, word) && ticks > now)
		tw_sweep_kick(file, ticks);
	return 0;
}

static void submit_expire(struct tw_file *file, struct twheel_timer *timers[],
			  unsigned int count, u64 now)
{
	tw_look_expire(file, timers, count, now, submit_follow);
}

const struct tw_store_ops tw_submit_ops = {
	.mapped		= true,
	.arm		= submit_arm,
	.cancel		= submit_cancel,
	.modify		= submit_modify,
	.query		= submit_query,
	.kick		= submit_kick,
	.adopt		= submit_adopt_cell,
	.expire		= submit_expire,
	.waiting	= tw_cell_waiting,
	.unread		= tw_cell_unread,
};
