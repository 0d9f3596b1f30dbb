// SPDX-License-Identifier: GPL-2.0-only
/*
 * How long a wheel keeps interrupts off.
 *
 * Where it only moves timers. These are timers that were due and have been extended
 * meanwhile, and all timers after the clock was set back. With many slots the wheel also
 * searches large bitmaps. The clock is a virtual one. So the work is done at once, in one
 * call.
 *
 * And in calls, each with the timers in the order that costs it most. They are called again
 * and again, at changing intervals, so that some interrupt comes right after interrupts were
 * turned off.
 */
#include <linux/err.h>
#include <linux/ktime.h>
#include <linux/sched.h>
#include <linux/time64.h>

#include <linux/twheel_many.h>
#include <linux/twheel_virtual.h>

#include "hold.h"
#include "report.h"
#include "subject.h"
#include "watch.h"

#define HOLD_START_NS	(24ULL * 3600 * NSEC_PER_SEC)
#define HOLD_HOUR_NS	(3600ULL * NSEC_PER_SEC)

/**
 * struct hold_case - what makes a wheel move all its timers
 * @name: its name in the figures
 * @slots: of the wheel
 * @set_back: the clock is set back; else a tick has come, and its timers were extended
 */
struct hold_case {
	const char *name;
	unsigned int slots;
	bool set_back;
};

static void hold_fired(struct twheel_timer *timer)
{
}

static void hold_arm(struct twheel *on, const struct hold_case *hold)
{
	u64 tick_ns = HOLD_START_NS + 10 * NSEC_PER_MSEC;
	unsigned int i;

	for (i = 0; i < nr_subjects; i++) {
		struct twheel_timer *timer = &subjects[order[i]].wheel;
		u64 spread = HOLD_HOUR_NS / nr_subjects * i;

		twheel_timer_init(timer, on, hold_fired);
		twheel_arm_at(timer, hold->set_back ? tick_ns + spread : tick_ns);
		if (!hold->set_back)
			twheel_extend_at(timer, tick_ns + HOLD_HOUR_NS + spread);
	}
}

static void hold_run(const struct hold_case *hold, u64 nothing)
{
	struct twheel *on = twheel_create(&(struct twheel_config) {
		.name = "hold", .clock = TWHEEL_CLOCK_VIRTUAL,
		.start_ns = HOLD_START_NS, .slots = hold->slots,
	});
	struct watch_lateness seen;
	unsigned int i;

	if (WARN_ON(IS_ERR(on)))
		return;
	hold_arm(on, hold);
	watch_start(WATCH_INTERRUPTS);
	twheel_advance(on, hold->set_back ? HOLD_START_NS - HOLD_HOUR_NS :
					    HOLD_START_NS + NSEC_PER_SEC);
	seen = watch_stop(WATCH_INTERRUPTS);
	report(hold->name, "twheel", "interrupts-off-moving",
	       seen.most - min(seen.most, nothing), 1);
	for (i = 0; i < nr_subjects; i++)
		twheel_cancel(&subjects[i].wheel);
	twheel_destroy(on);
}

/* Each interval between calls is longer by so much; a prime. */
#define HOLD_STEP_NS	1009ULL

/* As many as twheel_arm_many() arms in one hold of the lock. */
#define HOLD_MANY	32

static struct twheel_item hold_items[HOLD_MANY];
static unsigned int nr_hold_items;

/* When the calls begin, and how far ahead the nearest deadline so far is. */
static u64 hold_start_ns, hold_ahead_ns;

/*
 * Each is nearer than all before, in a bucket of its own. So each looks near, and changes the
 * instant at which the wheel wakes up. That can go on until the last ones are next.
 */
static void hold_fill(void)
{
	unsigned int i;

	for (i = 0; i < nr_hold_items; i++) {
		hold_ahead_ns -= hold_ahead_ns >> 8;
		hold_items[i] = (struct twheel_item) {
			.timer = &subjects[order[i]].wheel,
			.deadline_ns = hold_start_ns + hold_ahead_ns,
		};
	}
}

#define HOLD_EACH(call)								\
do {										\
	struct twheel_item *item = hold_items;					\
										\
	for (; item < hold_items + nr_hold_items; item++)			\
		call;								\
} while (0)

static void hold_arm_many(struct twheel *on)
{
	twheel_arm_many(on, hold_items, nr_hold_items);
	HOLD_EACH(twheel_cancel(item->timer));
}

static void hold_cancel_many(struct twheel *on)
{
	HOLD_EACH(twheel_arm_at(item->timer, item->deadline_ns));
	twheel_cancel_many(on, hold_items, nr_hold_items);
}

static void hold_modify(struct twheel *on)
{
	HOLD_EACH(twheel_arm_at(item->timer, TWHEEL_NEVER - NSEC_PER_SEC));
	HOLD_EACH(twheel_modify_at(item->timer, item->deadline_ns));
	HOLD_EACH(twheel_cancel(item->timer));
}

static void hold_cancel_sync(struct twheel *on)
{
	HOLD_EACH(twheel_arm_at(item->timer, item->deadline_ns));
	HOLD_EACH(twheel_cancel_sync(item->timer));
}

/* All are due at once, and are called by passes. */
static void hold_passes(struct twheel *on)
{
	u64 at = ktime_get_ns() + nr_subjects * 1000ULL;
	unsigned int i;

	for (i = 0; i < nr_subjects; i++)
		twheel_arm_at(&subjects[order[i]].wheel, at);
	watch_spin_until(at + NSEC_PER_MSEC);
}

static void hold_stop(struct twheel *on)
{
	u64 at = twheel_now(on);
	unsigned int i;

	for (i = 0; i < nr_subjects; i++)
		twheel_arm_at(&subjects[order[i]].wheel,
			      at + HOLD_HOUR_NS + HOLD_HOUR_NS / nr_subjects * i);
	twheel_stop(on, NULL, NULL);
}

/**
 * struct hold_call - a call that is to keep interrupts off for a short time only
 * @name: its name in the figures
 * @run: calls it
 * @once: call it once, for many timers
 * @config: the wheel
 */
struct hold_call {
	const char *name;
	void (*run)(struct twheel *on);
	bool once;
	struct twheel_config config;
};

static void hold_call(const struct hold_call *call, u64 nothing)
{
	struct twheel *on = twheel_create(&call->config);
	struct watch_lateness seen;
	unsigned int i;
	u64 now;

	if (WARN_ON(IS_ERR(on)))
		return;
	for (i = 0; i < nr_subjects; i++)
		twheel_timer_init(&subjects[i].wheel, on, hold_fired);
	hold_start_ns = twheel_now(on);
	hold_ahead_ns = TWHEEL_NEVER / 2;
	watch_start(WATCH_INTERRUPTS);
	do {
		hold_fill();
		call->run(on);
		now = ktime_get_ns();
		watch_spin_until(now + i++ * HOLD_STEP_NS % WATCH_PERIOD_NS);
	} while (!call->once && hold_ahead_ns > NSEC_PER_SEC);
	seen = watch_stop(WATCH_INTERRUPTS);
	report(call->name, "twheel", "interrupts-off-call", seen.most - min(seen.most, nothing),
	       1);
	twheel_destroy(on);
}

/* @nothing: the least that a watch sees. So what else the machine does is in the figures. */
static void hold_measure_calls(u64 nothing)
{
	static const struct hold_call calls[] = {
		{ "arm-many", hold_arm_many, false, { } },
		{ "cancel-many", hold_cancel_many, false, { } },
		{ "modify", hold_modify, false, { } },
		{ "cancel-sync", hold_cancel_sync, false, { } },
		{ "stop", hold_stop, true, { } },
		{ "stop-4k", hold_stop, true, { .slots = 4096 } },
		{ "passes", hold_passes, true, { } },
	};
	unsigned int i;

	nr_hold_items = min_t(unsigned int, nr_subjects, HOLD_MANY);
	for (i = 0; i < ARRAY_SIZE(calls); i++)
		hold_call(&calls[i], nothing);
}

/* hold_measure() - measure all cases */
void hold_measure(void)
{
	static const struct hold_case cases[] = {
		{ "extended", 256, false },
		{ "extended-4k", 4096, false },
		{ "set-back", 256, true },
		{ "set-back-4k", 4096, true },
	};
	struct watch_lateness nothing = watch_nothing(WATCH_INTERRUPTS);
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(cases); i++)
		hold_run(&cases[i], nothing.most);
	report("none", "machine", "interrupts-off", nothing.most - nothing.least, 1);
	hold_measure_calls(nothing.least);
}
