// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/* The cells of a wheel: mapping them, and the one call of their protocol. */
#include <stdbool.h>
#include <sys/mman.h>

#include "twheel_device.h"

static bool cells_can_use(const struct twheel_map *map)
{
	return map->version == TWHEEL_MAP_VERSION && map->size >= sizeof(*map) && map->cells &&
	       map->tick_ns && map->cell_stride >= sizeof(struct twheel_cell);
}

int twheel_cells_map(struct twheel_cells *cells, int fd)
{
	struct twheel_info info;
	struct twheel_map *map;
	int ret;

	ret = twheel_device_info(fd, &info);
	if (ret)
		return ret;
	/* The lock of libatomic would not keep the kernel out. */
	if (!info.map_bytes || !__atomic_always_lock_free(8, 0))
		return -ENODEV;
	map = mmap(NULL, info.map_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (map == MAP_FAILED)
		return -errno;
	if (!cells_can_use(map)) {
		munmap(map, info.map_bytes);
		return -EPROTO;
	}
	*cells = (struct twheel_cells){
		.map = map,
		.cells = (char *)map + map->cells_offset,
		.bitmap = (void *)((char *)map + map->bitmap_offset),
		.summary = (void *)((char *)map + map->summary_offset),
		.wake = (void *)((char *)map + map->wake_offset),
		.tick_ns = map->tick_ns,
		.origin_ns = info.origin_ns,
		.count = map->cells,
		.stride = map->cell_stride,
		.fd = fd,
	};
	return 0;
}

int twheel_cells_kick(const struct twheel_cells *cells, uint32_t number)
{
	struct twheel_op op = { .op = TWHEEL_OP_KICK, .id = number };

	return twheel_device_op(cells->fd, &op);
}
