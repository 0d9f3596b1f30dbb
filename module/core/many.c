// SPDX-License-Identifier: GPL-2.0-only
/*
 * Arming and cancelling arrays of timers, some under one hold of a base's lock.
 *
 * The lock of one base is held at a time. A timer that belongs to another base, or
 * comes to do so meanwhile, is left to the call for a single timer, without the lock.
 * So each turn of many_run() finishes at least one item, whatever other CPUs do.
 */
#include <linux/compiler.h>
#include <linux/errno.h>
#include <linux/irqflags.h>
#include <linux/minmax.h>
#include <linux/prefetch.h>
#include <linux/smp.h>
#include <linux/spinlock.h>

#include <linux/twheel.h>
#include <linux/twheel_many.h>
#include <linux/twheel_state.h>

#include "../export.h"
#include "base.h"
#include "timer.h"

/*
 * How many items are served under one hold of the lock, with interrupts off. That takes about as
 * long as a slice of a pass, and twice as long if each timer is nearer than all before.
 */
#define MANY_HOLD	16

/* How many items ahead a timer is fetched into the cache: a cache miss takes as long. */
#define MANY_AHEAD	8

enum many_operation {
	MANY_ARM,
	MANY_CANCEL,
};

/* With the base lock. */
static __always_inline int many_one_held(struct twheel_base *base, struct twheel_item *item,
					 enum many_operation operation)
{
	if (operation == MANY_ARM)
		return tw_arm_at_held(item->timer, item->deadline_ns);
	return tw_debug_assert_init(item->timer) ?
	       tw_base_withdraw(base, item->timer, TWHEEL_CANCELLED) : 0;
}

/* Whether a timer's base is another wheel's. A timer without one is refused later. */
static bool many_is_foreign(const struct twheel *wheel, const struct twheel_base *base)
{
	return base && base->owner != wheel;
}

static int many_one(struct twheel *wheel, struct twheel_item *item,
		    enum many_operation operation)
{
	if (operation == MANY_CANCEL)
		return twheel_cancel(item->timer);
	/* Its deadline may be on another clock. */
	if (many_is_foreign(wheel, tw_timer_any_base(item->timer)))
		return -EINVAL;
	return twheel_arm_at(item->timer, item->deadline_ns);
}

/*
 * The base to begin with: an idle timer is armed where this runs, and a pending one is
 * cancelled where it is. NULL if the timer belongs to none, and the call for a single
 * timer knows what to do, as with another wheel's.
 */
static struct twheel_base *many_base(const struct twheel *wheel,
				     const struct twheel_item *item,
				     enum many_operation operation)
{
	struct twheel_base *base;

	if (operation == MANY_ARM && wheel->percpu)
		return wheel->bases[raw_smp_processor_id()];
	base = READ_ONCE(item->timer->base);
	return many_is_foreign(wheel, base) ? NULL : base;
}

/*
 * Serve the items of one base, up to the first one of another base.
 * Returns: that item, or @end. From @last on there are no items.
 */
static __always_inline struct twheel_item *
many_hold(struct twheel_base *base, struct twheel_item *item,
	  struct twheel_item *end, const struct twheel_item *last,
	  enum many_operation operation)
{
	lockdep_assert_held(&base->lock);
	if (operation == MANY_ARM)
		tw_base_begin_batch(base);
	for (; item < end; item++) {
		if (likely(last - item > MANY_AHEAD))
			prefetchw(item[MANY_AHEAD].timer);
		if (unlikely(READ_ONCE(item->timer->base) != base))
			break;
		item->result = many_one_held(base, item, operation);
	}
	if (operation == MANY_ARM)
		tw_base_end_batch(base);
	return item;
}

static __always_inline unsigned int many_run(struct twheel *wheel,
					     struct twheel_item *items,
					     unsigned int count,
					     enum many_operation operation)
{
	struct twheel_item *item = items, *last = items + count, *end;
	struct twheel_base *base;
	unsigned int good = 0;
	unsigned long flags;

	while (item < last) {
		end = item + min_t(unsigned int, MANY_HOLD, last - item);
		/* The CPU must not change between the choice of its base and the lock. */
		local_irq_save(flags);
		base = many_base(wheel, item, operation);
		if (likely(base)) {
			raw_spin_lock(&base->lock);
			item = many_hold(base, item, end, last, operation);
			raw_spin_unlock(&base->lock);
		}
		local_irq_restore(flags);
		if (unlikely(item < end)) {
			item->result = many_one(wheel, item, operation);
			item++;
		}
	}
	for (item = items; item < last; item++)
		good += item->result >= 0;
	return good;
}

/**
 * twheel_arm_many() - arm an array of timers
 * @wheel: the wheel that all the timers belong to
 * @items: the timers and their deadlines; the results are filled in
 * @count: how many; may be 0
 *
 * Arms each item as twheel_arm_at() does, in the order of the array. It takes
 * the wheel's lock once for up to 16 items rather than for each. It also fetches the
 * timers into the cache ahead of their turn, which matters most when there are many.
 *
 * The array is not one transaction. A refused item changes nothing, and the items after
 * it are served as if it had not been there. Between two holds of the lock, timers may
 * fire and other CPUs may operate on them, also on those of this array. A timer may
 * appear more than once: each appearance takes effect in its turn.
 *
 * On a wheel that is per CPU, idle timers are armed on the CPU that this is called
 * on, as with twheel_arm_at(). Timers that belong to another CPU are armed one by
 * one, each with a lock of its own.
 *
 * Context:
 * * interrupts are off for up to 16 items at a time. With interrupts on at the
 *   call, they are let in between
 * Return:
 * * how many results are not negative; each &twheel_item.result is what
 *   twheel_arm_at() would have returned, or -EINVAL if the timer is another wheel's
 */
unsigned int twheel_arm_many(struct twheel *wheel, struct twheel_item *items,
			     unsigned int count)
{
	return many_run(wheel, items, count, MANY_ARM);
}
TW_EXPORT(twheel_arm_many);

/**
 * twheel_cancel_many() - cancel an array of timers, without waiting for callbacks
 * @wheel: the wheel that all the timers belong to
 * @items: the timers; the deadlines are ignored, and the results are filled in
 * @count: how many; may be 0
 *
 * Does what twheel_cancel() does for each item. Order, locking and duplicates are as
 * with twheel_arm_many(). On a wheel that is per CPU, neighbours in the array that
 * belong to one CPU share a hold of its lock.
 *
 * Context:
 * * as twheel_arm_many()
 * Return:
 * * @count, as no result is negative; each &twheel_item.result is what
 *   twheel_cancel() would have returned
 */
unsigned int twheel_cancel_many(struct twheel *wheel, struct twheel_item *items,
				unsigned int count)
{
	return many_run(wheel, items, count, MANY_CANCEL);
}
TW_EXPORT(twheel_cancel_many);
