// SPDX-License-Identifier: GPL-2.0-only
/*
 * What callbacks may do to their own timer, to others and to the wheel; and how wheels
 * are stopped.
 */
#include "probe.h"

static void probe_rearm(struct twheel_timer *timer)
{
	struct probe *probe = container_of(timer, struct probe, timer);

	probe_fire(timer);
	if (probe->fired < 5)
		probe->result = twheel_arm(timer, probe->rearm);
}

static void callback_rearms(struct kunit *test)
{
	struct twheel *wheel = wheel_of_test(test);
	struct probe *probe = probes_new(test, wheel, 1, probe_rearm);

	probe->rearm = 3 * MS;
	twheel_arm(&probe->timer, 3 * MS);
	wheel_run_until(wheel, 14 * MS);
	KUNIT_EXPECT_EQ(test, probe->fired, 4);
	KUNIT_EXPECT_EQ(test, probe->result, 0);
	wheel_run_until(wheel, DAY);
	KUNIT_EXPECT_EQ(test, probe->fired, 5);
	KUNIT_EXPECT_EQ(test, probe->fired_at, 15 * MS);
}

static void rearm_for_now_waits(struct kunit *test)
{
	struct twheel *wheel = wheel_of_test(test);
	unsigned int i, n = 3000;
	struct probe *probes = probes_new(test, wheel, n, probe_rearm);

	/* More timers than one pass serves: none may starve another. */
	for (i = 0; i < n; i++)
		twheel_arm(&probes[i].timer, i % 2 ? 5 * MS : 6 * MS);
	twheel_advance(wheel, 6 * MS);
	for (i = 0; i < n; i++)
		KUNIT_ASSERT_EQ_MSG(test, probes[i].fired, 1, "probe %u", i);
	KUNIT_EXPECT_LE(test, twheel_advance(wheel, 6 * MS), 6 * MS);
	for (i = 0; i < n; i++)
		KUNIT_ASSERT_EQ_MSG(test, probes[i].fired, 2, "probe %u", i);
	twheel_advance(wheel, 6 * MS);
	twheel_advance(wheel, 6 * MS);
	KUNIT_EXPECT_GT(test, twheel_advance(wheel, 6 * MS), TWHEEL_NEVER);
	for (i = 0; i < n; i++)
		KUNIT_ASSERT_EQ_MSG(test, probes[i].fired, 5, "probe %u", i);
}

static unsigned int probe_frees;

static void probe_free_self(struct twheel_timer *timer)
{
	probe_frees++;
	kfree(container_of(timer, struct probe, timer));
}

static void callback_frees_itself(struct kunit *test)
{
	struct twheel *wheel = wheel_of_test(test);
	unsigned int i;

	probe_frees = 0;
	for (i = 0; i < 100; i++) {
		struct probe *probe = kmalloc(sizeof(*probe), GFP_KERNEL);

		KUNIT_ASSERT_NOT_NULL(test, probe);
		probe_init(probe, wheel, probe_free_self);
		twheel_arm(&probe->timer, (i % 3) * MS);
	}
	twheel_advance(wheel, 3 * MS);
	KUNIT_EXPECT_EQ(test, probe_frees, 100);
}

static struct probe *probe_survivor;

static void probe_free_other(struct twheel_timer *timer)
{
	struct probe *probe = container_of(timer, struct probe, timer);

	probe_fire(timer);
	/* The other timer is due in the same pass; its callback has not run. */
	probe->result = twheel_cancel(&probe->other->timer);
	kfree(probe->other);
	probe_survivor = probe;
}

static void callback_frees_another(struct kunit *test)
{
	struct twheel *wheel = wheel_of_test(test);
	struct probe *a = kmalloc(sizeof(*a), GFP_KERNEL);
	struct probe *b = kmalloc(sizeof(*b), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, a);
	KUNIT_ASSERT_NOT_NULL(test, b);
	probe_init(a, wheel, probe_free_other);
	probe_init(b, wheel, probe_free_other);
	a->other = b;
	b->other = a;
	twheel_arm(&a->timer, 7 * MS);
	twheel_arm(&b->timer, 7 * MS);
	twheel_advance(wheel, 7 * MS);
	/* The first to fire has freed the other. */
	KUNIT_EXPECT_EQ(test, pending_count(wheel), 0);
	KUNIT_EXPECT_EQ(test, probe_survivor->fired, 1);
	KUNIT_EXPECT_EQ(test, probe_survivor->result, 1);
	kfree(probe_survivor);
}

static void probe_sync_other(struct twheel_timer *timer)
{
	struct probe *probe = container_of(timer, struct probe, timer);

	probe_fire(timer);
	probe->result = twheel_cancel_sync(&probe->other->timer);
}

static void sync_on_another_from_callback(struct kunit *test)
{
	struct twheel *wheel = wheel_of_test(test);
	struct probe a, b;

	probe_init(&a, wheel, probe_sync_other);
	probe_init(&b, wheel, probe_fire);
	/* A lock class of its own: two that wait for each other would be a deadlock. */
	twheel_timer_init_on_stack(&b.timer, wheel, probe_fire);
	a.other = &b;
	twheel_arm(&a.timer, MS);
	twheel_arm(&b.timer, 2 * MS);
	wheel_run_until(wheel, 5 * MS);
	KUNIT_EXPECT_EQ(test, a.result, 1);
	KUNIT_EXPECT_EQ(test, b.fired, 0);
}

static void shutdown_is_for_good(struct kunit *test)
{
	struct twheel *wheel = wheel_of_test(test);
	struct probe *probe = probes_new(test, wheel, 1, probe_fire);

	twheel_arm(&probe->timer, MS);
	KUNIT_EXPECT_EQ(test, twheel_shutdown_sync(&probe->timer), 1);
	KUNIT_EXPECT_EQ(test, twheel_state(&probe->timer), TWHEEL_SHUTDOWN);
	KUNIT_EXPECT_EQ(test, twheel_shutdown_sync(&probe->timer), 0);
	KUNIT_EXPECT_EQ(test, twheel_arm(&probe->timer, MS), -ESHUTDOWN);
	KUNIT_EXPECT_EQ(test, twheel_arm_at(&probe->timer, 0), -ESHUTDOWN);
	KUNIT_EXPECT_EQ(test, twheel_arm_range(&probe->timer, MS, MS), -ESHUTDOWN);
	KUNIT_EXPECT_EQ(test, twheel_modify(&probe->timer, MS), -ENOENT);
	KUNIT_EXPECT_EQ(test, twheel_extend(&probe->timer, MS), -ENOENT);
	KUNIT_EXPECT_EQ(test, twheel_cancel(&probe->timer), 0);
	KUNIT_EXPECT_EQ(test, twheel_cancel_sync(&probe->timer), 0);
	KUNIT_EXPECT_EQ(test, twheel_state(&probe->timer), TWHEEL_SHUTDOWN);
	wheel_run_until(wheel, DAY);
	KUNIT_EXPECT_EQ(test, probe->fired, 0);

	twheel_timer_init(&probe->timer, wheel, probe_fire);
	KUNIT_EXPECT_EQ(test, twheel_arm(&probe->timer, MS), 0);
	wheel_run_until(wheel, 2 * DAY);
	KUNIT_EXPECT_EQ(test, probe->fired, 1);
	/* Shutting down an idle timer. */
	KUNIT_EXPECT_EQ(test, twheel_shutdown_sync(&probe->timer), 0);
	KUNIT_EXPECT_EQ(test, twheel_arm(&probe->timer, MS), -ESHUTDOWN);
}

static void probe_take_back(struct twheel_timer *timer, void *arg)
{
	struct probe *probe = container_of(timer, struct probe, timer);
	unsigned int *back = arg;

	probe->unfired++;
	++*back;
}

static void stop_hands_back(struct kunit *test)
{
	struct twheel *wheel = wheel_of_test(test);
	static const u64 delays[] = { 0, MS, 255 * MS, 300 * MS, DAY, 9 * DAY,
				      TWHEEL_NEVER };
	unsigned int i, back = 0, n = 3 * ARRAY_SIZE(delays);
	struct probe *probes = probes_new(test, wheel, n, probe_fire);

	for (i = 0; i < n; i++)
		twheel_arm(&probes[i].timer, delays[i / 3]);
	twheel_cancel(&probes[4].timer);
	twheel_advance(wheel, MS);
	/* This one is due, but not served. */
	twheel_arm(&probes[0].timer, 0);

	KUNIT_EXPECT_EQ(test, twheel_stop(wheel, probe_take_back, &back), n - 6 + 1);
	KUNIT_EXPECT_EQ(test, back, n - 6 + 1);
	for (i = 0; i < n; i++) {
		bool unfired = !i || i >= 6;

		KUNIT_EXPECT_EQ(test, probes[i].unfired, unfired);
		KUNIT_EXPECT_EQ(test, probes[i].fired, i < 6 && i != 4);
		KUNIT_EXPECT_EQ(test, twheel_state(&probes[i].timer) == TWHEEL_UNFIRED, unfired);
	}
	KUNIT_EXPECT_EQ(test, pending_count(wheel), 0);

	KUNIT_EXPECT_EQ(test, twheel_arm(&probes[1].timer, MS), -ESHUTDOWN);
	KUNIT_EXPECT_EQ(test, twheel_modify(&probes[1].timer, MS), -ENOENT);
	KUNIT_EXPECT_EQ(test, twheel_extend(&probes[1].timer, MS), -ENOENT);
	KUNIT_EXPECT_EQ(test, twheel_cancel_sync(&probes[1].timer), 0);
	KUNIT_EXPECT_EQ(test, twheel_shutdown_sync(&probes[1].timer), 0);
	KUNIT_EXPECT_EQ(test, twheel_stop(wheel, probe_take_back, &back), -EALREADY);
	KUNIT_EXPECT_GT(test, twheel_advance(wheel, DAY), TWHEEL_NEVER);
}

/* What the calls answer that end the wheel which hands a timer back. */
static void probe_end_wheel(struct twheel_timer *timer, void *arg)
{
	int *results = arg;

	results[0] = twheel_stop(twheel_of(timer), NULL, NULL);
	results[1] = twheel_destroy(twheel_of(timer));
}

static void end_from_where_it_hands_back(struct kunit *test)
{
	struct twheel *wheel = wheel_of_test(test);
	struct probe *probe = probes_new(test, wheel, 1, probe_fire);
	int results[2] = { };

	twheel_arm(&probe->timer, MS);
	KUNIT_EXPECT_EQ(test, twheel_stop(wheel, probe_end_wheel, results), 1);
	KUNIT_EXPECT_EQ(test, results[0], -EDEADLK);
	KUNIT_EXPECT_EQ(test, results[1], -EDEADLK);
	KUNIT_EXPECT_EQ(test, twheel_stop(wheel, NULL, NULL), -EALREADY);
}

static int probe_stop_wheel(struct twheel_timer *timer)
{
	return twheel_stop(twheel_of(timer), NULL, NULL);
}

static int probe_destroy_wheel(struct twheel_timer *timer)
{
	return twheel_destroy(twheel_of(timer));
}

/* Calls that would wait for the callback that makes them. */
static int (* const probe_waits[])(struct twheel_timer *timer) = {
	twheel_cancel_sync, twheel_shutdown_sync, probe_stop_wheel, probe_destroy_wheel,
};

/* Its timer is pending or not by turns. */
static void probe_wait(struct twheel_timer *timer)
{
	struct probe *probe = container_of(timer, struct probe, timer);

	probe_fire(timer);
	if (probe->fired % 2)
		twheel_arm(timer, MS);
	probe->result = probe_waits[(probe->fired - 1) / 2](timer);
}

/* What is refused changes nothing: it neither cancels, nor shuts down, nor stops. */
static void wait_in_own_callback(struct kunit *test)
{
	struct twheel *wheel = wheel_of_test(test);
	struct probe *probe = probes_new(test, wheel, 1, probe_wait);
	unsigned int i;

	for (i = 0; i < 2 * ARRAY_SIZE(probe_waits); i++) {
		KUNIT_EXPECT_EQ(test, twheel_arm_at(&probe->timer, (i + 1) * MS), i % 2);
		wheel_run_until(wheel, (i + 1) * MS);
		KUNIT_EXPECT_EQ(test, probe->fired, i + 1);
		KUNIT_EXPECT_EQ_MSG(test, probe->result, -EDEADLK, "call %u", i / 2);
	}
	KUNIT_EXPECT_EQ(test, twheel_arm(&probe->timer, MS), 0);
	KUNIT_EXPECT_EQ(test, twheel_stop(wheel, NULL, NULL), 1);
}

static struct kunit_case callback_cases[] = {
	KUNIT_CASE(callback_rearms),
	KUNIT_CASE(rearm_for_now_waits),
	KUNIT_CASE(callback_frees_itself),
	KUNIT_CASE(callback_frees_another),
	KUNIT_CASE(sync_on_another_from_callback),
	KUNIT_CASE(shutdown_is_for_good),
	KUNIT_CASE(stop_hands_back),
	KUNIT_CASE(end_from_where_it_hands_back),
	KUNIT_CASE(wait_in_own_callback),
	{ }
};

static struct kunit_suite twheel_callback_suite = {
	.name		= "twheel_callback",
	.init		= probe_test_init,
	.exit		= wheels_end,
	.test_cases	= callback_cases,
};

kunit_test_suite(twheel_callback_suite);
