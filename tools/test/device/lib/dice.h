/* SPDX-License-Identifier: GPL-2.0-only */
/* Random numbers that are the same in every run. */
#ifndef TEST_DICE_H
#define TEST_DICE_H

#include <stdint.h>

static inline uint32_t roll(uint32_t *seed)
{
	/* xorshift */
	*seed ^= *seed << 13;
	*seed ^= *seed >> 17;
	*seed ^= *seed << 5;
	return *seed;
}

#endif
