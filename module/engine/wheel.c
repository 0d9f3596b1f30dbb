// SPDX-License-Identifier: GPL-2.0-only OR MIT
/*
 * The engine: a hierarchical hashed timing wheel.
 *
 * A wheel has levels 0, 1, 2... A bucket of level L covers S^L ticks, where S is the
 * ratio between levels. It is the list of all timers that wait for those ticks. The
 * levels cover a whole u64 of ticks, so no deadline is too far away.
 *
 * Every level has 2 * S buckets: two laps of the next level's bucket. A timer at a
 * distance of d ticks from the position goes to the level L where d is at least two
 * buckets and less than two laps:
 *
 *	level 0:	     d < 2S	bucket = tick
 *	level L:  2S^L <= d < 2S^(L+1)	bucket = tick / S^L
 *
 * Three things follow:
 *
 *  - A bucket number modulo 2S is unambiguous: at any level, only the numbers in
 *    (position, position + 2S] are in use.
 *  - A timer of level L lies at least one whole bucket ahead. When the position enters
 *    the bucket before the timer's own, that bucket takes no new timers any more. From
 *    then on S^L ticks remain before the first of its timers can be due. In that time
 *    the bucket is emptied into lower levels, in slices. So a crowded bucket causes no
 *    pause at its boundary.
 *  - A timer that leaves level L less than two buckets before its tick goes to a lower
 *    level. So it cascades at most once per level, and keeps its exact tick.
 *
 * The invariant: the position enters a bucket of an upper level only when that bucket
 * is empty, and a bucket of level 0 only while its timers are handed out.
 * wheel_first_edge() finds the first tick that the invariant forbids.
 *
 * A bitmap tells which buckets hold timers. To clear a bucket's bit, no index is needed
 * in the timer: the bucket's head points to a timer that is alone in it, and the
 * address of the head gives the index.
 *
 * Hashed and hierarchical wheels: G. Varghese, T. Lauck, "Hashed and Hierarchical
 * Timing Wheels", SOSP 1987. The second lap of each level, which gives the time to
 * drain ahead, is ours.
 */
#include "wheel.h"

/*
 * A bucket of at most this many timers is searched for its first deadline, and the
 * wheel sleeps until then. For a fuller one the wheel wakes up a bucket's length ahead,
 * to empty it in time. Eight timers are eight cache misses, about what the saved
 * wake-up would cost.
 */
#define WHEEL_PEEK		8

/*
 * How many timers are gathered from their ticks at a time. Some ten instructions each
 * are little beside expiring them.
 */
#define WHEEL_GATHER_SLICE	32

/* How many timers tw_wheel_move_forward() may cascade: it runs inside an arm. */
#define WHEEL_FORWARD_SLICE	(4 * WHEEL_PEEK)

/* How much of the other set's bitmap is searched at a time: 16 words on 64 bit. */
#define WHEEL_DISPLACE_BITS	1024

static unsigned int wheel_level_span(const struct tw_wheel *w, unsigned int level)
{
	return level * w->shift;
}

static struct hlist_head *wheel_bucket(const struct tw_wheel *w, unsigned int level,
				       u64 number)
{
	return &w->buckets.heads[tw_wheel_index(w, level, number)];
}

/* The greatest word whose timer is due at a tick. */
static u64 wheel_word(const struct tw_wheel *w, u64 tick)
{
	return tw_word(min_t(u64, tw_wheel_ns(w, tick), TWHEEL_NEVER));
}

/* Timers are due up to a tick. */
static void wheel_set_due(struct tw_wheel *w, u64 tick)
{
	w->now_word = wheel_word(w, tick);
}

static void wheel_set_now(struct tw_wheel *w, u64 now)
{
	w->now = now;
	wheel_set_due(w, now);
}

/* tw_wheel_ceil_last() - tw_wheel_ceil() of what tw_wheel_is_last() */
u64 tw_wheel_ceil_last(const struct tw_wheel *w, u64 word)
{
	return div64_u64(tw_word(word) - 1, w->tick_ns) + 1;
}
TW_EXPORT_FOR_TESTS(tw_wheel_ceil_last);

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
 * tw_wheel_dequeue_last() - the last timer of a list has left it
 *
 * It was the only one if @pprev is a bucket's head. Else @pprev is another timer's next
 * pointer, or the head of @due.
 */
void tw_wheel_dequeue_last(struct tw_wheel *w, struct hlist_node **pprev)
{
	struct hlist_head *head = (struct hlist_head *)pprev;
	unsigned long index = head - w->buckets.heads;

	if (index < w->nr) {
		__clear_bit(index, w->buckets.occupied);
	} else if (unlikely(w->displaced)) {
		index = head - w->other.heads;
		if (index < w->nr)
			__clear_bit(index, w->other.occupied);
	}
}
TW_EXPORT_FOR_TESTS(tw_wheel_dequeue_last);

/*
 * The first deadline in bucket @number of @level, if the bucket holds few timers; else
 * the tick at which emptying the bucket has to begin. The answer is not beyond the
 * bucket's end, even if all its timers have been extended.
 */
static u64 bucket_peek(const struct tw_wheel *w, unsigned int level, u64 number)
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
 * Put a timer into the bucket where it now belongs. A pass computes the next wake-up at
 * its end, so there @in_pass spares the comparison.
 */
static __always_inline void wheel_requeue(struct tw_wheel *w, struct twheel_node *node,
					  u64 tick, bool in_pass)
{
	struct tw_wheel_row *row = tw_wheel_find_row(w, tick);

	tw_wheel_enqueue_in(w, node, row, tick);
	if (!in_pass && unlikely(tw_wheel_near(w, row, tick)))
		tw_wheel_set_wake(w, min(w->wake, row->level ?
				bucket_peek(w, row->level, tick >> row->span) : tick));
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

	/* Level by level: the caller's lock keeps interrupts off. */
	while (w->active) {
		level = __ffs64(w->active);
		index = tw_wheel_index(w, level, 0);
		end = index + w->mask + 1;
		index = find_next_bit(w->buckets.occupied, end, index);
		if (index < end)
			return &w->buckets.heads[index];
		w->active &= ~BIT_ULL(level);
	}
	if (!w->displaced)
		return NULL;
	index = find_next_bit(w->other.occupied, w->nr, w->displaced_from);
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

/*
 * The first occupied bucket of @level. The numbers in use begin after that of the
 * position's bucket.
 */
static bool level_first_bucket(const struct tw_wheel *w, unsigned int level,
			       u64 *number)
{
	u64 from = (w->now >> wheel_level_span(w, level)) + 1;
	unsigned int base = tw_wheel_index(w, level, 0);
	unsigned int start = tw_wheel_index(w, level, from);
	unsigned int end = base + w->mask + 1;
	unsigned int index;

	index = find_next_bit(w->buckets.occupied, end, start);
	if (index >= end) {
		index = find_next_bit(w->buckets.occupied, start, base);
		if (index >= start)
			return false;
	}
	*number = from + ((index - start) & w->mask);
	return true;
}

/* The last tick of the block of @tick: buckets of upper levels begin after one. */
static u64 wheel_block_end(const struct tw_wheel *w, u64 tick)
{
	return tick | w->mask >> 1;
}

/* The first tick from @from on, in its block, that has timers in level 0. */
static bool wheel_first_in_block(const struct tw_wheel *w, u64 from, u64 *tick)
{
	unsigned int start = from & w->mask;
	unsigned int end = start | w->mask >> 1;
	unsigned int i = BIT_WORD(start);
	unsigned long word;

	word = w->buckets.occupied[i] & BITMAP_FIRST_WORD_MASK(start);
	while (!word) {
		if (++i > BIT_WORD(end))
			return false;
		word = w->buckets.occupied[i];
	}
	i = i * BITS_PER_LONG + __ffs(word);
	*tick = from + (i - start);
	return i <= end;
}

/*
 * Append a bucket's timers to a list, and return its new tail. If the bucket holds more
 * timers than are @left of the slice, the tail is not searched for, and @left becomes 0.
 */
static struct hlist_node **gather_append(struct hlist_node **tail,
					 struct hlist_head *head, unsigned int *left)
{
	struct hlist_node *link = head->first;

	head->first = NULL;
	*tail = link;
	link->pprev = tail;
	while (--*left && link->next)
		link = link->next;
	return &link->next;
}

/*
 * Move the position up to @last, in the block of the next tick. The timers of all ticks
 * on the way go to the list of those that expire, in the order of their ticks. A tick
 * that has more timers than are left of the slice ends the way. So after a long sleep a
 * tick with a single timer costs little.
 */
static void wheel_gather(struct tw_wheel *w, u64 last)
{
	struct hlist_node **tail = &w->expiring.first;
	unsigned int start = (w->now + 1) & w->mask;
	unsigned int end = start + (last - w->now - 1);
	unsigned int left = WHEEL_GATHER_SLICE;
	u64 first = w->now + 1 - start;
	unsigned int i = BIT_WORD(start);
	unsigned long word;

	word = w->buckets.occupied[i] & BITMAP_FIRST_WORD_MASK(start);
	for (;;) {
		while (word) {
			unsigned int index = i * BITS_PER_LONG + __ffs(word);

			if (index > end)
				goto out;
			word &= word - 1;
			__clear_bit(index, w->buckets.occupied);
			tail = gather_append(tail, &w->buckets.heads[index], &left);
			if (!left) {
				last = first + index;
				goto out;
			}
		}
		if (++i > BIT_WORD(end))
			break;
		word = w->buckets.occupied[i];
	}
out:
	wheel_set_now(w, last);
}

/*
 * A block begins at @tick. Of the buckets that hold timers and begin there, find that of the
 * highest level above 0.
 */
static bool wheel_next_edge(const struct tw_wheel *w, u64 tick, unsigned int *level,
			    u64 *number)
{
	u64 n = tick >> w->shift;
	bool found = false;
	unsigned int l;

	for (l = 1; l < w->levels; l++) {
		if (test_bit(tw_wheel_index(w, l, n), w->buckets.occupied)) {
			*level = l;
			*number = n;
			found = true;
		}
		/* Does one of the next level begin here, too? */
		if (n & (w->mask >> 1))
			break;
		n >>= w->shift;
	}
	return found;
}

/*
 * The first tick that the position may not enter, because a bucket that holds timers
 * begins there. If several do, take the highest level's: it may hold timers for that
 * very tick.
 */
static bool wheel_first_edge(struct tw_wheel *w, u64 *tick, unsigned int *level,
			     u64 *number)
{
	u64 todo = w->active;
	bool found = false;

	while (todo) {
		unsigned int l = __ffs64(todo);
		unsigned int span = wheel_level_span(w, l);
		u64 n;

		/* No bucket of this level, or of one above, begins in between. */
		if (found && *tick >> span == w->now >> span)
			break;
		todo &= todo - 1;
		if (!level_first_bucket(w, l, &n)) {
			w->active &= ~BIT_ULL(l);
			continue;
		}
		if (found && n << span > *tick)
			continue;
		*tick = n << span;
		*level = l;
		*number = n;
		found = true;
	}
	return found;
}

/*
 * What it costs to look for an edge, in timers of a slice: the bitmaps of all levels may
 * have to be searched. That is 8 with 256 slots, and 52 with 4096.
 */
static unsigned int wheel_edge_cost(const struct tw_wheel *w)
{
	return 4 + w->nr / 1024;
}

/*
 * Level 0 has nothing before the end of the position's block: find what wheel_first_edge()
 * would. In a backlog there is work in every block, and the search is spared.
 * Returns what it cost, in timers of a slice; 0 if no bucket holds a timer.
 */
static unsigned int wheel_find_edge(struct tw_wheel *w, u64 *tick, unsigned int *level,
				    u64 *number)
{
	*tick = wheel_block_end(w, w->now) + 1;
	if (wheel_next_edge(w, *tick, level, number))
		return 1;
	*level = 0;
	if (w->active & BIT_ULL(0) && wheel_first_in_block(w, *tick, tick))
		return 1;
	return wheel_first_edge(w, tick, level, number) ? wheel_edge_cost(w) : 0;
}

static void wheel_charge(struct tw_wheel *w, unsigned int *slice, unsigned int cost)
{
	cost = min(cost, *slice);
	*slice -= cost;
	w->searched += cost;
}

/*
 * Empty a bucket of an upper level into lower ones, as far as the slice lasts.
 *
 * In a pass most timers belong exactly one level lower: those whose words are in a
 * certain range. What they share is computed once. It is copied, so that the compiler
 * does not load it again after each write to a bucket. Any other timer costs twice as
 * much, and counts as two. One beyond the bucket's end has been extended.
 *
 * The bucket is not empty, nor is the slice. @look: &tw_wheel.look.
 */
static __always_inline void wheel_cascade(struct tw_wheel *w, unsigned int level,
					  u64 number, unsigned int *slice,
					  bool in_pass,
					  bool (*look)(struct tw_wheel *w,
						       struct twheel_node *node))
{
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

	do {
		struct twheel_node *node;
		u64 word;

		node = hlist_entry(link, struct twheel_node, link);
		link = link->next;
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

static void wheel_empty_bucket(struct tw_wheel *w, unsigned int level, u64 number,
			       unsigned int *slice)
{
	if (likely(w->in_pass && !w->look))
		wheel_cascade_plain(w, level, number, slice);
	else
		wheel_cascade_any(w, level, number, slice);
}

/*
 * The position is before a bucket of an upper level, and no level below it holds a timer.
 * If the bucket's timer is alone in it, the position can go to its tick at once: nothing
 * else is on the way, as no bucket of a higher level begins within this one.
 * Returns false if that is not so, or if the timer is not due at @target.
 */
static bool wheel_take_alone(struct tw_wheel *w, unsigned int level, u64 number,
			     u64 target)
{
	struct hlist_head *head = wheel_bucket(w, level, number);
	struct twheel_node *node = hlist_entry(head->first, struct twheel_node, link);
	u64 tick;

	if (node->link.next)
		return false;
	tick = tw_wheel_ceil(w, atomic64_read(&node->word));
	if (tick > target || tick >> wheel_level_span(w, level) != number)
		return false;
	__clear_bit(head - w->buckets.heads, w->buckets.occupied);
	hlist_move_list(head, &w->expiring);
	wheel_set_now(w, tick);
	return true;
}

/*
 * tw_wheel_begin_round() - begin a pass
 * @round: begin a round as well
 *
 * A round serves the timers that were armed for the past before it began. Timers that
 * are armed for the past from now on wait for the next round. So a callback that arms
 * its timer for now makes no endless loop.
 */
void tw_wheel_begin_round(struct tw_wheel *w, bool round)
{
	w->in_pass = true;
	/* Nothing is near a wake-up: tw_wheel_near() has one comparison for both. */
	tw_wheel_set_wake(w, 0);
	/* What an earlier round has found due goes first. */
	if (round && hlist_empty(&w->expiring))
		hlist_move_list(&w->due, &w->expiring);
}
TW_EXPORT_FOR_TESTS(tw_wheel_begin_round);

/*
 * Find the next bucket of the other set, a part of its bitmap at a time, and have its
 * timers looked at. Nothing is added to that set, so the search never goes back.
 */
static void wheel_displace(struct tw_wheel *w, unsigned int *slice)
{
	unsigned int end = min(w->displaced_from + WHEEL_DISPLACE_BITS, w->nr);
	unsigned int index;

	index = find_next_bit(w->other.occupied, end, w->displaced_from);
	wheel_charge(w, slice, 2);
	w->displaced_from = index;
	if (index < end) {
		__clear_bit(index, w->other.occupied);
		hlist_move_list(&w->other.heads[index], &w->expiring);
	} else if (end == w->nr) {
		w->displaced = false;
	}
}

/*
 * tw_wheel_advance() - move the position towards @target
 * @slice: how many timers may be cascaded, and what is left of it. Searching bitmaps
 *	counts too, see &tw_wheel.searched
 *
 * Stops where timers are due. From here on a timer that is added for a tick up to
 * @target is past, even before the position gets there. See enum tw_advance.
 */
enum tw_advance tw_wheel_advance(struct tw_wheel *w, u64 target, unsigned int *slice)
{
	unsigned int level, cost;
	u64 tick, number;

	w->cascaded = 0;
	w->horizon = max(w->horizon, target);
	tw_wheel_set_wake(w, w->wake);
	/* The position may be ahead of a clock that was set back. */
	if (unlikely(w->other.heads))
		wheel_set_due(w, min(w->now, target));
	while (hlist_empty(&w->expiring)) {
		u64 end = wheel_block_end(w, w->now);

		if (unlikely(w->displaced)) {
			if (!*slice)
				return TW_ADVANCE_MORE;
			wheel_displace(w, slice);
			continue;
		}
		/* Within a block no bucket of an upper level is in the way. */
		if (w->active & BIT_ULL(0) && w->now < min(end, target)) {
			wheel_gather(w, min(end, target));
			continue;
		}
		if (target <= end)
			break;
		cost = wheel_find_edge(w, &tick, &level, &number);
		if (!cost || tick > target)
			break;
		if (!level) {
			wheel_set_now(w, tick - 1);
			wheel_gather(w, min(wheel_block_end(w, tick), target));
			wheel_charge(w, slice, cost);
			continue;
		}
		if (!*slice)
			return TW_ADVANCE_MORE;
		if (!(w->active & (BIT_ULL(level) - 1)) &&
		    wheel_take_alone(w, level, number, target)) {
			wheel_charge(w, slice, cost);
			break;
		}
		wheel_set_now(w, tick - 1);
		wheel_empty_bucket(w, level, number, slice);
		wheel_charge(w, slice, cost);
		/* Looking for the edge once more would find the same. */
		if (!*slice)
			return TW_ADVANCE_MORE;
	}
	if (!hlist_empty(&w->expiring))
		return TW_ADVANCE_DUE;
	if (target > w->now)
		wheel_set_now(w, target);
	return TW_ADVANCE_DONE;
}
TW_EXPORT_FOR_TESTS(tw_wheel_advance);

/*
 * Put a timer back that is not due yet.
 *
 * After the clock was set back, the position may be past the timer's tick. Then the
 * timer waits in @due until tw_wheel_move_back() has put the position right.
 */
static void wheel_defer(struct tw_wheel *w, struct twheel_node *node, u64 word)
{
	u64 tick = tw_wheel_ceil(w, word);

	tw_wheel_dequeue(w, node);
	w->requeued++;
	if (likely(tick > w->now))
		wheel_requeue(w, node, tick, true);
	else
		hlist_add_head(&node->link, &w->due);
}

/*
 * tw_wheel_requeue_due() - put back a timer that tw_wheel_claim() could not claim
 * @slice: how many timers may be put back; what is left of it
 *
 * Return: false if the timer has to be put back, and the slice is used up.
 */
bool tw_wheel_requeue_due(struct tw_wheel *w, struct twheel_node *node,
			  unsigned int *slice)
{
	u64 word = atomic64_read(&node->word);

	/* It has been extended just now, but is still due: the next claim takes it. */
	if (word <= w->now_word)
		return true;
	if (!*slice)
		return false;
	--*slice;
	wheel_defer(w, node, word);
	return true;
}
TW_EXPORT_FOR_TESTS(tw_wheel_requeue_due);

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
			wheel_empty_bucket(w, level, number, slice);
		}
	}
	w->quiet = wheel_block_end(w, w->now);
	return true;
}
TW_EXPORT_FOR_TESTS(tw_wheel_drain_ahead);

/*
 * tw_wheel_next_event() - the tick at which the wheel has something to do
 *
 * Sets &tw_wheel.wake, and ends a pass.
 *
 * Return: the tick, at or before the position if there is work left;
 * %TW_WHEEL_ASLEEP if the wheel is empty.
 */
u64 tw_wheel_next_event(struct tw_wheel *w)
{
	u64 todo = w->active;
	bool drained;
	u64 next;

	w->in_pass = false;
	if (!hlist_empty(&w->due) || !hlist_empty(&w->expiring) ||
	    w->displaced) {
		/* At once. The position may be ahead of a clock that was set back. */
		tw_wheel_set_wake(w, tw_wheel_floor(w, tw_word(w->now_word)));
		return w->wake;
	}

	/*
	 * The next buckets of the upper levels are empty. They stay so, because a
	 * timer goes to those levels at least two buckets ahead. So those levels need
	 * nothing before this block ends.
	 */
	drained = w->now <= w->quiet;
	if (drained && w->now < w->quiet && wheel_first_in_block(w, w->now + 1, &next)) {
		tw_wheel_set_wake(w, next);
		return next;
	}

	next = TW_WHEEL_ASLEEP;
	while (todo) {
		unsigned int level = __ffs64(todo);
		unsigned int span = wheel_level_span(w, level);
		u64 number;

		todo &= todo - 1;
		/* Emptying the first bucket of this level, or of one above, begins later. */
		if (drained && next <= ((w->now >> span) + 1) << span)
			break;
		if (!level_first_bucket(w, level, &number)) {
			w->active &= ~BIT_ULL(level);
			continue;
		}
		if (!level) {
			next = number;
			continue;
		}
		next = min(next, bucket_peek(w, level, number));
		/*
		 * The bucket after it may be so crowded that emptying it has to
		 * begin while the first one's few timers still wait. Later
		 * buckets need nothing before the first one's end.
		 */
		number++;
		if (next > (number - 1) << span &&
		    test_bit(tw_wheel_index(w, level, number),
			     w->buckets.occupied))
			next = min(next, bucket_peek(w, level, number));
	}
	tw_wheel_set_wake(w, next);
	return next;
}
TW_EXPORT_FOR_TESTS(tw_wheel_next_event);

/*
 * tw_wheel_move_forward() - follow the clock between passes
 *
 * A timer's level depends on its distance from the position. After a long sleep the
 * position is far behind the clock, and a short delay would look like a long one.
 */
void tw_wheel_move_forward(struct tw_wheel *w, u64 now)
{
	unsigned int slice = WHEEL_FORWARD_SLICE;

	/* From the wake-up on it is the pass that moves the position. */
	if (now > w->now && now < w->wake)
		tw_wheel_advance(w, now, &slice);
}
TW_EXPORT_FOR_TESTS(tw_wheel_move_forward);

/*
 * tw_wheel_move_back() - the clock was set back to @now, before the position
 *
 * The present buckets have no place for the ticks between @now and the position. So
 * the position goes back with the clock, over an empty set of buckets. Rounds then move
 * the timers of the full set over, a slice at a time.
 *
 * If the clock is set back again before that is done, the position has to wait. Timers
 * for the ticks in between then wait in @due, and tw_wheel_claim() sees by their
 * deadlines that they are not due.
 *
 * Nothing later than @now is due any more. Not to be called in a pass.
 */
void tw_wheel_move_back(struct tw_wheel *w, u64 now)
{
	if (w->displaced || !w->other.heads) {
		wheel_set_due(w, min(w->now, now));
		tw_wheel_set_wake(w, min(w->wake, now));
		return;
	}
	swap(w->buckets, w->other);
	w->displaced = w->active;
	w->displaced_from = 0;
	w->active = 0;
	w->quiet = 0;
	w->horizon = now;
	wheel_set_now(w, now);
	/* Without this, the alarm for timers that are past would be put off. */
	if (w->displaced || !hlist_empty(&w->due) || !hlist_empty(&w->expiring))
		w->wake = now;
	tw_wheel_set_wake(w, w->wake);
}
TW_EXPORT_FOR_TESTS(tw_wheel_move_back);
