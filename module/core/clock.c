// SPDX-License-Identifier: GPL-2.0-only
/*
 * The clock of a base, made of an hrtimer.
 *
 * The alarm is set under the base lock. When the alarm function has to set it again, it
 * is cheaper to have the hrtimer core restart the timer. But between the alarm going
 * off and the alarm function taking the lock, an arm on another CPU may have started
 * the timer. Then the timer is queued, and its expiry must not be written.
 *
 * A clock may have a target CPU, where its hrtimer is. Another CPU that has to set the
 * alarm kicks the target CPU, which sets it. While the target CPU is offline, the CPU
 * that sets the alarm has it. The hrtimer core moves the hrtimers of a CPU that goes
 * offline. So a base never has to move its timers.
 *
 * Without a target CPU, the alarm is where hrtimers go: on the CPU that sets it, or on a
 * busy one if that is idle. An isolated CPU kicks another one. The hrtimer core leaves a
 * timer where it is while its function runs, and a pass runs in there. So there are two of
 * them: a pass that is to leave its CPU sets the other one.
 *
 * The hrtimer core runs what is due in a loop, by a time that it reads when the loop
 * begins. A timer that is started for that time or an earlier one is run again by the
 * same loop. On CLOCK_MONOTONIC a time read afresh is never earlier. CLOCK_REALTIME and
 * CLOCK_TAI may have been set back since. So nothing may start its timer from within a loop
 * over the timers of such a clock: see clock_relay().
 */
#include <linux/cpumask.h>
#include <linux/kernel.h>
#include <linux/ktime.h>
#include <linux/sched.h>
#include <linux/sched/isolation.h>
#include <linux/timekeeping.h>

#include "../compat.h"
#include "clock.h"

static ktime_t clock_ktime(u64 ns)
{
	return ns_to_ktime(min_t(u64, ns, KTIME_MAX));
}

static void clock_queue_work(struct tw_clock *clock)
{
	/* A CPU that has never been online has no worker. */
	if (clock->cpu == TW_ANY_CPU || !cpu_online(clock->cpu))
		queue_work(clock->workqueue, &clock->work);
	else
		queue_work_on(clock->cpu, clock->workqueue, &clock->work);
}

/*
 * Call the alarm function, and do what it has left to do: to queue work wakes a task up,
 * which takes locks of the scheduler.
 */
static __always_inline enum hrtimer_restart clock_call_alarm(struct tw_clock *clock)
{
	enum tw_clock_next next = tw_pass_alarm(clock);

	if (unlikely(next == TW_CLOCK_QUEUE))
		clock_queue_work(clock);
	return next == TW_CLOCK_RESTART ? HRTIMER_RESTART : HRTIMER_NORESTART;
}

static __always_inline enum hrtimer_restart clock_go_off(struct tw_clock *clock)
{
	if (clock->context == TWHEEL_CONTEXT_WORK) {
		clock_queue_work(clock);
		return HRTIMER_NORESTART;
	}
	return clock_call_alarm(clock);
}

static enum hrtimer_restart clock_alarm_0(struct hrtimer *timer)
{
	return clock_go_off(container_of(timer, struct tw_clock, timers[0]));
}

static enum hrtimer_restart clock_alarm_1(struct hrtimer *timer)
{
	return clock_go_off(container_of(timer, struct tw_clock, timers[1]));
}

/*
 * On other clocks than CLOCK_MONOTONIC the alarm is a timer in hard interrupt context. It only
 * starts the relay: a timer on CLOCK_MONOTONIC, due at once, that calls the alarm function.
 * There are two reasons:
 *
 *  - The alarm function may set the alarm for any time after the present one. Within a
 *    loop over the timers of CLOCK_REALTIME that would be wrong. If the clock was set back
 *    since the loop began, the loop would run the timer again and again.
 *  - Without high resolution, a tick compares the time with a stored first expiry of the
 *    softirq timers. On 6.1, setting CLOCK_REALTIME does not renew that on the CPU that
 *    sets it, and without NOHZ on no CPU: see clock_was_set() there. On some kernels a
 *    resume, which sets CLOCK_BOOTTIME, does not either: see retrigger_next_event(). A tick
 *    always looks at timers in hard interrupt context.
 *
 * A workqueue needs no relay: the alarm only queues the work.
 */
static bool clock_needs_relay(const struct tw_clock *clock)
{
	return clock->id != TWHEEL_CLOCK_MONOTONIC && clock->id != TWHEEL_CLOCK_VIRTUAL &&
	       clock->context != TWHEEL_CONTEXT_WORK;
}

static enum hrtimer_mode clock_pinned(const struct tw_clock *clock)
{
	return clock->cpu == TW_ANY_CPU ? 0 : HRTIMER_MODE_PINNED;
}

/* The mode of the timer that calls the alarm function. */
static enum hrtimer_mode clock_call_mode(const struct tw_clock *clock)
{
	return clock->context == TWHEEL_CONTEXT_SOFTIRQ ? HRTIMER_MODE_ABS_SOFT :
							  HRTIMER_MODE_ABS_HARD;
}

static enum hrtimer_restart clock_relay(struct hrtimer *timer)
{
	struct tw_clock *clock = container_of(timer, struct tw_clock, timers[0]);

	tw_hrtimer_start(&clock->relay, 0, clock_call_mode(clock) | clock_pinned(clock));
	return HRTIMER_NORESTART;
}

static enum hrtimer_restart clock_relayed(struct hrtimer *timer)
{
	return clock_go_off(container_of(timer, struct tw_clock, relay));
}

static void clock_work(struct work_struct *work)
{
	struct tw_clock *clock = container_of(work, struct tw_clock, work);

	clock_call_alarm(clock);
}

static const clockid_t clock_ids[] = {
	[TWHEEL_CLOCK_MONOTONIC]	= CLOCK_MONOTONIC,
	[TWHEEL_CLOCK_BOOTTIME]		= CLOCK_BOOTTIME,
	[TWHEEL_CLOCK_REALTIME]		= CLOCK_REALTIME,
	[TWHEEL_CLOCK_TAI]		= CLOCK_TAI,
	[TWHEEL_CLOCK_VIRTUAL]		= CLOCK_MONOTONIC,
};

/*
 * tw_clock_init() - set up a clock whose alarm is not set
 * @cpu: the target CPU, or %TW_ANY_CPU
 */
void tw_clock_init(struct tw_clock *clock, const struct twheel_config *config, int cpu)
{
	clock->id = config->clock;
	clock->context = config->context;
	clock->workqueue = config->workqueue;
	clock->cpu = cpu;
	tw_clock_set_virtual(clock, config->start_ns);
	clock->relays = clock_needs_relay(clock);
	clock->mode = clock->relays ? HRTIMER_MODE_ABS_HARD : clock_call_mode(clock);
	clock->mode |= clock_pinned(clock);
	clock->which = 0;
	hrtimer_setup(&clock->timers[0], clock->relays ? clock_relay : clock_alarm_0,
		      clock_ids[clock->id], clock->mode);
	hrtimer_setup(&clock->timers[1], clock_alarm_1, clock_ids[clock->id], clock->mode);
	if (clock->relays)
		hrtimer_setup(&clock->relay, clock_relayed, CLOCK_MONOTONIC,
			      clock_call_mode(clock));
	INIT_CSD(&clock->csd, tw_base_kicked, clock);
	INIT_WORK(&clock->work, clock_work);
}

/* tw_clock_now() - the time in ns */
u64 tw_clock_now(const struct tw_clock *clock)
{
	switch (clock->id) {
	case TWHEEL_CLOCK_VIRTUAL:
		return atomic64_read(&clock->virtual_ns);
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

/* The CPU on which the alarm is to be set. */
static int clock_home(const struct tw_clock *clock)
{
	int cpu = raw_smp_processor_id();
	bool any = clock->cpu == TW_ANY_CPU;

	if (!any && clock->target_online)
		return clock->cpu;
	/* A CPU that goes offline handles IPIs once more after its hrtimers have left it. */
	if (likely(cpu_online(cpu) && (!any || housekeeping_cpu(cpu, HK_TYPE_DOMAIN))))
		return cpu;
	return housekeeping_any_cpu(HK_TYPE_DOMAIN);
}

/* Have the CPU that is to set the alarm do so. Returns false if this CPU has to. */
static bool clock_kick_cpu(struct tw_clock *clock)
{
	int home = clock_home(clock);

	if (likely(home == raw_smp_processor_id()))
		return false;
	if (clock->kicking)
		return true;
	clock->kicking = !smp_call_function_single_async(home, &clock->csd);
	return clock->kicking;
}

/* tw_clock_set() - have the alarm go off at @ns instead of what it was set to */
void tw_clock_set(struct tw_clock *clock, u64 ns)
{
	if (clock->id == TWHEEL_CLOCK_VIRTUAL || clock_kick_cpu(clock))
		return;
	tw_hrtimer_start(tw_clock_timer(clock), clock_ktime(ns), clock->mode);
}

/* Whether the alarm has to leave this CPU, where it has gone off. */
static bool clock_leaves(const struct tw_clock *clock)
{
	int cpu = raw_smp_processor_id();

	if (clock->cpu != TW_ANY_CPU)
		return clock_home(clock) != cpu;
	/* To start the timer anew takes 300 instructions more than to let it restart. */
	if (num_online_cpus() == 1)
		return false;
	/* The interrupted task: an idle CPU may go back to sleep. */
	return is_idle_task(current) || !housekeeping_cpu(cpu, HK_TYPE_TIMER) ||
	       !housekeeping_cpu(cpu, HK_TYPE_DOMAIN);
}

/*
 * tw_clock_resume() - tw_clock_set() from the alarm function, under the base lock
 * @ns: when; not before the time of this call, or the loop of the hrtimer core, whose
 *	time stands still, would never end
 *
 * Return: what the alarm function has to return.
 */
enum tw_clock_next tw_clock_resume(struct tw_clock *clock, u64 ns)
{
	struct hrtimer *timer = tw_clock_timer(clock);

	if (clock->context == TWHEEL_CONTEXT_WORK || clock->relays || hrtimer_is_queued(timer)) {
		tw_clock_set(clock, ns);
		return TW_CLOCK_DONE;
	}
	if (clock_leaves(clock)) {
		clock->which = !clock->which;
		tw_clock_set(clock, ns);
		return TW_CLOCK_DONE;
	}
	hrtimer_set_expires(timer, clock_ktime(ns));
	return TW_CLOCK_RESTART;
}

/*
 * tw_clock_again() - from the alarm function, under the base lock: have it called again soon
 * @pause: after so many ns, whatever the clock is set to meanwhile
 *
 * Return: as tw_clock_resume().
 */
enum tw_clock_next tw_clock_again(struct tw_clock *clock, u64 now, u64 pause)
{
	if (clock->context == TWHEEL_CONTEXT_WORK && clock->id != TWHEEL_CLOCK_VIRTUAL)
		return TW_CLOCK_QUEUE;
	if (!clock->relays)
		return tw_clock_resume(clock, now + pause);
	if (clock_home(clock) != raw_smp_processor_id()) {
		tw_clock_set(clock, 0);
		return TW_CLOCK_DONE;
	}
	tw_hrtimer_start(&clock->relay, ns_to_ktime(ktime_get_ns() + pause),
			 clock_call_mode(clock) | clock_pinned(clock));
	return TW_CLOCK_DONE;
}

/*
 * tw_clock_stop() - unset the alarm, and wait for its function. May sleep.
 *
 * The caller sees to it that nothing sets the alarm any more.
 */
void tw_clock_stop(struct tw_clock *clock)
{
	hrtimer_cancel(&clock->timers[0]);
	hrtimer_cancel(&clock->timers[1]);
	if (clock->relays)
		hrtimer_cancel(&clock->relay);
	if (clock->workqueue)
		cancel_work_sync(&clock->work);
}
