// SPDX-License-Identifier: GPL-2.0-only
/*
 * Wheels with a base for each CPU: where timers fire, and what is the same as with one
 * base. Timers that change their CPU are in travel_test.c, races in race_test.c, the limit in
 * limit_test.c, hotplug in hotplug_test.c.
 */
#include <linux/cpumask.h>
#include <linux/limits.h>
#include <linux/sched.h>
#include <linux/slab.h>

#include <linux/twheel_state.h>
#include <linux/twheel_stats.h>
#include <linux/twheel_virtual.h>

#include "smp.h"

static struct twheel *percpu_wheel(struct kunit *test, enum twheel_context context)
{
	return wheel_with(test, .percpu = true, .context = context);
}

/* Some timers that one CPU arms, where it is or on another. */
struct salvo {
	struct oneshot *oneshots;
	unsigned int n;
	u32 seed;
	int cpu;
	bool here;
	int ret;
};

static int salvo_arm(void *arg)
{
	struct salvo *salvo = arg;
	unsigned int i;

	for (i = 0; i < salvo->n; i++) {
		u64 delay = test_random(&salvo->seed) % (60 * (u32)MS);
		struct oneshot *oneshot = &salvo->oneshots[i];
		struct twheel_timer *timer = &oneshot->timer;

		oneshot->deadline = twheel_now(twheel_of(timer)) + delay;
		if (i % 2)
			salvo->ret |= salvo->here ? twheel_arm_at(timer, oneshot->deadline) :
				twheel_arm_on_at(timer, salvo->cpu, oneshot->deadline);
		else
			salvo->ret |= salvo->here ? arm_after(timer, delay) :
						    arm_on_after(timer, salvo->cpu, delay);
	}
	return 0;
}

static void salvo_start(struct kunit *test, struct twheel *wheel, struct salvo *salvo, bool here,
			int from, int to)
{
	*salvo = (struct salvo) { .n = 60, .seed = 42 + from, .cpu = to, .here = here };
	salvo->oneshots = oneshots_new(test, wheel, salvo->n);
	cpu_run(from, salvo_arm, salvo);
}

static void salvo_expect(struct kunit *test, struct salvo *salvo, int from)
{
	unsigned int i;

	oneshots_expect(test, salvo->oneshots, salvo->n);
	KUNIT_EXPECT_EQ(test, salvo->ret, 0);
	for (i = 0; i < salvo->n; i++)
		KUNIT_EXPECT_EQ_MSG(test, salvo->oneshots[i].fired_on, salvo->cpu,
				    "oneshot %u from CPU %d", i, from);
}

/* From each CPU on every CPU. What is armed on no named one fires where it is. */
static void fires_where_told(struct kunit *test)
{
	static const struct twheel_config configs[] = {
		{ .percpu = true }, { .percpu = true, .context = TWHEEL_CONTEXT_WORK },
		{ .percpu = true, .clock = TWHEEL_CLOCK_REALTIME },
	};
	struct salvo *salvos = test_memory(test, nr_cpu_ids * sizeof(*salvos)), here;
	unsigned int i;
	int from, to;

	for (i = 0; i < ARRAY_SIZE(configs); i++) {
		struct twheel *wheel = wheel_new(test, &configs[i]);

		for_each_online_cpu(from) {
			salvo_start(test, wheel, &here, true, from, from);
			for_each_online_cpu(to)
				salvo_start(test, wheel, &salvos[to], false, from, to);
			salvo_expect(test, &here, from);
			for_each_online_cpu(to)
				salvo_expect(test, &salvos[to], from);
		}
	}
}

/*
 * Tick 0 is a tick like any other, where the machine has not been up for one yet. It
 * once meant that a pass was running, and another CPU's alarm was not set for it.
 */
static void due_in_the_first_tick(struct kunit *test)
{
	struct twheel *wheel = wheel_with(test, .percpu = true, .tick_ns = TWHEEL_TICK_MAX);
	struct oneshot *oneshots = oneshots_new(test, wheel, num_online_cpus());
	unsigned int cpu, n = 0;

	if (ktime_get_ns() >= TWHEEL_TICK_MAX)
		kunit_skip(test, "up for longer than a tick");
	for_each_online_cpu(cpu)
		KUNIT_EXPECT_EQ(test, twheel_arm_on_at(&oneshots[n++].timer, cpu, 0), 0);
	oneshots_expect(test, oneshots, n);
}

static void no_such_cpu(struct kunit *test)
{
	const int none[] = { -1, nr_cpu_ids, INT_MAX, INT_MIN };
	unsigned int percpu, i;
	int cpu;

	for (percpu = 0; percpu < 2; percpu++) {
		struct twheel *wheel = wheel_with(test, .percpu = percpu);
		struct twheel_timer *timer = &oneshots_new(test, wheel, 1)->timer;

		for (i = 0; i < ARRAY_SIZE(none); i++) {
			KUNIT_EXPECT_EQ(test, twheel_arm_on(timer, none[i], HOUR), -EINVAL);
			KUNIT_EXPECT_EQ(test, twheel_arm_on_at(timer, none[i], HOUR), -EINVAL);
		}
		KUNIT_EXPECT_EQ(test, twheel_state(timer), TWHEEL_IDLE);
		for (cpu = 0; cpu < nr_cpu_ids; cpu++)
			if (!cpu_possible(cpu))
				KUNIT_EXPECT_EQ(test, twheel_arm_on(timer, cpu, 0), -EINVAL);
		/* With one base, every possible CPU is accepted. */
		for_each_possible_cpu(cpu)
			KUNIT_EXPECT_GE(test, twheel_arm_on(timer, cpu, HOUR), 0);
		KUNIT_EXPECT_EQ(test, twheel_cancel(timer), 1);
	}
}

/* A possible CPU that has never been online has a base like any other. */
static void cpu_that_never_was(struct kunit *test)
{
	enum twheel_context context;
	struct oneshot *oneshots;
	int cpu;

	for_each_possible_cpu(cpu)
		if (!cpu_online(cpu))
			break;
	if (cpu >= nr_cpu_ids) {
		kunit_skip(test, "every possible CPU is online");
		return;
	}
	for_each_callback_context(context) {
		struct twheel *wheel = percpu_wheel(test, context);

		oneshots = oneshots_new(test, wheel, 2);
		oneshots[0].deadline = twheel_now(wheel) + 5 * MS;
		twheel_arm_on(&oneshots[0].timer, cpu, 5 * MS);
		twheel_arm_on(&oneshots[1].timer, cpu, 0);
		oneshots_expect(test, oneshots, 2);
	}
}

/* Operations on a timer that is pending on another CPU */

static void pending_stays(struct kunit *test)
{
	struct twheel *wheel = percpu_wheel(test, TWHEEL_CONTEXT_SOFTIRQ);
	struct oneshot *oneshots = oneshots_new(test, wheel, 4);
	int here = cpu_first(), there = cpu_last();
	unsigned int i;

	set_cpus_allowed_ptr(current, cpumask_of(here));
	for (i = 0; i < 4; i++) {
		twheel_arm_on(&oneshots[i].timer, there, HOUR);
		oneshots[i].deadline = twheel_now(wheel) + 20 * MS;
	}
	KUNIT_EXPECT_EQ(test, twheel_arm(&oneshots[0].timer, 20 * MS), 1);
	KUNIT_EXPECT_EQ(test, twheel_modify(&oneshots[1].timer, 20 * MS), 1);
	KUNIT_EXPECT_EQ(test, twheel_modify(&oneshots[2].timer, 2 * HOUR), 1);
	KUNIT_EXPECT_EQ(test, twheel_modify(&oneshots[2].timer, 20 * MS), 1);
	KUNIT_EXPECT_EQ(test, twheel_extend(&oneshots[3].timer, 2 * HOUR), 1);
	KUNIT_EXPECT_EQ(test, twheel_arm(&oneshots[3].timer, 20 * MS), 1);
	oneshots_expect(test, oneshots, 4);
	for (i = 0; i < 4; i++)
		KUNIT_EXPECT_EQ(test, oneshots[i].fired_on, there);
}

static void cancel_from_afar(struct kunit *test)
{
	struct twheel *wheel = percpu_wheel(test, TWHEEL_CONTEXT_SOFTIRQ);
	struct oneshot *oneshot = oneshots_new(test, wheel, 1);
	struct twheel_timer *timer = &oneshot->timer;
	int here = cpu_first(), there = cpu_last();
	struct twheel_stats stats;

	set_cpus_allowed_ptr(current, cpumask_of(here));
	twheel_arm_on(timer, there, HOUR);
	KUNIT_EXPECT_EQ(test, twheel_cancel(timer), 1);
	KUNIT_EXPECT_EQ(test, twheel_cancel(timer), 0);
	KUNIT_EXPECT_EQ(test, twheel_modify(timer, MS), -ENOENT);
	/* A timer that is no longer pending fires where it is armed next. */
	oneshot->deadline = twheel_now(wheel) + MS;
	KUNIT_EXPECT_EQ(test, twheel_arm(timer, MS), 0);
	oneshots_expect(test, oneshot, 1);
	KUNIT_EXPECT_EQ(test, oneshot->fired_on, here);
	/* A pending timer moves when a CPU is named. */
	KUNIT_EXPECT_EQ(test, twheel_arm_on(timer, there, HOUR), 0);
	KUNIT_EXPECT_EQ(test, twheel_arm_on(timer, here, 2 * HOUR), 1);
	KUNIT_EXPECT_EQ(test, twheel_arm_on(timer, there, MS), 1);
	KUNIT_EXPECT_TRUE(test, await(atomic_read(&oneshot->fired) == 2));
	KUNIT_EXPECT_EQ(test, READ_ONCE(oneshot->fired_on), there);
	KUNIT_EXPECT_EQ(test, twheel_arm_on(timer, there, HOUR), 0);
	KUNIT_EXPECT_EQ(test, twheel_shutdown_sync(timer), 1);
	KUNIT_EXPECT_EQ(test, twheel_arm_on(timer, here, 0), -ESHUTDOWN);
	KUNIT_EXPECT_EQ(test, twheel_arm_on(timer, there, 0), -ESHUTDOWN);
	KUNIT_EXPECT_EQ(test, twheel_arm(timer, 0), -ESHUTDOWN);

	twheel_get_stats(wheel, &stats);
	KUNIT_EXPECT_EQ(test, stats.armed, 4);
	KUNIT_EXPECT_EQ(test, stats.fired, 2);
	KUNIT_EXPECT_EQ(test, stats.cancelled, 2);
	KUNIT_EXPECT_EQ(test, stats.pending, 0);
}

/* Stopping a wheel */

static void oneshot_hand_back(struct twheel_timer *timer, void *arg)
{
	struct oneshot *oneshot = container_of(timer, struct oneshot, timer);

	/* A timer that comes twice, or has fired, then has another sum. */
	atomic_add(100, &oneshot->fired);
}

static void stop_hands_back_all(struct kunit *test)
{
	struct twheel *wheel = percpu_wheel(test, TWHEEL_CONTEXT_SOFTIRQ);
	unsigned int i, n = 30 * num_online_cpus(), cancelled = 0;
	struct oneshot *oneshots = oneshots_new(test, wheel, n);
	int cpu = cpu_first();
	struct twheel_stats stats;

	for (i = 0; i < n; i++) {
		twheel_arm_on(&oneshots[i].timer, cpu, HOUR << i % 20);
		cpu = cpu_after(cpu);
	}
	twheel_get_stats(wheel, &stats);
	KUNIT_EXPECT_EQ(test, stats.pending, n);
	KUNIT_EXPECT_EQ(test, stats.armed, n);
	for (i = 0; i < n; i += 7)
		cancelled += twheel_cancel(&oneshots[i].timer);
	KUNIT_EXPECT_EQ(test, twheel_stop(wheel, oneshot_hand_back, NULL), n - cancelled);
	for (i = 0; i < n; i++) {
		KUNIT_EXPECT_EQ(test, atomic_read(&oneshots[i].fired), i % 7 ? 100 : 0);
		KUNIT_EXPECT_EQ(test, twheel_state(&oneshots[i].timer), i % 7 ?
				TWHEEL_UNFIRED : TWHEEL_CANCELLED);
		KUNIT_EXPECT_EQ(test, twheel_arm_on(&oneshots[i].timer, cpu, 0), -ESHUTDOWN);
		KUNIT_EXPECT_EQ(test, twheel_arm(&oneshots[i].timer, 0), -ESHUTDOWN);
	}
	twheel_get_stats(wheel, &stats);
	KUNIT_EXPECT_EQ(test, stats.pending, 0);
	KUNIT_EXPECT_EQ(test, stats.cancelled, cancelled);
	KUNIT_EXPECT_EQ(test, stats.armed, n);
	KUNIT_EXPECT_EQ(test, twheel_stop(wheel, NULL, NULL), -EALREADY);
}

static void virtual_clock_is_one(struct kunit *test)
{
	struct twheel *wheel = wheel_with(test, .percpu = true, .clock = TWHEEL_CLOCK_VIRTUAL);
	struct oneshot *oneshots = oneshots_new(test, wheel, nr_cpu_ids);
	int cpu, next;

	for_each_possible_cpu(cpu)
		twheel_arm_on(&oneshots[cpu].timer, cpu, (10 + cpu) * MS);
	KUNIT_EXPECT_EQ(test, twheel_advance(wheel, 9 * MS), 10 * MS);
	for_each_possible_cpu(cpu) {
		u64 due = twheel_advance(wheel, (10 + cpu) * MS);

		KUNIT_EXPECT_EQ(test, atomic_read(&oneshots[cpu].fired), 1);
		KUNIT_EXPECT_EQ(test, oneshots[cpu].fired_at, (10 + cpu) * MS);
		next = cpumask_next(cpu, cpu_possible_mask);
		KUNIT_EXPECT_TRUE(test, next < nr_cpu_ids ? due == (10 + next) * MS :
							    due > TWHEEL_NEVER);
	}
}

/* A timer that notes the time, and may arm another. */
struct clock_reader {
	struct twheel_timer timer;
	struct twheel_timer *next;
	u64 saw;
};

static void clock_reader_fire(struct twheel_timer *timer)
{
	struct clock_reader *reader = container_of(timer, struct clock_reader, timer);

	reader->saw = twheel_now(twheel_of(timer));
	if (reader->next)
		twheel_arm_at(reader->next, 60 * MS);
}

/* Callbacks of all CPUs see one time. What they arm on a CPU that was served before counts. */
static void virtual_clock_is_one_in_callbacks(struct kunit *test)
{
	struct twheel *wheel = wheel_with(test, .percpu = true, .clock = TWHEEL_CLOCK_VIRTUAL);
	struct clock_reader *readers;
	int cpu, last = 0;

	readers = test_memory(test, (nr_cpu_ids + 1) * sizeof(*readers));
	twheel_timer_init(&readers[nr_cpu_ids].timer, wheel, clock_reader_fire);
	for_each_possible_cpu(cpu) {
		twheel_timer_init(&readers[cpu].timer, wheel, clock_reader_fire);
		twheel_arm_on(&readers[cpu].timer, cpu, 30 * MS);
		last = cpu;
	}
	readers[last].next = &readers[nr_cpu_ids].timer;
	set_cpus_allowed_ptr(current, cpumask_of(cpu_first()));
	KUNIT_EXPECT_EQ(test, twheel_advance(wheel, 50 * MS), 60 * MS);
	for_each_possible_cpu(cpu)
		KUNIT_EXPECT_EQ(test, readers[cpu].saw, 50 * MS);
}

static struct kunit_case percpu_cases[] = {
	KUNIT_CASE(fires_where_told),
	KUNIT_CASE(due_in_the_first_tick),
	KUNIT_CASE(no_such_cpu),
	KUNIT_CASE(cpu_that_never_was),
	KUNIT_CASE(pending_stays),
	KUNIT_CASE(cancel_from_afar),
	KUNIT_CASE(stop_hands_back_all),
	KUNIT_CASE(virtual_clock_is_one),
	KUNIT_CASE(virtual_clock_is_one_in_callbacks),
	{ }
};

static struct kunit_suite twheel_percpu_suite = {
	.name		= "twheel_percpu",
	.exit		= smp_test_exit,
	.test_cases	= percpu_cases,
};

kunit_test_suite(twheel_percpu_suite);
