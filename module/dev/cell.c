// SPDX-License-Identifier: GPL-2.0-only
/*
 * Cells: timers whose deadline is a word in memory shared with the program.
 *
 * The program changes the word as it likes, without telling the kernel. The kernel
 * reads the word when the timer's callback runs, and when the program asks it to. What
 * it finds then counts. The look, published in the cell, is the deadline that the
 * kernel's timer is armed for. So the kernel finds an extension or a cancellation when
 * the old deadline comes, and only a nearer deadline needs a kick.
 *
 * Why no timer is lost: the program writes the word and then reads the look; the
 * kernel writes the look and then reads the word again; with full barriers in between.
 * At least one of them sees the other: the kernel sees the nearer deadline, or the
 * program sees that it has to kick.
 *
 * The compare-and-swap of the word that ends a timer decides whether it was fired or
 * cancelled. The generation in the word keeps late writers from the cell's next timer.
 * The kernel's side is done under the file's lock. A callback that waited for that lock
 * may find that its cell has another timer, which is pending, or none.
 *
 * A periodic timer whose event has not been taken when it is due again does not fire, and
 * costs nothing: its look is never. Who takes the event reads the look afterwards, as one
 * who brings a timer nearer, and kicks. The next event stands for what was missed. A call
 * that gives such a timer another deadline withdraws the event. Then it looks at the timer,
 * as nobody might kick.
 *
 * Hostile writers: a word that is neither pending nor of this timer counts as a
 * cancellation. A word that changes faster than the kernel can follow is read again in
 * the next tick.
 */
#include <linux/atomic.h>
#include <linux/errno.h>
#include <linux/lockdep.h>
#include <linux/nospec.h>

#include "cell.h"
#include "look.h"
#include "ring.h"
#include "run.h"
#include "word.h"

static u64 cell_word(const struct tw_entry *entry, u32 state, u64 ticks)
{
	return twheel_cell_word(upper_32_bits(entry->tag), state, ticks);
}

/* The timer has ended otherwise than by firing, and the word says so. */
static void cell_end(struct tw_file *file, struct tw_entry *entry)
{
	WRITE_ONCE(tw_look_cell(file, entry)->look, ~0ULL);
	tw_look_end(file, entry, TW_ENTRY_FREE);
	file->cancelled++;
}

/*
 * One try at a cell. Returns false if the word has changed meanwhile.
 * @due: set if it was due: an event was posted, or the last one has not been taken.
 *	NULL: post none
 */
static bool cell_follow_once(struct tw_file *file, struct tw_entry *entry, u64 now_ns,
			     bool *due)
{
	struct twheel_cell *cell = tw_look_cell(file, entry);
	u64 word = READ_ONCE(cell->word);
	u64 now = tw_word_now(file->ring, now_ns);
	u64 ticks, again;

	if (!tw_look_known(entry, word)) {
		/* Cancelled, or nonsense. */
		if (!try_cmpxchg(&cell->word, &word,
				 cell_word(entry, TWHEEL_CELL_FREE, 0)))
			return false;
		cell_end(file, entry);
		return true;
	}
	ticks = tw_look_ticks(entry, word, now);
	/* Only the callback posts an event, because only it wakes the waiters. */
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
	/* Pairs with the program's, between writing the word and reading the look. */
	smp_mb();
	again = READ_ONCE(cell->word);
	return tw_look_known(entry, again) &&
	       (again == word || twheel_cell_ticks(again, now) >= ticks);
}

/* Read the word of an armed entry at @now_ns, and do what it says. Was it due? */
static bool cell_follow(struct tw_file *file, struct tw_entry *entry, u64 now_ns,
			bool post)
{
	bool due = false;
	unsigned int i;

	lockdep_assert_held(&file->lock);
	for (i = 0; i < TW_WORD_TRIES; i++)
		if (cell_follow_once(file, entry, now_ns, post ? &due : NULL))
			return due;
	tw_look_set(file, entry, tw_word_now(file->ring, now_ns) + 1);
	return due;
}

/* The same for a caller that is not the callback. */
static void cell_check(struct tw_file *file, struct tw_entry *entry)
{
	cell_follow(file, entry, twheel_now(file->wheel), false);
}

/* Give a timer, which the operation describes, to a cell that has none. */
static void cell_begin(struct tw_file *file, struct tw_entry *entry,
		       const struct twheel_op *op, u64 ticks, u64 period)
{
	u32 generation = (upper_32_bits(entry->tag) + 1) %
			 TWHEEL_CELL_GENERATIONS ?: 1;

	tw_ring_revoke(file->ring, op->id, generation);
	entry->tag = (u64)generation << 32 | TW_ENTRY_TAG(TW_ENTRY_ARMED) |
		     op->id;
	entry->cookie = op->cookie;
	entry->period_ns = period;
	entry->slack_ns = 0;
	tw_look_set(file, entry, ticks);
	/* The look is there before the word is. Pairs with reading the word. */
	smp_store_release(&tw_look_cell(file, entry)->word,
			  cell_word(entry, TWHEEL_CELL_PENDING, ticks));
}

/*
 * tw_cell_read_times() - an operation's deadline and period, as cells keep them
 *
 * Return: 0, -ERANGE (a word cannot say that).
 */
int tw_cell_read_times(struct tw_run *run, const struct twheel_op *op, u64 *ticks,
		       u64 *period)
{
	const struct tw_ring *ring = run->file->ring;
	u64 now = tw_word_now(ring, tw_run_now(run));

	*ticks = tw_word_recent(tw_word_from_ns(ring, tw_run_deadline(run, op)), now);
	*period = tw_word_period(ring, op->period_ns);
	return !tw_word_reaches(*ticks, now) || *period == TW_WORD_OUT_OF_REACH ?
	       -ERANGE : 0;
}

static int cell_arm(struct tw_run *run, struct twheel_op *op)
{
	struct tw_file *file = run->file;
	struct tw_entry *entry;
	u64 ticks, period;
	int ret;

	if (op->id >= file->ring->nr_cells || op->slack_ns)
		return -EINVAL;
	op->id = array_index_nospec(op->id, file->ring->nr_cells);
	entry = tw_entries_at(&file->entries, op->id);
	/* Its timer may have been cancelled, or be due. */
	if (tw_look_armed(entry))
		cell_check(file, entry);
	if (tw_look_armed(entry))
		return -EBUSY;

	ret = tw_cell_read_times(run, op, &ticks, &period);
	if (ret)
		return ret;
	cell_begin(file, entry, op, ticks, period);
	file->timers++;
	file->armed++;
	op->id = tw_entry_id(entry);
	op->deadline_ns = tw_cell_shown(run, ticks);
	return 0;
}

/* tw_cell_ticks() - the deadline in a word, in ticks */
u64 tw_cell_ticks(struct tw_run *run, const struct tw_entry *entry, u64 word)
{
	return tw_look_ticks(entry, word, tw_word_now(run->file->ring, tw_run_now(run)));
}

/* tw_cell_shown() - a deadline in ticks, as the caller's clock shows it */
u64 tw_cell_shown(const struct tw_run *run, u64 ticks)
{
	return tw_timens_out(tw_word_to_ns(run->file->ring, ticks), run->offset);
}

static int cell_cancel(struct tw_run *run, struct tw_entry *entry)
{
	u64 nothing = cell_word(entry, TWHEEL_CELL_FREE, 0);
	struct tw_file *file = run->file;
	bool fired;
	u64 word;

	if (tw_look_armed(entry)) {
		fired = tw_look_withdraw(file, entry);
		word = xchg(&tw_look_cell(file, entry)->word, nothing);
		cell_end(file, entry);
		return fired ? 1 : tw_look_known(entry, word) ? 0 : -ENOENT;
	}
	tw_entry_set_state(entry, TW_ENTRY_FREE);
	/*
	 * The event first, then the word. Pairs with the reader, which exchanges the
	 * event and then reads the word: if it got the event, it finds the deadline.
	 */
	if (!tw_ring_revoke(file->ring, tw_entry_index(entry),
			    upper_32_bits(entry->tag)))
		return -ENOENT;
	xchg(&tw_look_cell(file, entry)->word, nothing);
	file->cancelled++;
	return 1;
}

/* A timer has another deadline: change what the kernel keeps of it. */
static int cell_modified(struct tw_run *run, struct tw_entry *entry,
			 struct twheel_op *op, u64 ticks, u64 period)
{
	u64 now = tw_word_now(run->file->ring, tw_run_now(run));
	bool fired = tw_look_withdraw(run->file, entry);

	tw_run_change(entry, op);
	if (op->flags & (TWHEEL_SET_PERIOD | TWHEEL_OR_MODIFY))
		entry->period_ns = period;
	op->deadline_ns = tw_cell_shown(run, ticks);
	if (tw_look_is_due(entry, ticks, now))
		cell_check(run->file, entry);
	return fired ? 2 : !!(op->flags & TWHEEL_OR_MODIFY);
}

static int cell_modify(struct tw_run *run, struct tw_entry *entry,
		       struct twheel_op *op)
{
	struct twheel_cell *cell = tw_look_cell(run->file, entry);
	bool again = op->flags & TWHEEL_OR_MODIFY;
	u64 word = READ_ONCE(cell->word);
	u64 ticks, period, before;
	unsigned int i;
	int ret;

	if (op->slack_ns)
		return -EINVAL;
	/* A new timer takes the place of one that has fired. */
	if (!tw_look_armed(entry))
		return !again && tw_look_has_event(run->file, entry) ? -EALREADY :
								    -ENOENT;
	ret = tw_cell_read_times(run, op, &ticks, &period);
	if (ret)
		return ret;
	for (i = 0; i < TW_WORD_TRIES; i++) {
		if (!tw_look_known(entry, word)) {
			cell_check(run->file, entry);
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
				cell_word(entry, TWHEEL_CELL_PENDING, ticks)))
			break;
	}
	return cell_modified(run, entry, op, ticks, period);
}

/*
 * tw_cell_query() - the state of a timer, and its deadline
 * @armed: its word may be pending
 *
 * Return: the state, -ENOENT.
 */
int tw_cell_query(struct tw_run *run, const struct tw_entry *entry, u64 word, bool armed,
		  u64 *deadline)
{
	u64 ticks = tw_cell_ticks(run, entry, word);
	u32 fired = tw_look_fired(run->file, entry);

	if (!(armed ? tw_look_known(entry, word) : tw_look_has_event(run->file, entry)))
		return -ENOENT;
	if (armed && fired)
		ticks = tw_look_reached(run->file, entry, ticks, fired);
	*deadline = tw_cell_shown(run, ticks);
	return armed && !fired ? TWHEEL_STATE_PENDING : TWHEEL_STATE_FIRED;
}

static int cell_query(struct tw_run *run, struct tw_entry *entry, u64 *deadline)
{
	u64 word = READ_ONCE(tw_look_cell(run->file, entry)->word);

	return tw_cell_query(run, entry, word, tw_look_armed(entry), deadline);
}

static int cell_kick(struct tw_run *run, struct tw_entry *entry)
{
	if (!tw_look_armed(entry))
		return -ENOENT;
	cell_check(run->file, entry);
	return 0;
}

static void cell_expire(struct tw_file *file, struct twheel_timer *timers[],
			unsigned int count, u64 now)
{
	tw_look_expire(file, timers, count, now, cell_follow);
}

/* tw_cell_unread() - &tw_store_ops.unread of all cells */
u32 tw_cell_unread(const struct tw_file *file)
{
	return tw_ring_unread(file->ring);
}

/* tw_cell_waiting() - &tw_store_ops.waiting of all cells */
u32 tw_cell_waiting(const struct tw_file *file)
{
	/*
	 * Pairs with the reader's, between taking an entry and looking for another.
	 * The reader sees the entry that was pushed just now, or this sees that the
	 * reader has taken the one before.
	 */
	smp_mb();
	return tw_ring_unread(file->ring);
}

const struct tw_store_ops tw_cell_ops = {
	.mapped		= true,
	.arm		= cell_arm,
	.cancel		= cell_cancel,
	.modify		= cell_modify,
	.query		= cell_query,
	.kick		= cell_kick,
	.expire		= cell_expire,
	.waiting	= tw_cell_waiting,
	.unread		= tw_cell_unread,
};
