// SPDX-License-Identifier: GPL-2.0-only
/*
 * What kernel wheels and files share: the clocks that they count, and alarms on these.
 *
 * On other clocks than CLOCK_MONOTONIC, an alarm is an hrtimer in hard interrupt context. It only
 * starts a soft one on CLOCK_MONOTONIC that is due at once. There are two reasons:
 *
 *  - The hrtimer core runs what is due in a loop, by a time that it reads when the loop begins.
 *    The function may set the alarm anew. If CLOCK_REALTIME was set back since the loop began,
 *    the loop would run the alarm again and again.
 *  - Without high resolution, a tick compares the time with a stored first expiry of the soft
 *    hrtimers. On 6.1, setting CLOCK_REALTIME does not renew that on the CPU that sets it, and
 *    without NOHZ on no CPU: see clock_was_set() there. On some kernels a resume, which sets
 *    CLOCK_BOOTTIME, does not either: see retrigger_next_event(). A tick always looks at
 *    hrtimers in hard interrupt context.
 */
#include <linux/hrtimer.h>
#include <linux/ktime.h>
#include <linux/minmax.h>
#include <linux/timekeeping.h>

#include "clock.h"
#include "compat.h"

static const clockid_t clock_ids[] = {
	[TWHEEL_CLOCK_MONOTONIC]	= CLOCK_MONOTONIC,
	[TWHEEL_CLOCK_BOOTTIME]		= CLOCK_BOOTTIME,
	[TWHEEL_CLOCK_REALTIME]		= CLOCK_REALTIME,
	[TWHEEL_CLOCK_TAI]		= CLOCK_TAI,
	/* It has no alarm: no time passes by itself. */
	[TWHEEL_CLOCK_VIRTUAL]		= CLOCK_MONOTONIC,
};

/* tw_clock_read() - the time on a clock that is not virtual, in ns */
u64 tw_clock_read(enum twheel_clock clock)
{
	switch (clock) {
	case TWHEEL_CLOCK_BOOTTIME:
		return ktime_get_boottime_ns();
	case TWHEEL_CLOCK_REALTIME:
		return ktime_get_real_ns();
	case TWHEEL_CLOCK_TAI:
		return ktime_get_clocktai_ns();
	default:
		return ktime_get_ns();
	}
}

static enum hrtimer_restart alarm_relay(struct hrtimer *hard)
{
	struct tw_alarm *alarm = container_of(hard, struct tw_alarm, hard);

	tw_hrtimer_start(&alarm->soft, 0, HRTIMER_MODE_ABS_SOFT | HRTIMER_MODE_PINNED);
	return HRTIMER_NORESTART;
}

/*
 * tw_alarm_init() - make an alarm, which is not set yet
 * @function: called in softirq with &tw_alarm.soft
 */
void tw_alarm_init(struct tw_alarm *alarm, enum twheel_clock clock,
		   enum hrtimer_restart (*function)(struct hrtimer *soft))
{
	hrtimer_setup(&alarm->soft, function, CLOCK_MONOTONIC, HRTIMER_MODE_ABS_SOFT);
	hrtimer_setup(&alarm->hard, alarm_relay, clock_ids[clock], HRTIMER_MODE_ABS_HARD);
}

/*
 * tw_alarm_start() - set an alarm for @ns instead of what it was set for
 * @pinned: %HRTIMER_MODE_PINNED: on this CPU; 0: where hrtimers go
 */
void tw_alarm_start(struct tw_alarm *alarm, enum twheel_clock clock, u64 ns,
		    enum hrtimer_mode pinned)
{
	struct hrtimer *timer = tw_alarm_timer(alarm, clock);
	enum hrtimer_mode mode = timer == &alarm->soft ? HRTIMER_MODE_ABS_SOFT :
							 HRTIMER_MODE_ABS_HARD;

	tw_hrtimer_start(timer, ns_to_ktime(min_t(u64, ns, KTIME_MAX)), mode | pinned);
}

/* tw_alarm_stop() - have an alarm not go off, and wait for its function. May sleep. */
void tw_alarm_stop(struct tw_alarm *alarm)
{
	hrtimer_cancel(&alarm->hard);
	hrtimer_cancel(&alarm->soft);
}
