// SPDX-License-Identifier: GPL-2.0-only
/*
 * CPUs that go and come back: their timers fire all the same, each once, none
 * of them early.
 */
#include <linux/cpu.h>
#include <linux/cpumask.h>

#include "stress.h"

/* The CPU that goes; the first one cannot everywhere. */
static int goer = -1;

static int go(struct kunit *test)
{
	int ret = remove_cpu(goer);

	KUNIT_EXPECT_EQ_MSG(test, ret, 0, "CPU %d does not go", goer);
	return ret;
}

static void come(struct kunit *test)
{
	KUNIT_EXPECT_EQ_MSG(test, add_cpu(goer), 0, "CPU %d does not come",
			    goer);
}

static int hotplug_init(struct kunit *test)
{
	goer = cpumask_last(cpu_online_mask);
	if (goer == cpumask_first(cpu_online_mask))
		kunit_skip(test, "needs two CPUs");
	return 0;
}

static void hotplug_exit(struct kunit *test)
{
	if (goer >= 0 && !cpu_online(goer))
		add_cpu(goer);
}

static const struct {
	enum twheel_clock clock;
	enum twheel_context context;
} kinds[] = {
	{ TWHEEL_CLOCK_MONOTONIC, TWHEEL_CONTEXT_SOFTIRQ },
	{ TWHEEL_CLOCK_MONOTONIC, TWHEEL_CONTEXT_HARDIRQ },
	{ TWHEEL_CLOCK_MONOTONIC, TWHEEL_CONTEXT_WORK },
	{ TWHEEL_CLOCK_REALTIME, TWHEEL_CONTEXT_SOFTIRQ },
};

static struct twheel *kind_of_wheel(struct kunit *test, unsigned int kind)
{
	struct twheel_config config = {
		.name = "kunit-hotplug", .percpu = true,
		.clock = kinds[kind].clock, .context = kinds[kind].context,
	};

	return live_wheel(test, &config);
}

static void arm_some(struct twheel *wheel, struct shot *shots, unsigned int n,
		     u64 most)
{
	u32 seed = 5 + n;
	unsigned int i;

	for (i = 0; i < n; i++) {
		u64 delay = roll(&seed) % (u32)most;

		shots[i].deadline = twheel_now(wheel) + delay;
		if (i % 2)
			twheel_arm_on_at(&shots[i].timer, goer,
					 shots[i].deadline);
		else
			twheel_arm_on(&shots[i].timer, goer, delay);
	}
}

/* Whatever can be done to a timer that pends on the CPU. */
static void change_some(struct kunit *test, struct twheel *wheel,
			struct shot *shots, unsigned int n)
{
	unsigned int i;

	for (i = 0; i < n; i++) {
		KUNIT_EXPECT_TRUE(test, twheel_pending(&shots[i].timer));
		switch (i % 4) {
		case 0:
			KUNIT_EXPECT_EQ(test, twheel_cancel(&shots[i].timer),
					1);
			fallthrough;
		case 1:
			shots[i].deadline = twheel_now(wheel) + 10 * MS;
			twheel_arm(&shots[i].timer, 10 * MS);
			break;
		case 2:
			shots[i].deadline = twheel_now(wheel) + 20 * MS;
			twheel_modify(&shots[i].timer, 20 * MS);
			break;
		default:
			shots[i].deadline = twheel_now(wheel);
			twheel_arm_on(&shots[i].timer, goer, 0);
			break;
		}
	}
}

#define N	100

static void lose_nothing(struct kunit *test, unsigned int kind)
{
	struct twheel *wheel = kind_of_wheel(test, kind);
	struct shot *before = new_shots(test, wheel, N);
	struct shot *across = new_shots(test, wheel, N);
	struct shot *meanwhile = new_shots(test, wheel, N);
	struct shot *after = new_shots(test, wheel, N);
	struct shot *back = new_shots(test, wheel, 1);
	unsigned int i;

	/* Due while it is on, while it goes, while it is away. */
	arm_some(wheel, before, N, 400 * MS);
	/* Due after it is back, had nobody changed them. */
	for (i = 0; i < N; i++)
		twheel_arm_on(&across[i].timer, goer, HOUR);
	if (go(test))
		goto out;
	arm_some(wheel, meanwhile, N, 100 * MS);
	expect_shots(test, before, N);
	expect_shots(test, meanwhile, N);
	change_some(test, wheel, across, N / 2);
	KUNIT_EXPECT_TRUE(test, shots_fired(across, N / 2));
	arm_some(wheel, after, N, 400 * MS);
	come(test);
	expect_shots(test, after, N);
	change_some(test, wheel, across + N / 2, N / 2);
	KUNIT_EXPECT_TRUE(test, shots_fired(across + N / 2, N / 2));
	expect_shots(test, across, N);

	/* It is home again. */
	twheel_arm_on(&back->timer, goer, MS);
	expect_shots(test, back, 1);
	KUNIT_EXPECT_EQ(test, back->fired_on, goer);
out:
	twheel_destroy(wheel);
}

static void goes_and_loses_nothing(struct kunit *test)
{
	unsigned int kind;

	for (kind = 0; kind < ARRAY_SIZE(kinds); kind++)
		lose_nothing(test, kind);
}

/* Made, stopped and destroyed while the CPU is away. */
static void wheel_made_without(struct kunit *test)
{
	struct twheel *wheel, *outlives;
	struct shot *shots, *later;
	unsigned int kind;

	if (go(test))
		return;
	for (kind = 0; kind < ARRAY_SIZE(kinds); kind++) {
		wheel = kind_of_wheel(test, kind);
		shots = new_shots(test, wheel, 10);
		arm_some(wheel, shots, 10, 10 * MS);
		expect_shots(test, shots, 10);
		twheel_arm_on(&shots[0].timer, goer, HOUR);
		KUNIT_EXPECT_EQ(test, twheel_stop(wheel, NULL, NULL), 1);
		twheel_destroy(wheel);
	}
	outlives = kind_of_wheel(test, 0);
	later = new_shots(test, outlives, 1);
	later->deadline = twheel_now(outlives) + 300 * MS;
	twheel_arm_on(&later->timer, goer, 300 * MS);
	come(test);
	expect_shots(test, later, 1);
	twheel_destroy(outlives);
}

/* An alarm set for far ahead is not the last word when the CPU is away. */
static void idle_cpu_goes(struct kunit *test)
{
	struct twheel *wheel = kind_of_wheel(test, 0);
	struct shot *shots = new_shots(test, wheel, 2);

	twheel_arm_on(&shots[0].timer, goer, HOUR);
	if (!go(test)) {
		shots[0].deadline = twheel_now(wheel) + MS;
		KUNIT_EXPECT_EQ(test, twheel_modify(&shots[0].timer, MS), 1);
		expect_shots(test, shots, 1);
		twheel_arm_on(&shots[1].timer, goer, HOUR);
		come(test);
		shots[1].deadline = twheel_now(wheel) + MS;
		KUNIT_EXPECT_EQ(test, twheel_modify(&shots[1].timer, MS), 1);
		expect_shots(test, shots + 1, 1);
	}
	twheel_destroy(wheel);
}

static void flapping(struct kunit *test, unsigned int kind)
{
	struct twheel_config config = {
		.percpu = true, .clock = kinds[kind].clock,
		.context = kinds[kind].context,
	};
	struct stress stress;
	unsigned int i;

	stress_begin(test, &stress, &config, 8000 / num_online_cpus(), false);
	for (i = 0; i < 4; i++) {
		if (go(test))
			break;
		msleep(10);
		come(test);
		msleep(10);
	}
	stress_end(test, &stress, false);
}

static void races_while_flapping(struct kunit *test)
{
	unsigned int kind;

	for (kind = 0; kind < ARRAY_SIZE(kinds); kind++)
		flapping(test, kind);
}

static struct kunit_case hotplug_cases[] = {
	KUNIT_CASE(goes_and_loses_nothing),
	KUNIT_CASE(wheel_made_without),
	KUNIT_CASE(idle_cpu_goes),
	KUNIT_CASE(races_while_flapping),
	{ }
};

struct kunit_suite twheel_hotplug_suite = {
	.name		= "twheel_hotplug",
	.init		= hotplug_init,
	.exit		= hotplug_exit,
	.test_cases	= hotplug_cases,
};
