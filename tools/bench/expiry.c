// SPDX-License-Identifier: GPL-2.0-only
/*
 * The cost of expiring, in three ways:
 *
 *  - all on one tick, from the first callback to the last;
 *  - as a backlog: softirqs are held back until the last timer is due, then all expire one
 *    after the other. That is the whole work of the peer, without its interrupts;
 *  - as they come due, on a machine that is idle otherwise: how many timer interrupts there
 *    are, and how long the CPU is busy. The machine's own work is subtracted.
 */
#include <linux/bottom_half.h>
#include <linux/interrupt.h>
#include <linux/jiffies.h>
#include <linux/ktime.h>
#include <linux/sched.h>
#include <linux/tick.h>
#include <linux/timekeeping.h>

#include <asm/apic.h>
#include <asm/hardirq.h>
#include <asm/msr.h>
#include <asm/tsc.h>

#include "expiry.h"
#include "report.h"
#include "subject.h"

/* It expires before all others. */
static struct subject marker;
static u64 marked_ns;

/* What the machine does while nothing is armed. */
static u64 idle_ns, idle_busy_ns, idle_interrupts;

/**
 * struct usage - use of the CPU
 * @ns: the time
 * @busy_ns: the part of it that the CPU was not idle
 * @interrupts: interrupts of the local timer
 */
struct usage {
	u64 ns;
	u64 busy_ns;
	u64 interrupts;
};

/* The usage since boot. */
static struct usage usage_now(void)
{
	u64 idle_us = get_cpu_idle_time_us(smp_processor_id(), NULL);
	u64 ns = ktime_get_ns();

	return (struct usage){
		.ns = ns,
		.busy_ns = ns - idle_us * NSEC_PER_USEC,
		.interrupts = this_cpu_read(irq_stat.apic_timer_irqs),
	};
}

static struct usage usage_since(const struct usage *start)
{
	struct usage now = usage_now();

	return (struct usage){
		.ns = now.ns - start->ns,
		.busy_ns = now.busy_ns - start->busy_ns,
		.interrupts = now.interrupts - start->interrupts,
	};
}

static void subjects_arm(const struct peer *peer)
{
	unsigned int i;

	for (i = 0; i < nr_subjects; i++)
		peer->arm(&subjects[order[i]], deadlines[i]);
}

/*
 * expiry_one_tick() - measure timers with one deadline
 * @arm_ns: how long arming one may take
 */
void expiry_one_tick(const struct peer *peer, u64 arm_ns)
{
	struct moment now;
	unsigned int i;
	u64 at;

	subjects_init(peer);
	now = moment_now();
	at = moment_at(peer, &now, NSEC_PER_SEC / 4 + nr_subjects * arm_ns);
	for (i = 0; i < nr_subjects; i++)
		deadlines[i] = at;
	subjects_arm(peer);
	wait_for_completion(&all_fired);
	report("one-tick", peer->name, "expire", last_ns - first_ns,
	       nr_subjects - 1);
}

static void marker_wheel(struct twheel_timer *timer)
{
	marked_ns = ktime_get_ns();
}

static void marker_list(struct timer_list *timer)
{
	marked_ns = ktime_get_ns();
}

static enum hrtimer_restart marker_hr(struct hrtimer *timer)
{
	marked_ns = ktime_get_ns();
	return HRTIMER_NORESTART;
}

static void marker_arm(const struct peer *peer, const struct moment *now)
{
	peer->init(&marker);
	switch (peer - peers) {
	case PEER_WHEEL:
		marker.wheel.function = marker_wheel;
		break;
	case PEER_LIST:
		marker.list.function = marker_list;
		break;
	case PEER_HR:
		marker.hr.function = marker_hr;
		break;
	}
	peer->arm(&marker, moment_at(peer, now, 1));
}

/*
 * Halt until @end_ns. To emulate the million ticks of an hour takes minutes. So the
 * interrupt for the next tick is put off by a second; its handler catches up.
 */
static void expiry_skip_until(u64 end_ns)
{
	bool by_tsc = boot_cpu_has(X86_FEATURE_TSC_DEADLINE_TIMER);
	u64 second = 1000ULL * tsc_khz;

	while (ktime_get_ns() + 2 * NSEC_PER_SEC < end_ns) {
		local_irq_disable();
		if (by_tsc)
			wrmsrl(MSR_IA32_TSC_DEADLINE, rdtsc() + second);
		else
			apic_write(APIC_TMICT, NSEC_PER_SEC / 16);
		safe_halt();
	}
	while (ktime_get_ns() < end_ns)
		safe_halt();
}

/* expiry_backlog() - measure all that became due in the span of @delays, at once */
void expiry_backlog(const struct peer *peer, const struct delays *delays)
{
	struct moment now;
	u64 end_ns;

	subjects_init(peer);
	local_bh_disable();
	now = moment_now();
	deadlines_fill(peer, delays, &now, GOAL_DRAWN);
	marker_arm(peer, &now);
	subjects_arm(peer);
	/* timer_list is late by up to an eighth. */
	end_ns = now.ns + delays->span_ns / 8 * 9 + NSEC_PER_SEC / 10;
	expiry_skip_until(end_ns);
	local_bh_enable();
	wait_for_completion(&all_fired);
	report(delays->name, peer->name, "expire", last_ns - marked_ns,
	       nr_subjects);
}

/* expiry_calibrate() - measure what an idle machine does */
void expiry_calibrate(const struct delays *delays)
{
	struct usage used, start;

	schedule_timeout_idle(HZ);
	start = usage_now();
	schedule_timeout_idle(nsecs_to_jiffies(delays->span_ns));
	used = usage_since(&start);
	idle_ns = used.ns;
	idle_busy_ns = used.busy_ns;
	idle_interrupts = used.interrupts;
	report(delays->name, "machine", "busy-per-second", idle_busy_ns,
	       max(div_u64(idle_ns, NSEC_PER_SEC), 1ULL));
}

/* @value, less what an idle machine does in @ns */
static u64 usage_without_idle(u64 value, u64 idle, u64 ns)
{
	u64 share = mul_u64_u64_div_u64(idle, ns, idle_ns);

	return value - min(value, share);
}

/*
 * expiry_as_due() - measure timers as they come due
 * @arm_ns: how long arming one may take
 */
void expiry_as_due(const struct peer *peer, const struct delays *delays,
		   u64 arm_ns)
{
	struct usage used, start;
	struct moment now;

	subjects_init(peer);
	now = moment_now();
	/* All are armed before the first is due. */
	now.ns += nr_subjects * arm_ns;
	now.jiffies += nsecs_to_jiffies64(nr_subjects * arm_ns);
	deadlines_fill(peer, delays, &now, GOAL_DRAWN);
	subjects_arm(peer);

	start = usage_now();
	wait_for_completion(&all_fired);
	used = usage_since(&start);
	report(delays->name, peer->name, "interrupts-per-1000",
	       1000 * usage_without_idle(used.interrupts, idle_interrupts, used.ns),
	       nr_subjects);
	report(delays->name, peer->name, "busy-per-timer",
	       usage_without_idle(used.busy_ns, idle_busy_ns, used.ns), nr_subjects);
}
