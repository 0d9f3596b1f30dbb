// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * The engine: a hierarchical hashed timing wheel.
 *
 * A wheel has levels 0, 1, 2... A bucket of level L covers S^L ticks, where S is the
 * ratio between levels. It is the list of all timers that wait for those ticks. There
 * are as many levels as the ticks up to %TWHEEL_NEVER need, so no deadline is too far away.
 *
 * Every level has 2 * S buckets, enough for two buckets of the next level. A timer is d ticks
 * from the position. It goes to the level L where d is at least two buckets of that level,
 * and less than all of its buckets:
 *
 *	level 0:	     d < 2S	bucket = tick
 *	level L:  2S^L <= d < 2S^(L+1)	bucket = tick / S^L
 *
 * Three things follow:
 *
 *  - A bucket number modulo 2S is unambiguous: at any level, only the numbers in
 *    (position, position + 2S] are in use.
 *  - Between the position's bucket and a timer's there is at least one whole bucket, on
 *    every level above 0. When the position enters the bucket before the timer's own, the
 *    timer's bucket takes no new timers any more. From then on S^L ticks remain before the
 *    first of its timers can be due. In that time the bucket is emptied into lower levels,
 *    in slices. So a crowded bucket causes no pause at its boundary.
 *  - A timer that leaves level L less than two buckets before its tick goes to a lower
 *    level. So it cascades at most once per level, and keeps its exact tick.
 *
 * The invariant: the position enters a bucket of an upper level only when that bucket
 * is empty. It enters a bucket of level 0 only while its timers are handed out.
 * wheel_first_edge() of advance.c finds the first tick that the invariant forbids.
 *
 * A bitmap tells which buckets hold timers. A timer stores no index of its bucket. The last
 * timer of a bucket is linked to the bucket's head. The address of the head gives the index
 * of the bit to clear.
 *
 * Hashed and hierarchical wheels: G. Varghese, T. Lauck, "Hashed and Hierarchical
 * Timing Wheels", SOSP 1987. The second lap of each level, which gives the time to
 * drain ahead, is ours.
 */
#include "bucket.h"

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
	w->mask = (2U << w->shift) - 1;
	w->levels = tw_wheel_levels(w->shift, tw_top_bit(div64_u64(TWHEEL_NEVER, tick_ns) + 1));
	w->nr = w->levels << w->shift << 1;
	for (bit = 1; bit < ARRAY_SIZE(w->rows); bit++) {
		unsigned int level = min((bit - 1) / w->shift, w->levels - 1);
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

/* tw_wheel_exit() - free what tw_wheel_init() has allocated */
void tw_wheel_exit(struct tw_wheel *w)
{
	buckets_free(&w->buckets);
	buckets_free(&w->other);
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

/*
 * The index of the bucket whose head a pointer is, or a number that no bucket has. @pprev may
 * point into another object, so the addresses are subtracted and not the pointers.
 */
static inline unsigned long wheel_head_index(const struct hlist_head *heads,
					     struct hlist_node **pprev)
{
	return ((unsigned long)pprev - (unsigned long)heads) / sizeof(*heads);
}

/*
 * tw_wheel_dequeue_last() - the last timer of a list has left it
 *
 * It was the only one if @pprev is a bucket's head. Else @pprev is another timer's next
 * pointer, or the head of a list that has no bit.
 */
void tw_wheel_dequeue_last(struct tw_wheel *w, struct hlist_node **pprev)
{
	unsigned long index = wheel_head_index(w->buckets.heads, pprev);

	if (index < w->nr) {
		__clear_bit(index, w->buckets.occupied);
	} else if (unlikely(w->displaced)) {
		index = wheel_head_index(w->other.heads, pprev);
		if (index < w->nr)
			__clear_bit(index, w->other.occupied);
	}
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
 */
u64 tw_bucket_peek(const struct tw_wheel *w, unsigned int level, u64 number)
{
	unsigned int span = wheel_level_span(w, level);
	u64 first = ((number + 1) << span) - 1;
	struct hlist_node *link;
	unsigned int n = 0;

	hlist_for_each(link, wheel_bucket(w, level, number)) {
		struct twheel_node *node = hlist_entry(link, struct twheel_node, link);

		if (++n > WHEEL_PEEK)
			return (number - 1) << span;
		first = min(first, tw_wheel_ceil(w, atomic64_read(&node->word)));
	}
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
		hlist_add_head(&node->link, &w->due);
		tw_wheel_set_wake(w, min(w->wake, w->now));
	}
}

/* Any bucket that holds a timer, or NULL. */
static struct hlist_head *wheel_any_bucket(struct tw_wheel *w)
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
	if (!w->displaced)
		return NULL;
	index = wheel_find_bit(w->other.occupied, w->nr, w->displaced_from);
	return index < w->nr ? &w->other.heads[index] : NULL;
}

/*
 * tw_wheel_evict() - take out any timer, to empty the wheel
 *
 * Return: the timer, or NULL if the wheel is empty.
 */
struct twheel_node *tw_wheel_evict(struct tw_wheel *w)
{
	struct hlist_head *head = &w->due;
	struct twheel_node *node;

	if (hlist_empty(head))
		head = &w->expiring;
	if (hlist_empty(head))
		head = wheel_any_bucket(w);
	if (!head)
		return NULL;
	node = hlist_entry(head->first, struct twheel_node, link);
	tw_wheel_dequeue(w, node);
	return node;
}

/*
 * Ask the host about those timers of a bucket that the slice is enough for: see &tw_wheel.look.
 * Each is asked about once, so this counts as tw_bucket_empty() will: two for a word that is not in
 * its range. Those that the host takes leave the bucket. Returns false if no timer is left, or
 * nothing of the slice.
 */
static bool wheel_look(struct tw_wheel *w, struct hlist_head *head, u64 after, u64 range,
		       unsigned int *slice)
{
	struct hlist_node **at = &head->first, *link;
	unsigned int todo;

	for (todo = *slice; todo && (link = *at); todo--) {
		struct twheel_node *node = hlist_entry(link, struct twheel_node, link);
		struct hlist_node *next = link->next;

		tw_check_link(link, at);
		if (w->look(w, node)) {
			todo -= todo > 1 && (u64)atomic64_read(&node->word) - after - 1 >= range;
			at = &link->next;
			continue;
		}
		*at = next;
		if (next)
			next->pprev = at;
		--*slice;
		w->searched++;
	}
	if (hlist_empty(head))
		__clear_bit(head - w->buckets.heads, w->buckets.occupied);
	return *slice && !hlist_empty(head);
}

/*
 * tw_bucket_empty() - empty a bucket of an upper level into lower ones, as far as the slice lasts
 *
 * In a pass most timers belong exactly one level lower: those from @near, two buckets of that
 * level after the position, to the bucket's end. What they share is computed once. It is copied,
 * so that the compiler does not load it again after each write to a bucket. Any other timer costs
 * twice as much, and counts as two. One beyond the bucket's end has been extended.
 *
 * The bucket is not empty, nor is the slice.
 */
void tw_bucket_empty(struct tw_wheel *w, unsigned int level, u64 number, unsigned int *slice)
{
	/* A proof repeats this and the range: prove_cascade_strictly_lower(). */
	const u64 near = w->now + ((2ULL << wheel_level_span(w, level)) >> w->shift);
	/* The bucket's last tick. */
	const u64 last = ((number + 1) << wheel_level_span(w, level)) - 1;
	const struct tw_wheel_row row = *tw_wheel_find_row(w, near);
	const struct tw_wheel_buckets buckets = w->buckets;
	const u64 after = wheel_word(w, near - 1);
	const u64 range = w->in_pass ? wheel_word(w, last) - after : 0;
	const unsigned int shift = w->recip_shift + row.span;
	const u64 recip = w->recip, round = w->round;
	const unsigned long mask = w->mask;
	struct hlist_head *head = wheel_bucket(w, level, number);
	unsigned int extended = 0, others = 0, left;
	struct hlist_node *link;

	if (unlikely(w->look) && !wheel_look(w, head, after, range, slice))
		return;
	left = *slice;
	link = head->first;
	tw_check_link(link, &head->first);
	do {
		struct twheel_node *node = hlist_entry(link, struct twheel_node, link);
		u64 word;

		link = link->next;
		tw_check_link(link, &node->link.next);
		word = atomic64_read(&node->word);
		if (likely(word - after - 1 < range)) {
			unsigned long index;

			/* tw_wheel_ceil(), with one shift for both. */
			index = row.first +
				((tw_mul_high(2 * word + round, recip) >> shift) & mask);
			if (tw_wheel_link(node, &buckets.heads[index]))
				__set_bit(index, buckets.occupied);
		} else {
			u64 tick = tw_wheel_ceil(w, word);

			extended += tick > last;
			if (left > 1) {
				others++;
				left--;
			}
			wheel_requeue(w, node, tick);
		}
	} while (--left && link);
	if (range)
		w->active |= row.bit;
	w->requeued += extended;
	w->cascades += *slice - left - others - extended;
	w->searched += others;
	w->cascaded |= BIT_ULL(level);
	*slice = left;
	/* The loop took the list apart from its head; @link is the rest. */
	head->first = link;
	if (link)
		link->pprev = &head->first;
	else
		__clear_bit(head - w->buckets.heads, w->buckets.occupied);
}

/*
 * tw_wheel_drain_ahead() - empty the next bucket of each upper level before its time
 * @slice: how many timers may be cascaded; what is left of it
 *
 * Return: true if they are empty.
 */
bool tw_wheel_drain_ahead(struct tw_wheel *w, unsigned int *slice)
{
	/* The levels on which the position has entered a bucket since the last time. */
	u64 entered = w->now ^ w->quiet;
	unsigned int level = entered ? tw_top_bit(entered) / w->shift : 0;

	w->cascaded = 0;
	for (level = min(level, w->levels - 1); level; level--) {
		u64 number = (w->now >> wheel_level_span(w, level)) + 1;

		while (test_bit(tw_wheel_index(w, level, number), w->buckets.occupied)) {
			if (!*slice)
				return false;
			tw_bucket_empty(w, level, number, slice);
		}
	}
	w->quiet = wheel_block_end(w, w->now);
	return true;
}
