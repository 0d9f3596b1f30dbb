// SPDX-License-Identifier: GPL-2.0-only
/*
 * The events of an open file: how they come up, and how a reader takes them.
 */
#include <linux/math64.h>
#include <linux/poll.h>
#include <linux/wait.h>

#include "event.h"
#include "file.h"

/* tw_event_expire() - the callback of every timer of a file */
void tw_event_expire(struct twheel_timer *timer)
{
	struct tw_slot *slot = container_of(timer, struct tw_slot, timer);
	struct twheel *wheel = twheel_of(timer);
	struct tw_file *file = twheel_data(wheel);

	spin_lock(&file->lock);
	if (tw_slot_state(slot) == TW_SLOT_ARMED) {
		tw_slot_set_state(slot, TW_SLOT_FIRED);
		slot->fired_ns = twheel_now(wheel);
		tw_queue_add(&file->slots, &file->events, slot);
		file->unread++;
		file->fired++;
	} else {
		/* Cancelled when it was too late to stop this call. */
		tw_slots_put(&file->slots, slot);
	}
	spin_unlock(&file->lock);

	/*
	 * Whoever looked for events before the lock was taken here is on @wait
	 * by now: poll() and read() queue themselves first, and look with the
	 * lock held. wq_has_sleeper() has the barrier for waiters that look
	 * without it.
	 */
	if (wq_has_sleeper(&file->wait))
		wake_up_interruptible_poll(&file->wait,
					   EPOLLIN | EPOLLRDNORM);
}

/* tw_event_readable() - does an event wait to be read? */
bool tw_event_readable(struct tw_file *file)
{
	bool readable;

	spin_lock_bh(&file->lock);
	readable = file->events.first != TW_NO_SLOT;
	spin_unlock_bh(&file->lock);
	return readable;
}

/*
 * tw_event_take() - take the oldest events off the list, to copy them to a reader
 * @most: how many at most
 *
 * To be followed by tw_event_delivered() or tw_event_give_back(). Meanwhile the
 * events are nobody else's.
 *
 * Return: true if there are any.
 */
bool tw_event_take(struct tw_file *file, struct tw_taken *taken,
		  unsigned int most)
{
	u64 now = 0;

	taken->count = 0;
	spin_lock_bh(&file->lock);
	while (taken->count < min(most, TW_TAKE)) {
		unsigned int n = taken->count;
		struct tw_slot *slot;
		u64 missed = 0;

		slot = tw_queue_first(&file->slots, &file->events);
		if (!slot)
			break;
		tw_queue_del(&file->slots, &file->events, slot);
		tw_slot_set_state(slot, TW_SLOT_TAKEN);
		if (slot->period_ns) {
			now = now ?: twheel_now(file->wheel);
			missed = div64_u64(now - slot->deadline_ns,
					   slot->period_ns);
			/* now + period: neither has its top bit set. */
			taken->next[n] = min_t(u64, TWHEEL_DELAY_NEVER,
					       slot->deadline_ns +
					       (missed + 1) * slot->period_ns);
		}
		taken->slots[n] = slot;
		taken->events[n] = (struct twheel_event) {
			.id		= tw_slot_id(slot),
			.cookie		= slot->cookie,
			.deadline_ns	= slot->deadline_ns,
			.fired_ns	= slot->fired_ns,
			.count		= missed + 1,
		};
		taken->count++;
	}
	spin_unlock_bh(&file->lock);
	return taken->count;
}

/* tw_event_delivered() - the reader has got the events */
void tw_event_delivered(struct tw_file *file, struct tw_taken *taken)
{
	unsigned int i;

	spin_lock_bh(&file->lock);
	for (i = 0; i < taken->count; i++) {
		struct tw_slot *slot = taken->slots[i];

		if (tw_slot_state(slot) == TW_SLOT_GONE) {
			/* Cancelled meanwhile, and the books are done. */
			tw_slots_put(&file->slots, slot);
			continue;
		}
		file->unread--;
		if (slot->period_ns) {
			tw_slot_set_state(slot, TW_SLOT_ARMED);
			slot->deadline_ns = taken->next[i];
			twheel_arm_at(&slot->timer, slot->deadline_ns);
		} else {
			file->timers--;
			tw_slots_put(&file->slots, slot);
		}
	}
	spin_unlock_bh(&file->lock);
}

/*
 * tw_event_give_back() - the reader could not be given the events: they are the
 * oldest again
 */
void tw_event_give_back(struct tw_file *file, struct tw_taken *taken)
{
	unsigned int i;

	spin_lock_bh(&file->lock);
	for (i = taken->count; i--; ) {
		struct tw_slot *slot = taken->slots[i];

		if (tw_slot_state(slot) == TW_SLOT_GONE) {
			tw_slots_put(&file->slots, slot);
			continue;
		}
		tw_slot_set_state(slot, TW_SLOT_FIRED);
		tw_queue_add_first(&file->slots, &file->events, slot);
	}
	spin_unlock_bh(&file->lock);

	/* Somebody may have looked meanwhile and found nothing. */
	wake_up_interruptible_poll(&file->wait, EPOLLIN | EPOLLRDNORM);
}
