/* SPDX-License-Identifier: GPL-2.0-only */
/* Random numbers that are the same in every run. */
#ifndef TWHEEL_CHANCE_H
#define TWHEEL_CHANCE_H

#include <stdint.h>

/* splitmix64 */
static inline uint64_t chance_roll(uint64_t *seed)
{
	uint64_t z = *seed += 0x9e3779b97f4a7c15ULL;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
	return z ^ (z >> 31);
}

#endif
