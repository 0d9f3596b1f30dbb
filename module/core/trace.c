// SPDX-License-Identifier: GPL-2.0-only
/* Trace events, and what their fields are computed by. */
#include <linux/atomic.h>
#include <linux/ktime.h>

#include <linux/twheel_idle.h>
#include <linux/twheel_periodic.h>

#include "../engine/wheel.h"

/* The level of a timer with such a word; -1: it is past, and waits to be served. */
static int __maybe_unused trace_level(const struct tw_wheel *w, u64 word)
{
	u64 tick = tw_wheel_ceil(w, word);

	if (tick <= w->horizon)
		return -1;
	return tw_wheel_find_row((struct tw_wheel *)w, tick)->level;
}

#define CREATE_TRACE_POINTS
#include <trace/events/twheel.h>
#undef CREATE_TRACE_POINTS

#include "base.h"

/* tw_trace_number() - a number for a new wheel or open file, by which events name it */
u32 tw_trace_number(void)
{
	static atomic_t last;

	return atomic_inc_return(&last);
}

void __tw_trace_arm(const struct twheel_base *base, const struct twheel_timer *timer)
{
	tw_trace_timer(arm, base, timer, twheel_deadline(timer));
}

void __tw_trace_modify(const struct twheel_base *base, const struct twheel_timer *timer)
{
	tw_trace_timer(modify, base, timer, twheel_deadline(timer));
}

void __tw_trace_moved(const struct twheel_base *base, u64 cascades, u64 requeued)
{
	const struct tw_wheel *w = &base->wheel;

	if (w->cascades != cascades)
		trace_twheel_cascade(base->owner->id, base->owner->name, w->now,
				     w->cascaded, w->cascades - cascades);
	if (w->requeued != requeued)
		trace_twheel_requeue(base->owner->id, base->owner->name, w->now,
				     w->requeued - requeued);
}

void __tw_trace_pass_begin(struct twheel_base *base)
{
	base->trace = (struct twheel_trace_pass) {
		.fired		= tw_base_fired(base),
		.cascades	= base->wheel.cascades,
		.requeued	= base->wheel.requeued,
		.took_ns	= ktime_get_ns(),
	};
}

/* With the base lock. @trace holds the counters as they were when the pass began. */
void __tw_trace_pass_end(struct twheel_base *base)
{
	struct twheel_trace_pass *pass = &base->trace;

	pass->now_tick = base->wheel.now;
	pass->fired = tw_base_fired(base) - pass->fired;
	pass->cascades = base->wheel.cascades - pass->cascades;
	pass->requeued = base->wheel.requeued - pass->requeued;
	pass->took_ns = ktime_get_ns() - pass->took_ns;
	pass->pending = tw_base_pending(base);
	pass->exhausted = base->in_round;
	trace_twheel_pass(base->owner->id, base->owner->name, pass);
}

/* tw_debug_function() - what a timer calls: of a policy its user's function, not ours */
const void *tw_debug_function(const struct twheel_timer *timer)
{
	twheel_fn function = READ_ONCE(timer->function);

	if (function == tw_policy_periodic)
		return container_of(timer, struct twheel_periodic, timer)->function;
	if (function == tw_policy_idle)
		return container_of(timer, struct twheel_idle, timer)->function;
	return function;
}
