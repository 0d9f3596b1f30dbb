// SPDX-License-Identifier: GPL-2.0-only
/*
 * The contexts of callbacks: each callback runs in its context, and the rules of
 * callbacks hold in each of them.
 */
#include <linux/completion.h>
#include <linux/preempt.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/workqueue.h>

#include <linux/twheel_stats.h>
#include <linux/twheel_virtual.h>

#include "../module/core/base.h"
#include "smp.h"

/* A timer whose callback notes the context it runs in. */
struct observer {
	struct twheel_timer timer;
	bool softirq;
	bool process;
	bool irqs_off;
	bool bh_off;
	bool waited_for;
	bool finished;
	int result;
	int stopped;
	u64 delay;
	struct work_struct *work;
	atomic_t fired;
};

static struct observer *observer_new(struct kunit *test, struct twheel *wheel,
				     twheel_fn function)
{
	struct observer *observer = test_memory(test, sizeof(*observer));

	twheel_timer_init(&observer->timer, wheel, function);
	return observer;
}

static bool observer_fired(struct observer *observer, int times)
{
	/* Pairs with the release in observer_note_context(). */
	return atomic_read_acquire(&observer->fired) >= times;
}

static void observer_note_context(struct twheel_timer *timer)
{
	struct observer *observer = container_of(timer, struct observer, timer);

	observer->softirq = !in_hardirq() && in_serving_softirq();
	observer->process = in_task();
	observer->irqs_off = irqs_disabled();
	observer->bh_off = softirq_count();
	observer->work = observer->process ? current_work() : NULL;
	atomic_fetch_inc_release(&observer->fired);
}

static void observer_expect(struct kunit *test, const struct observer *observer,
			    enum twheel_context context)
{
	KUNIT_EXPECT_FALSE(test, observer->irqs_off);
	KUNIT_EXPECT_EQ(test, observer->softirq, context == TWHEEL_CONTEXT_SOFTIRQ);
	KUNIT_EXPECT_EQ(test, observer->process, context == TWHEEL_CONTEXT_WORK);
	KUNIT_EXPECT_EQ(test, !!observer->work, context == TWHEEL_CONTEXT_WORK);
}

/* In each context, and on a base for each CPU: @wheel_try has one timer with that callback. */
static void observers_try(struct kunit *test, twheel_fn function,
			  void (*wheel_try)(struct kunit *test, struct twheel *wheel,
					    struct observer *observer, enum twheel_context context))
{
	unsigned int i;

	for (i = 0; i < 2 * 2; i++) {
		struct twheel *wheel = wheel_with(test, .context = i / 2, .percpu = i % 2);

		wheel_try(test, wheel, observer_new(test, wheel, function), i / 2);
	}
}

static void wheel_runs_where_it_says(struct kunit *test, struct twheel *wheel,
				     struct observer *observer, enum twheel_context context)
{
	int times;

	for (times = 1; times <= 2; times++) {
		twheel_arm(&observer->timer, times == 1 ? 0 : 5 * MS);
		KUNIT_EXPECT_TRUE(test, await(observer_fired(observer, times)));
		observer_expect(test, observer, context);
	}
}

static void runs_where_it_says(struct kunit *test)
{
	observers_try(test, observer_note_context, wheel_runs_where_it_says);
}

/* A virtual clock has no interrupts; callbacks are restricted all the same. */
static void virtual_is_as_strict(struct kunit *test)
{
	enum twheel_context context;

	for_each_callback_context(context) {
		struct twheel *wheel = wheel_with(test, .context = context,
						  .clock = TWHEEL_CLOCK_VIRTUAL);
		struct observer *observer = observer_new(test, wheel, observer_note_context);

		twheel_arm(&observer->timer, MS);
		twheel_advance(wheel, MS);
		KUNIT_EXPECT_TRUE(test, observer_fired(observer, 1));
		KUNIT_EXPECT_FALSE(test, observer->irqs_off);
		KUNIT_EXPECT_EQ(test, observer->bh_off, context == TWHEEL_CONTEXT_SOFTIRQ);
	}
}

/* Arms itself for the past, ten times: each time it is due in the next pass. */
static void observer_sleep(struct twheel_timer *timer)
{
	struct observer *observer = container_of(timer, struct observer, timer);

	/* CONFIG_DEBUG_ATOMIC_SLEEP reports it in a context that must not sleep. */
	msleep(2);
	observer->result += softirq_count() != 0;
	if (atomic_read(&observer->fired) < 9)
		twheel_arm_at(timer, 1);
	observer_note_context(timer);
}

static void work_may_sleep(struct kunit *test)
{
	struct twheel *wheel = wheel_with(test, .context = TWHEEL_CONTEXT_WORK);
	struct observer *observer = observer_new(test, wheel, observer_sleep);

	twheel_arm(&observer->timer, 0);
	KUNIT_EXPECT_TRUE(test, await(observer_fired(observer, 10)));
	KUNIT_EXPECT_EQ(test, observer->result, 0);
	observer_expect(test, observer, TWHEEL_CONTEXT_WORK);
}

/* Threads that only work for a workqueue of ours when there is no memory for others. */
static unsigned int rescuer_count(void)
{
	struct task_struct *task;
	unsigned int n = 0;

	rcu_read_lock();
	/* 6.9 and newer, and older ones. Stopping one does not wait until it is gone. */
	for_each_process(task)
		n += !(task->flags & PF_EXITING) &&
		     (str_has_prefix(task->comm, "kworker/R-twhee") ||
		      str_has_prefix(task->comm, "twheel/"));
	rcu_read_unlock();
	return n;
}

/* A wheel's own workqueue has such a thread, for timeouts may be what frees memory. */
static void work_needs_no_memory(struct kunit *test)
{
	unsigned int before, percpu;
	struct twheel *wheel;

	/* As on the simulated machine of tools/test/simulation. */
	if (!WQ_MEM_RECLAIM)
		kunit_skip(test, "no workqueue has a thread of its own");
	for (percpu = 0; percpu < 2; percpu++) {
		before = rescuer_count();
		wheel = wheel_with(test, .context = TWHEEL_CONTEXT_WORK, .percpu = percpu);
		KUNIT_EXPECT_EQ(test, rescuer_count(), before + 1);
		wheel_end(test, wheel);
	}
}

/* Nothing else is pending: no alarm is to go off before the callback has ended. */
static void observer_sleep_unpolled(struct twheel_timer *timer)
{
	struct observer *observer = container_of(timer, struct observer, timer);
	const struct hrtimer *alarm = tw_clock_hrtimer(&timer->base->clock);
	unsigned int i;

	observer->result = 0;
	for (i = 0; i < 20; i++) {
		usleep_range(500, 1000);
		observer->result += hrtimer_is_queued((struct hrtimer *)alarm);
	}
	observer_note_context(timer);
}

/* A callback that sleeps is not polled, whatever may happen to the clock meanwhile. */
static void work_is_not_polled(struct kunit *test)
{
	struct twheel_config config = {
		.name = "kunit-unpolled", .context = TWHEEL_CONTEXT_WORK,
	};

	for (config.clock = 0; config.clock < TWHEEL_CLOCK_VIRTUAL; config.clock++) {
		struct twheel *wheel = wheel_new(test, &config);
		struct observer *observer = observer_new(test, wheel, observer_sleep_unpolled);

		twheel_arm_at(&observer->timer, twheel_now(wheel) + MS);
		KUNIT_EXPECT_TRUE(test, await(observer_fired(observer, 1)));
		KUNIT_EXPECT_EQ(test, observer->result, 0);
	}
}

static void work_nothing(struct work_struct *work)
{
}

/* Blocks an ordered workqueue: meanwhile no callback can run on it. */
struct queue_blocker {
	struct work_struct work;
	struct completion enter;
	struct completion leave;
};

static void queue_block(struct work_struct *work)
{
	struct queue_blocker *o = container_of(work, struct queue_blocker, work);

	complete(&o->enter);
	wait_for_completion_timeout(&o->leave, PATIENCE);
}

static void queue_block_begin(struct kunit *test, struct workqueue_struct *wq,
			      struct queue_blocker *blocker)
{
	init_completion(&blocker->enter);
	init_completion(&blocker->leave);
	queue_work(wq, &blocker->work);
	KUNIT_EXPECT_NE(test, wait_for_completion_timeout(&blocker->enter, PATIENCE), 0UL);
}

static void callers_workqueue(struct kunit *test)
{
	struct workqueue_struct *wq = alloc_ordered_workqueue("kunit", 0);
	struct work_struct alive, *work;
	struct queue_blocker blocker;
	struct twheel *wheel;
	struct observer *observer;

	KUNIT_ASSERT_NOT_NULL(test, wq);
	wheel = wheel_with(test, .context = TWHEEL_CONTEXT_WORK, .workqueue = wq);
	observer = observer_new(test, wheel, observer_note_context);
	INIT_WORK_ONSTACK(&blocker.work, queue_block);
	queue_block_begin(test, wq, &blocker);
	twheel_arm(&observer->timer, 0);
	msleep(50);
	KUNIT_EXPECT_FALSE_MSG(test, observer_fired(observer, 1), "on another workqueue");
	complete(&blocker.leave);
	KUNIT_EXPECT_TRUE(test, await(observer_fired(observer, 1)));
	observer_expect(test, observer, TWHEEL_CONTEXT_WORK);

	/* What waits in it is taken out of it by a stop. */
	queue_block_begin(test, wq, &blocker);
	twheel_arm(&observer->timer, 0);
	work = &READ_ONCE(observer->timer.base)->clock.work;
	KUNIT_EXPECT_TRUE(test, await(work_pending(work)));
	KUNIT_EXPECT_EQ(test, twheel_stop(wheel, NULL, NULL), 1);
	KUNIT_EXPECT_FALSE(test, work_pending(work));
	complete(&blocker.leave);
	flush_work(&blocker.work);
	KUNIT_EXPECT_FALSE(test, observer_fired(observer, 2));

	/* The caller's workqueue outlives the wheel. */
	wheel_end(test, wheel);
	INIT_WORK_ONSTACK(&alive, work_nothing);
	KUNIT_EXPECT_TRUE(test, queue_work(wq, &alive));
	flush_work(&alive);
	destroy_workqueue(wq);
	destroy_work_on_stack(&alive);
	destroy_work_on_stack(&blocker.work);
}

static void context_expect_refused(struct kunit *test)
{
	struct twheel_config bad[] = {
		{ .context = TWHEEL_CONTEXT_WORK + 1 },
		{ .context = -1 },
		{ .context = TWHEEL_CONTEXT_SOFTIRQ, .workqueue = system_long_wq },
	};
	struct twheel_config good = {
		.context = TWHEEL_CONTEXT_WORK, .workqueue = system_long_wq,
	};
	struct twheel *wheel;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		wheel = twheel_create(&bad[i]);
		KUNIT_EXPECT_EQ_MSG(test, PTR_ERR_OR_ZERO(wheel), -EINVAL, "bad[%u]", i);
		KUNIT_EXPECT_FALSE(test, tw_base_valid(&bad[i]));
	}
	KUNIT_EXPECT_TRUE(test, tw_base_valid(&good));
}

/* Waiting for callbacks. */

static void observer_linger(struct twheel_timer *timer)
{
	struct observer *observer = container_of(timer, struct observer, timer);
	unsigned int i;

	observer_note_context(timer);
	for (i = 0; i < 1000 && !READ_ONCE(observer->waited_for); i++) {
		if (observer->process)
			usleep_range(100, 200);
		else
			spin_ns(100 * US);
	}
	/* The waiter already waits, or finds that this has finished. */
	spin_ns(500 * US);
	if (observer->delay)
		twheel_arm(timer, observer->delay);
	WRITE_ONCE(observer->finished, true);
}

static int observer_stop_wheel(struct twheel_timer *timer)
{
	return twheel_stop(twheel_of(timer), NULL, NULL);
}

/* A call that waits does so until the callback has ended, on another CPU. Returns its result. */
static int observer_await(struct kunit *test, struct twheel *wheel, bool arms,
			  int (*call)(struct twheel_timer *timer))
{
	struct observer *observer = observer_new(test, wheel, observer_linger);
	int ret;

	observer->delay = arms ? HOUR : 0;
	twheel_arm_on(&observer->timer, cpu_last(), 0);
	KUNIT_EXPECT_TRUE(test, await(observer_fired(observer, 1)));
	if (arms)
		twheel_arm(&observer->timer, HOUR);
	WRITE_ONCE(observer->waited_for, true);
	ret = call(&observer->timer);
	KUNIT_EXPECT_TRUE_MSG(test, READ_ONCE(observer->finished), "did not wait");
	KUNIT_EXPECT_FALSE(test, twheel_pending(&observer->timer));
	return ret;
}

/* What is armed here, and once more by the callback that runs, is cancelled once. */
static void sync_and_stop_wait(struct kunit *test)
{
	struct twheel_stats stats;
	unsigned int i, k;

	set_cpus_allowed_ptr(current, cpumask_of(cpu_first()));
	/* context, per CPU */
	for (i = 0; i < 2 * 2; i++) {
		struct twheel *wheel = wheel_with(test, .context = i / 2, .percpu = i % 2);

		for (k = 0; k < 16; k++)
			KUNIT_EXPECT_EQ(test, observer_await(test, wheel, k / 8, k % 2 ?
							     twheel_shutdown_sync :
							     twheel_cancel_sync), k / 8);
		twheel_get_stats(wheel, &stats);
		KUNIT_EXPECT_EQ_MSG(test, stats.cancelled, 8, "more often than it said");
		KUNIT_EXPECT_EQ(test, observer_await(test, wheel, false, observer_stop_wheel), 0);
	}
}

static void observer_deadlock(struct twheel_timer *timer)
{
	struct observer *observer = container_of(timer, struct observer, timer);
	struct twheel *wheel = twheel_of(timer);

	observer->result = twheel_cancel_sync(timer);
	observer->stopped = twheel_shutdown_sync(timer);
	if (observer->stopped == -EDEADLK)
		observer->stopped = twheel_stop(wheel, NULL, NULL);
	if (observer->stopped == -EDEADLK)
		observer->stopped = twheel_destroy(wheel);
	observer_note_context(timer);
}

static void wheel_expect_deadlock(struct kunit *test, struct twheel *wheel,
				  struct observer *observer, enum twheel_context context)
{
	twheel_arm(&observer->timer, 0);
	KUNIT_EXPECT_TRUE(test, await(observer_fired(observer, 1)));
	KUNIT_EXPECT_EQ(test, observer->result, -EDEADLK);
	KUNIT_EXPECT_EQ(test, observer->stopped, -EDEADLK);
	KUNIT_EXPECT_EQ(test, twheel_arm(&observer->timer, HOUR), 0);
	KUNIT_EXPECT_EQ(test, twheel_stop(wheel, NULL, NULL), 1);
}

static void not_from_own_callback(struct kunit *test)
{
	observers_try(test, observer_deadlock, wheel_expect_deadlock);
}

static void observer_rearm(struct twheel_timer *timer)
{
	struct observer *observer = container_of(timer, struct observer, timer);

	observer_note_context(timer);
	spin_ns(2 * US);
	twheel_arm(timer, observer->delay);
}

/* Callbacks that always arm themselves for now must not starve others. */
static void leaves_room(struct kunit *test)
{
	struct observer *observers[100];
	enum twheel_context context;
	unsigned int i;

	for_each_callback_context(context) {
		struct twheel *wheel = wheel_with(test, .context = context, .percpu = true);
		struct oneshot *oneshot = oneshots_new(test, wheel, 1);

		for (i = 0; i < ARRAY_SIZE(observers); i++) {
			observers[i] = observer_new(test, wheel, observer_rearm);
			twheel_arm(&observers[i]->timer, 0);
		}
		/* This thread goes on, and so does another timer. */
		oneshot->deadline = twheel_now(wheel) + 20 * MS;
		twheel_arm(&oneshot->timer, 20 * MS);
		msleep(50);
		oneshots_expect(test, oneshot, 1);
		KUNIT_EXPECT_TRUE(test, await(observer_fired(observers[99], 3)));
		KUNIT_EXPECT_TRUE(test, await(observer_fired(observers[0], 3)));
		KUNIT_EXPECT_GE(test, twheel_stop(wheel, NULL, NULL), 0);
	}
}

static struct kunit_case context_cases[] = {
	KUNIT_CASE(runs_where_it_says),
	KUNIT_CASE(virtual_is_as_strict),
	KUNIT_CASE(work_may_sleep),
	KUNIT_CASE(work_needs_no_memory),
	KUNIT_CASE(work_is_not_polled),
	KUNIT_CASE(callers_workqueue),
	KUNIT_CASE(context_expect_refused),
	KUNIT_CASE(sync_and_stop_wait),
	KUNIT_CASE(not_from_own_callback),
	KUNIT_CASE(leaves_room),
	{ }
};

static struct kunit_suite twheel_context_suite = {
	.name		= "twheel_context",
	.exit		= smp_test_exit,
	.test_cases	= context_cases,
};

kunit_test_suite(twheel_context_suite);
