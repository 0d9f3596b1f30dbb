// SPDX-License-Identifier: GPL-2.0-only
/*
 * How long a wheel keeps interrupts off where it only moves timers. These are timers that
 * were due and have been extended meanwhile, and all timers after the clock was set back.
 * With many slots the wheel also searches large bitmaps.
 *
 * The clock is a virtual one. So the work is done at once, in one call.
 */
#include <linux/err.h>
#include <linux/sched.h>
#include <linux/time64.h>

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

/* hold_measure() - measure all cases */
void hold_measure(void)
{
	static const struct hold_case cases[] = {
		{ "extended", 256, false },
		{ "extended-4k", 4096, false },
		{ "set-back", 256, true },
		{ "set-back-4k", 4096, true },
	};
	u64 nothing = watch_nothing(WATCH_INTERRUPTS).most;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(cases); i++)
		hold_run(&cases[i], nothing);
}
