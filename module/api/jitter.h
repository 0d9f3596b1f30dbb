/* SPDX-License-Identifier: GPL-2.0-only */
/* Jitter: clients that failed together should not come back together. */
#ifndef _TWHEEL_JITTER_H
#define _TWHEEL_JITTER_H

#include <linux/math64.h>
#include <linux/types.h>

/*
 * tw_jitter() - by how much a delay is shorter
 * @percent: at most so much of it, up to 100
 * @random: 64 random bits
 */
static inline u64 tw_jitter(u64 delay, unsigned int percent, u64 random)
{
	u64 most = mul_u64_u32_div(delay, percent, 100);

	return mul_u64_u64_shr(random, most + 1, 64);
}

/*
 * tw_jitter_mix() - 64 random bits from a counter that grows by %TW_JITTER_STEP
 *
 * The generator SplitMix64: every counter gives other bits, which look independent. It
 * needs no lock, and so may run anywhere; jitter needs nothing that is hard to guess.
 * (G. Steele, D. Lea, C. Flood, "Fast Splittable Pseudorandom Number Generators",
 * OOPSLA 2014.)
 */
static inline u64 tw_jitter_mix(u64 counter)
{
	counter = (counter ^ (counter >> 30)) * 0xbf58476d1ce4e5b9ULL;
	counter = (counter ^ (counter >> 27)) * 0x94d049bb133111ebULL;
	return counter ^ (counter >> 31);
}

#define TW_JITTER_STEP	0x9e3779b97f4a7c15ULL

#endif /* _TWHEEL_JITTER_H */
