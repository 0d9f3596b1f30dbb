// SPDX-License-Identifier: GPL-2.0-only
/* The memory that programs share with the kernel. */
#include <linux/build_bug.h>
#include <linux/errno.h>
#include <linux/gfp.h>
#include <linux/kernel.h>
#include <linux/mm.h>
#include <linux/sched.h>
#include <linux/string.h>
#include <linux/vmalloc.h>

#include "../compat.h"
#include "cells.h"

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
