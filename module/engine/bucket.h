/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/* Buckets: what the files of the engine know of them. */
#ifndef _TWHEEL_BUCKET_H
#define _TWHEEL_BUCKET_H

#include "wheel.h"

u64 tw_bucket_peek(const struct tw_wheel *w, unsigned int level, u64 number);
void tw_bucket_empty(struct tw_wheel *w, unsigned int level, u64 number,
		     unsigned int *slice);

static inline unsigned int wheel_level_span(const struct tw_wheel *w, unsigned int level)
{
	return level * w->shift;
}

static inline struct tw_list *wheel_bucket(const struct tw_wheel *w, unsigned int level,
					   u64 number)
{
	return &w->buckets.heads[tw_wheel_index(w, level, number)];
}

/* The greatest word whose timer is due at a tick. */
static inline u64 wheel_word(const struct tw_wheel *w, u64 tick)
{
	return tw_word(min_t(u64, tw_wheel_ns(w, tick), TWHEEL_NEVER));
}

/* Timers are due up to a tick. */
static inline void wheel_set_due(struct tw_wheel *w, u64 tick)
{
	w->now_word = wheel_word(w, tick);
}

static inline void wheel_set_now(struct tw_wheel *w, u64 now)
{
	w->now = now;
	wheel_set_due(w, now);
}

/* A timer was put into a bucket of a row. A pass computes the next wake-up at its end. */
static inline void wheel_lower_wake(struct tw_wheel *w, const struct tw_wheel_row *row, u64 tick)
{
	if (!w->in_pass && unlikely(tw_wheel_near(w, row, tick)))
		tw_wheel_set_wake(w, min(w->wake, row->level ?
				tw_bucket_peek(w, row->level, tick >> row->span) : tick));
}

/* Put a timer into the bucket where it now belongs, after all that are there. */
static inline void wheel_requeue(struct tw_wheel *w, struct twheel_node *node, u64 tick)
{
	struct tw_wheel_row *row = tw_wheel_find_row(w, tick);

	tw_wheel_enqueue_in(w, node, row, tick);
	wheel_lower_wake(w, row, tick);
}

/*
 * The first bit from @start on, which is before @end, or @end. Mostly the first word has one, which
 * is less work than a call of find_next_bit().
 */
static inline unsigned int wheel_find_bit(const unsigned long *map, unsigned int end,
					  unsigned int start)
{
	unsigned int i = BIT_WORD(start);
	unsigned long word = map[i] & BITMAP_FIRST_WORD_MASK(start);

	while (!word) {
		if (++i > BIT_WORD(end - 1))
			return end;
		word = map[i];
	}
	return min_t(unsigned int, i * BITS_PER_LONG + __ffs(word), end);
}

/* The last tick of the block of @tick: buckets of upper levels begin after one. */
static inline u64 wheel_block_end(const struct tw_wheel *w, u64 tick)
{
	return tick | w->mask >> 2;
}

#endif /* _TWHEEL_BUCKET_H */
