/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The memory of a file's timers, and their identifiers.
 *
 * Each timer of a file is an entry, in an array that only grows. An identifier is
 * {generation, index}. Freeing an entry changes its generation, so an old identifier
 * never reaches the next timer of the same entry. The caller serialises everything
 * but tw_entries_grow().
 */
#ifndef _TWHEEL_ENTRY_H
#define _TWHEEL_ENTRY_H

#include <linux/prefetch.h>
#include <linux/spinlock_types.h>
#include <linux/types.h>

#include <linux/twheel.h>

/**
 * enum tw_entry_state - what an entry is used for
 * @TW_ENTRY_FREE: nothing
 * @TW_ENTRY_ARMED: its timer is pending, or its callback is about to run
 * @TW_ENTRY_FIRED: its event waits to be read
 * @TW_ENTRY_TAKEN: its event is being copied to a reader
 * @TW_ENTRY_GONE: it was cancelled while its callback was about to run, or while its
 *	event was being copied. The callback or the reader frees it. It has no
 *	identifier any more
 */
enum tw_entry_state {
	TW_ENTRY_FREE,
	TW_ENTRY_ARMED,
	TW_ENTRY_FIRED,
	TW_ENTRY_TAKEN,
	TW_ENTRY_GONE,
};

/* The state's place in &tw_entry.tag: above the 24 bits of the index. */
#define TW_ENTRY_STATE_SHIFT	24
#define TW_ENTRY_STATE_MASK	((u64)0x0f << TW_ENTRY_STATE_SHIFT)
#define TW_ENTRY_TAG(state)	((u64)(state) << TW_ENTRY_STATE_SHIFT)
/* Above it: the timer was armed for a delay, in a file whose clock can be set. */
#define TW_ENTRY_DELAY		((u64)0x10 << TW_ENTRY_STATE_SHIFT)
/* Its deadline was changed while its callback or a reader had it: that one arms it. */
#define TW_ENTRY_MOVED	((u64)0x20 << TW_ENTRY_STATE_SHIFT)
/* All bits of the tag that do not belong to the identifier. */
#define TW_ENTRY_TAG_MASK	((u64)0xff << TW_ENTRY_STATE_SHIFT)

/**
 * struct tw_entry - a timer of an open file
 * @timer: the timer
 * @tag: its identifier, with enum tw_entry_state in between: one comparison tells
 *	whether an identifier names a timer in a certain state. With %TW_ENTRY_DELAY
 *	its times are on the monotonic clock, although the file is on the real one
 * @next: index of the next unread event
 * @prev: index of the previous unread event
 * @free: the next free entry
 * @deadline_ns: the deadline that it waits for, or has reached
 * @look: the same of a cell's timer, as far as the kernel has seen, and in ticks
 * @cookie: as armed
 * @period_ns: as armed
 * @slack_ns: as armed
 * @fired_ns: when it expired
 *
 * There may be millions. The fields that arm and cancel touch come first.
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
	union {
		u64 deadline_ns;
		u64 look;
	};
	u64 cookie;
	u64 period_ns;
	u64 slack_ns;
	u64 fired_ns;
};

/* A chunk of 256 entries is six pages. A page of pointers leads to 512 chunks. */
#define TW_CHUNK_SHIFT		8
#define TW_CHUNK_ENTRIES	(1U << TW_CHUNK_SHIFT)
#define TW_DIR_SHIFT		9
#define TW_DIR_CHUNKS		(1U << TW_DIR_SHIFT)
#define TW_ENTRIES_MAX		(1U << 24)
#define TW_NR_DIRS		(TW_ENTRIES_MAX >> (TW_CHUNK_SHIFT + TW_DIR_SHIFT))

/* No entry has this index. */
#define TW_NO_ENTRY		(~0U)

/**
 * struct tw_queue - a list of entries, linked by their indexes
 * @first: index of the first, or %TW_NO_ENTRY
 * @last: index of the last, or %TW_NO_ENTRY
 */
struct tw_queue {
	u32 first;
	u32 last;
};

/**
 * struct tw_entries - all entries of a file
 * @dirs: pages of pointers to chunks
 * @free: a free entry, which leads to the others; or NULL
 * @count: the number of entries, free or not
 */
struct tw_entries {
	struct tw_entry **dirs[TW_NR_DIRS];
	struct tw_entry *free;
	u32 count;
};

size_t tw_entries_cost(const struct tw_entries *entries);
void tw_entries_exit(struct tw_entries *entries);
int tw_entries_grow(struct tw_entries *entries, spinlock_t *lock,
		    struct twheel *wheel);

void tw_queue_add_first(struct tw_entries *entries, struct tw_queue *queue,
			struct tw_entry *entry);
void tw_queue_del(struct tw_entries *entries, struct tw_queue *queue,
		  struct tw_entry *entry);

/*
 * tw_entries_at() - the entry at an index below &tw_entries.count
 *
 * The masks keep an index that a program chose within the arrays in speculation, too, and
 * are cheaper than array_index_nospec(). Pointers beyond the last entry are NULL.
 */
static inline struct tw_entry *tw_entries_at(const struct tw_entries *entries,
					     u32 index)
{
	u32 chunk = index >> TW_CHUNK_SHIFT;

	return &entries->dirs[(chunk >> TW_DIR_SHIFT) % TW_NR_DIRS]
			     [chunk % TW_DIR_CHUNKS][index % TW_CHUNK_ENTRIES];
}

static inline enum tw_entry_state tw_entry_state(const struct tw_entry *entry)
{
	return (entry->tag & TW_ENTRY_STATE_MASK) >> TW_ENTRY_STATE_SHIFT;
}

static inline void tw_entry_set_state(struct tw_entry *entry,
				      enum tw_entry_state state)
{
	entry->tag = (entry->tag & ~TW_ENTRY_STATE_MASK) | TW_ENTRY_TAG(state);
}

/* The identifier of an entry; never 0. */
static inline u64 tw_entry_id(const struct tw_entry *entry)
{
	return entry->tag & ~TW_ENTRY_TAG_MASK;
}

static inline u32 tw_entry_index(const struct tw_entry *entry)
{
	return entry->tag & (TW_ENTRIES_MAX - 1);
}

/* Has a file's program a timer or an unread event in this entry? */
static inline bool tw_entry_is_live(const struct tw_entry *entry)
{
	return tw_entry_state(entry) != TW_ENTRY_FREE &&
	       tw_entry_state(entry) != TW_ENTRY_GONE;
}

/* tw_entries_get() - take a free entry; NULL if the array has to grow */
static inline struct tw_entry *tw_entries_get(struct tw_entries *entries)
{
	struct tw_entry *entry = entries->free;

	if (likely(entry))
		entries->free = entry->free;
	return entry;
}

/* tw_entries_put_id() - free the entry of an identifier, which is void from now on */
static inline void tw_entries_put_id(struct tw_entries *entries,
				     struct tw_entry *entry, u64 id)
{
	id += 1ULL << 32;
	/* The generation is never 0. */
	if (unlikely(!(id >> 32)))
		id += 1ULL << 32;
	entry->tag = id | TW_ENTRY_TAG(TW_ENTRY_FREE);
	/* The last one freed is used first: it is still in the cache. */
	entry->free = entries->free;
	entries->free = entry;
}

/* tw_entries_put() - free an entry; its identifier is void from now on */
static inline void tw_entries_put(struct tw_entries *entries,
				  struct tw_entry *entry)
{
	tw_entries_put_id(entries, entry, tw_entry_id(entry));
}

/*
 * tw_entries_look_up() - the entry that an identifier would have, or NULL
 *
 * tw_entry_is_armed() tells whether it has. An entry stays where it is, so
 * that can be asked later.
 */
static inline struct tw_entry *tw_entries_look_up(const struct tw_entries *entries, u64 id)
{
	u32 index = lower_32_bits(id);

	return likely(index < entries->count) ? tw_entries_at(entries, index) : NULL;
}

/* tw_entry_prefetch() - an entry will be looked at soon. It may be NULL */
static inline void tw_entry_prefetch(const struct tw_entry *entry)
{
	/* The size of an entry is no multiple of a cache line. */
	prefetchw(entry);
	prefetchw(&entry->deadline_ns);
}

/* Has this entry that identifier, and a timer that was last seen pending? */
static inline bool tw_entry_is_armed(const struct tw_entry *entry, u64 id)
{
	return likely(entry) &&
	       likely(entry->tag == (id | TW_ENTRY_TAG(TW_ENTRY_ARMED)));
}

/* tw_entries_find() - the entry that an identifier names; NULL if it is void */
static inline struct tw_entry *tw_entries_find(const struct tw_entries *entries,
					       u64 id)
{
	struct tw_entry *entry = tw_entries_look_up(entries, id);

	return entry && tw_entry_id(entry) == id && tw_entry_is_live(entry) ? entry :
									     NULL;
}

/* The first entry of a queue, or NULL. */
static inline struct tw_entry *tw_queue_first(const struct tw_entries *entries,
					      const struct tw_queue *queue)
{
	return queue->first == TW_NO_ENTRY ? NULL :
	       tw_entries_at(entries, queue->first);
}

/**
 * struct tw_queue_end - the end of a queue while entries are appended
 * @entry: the last entry, or NULL
 * @index: its index, or %TW_NO_ENTRY
 */
struct tw_queue_end {
	struct tw_entry *entry;
	u32 index;
};

/* tw_queue_open() - entries will be appended. Until tw_queue_close() nobody else may look */
static inline struct tw_queue_end tw_queue_open(const struct tw_entries *entries,
						const struct tw_queue *queue)
{
	return (struct tw_queue_end) {
		.entry = queue->last == TW_NO_ENTRY ? NULL :
			 tw_entries_at(entries, queue->last),
		.index = queue->last,
	};
}

static inline void tw_queue_append(struct tw_queue *queue, struct tw_queue_end *end,
				   struct tw_entry *entry)
{
	u32 index = tw_entry_index(entry);

	entry->prev = end->index;
	if (likely(end->entry))
		end->entry->next = index;
	else
		queue->first = index;
	end->entry = entry;
	end->index = index;
}

static inline void tw_queue_close(struct tw_queue *queue, const struct tw_queue_end *end)
{
	if (likely(end->entry))
		end->entry->next = TW_NO_ENTRY;
	queue->last = end->index;
}

/* tw_queue_begin_at() - all entries before that of an index leave; %TW_NO_ENTRY: all do */
static inline void tw_queue_begin_at(struct tw_entries *entries, struct tw_queue *queue,
				     u32 index)
{
	queue->first = index;
	if (index == TW_NO_ENTRY)
		queue->last = index;
	else
		tw_entries_at(entries, index)->prev = TW_NO_ENTRY;
}

static inline void tw_queue_init(struct tw_queue *queue)
{
	queue->first = TW_NO_ENTRY;
	queue->last = TW_NO_ENTRY;
}

#endif /* _TWHEEL_ENTRY_H */
