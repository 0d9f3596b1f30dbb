// SPDX-License-Identifier: GPL-2.0-only
/* Programs that write anything into the mapping. They hurt themselves, and nobody else. */
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

#include "lib/device.h"
#include "lib/dice.h"
#include "lib/mapped.h"
#include "lib/tap.h"

#define CELLS	100

static struct mapped m;
static atomic_bool vandals_over;

/* Something plausible, or nonsense. */
static uint64_t vandal_value(uint32_t *seed, uint64_t old)
{
	switch (roll(seed) % 6) {
	case 0:
		return old ^ 1ULL << roll(seed) % 64;
	case 1:
		return twheel_cell_word(roll(seed) % 16, TWHEEL_CELL_PENDING,
					map_now(&m) + roll(seed) % 64);
	case 2:
		return twheel_cell_word(roll(seed), roll(seed) % 4, roll(seed) % 16384 - 8192);
	case 3:
		return 0;
	case 4:
		return ~0ULL;
	default:
		return (uint64_t)roll(seed) << 32 | roll(seed);
	}
}

/* Any word of the mapping, those of cells and of bitmaps more often. */
static void *vandal_run(void *arg)
{
	__u64 *words = (void *)m.map, *firsts[2] = { &map_cell(&m, 0)->word, m.bitmap };
	uint32_t seed = (uintptr_t)arg;

	while (!vandals_over) {
		__u64 *word = words + roll(&seed) % (m.bytes / 8);
		uint32_t kind = roll(&seed) % 4;

		if (kind < 2)
			word = firsts[kind % 2] + roll(&seed) % (kind ? 4 : 2 * CELLS);
		store(word, vandal_value(&seed, load(word)));
	}
	return arg;
}

/* Records that a reader gets are whole and possible, whatever is in the mapping. */
static void events_read(uint32_t *seed)
{
	struct twheel_event events[16];
	long n = read(m.fd, events, (1 + roll(seed) % 16) * sizeof(*events)), i;

	if (n < 0) {
		NEED(errno == EAGAIN);
		return;
	}
	for (i = 0; i < n / (long)sizeof(*events); i++) {
		NEED((uint32_t)events[i].id < CELLS);
		NEED(events[i].id >> 32 < TWHEEL_CELL_GENERATIONS);
		CHECK_EQ(events[i].type, TWHEEL_EVENT_CELL);
		CHECK_EQ(events[i].count, 1);
		CHECK_EQ(events[i].flags, TWHEEL_EVENT_LAST);
	}
}

/* Another file of the same program keeps its time. */
static void other_works(int other, int turn)
{
	dev_arm(other, 5 * MS, turn);
	dev_advance(other, 5 * MS - 1);
	dev_silent(other);
	dev_advance(other, 1);
	CHECK_EQ(dev_read(other).cookie, turn);
}

/* A file whose words make sense again works again. */
static void cells_work_again(void)
{
	uint64_t now, left = CELLS, i;
	bool fired[CELLS] = { };

	for (i = 0; i < CELLS; i++)
		store(&map_cell(&m, i)->word, twheel_cell_word(7, TWHEEL_CELL_CANCELLED, 0));
	now = map_now(&m);
	for (i = 0; i < CELLS; i++) {
		/* What the mapping says of checks and sweeps is still nonsense. */
		map_arm(&m, i, now + HOUR / MS + i, NULL);
		NEED(dev_kick(m.fd, i) == 0);
	}
	/* Timers that were far may be as far as that. */
	map_advance(&m, HOUR / MS + CELLS);
	while (left) {
		struct twheel_event event = dev_read(m.fd);
		uint32_t cell = event.id;

		map_check_event(&m, &event);
		NEED(event.id >> 32 == 8 && !fired[cell]);
		CHECK_EQ(event.deadline_ns, map_time(&m, now + HOUR / MS + cell));
		fired[cell] = true;
		left--;
	}
	dev_silent(m.fd);
	CHECK_EQ(dev_stat(m.fd, "cells"), 0);
}

static void vandals(uint32_t clock)
{
	struct twheel_setup setup = { .clock = clock, .max_cells = CELLS };
	int other = dev_open_virtual(), turn;
	pthread_t threads[2];
	uint32_t seed = 1;
	uintptr_t i;

	m = map_open(&setup);
	vandals_over = false;
	for (i = 0; i < 2; i++)
		NEED(!pthread_create(&threads[i], NULL, vandal_run, (void *)(i + 1)));
	for (turn = 0; turn < 8000; turn++) {
		if (clock == TWHEEL_VIRTUAL)
			map_advance(&m, roll(&seed) % 64);
		NEED(dev_kick(m.fd, roll(&seed) % CELLS) == 0);
		dev_readable(m.fd, 0);
		events_read(&seed);
		if (turn % 200 == 0)
			other_works(other, turn);
	}
	CHECK(dev_stat(m.fd, "cells") <= CELLS);
	vandals_over = true;
	for (i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
}

TEST(vandals_in_virtual_time)
{
	vandals(TWHEEL_VIRTUAL);
	cells_work_again();
	map_close(&m);
}

/* Here alarms go off as well. */
TEST(vandals_in_real_time)
{
	vandals(TWHEEL_MONOTONIC);
	map_close(&m);
}

/* Bits without timers behind them, and bits behind the last cell, cost a sweep. */
TEST(bits_without_timers)
{
	struct mapped mapped = map_open_virtual(CELLS);
	uint64_t now = map_now(&mapped), id;

	m = mapped;
	store(&m.bitmap[0], ~0ULL);
	store(&m.bitmap[1], ~0ULL);
	store(m.summary, ~0ULL);
	NEED(map_arm(&m, 5, now + 9, &id) == TOLD_BY_KICK);
	map_advance(&m, 9);
	map_take(&m, id, now + 9);
	CHECK_EQ(load(&m.bitmap[0]) | load(&m.bitmap[1]) | load(m.summary), 0);
	dev_silent(m.fd);
}
