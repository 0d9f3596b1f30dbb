// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <sys/mman.h>
#include <time.h>

#include "device.h"
#include "mapped.h"
#include "tap.h"

static struct mapped map_setup(uint32_t cells, uint32_t flags, uint64_t tick_ns)
{
	struct twheel_setup setup = {
		.clockid = CLOCK_MONOTONIC, .flags = flags,
		.max_timers = cells, .tick_ns = tick_ns,
	};
	struct mapped m = { .fd = dev_open_flags(O_NONBLOCK) };

	if (!(dev_info(m.fd).features & TWHEEL_FEATURE_CELLS))
		tap_skip("no shared mapping on this machine");
	NEED(ioctl(m.fd, TWHEEL_IOC_SETUP, &setup) == 0);
	m.bytes = dev_info(m.fd).map_bytes;
	m.start = mmap(NULL, m.bytes, PROT_READ | PROT_WRITE, MAP_SHARED, m.fd,
		       0);
	NEED(m.start != MAP_FAILED);
	m.map = (void *)m.start;
	m.cells = (void *)(m.start + m.map->cells_offset);
	m.events = (void *)(m.start + m.map->events_offset);
	m.ring = (void *)(m.start + m.map->ring_offset);
	m.leaves = (void *)(m.start + m.map->leaves_offset);
	m.summary = (void *)(m.start + m.map->summary_offset);
	return m;
}

struct mapped map_cells(uint32_t cells)
{
	return map_setup(cells, TWHEEL_SETUP_CELLS, 0);
}

struct mapped map_cells_of(uint32_t cells, uint64_t tick_ns)
{
	return map_setup(cells, TWHEEL_SETUP_CELLS, tick_ns);
}

struct mapped map_submit(uint32_t cells)
{
	return map_setup(cells, TWHEEL_SETUP_CELLS | TWHEEL_SETUP_SUBMIT, 0);
}

static void map_set_bit(__u64 *words, uint32_t bit)
{
	uint64_t mask = 1ULL << bit % 64;

	if (!(load(&words[bit / 64]) & mask))
		__atomic_fetch_or(&((struct map_word *)&words[bit / 64])->value, mask,
				  __ATOMIC_SEQ_CST);
}

uint64_t ticks_of(const struct mapped *m, uint64_t word)
{
	return twheel_cell_ticks(word, (dev_now(CLOCK_MONOTONIC) - m->map->origin_ns) /
				       m->map->tick_ns);
}

/* The deadline may be nearer than the kernel knows. */
static enum map_told map_tell(const struct mapped *m, uint64_t id, uint64_t ticks)
{
	uint32_t cell = id;

	if (load(&m->cells[cell].look) <= ticks)
		return TOLD_BY_LOOK;
	map_set_bit(m->leaves, cell);
	map_set_bit(m->summary, cell / 64);
	if (load(&m->map->wake) <= ticks)
		return TOLD_BY_WAKE;
	/* It may have fired, or been cancelled by another thread. */
	CHECK(!map_kick(m, id) || errno == ENOENT);
	return TOLD_BY_KICK;
}

enum map_told map_arm_at(const struct mapped *m, uint32_t cell, uint64_t ticks, uint64_t *id)
{
	uint64_t old = load(&m->cells[cell].word);

	*id = (uint64_t)twheel_cell_next_generation(old) << 32 | cell;
	NEED(twheel_cell_state(old) != TWHEEL_CELL_PENDING);
	NEED(cas(&m->cells[cell].word, old, word_of(*id, TWHEEL_CELL_PENDING, ticks)));
	return map_tell(m, *id, ticks);
}

/* Change the word of a timer. Returns what it was; 0: the timer is gone. */
static uint64_t map_change(const struct mapped *m, uint64_t id, uint32_t state,
			   uint64_t ticks)
{
	__u64 *word = &m->cells[(uint32_t)id].word;
	uint64_t old;

	do {
		old = load(word);
		if (twheel_cell_generation(old) != id >> 32 ||
		    twheel_cell_state(old) != TWHEEL_CELL_PENDING)
			return 0;
	} while (!cas(word, old, word_of(id, state, ticks)));
	return old;
}

bool map_move(const struct mapped *m, uint64_t id, uint64_t ticks)
{
	uint64_t old = map_change(m, id, TWHEEL_CELL_PENDING, ticks);

	if (old && ticks < ticks_of(m, old))
		map_tell(m, id, ticks);
	return old;
}

bool map_cancel(const struct mapped *m, uint64_t id)
{
	return map_change(m, id, TWHEEL_CELL_CANCELLED, 0);
}

static uint64_t map_ticks_at(const struct mapped *m, uint64_t ns)
{
	return (ns - m->map->origin_ns + m->map->tick_ns - 1) / m->map->tick_ns;
}

uint64_t ticks_in(const struct mapped *m, uint64_t delay_ns)
{
	return map_ticks_at(m, dev_now(CLOCK_MONOTONIC) + delay_ns);
}

uint64_t map_arm(const struct mapped *m, uint32_t cell, uint64_t delay_ns)
{
	struct twheel_op op = { .id = cell, .deadline_ns = delay_ns };

	dev_arm_op(m->fd, &op);
	/* The cell has the generation, even if the timer has fired. */
	CHECK_EQ(op.id, (uint64_t)twheel_cell_generation(load(&m->cells[cell].word)) <<
		 32 | cell);
	return op.id;
}

int map_kick(const struct mapped *m, uint64_t id)
{
	struct twheel_op op = { .id = id };

	return ioctl(m->fd, TWHEEL_IOC_KICK, &op);
}

bool map_take(const struct mapped *m, uint32_t *cell, uint64_t *event)
{
	uint32_t tail = m->map->tail;

	if (tail == __atomic_load_n(&m->map->head, __ATOMIC_ACQUIRE))
		return false;
	*cell = m->ring[tail & (m->map->entries - 1)];
	__atomic_store_n(&m->map->tail, tail + 1, __ATOMIC_SEQ_CST);
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	*event = exchange(&m->events[*cell], 0);
	return true;
}

void map_take_one(const struct mapped *m, uint64_t id, uint32_t count)
{
	uint64_t event;
	uint32_t cell;

	NEED(dev_readable(m->fd, 60000) == 1);
	NEED(map_take(m, &cell, &event));
	CHECK_EQ(cell, (uint32_t)id);
	CHECK_EQ(event >> 32, id >> 32);
	CHECK_EQ((uint32_t)event, count);
}
