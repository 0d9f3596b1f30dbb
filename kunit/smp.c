// SPDX-License-Identifier: GPL-2.0-only
#include <linux/cpumask.h>
#include <linux/err.h>
#include <linux/kthread.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/smp.h>

#include <linux/twheel_many.h>

#include "../module/core/base.h"
#include "smp.h"

void smp_test_exit(struct kunit *test)
{
	set_cpus_allowed_ptr(current, cpu_possible_mask);
	wheels_end(test);
}

static bool timer_on_wall_clock(struct twheel_timer *timer)
{
	return tw_clock_can_be_set(READ_ONCE(timer->base)->clock.id);
}

static u64 timer_deadline_after(struct twheel_timer *timer, u64 delay)
{
	return twheel_now(twheel_of(timer)) + delay;
}

int arm_after(struct twheel_timer *timer, u64 delay)
{
	if (timer_on_wall_clock(timer))
		return twheel_arm_at(timer, timer_deadline_after(timer, delay));
	return twheel_arm(timer, delay);
}

int arm_on_after(struct twheel_timer *timer, int cpu, u64 delay)
{
	if (timer_on_wall_clock(timer))
		return twheel_arm_on_at(timer, cpu, timer_deadline_after(timer, delay));
	return twheel_arm_on(timer, cpu, delay);
}

int arm_range_after(struct twheel_timer *timer, u64 delay, u64 slack)
{
	if (timer_on_wall_clock(timer))
		return twheel_arm_range_at(timer, timer_deadline_after(timer, delay), slack);
	return twheel_arm_range(timer, delay, slack);
}

int modify_after(struct twheel_timer *timer, u64 delay)
{
	if (timer_on_wall_clock(timer))
		return twheel_modify_at(timer, timer_deadline_after(timer, delay));
	return twheel_modify(timer, delay);
}

int extend_after(struct twheel_timer *timer, u64 delay)
{
	if (timer_on_wall_clock(timer))
		return twheel_extend_at(timer, timer_deadline_after(timer, delay));
	return twheel_extend(timer, delay);
}

void oneshot_fire(struct twheel_timer *timer)
{
	struct oneshot *oneshot = container_of(timer, struct oneshot, timer);

	oneshot->fired_at = twheel_now(twheel_of(timer));
	oneshot->fired_on = raw_smp_processor_id();
	/* Pairs with oneshots_all_fired(): the fields above are written by then. */
	smp_mb__before_atomic();
	atomic_inc(&oneshot->fired);
}

void oneshot_arm(struct oneshot *oneshot, u64 delay)
{
	oneshot->deadline = twheel_now(twheel_of(&oneshot->timer)) + delay;
	twheel_arm_at(&oneshot->timer, oneshot->deadline);
}

struct oneshot *oneshots_new(struct kunit *test, struct twheel *wheel,
			     unsigned int n)
{
	struct oneshot *oneshots;
	unsigned int i;

	oneshots = test_memory(test, n * sizeof(*oneshots));
	for (i = 0; i < n; i++) {
		twheel_timer_init(&oneshots[i].timer, wheel, oneshot_fire);
		oneshots[i].fired_on = -1;
	}
	return oneshots;
}

static bool oneshots_all_fired(struct oneshot *oneshots, unsigned int n)
{
	unsigned int i;

	for (i = 0; i < n; i++) {
		/* Pairs with oneshot_fire(). */
		if (!atomic_read_acquire(&oneshots[i].fired))
			return false;
	}
	return true;
}

bool oneshots_fired(struct oneshot *oneshots, unsigned int n)
{
	return await(oneshots_all_fired(oneshots, n));
}

void oneshots_expect(struct kunit *test, struct oneshot *oneshots, unsigned int n)
{
	unsigned int i;

	KUNIT_EXPECT_TRUE_MSG(test, oneshots_fired(oneshots, n), "a timer is lost");
	for (i = 0; i < n; i++) {
		twheel_cancel_sync(&oneshots[i].timer);
		KUNIT_EXPECT_EQ_MSG(test, atomic_read(&oneshots[i].fired), 1, "oneshot %u", i);
		KUNIT_EXPECT_GE_MSG(test, oneshots[i].fired_at, oneshots[i].deadline,
				    "oneshot %u is early", i);
	}
}

struct crew_member {
	struct crew *crew;
	unsigned int number;
};

static int crew_thread(void *data)
{
	struct crew_member *member = data;
	struct crew *crew = member->crew;

	crew->work(crew->arg, member->number);
	kfree(member);
	if (atomic_dec_and_test(&crew->left))
		complete(&crew->done);
	return 0;
}

static void crew_add(struct kunit *test, struct crew *crew, unsigned int number,
		     int cpu)
{
	struct crew_member *member = kmalloc(sizeof(*member), GFP_KERNEL);
	struct task_struct *task;

	KUNIT_ASSERT_NOT_NULL(test, member);
	member->crew = crew;
	member->number = number;
	task = kthread_create(crew_thread, member, "twheel/%u", number);
	KUNIT_ASSERT_FALSE(test, IS_ERR(task));
	if (cpu >= 0)
		kthread_bind(task, cpu);
	wake_up_process(task);
}

bool callback_hold(const bool *release)
{
	unsigned int i;

	for (i = 0; i < 3000 && !READ_ONCE(*release); i++)
		spin_ns(MS);
	return READ_ONCE(*release);
}

unsigned int crew_start(struct kunit *test, struct crew *crew, unsigned int per_cpu, bool bound,
			int (*work)(void *arg, unsigned int number), void *arg)
{
	unsigned int count = 0, i;
	int cpu;

	init_completion(&crew->done);
	atomic_set(&crew->left, num_online_cpus() * per_cpu);
	crew->work = work;
	crew->arg = arg;
	for_each_online_cpu(cpu) {
		for (i = 0; i < per_cpu; i++)
			crew_add(test, crew, count++, bound ? cpu : -1);
	}
	return count;
}

void crew_wait(struct kunit *test, struct crew *crew)
{
	long left;

	/* Interruptible, so that a thread that hangs is not also a hung task. */
	left = wait_for_completion_interruptible_timeout(&crew->done, 3 * PATIENCE);
	KUNIT_ASSERT_GT_MSG(test, left, 0L, "a thread hangs");
}

int cpu_run(int cpu, int (*work)(void *arg), void *arg)
{
	return smp_call_on_cpu(cpu, work, arg, false);
}

/* What the wall clock is ahead of CLOCK_MONOTONIC, before a test. */
static s64 wall_ahead;

void wall_set(struct kunit *test, u64 ns)
{
	struct timespec64 ts = ns_to_timespec64(ns);

	KUNIT_EXPECT_EQ(test, do_settimeofday64(&ts), 0);
}

void wall_step(struct kunit *test, s64 by)
{
	wall_set(test, ktime_get_real_ns() + by);
}

int clock_set_test_init(struct kunit *test)
{
	wall_ahead = ktime_get_real_ns() - ktime_get_ns();
	/* Set back by hours, it is to be after 1970 still. */
	wall_step(test, 1000 * HOUR);
	return 0;
}

void clock_set_test_exit(struct kunit *test)
{
	wall_set(test, ktime_get_ns() + wall_ahead);
	smp_test_exit(test);
}

struct twheel_item *many_items(struct kunit *test, struct oneshot *shots,
			       unsigned int n)
{
	struct twheel_item *items;
	unsigned int i;

	items = test_memory(test, n * sizeof(*items));
	for (i = 0; i < n; i++) {
		items[i].timer = &shots[i].timer;
		items[i].result = UNTOUCHED;
	}
	return items;
}

unsigned int items_results(const struct twheel_item *items, unsigned int n, int result)
{
	unsigned int i, sum = 0;

	for (i = 0; i < n; i++)
		sum += items[i].result == result;
	return sum;
}
