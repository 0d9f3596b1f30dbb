// SPDX-License-Identifier: GPL-2.0-only
/*
 * The timers of an open file.
 *
 * Slots come in chunks, and a chunk is never freed before the file: a timer's
 * memory stays where it is, and a reader who is copying an event need not fear
 * for it.
 */
#include <linux/errno.h>
#include <linux/gfp.h>
#include <linux/slab.h>
#include <linux/spinlock.h>

#include "slots.h"

#define CHUNK_BYTES	(TW_CHUNK_SLOTS * sizeof(struct tw_slot))

void tw_slots_init(struct tw_slots *slots)
{
	INIT_LIST_HEAD(&slots->free);
}

/* tw_slots_exit() - free the table; none of its timers may be pending */
void tw_slots_exit(struct tw_slots *slots)
{
	unsigned int dir, chunk;

	for (dir = 0; dir < TW_NR_DIRS && slots->dirs[dir]; dir++) {
		for (chunk = 0; chunk < TW_DIR_CHUNKS; chunk++) {
			if (slots->dirs[dir][chunk])
				free_pages_exact(slots->dirs[dir][chunk],
						 CHUNK_BYTES);
			cond_resched();
		}
		kfree(slots->dirs[dir]);
	}
}

static struct tw_slot *new_chunk(void)
{
	struct tw_slot *chunk;
	unsigned int i;

	chunk = alloc_pages_exact(CHUNK_BYTES, GFP_KERNEL_ACCOUNT | __GFP_ZERO);
	if (!chunk)
		return NULL;
	/* An identifier is never 0. */
	for (i = 0; i < TW_CHUNK_SLOTS; i++)
		chunk[i].generation = 1;
	return chunk;
}

/*
 * tw_slots_grow() - add free slots
 * @lock: what serialises; not held
 *
 * Allocates, so it works without the lock and takes it to publish.
 *
 * Context: process, may sleep; one caller at a time.
 * Return: 0, -ENOMEM.
 */
int tw_slots_grow(struct tw_slots *slots, spinlock_t *lock)
{
	unsigned int number = slots->count >> TW_CHUNK_SHIFT;
	unsigned int dir = number >> TW_DIR_SHIFT;
	struct tw_slot **chunks = NULL;
	struct tw_slot *chunk;
	unsigned int i;

	if (dir >= TW_NR_DIRS)
		return -ENOMEM;
	if (!slots->dirs[dir]) {
		chunks = kcalloc(TW_DIR_CHUNKS, sizeof(*chunks),
				 GFP_KERNEL_ACCOUNT);
		if (!chunks)
			return -ENOMEM;
	}
	chunk = new_chunk();
	if (!chunk) {
		kfree(chunks);
		return -ENOMEM;
	}

	spin_lock_bh(lock);
	if (chunks)
		slots->dirs[dir] = chunks;
	slots->dirs[dir][number % TW_DIR_CHUNKS] = chunk;
	for (i = 0; i < TW_CHUNK_SLOTS; i++) {
		chunk[i].index = slots->count++;
		list_add_tail(&chunk[i].link, &slots->free);
	}
	spin_unlock_bh(lock);
	return 0;
}

/* tw_slots_get() - take a free slot; NULL if the table has to grow */
struct tw_slot *tw_slots_get(struct tw_slots *slots)
{
	struct tw_slot *slot;

	slot = list_first_entry_or_null(&slots->free, struct tw_slot, link);
	if (slot)
		list_del_init(&slot->link);
	return slot;
}

/* tw_slots_put() - free a slot; its identifier is void */
void tw_slots_put(struct tw_slots *slots, struct tw_slot *slot)
{
	slot->state = TW_SLOT_FREE;
	/* Last freed is first used: it is still in the cache. */
	list_add(&slot->link, &slots->free);
	if (!++slot->generation)
		slot->generation = 1;
}

/* tw_slots_at() - the slot of an index below &tw_slots.count */
struct tw_slot *tw_slots_at(const struct tw_slots *slots, u32 index)
{
	unsigned int chunk = index >> TW_CHUNK_SHIFT;

	return &slots->dirs[chunk >> TW_DIR_SHIFT][chunk % TW_DIR_CHUNKS]
			   [index % TW_CHUNK_SLOTS];
}

/* tw_slots_find() - the slot that an identifier names; NULL if it is void */
struct tw_slot *tw_slots_find(const struct tw_slots *slots, u64 id)
{
	u32 index = lower_32_bits(id);
	struct tw_slot *slot;

	if (index >= slots->count)
		return NULL;
	slot = tw_slots_at(slots, index);
	if (slot->generation != upper_32_bits(id) ||
	    slot->state == TW_SLOT_FREE || slot->state == TW_SLOT_GONE)
		return NULL;
	return slot;
}
