// SPDX-License-Identifier: GPL-2.0-only
/*
 * What is no deadlock is not reported as one.
 *
 * Each case does what lockdep has to accept, and looks whether lockdep has given up since.
 * In a kernel without lockdep the same code has to work. What lockdep has to report is in
 * tools/test/device/misuse, for a kernel makes one such report and no more.
 */
#include <linux/debug_locks.h>
#include <linux/delay.h>
#include <linux/preempt.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/spinlock.h>

#include <linux/twheel_idle.h>
#include <linux/twheel_periodic.h>

#include "smp.h"

/* Two of everything; the callback of the first ones waits for the second. */
struct pair {
	struct kunit *test;
	struct twheel *wheel;
	struct twheel *other;
	struct twheel_timer timer[2];
	struct twheel_periodic periodic[2];
	struct twheel_idle idle[2];
	atomic_t called;
	int result;
};

static struct pair *pair_new(struct kunit *test, enum twheel_context context, bool percpu)
{
	struct pair *pair = test_memory(test, sizeof(*pair));

	pair->test = test;
	pair->wheel = wheel_with(test, .context = context, .percpu = percpu);
	pair->result = UNTOUCHED;
	return pair;
}

static void pair_called(struct pair *pair, int result)
{
	pair->result = result;
	/* Pairs with pair_expect(). */
	atomic_inc_return_release(&pair->called);
}

/* Wait for so many calls, the last of which had this result. */
static void pair_expect(struct pair *pair, int calls, int result)
{
	KUNIT_EXPECT_TRUE(pair->test, await(atomic_read_acquire(&pair->called) >= calls));
	KUNIT_EXPECT_EQ(pair->test, pair->result, result);
}

static void pair_end(struct pair *pair, int locks)
{
	wheel_end(pair->test, pair->wheel);
	/* Lockdep turns itself off when it has something to report. */
	KUNIT_EXPECT_EQ(pair->test, debug_locks, locks);
}

static void destroy_other(struct twheel_timer *timer)
{
	struct pair *pair = container_of(timer, struct pair, timer[0]);

	pair_called(pair, wheel_end(pair->test, pair->other));
}

/* The callback of a wheel on a workqueue ends another wheel, as a parent does a child. */
static void work_ends_another_wheel(struct kunit *test)
{
	int locks = debug_locks, percpu;

	for (percpu = 0; percpu < 2; percpu++) {
		struct pair *pair = pair_new(test, TWHEEL_CONTEXT_WORK, percpu);
		struct oneshot *oneshot;

		/* Its work has run. */
		pair->other = wheel_with(test, .context = TWHEEL_CONTEXT_WORK);
		oneshot = oneshots_new(test, pair->other, 1);
		oneshot->deadline = twheel_now(pair->other);
		twheel_arm(&oneshot->timer, 0);
		oneshots_expect(test, oneshot, 1);

		twheel_timer_init(&pair->timer[0], pair->wheel, destroy_other);
		twheel_arm(&pair->timer[0], 0);
		pair_expect(pair, 1, 0);
		pair_end(pair, locks);
	}
}

static enum twheel_next period_ends_another(struct twheel_periodic *periodic)
{
	struct pair *pair = container_of(periodic, struct pair, periodic[0]);

	pair_called(pair, twheel_periodic_stop_sync(&pair->periodic[1]));
	return TWHEEL_DONE;
}

static void idle_ends_another(struct twheel_idle *idle)
{
	struct pair *pair = container_of(idle, struct pair, idle[0]);

	pair_called(pair, twheel_idle_stop_sync(&pair->idle[1]));
}

static enum twheel_next period_again(struct twheel_periodic *periodic)
{
	return TWHEEL_AGAIN;
}

static void idle_ignored(struct twheel_idle *idle)
{
}

/* Policies of one kind on several CPUs: one may wait for another, if not for each other. */
static void policy_ends_another(struct kunit *test)
{
	enum twheel_context context;
	int locks = debug_locks;

	for_each_callback_context(context) {
		struct pair *pair = pair_new(test, context, true);

		twheel_periodic_init(&pair->periodic[0], pair->wheel, period_ends_another);
		twheel_periodic_init(&pair->periodic[1], pair->wheel, period_again);
		twheel_periodic_start(&pair->periodic[1], HOUR, TWHEEL_FIXED_RATE);
		twheel_periodic_start(&pair->periodic[0], MS, TWHEEL_FIXED_RATE);
		pair_expect(pair, 1, 1);

		twheel_idle_init(&pair->idle[0], pair->wheel, idle_ends_another);
		twheel_idle_init(&pair->idle[1], pair->wheel, idle_ignored);
		twheel_idle_start(&pair->idle[1], HOUR);
		twheel_idle_start(&pair->idle[0], MS);
		pair_expect(pair, 2, 1);
		pair_end(pair, locks);
	}
}

static void first_cancels_second(struct twheel_timer *timer)
{
	struct pair *pair = container_of(timer, struct pair, timer[0]);

	pair_called(pair, twheel_cancel_sync(&pair->timer[1]));
}

static void second_cancels_first(struct twheel_timer *timer)
{
	struct pair *pair = container_of(timer, struct pair, timer[1]);

	pair_called(pair, twheel_cancel_sync(&pair->timer[0]));
}

/*
 * A wheel of one base runs one callback at a time: none of them can wait for another, and
 * not even two for each other.
 */
static void one_base_never_waits(struct kunit *test)
{
	enum twheel_context context;
	int locks = debug_locks;
	unsigned int j;

	for_each_callback_context(context) {
		struct pair *pair = pair_new(test, context, false);

		/* Of one class. */
		for (j = 0; j < 2; j++)
			twheel_timer_init(&pair->timer[j], pair->wheel,
					  j ? second_cancels_first : first_cancels_second);
		twheel_arm(&pair->timer[1], HOUR);
		twheel_arm(&pair->timer[0], 0);
		pair_expect(pair, 1, 1);
		/* The wait for a callback that has run just now, from another task. */
		KUNIT_EXPECT_EQ(test, twheel_cancel_sync(&pair->timer[0]), 0);

		/* Of two. */
		twheel_timer_init(&pair->timer[0], pair->wheel, first_cancels_second);
		twheel_timer_init(&pair->timer[1], pair->wheel, second_cancels_first);
		twheel_arm(&pair->timer[1], HOUR);
		twheel_arm(&pair->timer[0], 0);
		pair_expect(pair, 2, 1);
		twheel_arm(&pair->timer[0], HOUR);
		twheel_arm(&pair->timer[1], 0);
		pair_expect(pair, 3, 1);
		pair_end(pair, locks);
	}
}

static void rearm_for_the_past(struct twheel_timer *timer)
{
	struct pair *pair = container_of(timer, struct pair, timer[0]);

	if (atomic_read(&pair->called) < 3)
		twheel_arm_at(timer, 0);
	pair_called(pair, 0);
}

static void lasts_a_while(struct twheel_timer *timer)
{
	struct pair *pair = container_of(timer, struct pair, timer[1]);

	pair_called(pair, 0);
	if (in_task())
		msleep(50);
	else
		spin_ns(5 * MS);
}

/*
 * The locks of the scheduler may be held: one of them, which modules can take, stands for
 * all. So no task is woken up under a base's lock, where passes follow each other or
 * somebody waits for a callback.
 */
static void under_scheduler_locks(struct kunit *test)
{
	enum twheel_context context;
	int locks = debug_locks;
	unsigned long flags;

	for (context = 0; context <= TWHEEL_CONTEXT_WORK; context++) {
		struct pair *pair = pair_new(test, context, false);
		struct twheel_timer *timer = &pair->timer[0];

		twheel_timer_init(timer, pair->wheel, rearm_for_the_past);
		twheel_arm(timer, 0);
		pair_expect(pair, 4, 0);
		KUNIT_EXPECT_GE(test, twheel_cancel_sync(timer), 0);
		twheel_timer_init(&pair->timer[1], pair->wheel, lasts_a_while);
		twheel_arm(&pair->timer[1], 0);
		pair_expect(pair, 5, 0);
		KUNIT_EXPECT_EQ(test, twheel_cancel_sync(&pair->timer[1]), 0);

		raw_spin_lock_irqsave(&current->pi_lock, flags);
		twheel_arm(timer, HOUR);
		twheel_modify(timer, HOUR / 2);
		twheel_extend(timer, 2 * HOUR);
		twheel_cancel(timer);
		raw_spin_unlock_irqrestore(&current->pi_lock, flags);
		pair_end(pair, locks);
	}
}

static struct kunit_case lockdep_cases[] = {
	KUNIT_CASE(under_scheduler_locks),
	KUNIT_CASE(work_ends_another_wheel),
	KUNIT_CASE(policy_ends_another),
	KUNIT_CASE(one_base_never_waits),
	{ }
};

static struct kunit_suite twheel_lockdep_suite = {
	.name		= "twheel_lockdep",
	.exit		= smp_test_exit,
	.test_cases	= lockdep_cases,
};

kunit_test_suite(twheel_lockdep_suite);
