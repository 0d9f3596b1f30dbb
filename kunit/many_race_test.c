// SPDX-License-Identifier: GPL-2.0-only
/* Arrays of timers that several CPUs arm and cancel, or one amid interrupts. */
#include <linux/atomic.h>
#include <linux/cpumask.h>
#include <linux/delay.h>
#include <linux/errno.h>
#include <linux/hrtimer.h>
#include <linux/timekeeping.h>

#include <linux/twheel_many.h>
#include <linux/twheel_stats.h>

#include "../module/compat.h"
#include "smp.h"

/* Of a wheel that is per CPU: which timers are armed where. */
struct spread {
	struct twheel *wheel;
	struct twheel_item *items;
	unsigned int count;
};

static int spread_arm(void *arg)
{
	struct spread *spread = arg;

	return twheel_arm_many(spread->wheel, spread->items, spread->count);
}

static int spread_cancel(void *arg)
{
	struct spread *spread = arg;

	return twheel_cancel_many(spread->wheel, spread->items, spread->count);
}

/*
 * Timers are armed on each CPU. Then all of them, mixed, are armed by the first CPU,
 * where they stay, and cancelled there, and armed again: then they are its own.
 */
static void percpu_timers_stay_and_move(struct kunit *test)
{
	const struct twheel_config config = {
		.name = "many", .tick_ns = 100 * US, .percpu = true,
	};
	unsigned int first = cpu_first();
	struct twheel *wheel = wheel_new(test, &config);
	unsigned int cpus = num_online_cpus(), i, at = 0;
	struct spread spread = { .wheel = wheel };
	struct twheel_item *all;
	struct oneshot *shots;
	int cpu, n = 50;

	shots = oneshots_new(test, wheel, cpus * n);
	all = many_items(test, shots, cpus * n);
	for_each_online_cpu(cpu) {
		spread.items = many_items(test, shots + at, n);
		spread.count = n;
		for (i = 0; i < n; i++)
			spread.items[i].deadline_ns = twheel_now(wheel) + DAY;
		KUNIT_EXPECT_EQ(test, cpu_run(cpu, spread_arm, &spread), n);
		KUNIT_EXPECT_EQ(test, items_results(spread.items, n, 0), n);
		at += n;
	}

	/* Neighbours in this array are on different CPUs. */
	spread.items = all;
	spread.count = cpus * n;
	for (i = 0; i < cpus * n; i++) {
		unsigned int k = i % cpus * n + i / cpus;

		all[i].timer = &shots[k].timer;
		shots[k].deadline = twheel_now(wheel) + HOUR + i;
		all[i].deadline_ns = shots[k].deadline;
	}
	KUNIT_EXPECT_EQ(test, cpu_run(first, spread_arm, &spread), cpus * n);
	KUNIT_EXPECT_EQ(test, items_results(all, cpus * n, 1), cpus * n);
	for (i = 0; i < cpus * n; i++)
		KUNIT_EXPECT_EQ(test, twheel_deadline(&shots[i].timer),
				shots[i].deadline);
	KUNIT_EXPECT_EQ(test, pending_count(wheel), cpus * n);
	/* Nearer: each fires where it was armed first. */
	for (i = 0; i < cpus * n; i++) {
		u64 soon = twheel_now(wheel) + MS;

		container_of(all[i].timer, struct oneshot, timer)->deadline = soon;
		all[i].deadline_ns = soon;
	}
	KUNIT_EXPECT_EQ(test, cpu_run(first, spread_arm, &spread), cpus * n);
	oneshots_expect(test, shots, cpus * n);
	at = 0;
	for_each_online_cpu(cpu) {
		for (i = 0; i < n; i++, at++)
			KUNIT_EXPECT_EQ_MSG(test, shots[at].fired_on, cpu,
					    "shot %u", at);
	}

	/* All are idle now: the first CPU arms them, and they fire there. */
	for (i = 0; i < cpus * n; i++) {
		struct oneshot *shot = container_of(all[i].timer, struct oneshot,
						 timer);

		atomic_set(&shot->fired, 0);
		shot->deadline = twheel_now(wheel) + MS;
		all[i].deadline_ns = shot->deadline;
	}
	KUNIT_EXPECT_EQ(test, cpu_run(first, spread_arm, &spread), cpus * n);
	KUNIT_EXPECT_EQ(test, items_results(all, cpus * n, 0), cpus * n);
	oneshots_expect(test, shots, cpus * n);
	for (i = 0; i < cpus * n; i++)
		KUNIT_EXPECT_EQ(test, shots[i].fired_on, first);
}

static void percpu_cancels_them_all(struct kunit *test)
{
	const struct twheel_config config = {
		.name = "many", .percpu = true,
	};
	struct twheel *wheel = wheel_new(test, &config);
	unsigned int cpus = num_online_cpus(), i, at = 0;
	struct spread spread = { .wheel = wheel };
	struct oneshot *shots = oneshots_new(test, wheel, cpus * 50);
	int cpu;

	for_each_online_cpu(cpu) {
		spread.items = many_items(test, shots + at, 50);
		spread.count = 50;
		for (i = 0; i < 50; i++)
			spread.items[i].deadline_ns = twheel_now(wheel) + DAY;
		KUNIT_EXPECT_EQ(test, cpu_run(cpu, spread_arm, &spread), 50);
		at += 50;
	}
	/* Every other one is idle already. */
	for (i = 0; i < cpus * 50; i += 2)
		KUNIT_EXPECT_EQ(test, twheel_cancel(&shots[i].timer), 1);
	spread.items = many_items(test, shots, cpus * 50);
	spread.count = cpus * 50;
	KUNIT_EXPECT_EQ(test, cpu_run(cpu_last(), spread_cancel, &spread), cpus * 50);
	for (i = 0; i < cpus * 50; i++)
		KUNIT_EXPECT_EQ_MSG(test, spread.items[i].result, i % 2,
				    "item %u", i);
	KUNIT_EXPECT_EQ(test, pending_count(wheel), 0);
	KUNIT_EXPECT_EQ(test, twheel_stop(wheel, NULL, NULL), 0);
}

/* CPUs share the limit. It is never exceeded, and a CPU alone gets half of it. */
static void percpu_limit_holds(struct kunit *test)
{
	const struct twheel_config config = {
		.name = "many", .percpu = true, .max_pending = 100,
	};
	struct twheel *wheel = wheel_new(test, &config);
	struct oneshot *shots = oneshots_new(test, wheel, 2 * MANY);
	struct spread spread = {
		.wheel = wheel, .items = many_items(test, shots, 2 * MANY),
		.count = MANY,
	};
	int cpu, sum;
	unsigned int i;

	for (i = 0; i < 2 * MANY; i++)
		spread.items[i].deadline_ns = twheel_now(wheel) + DAY;
	sum = cpu_run(cpu_first(), spread_arm, &spread);
	KUNIT_EXPECT_GE(test, sum, 50);
	KUNIT_EXPECT_EQ(test, sum, items_results(spread.items, MANY, 0));
	KUNIT_EXPECT_EQ(test, MANY - sum, items_results(spread.items, MANY, -ENOSPC));
	spread.items += MANY;
	for_each_online_cpu(cpu) {
		int good = cpu_run(cpu, spread_arm, &spread);

		KUNIT_EXPECT_EQ(test, MANY - good,
				items_results(spread.items, MANY, -ENOSPC));
		sum += items_results(spread.items, MANY, 0);
		KUNIT_EXPECT_LE(test, sum, 100);
	}
	KUNIT_EXPECT_EQ(test, pending_count(wheel), sum);
	KUNIT_EXPECT_EQ(test, twheel_stop(wheel, NULL, NULL), sum);
}

/*
 * On the CPU that arms: interrupts come in between two holds, and only there. They are of an
 * hrtimer, as a softirq may be left to a thread.
 */
struct intrusion {
	struct hrtimer interrupt;
	struct twheel *wheel;
	struct twheel_item *items;
	unsigned int count;
	unsigned int fired;
	unsigned int within;
	unsigned int amiss;
	bool arming;
};

static enum hrtimer_restart intrusion_interrupt(struct hrtimer *timer)
{
	struct intrusion *in = container_of(timer, struct intrusion, interrupt);
	unsigned int done = in->count - items_results(in->items, in->count, UNTOUCHED);

	in->fired++;
	/* Not while the results are being cleared. */
	if (READ_ONCE(in->arming) && done && done < in->count) {
		in->within++;
		in->amiss += done % 16 != 0;
	}
	hrtimer_set_expires(timer, ns_to_ktime(ktime_get_ns() + 50 * US));
	return HRTIMER_RESTART;
}

static int arm_amid_interrupts(void *arg)
{
	const enum hrtimer_mode mode = HRTIMER_MODE_ABS_PINNED_HARD;
	struct intrusion *in = arg;
	unsigned long end = jiffies + PATIENCE;
	unsigned int i, good = 0;

	/* The timers belong to this CPU from here on. */
	twheel_arm_many(in->wheel, in->items, in->count);
	hrtimer_setup(&in->interrupt, intrusion_interrupt, CLOCK_MONOTONIC, mode);
	hrtimer_start(&in->interrupt, ns_to_ktime(ktime_get_ns()), mode);
	do {
		for (i = 0; i < in->count; i++)
			WRITE_ONCE(in->items[i].result, UNTOUCHED);
		WRITE_ONCE(in->arming, true);
		good = twheel_arm_many(in->wheel, in->items, in->count);
		WRITE_ONCE(in->arming, false);
	} while (good == in->count && READ_ONCE(in->within) < 3 &&
		 time_before(jiffies, end));
	hrtimer_cancel(&in->interrupt);
	return good;
}

static void interrupts_come_in_between(struct kunit *test)
{
	const struct twheel_config config = { .name = "many", .percpu = true };
	struct twheel *wheel = wheel_new(test, &config);
	struct oneshot *shots = oneshots_new(test, wheel, MANY);
	struct intrusion *in = test_memory(test, sizeof(*in));
	unsigned int i;

	in->wheel = wheel;
	in->items = many_items(test, shots, MANY);
	in->count = MANY;
	for (i = 0; i < MANY; i++)
		in->items[i].deadline_ns = twheel_now(wheel) + DAY;
	KUNIT_EXPECT_EQ(test, cpu_run(cpu_last(), arm_amid_interrupts, in), MANY);
	KUNIT_EXPECT_GE_MSG(test, in->within, 3, "%u interrupts, all outside", in->fired);
	KUNIT_EXPECT_EQ_MSG(test, in->amiss, 0, "of %u within", in->within);
	KUNIT_EXPECT_EQ(test, twheel_stop(wheel, NULL, NULL), MANY);
}

/*
 * A race: each thread arms and cancels arrays of timers that all threads share, and
 * keeps books. A stop may come amidst.
 */
#define CONTESTED	64

struct contest {
	struct twheel *wheel;
	struct oneshot *shots;
	unsigned int rounds;
	atomic_t armed;
	atomic_t cancelled;
	atomic_t bad;
};

static void contest_round(struct contest *contest, u32 *seed)
{
	struct twheel_item items[40];
	unsigned int i, n = test_random(seed) % ARRAY_SIZE(items), good, wrong = 0;
	bool arms = test_random(seed) % 2;
	u64 now = twheel_now(contest->wheel);

	for (i = 0; i < n; i++) {
		items[i].timer = &contest->shots[test_random(seed) % CONTESTED].timer;
		items[i].deadline_ns = now + test_random(seed) % (test_random(seed) % 4 ?
				       (u32)MS : 1000 * (u32)MS);
		items[i].result = UNTOUCHED;
	}
	if (arms)
		good = twheel_arm_many(contest->wheel, items, n);
	else
		good = twheel_cancel_many(contest->wheel, items, n);
	wrong = good != items_results(items, n, 0) + items_results(items, n, 1);
	wrong += good + items_results(items, n, -ENOSPC) +
		 items_results(items, n, -ESHUTDOWN) != n;
	atomic_add(wrong, &contest->bad);
	atomic_add(items_results(items, n, arms ? 0 : 1),
		   arms ? &contest->armed : &contest->cancelled);
}

static int contest_thread(void *arg, unsigned int number)
{
	struct contest *contest = arg;
	unsigned long end = jiffies + RACE_TIME;
	u32 seed = 815 + number;
	unsigned int i;

	for (i = 0; i < contest->rounds && time_before(jiffies, end); i++) {
		contest_round(contest, &seed);
		cond_resched();
	}
	return 0;
}

static void contest_run(struct kunit *test, const struct twheel_config *config,
			bool stop_amidst)
{
	struct contest contest = {
		.wheel = wheel_new(test, config),
		.rounds = 2000 / num_online_cpus(),
	};
	unsigned int i, fired = 0;
	struct twheel_stats stats;
	struct crew crew;
	long unfired;

	contest.shots = oneshots_new(test, contest.wheel, CONTESTED);
	crew_start(test, &crew, 2, contest_thread, &contest);
	if (stop_amidst)
		msleep(50);
	else
		crew_wait(test, &crew);
	unfired = twheel_stop(contest.wheel, NULL, NULL);
	if (stop_amidst)
		crew_wait(test, &crew);

	for (i = 0; i < CONTESTED; i++) {
		fired += atomic_read(&contest.shots[i].fired);
		KUNIT_EXPECT_FALSE(test, twheel_pending(&contest.shots[i].timer));
	}
	twheel_get_stats(contest.wheel, &stats);
	KUNIT_EXPECT_EQ(test, atomic_read(&contest.bad), 0);
	KUNIT_EXPECT_EQ(test, stats.armed, atomic_read(&contest.armed));
	KUNIT_EXPECT_EQ(test, stats.cancelled, atomic_read(&contest.cancelled));
	KUNIT_EXPECT_EQ(test, stats.fired, fired);
	KUNIT_EXPECT_EQ(test, stats.unfired, unfired);
	KUNIT_EXPECT_EQ(test, stats.armed,
			stats.fired + stats.cancelled + unfired);
	KUNIT_EXPECT_GT(test, stats.armed, 0);
}

static void races_balance(struct kunit *test)
{
	struct twheel_config config = { .name = "contest", .tick_ns = 100 * US };

	for_each_callback_context(config.context)
		contest_run(test, &config, false);
}

static void percpu_races_balance(struct kunit *test)
{
	struct twheel_config config = {
		.name = "contest", .tick_ns = 100 * US, .percpu = true,
	};

	contest_run(test, &config, false);
	config.max_pending = 20;
	contest_run(test, &config, false);
}

static void limited_races_balance(struct kunit *test)
{
	static const struct twheel_config config = {
		.name = "contest", .tick_ns = 100 * US, .max_pending = 20,
	};

	contest_run(test, &config, false);
}

static void stop_amidst_balances(struct kunit *test)
{
	struct twheel_config config = { .name = "contest", .tick_ns = 100 * US };

	contest_run(test, &config, true);
	config.percpu = true;
	contest_run(test, &config, true);
}

static struct kunit_case many_race_cases[] = {
	KUNIT_CASE(percpu_timers_stay_and_move),
	KUNIT_CASE(percpu_cancels_them_all),
	KUNIT_CASE(percpu_limit_holds),
	KUNIT_CASE(interrupts_come_in_between),
	KUNIT_CASE(races_balance),
	KUNIT_CASE(percpu_races_balance),
	KUNIT_CASE(limited_races_balance),
	KUNIT_CASE(stop_amidst_balances),
	{ }
};

static struct kunit_suite twheel_many_race_suite = {
	.name		= "twheel_many_race",
	.exit		= smp_test_exit,
	.test_cases	= many_race_cases,
};

kunit_test_suite(twheel_many_race_suite);
