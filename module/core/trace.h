/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Calls of trace events. While an event is off, it costs the nop of its static key. Its
 * fields are computed out of line.
 */
#ifndef _TWHEEL_TRACE_H
#define _TWHEEL_TRACE_H

#include <linux/compiler.h>
#include <linux/types.h>

#include <trace/events/twheel.h>

struct twheel_base;

void __tw_trace_arm(const struct twheel_base *base,
		    const struct twheel_timer *timer);
void __tw_trace_modify(const struct twheel_base *base,
		       const struct twheel_timer *timer);
void __tw_trace_extend(const struct twheel_timer *timer, u64 deadline);
void __tw_trace_cancel(const struct twheel_base *base,
		       const struct twheel_timer *timer, u64 deadline);
void __tw_trace_unfired(const struct twheel_base *base,
			const struct twheel_timer *timer, u64 deadline);
void __tw_trace_moved(const struct twheel_base *base, u64 cascades,
		      u64 requeued);
void tw_trace_expire_entry(const struct twheel_base *base,
			   const struct twheel_timer *timer, u64 deadline);
void tw_trace_expire_exit(const struct twheel_base *base,
			  const struct twheel_timer *timer, u64 took_ns);
void __tw_trace_pass_begin(struct twheel_base *base);
void __tw_trace_pass_end(struct twheel_base *base);

/* With the base lock: a timer has become pending, and is in its bucket. */
static __always_inline void tw_trace_arm(const struct twheel_base *base,
					 const struct twheel_timer *timer)
{
	if (trace_twheel_arm_enabled())
		__tw_trace_arm(base, timer);
}

/* With the base lock: a pending timer has moved to the bucket of another deadline. */
static __always_inline void tw_trace_modify(const struct twheel_base *base,
					    const struct twheel_timer *timer)
{
	if (trace_twheel_modify_enabled())
		__tw_trace_modify(base, timer);
}

/* The caller keeps the timer alive. */
static __always_inline void tw_trace_extend(const struct twheel_timer *timer,
					    u64 deadline)
{
	if (trace_twheel_extend_enabled())
		__tw_trace_extend(timer, deadline);
}

/* With the base lock */
static __always_inline void tw_trace_cancel(const struct twheel_base *base,
					    const struct twheel_timer *timer,
					    u64 deadline)
{
	if (trace_twheel_cancel_enabled())
		__tw_trace_cancel(base, timer, deadline);
}

/* With the base lock */
static inline void tw_trace_unfired(const struct twheel_base *base,
				    const struct twheel_timer *timer,
				    u64 deadline)
{
	if (trace_twheel_unfired_enabled())
		__tw_trace_unfired(base, timer, deadline);
}

/* With the base lock: tell what the engine has moved since its counters were like that. */
static __always_inline void tw_trace_moved(const struct twheel_base *base,
					   u64 cascades, u64 requeued)
{
	if (trace_twheel_cascade_enabled() || trace_twheel_requeue_enabled())
		__tw_trace_moved(base, cascades, requeued);
}

/* Is an event of a callback on? */
static __always_inline bool tw_trace_expiry(void)
{
	return trace_twheel_expire_entry_enabled() ||
	       trace_twheel_expire_exit_enabled();
}

/* With the base lock: a pass begins. Returns true if its event is on. */
static __always_inline bool tw_trace_pass_begin(struct twheel_base *base)
{
	if (!trace_twheel_pass_enabled())
		return false;
	__tw_trace_pass_begin(base);
	return true;
}

#endif /* _TWHEEL_TRACE_H */
