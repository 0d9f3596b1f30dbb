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
 * The kernel trusts nothing here. A word that is not pending means that there is no timer. A
 * word that changes faster than the kernel can follow is read again in the next tick.
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

/* The memory that programs share with the kernel. */

/* A cache line away from what the kernel wrote once. */
#define MAP_WAKE_OFFSET	128

static_assert(sizeof(struct twheel_map) == 64);
static_assert(sizeof(struct twheel_map) <= MAP_WAKE_OFFSET);

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

/* tw_map_cost() - the memory that tw_map_init() takes, with what leads to its pages */
size_t tw_map_cost(u32 cells)
{
	struct twheel_map head;

	map_lay_out(&head, cells, 0);
	return head.bytes + (head.bytes >> PAGE_SHIFT) *
			    (sizeof(struct page *) + sizeof(pte_t));
}

/*
 * tw_map_init() - make shared memory
 *
 * Context: process, may sleep.
 * Return: 0, -ENOMEM.
 */
int tw_map_init(struct tw_map *map, u32 cells, u64 tick_ns)
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

static vm_fault_t map_fault(struct vm_fault *vmf)
{
	const struct tw_map *map = vmf->vma->vm_private_data;

	/* tw_map_mmap() lets no mapping reach beyond the end, and none grows. */
	vmf->page = vmalloc_to_page(map->start + (vmf->pgoff << PAGE_SHIFT));
	get_page(vmf->page);
	return 0;
}

static const struct vm_operations_struct map_vm_ops = {
	.fault	= map_fault,
};

/*
 * tw_map_mmap() - map it; the mapping holds the file, and so the memory
 *
 * Return: 0, -EINVAL (it is private, or reaches beyond the end), -EPERM (executable).
 */
int tw_map_mmap(struct tw_map *map, struct vm_area_struct *vma)
{
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
