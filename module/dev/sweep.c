// SPDX-License-Identifier: GPL-2.0-only
/*
 * Sweeps: how the kernel finds the cells that a program has armed in the mapping.
 *
 * A program submits a cell that it has armed, if the look of that cell comes too late. It
 * sets the cell's bit in the bitmap, and then the bit of that word of the bitmap in the
 * summary. Then it reads when the kernel will sweep: wake. Only if its deadline is before
 * that, it kicks.
 *
 * A sweep fires what it finds due by the tick that it was promised for: nothing that is due
 * before that can still wait. A cell that has become due since gets a timer that is due at
 * once, behind those that expire in the same pass.
 *
 * A sweep takes words of the summary, then words of the bitmap, and then reads the cells.
 * When the summary is empty, it takes back the promise: wake is never. Then it tests the
 * summary again, with a full barrier in between. A program sets the summary and then reads
 * wake. So either the sweep finds the bit, or the program finds that nothing is promised
 * yet. The timer of the next sweep is armed before wake says so.
 *
 * The bits that a sweep has taken from the summary are its own until it has visited those
 * words, over several callbacks if need be. Until it ends, the old promise holds: whatever
 * is submitted is found by this sweep.
 *
 * A program can submit a million cells in 10 us, and do so again and again. So the lock is
 * let go after each word of the bitmap, and a callback that has visited enough goes on in
 * another pass. The time is the file's own and counts against its budget. Bits beyond the
 * cells are ignored. What the kernel has written to the mapping it never reads back.
 */
#include <linux/atomic.h>
#include <linux/bitops.h>
#include <linux/bits.h>
#include <linux/lockdep.h>
#include <linux/math64.h>
#include <linux/minmax.h>
#include <linux/spinlock.h>

#include "event.h"
#include "file.h"
#include "ring.h"
#include "submit.h"
#include "sweep.h"
#include "word.h"

/* How many words of the bitmap and cells a callback visits, some 30 us of work. */
#define SWEEP_VISITS	256

/*
 * The shortest time from one sweep to the next, if nobody kicks. Cells that were found have
 * timers of their own. So a sweep is for those that come after it, and finds the more of
 * them cancelled or armed anew, the later it is.
 */
#define SWEEP_PAUSE	(20 * NSEC_PER_MSEC)

/* The next sweep is due at this tick: first its timer, then the promise. */
static void sweep_promise(struct tw_file *file, u64 ticks)
{
	struct tw_ring *ring = file->ring;

	lockdep_assert_held(&file->lock);
	ring->sweep.at = ticks;
	if (ticks == TW_SWEEP_NEVER)
		return;
	twheel_arm_at(&ring->sweep.timer, tw_word_to_ns(ring, ticks));
	/* Pairs with the program's load: it relies on the timer. */
	smp_store_release(&ring->map->wake, ticks);
}

/* Take the next word of the summary that is not empty. Returns false if all are. */
static bool sweep_take(struct tw_ring *ring)
{
	struct tw_sweep *sweep = &ring->sweep;

	while (!sweep->taken && sweep->index < ring->nr_summary) {
		u64 *word = &ring->summary[sweep->index];

		sweep->base = sweep->index++ * BITS_PER_LONG_LONG;
		if (READ_ONCE(*word))
			/* A full barrier: before the words of the bitmap are taken. */
			sweep->taken = xchg(word, 0);
	}
	return sweep->taken;
}

/*
 * Visit the cells of one word of the bitmap. Returns how many there were. The last one comes
 * first: of timers that are armed when they are due, the one that is armed last expires
 * first.
 * @posted: set if events were posted
 */
static unsigned int sweep_visit(struct tw_file *file, u32 leaf, u64 now_ns, bool *posted)
{
	struct tw_ring *ring = file->ring;
	u32 first = leaf * BITS_PER_LONG_LONG;
	/* A full barrier: before the cells are read. */
	u64 bits = xchg(&ring->leaves[leaf], 0);
	unsigned int visits, bit;
	u64 left, ticks;

	if (first + BITS_PER_LONG_LONG > ring->nr_cells)
		bits &= GENMASK_ULL(ring->nr_cells - first - 1, 0);
	visits = hweight64(bits);
	left = tw_submit_fire(file, first, bits, now_ns,
			      min(ring->sweep.at, tw_word_now(ring, now_ns)));
	*posted |= left != bits;
	for (; left; left &= ~BIT_ULL(bit)) {
		bit = fls64(left) - 1;
		ticks = tw_submit_visit(file, first + bit, now_ns);
		ring->sweep.first = min(ring->sweep.first, ticks);
	}
	return visits;
}

static bool sweep_summary_empty(const struct tw_ring *ring)
{
	u32 i;

	for (i = 0; i < ring->nr_summary; i++)
		if (READ_ONCE(ring->summary[i]))
			return false;
	return true;
}

/* Nothing is left. Returns false if the program has submitted more meanwhile. */
static bool sweep_end(struct tw_file *file, u64 now_ns)
{
	struct tw_ring *ring = file->ring;
	struct tw_sweep *sweep = &ring->sweep;
	u64 pause = max_t(u64, div64_u64(SWEEP_PAUSE, ring->tick_ns), 1);
	u64 next = sweep->first;

	sweep->index = 0;
	WRITE_ONCE(ring->map->wake, TW_SWEEP_NEVER);
	/* Pairs with the program's, between setting the summary and reading wake. */
	smp_mb();
	if (!sweep_summary_empty(ring)) {
		WRITE_ONCE(ring->map->wake, sweep->at);
		return false;
	}
	sweep->first = TW_SWEEP_NEVER;
	/* What never comes needs no sweep. Nor does a program that arms nothing. */
	if (next < TWHEEL_CELL_NEVER)
		sweep_promise(file, max(next, tw_word_now(ring, now_ns) + pause));
	else
		sweep_promise(file, TW_SWEEP_NEVER);
	return true;
}

/* One hold of the lock. Returns how many visits it took; 0: the sweep has ended. */
static unsigned int sweep_slice(struct tw_file *file, u64 now_ns, bool *posted)
{
	struct tw_ring *ring = file->ring;
	struct tw_sweep *sweep = &ring->sweep;
	u32 leaf;

	lockdep_assert_held(&file->lock);
	if (!sweep_take(ring))
		return !sweep_end(file, now_ns);
	leaf = sweep->base + __ffs64(sweep->taken);
	sweep->taken &= sweep->taken - 1;
	if (leaf >= ring->nr_leaves)
		return 1;
	return 1 + sweep_visit(file, leaf, now_ns, posted);
}

/* A sweep is due, or goes on: the function of its timer. */
static void sweep_expire(struct twheel_timer *timer)
{
	struct tw_sweep *sweep = container_of(timer, struct tw_sweep, timer);
	struct tw_file *file = sweep->file;
	u64 now = twheel_now(file->wheel);
	unsigned int done = 0, visits;
	bool posted = false;

	do {
		spin_lock(&file->lock);
		visits = sweep_slice(file, now, &posted);
		/* Another pass goes on, after what else is due. */
		done += visits;
		if (visits && done >= SWEEP_VISITS)
			twheel_arm_at(timer, tw_word_to_ns(file->ring,
							   tw_word_now(file->ring, now)));
		spin_unlock(&file->lock);
	} while (visits && done < SWEEP_VISITS);
	if (posted)
		tw_event_expired(file->wheel);
}

/* tw_sweep_init() - before the file has its shared memory */
void tw_sweep_init(struct tw_sweep *sweep, struct tw_file *file, struct twheel *wheel)
{
	twheel_timer_init(&sweep->timer, wheel, sweep_expire);
	sweep->file = file;
	sweep->at = TW_SWEEP_NEVER;
	sweep->first = TW_SWEEP_NEVER;
}

/*
 * tw_sweep_kick() - a program has armed for a tick before the promised sweep
 *
 * Its timer is armed already. A sweep then finds those that it arms for later than this,
 * and does not kick for.
 */
void tw_sweep_kick(struct tw_file *file, u64 ticks)
{
	if (ticks < file->ring->sweep.at)
		sweep_promise(file, ticks);
}
