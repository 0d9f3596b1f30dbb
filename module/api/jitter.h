/* SPDX-License-Identifier: GPL-2.0-only */
/* Jitter: those who failed together are not to come back together. */
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

#endif /* _TWHEEL_JITTER_H */
