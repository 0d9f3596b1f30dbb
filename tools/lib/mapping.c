// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/* The shared mapping, from the program's side: where it is, and its time in ticks. */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "handle.h"

uint64_t cells_ticks_to_ns(const struct twheel *wheel, uint64_t ticks)
{
	uint64_t ns;

	if (ticks == TWHEEL_CELL_NEVER ||
	    __builtin_mul_overflow(ticks, wheel->view.tick_ns, &ns))
		return TWHEEL_DELAY_NEVER;
	ns += wheel->cells.origin_ns;
	return ns < TWHEEL_DELAY_NEVER ? ns : TWHEEL_DELAY_NEVER;
}

uint64_t cells_ticks_now(const struct twheel *wheel)
{
	return (twheel_now(wheel) - wheel->cells.origin_ns) / wheel->view.tick_ns;
}

/* The span begins an eighth of it ago, but not before the clock or the ticks did. */
static void view_move(struct twheel *wheel)
{
	struct twheel_view_1 *view = &wheel->view;
	uint64_t now = twheel_now(wheel), before = view->span_ns / 8;

	if (before > now)
		before = now;
	if (before > now - view->base_ns)
		before = now - view->base_ns;
	__atomic_store_n(&view->from_ns, now - before, __ATOMIC_RELAXED);
}

bool view_covers(struct twheel *wheel, uint64_t deadline_ns)
{
	if (!wheel->view.bytes)
		return false;
	if (!view_spans(&wheel->view, deadline_ns))
		view_move(wheel);
	return view_spans(&wheel->view, deadline_ns);
}

/* Fill in what the inlines of the header read. */
static void view_init(struct twheel *wheel, const struct twheel_map *map)
{
	struct twheel_view_1 *view = &wheel->view;

	view->cells = (char *)wheel->cells.cells;
	view->bytes = map->cells * sizeof(struct twheel_cell);
	view->tick_ns = map->tick_ns;
	view->base_ns = map->origin_ns - (map->tick_ns - 1);
	/* All deadlines of a span fit into a record, too. */
	if (__builtin_mul_overflow(TWHEEL_CELL_REACH, map->tick_ns, &view->span_ns) ||
	    view->span_ns > RECORD_DEADLINE / 2)
		view->span_ns = RECORD_DEADLINE / 2;
	view_move(wheel);
}

/* Is a part of the mapping, of so many elements, within it? */
static bool map_part_valid(uint64_t bytes, uint64_t offset, uint64_t count, size_t size)
{
	return offset % sizeof(uint64_t) == 0 && offset <= bytes &&
	       count <= (bytes - offset) / size;
}

static bool map_valid(const struct twheel_map *map, uint64_t bytes)
{
	uint64_t leaves = (map->cells + 63ULL) / 64;

	return map->version == TWHEEL_MAP_VERSION_SUBMIT && map->tick_ns && map->cells &&
	       map->cells < TWHEEL_VIEW_OWNER &&
	       map->entries && !(map->entries & (map->entries - 1)) &&
	       map_part_valid(bytes, map->cells_offset, map->cells,
			      sizeof(struct twheel_cell)) &&
	       map_part_valid(bytes, map->events_offset, map->cells,
			      sizeof(struct cell_event)) &&
	       map_part_valid(bytes, map->ring_offset, map->entries, sizeof(uint32_t)) &&
	       map_part_valid(bytes, map->leaves_offset, leaves, sizeof(uint64_t)) &&
	       map_part_valid(bytes, map->summary_offset, (leaves + 63) / 64,
			      sizeof(uint64_t));
}

static int cells_alloc(struct cell_table *cells, uint32_t count)
{
	cells->records = calloc(count, sizeof(*cells->records));
	cells->periods = calloc(count, sizeof(*cells->periods));
	cells->links = calloc(count, sizeof(*cells->links));
	if (!cells->records || !cells->periods || !cells->links)
		return -ENOMEM;
	while (count--)
		cells->links[count] = (uint64_t)count * sizeof(struct twheel_cell)
				      << TWHEEL_VIEW_OFFSET_SHIFT;
	return 0;
}

static void cells_free(struct cell_table *cells)
{
	free(cells->records);
	free(cells->periods);
	free(cells->links);
}

int cells_map(struct twheel *wheel, uint64_t bytes)
{
	struct cell_table *cells = &wheel->cells;
	struct twheel_map map;
	char *start;
	int ret;

	start = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, wheel->fd, 0);
	if (start == MAP_FAILED)
		return -errno;
	memcpy(&map, start, sizeof(map));
	ret = map_valid(&map, bytes) ? cells_alloc(cells, map.cells) : -EPROTO;
	if (ret) {
		cells_free(cells);
		munmap(start, bytes);
		return ret;
	}
	cells->map = (struct twheel_map *)start;
	cells->bytes = bytes;
	cells->events = (struct cell_event *)(start + map.events_offset);
	cells->ring = (uint32_t *)(start + map.ring_offset);
	cells->cells = (struct twheel_cell *)(start + map.cells_offset);
	cells->leaves = (struct cell_event *)(start + map.leaves_offset);
	cells->summary = (struct cell_event *)(start + map.summary_offset);
	cells->origin_ns = map.origin_ns;
	cells->count = map.cells;
	cells->mask = map.entries - 1;
	cells->tail = map.tail;
	view_init(wheel, &map);
	wheel->view.links = cells->links;
	return 0;
}

void cells_unmap(struct twheel *wheel)
{
	struct cell_table *cells = &wheel->cells;

	if (!cells->map)
		return;
	/* In a forked child, other memory may be there. */
	if (!handle_dead(wheel))
		munmap(cells->map, cells->bytes);
	cells_free(cells);
}
