/* SPDX-License-Identifier: GPL-2.0-only */
/* What kernel wheels and files share: the clocks that they count, and alarms on these. */
#ifndef _TWHEEL_CLOCK_H
#define _TWHEEL_CLOCK_H

#include <linux/hrtimer.h>
#include <linux/types.h>

#include <linux/twheel.h>

/**
 * struct tw_alarm - calls a function in softirq at an instant of a clock
 * @soft: calls the function
 * @hard: on other clocks than CLOCK_MONOTONIC: goes off at that instant, and starts @soft
 */
struct tw_alarm {
	struct hrtimer soft;
	struct hrtimer hard;
};

u64 tw_clock_read(enum twheel_clock clock);

void tw_alarm_init(struct tw_alarm *alarm, enum twheel_clock clock,
		   enum hrtimer_restart (*function)(struct hrtimer *soft));
void tw_alarm_start(struct tw_alarm *alarm, enum twheel_clock clock, u64 ns,
		    enum hrtimer_mode pinned);
void tw_alarm_stop(struct tw_alarm *alarm);

/* Whether a clock is set together with the wall clock. */
static inline bool tw_clock_can_be_set(enum twheel_clock clock)
{
	return clock == TWHEEL_CLOCK_REALTIME || clock == TWHEEL_CLOCK_TAI;
}

/* The hrtimer that is set for the instant. */
static inline struct hrtimer *tw_alarm_timer(struct tw_alarm *alarm, enum twheel_clock clock)
{
	return clock == TWHEEL_CLOCK_MONOTONIC ? &alarm->soft : &alarm->hard;
}

#endif /* _TWHEEL_CLOCK_H */
