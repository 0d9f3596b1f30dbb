/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Finds misuse: callbacks that misbehave, and, with CONFIG_DEBUG_OBJECTS, timers that
 * are used before they are initialised, or freed while they are pending.
 */
#ifndef _TWHEEL_DEBUG_H
#define _TWHEEL_DEBUG_H

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

/* What only the layer above knows: see timer.c and policy.c. */
void tw_debug_withdraw(struct twheel_timer *timer);
const void *tw_debug_function(const struct twheel_timer *timer);

void tw_debug_preempt_count(const void *function, int before);

#ifdef CONFIG_DEBUG_OBJECTS
void tw_debug_init(struct twheel_timer *timer, bool on_stack);
void tw_debug_destroy_on_stack(struct twheel_timer *timer);
void tw_debug_activate(struct twheel_timer *timer);
void tw_debug_deactivate(struct twheel_timer *timer);
bool tw_debug_assert_init(const struct twheel_timer *timer);
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
