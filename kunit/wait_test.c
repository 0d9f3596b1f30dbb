// SPDX-License-Identifier: GPL-2.0-only
/*
 * Waiting for a callback. It takes one callback, however the timer arms itself and
 * whatever else is due. It is for that timer, and not for another one at its address.
 */
#include <linux/cpumask.h>
#include <linux/debug_locks.h>
#include <linux/sched.h>
#include <linux/tracepoint.h>

#include <linux/twheel_state.h>

#include "../module/core/base.h"
#include "smp.h"

/* A thread's work takes long beside its tick: the next one is due when it has ended. */
static struct twheel *wait_wheel(struct kunit *test, enum twheel_context context,
				 bool percpu)
{
	return wheel_with(test, .context = context, .percpu = percpu,
			  .tick_ns = context == TWHEEL_CONTEXT_WORK ? NSEC_PER_USEC : 0);
}

/**
 * struct self_armer - a timer that arms itself for now, for as long as it is let
 * @timer: the timer
 * @calls: how often it was called
 * @end: jiffies at which it stops, if it is not cancelled
 */
struct self_armer {
	struct twheel_timer timer;
	atomic_t calls;
	unsigned long end;
};

static void self_armer_fire(struct twheel_timer *timer)
{
	struct self_armer *armer = container_of(timer, struct self_armer, timer);

	atomic_inc(&armer->calls);
	if (in_task())
		usleep_range(1000, 2000);
	else
		spin_ns(100 * US);
	if (time_before(jiffies, armer->end))
		twheel_arm(timer, 0);
}

/* Once it is cancelled, at most the callback that ran was still to end. */
static void self_arming_timer_is_cancelled(struct kunit *test)
{
	int round, before, after;

	for (round = 0; round < 2 * 20; round++) {
		enum twheel_context context = round / 20;
		struct self_armer *armer = test_memory(test, sizeof(*armer));

		twheel_timer_init(&armer->timer, wait_wheel(test, context, false), self_armer_fire);
		armer->end = jiffies + PATIENCE;
		twheel_arm(&armer->timer, 0);
		KUNIT_EXPECT_TRUE(test, await(atomic_read(&armer->calls) > 2));
		before = atomic_read(&armer->calls);
		KUNIT_EXPECT_EQ(test, twheel_cancel_sync(&armer->timer), 1);
		after = atomic_read(&armer->calls);
		/* One more may have begun between the look and the call. */
		if (context == TWHEEL_CONTEXT_WORK)
			KUNIT_EXPECT_LE(test, after, before + 2);
		KUNIT_EXPECT_TRUE(test, time_before(jiffies, armer->end));
		KUNIT_EXPECT_FALSE(test, twheel_pending(&armer->timer));
		KUNIT_EXPECT_EQ(test, atomic_read(&armer->calls), after);
	}
}

#define NR_BACKLOG	1500

/**
 * struct backlog - many timers that are due at once
 * @timers: the timers
 * @calls: how many callbacks were called
 * @inside: the first one's callback runs
 * @waiting: somebody is about to wait for that
 */
struct backlog {
	struct twheel_timer timers[NR_BACKLOG];
	atomic_t calls;
	atomic_t inside;
	atomic_t waiting;
};

static void backlog_fire(struct twheel_timer *timer)
{
	struct backlog *backlog = twheel_data(twheel_of(timer));
	u64 end = ktime_get_ns() + 200 * MS;

	if (atomic_inc_return(&backlog->calls) == 1) {
		atomic_set(&backlog->inside, 1 + (timer - backlog->timers));
		while (!atomic_read(&backlog->waiting) && ktime_get_ns() < end)
			cpu_relax();
		spin_ns(2 * MS);
		return;
	}
	spin_ns(MS);
}

static int backlog_arm(void *arg)
{
	struct backlog *backlog = arg;
	unsigned int i;

	for (i = 0; i < NR_BACKLOG; i++)
		twheel_arm(&backlog->timers[i], 50 * MS);
	return 0;
}

static int backlog_cancel(void *arg)
{
	struct backlog *backlog = arg;

	if (!await(atomic_read(&backlog->inside)))
		return -ETIMEDOUT;
	atomic_set(&backlog->waiting, 1);
	twheel_cancel_sync(&backlog->timers[atomic_read(&backlog->inside) - 1]);
	return atomic_read(&backlog->calls);
}

static void backlog_is_not_waited_for(struct kunit *test)
{
	struct backlog *backlog;
	struct twheel *wheel;
	unsigned int i;
	int calls;

	test_needs_two_cpus(test);
	backlog = test_memory(test, sizeof(*backlog));
	wheel = wheel_with(test, .percpu = true, .data = backlog);
	for (i = 0; i < NR_BACKLOG; i++)
		twheel_timer_init(&backlog->timers[i], wheel, backlog_fire);
	cpu_run(cpu_last(), backlog_arm, backlog);
	calls = cpu_run(cpu_first(), backlog_cancel, backlog);
	KUNIT_EXPECT_GT(test, calls, 0);
	/* Of a second and more; a busy machine may be late by much of that. */
	KUNIT_EXPECT_LT(test, calls, 900);
}

/**
 * struct reused - a timer whose callback makes a new one in its place
 * @timer: the timer, then the new one
 * @shutdown: what its shutdown said, from the callback
 * @before: it was pending before that
 * @after: and after
 * @done: the callback is through
 */
struct reused {
	struct twheel_timer timer;
	int shutdown;
	bool before;
	bool after;
	atomic_t done;
};

static void reused_new_fire(struct twheel_timer *timer)
{
}

static void reused_fire(struct twheel_timer *timer)
{
	struct reused *reused = container_of(timer, struct reused, timer);
	struct twheel *wheel = twheel_of(timer);

	/* As if it were freed here, and its memory allocated again. */
	twheel_timer_init(&reused->timer, wheel, reused_new_fire);
	twheel_arm(&reused->timer, HOUR);
	reused->before = twheel_pending(&reused->timer);
	reused->shutdown = twheel_shutdown_sync(&reused->timer);
	reused->after = twheel_pending(&reused->timer);
	atomic_set(&reused->done, 1);
}

static void timer_at_the_same_address(struct kunit *test)
{
	struct reused *reused;
	struct twheel *wheel;
	unsigned int i;

	/* context, per CPU */
	for (i = 0; i < 2 * 2; i++) {
		wheel = wait_wheel(test, i / 2, i % 2);
		reused = test_memory(test, sizeof(*reused));
		twheel_timer_init(&reused->timer, wheel, reused_fire);
		twheel_arm(&reused->timer, 0);
		KUNIT_EXPECT_TRUE(test, await(atomic_read(&reused->done)));
		KUNIT_EXPECT_TRUE(test, reused->before);
		KUNIT_EXPECT_EQ(test, reused->shutdown, 1);
		KUNIT_EXPECT_FALSE(test, reused->after);
		KUNIT_EXPECT_EQ(test, twheel_arm(&reused->timer, 0), -ESHUTDOWN);
	}
}

#define NR_SLEEPERS	250

/**
 * struct bedroom - tasks that wait for one callback that sleeps
 * @timer: the timer
 * @release: the callback may end
 * @asleep: tasks that wait, or are about to
 * @cancelled: how many were told that they have cancelled the timer
 */
struct bedroom {
	struct twheel_timer timer;
	atomic_t release;
	atomic_t asleep;
	atomic_t cancelled;
};

static void bedroom_fire(struct twheel_timer *timer)
{
	struct bedroom *bedroom = container_of(timer, struct bedroom, timer);

	(void)await(atomic_read(&bedroom->release));
	twheel_arm(timer, HOUR);
}

static int bedroom_sleep(void *arg, unsigned int number)
{
	struct bedroom *bedroom = arg;

	atomic_inc(&bedroom->asleep);
	if (twheel_cancel_sync(&bedroom->timer) == 1)
		atomic_inc(&bedroom->cancelled);
	return 0;
}

#if defined(CONFIG_TRACE_IRQFLAGS) && defined(CONFIG_TRACEPOINTS)
/**
 * struct wakes - what a base's pass wakes
 * @base: the base
 * @woken: how many tasks it has woken
 * @masked: how many of them without letting interrupts in since the one before
 * @event: the number that lockdep gave to the last moment at which it let them in
 */
struct wakes {
	const struct twheel_base *base;
	unsigned int woken;
	unsigned int masked;
	unsigned int event;
};

static struct tracepoint *wakes_point;

static void wakes_note_point(struct tracepoint *point, void *none)
{
	if (!strcmp(point->name, "sched_waking"))
		wakes_point = point;
}

/* Interrupts are off here, in any case. */
static void on_sched_waking(void *data, struct task_struct *task)
{
	unsigned int event = current->irqtrace.hardirq_enable_event;
	struct wakes *wakes = data;

	if (!in_task() || READ_ONCE(wakes->base->runner) != current)
		return;
	if (wakes->woken++)
		wakes->masked += event == wakes->event;
	wakes->event = event;
}

static void wakes_watch(struct kunit *test, struct wakes *wakes)
{
	for_each_kernel_tracepoint(wakes_note_point, NULL);
	KUNIT_ASSERT_NOT_NULL(test, wakes_point);
	KUNIT_ASSERT_EQ(test, tracepoint_probe_register(wakes_point, on_sched_waking, wakes), 0);
}

static void wakes_judge(struct kunit *test, struct wakes *wakes, unsigned int sleepers)
{
	tracepoint_probe_unregister(wakes_point, on_sched_waking, wakes);
	tracepoint_synchronize_unregister();
	/* Those that had yet to fall asleep were not woken. */
	KUNIT_EXPECT_GT(test, wakes->woken, sleepers / 2);
	/* Once it has found a fault, lockdep follows interrupts no more. */
	if (debug_locks)
		KUNIT_EXPECT_EQ(test, wakes->masked, 0);
}
#else
struct wakes {
	const struct twheel_base *base;
};

static void wakes_watch(struct kunit *test, struct wakes *wakes)
{
}

static void wakes_judge(struct kunit *test, struct wakes *wakes, unsigned int sleepers)
{
}
#endif

/*
 * One of them is told that it has cancelled what the callback has armed. They are many, so
 * interrupts are on between one and the next.
 */
static void all_waiters_are_woken(struct kunit *test)
{
	struct twheel *wheel = wait_wheel(test, TWHEEL_CONTEXT_WORK, false);
	struct bedroom *bedroom;
	struct wakes wakes = { };
	unsigned int sleepers;
	struct crew crew;

	bedroom = test_memory(test, sizeof(*bedroom));
	twheel_timer_init(&bedroom->timer, wheel, bedroom_fire);
	twheel_arm(&bedroom->timer, 0);
	KUNIT_EXPECT_TRUE(test, await(twheel_state(&bedroom->timer) == TWHEEL_FIRED));
	sleepers = crew_start(test, &crew, NR_SLEEPERS / num_online_cpus(), true, bedroom_sleep,
			      bedroom);
	KUNIT_EXPECT_TRUE(test, await(atomic_read(&bedroom->asleep) == sleepers));
	msleep(50);
	wakes.base = READ_ONCE(bedroom->timer.base);
	wakes_watch(test, &wakes);
	atomic_set(&bedroom->release, 1);
	crew_wait(test, &crew);
	wakes_judge(test, &wakes, sleepers);
	KUNIT_EXPECT_EQ(test, atomic_read(&bedroom->cancelled), 1);
	KUNIT_EXPECT_FALSE(test, twheel_pending(&bedroom->timer));
	KUNIT_EXPECT_EQ(test, twheel_arm(&bedroom->timer, HOUR), 0);
}

#define NR_SERIES	100

/* Timers that are due at once, and the one whose callback runs. */
struct series {
	struct twheel_timer timers[NR_SERIES];
	atomic_t calls;
	atomic_t running;
};

static void series_fire(struct twheel_timer *timer)
{
	struct series *series = twheel_data(twheel_of(timer));

	atomic_set(&series->running, timer - series->timers);
	spin_ns(2 * MS);
	atomic_inc(&series->calls);
}

/* Wait for callback after callback of one pass, as long as there are any. */
static int series_wait(void *arg)
{
	struct series *series = arg;
	unsigned long end = jiffies + PATIENCE;

	while (atomic_read(&series->calls) < NR_SERIES && time_before(jiffies, end)) {
		int i = atomic_read(&series->running);

		/* It spins, but for PREEMPT_RT, where it blocks. */
		if (!IS_ENABLED(CONFIG_PREEMPT_RT))
			local_bh_disable();
		if (i >= 0)
			twheel_cancel_sync(&series->timers[i]);
		if (!IS_ENABLED(CONFIG_PREEMPT_RT))
			local_bh_enable();
		cond_resched();
	}
	return 0;
}

static void waits_within_one_pass(struct kunit *test)
{
	struct twheel_timer *timer;
	struct series *series;
	struct twheel *wheel;

	test_needs_two_cpus(test);
	series = test_memory(test, sizeof(*series));
	wheel = wheel_with(test, .percpu = true, .data = series);
	atomic_set(&series->running, -1);
	for (timer = series->timers; timer < series->timers + NR_SERIES; timer++) {
		twheel_timer_init(timer, wheel, series_fire);
		twheel_arm_on(timer, cpu_last(), 50 * MS);
	}
	cpu_run(cpu_first(), series_wait, series);
	KUNIT_EXPECT_EQ(test, atomic_read(&series->calls), NR_SERIES);
}

static struct kunit_case wait_cases[] = {
	KUNIT_CASE(self_arming_timer_is_cancelled),
	KUNIT_CASE(backlog_is_not_waited_for),
	KUNIT_CASE(timer_at_the_same_address),
	KUNIT_CASE(all_waiters_are_woken),
	KUNIT_CASE(waits_within_one_pass),
	{ }
};

static struct kunit_suite twheel_wait_suite = {
	.name		= "twheel_wait",
	.exit		= smp_test_exit,
	.test_cases	= wait_cases,
};

kunit_test_suite(twheel_wait_suite);
