/* SPDX-License-Identifier: GPL-2.0-only */
/* Cells, used as <linux/twheel.h> describes it, without libtwheel. */
#ifndef TEST_MAPPED_H
#define TEST_MAPPED_H

#include <stdbool.h>
#include <stdint.h>

#include <linux/twheel.h>

/**
 * struct mapped - a file with cells, and its mapping
 * @fd: the file, which does not block
 * @map: the mapping
 * @bytes: its size
 * @tick_ns: the tick
 * @origin_ns: the time from which ticks count
 * @count: how many cells there are
 * @stride: from one cell to the next, in bytes
 * @cells: the first cell
 * @bitmap: a bit for each cell: it is submitted
 * @summary: a bit for each word of @bitmap
 * @wake: the latest tick of the next sweep
 */
struct mapped {
	int fd;
	struct twheel_map *map;
	uint64_t bytes;
	uint64_t tick_ns;
	uint64_t origin_ns;
	uint32_t count;
	uint32_t stride;
	char *cells;
	__u64 *bitmap;
	__u64 *summary;
	__u64 *wake;
};

/* Open, set up and map a file. Skips the test where there are no cells. */
struct mapped map_open(const struct twheel_setup *setup);
/* The same on a virtual clock, with a tick of a millisecond. */
struct mapped map_open_virtual(uint32_t cells);
/* Map it once more, for a process that has not inherited the mapping. */
struct mapped map_again(const struct mapped *m);
void map_close(const struct mapped *m);

struct twheel_cell *map_cell(const struct mapped *m, uint32_t cell);

/* Ticks that have passed, and the time of a tick. */
uint64_t map_now(const struct mapped *m);
uint64_t map_time(const struct mapped *m, uint64_t tick);
/* Set the virtual clock forward by so many ticks. Returns the tick. */
uint64_t map_advance(const struct mapped *m, uint64_t ticks);

/* How the kernel comes to know of a deadline. */
enum map_told {
	TOLD_BY_CHECK,	/* it will check the cell in time */
	TOLD_BY_WAKE,	/* a sweep that is in time will find the cell */
	TOLD_BY_KICK,
};

/* The identifier that the event of a timer in a cell has. */
uint64_t map_id(uint32_t cell, uint64_t word);
/* Arm a cell, which is not pending. Sets @id unless it is NULL. */
enum map_told map_arm(const struct mapped *m, uint32_t cell, uint64_t tick, uint64_t *id);
/* Move a timer to a later deadline. These return false if it is gone. */
bool map_extend(const struct mapped *m, uint64_t id, uint64_t tick);
/* Move it to any deadline. */
bool map_move(const struct mapped *m, uint64_t id, uint64_t tick);
bool map_cancel(const struct mapped *m, uint64_t id);

/* Will the kernel check this pending cell in time? That holds when no operation is under way. */
bool map_promised(const struct mapped *m, uint32_t cell);

/* Take the next event, and check that it is of this timer and this deadline. */
void map_take(const struct mapped *m, uint64_t id, uint64_t tick);
/* Check what does not depend on which timer it is. */
void map_check_event(const struct mapped *m, const struct twheel_event *event);

/* The words of a mapping are aligned, which a pointer to __u64 alone does not say. */
struct map_word {
	__aligned_u64 value;
};

static inline uint64_t load(const __u64 *word)
{
	return __atomic_load_n(&((const struct map_word *)word)->value, __ATOMIC_SEQ_CST);
}

static inline void store(__u64 *word, uint64_t value)
{
	__atomic_store_n(&((struct map_word *)word)->value, value, __ATOMIC_SEQ_CST);
}

static inline bool cas(__u64 *word, uint64_t old, uint64_t new)
{
	__u64 expected = old;

	return __atomic_compare_exchange_n(&((struct map_word *)word)->value, &expected, new,
					   false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
}

static inline uint64_t map_word(const struct mapped *m, uint32_t cell)
{
	return load(&map_cell(m, cell)->word);
}

static inline uint64_t map_check(const struct mapped *m, uint32_t cell)
{
	return load(&map_cell(m, cell)->check);
}

static inline uint32_t map_state(const struct mapped *m, uint32_t cell)
{
	return twheel_cell_state(map_word(m, cell));
}

#endif
