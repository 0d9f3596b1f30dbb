// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* The position: how it moves, and where it has to stop. */
#include "bucket.h"

/*
 * How many ticks are gathered at a time: little beside expiring their timers. A backlog of an hour
 * became a third cheaper by that.
 */
#define WHEEL_GATHER_SLICE	32

/*
 * How much tw_wheel_move_forward() may do, in units of a slice. It runs inside an arm, and
 * each bucket that it meets has %WHEEL_PEEK timers at most.
 */
#define WHEEL_FORWARD_SLICE	32

/* How much of the bitmap is searched at a time to displace timers: 16 words on 64 bit. */
#define WHEEL_DISPLACE_BITS	1024

/* Up to here no bucket of an upper level that holds timers is in the position's way. */
static inline u64 wheel_clear_end(const struct tw_wheel *w)
{
	return max(wheel_block_end(w, w->now), w->quiet);
}

/*
 * Move the position up to @last, before level 0 begins anew. The timers of all ticks
 * on the way go to the list of those that expire, in the order of their ticks. After some
 * ticks that have timers the position stops. So after a long sleep a tick with a single timer
 * costs little.
 */
static void wheel_gather(struct tw_wheel *w, u64 last)
{
	struct hlist_node **tail = &w->expiring.first;
	unsigned int start = (w->now + 1) & w->mask;
	unsigned int end = start + (last - w->now - 1);
	unsigned long range = BITMAP_FIRST_WORD_MASK(start);
	unsigned int left = WHEEL_GATHER_SLICE;
	u64 first = w->now + 1 - start;
	unsigned int i;

	for (i = BIT_WORD(start); left && i <= BIT_WORD(end); i++) {
		unsigned long found, rest;

		if (i == BIT_WORD(end))
			range &= BITMAP_LAST_WORD_MASK(end + 1);
		found = w->buckets.occupied[i] & range;
		for (rest = found; rest; rest &= rest - 1) {
			unsigned int index = i * BITS_PER_LONG + __ffs(rest);

			if (!left)
				break;
			tail = tw_list_take(&w->buckets.heads[index], tail);
			if (!--left)
				last = first + index;
		}
		w->buckets.occupied[i] ^= found ^ rest;
		range = ~0UL;
	}
	if (tail != &w->expiring.first)
		tw_list_set_tail(&w->expiring, tail);
	wheel_set_now(w, last);
}

/*
 * The number of the first occupied bucket of @level, or 0. The first one that may be in use
 * is the one after the position's.
 */
static inline u64 level_first_bucket(const struct tw_wheel *w, unsigned int level)
{
	u64 from = (w->now >> wheel_level_span(w, level)) + 1;
	unsigned int base = tw_wheel_index(w, level, 0);
	unsigned int start = tw_wheel_index(w, level, from);
	unsigned int end = base + w->mask + 1;
	unsigned int index;

	index = wheel_find_bit(w->buckets.occupied, end, start);
	if (index == end && start > base)
		index = wheel_find_bit(w->buckets.occupied, end, base);
	return index < end ? from + ((index - start) & w->mask) : 0;
}

/* The first tick from @from up to @last that has timers in level 0, or none. It does not wrap. */
static inline u64 wheel_first_tick(const struct tw_wheel *w, u64 from, u64 last)
{
	unsigned int start = from & w->mask;
	unsigned int end = start + (last - from) + 1;
	unsigned int index = wheel_find_bit(w->buckets.occupied, end, start);

	return index < end ? from + (index - start) : TW_WHEEL_ASLEEP;
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
		/* A bucket of the next level may begin here, too. */
		if (n & (w->mask >> 2))
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
		n = level_first_bucket(w, l);
		if (!n) {
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
 * have to be searched. At a tick of 1 ms that is 7 with 128 slots, and 68 with 4096.
 */
static unsigned int wheel_edge_cost(const struct tw_wheel *w)
{
	return 4 + w->nr / 1024;
}

/*
 * Level 0 has nothing up to wheel_clear_end(): find what wheel_first_edge() would. In a backlog
 * there is work in every block, and the search is spared. If level 0 is empty, only a bucket that
 * is being emptied is likely to begin with the next block.
 * Returns what it cost, in timers of a slice; 0 if no bucket holds a timer.
 */
static unsigned int wheel_find_edge(struct tw_wheel *w, u64 *tick, unsigned int *level,
				    u64 *number)
{
	u64 begin = wheel_clear_end(w) + 1;
	bool some = w->active & BIT_ULL(0);

	*tick = begin;
	if ((some || w->now + 1 == begin) && wheel_next_edge(w, begin, level, number))
		return 1;
	*level = 0;
	if (some) {
		*tick = wheel_first_tick(w, begin, wheel_block_end(w, begin));
		if (*tick != TW_WHEEL_ASLEEP)
			return 1;
	}
	return wheel_first_edge(w, tick, level, number) ? wheel_edge_cost(w) : 0;
}

static void wheel_charge(struct tw_wheel *w, unsigned int *slice, unsigned int cost)
{
	cost = min(cost, *slice);
	*slice -= cost;
	w->searched += cost;
}

/*
 * The position is before a bucket of an upper level, and no level below it holds a timer. If the
 * bucket's timer is alone in it, the position can go to its tick at once. So it can with the next
 * buckets, up to the end of that of the level above. Nothing else is on the way: no bucket of a
 * higher level begins within that one.
 * Returns false if the first is not alone, or not due at @target.
 */
static bool wheel_take_alone(struct tw_wheel *w, unsigned int level, u64 number,
			     u64 target)
{
	unsigned int index = tw_wheel_index(w, level, number);
	const unsigned int end = (index | w->mask >> 2) + 1;
	unsigned int left = WHEEL_GATHER_SLICE;
	const u64 first = number - index;
	u64 last = 0;

	do {
		struct tw_list *list = &w->buckets.heads[index];
		struct twheel_node *node = hlist_entry(list->first, struct twheel_node, link);
		u64 tick;

		if (!tw_list_is_end(node->link.next))
			break;
		tick = tw_wheel_ceil(w, atomic64_read(&node->word));
		if (tick > target || tick >> wheel_level_span(w, level) != first + index)
			break;
		last = tick;
		__clear_bit(index, w->buckets.occupied);
		tw_list_splice(list, &w->expiring);
		if (++index < end)
			index = wheel_find_bit(w->buckets.occupied, end, index);
	} while (index < end && --left);
	if (!last)
		return false;
	wheel_set_now(w, last);
	return true;
}

/*
 * tw_wheel_begin_round() - begin a pass, and with @round a round
 * @round: false to go on with the round of the pass before
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
	if (round && !w->displaced && tw_list_empty(&w->expiring))
		tw_list_splice(&w->due, &w->expiring);
}

/*
 * tw_wheel_begin_displace() - from now on timers are past, and leave the buckets
 *
 * tw_wheel_displace() is called until &tw_wheel.displaced is 0.
 */
void tw_wheel_begin_displace(struct tw_wheel *w)
{
	w->displaced = BITS_TO_LONGS(w->nr);
	w->horizon = TW_WHEEL_ASLEEP - 1;
	tw_wheel_set_wake(w, w->wake);
}

/*
 * tw_wheel_displace() - append the timers of the last bucket that has some to @due
 * @slice: as tw_wheel_advance(). A part of the bitmap is searched at a time
 *
 * Timers of one tick that are on upper levels were armed first. So they come first.
 */
void tw_wheel_displace(struct tw_wheel *w, unsigned int *slice)
{
	unsigned int words = WHEEL_DISPLACE_BITS / BITS_PER_LONG;

	wheel_charge(w, slice, 2);
	for (; words && w->displaced; words--) {
		unsigned int i = w->displaced - 1;
		unsigned long word = w->buckets.occupied[i];

		if (word) {
			unsigned int index = i * BITS_PER_LONG + tw_top_bit(word);

			__clear_bit(index, w->buckets.occupied);
			tw_list_splice(&w->buckets.heads[index], &w->due);
			return;
		}
		w->displaced = i;
	}
	if (!w->displaced)
		w->active = 0;
}

/* The buckets are empty, so the position may be anywhere. */
static void wheel_restart(struct tw_wheel *w, u64 now)
{
	w->quiet = 0;
	w->horizon = now;
	wheel_set_now(w, now);
}

/*
 * The clock was set back: empty the buckets, and then let the position go to @target. Returns
 * false if the slice does not last, or if timers of before are still to be handed out.
 */
static noinline bool wheel_follow_back(struct tw_wheel *w, u64 target, unsigned int *slice)
{
	wheel_set_due(w, min(w->now, target));
	while (tw_list_empty(&w->expiring) && w->displaced && *slice)
		tw_wheel_displace(w, slice);
	if (w->displaced)
		return false;
	wheel_restart(w, target);
	/* The round looks at all of them, and at what callbacks have armed since the step. */
	tw_list_splice(&w->due, &w->expiring);
	return true;
}

/*
 * Nothing is left to do up to wheel_clear_end(): go on to what is next, up to @target.
 * Returns %TW_ADVANCE_DONE if nothing is left to do at all, and %TW_ADVANCE_MORE if the slice
 * is used up. With %TW_ADVANCE_DUE timers may be due: the caller looks again.
 */
static enum tw_advance wheel_leave_block(struct tw_wheel *w, u64 target, unsigned int *slice)
{
	unsigned int level, cost;
	u64 tick, number;

	cost = wheel_find_edge(w, &tick, &level, &number);
	if (!cost || tick > target)
		return TW_ADVANCE_DONE;
	if (!level) {
		wheel_set_now(w, tick - 1);
		wheel_gather(w, min(wheel_block_end(w, tick), target));
		wheel_charge(w, slice, cost);
		return TW_ADVANCE_DUE;
	}
	if (!*slice)
		return TW_ADVANCE_MORE;
	if (w->active & (BIT_ULL(level) - 1) || !wheel_take_alone(w, level, number, target)) {
		wheel_set_now(w, tick - 1);
		tw_bucket_empty(w, level, number, slice);
	}
	wheel_charge(w, slice, cost);
	/* Looking for the edge once more would find the same. */
	return *slice || !tw_list_empty(&w->expiring) ? TW_ADVANCE_DUE : TW_ADVANCE_MORE;
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
	w->cascaded = 0;
	if (unlikely(w->displaced) && !wheel_follow_back(w, target, slice))
		return tw_list_empty(&w->expiring) ? TW_ADVANCE_MORE : TW_ADVANCE_DUE;
	w->horizon = max(w->now, target);
	tw_wheel_set_wake(w, w->wake);
	/* The position may be ahead of a clock that was set back. */
	if (unlikely(w->goes_back))
		wheel_set_due(w, min(w->now, target));
	while (tw_list_empty(&w->expiring)) {
		u64 end = wheel_clear_end(w);
		enum tw_advance turn;

		if (w->active & BIT_ULL(0) && w->now < min(end, target)) {
			wheel_gather(w, min(end, target));
			continue;
		}
		if (target <= end)
			break;
		turn = wheel_leave_block(w, target, slice);
		if (turn == TW_ADVANCE_MORE)
			return turn;
		if (turn == TW_ADVANCE_DONE)
			break;
	}
	if (!tw_list_empty(&w->expiring))
		return TW_ADVANCE_DUE;
	/* Also at the position: an older reading of the clock may have made less due. */
	if (target >= w->now)
		wheel_set_now(w, target);
	return TW_ADVANCE_DONE;
}

/*
 * Put a timer back that is not due yet.
 *
 * After the clock was set back, the position may be past the timer's tick. Then the
 * timer waits in @due until the position has gone back.
 */
static void wheel_defer(struct tw_wheel *w, struct twheel_node *node, u64 word)
{
	u64 tick = tw_wheel_ceil(w, word);

	tw_wheel_dequeue(w, node);
	w->requeued++;
	if (likely(tick > w->now && !w->displaced))
		wheel_requeue(w, node, tick);
	else
		tw_list_append(&w->due, node);
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

/*
 * The first tick at which a bucket needs something. @drained: the next buckets of the upper
 * levels are empty.
 */
static u64 wheel_search_event(struct tw_wheel *w, bool drained)
{
	u64 next = TW_WHEEL_ASLEEP;
	u64 todo = w->active;

	while (todo) {
		unsigned int level = __ffs64(todo);
		unsigned int span = wheel_level_span(w, level);
		u64 number;

		todo &= todo - 1;
		/* Emptying the first bucket of this level, or of one above, begins later. */
		if (drained && next <= ((w->now >> span) + 1) << span)
			break;
		number = level_first_bucket(w, level);
		if (!number) {
			w->active &= ~BIT_ULL(level);
			continue;
		}
		if (!level) {
			next = number;
			continue;
		}
		next = min(next, tw_bucket_peek(w, level, number));
		/*
		 * The bucket after it may be so crowded that emptying it has to
		 * begin while the first one's few timers still wait. Later
		 * buckets need nothing before the first one's end.
		 */
		number++;
		if (next > (number - 1) << span &&
		    test_bit(tw_wheel_index(w, level, number),
			     w->buckets.occupied))
			next = min(next, tw_bucket_peek(w, level, number));
	}
	return next;
}

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
	u64 next = TW_WHEEL_ASLEEP;

	w->in_pass = false;
	if (!tw_list_empty(&w->due) || !tw_list_empty(&w->expiring) || w->displaced)
		/* At once. The position may be ahead of a clock that was set back. */
		next = tw_wheel_floor(w, tw_word(w->now_word));
	else if (w->now < w->quiet)
		/*
		 * The next buckets of the upper levels are empty. They stay so, because a
		 * timer goes to those levels at least four buckets ahead.
		 */
		next = wheel_first_tick(w, w->now + 1, w->quiet);
	if (next == TW_WHEEL_ASLEEP)
		next = wheel_search_event(w, tw_wheel_is_drained(w));
	tw_wheel_set_wake(w, next);
	return next;
}

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

/*
 * tw_wheel_move_back() - the clock was set back to @now, before the position
 *
 * The buckets have no place for the ticks between @now and the position. So all timers go to @due
 * first, a slice at a time, and so do those that are armed meanwhile. Then the position goes back
 * over empty buckets. The round looks at all timers, and puts back those that are not due.
 *
 * Nothing later than @now is due any more. In core, not to be called in a pass. The device may
 * call it between the slices of a search, which goes on.
 */
void tw_wheel_move_back(struct tw_wheel *w, u64 now)
{
	if (w->displaced || !w->goes_back) {
		wheel_set_due(w, min(w->now, now));
		tw_wheel_set_wake(w, min(w->wake, now));
		return;
	}
	if (w->active) {
		tw_wheel_begin_displace(w);
		wheel_set_due(w, now);
	} else {
		wheel_restart(w, now);
	}
	/* Without this, the alarm for timers that are past would be put off. */
	if (w->displaced || !tw_list_empty(&w->due) || !tw_list_empty(&w->expiring))
		w->wake = now;
	tw_wheel_set_wake(w, w->wake);
}
