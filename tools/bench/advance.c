// SPDX-License-Identifier: GPL-2.0-only
/*
 * The whole cost of expiries, with what the wheel does for them ahead of time: moving the
 * timers from level to level. As they were armed, and after each timer was extended once.
 *
 * The clock is a virtual one. So all is done in one call, and nothing else is measured: no
 * interrupt, and no alarm.
 */
#include <linux/err.h>
#include <linux/ktime.h>
#include <linux/timekeeping.h>

#include <linux/twheel_virtual.h>

#include "advance.h"
#include "report.h"
#include "subject.h"

#define ADVANCE_START_NS	(24ULL * 3600 * NSEC_PER_SEC)
#define ADVANCE_MINUTE_NS	(60ULL * NSEC_PER_SEC)

static unsigned int advance_fired;

static void advance_fire(struct twheel_timer *timer)
{
	advance_fired++;
}

/* NULL @delays: all have one deadline, half an hour ahead */
static void advance_fill(const struct delays *delays)
{
	struct moment start = { .ns = ADVANCE_START_NS };
	unsigned int i;

	if (delays) {
		deadlines_fill(&peers[PEER_WHEEL], delays, &start, GOAL_DRAWN);
		return;
	}
	for (i = 0; i < nr_subjects; i++)
		deadlines[i] = ADVANCE_START_NS + 30 * ADVANCE_MINUTE_NS;
}

/* @more_ns: extend each by so much, or 0 */
static void advance_arm(struct twheel *on, u64 more_ns)
{
	unsigned int i;

	for (i = 0; i < nr_subjects; i++) {
		struct twheel_timer *timer = &subjects[order[i]].wheel;

		twheel_timer_init(timer, on, advance_fire);
		twheel_arm_at(timer, deadlines[i]);
		if (more_ns)
			twheel_extend_at(timer, deadlines[i] + more_ns);
	}
}

/* Returns how long it takes until all have fired. */
static u64 advance_run(const struct delays *delays, u64 more_ns)
{
	struct twheel *on = twheel_create(&(struct twheel_config) {
		.name = "advance", .clock = TWHEEL_CLOCK_VIRTUAL,
		.start_ns = ADVANCE_START_NS,
	});
	u64 start;

	if (WARN_ON(IS_ERR(on)))
		return 0;
	advance_fired = 0;
	advance_fill(delays);
	advance_arm(on, more_ns);
	start = ktime_get_ns();
	twheel_advance(on, ADVANCE_START_NS + 130 * ADVANCE_MINUTE_NS);
	start = ktime_get_ns() - start;
	WARN_ON(advance_fired != nr_subjects);
	twheel_destroy(on);
	return start;
}

/* advance_measure() - measure all, with delays that have been drawn; NULL: one deadline */
void advance_measure(const struct delays *delays)
{
	const char *name = delays ? delays->name : "one-tick";
	u64 each = advance_run(delays, 0), extended;

	report(name, "twheel", "expire-whole", each, nr_subjects);
	extended = advance_run(delays, delays ? delays->span_ns : ADVANCE_MINUTE_NS);
	report(name, "twheel", "extended-more", extended - min(each, extended), nr_subjects);
}
