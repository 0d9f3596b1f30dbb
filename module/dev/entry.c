// SPDX-License-Identifier: GPL-2.0-only
/*
 * The memory of a file's timers.
 *
 * Entries come in chunks, and a chunk is freed only with its file. So a timer's memory
 * stays where it is, and a reader may copy an event without the lock.
 */
#include <linux/errno.h>
#include <linux/gfp.h>
#include <linux/mm.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/vmalloc.h>

#include "../api/timer.h"
#include "entry.h"

#define TW_CHUNK_BYTES	(TW_CHUNK_ENTRIES * sizeof(struct tw_entry))

#ifndef CONFIG_LOCKDEP
/* Six pages a chunk, and what README.md says about memory. */
static_assert(sizeof(struct tw_entry) == 96 || !IS_ENABLED(CONFIG_64BIT));
#endif

/* tw_entries_cost() - the memory that tw_entries_grow() takes next */
size_t tw_entries_cost(const struct tw_entries *entries)
{
	bool begins_dir = !(entries->count % (TW_CHUNK_ENTRIES * TW_DIR_CHUNKS));

	return PAGE_ALIGN(TW_CHUNK_BYTES) +
	       (begins_dir ? TW_DIR_CHUNKS * sizeof(struct tw_entry *) : 0);
}

/*
 * Six pages in a row are soon had, or not at all: no other task pays for them. Single
 * pages do as well.
 */
static struct tw_entry *entry_alloc_chunk(void)
{
	const gfp_t gfp = GFP_KERNEL_ACCOUNT | __GFP_ZERO | __GFP_NOWARN;
	struct tw_entry *chunk;

	chunk = alloc_pages_exact(TW_CHUNK_BYTES, gfp | __GFP_NORETRY);
	return chunk ?: __vmalloc(TW_CHUNK_BYTES, gfp);
}

static void entry_free_chunk(struct tw_entry *chunk)
{
	if (is_vmalloc_addr(chunk))
		vfree(chunk);
	else
		free_pages_exact(chunk, TW_CHUNK_BYTES);
}

/* tw_entries_exit() - free all entries; none of their timers may be pending */
void tw_entries_exit(struct tw_entries *entries)
{
	unsigned int dir, chunk;

	for (dir = 0; dir < TW_NR_DIRS && entries->dirs[dir]; dir++) {
		for (chunk = 0; chunk < TW_DIR_CHUNKS; chunk++) {
			if (!entries->dirs[dir][chunk])
				break;
			entry_free_chunk(entries->dirs[dir][chunk]);
			cond_resched();
		}
		kfree(entries->dirs[dir]);
	}
	*entries = (struct tw_entries) { };
}

static struct tw_entry *entry_new_chunk(u32 index, struct twheel *wheel)
{
	struct tw_entry *chunk;
	unsigned int i;

	chunk = entry_alloc_chunk();
	if (!chunk)
		return NULL;
	for (i = 0; i < TW_CHUNK_ENTRIES; i++) {
		struct tw_entry *entry = &chunk[i];

		/* Once for all: an entry's timer is armed again and again. */
		tw_timer_init_new(&entry->timer, wheel);
		entry->tag = 1ULL << 32 | (index + i);
		entry->free = entry + 1;
	}
	return chunk;
}

/*
 * tw_entries_grow() - add free entries
 * @lock: the lock that serialises; not held
 * @wheel: the wheel of their timers, which have no function of their own
 *
 * It allocates without the lock, and takes the lock to publish.
 *
 * Context: process, may sleep; one caller at a time.
 * Return: 0, -ENOMEM.
 */
int tw_entries_grow(struct tw_entries *entries, spinlock_t *lock,
		    struct twheel *wheel)
{
	unsigned int number = entries->count >> TW_CHUNK_SHIFT;
	unsigned int dir = number >> TW_DIR_SHIFT;
	struct tw_entry **chunks = NULL;
	struct tw_entry *chunk;

	if (dir >= TW_NR_DIRS)
		return -ENOMEM;
	if (!entries->dirs[dir]) {
		chunks = kcalloc(TW_DIR_CHUNKS, sizeof(*chunks),
				 GFP_KERNEL_ACCOUNT);
		if (!chunks)
			return -ENOMEM;
	}
	chunk = entry_new_chunk(entries->count, wheel);
	if (!chunk) {
		kfree(chunks);
		return -ENOMEM;
	}

	spin_lock_bh(lock);
	if (chunks)
		entries->dirs[dir] = chunks;
	entries->dirs[dir][number % TW_DIR_CHUNKS] = chunk;
	chunk[TW_CHUNK_ENTRIES - 1].free = entries->free;
	entries->free = chunk;
	entries->count += TW_CHUNK_ENTRIES;
	spin_unlock_bh(lock);
	return 0;
}

/* tw_queue_add_first() - an entry becomes the first of a queue */
void tw_queue_add_first(struct tw_entries *entries, struct tw_queue *queue,
			struct tw_entry *entry)
{
	entry->prev = TW_NO_ENTRY;
	entry->next = queue->first;
	if (entry->next == TW_NO_ENTRY)
		queue->last = tw_entry_index(entry);
	else
		tw_entries_at(entries, entry->next)->prev = tw_entry_index(entry);
	queue->first = tw_entry_index(entry);
}

/* tw_queue_del() - an entry leaves a queue */
void tw_queue_del(struct tw_entries *entries, struct tw_queue *queue,
		  struct tw_entry *entry)
{
	if (entry->prev == TW_NO_ENTRY)
		queue->first = entry->next;
	else
		tw_entries_at(entries, entry->prev)->next = entry->next;
	if (entry->next == TW_NO_ENTRY)
		queue->last = entry->prev;
	else
		tw_entries_at(entries, entry->next)->prev = entry->prev;
}
