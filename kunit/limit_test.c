// SPDX-License-Identifier: GPL-2.0-only
/*
 * The limit on pending timers, which CPUs share. It is never exceeded. A CPU can always
 * get more than half of it. It recovers once timers are gone.
 */
#include <linux/cpumask.h>

#include "smp.h"

static struct twheel *limited_wheel(struct kunit *test, unsigned int limit)
{
	return wheel_with(test, .percpu = true, .max_pending = limit);
}

/* Arms timers until the limit refuses one. */
struct fill {
	struct oneshot *oneshots;
	unsigned int n;
	unsigned int armed;
	u64 delay;
	int ret;
};

static int fill_arm(void *arg)
{
	struct fill *fill = arg;

	for (fill->armed = 0; fill->armed < fill->n; fill->armed++) {
		fill->ret = twheel_arm(&fill->oneshots[fill->armed].timer, fill->delay);
		if (fill->ret)
			break;
	}
	return 0;
}

static int fill_cancel(void *arg)
{
	struct fill *fill = arg;
	unsigned int i;

	for (i = 0; i < fill->armed; i++)
		twheel_cancel_sync(&fill->oneshots[i].timer);
	return 0;
}

static void fill_expect(struct kunit *test, int cpu, struct fill *fill_arg,
			unsigned int limit)
{
	cpu_run(cpu, fill_arm, fill_arg);
	KUNIT_EXPECT_EQ(test, fill_arg->ret, -ENOSPC);
	KUNIT_EXPECT_LE(test, fill_arg->armed, limit);
	KUNIT_EXPECT_GT_MSG(test, 2 * fill_arg->armed, limit, "limit %u on CPU %d", limit, cpu);
}

/* Try again if the pass of the last timer has yet to give its credits back. */
static bool fill_again(int cpu, struct fill *arg, unsigned int limit)
{
	cpu_run(cpu, fill_arm, arg);
	if (2 * arg->armed > limit)
		return true;
	cpu_run(cpu, fill_cancel, arg);
	return false;
}

static void fill_expire(struct kunit *test, struct twheel *wheel, struct fill *arg)
{
	unsigned int i;

	for (i = 0; i < arg->armed; i++)
		twheel_modify(&arg->oneshots[i].timer, 0);
	KUNIT_EXPECT_TRUE(test, await(!pending_count(wheel)));
	for (i = 0; i < arg->armed; i++)
		twheel_cancel_sync(&arg->oneshots[i].timer);
}

/* One CPU after the other uses the limit up. Its timers are cancelled there, elsewhere, or fire. */
static void limit_is_given_back(struct kunit *test)
{
	static const unsigned int limits[] = { 1, 2, 7, 33, 300, 1000 };
	unsigned int i;
	int cpu;

	for (i = 0; i < ARRAY_SIZE(limits); i++) {
		struct twheel *wheel = limited_wheel(test, limits[i]);
		unsigned int n = limits[i] + 1;
		/* They must not fire before all are armed. */
		struct fill arg = {
			.oneshots = oneshots_new(test, wheel, n), .n = n, .delay = HOUR,
		};

		for_each_online_cpu(cpu) {
			fill_expect(test, cpu, &arg, limits[i]);
			cpu_run(cpu, fill_cancel, &arg);
		}
		for_each_online_cpu(cpu) {
			fill_expect(test, cpu, &arg, limits[i]);
			cpu_run(cpu_first(), fill_cancel, &arg);
		}
		for_each_online_cpu(cpu) {
			KUNIT_EXPECT_TRUE_MSG(test, await(fill_again(cpu, &arg, limits[i])),
					      "limit %u on CPU %d: %u", limits[i], cpu, arg.armed);
			KUNIT_EXPECT_LE(test, arg.armed, limits[i]);
			fill_expire(test, wheel, &arg);
		}
	}
}

/* A timer that moves takes its credit along. */
static void moves_when_full(struct kunit *test)
{
	unsigned int i, limit = 33;
	struct twheel *wheel = limited_wheel(test, limit);
	struct fill arg = {
		.oneshots = oneshots_new(test, wheel, limit + 1), .n = limit + 1,
		.delay = HOUR,
	};
	int cpu;

	fill_expect(test, cpu_first(), &arg, limit);
	for_each_online_cpu(cpu)
		for (i = 0; i < arg.armed; i++)
			KUNIT_EXPECT_EQ(test, twheel_arm_on(&arg.oneshots[i].timer, cpu, HOUR), 1);
	KUNIT_EXPECT_EQ(test, pending_count(wheel), arg.armed);
	fill_cancel(&arg);
	for_each_online_cpu(cpu) {
		fill_expect(test, cpu, &arg, limit);
		fill_cancel(&arg);
	}
}

/* All CPUs at once */

#define CONTEST_TIMERS	64

struct contest {
	struct oneshot *oneshots;
	int limit;
	atomic_t held;
	atomic_t most;
	atomic_t exceeded;
	atomic_t refused;
	atomic_t bad;
};

static void contest_arm(struct contest *contest, struct oneshot *oneshot)
{
	int ret = twheel_arm(&oneshot->timer, HOUR);
	int held;

	if (ret == -ENOSPC) {
		atomic_inc(&contest->refused);
		return;
	}
	if (ret) {
		atomic_inc(&contest->bad);
		return;
	}
	/* Counted after the arm, so that each counted timer is pending. */
	held = atomic_inc_return(&contest->held);
	if (held > contest->limit)
		atomic_inc(&contest->exceeded);
	if (held > atomic_read(&contest->most))
		atomic_set(&contest->most, held);
}

static int contest_run(void *arg, unsigned int number)
{
	struct contest *contest = arg;
	struct oneshot *mine = &contest->oneshots[number * CONTEST_TIMERS];
	unsigned long end = jiffies + RACE_TIME;
	unsigned int round;
	u32 seed = 99 + number;

	for (round = 0; round < 40000 / num_online_cpus(); round++) {
		struct oneshot *oneshot = &mine[test_random(&seed) % CONTEST_TIMERS];

		if (time_after(jiffies, end))
			break;
		if (!twheel_pending(&oneshot->timer)) {
			contest_arm(contest, oneshot);
		} else if (test_random(&seed) % 2) {
			atomic_dec(&contest->held);
			if (twheel_cancel(&oneshot->timer) != 1)
				atomic_inc(&contest->bad);
		}
		cond_resched();
	}
	return 0;
}

static void never_exceeded(struct kunit *test)
{
	unsigned int i, n = 2 * num_online_cpus() * CONTEST_TIMERS;
	struct contest contest = { .limit = n / 3 };
	struct twheel *wheel = limited_wheel(test, n / 3);
	struct crew crew;

	contest.oneshots = oneshots_new(test, wheel, n);
	crew_start(test, &crew, 2, true, contest_run, &contest);
	crew_wait(test, &crew);
	KUNIT_EXPECT_EQ(test, atomic_read(&contest.exceeded), 0);
	KUNIT_EXPECT_EQ(test, atomic_read(&contest.bad), 0);
	KUNIT_EXPECT_GT(test, atomic_read(&contest.refused), 0);
	KUNIT_EXPECT_EQ(test, pending_count(wheel), atomic_read(&contest.held));
	kunit_info(test, "%d of %d held at most\n", atomic_read(&contest.most), contest.limit);
	for (i = 0; i < n; i++)
		twheel_cancel(&contest.oneshots[i].timer);
	KUNIT_EXPECT_EQ(test, pending_count(wheel), 0);
}

static struct kunit_case limit_cases[] = {
	KUNIT_CASE(limit_is_given_back),
	KUNIT_CASE(moves_when_full),
	KUNIT_CASE(never_exceeded),
	{ }
};

static struct kunit_suite twheel_limit_suite = {
	.name		= "twheel_limit",
	.exit		= smp_test_exit,
	.test_cases	= limit_cases,
};

kunit_test_suite(twheel_limit_suite);
