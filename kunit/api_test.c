// SPDX-License-Identifier: GPL-2.0-only
/*
 * The in-kernel API on a virtual clock: what each call does, returns and refuses. A program
 * has the same.
 */
#include "probe.h"

static void size_is_small(struct kunit *test)
{
	size_t size = sizeof(struct twheel_timer);

#ifdef CONFIG_LOCKDEP
	size -= sizeof(struct lockdep_map);
#endif
	KUNIT_EXPECT_LE(test, size, 3 * sizeof(void *) + 8 + sizeof(void *));
}

static void create_refuses(struct kunit *test)
{
	static const struct twheel_config bad[] = {
		/* A process wheel has one clock more. */
		{ .clock = TWHEEL_CLOCK_VIRTUAL + 2 }, { .clock = -1 },
		{ .tick_ns = TWHEEL_TICK_MIN - 1 }, { .tick_ns = TWHEEL_TICK_MAX + 1 },
		{ .slots = TWHEEL_SLOTS_MIN - 1 }, { .slots = TWHEEL_SLOTS_MAX + 1 },
		{ .clock = TWHEEL_CLOCK_MONOTONIC, .start_ns = 5 },
		{ .clock = TWHEEL_CLOCK_BOOTTIME, .start_ns = 5 },
		{ .clock = TWHEEL_CLOCK_VIRTUAL, .start_ns = TWHEEL_NEVER },
	};
	struct twheel *wheel = wheel_with(test, .clock = TWHEEL_CLOCK_VIRTUAL, .tick_ns = MS,
					  .slots = 64, .start_ns = 5);
	unsigned int i;

	KUNIT_EXPECT_EQ(test, wheel_end(test, wheel), 0);
	for (i = 0; i < ARRAY_SIZE(bad); i++)
		KUNIT_EXPECT_EQ_MSG(test, PTR_ERR_OR_ZERO(twheel_create(&bad[i])), -EINVAL,
				    "bad[%u]", i);
}

static void owner_is_reachable(struct kunit *test)
{
	struct twheel *wheel = wheel_with(test, .data = test);
	struct probe *probe = probes_new(test, wheel, 1, probe_fire);

	KUNIT_EXPECT_PTR_EQ(test, twheel_of(&probe->timer), wheel);
	KUNIT_EXPECT_PTR_EQ(test, twheel_data(wheel), (void *)test);
}

static void fires_on_first_boundary(struct kunit *test)
{
	struct twheel *wheel = wheel_of_test(test);
	struct probe *probe = probes_new(test, wheel, 1, probe_fire);

	KUNIT_EXPECT_EQ(test, twheel_state(&probe->timer), TWHEEL_IDLE);
	KUNIT_EXPECT_EQ(test, twheel_arm(&probe->timer, 10 * MS + 1), 0);
	KUNIT_EXPECT_EQ(test, twheel_state(&probe->timer), TWHEEL_PENDING);
	KUNIT_EXPECT_EQ(test, twheel_deadline(&probe->timer), 10 * MS + 1);
	KUNIT_EXPECT_EQ(test, twheel_remaining(&probe->timer), 10 * MS + 1);

	KUNIT_EXPECT_EQ(test, twheel_advance(wheel, 11 * MS - 1), 11 * MS);
	KUNIT_EXPECT_EQ(test, probe->fired, 0);
	KUNIT_EXPECT_EQ(test, twheel_remaining(&probe->timer), 0);
	KUNIT_EXPECT_GT(test, twheel_advance(wheel, 11 * MS), TWHEEL_NEVER);
	KUNIT_EXPECT_EQ(test, probe->fired, 1);
	KUNIT_EXPECT_EQ(test, twheel_state(&probe->timer), TWHEEL_FIRED);
	KUNIT_EXPECT_GT(test, twheel_deadline(&probe->timer), TWHEEL_NEVER);
	KUNIT_EXPECT_GT(test, twheel_remaining(&probe->timer), TWHEEL_NEVER);
}

static void boundaries_are_the_clocks(struct kunit *test)
{
	/* Boundaries do not count from the start of the wheel, which is off one. */
	struct twheel *wheel = virtual_wheel(test, 1000 * MS, 1234567890123ULL);
	struct probe *probe = probes_new(test, wheel, 1, probe_fire);

	twheel_arm(&probe->timer, 1);
	KUNIT_EXPECT_EQ(test, wheel_run_until(wheel, 1240000000000ULL), 1);
	KUNIT_EXPECT_EQ(test, probe->fired_at, 1235000000000ULL);
}

static void past_is_due_at_once(struct kunit *test)
{
	struct twheel *wheel = wheel_of_test(test);
	struct probe *probe = probes_new(test, wheel, 1, probe_fire);

	twheel_advance(wheel, 1000 * MS + 17);
	KUNIT_EXPECT_EQ(test, twheel_arm_at(&probe->timer, 3 * MS), 0);
	KUNIT_EXPECT_EQ_MSG(test, probe->fired, 0, "run inside the arming call");
	/* It does not wait for a tick. */
	twheel_advance(wheel, 1000 * MS + 17);
	KUNIT_EXPECT_EQ(test, probe->fired, 1);

	KUNIT_EXPECT_EQ(test, twheel_arm_at(&probe->timer, 0), 0);
	twheel_advance(wheel, 1000 * MS + 17);
	KUNIT_EXPECT_EQ(test, probe->fired, 2);
}

static void arm_again_moves(struct kunit *test)
{
	struct twheel *wheel = wheel_of_test(test);
	struct probe *probe = probes_new(test, wheel, 1, probe_fire);

	KUNIT_EXPECT_EQ(test, twheel_arm(&probe->timer, 100 * MS), 0);
	KUNIT_EXPECT_EQ(test, twheel_arm(&probe->timer, 50 * MS), 1);
	KUNIT_EXPECT_EQ(test, twheel_arm(&probe->timer, 50 * MS), 1);
	KUNIT_EXPECT_EQ(test, pending_count(wheel), 1);
	wheel_run_until(wheel, 49 * MS);
	KUNIT_EXPECT_EQ(test, probe->fired, 0);
	/* A later deadline, while it stays in its bucket. */
	KUNIT_EXPECT_EQ(test, twheel_arm(&probe->timer, 100 * MS), 1);
	wheel_run_until(wheel, 148 * MS);
	KUNIT_EXPECT_EQ(test, probe->fired, 0);
	wheel_run_until(wheel, 149 * MS);
	KUNIT_EXPECT_EQ(test, probe->fired, 1);
	KUNIT_EXPECT_EQ(test, pending_count(wheel), 0);
}

static void modify_only_pending(struct kunit *test)
{
	struct twheel *wheel = wheel_of_test(test);
	struct probe *probe = probes_new(test, wheel, 1, probe_fire);

	KUNIT_EXPECT_EQ(test, twheel_modify(&probe->timer, MS), -ENOENT);
	KUNIT_EXPECT_EQ(test, pending_count(wheel), 0);
	twheel_arm(&probe->timer, 10 * MS);
	KUNIT_EXPECT_EQ(test, twheel_modify_at(&probe->timer, 20 * MS), 1);
	KUNIT_EXPECT_EQ(test, twheel_modify(&probe->timer, 5 * MS), 1);
	wheel_run_until(wheel, 5 * MS);
	KUNIT_EXPECT_EQ(test, probe->fired, 1);
	KUNIT_EXPECT_EQ(test, twheel_modify_at(&probe->timer, 20 * MS), -ENOENT);
	twheel_arm(&probe->timer, 10 * MS);
	twheel_cancel(&probe->timer);
	KUNIT_EXPECT_EQ(test, twheel_modify(&probe->timer, 5 * MS), -ENOENT);
	wheel_run_until(wheel, 100 * MS);
	KUNIT_EXPECT_EQ(test, probe->fired, 1);
}

static void extend_only_later(struct kunit *test)
{
	struct twheel *wheel = wheel_of_test(test);
	struct probe *probe = probes_new(test, wheel, 1, probe_fire);

	KUNIT_EXPECT_EQ(test, twheel_extend_at(&probe->timer, MS), -ENOENT);
	KUNIT_EXPECT_EQ(test, twheel_extend(&probe->timer, TWHEEL_NEVER), -ENOENT);
	twheel_arm(&probe->timer, 10 * MS);
	KUNIT_EXPECT_EQ(test, twheel_extend_at(&probe->timer, 10 * MS), 0);
	KUNIT_EXPECT_EQ(test, twheel_extend_at(&probe->timer, 9 * MS), 0);
	KUNIT_EXPECT_EQ(test, twheel_extend(&probe->timer, 30 * MS), 1);
	KUNIT_EXPECT_EQ(test, twheel_deadline(&probe->timer), 30 * MS);
	wheel_run_until(wheel, 29 * MS);
	KUNIT_EXPECT_EQ(test, probe->fired, 0);
	wheel_run_until(wheel, 30 * MS);
	KUNIT_EXPECT_EQ(test, probe->fired, 1);
	KUNIT_EXPECT_EQ(test, twheel_extend_at(&probe->timer, 50 * MS), -ENOENT);
	twheel_arm(&probe->timer, MS);
	twheel_cancel(&probe->timer);
	KUNIT_EXPECT_EQ(test, twheel_extend_at(&probe->timer, 50 * MS), -ENOENT);
	KUNIT_EXPECT_EQ(test, twheel_state(&probe->timer), TWHEEL_CANCELLED);
}

static void cancel_says_what_happened(struct kunit *test)
{
	struct twheel *wheel = wheel_of_test(test);
	struct twheel_stats stats;
	struct probe *probe = probes_new(test, wheel, 1, probe_fire);

	KUNIT_EXPECT_EQ(test, twheel_cancel(&probe->timer), 0);
	KUNIT_EXPECT_EQ(test, twheel_cancel_sync(&probe->timer), 0);
	twheel_arm(&probe->timer, 10 * MS);
	KUNIT_EXPECT_EQ(test, twheel_cancel(&probe->timer), 1);
	KUNIT_EXPECT_EQ(test, twheel_cancel(&probe->timer), 0);
	twheel_arm(&probe->timer, 10 * MS);
	KUNIT_EXPECT_EQ(test, twheel_cancel_sync(&probe->timer), 1);
	KUNIT_EXPECT_EQ(test, twheel_state(&probe->timer), TWHEEL_CANCELLED);
	/* There is nothing left to wake up for. */
	KUNIT_EXPECT_GT(test, twheel_advance(wheel, DAY), TWHEEL_NEVER);
	KUNIT_EXPECT_EQ(test, probe->fired, 0);
	twheel_get_stats(wheel, &stats);
	KUNIT_EXPECT_EQ(test, stats.cancelled, 2);
	KUNIT_EXPECT_EQ(test, stats.pending, 0);
}

static void never_is_never(struct kunit *test)
{
	struct twheel *wheel = wheel_of_test(test);
	struct probe never[4];
	unsigned int i;

	twheel_advance(wheel, 3 * DAY);
	for (i = 0; i < ARRAY_SIZE(never); i++)
		probe_init(&never[i], wheel, probe_fire);
	KUNIT_EXPECT_EQ(test, twheel_arm(&never[0].timer, U64_MAX), 0);
	KUNIT_EXPECT_EQ(test, twheel_arm_at(&never[1].timer, U64_MAX), 0);
	KUNIT_EXPECT_EQ(test, twheel_arm_range(&never[2].timer, 1, U64_MAX), 0);
	KUNIT_EXPECT_EQ(test, twheel_arm(&never[3].timer, DAY), 0);
	KUNIT_EXPECT_EQ(test, twheel_extend(&never[3].timer, U64_MAX), 1);
	for (i = 0; i < ARRAY_SIZE(never); i++)
		KUNIT_EXPECT_TRUE(test, twheel_pending(&never[i].timer));
	KUNIT_EXPECT_EQ(test, twheel_deadline(&never[0].timer), TWHEEL_NEVER);

	/* The end of ktime_t: 292 years. */
	twheel_advance(wheel, S64_MAX);
	for (i = 0; i < ARRAY_SIZE(never); i++) {
		if (i == 2)
			continue;
		KUNIT_EXPECT_EQ_MSG(test, never[i].fired, 0, "never[%u]", i);
		KUNIT_EXPECT_EQ(test, twheel_cancel(&never[i].timer), 1);
	}
	twheel_cancel(&never[2].timer);
}

/* A deadline beyond the last one is none of the states that a timer may be in. */
static void pending_until_never(struct kunit *test)
{
	static const u64 beyond[] = {
		TWHEEL_NEVER + 1, (u64)S64_MAX + 1, (u64)S64_MAX + 3, U64_MAX,
	};
	struct probe *probe = probes_new(test, wheel_of_test(test), 1, probe_fire);
	unsigned int i;

	for (i = 0; i < 3 * ARRAY_SIZE(beyond); i++) {
		struct twheel_timer *timer = &probe->timer;
		u64 never = beyond[i / 3];

		twheel_arm(timer, DAY);
		KUNIT_EXPECT_EQ_MSG(test, i % 3 == 0 ? twheel_arm_at(timer, never) :
				    i % 3 == 1 ? twheel_modify_at(timer, never) :
				    twheel_extend_at(timer, never), 1, "%u", i);
		KUNIT_EXPECT_TRUE(test, twheel_pending(timer));
		KUNIT_EXPECT_EQ(test, twheel_deadline(timer), TWHEEL_NEVER);
		KUNIT_EXPECT_EQ(test, twheel_cancel(timer), 1);
		/* What comes after the timer is not the timeout of an idle watch. */
		KUNIT_EXPECT_EQ(test, probe->fired, 0);
	}
}

/* No clock reaches TWHEEL_NEVER, not even with a tick that has a boundary there. */
static void clock_ends_before_never(struct kunit *test)
{
	const struct twheel_config config = {
		.clock = TWHEEL_CLOCK_VIRTUAL,
		/* 139 * 5483, which are factors of TWHEEL_NEVER */
		.tick_ns = 762137, .start_ns = TWHEEL_NEVER - 1,
	};
	struct twheel *wheel = wheel_new(test, &config);
	struct probe *probe = probes_new(test, wheel, 1, probe_fire);

	KUNIT_EXPECT_EQ(test, div64_u64(TWHEEL_NEVER, config.tick_ns) * config.tick_ns,
			(u64)TWHEEL_NEVER);
	twheel_arm(&probe->timer, HOUR);
	twheel_advance(wheel, TWHEEL_NEVER);
	twheel_advance(wheel, U64_MAX);
	KUNIT_EXPECT_EQ(test, twheel_now(wheel), TWHEEL_NEVER - 1);
	KUNIT_EXPECT_EQ(test, probe->fired, 0);
	KUNIT_EXPECT_EQ(test, twheel_cancel(&probe->timer), 1);
}

static void ten_days_to_the_tick(struct kunit *test)
{
	struct twheel *wheel = wheel_of_test(test);
	struct probe *probe = probes_new(test, wheel, 1, probe_fire);

	twheel_advance(wheel, 12 * DAY + 345);
	twheel_arm_at(&probe->timer, 22 * DAY + 5 * MS - 1);
	/* A lone timer needs only its own wake-up. */
	KUNIT_EXPECT_EQ(test, wheel_run_until(wheel, 22 * DAY + 5 * MS - 1), 0);
	KUNIT_EXPECT_EQ(test, probe->fired, 0);
	KUNIT_EXPECT_EQ(test, wheel_run_until(wheel, 40 * DAY), 1);
	KUNIT_EXPECT_EQ(test, probe->fired, 1);
	KUNIT_EXPECT_EQ(test, probe->fired_at, 22 * DAY + 5 * MS);
}

static void one_alarm_per_instant(struct kunit *test)
{
	struct twheel *wheel = wheel_of_test(test);
	unsigned int i, n = 40;
	struct probe *probes = probes_new(test, wheel, n, probe_fire);

	/* Two timers at each of twenty instants some hours apart. */
	for (i = 0; i < n; i++)
		twheel_arm(&probes[i].timer, (i / 2 + 1) * 7200000 * MS);
	KUNIT_EXPECT_EQ(test, wheel_run_until(wheel, 3 * DAY), n / 2);
	for (i = 0; i < n; i++) {
		KUNIT_EXPECT_EQ(test, probes[i].fired, 1);
		KUNIT_EXPECT_EQ(test, probes[i].fired_at, (i / 2 + 1) * 7200000 * MS);
	}
}

static void range_picks_within(struct kunit *test)
{
	struct twheel *wheel = wheel_of_test(test);
	struct probe *probe = probes_new(test, wheel, 1, probe_fire);
	u64 deadline, got;
	u64 slack;

	for (deadline = 0; deadline < 70 * MS; deadline += MS / 3 + 1) {
		for (slack = 0; slack < 300 * MS; slack = slack * 3 + MS / 2) {
			KUNIT_EXPECT_GE(test, twheel_arm_range_at(&probe->timer,
								  deadline,
								  slack), 0);
			got = twheel_deadline(&probe->timer);
			KUNIT_EXPECT_GE(test, got, deadline);
			KUNIT_EXPECT_LE(test, got, deadline + slack);
			twheel_cancel(&probe->timer);
		}
	}
	/* Of 1000 to 1100 ms, 1024 is the roundest tick. */
	twheel_arm_range(&probe->timer, 1000 * MS, 100 * MS);
	KUNIT_EXPECT_EQ(test, twheel_deadline(&probe->timer), 1024 * MS);
	twheel_cancel(&probe->timer);
}

static void limit_recovers(struct kunit *test)
{
	struct twheel *wheel = wheel_with(test, .clock = TWHEEL_CLOCK_VIRTUAL, .max_pending = 2);
	struct probe p[3];
	unsigned int i;

	for (i = 0; i < 3; i++)
		probe_init(&p[i], wheel, probe_fire);
	KUNIT_EXPECT_EQ(test, twheel_arm(&p[0].timer, MS), 0);
	KUNIT_EXPECT_EQ(test, twheel_arm(&p[1].timer, 2 * MS), 0);
	KUNIT_EXPECT_EQ(test, twheel_arm(&p[2].timer, 3 * MS), -ENOSPC);
	KUNIT_EXPECT_EQ(test, twheel_state(&p[2].timer), TWHEEL_IDLE);
	/* Pending timers may move. */
	KUNIT_EXPECT_EQ(test, twheel_arm(&p[1].timer, MS), 1);
	twheel_cancel(&p[1].timer);
	KUNIT_EXPECT_EQ(test, twheel_arm(&p[2].timer, 3 * MS), 0);
	KUNIT_EXPECT_EQ(test, twheel_arm(&p[1].timer, MS), -ENOSPC);
	twheel_advance(wheel, MS);
	KUNIT_EXPECT_EQ(test, twheel_arm(&p[1].timer, MS), 0);
	KUNIT_EXPECT_EQ(test, twheel_arm(&p[0].timer, MS), -ENOSPC);
	KUNIT_EXPECT_EQ(test, pending_count(wheel), 2);
	KUNIT_EXPECT_EQ(test, twheel_stop(wheel, NULL, NULL), 2);
}

static void long_sleep_is_caught_up_with(struct kunit *test)
{
	struct twheel *wheel = wheel_of_test(test);
	struct probe *probes = probes_new(test, wheel, 50, probe_fire);
	unsigned int i;

	for (i = 0; i < 50; i++)
		twheel_arm(&probes[i].timer, (i * i * 7919 + 1) * MS);
	/*
	 * A machine that was suspended for years does not catch up tick by tick. It is one
	 * pass, unless the machine is so slow that the time of a pass is over.
	 */
	twheel_advance(wheel, 3650 * DAY);
	for (i = 0; i < 50; i++)
		KUNIT_EXPECT_EQ(test, probes[i].fired, 1);
	KUNIT_EXPECT_LE(test, pass_count(wheel), 20);
	/* A short delay right after that is short. */
	twheel_arm(&probes[0].timer, 2 * MS);
	KUNIT_EXPECT_EQ(test, wheel_run_until(wheel, 3650 * DAY + 2 * MS), 1);
	KUNIT_EXPECT_EQ(test, probes[0].fired_at, 3650 * DAY + 2 * MS);
}

static struct kunit_case api_cases[] = {
	KUNIT_CASE(size_is_small),
	KUNIT_CASE(create_refuses),
	KUNIT_CASE(owner_is_reachable),
	KUNIT_CASE(fires_on_first_boundary),
	KUNIT_CASE(boundaries_are_the_clocks),
	KUNIT_CASE(past_is_due_at_once),
	KUNIT_CASE(arm_again_moves),
	KUNIT_CASE(modify_only_pending),
	KUNIT_CASE(extend_only_later),
	KUNIT_CASE(cancel_says_what_happened),
	KUNIT_CASE(never_is_never),
	KUNIT_CASE(pending_until_never),
	KUNIT_CASE(clock_ends_before_never),
	KUNIT_CASE(ten_days_to_the_tick),
	KUNIT_CASE(one_alarm_per_instant),
	KUNIT_CASE(range_picks_within),
	KUNIT_CASE(limit_recovers),
	KUNIT_CASE(long_sleep_is_caught_up_with),
	{ }
};

static struct kunit_suite twheel_api_suite = {
	.name		= "twheel_api",
	.init		= probe_test_init,
	.exit		= wheels_end,
	.test_cases	= api_cases,
};

kunit_test_suite(twheel_api_suite);
