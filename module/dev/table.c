// SPDX-License-Identifier: GPL-2.0-only
/* The memory of a table. */
#include <linux/errno.h>
#include <linux/gfp.h>
#include <linux/log2.h>
#include <linux/mm.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/string.h>

#include "table.h"

static u32 table_chunks(const struct tw_table *table)
{
	return table->count >> TW_CHUNK_SHIFT;
}

/* How many chunks the array has room for: a power of two, or none. */
static u32 table_room(u32 chunks)
{
	return chunks ? roundup_pow_of_two(chunks) : 0;
}

/* tw_table_exit() - free a table, whose timers are in no wheel any more */
void tw_table_exit(struct tw_table *table)
{
	u32 chunks = table_chunks(table);

	while (chunks) {
		kfree(table->chunks[--chunks]);
		cond_resched();
	}
	kvfree(table->chunks);
}

/* tw_table_cost() - the memory by which tw_table_grow() makes a table larger */
size_t tw_table_cost(const struct tw_table *table)
{
	u32 chunks = table_chunks(table);

	return TW_CHUNK_ENTRIES * sizeof(struct tw_entry) +
	       (table_room(chunks + 1) - table_room(chunks)) * sizeof(*table->chunks);
}

/*
 * tw_table_grow() - add a chunk of entries
 * @lock: the file's lock
 *
 * Context: process, may sleep. Nobody else adds to the table meanwhile.
 * Return: 0, -ENOMEM.
 */
int tw_table_grow(struct tw_table *table, spinlock_t *lock)
{
	u32 chunks = table_chunks(table), room = table_room(chunks + 1), i;
	struct tw_entry **array = table->chunks, *chunk;

	chunk = kcalloc(TW_CHUNK_ENTRIES, sizeof(*chunk), GFP_KERNEL_ACCOUNT);
	if (!chunk)
		return -ENOMEM;
	if (room > table_room(chunks)) {
		array = kvmalloc_array(room, sizeof(*array), GFP_KERNEL_ACCOUNT);
		if (!array) {
			kfree(chunk);
			return -ENOMEM;
		}
		memcpy(array, table->chunks, chunks * sizeof(*array));
	}
	for (i = 0; i < TW_CHUNK_ENTRIES; i++) {
		chunk[i].id = 1ULL << 32 | (table->count + i);
		chunk[i].free = &chunk[i + 1];
	}
	array[chunks] = chunk;
	spin_lock(lock);
	swap(array, table->chunks);
	chunk[TW_CHUNK_ENTRIES - 1].free = table->free;
	table->free = chunk;
	table->count += TW_CHUNK_ENTRIES;
	spin_unlock(lock);
	if (array != table->chunks)
		kvfree(array);
	return 0;
}
