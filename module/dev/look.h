/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Looks of the kernel at cells: what the two kinds of files with a mapping have in common.
 *
 * The callback of a cell's timer reads the word. A timer that is due fires. One that is
 * not gets another look. The kernel publishes it, and then reads the word again, with a
 * full barrier in between. See cell.c for why no timer is lost.
 *
 * All functions are called with the file's lock held.
 */
#ifndef _TWHEEL_LOOK_H
#define _TWHEEL_LOOK_H

#include <linux/atomic.h>
#include <linux/bits.h>

#include "file.h"
#include "ring.h"
#include "word.h"

/*
 * Read the word of an armed entry's cell, and do what it says. Returns true if it was due.
 * @post: post events, as only a caller may that wakes the waiters afterwards
 */
typedef bool tw_look_fn(struct tw_file *file, struct tw_entry *entry, u64 now_ns,
			bool post);

void tw_look_publish(struct tw_file *file, struct tw_entry *entry, u64 ticks);
bool tw_look_has_event(const struct tw_file *file, const struct tw_entry *entry);
u32 tw_look_fired(const struct tw_file *file, const struct tw_entry *entry);
bool tw_look_withdraw(struct tw_file *file, struct tw_entry *entry);
u64 tw_look_reached(const struct tw_file *file, const struct tw_entry *entry, u64 next,
		    u32 count);
bool tw_look_park(struct tw_file *file, struct tw_entry *entry, u64 ticks);
bool tw_look_fire_period(struct tw_file *file, struct tw_entry *entry, u64 word,
			 u64 ticks, u64 now_ns);
void tw_look_again(struct tw_file *file, struct twheel_timer *timers[], u32 which,
		   u64 now_ns, tw_look_fn *follow);

static inline struct twheel_cell *tw_look_cell(const struct tw_file *file,
					       const struct tw_entry *entry)
{
	return &file->ring->cells[tw_entry_index(entry)];
}

static inline bool tw_look_armed(const struct tw_entry *entry)
{
	return tw_entry_state(entry) == TW_ENTRY_ARMED;
}

/* Is a word pending, and of the timer that the kernel knows? */
static inline bool tw_look_known(const struct tw_entry *entry, u64 word)
{
	return tw_word_pending(word) &&
	       twheel_cell_generation(word) == upper_32_bits(entry->tag);
}

/*
 * The deadline of a word, in ticks, as it is at @now, in ticks. If the kernel has seen it
 * before, it may have passed long ago, which a word alone cannot say: an event has waited to
 * be taken, or the clock has jumped.
 */
static inline u64 tw_look_ticks(const struct tw_entry *entry, u64 word, u64 now)
{
	u64 ticks = twheel_cell_ticks(word, now);

	if (ticks > now && entry->look <= now && ticks != TWHEEL_CELL_NEVER &&
	    !((ticks ^ entry->look) & TWHEEL_CELL_TICKS) &&
	    twheel_cell_generation(word) == upper_32_bits(entry->tag))
		return entry->look;
	return ticks;
}

/*
 * A call has given a timer another deadline, at @ticks: does the kernel have to look at it? A
 * later deadline is found when the old one comes. If that has come, the timer may wait for
 * its event to be taken; and who does not know any more that it was periodic does not kick.
 */
static inline bool tw_look_is_due(const struct tw_entry *entry, u64 ticks, u64 now)
{
	return ticks < entry->look || entry->look <= now;
}

/* Set the tick of the next look, publish it, and arm the kernel's timer for it. */
static inline void tw_look_set(struct tw_file *file, struct tw_entry *entry, u64 ticks)
{
	entry->look = ticks;
	tw_look_publish(file, entry, ticks);
}

/* The timer of an entry has ended. */
static inline void tw_look_end(struct tw_file *file, struct tw_entry *entry,
			       enum tw_entry_state state)
{
	if (twheel_pending(&entry->timer))
		twheel_cancel(&entry->timer);
	tw_entry_set_state(entry, state);
	file->timers--;
}

/**
 * struct tw_look_run - timers of one tick that have fired and are not counted yet
 * @ticks: their tick
 * @late_ns: how late they are
 * @count: how many there are
 */
struct tw_look_run {
	u64 ticks;
	u64 late_ns;
	unsigned int count;
};

/* No timer fires that is due at never. */
#define TW_LOOK_RUN	((struct tw_look_run) { .ticks = TWHEEL_CELL_NEVER })

static __always_inline void tw_look_run_count(struct tw_file *file, struct tw_look_run *run)
{
	if (run->count)
		tw_file_count_fired(file, run->late_ns, run->count);
	run->count = 0;
}

static __always_inline void tw_look_run_add(struct tw_file *file, struct tw_look_run *run,
					    u64 ticks, u64 now_ns)
{
	if (unlikely(ticks != run->ticks)) {
		tw_look_run_count(file, run);
		run->ticks = ticks;
		run->late_ns = now_ns - tw_word_to_ns(file->ring, ticks);
	}
	run->count++;
}

/* A timer without a period is due: as tw_look_fire(). It joins a run. */
static __always_inline bool tw_look_fire_once(struct tw_file *file, struct tw_look_run *run,
					      struct tw_entry *entry, u64 word,
					      u64 ticks, u64 now_ns)
{
	const u64 flip = twheel_cell_word(0, TWHEEL_CELL_PENDING ^ TWHEEL_CELL_FIRED, 0);
	struct twheel_cell *cell = tw_look_cell(file, entry);
	struct tw_ring *ring = file->ring;

	/* Before the word: a program that sees the new one may arm the cell again. */
	WRITE_ONCE(cell->look, TWHEEL_CELL_NEVER);
	if (unlikely(!try_cmpxchg(&cell->word, &word, word ^ flip)))
		return false;
	tw_look_end(file, entry, TW_ENTRY_FIRED);
	entry->look = ticks;
	tw_look_run_add(file, run, ticks, now_ns);
	tw_ring_push_once(ring, tw_entry_index(entry), twheel_cell_generation(word));
	return true;
}

/*
 * A timer was due at @ticks: change its word and post the event. The caller sets a periodic
 * timer's look. Returns false if the word has changed meanwhile.
 */
static inline bool tw_look_fire(struct tw_file *file, struct tw_entry *entry, u64 word,
				u64 ticks, u64 now_ns)
{
	struct tw_look_run run = TW_LOOK_RUN;
	bool fired;

	if (entry->period_ns)
		return tw_look_fire_period(file, entry, word, ticks, now_ns);
	fired = tw_look_fire_once(file, &run, entry, word, ticks, now_ns);
	tw_look_run_count(file, &run);
	return fired;
}

/*
 * Timers of cells have expired: &tw_store_ops.expire. Those that are not due get their next
 * look together.
 */
static __always_inline void tw_look_expire(struct tw_file *file,
					   struct twheel_timer *timers[],
					   unsigned int count, u64 now_ns,
					   tw_look_fn *follow)
{
	u64 now = tw_word_now(file->ring, now_ns);
	struct tw_look_run run = TW_LOOK_RUN;
	unsigned int i;
	u32 later = 0;

	for (i = 0; i < count; i++) {
		struct tw_entry *entry = container_of(timers[i], struct tw_entry, timer);
		u64 word, ticks;

		/* While this waited for the lock, the cell may have got another timer. */
		if (!tw_look_armed(entry) || twheel_pending(&entry->timer))
			continue;
		word = READ_ONCE(tw_look_cell(file, entry)->word);
		if (likely(tw_look_known(entry, word) && !entry->period_ns)) {
			ticks = tw_look_ticks(entry, word, now);
			if (ticks > now) {
				later |= BIT(i);
				continue;
			}
			if (likely(tw_look_fire_once(file, &run, entry, word, ticks,
						     now_ns)))
				continue;
		}
		if (!follow(file, entry, now_ns, true) && tw_look_armed(entry))
			file->extended++;
	}
	tw_look_run_count(file, &run);
	if (later)
		tw_look_again(file, timers, later, now_ns, follow);
	tw_ring_publish(file->ring);
}

#endif /* _TWHEEL_LOOK_H */
