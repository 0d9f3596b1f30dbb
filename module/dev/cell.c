// SPDX-License-Identifier: GPL-2.0-only
/*
 * Timers whose deadline is a word in the shared mapping.
 *
 * The program changes the word as it likes, without telling. The kernel looks at it
 * when the timer's callback runs, and when it is asked to; what it finds then counts.
 * The look, published in the cell, is the deadline that the timer is armed for. So
 * an extension or a cancellation is found out when the old deadline comes, and only
 * a nearer deadline needs a kick.
 *
 * Why none is lost: the program writes the word, and then reads the look; the kernel
 * writes the look, and then reads the word again, with full barriers in between.
 * One of them sees the other: the kernel the nearer deadline, or the program that it
 * has to kick.
 *
 * A timer ends by a compare-and-swap of the word by whoever ends it, so it is either
 * fired or cancelled; the generation in the word keeps late writers from the cell's
 * next timer. All of the kernel's side is done under the file's lock. A callback that
 * has waited for that lock may find that its cell has got another timer: one that is
 * pending, or none.
 *
 * Hostile writers: a word that is neither pending nor of this timer is taken for a
 * cancellation; one that changes faster than we can is looked at in the next tick.
 */
#include <linux/atomic.h>
#include <linux/errno.h>
#include <linux/math64.h>
#include <linux/overflow.h>

#include "cell.h"
#include "file.h"
#include "ring.h"

/* How often another try is made at a word that changes under our hands. */
#define TRIES	8

static u32 generation_of(const struct tw_entry *slot)
{
	return upper_32_bits(slot->tag);
}

static struct twheel_cell *cell_of(const struct tw_file *file,
				   const struct tw_entry *slot)
{
	return &file->ring->cells[tw_entry_index(slot)];
}

static u64 word_of(const struct tw_entry *slot, u32 state, u64 ticks)
{
	return twheel_cell_word(generation_of(slot), state, ticks);
}

static u64 ticks_of(u64 word)
{
	return word & TWHEEL_CELL_NEVER;
}

/* Is it a word of the slot's timer, in that state? */
static bool is(const struct tw_entry *slot, u64 word, u32 state)
{
	return !((word ^ word_of(slot, state, 0)) & ~TWHEEL_CELL_NEVER);
}

/* Ticks since the origin, rounded down. */
static u64 passed(const struct tw_ring *ring, u64 now_ns)
{
	return div64_u64(now_ns, ring->tick_ns) - ring->origin;
}

/* The same of a deadline, rounded up. */
static u64 to_ticks(const struct tw_ring *ring, u64 ns)
{
	u64 tick = div64_u64(ns + ring->tick_ns - 1, ring->tick_ns);

	if (ns == TWHEEL_DELAY_NEVER)
		return TWHEEL_CELL_NEVER;
	if (tick < ring->origin)
		return 0;
	return min_t(u64, tick - ring->origin, TWHEEL_CELL_NEVER);
}

static u64 to_ns(const struct tw_ring *ring, u64 ticks)
{
	u64 ns;

	if (ticks == TWHEEL_CELL_NEVER ||
	    check_mul_overflow(ring->origin + ticks, ring->tick_ns, &ns))
		return TWHEEL_DELAY_NEVER;
	return min_t(u64, ns, TWHEEL_DELAY_NEVER);
}

/* Publish when the kernel will look next, and see to it. */
static void file_at(struct tw_file *file, struct tw_entry *slot, u64 ticks)
{
	slot->deadline_ns = to_ns(file->ring, ticks);
	WRITE_ONCE(cell_of(file, slot)->look, ticks);
	twheel_arm_at(&slot->timer, slot->deadline_ns);
}

/* The timer has ended; the cell has been told. */
static void end(struct tw_file *file, struct tw_entry *slot,
		enum tw_entry_state state)
{
	WRITE_ONCE(cell_of(file, slot)->look, ~0ULL);
	twheel_cancel(&slot->timer);
	tw_entry_set_state(slot, state);
	file->timers--;
	if (state == TW_ENTRY_FREE)
		file->cancelled++;
}

/*
 * It is due: have the word say so, and post the event. A periodic timer remains to be
 * filed. Returns false if the word has changed meanwhile.
 */
static bool fire(struct tw_file *file, struct tw_entry *slot, u64 word,
		 u64 now_ns)
{
	struct twheel_cell *cell = cell_of(file, slot);
	u64 now = passed(file->ring, now_ns);
	u64 ticks = ticks_of(word);
	u64 count = 1;
	u64 period, next;

	if (slot->period_ns) {
		period = div64_u64(slot->period_ns, file->ring->tick_ns);
		count += div64_u64(now - ticks, period);
		next = min(ticks + count * period, TWHEEL_CELL_NEVER);
		/* Before the word: who sees the new one may need the look. */
		WRITE_ONCE(cell->look, next);
		next = word_of(slot, TWHEEL_CELL_PENDING, next);
	} else {
		next = word_of(slot, TWHEEL_CELL_FIRED, ticks);
	}
	if (!try_cmpxchg(&cell->word, &word, next))
		return false;
	if (!slot->period_ns)
		end(file, slot, TW_ENTRY_FIRED);
	tw_file_count_fired(file, now_ns - to_ns(file->ring, ticks));
	tw_ring_push(file->ring, tw_entry_index(slot), generation_of(slot),
		     count);
	return true;
}

/*
 * One try at it. Returns false if the word has changed meanwhile.
 * @fired: has an event come up? NULL: none may
 */
static bool look_once(struct tw_file *file, struct tw_entry *slot, u64 now_ns,
		      bool *fired)
{
	struct twheel_cell *cell = cell_of(file, slot);
	u64 word = READ_ONCE(cell->word);
	u64 again;

	if (!is(slot, word, TWHEEL_CELL_PENDING)) {
		/* Cancelled, or nonsense. */
		if (!try_cmpxchg(&cell->word, &word,
				 word_of(slot, TWHEEL_CELL_FREE, 0)))
			return false;
		end(file, slot, TW_ENTRY_FREE);
		return true;
	}
	/* Elsewhere than in the callback: it will come, and wake who waits. */
	if (fired && to_ns(file->ring, ticks_of(word)) <= now_ns) {
		if (!fire(file, slot, word, now_ns))
			return false;
		*fired = true;
		if (!slot->period_ns)
			return true;
		word = READ_ONCE(cell->word);
		if (!is(slot, word, TWHEEL_CELL_PENDING))
			return false;
	}
	file_at(file, slot, ticks_of(word));
	/* Pairs with the program's between writing the word and reading the look. */
	smp_mb();
	again = READ_ONCE(cell->word);
	return is(slot, again, TWHEEL_CELL_PENDING) &&
	       ticks_of(again) >= ticks_of(word);
}

/* Look at the word, and do what it says. */
static void look(struct tw_file *file, struct tw_entry *slot, bool *fired)
{
	u64 now_ns = twheel_now(file->wheel);
	unsigned int i;

	lockdep_assert_held(&file->lock);
	for (i = 0; i < TRIES; i++)
		if (look_once(file, slot, now_ns, fired))
			return;
	file_at(file, slot, passed(file->ring, now_ns) + 1);
}

/* tw_cell_arm() - let a cell have a timer. Return: 0, -EINVAL, -EBUSY. */
int tw_cell_arm(struct tw_file *file, const struct twheel_op *op, u64 deadline)
{
	struct tw_ring *ring = file->ring;
	struct tw_entry *slot;
	u64 period, ticks;
	u32 generation;

	if (op->id >= ring->nr_cells || op->slack_ns)
		return -EINVAL;
	slot = tw_table_at(&file->slots, op->id);
	/* It may have been cancelled, or be due. */
	if (tw_entry_state(slot) == TW_ENTRY_ARMED)
		look(file, slot, NULL);
	if (tw_entry_state(slot) == TW_ENTRY_ARMED)
		return -EBUSY;

	generation = (generation_of(slot) + 1) % TWHEEL_CELL_GENERATIONS ?: 1;
	tw_ring_revoke(ring, op->id, generation);
	slot->tag = (u64)generation << 32 | TW_TAG(TW_ENTRY_ARMED) | op->id;
	slot->cookie = op->cookie;
	period = div64_u64(op->period_ns + ring->tick_ns - 1, ring->tick_ns);
	slot->period_ns = period * ring->tick_ns;
	slot->slack_ns = 0;
	ticks = to_ticks(ring, deadline);
	file_at(file, slot, ticks);
	/* The look is there before the word is; pairs with who reads the word. */
	smp_store_release(&cell_of(file, slot)->word,
			  word_of(slot, TWHEEL_CELL_PENDING, ticks));
	file->timers++;
	file->armed++;
	return 0;
}

/*
 * tw_cell_cancel() - end a timer
 *
 * Return: 0 if it was pending, 1 if its event was withdrawn, -ENOENT if that was read
 * or the program had cancelled it.
 */
int tw_cell_cancel(struct tw_file *file, struct tw_entry *slot)
{
	u64 nothing = word_of(slot, TWHEEL_CELL_FREE, 0);
	u64 word;

	if (tw_entry_state(slot) == TW_ENTRY_ARMED) {
		word = xchg(&cell_of(file, slot)->word, nothing);
		end(file, slot, TW_ENTRY_FREE);
		return is(slot, word, TWHEEL_CELL_PENDING) ? 0 : -ENOENT;
	}
	tw_entry_set_state(slot, TW_ENTRY_FREE);
	/*
	 * The event, then the word. Pairs with the reader's exchange of the event before it
	 * reads the word: if it has the event, the deadline is to be there.
	 */
	if (!tw_ring_revoke(file->ring, tw_entry_index(slot),
			    generation_of(slot)))
		return -ENOENT;
	xchg(&cell_of(file, slot)->word, nothing);
	file->cancelled++;
	return 1;
}

/*
 * tw_cell_modify() - give a timer another deadline
 * @later: only if it is later
 *
 * Return: 0, 1 if it was not, -EALREADY if the timer has fired, -ENOENT if the
 * program has cancelled it.
 */
int tw_cell_modify(struct tw_file *file, struct tw_entry *slot, u64 deadline,
		   bool later)
{
	struct twheel_cell *cell = cell_of(file, slot);
	u64 ticks = to_ticks(file->ring, deadline);
	u64 word = READ_ONCE(cell->word);
	unsigned int i;

	if (tw_entry_state(slot) != TW_ENTRY_ARMED)
		return -EALREADY;
	for (i = 0; i < TRIES; i++) {
		if (!is(slot, word, TWHEEL_CELL_PENDING)) {
			look(file, slot, NULL);
			return -ENOENT;
		}
		if (later && ticks <= ticks_of(word))
			return 1;
		if (try_cmpxchg(&cell->word, &word,
				word_of(slot, TWHEEL_CELL_PENDING, ticks)))
			break;
	}
	/* A later one will be found out when the old one comes. */
	if (to_ns(file->ring, ticks) < slot->deadline_ns)
		look(file, slot, NULL);
	return 0;
}

/* tw_cell_query() - the deadline. Return: an enum twheel_op_state, -ENOENT. */
int tw_cell_query(struct tw_file *file, struct tw_entry *slot, u64 *deadline)
{
	u64 word = READ_ONCE(cell_of(file, slot)->word);

	*deadline = to_ns(file->ring, ticks_of(word));
	if (tw_entry_state(slot) != TW_ENTRY_ARMED)
		return TWHEEL_STATE_FIRED;
	return is(slot, word, TWHEEL_CELL_PENDING) ? TWHEEL_STATE_PENDING :
						     -ENOENT;
}

/* tw_cell_kick() - the program has written something nearer. Return: 0, -ENOENT. */
int tw_cell_kick(struct tw_file *file, struct tw_entry *slot)
{
	if (tw_entry_state(slot) != TW_ENTRY_ARMED)
		return -ENOENT;
	look(file, slot, NULL);
	return 0;
}

/* tw_cell_expire() - the callback. Returns true if an event came up. */
bool tw_cell_expire(struct tw_file *file, struct tw_entry *slot)
{
	bool fired = false;

	/* While it waited for the lock, the cell may have got another timer. */
	if (tw_entry_state(slot) != TW_ENTRY_ARMED ||
	    twheel_pending(&slot->timer))
		return false;
	look(file, slot, &fired);
	if (!fired && tw_entry_state(slot) == TW_ENTRY_ARMED)
		file->extended++;
	return fired;
}
