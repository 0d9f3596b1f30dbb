// SPDX-License-Identifier: GPL-2.0-only
/* The memory that programs share with the kernel. */
#include <linux/build_bug.h>
#include <linux/errno.h>
#include <linux/gfp.h>
#include <linux/kernel.h>
#include <linux/mm.h>
#include <linux/nospec.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>

#include "../compat.h"
#include "map.h"

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

static int map_get_pages(struct tw_map *map, unsigned long count)
{
	map->pages = kvmalloc_array(count, sizeof(*map->pages), GFP_KERNEL_ACCOUNT);
	if (!map->pages)
		return -ENOMEM;
	while (map->nr_pages < count) {
		struct page *page = alloc_page(TW_GFP_MAPPED | __GFP_ZERO);

		if (!page)
			return -ENOMEM;
		map->pages[map->nr_pages++] = page;
		if (fatal_signal_pending(current))
			return -EINTR;
		cond_resched();
	}
	map->start = vmap(map->pages, count, VM_MAP, PAGE_KERNEL);
	return map->start ? 0 : -ENOMEM;
}

/*
 * tw_map_init() - make shared memory
 *
 * Context: process, may sleep.
 * Return: 0, -ENOMEM, -EINTR.
 */
int tw_map_init(struct tw_map *map, u32 cells, u64 tick_ns)
{
	struct twheel_map head;
	int ret;
	u32 i;

	map_lay_out(&head, cells, tick_ns);
	ret = map_get_pages(map, head.bytes >> PAGE_SHIFT);
	if (ret) {
		tw_map_exit(map);
		return ret;
	}
	map->cells = map->start + head.cells_offset;
	map->bitmap = map->start + head.bitmap_offset;
	map->summary = map->start + head.summary_offset;
	map->wake = map->start + head.wake_offset;
	map->nr_bitmap = map_words(cells);
	map->nr_summary = map_words(map->nr_bitmap);
	memcpy(map->start, &head, sizeof(head));
	*map->wake = TWHEEL_CELL_NEVER;
	for (i = 0; i < cells; i++) {
		map->cells[i].check = TWHEEL_CELL_NEVER;
		if (!(i % 4096))
			cond_resched();
	}
	return 0;
}

/* tw_map_exit() - free shared memory that nobody has mapped any more */
void tw_map_exit(struct tw_map *map)
{
	vunmap(map->start);
	while (map->nr_pages) {
		__free_page(map->pages[--map->nr_pages]);
		if (!(map->nr_pages % 64))
			cond_resched();
	}
	kvfree(map->pages);
}

static vm_fault_t map_fault(struct vm_fault *vmf)
{
	struct tw_map *map = vmf->vma->vm_private_data;

	if (vmf->pgoff >= map->nr_pages)
		return VM_FAULT_SIGBUS;
	vmf->page = map->pages[array_index_nospec(vmf->pgoff, map->nr_pages)];
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
	/*
	 * A private copy would look right and never change. Not VM_SHARED: a mapping of a
	 * file that was opened only for reading does not have that flag.
	 */
	if (!(vma->vm_flags & VM_MAYSHARE))
		return -EINVAL;
	if (vma->vm_pgoff > map->nr_pages ||
	    vma_pages(vma) > map->nr_pages - vma->vm_pgoff)
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
