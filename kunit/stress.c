// SPDX-License-Identifier: GPL-2.0-only
#define pr_fmt(fmt) "twheel_kunit: " fmt

#include <linux/cpumask.h>
#include <linux/printk.h>
#include <linux/sched.h>

#include <linux/twheel_many.h>
#include <linux/twheel_stats.h>

#include "stress.h"

static struct stress *stress_of(struct twheel_timer *timer)
{
	return twheel_data(twheel_of(timer));
}

/* Count what an arm returned. */
static void stress_count_arm(struct stress *stress, struct ledger *ledger, int ret)
{
	if (ret == 0)
		atomic_inc(&ledger->armed);
	else if (ret == -ENOSPC && stress->limit)
		atomic_inc(&stress->full);
	else if (ret != 1 && ret != -ESHUTDOWN)
		atomic_inc(&stress->bad);
}

static void stress_count_cancel(struct stress *stress, struct ledger *ledger, int ret)
{
	if (ret == 1)
		atomic_inc(&ledger->cancelled);
	else if (ret)
		atomic_inc(&stress->bad);
}

static void stress_arm_somewhere(struct stress *stress, struct ledger *ledger, u64 delay,
				 u32 dice)
{
	u64 deadline = twheel_now(stress->wheel) + delay;
	int cpu = dice / 4 % nr_cpu_ids;
	int ret;

	if (!cpu_possible(cpu))
		return;
	if (dice % 2)
		ret = arm_on_after(&ledger->timer, cpu, delay);
	else
		ret = twheel_arm_on_at(&ledger->timer, cpu, deadline);
	/* Its callback runs on another CPU. */
	if (ret != -EBUSY)
		stress_count_arm(stress, ledger, ret);
}

static void stress_callback(struct twheel_timer *timer)
{
	struct ledger *ledger = container_of(timer, struct ledger, timer);
	struct stress *stress = stress_of(timer);
	unsigned int fired;

	if (atomic_inc_return(&ledger->inside) != 1)
		atomic_inc(&stress->overlaps);
	fired = atomic_inc_return(&ledger->fired);
	if (stress->sleeps && fired % 32 == 0)
		usleep_range(50, 100);
	/* Some callbacks arm their timer again, some of them for now, or on another CPU. */
	if (fired % 4 == 0)
		stress_count_arm(stress, ledger, arm_after(timer, fired % 8 * 50 * US));
	if (fired % 4 == 1)
		stress_arm_somewhere(stress, ledger, fired % 8 * 50 * US, fired / 4);
	atomic_dec(&ledger->inside);
}

static void stress_unfired(struct twheel_timer *timer, void *arg)
{
	struct ledger *ledger = container_of(timer, struct ledger, timer);

	atomic_inc(&ledger->unfired);
}

static void stress_arm_here(struct stress *stress, struct ledger *ledger, u64 delay,
			    u32 dice)
{
	struct twheel_timer *timer = &ledger->timer;
	int ret;

	if (dice % 4 == 0)
		ret = twheel_arm_at(timer, delay);
	else if (dice % 4 == 1)
		ret = arm_range_after(timer, delay, MS);
	else
		ret = arm_after(timer, delay);
	stress_count_arm(stress, ledger, ret);
}

static void stress_operation(struct stress *stress, struct ledger *ledger, u64 delay,
			     u32 dice)
{
	struct twheel_timer *timer = &ledger->timer;
	int ret;

	switch (dice % 16) {
	case 0 ... 3:
		stress_arm_here(stress, ledger, delay, dice / 16);
		break;
	case 4 ... 6:
		stress_arm_somewhere(stress, ledger, delay, dice / 16);
		break;
	case 7 ... 8:
		ret = modify_after(timer, delay);
		if (ret != 1 && ret != -ENOENT)
			atomic_inc(&stress->bad);
		break;
	case 9 ... 10:
		ret = extend_after(timer, delay);
		if (ret != 0 && ret != 1 && ret != -ENOENT)
			atomic_inc(&stress->bad);
		break;
	case 11 ... 12:
		stress_count_cancel(stress, ledger, twheel_cancel(timer));
		break;
	case 13 ... 14:
		stress_count_cancel(stress, ledger, twheel_cancel_sync(timer));
		break;
	case 15:
		if (dice / 16 % 256 == 0)
			stress_count_cancel(stress, ledger, twheel_shutdown_sync(timer));
		break;
	}
}

/* An array of timers, this one and some of its neighbours, in any order. */
static void stress_many(struct stress *stress, struct ledger *first, u64 delay,
			u32 dice)
{
	u64 deadline = twheel_now(stress->wheel) + delay;
	unsigned int at = first - stress->ledgers, i;
	struct ledger *ledgers[STRESS_TOGETHER];
	struct twheel_item items[STRESS_TOGETHER];

	for (i = 0; i < STRESS_TOGETHER; i++) {
		ledgers[i] = &stress->ledgers[(at + dice / 2 % 7 * i) %
					      STRESS_TIMERS];
		items[i].timer = &ledgers[i]->timer;
		items[i].deadline_ns = deadline + i * (u32)MS / 4;
	}
	if (dice % 2)
		twheel_arm_many(stress->wheel, items, STRESS_TOGETHER);
	else
		twheel_cancel_many(stress->wheel, items, STRESS_TOGETHER);
	for (i = 0; i < STRESS_TOGETHER; i++) {
		if (dice % 2)
			stress_count_arm(stress, ledgers[i], items[i].result);
		else
			stress_count_cancel(stress, ledgers[i], items[i].result);
	}
}

/* A fast machine is through with any number before a timer fires. */
#define STRESS_LEAST	(HZ / 5)

static bool stress_goes_on(const struct stress *stress, unsigned int round,
			   unsigned long began)
{
	if (READ_ONCE(stress->stop) || !time_before(jiffies, began + RACE_TIME))
		return false;
	return round < stress->rounds || time_before(jiffies, began + STRESS_LEAST);
}

static int stress_thread(void *arg, unsigned int number)
{
	struct stress *stress = arg;
	unsigned long began = jiffies;
	u32 seed = 4711 + number;
	unsigned int i;

	for (i = 0; stress_goes_on(stress, i, began); i++) {
		struct ledger *ledger;
		u64 delay;

		ledger = &stress->ledgers[test_random(&seed) % STRESS_TIMERS];
		delay = test_random(&seed) % (test_random(&seed) % 4 ? (u32)MS : 1000 * (u32)MS);
		if (test_random(&seed) % 8 == 0)
			stress_many(stress, ledger, delay, test_random(&seed) >> 8);
		else
			stress_operation(stress, ledger, delay, test_random(&seed) >> 8);
		cond_resched();
	}
	return 0;
}

void stress_begin(struct kunit *test, struct stress *stress,
		  const struct twheel_config *config, unsigned int rounds,
		  bool bound)
{
	struct twheel_config mine = *config;
	unsigned int i;

	*stress = (struct stress) {
		.rounds	= rounds,
		.limit	= config->max_pending,
		.sleeps	= config->context == TWHEEL_CONTEXT_WORK,
	};
	mine.data = stress;
	mine.tick_ns = 100 * US;
	stress->wheel = wheel_new(test, &mine);
	stress->ledgers = test_memory(test, STRESS_TIMERS * sizeof(*stress->ledgers));
	for (i = 0; i < STRESS_TIMERS; i++)
		twheel_timer_init(&stress->ledgers[i].timer, stress->wheel, stress_callback);
	crew_start(test, &stress->crew, 2, bound, stress_thread, stress);
}

static void stress_audit(struct kunit *test, struct stress *stress, long unfired)
{
	struct twheel_stats stats;
	unsigned int i;
	u64 became = 0;
	long sum = 0;

	for (i = 0; i < STRESS_TIMERS; i++) {
		struct ledger *ledger = &stress->ledgers[i];

		KUNIT_EXPECT_EQ_MSG(test, atomic_read(&ledger->armed),
				    atomic_read(&ledger->fired) +
				    atomic_read(&ledger->cancelled) +
				    atomic_read(&ledger->unfired),
				    "timer %u", i);
		KUNIT_EXPECT_FALSE(test, twheel_pending(&ledger->timer));
		became += atomic_read(&ledger->armed);
		sum += atomic_read(&ledger->unfired);
	}
	KUNIT_EXPECT_EQ(test, sum, unfired);
	twheel_get_stats(stress->wheel, &stats);
	KUNIT_EXPECT_EQ(test, stats.armed, became);
	KUNIT_EXPECT_EQ(test, stats.pending, 0);
	KUNIT_EXPECT_EQ(test, stats.armed, stats.fired + stats.cancelled + unfired);
	KUNIT_EXPECT_GT(test, stats.fired, 0);
	/* To the log, because the buffer for results is small. */
	pr_info("%llu armed, %llu fired, %llu cancelled, %ld handed back\n",
		stats.armed, stats.fired, stats.cancelled, unfired);
}

/* On a slow machine the threads may not have met the limit. */
static void stress_meet_limit(struct stress *stress)
{
	unsigned int i;

	for (i = 0; i < STRESS_TIMERS; i++) {
		struct ledger *ledger = &stress->ledgers[i];

		stress_count_arm(stress, ledger, twheel_arm(&ledger->timer, HOUR));
	}
}

void stress_end(struct kunit *test, struct stress *stress, bool stop_amidst)
{
	long unfired;

	if (stop_amidst)
		msleep(100);
	else
		crew_wait(test, &stress->crew);
	if (stress->limit && !stop_amidst)
		stress_meet_limit(stress);
	unfired = twheel_stop(stress->wheel, stress_unfired, NULL);
	KUNIT_EXPECT_GE(test, unfired, 0);
	WRITE_ONCE(stress->stop, true);
	if (stop_amidst)
		crew_wait(test, &stress->crew);

	stress_audit(test, stress, unfired);
	KUNIT_EXPECT_EQ(test, atomic_read(&stress->bad), 0);
	if (stress->limit)
		KUNIT_EXPECT_GT(test, atomic_read(&stress->full), 0);
}
