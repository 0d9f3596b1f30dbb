/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The clock of a base: tells the time, and calls back at an instant. The only
 * place that touches hrtimers.
 */
#ifndef _TWHEEL_CLOCK_H
#define _TWHEEL_CLOCK_H

#include <linux/hrtimer.h>
#include <linux/jiffies.h>
#include <linux/types.h>

#include <linux/twheel.h>

/**
 * struct tw_clock - a clock with an alarm
 * @timer: the alarm
 * @id: which clock
 * @virtual_ns: the time of a virtual clock
 * @seen: jiffies when tw_clock_moved() said yes
 * @alarm: called in softirq when the alarm goes off. May set it again, with
 *	tw_clock_resume(), and return true if that took effect
 */
struct tw_clock {
	struct hrtimer timer;
	enum twheel_clock id;
	u64 virtual_ns;
	unsigned long seen;
	bool (*alarm)(struct tw_clock *clock);
};

void tw_clock_init(struct tw_clock *clock, enum twheel_clock id, u64 start_ns,
		   bool (*alarm)(struct tw_clock *clock));
u64 tw_clock_now(const struct tw_clock *clock);
void tw_clock_set(struct tw_clock *clock, u64 ns);
bool tw_clock_resume(struct tw_clock *clock, u64 ns);
void tw_clock_unset(struct tw_clock *clock);
void tw_clock_stop(struct tw_clock *clock);

static inline bool tw_clock_valid(enum twheel_clock id)
{
	return id == TWHEEL_CLOCK_MONOTONIC || id == TWHEEL_CLOCK_BOOTTIME ||
	       id == TWHEEL_CLOCK_VIRTUAL;
}

/*
 * Has the clock moved enough, since this last said yes, to be worth reading?
 * jiffies costs one load where the clock costs forty instructions. Read under
 * the base lock, like @seen.
 */
static inline bool tw_clock_moved(struct tw_clock *clock)
{
	unsigned long now = jiffies;

	if (likely(clock->seen == now) && clock->id != TWHEEL_CLOCK_VIRTUAL)
		return false;
	clock->seen = now;
	return true;
}

#endif /* _TWHEEL_CLOCK_H */
