// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * The engine: a hierarchical hashed timing wheel.
 *
 * A wheel has levels 0, 1, 2... A bucket of level L covers S^L ticks, where S is the
 * ratio between levels. It is the list of all timers that wait for those ticks. The
 * levels cover a whole u64 of ticks, so no deadline is too far away.
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
TW_EXPORT_FOR_TESTS(tw_wheel_share);

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
TW_EXPORT_FOR_TESTS(tw_wheel_dequeue_last);

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
noinline void tw_wheel_enqueue_near(struct tw_wheel *w, struct twheel_node *node)
{
	u64 tick = tw_wheel_ceil(w, atomic64_read(&node->word));

	if (tick > w->horizon) {
		wheel_requeue(w, node, tick, false);
	} else {
		hlist_add_head(&node->link, &w->due);
		tw_wheel_set_wake(w, min(w->wake, w->now));
	}
}
TW_EXPORT_FOR_TESTS(tw_wheel_enqueue_near);

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
TW_EXPORT_FOR_TESTS(tw_wheel_evict);
