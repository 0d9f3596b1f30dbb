// SPDX-License-Identifier: GPL-2.0-only
/* Parts of the core by themselves: when an alarm is set, and how lateness is measured. */
#include <linux/hrtimer.h>
#include <linux/string.h>
#include <linux/tracepoint.h>

#include <linux/twheel_many.h>
#include <linux/twheel_stats.h>
#include <linux/twheel_virtual.h>

#include "../module/core/base.h"
#include "probe.h"

/* When the alarm is set */

struct alarms {
	const struct hrtimer *timer;
	unsigned int started;
	unsigned int cancelled;
};

#ifdef CONFIG_TRACEPOINTS
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
#else
static void alarms_watch(struct kunit *test, struct alarms *alarms)
{
	kunit_skip(test, "nothing is traced");
}

static void alarms_leave(struct alarms *alarms)
{
}
#endif

static struct tw_clock *probe_clock(const struct probe *p)
{
	return &READ_ONCE(p->timer.base)->clock;
}

/* A timer is armed, and its alarm is watched from here on. */
static void alarms_begin(struct alarms *alarms, struct probe *p, u64 deadline)
{
	twheel_arm_at(&p->timer, deadline);
	alarms->timer = tw_clock_hrtimer(probe_clock(p));
	alarms->started = 0;
	alarms->cancelled = 0;
}

static void alarm_is_set_when_needed(struct kunit *test)
{
	struct twheel *wheel = wheel_new(test, NULL);
	struct probe *p = probes_new(test, wheel, 4, probe_fire);
	u64 now = twheel_now(wheel);
	struct alarms alarms = { };

	alarms_watch(test, &alarms);
	alarms_begin(&alarms, &p[0], now + 10 * HOUR);
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
	tw_base_kicked(probe_clock(p));
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
	struct alarms alarms = { };
	unsigned long flags;
	unsigned int round;

	alarms_watch(test, &alarms);
	/* as an array, per CPU */
	for (round = 0; round < 2 * 2; round++) {
		struct twheel *wheel = wheel_with(test, .percpu = round & 1);
		struct probe *p = probes_new(test, wheel, 2, probe_fire);
		struct twheel_item item = { .timer = &p->timer };
		u64 now;

		local_irq_save(flags);
		alarms_begin(&alarms, p, twheel_now(wheel) + HOUR);
		now = twheel_now(wheel);
		spin_ns(5 * MS);
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
		alarms_begin(&alarms, p, twheel_now(wheel) + MS);
		spin_ns(2 * MS);
		alarms.started = 0;
		twheel_arm_at(&p[1].timer, now);
		local_irq_restore(flags);
		if (round & 1)
			KUNIT_EXPECT_EQ_MSG(test, alarms.started, 0, "round %u", round);
	}
	alarms_leave(&alarms);
}

/* Timers that are armed together, each nearer than the one before: the alarm is for the first. */
static void alarm_is_set_once_for_many(struct kunit *test)
{
	struct twheel *wheel = wheel_new(test, NULL);
	struct probe *p = probes_new(test, wheel, 16, probe_fire);
	u64 now = twheel_now(wheel);
	struct twheel_item items[16];
	struct alarms alarms = { };
	unsigned int i;

	alarms_watch(test, &alarms);
	for (i = 0; i < 16; i++) {
		items[i].timer = &p[i].timer;
		items[i].deadline_ns = now + (16 - i) * HOUR;
	}
	alarms.timer = tw_clock_hrtimer(probe_clock(p));
	KUNIT_EXPECT_EQ(test, twheel_arm_many(wheel, items, 16), 16);
	KUNIT_EXPECT_EQ(test, alarms.started, 1);
	KUNIT_EXPECT_LE(test, ktime_to_ns(hrtimer_get_expires(alarms.timer)), now + HOUR + MS);
	alarms_leave(&alarms);
}

static void no_alarm_after_the_last(struct kunit *test)
{
	struct probe *p = probes_new(test, wheel_new(test, NULL), 1, probe_fire);
	const struct hrtimer *alarm;

	twheel_arm(&p->timer, MS);
	alarm = tw_clock_hrtimer(probe_clock(p));
	KUNIT_EXPECT_TRUE(test, await(READ_ONCE(p->fired) >= 1));
	/* It is active for as long as the pass lasts. */
	KUNIT_EXPECT_TRUE(test, await(!hrtimer_active(alarm)));
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
	struct twheel *wheel = wheel_with(test, .clock = TWHEEL_CLOCK_VIRTUAL, .tick_ns = MS,
					  .context = context);
	struct probe *p = probes_new(test, wheel, n, late_fire);
	struct twheel_stats stats;
	unsigned int i;

	for (i = 0; i < n; i++)
		twheel_arm_at(&p[i].timer, 10 * MS);
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
	struct probe *p = probes_new(test, wheel_with(test, .percpu = true), 1, ticker_fire);
	const struct tw_alarm *alarm;

	twheel_arm(&p->timer, HOUR);
	alarm = READ_ONCE(probe_clock(p)->alarm);
	twheel_modify(&p->timer, MS);
	KUNIT_EXPECT_TRUE(test, await(READ_ONCE(p->fired) == 4));
	KUNIT_EXPECT_PTR_EQ(test, READ_ONCE(probe_clock(p)->alarm), alarm);
}

/* Of the longest tick, the last boundary that a clock can reach. */
static void last_deadline_is_kept(struct kunit *test)
{
	const u64 tick_ns = TWHEEL_TICK_MAX;
	const u64 deadline = div64_u64(TWHEEL_NEVER - 1, tick_ns) * tick_ns;
	struct twheel *wheel = virtual_wheel(test, tick_ns, 0);
	struct probe *p = probes_new(test, wheel, 2, probe_fire);
	unsigned int i;

	/* From far away, a timer would get its last bucket by another function. */
	wheel_run_until(wheel, deadline - 3 * tick_ns);
	for (i = 0; i < 2; i++)
		twheel_arm_at(&p[i].timer, deadline);
	wheel_run_until(wheel, deadline - 1);
	KUNIT_EXPECT_EQ(test, p[0].fired + p[1].fired, 0);
	wheel_run_until(wheel, deadline);
	KUNIT_EXPECT_EQ(test, p[0].fired, 1);
	KUNIT_EXPECT_EQ(test, p[1].fired, 1);
}

/* Of what was in it, nothing is believed. */
static void memory_was_used_before(struct kunit *test)
{
	struct twheel *wheel = virtual_wheel(test, MS, 0);
	struct probe *p = test_memory(test, sizeof(*p));
	struct twheel_timer *t = &p->timer;

	memset(t, 0x5a, sizeof(*t));
	twheel_timer_init(t, wheel, NULL);
	KUNIT_EXPECT_PTR_EQ(test, twheel_of(t), NULL);
	KUNIT_EXPECT_EQ(test, twheel_arm_at(t, 0), -EINVAL);
	KUNIT_EXPECT_EQ(test, twheel_try_cancel(t), 0);
	KUNIT_EXPECT_EQ(test, twheel_shutdown(t), 0);
	memset(t, 0x5a, sizeof(*t));
	twheel_timer_init(t, wheel, probe_fire);
	KUNIT_EXPECT_PTR_EQ(test, twheel_of(t), wheel);
	KUNIT_EXPECT_EQ(test, twheel_arm_at(t, 0), 0);
	twheel_advance(wheel, MS);
	KUNIT_EXPECT_EQ(test, p->fired, 1);
}

static struct kunit_case core_cases[] = {
	KUNIT_CASE(alarm_is_set_when_needed),
	KUNIT_CASE(alarm_that_is_due_is_left),
	KUNIT_CASE(alarm_is_set_once_for_many),
	KUNIT_CASE(no_alarm_after_the_last),
	KUNIT_CASE(late_by_the_last_look),
	KUNIT_CASE(alarm_of_a_cpu_goes_on),
	KUNIT_CASE(last_deadline_is_kept),
	KUNIT_CASE(memory_was_used_before),
	{ }
};

static struct kunit_suite twheel_core_suite = {
	.name		= "twheel_core",
	.exit		= wheels_end,
	.test_cases	= core_cases,
};

kunit_test_suite(twheel_core_suite);
