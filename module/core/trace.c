// SPDX-License-Identifier: GPL-2.0-only
/* Computes the fields of trace events. */
#include <linux/ktime.h>

/* Before base.h, which includes trace.h, too. */
#define CREATE_TRACE_POINTS
#include "trace.h"

#include "base.h"
#include "debug.h"

/* The level of a timer for a tick; -1: it is past, and waits to be served. */
static int trace_level(const struct tw_wheel *w, u64 tick)
{
	if (tick <= w->horizon)
		return -1;
	return tw_wheel_find_row((struct tw_wheel *)w, tick)->level;
}

void __tw_trace_arm(const struct twheel_base *base,
		    const struct twheel_timer *timer)
{
	u64 deadline = twheel_deadline(timer);
	u64 tick = tw_wheel_ceil(&base->wheel, tw_word(deadline));

	trace_twheel_arm(base->id, base->name, timer, tw_debug_function(timer),
			 deadline, tick, trace_level(&base->wheel, tick));
}

void __tw_trace_modify(const struct twheel_base *base,
		       const struct twheel_timer *timer)
{
	u64 deadline = twheel_deadline(timer);
	u64 tick = tw_wheel_ceil(&base->wheel, tw_word(deadline));

	trace_twheel_modify(base->id, base->name, timer, tw_debug_function(timer),
			    deadline, tick, trace_level(&base->wheel, tick));
}

void __tw_trace_extend(const struct twheel_timer *timer, u64 deadline)
{
	const struct twheel_base *base = READ_ONCE(timer->base);

	trace_twheel_extend(base->id, base->name, timer, tw_debug_function(timer),
			    deadline, tw_wheel_ceil(&base->wheel, tw_word(deadline)));
}

void __tw_trace_cancel(const struct twheel_base *base,
		       const struct twheel_timer *timer, u64 deadline)
{
	trace_twheel_cancel(base->id, base->name, timer, tw_debug_function(timer),
			    deadline, tw_wheel_ceil(&base->wheel, tw_word(deadline)));
}

void __tw_trace_unfired(const struct twheel_base *base,
			const struct twheel_timer *timer, u64 deadline)
{
	trace_twheel_unfired(base->id, base->name, timer, tw_debug_function(timer),
			     deadline, tw_wheel_ceil(&base->wheel, tw_word(deadline)));
}

void __tw_trace_moved(const struct twheel_base *base, u64 cascades,
		      u64 requeued)
{
	const struct tw_wheel *w = &base->wheel;

	if (w->cascades != cascades)
		trace_twheel_cascade(base->id, base->name, w->now,
				     w->cascaded, w->cascades - cascades);
	if (w->requeued != requeued)
		trace_twheel_requeue(base->id, base->name, w->now,
				     w->requeued - requeued);
}

/* tw_trace_expire_entry() - the callback of a claimed timer is about to be called */
void tw_trace_expire_entry(const struct twheel_base *base,
			   const struct twheel_timer *timer, u64 deadline)
{
	trace_twheel_expire_entry(base->id, base->name, timer, tw_debug_function(timer),
				  deadline, tw_clock_now(&base->clock));
}

/* tw_trace_expire_exit() - the callback has returned; @timer may be gone */
void tw_trace_expire_exit(const struct twheel_base *base,
			  const struct twheel_timer *timer, u64 took_ns)
{
	trace_twheel_expire_exit(base->id, base->name, timer,
				 READ_ONCE(base->last), took_ns);
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
	trace_twheel_pass(base->id, base->name, pass);
}
