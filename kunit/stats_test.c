// SPDX-License-Identifier: GPL-2.0-only
/*
 * The counters of a wheel, each by its definition in &struct twheel_stats.
 */
#include <linux/err.h>

#include <linux/twheel_stats.h>
#include <linux/twheel_virtual.h>

#include "../module/core/base.h"
#include "probe.h"

/* The counters, until the next call. Not on the stack: a compiler may have each call's there. */
static const struct twheel_stats *wheel_stats(struct twheel *wheel)
{
	static struct twheel_stats stats;

	twheel_get_stats(wheel, &stats);
	return &stats;
}

static void wheel_expect_stats(struct kunit *test, struct twheel *wheel, u64 armed,
			       u64 fired, u64 cancelled, u64 unfired)
{
	const struct twheel_stats *stats = wheel_stats(wheel);
	unsigned int i;

	KUNIT_EXPECT_EQ(test, stats->armed, armed);
	KUNIT_EXPECT_EQ(test, stats->fired, fired);
	KUNIT_EXPECT_EQ(test, stats->cancelled, cancelled);
	KUNIT_EXPECT_EQ(test, stats->unfired, unfired);
	KUNIT_EXPECT_EQ(test, stats->pending, armed - fired - cancelled - unfired);
	for (i = 0; i < TWHEEL_LATE_BUCKETS; i++)
		fired -= stats->late[i];
	KUNIT_EXPECT_EQ_MSG(test, fired, 0, "the lateness buckets do not add up to fired");
}

static void ends_in_one_way(struct kunit *test)
{
	struct twheel *wheel = wheel_of_test(test);
	struct probe *p = probes_new(test, wheel, 6, probe_fire);
	unsigned int i;

	wheel_expect_stats(test, wheel, 0, 0, 0, 0);
	for (i = 0; i < 6; i++)
		twheel_arm(&p[i].timer, (i + 1) * MS);
	wheel_expect_stats(test, wheel, 6, 0, 0, 0);
	/* Moving a pending timer, nearer or later, does not count as an arm. */
	twheel_arm(&p[5].timer, 5 * MS);
	twheel_modify(&p[5].timer, 6 * MS);
	twheel_extend(&p[5].timer, 7 * MS);
	wheel_expect_stats(test, wheel, 6, 0, 0, 0);

	twheel_advance(wheel, 2 * MS);
	wheel_expect_stats(test, wheel, 6, 2, 0, 0);
	twheel_arm(&p[0].timer, MS);
	wheel_expect_stats(test, wheel, 7, 2, 0, 0);
	twheel_cancel(&p[0].timer);
	twheel_cancel(&p[0].timer);
	twheel_cancel_sync(&p[2].timer);
	twheel_shutdown_sync(&p[3].timer);
	twheel_shutdown_sync(&p[3].timer);
	wheel_expect_stats(test, wheel, 7, 2, 3, 0);
	KUNIT_EXPECT_EQ(test, twheel_stop(wheel, NULL, NULL), 2);
	wheel_expect_stats(test, wheel, 7, 2, 3, 2);
}

static void extended_when_found(struct kunit *test)
{
	struct twheel *wheel = wheel_of_test(test);
	struct probe p, q;

	probe_init(&p, wheel, probe_fire);
	probe_init(&q, wheel, probe_fire);
	twheel_arm_at(&p.timer, 10 * MS);
	twheel_arm_at(&q.timer, 10 * MS);
	KUNIT_EXPECT_EQ(test, twheel_extend_at(&p.timer, 15 * MS), 1);
	KUNIT_EXPECT_EQ(test, twheel_extend_at(&p.timer, 20 * MS), 1);
	KUNIT_EXPECT_EQ(test, twheel_modify_at(&p.timer, 30 * MS), 1);
	/* A nearer deadline is enqueued at once, which does not count. */
	twheel_modify_at(&q.timer, 5 * MS);
	twheel_advance(wheel, 9 * MS);
	KUNIT_EXPECT_EQ(test, wheel_stats(wheel)->requeued, 0);
	twheel_advance(wheel, 10 * MS);
	KUNIT_EXPECT_EQ(test, wheel_stats(wheel)->requeued, 1);
	twheel_extend_at(&p.timer, 40 * MS);
	twheel_advance(wheel, 35 * MS);
	KUNIT_EXPECT_EQ(test, wheel_stats(wheel)->requeued, 2);
	wheel_run_until(wheel, DAY);
	KUNIT_EXPECT_EQ(test, wheel_stats(wheel)->requeued, 2);
	KUNIT_EXPECT_EQ(test, p.fired_at, 40 * MS);
}

/* An extended timer that stays on its upper level does not count as a cascade. */
static void extended_far_away(struct kunit *test)
{
	struct twheel *wheel = wheel_of_test(test);
	struct probe *p = probes_new(test, wheel, 20, probe_fire);
	unsigned int i;

	/* So many that the engine does not search the bucket for the first one. */
	for (i = 0; i < 20; i++)
		twheel_arm_at(&p[i].timer, 30000 * MS + i);
	for (i = 0; i < 12; i++)
		twheel_extend_at(&p[i].timer, 60000 * MS + i);
	wheel_run_until(wheel, 30001 * MS);
	KUNIT_EXPECT_EQ(test, wheel_stats(wheel)->fired, 8);
	KUNIT_EXPECT_EQ(test, wheel_stats(wheel)->requeued, 12);
	KUNIT_EXPECT_EQ(test, wheel_stats(wheel)->cascades, 8);
	wheel_run_until(wheel, 60001 * MS);
	KUNIT_EXPECT_EQ(test, wheel_stats(wheel)->fired, 20);
	KUNIT_EXPECT_EQ(test, wheel_stats(wheel)->requeued, 12);
	KUNIT_EXPECT_EQ(test, wheel_stats(wheel)->cascades, 20);
}

static void cascades_a_level_each(struct kunit *test)
{
	struct twheel *wheel = wheel_of_test(test);
	struct probe p[6];
	unsigned int i;

	/*
	 * Levels 0, 1 and 2, which reach 511, 131071 and more ticks ahead. Two timers
	 * each: one that is alone would be taken from its bucket.
	 */
	static const u64 delays[] = { 500, 500, 5000, 5000, 500000, 500000 };

	for (i = 0; i < ARRAY_SIZE(p); i++) {
		probe_init(&p[i], wheel, probe_fire);
		twheel_arm(&p[i].timer, delays[i] * MS);
	}
	wheel_run_until(wheel, 500 * MS);
	KUNIT_EXPECT_EQ(test, p[1].fired, 1);
	KUNIT_EXPECT_EQ(test, wheel_stats(wheel)->cascades, 0);
	wheel_run_until(wheel, 5000 * MS);
	KUNIT_EXPECT_EQ(test, p[3].fired, 1);
	KUNIT_EXPECT_EQ(test, wheel_stats(wheel)->cascades, 2);
	wheel_run_until(wheel, 500000 * MS);
	KUNIT_EXPECT_EQ(test, p[5].fired, 1);
	/* Both cascade once more if they go from level 2 to 0 at once, else twice. */
	KUNIT_EXPECT_GE(test, wheel_stats(wheel)->cascades, 4);
	KUNIT_EXPECT_LE(test, wheel_stats(wheel)->cascades, 6);
}

static void a_lone_timer_does_not_cascade(struct kunit *test)
{
	struct twheel *wheel = wheel_of_test(test);
	struct probe *p = probes_new(test, wheel, 1, probe_fire);

	twheel_arm(&p->timer, 500000 * MS);
	wheel_run_until(wheel, 500000 * MS);
	KUNIT_EXPECT_EQ(test, p->fired, 1);
	KUNIT_EXPECT_EQ(test, wheel_stats(wheel)->cascades, 0);
}

static void probe_take_time(struct twheel_timer *timer)
{
	probe_fire(timer);
	spin_ns(10 * US);
}

/* A pass looks at the clock after 32 callbacks, and ends when it took 100 us. */
static void passes_end_by_time(struct kunit *test)
{
	struct twheel *wheel = wheel_of_test(test);
	unsigned int n = 100, i;
	struct probe *p = probes_new(test, wheel, n, probe_take_time);
	u64 passes, exhausted;

	for (i = 0; i < n; i++)
		twheel_arm(&p[i].timer, MS);
	KUNIT_EXPECT_EQ(test, wheel_stats(wheel)->passes, 0);
	twheel_advance(wheel, MS);
	KUNIT_EXPECT_EQ(test, wheel_stats(wheel)->fired, n);
	passes = wheel_stats(wheel)->passes;
	exhausted = wheel_stats(wheel)->exhausted;
	/* More on a machine that is so busy that callbacks are timed one by one. */
	KUNIT_EXPECT_GE(test, passes, 4);
	KUNIT_EXPECT_EQ(test, exhausted, passes - 1);
	twheel_advance(wheel, 2 * MS);
	KUNIT_EXPECT_EQ(test, wheel_stats(wheel)->passes, passes + 1);
	KUNIT_EXPECT_EQ(test, wheel_stats(wheel)->exhausted, exhausted);
}

/* Takes its part of the time of a pass, and arms itself for the past. */
static void probe_take_part(struct twheel_timer *timer)
{
	struct probe *p = container_of(timer, struct probe, timer);

	probe_take_time(timer);
	if (p->fired == 1)
		twheel_arm_at(timer, 1);
}

/* The time of a pass ends with its round: what is armed for the past is of the next one. */
static void no_pass_for_the_next_round(struct kunit *test)
{
	struct twheel *wheel = wheel_of_test(test);
	/* A pass looks at the clock after so many callbacks. */
	unsigned int n = 32, i;
	struct probe *p = probes_new(test, wheel, n, probe_take_part);

	for (i = 0; i < n; i++)
		twheel_arm(&p[i].timer, MS);
	twheel_advance(wheel, MS);
	KUNIT_EXPECT_EQ(test, wheel_stats(wheel)->fired, n);
	KUNIT_EXPECT_EQ(test, wheel_stats(wheel)->passes, 1);
	KUNIT_EXPECT_EQ(test, wheel_stats(wheel)->exhausted, 0);
	twheel_advance(wheel, MS);
	KUNIT_EXPECT_EQ(test, wheel_stats(wheel)->fired, 2 * n);
}

/* Predictable to the ns on a virtual clock. An extended timer's is of its last deadline. */
static void late_to_the_bucket(struct kunit *test)
{
	/* A lateness, and its bucket. On a tick boundary, 0 counts as 1 ns. */
	static const struct {
		u64 late;
		unsigned int bucket;
	} cases[] = {
		{ 0, 0 }, { 2, 1 }, { 3, 1 }, { 4, 2 }, { 255, 7 }, { 256, 8 },
		{ 999999, 19 }, { 1048575, 19 }, { 1048576, 20 },
		{ 90 * 1000 * MS, 36 },
	};
	struct twheel *wheel = wheel_of_test(test);
	struct probe *p = probes_new(test, wheel, 1, probe_fire);
	const struct twheel_stats *after;
	struct twheel_stats before;
	u64 now = 100 * DAY;
	unsigned int i, j;

	for (i = 0; i < 2 * ARRAY_SIZE(cases); i++) {
		u64 late = cases[i / 2].late;

		now += DAY + MS;
		before = *wheel_stats(wheel);
		if (i % 2)
			twheel_arm_at(&p->timer, now - DAY / 2);
		else
			twheel_arm_at(&p->timer, now);
		twheel_extend_at(&p->timer, now);
		twheel_advance(wheel, now + late);
		after = wheel_stats(wheel);
		KUNIT_EXPECT_EQ(test, after->fired, before.fired + 1);
		KUNIT_EXPECT_EQ(test, after->late_sum, before.late_sum + (late ?: 1));
		for (j = 0; j < TWHEEL_LATE_BUCKETS; j++)
			KUNIT_EXPECT_EQ_MSG(test, after->late[j], before.late[j] +
					    (j == cases[i / 2].bucket),
					    "late by %llu, bucket %u", late, j);
		twheel_advance(wheel, now + DAY / 2);
	}
}

/* Counters are summed over the bases of all CPUs, in each context. */
static void all_bases_together(struct kunit *test)
{
	unsigned int n = num_possible_cpus();
	enum twheel_context context;
	int cpu;

	for (context = TWHEEL_CONTEXT_SOFTIRQ; context <= TWHEEL_CONTEXT_WORK; context++) {
		struct twheel *wheel = wheel_with(test, .clock = TWHEEL_CLOCK_VIRTUAL,
						  .percpu = true, .context = context);
		struct probe *p = probes_new(test, wheel, nr_cpu_ids, probe_fire);

		for_each_possible_cpu(cpu)
			KUNIT_EXPECT_EQ(test, twheel_arm_on_at(&p[cpu].timer, cpu, 5 * MS), 0);
		wheel_expect_stats(test, wheel, n, 0, 0, 0);
		twheel_advance(wheel, 5 * MS + 3);
		wheel_expect_stats(test, wheel, n, n, 0, 0);
		KUNIT_EXPECT_EQ(test, wheel_stats(wheel)->late_sum, 3 * n);
		KUNIT_EXPECT_EQ(test, wheel_stats(wheel)->late[1], n);
		KUNIT_EXPECT_EQ(test, wheel_stats(wheel)->passes, n);
	}
}

/* @slots: a level has four times as many buckets */
static void buckets_expect_counted(struct kunit *test, unsigned int slots)
{
	struct twheel *wheel = wheel_with(test, .clock = TWHEEL_CLOCK_VIRTUAL, .tick_ns = MS,
					  .slots = slots);
	struct probe *probe = probes_new(test, wheel, 3, probe_fire);
	unsigned int buckets[TWHEEL_LEVELS_MAX];
	unsigned int far = slots * slots, tick, level;

	/* Level 0 has a timer and level 1 two, in each bucket. */
	for (tick = 1; tick <= 5 * far; tick++) {
		twheel_arm_at(&probe[0].timer, (u64)tick * MS);
		/* Else they would stay in their buckets. */
		twheel_cancel(&probe[1].timer);
		twheel_cancel(&probe[2].timer);
		twheel_arm_at(&probe[1].timer, (u64)(tick + far) * MS);
		twheel_arm_at(&probe[2].timer, (u64)(tick + far + 2 * slots) * MS);
		tw_instance_occupied(wheel, buckets);
		for (level = 0; level < TWHEEL_LEVELS_MAX; level++)
			KUNIT_EXPECT_EQ_MSG(test, buckets[level], level < 2 ? level + 1 : 0,
					    "tick %u, level %u", tick, level);
		wheel_run_until(wheel, (u64)tick * MS);
		KUNIT_EXPECT_EQ(test, probe->fired, tick);
	}
}

/* Several levels share a word of the map, or each has words of its own. */
static void each_bucket_is_counted(struct kunit *test)
{
	buckets_expect_counted(test, 8);
	buckets_expect_counted(test, 16);
}

static void numbers_are_unique(struct kunit *test)
{
	struct twheel *a = wheel_of_test(test), *b = virtual_wheel(test, MS, 0);
	unsigned int id = b->id;

	KUNIT_EXPECT_NE(test, id, 0);
	KUNIT_EXPECT_NE(test, id, a->id);
	wheel_end(test, b);
	b = virtual_wheel(test, MS, 0);
	KUNIT_EXPECT_NE(test, b->id, id);
}

static struct kunit_case stats_cases[] = {
	KUNIT_CASE(ends_in_one_way),
	KUNIT_CASE(extended_when_found),
	KUNIT_CASE(extended_far_away),
	KUNIT_CASE(cascades_a_level_each),
	KUNIT_CASE(a_lone_timer_does_not_cascade),
	KUNIT_CASE(passes_end_by_time),
	KUNIT_CASE(no_pass_for_the_next_round),
	KUNIT_CASE(late_to_the_bucket),
	KUNIT_CASE(all_bases_together),
	KUNIT_CASE(each_bucket_is_counted),
	KUNIT_CASE(numbers_are_unique),
	{ }
};

static struct kunit_suite twheel_stats_suite = {
	.name		= "twheel_stats",
	.init		= probe_test_init,
	.exit		= wheels_end,
	.test_cases	= stats_cases,
};

kunit_test_suite(twheel_stats_suite);
