// SPDX-License-Identifier: GPL-2.0-only
/* Parts of the core by themselves: when an alarm is set, and how lateness is measured. */
#include <linux/completion.h>
#include <linux/delay.h>
#include <linux/err.h>
#include <linux/hrtimer.h>
#include <linux/jiffies.h>
#include <linux/math64.h>
#include <linux/preempt.h>
#include <linux/processor.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/tracepoint.h>
#include <linux/workqueue.h>

#include <linux/twheel_many.h>
#include <linux/twheel_stats.h>
#include <linux/twheel_virtual.h>

#include "../module/core/base.h"
#include "probe.h"

/* When the alarm is set */

#ifdef CONFIG_TRACEPOINTS
struct alarms {
	const struct hrtimer *timer;
	unsigned int started;
	unsigned int cancelled;
};

static struct tracepoint *alarm_started, *alarm_cancelled;

static void alarm_note_point(struct tracepoint *point, void *none)
{
	if (!strcmp(point->name, "hrtimer_start"))
		alarm_started = point;
	if (!strcmp(point->name, "hrtimer_cancel"))
		alarm_cancelled = point;
}

static void on_hrtimer_start(void *data, struct hrtimer *timer, enum hrtimer_mode mode)
{
	struct alarms *alarms = data;

	alarms->started += timer == alarms->timer;
}

static void on_hrtimer_cancel(void *data, struct hrtimer *timer)
{
	struct alarms *alarms = data;

	alarms->cancelled += timer == alarms->timer;
}

static void alarms_watch(struct kunit *test, struct alarms *alarms)
{
	for_each_kernel_tracepoint(alarm_note_point, NULL);
	if (!alarm_started || !alarm_cancelled)
		kunit_skip(test, "hrtimers are not traced");
	KUNIT_ASSERT_EQ(test, tracepoint_probe_register(alarm_started, on_hrtimer_start,
							alarms), 0);
	KUNIT_ASSERT_EQ(test, tracepoint_probe_register(alarm_cancelled, on_hrtimer_cancel,
							alarms), 0);
}

static void alarms_leave(struct alarms *alarms)
{
	tracepoint_probe_unregister(alarm_started, on_hrtimer_start, alarms);
	tracepoint_probe_unregister(alarm_cancelled, on_hrtimer_cancel, alarms);
	tracepoint_synchronize_unregister();
}

static void alarm_is_set_when_needed(struct kunit *test)
{
	struct twheel_config config = { .name = "kunit-alarm" };
	struct probe *p = probes_new(test, 4);
	struct alarms alarms = { };
	struct tw_clock *clock;
	struct twheel *wheel;
	unsigned int i;
	u64 now;

	alarms_watch(test, &alarms);
	wheel = wheel_new(test, &config);
	for (i = 0; i < 4; i++)
		probe_init(&p[i], wheel, probe_fire);
	now = twheel_now(wheel);
	twheel_arm_at(&p[0].timer, now + 10 * HOUR);
	clock = &READ_ONCE(p[0].timer.base)->clock;
	alarms.timer = tw_clock_hrtimer(clock);
	/* Later, or at the same instant: it need not be set. */
	twheel_arm_at(&p[1].timer, now + 20 * HOUR);
	twheel_arm_at(&p[2].timer, now + 10 * HOUR);
	KUNIT_EXPECT_EQ(test, alarms.started, 0);
	/* Nearer, it has to be. To cancel that leaves it as it is. */
	twheel_arm_at(&p[3].timer, now + 5 * HOUR);
	KUNIT_EXPECT_EQ(test, alarms.started, 1);
	alarms.cancelled = 0;
	twheel_cancel(&p[3].timer);
	twheel_cancel(&p[2].timer);
	twheel_cancel(&p[1].timer);
	KUNIT_EXPECT_EQ(test, alarms.started, 1);
	/* A CPU that is kicked sets it. */
	tw_base_kicked(clock);
	KUNIT_EXPECT_EQ(test, alarms.started, 2);
	/* The last one leaves it, too, and the next one need not set it again. */
	alarms.cancelled = 0;
	twheel_cancel(&p[0].timer);
	twheel_arm_at(&p[0].timer, now + 6 * HOUR);
	twheel_cancel(&p[0].timer);
	KUNIT_EXPECT_EQ(test, alarms.started, 2);
	KUNIT_EXPECT_EQ(test, alarms.cancelled, 0);
	alarms_leave(&alarms);
}

/* Each time it is set, the clock event is put off: in a loop, that would be for ever. */
static void alarm_that_is_due_is_left(struct kunit *test)
{
	struct twheel_config config = { .name = "kunit-alarm" };
	struct probe *p = probes_new(test, 2);
	unsigned int round;
	struct alarms alarms = { };
	struct twheel_item item;
	struct twheel *wheel;
	unsigned long flags;
	u64 now;

	alarms_watch(test, &alarms);
	for (round = 0; round < 4; round++) {
		config.percpu = round & 1;
		wheel = wheel_new(test, &config);
		probe_init(p, wheel, probe_fire);
		probe_init(p + 1, wheel, probe_fire);
		local_irq_save(flags);
		twheel_arm(&p->timer, HOUR);
		alarms.timer = tw_clock_hrtimer(&READ_ONCE(p->timer.base)->clock);
		alarms.started = 0;
		alarms.cancelled = 0;
		now = twheel_now(wheel);
		spin_ns(5 * MS);
		item.timer = &p->timer;
		for (item.deadline_ns = now; item.deadline_ns > now - 100 * MS;
		     item.deadline_ns -= MS) {
			if (round & 2)
				twheel_arm_many(wheel, &item, 1);
			else
				twheel_arm_at(&p->timer, item.deadline_ns);
			twheel_cancel(&p->timer);
		}
		local_irq_restore(flags);
		KUNIT_EXPECT_EQ_MSG(test, alarms.started, 1, "round %u", round);
		/* Which is the first half of that, to some kernels. */
		KUNIT_EXPECT_LE_MSG(test, alarms.cancelled, 1, "round %u", round);
		/* It goes off, and works as before after that. */
		p[1].fired = 0;
		twheel_arm(&p[1].timer, MS);
		KUNIT_EXPECT_TRUE(test, await(READ_ONCE(p[1].fired) == 1));
		/* Another timer's alarm is due, and this CPU could not yet handle it. */
		local_irq_save(flags);
		twheel_arm(&p->timer, MS);
		alarms.timer = tw_clock_hrtimer(&READ_ONCE(p->timer.base)->clock);
		spin_ns(2 * MS);
		alarms.started = 0;
		twheel_arm_at(&p[1].timer, now);
		local_irq_restore(flags);
		if (config.percpu)
			KUNIT_EXPECT_EQ_MSG(test, alarms.started, 0, "round %u", round);
	}
	alarms_leave(&alarms);
}

/* Timers that are armed together, each nearer than the one before. */
static void alarm_is_set_once_for_many(struct kunit *test)
{
	struct twheel_config config = { .name = "kunit-alarm" };
	struct probe *p = probes_new(test, 16);
	struct twheel_item *items;
	struct alarms alarms = { };
	struct twheel *wheel;
	unsigned int i;
	u64 now;

	items = test_memory(test, 16 * sizeof(*items));
	alarms_watch(test, &alarms);
	wheel = wheel_new(test, &config);
	now = twheel_now(wheel);
	for (i = 0; i < 16; i++) {
		probe_init(&p[i], wheel, probe_fire);
		items[i].timer = &p[i].timer;
		items[i].deadline_ns = now + (16 - i) * HOUR;
	}
	alarms.timer = tw_clock_hrtimer(&READ_ONCE(p->timer.base)->clock);
	KUNIT_EXPECT_EQ(test, twheel_arm_many(wheel, items, 16), 16);
	KUNIT_EXPECT_EQ(test, alarms.started, 1);
	/* And for the first of them. */
	KUNIT_EXPECT_LE(test, ktime_to_ns(hrtimer_get_expires(alarms.timer)),
			now + HOUR + MS);
	alarms_leave(&alarms);
}
#else
static void alarm_is_set_when_needed(struct kunit *test)
{
	kunit_skip(test, "nothing is traced");
}

static void alarm_that_is_due_is_left(struct kunit *test)
{
	kunit_skip(test, "nothing is traced");
}

static void alarm_is_set_once_for_many(struct kunit *test)
{
	kunit_skip(test, "nothing is traced");
}
#endif

/* Whether a timer has fired so often, or does so soon. */
static bool probe_fired_often(const struct probe *p, unsigned int count)
{
	return await(READ_ONCE(p->fired) >= count);
}

static void no_alarm_after_the_last(struct kunit *test)
{
	struct twheel_config config = { .name = "kunit-alarm" };
	struct twheel *wheel = wheel_new(test, &config);
	struct probe *p = probes_new(test, 1);
	const struct hrtimer *alarm;

	probe_init(p, wheel, probe_fire);
	twheel_arm(&p->timer, MS);
	alarm = tw_clock_hrtimer(&READ_ONCE(p->timer.base)->clock);
	KUNIT_EXPECT_TRUE(test, probe_fired_often(p, 1));
	/* It is active for as long as the pass lasts. */
	KUNIT_EXPECT_TRUE(test, await(!hrtimer_active(alarm)));
}

/**
 * struct slow - a timer whose callback takes longer than its period
 * @timer: the timer
 * @began: when it fired first
 * @took: from there to the tenth time
 * @fired: how many times it has
 */
struct slow {
	struct twheel_timer timer;
	u64 began;
	u64 took;
	unsigned int fired;
};

static void slow_fire(struct twheel_timer *timer)
{
	struct slow *slow = container_of(timer, struct slow, timer);
	u64 now = ktime_get_ns();

	if (!slow->fired)
		slow->began = now;
	if (slow->fired == 9)
		slow->took = now - slow->began;
	else
		twheel_arm(timer, MS);
	/* A virtual machine's udelay() may be short. */
	while (ktime_get_ns() - now < 2 * MS)
		cpu_relax();
	WRITE_ONCE(slow->fired, slow->fired + 1);
}

/* It takes half of its CPU: a pass pauses for as long as it took. */
static void slow_callback_leaves_half(struct kunit *test)
{
	struct slow *slow = test_memory(test, sizeof(*slow));
	struct twheel *wheel = wheel_new(test, NULL);

	twheel_timer_init(&slow->timer, wheel, slow_fire);
	twheel_arm(&slow->timer, MS);
	KUNIT_EXPECT_TRUE(test, await(READ_ONCE(slow->fired) == 10));
	KUNIT_EXPECT_EQ(test, twheel_cancel_sync(&slow->timer), 0);
	KUNIT_EXPECT_GE(test, slow->took, 9 * 2 * 2 * MS);
}

/* Arms itself for the past, ten times: each time it is due in the next pass. */
static void sleeper_fire(struct twheel_timer *timer)
{
	struct probe *p = container_of(timer, struct probe, timer);

	p->result += softirq_count() != 0;
	if (p->fired < 9)
		twheel_arm_at(timer, 1);
	WRITE_ONCE(p->fired, p->fired + 1);
}

static void work_may_always_sleep(struct kunit *test)
{
	struct twheel_config config = {
		.name = "kunit-work", .context = TWHEEL_CONTEXT_WORK,
	};
	struct twheel *wheel = wheel_new(test, &config);
	struct probe *p = probes_new(test, 1);

	probe_init(p, wheel, sleeper_fire);
	twheel_arm(&p->timer, MS);
	KUNIT_EXPECT_TRUE(test, probe_fired_often(p, 10));
	KUNIT_EXPECT_EQ(test, p->result, 0);
}

struct blocker {
	struct work_struct work;
	struct completion go;
};

static void blocker_work(struct work_struct *work)
{
	wait_for_completion(&container_of(work, struct blocker, work)->go);
}

/* What waits in a work queue is taken out of it. */
static void stop_takes_back_its_work(struct kunit *test)
{
	struct twheel_config config = {
		.name = "kunit-stop", .context = TWHEEL_CONTEXT_WORK,
	};
	struct probe *p = probes_new(test, 1);
	struct work_struct *work;
	struct blocker blocker;
	struct twheel *wheel;

	config.workqueue = alloc_ordered_workqueue("kunit-stop", 0);
	KUNIT_ASSERT_NOT_NULL(test, config.workqueue);
	wheel = wheel_new(test, &config);
	init_completion(&blocker.go);
	INIT_WORK_ONSTACK(&blocker.work, blocker_work);
	queue_work(config.workqueue, &blocker.work);
	probe_init(p, wheel, probe_fire);
	twheel_arm(&p->timer, MS);
	work = &READ_ONCE(p->timer.base)->clock.work;
	KUNIT_EXPECT_TRUE(test, await(work_pending(work)));
	KUNIT_EXPECT_EQ(test, twheel_stop(wheel, NULL, NULL), 1);
	KUNIT_EXPECT_FALSE(test, work_pending(work));
	complete(&blocker.go);
	flush_work(&blocker.work);
	destroy_work_on_stack(&blocker.work);
	wheel_end(test, wheel);
	destroy_workqueue(config.workqueue);
	KUNIT_EXPECT_EQ(test, p->fired, 0);
}

/* Which time lateness is measured by */

static u64 late_step;

/* The clock goes on while it runs. */
static void late_fire(struct twheel_timer *timer)
{
	struct twheel *wheel = twheel_of(timer);

	tw_instance_set_time(wheel, twheel_now(wheel) + late_step);
}

/*
 * So many timers due at one instant, each of which takes a ms. Returns their lateness in ms.
 */
static u64 late_together(struct kunit *test, enum twheel_context context, unsigned int n)
{
	struct twheel_config config = {
		.name = "kunit-late", .clock = TWHEEL_CLOCK_VIRTUAL, .tick_ns = MS,
		.context = context,
	};
	struct probe *p = probes_new(test, n);
	struct twheel_stats stats;
	struct twheel *wheel;
	unsigned int i;

	wheel = wheel_new(test, &config);
	for (i = 0; i < n; i++) {
		probe_init(&p[i], wheel, late_fire);
		twheel_arm_at(&p[i].timer, 10 * MS);
	}
	late_step = MS;
	twheel_advance(wheel, 10 * MS);
	twheel_get_stats(wheel, &stats);
	KUNIT_EXPECT_EQ(test, stats.fired, n);
	return div_u64(stats.late_sum, NSEC_PER_MSEC);
}

static void late_by_the_last_look(struct kunit *test)
{
	u64 late;

	/* In process context a pass looks before each callback; else after 32. */
	late = late_together(test, TWHEEL_CONTEXT_WORK, 4);
	KUNIT_EXPECT_EQ(test, late, 0 + 1 + 2 + 3);
	late = late_together(test, TWHEEL_CONTEXT_SOFTIRQ, 32);
	KUNIT_EXPECT_EQ(test, late, 0);
	late = late_together(test, TWHEEL_CONTEXT_SOFTIRQ, 40);
	KUNIT_EXPECT_EQ(test, late, 8 * 32);
}

static void ticker_fire(struct twheel_timer *timer)
{
	struct probe *probe = container_of(timer, struct probe, timer);

	if (++probe->fired < 4)
		twheel_arm(timer, MS);
}

/* On its own CPU an alarm goes on: another hrtimer would take 300 instructions more. */
static void alarm_of_a_cpu_goes_on(struct kunit *test)
{
	struct twheel_config config = { .name = "kunit-core", .percpu = true };
	struct probe *p = probes_new(test, 1);
	const struct tw_clock *clock;
	struct twheel *wheel;
	const struct tw_alarm *alarm;

	wheel = wheel_new(test, &config);
	probe_init(p, wheel, ticker_fire);
	twheel_arm(&p->timer, HOUR);
	clock = &READ_ONCE(p->timer.base)->clock;
	alarm = READ_ONCE(clock->alarm);
	twheel_modify(&p->timer, MS);
	KUNIT_EXPECT_TRUE(test, await(READ_ONCE(p->fired) == 4));
	KUNIT_EXPECT_PTR_EQ(test, READ_ONCE(clock->alarm), alarm);
}

/* Of the longest tick, the last boundary that a clock can reach. */
static void last_deadline_is_kept(struct kunit *test)
{
	const u64 tick_ns = TWHEEL_TICK_MAX;
	const u64 deadline = div64_u64(TWHEEL_NEVER - 1, tick_ns) * tick_ns;
	struct twheel *wheel = virtual_wheel(test, tick_ns, 0);
	struct probe *p = probes_new(test, 2);
	unsigned int i;

	/* From far away, a timer would get its last bucket by another function. */
	wheel_run_until(wheel, deadline - 3 * tick_ns);
	for (i = 0; i < 2; i++) {
		probe_init(&p[i], wheel, probe_fire);
		twheel_arm_at(&p[i].timer, deadline);
	}
	wheel_run_until(wheel, deadline - 1);
	KUNIT_EXPECT_EQ(test, p[0].fired + p[1].fired, 0);
	wheel_run_until(wheel, deadline);
	KUNIT_EXPECT_EQ(test, p[0].fired, 1);
	KUNIT_EXPECT_EQ(test, p[1].fired, 1);
}

static void context_is_one_there_is(struct kunit *test)
{
	struct twheel_config config = { .name = "kunit-core" };

	config.context = TWHEEL_CONTEXT_WORK;
	KUNIT_EXPECT_TRUE(test, tw_base_valid(&config));
	config.context = TWHEEL_CONTEXT_WORK + 1;
	KUNIT_EXPECT_FALSE(test, tw_base_valid(&config));
}

static struct kunit_case core_cases[] = {
	KUNIT_CASE(alarm_is_set_when_needed),
	KUNIT_CASE(alarm_that_is_due_is_left),
	KUNIT_CASE(alarm_is_set_once_for_many),
	KUNIT_CASE(no_alarm_after_the_last),
	KUNIT_CASE(work_may_always_sleep),
	KUNIT_CASE(stop_takes_back_its_work),
	KUNIT_CASE(late_by_the_last_look),
	KUNIT_CASE(alarm_of_a_cpu_goes_on),
	KUNIT_CASE(slow_callback_leaves_half),
	KUNIT_CASE(last_deadline_is_kept),
	KUNIT_CASE(context_is_one_there_is),
	{ }
};

static struct kunit_suite twheel_core_suite = {
	.name		= "twheel_core",
	.exit		= wheels_end,
	.test_cases	= core_cases,
};

kunit_test_suite(twheel_core_suite);
