// SPDX-License-Identifier: GPL-2.0-only
/*
 * The trace events of timers: each event as often as it happened, and with what happened.
 * On a virtual clock. trace_test of tools/test/device has those of open files.
 */
#include <linux/twheel_idle.h>
#include <linux/twheel_periodic.h>
#include <linux/twheel_stats.h>
#include <linux/twheel_virtual.h>

#include "smp.h"
#include "tracer.h"

/* The last event of a timer told this. */
static void expect_bucket(struct kunit *test, const struct tracer *seen, const struct probe *p,
			  u64 deadline, u64 tick)
{
	KUNIT_EXPECT_PTR_EQ(test, seen->timer, &p->timer);
	KUNIT_EXPECT_PTR_EQ(test, seen->function, (const void *)probe_fire);
	KUNIT_EXPECT_EQ(test, seen->deadline, deadline);
	KUNIT_EXPECT_EQ(test, seen->tick, tick);
}

static void where_a_timer_goes(struct kunit *test)
{
	struct tracer seen;
	struct twheel *wheel = tracer_wheel(test, &seen);
	struct probe *p;

	tracer_start_all(test, &seen);
	p = probes_new(test, wheel, 1, probe_fire);
	twheel_advance(wheel, 100 * MS);
	twheel_arm_at(&p->timer, 110 * MS);
	KUNIT_EXPECT_EQ(test, seen.count[EVENT_ARM], 1);
	expect_bucket(test, &seen, p, 110 * MS, 110);
	KUNIT_EXPECT_EQ(test, seen.level, 0);
	/* Nearer, and between two ticks. */
	twheel_modify_at(&p->timer, 105 * MS + 1);
	KUNIT_EXPECT_EQ(test, seen.count[EVENT_MODIFY], 1);
	expect_bucket(test, &seen, p, 105 * MS + 1, 106);
	KUNIT_EXPECT_EQ(test, seen.level, 0);
	/* Later: it stays in its bucket. */
	twheel_extend_at(&p->timer, 120 * MS);
	KUNIT_EXPECT_EQ(test, seen.count[EVENT_EXTEND], 0);
	twheel_extend(&p->timer, 30 * MS + 1);
	KUNIT_EXPECT_EQ(test, seen.count[EVENT_EXTEND], 1);
	expect_bucket(test, &seen, p, 130 * MS + 1, 131);
	twheel_modify_at(&p->timer, 140 * MS);
	KUNIT_EXPECT_EQ(test, seen.count[EVENT_EXTEND], 2);
	KUNIT_EXPECT_EQ(test, seen.count[EVENT_MODIFY], 1);
	expect_bucket(test, &seen, p, 140 * MS, 140);
	twheel_cancel(&p->timer);
	KUNIT_EXPECT_EQ(test, seen.count[EVENT_CANCEL], 1);
	expect_bucket(test, &seen, p, 140 * MS, 140);
	twheel_cancel(&p->timer);
	KUNIT_EXPECT_EQ(test, seen.count[EVENT_CANCEL], 1);

	/* Four laps of 16 ticks are level 0, what has passed is on none. */
	twheel_arm_at(&p->timer, 163 * MS);
	KUNIT_EXPECT_EQ(test, seen.level, 0);
	twheel_cancel(&p->timer);
	twheel_arm_at(&p->timer, 164 * MS);
	KUNIT_EXPECT_EQ(test, seen.level, 1);
	twheel_modify_at(&p->timer, 101 * MS);
	KUNIT_EXPECT_EQ(test, seen.level, 0);
	twheel_modify_at(&p->timer, 100 * MS);
	KUNIT_EXPECT_EQ(test, seen.level, -1);
	twheel_cancel(&p->timer);
	twheel_arm_at(&p->timer, 50 * MS);
	KUNIT_EXPECT_EQ(test, seen.level, -1);
	expect_bucket(test, &seen, p, 50 * MS, 50);
	twheel_cancel(&p->timer);

	twheel_arm_at(&p->timer, 150 * MS - 1);
	KUNIT_EXPECT_EQ(test, twheel_stop(wheel, NULL, NULL), 1);
	KUNIT_EXPECT_EQ(test, seen.count[EVENT_UNFIRED], 1);
	expect_bucket(test, &seen, p, 150 * MS - 1, 150);
	KUNIT_EXPECT_EQ(test, seen.strange, 0);
	tracer_stop_all(&seen);
}

static void move_to_another_cpu(struct kunit *test)
{
	struct twheel *wheel;
	struct tracer seen;
	struct probe *p;

	test_needs_two_cpus(test);
	wheel = tracer_wheel_with(test, &seen, true, TWHEEL_CONTEXT_SOFTIRQ);
	tracer_start(test, &seen, EVENT_MODIFY);
	p = probes_new(test, wheel, 1, probe_fire);
	twheel_arm_on_at(&p->timer, cpu_first(), 20 * MS);
	KUNIT_EXPECT_EQ(test, seen.count[EVENT_MODIFY], 0);
	twheel_arm_on_at(&p->timer, cpu_last(), 30 * MS);
	KUNIT_EXPECT_EQ(test, seen.count[EVENT_MODIFY], 1);
	expect_bucket(test, &seen, p, 30 * MS, 30);
	KUNIT_EXPECT_EQ(test, seen.strange, 0);
	tracer_stop(&seen, EVENT_MODIFY);
	twheel_cancel(&p->timer);
}

static void trace_busy(struct twheel_timer *timer)
{
	spin_ns(300 * US);
}

static void when_a_callback_runs(struct kunit *test)
{
	struct tracer seen;
	struct twheel *wheel = tracer_wheel(test, &seen);
	struct probe *p = probes_new(test, wheel, 1, trace_busy);
	u64 before;

	tracer_start(test, &seen, EVENT_ENTRY);
	twheel_arm_at(&p->timer, 10 * MS + 1);
	twheel_advance(wheel, 15 * MS);
	KUNIT_EXPECT_EQ(test, seen.count[EVENT_ENTRY], 1);
	KUNIT_EXPECT_PTR_EQ(test, seen.timer, &p->timer);
	KUNIT_EXPECT_PTR_EQ(test, seen.function, (const void *)trace_busy);
	KUNIT_EXPECT_EQ(test, seen.deadline, 10 * MS + 1);
	KUNIT_EXPECT_EQ(test, seen.now, 15 * MS);
	tracer_stop(&seen, EVENT_ENTRY);

	seen.timer = NULL;
	seen.function = NULL;
	tracer_start(test, &seen, EVENT_EXIT);
	twheel_arm_at(&p->timer, 20 * MS);
	before = ktime_get_ns();
	twheel_advance(wheel, 20 * MS);
	KUNIT_EXPECT_EQ(test, seen.count[EVENT_EXIT], 1);
	KUNIT_EXPECT_PTR_EQ(test, seen.timer, &p->timer);
	KUNIT_EXPECT_PTR_EQ(test, seen.function, (const void *)trace_busy);
	KUNIT_EXPECT_GE(test, seen.took, 300 * US);
	KUNIT_EXPECT_LE(test, seen.took, ktime_get_ns() - before);
	tracer_stop(&seen, EVENT_EXIT);
	KUNIT_EXPECT_EQ(test, seen.strange, 0);
}

static enum twheel_next trace_beat(struct twheel_periodic *periodic)
{
	return TWHEEL_DONE;
}

static void trace_silence(struct twheel_idle *idle)
{
}

/* A timer was armed, and its callback called and left: each event has named @function. */
static void expect_named(struct kunit *test, struct twheel *wheel, struct tracer *seen,
			 const void *function)
{
	static const enum event events[] = { EVENT_ENTRY, EVENT_EXIT };
	unsigned int i;

	KUNIT_EXPECT_PTR_EQ(test, seen->function, function);
	for (i = 0; i < ARRAY_SIZE(events); i++)
		tracer_start(test, seen, events[i]);
	seen->function = NULL;
	twheel_advance(wheel, twheel_now(wheel) + 10 * MS);
	KUNIT_EXPECT_EQ(test, seen->count[EVENT_ENTRY], 1);
	KUNIT_EXPECT_EQ(test, seen->count[EVENT_EXIT], 1);
	KUNIT_EXPECT_PTR_EQ(test, seen->function, function);
	for (i = 0; i < ARRAY_SIZE(events); i++) {
		tracer_stop(seen, events[i]);
		seen->count[events[i]] = 0;
	}
}

static void policies_name_their_users(struct kunit *test)
{
	static struct twheel_periodic periodic;
	static struct twheel_idle idle;
	struct tracer seen;
	struct twheel *wheel = tracer_wheel(test, &seen);

	twheel_periodic_init(&periodic, wheel, trace_beat);
	twheel_idle_init(&idle, wheel, trace_silence);
	tracer_start(test, &seen, EVENT_ARM);
	twheel_periodic_start(&periodic, MS, TWHEEL_FIXED_RATE);
	expect_named(test, wheel, &seen, (const void *)trace_beat);
	twheel_idle_start(&idle, MS);
	expect_named(test, wheel, &seen, (const void *)trace_silence);
	tracer_stop(&seen, EVENT_ARM);
	KUNIT_EXPECT_EQ(test, seen.strange, 0);
}

/* Twenty timers in one bucket of level 1, of which so many are extended. */
static void trace_crowd(struct kunit *test, struct twheel *wheel, unsigned int extended)
{
	struct probe *p = probes_new(test, wheel, 20, probe_fire);
	unsigned int i;

	for (i = 0; i < 20; i++) {
		twheel_arm_at(&p[i].timer, (80 + i % 16) * MS);
		if (i < extended)
			twheel_extend_at(&p[i].timer, 1000 * MS);
	}
}

/* A touch that comes between the two counts with the new timeout. */
static void timeout_is_set_before_the_deadline(struct kunit *test)
{
	static struct twheel_idle idle;
	struct tracer seen;
	struct twheel *wheel = tracer_wheel(test, &seen);

	twheel_idle_init(&idle, wheel, trace_silence);
	twheel_idle_start(&idle, 20 * MS);
	seen.watch = &idle;
	tracer_start(test, &seen, EVENT_MODIFY);
	KUNIT_EXPECT_EQ(test, twheel_idle_set_timeout(&idle, 10 * MS), 1);
	KUNIT_EXPECT_EQ(test, seen.timeout, 10 * MS);
	KUNIT_EXPECT_EQ(test, twheel_idle_start(&idle, 5 * MS), 1);
	KUNIT_EXPECT_EQ(test, seen.timeout, 5 * MS);
	tracer_stop(&seen, EVENT_MODIFY);
}

/* One of the two events alone. */
static void one_event_moves(struct kunit *test, enum event event, u64 timers, u64 levels)
{
	struct twheel_stats stats;
	struct tracer seen;
	struct twheel *wheel = tracer_wheel(test, &seen);

	tracer_start(test, &seen, event);
	trace_crowd(test, wheel, 5);
	wheel_run_until(wheel, 64 * MS);
	KUNIT_EXPECT_EQ(test, seen.count[event], 1);
	KUNIT_EXPECT_EQ(test, seen.levels, levels);
	KUNIT_EXPECT_EQ(test, seen.tick, 64);
	KUNIT_EXPECT_EQ(test, seen.cascaded + seen.requeued, timers);
	wheel_run_until(wheel, 1000 * MS);
	twheel_get_stats(wheel, &stats);
	KUNIT_EXPECT_EQ(test, seen.cascaded + seen.requeued,
			event == EVENT_CASCADE ? stats.cascades : stats.requeued);
	tracer_stop(&seen, event);
}

static void what_moves(struct kunit *test)
{
	struct twheel *wheel;
	struct tracer seen;
	struct probe *p;
	unsigned int i;

	one_event_moves(test, EVENT_CASCADE, 15, BIT_ULL(1));
	one_event_moves(test, EVENT_REQUEUE, 5, 0);

	/* Timers that are due, and extended at the last moment, tell so one by one. */
	wheel = tracer_wheel(test, &seen);
	tracer_start_all(test, &seen);
	p = probes_new(test, wheel, 2, probe_fire);
	twheel_arm_at(&p[0].timer, 10 * MS);
	twheel_arm_at(&p[1].timer, 10 * MS);
	for (i = 1; i < 4; i++) {
		twheel_extend_at(&p[0].timer, (i + 1) * 10 * MS);
		twheel_extend_at(&p[1].timer, (i + 1) * 10 * MS);
		twheel_advance(wheel, i * 10 * MS);
		KUNIT_EXPECT_EQ(test, seen.count[EVENT_CASCADE], 0);
		KUNIT_EXPECT_EQ(test, seen.count[EVENT_REQUEUE], i);
		KUNIT_EXPECT_EQ(test, seen.requeued, 2 * i);
	}
	KUNIT_EXPECT_EQ(test, seen.strange, 0);
	tracer_stop_all(&seen);
}

/*
 * The clock is set back while a pass moves timers: nothing is called that is not due any more.
 * @extended: of 20 timers, so many only look due. A pass in a workqueue looks at a virtual clock as
 * often as at one that can be set.
 */
static void back_while_timers_move(struct kunit *test, enum event event, unsigned int extended)
{
	struct tracer seen;
	struct twheel *wheel = tracer_wheel_with(test, &seen, false, TWHEEL_CONTEXT_WORK);
	struct probe *p = probes_new(test, wheel, 20, probe_fire);
	unsigned int i;

	for (i = 0; i < 20; i++)
		twheel_arm_at(&p[i].timer, 80 * MS);
	/* That takes them to level 0. */
	if (extended)
		twheel_advance(wheel, 79 * MS);
	for (i = 0; i < extended; i++)
		twheel_extend_at(&p[i].timer, 90 * MS);
	seen.back = wheel;
	tracer_start(test, &seen, event);
	twheel_advance(wheel, 80 * MS);
	KUNIT_EXPECT_GE(test, seen.count[event], 1);
	seen.back = NULL;
	tracer_stop(&seen, event);
	wheel_run_until(wheel, 79 * MS);
	for (i = 0; i < 20; i++)
		KUNIT_EXPECT_EQ_MSG(test, p[i].fired, 0, "early");
	wheel_run_until(wheel, 90 * MS);
	for (i = 0; i < 20; i++)
		KUNIT_EXPECT_EQ(test, p[i].fired, 1);
}

static void clock_set_back_while_timers_move(struct kunit *test)
{
	back_while_timers_move(test, EVENT_CASCADE, 0);
	back_while_timers_move(test, EVENT_REQUEUE, 10);
}

/* An arm moves the position forward over a bucket of an upper level, between passes. */
static void what_an_arm_moves(struct kunit *test)
{
	struct twheel_stats stats;
	struct tracer seen;
	struct twheel *wheel = tracer_wheel(test, &seen);
	struct probe *p;

	tracer_start_all(test, &seen);
	p = probes_new(test, wheel, 3, probe_fire);
	twheel_arm_at(&p[0].timer, 95 * MS);
	twheel_arm_at(&p[1].timer, 94 * MS);
	/* The wheel sleeps until tick 94. The clock goes to 90, and no pass runs. */
	tw_instance_set_time(wheel, 90 * MS);
	twheel_arm_at(&p[2].timer, 91 * MS);
	twheel_get_stats(wheel, &stats);
	KUNIT_EXPECT_EQ(test, stats.passes, 0);
	KUNIT_EXPECT_EQ(test, stats.cascades, 2);
	KUNIT_EXPECT_EQ(test, seen.count[EVENT_CASCADE], 1);
	KUNIT_EXPECT_EQ(test, seen.cascaded, 2);
	KUNIT_EXPECT_EQ(test, seen.levels, BIT_ULL(1));
	wheel_run_until(wheel, 100 * MS);
	twheel_get_stats(wheel, &stats);
	KUNIT_EXPECT_EQ(test, stats.fired, 3);
	KUNIT_EXPECT_EQ(test, seen.cascaded, stats.cascades);
	KUNIT_EXPECT_EQ(test, seen.strange, 0);
	tracer_stop_all(&seen);
}

static void what_a_pass_has_done(struct kunit *test)
{
	struct twheel_stats stats;
	struct tracer seen;
	struct twheel *wheel = tracer_wheel(test, &seen);
	unsigned int i;
	u64 before;

	trace_crowd(test, wheel, 5);
	twheel_advance(wheel, 70 * MS);
	twheel_get_stats(wheel, &stats);
	/* Tracing that begins later tells of the passes from then on. */
	tracer_start_all(test, &seen);
	before = ktime_get_ns();
	twheel_advance(wheel, 90 * MS);
	KUNIT_EXPECT_EQ(test, seen.count[EVENT_PASS], 1);
	KUNIT_EXPECT_EQ(test, seen.pass.now_tick, 90);
	KUNIT_EXPECT_EQ(test, seen.pass.pending, 20 - seen.pass.fired);
	KUNIT_EXPECT_FALSE(test, seen.pass.exhausted);
	KUNIT_EXPECT_GT(test, seen.pass.took_ns, 0);
	KUNIT_EXPECT_LE(test, seen.pass.took_ns, ktime_get_ns() - before);
	wheel_run_until(wheel, 1000 * MS);
	seen.passes.cascades += stats.cascades;
	seen.passes.requeued += stats.requeued;
	i = stats.passes;
	twheel_get_stats(wheel, &stats);
	KUNIT_EXPECT_EQ(test, seen.count[EVENT_PASS], stats.passes - i);
	KUNIT_EXPECT_EQ(test, seen.passes.fired, 20);
	KUNIT_EXPECT_EQ(test, seen.passes.cascades, stats.cascades);
	KUNIT_EXPECT_EQ(test, seen.passes.requeued, stats.requeued);
	KUNIT_EXPECT_EQ(test, seen.pass.pending, 0);
	KUNIT_EXPECT_EQ(test, seen.strange, 0);
	tracer_stop_all(&seen);
}

static void a_pass_that_is_exhausted(struct kunit *test)
{
	struct tracer seen;
	struct twheel *wheel = tracer_wheel(test, &seen);
	struct probe *p;
	unsigned int i;

	tracer_start(test, &seen, EVENT_PASS);
	p = probes_new(test, wheel, 40, trace_busy);
	for (i = 0; i < 40; i++)
		twheel_arm_at(&p[i].timer, 10 * MS);
	/* A pass looks at the clock after 32 callbacks: its time is over by then. */
	twheel_advance(wheel, 10 * MS);
	KUNIT_EXPECT_GE(test, seen.count[EVENT_PASS], 2);
	KUNIT_EXPECT_TRUE(test, seen.passes.exhausted);
	KUNIT_EXPECT_FALSE(test, seen.pass.exhausted);
	KUNIT_EXPECT_EQ(test, seen.passes.fired, 40);
	tracer_stop(&seen, EVENT_PASS);
}

static struct kunit_case trace_cases[] = {
	KUNIT_CASE(where_a_timer_goes),
	KUNIT_CASE(move_to_another_cpu),
	KUNIT_CASE(when_a_callback_runs),
	KUNIT_CASE(policies_name_their_users),
	KUNIT_CASE(timeout_is_set_before_the_deadline),
	KUNIT_CASE(what_moves),
	KUNIT_CASE(clock_set_back_while_timers_move),
	KUNIT_CASE(what_an_arm_moves),
	KUNIT_CASE(what_a_pass_has_done),
	KUNIT_CASE(a_pass_that_is_exhausted),
	{ }
};

static struct kunit_suite twheel_trace_suite = {
	.name		= "twheel_trace",
	.suite_init	= tracer_suite_init,
	.exit		= wheels_end,
	.test_cases	= trace_cases,
};

kunit_test_suite(twheel_trace_suite);
