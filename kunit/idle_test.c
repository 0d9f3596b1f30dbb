// SPDX-License-Identifier: GPL-2.0-only
/* Idle watches on a virtual clock, which makes every moment predictable. */
#include "probe.h"

/* An idle watch that counts its calls. */
struct guard {
	struct twheel_idle idle;
	unsigned int calls;
	u64 called_at;
	int (*act)(struct twheel_idle *idle);
	int result;
};

static void guard_report(struct twheel_idle *idle)
{
	struct guard *g = container_of(idle, struct guard, idle);

	g->calls++;
	g->called_at = twheel_now(twheel_of(&idle->timer));
	if (g->act)
		g->result = g->act(idle);
}

static struct guard *guard_new(struct kunit *test, struct twheel *wheel)
{
	struct guard *g = test_memory(test, sizeof(*g));

	twheel_idle_init(&g->idle, wheel, guard_report);
	return g;
}

static void idle_reports_silence(struct kunit *test)
{
	struct twheel *wheel = wheel_of_test(test);
	struct guard *quiet = guard_new(test, wheel), *lively = guard_new(test, wheel);
	unsigned int i;

	KUNIT_EXPECT_EQ(test, twheel_idle_touch(&quiet->idle), -ENOENT);
	KUNIT_EXPECT_EQ(test, twheel_idle_start(&quiet->idle, 10 * MS), 0);
	KUNIT_EXPECT_EQ(test, twheel_idle_start(&lively->idle, 10 * MS), 0);
	KUNIT_EXPECT_EQ(test, twheel_idle_touch(&lively->idle), 0);
	for (i = 1; i <= 100; i++) {
		wheel_run_until(wheel, i * 9 * MS);
		KUNIT_ASSERT_EQ(test, twheel_idle_touch(&lively->idle), 1);
		KUNIT_ASSERT_EQ(test, twheel_idle_touch(&lively->idle), 0);
	}
	KUNIT_EXPECT_EQ(test, quiet->calls, 1);
	KUNIT_EXPECT_EQ(test, quiet->called_at, 10 * MS);
	KUNIT_EXPECT_EQ(test, lively->calls, 0);
	KUNIT_EXPECT_EQ(test, twheel_idle_touch(&quiet->idle), -ENOENT);

	wheel_run_until(wheel, DAY);
	KUNIT_EXPECT_EQ(test, quiet->calls, 1);
	KUNIT_EXPECT_EQ(test, lively->calls, 1);
	KUNIT_EXPECT_EQ(test, lively->called_at, 910 * MS);
	KUNIT_EXPECT_EQ(test, twheel_idle_touch(&lively->idle), -ENOENT);
}

static void idle_changes_its_timeout(struct kunit *test)
{
	struct twheel *wheel = wheel_of_test(test);
	struct guard *g = guard_new(test, wheel);

	KUNIT_EXPECT_EQ(test, twheel_idle_set_timeout(&g->idle, MS), -ENOENT);
	KUNIT_EXPECT_EQ_MSG(test, pending_count(wheel), 0, "setting the timeout has started it");

	/* A shorter timeout counts from now, and for later touches. */
	KUNIT_EXPECT_EQ(test, twheel_idle_start(&g->idle, 100 * MS), 0);
	wheel_run_until(wheel, 10 * MS);
	KUNIT_EXPECT_EQ(test, twheel_idle_set_timeout(&g->idle, 20 * MS), 1);
	KUNIT_EXPECT_EQ(test, twheel_deadline(&g->idle.timer), 30 * MS);
	wheel_run_until(wheel, 15 * MS);
	KUNIT_EXPECT_EQ(test, twheel_idle_touch(&g->idle), 1);
	KUNIT_EXPECT_EQ(test, twheel_deadline(&g->idle.timer), 35 * MS);

	/* A longer timeout. */
	KUNIT_EXPECT_EQ(test, twheel_idle_set_timeout(&g->idle, 200 * MS), 1);
	KUNIT_EXPECT_EQ(test, twheel_deadline(&g->idle.timer), 215 * MS);
	wheel_run_until(wheel, 50 * MS);
	KUNIT_EXPECT_EQ(test, twheel_idle_touch(&g->idle), 1);
	KUNIT_EXPECT_EQ(test, twheel_deadline(&g->idle.timer), 250 * MS);

	/* A second start does the same. */
	KUNIT_EXPECT_EQ(test, twheel_idle_start(&g->idle, 40 * MS), 1);
	wheel_run_until(wheel, 89 * MS);
	KUNIT_EXPECT_EQ(test, g->calls, 0);
	wheel_run_until(wheel, 90 * MS);
	KUNIT_EXPECT_EQ(test, g->calls, 1);
	KUNIT_EXPECT_EQ(test, twheel_idle_set_timeout(&g->idle, MS), -ENOENT);
	KUNIT_EXPECT_EQ(test, pending_count(wheel), 0);
}

static int guard_watch_on(struct twheel_idle *idle)
{
	return twheel_idle_start(idle, 5 * MS);
}

static unsigned int guard_frees;

static void guard_free(struct twheel_idle *idle)
{
	guard_frees++;
	kfree(container_of(idle, struct guard, idle));
}

static void idle_callback_acts(struct kunit *test)
{
	struct twheel *wheel = wheel_of_test(test);
	struct guard *gone;
	struct guard *g = guard_new(test, wheel);

	g->act = guard_watch_on;
	twheel_idle_start(&g->idle, 10 * MS);
	wheel_run_until(wheel, 22 * MS);
	KUNIT_EXPECT_EQ(test, g->calls, 3);
	KUNIT_EXPECT_EQ(test, g->result, 0);
	g->act = twheel_idle_stop_sync;
	wheel_run_until(wheel, 100 * MS);
	KUNIT_EXPECT_EQ(test, g->calls, 4);
	KUNIT_EXPECT_EQ(test, g->result, -EDEADLK);

	guard_frees = 0;
	gone = kmalloc(sizeof(*gone), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, gone);
	memset(gone, 0, sizeof(*gone));
	twheel_idle_init(&gone->idle, wheel, guard_free);
	twheel_idle_start(&gone->idle, MS);
	wheel_run_until(wheel, 200 * MS);
	KUNIT_EXPECT_EQ(test, guard_frees, 1);
}

static void idle_shutdown(struct kunit *test)
{
	struct twheel *wheel = wheel_of_test(test);
	struct guard *g = guard_new(test, wheel);

	g->act = twheel_idle_shutdown_sync;
	twheel_idle_start(&g->idle, 10 * MS);
	wheel_run_until(wheel, 10 * MS);
	KUNIT_EXPECT_EQ(test, g->result, -EDEADLK);
	KUNIT_EXPECT_EQ(test, twheel_idle_start(&g->idle, 10 * MS), 0);
	KUNIT_EXPECT_EQ(test, twheel_idle_shutdown_sync(&g->idle), 1);
	KUNIT_EXPECT_EQ(test, twheel_idle_shutdown_sync(&g->idle), 0);
	KUNIT_EXPECT_EQ(test, twheel_idle_start(&g->idle, 10 * MS), -ESHUTDOWN);
	KUNIT_EXPECT_EQ(test, twheel_idle_set_timeout(&g->idle, 10 * MS), -ENOENT);
	KUNIT_EXPECT_EQ(test, twheel_idle_touch(&g->idle), -ENOENT);
	KUNIT_EXPECT_EQ(test, twheel_idle_stop_sync(&g->idle), 0);
	wheel_run_until(wheel, DAY);
	KUNIT_EXPECT_EQ(test, g->calls, 1);
	g = guard_new(test, wheel);
	KUNIT_EXPECT_EQ(test, twheel_idle_start(&g->idle, 10 * MS), 0);
	KUNIT_EXPECT_EQ(test, twheel_idle_stop(&g->idle), 1);
}

static void idle_stops(struct kunit *test)
{
	struct twheel *wheel = wheel_of_test(test);
	struct guard *g = guard_new(test, wheel);

	KUNIT_EXPECT_EQ(test, twheel_idle_stop(&g->idle), 0);
	twheel_idle_start(&g->idle, 10 * MS);
	KUNIT_EXPECT_EQ(test, twheel_idle_stop(&g->idle), 1);
	KUNIT_EXPECT_EQ(test, twheel_idle_stop(&g->idle), 0);
	KUNIT_EXPECT_EQ(test, twheel_idle_touch(&g->idle), -ENOENT);
	twheel_idle_start(&g->idle, 10 * MS);
	KUNIT_EXPECT_EQ(test, twheel_idle_stop_sync(&g->idle), 1);
	KUNIT_EXPECT_EQ(test, twheel_idle_stop_sync(&g->idle), 0);
	KUNIT_EXPECT_EQ(test, twheel_idle_touch(&g->idle), -ENOENT);
	wheel_run_until(wheel, DAY);
	KUNIT_EXPECT_EQ(test, g->calls, 0);

	twheel_idle_start(&g->idle, 10 * MS);
	wheel_expect_handed_back(test, wheel, &g->idle.timer);
	KUNIT_EXPECT_EQ(test, twheel_idle_start(&g->idle, MS), -ESHUTDOWN);
	KUNIT_EXPECT_EQ(test, twheel_idle_touch(&g->idle), -ENOENT);
}

static void idle_refuses(struct kunit *test)
{
	static const struct {
		u64 timeout;
		int ret;
	} cases[] = {
		{ 0, -EINVAL }, { TWHEEL_SPAN_MAX + 1, -EINVAL },
		{ ~(u64)0, -EINVAL }, { 1, 1 }, { TWHEEL_SPAN_MAX, 1 },
	};
	struct twheel *wheel = wheel_of_test(test);
	struct guard *g;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		g = guard_new(test, wheel);
		twheel_idle_start(&g->idle, 10 * MS);
		KUNIT_EXPECT_EQ(test, twheel_idle_set_timeout(&g->idle,
							      cases[i].timeout),
				cases[i].ret);
		KUNIT_EXPECT_EQ(test, twheel_idle_start(&g->idle, cases[i].timeout), cases[i].ret);
		if (cases[i].ret < 0) {
			/* Neither the deadline nor the timeout has changed. */
			KUNIT_EXPECT_EQ(test, twheel_idle_touch(&g->idle), 0);
			KUNIT_EXPECT_EQ(test, twheel_deadline(&g->idle.timer), 10 * MS);
		}
		twheel_idle_stop(&g->idle);
	}
}

static void idle_saturates(struct kunit *test)
{
	struct twheel *wheel = virtual_wheel(test, MS, TWHEEL_NEVER - 5 * MS);
	struct guard *g = guard_new(test, wheel);

	KUNIT_EXPECT_EQ(test, twheel_idle_start(&g->idle, TWHEEL_SPAN_MAX), 0);
	KUNIT_EXPECT_EQ(test, twheel_deadline(&g->idle.timer), TWHEEL_NEVER);
	KUNIT_EXPECT_EQ(test, twheel_idle_set_timeout(&g->idle, MS), 1);
	KUNIT_EXPECT_EQ(test, twheel_idle_set_timeout(&g->idle, 6 * MS), 1);
	KUNIT_EXPECT_EQ(test, twheel_idle_touch(&g->idle), 0);
	KUNIT_EXPECT_EQ(test, twheel_deadline(&g->idle.timer), TWHEEL_NEVER);
}

static struct kunit_case idle_cases[] = {
	KUNIT_CASE(idle_reports_silence),
	KUNIT_CASE(idle_changes_its_timeout),
	KUNIT_CASE(idle_callback_acts),
	KUNIT_CASE(idle_stops),
	KUNIT_CASE(idle_shutdown),
	KUNIT_CASE(idle_refuses),
	KUNIT_CASE(idle_saturates),
	{ }
};

static struct kunit_suite twheel_idle_suite = {
	.name		= "twheel_idle",
	.init		= probe_test_init,
	.exit		= wheels_end,
	.test_cases	= idle_cases,
};

kunit_test_suite(twheel_idle_suite);
