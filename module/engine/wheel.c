// SPDX-License-Identifier: GPL-2.0-only
/*
 * The engine: a hierarchical hashed timing wheel.
 *
 * A wheel has levels 0, 1, 2... A bucket of level L covers S^L ticks, where S
 * is the ratio between levels, and is the list of all timers filed under those
 * ticks. Levels reach as far as a u64 of ticks does, so there is no horizon.
 *
 * Every level has 2 * S buckets: two laps of the next level's bucket. A timer at
 * distance d ticks from the position is filed at the level L where d is at least
 * two buckets and less than two laps:
 *
 *	level 0:	     d < 2S	bucket = tick
 *	level L:  2S^L <= d < 2S^(L+1)	bucket = tick / S^L
 *
 * From that everything follows:
 *
 *  - A bucket number modulo 2S is unambiguous: only numbers in
 *    (position, position + 2S] are in use, at any level.
 *  - A timer of level L lies at least one whole bucket ahead. So when the
 *    position enters the bucket before a timer's own, that bucket takes no new
 *    timers, and there are S^L ticks of time to empty it in slices, into lower
 *    levels, before the first of its timers can be due. A crowded bucket costs no
 *    pause at its boundary (no "cascade cliff").
 *  - A timer taken from level L less than two buckets before its tick lands at a
 *    lower level: it cascades at most once per level, and exactly.
 *
 * The position enters a bucket of any level only when the bucket is empty
 * (level 0: when its timers are being handed out). That is the invariant of the
 * whole thing; first_edge() finds the first tick that it forbids.
 *
 * Buckets are found through a bitmap. The bit of a bucket needs no index in the
 * timer: a timer that is alone in its bucket is pointed to by the bucket's head,
 * and the head's address is the index.
 *
 * Hashed and hierarchical wheels: G. Varghese, T. Lauck, "Hashed and
 * Hierarchical Timing Wheels", SOSP 1987. Two laps to a level, which give the
 * time to drain ahead, are ours.
 */
#include <linux/atomic.h>
#include <linux/bitmap.h>
#include <linux/bitops.h>
#include <linux/list.h>
#include <linux/math64.h>
#include <linux/minmax.h>

#include <linux/twheel.h>

#include "../export.h"
#include "wheel.h"

/*
 * A bucket of at most so many timers is looked through for its first deadline,
 * and the wheel sleeps until then. A fuller one is woken up for a bucket's length
 * ahead, to be emptied in time. Eight timers are as many cache misses, about the
 * cost of the wake-up that is saved.
 */
#define PEEK		8

/*
 * So many timers are gathered from their ticks at a time, at some ten instructions
 * each: an instant, compared to expiring them.
 */
#define GATHER_SLICE	32

/* How many timers tw_wheel_move_forward() may cascade: it runs inside an arm. */
#define FORWARD_SLICE	(2 * PEEK)

static unsigned int level_span(const struct tw_wheel *w, unsigned int level)
{
	return level * w->shift;
}

static struct hlist_head *bucket(const struct tw_wheel *w, unsigned int level,
				 u64 number)
{
	return &w->buckets.heads[tw_wheel_index(w, level, number)];
}

static void set_now(struct tw_wheel *w, u64 now)
{
	w->now = now;
	w->now_ns = tw_wheel_ns(w, now);
}

/* tw_wheel_ceil_late() - tw_wheel_ceil() beyond &tw_wheel.recip_max */
u64 tw_wheel_ceil_late(const struct tw_wheel *w, u64 ns)
{
	u64 tick = div64_u64(ns, w->tick_ns);

	return tick + (tick * w->tick_ns != ns);
}
TW_EXPORT_FOR_TESTS(tw_wheel_ceil_late);

/*
 * tw_wheel_dequeue_last() - the last timer of a list has been taken out
 *
 * It was the only one if @pprev is a bucket's head rather than another timer's
 * next pointer or the head of @due.
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
 * The first deadline in bucket @number of @level, if that can be told with a
 * few looks, else the tick at which emptying the bucket has to begin. Not beyond
 * the bucket's end, even if its timers have all been extended.
 */
static u64 peek(const struct tw_wheel *w, unsigned int level, u64 number)
{
	unsigned int span = level_span(w, level);
	u64 first = ((number + 1) << span) - 1;
	struct twheel_timer *t;
	unsigned int n = 0;

	hlist_for_each_entry(t, bucket(w, level, number), node) {
		if (++n > PEEK)
			return (number - 1) << span;
		first = min(first, tw_wheel_ceil(w, atomic64_read(&t->word)));
	}
	return first;
}

/*
 * File a timer anew, wherever it now belongs. In a pass there is no wake-up that it
 * could come before.
 */
static __always_inline void refile(struct tw_wheel *w, struct twheel_timer *t,
				   u64 tick, bool in_pass)
{
	struct tw_wheel_row *row = tw_wheel_find_row(w, tick);

	tw_wheel_enqueue_in(w, t, row, tick);
	if (!in_pass && unlikely(tw_wheel_near(w, row, tick)))
		w->wake = min(w->wake, row->level ?
			      peek(w, row->level, tick >> row->span) : tick);
}

/*
 * tw_wheel_enqueue_near() - tw_wheel_enqueue() for a timer that is near or past
 *
 * If it is past, the next round will serve it. May lower &tw_wheel.wake.
 */
noinline void tw_wheel_enqueue_near(struct tw_wheel *w, struct twheel_timer *t)
{
	u64 tick = tw_wheel_ceil(w, atomic64_read(&t->word));

	if (tick > w->horizon) {
		refile(w, t, tick, false);
	} else {
		hlist_add_head(&t->node, &w->due);
		w->wake = min(w->wake, w->now);
	}
}
TW_EXPORT_FOR_TESTS(tw_wheel_enqueue_near);

/*
 * tw_wheel_evict() - take out any timer, to empty the wheel
 *
 * Return: the timer, or NULL if the wheel is empty.
 */
struct twheel_timer *tw_wheel_evict(struct tw_wheel *w)
{
	struct tw_wheel_buckets *buckets = &w->buckets;
	struct hlist_head *head = &w->due;
	struct twheel_timer *t;
	unsigned int index;

	if (hlist_empty(head))
		head = &w->expiring;
	if (hlist_empty(head)) {
		index = find_first_bit(buckets->occupied, w->nr);
		if (index >= w->nr && w->displaced) {
			buckets = &w->other;
			index = find_first_bit(buckets->occupied, w->nr);
		}
		if (index >= w->nr)
			return NULL;
		head = &buckets->heads[index];
	}
	t = hlist_entry(head->first, struct twheel_timer, node);
	tw_wheel_dequeue(w, t);
	return t;
}
TW_EXPORT_FOR_TESTS(tw_wheel_evict);

/*
 * The first occupied bucket of @level. Those in use are numbered from the one after
 * the position's.
 */
static bool first_bucket(const struct tw_wheel *w, unsigned int level,
			 u64 *number)
{
	u64 from = (w->now >> level_span(w, level)) + 1;
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
static u64 block_end(const struct tw_wheel *w, u64 tick)
{
	return tick | w->mask >> 1;
}

/* The first tick from @from on, in its block, that has timers in level 0. */
static bool first_in_block(const struct tw_wheel *w, u64 from, u64 *tick)
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
 * Append a bucket's timers to a list, and return its new tail. Where they are more
 * than are @left of the slice, the tail is not looked for: 0 are left then.
 */
static struct hlist_node **append(struct hlist_node **tail,
				  struct hlist_head *head, unsigned int *left)
{
	struct hlist_node *node = head->first;

	head->first = NULL;
	*tail = node;
	node->pprev = tail;
	while (--*left && node->next)
		node = node->next;
	return &node->next;
}

/*
 * Move the position up to @last, in the block of the next tick, and the timers of
 * all ticks on the way to the list of those that expire, in the order of the
 * ticks. Stops at a tick that has more timers than are left of the slice, with
 * those. A lone timer to a tick, after a long sleep, costs little that way.
 */
static void gather(struct tw_wheel *w, u64 last)
{
	struct hlist_node **tail = &w->expiring.first;
	unsigned int start = (w->now + 1) & w->mask;
	unsigned int end = start + (last - w->now - 1);
	unsigned int left = GATHER_SLICE;
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
			tail = append(tail, &w->buckets.heads[index], &left);
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
	set_now(w, last);
}

/*
 * The first tick that the position may not enter, because a bucket begins there
 * that holds timers. Of several the highest level's, which may hold timers for
 * that very tick.
 */
static bool first_edge(struct tw_wheel *w, u64 *tick, unsigned int *level,
		       u64 *number)
{
	u64 todo = w->active;
	bool found = false;

	while (todo) {
		unsigned int l = __ffs64(todo);
		u64 n;

		todo &= todo - 1;
		if (!first_bucket(w, l, &n)) {
			w->active &= ~BIT_ULL(l);
			continue;
		}
		if (found && n << level_span(w, l) > *tick)
			continue;
		*tick = n << level_span(w, l);
		*level = l;
		*number = n;
		found = true;
	}
	return found;
}

/*
 * Empty a bucket of an upper level into lower ones.
 *
 * In a pass most timers belong exactly one level lower. Which those are, one range
 * tells; what they share is looked up once, and kept where writing to a bucket
 * does not make the compiler load it again. Who is beyond the bucket's end has been
 * extended.
 */
static __always_inline void cascade(struct tw_wheel *w, unsigned int level,
				    u64 number, unsigned int *slice,
				    bool in_pass)
{
	u64 near = w->now + ((2ULL << level_span(w, level)) >> w->shift);
	/* Of the last bucket there is, it may be 0. */
	u64 end = (number + 1) << level_span(w, level);
	u64 range = end - near;
	const struct tw_wheel_row row = *tw_wheel_find_row(w, near);
	struct hlist_head *head = bucket(w, level, number);
	struct hlist_node *node = head->first;
	const struct tw_wheel_buckets buckets = w->buckets;
	const unsigned long mask = w->mask;
	unsigned int left = *slice;
	unsigned int extended = 0;

	while (node && left) {
		struct twheel_timer *t;
		u64 tick;

		t = hlist_entry(node, struct twheel_timer, node);
		node = node->next;
		tick = tw_wheel_ceil(w, atomic64_read(&t->word));
		if (in_pass && likely(tick - near < range)) {
			unsigned long index;

			index = row.first + ((tick >> row.span) & mask);
			hlist_add_head(&t->node, &buckets.heads[index]);
			__set_bit(index, buckets.occupied);
		} else {
			extended += tick > end - 1;
			refile(w, t, tick, in_pass);
		}
		left--;
	}
	if (in_pass)
		w->active |= row.bit;
	w->requeued += extended;
	w->cascades += *slice - left - extended;
	w->cascaded |= BIT_ULL(level);
	*slice = left;
	/* The list was taken apart from its head; this is what is left. */
	head->first = node;
	if (node)
		node->pprev = &head->first;
	else
		__clear_bit(head - w->buckets.heads, w->buckets.occupied);
}

/*
 * tw_wheel_begin_round() - begin a pass
 * @round: begin a round too
 *
 * Timers armed for the past, until here, will be served by this round. Those that
 * are armed for the past from now on wait for the next one, so that a callback
 * that arms its timer for now is no endless loop.
 */
void tw_wheel_begin_round(struct tw_wheel *w, bool round)
{
	w->wake = 0;
	/* What is on its way out still goes first. */
	if (round && hlist_empty(&w->expiring))
		hlist_move_list(&w->due, &w->expiring);
}
TW_EXPORT_FOR_TESTS(tw_wheel_begin_round);

/* Have the timers of a bucket of the other set looked at. */
static void displace(struct tw_wheel *w)
{
	unsigned int index = find_first_bit(w->other.occupied, w->nr);

	if (index >= w->nr) {
		w->displaced = false;
		return;
	}
	__clear_bit(index, w->other.occupied);
	hlist_move_list(&w->other.heads[index], &w->expiring);
}

/*
 * tw_wheel_advance() - move the position towards @target
 * @slice: how many timers may be cascaded; what is left of it
 *
 * Stops where timers are due. What is added for a tick up to @target from here on
 * is past, even before the position gets there. See enum tw_advance.
 */
enum tw_advance tw_wheel_advance(struct tw_wheel *w, u64 target, unsigned int *slice)
{
	unsigned int level;
	u64 tick, number;

	w->cascaded = 0;
	w->horizon = max(w->horizon, target);
	/* The position may be ahead of a clock that was set back. */
	if (unlikely(w->other.heads))
		w->now_ns = tw_wheel_ns(w, min(w->now, target));
	while (hlist_empty(&w->expiring)) {
		u64 end = block_end(w, w->now);

		if (unlikely(w->displaced)) {
			displace(w);
			continue;
		}
		/* Within a block no bucket of an upper level is in the way. */
		if (w->now < min(end, target)) {
			gather(w, min(end, target));
			continue;
		}
		if (target <= end ||
		    !first_edge(w, &tick, &level, &number) || tick > target)
			break;
		if (!level) {
			set_now(w, tick - 1);
			gather(w, min(block_end(w, tick), target));
			continue;
		}
		if (!*slice)
			return TW_ADVANCE_MORE;
		set_now(w, tick - 1);
		if (w->wake)
			cascade(w, level, number, slice, false);
		else
			cascade(w, level, number, slice, true);
		/* Rather than look for the edge once more, to find the same. */
		if (!*slice)
			return TW_ADVANCE_MORE;
	}
	if (!hlist_empty(&w->expiring))
		return TW_ADVANCE_DUE;
	if (target > w->now)
		set_now(w, target);
	return TW_ADVANCE_DONE;
}
TW_EXPORT_FOR_TESTS(tw_wheel_advance);

/*
 * File a timer anew that is not due yet.
 *
 * After the clock was set back its tick may be one that the position has
 * passed; then it waits until tw_wheel_move_back() has put that right.
 */
static void defer(struct tw_wheel *w, struct twheel_timer *t, u64 word)
{
	u64 tick = tw_wheel_ceil(w, word);

	tw_wheel_dequeue(w, t);
	w->requeued++;
	if (likely(tick > w->now))
		refile(w, t, tick, true);
	else
		hlist_add_head(&t->node, &w->due);
}

/*
 * tw_wheel_requeue_due() - see to a timer that tw_wheel_claim() has not got
 * @slice: how many timers may be filed anew; what is left of it
 *
 * Return: false if it has to be, and the slice is used up.
 */
bool tw_wheel_requeue_due(struct tw_wheel *w, struct twheel_timer *t,
			unsigned int *slice)
{
	u64 word = atomic64_read(&t->word);

	/* It has been extended just now, but not far: it is claimed next time. */
	if (word <= w->now_ns)
		return true;
	if (!*slice)
		return false;
	--*slice;
	defer(w, t, word);
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
	u64 todo = w->active & ~BIT_ULL(0);

	w->cascaded = 0;
	while (todo) {
		unsigned int level = fls64(todo) - 1;
		u64 number = (w->now >> level_span(w, level)) + 1;

		todo &= ~BIT_ULL(level);
		if (!test_bit(tw_wheel_index(w, level, number),
			      w->buckets.occupied))
			continue;
		if (!*slice)
			return false;
		cascade(w, level, number, slice, true);
		todo |= BIT_ULL(level);
	}
	w->quiet = block_end(w, w->now);
	return true;
}
TW_EXPORT_FOR_TESTS(tw_wheel_drain_ahead);

/*
 * tw_wheel_next_event() - when is there something to do?
 *
 * Sets &tw_wheel.wake.
 *
 * Return: the tick, at or before the position if there is work left;
 * %TW_WHEEL_ASLEEP if the wheel is empty.
 */
u64 tw_wheel_next_event(struct tw_wheel *w)
{
	u64 todo = w->active;
	u64 next;

	if (!hlist_empty(&w->due) || !hlist_empty(&w->expiring) ||
	    w->displaced) {
		/* At once; the position may be ahead of a clock set back. */
		w->wake = tw_wheel_floor(w, w->now_ns);
		return w->wake;
	}

	/*
	 * The next buckets of the upper levels are empty, and stay so: a timer of
	 * those levels is filed two buckets ahead at least. So those need nothing
	 * before this block ends.
	 */
	if (w->now < w->quiet && first_in_block(w, w->now + 1, &next)) {
		w->wake = next;
		return next;
	}

	next = TW_WHEEL_ASLEEP;
	while (todo) {
		unsigned int level = __ffs64(todo);
		unsigned int span = level_span(w, level);
		u64 number;

		todo &= todo - 1;
		if (!first_bucket(w, level, &number)) {
			w->active &= ~BIT_ULL(level);
			continue;
		}
		if (!level) {
			next = number;
			continue;
		}
		next = min(next, peek(w, level, number));
		/*
		 * The bucket after it may be so crowded that it has to be begun
		 * with while the first one's few timers still wait. Those after
		 * that one need nothing before the first one's end.
		 */
		number++;
		if (next > (number - 1) << span &&
		    test_bit(tw_wheel_index(w, level, number),
			     w->buckets.occupied))
			next = min(next, peek(w, level, number));
	}
	w->wake = next;
	return next;
}
TW_EXPORT_FOR_TESTS(tw_wheel_next_event);

/*
 * tw_wheel_move_forward() - follow the clock between passes
 *
 * The distance that decides about a timer's level is measured from the
 * position. After a long sleep the position is far behind the clock, and a short
 * delay would look like a long one.
 */
void tw_wheel_move_forward(struct tw_wheel *w, u64 now)
{
	unsigned int slice = FORWARD_SLICE;

	/* From the tick on that the wheel has to wake up at, leave it to the pass. */
	if (now > w->now && now < w->wake)
		tw_wheel_advance(w, now, &slice);
}
TW_EXPORT_FOR_TESTS(tw_wheel_move_forward);

/*
 * tw_wheel_move_back() - the clock was set back to @now, before the position
 *
 * In the buckets as they are, the ticks between @now and the position have no
 * place. So the position goes back with the clock, over an empty set of buckets;
 * rounds then move over what the full set holds, a slice at a time. Should the
 * clock be set back again before that is done, the position has to wait; then
 * timers for the ticks in between wait with those that are due, and by their
 * deadline are found not to be.
 *
 * Nothing is due any more that is later than @now. Not to be called in a pass.
 */
void tw_wheel_move_back(struct tw_wheel *w, u64 now)
{
	if (w->displaced || !w->other.heads) {
		w->wake = min(w->wake, now);
		return;
	}
	swap(w->buckets, w->other);
	w->displaced = w->active;
	w->active = 0;
	w->quiet = 0;
	w->horizon = now;
	set_now(w, now);
	/* Or the alarm that is on for what is past would be put off. */
	if (w->displaced || !hlist_empty(&w->due) || !hlist_empty(&w->expiring))
		w->wake = now;
}
TW_EXPORT_FOR_TESTS(tw_wheel_move_back);
