// SPDX-License-Identifier: GPL-2.0-only
#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "books.h"
#include "mapping.h"

bool mapping_open(struct mapping *mapping, uint32_t flags, uint32_t timers)
{
	struct twheel_setup setup = {
		.clockid = CLOCK_MONOTONIC, .flags = flags, .max_timers = timers,
	};
	struct twheel_info info = { };
	char *start;
	int fd;

	fd = open("/dev/twheel", O_RDWR | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0 || ioctl(fd, TWHEEL_IOC_SETUP, &setup) ||
	    ioctl(fd, TWHEEL_IOC_INFO, &info))
		return false;
	start = mmap(NULL, info.map_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (start == MAP_FAILED)
		return false;
	mapping->fd = fd;
	mapping->timers = timers;
	mapping->map = (void *)start;
	mapping->cells = (void *)(start + mapping->map->cells_offset);
	mapping->events = (void *)(start + mapping->map->events_offset);
	mapping->leaves = (void *)(start + mapping->map->leaves_offset);
	mapping->summary = (void *)(start + mapping->map->summary_offset);
	mapping->ring = (void *)(start + mapping->map->ring_offset);
	return true;
}

uint64_t mapping_ticks_now(const struct mapping *mapping)
{
	return (now_of(CLOCK_MONOTONIC) - mapping->map->origin_ns) / mapping->map->tick_ns;
}

/* Take the event that is next in the ring. */
static void mapping_take(const struct mapping *mapping,
			 void (*take)(uint32_t cell, uint64_t event))
{
	uint32_t tail = mapping->map->tail, cell;
	uint64_t event;

	cell = mapping->ring[tail & (mapping->map->entries - 1)] % mapping->timers;
	__atomic_store_n(&mapping->map->tail, tail + 1, __ATOMIC_SEQ_CST);
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	event = __atomic_exchange_n(&mapping->events[cell], 0, __ATOMIC_SEQ_CST);
	/* Otherwise it was revoked. */
	if ((uint32_t)event)
		take(cell, event);
}

void mapping_read(const struct mapping *mapping, void (*take)(uint32_t cell, uint64_t event))
{
	while (!done) {
		if (mapping->map->tail == __atomic_load_n(&mapping->map->head, __ATOMIC_ACQUIRE))
			usleep(500);
		else
			mapping_take(mapping, take);
	}
}
