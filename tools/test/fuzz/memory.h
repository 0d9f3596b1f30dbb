/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Where the structure of a call lies: in good memory, across the end of a mapping, in
 * read-only memory, and worse.
 */
#ifndef FUZZ_MEMORY_H
#define FUZZ_MEMORY_H

#include <stdbool.h>
#include <stddef.h>

enum place {
	PLACE_GOOD,
	PLACE_UNALIGNED,
	/* Its last byte is the last mapped one. */
	PLACE_AT_END,
	/* The second half is not mapped. */
	PLACE_CUT,
	PLACE_READ_ONLY,
	PLACE_NULL,
	PLACE_KERNEL,
	PLACE_NOWHERE,
	/* The first half is read-only. */
	PLACE_HALF_READ_ONLY,
	/* In the mapping of the device, if there is one. */
	PLACE_MAPPING,
	/* Of the two structures of a batch: on the other one. */
	PLACE_OVERLAP,
	/* The last bytes of the address space. */
	PLACE_TOP,
	NR_PLACES
};

/** struct memory - a thread's memory for structures */
struct memory {
	char *start;
};

/* The size of the part for structures, and of the part for arrays. */
#define MEMORY_HEAD	(8 * 4096UL)
#define MEMORY_BODY	(32 * 4096UL)

void memory_init(struct memory *memory);
/* @array: it is the second structure of a call; @mapping: of the device, or NULL */
void *memory_at(const struct memory *memory, enum place place, size_t size,
		bool array, void *mapping);
/* From now on a fault ends memory_try(), not the process. */
void memory_catch_faults(void);
bool memory_try(void (*function)(void *arg), void *arg);
/* Returns false if not all of it can be copied. */
bool memory_copy(void *to, const void *from, size_t size);

/* All of a structure can be read and written there. */
static inline bool memory_is_good(enum place place)
{
	return place <= PLACE_AT_END;
}

/* None of it can. With the other places it depends on the call. */
static inline bool memory_is_bad(enum place place)
{
	return place == PLACE_CUT || place == PLACE_NULL ||
	       place == PLACE_KERNEL || place == PLACE_NOWHERE ||
	       place == PLACE_TOP;
}

#endif
