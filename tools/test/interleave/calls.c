// SPDX-License-Identifier: GPL-2.0-only
/* The calls that CPUs make in a scene. */
#include "core/base.h"
#include "stage.h"

#include <linux/twheel_many.h>

/* The calls. Times are ms after the start; the alarm op is at 5. */
#define TIMER_CALL(name, call)						\
	static long call_##name(void)					\
	{								\
		struct twheel_timer *t = scene_timers[SCENE_T];		\
		struct twheel_timer *u = scene_timers[SCENE_U];		\
									\
		(void)t;						\
		(void)u;						\
		return call;						\
	}

TIMER_CALL(arm_near, twheel_arm_at(t, scene_at(3)))
TIMER_CALL(arm_far, twheel_arm_at(t, scene_at(30)))
TIMER_CALL(arm_on_0, twheel_arm_on_at(t, 0, scene_at(4)))
TIMER_CALL(arm_on_1, twheel_arm_on_at(t, 1, scene_at(20)))
TIMER_CALL(modify_near, twheel_modify_at(t, scene_at(2)))
TIMER_CALL(modify_far, twheel_modify_at(t, scene_at(40)))
TIMER_CALL(extend, twheel_extend_at(t, scene_at(25)))
TIMER_CALL(cancel, twheel_cancel(t))

/* It is busy while the callback runs, all the time. */
static long call_try_cancel(void)
{
	const struct scene_fate *fate = &fates[SCENE_T];
	unsigned int fired = fate->outcome.fired;
	bool calls = fate->calls;
	int ret = twheel_try_cancel(scene_timers[SCENE_T]);

	if (ret >= 0 && calls && fate->calls && fate->outcome.fired == fired)
		stub_fault("twheel_try_cancel() does not say that the callback runs");
	return ret;
}

TIMER_CALL(cancel_sync, twheel_cancel_sync(t))
TIMER_CALL(arm_other, twheel_arm_at(u, scene_at(4)))
TIMER_CALL(arm_other_on_0, twheel_arm_on_at(u, 0, scene_at(22)))
TIMER_CALL(cancel_other, twheel_cancel(u))
TIMER_CALL(idle_short, twheel_idle_start(scene_idle(), 2 * SCENE_MS))
TIMER_CALL(idle_long, twheel_idle_start(scene_idle(), 30 * SCENE_MS))
TIMER_CALL(set_short, twheel_idle_set_timeout(scene_idle(), 1 * SCENE_MS))
TIMER_CALL(set_long, twheel_idle_set_timeout(scene_idle(), 45 * SCENE_MS))

/* The timeout counts at once, and the clock is read before the deadline changes. */
static long watch_steps(int (*arm_at)(struct twheel_timer *timer, u64 deadline), u64 timeout)
{
	struct twheel_idle *idle = scene_idle();
	u64 deadline;

	idle->timeout.counter = timeout;
	cpus_boundary();
	deadline = cpus_time() + timeout;
	cpus_boundary();
	return arm_at(&idle->timer, deadline);
}

TIMER_CALL(idle_short_steps, watch_steps(twheel_arm_at, 2 * SCENE_MS))
TIMER_CALL(idle_long_steps, watch_steps(twheel_arm_at, 30 * SCENE_MS))
TIMER_CALL(set_short_steps, watch_steps(twheel_modify_at, 1 * SCENE_MS))
TIMER_CALL(set_long_steps, watch_steps(twheel_modify_at, 45 * SCENE_MS))
TIMER_CALL(touch, twheel_idle_touch(scene_idle()))
/* It may count with the timeout before. */
static long touch_steps(void)
{
	u64 timeout = scene_idle()->timeout.counter;

	cpus_boundary();
	return twheel_extend(scene_timers[SCENE_IDLE], timeout);
}

TIMER_CALL(idle_stop, twheel_idle_stop(scene_idle()))
TIMER_CALL(idle_stop_sync, twheel_idle_stop_sync(scene_idle()))
TIMER_CALL(periodic_rate, twheel_periodic_start_at(series_starts(), scene_at(3), 7 * SCENE_MS,
						   TWHEEL_FIXED_RATE))
TIMER_CALL(periodic_later, twheel_periodic_start_at(series_starts(), scene_at(40), 7 * SCENE_MS,
						    TWHEEL_FIXED_RATE))
TIMER_CALL(periodic_delay, twheel_periodic_start(series_starts(), 8 * SCENE_MS,
						 TWHEEL_FIXED_DELAY))
/* The clock is read first. */
static long periodic_delay_steps(void)
{
	u64 first = cpus_time() + 8 * SCENE_MS;

	cpus_boundary();
	return twheel_periodic_start_at(series_starts(), first, 8 * SCENE_MS, TWHEEL_FIXED_DELAY);
}

TIMER_CALL(periodic_stop, series_ended(twheel_periodic_stop(scene_periodic())))
TIMER_CALL(periodic_stop_sync, series_ended(twheel_periodic_stop_sync(scene_periodic())))

/* It ends the series, and then once more what was started in between. */
static long periodic_stop_sync_steps(void)
{
	int ended = twheel_periodic_stop(scene_periodic());

	cpus_boundary();
	return ended | twheel_cancel_sync(scene_timers[SCENE_PERIODIC]);
}

/* Shut down. If that waits, or says that no callback runs, it is the end. */
static long shut_down(enum scene_object i, int (*sync)(struct twheel_timer *timer), bool waits)
{
	int ret = sync(scene_timers[i]);

	if (waits && fates[i].calls)
		stub_fault("a shutdown has not waited for the callback");
	if (waits || !ret)
		fates[i].ended = true;
	return ret;
}

TIMER_CALL(shutdown, shut_down(SCENE_T, twheel_shutdown, false))
TIMER_CALL(shutdown_sync, shut_down(SCENE_T, twheel_shutdown_sync, true))
TIMER_CALL(idle_shutdown_sync, shut_down(SCENE_IDLE, twheel_shutdown_sync, true))

static int periodic_end(struct twheel_timer *timer)
{
	return twheel_periodic_shutdown_sync(scene_periodic());
}

static long periodic_shutdown_sync_steps(void)
{
	int ended = twheel_periodic_stop(scene_periodic());

	cpus_boundary();
	return ended | shut_down(SCENE_PERIODIC, twheel_shutdown_sync, true);
}

TIMER_CALL(periodic_shutdown_sync, shut_down(SCENE_PERIODIC, periodic_end, true))

/* Shut an object down, and free it. No other call uses it. */
static long end_and_free(enum scene_object i, int (*sync)(struct twheel_timer *timer))
{
	long ret;

	/* Its own callback has freed it. */
	if (!scene_timers[i])
		return 0;
	ret = shut_down(i, sync, true);
	/* twheel_stop() may be about to hand it back: then it is freed after that. */
	if (ret || !scene_stops)
		scene_free(i);
	fates[i].outcome.freed = true;
	return ret;
}

TIMER_CALL(free_timer, end_and_free(SCENE_T, twheel_shutdown_sync))
TIMER_CALL(free_idle, end_and_free(SCENE_IDLE, twheel_shutdown_sync))
TIMER_CALL(free_periodic, end_and_free(SCENE_PERIODIC, periodic_end))

static long many(unsigned int (*call)(struct twheel *, struct twheel_item *, unsigned int))
{
	struct twheel_item items[] = {
		{ .timer = scene_timers[SCENE_T], .deadline_ns = scene_at(4) },
		{ .timer = scene_timers[SCENE_U], .deadline_ns = scene_at(35) },
	};

	call(scene_wheel, items, ARRAY_SIZE(items));
	return items[0].result * 256L + items[1].result;
}

TIMER_CALL(arm_many, many(twheel_arm_many))
TIMER_CALL(cancel_many, many(twheel_cancel_many))

static void scene_unfired(struct twheel_timer *timer, void *arg)
{
	unsigned int i;

	for (i = 0; i < SCENE_OBJECTS; i++)
		if (timer == scene_timers[i]) {
			fates[i].outcome.unfired++;
			cpus_boundary();
			return;
		}
	stub_fault("what is handed back is no timer");
}

static long call_stop(void)
{
	unsigned int i;
	long ret;

	scene_stops = true;
	ret = twheel_stop(scene_wheel, scene_unfired, NULL);
	if (ret == -EALREADY)
		return ret;
	scene_stopped = true;
	for (i = 0; i < SCENE_OBJECTS; i++)
		if (fates[i].calls)
			stub_fault("twheel_stop() has not waited for a callback");
	return ret;
}

/* Time passes, once. Then a CPU is interrupted. */
static long alarm_on(int cpu)
{
	cpus_boundary();
	cpus_set_time(SCENE_ALARM);
	cpus_boundary();
	cpus_interrupt(cpu, CPUS_ALL);
	return 0;
}

static long call_alarm_0(void)
{
	return alarm_on(scene->percpu ? 0 : CPUS_ANY);
}

static long call_alarm_1(void)
{
	return alarm_on(1);
}

#define CALL(function, groups, rest...)	\
	{ .name = #function, .make = call_##function, .in = groups, .cpu = CPUS_ANY, ## rest }

const struct scene_call scene_calls[] = {
	CALL(alarm_0, SCENE_WHEEL, .cpu = 0),
	CALL(alarm_1, SCENE_CPUS, .cpu = 1),
	CALL(stop, SCENE_WHEEL, .parts = true),
	CALL(arm_near, SCENE_TIMER),
	CALL(arm_far, SCENE_TIMER),
	CALL(arm_on_0, SCENE_CPUS),
	CALL(arm_on_1, SCENE_CPUS),
	CALL(modify_near, SCENE_TIMER),
	CALL(modify_far, SCENE_TIMER),
	CALL(extend, SCENE_TIMER),
	CALL(cancel, SCENE_TIMER),
	CALL(try_cancel, SCENE_TIMER),
	CALL(cancel_sync, SCENE_TIMER),
	CALL(shutdown, SCENE_TIMER),
	CALL(shutdown_sync, SCENE_TIMER),
	CALL(arm_other, SCENE_OTHER),
	CALL(arm_other_on_0, SCENE_CPUS | SCENE_OTHER),
	CALL(cancel_other, SCENE_OTHER),
	CALL(arm_many, SCENE_MANY, .parts = true),
	CALL(cancel_many, SCENE_MANY, .parts = true),
	CALL(idle_short, SCENE_WATCH, .steps = call_idle_short_steps),
	CALL(idle_long, SCENE_WATCH, .steps = call_idle_long_steps),
	CALL(set_short, SCENE_WATCH, .steps = call_set_short_steps),
	CALL(set_long, SCENE_WATCH, .steps = call_set_long_steps),
	CALL(touch, SCENE_WATCH, .steps = touch_steps),
	CALL(idle_stop, SCENE_WATCH),
	CALL(idle_stop_sync, SCENE_WATCH),
	CALL(idle_shutdown_sync, SCENE_WATCH),
	CALL(periodic_rate, SCENE_WORK, .series = true),
	CALL(periodic_later, SCENE_WORK, .series = true),
	CALL(periodic_delay, SCENE_WORK, .series = true, .steps = periodic_delay_steps),
	CALL(periodic_stop, SCENE_WORK, .series = true),
	CALL(periodic_stop_sync, SCENE_WORK, .series = true, .steps = periodic_stop_sync_steps),
	CALL(periodic_shutdown_sync, SCENE_WORK, .series = true,
	     .steps = periodic_shutdown_sync_steps),
	CALL(arm_near, SCENE_OWNER, .owns = true),
	CALL(arm_on_1, SCENE_OWNER, .owns = true),
	CALL(idle_short, SCENE_OWNER, .owns = true, .steps = call_idle_short_steps),
	CALL(periodic_rate, SCENE_OWNER, .owns = true),
	CALL(free_timer, SCENE_ENDER, .owns = true),
	CALL(free_idle, SCENE_ENDER, .owns = true),
	CALL(free_periodic, SCENE_ENDER, .owns = true, .series = true),
};

const unsigned int scene_call_count = ARRAY_SIZE(scene_calls);
