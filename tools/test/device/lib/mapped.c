// SPDX-License-Identifier: GPL-2.0-only
#include <sys/mman.h>
#include <unistd.h>

#include "device.h"
#include "mapped.h"
#include "tap.h"

static void map_file(struct mapped *m)
{
	char *start = mmap(NULL, m->bytes, PROT_READ | PROT_WRITE, MAP_SHARED, m->fd, 0);

	NEED(start != MAP_FAILED);
	m->map = (void *)start;
	m->stride = m->map->cell_stride;
	m->cells = start + m->map->cells_offset;
	m->bitmap = (void *)(start + m->map->bitmap_offset);
	m->summary = (void *)(start + m->map->summary_offset);
	m->wake = (void *)(start + m->map->wake_offset);
}

struct mapped map_open(const struct twheel_setup *setup)
{
	struct mapped m = { .fd = dev_open() };
	struct twheel_info info = dev_info(m.fd);

	close(m.fd);
	if (!(info.features & TWHEEL_FEATURE_CELLS))
		tap_skip("this kernel has no cells");
	m.fd = dev_open_setup(setup);
	info = dev_info(m.fd);
	m.bytes = info.map_bytes;
	m.tick_ns = info.tick_ns;
	m.origin_ns = info.origin_ns;
	m.count = info.max_cells;
	map_file(&m);
	return m;
}

struct mapped map_open_virtual(uint32_t cells)
{
	return map_open(&(struct twheel_setup) {
		.clock = TWHEEL_VIRTUAL, .tick_ns = MS, .max_cells = cells,
	});
}

struct mapped map_again(const struct mapped *m)
{
	struct mapped again = *m;

	map_file(&again);
	return again;
}

void map_close(const struct mapped *m)
{
	NEED(munmap(m->map, m->bytes) == 0);
	NEED(close(m->fd) == 0);
}

struct twheel_cell *map_cell(const struct mapped *m, uint32_t cell)
{
	return (void *)(m->cells + (size_t)cell * m->stride);
}

uint64_t map_now(const struct mapped *m)
{
	return (dev_info(m->fd).now_ns - m->origin_ns) / m->tick_ns;
}

uint64_t map_time(const struct mapped *m, uint64_t tick)
{
	return m->origin_ns + tick * m->tick_ns;
}

uint64_t map_advance(const struct mapped *m, uint64_t ticks)
{
	return (dev_advance(m->fd, ticks * m->tick_ns) - m->origin_ns) / m->tick_ns;
}

uint64_t map_id(uint32_t cell, uint64_t word)
{
	return (uint64_t)twheel_cell_generation(word) << 32 | cell;
}

static uint64_t word_of(uint64_t id, uint64_t tick)
{
	return twheel_cell_word(id >> 32, TWHEEL_CELL_PENDING, tick);
}

static void map_set_bit(__u64 *words, uint32_t bit)
{
	uint64_t mask = 1ULL << bit % 64;

	if (!(load(&words[bit / 64]) & mask))
		__atomic_fetch_or(&((struct map_word *)&words[bit / 64])->value, mask,
				  __ATOMIC_SEQ_CST);
}

/* What the protocol does after the compare-and-swap: tell the kernel if it has to know. */
static enum map_told map_tell(const struct mapped *m, uint32_t cell, uint64_t tick)
{
	if (map_check(m, cell) <= tick)
		return TOLD_BY_CHECK;
	map_set_bit(m->bitmap, cell);
	map_set_bit(m->summary, cell / 64);
	if (load(m->wake) <= tick)
		return TOLD_BY_WAKE;
	NEED(dev_kick(m->fd, cell) == 0);
	return TOLD_BY_KICK;
}

enum map_told map_arm(const struct mapped *m, uint32_t cell, uint64_t tick, uint64_t *id)
{
	uint64_t old = map_word(m, cell);
	uint64_t new = twheel_cell_word(twheel_cell_next_generation(old),
					TWHEEL_CELL_PENDING, tick);

	NEED(twheel_cell_state(old) != TWHEEL_CELL_PENDING);
	/* The kernel leaves a cell alone that is not pending. */
	NEED(cas(&map_cell(m, cell)->word, old, new));
	if (id)
		*id = map_id(cell, new);
	return map_tell(m, cell, tick);
}

/* Make a pending timer's word @to, or 0: cancelled; unless the timer is gone. */
static bool map_change(const struct mapped *m, uint64_t id, uint64_t to)
{
	__u64 *word = &map_cell(m, (uint32_t)id)->word;
	uint64_t old;

	do {
		old = load(word);
		if (twheel_cell_generation(old) != id >> 32 ||
		    twheel_cell_state(old) != TWHEEL_CELL_PENDING)
			return false;
	} while (!cas(word, old, to ? to : twheel_cell_cancelled(old)));
	return true;
}

bool map_extend(const struct mapped *m, uint64_t id, uint64_t tick)
{
	return map_change(m, id, word_of(id, tick));
}

bool map_move(const struct mapped *m, uint64_t id, uint64_t tick)
{
	if (!map_change(m, id, word_of(id, tick)))
		return false;
	map_tell(m, (uint32_t)id, tick);
	return true;
}

bool map_cancel(const struct mapped *m, uint64_t id)
{
	return map_change(m, id, 0);
}

static bool map_bit(const __u64 *words, uint32_t bit)
{
	return load(&words[bit / 64]) >> bit % 64 & 1;
}

bool map_promised(const struct mapped *m, uint32_t cell)
{
	uint64_t tick = twheel_cell_ticks(map_word(m, cell), map_now(m));

	return map_check(m, cell) <= tick ||
	       (map_bit(m->bitmap, cell) && map_bit(m->summary, cell / 64) &&
		load(m->wake) <= tick);
}

void map_check_event(const struct mapped *m, const struct twheel_event *event)
{
	NEED((uint32_t)event->id < m->count);
	CHECK_EQ(event->type, TWHEEL_EVENT_CELL);
	CHECK_EQ(event->flags, TWHEEL_EVENT_LAST);
	CHECK_EQ(event->count, 1);
	CHECK_EQ(event->cookie, 0);
	CHECK(event->now_ns >= event->deadline_ns);
}

void map_take(const struct mapped *m, uint64_t id, uint64_t tick)
{
	struct twheel_event event = dev_read(m->fd);
	uint64_t word = map_word(m, (uint32_t)id);

	map_check_event(m, &event);
	CHECK_EQ(event.id, id);
	CHECK_EQ(event.deadline_ns, map_time(m, tick));
	CHECK_EQ(twheel_cell_state(word), TWHEEL_CELL_FIRED);
	CHECK_EQ(twheel_cell_generation(word), id >> 32);
}
