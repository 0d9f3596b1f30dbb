// SPDX-License-Identifier: GPL-2.0-only
/*
 * CPU hotplug: timers of a CPU that goes away fire all the same, each once and none
 * early.
 */
#include <linux/cpu.h>
#include <linux/cpumask.h>

#include "stress.h"

/* The CPU that goes away; the first one cannot on every machine. */
static int victim_cpu = -1;

static int cpu_remove(struct kunit *test)
{
	int ret = remove_cpu(victim_cpu);

	KUNIT_EXPECT_EQ_MSG(test, ret, 0, "CPU %d does not go", victim_cpu);
	return ret;
}

static void cpu_return(struct kunit *test)
{
	KUNIT_EXPECT_EQ_MSG(test, add_cpu(victim_cpu), 0, "CPU %d does not come", victim_cpu);
}

static int hotplug_init(struct kunit *test)
{
	if (!IS_ENABLED(CONFIG_HOTPLUG_CPU))
		kunit_skip(test, "no CPU can go");
	test_needs_two_cpus(test);
	victim_cpu = cpu_last();
	return 0;
}

static void hotplug_exit(struct kunit *test)
{
	if (victim_cpu >= 0 && !cpu_online(victim_cpu))
		add_cpu(victim_cpu);
	smp_test_exit(test);
}

static const struct twheel_config wheel_kinds[] = {
	{ }, { .context = TWHEEL_CONTEXT_WORK }, { .clock = TWHEEL_CLOCK_REALTIME },
};

static struct twheel *wheel_of_kind(struct kunit *test, unsigned int kind, bool percpu)
{
	return wheel_with(test, .percpu = percpu, .clock = wheel_kinds[kind].clock,
			  .context = wheel_kinds[kind].context);
}

static void oneshots_arm(struct twheel *wheel, struct oneshot *oneshots, unsigned int n,
			 u64 most)
{
	u32 seed = 5 + n;
	unsigned int i;

	for (i = 0; i < n; i++) {
		u64 delay = test_random(&seed) % (u32)most;

		oneshots[i].deadline = twheel_now(wheel) + delay;
		if (i % 2)
			twheel_arm_on_at(&oneshots[i].timer, victim_cpu, oneshots[i].deadline);
		else
			arm_on_after(&oneshots[i].timer, victim_cpu, delay);
	}
}

/* Every change to a timer that is pending on the CPU. */
static void oneshots_change(struct kunit *test, struct twheel *wheel,
			    struct oneshot *oneshots, unsigned int n)
{
	unsigned int i;

	for (i = 0; i < n; i++) {
		KUNIT_EXPECT_TRUE(test, twheel_pending(&oneshots[i].timer));
		switch (i % 4) {
		case 0:
			KUNIT_EXPECT_EQ(test, twheel_cancel(&oneshots[i].timer), 1);
			fallthrough;
		case 1:
			oneshots[i].deadline = twheel_now(wheel) + 10 * MS;
			arm_after(&oneshots[i].timer, 10 * MS);
			break;
		case 2:
			oneshots[i].deadline = twheel_now(wheel) + 20 * MS;
			modify_after(&oneshots[i].timer, 20 * MS);
			break;
		default:
			oneshots[i].deadline = twheel_now(wheel);
			arm_on_after(&oneshots[i].timer, victim_cpu, 0);
			break;
		}
	}
}

#define NR_ONESHOTS	100

static void wheel_loses_nothing(struct kunit *test, unsigned int kind)
{
	struct twheel *wheel = wheel_of_kind(test, kind, true);
	struct oneshot *before = oneshots_new(test, wheel, NR_ONESHOTS);
	struct oneshot *across = oneshots_new(test, wheel, NR_ONESHOTS);
	struct oneshot *meanwhile = oneshots_new(test, wheel, NR_ONESHOTS);
	struct oneshot *after = oneshots_new(test, wheel, NR_ONESHOTS);
	struct oneshot *back = oneshots_new(test, wheel, 1);
	unsigned int i;

	/* Due before it goes, while it goes, and while it is away. */
	oneshots_arm(wheel, before, NR_ONESHOTS, 400 * MS);
	/* Due long after it is back, unless changed. */
	for (i = 0; i < NR_ONESHOTS; i++)
		arm_on_after(&across[i].timer, victim_cpu, HOUR);
	if (cpu_remove(test))
		return;
	oneshots_arm(wheel, meanwhile, NR_ONESHOTS, 100 * MS);
	oneshots_expect(test, before, NR_ONESHOTS);
	oneshots_expect(test, meanwhile, NR_ONESHOTS);
	oneshots_change(test, wheel, across, NR_ONESHOTS / 2);
	KUNIT_EXPECT_TRUE(test, oneshots_fired(across, NR_ONESHOTS / 2));
	oneshots_arm(wheel, after, NR_ONESHOTS, 400 * MS);
	cpu_return(test);
	oneshots_expect(test, after, NR_ONESHOTS);
	oneshots_change(test, wheel, across + NR_ONESHOTS / 2, NR_ONESHOTS / 2);
	KUNIT_EXPECT_TRUE(test, oneshots_fired(across + NR_ONESHOTS / 2, NR_ONESHOTS / 2));
	oneshots_expect(test, across, NR_ONESHOTS);

	/* Timers fire on the CPU again. */
	arm_on_after(&back->timer, victim_cpu, MS);
	oneshots_expect(test, back, 1);
	KUNIT_EXPECT_EQ(test, back->fired_on, victim_cpu);
}

static void goes_and_loses_nothing(struct kunit *test)
{
	unsigned int kind;

	for (kind = 0; kind < ARRAY_SIZE(wheel_kinds); kind++)
		wheel_loses_nothing(test, kind);
}

/* Wheels that are made, stopped and destroyed while the CPU is away. */
static void wheel_made_without(struct kunit *test)
{
	struct twheel *wheel, *outlives;
	struct oneshot *oneshots, *later;
	unsigned int kind;

	if (cpu_remove(test))
		return;
	for (kind = 0; kind < ARRAY_SIZE(wheel_kinds); kind++) {
		wheel = wheel_of_kind(test, kind, true);
		oneshots = oneshots_new(test, wheel, 10);
		oneshots_arm(wheel, oneshots, 10, 10 * MS);
		oneshots_expect(test, oneshots, 10);
		arm_on_after(&oneshots[0].timer, victim_cpu, HOUR);
		KUNIT_EXPECT_EQ(test, twheel_stop(wheel, NULL, NULL), 1);
	}
	outlives = wheel_of_kind(test, 0, true);
	later = oneshots_new(test, outlives, 1);
	later->deadline = twheel_now(outlives) + 300 * MS;
	arm_on_after(&later->timer, victim_cpu, 300 * MS);
	cpu_return(test);
	oneshots_expect(test, later, 1);
}

/* A nearer deadline takes effect while the CPU with the far alarm is away. */
static void idle_cpu_goes(struct kunit *test)
{
	struct twheel *wheel = wheel_of_kind(test, 0, true);
	struct oneshot *oneshots = oneshots_new(test, wheel, 2);

	arm_on_after(&oneshots[0].timer, victim_cpu, HOUR);
	if (!cpu_remove(test)) {
		oneshots[0].deadline = twheel_now(wheel) + MS;
		KUNIT_EXPECT_EQ(test, modify_after(&oneshots[0].timer, MS), 1);
		oneshots_expect(test, oneshots, 1);
		arm_on_after(&oneshots[1].timer, victim_cpu, HOUR);
		cpu_return(test);
		oneshots[1].deadline = twheel_now(wheel) + MS;
		KUNIT_EXPECT_EQ(test, modify_after(&oneshots[1].timer, MS), 1);
		oneshots_expect(test, oneshots + 1, 1);
	}
}

/* Another CPU has the alarm of one that is away, and gives it back. */
static void alarm_comes_back(struct kunit *test)
{
	struct oneshot *shots[ARRAY_SIZE(wheel_kinds)];
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(shots); i++)
		shots[i] = oneshots_new(test, wheel_of_kind(test, i, true), 1);
	if (cpu_remove(test))
		return;
	for (i = 0; i < ARRAY_SIZE(shots); i++)
		arm_on_after(&shots[i]->timer, victim_cpu, 1000 * MS);
	cpu_return(test);
	for (i = 0; i < ARRAY_SIZE(shots); i++) {
		/* That took longer than a second? Then it fired elsewhere. */
		bool early = atomic_read(&shots[i]->fired);

		KUNIT_EXPECT_TRUE(test, oneshots_fired(shots[i], 1));
		if (!early)
			KUNIT_EXPECT_EQ(test, shots[i]->fired_on, victim_cpu);
	}
}

/* It arms itself for ever. */
static void ticker_fire(struct twheel_timer *timer)
{
	oneshot_fire(timer);
	arm_after(timer, 100 * US);
}

/* Before 6.10 an idle CPU may start its hrtimers on a CPU that has just gone. */
static void no_alarm_goes_along(struct kunit *test)
{
	struct oneshot *tickers[ARRAY_SIZE(wheel_kinds)];
	unsigned int i, round;
	int calls;

	for (i = 0; i < ARRAY_SIZE(tickers); i++) {
		struct twheel *wheel = wheel_of_kind(test, i, false);

		tickers[i] = oneshots_new(test, wheel, 1);
		twheel_timer_init(&tickers[i]->timer, wheel, ticker_fire);
		arm_after(&tickers[i]->timer, 0);
	}
	for (round = 0; round < 10 && !cpu_remove(test); round++) {
		msleep(3);
		cpu_return(test);
		for (i = 0; i < ARRAY_SIZE(tickers); i++) {
			calls = atomic_read(&tickers[i]->fired);
			KUNIT_EXPECT_TRUE(test, await(atomic_read(&tickers[i]->fired) > calls + 2));
		}
	}
}

static void races_while_flapping(struct kunit *test)
{
	unsigned int kind, i;

	for (kind = 0; kind < ARRAY_SIZE(wheel_kinds); kind++) {
		struct twheel_config config = wheel_kinds[kind];
		struct stress stress;

		config.percpu = true;
		stress_begin(test, &stress, &config, 8000 / num_online_cpus(), false);
		for (i = 0; i < 4 && !cpu_remove(test); i++) {
			msleep(10);
			cpu_return(test);
			msleep(10);
		}
		stress_end(test, &stress, false);
	}
}

static struct kunit_case hotplug_cases[] = {
	KUNIT_CASE(goes_and_loses_nothing),
	KUNIT_CASE(wheel_made_without),
	KUNIT_CASE(idle_cpu_goes),
	KUNIT_CASE(alarm_comes_back),
	KUNIT_CASE(no_alarm_goes_along),
	KUNIT_CASE(races_while_flapping),
	{ }
};

static struct kunit_suite twheel_hotplug_suite = {
	.name		= "twheel_hotplug",
	.init		= hotplug_init,
	.exit		= hotplug_exit,
	.test_cases	= hotplug_cases,
};

kunit_test_suite(twheel_hotplug_suite);
