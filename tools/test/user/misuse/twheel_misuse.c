// SPDX-License-Identifier: GPL-2.0-only
/*
 * Misuse of the in-kernel API, one way at a time: what= says which. Each way
 * has to be reported with what it takes to find the culprit, and the wheel has
 * to go on. make check judges the reports by the file "expected". All else is
 * checked here: if a check fails, the module does not load.
 *
 * Never load this into a kernel that somebody needs.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/completion.h>
#include <linux/cpumask.h>
#include <linux/delay.h>
#include <linux/err.h>
#include <linux/jiffies.h>
#include <linux/module.h>
#include <linux/percpu.h>
#include <linux/preempt.h>
#include <linux/processor.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/smp.h>
#include <linux/spinlock.h>
#include <linux/string.h>
#include <linux/timekeeping.h>

#include <linux/twheel.h>
#include <linux/twheel_idle.h>
#include <linux/twheel_periodic.h>
#include <linux/twheel_retry.h>
#include <linux/twheel_stats.h>
#include <linux/twheel_virtual.h>

#include "export.h"

#define MS	((u64)NSEC_PER_MSEC)
/*
 * Longer than it takes to print a report, on a slow machine and a serial line,
 * or to unload a module.
 */
#define LATER	(4000 * MS)
/* Twice what the guest's script takes for too long: a busy host may stop it for a while. */
#define BUSY	(400 * MS)

static char *what = "";
module_param(what, charp, 0444);
MODULE_PARM_DESC(what, "Which way of misuse");

static struct twheel *wheel;
static atomic_t fired;
static DECLARE_COMPLETION(went_on);

static bool all_as_expected = true;

static bool misuse_check(bool condition, const char *text)
{
	if (!condition)
		pr_err("%s: not so: %s\n", what, text);
	all_as_expected &= condition;
	return condition;
}

#define expect(condition)	misuse_check(condition, #condition)

static void misuse_expired(struct twheel_timer *timer)
{
	atomic_inc(&fired);
}

static void misuse_other(struct twheel_timer *timer)
{
	atomic_add(100, &fired);
}

static void go_on(struct twheel_timer *timer)
{
	complete(&went_on);
}

/* Does the wheel serve a timer that comes after all those misused? */
static void goes_on_after(struct twheel *wheel, u64 delay_ns)
{
	static struct twheel_timer timer;
	bool in_time;

	reinit_completion(&went_on);
	twheel_timer_init(&timer, wheel, go_on);
	twheel_arm(&timer, delay_ns);
	in_time = wait_for_completion_timeout(&went_on, 10 * HZ);
	twheel_cancel_sync(&timer);
	expect(in_time);
}

static void goes_on(struct twheel *wheel)
{
	goes_on_after(wheel, 100 * MS);
}

static void nothing_pending(struct twheel *wheel)
{
	struct twheel_stats stats;

	twheel_get_stats(wheel, &stats);
	expect(!stats.pending);
}

static struct twheel *new_wheel(const char *name, enum twheel_context context)
{
	struct twheel_config config = { .name = name, .context = context };

	return twheel_create(&config);
}

static struct twheel_timer *new_timer(struct twheel *wheel, twheel_fn function)
{
	struct twheel_timer *timer = kmalloc(sizeof(*timer), GFP_KERNEL);

	if (timer)
		twheel_timer_init(timer, wheel, function);
	return timer;
}

static void misuse_free(void)
{
	struct twheel_timer *timer = new_timer(wheel, misuse_expired);

	if (!expect(timer))
		return;
	twheel_arm(timer, LATER);
	kfree(timer);
	expect(!atomic_read(&fired));
	goes_on_after(wheel, LATER);
	expect(!atomic_read(&fired));
}

static void misuse_frees_itself(struct twheel_timer *timer)
{
	atomic_inc(&fired);
	twheel_arm(timer, 20 * MS);
	kfree(timer);
}

/* In a context that may sleep, where the report must not wait for itself. */
static void misuse_free_running(void)
{
	struct twheel *works = new_wheel("misused", TWHEEL_CONTEXT_WORK);
	struct twheel_timer *timer;

	if (!expect(!IS_ERR(works)))
		return;
	timer = new_timer(works, misuse_frees_itself);
	if (!expect(timer))
		return;
	twheel_arm(timer, 20 * MS);
	goes_on(works);
	twheel_destroy(works);
	expect(atomic_read(&fired) == 1);
}

static void misuse_init_pending(void)
{
	static struct twheel_timer timer;

	twheel_timer_init(&timer, wheel, misuse_expired);
	twheel_arm(&timer, LATER);
	twheel_timer_init(&timer, wheel, misuse_other);
	expect(!twheel_pending(&timer));
	nothing_pending(wheel);
	expect(!twheel_arm(&timer, 20 * MS));
	goes_on_after(wheel, LATER);
	expect(atomic_read(&fired) == 100);
}

/* A timer that was never initialised, all of whose bytes are the same. */
static struct twheel_timer *bytes_of(int byte)
{
	static struct twheel_timer timer;

	memset(&timer, byte, sizeof(timer));
	return &timer;
}

static void misuse_zeroed(void)
{
	expect(twheel_arm(bytes_of(0), MS) == -EINVAL);
	goes_on(wheel);
}

static void misuse_garbage(void)
{
	expect(twheel_cancel_sync(bytes_of(0x5a)) == 0);
	goes_on(wheel);
}

static void refused_by_all(int byte)
{
	expect(twheel_arm_at(bytes_of(byte), 0) == -EINVAL);
	expect(twheel_arm_on(bytes_of(byte), 0, MS) == -EINVAL);
	expect(twheel_arm_on_at(bytes_of(byte), 0, MS) == -EINVAL);
	expect(twheel_arm_range(bytes_of(byte), MS, MS) == -EINVAL);
	expect(twheel_arm_range_at(bytes_of(byte), MS, MS) == -EINVAL);
	expect(twheel_modify(bytes_of(byte), MS) == -ENOENT);
	expect(twheel_modify_at(bytes_of(byte), MS) == -ENOENT);
	expect(twheel_extend(bytes_of(byte), MS) == -ENOENT);
	expect(twheel_cancel(bytes_of(byte)) == 0);
	expect(twheel_cancel_sync(bytes_of(byte)) == 0);
	expect(twheel_shutdown_sync(bytes_of(byte)) == 0);
	expect(twheel_remaining(bytes_of(byte)) > TWHEEL_NEVER);
}

/* Policies of zeros: they have no lock either. */
static void stopped_by_all(void)
{
	static struct twheel_periodic periodic;
	static struct twheel_retry retry;
	static struct twheel_idle idle;

	expect(twheel_periodic_stop(&periodic) == 0);
	expect(twheel_periodic_stop_sync(&periodic) == 0);
	expect(twheel_periodic_shutdown_sync(&periodic) == 0);
	expect(twheel_retry_cancel(&retry) == 0);
	expect(twheel_retry_cancel_sync(&retry) == 0);
	expect(twheel_retry_shutdown_sync(&retry) == 0);
	expect(twheel_idle_stop(&idle) == 0);
	expect(twheel_idle_stop_sync(&idle) == 0);
}

/*
 * All other functions. The kernel stops printing such reports after the fifth of a boot, so
 * this one has none. The sign of a word tells a timer that looks pending.
 */
static void misuse_refused(void)
{
	static const int bytes[] = { 0, 0x5a, 0xa5 };
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(bytes); i++)
		refused_by_all(bytes[i]);
	stopped_by_all();
	goes_on(wheel);
}

static void misuse_softirq_holds(struct twheel_timer *timer)
{
	preempt_disable();
}

static void misuse_hardirq_holds(struct twheel_timer *timer)
{
	preempt_disable();
}

static void misuse_work_holds(struct twheel_timer *timer)
{
	preempt_disable();
}

/* One callback in a context, and one after it. */
static void call_in(enum twheel_context context, twheel_fn function,
		    struct twheel_stats *stats)
{
	static struct twheel_timer timer;
	struct twheel *other;

	*stats = (struct twheel_stats) { };
	other = new_wheel("misused", context);
	if (!expect(!IS_ERR(other)))
		return;
	twheel_timer_init(&timer, other, function);
	twheel_arm(&timer, 20 * MS);
	goes_on(other);
	twheel_get_stats(other, stats);
	twheel_destroy(other);
}

static void misuse_preempt(void)
{
	struct twheel_stats stats;

	call_in(TWHEEL_CONTEXT_SOFTIRQ, misuse_softirq_holds, &stats);
	call_in(TWHEEL_CONTEXT_HARDIRQ, misuse_hardirq_holds, &stats);
	call_in(TWHEEL_CONTEXT_WORK, misuse_work_holds, &stats);
	expect(!preempt_count());
}

/*
 * By the clock, and not by a delay loop: the kernel measures its loops when it boots.
 * On a busy machine that emulates a CPU, it may find that they take almost no time.
 */
static void misuse_spin(u64 ns)
{
	u64 end = ktime_get_ns() + ns;

	while (ktime_get_ns() < end)
		cpu_relax();
}

/*
 * The module reads jiffies, which may lag behind, and catch up. Where all CPUs are idle
 * nobody keeps them going: so not for ever.
 */
static void misuse_softirq_busy(struct twheel_timer *timer)
{
	unsigned long end = jiffies + nsecs_to_jiffies(BUSY);
	unsigned int i;

	misuse_spin(BUSY);
	for (i = 0; i < 1000 && time_before(jiffies, end); i++)
		misuse_spin(MS);
}

static void misuse_hardirq_busy(struct twheel_timer *timer)
{
	misuse_spin(BUSY);
}

static void misuse_work_busy(struct twheel_timer *timer)
{
	msleep(BUSY / MS);
}

static void misuse_overrun(void)
{
	struct twheel_stats stats;

	call_in(TWHEEL_CONTEXT_SOFTIRQ, misuse_softirq_busy, &stats);
	expect(stats.overruns == 1);
	call_in(TWHEEL_CONTEXT_SOFTIRQ, misuse_softirq_busy, &stats);
	expect(stats.overruns == 1);
	call_in(TWHEEL_CONTEXT_HARDIRQ, misuse_hardirq_busy, &stats);
	expect(stats.overruns == 1);
	/* Here it is no misuse. */
	call_in(TWHEEL_CONTEXT_WORK, misuse_work_busy, &stats);
	expect(!stats.overruns);
}

/* The functions of policies, which are to be named, and not twheel's that call them. */
static bool misuse_holds;

static void misuse_policy(void)
{
	if (misuse_holds)
		preempt_disable();
	else
		misuse_spin(BUSY);
}

static enum twheel_next misuse_period(struct twheel_periodic *periodic)
{
	misuse_policy();
	return TWHEEL_DONE;
}

static enum twheel_next misuse_attempt(struct twheel_retry *retry)
{
	misuse_policy();
	return TWHEEL_AGAIN;
}

static void misuse_give_up(struct twheel_retry *retry, int error)
{
	misuse_policy();
}

static void misuse_silence(struct twheel_idle *idle)
{
	misuse_policy();
}

/* One after the other, on one wheel: each is to be named for what it does itself. */
static void misuse_policies(void)
{
	const struct twheel_backoff backoff = {
		.attempts = 1, .first_ns = MS, .grace_ns = 20 * MS,
	};
	static struct twheel_periodic periodic;
	static struct twheel_retry retry;
	static struct twheel_idle idle;

	twheel_periodic_init(&periodic, wheel, misuse_period);
	twheel_periodic_start(&periodic, 20 * MS, TWHEEL_FIXED_RATE);
	goes_on(wheel);
	twheel_retry_init(&retry, wheel, misuse_attempt, misuse_give_up);
	twheel_retry_start(&retry, &backoff);
	goes_on_after(wheel, 4 * BUSY);
	twheel_idle_init(&idle, wheel, misuse_silence);
	twheel_idle_start(&idle, 20 * MS);
	goes_on(wheel);
	twheel_periodic_shutdown_sync(&periodic);
	twheel_retry_shutdown_sync(&retry);
	twheel_idle_shutdown_sync(&idle);
}

static void misuse_preempt_policy(void)
{
	misuse_holds = true;
	misuse_policies();
}

static void misuse_overrun_policy(void)
{
	misuse_policies();
}

static noinline void misuse_idle_busy(struct twheel_timer *timer)
{
	misuse_softirq_busy(timer);
	/* No tail call, or it would not be in a backtrace. */
	barrier();
}

/*
 * On a CPU that is idle and has no tick, while another one updates jiffies. Two clocks
 * can tell the time, and one of them has to. With one CPU, it updates jiffies itself.
 */
static void misuse_overrun_idle(void)
{
	struct twheel_config config = { .name = "misused", .percpu = true };
	unsigned long end = jiffies + 10 * HZ;
	static struct twheel_timer timer;
	struct twheel_stats stats;
	struct twheel *other;
	unsigned int cpu;

	other = twheel_create(&config);
	if (!expect(!IS_ERR(other)))
		return;
	twheel_timer_init(&timer, other, misuse_idle_busy);
	migrate_disable();
	cpu = cpumask_any_but(cpu_online_mask, smp_processor_id());
	if (cpu >= nr_cpu_ids)
		cpu = smp_processor_id();
	twheel_arm_on(&timer, cpu, 20 * MS);
	do {
		cond_resched();
		twheel_get_stats(other, &stats);
	} while (!stats.overruns && time_before(jiffies, end));
	migrate_enable();
	/* The second report would come before the pass unlocks what this waits for. */
	twheel_cancel_sync(&timer);
	twheel_get_stats(other, &stats);
	twheel_destroy(other);
	expect(stats.overruns == 1);
	goes_on(wheel);
}

static struct twheel_timer victim;

static void misuse_waits(struct twheel_timer *timer)
{
	atomic_add(twheel_cancel_sync(&victim), &fired);
}

/*
 * For a timer of a wheel whose callbacks are in softirq. One has run, so that lockdep would
 * have something to say, too.
 */
static void misuse_hardirq(void)
{
	struct twheel_stats stats;

	twheel_timer_init(&victim, wheel, misuse_expired);
	twheel_arm(&victim, 20 * MS);
	goes_on(wheel);
	expect(atomic_read(&fired) == 1);
	twheel_arm(&victim, 3600 * 1000 * MS);
	call_in(TWHEEL_CONTEXT_HARDIRQ, misuse_waits, &stats);
	expect(!twheel_pending(&victim));
	expect(atomic_read(&fired) == 2);
}

static u64 advanced;

static void misuse_advances(struct twheel_timer *timer)
{
	advanced = twheel_advance(twheel_of(timer), 20 * MS);
	atomic_inc(&fired);
}

/* A callback that waits for the pass that has called it. */
static void misuse_advance(void)
{
	struct twheel *other = twheel_create(&(struct twheel_config) {
		.name = "virtual", .clock = TWHEEL_CLOCK_VIRTUAL,
	});

	twheel_timer_init(&victim, other, misuse_advances);
	twheel_arm(&victim, 10 * MS);
	twheel_advance(other, 10 * MS);
	expect(atomic_read(&fired) == 1);
	expect(advanced > TWHEEL_NEVER);
	expect(twheel_now(other) == 10 * MS);
	twheel_destroy(other);
	goes_on(wheel);
}

/* With live_wheels_warn=4. The one that is there already counts. */
static void misuse_wheels(void)
{
	static const char * const names[] = {
		"second", "third", "fourth", "fifth", "sixth",
	};
	struct twheel *wheels[ARRAY_SIZE(names)];
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(names); i++)
		wheels[i] = new_wheel(names[i], TWHEEL_CONTEXT_SOFTIRQ);
	/* Four are left, which is not below: what follows is not new. */
	twheel_destroy(wheels[4]);
	twheel_destroy(wheels[3]);
	wheels[3] = new_wheel("fifth again", TWHEEL_CONTEXT_SOFTIRQ);
	twheel_destroy(wheels[3]);
	/* Three are, which is. */
	twheel_destroy(wheels[2]);
	wheels[2] = new_wheel("fourth again", TWHEEL_CONTEXT_SOFTIRQ);
	wheels[3] = new_wheel("fifth once more", TWHEEL_CONTEXT_SOFTIRQ);
	for (i = 0; i < 4; i++)
		twheel_destroy(wheels[i]);
	goes_on(wheel);
}

static DECLARE_COMPLETION(leaving);

/* What is done with other wheels while the module goes. */
static void misuse_works_on(struct twheel_timer *timer)
{
	struct twheel *other;

	complete(&went_on);
	wait_for_completion_timeout(&leaving, 10 * HZ);
	/* For the module to be going. */
	msleep(500);
	other = new_wheel("made while leaving", TWHEEL_CONTEXT_SOFTIRQ);
	if (expect(!IS_ERR(other)))
		twheel_destroy(other);
}

static void misuse_leave_at_work(void)
{
	static struct twheel_timer timer;
	struct twheel *other = new_wheel("left at work", TWHEEL_CONTEXT_WORK);

	if (!expect(!IS_ERR(other)))
		return;
	twheel_timer_init(&timer, other, misuse_works_on);
	twheel_arm(&timer, 0);
	wait_for_completion_timeout(&went_on, 10 * HZ);
}

/* Timers in memory that goes with the module, and in such that does not. */
static void misuse_unload(void)
{
	struct twheel_config config = {
		.name	= "left per CPU",
		.percpu	= true,
	};
	static struct twheel_timer timers[3];
	struct twheel_timer *timer;
	struct twheel *other;

	twheel_timer_init(&timers[0], wheel, misuse_expired);
	twheel_timer_init(&timers[1], wheel, misuse_expired);
	twheel_arm(&timers[0], LATER);
	twheel_arm_at(&timers[1], TWHEEL_NEVER);
	timer = new_timer(wheel, misuse_expired);
	if (!expect(timer))
		return;
	twheel_arm(timer, LATER);

	other = twheel_create(&config);
	if (!expect(!IS_ERR(other)))
		return;
	twheel_timer_init(&timers[2], other, misuse_expired);
	twheel_arm_on(&timers[2], 0, LATER);
	misuse_leave_at_work();
	/* And is not destroyed at exit. */
	wheel = NULL;
}

static DEFINE_SPINLOCK(misuse_lock);

static void misuse_takes_lock(struct twheel_timer *timer)
{
	spin_lock(&misuse_lock);
	atomic_inc(&fired);
	spin_unlock(&misuse_lock);
}

/* The callback has run before, so that it is not waited for: it never hangs. */
static void misuse_deadlock(void)
{
	twheel_timer_init(&victim, wheel, misuse_takes_lock);
	twheel_arm(&victim, 20 * MS);
	goes_on(wheel);
	expect(atomic_read(&fired) == 1);
	spin_lock_bh(&misuse_lock);
	twheel_cancel_sync(&victim);
	spin_unlock_bh(&misuse_lock);
	goes_on(wheel);
}

static const struct {
	const char *name;
	void (*commit)(void);
} ways[] = {
	{ "unload",		misuse_unload },
	{ "free",		misuse_free },
	{ "free_running",	misuse_free_running },
	{ "init_pending",	misuse_init_pending },
	{ "zeroed",		misuse_zeroed },
	{ "garbage",		misuse_garbage },
	{ "refused",		misuse_refused },
	{ "preempt",		misuse_preempt },
	{ "preempt_policy",	misuse_preempt_policy },
	{ "overrun",		misuse_overrun },
	{ "overrun_policy",	misuse_overrun_policy },
	{ "overrun_idle",	misuse_overrun_idle },
	{ "hardirq",		misuse_hardirq },
	{ "advance",		misuse_advance },
	{ "wheels",		misuse_wheels },
	{ "deadlock",		misuse_deadlock },
};

static int misuse_commit(void)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(ways); i++)
		if (!strcmp(ways[i].name, what)) {
			ways[i].commit();
			return all_as_expected ? 0 : -EPROTO;
		}
	pr_err("there is no such misuse: %s\n", what);
	return -EINVAL;
}

static int __init misuse_init(void)
{
	int ret;

	wheel = new_wheel("left behind", TWHEEL_CONTEXT_SOFTIRQ);
	if (IS_ERR(wheel))
		return PTR_ERR(wheel);
	ret = misuse_commit();
	if (ret)
		twheel_destroy(wheel);
	return ret;
}
module_init(misuse_init);

static void __exit misuse_exit(void)
{
	complete(&leaving);
	twheel_destroy(wheel);
}
module_exit(misuse_exit);

MODULE_DESCRIPTION("Misuse of timing wheels, to see it reported");
MODULE_LICENSE("GPL");
TW_IMPORT(TWHEEL);
