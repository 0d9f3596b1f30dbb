/* SPDX-License-Identifier: GPL-2.0-only */
/* Random numbers; the same seed gives the same numbers. */
#ifndef FUZZ_DICE_H
#define FUZZ_DICE_H

#include <stdbool.h>
#include <stdint.h>

/** struct dice - the state of a sequence of numbers */
struct dice {
	__u64 state;
};

/* A counter that is mixed (splitmix64): every state is good, neighbours differ widely. */
static inline __u64 dice_bits(struct dice *dice)
{
	__u64 x = dice->state += 0x9e3779b97f4a7c15ULL;

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
