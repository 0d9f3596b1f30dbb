// SPDX-License-Identifier: GPL-2.0-only
/*
 * What process wheels have and the in-kernel API has not: a descriptor, calls that serve, and
 * structures that grow. suites.c has the rest.
 */
#include <poll.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <twheel_policy.h>

#include "fired.h"

/* If a descriptor never gets readable, run.sh ends the test. */
#define FOREVER_MS	(-1)

static struct twheel *make_virtual(void)
{
	return make((struct twheel_config) { .clock = TWHEEL_CLOCK_VIRTUAL });
}

static bool readable(struct twheel *wheel, int timeout_ms)
{
	struct pollfd poll_fd = { .fd = twheel_fd(wheel), .events = POLLIN };

	CHECK(poll_fd.fd >= 0);
	return poll(&poll_fd, 1, timeout_ms) == 1;
}

/* The descriptor follows the nearest deadline, and a descriptor made late does as well. */
TEST(descriptor)
{
	struct twheel *wheel = make((struct twheel_config) { });
	struct twheel_timer far, near;

	twheel_timer_init(&far, wheel, fire);
	twheel_timer_init(&near, wheel, fire);
	CHECK(twheel_arm(&far, 3600000 * MS) == 0);
	CHECK(!readable(wheel, 0));
	CHECK(twheel_arm(&near, 5 * MS) == 0);
	CHECK(readable(wheel, -1));
	while (!fired)
		CHECK(twheel_run(wheel, 64) >= 0);
	CHECK(last == &near && !readable(wheel, 0));
	/* In the past: due at once, but never inside the call. */
	CHECK(twheel_arm_at(&near, 1) == 0 && fired == 1 && readable(wheel, -1));
	CHECK(twheel_arm_at(&far, 2) == 1);
	CHECK(twheel_run(wheel, 1) == 1 && fired == 2 && readable(wheel, -1));
	CHECK(twheel_run(wheel, 1) == 0 && fired == 3 && !readable(wheel, 0));
	CHECK(twheel_destroy(wheel) == 0);
}

/* The time of each clock is at least a tick. */
static struct twheel *make_now(enum twheel_clock clock)
{
	return make((struct twheel_config) {
		.clock = clock, .start_ns = clock == TWHEEL_CLOCK_VIRTUAL ? MS : 0,
	});
}

/* More is due than a call takes: then the descriptor says so, on each clock. */
TEST_ON(leftovers, MONOTONIC, VIRTUAL)
{
	struct twheel *wheel = make_now(clock);
	struct twheel_timer timers[5], *due[5];
	unsigned int i;

	CHECK(!readable(wheel, 0));
	for (i = 0; i < ARRAY_SIZE(timers); i++) {
		twheel_timer_init(&timers[i], wheel, fire);
		CHECK(twheel_arm_at(&timers[i], 1 + i / 2) == 0);
	}
	CHECK(twheel_run(wheel, 0) == -EINVAL);
	CHECK(twheel_collect(wheel, due, 0) == -EINVAL);
	for (i = 1; i <= 2; i++) {
		CHECK(readable(wheel, FOREVER_MS) && twheel_run(wheel, 1) == 1);
		CHECK(fired == (int)i);
	}
	for (; i <= 4; i++) {
		CHECK(readable(wheel, FOREVER_MS));
		CHECK(twheel_collect(wheel, due, 1) == 1);
	}
	CHECK(readable(wheel, FOREVER_MS) && twheel_collect(wheel, due, 5) == 1);
	CHECK(!readable(wheel, 0) && twheel_run(wheel, 1) == 0 && fired == 2);
	CHECK(twheel_destroy(wheel) == 0);
}

static struct twheel *slept;

/* Another loop, in a callback: the descriptor wakes it for what is due, too. */
static void sleep_inside(struct twheel_timer *timer)
{
	(void)timer;
	while (!fired) {
		CHECK(readable(slept, FOREVER_MS));
		CHECK(twheel_run(slept, 1) >= 0);
	}
}

TEST_ON(sleep_inside, MONOTONIC, VIRTUAL)
{
	struct twheel_timer outer, inner;

	slept = make_now(clock);
	twheel_timer_init(&outer, slept, sleep_inside);
	twheel_timer_init(&inner, slept, fire);
	CHECK(!readable(slept, 0));
	CHECK(twheel_arm_at(&inner, 2) == 0 && twheel_arm_at(&outer, 1) == 0);
	if (clock == TWHEEL_CLOCK_VIRTUAL) {
		twheel_advance(slept, 2 * MS);
	} else {
		CHECK(readable(slept, FOREVER_MS));
		CHECK(twheel_run(slept, 8) == 0);
	}
	CHECK(fired == 1 && !readable(slept, 0));
	CHECK(twheel_destroy(slept) == 0);
}

/* An alarm is set for earlier instants only, and a cancel leaves it. */
TEST(starvation)
{
	struct twheel *wheel = make((struct twheel_config) { });
	struct twheel_timer timer;
	int i;

	twheel_timer_init(&timer, wheel, fire);
	CHECK(twheel_fd(wheel) >= 0);
	for (i = 0; i < 1000; i++) {
		CHECK(twheel_arm_at(&timer, 1) == 0);
		CHECK(twheel_cancel(&timer) == 1);
	}
	CHECK(readable(wheel, -1) && twheel_run(wheel, 1) == 0 && !fired);
	CHECK(!readable(wheel, 0));
	CHECK(twheel_destroy(wheel) == 0);
}

TEST(virtual_descriptor)
{
	struct twheel *wheel = make_virtual();
	struct twheel_timer timer;

	twheel_timer_init(&timer, wheel, fire);
	CHECK(!readable(wheel, 0));
	CHECK(twheel_arm(&timer, 10 * MS) == 0 && !readable(wheel, 0));
	CHECK(twheel_advance(wheel, 9 * MS) == 10 * MS && !fired);
	CHECK(twheel_advance(wheel, 10 * MS) > TWHEEL_NEVER && fired == 1);
	CHECK(!readable(wheel, 0));
	CHECK(twheel_arm_at(&timer, 0) == 0 && readable(wheel, -1));
	CHECK(twheel_run(wheel, 8) == 0 && fired == 2 && !readable(wheel, 0));
	/* Set back: it waits again. */
	CHECK(twheel_arm_at(&timer, 12 * MS) == 0);
	CHECK(twheel_advance(wheel, 5 * MS) <= 12 * MS && fired == 2);
	CHECK(twheel_advance(wheel, 11 * MS) == 12 * MS && fired == 2);
	CHECK(twheel_advance(wheel, 12 * MS) > TWHEEL_NEVER && fired == 3);
	/* Set back by far: the wheel does not take what is armed then for past. */
	CHECK(twheel_advance(wheel, 10000 * MS) > TWHEEL_NEVER);
	CHECK(twheel_advance(wheel, 5 * MS) > TWHEEL_NEVER);
	CHECK(twheel_arm_at(&timer, 12 * MS) == 0 && !readable(wheel, 0));
	CHECK(twheel_advance(wheel, 11 * MS) == 12 * MS && fired == 3);
	CHECK(twheel_advance(wheel, 12 * MS) > TWHEEL_NEVER && fired == 4);
	CHECK(twheel_destroy(wheel) == 0);
}

static struct twheel *stepped;
static uint64_t step_ns;

static void fire_again(struct twheel_timer *timer)
{
	uint64_t now = twheel_now(stepped);

	fired++;
	CHECK(now == step_ns * (uint64_t)fired);
	CHECK(twheel_arm(timer, step_ns) == 0);
}

/* A jump of the clock leaves what callbacks arm on its way; a walk does not. */
TEST(steps)
{
	struct twheel_timer timer;
	uint64_t next;

	stepped = make_virtual();
	step_ns = 10 * MS;
	twheel_timer_init(&timer, stepped, fire_again);
	CHECK(twheel_arm(&timer, step_ns) == 0);
	while ((next = twheel_next(stepped)) <= 100 * MS)
		twheel_advance(stepped, next > twheel_now(stepped) ? next : twheel_now(stepped));
	CHECK(fired == 10 && twheel_now(stepped) == 100 * MS);
	CHECK(twheel_cancel(&timer) == 1);
	/* What is due already moves, too, if it may come later. */
	CHECK(twheel_arm_range_at(&timer, 99 * MS, 1000 * MS) == 0);
	CHECK(twheel_deadline(&timer) > 100 * MS && twheel_deadline(&timer) <= 1099 * MS);
	CHECK(twheel_arm_at(&timer, 1000 * MS + 1) == 1);
	CHECK(twheel_deadline(&timer) == 1000 * MS + 1 && twheel_next(stepped) <= 1001 * MS);
	CHECK(twheel_destroy(stepped) == 0);
}

static struct twheel *nested;
static struct twheel_timer inner;

static void serve_inside(struct twheel_timer *timer)
{
	CHECK(twheel_arm_at(&inner, 1) == 0);
	CHECK(twheel_next(nested) == 0 && twheel_run(nested, 8) == 0 && fired == 1);
	CHECK(twheel_next(nested) > TWHEEL_NEVER);
	CHECK(twheel_cancel_sync(timer) == -EDEADLK);
	CHECK(twheel_shutdown_sync(timer) == -EDEADLK);
	CHECK(twheel_stop(nested, NULL, NULL) == -EDEADLK);
	CHECK(twheel_destroy(nested) == -EDEADLK);
	CHECK(twheel_advance(nested, 5) > TWHEEL_NEVER);
	/* For the past, by a callback: the next call serves it. */
	CHECK(twheel_arm_at(timer, 1) == 0);
}

/* A callback may serve the wheel, as a loop in a loop does. */
TEST(nested)
{
	struct twheel_timer outer;

	nested = make_virtual();
	twheel_timer_init(&outer, nested, serve_inside);
	twheel_timer_init(&inner, nested, fire);
	CHECK(twheel_arm(&outer, MS) == 0);
	CHECK(twheel_advance(nested, MS) <= MS);
	CHECK(fired == 1 && twheel_pending(&outer));
	CHECK(twheel_cancel_sync(&outer) == 1);
	CHECK(twheel_destroy(nested) == 0);
}

static void renew(struct twheel_timer *timer)
{
	CHECK(twheel_shutdown_sync(timer) == -EDEADLK);
	twheel_timer_init(timer, nested, fire);
	CHECK(twheel_arm(timer, MS) == 0);
	CHECK(twheel_shutdown_sync(timer) == 1);
	fired++;
}

/* A callback frees its object, and makes another one at that address: nothing of it runs. */
TEST(renewed)
{
	struct twheel_timer timer;

	nested = make_virtual();
	twheel_timer_init(&timer, nested, renew);
	CHECK(twheel_arm(&timer, MS) == 0);
	CHECK(twheel_advance(nested, MS) > TWHEEL_NEVER && fired == 1);
	CHECK(twheel_arm(&timer, MS) == -ESHUTDOWN);
	CHECK(twheel_destroy(nested) == 0);
}

/* A limited call has left something: the next advance() calls that and all that is past. */
TEST(advance_takes_all)
{
	struct twheel *wheel = make_virtual();
	struct twheel_timer timers[3];
	unsigned int i;

	CHECK(twheel_advance(wheel, 1000 * MS) > TWHEEL_NEVER);
	for (i = 0; i < ARRAY_SIZE(timers); i++) {
		twheel_timer_init(&timers[i], wheel, fire);
		if (i == 2)
			CHECK(twheel_run(wheel, 1) == 1);
		CHECK(twheel_arm_at(&timers[i], 5 + i) == 0);
	}
	CHECK(twheel_advance(wheel, 2000 * MS) > TWHEEL_NEVER && fired == 3);
	CHECK(last == &timers[2]);
	CHECK(twheel_destroy(wheel) == 0);
}

/* The program's own file has the descriptor's number, or none has. Returns its other end. */
static int lose(struct twheel *wheel, bool replace)
{
	int fd = twheel_fd(wheel), pipe_fds[2];

	CHECK(fd >= 0);
	if (!replace) {
		CHECK(!close(fd));
		return -1;
	}
	CHECK(!pipe(pipe_fds) && write(pipe_fds[1], "12345678", 8) == 8);
	CHECK(dup2(pipe_fds[0], fd) == fd && !close(pipe_fds[0]));
	return pipe_fds[1];
}

static int told_by_run(struct twheel *wheel)
{
	return twheel_run(wheel, 1);
}

static int told_by_collect(struct twheel *wheel)
{
	struct twheel_timer *timer;

	return twheel_collect(wheel, &timer, 1);
}

static int told_by_wait(struct twheel *wheel)
{
	return twheel_wait(wheel, -1);
}

static struct twheel_timer told;

static int told_by_arm(struct twheel *wheel)
{
	int ret = twheel_arm_at(&told, 1);

	CHECK(twheel_of(&told) == wheel && (ret < 0) == !twheel_pending(&told));
	return ret;
}

static int told_by_modify(struct twheel *wheel)
{
	(void)wheel;
	return twheel_modify_at(last, 1);
}

static void lose_and_be_told(enum twheel_clock clock, int (*tell)(struct twheel *wheel),
			     bool replace)
{
	struct twheel *wheel = make((struct twheel_config) {
		.clock = clock, .start_ns = clock == TWHEEL_CLOCK_VIRTUAL ? MS : 0 });
	int fd = twheel_fd(wheel), other = lose(wheel, replace);
	struct twheel_timer timer;
	char data[8];

	twheel_timer_init(&timer, wheel, fire);
	twheel_timer_init(&told, wheel, fire);
	last = &timer;
	/* This call sets the descriptor, and has armed the timer. */
	CHECK(twheel_arm_at(&timer, 1) == 0);
	CHECK(tell(wheel) == -EBADF && fired == 0 && twheel_pending(&timer));
	/* It is told once. */
	CHECK(tell(wheel) >= 0);
	/* There is another one, and the file is the program's. */
	CHECK(twheel_arm_at(&timer, 1) >= 0 && readable(wheel, FOREVER_MS));
	CHECK(twheel_run(wheel, 8) >= 0 && fired > 0);
	if (replace) {
		CHECK(twheel_fd(wheel) != fd);
		CHECK(read(fd, data, sizeof(data)) == sizeof(data));
	}
	CHECK(twheel_destroy(wheel) == 0);
	CHECK(!replace || (!close(fd) && !close(other)));
}

/* The program closes the descriptor, or puts another file there: the next result tells. */
TEST_ON(lost_descriptor, MONOTONIC, VIRTUAL)
{
	static int (*const tells[])(struct twheel *wheel) = {
		twheel_fd, told_by_run, told_by_collect, told_by_wait, told_by_arm, told_by_modify,
	};
	unsigned int i;

	for (i = 0; i < 2 * ARRAY_SIZE(tells); i++)
		lose_and_be_told(clock, tells[i / 2], i % 2);
}

/* A thread that waits is told that there is nothing to wait for. */
TEST(wait_for_a_lost_descriptor)
{
	struct twheel *wheel = make((struct twheel_config) { .threads = true });

	lose(wheel, false);
	CHECK(twheel_wait(wheel, -1) == -EBADF);
	CHECK(twheel_wait(wheel, 0) == 0);
	CHECK(twheel_destroy(wheel) == 0);
}

/* What a program has put in the descriptor's place stays its own, whatever the wheel does. */
TEST_ON(file_in_the_place_of_the_descriptor, MONOTONIC, VIRTUAL)
{
	struct twheel *wheel = make((struct twheel_config) { .clock = clock });
	int fd = twheel_fd(wheel), other = lose(wheel, true);
	char data[8];

	CHECK(twheel_run(wheel, 1) == 0);
	CHECK(twheel_destroy(wheel) == 0);
	CHECK(read(fd, data, sizeof(data)) == sizeof(data));
	CHECK(!close(fd) && !close(other));
}

/* A wheel of another sort is where one was that this thread has armed last: the bet is lost. */
TEST(wheel_at_the_same_address)
{
	struct twheel_config config = { .clock = TWHEEL_CLOCK_VIRTUAL, .max_pending = 1 };
	struct twheel_timer timers[2];
	struct twheel *wheel;
	uintptr_t before;
	unsigned int i;

	for (i = 0; i < 1000; i++) {
		wheel = make_virtual();
		before = (uintptr_t)wheel;
		twheel_timer_init(&timers[0], wheel, fire);
		CHECK(twheel_arm(&timers[0], MS) == 0);
		CHECK(twheel_destroy(wheel) == 0);
		wheel = make(config);
		twheel_timer_init(&timers[0], wheel, fire);
		twheel_timer_init(&timers[1], wheel, fire);
		CHECK(twheel_of(&timers[1]) == wheel);
		CHECK(twheel_arm(&timers[0], MS) == 0);
		CHECK(twheel_arm(&timers[1], MS) == -ENOSPC);
		CHECK(twheel_destroy(wheel) == 0);
		if ((uintptr_t)wheel == before)
			break;
	}
}

/* What a later version may take for fields is there, and zero whatever was there before. */
TEST(room)
{
	static const struct twheel_periodic no_work;
	static const struct twheel_idle no_watch;
	struct twheel *wheel = make_virtual();
	struct twheel_periodic periodic;
	struct twheel_idle idle;

	memset(&periodic, 0xff, sizeof(periodic));
	memset(&idle, 0xff, sizeof(idle));
	twheel_periodic_init(&periodic, wheel, NULL);
	twheel_idle_init(&idle, wheel, NULL);
	CHECK(!memcmp(&periodic, &no_work, sizeof(periodic)));
	CHECK(!memcmp(&idle, &no_watch, sizeof(idle)));
	CHECK(sizeof(periodic.reserved) >= 32 && sizeof(idle.reserved) >= 16);
	CHECK(sizeof(periodic.reserved_int) == sizeof(periodic.number));
	CHECK(twheel_destroy(wheel) == 0);
}

/* A program knows an older version of a structure, or a newer one. */
TEST(sizes)
{
	struct {
		struct twheel_config config;
		unsigned char later[9];
	} larger = { .config.clock = TWHEEL_CLOCK_VIRTUAL, .config.threads = true };
	const size_t size = sizeof(larger.config) + sizeof(larger.later);
	struct twheel_stats stats = { .fired = 77 };
	struct twheel *wheel;
	unsigned int i;

	wheel = twheel_create_size(&larger.config, offsetof(struct twheel_config, slots));
	CHECK(wheel && twheel_now(wheel) == 0);
	twheel_get_stats_size(wheel, &stats, offsetof(struct twheel_stats, fired));
	CHECK(stats.pending == 0 && stats.fired == 77);
	CHECK(twheel_destroy(wheel) == 0);
	/* Fields to come: what is asked for by them is not left out in silence. */
	for (i = 0; i < sizeof(larger.later); i++) {
		larger.later[i] = 1;
		errno = 0;
		CHECK(!twheel_create_size(&larger.config, size) && errno == E2BIG);
		larger.later[i] = 0;
	}
	wheel = twheel_create_size(&larger.config, size);
	CHECK(wheel && twheel_destroy(wheel) == 0);
}
