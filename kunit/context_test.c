// SPDX-License-Identifier: GPL-2.0-only
/*
 * The contexts of callbacks: each runs where it says, and all that holds for
 * callbacks holds in each of them.
 */
#include <linux/completion.h>
#include <linux/preempt.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/workqueue.h>

#include "live.h"

static struct twheel *context_wheel(struct kunit *test,
				    enum twheel_context context, bool percpu)
{
	struct twheel_config config = {
		.name = "kunit-context", .context = context, .percpu = percpu,
	};

	return live_wheel(test, &config);
}

/* A timer that looks around. */
struct look {
	struct twheel_timer timer;
	bool hardirq;
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

static struct look *new_look(struct kunit *test, struct twheel *wheel,
			     twheel_fn function)
{
	struct look *look = kunit_kzalloc(test, sizeof(*look), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, look);
	twheel_timer_init(&look->timer, wheel, function);
	return look;
}

static bool has_fired(struct look *look, int times)
{
	/* Pairs with the release where it is counted. */
	return atomic_read_acquire(&look->fired) >= times;
}

static void look_around(struct twheel_timer *timer)
{
	struct look *look = container_of(timer, struct look, timer);

	look->hardirq = in_hardirq();
	look->softirq = !in_hardirq() && in_serving_softirq();
	look->process = in_task();
	look->irqs_off = irqs_disabled();
	look->bh_off = softirq_count();
	look->work = look->process ? current_work() : NULL;
	atomic_fetch_inc_release(&look->fired);
}

static void expect_context(struct kunit *test, const struct look *look,
			   enum twheel_context context)
{
	bool hard = context == TWHEEL_CONTEXT_HARDIRQ;

	KUNIT_EXPECT_EQ(test, look->hardirq, hard);
	KUNIT_EXPECT_EQ(test, look->irqs_off, hard);
	KUNIT_EXPECT_EQ(test, look->softirq,
			context == TWHEEL_CONTEXT_SOFTIRQ);
	KUNIT_EXPECT_EQ(test, look->process, context == TWHEEL_CONTEXT_WORK);
	KUNIT_EXPECT_EQ(test, !!look->work, context == TWHEEL_CONTEXT_WORK);
}

#define for_each_context(context)					\
	for ((context) = TWHEEL_CONTEXT_SOFTIRQ;			\
	     (context) <= TWHEEL_CONTEXT_WORK; (context)++)

static void runs_where_it_says(struct kunit *test)
{
	enum twheel_context context;
	unsigned int percpu;

	for_each_context(context) {
		for (percpu = 0; percpu < 2; percpu++) {
			struct twheel *wheel;
			struct look *look;

			wheel = context_wheel(test, context, percpu);
			look = new_look(test, wheel, look_around);
			twheel_arm(&look->timer, 0);
			KUNIT_EXPECT_TRUE(test, await(has_fired(look, 1)));
			expect_context(test, look, context);
			twheel_arm(&look->timer, 5 * MS);
			KUNIT_EXPECT_TRUE(test, await(has_fired(look, 2)));
			expect_context(test, look, context);
			twheel_destroy(wheel);
		}
	}
}

/* A virtual clock has no interrupts; what callbacks may do is as ever. */
static void virtual_is_as_strict(struct kunit *test)
{
	struct twheel_config config = { .clock = TWHEEL_CLOCK_VIRTUAL };
	struct twheel *wheel;
	struct look *look;

	for_each_context(config.context) {
		wheel = live_wheel(test, &config);
		look = new_look(test, wheel, look_around);
		twheel_arm(&look->timer, MS);
		twheel_advance(wheel, MS);
		KUNIT_EXPECT_TRUE(test, has_fired(look, 1));
		KUNIT_EXPECT_EQ(test, look->irqs_off,
				config.context == TWHEEL_CONTEXT_HARDIRQ);
		KUNIT_EXPECT_EQ(test, look->bh_off,
				config.context == TWHEEL_CONTEXT_SOFTIRQ);
		twheel_destroy(wheel);
	}
}

static void never_early_in_any(struct kunit *test)
{
	enum twheel_context context;

	for_each_context(context) {
		struct twheel *wheel = context_wheel(test, context, false);
		unsigned int i, n = 500;
		struct shot *shots = new_shots(test, wheel, n);
		u32 seed = 31;

		for (i = 0; i < n; i++) {
			u64 delay = roll(&seed) % (100 * (u32)MS);

			shots[i].deadline = twheel_now(wheel) + delay;
			twheel_arm(&shots[i].timer, delay);
		}
		expect_shots(test, shots, n);
		twheel_destroy(wheel);
	}
}

static void sleepy(struct twheel_timer *timer)
{
	struct look *look = container_of(timer, struct look, timer);

	/* CONFIG_DEBUG_ATOMIC_SLEEP complains where that is not allowed. */
	msleep(20);
	look_around(timer);
	if (atomic_read(&look->fired) < 3)
		twheel_arm(timer, 0);
}

static void work_may_sleep(struct kunit *test)
{
	struct twheel *wheel = context_wheel(test, TWHEEL_CONTEXT_WORK, false);
	struct look *look = new_look(test, wheel, sleepy);
	struct twheel_stats stats;

	twheel_arm(&look->timer, 0);
	KUNIT_EXPECT_TRUE(test, await(has_fired(look, 3)));
	expect_context(test, look, TWHEEL_CONTEXT_WORK);
	twheel_get_stats(wheel, &stats);
	KUNIT_EXPECT_EQ_MSG(test, stats.overruns, 0,
			    "in process context nothing takes too long");
	twheel_destroy(wheel);
}

static void not_on_this(struct work_struct *work)
{
}

/* A queue of one item at a time: while it is busy, no callback runs. */
struct occupant {
	struct work_struct work;
	struct completion enter;
	struct completion leave;
};

static void occupy(struct work_struct *work)
{
	struct occupant *o = container_of(work, struct occupant, work);

	complete(&o->enter);
	wait_for_completion_timeout(&o->leave, PATIENCE);
}

static void callers_workqueue(struct kunit *test)
{
	struct workqueue_struct *wq = alloc_ordered_workqueue("kunit", 0);
	struct twheel_config config = {
		.context = TWHEEL_CONTEXT_WORK, .workqueue = wq,
	};
	struct work_struct alive;
	struct occupant occupant;
	struct twheel *wheel;
	struct look *look;

	KUNIT_ASSERT_NOT_NULL(test, wq);
	wheel = live_wheel(test, &config);
	look = new_look(test, wheel, look_around);
	init_completion(&occupant.enter);
	init_completion(&occupant.leave);
	INIT_WORK_ONSTACK(&occupant.work, occupy);
	queue_work(wq, &occupant.work);
	KUNIT_EXPECT_NE(test, wait_for_completion_timeout(&occupant.enter,
							  PATIENCE), 0UL);
	twheel_arm(&look->timer, 0);
	msleep(50);
	KUNIT_EXPECT_FALSE_MSG(test, has_fired(look, 1),
			       "on another workqueue");
	complete(&occupant.leave);
	KUNIT_EXPECT_TRUE(test, await(has_fired(look, 1)));
	expect_context(test, look, TWHEEL_CONTEXT_WORK);

	/* The queue is the caller's: it outlives the wheel. */
	twheel_destroy(wheel);
	INIT_WORK_ONSTACK(&alive, not_on_this);
	KUNIT_EXPECT_TRUE(test, queue_work(wq, &alive));
	flush_work(&alive);
	destroy_workqueue(wq);
	destroy_work_on_stack(&alive);
	destroy_work_on_stack(&occupant.work);
}

static void refuses(struct kunit *test)
{
	struct twheel_config bad[] = {
		{ .context = TWHEEL_CONTEXT_WORK + 1 },
		{ .context = -1 },
		{ .context = TWHEEL_CONTEXT_SOFTIRQ, .workqueue = system_long_wq },
		{ .context = TWHEEL_CONTEXT_HARDIRQ, .workqueue = system_long_wq },
	};
	struct twheel_config good = {
		.context = TWHEEL_CONTEXT_WORK, .workqueue = system_long_wq,
	};
	struct twheel_geometry geometry;
	struct twheel *wheel;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		wheel = twheel_create(&bad[i]);
		KUNIT_EXPECT_EQ_MSG(test, PTR_ERR_OR_ZERO(wheel), -EINVAL,
				    "bad[%u]", i);
		KUNIT_EXPECT_EQ(test, twheel_plan(&bad[i], &geometry),
				-EINVAL);
	}
	KUNIT_EXPECT_EQ(test, twheel_plan(&good, &geometry), 0);
}

/* Waiting for callbacks. */

static void linger(struct twheel_timer *timer)
{
	struct look *look = container_of(timer, struct look, timer);
	unsigned int i;

	look_around(timer);
	for (i = 0; i < 1000 && !READ_ONCE(look->waited_for); i++) {
		if (look->process)
			usleep_range(100, 200);
		else
			busy(100 * US);
	}
	/* By now whoever waits is at it, or will find this. */
	busy(500 * US);
	WRITE_ONCE(look->finished, true);
}

static void await_callback(struct kunit *test, struct twheel *wheel, bool stop,
			   int cpu)
{
	struct look *look = new_look(test, wheel, linger);

	twheel_arm_on(&look->timer, cpu, 0);
	KUNIT_EXPECT_TRUE(test, await(has_fired(look, 1)));
	WRITE_ONCE(look->waited_for, true);
	if (stop)
		KUNIT_EXPECT_EQ(test, twheel_stop(wheel, NULL, NULL), 0);
	else
		KUNIT_EXPECT_EQ(test, twheel_cancel_sync(&look->timer), 0);
	KUNIT_EXPECT_TRUE_MSG(test, READ_ONCE(look->finished),
			      "did not wait");
	KUNIT_EXPECT_FALSE(test, twheel_pending(&look->timer));
}

static void sync_and_stop_wait(struct kunit *test)
{
	int here = cpumask_first(cpu_online_mask);
	int there = cpumask_last(cpu_online_mask);
	enum twheel_context context;
	unsigned int i;

	set_cpus_allowed_ptr(current, cpumask_of(here));
	for_each_context(context) {
		struct twheel *wheel = context_wheel(test, context, true);

		for (i = 0; i < 10; i++)
			await_callback(test, wheel, false, there);
		await_callback(test, wheel, true, there);
		twheel_destroy(wheel);
	}
	set_cpus_allowed_ptr(current, cpu_possible_mask);
}

static void deadlock(struct twheel_timer *timer)
{
	struct look *look = container_of(timer, struct look, timer);
	struct twheel *wheel = twheel_of(timer);

	/* The syncs are not for hard interrupt context at all. */
	look->result = in_hardirq() ? -EDEADLK : twheel_cancel_sync(timer);
	look->stopped = in_hardirq() ? -EDEADLK : twheel_shutdown_sync(timer);
	if (look->stopped == -EDEADLK)
		look->stopped = twheel_stop(wheel, NULL, NULL);
	if (look->stopped == -EDEADLK)
		look->stopped = twheel_destroy(wheel);
	look_around(timer);
}

static void not_from_own_callback(struct kunit *test)
{
	enum twheel_context context;
	unsigned int percpu;

	for_each_context(context) {
		for (percpu = 0; percpu < 2; percpu++) {
			struct twheel *wheel;
			struct look *look;

			wheel = context_wheel(test, context, percpu);
			look = new_look(test, wheel, deadlock);
			twheel_arm(&look->timer, 0);
			KUNIT_EXPECT_TRUE(test, await(has_fired(look, 1)));
			KUNIT_EXPECT_EQ(test, look->result, -EDEADLK);
			KUNIT_EXPECT_EQ(test, look->stopped, -EDEADLK);
			KUNIT_EXPECT_EQ(test, twheel_arm(&look->timer, HOUR),
					0);
			KUNIT_EXPECT_EQ(test, twheel_stop(wheel, NULL, NULL),
					1);
			twheel_destroy(wheel);
		}
	}
}

static void again(struct twheel_timer *timer)
{
	struct look *look = container_of(timer, struct look, timer);

	look_around(timer);
	busy(2 * US);
	twheel_arm(timer, look->delay);
}

/* However many callbacks arm themselves for now, others get on. */
static void leaves_room(struct kunit *test)
{
	enum twheel_context context;
	unsigned int i, n = 300;

	for_each_context(context) {
		struct twheel *wheel = context_wheel(test, context, true);
		struct look **looks;
		struct shot *shot = new_shots(test, wheel, 1);

		looks = kunit_kcalloc(test, n, sizeof(*looks), GFP_KERNEL);
		KUNIT_ASSERT_NOT_NULL(test, looks);
		for (i = 0; i < n; i++) {
			looks[i] = new_look(test, wheel, again);
			twheel_arm(&looks[i]->timer, 0);
		}
		/* This thread, to begin with; and a timer among them. */
		shot->deadline = twheel_now(wheel) + 20 * MS;
		twheel_arm(&shot->timer, 20 * MS);
		msleep(50);
		expect_shots(test, shot, 1);
		KUNIT_EXPECT_TRUE(test, await(has_fired(looks[n - 1], 3)));
		KUNIT_EXPECT_TRUE(test, await(has_fired(looks[0], 3)));
		KUNIT_EXPECT_GE(test, twheel_stop(wheel, NULL, NULL), 0);
		twheel_destroy(wheel);
	}
}

static struct kunit_case context_cases[] = {
	KUNIT_CASE(runs_where_it_says),
	KUNIT_CASE(virtual_is_as_strict),
	KUNIT_CASE(never_early_in_any),
	KUNIT_CASE(work_may_sleep),
	KUNIT_CASE(callers_workqueue),
	KUNIT_CASE(refuses),
	KUNIT_CASE(sync_and_stop_wait),
	KUNIT_CASE(not_from_own_callback),
	KUNIT_CASE(leaves_room),
	{ }
};

struct kunit_suite twheel_context_suite = {
	.name		= "twheel_context",
	.test_cases	= context_cases,
};
