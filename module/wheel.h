/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The engine: a hierarchical hashed timing wheel, and nothing else.
 *
 * No clock and no lock in here. Time is an argument, in ticks, and the caller
 * serialises every call on one wheel (the deadline words of the timers alone may
 * grow at any moment, see twheel_extend_at()).
 */
#ifndef _TWHEEL_WHEEL_H
#define _TWHEEL_WHEEL_H

#include <linux/list.h>
#include <linux/math64.h>
#include <linux/overflow.h>
#include <linux/types.h>

struct twheel_timer;

/**
 * struct tw_wheel - the buckets and where in time they stand
 * @now: position: nothing filed at or before this tick waits any more, but for
 *	what tw_wheel_pop() has yet to hand out
 * @now_ns: the instant of @now, saturating
 * @horizon: a timer added for a tick up to here is past; not before @now
 * @wake: nothing needs doing before this tick. Arming lowers it; 0 while a pass
 *	is on, whose end computes it anew
 * @tick_ns: length of a tick
 * @recip: floor((2^64 - 1) / @tick_ns), to divide by multiplying
 * @shift: log2 of the ratio between levels
 * @level_mul: 2^16 / @shift rounded up, to divide a bit number by @shift
 * @mask: buckets of a level less one; a level has twice as many as the ratio
 * @levels: how many levels there are
 * @active: bit mask of levels; one without a bit holds no timer
 * @occupied: one bit a bucket: set if and only if the bucket holds a timer
 * @buckets: all levels' buckets, level 0 first
 * @due: timers armed for a tick that has passed: the next round serves them
 * @expiring: those of them that the present round serves
 * @cascades: timers moved to a lower level
 * @refiled: timers whose word had grown when their bucket was reached
 */
struct tw_wheel {
	u64 now;
	u64 now_ns;
	u64 horizon;
	u64 wake;
	u64 tick_ns;
	u64 recip;
	unsigned int shift;
	unsigned int level_mul;
	unsigned int mask;
	unsigned int levels;
	u64 active;
	unsigned long *occupied;
	struct hlist_head *buckets;
	struct hlist_head due;
	struct hlist_head expiring;
	u64 cascades;
	u64 refiled;
};

/** TW_WHEEL_ASLEEP - &tw_wheel.wake of a wheel that has nothing to do */
#define TW_WHEEL_ASLEEP	(~(u64)0)

/**
 * enum tw_turn - what tw_wheel_turn() has come upon
 * @TW_TURN_DONE: the position is the target, and nothing is due
 * @TW_TURN_DUE: tw_wheel_pop() has timers to hand out
 * @TW_TURN_MORE: the slice is used up, and there is more to do
 */
enum tw_turn {
	TW_TURN_DONE,
	TW_TURN_DUE,
	TW_TURN_MORE,
};

int tw_wheel_shape(struct tw_wheel *w, u64 tick_ns, unsigned int slots);
int tw_wheel_init(struct tw_wheel *w, u64 now);
void tw_wheel_exit(struct tw_wheel *w);

void tw_wheel_add(struct tw_wheel *w, struct twheel_timer *t);
void tw_wheel_del(struct tw_wheel *w, struct twheel_timer *t);
struct twheel_timer *tw_wheel_evict(struct tw_wheel *w);

void tw_wheel_begin(struct tw_wheel *w, bool round);
enum tw_turn tw_wheel_turn(struct tw_wheel *w, u64 target, unsigned int *slice);
struct twheel_timer *tw_wheel_pop(struct tw_wheel *w, unsigned int *slice);
bool tw_wheel_ahead(struct tw_wheel *w, unsigned int *slice);
u64 tw_wheel_next(struct tw_wheel *w);
void tw_wheel_forward(struct tw_wheel *w, u64 now);

/* The last tick boundary at or before @ns. */
static inline u64 tw_wheel_floor(const struct tw_wheel *w, u64 ns)
{
	u64 tick = mul_u64_u64_shr(ns, w->recip, 64);

	/*
	 * @recip falls short of 2^64 / tick_ns by at most one, so the product
	 * falls short of the quotient by less than one more: one correction.
	 */
	return tick + (ns - tick * w->tick_ns >= w->tick_ns);
}

/* The first tick boundary at or after @ns: no timer fires before it. */
static inline u64 tw_wheel_ceil(const struct tw_wheel *w, u64 ns)
{
	u64 tick = mul_u64_u64_shr(ns, w->recip, 64);
	u64 rest = ns - tick * w->tick_ns;

	return tick + (rest > 0) + (rest > w->tick_ns);
}

/* The instant of a tick, saturating. */
static inline u64 tw_wheel_ns(const struct tw_wheel *w, u64 tick)
{
	u64 ns;

	return check_mul_overflow(tick, w->tick_ns, &ns) ? ~(u64)0 : ns;
}

#endif /* _TWHEEL_WHEEL_H */
