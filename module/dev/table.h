/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The table of a file: timers that have an identifier.
 *
 * Entries come by the page, and a page is freed only with its file: see ops.c. The inline
 * functions are called with the file's lock.
 */
#ifndef _TWHEEL_TABLE_H
#define _TWHEEL_TABLE_H

#include <linux/build_bug.h>
#include <linux/kernel.h>
#include <linux/list.h>
#include <linux/nospec.h>
#include <linux/types.h>

#include <linux/twheel_node.h>

/**
 * struct tw_entry - a timer
 * @node: its place in the wheel; in no list if the entry is free
 * @id: generation and index; the next identifier if the entry is free. So a stale one finds
 *	nothing, until after 2^32 timers generations come again
 * @cookie: what its events carry
 * @free: the next free entry, if this one is free
 * @deadline_ns: the deadline that the program asked for; @node has the one that follows
 *	from slack
 * @period_ns: 0, or after how long it expires again
 * @slack_ns: by how much it may be late
 */
struct tw_entry {
	struct twheel_node node;
	u64 id;
	union {
		u64 cookie;
		struct tw_entry *free;
	};
	u64 deadline_ns;
	u64 period_ns;
	u64 slack_ns;
};

/* The entries of a chunk: a page on most machines. */
#define TW_CHUNK_SHIFT		6
#define TW_CHUNK_ENTRIES	(1U << TW_CHUNK_SHIFT)
#define TW_TABLE_MAX		(1U << 24)

static_assert(sizeof(struct tw_entry) == 64 || !IS_ENABLED(CONFIG_64BIT));

/**
 * struct tw_table - the timers of a file
 * @chunks: where entries are; an array of more room if their number is no power of two
 * @free: the first free entry, or NULL
 * @count: how many entries there are, free ones included
 * @used: how many timers there are
 */
struct tw_table {
	struct tw_entry **chunks;
	struct tw_entry *free;
	u32 count;
	u32 used;
};

void tw_table_exit(struct tw_table *table);

static inline struct tw_entry *tw_entry_of(struct twheel_node *node)
{
	return container_of(node, struct tw_entry, node);
}

static inline bool tw_entry_is_free(const struct tw_entry *entry)
{
	return hlist_unhashed(&entry->node.link);
}

static inline struct tw_entry *tw_table_at(const struct tw_table *table, u32 index)
{
	return &table->chunks[index >> TW_CHUNK_SHIFT][index % TW_CHUNK_ENTRIES];
}

/* The entry that an identifier would have, or NULL; to be prefetched. */
static inline struct tw_entry *tw_table_look_up(const struct tw_table *table, u64 id)
{
	u32 index = lower_32_bits(id);

	if (index >= table->count)
		return NULL;
	return tw_table_at(table, array_index_nospec(index, table->count));
}

/* The timer of an identifier, or NULL. */
static inline struct tw_entry *tw_table_find(const struct tw_table *table, u64 id)
{
	struct tw_entry *entry = tw_table_look_up(table, id);

	return entry && entry->id == id && !tw_entry_is_free(entry) ? entry : NULL;
}

/* Take the first free entry, which is there. */
static inline struct tw_entry *tw_table_take(struct tw_table *table)
{
	struct tw_entry *entry = table->free;

	table->free = entry->free;
	table->used++;
	return entry;
}

/* A timer that has left the wheel has ended. */
static inline void tw_table_put(struct tw_table *table, struct tw_entry *entry)
{
	/* No identifier is 0: generation 0 is left out. */
	entry->id += 1ULL << 32;
	if (unlikely(!upper_32_bits(entry->id)))
		entry->id += 1ULL << 32;
	entry->node.link.pprev = NULL;
	entry->free = table->free;
	table->free = entry;
	table->used--;
}

#endif /* _TWHEEL_TABLE_H */
