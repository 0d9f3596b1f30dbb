// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * The shape of a wheel: its levels, the reciprocal of its tick, and the memory of its
 * buckets. All of it is settled before the first timer comes. wheel.c works with timers.
 */
#include "bucket.h"

/* See tw_wheel_floor(). */
static void shape_set_reciprocal(struct tw_wheel *w)
{
	unsigned int shift = tw_top_bit(w->tick_ns);
	u64 quotient = 0, rest = 1ULL << shift;
	unsigned int bit;

	w->recip_max = S64_MAX;
	w->recip_shift = shift;
	w->round = tw_word(w->tick_ns - 1);
	if (w->tick_ns == 1) {
		/* 2^64 is one bit too many. Only tests have such a tick. */
		w->recip_max = 0;
		w->recip = ~(u64)0;
		w->round++;
		return;
	}
	if (rest == w->tick_ns) {
		w->recip = 1ULL << 63;
		w->recip_shift--;
		return;
	}
	/* 2^(64 + shift) / tick_ns by hand: it has 64 bits. */
	for (bit = 0; bit < 64; bit++) {
		rest <<= 1;
		quotient <<= 1;
		if (rest >= w->tick_ns) {
			rest -= w->tick_ns;
			quotient |= 1;
		}
	}
	w->recip = quotient + 1;
}

/*
 * tw_wheel_shape() - give a wheel its geometry
 * @slots: ratio between levels, rounded up to a power of two
 *
 * Return: 0, -EINVAL (tick or slots).
 */
int tw_wheel_shape(struct tw_wheel *w, u64 tick_ns, unsigned int slots)
{
	unsigned int bit;

	memset(w, 0, sizeof(*w));
	/* Fewer slots than tw_wheel_valid() allows are for tests of many levels. */
	if (slots < 2 || !tw_wheel_valid(tick_ns, max(slots, TWHEEL_SLOTS_MIN)))
		return -EINVAL;

	w->tick_ns = tick_ns;
	shape_set_reciprocal(w);
	w->shift = tw_top_bit(slots - 1) + 1;
	w->mask = (2U << w->shift) - 1;
	w->levels = tw_wheel_levels(w->shift);
	w->nr = w->levels << w->shift << 1;
	for (bit = 1; bit < ARRAY_SIZE(w->rows); bit++) {
		unsigned int level = (bit - 1) / w->shift;
		unsigned int span = level * w->shift;

		w->rows[bit] = (struct tw_wheel_row) {
			.bit	= BIT_ULL(level),
			.keep	= ~0ULL << span,
			.ahead	= level ? 1ULL << span : 0,
			.first	= tw_wheel_index(w, level, 0),
			.span	= span,
			.level	= level,
		};
	}
	/* No deadline is that far away. It is the row of ticks before the position. */
	w->rows[63].ahead = 0;
	return 0;
}
TW_EXPORT_FOR_TESTS(tw_wheel_shape);

static int buckets_alloc(const struct tw_wheel *w, struct tw_wheel_buckets *buckets,
			 int node)
{
	buckets->occupied = tw_host_alloc(BITS_TO_LONGS(w->nr) * sizeof(long), node);
	buckets->heads = tw_host_alloc(w->nr * sizeof(*buckets->heads), node);
	return buckets->occupied && buckets->heads ? 0 : -ENOMEM;
}

static void buckets_free(struct tw_wheel_buckets *buckets)
{
	tw_host_free(buckets->heads);
	tw_host_free(buckets->occupied);
	*buckets = (struct tw_wheel_buckets) { };
}

/*
 * tw_wheel_init() - make the buckets of a wheel that stands at tick @now
 * @steps: tw_wheel_move_back() may be called
 * @node: the NUMA node for the memory
 *
 * Return: 0, -ENOMEM.
 */
int tw_wheel_init(struct tw_wheel *w, u64 now, bool steps, int node)
{
	int ret;

	wheel_set_now(w, now);
	w->horizon = now;
	tw_wheel_set_wake(w, TW_WHEEL_ASLEEP);

	ret = buckets_alloc(w, &w->buckets, node);
	if (!ret && steps)
		ret = buckets_alloc(w, &w->other, node);
	if (ret)
		tw_wheel_exit(w);
	return ret;
}
TW_EXPORT_FOR_TESTS(tw_wheel_init);

/* tw_wheel_exit() - free what tw_wheel_init() has allocated */
void tw_wheel_exit(struct tw_wheel *w)
{
	buckets_free(&w->buckets);
	buckets_free(&w->other);
}
TW_EXPORT_FOR_TESTS(tw_wheel_exit);
