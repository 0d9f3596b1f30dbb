/* SPDX-License-Identifier: GPL-2.0-only */
/* Random numbers that are the same for the same seed. */
#ifndef FUZZ_DICE_H
#define FUZZ_DICE_H

#include <stdbool.h>
#include <stdint.h>

/** struct dice - where a row of numbers stands */
struct dice {
	uint64_t state;
};

/* A counter that is stirred: every state is good, neighbours have nothing in common. */
static inline uint64_t dice_bits(struct dice *dice)
{
	uint64_t x = dice->state += 0x9e3779b97f4a7c15ULL;

	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ULL;
	x = (x ^ x >> 27) * 0x94d049bb133111ebULL;
	return x ^ x >> 31;
}

/* From 0 to @sides - 1. */
static inline uint32_t dice_roll(struct dice *dice, uint32_t sides)
{
	return (dice_bits(dice) >> 32) * sides >> 32;
}

static inline bool dice_once_in(struct dice *dice, uint32_t sides)
{
	return !dice_roll(dice, sides);
}

#endif
