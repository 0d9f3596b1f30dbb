// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * The engine: a hierarchical hashed timing wheel.
 *
 * A wheel has levels 0, 1, 2... A bucket of level L covers S^L ticks, where S is the
 * ratio between levels. It is the list of all timers that wait for those ticks. There
 * are as many levels as the ticks up to %TWHEEL_NEVER need, so no deadline is too far away.
 *
 * Every level has 4 * S buckets, enough for four buckets of the next level. A timer is d ticks
 * from the position. It goes to the level L where d is at least four buckets of that level,
 * and less than all of its buckets:
 *
 *	level 0:	     d < 4S	bucket = tick
 *	level L:  4S^L <= d < 4S^(L+1)	bucket = tick / S^L
 *
 * Three things follow:
 *
 *  - A bucket number modulo 4S is unambiguous: at any level, only the numbers in
 *    (position, position + 4S] are in use.
 *  - Between the position's bucket and a timer's there are at least three whole buckets, on
 *    every level above 0. When the position enters the bucket before the timer's own, that
 *    bucket and the next take no new timers any more. From then on S^L ticks remain before the
 *    first of their timers can be due. In that time both are emptied into lower levels, in
 *    slices. So a crowded bucket causes no pause at its boundary.
 *  - A timer that leaves level L less than four buckets before its tick goes to a lower
 *    level. So it cascades at most once per level, and keeps its exact tick.
 *
 * The invariant: the position enters a bucket of an upper level only when that bucket
 * is empty. It enters a bucket of level 0 only while its timers are handed out.
 * wheel_first_edge() of advance.c finds the first tick that the invariant forbids.
 *
 * The timers of one tick fire in the order in which they were armed. As time goes by, the level
 * that a tick's timers go to never rises. So on an upper level are those that were armed before
 * those on lower ones. An arm appends to a bucket. A cascade takes a bucket's timers from the last
 * to the first, and puts each before those of the lower level.
 *
 * A bitmap tells which buckets hold timers. A timer stores no index of its bucket. The last
 * timer of a bucket points to the bucket, so a cancel finds its tail and its bit.
 *
 * Hashed and hierarchical wheels: G. Varghese, T. Lauck, "Hashed and Hierarchical
 * Timing Wheels", SOSP 1987. The other laps of each level, which give the time to drain ahead,
 * and two buckets to empty together, are ours.
 */
#include "bucket.h"

/* See tw_wheel_unlink(). */
static_assert(offsetof(struct tw_list, tail) == offsetof(struct hlist_node, pprev) &&
	      !offsetof(struct tw_list, first) && !offsetof(struct hlist_node, next),
	      "a list looks like a node");

/* See tw_wheel_floor(). */
static void shape_set_reciprocal(struct tw_wheel *w)
{
	const u64 divisor = 2 * w->tick_ns;
	u64 quotient = 0, rest;
	unsigned int bit;

	w->round = divisor - 2;
	w->recip_shift = tw_top_bit(divisor - 1);
	/* 2^(64 + shift) / divisor by hand: it has 64 bits, as 2^shift is less than the divisor. */
	rest = 1ULL << w->recip_shift;
	for (bit = 0; bit < 64; bit++) {
		rest <<= 1;
		quotient <<= 1;
		if (rest >= divisor) {
			rest -= divisor;
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
	w->mask = (4U << w->shift) - 1;
	w->levels = tw_wheel_levels(w->shift, tw_top_bit(div64_u64(TWHEEL_NEVER, tick_ns) + 1));
	w->nr = w->levels << w->shift << 2;
	/* The mask has three bits or more, so tw_wheel_find_row() finds none of the first two. */
	for (bit = 2; bit < ARRAY_SIZE(w->rows); bit++) {
		unsigned int level = min((bit - 2) / w->shift, w->levels - 1);
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

/* How many buckets a set has room for: its bits are whole words. */
static size_t buckets_room(const struct tw_wheel *w)
{
	return BITS_TO_LONGS(w->nr) * BITS_PER_LONG;
}

/* tw_wheel_bytes() - how much memory tw_wheel_init() and tw_wheel_init_in() take */
size_t tw_wheel_bytes(const struct tw_wheel *w)
{
	return buckets_room(w) * sizeof(*w->buckets.heads) + buckets_room(w) / BITS_PER_BYTE;
}

/*
 * tw_wheel_init_in() - make the buckets of a wheel that stands at tick @now
 * @goes_back: tw_wheel_move_back() may be called
 * @memory: of zeros, tw_wheel_bytes() of it
 */
void tw_wheel_init_in(struct tw_wheel *w, u64 now, bool goes_back, void *memory)
{
	w->goes_back = goes_back;
	wheel_set_now(w, now);
	w->horizon = now;
	tw_wheel_set_wake(w, TW_WHEEL_ASLEEP);

	w->buckets.heads = memory;
	w->buckets.occupied = (unsigned long *)(w->buckets.heads + buckets_room(w));
}

/*
 * tw_wheel_init() - tw_wheel_init_in() in memory that is allocated
 * @node: the NUMA node for it
 *
 * Return: 0, -ENOMEM.
 */
int tw_wheel_init(struct tw_wheel *w, u64 now, bool goes_back, int node)
{
	void *memory = tw_host_alloc(tw_wheel_bytes(w), node);

	if (!memory)
		return -ENOMEM;
	tw_wheel_init_in(w, now, goes_back, memory);
	return 0;
}

/* tw_wheel_exit() - free what tw_wheel_init() has allocated */
void tw_wheel_exit(struct tw_wheel *w)
{
	tw_host_free(w->buckets.heads);
	w->buckets = (struct tw_wheel_buckets) { };
}

/*
 * tw_wheel_share() - the instant in [@deadline, @deadline + @slack] that most timers share
 *
 * Its tick has the most trailing zeros, so it lies on the boundary of the largest bucket
 * that the range allows.
 *
 * Return: the instant; @deadline, if no tick that is later is in the range.
 */
u64 tw_wheel_share(const struct tw_wheel *w, u64 deadline, u64 slack)
{
	u64 first, last, end;

	deadline = min_t(u64, deadline, TWHEEL_NEVER);
	end = slack > TWHEEL_NEVER - deadline ? TWHEEL_NEVER : deadline + slack;
	first = tw_wheel_ceil(w, tw_word(deadline));
	last = tw_wheel_floor(w, end);
	if (last <= first)
		return deadline;
	/* Keep what first - 1 and last have in common, and the bit after it. */
	last &= ~(u64)0 << tw_top_bit((first - 1) ^ last);
	return tw_wheel_ns(w, last);
}

/* tw_wheel_emptied() - the only timer of a list has left it */
void tw_wheel_emptied(struct tw_wheel *w, struct tw_list *list)
{
	/* Most lists are buckets, but their pointers need not be of one array. */
	unsigned long offset = (unsigned long)list - (unsigned long)w->buckets.heads;

	list->first = NULL;
	if (offset < w->nr * sizeof(*list))
		__clear_bit(offset / sizeof(*list), w->buckets.occupied);
}

/*
 * A bucket of at most this many timers is searched for its first deadline, and the
 * wheel sleeps until then. For a fuller one the wheel wakes up a bucket's length ahead,
 * to empty it in time. Eight timers are eight cache misses, about what the saved
 * wake-up would cost.
 */
#define WHEEL_PEEK		8

/*
 * tw_bucket_peek() - when a bucket needs something
 *
 * The first deadline in bucket @number of @level, if the bucket holds few timers; else
 * the tick at which emptying the bucket has to begin. The answer is not beyond the
 * bucket's end, even if all its timers have been extended.
 *
 * The bucket is not empty.
 */
u64 tw_bucket_peek(const struct tw_wheel *w, unsigned int level, u64 number)
{
	unsigned int span = wheel_level_span(w, level);
	u64 first = ((number + 1) << span) - 1;
	struct hlist_node *link = wheel_bucket(w, level, number)->first;
	unsigned int n = 0;

	do {
		struct twheel_node *node = hlist_entry(link, struct twheel_node, link);

		if (++n > WHEEL_PEEK)
			return (number - 1) << span;
		first = min(first, tw_wheel_ceil(w, atomic64_read(&node->word)));
		link = link->next;
	} while (!tw_list_is_end(link));
	return first;
}

/*
 * tw_wheel_enqueue_near() - tw_wheel_enqueue() for a timer that is near or past
 *
 * If it is past, the next round serves it. This may lower &tw_wheel.wake.
 */
void tw_wheel_enqueue_near(struct tw_wheel *w, struct twheel_node *node)
{
	u64 tick = tw_wheel_ceil(w, atomic64_read(&node->word));

	if (tick > w->horizon) {
		wheel_requeue(w, node, tick);
	} else {
		tw_list_append(&w->due, node);
		tw_wheel_set_wake(w, min(w->wake, w->now));
	}
}

/* Any bucket that holds a timer, or NULL. */
static struct tw_list *wheel_any_bucket(struct tw_wheel *w)
{
	unsigned int level, index, end;

	/* @active skips most levels that are empty, as interrupts are off. */
	while (w->active) {
		level = __ffs64(w->active);
		index = tw_wheel_index(w, level, 0);
		end = index + w->mask + 1;
		index = wheel_find_bit(w->buckets.occupied, end, index);
		if (index < end)
			return &w->buckets.heads[index];
		w->active &= ~BIT_ULL(level);
	}
	return NULL;
}

/*
 * tw_wheel_evict() - take out any timer, to empty the wheel
 *
 * Return: the timer, or NULL if the wheel is empty.
 */
struct twheel_node *tw_wheel_evict(struct tw_wheel *w)
{
	struct tw_list *head = &w->due;
	struct twheel_node *node;

	if (tw_list_empty(head))
		head = &w->expiring;
	if (tw_list_empty(head))
		head = wheel_any_bucket(w);
	if (!head)
		return NULL;
	tw_check_link(head->first, &head->first);
	node = hlist_entry(head->first, struct twheel_node, link);
	tw_wheel_dequeue(w, node);
	return node;
}

/*
 * Ask the host about those timers of a bucket that the slice is enough for, from the last on:
 * see &tw_wheel.look. Each is asked about once, so this counts as tw_bucket_empty() will: two for
 * a word that is not in its range. Those that the host takes leave the bucket. Returns false if no
 * timer is left, or nothing of the slice.
 */
static bool wheel_look(struct tw_wheel *w, struct tw_list *head, u64 from, u64 range,
		       unsigned int *slice)
{
	struct hlist_node **at = head->tail;
	unsigned int todo;

	for (todo = *slice; todo && at != &head->first; todo--) {
		struct twheel_node *node = hlist_entry(tw_list_node(at), struct twheel_node, link);
		struct hlist_node *next = *at;

		at = node->link.pprev;
		tw_check_link(&node->link, at);
		if (w->look(w, node)) {
			todo -= todo > 1 && (u64)atomic64_read(&node->word) - from >= range;
			continue;
		}
		tw_wheel_unlink(w, at, next);
		--*slice;
		w->searched++;
	}
	return *slice && !tw_list_empty(head);
}

/*
 * A timer leaves @level for its tick. Those of its tick that are on lower levels were armed later.
 * So it does not go below one of their buckets, and goes before them. On a level where its bucket
 * is empty, it would only cascade once more.
 */
static void wheel_lower(struct tw_wheel *w, struct twheel_node *node, unsigned int level, u64 tick)
{
	unsigned int lowest = tw_wheel_find_row(w, tick)->level;
	const struct tw_wheel_row *row;
	unsigned int index;

	do {
		level--;
		index = tw_wheel_index(w, level, tick >> wheel_level_span(w, level));
	} while (level > lowest && !test_bit(index, w->buckets.occupied));
	/* One of the level's rows. */
	row = &w->rows[wheel_level_span(w, level) + 2];
	if (tw_list_prepend(&w->buckets.heads[index], node)) {
		__set_bit(index, w->buckets.occupied);
		w->active |= row->bit;
	}
	wheel_lower_wake(w, row, tick);
}

/**
 * struct wheel_cascade - what the timers of a cascade share
 * @lower: the buckets of the level below
 * @occupied: &tw_wheel_buckets.occupied
 * @first: the number of the first of @lower
 * @shift: turns a product into the number of a tick's bucket
 * @recip: &tw_wheel.recip
 * @round: &tw_wheel.round
 * @mask: &tw_wheel.mask
 * @from: timers belong exactly one level lower from this word on
 * @range: and if their words are less than the sum of this and @from
 * @beyond: timers for this tick or a later one have been extended
 * @level: the level that they come from
 * @left: what is left of the slice
 * @others: how many have cost two
 */
struct wheel_cascade {
	struct tw_list *lower;
	unsigned long *occupied;
	unsigned int first;
	unsigned int shift;
	u64 recip;
	u64 round;
	unsigned long mask;
	u64 from;
	u64 range;
	u64 beyond;
	unsigned int level;
	unsigned int left;
	unsigned int others;
};

/* One that does not belong exactly one level lower. */
static noinline void cascade_other(struct tw_wheel *w, struct twheel_node *node,
				   unsigned int level, u64 beyond)
{
	u64 tick = tw_wheel_ceil(w, atomic64_read(&node->word));

	if (tick < beyond) {
		wheel_lower(w, node, level, tick);
	} else {
		w->requeued++;
		wheel_requeue(w, node, tick);
	}
}

/* Move the last timer of a list. @at: its next pointer. Returns that of the one before it. */
static __always_inline struct hlist_node **
cascade_one(struct tw_wheel *w, struct wheel_cascade *c, struct tw_list *list,
	    struct hlist_node **at)
{
	struct twheel_node *node = hlist_entry(tw_list_node(at), struct twheel_node, link);
	u64 word = atomic64_read(&node->word);
	unsigned long index;

	at = node->link.pprev;
	tw_list_check(list, at);
	c->left--;
	if (likely(word - c->from < c->range)) {
		/* tw_wheel_ceil(), with one shift for both. */
		index = (tw_mul_high(2 * word + c->round, c->recip) >> c->shift) & c->mask;
		if (tw_list_prepend(&c->lower[index], node))
			__set_bit(c->first + index, c->occupied);
		return at;
	}
	if (c->left) {
		c->left--;
		c->others++;
	}
	cascade_other(w, node, c->level, c->beyond);
	return at;
}

/* @at: the next pointer of the last timer that is left, or the list's. */
static inline void cascade_close(struct tw_wheel *w, struct tw_list *list, struct hlist_node **at)
{
	tw_list_set_tail(list, at);
	if (at == &list->first)
		tw_wheel_emptied(w, list);
}

/*
 * tw_bucket_empty() - empty a bucket of an upper level into lower ones, as far as the slice lasts
 *
 * The bucket after it is emptied as well, a timer of each in turn. A timer is mostly not in the
 * cache, and only the timer tells where the one before it is. With two lists the processor waits
 * for two at a time. A third and fourth gain nothing.
 *
 * In a pass most timers belong exactly one level lower. These begin @near, four buckets of that
 * level after the position, or with the next tick if that is level 0. They end @beyond, four of
 * their own buckets after it. Any other timer costs
 * twice as much, and counts as two. One from @beyond on has been extended.
 *
 * The bucket is not empty, nor is the slice.
 */
void tw_bucket_empty(struct tw_wheel *w, unsigned int level, u64 number, unsigned int *slice)
{
	const unsigned int span = wheel_level_span(w, level);
	/* A proof repeats this and the range: prove_cascade_strictly_lower(). */
	const u64 near = w->now + (level > 1 ? (4ULL << span) >> w->shift : 1);
	const u64 beyond = w->now + (4ULL << span);
	const struct tw_wheel_row row = *tw_wheel_find_row(w, near);
	/* Copies: the compiler does not load them again after each write to a bucket. */
	struct wheel_cascade c = {
		.lower		= &w->buckets.heads[row.first],
		.occupied	= w->buckets.occupied,
		.first		= row.first,
		.shift		= w->recip_shift + row.span,
		.recip		= w->recip,
		.round		= w->round,
		.mask		= w->mask,
		.from		= wheel_word(w, near - 1) + 1,
		.beyond		= beyond,
		.level		= level,
	};
	struct tw_list *list = wheel_bucket(w, level, number);
	struct tw_list *next = wheel_bucket(w, level, number + 1);
	struct hlist_node **at, **next_at;
	const u64 requeued = w->requeued;

	if (w->in_pass)
		c.range = wheel_word(w, beyond - 1) - c.from + 1;
	if (unlikely(w->look) && !wheel_look(w, list, c.from, c.range, slice))
		return;
	at = list->tail;
	/* The host is asked about one list. */
	next_at = unlikely(w->look) ? &next->first : tw_list_tail(next);
	tw_list_check(list, at);
	tw_list_check(next, next_at);
	/* Keeps the compiler from adding the first one's number for each timer. */
	OPTIMIZER_HIDE_VAR(c.lower);
	c.left = *slice;
	while (c.left > 3 && at != &list->first && next_at != &next->first) {
		at = cascade_one(w, &c, list, at);
		next_at = cascade_one(w, &c, next, next_at);
	}
	while (c.left && at != &list->first)
		at = cascade_one(w, &c, list, at);
	cascade_close(w, list, at);
	if (!tw_list_empty(next) && likely(!w->look))
		cascade_close(w, next, next_at);
	if (c.range)
		w->active |= row.bit;
	w->cascades += *slice - c.left - c.others - (w->requeued - requeued);
	w->searched += c.others;
	w->cascaded |= BIT_ULL(level);
	*slice = c.left;
}

/*
 * The last tick before upper levels need anything. The next bucket of each is empty. While that of
 * level 1 after it is, too, the position can go on to the next block. But it enters no bucket of
 * level 2, and stops where level 0 begins anew. And it goes on by two blocks only: timers may be
 * armed for the bucket after those, as they go four ahead.
 */
static u64 wheel_quiet_end(const struct tw_wheel *w)
{
	u64 block = w->now >> w->shift;
	unsigned int more;

	for (more = 0; more < 2; more++) {
		/* With a ratio of 2, buckets of level 2 begin more often than level 0. */
		if (!((block + 1) & (w->mask >> 2) & 3) ||
		    test_bit(tw_wheel_index(w, 1, block + 2), w->buckets.occupied))
			break;
		block++;
	}
	return ((block + 1) << w->shift) - 1;
}

/*
 * tw_wheel_drain_ahead() - empty the next bucket of each upper level before its time
 * @slice: how many timers may be cascaded; what is left of it
 *
 * The bucket after that may keep timers: see tw_bucket_empty().
 *
 * Return: true if they are empty.
 */
bool tw_wheel_drain_ahead(struct tw_wheel *w, unsigned int *slice)
{
	/* The levels on which the position has entered a bucket since the last time. */
	u64 entered = w->now ^ w->quiet;
	unsigned int level = entered ? tw_top_bit(entered) / w->shift : 0;

	w->cascaded = 0;
	if (tw_wheel_is_drained(w))
		return true;
	for (level = min(level, w->levels - 1); level; level--) {
		u64 number = (w->now >> wheel_level_span(w, level)) + 1;

		while (test_bit(tw_wheel_index(w, level, number), w->buckets.occupied)) {
			if (!*slice)
				return false;
			tw_bucket_empty(w, level, number, slice);
		}
	}
	w->quiet = wheel_quiet_end(w);
	return true;
}
