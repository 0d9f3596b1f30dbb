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

static inline bool tw_word_pending(u64 word)
{
	return twheel_cell_state(word) == TWHEEL_CELL_PENDING;
}

/* The same word with another state, and other ticks. */
static inline u64 tw_word_change(u64 word, u32 state, u64 ticks)
{
	return twheel_cell_word(twheel_cell_generation(word), state, ticks);
}

/* A time in ticks since the origin, rounded down. */
static inline u64 tw_word_now(const struct tw_ring *ring, u64 now_ns)
{
	return div64_u64(now_ns, ring->tick_ns) - ring->origin;
}

/* A time in ticks since the origin, rounded up. */
static inline u64 tw_word_from_ns(const struct tw_ring *ring, u64 ns)
{
	u64 tick = div64_u64(ns + ring->tick_ns - 1, ring->tick_ns);

	return ns == TWHEEL_DELAY_NEVER ? TWHEEL_CELL_NEVER : tick - ring->origin;
}

/* Can a word that is written at @now, in ticks, say that a deadline is at @ticks? */
static inline bool tw_word_reaches(u64 ticks, u64 now)
{
	return ticks == TWHEEL_CELL_NEVER || (s64)(ticks - now) < (s64)TWHEEL_CELL_REACH;
}

/* What a word says at @now for a deadline at @ticks, which may have long passed. */
static inline u64 tw_word_recent(u64 ticks, u64 now)
{
	const s64 past = TWHEEL_CELL_PAST / 2;

	if (ticks != TWHEEL_CELL_NEVER && ((s64)ticks < 0 || (s64)(now - ticks) > past))
		return now;
	return ticks;
}

/* A period as the kernel keeps it: rounded up to ticks; or %TW_WORD_OUT_OF_REACH. */
static inline u64 tw_word_period(const struct tw_ring *ring, u64 ns)
{
	u64 ticks = div64_u64(ns + ring->tick_ns - 1, ring->tick_ns);

	return ticks < TWHEEL_CELL_REACH ? ticks * ring->tick_ns : TW_WORD_OUT_OF_REACH;
}

static inline u64 tw_word_to_ns(const struct tw_ring *ring, u64 ticks)
{
	u64 tick = ring->origin + ticks, ns;

	if (ticks == TWHEEL_CELL_NEVER)
		return TWHEEL_DELAY_NEVER;
	/* What a word says may be before the clock began. */
	if (unlikely((s64)tick < 0))
		return 0;
	if (check_mul_overflow(tick, ring->tick_ns, &ns))
		return TWHEEL_DELAY_NEVER;
	return min_t(u64, ns, TWHEEL_DELAY_NEVER);
}

#endif /* _TWHEEL_WORD_H */
