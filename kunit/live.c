// SPDX-License-Identifier: GPL-2.0-only
#include <linux/cpumask.h>
#include <linux/err.h>
#include <linux/kthread.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/smp.h>

#include "live.h"

struct twheel *live_wheel(struct kunit *test,
			  const struct twheel_config *config)
{
	struct twheel *wheel = twheel_create(config);

	KUNIT_ASSERT_FALSE(test, IS_ERR(wheel));
	return wheel;
}

void shoot(struct twheel_timer *timer)
{
	struct shot *shot = container_of(timer, struct shot, timer);

	shot->fired_at = twheel_now(twheel_of(timer));
	shot->fired_on = raw_smp_processor_id();
	/* Who sees this sees the rest. */
	smp_mb__before_atomic();
	atomic_inc(&shot->fired);
}

struct shot *new_shots(struct kunit *test, struct twheel *wheel,
		       unsigned int n)
{
	struct shot *shots;
	unsigned int i;

	shots = kunit_kcalloc(test, n, sizeof(*shots), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, shots);
	for (i = 0; i < n; i++) {
		twheel_timer_init(&shots[i].timer, wheel, shoot);
		shots[i].fired_on = -1;
	}
	return shots;
}

static bool all_fired(struct shot *shots, unsigned int n)
{
	unsigned int i;

	for (i = 0; i < n; i++) {
		/* Pairs with shoot(). */
		if (!atomic_read_acquire(&shots[i].fired))
			return false;
	}
	return true;
}

bool shots_fired(struct shot *shots, unsigned int n)
{
	return await(all_fired(shots, n));
}

void expect_shots(struct kunit *test, struct shot *shots, unsigned int n)
{
	unsigned int i;

	KUNIT_EXPECT_TRUE_MSG(test, shots_fired(shots, n), "a timer is lost");
	for (i = 0; i < n; i++) {
		twheel_cancel_sync(&shots[i].timer);
		KUNIT_EXPECT_EQ_MSG(test, atomic_read(&shots[i].fired), 1,
				    "shot %u", i);
		KUNIT_EXPECT_GE_MSG(test, shots[i].fired_at, shots[i].deadline,
				    "shot %u is early", i);
	}
}

struct member {
	struct crew *crew;
	unsigned int number;
};

static int crew_thread(void *data)
{
	struct member *member = data;
	struct crew *crew = member->crew;

	crew->work(crew->arg, member->number);
	kfree(member);
	if (atomic_dec_and_test(&crew->left))
		complete(&crew->done);
	return 0;
}

static void enlist(struct kunit *test, struct crew *crew, unsigned int number,
		   int cpu)
{
	struct member *member = kmalloc(sizeof(*member), GFP_KERNEL);
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

static unsigned int start(struct kunit *test, struct crew *crew,
			  unsigned int per_cpu, bool bind,
			  int (*work)(void *arg, unsigned int number),
			  void *arg)
{
	unsigned int count = 0, i;
	int cpu;

	init_completion(&crew->done);
	atomic_set(&crew->left, num_online_cpus() * per_cpu);
	crew->work = work;
	crew->arg = arg;
	for_each_online_cpu(cpu) {
		for (i = 0; i < per_cpu; i++)
			enlist(test, crew, count++, bind ? cpu : -1);
	}
	return count;
}

unsigned int crew_start(struct kunit *test, struct crew *crew,
			unsigned int per_cpu,
			int (*work)(void *arg, unsigned int number), void *arg)
{
	return start(test, crew, per_cpu, true, work, arg);
}

unsigned int crew_start_anywhere(struct kunit *test, struct crew *crew,
				 unsigned int per_cpu,
				 int (*work)(void *arg, unsigned int number),
				 void *arg)
{
	return start(test, crew, per_cpu, false, work, arg);
}

void crew_wait(struct kunit *test, struct crew *crew)
{
	long left;

	/* Interruptible, or it would be a hung task, too. */
	left = wait_for_completion_interruptible_timeout(&crew->done,
							 3 * PATIENCE);
	KUNIT_ASSERT_GT_MSG(test, left, 0L, "a thread hangs");
}

int run_on(int cpu, int (*work)(void *arg), void *arg)
{
	return smp_call_on_cpu(cpu, work, arg, false);
}
