/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The timers of an open file, in a table that only grows, and their identifiers.
 *
 * An identifier is {generation, index}. The generation changes whenever a slot is
 * freed, so that an old identifier never reaches the slot's next timer. The
 * caller serialises, except for tw_table_grow().
 */
#ifndef _TWHEEL_TABLE_H
#define _TWHEEL_TABLE_H

#include <linux/prefetch.h>
#include <linux/spinlock_types.h>
#include <linux/types.h>

#include <linux/twheel.h>

/**
 * enum tw_entry_state - what a slot is
 * @TW_ENTRY_FREE: nobody's
 * @TW_ENTRY_ARMED: its timer is pending, or its callback about to run
 * @TW_ENTRY_FIRED: its event waits to be read
 * @TW_ENTRY_TAKEN: its event is being copied to a reader
 * @TW_ENTRY_GONE: cancelled while its callback was about to run, or its event
 *	being copied: who comes out of that frees it. It has no identifier any more
 */
enum tw_entry_state {
	TW_ENTRY_FREE,
	TW_ENTRY_ARMED,
	TW_ENTRY_FIRED,
	TW_ENTRY_TAKEN,
	TW_ENTRY_GONE,
};

/* Where the state is in &tw_entry.tag: above the 24 bits of the index. */
#define TW_STATE_SHIFT	24
#define TW_STATE_MASK	((u64)0x0f << TW_STATE_SHIFT)
#define TW_TAG(state)	((u64)(state) << TW_STATE_SHIFT)
/* Above it, what an armed timer is like besides. */
#define TW_RELATIVE	((u64)0x10 << TW_STATE_SHIFT)
/* All that is not of the identifier. */
#define TW_TAG_MASK	((u64)0xff << TW_STATE_SHIFT)

/**
 * struct tw_entry - a timer of an open file
 * @timer: the timer
 * @tag: its identifier, and enum tw_entry_state in between: one comparison tells
 *	whether an identifier is of a timer in a certain state. %TW_RELATIVE: its
 *	times are on the monotonic clock, though the wheel's is the real one
 * @next: index of the next unread event
 * @prev: index of the unread event before
 * @free: the next free slot
 * @deadline_ns: the deadline it waits for, or has reached
 * @cookie: as armed
 * @period_ns: as armed
 * @slack_ns: as armed
 * @fired_ns: when it expired
 *
 * There may be millions: what an arm or a cancel touches comes first.
 */
struct tw_entry {
	struct twheel_timer timer;
	u64 tag;
	union {
		struct {
			u32 next;
			u32 prev;
		};
		struct tw_entry *free;
	};
	u64 deadline_ns;
	u64 cookie;
	u64 period_ns;
	u64 slack_ns;
	u64 fired_ns;
};

/* 256 slots are six pages; 512 chunks of them a page of pointers. */
#define TW_CHUNK_SHIFT	8
#define TW_CHUNK_ENTRIES	(1U << TW_CHUNK_SHIFT)
#define TW_DIR_SHIFT	9
#define TW_DIR_CHUNKS	(1U << TW_DIR_SHIFT)
#define TW_TABLE_MAX	(1U << 24)
#define TW_NR_DIRS	(TW_TABLE_MAX >> (TW_CHUNK_SHIFT + TW_DIR_SHIFT))

/* No slot has this index. */
#define TW_NO_ENTRY	(~0U)

/**
 * struct tw_queue - slots in a row
 * @first: index of the first, or %TW_NO_ENTRY
 * @last: of the last, likewise
 */
struct tw_queue {
	u32 first;
	u32 last;
};

/**
 * struct tw_table - the table
 * @dirs: pages of pointers to chunks
 * @free: a free slot, or NULL; it leads to the others
 * @count: slots there are, free or not
 */
struct tw_table {
	struct tw_entry **dirs[TW_NR_DIRS];
	struct tw_entry *free;
	u32 count;
};

void tw_table_exit(struct tw_table *slots);
int tw_table_grow(struct tw_table *slots, spinlock_t *lock,
		  struct twheel *wheel, twheel_fn function);

void tw_queue_add(struct tw_table *slots, struct tw_queue *queue,
		  struct tw_entry *slot);
void tw_queue_add_first(struct tw_table *slots, struct tw_queue *queue,
			struct tw_entry *slot);
void tw_queue_del(struct tw_table *slots, struct tw_queue *queue,
		  struct tw_entry *slot);

/* tw_table_at() - the slot of an index below &tw_table.count */
static inline struct tw_entry *tw_table_at(const struct tw_table *slots,
					  u32 index)
{
	u32 chunk = index >> TW_CHUNK_SHIFT;

	return &slots->dirs[chunk >> TW_DIR_SHIFT][chunk % TW_DIR_CHUNKS]
			   [index % TW_CHUNK_ENTRIES];
}

static inline enum tw_entry_state tw_entry_state(const struct tw_entry *slot)
{
	return (slot->tag & TW_STATE_MASK) >> TW_STATE_SHIFT;
}

static inline void tw_entry_set_state(struct tw_entry *slot,
				     enum tw_entry_state state)
{
	slot->tag = (slot->tag & ~TW_STATE_MASK) | TW_TAG(state);
}

/* The identifier of a slot; never 0. */
static inline u64 tw_entry_id(const struct tw_entry *slot)
{
	return slot->tag & ~TW_TAG_MASK;
}

static inline u32 tw_entry_index(const struct tw_entry *slot)
{
	return slot->tag & (TW_TABLE_MAX - 1);
}

/* tw_table_get() - take a free slot; NULL if the table has to grow */
static inline struct tw_entry *tw_table_get(struct tw_table *slots)
{
	struct tw_entry *slot = slots->free;

	if (likely(slot))
		slots->free = slot->free;
	return slot;
}

/* tw_table_put() - free a slot; its identifier is void */
static inline void tw_table_put(struct tw_table *slots, struct tw_entry *slot)
{
	u64 id = tw_entry_id(slot) + (1ULL << 32);

	/* The generation is never 0. */
	if (unlikely(!(id >> 32)))
		id += 1ULL << 32;
	slot->tag = id | TW_TAG(TW_ENTRY_FREE);
	/* Last freed is first used: it is still in the cache. */
	slot->free = slots->free;
	slots->free = slot;
}

/* tw_table_find() - the slot that an identifier names; NULL if it is void */
static inline struct tw_entry *tw_table_find(const struct tw_table *slots,
					    u64 id)
{
	u32 index = lower_32_bits(id);
	struct tw_entry *slot;

	if (unlikely(index >= slots->count))
		return NULL;
	slot = tw_table_at(slots, index);
	if (likely(slot->tag == (id | TW_TAG(TW_ENTRY_ARMED))))
		return slot;
	if (tw_entry_id(slot) != id || tw_entry_state(slot) == TW_ENTRY_FREE ||
	    tw_entry_state(slot) == TW_ENTRY_GONE)
		return NULL;
	return slot;
}

/* tw_table_prefetch() - tw_table_find() will soon be called */
static inline void tw_table_prefetch(const struct tw_table *slots, u64 id)
{
	u32 index = lower_32_bits(id);
	struct tw_entry *slot;

	if (index >= slots->count)
		return;
	slot = tw_table_at(slots, index);
	/* Slots are no multiple of a cache line. */
	prefetchw(slot);
	prefetchw(&slot->deadline_ns);
}

/* The first slot in a row, or NULL. */
static inline struct tw_entry *tw_queue_first(const struct tw_table *slots,
					     const struct tw_queue *queue)
{
	return queue->first == TW_NO_ENTRY ? NULL :
	       tw_table_at(slots, queue->first);
}

static inline void tw_queue_init(struct tw_queue *queue)
{
	queue->first = TW_NO_ENTRY;
	queue->last = TW_NO_ENTRY;
}

#endif /* _TWHEEL_TABLE_H */
