/* SPDX-License-Identifier: GPL-2.0-only */
/* Words of cells: what they say, and the way from ticks to nanoseconds and back. */
#ifndef _TWHEEL_WORD_H
#define _TWHEEL_WORD_H

#include <linux/math64.h>
#include <linux/minmax.h>
#include <linux/overflow.h>
#include <linux/types.h>

#include <uapi/linux/twheel.h>

#include "ring.h"

/* How often the kernel tries again when a word changes between two instructions. */
#define TW_WORD_TRIES	8

/* What a word cannot say. */
#define TW_WORD_OUT_OF_REACH	(~0ULL)

static inline u32 tw_word_generation(u64 word)
{
	return word >> TWHEEL_CELL_GENERATION_SHIFT;
}

static inline bool tw_word_pending(u64 word)
{
	return (word >> TWHEEL_CELL_STATE_SHIFT & 3) == TWHEEL_CELL_PENDING;
}

/* The same word with another state, and other ticks. */
static inline u64 tw_word_change(u64 word, u32 state, u64 ticks)
{
	return twheel_cell_word(tw_word_generation(word), state, ticks);
}

/* The deadline in a word, in ticks since the origin. */
static inline u64 tw_word_ticks(u64 word)
{
	return word & TWHEEL_CELL_NEVER;
}

/* A time in ticks since the origin, rounded down. */
static inline u64 tw_word_now(const struct tw_ring *ring, u64 now_ns)
{
	return div64_u64(now_ns, ring->tick_ns) - ring->origin;
}

/* A deadline in ticks since the origin, rounded up; or %TW_WORD_OUT_OF_REACH. */
static inline u64 tw_word_from_ns(const struct tw_ring *ring, u64 ns)
{
	u64 tick = div64_u64(ns + ring->tick_ns - 1, ring->tick_ns);

	if (ns == TWHEEL_DELAY_NEVER)
		return TWHEEL_CELL_NEVER;
	if (tick < ring->origin)
		return 0;
	tick -= ring->origin;
	return tick < TWHEEL_CELL_NEVER ? tick : TW_WORD_OUT_OF_REACH;
}

/* A period as the kernel keeps it: rounded up to ticks; or %TW_WORD_OUT_OF_REACH. */
static inline u64 tw_word_period(const struct tw_ring *ring, u64 ns)
{
	u64 ticks = div64_u64(ns + ring->tick_ns - 1, ring->tick_ns);

	return ticks < TWHEEL_CELL_NEVER ? ticks * ring->tick_ns : TW_WORD_OUT_OF_REACH;
}

static inline u64 tw_word_to_ns(const struct tw_ring *ring, u64 ticks)
{
	u64 ns;

	if (ticks >= TWHEEL_CELL_NEVER ||
	    check_mul_overflow(ring->origin + ticks, ring->tick_ns, &ns))
		return TWHEEL_DELAY_NEVER;
	return min_t(u64, ns, TWHEEL_DELAY_NEVER);
}

#endif /* _TWHEEL_WORD_H */
