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
#include <linux/errno.h>
#include <linux/limits.h>
#include <linux/log2.h>
#include <linux/overflow.h>
#include <linux/slab.h>

#include <linux/twheel.h>

#include "compat.h"
#include "wheel.h"

/*
 * A bucket of at most so many timers is looked through for its first deadline,
 * and the wheel sleeps until then. A fuller one is woken up for a bucket's length
 * ahead, to be emptied in time. Eight timers are as many cache misses, about the
 * cost of the wake-up that is saved.
 */
#define PEEK		8

/* How many timers tw_wheel_forward() may cascade: it runs inside an arm. */
#define FORWARD_SLICE	(2 * PEEK)

static unsigned int level_span(const struct tw_wheel *w, unsigned int level)
{
	return level * w->shift;
}

static unsigned int bucket_index(const struct tw_wheel *w, unsigned int level,
				 u64 number)
{
	return (level << (w->shift + 1)) + (number & w->mask);
}

static unsigned int nr_buckets(const struct tw_wheel *w)
{
	return w->levels << (w->shift + 1);
}

static void set_now(struct tw_wheel *w, u64 now)
{
	w->now = now;
	w->now_ns = tw_wheel_ns(w, now);
}

/*
 * tw_wheel_shape() - give a wheel its geometry
 * @slots: ratio between levels, rounded up to a power of two
 *
 * Return: 0, -EINVAL (tick or slots).
 */
int tw_wheel_shape(struct tw_wheel *w, u64 tick_ns, unsigned int slots)
{
	memset(w, 0, sizeof(*w));
	if (!tick_ns || tick_ns > TWHEEL_TICK_MAX ||
	    slots < TWHEEL_SLOTS_MIN || slots > TWHEEL_SLOTS_MAX)
		return -EINVAL;

	w->tick_ns = tick_ns;
	w->recip = div64_u64(U64_MAX, tick_ns);
	w->shift = order_base_2(slots);
	w->level_mul = DIV_ROUND_UP(1U << 16, w->shift);
	w->mask = (2U << w->shift) - 1;
	/* d / 2 has up to 63 bits, so that is where the last level is found. */
	w->levels = 62 / w->shift + 1;
	return 0;
}
TW_EXPORT_FOR_TESTS(tw_wheel_shape);

/*
 * tw_wheel_init() - make the buckets of a wheel that stands at tick @now
 *
 * Return: 0, -ENOMEM.
 */
int tw_wheel_init(struct tw_wheel *w, u64 now)
{
	set_now(w, now);
	w->horizon = now;
	w->wake = TW_WHEEL_ASLEEP;

	w->occupied = kvcalloc(BITS_TO_LONGS(nr_buckets(w)), sizeof(long),
			       GFP_KERNEL_ACCOUNT);
	w->buckets = kvcalloc(nr_buckets(w), sizeof(*w->buckets),
			      GFP_KERNEL_ACCOUNT);
	if (!w->occupied || !w->buckets) {
		tw_wheel_exit(w);
		return -ENOMEM;
	}
	return 0;
}
TW_EXPORT_FOR_TESTS(tw_wheel_init);

/* tw_wheel_exit() - free what tw_wheel_init() has got */
void tw_wheel_exit(struct tw_wheel *w)
{
	kvfree(w->buckets);
	kvfree(w->occupied);
	w->buckets = NULL;
	w->occupied = NULL;
}
TW_EXPORT_FOR_TESTS(tw_wheel_exit);

static void unlink(struct tw_wheel *w, struct twheel_timer *t)
{
	struct hlist_node **pprev = t->node.pprev;
	struct hlist_node *next = t->node.next;
	unsigned long index;

	*pprev = next;
	if (next) {
		next->pprev = pprev;
		return;
	}
	/*
	 * It was the last of its list, and the only one if @pprev is a bucket's
	 * head rather than another timer's next pointer or the head of @due.
	 */
	index = (struct hlist_head *)pprev - w->buckets;
	if (index < nr_buckets(w))
		__clear_bit(index, w->occupied);
}

/*
 * The first deadline in bucket @number of @level, if that can be told with a
 * few looks, else the tick at which emptying the bucket has to begin. Not beyond
 * the bucket's end, even if its timers have all been extended.
 */
static u64 peek(const struct tw_wheel *w, unsigned int level, u64 number)
{
	const struct hlist_head *head;
	unsigned int span = level_span(w, level);
	u64 first = ((number + 1) << span) - 1;
	struct twheel_timer *t;
	unsigned int n = 0;

	head = &w->buckets[bucket_index(w, level, number)];
	hlist_for_each_entry(t, head, node) {
		if (++n > PEEK)
			return (number - 1) << span;
		first = min(first, tw_wheel_ceil(w, atomic64_read(&t->word)));
	}
	return first;
}

static noinline void wake_earlier(struct tw_wheel *w, unsigned int level,
				  u64 number)
{
	u64 tick = level ? peek(w, level, number) : number;

	if (tick < w->wake)
		w->wake = tick;
}

/* Put a timer into the bucket of a tick after the position. */
static void file(struct tw_wheel *w, struct twheel_timer *t, u64 tick)
{
	u64 distance = tick - w->now;
	unsigned int level, index;
	u64 number, event;

	if (distance <= w->mask) {
		level = 0;
		number = tick;
		event = tick;
	} else {
		unsigned int span;

		level = ((fls64(distance >> 1) - 1) * w->level_mul) >> 16;
		span = level_span(w, level);
		number = tick >> span;
		event = (number - 1) << span;
	}
	index = bucket_index(w, level, number);
	hlist_add_head(&t->node, &w->buckets[index]);
	__set_bit(index, w->occupied);
	w->active |= BIT_ULL(level);

	if (unlikely(event < w->wake))
		wake_earlier(w, level, number);
}

/*
 * tw_wheel_add() - file a timer under its deadline
 *
 * The word must hold the deadline. If that is past, the next round will serve it.
 * Lowers &tw_wheel.wake where the timer needs attention before.
 */
void tw_wheel_add(struct tw_wheel *w, struct twheel_timer *t)
{
	u64 tick = tw_wheel_ceil(w, atomic64_read(&t->word));

	if (likely(tick > w->horizon)) {
		file(w, t, tick);
		return;
	}
	hlist_add_head(&t->node, &w->due);
	w->wake = min(w->wake, w->now);
}
TW_EXPORT_FOR_TESTS(tw_wheel_add);

/* tw_wheel_del() - take a filed timer out */
void tw_wheel_del(struct tw_wheel *w, struct twheel_timer *t)
{
	unlink(w, t);
}
TW_EXPORT_FOR_TESTS(tw_wheel_del);

/*
 * tw_wheel_evict() - take out any timer, to empty the wheel
 *
 * Return: the timer, or NULL if the wheel is empty.
 */
struct twheel_timer *tw_wheel_evict(struct tw_wheel *w)
{
	struct hlist_head *head = &w->due;
	struct twheel_timer *t;
	unsigned int index;

	if (hlist_empty(head))
		head = &w->expiring;
	if (hlist_empty(head)) {
		index = find_first_bit(w->occupied, nr_buckets(w));
		if (index >= nr_buckets(w))
			return NULL;
		head = &w->buckets[index];
	}
	t = hlist_entry(head->first, struct twheel_timer, node);
	unlink(w, t);
	return t;
}
TW_EXPORT_FOR_TESTS(tw_wheel_evict);

/*
 * The first occupied bucket of @level. Those in use are numbered from the
 * position's own (level 0, whose timers may be on their way out) or from the one
 * after it.
 */
static bool first_bucket(const struct tw_wheel *w, unsigned int level,
			 u64 *number)
{
	u64 from = level ? (w->now >> level_span(w, level)) + 1 : w->now;
	unsigned int base = bucket_index(w, level, 0);
	unsigned int start = bucket_index(w, level, from);
	unsigned int end = base + w->mask + 1;
	unsigned int index;

	index = find_next_bit(w->occupied, end, start);
	if (index >= end) {
		index = find_next_bit(w->occupied, start, base);
		if (index >= start)
			return false;
	}
	*number = from + ((index - start) & w->mask);
	return true;
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

/* Empty a bucket of an upper level into lower ones. */
static void cascade(struct tw_wheel *w, unsigned int level, u64 number,
		    unsigned int *slice)
{
	struct hlist_head *head;

	head = &w->buckets[bucket_index(w, level, number)];
	while (*slice && !hlist_empty(head)) {
		struct twheel_timer *t;

		t = hlist_entry(head->first, struct twheel_timer, node);
		unlink(w, t);
		file(w, t, tw_wheel_ceil(w, atomic64_read(&t->word)));
		w->cascades++;
		--*slice;
	}
}

static struct hlist_head *due_list(struct tw_wheel *w)
{
	if (!hlist_empty(&w->expiring))
		return &w->expiring;
	return &w->buckets[bucket_index(w, 0, w->now)];
}

/*
 * tw_wheel_begin() - begin a pass
 * @round: begin a round too
 *
 * Timers armed for the past, until here, will be served by this round. Those that
 * are armed for the past from now on wait for the next one, so that a callback
 * that arms its timer for now is no endless loop.
 */
void tw_wheel_begin(struct tw_wheel *w, bool round)
{
	w->wake = 0;
	if (round)
		hlist_move_list(&w->due, &w->expiring);
}
TW_EXPORT_FOR_TESTS(tw_wheel_begin);

/*
 * tw_wheel_turn() - move the position towards @target
 * @slice: how many timers may be cascaded; what is left of it
 *
 * Stops where timers are due. What is added for a tick up to @target from here on
 * is past, even before the position gets there. See enum tw_turn.
 */
enum tw_turn tw_wheel_turn(struct tw_wheel *w, u64 target, unsigned int *slice)
{
	unsigned int level;
	u64 tick, number;

	w->horizon = max(w->horizon, target);
	while (hlist_empty(due_list(w))) {
		if (!first_edge(w, &tick, &level, &number) || tick > target) {
			if (target > w->now)
				set_now(w, target);
			return TW_TURN_DONE;
		}
		if (!level) {
			set_now(w, tick);
			return TW_TURN_DUE;
		}
		if (!*slice)
			return TW_TURN_MORE;
		set_now(w, tick - 1);
		cascade(w, level, number, slice);
	}
	return TW_TURN_DUE;
}
TW_EXPORT_FOR_TESTS(tw_wheel_turn);

/*
 * tw_wheel_pop() - claim the next timer that is due
 * @slice: how many timers may be looked at; what is left of it
 *
 * A timer whose word has grown past the position is filed anew instead.
 *
 * Return: the timer, unlinked, its word %TWHEEL_FIRED; or NULL if there is none,
 * or the slice is used up (then tw_wheel_turn() still says %TW_TURN_DUE).
 */
struct twheel_timer *tw_wheel_pop(struct tw_wheel *w, unsigned int *slice)
{
	struct hlist_head *head;

	while (*slice && !hlist_empty(head = due_list(w))) {
		struct twheel_timer *t;
		s64 word;

		t = hlist_entry(head->first, struct twheel_timer, node);
		--*slice;
		word = atomic64_read(&t->word);
		if ((u64)word > w->now_ns) {
			unlink(w, t);
			file(w, t, tw_wheel_ceil(w, word));
			w->refiled++;
			continue;
		}
		/*
		 * Pairs with the compare-and-swap in twheel_extend_at(): one of
		 * the two fails. A plain store would lose an extension that has
		 * been acknowledged.
		 */
		if (!atomic64_try_cmpxchg(&t->word, &word, ~(u64)TWHEEL_FIRED))
			continue;
		unlink(w, t);
		return t;
	}
	return NULL;
}
TW_EXPORT_FOR_TESTS(tw_wheel_pop);

/*
 * tw_wheel_ahead() - empty the next bucket of each upper level before its time
 * @slice: how many timers may be cascaded; what is left of it
 *
 * Return: true if they are empty.
 */
bool tw_wheel_ahead(struct tw_wheel *w, unsigned int *slice)
{
	u64 todo = w->active & ~BIT_ULL(0);

	while (todo) {
		unsigned int level = fls64(todo) - 1;
		u64 number = (w->now >> level_span(w, level)) + 1;

		todo &= ~BIT_ULL(level);
		if (!test_bit(bucket_index(w, level, number), w->occupied))
			continue;
		if (!*slice)
			return false;
		cascade(w, level, number, slice);
		todo |= BIT_ULL(level);
	}
	return true;
}
TW_EXPORT_FOR_TESTS(tw_wheel_ahead);

/*
 * tw_wheel_next() - when is there something to do?
 *
 * Sets &tw_wheel.wake.
 *
 * Return: the tick, at or before the position if there is work left;
 * %TW_WHEEL_ASLEEP if the wheel is empty.
 */
u64 tw_wheel_next(struct tw_wheel *w)
{
	u64 todo = w->active;
	u64 next = TW_WHEEL_ASLEEP;

	if (!hlist_empty(&w->due) || !hlist_empty(due_list(w))) {
		w->wake = w->now;
		return w->wake;
	}

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
			next = min(next, number);
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
		    test_bit(bucket_index(w, level, number), w->occupied))
			next = min(next, peek(w, level, number));
	}
	w->wake = next;
	return next;
}
TW_EXPORT_FOR_TESTS(tw_wheel_next);

/*
 * tw_wheel_forward() - follow the clock between passes
 *
 * The distance that decides about a timer's level is measured from the
 * position. After a long sleep the position is far behind the clock, and a short
 * delay would look like a long one.
 */
void tw_wheel_forward(struct tw_wheel *w, u64 now)
{
	unsigned int slice = FORWARD_SLICE;

	/* From the tick on that the wheel has to wake up at, leave it to the pass. */
	if (now > w->now && now < w->wake)
		tw_wheel_turn(w, now, &slice);
}
TW_EXPORT_FOR_TESTS(tw_wheel_forward);
