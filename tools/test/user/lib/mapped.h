/* SPDX-License-Identifier: GPL-2.0-only */
/* The shared mapping, used without libtwheel. */
#ifndef TEST_MAPPED_H
#define TEST_MAPPED_H

#include <stdbool.h>
#include <stdint.h>

#include <linux/twheel.h>

struct mapped {
	int fd;
	char *start;
	struct twheel_map *map;
	struct twheel_cell *cells;
	__u64 *events;
	uint32_t *ring;
	__u64 *leaves;
	__u64 *summary;
	uint64_t bytes;
};

/* Open and map a file with so many cells. Skips the test where that is not possible. */
struct mapped map_cells(uint32_t cells);
struct mapped map_cells_of(uint32_t cells, uint64_t tick_ns);

/* The same, and the program arms cells itself. */
struct mapped map_submit(uint32_t cells);

/* How the kernel came to know of a timer that was armed in the mapping. */
enum map_told {
	TOLD_BY_LOOK,	/* the cell has a look that is in time */
	TOLD_BY_WAKE,	/* a sweep that is in time will find it */
	TOLD_BY_KICK,
};

/* Arm a cell without a call, for a tick. Sets the identifier. The cell has no timer. */
enum map_told map_arm_at(const struct mapped *m, uint32_t cell, uint64_t ticks, uint64_t *id);
/* Another deadline for its timer. False if that is gone. */
bool map_move(const struct mapped *m, uint64_t id, uint64_t ticks);
/* Cancel it. False if it is gone. */
bool map_cancel(const struct mapped *m, uint64_t id);

/* Arm a cell for a delay. Returns the identifier. */
uint64_t map_arm(const struct mapped *m, uint32_t cell, uint64_t delay_ns);
int map_kick(const struct mapped *m, uint64_t id);
/* Take an event; false if there is none. */
bool map_take(const struct mapped *m, uint32_t *cell, uint64_t *event);
/* Take the next event, which has to be of this timer and count so many expiries. */
void map_take_one(const struct mapped *m, uint64_t id, uint32_t count);

uint64_t ticks_in(const struct mapped *m, uint64_t delay_ns);

/* The words of a mapping are aligned, which a pointer to __u64 alone does not say. */
struct map_word {
	__aligned_u64 value;
};

static inline uint64_t load(const __u64 *word)
{
	return __atomic_load_n(&((const struct map_word *)word)->value,
			       __ATOMIC_SEQ_CST);
}

static inline bool cas(__u64 *word, __u64 old, uint64_t new)
{
	return __atomic_compare_exchange_n(&((struct map_word *)word)->value,
					   &old, new, false, __ATOMIC_SEQ_CST,
					   __ATOMIC_SEQ_CST);
}

static inline uint64_t exchange(__u64 *word, uint64_t new)
{
	return __atomic_exchange_n(&((struct map_word *)word)->value, new,
				   __ATOMIC_SEQ_CST);
}

static inline uint64_t ns_at(const struct mapped *m, uint64_t ticks)
{
	return m->map->origin_ns + ticks * m->map->tick_ns;
}

/* The deadline of a word that was written a short while ago, in ticks, and its time. */
uint64_t ticks_of(const struct mapped *m, uint64_t word);

static inline uint64_t ns_of(const struct mapped *m, uint64_t word)
{
	return ns_at(m, ticks_of(m, word));
}

static inline uint64_t word_of(uint64_t id, uint32_t state, uint64_t ticks)
{
	return twheel_cell_word(id >> 32, state, ticks);
}

#endif
