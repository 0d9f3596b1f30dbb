// SPDX-License-Identifier: GPL-2.0-only
/* Looks of the kernel at cells: what is rare, and what many cells do together. */
#include <linux/math64.h>

#include "../api/hold.h"
#include "../api/overruns.h"
#include "look.h"

/* tw_look_publish() - publish the tick of the next look, and arm the kernel's timer */
void tw_look_publish(struct tw_file *file, struct tw_entry *entry, u64 ticks)
{
	WRITE_ONCE(tw_look_cell(file, entry)->look, ticks);
	twheel_arm_at(&entry->timer, tw_word_to_ns(file->ring, ticks));
}

/* tw_look_has_event() - has the program not taken the event of an entry? */
bool tw_look_has_event(const struct tw_file *file, const struct tw_entry *entry)
{
	return tw_ring_count(file->ring, tw_entry_index(entry),
			     upper_32_bits(entry->tag));
}

/*
 * tw_look_fired() - an event that a periodic timer has, and that has not been taken
 *
 * A timer without a period has one only when it has ended.
 *
 * Return: for how many expiries it stands, as far as the program has left it alone; or 0.
 */
u32 tw_look_fired(const struct tw_file *file, const struct tw_entry *entry)
{
	return entry->period_ns ? tw_ring_count(file->ring, tw_entry_index(entry),
						upper_32_bits(entry->tag)) : 0;
}

/*
 * tw_look_withdraw() - withdraw that event
 *
 * Then nobody takes it any more and kicks. If the timer waits for that, and goes on, the
 * caller has to look at it.
 *
 * Return: was there one?
 */
bool tw_look_withdraw(struct tw_file *file, struct tw_entry *entry)
{
	return tw_look_fired(file, entry) &&
	       tw_ring_revoke(file->ring, tw_entry_index(entry),
			      upper_32_bits(entry->tag));
}

/*
 * tw_look_reached() - the first deadline that such an event stands for
 * @next: the deadline in the timer's word
 * @count: what tw_look_fired() has returned
 */
u64 tw_look_reached(const struct tw_file *file, const struct tw_entry *entry, u64 next,
		    u32 count)
{
	u64 period = div64_u64(entry->period_ns, file->ring->tick_ns);

	if (next == TWHEEL_CELL_NEVER)
		return next;
	return count <= div64_u64(next, period) ? next - count * period : 0;
}

/*
 * tw_look_park() - a periodic timer is due: let it wait, if its event has not been taken
 * @ticks: when it was due, which its word cannot say for ever
 *
 * Return: false if there is no event, or none any more: who took it may not have seen the
 * look.
 */
bool tw_look_park(struct tw_file *file, struct tw_entry *entry, u64 ticks)
{
	if (!tw_look_has_event(file, entry))
		return false;
	entry->look = ticks;
	tw_look_publish(file, entry, TWHEEL_CELL_NEVER);
	/* Pairs with the program's, between taking the event and reading the look. */
	smp_mb();
	return tw_look_has_event(file, entry);
}

/* tw_look_fire_period() - tw_look_fire() of a timer with a period */
bool tw_look_fire_period(struct tw_file *file, struct tw_entry *entry, u64 word, u64 ticks,
			 u64 now_ns)
{
	struct twheel_cell *cell = tw_look_cell(file, entry);
	struct tw_ring *ring = file->ring;
	u64 period = div64_u64(entry->period_ns, ring->tick_ns);
	u64 count = 1 + tw_overruns(tw_word_now(ring, now_ns), ticks, period);
	u64 next = ticks + count * period;

	/* Before the word: a program that sees the new word may need it. */
	WRITE_ONCE(cell->look, next);
	if (!try_cmpxchg(&cell->word, &word,
			 tw_word_change(word, TWHEEL_CELL_PENDING, next)))
		return false;
	tw_file_count_fired(file, now_ns - tw_word_to_ns(ring, ticks), 1);
	tw_ring_push(ring, tw_entry_index(entry), twheel_cell_generation(word), count);
	return true;
}

static struct tw_entry *look_entry(struct twheel_timer *timers[], u32 which)
{
	return container_of(timers[__ffs(which)], struct tw_entry, timer);
}

/*
 * tw_look_again() - timers that were not due get their next look
 * @timers: they are not pending, and their words were, without a period
 * @which: a bit for each of them
 * @follow: for those whose words have changed meanwhile
 *
 * One hold of the wheel's lock and one barrier do for all of them.
 */
void tw_look_again(struct tw_file *file, struct twheel_timer *timers[], u32 which,
		   u64 now_ns, tw_look_fn *follow)
{
	u64 now = tw_word_now(file->ring, now_ns);
	unsigned long flags;
	u32 left;

	tw_hold(file->wheel, &flags);
	for (left = which; left; left &= left - 1) {
		struct tw_entry *entry = look_entry(timers, left);
		struct twheel_cell *cell = tw_look_cell(file, entry);
		u64 ticks = twheel_cell_ticks(READ_ONCE(cell->word), now);

		entry->look = ticks;
		WRITE_ONCE(cell->look, ticks);
		tw_arm_at_held(&entry->timer, tw_word_to_ns(file->ring, ticks));
	}
	tw_release(file->wheel, &flags);
	/* Pairs with the program's, between writing the word and reading the look. */
	smp_mb();
	for (left = which; left; left &= left - 1) {
		struct tw_entry *entry = look_entry(timers, left);
		u64 word = READ_ONCE(tw_look_cell(file, entry)->word);

		if (likely(tw_look_known(entry, word) &&
			   twheel_cell_ticks(word, now) >= entry->look))
			file->extended++;
		else if (!follow(file, entry, now_ns, true) && tw_look_armed(entry))
			file->extended++;
	}
}
