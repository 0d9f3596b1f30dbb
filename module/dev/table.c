// SPDX-License-Identifier: GPL-2.0-only
/* The memory of a table. */
#include <linux/errno.h>
#include <linux/gfp.h>
#include <linux/sched.h>
#include <linux/slab.h>

#include "table.h"

static u32 table_dirs(u32 max_timers)
{
	return DIV_ROUND_UP(max_timers, TW_CHUNK_ENTRIES * TW_DIR_CHUNKS);
}

/* tw_table_cost() - the memory that tw_table_init() takes */
size_t tw_table_cost(u32 max_timers)
{
	return table_dirs(max_timers) * sizeof(struct tw_entry **);
}

/* tw_table_init() - make a table without entries. Return: 0, -ENOMEM. */
int tw_table_init(struct tw_table *table, u32 max_timers)
{
	table->dirs = kcalloc(table_dirs(max_timers), sizeof(*table->dirs),
			      GFP_KERNEL_ACCOUNT);
	return table->dirs ? 0 : -ENOMEM;
}

/* tw_table_exit() - free a table, whose timers are in no wheel any more */
void tw_table_exit(struct tw_table *table)
{
	u32 number;

	for (number = 0; number < table->count >> TW_CHUNK_SHIFT; number++) {
		struct tw_entry **dir = table->dirs[number >> TW_DIR_SHIFT];

		kfree(dir[number % TW_DIR_CHUNKS]);
		if (number % TW_DIR_CHUNKS == TW_DIR_CHUNKS - 1 ||
		    number == (table->count >> TW_CHUNK_SHIFT) - 1)
			kfree(dir);
		cond_resched();
	}
	kfree(table->dirs);
}

static bool table_begins_dir(const struct tw_table *table)
{
	return !(table->count % (TW_CHUNK_ENTRIES * TW_DIR_CHUNKS));
}

/* tw_chunk_cost() - the memory that tw_chunk_alloc() takes */
size_t tw_chunk_cost(const struct tw_table *table)
{
	return TW_CHUNK_ENTRIES * sizeof(struct tw_entry) +
	       (table_begins_dir(table) ? TW_DIR_CHUNKS * sizeof(struct tw_entry *) : 0);
}

/*
 * tw_chunk_alloc() - get the memory for more entries
 *
 * Context: process, may sleep. Nobody else adds to the table meanwhile.
 * Return: 0, -ENOMEM.
 */
int tw_chunk_alloc(struct tw_chunk *chunk, const struct tw_table *table)
{
	unsigned int i;

	chunk->dir = NULL;
	chunk->entries = kcalloc(TW_CHUNK_ENTRIES, sizeof(*chunk->entries),
				 GFP_KERNEL_ACCOUNT);
	if (!chunk->entries)
		return -ENOMEM;
	if (table_begins_dir(table)) {
		chunk->dir = kcalloc(TW_DIR_CHUNKS, sizeof(*chunk->dir),
				     GFP_KERNEL_ACCOUNT);
		if (!chunk->dir) {
			kfree(chunk->entries);
			return -ENOMEM;
		}
	}
	for (i = 0; i < TW_CHUNK_ENTRIES; i++) {
		chunk->entries[i].id = 1ULL << 32 | (table->count + i);
		chunk->entries[i].free = &chunk->entries[i + 1];
	}
	return 0;
}

/* tw_table_add() - the entries of a chunk become the table's */
void tw_table_add(struct tw_table *table, struct tw_chunk *chunk)
{
	u32 number = table->count >> TW_CHUNK_SHIFT;
	u32 dir = number >> TW_DIR_SHIFT;

	if (chunk->dir)
		table->dirs[dir] = chunk->dir;
	table->dirs[dir][number % TW_DIR_CHUNKS] = chunk->entries;
	chunk->entries[TW_CHUNK_ENTRIES - 1].free = table->free;
	table->free = chunk->entries;
	table->count += TW_CHUNK_ENTRIES;
}
