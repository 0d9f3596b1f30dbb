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
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/spinlock.h>

#include "table.h"

#define CHUNK_BYTES	(TW_CHUNK_ENTRIES * sizeof(struct tw_entry))

#ifndef CONFIG_LOCKDEP
/* Six pages a chunk, and what README.md says about memory. */
static_assert(sizeof(struct tw_entry) == 96 || !IS_ENABLED(CONFIG_64BIT));
#endif

/* tw_table_exit() - free the table; none of its timers may be pending */
void tw_table_exit(struct tw_table *slots)
{
	unsigned int dir, chunk;

	for (dir = 0; dir < TW_NR_DIRS && slots->dirs[dir]; dir++) {
		for (chunk = 0; chunk < TW_DIR_CHUNKS; chunk++) {
			if (!slots->dirs[dir][chunk])
				break;
			free_pages_exact(slots->dirs[dir][chunk], CHUNK_BYTES);
			cond_resched();
		}
		kfree(slots->dirs[dir]);
	}
	*slots = (struct tw_table) { };
}

static struct tw_entry *new_chunk(u32 index, struct twheel *wheel,
				 twheel_fn function)
{
	struct tw_entry *chunk;
	unsigned int i;

	chunk = alloc_pages_exact(CHUNK_BYTES, GFP_KERNEL_ACCOUNT | __GFP_ZERO);
	if (!chunk)
		return NULL;
	for (i = 0; i < TW_CHUNK_ENTRIES; i++) {
		struct tw_entry *slot = &chunk[i];

		/* Once for all: a slot's timer is armed again and again. */
		twheel_timer_init(&slot->timer, wheel, function);
		slot->tag = 1ULL << 32 | (index + i);
		slot->free = slot + 1;
	}
	return chunk;
}

/*
 * tw_table_grow() - add free slots, after those that are free
 * @lock: what serialises; not held
 * @wheel: what their timers belong to
 * @function: what these do when they fire
 *
 * Allocates, so it works without the lock and takes it to publish.
 *
 * Context: process, may sleep; one caller at a time.
 * Return: 0, -ENOMEM.
 */
int tw_table_grow(struct tw_table *slots, spinlock_t *lock,
		  struct twheel *wheel, twheel_fn function)
{
	unsigned int number = slots->count >> TW_CHUNK_SHIFT;
	unsigned int dir = number >> TW_DIR_SHIFT;
	struct tw_entry **chunks = NULL;
	struct tw_entry *chunk;

	if (dir >= TW_NR_DIRS)
		return -ENOMEM;
	if (!slots->dirs[dir]) {
		chunks = kcalloc(TW_DIR_CHUNKS, sizeof(*chunks),
				 GFP_KERNEL_ACCOUNT);
		if (!chunks)
			return -ENOMEM;
	}
	chunk = new_chunk(slots->count, wheel, function);
	if (!chunk) {
		kfree(chunks);
		return -ENOMEM;
	}

	spin_lock_bh(lock);
	if (chunks)
		slots->dirs[dir] = chunks;
	slots->dirs[dir][number % TW_DIR_CHUNKS] = chunk;
	chunk[TW_CHUNK_ENTRIES - 1].free = slots->free;
	slots->free = chunk;
	slots->count += TW_CHUNK_ENTRIES;
	spin_unlock_bh(lock);
	return 0;
}

/* tw_queue_add() - a slot becomes the last in a row */
void tw_queue_add(struct tw_table *slots, struct tw_queue *queue,
		  struct tw_entry *slot)
{
	slot->next = TW_NO_ENTRY;
	slot->prev = queue->last;
	if (slot->prev == TW_NO_ENTRY)
		queue->first = tw_entry_index(slot);
	else
		tw_table_at(slots, slot->prev)->next = tw_entry_index(slot);
	queue->last = tw_entry_index(slot);
}

/* tw_queue_add_first() - a slot becomes the first in a row */
void tw_queue_add_first(struct tw_table *slots, struct tw_queue *queue,
			struct tw_entry *slot)
{
	slot->prev = TW_NO_ENTRY;
	slot->next = queue->first;
	if (slot->next == TW_NO_ENTRY)
		queue->last = tw_entry_index(slot);
	else
		tw_table_at(slots, slot->next)->prev = tw_entry_index(slot);
	queue->first = tw_entry_index(slot);
}

/* tw_queue_del() - a slot leaves a row */
void tw_queue_del(struct tw_table *slots, struct tw_queue *queue,
		  struct tw_entry *slot)
{
	if (slot->prev == TW_NO_ENTRY)
		queue->first = slot->next;
	else
		tw_table_at(slots, slot->prev)->next = slot->next;
	if (slot->next == TW_NO_ENTRY)
		queue->last = slot->prev;
	else
		tw_table_at(slots, slot->next)->prev = slot->prev;
}
