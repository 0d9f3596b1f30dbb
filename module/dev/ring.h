/* SPDX-License-Identifier: GPL-2.0-only */
/* The memory that a file shares with its program: the cells and the event ring. */
#ifndef _TWHEEL_RING_H
#define _TWHEEL_RING_H

#include <linux/atomic.h>
#include <linux/compiler.h>
#include <linux/types.h>

#include <uapi/linux/twheel.h>

#include "sweep.h"

struct page;
struct vm_area_struct;

/**
 * struct tw_ring - shared memory
 * @map: its start, as the kernel sees it
 * @cells: the cells
 * @events: an event word for each cell
 * @entries: the ring of indexes of cells
 * @leaves: a bit for each cell: it has been submitted; or NULL
 * @summary: a bit for each word of @leaves
 * @nr_leaves: the number of words of @leaves
 * @nr_summary: the number of words of @summary
 * @sweep: the sweeps of @leaves
 * @nr_cells: the number of cells
 * @mask: entries of the ring, minus one
 * @head: entries written
 * @tick_ns: the tick
 * @origin: the tick that deadlines count from
 * @pages: the memory
 * @nr_pages: the number of pages
 *
 * None of these fields is read back from the shared memory, where the program writes.
 */
struct tw_ring {
	struct twheel_map *map;
	struct twheel_cell *cells;
	u64 *events;
	u32 *entries;
	u64 *leaves;
	u64 *summary;
	u32 nr_leaves;
	u32 nr_summary;
	struct tw_sweep sweep;
	u32 nr_cells;
	u32 mask;
	u32 head;
	u64 tick_ns;
	u64 origin;
	struct page **pages;
	unsigned long nr_pages;
};

size_t tw_ring_cost(u32 cells, bool submit);
struct tw_ring *tw_ring_new(u32 cells, bool submit, u64 tick_ns, u64 now_ns, s64 offset);
void tw_ring_free(struct tw_ring *ring);
int tw_ring_mmap(struct tw_ring *ring, struct vm_area_struct *vma);
u64 tw_ring_bytes(const struct tw_ring *ring);
u32 tw_ring_unread(const struct tw_ring *ring);
void tw_ring_push(struct tw_ring *ring, u32 cell, u32 generation, u64 count);
u32 tw_ring_count(const struct tw_ring *ring, u32 cell, u32 generation);
bool tw_ring_revoke(struct tw_ring *ring, u32 cell, u32 generation);

/*
 * tw_ring_add() - a cell, whose event word was 0, is the last entry of the ring
 *
 * The reader sees it after tw_ring_publish().
 */
static inline void tw_ring_add(struct tw_ring *ring, u32 cell)
{
	struct twheel_map *map = ring->map;
	u32 head = ring->head;

	/* The ring is full only if the program breaks the rules for the tail. */
	if (unlikely(head - READ_ONCE(map->tail) > ring->mask))
		return;
	WRITE_ONCE(ring->entries[head & ring->mask], cell);
	ring->head = head + 1;
}

/* tw_ring_publish() - the reader is to see the entries that were added */
static inline void tw_ring_publish(struct tw_ring *ring)
{
	/* Pairs with the reader's load of the head: it finds the entries. */
	smp_store_release(&ring->map->head, ring->head);
}

/* tw_ring_push_once() - tw_ring_push() of a timer that expires once */
static __always_inline void tw_ring_push_once(struct tw_ring *ring, u32 cell, u32 generation)
{
	u64 none = 0;

	/* A full barrier: if this finds 0, the tail has moved. See tw_ring_push(). */
	if (likely(try_cmpxchg(&ring->events[cell], &none, (u64)generation << 32 | 1)))
		tw_ring_add(ring, cell);
	else
		tw_ring_push(ring, cell, generation, 1);
}

#endif /* _TWHEEL_RING_H */
