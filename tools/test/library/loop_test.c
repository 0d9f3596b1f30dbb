// SPDX-License-Identifier: GPL-2.0-only
/* What an event loop relies on. */
#include <unistd.h>

#include "fired.h"

static struct twheel *make_virtual(void)
{
	return make((struct twheel_config) { .clock = TWHEEL_CLOCK_VIRTUAL, .start_ns = MS });
}

/* A call that has nothing to do still refuses what is wrong. */
TEST_ON(idle_refuses, MONOTONIC, VIRTUAL)
{
	struct twheel *wheel = make((struct twheel_config) { .clock = clock });
	struct twheel_timer timer, *due;

	twheel_timer_init(&timer, wheel, fire);
	CHECK(twheel_arm_at(&timer, TWHEEL_NEVER) == 0 && twheel_run(wheel, 1) == 0);
	CHECK(twheel_run(wheel, 1) == 0 && twheel_collect(wheel, &due, 1) == 0);
	CHECK(twheel_run(wheel, 0) == -EINVAL && twheel_collect(wheel, &due, 0) == -EINVAL);
	CHECK(twheel_stop(wheel, NULL, NULL) == 1);
	CHECK(twheel_run(wheel, 1) == -ESHUTDOWN && twheel_collect(wheel, &due, 1) == -ESHUTDOWN);
	CHECK(twheel_advance(wheel, 5 * MS) > TWHEEL_NEVER);
	CHECK(clock != TWHEEL_CLOCK_VIRTUAL || twheel_now(wheel) == 0);
	CHECK(twheel_destroy(wheel) == 0);
}

/* Nothing is due, and the descriptor was lost when it was set: that is told, once. */
TEST_ON(idle_tells, MONOTONIC, BOOTTIME)
{
	struct twheel *wheel = make((struct twheel_config) { .clock = clock });
	struct twheel_timer timer;

	twheel_timer_init(&timer, wheel, fire);
	CHECK(twheel_run(wheel, 1) == 0);
	CHECK(!close(twheel_fd(wheel)));
	CHECK(twheel_arm(&timer, 3600000 * MS) == 0);
	CHECK(twheel_run(wheel, 1) == -EBADF && twheel_run(wheel, 1) == 0);
	CHECK(twheel_destroy(wheel) == 0);
}

/*
 * After many calls that had nothing to do, the wheel is not behind. Timers that are armed then go
 * to level 1, from which each is moved once.
 */
TEST(idle_follows)
{
	struct twheel *wheel = make_virtual();
	struct twheel_timer timers[9];
	struct twheel_stats stats;
	uint64_t now;
	int i;

	twheel_timer_init(&timers[0], wheel, fire);
	CHECK(twheel_arm_at(&timers[0], 130010 * MS) == 0);
	for (now = MS; now < 130010 * MS; now += 10 * MS)
		CHECK(twheel_advance(wheel, now) <= 130010 * MS && twheel_run(wheel, 1) == 0);
	for (i = 1; i < 9; i++) {
		twheel_timer_init(&timers[i], wheel, fire);
		CHECK(twheel_arm_at(&timers[i], 200000 * MS) == 0);
	}
	CHECK(twheel_advance(wheel, 199999 * MS) == 200000 * MS && fired == 1);
	CHECK(twheel_advance(wheel, 200000 * MS) > TWHEEL_NEVER && fired == 9);
	twheel_get_stats(wheel, &stats);
	CHECK(stats.cascades <= 9);
	CHECK(twheel_destroy(wheel) == 0);
}

static void serve_inside(struct twheel_timer *timer)
{
	struct twheel *wheel = twheel_of(timer);
	uint64_t now = twheel_now(wheel);

	fire(timer);
	CHECK(twheel_run(wheel, 8) == 0 && twheel_run(wheel, 8) == 0);
	CHECK(twheel_advance(wheel, now + 1) > TWHEEL_NEVER && twheel_now(wheel) == now);
}

/* A callback has served the wheel, so nothing is due. The clock still stands while it runs. */
TEST(idle_inside)
{
	struct twheel *wheel = make_virtual();
	struct twheel_timer timer;

	twheel_timer_init(&timer, wheel, serve_inside);
	CHECK(twheel_arm(&timer, MS) == 0);
	CHECK(twheel_advance(wheel, 2 * MS) > TWHEEL_NEVER && fired == 1);
	CHECK(twheel_destroy(wheel) == 0);
}

/* A timer is due, and is not any more when the clock is set back a little. */
TEST(idle_back)
{
	struct twheel *wheel = make_virtual();
	struct twheel_timer timer;

	twheel_timer_init(&timer, wheel, fire);
	CHECK(twheel_wait(wheel, 0) == 0);
	CHECK(twheel_advance(wheel, 20 * MS) > TWHEEL_NEVER);
	CHECK(twheel_advance(wheel, 30 * MS) > TWHEEL_NEVER);
	CHECK(twheel_arm_at(&timer, 29 * MS) == 0 && twheel_wait(wheel, 0) == 1);
	CHECK(twheel_advance(wheel, 28 * MS) <= 29 * MS && !fired);
	CHECK(twheel_wait(wheel, 0) == 0);
	CHECK(twheel_advance(wheel, 29 * MS) > TWHEEL_NEVER && fired == 1);
	CHECK(twheel_destroy(wheel) == 0);
}
