/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The timers of an open file, in a table that only grows, and their identifiers.
 *
 * An identifier is {generation, index}. The generation changes whenever a slot is
 * freed, so that an old identifier never reaches the slot's next timer. The
 * caller serialises, except for tw_slots_grow().
 */
#ifndef _TWHEEL_SLOTS_H
#define _TWHEEL_SLOTS_H

#include <linux/list.h>
#include <linux/types.h>

#include <linux/twheel.h>

/**
 * enum tw_slot_state - what a slot is
 * @TW_SLOT_FREE: nobody's
 * @TW_SLOT_ARMED: its timer is pending, or its callback about to run
 * @TW_SLOT_FIRED: its event waits to be read
 * @TW_SLOT_TAKEN: its event is being copied to a reader
 * @TW_SLOT_GONE: cancelled while its callback was about to run, or its event
 *	being copied: who comes out of that frees it. It has no identifier any more
 */
enum tw_slot_state {
	TW_SLOT_FREE,
	TW_SLOT_ARMED,
	TW_SLOT_FIRED,
	TW_SLOT_TAKEN,
	TW_SLOT_GONE,
};

/**
 * struct tw_slot - a timer of an open file
 * @timer: the timer
 * @cookie: as armed
 * @deadline_ns: the deadline it waits for, or has reached
 * @period_ns: as armed
 * @fired_ns: when it expired
 * @link: among the unread events, or the free slots
 * @index: its own index
 * @generation: of the identifier
 * @state: enum tw_slot_state
 */
struct tw_slot {
	struct twheel_timer timer;
	u64 cookie;
	u64 deadline_ns;
	u64 period_ns;
	u64 fired_ns;
	struct list_head link;
	u32 index;
	u32 generation;
	enum tw_slot_state state;
};

/* 256 slots are seven pages; 512 chunks of them a page of pointers. */
#define TW_CHUNK_SHIFT	8
#define TW_CHUNK_SLOTS	(1U << TW_CHUNK_SHIFT)
#define TW_DIR_SHIFT	9
#define TW_DIR_CHUNKS	(1U << TW_DIR_SHIFT)
#define TW_SLOTS_MAX	(1U << 24)
#define TW_NR_DIRS	(TW_SLOTS_MAX >> (TW_CHUNK_SHIFT + TW_DIR_SHIFT))

/**
 * struct tw_slots - the table
 * @dirs: pages of pointers to chunks
 * @free: free slots
 * @count: slots there are, free or not
 */
struct tw_slots {
	struct tw_slot **dirs[TW_NR_DIRS];
	struct list_head free;
	u32 count;
};

void tw_slots_init(struct tw_slots *slots);
void tw_slots_exit(struct tw_slots *slots);
int tw_slots_grow(struct tw_slots *slots, spinlock_t *lock);
struct tw_slot *tw_slots_get(struct tw_slots *slots);
void tw_slots_put(struct tw_slots *slots, struct tw_slot *slot);
struct tw_slot *tw_slots_find(const struct tw_slots *slots, u64 id);
struct tw_slot *tw_slots_at(const struct tw_slots *slots, u32 index);

/* The identifier of a slot; never 0. */
static inline u64 tw_slot_id(const struct tw_slot *slot)
{
	return (u64)slot->generation << 32 | slot->index;
}

#endif /* _TWHEEL_SLOTS_H */
