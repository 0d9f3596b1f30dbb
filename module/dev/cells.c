// SPDX-License-Identifier: GPL-2.0-only
/*
 * Cells: timers whose deadline is in memory that programs share with the kernel.
 *
 * Programs change the word of a cell without telling the kernel. The kernel reads it, and
 * publishes in @check when it will read it next, at the latest:
 *
 *	program			kernel
 *	write word		write check
 *	full barrier		full barrier
 *	read check		read word again
 *
 * At least one sees the other. Either the kernel finds the nearer deadline, or the program
 * finds that the check comes too late, and submits the cell: see sweep.c. A later deadline,
 * or a cancellation, is found at the check.
 *
 * A check costs time, and a server extends its cells once a second or more often. So when a
 * bucket of an upper level is emptied, cells go straight to their present deadlines. Of
 * those that are extended all the time, none comes to a bucket of single ticks.
 *
 * The kernel changes a word only from PENDING to FIRED, by a compare-and-swap, when a reader
 * takes the event. So a cell fires once, or is cancelled, and never both.
 *
 * The kernel trusts nothing here. A word that is not pending means that there is no timer. A
 * word that changes faster than the kernel can follow is read again in the next tick.
 */
#include <linux/atomic.h>
#include <linux/lockdep.h>
#include <linux/math64.h>
#include <linux/minmax.h>
#include <linux/mm.h>
#include <linux/nospec.h>
#include <linux/overflow.h>
#include <linux/vmalloc.h>

#include "cells.h"
#include "due.h"

static_assert(sizeof(struct twheel_cell) == 16);

/* How often the kernel tries again when a word changes between two instructions. */
#define CELL_TRIES	8

/*
 * The tick that ticks in words count from. They wrap 4096 ticks after the setup, as jiffies do
 * soon after boot. So a reader that forgets the wrap is found at once. Ticks of more than 8 ms
 * do not wrap within a century, and count from 146 years ago: no deadline is before that.
 */
static u64 cells_origin(const struct tw_wheel *w, u64 now)
{
	u64 past = min_t(u64, TWHEEL_CELL_TICKS + 1 - 4096, div64_u64(BIT_ULL(62), w->tick_ns));

	return tw_wheel_floor(w, now) - past;
}

/* tw_cells_cost() - the memory that so many cells take */
size_t tw_cells_cost(u32 count)
{
	return PAGE_ALIGN(struct_size((struct tw_cells *)NULL, nodes, count)) + tw_map_cost(count);
}

/*
 * tw_cells_new() - make cells for a file whose wheel is @w
 *
 * Context: process, may sleep.
 * Return: the cells, NULL without memory.
 */
struct tw_cells *tw_cells_new(u32 count, const struct tw_wheel *w, u64 now)
{
	struct tw_cells *cells;

	/* kvcalloc() may take huge pages: up to 2 MB that nobody is charged for. */
	cells = __vmalloc(struct_size(cells, nodes, count),
			  GFP_KERNEL_ACCOUNT | __GFP_ZERO | __GFP_NOWARN);
	if (!cells)
		return NULL;
	if (tw_map_init(&cells->map, count, w->tick_ns)) {
		vfree(cells);
		return NULL;
	}
	cells->count = count;
	cells->bytes = count * sizeof(*cells->nodes);
	cells->origin = cells_origin(w, now);
	cells->sweep.at = TWHEEL_CELL_NEVER;
	cells->sweep.first = TWHEEL_CELL_NEVER;
	return cells;
}

/* tw_cells_free() - free cells, whose file has no mapping any more */
void tw_cells_free(struct tw_cells *cells)
{
	vfree(cells->map.start);
	vfree(cells);
}

static bool cell_is_known(const struct twheel_node *node)
{
	return !hlist_unhashed(&node->link);
}

/* The tick of the next check, of a cell that the wheel knows. */
static u64 cell_next_check(const struct tw_file *file, const struct twheel_node *node)
{
	return tw_cells_ticks(file, tw_word(atomic64_read(&node->word)));
}

/*
 * The deadline in a word, in ticks; never if the cell is not pending. A deadline that passed
 * years ago looks like one to come. If the kernel has seen it before, it knows better.
 *
 * Inline: a cell that was swept before it is due takes 17 instructions less of 347.
 */
static __always_inline u64 cell_deadline(const struct tw_file *file,
					 const struct twheel_node *node,
					 u64 word, u64 now)
{
	u64 ticks = twheel_cell_ticks(word, now), known;

	if (twheel_cell_state(word) != TWHEEL_CELL_PENDING)
		return TWHEEL_CELL_NEVER;
	if (ticks > now && ticks != TWHEEL_CELL_NEVER && cell_is_known(node)) {
		known = cell_next_check(file, node);
		if (known <= now && !((known ^ ticks) & TWHEEL_CELL_TICKS))
			return known;
	}
	return ticks;
}

/*
 * Read a cell, and publish when it will be read next: at its deadline, but not before @least.
 * Return: when, in ticks; never if it is not pending.
 */
static u64 cell_check(struct tw_file *file, struct twheel_node *node, u64 now, u64 least)
{
	struct tw_cells *cells = file->cells;
	struct twheel_cell *cell = &cells->map.cells[tw_cells_index(cells, node)];
	unsigned int i;

	for (i = 0; i < CELL_TRIES; i++) {
		u64 word = READ_ONCE(cell->word), again;
		u64 ticks = max(cell_deadline(file, node, word, now), least);

		cells->seen = word;
		WRITE_ONCE(cell->check, ticks);
		/* Pairs with the program's, between writing the word and reading the check. */
		smp_mb();
		again = READ_ONCE(cell->word);
		if (likely(again == word) ||
		    max(cell_deadline(file, node, again, now), least) >= ticks)
			return ticks;
	}
	now = max(now + 1, least);
	WRITE_ONCE(cell->check, now);
	return now;
}

/* The next check of a cell. Returns the word that its node has then. */
static u64 cell_set_check(const struct tw_file *file, struct twheel_node *node, u64 ticks)
{
	u64 word = tw_word(tw_cells_ns(file, ticks));

	atomic64_set(&node->word, word);
	return word;
}

/* Read a cell that the wheel knows, as cell_check() does. Returns false if it is not pending. */
static __always_inline bool cell_follow(struct tw_file *file, struct twheel_node *node,
					u64 now, u64 before, u64 least)
{
	u64 next = cell_check(file, node, now, least);

	if (unlikely(next == TWHEEL_CELL_NEVER)) {
		file->cancelled++;
		return false;
	}
	if (next != before) {
		file->extended += next > now;
		cell_set_check(file, node, next);
	}
	return true;
}

/*
 * tw_cells_look() - &tw_wheel.look: a bucket is emptied
 *
 * It need not find nearer deadlines: programs submit those.
 */
bool tw_cells_look(struct tw_wheel *w, struct twheel_node *node)
{
	struct tw_file *file = container_of(w, struct tw_file, wheel);
	u64 before;

	if (!tw_cells_has(file, node))
		return true;
	before = cell_next_check(file, node);
	if (cell_follow(file, node, w->now - file->cells->origin, before, before))
		return true;
	tw_cells_forget(file, node);
	return false;
}

/*
 * tw_cells_judge() - the node of a cell has come out of the wheel, and tw_cells_agree() is false
 *
 * Return: true if the node's word says when it is due; false if it has left the wheel.
 */
bool tw_cells_judge(struct tw_file *file, struct twheel_node *node, u64 now)
{
	lockdep_assert_held(&file->lock);
	if (cell_follow(file, node, tw_cells_ticks(file, now), cell_next_check(file, node), 0))
		return true;
	tw_wheel_dequeue(&file->wheel, node);
	tw_cells_forget(file, node);
	return false;
}

/*
 * tw_cells_visit() - a program has told of a cell
 * @now: the present, in ticks
 *
 * This does not set the alarm.
 *
 * Return: the cell's deadline, in ticks; never if it is not pending.
 */
u64 tw_cells_visit(struct tw_file *file, u32 cell, u64 now)
{
	struct twheel_node *node = &file->cells->nodes[cell];
	struct twheel_cell *shared = &file->cells->map.cells[cell];
	u64 ticks = cell_deadline(file, node, READ_ONCE(shared->word), now);
	struct tw_wheel *w = &file->wheel;
	bool known = cell_is_known(node);
	u64 before = known ? cell_next_check(file, node) : 0, word;

	lockdep_assert_held(&file->lock);
	/* What is due is read once more before it fires, and needs no barrier. */
	if (ticks > now)
		ticks = cell_check(file, node, now, 0);
	else
		WRITE_ONCE(shared->check, ticks);
	if (known && ticks >= before && ticks != TWHEEL_CELL_NEVER) {
		/* It is found in its old bucket, and moved then. */
		cell_set_check(file, node, ticks);
		return ticks;
	}
	if (known) {
		tw_wheel_dequeue(w, node);
		tw_cells_forget(file, node);
	}
	if (ticks == TWHEEL_CELL_NEVER) {
		file->cancelled += known;
		return ticks;
	}
	word = cell_set_check(file, node, ticks);
	file->armed += !known;
	file->cells->known++;
	if (!tw_wheel_enqueue(w, node, word))
		tw_wheel_enqueue_near(w, node);
	return ticks;
}

/*
 * tw_cells_kick() - TWHEEL_OP_KICK
 * @wake: set if the caller has to wake the waiters, once it has released the lock
 *
 * Return: 0, -ENOENT.
 */
int tw_cells_kick(struct tw_file *file, u64 cell, bool *wake)
{
	u64 now = tw_file_now(file), before = file->wheel.wake, present, ticks;

	if (cell >= file->cells->count)
		return -ENOENT;
	cell = array_index_nospec(cell, file->cells->count);
	/* As tw_due_enqueue_near() does: after a long sleep all looks far. */
	tw_due_move_forward(file, tw_wheel_floor(&file->wheel, now));
	present = tw_cells_ticks(file, now);
	ticks = tw_cells_visit(file, cell, present);
	/* Also of a cell that is not pending: moving forward may have filled a bucket. */
	*wake |= tw_due_woken(file, before, now);
	if (ticks == TWHEEL_CELL_NEVER)
		return 0;
	/* First the alarm, then the promise. */
	*wake |= tw_due_near(file, tw_cells_ns(file, ticks), now);
	if (ticks > present && ticks < file->cells->sweep.at)
		tw_cells_promise(file, ticks);
	return 0;
}

/*
 * tw_cells_defer() - the word of a due cell has changed before it fired
 * @node: its node, which is in no list
 * @now: the time on the file's clock
 *
 * The next round looks at it. In this one it could change again, without end, and no timer
 * behind it would be served. Not later than now: a virtual clock may stand still.
 *
 * Return: true if the caller has to wake the waiters, once it has released the lock.
 */
bool tw_cells_defer(struct tw_file *file, struct twheel_node *node, u64 now)
{
	struct tw_cells *cells = file->cells;
	u64 next = tw_cells_ticks(file, now);

	WRITE_ONCE(cells->map.cells[tw_cells_index(cells, node)].check, next);
	return tw_due_enqueue(file, node, tw_cells_ns(file, next));
}
