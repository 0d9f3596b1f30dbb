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
 * finds that the check comes too late, and submits the cell. A later deadline,
 * or a cancellation, is found at the check.
 *
 * A check costs time, and a server extends its cells once a second or more often. So when a
 * bucket of an upper level is emptied, cells go straight to their present deadlines. Of
 * those that are extended all the time, none comes to a bucket of single ticks.
 *
 * The kernel changes a word only from PENDING to FIRED, by a compare-and-swap, when a reader
 * takes the event. So a cell fires once, or is cancelled, and never both.
 *
 * In a file that acts, renewals may have a bound: a program must not be able to disarm its guard
 * by a fault. Then a word is stray that no call of a program leaves behind, and is due: see
 * tw_cells_is_stray().
 *
 * The kernel trusts nothing here. A word that is not pending means that there is no timer. A
 * word that changes faster than the kernel can follow is read again in the next tick.
 *
 * twheel_cells(7) says how a program submits a cell: bitmap, summary, wake, and perhaps a kick.
 * A sweep takes words of the summary, then words of the bitmap, and then reads the cells. It
 * comes before the wheel is advanced. All that was submitted is due at the tick that was
 * announced or later, which the position has not reached. So the wheel hands all out in their
 * order.
 *
 * When the summary is empty, the sweep writes to wake that none is announced. Then it tests the
 * summary again, with a full barrier in between. A program sets the summary and then reads wake.
 * So either the sweep finds the bit, or the program finds that it has to kick.
 *
 * The bits that a sweep has taken from the summary are its own until it has read those cells,
 * over several slices if need be. Until it ends, what was announced holds: whatever is submitted
 * is found by this sweep. A program that submits cells without end only keeps its own tasks
 * busy: between two laps over the summary, what is due is served.
 */
#include <linux/atomic.h>
#include <linux/bitops.h>
#include <linux/bits.h>
#include <linux/build_bug.h>
#include <linux/errno.h>
#include <linux/gfp.h>
#include <linux/kernel.h>
#include <linux/lockdep.h>
#include <linux/math64.h>
#include <linux/minmax.h>
#include <linux/mm.h>
#include <linux/nospec.h>
#include <linux/overflow.h>
#include <linux/sched.h>
#include <linux/string.h>
#include <linux/time64.h>
#include <linux/vmalloc.h>

#include "../compat.h"
#include "cells.h"

static_assert(sizeof(struct twheel_cell) == 16);
static_assert(sizeof(struct twheel_map) == 64);

/* A cache line away from what the kernel wrote once. */
#define MAP_WAKE_OFFSET	128

static_assert(sizeof(struct twheel_map) <= MAP_WAKE_OFFSET);

/*
 * The shortest time from one sweep to the next, if nobody kicks. Cells that were found are
 * in the wheel. So a sweep finds those that were armed since the last. The later it is, the
 * more of them have been cancelled or armed anew. But what is due before it has to kick. Of ten
 * thousand timers a second, of 10 ms to 60 s, 0.9 % did; with 250 ms 2.1 % did. The sweeps cost
 * less than those kicks. Longer timers are swept as rarely as they are due.
 */
#define SWEEP_PAUSE	(20 * NSEC_PER_MSEC)

static u32 map_words(u32 bits)
{
	return DIV_ROUND_UP(bits, BITS_PER_LONG_LONG);
}

/* Each part has pages of its own. */
static void map_lay_out(struct twheel_map *head, u32 cells, u64 tick_ns)
{
	*head = (struct twheel_map) {
		.version	= TWHEEL_MAP_VERSION,
		.size		= sizeof(*head),
		.tick_ns	= tick_ns,
		.cells		= cells,
		.cell_stride	= sizeof(struct twheel_cell),
		.cells_offset	= PAGE_SIZE,
		.wake_offset	= MAP_WAKE_OFFSET,
	};
	head->bitmap_offset = head->cells_offset +
		PAGE_ALIGN((u64)cells * sizeof(struct twheel_cell));
	head->summary_offset = head->bitmap_offset +
		PAGE_ALIGN((u64)map_words(cells) * sizeof(u64));
	head->bytes = head->summary_offset +
		PAGE_ALIGN((u64)map_words(map_words(cells)) * sizeof(u64));
}

/* What the kernel alone has of so many cells, with their bounds in a file that acts. */
static size_t cells_bytes(u32 count, bool acts)
{
	return struct_size((struct tw_cells *)NULL, nodes, count) +
	       (acts ? count * sizeof(u32) : 0);
}

/* tw_cells_cost() - the memory that so many cells take, with what leads to shared pages */
size_t tw_cells_cost(u32 count, bool acts)
{
	struct twheel_map head;

	map_lay_out(&head, count, 0);
	return PAGE_ALIGN(cells_bytes(count, acts)) + head.bytes +
	       (head.bytes >> PAGE_SHIFT) * (sizeof(struct page *) + sizeof(pte_t));
}

/* Make the memory that programs share. Returns 0, -ENOMEM. */
static int map_init(struct tw_map *map, u32 cells, u64 tick_ns)
{
	struct twheel_map head;
	u32 i;

	map_lay_out(&head, cells, tick_ns);
	/* Not vmalloc_user(), which nobody is charged for. */
	map->start = __vmalloc(head.bytes, TW_GFP_MAPPED | __GFP_ZERO | __GFP_NOWARN);
	if (!map->start)
		return -ENOMEM;
	map->bytes = head.bytes;
	map->cells = map->start + head.cells_offset;
	map->bitmap = map->start + head.bitmap_offset;
	map->summary = map->start + head.summary_offset;
	map->wake = map->start + head.wake_offset;
	map->nr_summary = map_words(map_words(cells));
	memcpy(map->start, &head, sizeof(head));
	*map->wake = TWHEEL_CELL_NEVER;
	for (i = 0; i < cells; i++) {
		map->cells[i].check = TWHEEL_CELL_NEVER;
		if (!(i % 4096))
			cond_resched();
	}
	return 0;
}

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

/*
 * tw_cells_new() - make cells for a file whose wheel is @w
 * @acts: the file acts, and renewals may have a bound
 *
 * Context: process, may sleep.
 * Return: the cells, NULL without memory.
 */
struct tw_cells *tw_cells_new(u32 count, bool acts, const struct tw_wheel *w, u64 now)
{
	struct tw_cells *cells;

	/* kvcalloc() may take huge pages: up to 2 MB that nobody is charged for. */
	cells = __vmalloc(cells_bytes(count, acts),
			  GFP_KERNEL_ACCOUNT | __GFP_ZERO | __GFP_NOWARN);
	if (!cells)
		return NULL;
	if (map_init(&cells->map, count, w->tick_ns)) {
		vfree(cells);
		return NULL;
	}
	cells->count = count;
	if (acts)
		cells->most = (u32 *)&cells->nodes[count];
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

/*
 * tw_cells_set_bound() - renewals of a cell, or of any without its own bound, have this one
 * @most: in ticks, or %TW_CELLS_NO_BOUND; 0: there is no bound of its own any more
 *
 * Context: with the file's lock.
 */
void tw_cells_set_bound(struct tw_cells *cells, u64 number, u32 most)
{
	if (number == TWHEEL_ACT_ANY)
		cells->most_any = most;
	else if (number < cells->count)
		cells->most[array_index_nospec(number, cells->count)] = most;
}

/*
 * tw_cells_is_stray() - whether a word is none that a program leaves, if it renews within bounds
 *
 * In a cell that the wheel knows, that is one which is pending within the bound, or was until it
 * was cancelled. A deadline may have been past when it was armed, by the bound at most. So ticks
 * are not earlier than twice the bound before the deadline that the kernel knows: it was armed
 * after that one, which is not further ahead than the bound. Of a word that was cancelled nothing
 * else is known, but how twheel_cell_cancelled() moves them. In other cells, nothing that is not
 * pending counts.
 */
bool tw_cells_is_stray(const struct tw_file *file, const struct twheel_node *node, u64 word)
{
	const struct tw_cells *cells = file->cells;
	u64 most = cells->most[tw_cells_index(cells, node)] ?: cells->most_any, now, first;
	bool known = !hlist_unhashed(&node->link);

	if (!most || most == TW_CELLS_NO_BOUND)
		return false;
	/* The program has read the clock before it wrote the word: read it after that. */
	now = tw_cells_ticks(file, tw_file_now(file));
	/* The program has rounded up, the kernel down. */
	most++;
	switch (twheel_cell_state(word)) {
	case TWHEEL_CELL_PENDING:
		return twheel_cell_ticks(word, now) > now + most;
	case TWHEEL_CELL_CANCELLED:
		if (!known || word & 1)
			return known;
		first = min(now, tw_cells_next_check(file, node)) - 2 * most;
		word = twheel_cell_cancelled(word) >> TWHEEL_CELL_TICKS_SHIFT;
		return ((word - first) & TWHEEL_CELL_TICKS) > now + most - first;
	default:
		return known;
	}
}

static vm_fault_t map_fault(struct vm_fault *vmf)
{
	const struct tw_map *map = vmf->vma->vm_private_data;

	/* tw_cells_mmap() lets no mapping reach beyond the end, and none grows. */
	vmf->page = vmalloc_to_page(map->start + (vmf->pgoff << PAGE_SHIFT));
	get_page(vmf->page);
	return 0;
}

static const struct vm_operations_struct map_vm_ops = {
	.fault	= map_fault,
};

/*
 * tw_cells_mmap() - map the cells; the mapping holds the file, and so the memory
 *
 * Return: 0, -EINVAL (it is private, or reaches beyond the end), -EPERM (executable).
 */
int tw_cells_mmap(struct tw_cells *cells, struct vm_area_struct *vma)
{
	struct tw_map *map = &cells->map;
	unsigned long pages = map->bytes >> PAGE_SHIFT;

	/*
	 * A private copy would look right and never change. Not VM_SHARED: a mapping of a
	 * file that was opened only for reading does not have that flag.
	 */
	if (!(vma->vm_flags & VM_MAYSHARE))
		return -EINVAL;
	if (vma->vm_pgoff > pages || vma_pages(vma) > pages - vma->vm_pgoff)
		return -EINVAL;
	if (vma->vm_flags & VM_EXEC)
		return -EPERM;
	/*
	 * The mapping cannot grow. A forked child must not arm the cells of its parent
	 * unless it maps them itself.
	 */
	vm_flags_mod(vma, VM_DONTEXPAND | VM_DONTCOPY, VM_MAYEXEC);
	vma->vm_private_data = map;
	vma->vm_ops = &map_vm_ops;
	return 0;
}

/*
 * tw_cells_take() - take some cells that were submitted
 * @first: set to the first cell of a word of the bitmap
 * @bits: set to the bits of that word; perhaps none
 *
 * Return: false if nothing is left: then tw_cells_end_sweep() has to follow.
 */
bool tw_cells_take(struct tw_cells *cells, u32 *first, u64 *bits)
{
	struct tw_map *map = &cells->map;
	u32 index;

	while (!cells->sweep.taken) {
		u64 *word;

		if (cells->sweep.index == map->nr_summary)
			return false;
		word = &map->summary[cells->sweep.index++];
		if (READ_ONCE(*word))
			/* A full barrier: before the words of the bitmap are taken. */
			cells->sweep.taken = xchg(word, 0);
	}
	index = (cells->sweep.index - 1) * BITS_PER_LONG_LONG + __ffs64(cells->sweep.taken);
	cells->sweep.taken &= cells->sweep.taken - 1;
	*first = index * BITS_PER_LONG_LONG;
	*bits = 0;
	if (index >= map_words(cells->count))
		return true;
	/* A full barrier: before the cells are read. */
	*bits = xchg(&map->bitmap[index], 0);
	if (cells->count - *first < BITS_PER_LONG_LONG)
		*bits &= GENMASK_ULL(cells->count - *first - 1, 0);
	return true;
}

/* tw_cells_announce() - the next sweep is at this tick; the alarm is set, or will be */
void tw_cells_announce(struct tw_cells *cells, u64 ticks)
{
	cells->sweep.at = ticks;
	/* Pairs with the program's load: it relies on the alarm. */
	smp_store_release(cells->map.wake, ticks);
}

/*
 * tw_cells_end_sweep() - nothing is left of what was submitted
 * @now: the present, in ticks
 *
 * If programs have submitted more meanwhile, a sweep stays due. What is due comes first, even
 * if the bitmap changes all the time.
 */
void tw_cells_end_sweep(struct tw_cells *cells, u64 now, u64 tick_ns)
{
	u64 pause = max_t(u64, div64_u64(SWEEP_PAUSE, tick_ns), 1);
	u64 next = cells->sweep.first;
	u32 i;

	cells->sweep.index = 0;
	WRITE_ONCE(*cells->map.wake, TWHEEL_CELL_NEVER);
	/* Pairs with the program's, between setting the summary and reading wake. */
	smp_mb();
	for (i = 0; i < cells->map.nr_summary; i++) {
		if (READ_ONCE(cells->map.summary[i])) {
			WRITE_ONCE(*cells->map.wake, cells->sweep.at);
			return;
		}
	}
	cells->sweep.first = TWHEEL_CELL_NEVER;
	/* A program that arms nothing needs no sweep. */
	if (next != TWHEEL_CELL_NEVER)
		next = max(next, now + pause);
	tw_cells_announce(cells, next);
}
