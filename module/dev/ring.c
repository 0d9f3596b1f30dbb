// SPDX-License-Identifier: GPL-2.0-only
/*
 * The memory that a file shares with its program: the cells and the event ring.
 *
 * A cell's event word is not 0 as long as the ring has an entry for the cell that the
 * reader has not dealt with, and only so long. The kernel adds to the word, and writes an
 * entry only if the word was 0. The reader takes the entry first, and then exchanges the
 * word for 0. Either the exchange comes after the addition, and gets it; or the addition
 * finds 0, and the entry has been taken. So there are never more entries than cells.
 */
#include <linux/atomic.h>
#include <linux/bits.h>
#include <linux/errno.h>
#include <linux/gfp.h>
#include <linux/limits.h>
#include <linux/log2.h>
#include <linux/math64.h>
#include <linux/mm.h>
#include <linux/nospec.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>

#include "../compat.h"
#include "ring.h"

static_assert(sizeof(struct twheel_cell) == 16);
static_assert(offsetof(struct twheel_map, head) == 128);
static_assert(offsetof(struct twheel_map, tail) == 256);
static_assert(offsetof(struct twheel_map, wake) == 384);
static_assert(sizeof(struct twheel_map) == 512);

/*
 * How often the kernel tries again when a word changes between two instructions. A reader
 * that obeys the rules changes an event word once.
 */
#define RING_TRIES	4

static void ring_free_pages(struct tw_ring *ring)
{
	while (ring->nr_pages) {
		__free_page(ring->pages[--ring->nr_pages]);
		if (!(ring->nr_pages % 64))
			cond_resched();
	}
	kvfree(ring->pages);
}

static int ring_get_pages(struct tw_ring *ring, unsigned long count)
{
	ring->pages = kvmalloc_array(count, sizeof(*ring->pages),
				     GFP_KERNEL_ACCOUNT);
	if (!ring->pages)
		return -ENOMEM;
	while (ring->nr_pages < count) {
		struct page *page = alloc_page(GFP_KERNEL_ACCOUNT | __GFP_ZERO);

		if (!page)
			return -ENOMEM;
		ring->pages[ring->nr_pages++] = page;
		if (fatal_signal_pending(current))
			return -EINTR;
		cond_resched();
	}
	ring->map = vmap(ring->pages, count, VM_MAP, PAGE_KERNEL);
	return ring->map ? 0 : -ENOMEM;
}

/*
 * What tick is it when a file is set up? Ticks in words come to their end 4096 ticks later,
 * as jiffies do soon after boot: a reader that forgets it is found out at once. With ticks
 * of more than 8 ms, there is no end within 2^63 ns.
 */
static u64 ring_first_tick(u64 tick_ns)
{
	return tick_ns > BIT_ULL(23) ? 0 : TWHEEL_CELL_TICKS + 1 - 4096;
}

static u32 ring_words(u32 bits)
{
	return DIV_ROUND_UP(bits, BITS_PER_LONG_LONG);
}

/* Each part has pages of its own. @submit: the program arms cells itself */
static void ring_lay_out(struct twheel_map *map, u32 cells, bool submit)
{
	u32 entries = roundup_pow_of_two(cells);

	*map = (struct twheel_map) {
		.version	= TWHEEL_MAP_VERSION,
		.size		= sizeof(*map),
		.cells		= cells,
		.entries	= entries,
		.cells_offset	= PAGE_SIZE,
	};
	map->events_offset = map->cells_offset +
		PAGE_ALIGN((u64)cells * sizeof(struct twheel_cell));
	map->ring_offset = map->events_offset +
		PAGE_ALIGN((u64)cells * sizeof(u64));
	map->bytes = map->ring_offset +
		PAGE_ALIGN((u64)entries * sizeof(u32));
	if (!submit)
		return;
	map->version = TWHEEL_MAP_VERSION_SUBMIT;
	map->wake = TW_SWEEP_NEVER;
	map->leaves_offset = map->bytes;
	map->summary_offset = map->leaves_offset +
		PAGE_ALIGN((u64)ring_words(cells) * sizeof(u64));
	map->bytes = map->summary_offset +
		PAGE_ALIGN((u64)ring_words(ring_words(cells)) * sizeof(u64));
}

/* tw_ring_cost() - the memory of a ring, with what leads to its pages */
size_t tw_ring_cost(u32 cells, bool submit)
{
	struct twheel_map map;

	ring_lay_out(&map, cells, submit);
	return sizeof(struct tw_ring) + map.bytes +
	       (map.bytes >> PAGE_SHIFT) * (sizeof(struct page *) + sizeof(pte_t));
}

/*
 * tw_ring_new() - make shared memory
 * @submit: the program arms cells itself
 * @now_ns: the time
 * @offset: what the caller's time namespace adds to the time
 *
 * Context: process, may sleep.
 * Return: the ring or an ERR_PTR: -ENOMEM, -EINTR.
 */
struct tw_ring *tw_ring_new(u32 cells, bool submit, u64 tick_ns, u64 now_ns, s64 offset)
{
	struct twheel_map map;
	struct tw_ring *ring;
	int ret;
	u32 i;

	ring = kzalloc(sizeof(*ring), GFP_KERNEL_ACCOUNT);
	if (!ring)
		return ERR_PTR(-ENOMEM);
	ring_lay_out(&map, cells, submit);
	ret = ring_get_pages(ring, map.bytes >> PAGE_SHIFT);
	if (ret) {
		tw_ring_free(ring);
		return ERR_PTR(ret);
	}
	ring->cells = (void *)ring->map + map.cells_offset;
	ring->events = (void *)ring->map + map.events_offset;
	ring->entries = (void *)ring->map + map.ring_offset;
	if (submit) {
		ring->leaves = (void *)ring->map + map.leaves_offset;
		ring->summary = (void *)ring->map + map.summary_offset;
		ring->nr_leaves = ring_words(cells);
		ring->nr_summary = ring_words(ring->nr_leaves);
	}
	ring->nr_cells = cells;
	ring->mask = map.entries - 1;
	ring->tick_ns = tick_ns;
	ring->origin = div64_u64(now_ns, tick_ns) - ring_first_tick(tick_ns);

	map.tick_ns = tick_ns;
	map.origin_ns = ring->origin * tick_ns + offset;
	*ring->map = map;
	for (i = 0; i < cells; i++) {
		ring->cells[i].look = TWHEEL_CELL_NEVER;
		if (!(i % 4096))
			cond_resched();
	}
	return ring;
}

/* tw_ring_free() - free shared memory that nobody has mapped any more; or NULL */
void tw_ring_free(struct tw_ring *ring)
{
	if (!ring)
		return;
	vunmap(ring->map);
	ring_free_pages(ring);
	kfree(ring);
}

static vm_fault_t ring_fault(struct vm_fault *vmf)
{
	struct tw_ring *ring = vmf->vma->vm_private_data;

	if (vmf->pgoff >= ring->nr_pages)
		return VM_FAULT_SIGBUS;
	vmf->page = ring->pages[array_index_nospec(vmf->pgoff, ring->nr_pages)];
	get_page(vmf->page);
	return 0;
}

static const struct vm_operations_struct ring_vm_ops = {
	.fault	= ring_fault,
};

/* tw_ring_mmap() - map it; the mapping holds the file, and so the ring */
int tw_ring_mmap(struct tw_ring *ring, struct vm_area_struct *vma)
{
	/*
	 * A private copy would look right and never change. Not VM_SHARED: a mapping of a
	 * file that was opened only for reading does not have that flag.
	 */
	if (!(vma->vm_flags & VM_MAYSHARE))
		return -EINVAL;
	if (vma->vm_pgoff > ring->nr_pages ||
	    vma_pages(vma) > ring->nr_pages - vma->vm_pgoff)
		return -EINVAL;
	/* Behind it there is nothing. */
	vm_flags_set(vma, VM_DONTEXPAND);
	/* A cell has one owner: a forked child must not arm what its parent does, too. */
	if (ring->leaves)
		vm_flags_set(vma, VM_DONTCOPY);
	vma->vm_private_data = ring;
	vma->vm_ops = &ring_vm_ops;
	return 0;
}

/* tw_ring_bytes() - how much there is to map */
u64 tw_ring_bytes(const struct tw_ring *ring)
{
	return (u64)ring->nr_pages << PAGE_SHIFT;
}

/* tw_ring_unread() - how many entries the reader has not taken, if its tail is true */
u32 tw_ring_unread(const struct tw_ring *ring)
{
	return min(ring->head - READ_ONCE(ring->map->tail), ring->nr_cells);
}

/* tw_ring_push() - a cell's timer has expired, @count times */
void tw_ring_push(struct tw_ring *ring, u32 cell, u32 generation, u64 count)
{
	u64 *event = &ring->events[cell];
	u64 old = READ_ONCE(*event);
	unsigned int i;
	u64 total, new;

	for (i = 0; i < RING_TRIES; i++) {
		total = count;
		/* The count of an earlier generation is dropped. */
		if (upper_32_bits(old) == generation)
			total += lower_32_bits(old);
		new = (u64)generation << 32 | min_t(u64, total, U32_MAX);
		/*
		 * A full barrier: if this finds 0, the tail has moved. Pairs with the
		 * reader's, between moving the tail and exchanging the word.
		 */
		if (try_cmpxchg(event, &old, new))
			break;
	}
	/* The entry that is in the ring already will do. */
	if (i < RING_TRIES && !old)
		tw_ring_add(ring, cell);
}

/*
 * tw_ring_count() - for how many expiries of that generation does a cell's event stand? 0: no
 * event waits to be taken
 */
u32 tw_ring_count(const struct tw_ring *ring, u32 cell, u32 generation)
{
	u64 event = READ_ONCE(ring->events[cell]);

	return upper_32_bits(event) == generation ? lower_32_bits(event) : 0;
}

/*
 * tw_ring_revoke() - withdraw the event of a cell, if it has not been read
 * @generation: the generation that the event word has from now on
 *
 * The entry in the ring cannot be taken back. It will stand for no expiry, or for those
 * that come until it is read.
 *
 * Return: true if there was an event.
 */
bool tw_ring_revoke(struct tw_ring *ring, u32 cell, u32 generation)
{
	u64 *event = &ring->events[cell];
	u64 old = READ_ONCE(*event);
	unsigned int i;

	for (i = 0; i < RING_TRIES && old; i++)
		if (try_cmpxchg(event, &old, (u64)generation << 32))
			return lower_32_bits(old);
	return false;
}
