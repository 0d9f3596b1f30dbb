// SPDX-License-Identifier: GPL-2.0-only
/*
 * Sweeps: how the kernel finds the cells that programs have armed.
 *
 * twheel_cells(7) says how a program submits a cell: bitmap, summary, wake, and perhaps a kick.
 *
 * A sweep takes words of the summary, then words of the bitmap, and then reads the cells. It
 * comes before the wheel is advanced. All that was submitted is due at the promised tick or
 * later, which the position has not reached. So the wheel hands all out in their order.
 *
 * When the summary is empty, the sweep takes back the promise: wake is never. Then it tests
 * the summary again, with a full barrier in between. A program sets the summary and then
 * reads wake. So either the sweep finds the bit, or the program finds that nothing is
 * promised.
 *
 * The bits that a sweep has taken from the summary are its own until it has visited those
 * words, over several slices if need be. Until it ends, the old promise holds: whatever is
 * submitted is found by this sweep. A program that submits cells without end only keeps its
 * own tasks busy: between two laps over the summary, what is due is served.
 */
#include <linux/atomic.h>
#include <linux/bitops.h>
#include <linux/bits.h>
#include <linux/lockdep.h>
#include <linux/math64.h>
#include <linux/minmax.h>
#include <linux/time64.h>

#include "cells.h"

/*
 * The shortest time from one sweep to the next, if nobody kicks. Cells that were found are
 * in the wheel. So a sweep finds those that were armed since the last. The later it is, the
 * more of them have been cancelled or armed anew.
 */
#define SWEEP_PAUSE	(20 * NSEC_PER_MSEC)

/* tw_cells_promise() - the next sweep is due at this tick; the alarm is set, or will be */
void tw_cells_promise(struct tw_file *file, u64 ticks)
{
	struct tw_cells *cells = file->cells;

	lockdep_assert_held(&file->lock);
	cells->sweep.at = ticks;
	/* Pairs with the program's load: it relies on the alarm. */
	smp_store_release(cells->map.wake, ticks);
}

/* Take the next word of the summary that is not empty. Returns false if all are. */
static bool sweep_take(struct tw_cells *cells)
{
	while (!cells->sweep.taken && cells->sweep.index < cells->map.nr_summary) {
		u64 *word = &cells->map.summary[cells->sweep.index++];

		if (READ_ONCE(*word))
			/* A full barrier: before the words of the bitmap are taken. */
			cells->sweep.taken = xchg(word, 0);
	}
	return cells->sweep.taken;
}

/* Visit the cells of one word of the bitmap. @now: in ticks. Returns how many there were. */
static unsigned int sweep_visit(struct tw_file *file, u32 leaf, u64 now)
{
	struct tw_cells *cells = file->cells;
	u32 first = leaf * BITS_PER_LONG_LONG;
	/* A full barrier: before the cells are read. */
	u64 bits = xchg(&cells->map.bitmap[leaf], 0);
	unsigned int visits;

	if (first + BITS_PER_LONG_LONG > cells->count)
		bits &= GENMASK_ULL(cells->count - first - 1, 0);
	visits = hweight64(bits);
	for (; bits; bits &= bits - 1) {
		u64 ticks = tw_cells_visit(file, first + __ffs64(bits), now);

		if (ticks < cells->sweep.first && ticks > now)
			cells->sweep.first = ticks;
	}
	return visits;
}

static bool sweep_summary_empty(const struct tw_map *map)
{
	u32 i;

	for (i = 0; i < map->nr_summary; i++)
		if (READ_ONCE(map->summary[i]))
			return false;
	return true;
}

/*
 * Nothing is left. If programs have submitted more meanwhile, the sweep goes on in the next
 * slice. What is due comes first, even if the bitmap changes all the time.
 */
static void sweep_end(struct tw_file *file, u64 now)
{
	u64 pause = max_t(u64, div64_u64(SWEEP_PAUSE, file->wheel.tick_ns), 1);
	struct tw_cells *cells = file->cells;
	u64 next = cells->sweep.first;

	cells->sweep.index = 0;
	WRITE_ONCE(*cells->map.wake, TWHEEL_CELL_NEVER);
	/* Pairs with the program's, between setting the summary and reading wake. */
	smp_mb();
	if (!sweep_summary_empty(&cells->map)) {
		WRITE_ONCE(*cells->map.wake, cells->sweep.at);
		return;
	}
	cells->sweep.first = TWHEEL_CELL_NEVER;
	cells->sweep.goes_on = false;
	/* A program that arms nothing needs no sweep. */
	if (next != TWHEEL_CELL_NEVER)
		next = max(next, now + pause);
	tw_cells_promise(file, next);
}

/*
 * tw_cells_sweep() - sweep, if that is due
 * @slice: how many cells may be visited; what is left of it
 *
 * Return: false if the slice is used up before the end.
 */
bool tw_cells_sweep(struct tw_file *file, u64 now, unsigned int *slice)
{
	struct tw_cells *cells = file->cells;
	u64 present = tw_cells_ticks(file, now);
	unsigned int visits;
	u32 leaf;

	lockdep_assert_held(&file->lock);
	if (!cells->sweep.goes_on && cells->sweep.at > present)
		return true;
	cells->sweep.goes_on = true;
	/* Then each cell comes to the bucket of its tick, and is not cascaded. */
	tw_wheel_move_forward(&file->wheel, cells->origin + cells->sweep.at - 1);
	while (*slice) {
		if (!sweep_take(cells)) {
			--*slice;
			sweep_end(file, present);
			return true;
		}
		leaf = (cells->sweep.index - 1) * BITS_PER_LONG_LONG + __ffs64(cells->sweep.taken);
		cells->sweep.taken &= cells->sweep.taken - 1;
		visits = 1;
		if (leaf < DIV_ROUND_UP(cells->count, BITS_PER_LONG_LONG))
			visits += sweep_visit(file, leaf, present);
		*slice -= min(*slice, visits);
	}
	return false;
}
