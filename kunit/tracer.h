/* SPDX-License-Identifier: GPL-2.0-only */
/* A tracer, as perf and ftrace have: it counts the trace events of a wheel. */
#ifndef _TWHEEL_KUNIT_TRACER_H
#define _TWHEEL_KUNIT_TRACER_H

#include <linux/twheel_idle.h>

#include "../module/core/base.h"
#include "probe.h"

/* The events, in the order of tracer_events. */
enum event {
	EVENT_ARM, EVENT_MODIFY, EVENT_EXTEND, EVENT_CANCEL, EVENT_UNFIRED,
	EVENT_ENTRY, EVENT_EXIT, EVENT_CASCADE, EVENT_REQUEUE, EVENT_PASS,
	NR_EVENTS
};

/**
 * struct tracer - sees the events of one wheel, and notes what they have told
 * @count: how many of each there were
 * @strange: how many had a name or number that is not the wheel's
 * @id: the wheel's number
 * @watch: NULL, or a watch
 * @timeout: what that had as its timeout on the last twheel_modify
 * @back: NULL, or the wheel, whose clock twheel_cascade and twheel_requeue set back to 0
 * @timer: of the last event of a timer
 * @function: likewise
 * @deadline: likewise
 * @now: of the last twheel_expire_entry
 * @took: of the last twheel_expire_exit
 * @tick: the last tick that an event has told
 * @level: the last level
 * @levels: of the last twheel_cascade
 * @cascaded: timers of all twheel_cascade
 * @requeued: timers of all twheel_requeue
 * @pass: the last pass
 * @passes: the sums of all passes
 */
struct tracer {
	unsigned int count[NR_EVENTS];
	unsigned int strange;
	u32 id;
	const struct twheel_idle *watch;
	u64 timeout;
	struct twheel *back;
	const struct twheel_timer *timer;
	const void *function;
	u64 deadline;
	u64 now;
	u64 took;
	u64 tick;
	int level;
	u64 levels;
	u64 cascaded;
	u64 requeued;
	struct twheel_trace_pass pass;
	struct twheel_trace_pass passes;
};

/* The wheel that a tracer sees, on a virtual clock. Nothing is started. */
struct twheel *tracer_wheel_with(struct kunit *test, struct tracer *seen, bool percpu,
				 enum twheel_context context);

static inline struct twheel *tracer_wheel(struct kunit *test, struct tracer *seen)
{
	return tracer_wheel_with(test, seen, false, TWHEEL_CONTEXT_SOFTIRQ);
}

/* From here on it sees an event, or all; and no more. */
void tracer_start(struct kunit *test, struct tracer *seen, enum event event);
void tracer_stop(struct tracer *seen, enum event event);
void tracer_start_all(struct kunit *test, struct tracer *seen);
void tracer_stop_all(struct tracer *seen);

/* Before a suite: find the events. */
int tracer_suite_init(struct kunit_suite *suite);

#endif /* _TWHEEL_KUNIT_TRACER_H */
