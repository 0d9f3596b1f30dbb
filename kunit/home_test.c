// SPDX-License-Identifier: GPL-2.0-only
/* On which CPU the alarm of a wheel of one base goes off. */
#include <linux/cpumask.h>
#include <linux/kthread.h>
#include <linux/sched.h>
#include <linux/sched/isolation.h>
#include <linux/slab.h>

#include "../module/compat.h"
#include "../module/core/base.h"
#include "smp.h"

/*
 * Where the timers of one base fire. A pass that ends arms none on an isolated CPU. Without
 * a period they are always due. The base never has two alarms.
 */
struct nomad {
	struct twheel_timer timer;
	int avoided;
	unsigned int fired;
	unsigned int there;
	unsigned int twice;
	unsigned int more;
	u64 period;
};

static int nomad_arm(void *arg)
{
	struct nomad *nomad = arg;

	return nomad->period ? twheel_arm(&nomad->timer, nomad->period) :
			       twheel_arm_at(&nomad->timer, 1);
}

static void nomad_fire(struct twheel_timer *timer)
{
	struct nomad *nomad = container_of(timer, struct nomad, timer);
	struct tw_clock *clock = &timer->base->clock;
	struct tw_alarm *other = &clock->alarms[clock->alarm == clock->alarms];

	nomad->twice += hrtimer_is_queued(tw_alarm_timer(other, clock->id));
	nomad->there += raw_smp_processor_id() == nomad->avoided;
	if (nomad->fired < 20 + nomad->more)
		nomad_arm(nomad);
	else
		twheel_arm(timer, HOUR);
	WRITE_ONCE(nomad->fired, nomad->fired + 1);
}

/*
 * Armed there by @arm, on such a wheel, again and again: how many times does it fire there?
 * Without a configuration it is the system wheel.
 */
static unsigned int nomad_count(struct kunit *test, int cpu, int (*arm)(void *nomad),
				const struct twheel_config *config, u64 period)
{
	struct twheel *wheel = config ? wheel_new(test, config) : NULL;
	struct nomad *nomad = test_memory(test, sizeof(*nomad));

	nomad->avoided = cpu;
	nomad->period = period;
	twheel_timer_init(&nomad->timer, wheel, nomad_fire);
	KUNIT_EXPECT_EQ(test, cpu_run(cpu, arm, nomad), 0);
	KUNIT_EXPECT_TRUE(test, await(READ_ONCE(nomad->fired) == 21));
	KUNIT_EXPECT_EQ(test, nomad->twice, 0);
	KUNIT_EXPECT_EQ(test, twheel_shutdown_sync(&nomad->timer), 1);
	return nomad->there;
}

static void nomad_expect_on(struct kunit *test, int cpu, int (*arm)(void *nomad),
			    const struct twheel_config *config, u64 period, unsigned int most)
{
	KUNIT_EXPECT_LE(test, nomad_count(test, cpu, arm, config, period), most);
}

static void nomad_expect(struct kunit *test, int cpu, int (*arm)(void *nomad),
			 unsigned int most)
{
	nomad_expect_on(test, cpu, arm, &(struct twheel_config) { }, 10 * MS, most);
}

static int nomad_isolated_cpu(struct kunit *test)
{
	int cpu;

	for_each_online_cpu(cpu)
		if (!housekeeping_cpu(cpu, HK_TYPE_DOMAIN))
			return cpu;
	kunit_skip(test, "no CPU is isolated");
	return -1;
}

static void isolated_cpu_is_left_alone(struct kunit *test)
{
	int cpu = nomad_isolated_cpu(test);

	nomad_expect(test, cpu, nomad_arm, 0);
}

/* As if a CPU had been kicked to set the alarm. */
static void clock_kick(struct twheel_base *base)
{
	unsigned long flags;

	raw_spin_lock_irqsave(&base->lock, flags);
	base->clock.kicking = true;
	raw_spin_unlock_irqrestore(&base->lock, flags);
}

/* The kick comes. */
static int clock_kicked(void *arg)
{
	unsigned long flags;

	local_irq_save(flags);
	tw_base_kicked(arg);
	local_irq_restore(flags);
	return 0;
}

/*
 * A CPU is kicked to set the alarm, and is isolated before the kick comes. Here it is isolated
 * all the time.
 */
static int nomad_arm_while_kicked(void *arg)
{
	struct nomad *nomad = arg;
	struct twheel_base *base = nomad->timer.base;
	int ret;

	clock_kick(base);
	ret = twheel_arm(&nomad->timer, nomad->period);
	clock_kicked(&base->clock);
	return ret;
}

static void kick_of_an_isolated_cpu_goes_on(struct kunit *test)
{
	nomad_expect(test, nomad_isolated_cpu(test), nomad_arm_while_kicked, 0);
}

static int alarm_cpu(struct tw_clock *clock)
{
	return READ_ONCE(tw_clock_hrtimer(clock)->base)->cpu_base->cpu;
}

/* Until a CPU that is kicked sets the alarm, this one sets none in its place. */
static void alarm_waits_for_the_kick(struct kunit *test)
{
	int here = cpu_first(), there = cpu_last();
	struct twheel_base *base;
	struct oneshot *shots;
	struct twheel *wheel;

	test_needs_two_cpus(test);
	wheel = wheel_with(test, .percpu = true);
	shots = oneshots_new(test, wheel, 2);
	set_cpus_allowed_ptr(current, cpumask_of(here));
	KUNIT_EXPECT_EQ(test, twheel_arm_on(&shots[0].timer, there, 2 * HOUR), 0);
	base = shots[0].timer.base;
	KUNIT_EXPECT_TRUE(test, await(hrtimer_is_queued(tw_clock_hrtimer(&base->clock)) &&
				      !READ_ONCE(base->clock.kicking)));
	clock_kick(base);
	KUNIT_EXPECT_EQ(test, twheel_arm_on(&shots[1].timer, there, HOUR), 0);
	KUNIT_EXPECT_EQ(test, alarm_cpu(&base->clock), there);
	KUNIT_EXPECT_EQ(test, cpu_run(there, clock_kicked, &base->clock), 0);
	KUNIT_EXPECT_EQ(test, alarm_cpu(&base->clock), there);
}

static int nomad_keep_busy(void *arg)
{
	while (!kthread_should_stop())
		cond_resched();
	return 0;
}

/* A task that keeps this CPU from being idle until kthread_stop(). */
static struct task_struct *nomad_busy_task(struct kunit *test, int cpu)
{
	struct task_struct *task = kthread_create(nomad_keep_busy, NULL, "twheel-busy");

	KUNIT_ASSERT_FALSE(test, IS_ERR(task));
	kthread_bind(task, cpu);
	wake_up_process(task);
	return task;
}

/* A CPU is isolated while it has the alarm. */
static int nomad_arm_here(void *arg)
{
	struct nomad *nomad = arg;
	int ret = twheel_arm(&nomad->timer, 10 * MS);
	struct tw_clock *clock = &READ_ONCE(nomad->timer.base)->clock;

	/* Once the home CPU has set it. */
	msleep(2);
	hrtimer_start(tw_clock_hrtimer(clock),
		      ns_to_ktime(twheel_now(twheel_of(&nomad->timer)) + 10 * MS),
		      HRTIMER_MODE_PINNED | (clock->id == TWHEEL_CLOCK_MONOTONIC ?
					     HRTIMER_MODE_ABS_SOFT : HRTIMER_MODE_ABS_HARD));
	return ret;
}

static void alarm_leaves_isolated_cpu(struct kunit *test)
{
	int cpu = nomad_isolated_cpu(test);
	struct task_struct *task = nomad_busy_task(test, cpu);

	/* At times an hrtimer is started elsewhere before its function has ended, and stays. */
	nomad_expect(test, cpu, nomad_arm_here, 6);
	/* Its pass ends with something due. */
	nomad_expect_on(test, cpu, nomad_arm_here, &(struct twheel_config) {
				.clock = TWHEEL_CLOCK_BOOTTIME }, 0, 6);
	kthread_stop(task);
}

/*
 * Armed on @idle, it fires elsewhere most times. It fires there once or twice, and again where
 * tasks of others have run. On a slow machine they may run all the time: then it is tried again.
 */
static void nomad_expect_elsewhere(struct kunit *test, int idle,
				   const struct twheel_config *config)
{
	int tries = 0;

	while (tries < 10 && nomad_count(test, idle, nomad_arm, config, 10 * MS) > 8)
		tries++;
	KUNIT_EXPECT_LT(test, tries, 10);
}

/* As other timers do: while another CPU is busy, an idle one is not woken up. */
static void idle_cpu_is_left_alone(struct kunit *test)
{
	const struct twheel_config config = { };
	int busy = cpu_first();
	int idle = cpumask_next(busy, cpu_online_mask);
	struct task_struct *task;

	test_needs_two_cpus(test);
	if (!IS_ENABLED(CONFIG_NO_HZ_COMMON))
		kunit_skip(test, "each CPU ticks");
	if (IS_ENABLED(CONFIG_PREEMPT_RT))
		kunit_skip(test, "a softirq is a task, which keeps its CPU busy");
	task = nomad_busy_task(test, busy);
	/* This one also keeps away from the idle CPU. */
	set_cpus_allowed_ptr(current, cpumask_of(busy));
	nomad_expect_elsewhere(test, idle, &config);
	nomad_expect_elsewhere(test, idle, NULL);
	set_cpus_allowed_ptr(current, cpu_possible_mask);
	kthread_stop(task);
}

static int nomad_begin(void *arg)
{
	struct nomad *nomad = arg;

	twheel_timer_init(&nomad->timer, NULL, nomad_fire);
	return twheel_arm(&nomad->timer, nomad->period);
}

/* A timer of the system wheel fires elsewhere while its CPU sleeps, and there when it works. */
static void alarm_comes_home(struct kunit *test)
{
	int busy = cpu_first();
	struct task_struct *task, *at_home;
	struct nomad *nomad;
	unsigned int before;
	int home;

	test_needs_two_cpus(test);
	for_each_online_cpu(home)
		if (home != busy && housekeeping_cpu(home, HK_TYPE_DOMAIN))
			break;
	if (home >= nr_cpu_ids)
		kunit_skip(test, "the other CPUs are isolated");
	nomad = test_memory(test, sizeof(*nomad));
	nomad->avoided = home;
	nomad->period = 10 * MS;
	nomad->more = 1000;
	task = nomad_busy_task(test, busy);
	set_cpus_allowed_ptr(current, cpumask_of(busy));
	KUNIT_EXPECT_EQ(test, cpu_run(home, nomad_begin, nomad), 0);
	KUNIT_EXPECT_TRUE(test, await(READ_ONCE(nomad->fired) > 5));
	at_home = nomad_busy_task(test, home);
	before = READ_ONCE(nomad->there);
	KUNIT_EXPECT_TRUE(test, await(READ_ONCE(nomad->there) > before + 5));
	KUNIT_EXPECT_EQ(test, twheel_shutdown_sync(&nomad->timer), 1);
	kthread_stop(at_home);
	set_cpus_allowed_ptr(current, cpu_possible_mask);
	kthread_stop(task);
}

static struct kunit_case home_cases[] = {
	KUNIT_CASE(isolated_cpu_is_left_alone),
	KUNIT_CASE(kick_of_an_isolated_cpu_goes_on),
	KUNIT_CASE(alarm_waits_for_the_kick),
	KUNIT_CASE(alarm_leaves_isolated_cpu),
	KUNIT_CASE(idle_cpu_is_left_alone),
	KUNIT_CASE(alarm_comes_home),
	{ }
};

static struct kunit_suite twheel_home_suite = {
	.name		= "twheel_home",
	.exit		= smp_test_exit,
	.test_cases	= home_cases,
};

kunit_test_suite(twheel_home_suite);
