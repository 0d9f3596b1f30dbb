// SPDX-License-Identifier: GPL-2.0-only
#include <linux/module.h>
#include <linux/string.h>
#include <linux/tracepoint.h>

#include "../module/core/base.h"
#include "tracer.h"

#define TRACER_WHEEL	"kunit-trace"

static bool seen_event(struct tracer *seen, enum event event, u32 wheel, const char *name)
{
	/* Other wheels may be traced, too. */
	if (wheel != seen->id && strcmp(name, TRACER_WHEEL))
		return false;
	seen->strange += wheel != seen->id || strcmp(name, TRACER_WHEEL);
	seen->count[event]++;
	return true;
}

static void seen_timer(struct tracer *seen, const struct twheel_timer *timer,
		       const void *function)
{
	seen->timer = timer;
	seen->function = function;
}

/* The event computes tick and level of the word, as here. -1: the tick is past. */
static void seen_word(struct tracer *seen, enum event event, const struct tw_wheel *w,
		      u32 wheel, const char *name, const struct twheel_timer *timer,
		      const void *function, u64 deadline, u64 word)
{
	if (!seen_event(seen, event, wheel, name))
		return;
	seen_timer(seen, timer, function);
	if (event == EVENT_MODIFY && seen->watch)
		seen->timeout = atomic64_read(&seen->watch->timeout);
	seen->deadline = deadline;
	seen->tick = tw_wheel_ceil(w, word);
	seen->level = seen->tick <= w->horizon ?
		      -1 : tw_wheel_find_row((struct tw_wheel *)w, seen->tick)->level;
}

#define TRACER_OF_WORD(on_event, event)						\
static void on_event(void *data, const struct tw_wheel *w, u32 wheel, const char *name,	\
		 const struct twheel_timer *timer, const void *function, u64 deadline_ns,	\
		 u64 word)									\
{												\
	seen_word(data, event, w, wheel, name, timer, function, deadline_ns, word);	\
}

TRACER_OF_WORD(on_arm, EVENT_ARM)
TRACER_OF_WORD(on_modify, EVENT_MODIFY)
TRACER_OF_WORD(on_extend, EVENT_EXTEND)
TRACER_OF_WORD(on_cancel, EVENT_CANCEL)
TRACER_OF_WORD(on_unfired, EVENT_UNFIRED)

static void on_expire_entry(void *data, u32 wheel, const char *name,
			    const struct twheel_timer *timer, const void *function,
			    u64 deadline_ns, u64 now_ns)
{
	struct tracer *seen = data;

	if (!seen_event(seen, EVENT_ENTRY, wheel, name))
		return;
	seen_timer(seen, timer, function);
	seen->deadline = deadline_ns;
	seen->now = now_ns;
}

static void on_expire_exit(void *data, u32 wheel, const char *name,
			   const struct twheel_timer *timer, const void *function, u64 took_ns)
{
	struct tracer *seen = data;

	if (!seen_event(seen, EVENT_EXIT, wheel, name))
		return;
	seen_timer(seen, timer, function);
	seen->took = took_ns;
}

static void seen_move(struct tracer *seen, u64 now_tick)
{
	seen->tick = now_tick;
	if (seen->back)
		tw_instance_set_time(seen->back, 0);
}

static void on_cascade(void *data, u32 wheel, const char *name, u64 now_tick, u64 levels,
		       u32 timers)
{
	struct tracer *seen = data;

	if (!seen_event(seen, EVENT_CASCADE, wheel, name))
		return;
	seen->levels = levels;
	seen->cascaded += timers;
	seen_move(seen, now_tick);
}

static void on_requeue(void *data, u32 wheel, const char *name, u64 now_tick, u32 timers)
{
	struct tracer *seen = data;

	if (!seen_event(seen, EVENT_REQUEUE, wheel, name))
		return;
	seen->requeued += timers;
	seen_move(seen, now_tick);
}

static void on_pass(void *data, u32 wheel, const char *name,
		    const struct twheel_trace_pass *pass)
{
	struct tracer *seen = data;

	if (!seen_event(seen, EVENT_PASS, wheel, name))
		return;
	seen->pass = *pass;
	seen->passes.fired += pass->fired;
	seen->passes.cascades += pass->cascades;
	seen->passes.requeued += pass->requeued;
	seen->passes.exhausted |= pass->exhausted;
}

static struct {
	const char *name;
	void *on;
	struct tracepoint *point;
} tracer_events[NR_EVENTS] = {
	[EVENT_ARM]	= { "twheel_arm", on_arm },
	[EVENT_MODIFY]	= { "twheel_modify", on_modify },
	[EVENT_EXTEND]	= { "twheel_extend", on_extend },
	[EVENT_CANCEL]	= { "twheel_cancel", on_cancel },
	[EVENT_UNFIRED]	= { "twheel_unfired", on_unfired },
	[EVENT_ENTRY]	= { "twheel_expire_entry", on_expire_entry },
	[EVENT_EXIT]	= { "twheel_expire_exit", on_expire_exit },
	[EVENT_CASCADE]	= { "twheel_cascade", on_cascade },
	[EVENT_REQUEUE]	= { "twheel_requeue", on_requeue },
	[EVENT_PASS]	= { "twheel_pass", on_pass },
};

#ifdef CONFIG_TRACEPOINTS
static void tracer_note_point(struct tracepoint *point, void *none)
{
	unsigned int i;

	for (i = 0; i < NR_EVENTS; i++)
		if (!strcmp(point->name, tracer_events[i].name))
			tracer_events[i].point = point;
}

#ifdef CONFIG_MODULES
static int tracer_note_module(struct notifier_block *nb, unsigned long state, void *data)
{
	struct module *module = ((struct tp_module *)data)->mod;
	unsigned int i;

	for (i = 0; state == MODULE_STATE_COMING && i < module->num_tracepoints; i++)
		tracer_note_point(tracepoint_ptr_deref(&module->tracepoints_ptrs[i]), NULL);
	return NOTIFY_OK;
}

static struct notifier_block tracer_notifier = { .notifier_call = tracer_note_module };
#endif

/* The module does not export its tracepoints. So look for them as tracers do. */
int tracer_suite_init(struct kunit_suite *suite)
{
	unsigned int i;

	for (i = 0; i < NR_EVENTS; i++)
		tracer_events[i].point = NULL;
	for_each_kernel_tracepoint(tracer_note_point, NULL);
#ifdef CONFIG_MODULES
	/* This calls it for all modules that are there. */
	register_tracepoint_module_notifier(&tracer_notifier);
	unregister_tracepoint_module_notifier(&tracer_notifier);
#endif
	return 0;
}

static int tracer_attach(struct tracer *seen, enum event event)
{
	return tracepoint_probe_register(tracer_events[event].point, tracer_events[event].on, seen);
}

static void tracer_detach(struct tracer *seen, enum event event)
{
	tracepoint_probe_unregister(tracer_events[event].point, tracer_events[event].on, seen);
}
#else
/* There is no tracepoint, and all is skipped. */
int tracer_suite_init(struct kunit_suite *suite)
{
	return 0;
}

static int tracer_attach(struct tracer *seen, enum event event)
{
	return -EOPNOTSUPP;
}

static void tracer_detach(struct tracer *seen, enum event event)
{
}
#endif

void tracer_start(struct kunit *test, struct tracer *seen, enum event event)
{
	KUNIT_ASSERT_EQ(test, tracer_attach(seen, event), 0);
}

void tracer_stop(struct tracer *seen, enum event event)
{
	tracer_detach(seen, event);
	tracepoint_synchronize_unregister();
}

void tracer_start_all(struct kunit *test, struct tracer *seen)
{
	unsigned int i;

	for (i = 0; i < NR_EVENTS; i++)
		tracer_start(test, seen, i);
}

void tracer_stop_all(struct tracer *seen)
{
	unsigned int i;

	for (i = 0; i < NR_EVENTS; i++)
		tracer_detach(seen, i);
	tracepoint_synchronize_unregister();
}

struct twheel *tracer_wheel_with(struct kunit *test, struct tracer *seen, bool percpu,
				 enum twheel_context context)
{
	struct twheel *wheel;

	if (!tracer_events[EVENT_ARM].point)
		kunit_skip(test, "there are no tracepoints");
	wheel = wheel_with(test, .name = TRACER_WHEEL, .clock = TWHEEL_CLOCK_VIRTUAL, .tick_ns = MS,
			   .slots = 16, .percpu = percpu, .context = context);
	*seen = (struct tracer) { .id = wheel->id };
	return wheel;
}
