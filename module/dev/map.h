/* SPDX-License-Identifier: GPL-2.0-only */
/* The memory that programs share with the kernel. */
#ifndef _TWHEEL_MAP_H
#define _TWHEEL_MAP_H

#include <linux/types.h>

#include <uapi/linux/twheel.h>

struct page;
struct vm_area_struct;

/**
 * struct tw_map - shared memory, as the kernel sees it
 * @start: its first byte
 * @cells: the cells
 * @bitmap: a bit for each cell: it was submitted
 * @summary: a bit for each word of @bitmap
 * @wake: see &twheel_map.wake_offset
 * @nr_bitmap: the number of words of @bitmap
 * @nr_summary: the number of words of @summary
 * @pages: the memory
 * @nr_pages: the number of pages
 *
 * None of these fields is read back from the shared memory, where programs write.
 */
struct tw_map {
	void *start;
	struct twheel_cell *cells;
	u64 *bitmap;
	u64 *summary;
	u64 *wake;
	u32 nr_bitmap;
	u32 nr_summary;
	struct page **pages;
	unsigned long nr_pages;
};

size_t tw_map_cost(u32 cells);
int tw_map_init(struct tw_map *map, u32 cells, u64 tick_ns);
void tw_map_exit(struct tw_map *map);
int tw_map_mmap(struct tw_map *map, struct vm_area_struct *vma);

static inline u64 tw_map_bytes(const struct tw_map *map)
{
	return (u64)map->nr_pages << PAGE_SHIFT;
}

#endif /* _TWHEEL_MAP_H */
