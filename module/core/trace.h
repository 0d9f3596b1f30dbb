/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What is told of timers: to trace events, to lockdep and to debug objects. While an event is
 * off, it costs the nop of its static key. base.h reads this where the base is known.
 */
#ifndef _TWHEEL_TRACE_H
#define _TWHEEL_TRACE_H

#include <linux/compiler.h>
#include <linux/debugobjects.h>
#include <linux/lockdep.h>
#include <linux/timekeeping.h>
#include <linux/types.h>

#include "../compat.h"

/*
 * One line of code may initialise timers of wheels with different contexts. Each context
 * is a class of its own. Else lockdep would see one lock that is held with interrupts
 * on, and taken in an interrupt.
 */
#define tw_debug_map_acquire(map, context)				\
	lock_acquire_exclusive(map, context, 0, NULL, _THIS_IP_)

/* policy.c: what policies have their timers call. */
void tw_policy_periodic(struct twheel_timer *timer);
void tw_policy_idle(struct twheel_timer *timer);

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

void __tw_trace_arm(const struct twheel_base *base, const struct twheel_timer *timer);
void __tw_trace_modify(const struct twheel_base *base, const struct twheel_timer *timer);
void __tw_trace_moved(const struct twheel_base *base, u64 cascades, u64 requeued);
void __tw_trace_pass_begin(struct twheel_base *base);
void __tw_trace_pass_end(struct twheel_base *base);

/* Arguments are evaluated once, and only if the event is on. */
#define tw_trace_timer(event, base, timer, deadline)				\
do {										\
	if (trace_twheel_##event##_enabled()) {					\
		const struct twheel_base *__base = (base);			\
		const struct twheel_timer *__timer = (timer);			\
		u64 __deadline = (deadline);					\
										\
		trace_twheel_##event(&__base->wheel, __base->owner->id, __base->owner->name,	\
				     __timer, tw_debug_function(__timer),	\
				     __deadline, tw_word(__deadline));		\
	}									\
} while (0)

/* With the base lock: a timer has become pending, and is in its bucket. */
static inline void tw_trace_arm(const struct twheel_base *base,
				const struct twheel_timer *timer)
{
	if (trace_twheel_arm_enabled())
		__tw_trace_arm(base, timer);
}

/* With the base lock: a pending timer has moved to the bucket of another deadline. */
static inline void tw_trace_modify(const struct twheel_base *base,
				   const struct twheel_timer *timer)
{
	if (trace_twheel_modify_enabled())
		__tw_trace_modify(base, timer);
}

/* The caller keeps the timer alive. */
static inline void tw_trace_extend(const struct twheel_timer *timer, u64 deadline)
{
	tw_trace_timer(extend, READ_ONCE(timer->base), timer, deadline);
}

/* With the base lock: tell what the engine has moved since its counters were like that. */
static inline void tw_trace_moved(const struct twheel_base *base, u64 cascades, u64 requeued)
{
	if (trace_twheel_cascade_enabled() || trace_twheel_requeue_enabled())
		__tw_trace_moved(base, cascades, requeued);
}

/* Whether an event of a callback is on. */
static inline bool tw_trace_expiry(void)
{
	return trace_twheel_expire_entry_enabled() ||
	       trace_twheel_expire_exit_enabled();
}

/* A callback is about to be called, @late ns after its deadline. Returns when that is. */
static inline u64 tw_trace_expire_entry(const struct twheel_base *base,
					const struct twheel_timer *timer, u64 late)
{
	trace_twheel_expire_entry(base->owner->id, base->owner->name, timer,
				  tw_debug_function(timer), tw_word(base->time_word) - late,
				  tw_clock_now(&base->clock));
	return ktime_get_ns();
}

/* It has returned. Its timer may be freed: only the address is told. */
static inline void tw_trace_expire_exit(const struct twheel_base *base,
					const struct twheel_timer *timer, u64 start)
{
	trace_twheel_expire_exit(base->owner->id, base->owner->name, timer, READ_ONCE(base->last),
				 ktime_get_ns() - start);
}

#endif /* _TWHEEL_TRACE_H */
