/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * The engine: a hierarchical hashed timing wheel, and nothing else.
 *
 * It has no clock and no lock. Time is an argument, in ticks, and the caller serialises
 * all calls on a wheel. Only the words of the nodes may grow at any moment: see
 * tw_node_extend(). A timer is what the host has around a node.
 */
#ifndef _TWHEEL_WHEEL_H
#define _TWHEEL_WHEEL_H

#include "host.h"

#include <linux/twheel_node.h>

/**
 * struct tw_list - timers in the order in which they were armed
 * @first: the first; NULL: it is empty
 * @tail: the next pointer of the last. That points to no node: see tw_list_end(). It stands where a
 *	node has &hlist_node.pprev
 */
struct tw_list {
	struct hlist_node *first;
	struct hlist_node **tail;
};

/**
 * struct tw_wheel_buckets - the buckets of all levels
 * @heads: level 0 first
 * @occupied: one bit a bucket: set if and only if the bucket holds a timer
 */
struct tw_wheel_buckets {
	struct tw_list *heads;
	unsigned long *occupied;
};

/**
 * struct tw_wheel_row - where timers go whose distance has a certain number of bits
 * @bit: the bit of their level in &tw_wheel.active
 * @keep: mask that turns a tick into the first tick of its bucket
 * @ahead: how many ticks earlier emptying the bucket may have to begin
 * @first: the level's first bucket
 * @span: log2 of a bucket's length in ticks
 * @level: the level
 */
struct tw_wheel_row {
	u64 bit;
	u64 keep;
	u64 ahead;
	u32 first;
	u8 span;
	u8 level;
} __aligned(32);

/**
 * struct tw_wheel - the buckets and where in time they stand
 * @now: position: no bucket holds a timer for this tick or an earlier one. Those that
 *	tw_wheel_due() has yet to find are in @expiring
 * @now_word: a timer whose word is greater is not due. It is tw_word() of the instant of
 *	@now, or of %TWHEEL_NEVER, except for a while after the clock was set back
 * @horizon: a timer added for a tick up to here is past; not before @now. While timers are
 *	displaced, that is any tick
 * @wake: nothing needs doing before this tick. Arming lowers it. A pass sets it to 0,
 *	so that no timer looks near, and computes it anew at its end
 * @soon: the later one of @wake and the tick after @horizon: a timer is near before it
 * @in_pass: a pass runs
 * @tick_ns: length of a tick
 * @recip: more than 2^(64 + @recip_shift) / (2 * @tick_ns), by 1 at most: to divide by
 *	multiplying, see tw_wheel_floor()
 * @recip_shift: log2 of 2 * @tick_ns, rounded down, and less by 1 if that is exact
 * @round: what to add to a timer's word twice over, so that the tick rounds up
 * @shift: log2 of the ratio between levels
 * @mask: buckets of a level less one; a level has four times as many as the ratio
 * @levels: how many levels there are
 * @nr: how many buckets all levels have
 * @active: bit mask of levels; one without a bit holds no timer
 * @buckets: where timers are
 * @goes_back: tw_wheel_move_back() may be called
 * @displaced: 0, or timers leave all buckets for @due: how many words of the bitmap may still
 *	have bits
 * @quiet: the last tick before upper levels need anything, as found by
 *	tw_wheel_drain_ahead()
 * @due: timers armed for a tick that has passed: the next round serves them. Those that are
 *	displaced come here, too
 * @expiring: timers that are due, for tw_wheel_due()
 * @cascades: timers moved to a lower level
 * @cascaded: bit mask of the levels from which the last call of tw_wheel_advance() or
 *	tw_wheel_drain_ahead() has moved timers down
 * @requeued: timers that were not due when reached, or whose word was four buckets or more after
 *	the position when their bucket was emptied
 * @searched: how much of the slices went into searching bitmaps, into timers that
 *	cost twice as much to move, and into those that the host has taken
 * @rows: by the number of a distance's highest bit, what follows from it
 * @look: NULL, or asks the host about each node of a bucket that is emptied into lower
 *	ones, before its word is read. So deadlines that are kept elsewhere are followed at no
 *	cost of their own. The host may make the word later, and returns true. Or it returns
 *	false, and has taken the node, which is in no list any more. The hook calls nothing of
 *	the engine. It is not asked about nodes that tw_wheel_due() finds: the host looks at
 *	these. Set this after tw_wheel_shape()
 */
struct tw_wheel {
	u64 now;
	u64 horizon;
	u64 wake;
	u64 soon;
	u64 tick_ns;
	u64 recip;
	u64 round;
	unsigned long mask;
	unsigned int recip_shift;
	u64 active;
	struct tw_wheel_buckets buckets;
	unsigned int shift;
	unsigned int nr;
	u64 now_word;
	u64 quiet;
	unsigned int levels;
	unsigned int displaced;
	bool goes_back;
	bool in_pass;
	struct tw_list due;
	struct tw_list expiring;
	u64 cascades;
	u64 cascaded;
	u64 requeued;
	u64 searched;
	struct tw_wheel_row rows[64];
	bool (*look)(struct tw_wheel *w, struct twheel_node *node);
};

/** TW_WHEEL_ASLEEP - &tw_wheel.wake of a wheel that has nothing to do */
#define TW_WHEEL_ASLEEP	(~(u64)0)

/**
 * enum tw_advance - why tw_wheel_advance() has stopped
 * @TW_ADVANCE_DONE: the position is the target, or later, and nothing is due
 * @TW_ADVANCE_DUE: tw_wheel_due() may have timers to find, and there may be more to do
 * @TW_ADVANCE_MORE: the slice is used up, and there is more to do
 */
enum tw_advance {
	TW_ADVANCE_DONE,
	TW_ADVANCE_DUE,
	TW_ADVANCE_MORE,
};

/* wheel.c */
int tw_wheel_shape(struct tw_wheel *w, u64 tick_ns, unsigned int slots);
size_t tw_wheel_bytes(const struct tw_wheel *w);
void tw_wheel_init_in(struct tw_wheel *w, u64 now, bool goes_back, void *memory);
int tw_wheel_init(struct tw_wheel *w, u64 now, bool goes_back, int node);
void tw_wheel_exit(struct tw_wheel *w);
u64 tw_wheel_share(const struct tw_wheel *w, u64 deadline, u64 slack);
void tw_wheel_emptied(struct tw_wheel *w, struct tw_list *list);
void tw_wheel_enqueue_near(struct tw_wheel *w, struct twheel_node *node);
struct twheel_node *tw_wheel_evict(struct tw_wheel *w);
bool tw_wheel_drain_ahead(struct tw_wheel *w, unsigned int *slice);

/* advance.c */
void tw_wheel_begin_round(struct tw_wheel *w, bool round);
void tw_wheel_begin_displace(struct tw_wheel *w);
void tw_wheel_displace(struct tw_wheel *w, unsigned int *slice);
enum tw_advance tw_wheel_advance(struct tw_wheel *w, u64 target, unsigned int *slice);
bool tw_wheel_requeue_due(struct tw_wheel *w, struct twheel_node *node,
			  unsigned int *slice);
u64 tw_wheel_next_event(struct tw_wheel *w);
void tw_wheel_move_forward(struct tw_wheel *w, u64 now);
void tw_wheel_move_back(struct tw_wheel *w, u64 now);

/* Between passes: the position follows the clock, which may have been set back. */
static inline void tw_wheel_follow(struct tw_wheel *w, u64 now)
{
	if (likely(now >= w->now))
		tw_wheel_move_forward(w, now);
	else
		tw_wheel_move_back(w, now);
}

/*
 * The last tick boundary at or before @ns, which is before 2^63.
 *
 * As instants have 63 bits, both sides of the division are doubled. So the reciprocal has 64 bits
 * for a tick of 1, too.
 *
 * @recip exceeds 2^(64 + shift) / (2 * tick_ns) by 1 at most. So the product, over 2^(64 + shift),
 * exceeds the quotient by 2 * ns / 2^(64 + shift) at most. That is less than 1 / 2^shift, which is
 * 1 / tick_ns at most: too little to reach the next integer.
 */
static inline u64 tw_wheel_floor(const struct tw_wheel *w, u64 ns)
{
	return tw_mul_high(2 * ns, w->recip) >> w->recip_shift;
}

/*
 * The first tick boundary at or after the deadline in a word: no timer fires before it. A tick
 * after %TWHEEL_NEVER is before 2^63, so the sum does not overflow. Doubled, a word loses its sign
 * bit.
 */
static inline u64 tw_wheel_ceil(const struct tw_wheel *w, u64 word)
{
	return tw_mul_high(2 * word + w->round, w->recip) >> w->recip_shift;
}

/* The instant of a tick, saturating. */
static inline u64 tw_wheel_ns(const struct tw_wheel *w, u64 tick)
{
	u64 ns;

	return check_mul_overflow(tick, w->tick_ns, &ns) ? ~(u64)0 : ns;
}

/* Nothing needs doing before a tick. Also to be called when &tw_wheel.horizon changes. */
static inline void tw_wheel_set_wake(struct tw_wheel *w, u64 wake)
{
	w->wake = wake;
	w->soon = max(wake, w->horizon + 1);
}

/* With fewer slots, the search that ends a pass would read the timers of too many levels. */
static inline bool tw_wheel_valid(u64 tick_ns, unsigned int slots)
{
	return tick_ns && tick_ns <= TWHEEL_TICK_MAX &&
	       slots >= TWHEEL_SLOTS_MIN && slots <= TWHEEL_SLOTS_MAX;
}

/* How many levels there are, if @bit is the highest one that a distance may have. */
static inline unsigned int tw_wheel_levels(unsigned int shift, unsigned int bit)
{
	return (bit - 2) / shift + 1;
}

static inline unsigned int tw_wheel_index(const struct tw_wheel *w,
					  unsigned int level, u64 number)
{
	return (level << w->shift << 2) + (number & w->mask);
}

/* tw_wheel_find_row() - where a timer for a tick after the position goes */
static inline struct tw_wheel_row *tw_wheel_find_row(struct tw_wheel *w, u64 tick)
{
	unsigned long offset;

	/* All distances of level 0 share one row, that of the mask. */
	offset = tw_top_bit((tick - w->now) | w->mask) * sizeof(struct tw_wheel_row);
	/* Keeps the compiler from computing the row's whole address twice. */
	OPTIMIZER_HIDE_VAR(offset);
	return (void *)w->rows + offset;
}

/*
 * Is the timer past, or might it need attention before &tw_wheel.wake? For a tick before the
 * position, @row is the last one, which makes it look near.
 */
static inline bool tw_wheel_near(const struct tw_wheel *w, const struct tw_wheel_row *row,
				 u64 tick)
{
	return (tick & row->keep) - row->ahead < w->soon;
}

/*
 * What the last node of a list has as its next pointer: the list, and its lowest bit, which no
 * node's address has. So the last timer that leaves a list finds it.
 */
static inline struct hlist_node *tw_list_end(const struct tw_list *list)
{
	return (struct hlist_node *)((unsigned long)list + 1);
}

static inline bool tw_list_is_end(const struct hlist_node *next)
{
	return (unsigned long)next & 1;
}

static inline struct tw_list *tw_list_of_end(const struct hlist_node *end)
{
	return (struct tw_list *)((unsigned long)end - 1);
}

static inline bool tw_list_empty(const struct tw_list *list)
{
	return !list->first;
}

/* The next node, or NULL. */
static inline struct hlist_node *tw_list_next(const struct hlist_node *link)
{
	return tw_list_is_end(link->next) ? NULL : link->next;
}

/* The node that such a pointer is in, unless it is the first of a list. */
static inline struct hlist_node *tw_list_node(struct hlist_node **next)
{
	return container_of(next, struct hlist_node, next);
}

/* That node is going to change, if it is one. */
static inline void tw_list_check(const struct tw_list *list, struct hlist_node **next)
{
	if (next != &list->first)
		tw_check_link(tw_list_node(next), tw_list_node(next)->pprev);
}

/* Where the next one is appended. */
static inline struct hlist_node **tw_list_tail(struct tw_list *list)
{
	return tw_list_empty(list) ? &list->first : list->tail;
}

static inline void tw_list_set_tail(struct tw_list *list, struct hlist_node **tail)
{
	list->tail = tail;
	*tail = tw_list_end(list);
}

/*
 * Append a timer, and tell whether the list was empty. Only then a bucket's bit has to be set. In a
 * full wheel it mostly is already, and the bitmap is not touched.
 */
static inline bool tw_list_append(struct tw_list *list, struct twheel_node *node)
{
	struct hlist_node **tail = tw_list_tail(list);
	bool empty = tw_list_empty(list);

	tw_list_check(list, tail);
	*tail = &node->link;
	node->link.pprev = tail;
	tw_list_set_tail(list, &node->link.next);
	return empty;
}

/* The same for a timer that was armed before all others of the list. */
static inline bool tw_list_prepend(struct tw_list *list, struct twheel_node *node)
{
	struct hlist_node *next = list->first;

	tw_check_link(next, &list->first);
	list->first = &node->link;
	node->link.pprev = &list->first;
	if (next) {
		node->link.next = next;
		next->pprev = &node->link.next;
	} else {
		tw_list_set_tail(list, &node->link.next);
	}
	return !next;
}

/*
 * The timers of a list that has some go where another one has its tail. Returns its new tail, for
 * tw_list_set_tail().
 */
static inline struct hlist_node **tw_list_take(struct tw_list *from, struct hlist_node **tail)
{
	tw_check_link(from->first, &from->first);
	tw_list_check(from, from->tail);
	*tail = from->first;
	from->first->pprev = tail;
	from->first = NULL;
	return from->tail;
}

/* Append all timers of a list to another one. */
static inline void tw_list_splice(struct tw_list *from, struct tw_list *to)
{
	if (!tw_list_empty(from))
		tw_list_set_tail(to, tw_list_take(from, tw_list_tail(to)));
}

static inline void tw_wheel_enqueue_in(struct tw_wheel *w, struct twheel_node *node,
				       const struct tw_wheel_row *row, u64 tick)
{
	unsigned long index;

	index = row->first + ((tick >> row->span) & w->mask);
	if (tw_list_append(&w->buckets.heads[index], node)) {
		__set_bit(index, w->buckets.occupied);
		w->active |= row->bit;
	}
}

/*
 * tw_wheel_enqueue() - put a timer into the bucket of its deadline
 * @word: its word
 *
 * Return: false if the timer is past, or might need attention before &tw_wheel.wake.
 * Then nothing has been done. The caller lets the position follow the clock, which may
 * be all that is needed, and calls tw_wheel_enqueue_near().
 */
static inline bool tw_wheel_enqueue(struct tw_wheel *w, struct twheel_node *node, u64 word)
{
	u64 tick = tw_wheel_ceil(w, word);
	struct tw_wheel_row *row = tw_wheel_find_row(w, tick);

	if (unlikely(tw_wheel_near(w, row, tick)))
		return false;
	tw_wheel_enqueue_in(w, node, row, tick);
	return true;
}

/*
 * A timer that is linked between the two leaves its list. What follows it, a node or the list's
 * end, learns of the one before at the same place. Whether the timer was the last one is often
 * mispredicted, and is not asked. That it was the only one shows in the two addresses.
 */
static inline void tw_wheel_unlink(struct tw_wheel *w, struct hlist_node **pprev,
				   struct hlist_node *next)
{
	struct hlist_node *after = (struct hlist_node *)((unsigned long)next & ~1UL);

	*pprev = next;
	after->pprev = pprev;
	if (unlikely(next == tw_list_end((struct tw_list *)pprev)))
		tw_wheel_emptied(w, (struct tw_list *)pprev);
}

/* tw_wheel_dequeue() - take a timer out of its list */
static inline void tw_wheel_dequeue(struct tw_wheel *w, struct twheel_node *node)
{
	tw_check_link(&node->link, node->link.pprev);
	tw_wheel_unlink(w, node->link.pprev, node->link.next);
}

/* tw_wheel_is_drained() - whether tw_wheel_drain_ahead() has nothing to do */
static inline bool tw_wheel_is_drained(const struct tw_wheel *w)
{
	return w->now <= w->quiet;
}

/* tw_wheel_is_done() - whether tw_wheel_advance() to @target has nothing to do */
static inline bool tw_wheel_is_done(const struct tw_wheel *w, u64 target)
{
	return w->now == target && tw_list_empty(&w->expiring) && !w->displaced;
}

/* tw_wheel_due() - the next timer that tw_wheel_advance() has found due, or NULL */
static inline struct twheel_node *tw_wheel_due(const struct tw_wheel *w)
{
	struct hlist_node *first = w->expiring.first;

	tw_check_link(first, &w->expiring.first);
	return first ? hlist_entry(first, struct twheel_node, link) : NULL;
}

/*
 * tw_wheel_claim() - claim the timer that tw_wheel_due() has found
 * @fired: the state that its word becomes
 * @time: tw_word() of an instant, after &tw_wheel.now_word
 * @late: by how much that is after the timer's deadline
 *
 * Return: true if the timer is the caller's, and its word @fired: then call
 * tw_wheel_dequeue_due(). False if it was extended, or the clock was set back: then call
 * tw_wheel_requeue_due().
 */
static inline bool tw_wheel_claim(struct tw_wheel *w, struct twheel_node *node, s64 fired,
				  u64 time, u64 *late)
{
	s64 word = atomic64_read(&node->word);

	if (unlikely((u64)word > w->now_word))
		return false;
	*late = time - word;
	/* Compute it now: later, the word would have to be kept for it. */
	OPTIMIZER_HIDE_VAR(*late);
	/*
	 * Pairs with the compare-and-swap in tw_node_extend(): one of the two
	 * fails. A plain store would lose an extension that was acknowledged.
	 */
	return likely(atomic64_try_cmpxchg(&node->word, &word, fired));
}

/* tw_wheel_dequeue_due() - tw_wheel_dequeue() of the timer that tw_wheel_due() found */
static inline void tw_wheel_dequeue_due(struct tw_wheel *w, const struct twheel_node *node)
{
	struct hlist_node *next = node->link.next;

	/* The list is no bucket, so no bit goes with the last one. */
	if (unlikely(tw_list_is_end(next))) {
		w->expiring.first = NULL;
		return;
	}
	w->expiring.first = next;
	next->pprev = &w->expiring.first;
}

#endif /* _TWHEEL_WHEEL_H */
