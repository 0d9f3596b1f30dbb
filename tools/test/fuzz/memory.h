/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Where a call's structure lies: in good memory, across the end of what is mapped, in
 * what is read-only, and worse.
 */
#ifndef FUZZ_MEMORY_H
#define FUZZ_MEMORY_H

#include <stdbool.h>
#include <stddef.h>

enum place {
	PLACE_GOOD,
	PLACE_UNALIGNED,
	/* The last byte of it is the last one that is mapped. */
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
	/* Of the two structures of a batch: where the other one is. */
	PLACE_OVERLAP,
	/* The last bytes that a program can have. */
	PLACE_TOP,
	NR_PLACES
};

/** struct memory - a thread's room for structures */
struct memory {
	char *start;
};

/* The room of a structure, and of an array. */
#define MEMORY_HEAD	(8 * 4096UL)
#define MEMORY_BODY	(32 * 4096UL)

void memory_init(struct memory *memory);
/* @array: the second of two structures of a call; @mapping: of the device, or NULL */
void *memory_at(const struct memory *memory, enum place place, size_t size,
		bool array, void *mapping);
/* From now on memory that is not there ends memory_try(), not the process. */
void memory_catch_faults(void);
bool memory_try(void (*function)(void *arg), void *arg);
/* Returns false if not all of it can be copied. */
bool memory_copy(void *to, const void *from, size_t size);

/* Can all of a structure be written there, and the call not fail for that? */
static inline bool memory_is_good(enum place place)
{
	return place <= PLACE_AT_END;
}

/* Can it not? Of others it depends. */
static inline bool memory_is_bad(enum place place)
{
	return place == PLACE_CUT || place == PLACE_NULL ||
	       place == PLACE_KERNEL || place == PLACE_NOWHERE ||
	       place == PLACE_TOP;
}

#endif
