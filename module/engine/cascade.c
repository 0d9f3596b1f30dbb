// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* The cascade: the timers of a bucket of an upper level move to lower ones. */
#include "bucket.h"

/*
 * Empty a bucket of an upper level into lower ones, as far as the slice lasts.
 *
 * In a pass most timers belong exactly one level lower: those from @near, two buckets of that
 * level after the position, to the bucket's end. What they share is computed once. It is copied,
 * so that the compiler does not load it again after each write to a bucket. Any other timer costs
 * twice as much, and counts as two. One beyond the bucket's end has been extended.
 *
 * The bucket is not empty, nor is the slice. @look: &tw_wheel.look.
 */
static __always_inline void wheel_cascade(struct tw_wheel *w, unsigned int level,
					  u64 number, unsigned int *slice,
					  bool in_pass,
					  bool (*look)(struct tw_wheel *w,
						       struct twheel_node *node))
{
	/* A proof repeats this and the range: prove_cascade_strictly_lower(). */
	u64 near = w->now + ((2ULL << wheel_level_span(w, level)) >> w->shift);
	/* The bucket's last tick. */
	u64 last = ((number + 1) << wheel_level_span(w, level)) - 1;
	const struct tw_wheel_row row = *tw_wheel_find_row(w, near);
	const struct tw_wheel_buckets buckets = w->buckets;
	const u64 after = wheel_word(w, near - 1), until = wheel_word(w, last);
	/* The last deadlines of all have to be divided. */
	const u64 range = tw_wheel_is_last(w, until) ? 0 : until - after;
	const unsigned int shift = w->recip_shift + row.span;
	const u64 recip = w->recip, round = w->round;
	const unsigned long mask = w->mask;
	struct hlist_head *head = wheel_bucket(w, level, number);
	struct hlist_node *link = head->first;
	unsigned int left = *slice;
	unsigned int extended = 0, others = 0;

	tw_check_link(link, &head->first);
	do {
		struct twheel_node *node;
		u64 word;

		node = hlist_entry(link, struct twheel_node, link);
		link = link->next;
		tw_check_link(link, &node->link.next);
		if (look && !look(w, node)) {
			others++;
			continue;
		}
		word = atomic64_read(&node->word);
		if (in_pass && likely(word - after - 1 < range)) {
			unsigned long index;

			/* tw_wheel_ceil_soon(), with one shift for both. */
			index = row.first +
				((tw_mul_high(word + round, recip) >> shift) & mask);
			if (tw_wheel_link(node, &buckets.heads[index]))
				__set_bit(index, buckets.occupied);
		} else {
			u64 tick = tw_wheel_ceil(w, word);

			extended += tick > last;
			if (left > 1) {
				others++;
				left--;
			}
			wheel_requeue(w, node, tick, in_pass);
		}
	} while (--left && link);
	if (in_pass)
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
 * What most wheels need does not pay for what the others do: the compiler sees constants.
 * Two functions, since one would save more registers than either needs.
 */
static noinline void wheel_cascade_plain(struct tw_wheel *w, unsigned int level,
					 u64 number, unsigned int *slice)
{
	wheel_cascade(w, level, number, slice, true, NULL);
}

static noinline void wheel_cascade_any(struct tw_wheel *w, unsigned int level,
				       u64 number, unsigned int *slice)
{
	wheel_cascade(w, level, number, slice, w->in_pass, w->look);
}

/* tw_bucket_empty() - empty a bucket into lower levels, as far as the slice lasts */
void tw_bucket_empty(struct tw_wheel *w, unsigned int level, u64 number,
		     unsigned int *slice)
{
	if (likely(w->in_pass && !w->look))
		wheel_cascade_plain(w, level, number, slice);
	else
		wheel_cascade_any(w, level, number, slice);
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
TW_EXPORT_FOR_TESTS(tw_wheel_drain_ahead);
