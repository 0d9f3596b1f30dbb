// SPDX-License-Identifier: GPL-2.0-only
/* What an event loop relies on. */
#include <poll.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <sys/wait.h>
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
 * Many calls had nothing to do, and left the position where it was. Timers that are armed then go
 * to level 2, as they would from the present, and each is moved twice.
 */
TEST(idle_stays)
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
	CHECK(stats.cascades <= 18);
	CHECK(twheel_destroy(wheel) == 0);
}

static void serve_inside(struct twheel_timer *timer)
{
	struct twheel *wheel = twheel_of(timer);
	uint64_t now = twheel_now(wheel);

	fire(timer);
	CHECK(twheel_next(wheel) == 0);
	CHECK(twheel_run(wheel, 8) == 0 && twheel_run(wheel, 8) == 0);
	/* So a loop that the callback runs may sleep. */
	CHECK(twheel_next(wheel) > TWHEEL_NEVER);
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

	/* It was past, and still is. */
	wheel = make((struct twheel_config) { .clock = TWHEEL_CLOCK_VIRTUAL });
	twheel_timer_init(&timer, wheel, fire);
	CHECK(twheel_advance(wheel, 80 * MS) > TWHEEL_NEVER);
	CHECK(twheel_arm_at(&timer, 10 * MS) == 0);
	CHECK(twheel_advance(wheel, 50 * MS) > TWHEEL_NEVER && fired == 1);
	CHECK(twheel_destroy(wheel) == 0);
}

/* The clock that the program sets, and nobody else. */
static struct twheel *make_program(struct twheel_config config)
{
	config.clock = TWHEEL_CLOCK_PROGRAM;
	return make(config);
}

TEST_ON(set_now_refuses, MONOTONIC, VIRTUAL)
{
	struct twheel *wheel = make((struct twheel_config) { .clock = clock });

	CHECK(twheel_set_now(wheel, TWHEEL_NEVER - 1) == -EINVAL);
	CHECK(twheel_now(wheel) < TWHEEL_NEVER - 1);
	CHECK(twheel_destroy(wheel) == 0);
}

/* It goes forward only, and stops before the end of time. */
TEST(program_clock)
{
	struct twheel *wheel = make_program((struct twheel_config) { .start_ns = 5 * MS });
	struct twheel_timer timer;

	twheel_timer_init(&timer, wheel, fire);
	CHECK(twheel_now(wheel) == 5 * MS && twheel_run(wheel, 1) == 0);
	CHECK(twheel_arm(&timer, 10 * MS) == 0 && twheel_deadline(&timer) == 15 * MS);
	CHECK(twheel_next(wheel) == 15 * MS && twheel_remaining(&timer) == 10 * MS);
	CHECK(twheel_advance(wheel, 15 * MS) > TWHEEL_NEVER && twheel_now(wheel) == 5 * MS);
	CHECK(twheel_set_now(wheel, 4 * MS) == 0 && twheel_now(wheel) == 5 * MS);
	CHECK(twheel_set_now(wheel, 15 * MS - 1) == 0 && twheel_run(wheel, 1) == 0 && !fired);
	CHECK(twheel_set_now(wheel, 15 * MS) == 0 && !fired && twheel_pending(&timer));
	CHECK(twheel_run(wheel, 1) == 0 && fired == 1);
	CHECK(twheel_arm_at(&timer, TWHEEL_NEVER) == 0);
	CHECK(twheel_set_now(wheel, UINT64_MAX) == 0 && twheel_now(wheel) == TWHEEL_NEVER - 1);
	CHECK(twheel_run(wheel, 1) == 0 && fired == 1);
	CHECK(twheel_stop(wheel, NULL, NULL) == 1 && twheel_set_now(wheel, UINT64_MAX) == 0);
	CHECK(twheel_destroy(wheel) == 0);
}

/* The descriptor follows it, and stays as it is when the wheel is stopped. */
TEST(program_descriptor)
{
	struct twheel *wheel = make_program((struct twheel_config) { .threads = true });
	struct twheel_timer timer;
	int status;
	pid_t child;

	twheel_timer_init(&timer, wheel, fire);
	CHECK(twheel_arm(&timer, 10 * MS) == 0 && twheel_wait(wheel, 0) == 0);
	child = fork();
	CHECK(child >= 0);
	if (!child) {
		CHECK(twheel_set_now(wheel, 10 * MS) == 0);
		_exit(0);
	}
	CHECK(waitpid(child, &status, 0) == child && status == 0);
	CHECK(twheel_wait(wheel, 0) == 0);
	CHECK(twheel_set_now(wheel, 9 * MS) == 0 && twheel_wait(wheel, 0) == 0);
	CHECK(twheel_set_now(wheel, 10 * MS) == 0 && twheel_wait(wheel, 0) == 1);
	CHECK(twheel_run(wheel, 8) == 0 && fired == 1 && twheel_wait(wheel, 0) == 0);
	CHECK(twheel_stop(wheel, NULL, NULL) == 0 && twheel_set_now(wheel, 20 * MS) == 0);
	CHECK(twheel_wait(wheel, 0) == -ESHUTDOWN);
	CHECK(twheel_destroy(wheel) == 0);
}

#define ORDERED	3000

static struct twheel_timer ordered[ORDERED];
static int order_next;

static void fire_in_order(struct twheel_timer *timer)
{
	CHECK(timer == &ordered[order_next]);
	order_next++;
	fire(timer);
}

static void time_passes(struct twheel_timer *timer)
{
	fire(timer);
	CHECK(twheel_set_now(twheel_of(timer), 30 * MS) == 0);
}

#ifdef TWHEEL_CHECK
#define LOCKED	true
#else
#define LOCKED	false
#endif

/* A wheel without threads has a lock in a library that finds mistakes. */
TEST_ON(needs_fd, MONOTONIC, PROGRAM)
{
	struct twheel *wheel;
	int threads;

	for (threads = 0; threads < 2; threads++) {
		wheel = make((struct twheel_config) { .clock = clock, .threads = threads });
		CHECK(twheel_needs_fd(wheel) == (clock || threads || LOCKED));
		CHECK(twheel_stop(wheel, NULL, NULL) == 0);
		CHECK(twheel_needs_fd(wheel) == -ESHUTDOWN);
		CHECK(twheel_destroy(wheel) == 0);
	}
}

/* A call has read the clock at its beginning: what becomes due meanwhile waits for the next. */
TEST(due_when_called)
{
	struct twheel *wheel = make_program((struct twheel_config) { });
	struct twheel_timer first, second, third;

	twheel_timer_init(&first, wheel, time_passes);
	twheel_timer_init(&second, wheel, fire);
	twheel_timer_init(&third, wheel, fire);
	CHECK(twheel_arm_at(&third, 21 * MS) == 0 && twheel_arm_at(&second, 20 * MS) == 0);
	CHECK(twheel_arm_at(&first, 10 * MS) == 0 && twheel_set_now(wheel, 20 * MS) == 0);
	CHECK(twheel_run(wheel, 8) == 0 && fired == 2 && last == &second);
	CHECK(twheel_next(wheel) == 21 * MS);
	CHECK(twheel_run(wheel, 8) == 0 && fired == 3 && last == &third);
	CHECK(twheel_destroy(wheel) == 0);
}

/* First what an earlier call has left, then what is past, then the ticks up to the new time. */
TEST(advance_in_order)
{
	struct twheel *wheel = make((struct twheel_config) {
		.clock = TWHEEL_CLOCK_VIRTUAL, .start_ns = 10 * MS });
	static const uint64_t deadlines[] = {
		5 * MS, 9 * MS, 7 * MS, 11 * MS, 12 * MS, 12 * MS - 1, 700 * MS };
	int i;

	order_next = 0;
	for (i = 0; i < (int)ARRAY_SIZE(deadlines); i++)
		twheel_timer_init(&ordered[i], wheel, fire_in_order);
	for (i = 4; i < (int)ARRAY_SIZE(deadlines); i++)
		CHECK(twheel_arm_at(&ordered[i], deadlines[i]) == 0);
	CHECK(twheel_arm_at(&ordered[3], deadlines[3]) == 0);
	for (i = 0; i < 2; i++)
		CHECK(twheel_arm_at(&ordered[i], deadlines[i]) == 0);
	CHECK(twheel_run(wheel, 1) == 1 && fired == 1);
	CHECK(twheel_arm_at(&ordered[2], deadlines[2]) == 0);
	CHECK(twheel_advance(wheel, 1000 * MS) > TWHEEL_NEVER && fired == ARRAY_SIZE(deadlines));
	CHECK(twheel_destroy(wheel) == 0);
}

#define LOOP_TIMERS	100

static struct twheel_timer looping[LOOP_TIMERS];
static uint64_t loop_now, loop_seed;

static void fire_in_loop(struct twheel_timer *timer)
{
	struct twheel *wheel = twheel_of(timer);

	CHECK(twheel_now(wheel) == loop_now);
	CHECK(twheel_arm(timer, chance(&loop_seed) % (20 * MS)) == 0);
	fire(timer);
}

/* A loop that reads its clock once a round: no callback comes before that time, none is late. */
TEST(program_loop)
{
	struct twheel *wheel = make_program((struct twheel_config) { .start_ns = MS });
	struct twheel_timer *due[7];
	int i, n, called = 0;

	loop_seed = 20261128;
	loop_now = MS;
	for (i = 0; i < LOOP_TIMERS; i++) {
		twheel_timer_init(&looping[i], wheel, fire_in_loop);
		CHECK(twheel_arm(&looping[i], i * MS / 3) == 0);
	}
	while (fired < 100000) {
		/* It sleeps until then, and wakes up a little late. */
		if (twheel_next(wheel) > loop_now)
			loop_now = twheel_next(wheel);
		loop_now += chance(&loop_seed) % MS;
		CHECK(twheel_set_now(wheel, loop_now) == 0);
		if (fired % 2) {
			n = twheel_collect(wheel, due, ARRAY_SIZE(due));
			for (i = 0; i < n; i++)
				CHECK(twheel_arm_at(due[i], loop_now + 1) == 0);
			called += n;
		}
		while (twheel_run(wheel, 3) == 1)
			;
		for (i = 0; i < LOOP_TIMERS; i++)
			CHECK(twheel_deadline(&looping[i]) > loop_now - MS);
	}
	CHECK(called > 0 && twheel_stop(wheel, NULL, NULL) == LOOP_TIMERS);
	CHECK(twheel_destroy(wheel) == 0);
}

static void fire_after_all(struct twheel_timer *timer)
{
	CHECK(order_next == ORDERED);
	fire(timer);
}

/* Armed from ever nearer, on all levels on the way, and served so many at a time. */
static void order_one_tick(bool threads, unsigned int most, bool collect)
{
	const uint64_t tick = 20000000;
	struct twheel *wheel = make_program((struct twheel_config) { .threads = threads });
	static struct twheel_timer *due[4096];
	struct twheel_timer after;
	int i, n;

	order_next = 0;
	for (i = 0; i < ORDERED; i++) {
		twheel_timer_init(&ordered[i], wheel, fire_in_order);
		/* One that was cancelled is armed anew, and is one of the last. */
		if (i % 10 == 9)
			CHECK(twheel_arm_at(&ordered[i], 3 * MS) == 0 &&
			      twheel_cancel(&ordered[i]) == 1);
		CHECK(twheel_arm_at(&ordered[i], tick * MS - chance(&loop_seed) % MS) == 0);
		if (i % 10)
			continue;
		CHECK(twheel_set_now(wheel, tick * MS - (tick * MS >> i / 100)) == 0);
		while (twheel_run(wheel, most) == 1)
			;
	}
	/* They are due by now. */
	CHECK(twheel_set_now(wheel, tick * MS) == 0);
	twheel_timer_init(&after, wheel, fire_after_all);
	CHECK(twheel_arm_at(&after, tick * MS) == 0);
	while (order_next < ORDERED) {
		if (!collect) {
			CHECK(twheel_run(wheel, most) >= 0);
			continue;
		}
		n = twheel_collect(wheel, due, most);
		CHECK(n > 0);
		for (i = 0; i < n && order_next < ORDERED; i++)
			fire_in_order(due[i]);
	}
	CHECK(twheel_destroy(wheel) == 0);
}

TEST(order)
{
	static const unsigned int slices[] = { 1, 3, 4096 };
	unsigned int i;

	loop_seed = 20261128;
	for (i = 0; i < 4 * ARRAY_SIZE(slices); i++)
		order_one_tick(i & 1, slices[i / 4], i & 2);
}

static uint64_t told_ns;
static int told;

static void tell(struct twheel *wheel, uint64_t next_ns)
{
	CHECK(twheel_data(wheel) == &told);
	told_ns = next_ns;
	told++;
}

static void arm_inside(struct twheel_timer *timer)
{
	fire(timer);
	CHECK(twheel_run(twheel_of(timer), 8) == 0);
	CHECK(twheel_arm_at(timer, 0) == 0);
}

/* A loop without the descriptor is told of what comes earlier than it knows, and nothing else. */
TEST_ON(notify, VIRTUAL, PROGRAM)
{
	struct twheel *wheel = make((struct twheel_config) {
		.clock = clock, .start_ns = 5 * MS, .notify = tell, .data = &told });
	struct twheel_timer timer, near;

	told = 0;
	twheel_timer_init(&timer, wheel, fire);
	twheel_timer_init(&near, wheel, arm_inside);
	CHECK(twheel_arm_at(&timer, 100 * MS) == 0);
	CHECK(told == 1 && told_ns == 100 * MS && twheel_next(wheel) == told_ns);
	CHECK(twheel_arm_at(&near, 200 * MS) == 0 && told == 1);
	CHECK(twheel_modify_at(&near, 50 * MS) == 1);
	CHECK(told == 2 && told_ns == 50 * MS && twheel_next(wheel) == told_ns);
	/* It was told of that instant already. */
	CHECK(twheel_cancel(&near) == 1 && twheel_next(wheel) == 50 * MS);
	CHECK(twheel_arm_at(&near, 60 * MS) == 0 && twheel_extend_at(&near, 70 * MS) == 1);
	CHECK(told == 2);
	CHECK(twheel_arm_at(&near, 1) == 1 && told == 3 && told_ns <= 5 * MS);
	/* A call that serves asks anew: what a callback arms is not told. */
	CHECK(twheel_run(wheel, 8) == 1 && fired == 1 && told == 3);
	CHECK(twheel_next(wheel) <= 5 * MS && twheel_cancel(&near) == 1);
	CHECK(twheel_run(wheel, 8) == 0 && twheel_next(wheel) == 100 * MS);
	/* Since then, it does not know the earlier instants any more. */
	CHECK(twheel_arm_at(&near, 60 * MS) == 0 && told == 4 && told_ns == 60 * MS);
	CHECK(twheel_stop(wheel, NULL, NULL) == 2 && told == 5 && told_ns == 0);
	CHECK(twheel_destroy(wheel) == 0 && told == 5);
}

/* A call at the instant of a timer that was cancelled forgets it. An earlier one is told then. */
TEST(notify_after_cancel)
{
	struct twheel *wheel = make_program((struct twheel_config) {
		.notify = tell, .data = &told });
	struct twheel_timer timer, near;

	twheel_timer_init(&timer, wheel, fire);
	twheel_timer_init(&near, wheel, fire);
	CHECK(twheel_arm_at(&timer, 1000 * MS) == 0);
	told = 0;
	/* It has to be looked at early, and changes nothing. */
	CHECK(twheel_arm_at(&near, 1100 * MS) == 0 && told == 0);
	CHECK(twheel_arm_at(&near, 600 * MS) == 1 && told == 1);
	CHECK(twheel_cancel(&near) == 1);
	CHECK(twheel_set_now(wheel, 300 * MS) == 0 && twheel_run(wheel, 1) == 0);
	CHECK(twheel_next(wheel) == 600 * MS);
	CHECK(twheel_set_now(wheel, 600 * MS) == 0 && twheel_run(wheel, 1) == 0);
	CHECK(twheel_next(wheel) == 1000 * MS);
	told = 0;
	CHECK(twheel_arm_at(&near, 700 * MS) == 0 && told == 1 && told_ns == 700 * MS);
	CHECK(twheel_destroy(wheel) == 0);
}

static int notify_fd;

static void notify_loop(struct twheel *wheel, uint64_t next_ns)
{
	(void)next_ns;
	(void)wheel;
	CHECK(eventfd_write(notify_fd, 1) == 0);
}

static void *arm_from_elsewhere(void *timer)
{
	CHECK(twheel_arm_at(timer, 1) == 1);
	return NULL;
}

/* The loop sleeps for long, and another thread arms a timer for now. */
TEST(notify_thread)
{
	struct twheel *wheel = make((struct twheel_config) {
		.threads = true, .notify = notify_loop });
	struct pollfd poll_fd = { .events = POLLIN };
	struct twheel_timer timer;
	pthread_t thread;

	notify_fd = eventfd(0, 0);
	CHECK(notify_fd >= 0);
	poll_fd.fd = notify_fd;
	twheel_timer_init(&timer, wheel, fire);
	CHECK(twheel_arm(&timer, 3600000 * MS) == 0);
	CHECK(poll(&poll_fd, 1, 0) == 1 && eventfd_read(notify_fd, &told_ns) == 0);
	CHECK(twheel_run(wheel, 8) == 0);
	CHECK(pthread_create(&thread, NULL, arm_from_elsewhere, &timer) == 0);
	CHECK(poll(&poll_fd, 1, -1) == 1);
	CHECK(twheel_run(wheel, 8) == 0 && fired == 1);
	CHECK(pthread_join(thread, NULL) == 0);
	CHECK(twheel_destroy(wheel) == 0 && !close(notify_fd));
}
