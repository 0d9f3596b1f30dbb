/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Cells: timers whose deadline is in memory that programs share with the kernel.
 *
 * They know when a cell is due, and which were submitted. They know nothing of the wheel's
 * buckets and alarms: those are due.c's. What makes, maps and frees cells takes no lock. All
 * other functions are called with the file's.
 */
#ifndef _TWHEEL_CELLS_H
#define _TWHEEL_CELLS_H

#include <linux/atomic.h>
#include <linux/lockdep.h>
#include <linux/minmax.h>
#include <linux/types.h>

#include <uapi/linux/twheel.h>

#include "file.h"

struct vm_area_struct;

/* How often the kernel tries again when a word changes meanwhile. The rest is for the next tick. */
#define TW_CELLS_TRIES	8

/* In the place of a bound for renewals: there is none. */
#define TW_CELLS_NO_BOUND	U32_MAX

/**
 * struct tw_map - the memory that programs share with the kernel
 * @start: its first byte
 * @bytes: its size
 * @cells: the cells
 * @bitmap: a bit for each cell: it was submitted
 * @summary: a bit for each word of @bitmap
 * @wake: see &twheel_map.wake_offset
 * @nr_summary: the number of words of @summary
 *
 * None of these fields is read back from the shared memory, where programs write.
 */
struct tw_map {
	void *start;
	u64 bytes;
	struct twheel_cell *cells;
	u64 *bitmap;
	u64 *summary;
	u64 *wake;
	u32 nr_summary;
};

/**
 * struct tw_cells - the cells of a file
 * @count: the number of cells
 * @in_wheel: how many are in the wheel
 * @origin: the tick that ticks in words count from
 * @most: in a file that acts, of each cell: how many ticks ahead a renewal may be; 0: as @most_any
 *	says. NULL in other files
 * @most_any: likewise of those without a bound of their own
 * @map: the shared memory. The kernel reads there only words, bitmap and summary
 * @sweep: see tw_cells_take()
 * @sweep.at: the tick of the next sweep, as it was announced; %TWHEEL_CELL_NEVER: none is. It
 *	stays until that sweep has ended
 * @sweep.first: the first pending deadline that this sweep has found
 * @sweep.taken: words of the bitmap that this sweep has taken from the last word of the
 *	summary, and has yet to read: a bit for each
 * @sweep.index: the word of the summary that this sweep reads next
 * @nodes: what the wheel has of each cell; in no list if the wheel does not know the cell.
 *	The word of one that is in the wheel is the instant of its next check
 */
struct tw_cells {
	u32 count;
	u32 in_wheel;
	u64 origin;
	u32 *most;
	u32 most_any;
	struct tw_map map;
	struct {
		u64 at;
		u64 first;
		u64 taken;
		u32 index;
	} sweep;
	struct twheel_node nodes[];
};

size_t tw_cells_cost(u32 count, bool acts);
struct tw_cells *tw_cells_new(u32 count, bool acts, const struct tw_wheel *w, u64 now);
void tw_cells_free(struct tw_cells *cells);
int tw_cells_mmap(struct tw_cells *cells, struct vm_area_struct *vma);

void tw_cells_set_bound(struct tw_cells *cells, u64 number, u32 most);
bool tw_cells_is_stray(const struct tw_file *file, const struct twheel_node *node, u64 word);

bool tw_cells_take(struct tw_cells *cells, u32 *first, u64 *bits);
void tw_cells_end_sweep(struct tw_cells *cells, u64 now, u64 tick_ns);
void tw_cells_announce(struct tw_cells *cells, u64 ticks);

/* Whether a node is a cell's. Inline: a reader asks while the memory of its program is open. */
static __always_inline bool tw_cells_has(const struct tw_file *file,
					 const struct twheel_node *node)
{
	const struct tw_cells *cells = tw_file_cells(file);

	return unlikely(cells) && (unsigned long)node - (unsigned long)cells->nodes <
				  cells->count * sizeof(*cells->nodes);
}

static inline u32 tw_cells_index(const struct tw_cells *cells, const struct twheel_node *node)
{
	return node - cells->nodes;
}

/* A time in ticks, as words have them; rounded down. */
static inline u64 tw_cells_ticks(const struct tw_file *file, u64 ns)
{
	return tw_wheel_floor(&file->wheel, ns) - file->cells->origin;
}

/* The instant of such ticks. What a word says may be before the clock began. */
static inline u64 tw_cells_ns(const struct tw_file *file, u64 ticks)
{
	u64 tick = file->cells->origin + ticks;

	if (ticks == TWHEEL_CELL_NEVER)
		return TWHEEL_NEVER_NS;
	if (unlikely((s64)tick < 0))
		return 0;
	return min_t(u64, tw_wheel_ns(&file->wheel, tick), TWHEEL_NEVER_NS);
}

/* The tick of the next check, of a cell that the wheel knows. */
static inline u64 tw_cells_next_check(const struct tw_file *file,
				      const struct twheel_node *node)
{
	return tw_cells_ticks(file, tw_word(atomic64_read(&node->word)));
}

/*
 * The deadline in a word, in ticks; never if the cell is not pending. A deadline that passed
 * years ago looks like one to come. If the kernel has seen it before, it knows better. A stray
 * word is due, at the deadline that the kernel knows at the latest.
 */
static __always_inline u64 tw_cells_deadline(const struct tw_file *file,
					     const struct twheel_node *node, u64 word, u64 now)
{
	u64 ticks = twheel_cell_ticks(word, now), check;

	if (unlikely(file->cells->most) && tw_cells_is_stray(file, node, word))
		return hlist_unhashed(&node->link) ? now :
						     min(now, tw_cells_next_check(file, node));
	if (twheel_cell_state(word) != TWHEEL_CELL_PENDING)
		return TWHEEL_CELL_NEVER;
	if (ticks > now && ticks != TWHEEL_CELL_NEVER && !hlist_unhashed(&node->link)) {
		check = tw_cells_next_check(file, node);
		if (check <= now && !((check ^ ticks) & TWHEEL_CELL_TICKS))
			return check;
	}
	return ticks;
}

/*
 * tw_cells_check() - read a cell, and publish when it will be read next
 * @now: the present, in ticks, like all times here
 * @least: it is read next at its deadline, but not before this
 * @word: set to the word that was read
 *
 * Return: when it will be read next; never if it is not pending.
 */
static __always_inline u64 tw_cells_check(const struct tw_file *file, u32 index, u64 now, u64 least,
					  u64 *word)
{
	struct twheel_cell *cell = &file->cells->map.cells[index];
	const struct twheel_node *node = &file->cells->nodes[index];
	unsigned int i;

	lockdep_assert_held(&file->lock);
	for (i = 0; i < TW_CELLS_TRIES; i++) {
		u64 ticks;

		*word = READ_ONCE(cell->word);
		ticks = max(tw_cells_deadline(file, node, *word, now), least);
		WRITE_ONCE(cell->check, ticks);
		/*
		 * It stays due until its word is read again, or compared when it fires. So no
		 * check that a program has seen is later than that.
		 */
		if (ticks <= now)
			return ticks;
		/* Pairs with the program's, between writing the word and reading the check. */
		smp_mb();
		if (likely(READ_ONCE(cell->word) == *word))
			return ticks;
	}
	now = max(now + 1, least);
	WRITE_ONCE(cell->check, now);
	return now;
}

/*
 * tw_cells_unchanged() - whether the word of a cell has the deadline of its check
 * @word: set to the word
 *
 * Whatever comes later makes the compare-and-swap of tw_cells_fire() fail.
 */
static __always_inline bool tw_cells_unchanged(const struct tw_file *file,
					       const struct twheel_node *node, u64 *word)
{
	const struct tw_cells *cells = file->cells;
	u64 ticks;

	*word = READ_ONCE(cells->map.cells[tw_cells_index(cells, node)].word);
	ticks = *word >> TWHEEL_CELL_TICKS_SHIFT ^ tw_cells_next_check(file, node);
	return likely(!(ticks & TWHEEL_CELL_TICKS) &&
		      twheel_cell_state(*word) == TWHEEL_CELL_PENDING && !(*word & 1));
}

/*
 * tw_cells_fire() - the event of a cell has been copied
 * @word: the word that was found to be due
 *
 * Return: false if the word has changed since, so that there is no event.
 */
static inline bool tw_cells_fire(struct tw_cells *cells, struct twheel_node *node, u64 word)
{
	/* All bits of a state, whatever a stray word has. */
	const u64 fired = twheel_cell_word(0, TWHEEL_CELL_FIRED, 0);
	struct twheel_cell *cell = &cells->map.cells[tw_cells_index(cells, node)];

	/* Before the word: a program that sees the new word may arm the cell again. */
	WRITE_ONCE(cell->check, TWHEEL_CELL_NEVER);
	/* A full barrier, if it succeeds. A long has 64 bits where there are cells. */
	return cmpxchg((unsigned long *)&cell->word, word, word | fired) == word;
}

/* tw_cells_forget() - a cell has left the wheel */
static inline void tw_cells_forget(struct tw_cells *cells, struct twheel_node *node)
{
	node->link.pprev = NULL;
	cells->in_wheel--;
}

/* When the next sweep is due, in ticks of the wheel. */
static inline u64 tw_cells_sweep_tick(const struct tw_file *file)
{
	if (likely(!tw_file_cells(file)) || file->cells->sweep.at == TWHEEL_CELL_NEVER)
		return TW_WHEEL_ASLEEP;
	return file->cells->origin + file->cells->sweep.at;
}

#endif /* _TWHEEL_CELLS_H */
