// SPDX-License-Identifier: GPL-2.0-only
/* A timer, and what can be asked of it. See timer.h for what its word says. */
#include <linux/lockdep.h>
#include <linux/smp.h>

#include <linux/twheel.h>

#include "../core/base.h"
#include "../core/debug.h"
#include "../export.h"
#include "instance.h"
#include "timer.h"

/*
 * A timer that has never been armed comes to a base, if its base is @before. Returns its base.
 *
 * A callback may free its timer, and a new timer may get its address. The new one is not the
 * timer whose callback runs, and calls on it would wait for that callback. Its own callback
 * needs the lock, so it has not begun.
 */
static struct twheel_base *timer_join(struct twheel_timer *timer, struct twheel_base *before,
				      struct twheel_base *base)
{
	struct twheel_base *was;
	unsigned long flags;

	raw_spin_lock_irqsave(&base->lock, flags);
	was = cmpxchg(&timer->base, before, base);
	if (was == before && tw_base_runs(base, timer))
		WRITE_ONCE(base->running, NULL);
	raw_spin_unlock_irqrestore(&base->lock, flags);
	return was ?: base;
}

/*
 * tw_timer_adopt() - a timer with a static initialiser comes to the system wheel
 *
 * Return: its base; NULL if it was never initialised.
 */
struct twheel_base *tw_timer_adopt(struct twheel_timer *timer)
{
	struct twheel *wheel = READ_ONCE(tw_system_wheel);

	if (!timer->function || !wheel)
		return NULL;
	return timer_join(timer, NULL, wheel->bases[raw_smp_processor_id()]);
}

/**
 * __twheel_timer_init() - initialise a timer
 * @timer: the timer; not pending, and its callback does not run
 * @wheel: the wheel it is to belong to; NULL: the system wheel
 * @function: what it does when it fires
 * @on_stack: it is a local variable
 * @name: of the timer, for lockdep
 * @key: for lockdep
 *
 * Use twheel_timer_init().
 *
 * Context:
 * * any but NMI
 */
void __twheel_timer_init(struct twheel_timer *timer, struct twheel *wheel,
			 twheel_fn function, bool on_stack, const char *name,
			 struct lock_class_key *key)
{
	tw_debug_init(timer, on_stack);
	INIT_HLIST_NODE(&timer->node.link);
	atomic64_set(&timer->node.word, TW_WORD_READY);
	timer->function = function;
#ifdef CONFIG_LOCKDEP
	lockdep_init_map(&timer->lockdep_map, name, key, 0);
#endif
	if (!wheel)
		wheel = READ_ONCE(tw_system_wheel);
	/* Without a function it cannot be armed. In early boot, it will be adopted: see above. */
	if (unlikely(!function || !wheel)) {
		atomic64_set(&timer->node.word, 0);
		timer->base = NULL;
		return;
	}
	timer->base = wheel->bases[wheel->percpu ? raw_smp_processor_id() : 0];
	if (unlikely(tw_base_runs(timer->base, timer)))
		timer_join(timer, timer->base, timer->base);
}
TW_EXPORT(__twheel_timer_init);

/**
 * twheel_timer_destroy_on_stack() - end the use of an on-stack timer
 * @timer: the timer; not pending, and its callback does not run
 *
 * Context:
 * * any but NMI
 */
void twheel_timer_destroy_on_stack(struct twheel_timer *timer)
{
	tw_debug_destroy_on_stack(timer);
}
TW_EXPORT(twheel_timer_destroy_on_stack);

/**
 * twheel_of() - the wheel a timer belongs to
 * @timer: the timer
 *
 * Context:
 * * any but NMI
 * Return:
 * * the wheel; with a static initialiser, the system wheel
 * * NULL - the timer was never initialised, or without a function
 */
struct twheel *twheel_of(const struct twheel_timer *timer)
{
	const struct twheel_base *base;

	/* A timer of zeros may be asked for its wheel. */
	if (READ_ONCE(timer->base) && !tw_debug_assert_init(timer))
		return NULL;
	base = tw_timer_any_base(timer);
	return base ? base->owner : NULL;
}
TW_EXPORT(twheel_of);
