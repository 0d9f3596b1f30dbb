// SPDX-License-Identifier: GPL-2.0-only
/*
 * A base: an engine and a clock under one lock.
 *
 * The clock's alarm is set, under the lock, for the engine's next event. When it goes off,
 * a pass serves what is due: see pass.c. Between passes it moves to earlier instants only:
 * a cancel leaves it alone, also that of the last timer. The pass then finds nothing to do,
 * and sets no alarm. One that is due is not set again. Otherwise calls in a loop could keep
 * the clock event device from firing at all.
 *
 * A base may have a target CPU, which its memory is near. Its alarm is there while that CPU is
 * online, and on the system wheel works. All else may happen on any CPU.
 */
#include <linux/cpumask.h>
#include <linux/delay.h>
#include <linux/kernel.h>
#include <linux/kernel_stat.h>
#include <linux/ktime.h>
#include <linux/sched.h>
#include <linux/sched/isolation.h>
#include <linux/slab.h>
#include <linux/smp.h>
#include <linux/tick.h>
#include <linux/timekeeping.h>
#include <linux/topology.h>

#include <linux/twheel_state.h>

#include "../compat.h"
#include "../export.h"
#include "base.h"

static bool base_context_valid(const struct twheel_config *config)
{
	switch (config->context) {
	case TWHEEL_CONTEXT_SOFTIRQ:
		return !config->workqueue;
	case TWHEEL_CONTEXT_WORK:
		return true;
	default:
		return false;
	}
}

/* tw_base_valid() - whether a base can be made like that */
bool tw_base_valid(const struct twheel_config *config)
{
	u64 tick_ns = config->tick_ns ?: TWHEEL_TICK_DEFAULT;

	return tick_ns >= TWHEEL_TICK_MIN &&
	       tw_wheel_valid(tick_ns, config->slots ?: TWHEEL_SLOTS_DEFAULT) &&
	       (unsigned int)config->clock <= TWHEEL_CLOCK_VIRTUAL && base_context_valid(config) &&
	       (!config->start_ns || config->clock == TWHEEL_CLOCK_VIRTUAL) &&
	       config->start_ns < TWHEEL_NEVER;
}
TW_EXPORT_FOR_TESTS(tw_base_valid);

/*
 * tw_base_new() - make an empty base
 * @owner: its workqueue is there if it has one of its own
 * @config: valid
 * @cpu: its target CPU, or %TW_ANY_CPU
 *
 * Return: the base, NULL without memory.
 */
struct twheel_base *tw_base_new(struct twheel *owner,
				const struct twheel_config *config, int cpu)
{
	int node = cpu == TW_ANY_CPU ? NUMA_NO_NODE : cpu_to_node(cpu);
	struct twheel_base *base;
	bool goes_back;

	/* Some pages, which need not be contiguous. */
	base = kvzalloc_node(sizeof(*base), GFP_KERNEL_ACCOUNT, node);
	if (!base)
		return NULL;
	base->clock.id = config->clock;
	base->clock.context = config->context;
	base->clock.workqueue = owner->workqueue ?: config->workqueue;
	base->clock.cpu = cpu;
	base->clock.pinned = owner->pinned;
	base->clock.alarm = &base->clock.alarms[0];
	base->clock.virtual_ns = &owner->virtual_ns;
	INIT_CSD(&base->clock.csd, tw_base_kicked, &base->clock);
	tw_wheel_shape(&base->wheel, config->tick_ns ?: TWHEEL_TICK_DEFAULT,
		       config->slots ?: TWHEEL_SLOTS_DEFAULT);
	raw_spin_lock_init(&base->lock);
#ifdef CONFIG_PREEMPT_RT
	spin_lock_init(&base->expiry_lock);
#endif
	base->owner = owner;
	base->percpu = owner->nr_bases > 1;
	base->limited = config->max_pending;
	goes_back = tw_clock_can_be_set(config->clock) || config->clock == TWHEEL_CLOCK_VIRTUAL;
	if (tw_wheel_init(&base->wheel,
			  tw_wheel_floor(&base->wheel, tw_clock_now(&base->clock)),
			  goes_back, node)) {
		tw_base_free(base);
		return NULL;
	}
	return base;
}

void tw_base_free(struct twheel_base *base)
{
	tw_wheel_exit(&base->wheel);
	kvfree(base);
}

static void base_set_alarm(struct twheel_base *base)
{
	if (likely(!base->stopped))
		tw_clock_set_alarm(&base->clock, tw_base_wake_ns(base));
}

/* Let the engine's position follow the clock. During a pass, the pass does that. */
static void base_follow_clock(struct twheel_base *base)
{
	struct tw_wheel *w = &base->wheel;
	u64 cascades = w->cascades, requeued = w->requeued;
	u64 now;

	/* Of timers that are armed together, the first one is enough. */
	if (w->in_pass || base->batch == TW_BATCH_FOLLOWED)
		return;
	now = tw_wheel_floor(w, tw_clock_now(&base->clock));
	tw_wheel_follow(w, now);
	base->present = now;
	if (base->batch)
		base->batch = TW_BATCH_FOLLOWED;
	tw_trace_moved(base, cascades, requeued);
}

/*
 * Set the alarm if the wheel has to wake up before @wake, which it is set for.
 *
 * An alarm that is due already is not set again: see above. On a clock that was set back
 * meanwhile, it may not be due any more, so there it is set.
 */
static void base_set_alarm_before(struct twheel_base *base, u64 wake)
{
	if (base->wheel.wake < wake &&
	    (wake > base->present || tw_clock_can_be_set(base->clock.id)))
		base_set_alarm(base);
}

/*
 * tw_base_enqueue_near() - tw_wheel_enqueue() for a timer that may need attention before
 * all others
 *
 * Perhaps it only looks like that, as the position is not where the clock is. So that is
 * corrected first.
 */
noinline void tw_base_enqueue_near(struct twheel_base *base,
				struct twheel_timer *timer)
{
	struct tw_wheel *w = &base->wheel;
	u64 wake = w->wake;

	base_follow_clock(base);
	tw_wheel_enqueue_near(w, &timer->node);
	if (!base->batch)
		base_set_alarm_before(base, wake);
}

/* tw_base_begin_batch() - several timers are armed under this hold of the lock */
void tw_base_begin_batch(struct twheel_base *base)
{
	lockdep_assert_held(&base->lock);
	base->batch = TW_BATCH_OPEN;
	base->batch_wake = base->wheel.wake;
}

/* tw_base_end_batch() - they are armed: set the alarm once, for all of them */
void tw_base_end_batch(struct twheel_base *base)
{
	lockdep_assert_held(&base->lock);
	base->batch = TW_BATCH_NONE;
	base_set_alarm_before(base, base->batch_wake);
}

static void base_set_alarm_here(struct twheel_base *base)
{
	const struct tw_wheel *w = &base->wheel;

	if (!w->in_pass && w->wake != TW_WHEEL_ASLEEP)
		base_set_alarm(base);
}

/* tw_base_kicked() - set the alarm: on the CPU that is to have it, in hard interrupt */
void tw_base_kicked(void *clock)
{
	struct twheel_base *base = container_of(clock, struct twheel_base, clock);
	unsigned long flags;

	raw_spin_lock_irqsave(&base->lock, flags);
	/*
	 * First: if this CPU has been isolated meanwhile, it kicks another one. Once
	 * tw_base_wait_quiet() has seen that nothing is kicked, the base may be freed.
	 */
	base->clock.kicking = false;
	base_set_alarm_here(base);
	raw_spin_unlock_irqrestore(&base->lock, flags);
}
TW_EXPORT_FOR_TESTS(tw_base_kicked);

/* tw_base_set_online() - this CPU, the target CPU, is online; or will soon go offline */
void tw_base_set_online(struct twheel_base *base, bool target_online)
{
	unsigned long flags;

	raw_spin_lock_irqsave(&base->lock, flags);
	base->clock.target_online = target_online;
	if (target_online)
		base_set_alarm_here(base);
	raw_spin_unlock_irqrestore(&base->lock, flags);
}

/* tw_base_stop() - from now on no timer is armed, and no pass begins */
void tw_base_stop(struct twheel_base *base)
{
	raw_spin_lock_irq(&base->lock);
	/* virtual_serve() reads it without the lock. */
	WRITE_ONCE(base->stopped, true);
	/* Have tw_host_admit() look. */
	base->limited = true;
	raw_spin_unlock_irq(&base->lock);
}

static bool base_busy(struct twheel_base *base)
{
	bool busy;

	raw_spin_lock_irq(&base->lock);
	busy = base->runner || base->clock.kicking;
	raw_spin_unlock_irq(&base->lock);
	return busy;
}

/*
 * tw_base_wait_quiet() - wait until a stopped base is quiet
 *
 * Context: process, may sleep.
 */
void tw_base_wait_quiet(struct twheel_base *base)
{
	tw_clock_stop_alarms(&base->clock);
	/* The alarm does not run a virtual clock's pass. */
	while (base_busy(base))
		usleep_range(50, 100);
}

/*
 * tw_base_evict() - take a pending timer out of a stopped base
 *
 * Return: the timer, its word %TWHEEL_UNFIRED; NULL if there is none left.
 */
struct twheel_timer *tw_base_evict(struct twheel_base *base)
{
	struct twheel_timer *timer;
	u64 deadline;

	raw_spin_lock_irq(&base->lock);
	timer = tw_base_timer(tw_wheel_evict(&base->wheel));
	if (timer) {
		/* tw_node_extend() now finds it no longer pending. */
		deadline = tw_word(atomic64_xchg(&timer->node.word, TWHEEL_UNFIRED));
		tw_trace_timer(unfired, base, timer, deadline);
		tw_debug_deactivate(timer);
		base->pending--;
		base->unfired++;
	}
	raw_spin_unlock_irq(&base->lock);
	return timer;
}

/* tw_base_move() - with both locks: a pending timer goes to another base */
void tw_base_move(struct twheel_base *from, struct twheel_base *to,
		  struct twheel_timer *timer)
{
	tw_wheel_dequeue(&from->wheel, &timer->node);
	from->pending--;
	to->pending++;
	if (!tw_wheel_enqueue(&to->wheel, &timer->node, atomic64_read(&timer->node.word)))
		tw_base_enqueue_near(to, timer);
	tw_timer_set_base(to, timer);
}

/*
 * The alarm of a base: see clock.c, too.
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
 * The bases of the system wheel have target CPUs, and their alarms are not pinned. They are
 * set as without a target CPU, so they leave CPUs that sleep. They come home when the target
 * CPU works again: see clock_alarm_leaves().
 */

/* The CPU on which the alarm is to be set, if the caller runs on this one. */
static int clock_pick_cpu(const struct tw_clock *clock)
{
	int cpu = raw_smp_processor_id();

	if (clock->pinned && clock->target_online)
		return clock->cpu;
	/* A CPU that goes offline handles IPIs once more after its hrtimers have left it. */
	if (likely(cpu_online(cpu) && (clock->pinned || housekeeping_cpu(cpu, HK_TYPE_DOMAIN))))
		return cpu;
	/* housekeeping_any_cpu() would be this CPU if none is isolated. */
	cpu = cpumask_any_and(cpu_online_mask, housekeeping_cpumask(HK_TYPE_DOMAIN));
	return cpu < nr_cpu_ids ? cpu : cpumask_any(cpu_online_mask);
}

/* Set the alarm on @cpu: here, or by a kick. */
static void clock_start_alarm(struct tw_clock *clock, int cpu, u64 ns)
{
	if (unlikely(cpu != raw_smp_processor_id())) {
		if (!clock->kicking)
			clock->kicking = !smp_call_function_single_async(cpu, &clock->csd);
		if (clock->kicking)
			return;
	}
	tw_alarm_start(clock->alarm, clock->id, ns, clock->pinned ? HRTIMER_MODE_PINNED : 0);
}

/* tw_clock_set_alarm() - have a clock's alarm go off at @ns instead of what it was set to */
void tw_clock_set_alarm(struct tw_clock *clock, u64 ns)
{
	if (clock->id != TWHEEL_CLOCK_VIRTUAL)
		clock_start_alarm(clock, clock_pick_cpu(clock), ns);
}

/*
 * Whether the target CPU has worked more than it slept since the last look: then it is likely to
 * work when the kick comes. Without NOHZ no CPU sleeps for long, and it always says so, as both
 * counters stay at -1. (idle_cpu() is not exported.)
 */
static bool clock_target_works(struct tw_clock *clock)
{
	u64 slept = get_cpu_idle_time_us(clock->cpu, NULL) +
		    get_cpu_iowait_time_us(clock->cpu, NULL) - clock->slept_us;
	u64 span = div_u64(ktime_get_ns(), NSEC_PER_USEC) - clock->looked_us;

	clock->slept_us += slept;
	clock->looked_us += span;
	return slept < span / 2;
}

/*
 * Where the alarm goes next, which has gone off here. One that is not pinned leaves a CPU that
 * is idle, as it interrupts the idle task. It comes home when the target CPU works again.
 * Returns false if it stays, so that its hrtimer can restart.
 */
static bool clock_alarm_leaves(struct tw_clock *clock, int *cpu)
{
	int here = raw_smp_processor_id(), home = clock->cpu;
	bool idle;

	*cpu = clock_pick_cpu(clock);
	if (clock->pinned)
		return *cpu != here;
	/* To start the timer anew takes longer than to let it restart. */
	if (num_online_cpus() == 1)
		return false;
	idle = is_idle_task(current);
	if (here == home && idle)
		/* From here on, what it sleeps counts. */
		clock_target_works(clock);
	else if (here != home && home != TW_ANY_CPU && clock_target_works(clock) &&
		 cpu_online(home) && housekeeping_cpu(home, HK_TYPE_DOMAIN))
		*cpu = home;
	return *cpu != here || idle || !housekeeping_cpu(here, HK_TYPE_TIMER);
}

/*
 * tw_clock_resume_alarm() - tw_clock_set_alarm() from the alarm function, under the base lock
 * @ns: when; not before the time of this call, or the loop of the hrtimer core, whose
 *	time stands still, would never end
 *
 * Return: what the alarm function has to return.
 */
enum tw_clock_next tw_clock_resume_alarm(struct tw_clock *clock, u64 ns)
{
	struct hrtimer *timer = tw_clock_hrtimer(clock);
	int cpu;

	if (clock->context == TWHEEL_CONTEXT_WORK || clock->id != TWHEEL_CLOCK_MONOTONIC ||
	    hrtimer_is_queued(timer)) {
		tw_clock_set_alarm(clock, ns);
		return TW_CLOCK_DONE;
	}
	if (!clock_alarm_leaves(clock, &cpu)) {
		hrtimer_set_expires(timer, ns_to_ktime(min_t(u64, ns, KTIME_MAX)));
		return TW_CLOCK_RESTART;
	}
	clock->alarm = &clock->alarms[clock->alarm == clock->alarms];
	clock_start_alarm(clock, cpu, ns);
	return TW_CLOCK_DONE;
}

/*
 * tw_clock_repeat_alarm() - from the alarm function, under the base lock: have it called again soon
 * @pause: after so many ns, whatever the clock is set to meanwhile
 *
 * Return: as tw_clock_resume_alarm().
 */
enum tw_clock_next tw_clock_repeat_alarm(struct tw_clock *clock, u64 now, u64 pause)
{
	if (clock->context == TWHEEL_CONTEXT_WORK && clock->id != TWHEEL_CLOCK_VIRTUAL)
		return TW_CLOCK_QUEUE;
	if (clock->id == TWHEEL_CLOCK_MONOTONIC || clock->id == TWHEEL_CLOCK_VIRTUAL)
		return tw_clock_resume_alarm(clock, now + pause);
	if (clock_pick_cpu(clock) != raw_smp_processor_id())
		tw_clock_set_alarm(clock, 0);
	else
		tw_alarm_start(clock->alarm, TWHEEL_CLOCK_MONOTONIC, ktime_get_ns() + pause,
			       HRTIMER_MODE_PINNED);
	return TW_CLOCK_DONE;
}

/*
 * tw_clock_stop_alarms() - unset the alarm, and wait for its function. May sleep.
 *
 * The caller sees to it that nothing sets the alarm any more.
 */
void tw_clock_stop_alarms(struct tw_clock *clock)
{
	tw_alarm_stop(&clock->alarms[0]);
	tw_alarm_stop(&clock->alarms[1]);
	if (clock->workqueue)
		cancel_work_sync(&clock->work);
}
