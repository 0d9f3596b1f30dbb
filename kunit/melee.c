// SPDX-License-Identifier: GPL-2.0-only
#define pr_fmt(fmt) "twheel_kunit: " fmt

#include <linux/cpumask.h>
#include <linux/printk.h>
#include <linux/sched.h>

#include "melee.h"

static struct melee *melee_of(struct twheel_timer *timer)
{
	return twheel_data(twheel_of(timer));
}

/* Note what an arm said. */
static void armed(struct melee *melee, struct ledger *ledger, int ret)
{
	if (ret == 0)
		atomic_inc(&ledger->armed);
	else if (ret == -ENOSPC && melee->limit)
		atomic_inc(&melee->full);
	else if (ret != 1 && ret != -ESHUTDOWN)
		atomic_inc(&melee->bad);
}

static void cancelled(struct melee *melee, struct ledger *ledger, int ret)
{
	if (ret == 1)
		atomic_inc(&ledger->cancelled);
	else if (ret)
		atomic_inc(&melee->bad);
}

static void melee_callback(struct twheel_timer *timer)
{
	struct ledger *ledger = container_of(timer, struct ledger, timer);
	struct melee *melee = melee_of(timer);
	unsigned int fired;

	if (atomic_inc_return(&ledger->inside) != 1)
		atomic_inc(&melee->overlaps);
	fired = atomic_inc_return(&ledger->fired);
	if (melee->sleeps && fired % 32 == 0)
		usleep_range(50, 100);
	if (melee->busy)
		busy(50 * US);
	/* Before it can be called again. */
	atomic_dec(&ledger->inside);
	/* Some arm themselves again, some for now. */
	if (fired % 4 == 0)
		armed(melee, ledger, twheel_arm(timer, fired % 8 * 50 * US));
}

static void melee_unfired(struct twheel_timer *timer, void *arg)
{
	struct ledger *ledger = container_of(timer, struct ledger, timer);

	atomic_inc(&ledger->unfired);
}

static void arm_somewhere(struct melee *melee, struct ledger *ledger, u64 delay,
			  u32 dice)
{
	u64 deadline = twheel_now(melee->wheel) + delay;
	int cpu = dice / 4 % nr_cpu_ids;
	int ret;

	if (!cpu_possible(cpu))
		return;
	if (dice % 2)
		ret = twheel_arm_on(&ledger->timer, cpu, delay);
	else
		ret = twheel_arm_on_at(&ledger->timer, cpu, deadline);
	/* Its callback was running. */
	if (ret != -EBUSY)
		armed(melee, ledger, ret);
}

static void arm_here(struct melee *melee, struct ledger *ledger, u64 delay,
		     u32 dice)
{
	struct twheel_timer *timer = &ledger->timer;
	int ret;

	if (dice % 4 == 0)
		ret = twheel_arm_at(timer, delay);
	else if (dice % 4 == 1)
		ret = twheel_arm_range(timer, delay, MS);
	else
		ret = twheel_arm(timer, delay);
	armed(melee, ledger, ret);
}

static void strike(struct melee *melee, struct ledger *ledger, u64 delay,
		   u32 dice)
{
	struct twheel_timer *timer = &ledger->timer;
	int ret;

	switch (dice % 16) {
	case 0 ... 3:
		arm_here(melee, ledger, delay, dice / 16);
		break;
	case 4 ... 6:
		arm_somewhere(melee, ledger, delay, dice / 16);
		break;
	case 7 ... 8:
		ret = twheel_modify(timer, delay);
		if (ret != 0 && ret != 1)
			atomic_inc(&melee->bad);
		break;
	case 9 ... 10:
		ret = twheel_extend(timer, delay);
		if (ret != 0 && ret != 1 && ret != -ENOENT)
			atomic_inc(&melee->bad);
		break;
	case 11 ... 12:
		cancelled(melee, ledger, twheel_cancel(timer));
		break;
	case 13 ... 14:
		cancelled(melee, ledger, twheel_cancel_sync(timer));
		break;
	case 15:
		if (dice / 16 % 256 == 0)
			cancelled(melee, ledger, twheel_shutdown_sync(timer));
		break;
	}
}

/* Some of the same, and nobody comes in between. */
static void strike_held(struct melee *melee, struct ledger *ledger, u64 delay,
			u32 dice)
{
	u64 deadline = twheel_now(melee->wheel) + delay;
	struct twheel_timer *timer = &ledger->timer;
	unsigned long flags;
	int ret;

	twheel_hold(melee->wheel, &flags);
	if (dice % 2)
		armed(melee, ledger, twheel_arm_at_held(timer, deadline));
	if (dice / 2 % 2) {
		ret = twheel_modify_at_held(timer, deadline - dice % (u32)MS);
		if (ret != twheel_pending(timer))
			atomic_inc(&melee->bad);
	}
	if (dice / 4 % 4 == 0) {
		cancelled(melee, ledger, twheel_cancel_held(timer));
		if (twheel_pending(timer))
			atomic_inc(&melee->bad);
	}
	twheel_release(melee->wheel, &flags);
}

static int fight(void *arg, unsigned int number)
{
	struct melee *melee = arg;
	unsigned long end = jiffies + ENOUGH;
	u32 seed = 4711 + number;
	unsigned int i;

	for (i = 0; i < melee->rounds && time_before(jiffies, end); i++) {
		struct ledger *ledger;
		u64 delay;

		if (READ_ONCE(melee->stop))
			break;
		ledger = &melee->ledgers[roll(&seed) % MELEE_TIMERS];
		delay = roll(&seed) % (roll(&seed) % 4 ? (u32)MS :
				       1000 * (u32)MS);
		if (melee->holds && roll(&seed) % 4 == 0)
			strike_held(melee, ledger, delay, roll(&seed) >> 8);
		else
			strike(melee, ledger, delay, roll(&seed) >> 8);
		cond_resched();
	}
	return 0;
}

void melee_begin(struct kunit *test, struct melee *melee,
		 const struct twheel_config *config, unsigned int rounds,
		 bool bound)
{
	struct twheel_config mine = *config;
	unsigned int i;

	*melee = (struct melee) {
		.rounds	= rounds,
		.limit	= config->max_pending,
		.sleeps	= config->context == TWHEEL_CONTEXT_WORK,
		.holds	= !config->percpu &&
			  config->clock != TWHEEL_CLOCK_REALTIME,
		.busy	= config->share,
	};
	mine.data = melee;
	mine.tick_ns = 100 * US;
	melee->wheel = live_wheel(test, &mine);
	melee->ledgers = kunit_kcalloc(test, MELEE_TIMERS,
				       sizeof(*melee->ledgers), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, melee->ledgers);
	for (i = 0; i < MELEE_TIMERS; i++)
		twheel_timer_init(&melee->ledgers[i].timer, melee->wheel,
				  melee_callback);
	if (bound)
		crew_start(test, &melee->crew, 2, fight, melee);
	else
		crew_start_anywhere(test, &melee->crew, 2, fight, melee);
}

static void audit(struct kunit *test, struct melee *melee, long unfired)
{
	struct twheel_stats stats;
	unsigned int i;
	u64 became = 0;
	long sum = 0;

	for (i = 0; i < MELEE_TIMERS; i++) {
		struct ledger *ledger = &melee->ledgers[i];

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
	twheel_get_stats(melee->wheel, &stats);
	KUNIT_EXPECT_EQ(test, stats.armed, became);
	KUNIT_EXPECT_EQ(test, stats.pending, 0);
	KUNIT_EXPECT_EQ(test, stats.armed,
			stats.fired + stats.cancelled + unfired);
	KUNIT_EXPECT_GT(test, stats.fired, 0);
	/* Not among the results, where there is no room for much. */
	pr_info("%llu armed, %llu fired, %llu cancelled, %ld handed back\n",
		stats.armed, stats.fired, stats.cancelled, unfired);
}

void melee_end(struct kunit *test, struct melee *melee, bool stop_amidst)
{
	long unfired;

	if (stop_amidst)
		msleep(100);
	else
		crew_wait(test, &melee->crew);
	unfired = twheel_stop(melee->wheel, melee_unfired, NULL);
	KUNIT_EXPECT_GE(test, unfired, 0);
	WRITE_ONCE(melee->stop, true);
	if (stop_amidst)
		crew_wait(test, &melee->crew);

	audit(test, melee, unfired);
	KUNIT_EXPECT_EQ(test, atomic_read(&melee->bad), 0);
	if (melee->limit)
		KUNIT_EXPECT_GT(test, atomic_read(&melee->full), 0);
	twheel_destroy(melee->wheel);
}
