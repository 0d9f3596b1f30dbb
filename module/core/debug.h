/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Finds misuse by lockdep, and, with CONFIG_DEBUG_OBJECTS, timers that are used before
 * they are initialised, or freed while they are pending.
 */
#ifndef _TWHEEL_DEBUG_H
#define _TWHEEL_DEBUG_H

#include <linux/compiler.h>
#include <linux/debugobjects.h>
#include <linux/lockdep.h>
#include <linux/types.h>

#include <linux/twheel.h>

#include "../compat.h"

/*
 * One line of code may initialise timers of wheels with different contexts. Each context
 * is a class of its own. Else lockdep would see one lock that is held with interrupts
 * on, and taken in an interrupt.
 */
#define tw_debug_map_acquire(map, context)				\
	lock_acquire_exclusive(map, context, 0, NULL, _THIS_IP_)

/* policy.c: what a timer calls; of a policy its user's function, not ours. */
const void *tw_debug_function(const struct twheel_timer *timer);

#ifdef CONFIG_DEBUG_OBJECTS
/* timer.c: what to do with a timer that is misused. */
extern const struct debug_obj_descr tw_debug_descr;

static inline void tw_debug_init(struct twheel_timer *timer, bool on_stack)
{
	if (on_stack)
		debug_object_init_on_stack(timer, &tw_debug_descr);
	else
		debug_object_init(timer, &tw_debug_descr);
}

static inline void tw_debug_destroy_on_stack(struct twheel_timer *timer)
{
	debug_object_free(timer, &tw_debug_descr);
}

static inline void tw_debug_activate(struct twheel_timer *timer)
{
	debug_object_activate(timer, &tw_debug_descr);
}

static inline void tw_debug_deactivate(struct twheel_timer *timer)
{
	debug_object_deactivate(timer, &tw_debug_descr);
}

/* Has the timer been initialised? If not, do not use it. */
static inline bool tw_debug_assert_init(const struct twheel_timer *timer)
{
	debug_object_assert_init((void *)timer, &tw_debug_descr);
	return READ_ONCE(timer->base) || READ_ONCE(timer->function);
}
#else
static inline void tw_debug_init(struct twheel_timer *timer, bool on_stack) { }
static inline void tw_debug_destroy_on_stack(struct twheel_timer *timer) { }
static inline void tw_debug_activate(struct twheel_timer *timer) { }
static inline void tw_debug_deactivate(struct twheel_timer *timer) { }
static inline bool tw_debug_assert_init(const struct twheel_timer *timer)
{
	return true;
}
#endif

#endif /* _TWHEEL_DEBUG_H */
