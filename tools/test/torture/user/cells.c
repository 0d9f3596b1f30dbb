// SPDX-License-Identifier: GPL-2.0-only
/*
 * Cells: each is used by one worker, and words of the bitmap by workers of all processes. The
 * kernel changes a word only to say that the cell has fired. So what a worker finds there is
 * what it wrote, or that with the other state.
 */
#include <fcntl.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "books.h"

#define NR_MINE		5000
#define NR_ALL		(NR_PROCESSES * NR_WORKERS * NR_MINE)
/* Operations between two looks at the clock: a deadline is then a little nearer. */
#define BURST		64
/* In ticks, of a millisecond: an hour. */
#define FAR		3600000

/**
 * struct cell - the books of a cell
 * @word: what its worker wrote last
 * @ticks: its deadline, if it is pending
 * @fired: how often its worker has seen that it has fired; @taken: how many events came
 */
static struct cell {
	uint64_t word;
	uint64_t ticks;
	bool pending;
	unsigned int fired;
	atomic_uint taken;
} *cells;

static struct sums {
	atomic_ulong armed, cancelled, fired, kicked;
} *sums;

static int fd;
static char *start;
static uint64_t origin_ns, map_bytes;
static const struct twheel_map *map;

int cells_fd(void)
{
	return fd;
}

bool cells_open(void)
{
	struct twheel_setup setup = { .tick_ns = NS_PER_MS, .max_cells = NR_ALL };
	struct twheel_info info;

	fd = open("/dev/twheel", O_RDWR | O_CLOEXEC);
	if (fd < 0 || ioctl(fd, TWHEEL_IOC_SETUP, &setup) || ioctl(fd, TWHEEL_IOC_INFO, &info))
		return false;
	origin_ns = info.origin_ns;
	map_bytes = info.map_bytes;
	cells = memory_shared(NR_ALL * sizeof(*cells));
	sums = memory_shared(sizeof(*sums));
	return true;
}

void cells_map(void)
{
	start = mmap(NULL, map_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (start == MAP_FAILED) {
		perror("mmap");
		_exit(1);
	}
	map = (void *)start;
}

static struct twheel_cell *cell_of(uint32_t number)
{
	return (void *)(start + map->cells_offset + (uint64_t)number * map->cell_stride);
}

static uint64_t ticks_now(void)
{
	return (now_of(TWHEEL_MONOTONIC) - origin_ns) / NS_PER_MS;
}

static uint64_t load(const __u64 *word)
{
	return __atomic_load_n(word, __ATOMIC_SEQ_CST);
}

static void bit_set(uint64_t offset, uint32_t bit)
{
	__u64 *word = (__u64 *)(start + offset) + bit / 64, mask = 1ULL << bit % 64;

	if (!(load(word) & mask))
		__atomic_fetch_or(word, mask, __ATOMIC_SEQ_CST);
}

/* The deadline may be nearer than the kernel knows: see the header of the ABI. */
static void cell_tell(uint32_t number, uint64_t ticks)
{
	struct twheel_op op = { .op = TWHEEL_OP_KICK, .id = number };
	long ret;

	if (load(&cell_of(number)->check) <= ticks)
		return;
	bit_set(map->bitmap_offset, number);
	bit_set(map->summary_offset, number / 64);
	if (load((__u64 *)(start + map->wake_offset)) <= ticks)
		return;
	sums->kicked++;
	ret = op_do(fd, &op);
	if (ret)
		failure_report(FAILURE_ANSWER, "kick", ret, number);
}

/* Check that it has fired for its last deadline, and not before that. */
static bool cell_has_fired(struct cell *cell)
{
	uint64_t word = load(&cell_of(cell - cells)->word);

	if (word == cell->word)
		return false;
	if (word != (cell->word | (uint64_t)TWHEEL_CELL_FIRED << TWHEEL_CELL_STATE_SHIFT))
		failure_report(FAILURE_BOOKS, "a word that nobody wrote", word, cell->word);
	if (ticks_now() < cell->ticks)
		failure_report(FAILURE_EARLY, "a cell", cell->ticks, cell - cells);
	cell->pending = false;
	cell->fired++;
	sums->fired++;
	return true;
}

/* Change its word. If that fails, it has fired. */
static bool cell_change(struct cell *cell, uint64_t new, uint64_t ticks)
{
	__u64 old = load(&cell_of(cell - cells)->word);

	if (cell->pending && old != cell->word) {
		cell_has_fired(cell);
		return false;
	}
	/* Before the kernel can see it: an event may come at once. */
	if (!__atomic_compare_exchange_n(&cell_of(cell - cells)->word, &old, new, false,
					 __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)) {
		if (!cell->pending || !cell_has_fired(cell))
			failure_report(FAILURE_BOOKS, "a compare-and-swap failed", old, new);
		return false;
	}
	cell->word = new;
	cell->ticks = ticks;
	return true;
}

static void cell_operate(struct cell *cell, uint64_t now, uint32_t *seed)
{
	uint32_t dice = random_next(seed), generation = twheel_cell_generation(cell->word);
	/* Near ones more often, so that sweeps race with everything. */
	uint64_t ticks = now + 1 + (dice % 8 ? (dice >> 8) % (2U << (dice >> 4) % 8) : FAR);
	uint64_t before = cell->ticks;

	if (cell->pending && random_next(seed) % 4 == 0) {
		if (cell_change(cell, twheel_cell_word(generation, TWHEEL_CELL_CANCELLED, 0), 0)) {
			cell->pending = false;
			sums->cancelled++;
		}
		return;
	}
	if (!cell->pending) {
		generation = twheel_cell_next_generation(load(&cell_of(cell - cells)->word));
		before = TWHEEL_CELL_NEVER;
	}
	if (!cell_change(cell, twheel_cell_word(generation, TWHEEL_CELL_PENDING, ticks), ticks))
		return;
	sums->armed += !cell->pending;
	cell->pending = true;
	if (ticks < before)
		cell_tell(cell - cells, ticks);
}

void cells_operate(unsigned int worker, uint32_t *seed)
{
	uint64_t now = ticks_now();
	unsigned int i;

	for (i = 0; i < BURST; i++)
		cell_operate(&cells[worker * NR_MINE + random_next(seed) % NR_MINE], now, seed);
	books->operations += BURST;
}

void cells_take(const struct twheel_event *event)
{
	uint32_t number = event->id;

	if (event->type != TWHEEL_EVENT_CELL || number >= NR_ALL) {
		failure_report(FAILURE_ANSWER, "an event that is not a cell's", event->id, 0);
		return;
	}
	if (event->now_ns < event->deadline_ns)
		failure_report(FAILURE_EARLY, "the event of a cell", event->deadline_ns,
			       event->now_ns);
	cells[number].taken++;
}

static bool cell_is_over(const void *what)
{
	struct cell *cell = (struct cell *)what;

	return (!cell->pending || cell_has_fired(cell)) && cell->taken >= cell->fired;
}

void cells_audit(void)
{
	unsigned int i;

	cells_map();
	for (i = 0; i < NR_ALL; i++) {
		struct cell *cell = &cells[i];

		if (cell->pending && cell->ticks > ticks_now() + FAR / 2 &&
		    cell_change(cell, twheel_cell_word(0, TWHEEL_CELL_CANCELLED, 0), 0)) {
			cell->pending = false;
			sums->cancelled++;
		}
		if (!wait_for(cell_is_over, cell))
			failure_report(FAILURE_LOST, "no event of a cell", i, cell->fired);
		if (cell->taken > cell->fired)
			failure_report(FAILURE_TWICE, "events of a cell", cell->taken, cell->fired);
	}
	if (sums->armed != sums->cancelled + sums->fired)
		failure_report(FAILURE_BOOKS, "cells: armed is not cancelled and fired",
			       sums->armed, sums->cancelled + sums->fired);
	printf("cells: %lu armed, %lu kicks, %lu cancelled, %lu fired\n", sums->armed,
	       sums->kicked, sums->cancelled, sums->fired);
}
