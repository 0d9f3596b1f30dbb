// SPDX-License-Identifier: GPL-2.0-only
/*
 * Wheels on a clock that is set. The machine's own clock is left alone: the library's system
 * calls come here. They answer as timerfd_create(2) describes for a clock that was set.
 */
#define _GNU_SOURCE	/* syscall() */
#include <poll.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/timex.h>
#include <time.h>
#include <unistd.h>

#include "fired.h"

#ifndef SYS_clock_gettime64
#define SYS_clock_gettime64	SYS_clock_gettime
#define SYS_timerfd_settime64	SYS_timerfd_settime
#endif

#define HOUR	3600
#define SECOND	(1000 * MS)

/* How many seconds the clock has been set forward by, and that nobody was told yet. */
static int ahead_s;
static bool clock_was_set;
/* By how many seconds CLOCK_TAI is ahead of what the machine has. */
static int tai_s = 37;

int clock_gettime(clockid_t id, struct timespec *ts)
{
	int ret = syscall(SYS_clock_gettime64, id, ts);

	ts->tv_sec += ahead_s + (id == CLOCK_TAI ? tai_s : 0);
	return ret;
}

/* As a sandbox answers. */
int adjtimex(struct timex *timex)
{
	(void)timex;
	errno = EPERM;
	return -1;
}

/* The first two calls find no memory: before main(), and by the first wheel. */
int pthread_atfork(void (*prepare)(void), void (*parent)(void), void (*child)(void))
{
	static int refused;

	(void)prepare;
	(void)parent;
	(void)child;
	return refused++ < 2 ? ENOMEM : 0;
}

/* So many calls that set a descriptor are refused, as by a sandbox. */
static int refusals;

static bool answer_canceled(bool asked)
{
	bool canceled = asked && clock_was_set;

	if (canceled) {
		clock_was_set = false;
		errno = ECANCELED;
	}
	return canceled;
}

int timerfd_settime(int fd, int flags, const struct itimerspec *new, struct itimerspec *old)
{
	bool armed = new->it_value.tv_sec || new->it_value.tv_nsec;
	struct itimerspec at = *new;

	if (refusals) {
		refusals--;
		errno = EPERM;
		return -1;
	}
	if (at.it_value.tv_sec)
		at.it_value.tv_sec -= ahead_s;
	if (syscall(SYS_timerfd_settime64, fd, flags, &at, old))
		return -1;
	return answer_canceled(armed) ? -1 : 0;
}

ssize_t read(int fd, void *buffer, size_t size)
{
	ssize_t ret = syscall(SYS_read, fd, buffer, size);

	/* It is a point where a thread may be cancelled. */
	pthread_testcancel();

	return answer_canceled(true) ? -1 : ret;
}

/* Set the clock: a descriptor becomes readable. */
static void set_clock(struct twheel *wheel, int by_s)
{
	const struct itimerspec past = { .it_value.tv_nsec = 1 };
	int fd = twheel_fd(wheel);

	ahead_s += by_s;
	clock_was_set = true;
	CHECK(syscall(SYS_timerfd_settime64, fd, TFD_TIMER_ABSTIME, &past, NULL) == 0);
}

static struct twheel *make_on(enum twheel_clock clock)
{
	struct twheel *wheel = make((struct twheel_config) { .clock = clock });

	CHECK(twheel_fd(wheel) >= 0);
	return wheel;
}

/* Serve the wheel whenever its descriptor says so, until nothing comes for a while. */
static int serve(struct twheel *wheel)
{
	int rounds = 0;

	for (; twheel_wait(wheel, 50 * MS) == 1; rounds++) {
		CHECK(rounds < 1000);
		CHECK(twheel_run(wheel, 64) >= 0);
	}
	return rounds;
}

/* A timer of the near future comes, and no other. */
static void near_comes(struct twheel *wheel)
{
	struct twheel_timer near;
	int before = fired;

	twheel_timer_init(&near, wheel, fire);
	CHECK(twheel_arm_at(&near, twheel_now(wheel) + 20 * MS) == 0);
	serve(wheel);
	CHECK(fired == before + 1 && last == &near);
}

/* The library has to learn of forks. */
TEST(create_without_memory)
{
	CHECK(!twheel_create(NULL) && errno == ENOMEM);
}

/* A descriptor that cannot be set is none, and is closed. */
TEST_ON(refused_descriptor, MONOTONIC, VIRTUAL)
{
	struct twheel *wheel = make((struct twheel_config) {
		.clock = clock, .start_ns = clock == TWHEEL_CLOCK_VIRTUAL ? MS : 0 });
	struct twheel_timer timer;
	int i, fd = dup(0);

	CHECK(fd >= 0 && !close(fd));
	twheel_timer_init(&timer, wheel, fire);
	CHECK(twheel_arm_at(&timer, 1) == 0);
	for (i = 0; i < 3; i++) {
		refusals = 1;
		CHECK(twheel_fd(wheel) == -EPERM && !refusals);
	}
	CHECK(twheel_fd(wheel) == fd);
	CHECK(twheel_wait(wheel, SECOND) == 1 && twheel_run(wheel, 64) == 0 && fired == 1);
	CHECK(twheel_destroy(wheel) == 0);
}

/* Forward: what is due by that comes, and the rest stays. Back: all wait for longer. */
TEST_ON(follows, REALTIME, TAI)
{
	struct twheel *wheel = make_on(clock);
	struct twheel_timer near, far;
	uint64_t now;

	twheel_timer_init(&near, wheel, fire);
	twheel_timer_init(&far, wheel, fire);
	now = twheel_now(wheel);
	CHECK(twheel_arm_at(&near, now + HOUR / 2 * SECOND) == 0);
	CHECK(twheel_arm_at(&far, now + 3 * HOUR * SECOND) == 0);
	set_clock(wheel, HOUR);
	CHECK(serve(wheel) < 5 && fired == 1 && twheel_pending(&far));
	CHECK(twheel_arm_at(&near, twheel_now(wheel) + 20 * MS) == 0);
	set_clock(wheel, -HOUR);
	CHECK(serve(wheel) < 5 && fired == 1);
	set_clock(wheel, HOUR);
	CHECK(serve(wheel) < 5 && fired == 2 && twheel_pending(&far));
	CHECK(twheel_destroy(wheel) == 0);
}

/*
 * The clock is set back, and the program arms a timer before it serves the wheel. The wheel is
 * ahead of the clock, and hears of it when it sets its descriptor.
 */
TEST_ON(armed_meanwhile, REALTIME, TAI)
{
	struct twheel *wheel = make_on(clock);

	near_comes(wheel);
	set_clock(wheel, -HOUR);
	near_comes(wheel);
	CHECK(twheel_destroy(wheel) == 0);
}

static struct twheel *setting;

static void set_back(struct twheel_timer *timer)
{
	(void)timer;
	set_clock(setting, -HOUR);
}

/* The clock is set back before the wheel has a descriptor, which would tell of it. */
TEST_ON(set_before_the_descriptor, REALTIME, TAI)
{
	struct twheel_timer timer;
	struct twheel *wheel;
	int past;

	for (past = 0; past < 2; past++) {
		wheel = make((struct twheel_config) { .clock = clock });
		twheel_timer_init(&timer, wheel, fire);
		if (past)
			CHECK(twheel_arm_at(&timer, twheel_now(wheel) - SECOND) == 0);
		ahead_s -= HOUR;
		if (!past)
			CHECK(twheel_arm_at(&timer, twheel_now(wheel) + 20 * MS) == 0);
		else
			CHECK(twheel_arm_at(&timer, twheel_now(wheel) - SECOND) == 1);
		CHECK(serve(wheel) < 5 && fired == 1);
		CHECK(twheel_destroy(wheel) == 0);
	}
}

/*
 * The clock is set back while the wheel is served, after that has read it. Then it is the first
 * time, or the wheel still moves the timers of another one.
 */
static void set_while_served(enum twheel_clock clock, unsigned int count)
{
	static struct twheel_timer many[20000];
	struct twheel_timer first;
	unsigned int i;

	setting = make_on(clock);
	for (i = 0; i < count; i++) {
		twheel_timer_init(&many[i], setting, fire);
		CHECK(twheel_arm_at(&many[i], twheel_now(setting) +
				    HOUR * SECOND + 37 * i * MS) == 0);
	}
	twheel_timer_init(&first, setting, set_back);
	CHECK(twheel_arm_at(&first, count ? 1 : twheel_now(setting) + MS) == 0);
	if (count)
		set_clock(setting, -HOUR);
	serve(setting);
	CHECK(!twheel_pending(&first));
	near_comes(setting);
	CHECK(fired == 1 && twheel_stop(setting, NULL, NULL) == count);
	CHECK(twheel_destroy(setting) == 0);
}

TEST_ON(set_while_served, REALTIME, TAI)
{
	set_while_served(clock, 0);
	set_while_served(clock, 20000);
}

static struct twheel_timer waits;

static void set_back_and_serve(struct twheel_timer *timer)
{
	set_back(timer);
	serve(setting);
	CHECK(twheel_arm_at(&waits, twheel_now(setting) + HOUR / 2 * SECOND) == 0);
}

/* The callback serves the wheel as well, so the call that called it knows an older time. */
TEST_ON(set_while_served_inside, REALTIME, TAI)
{
	struct twheel_timer first;

	setting = make_on(clock);
	twheel_timer_init(&first, setting, set_back_and_serve);
	twheel_timer_init(&waits, setting, fire);
	CHECK(twheel_arm_at(&first, twheel_now(setting) + MS) == 0);
	serve(setting);
	CHECK(!fired && twheel_pending(&waits));
	near_comes(setting);
	CHECK(twheel_destroy(setting) == 0);
}

static void pass_and_serve(struct twheel_timer *timer)
{
	fire(timer);
	ahead_s += 2;
	CHECK(twheel_run(twheel_of(timer), 1) == 1 && fired == 2);
}

/* The callback serves the wheel at a later time. What that finds due and leaves is said. */
TEST_ON(leftovers_inside, MONOTONIC, TAI)
{
	struct twheel_timer first, second, third;
	struct twheel *wheel;
	uint64_t now;

	/* The machine may have been up for less than the clock was set back by. */
	ahead_s = 0;
	wheel = make((struct twheel_config) { .clock = clock });
	now = twheel_now(wheel);
	twheel_timer_init(&first, wheel, pass_and_serve);
	twheel_timer_init(&second, wheel, fire);
	twheel_timer_init(&third, wheel, fire);
	CHECK(twheel_arm_at(&first, now + SECOND) == 0);
	CHECK(twheel_arm_at(&second, now + 4 * SECOND) == 0);
	CHECK(twheel_arm_at(&third, now + 4 * SECOND + MS) == 0);
	ahead_s = 3;
	CHECK(twheel_run(wheel, 1) == 1 && fired == 2 && twheel_pending(&third));
	CHECK(twheel_run(wheel, 1) == 0 && fired == 3);
	CHECK(twheel_destroy(wheel) == 0);
}

/*
 * A clock that nobody can set goes back, because the program has replaced clock_gettime().
 * For the wheel it stands still, so each call has an end, and nothing is due early.
 */
TEST_ON(goes_back, MONOTONIC, BOOTTIME)
{
	struct twheel_timer far, past, between, next, *due[4];
	struct twheel *wheel;
	int collect, i;
	uint64_t now;

	for (collect = 0; collect < 2; collect++) {
		ahead_s = HOUR;
		wheel = make((struct twheel_config) { .clock = clock });
		twheel_timer_init(&far, wheel, fire);
		twheel_timer_init(&past, wheel, fire);
		twheel_timer_init(&between, wheel, fire);
		twheel_timer_init(&next, wheel, fire);
		CHECK(twheel_arm(&far, HOUR * SECOND) == 0);
		now = twheel_now(wheel);
		CHECK(twheel_run(wheel, 64) == 0);
		ahead_s -= 10;
		CHECK(twheel_now(wheel) >= now);
		CHECK(twheel_arm_at(&past, now - 11 * SECOND) == 0);
		CHECK(twheel_arm_at(&between, now - 5 * SECOND) == 0);
		CHECK(twheel_arm(&next, SECOND) == 0);
		if (collect)
			CHECK(twheel_collect(wheel, due, 4) == 2);
		for (i = 0; twheel_run(wheel, 1) == 1; i++)
			CHECK(i < 10);
		CHECK(fired == (collect ? 0 : 2) && twheel_pending(&next) && twheel_pending(&far));
		CHECK(!twheel_pending(&past) && !twheel_pending(&between));
		ahead_s += 12;
		CHECK(twheel_run(wheel, 64) == 0 && last == &next);
		CHECK(twheel_destroy(wheel) == 0);
	}
}

/*
 * Nobody is told when the offset of CLOCK_TAI changes. If it grows, the next call that serves the
 * wheel sees that. If it shrinks, the descriptor is readable too early, and once only.
 */
TEST(tai_offset)
{
	struct twheel *wheel = make_on(TWHEEL_CLOCK_TAI);
	struct twheel_timer timer;

	twheel_timer_init(&timer, wheel, fire);
	CHECK(twheel_arm_at(&timer, twheel_now(wheel) + HOUR * SECOND) == 0);
	tai_s += 2 * HOUR;
	CHECK(serve(wheel) == 0 && twheel_pending(&timer));
	CHECK(twheel_run(wheel, 64) == 0 && fired == 1);

	CHECK(twheel_arm_at(&timer, twheel_now(wheel) + 20 * MS) == 0);
	tai_s -= 1;
	CHECK(serve(wheel) == 1 && twheel_pending(&timer));
	CHECK(twheel_wait(wheel, SECOND) == 1 && twheel_run(wheel, 64) == 0 && fired == 2);
	CHECK(twheel_destroy(wheel) == 0);
}

static void fire_and_cancel(struct twheel_timer *timer)
{
	fire(timer);
	CHECK(!pthread_cancel(pthread_self()));
}

static void *serve_until_cancelled(void *wheel)
{
	while (!fired)
		CHECK(twheel_run(wheel, 64) >= 0);
	pthread_testcancel();
	return NULL;
}

/* A thread that serves the wheel is cancelled: it does not keep the lock. */
TEST(cancelled)
{
	struct twheel *wheel = make((struct twheel_config) {
		.clock = TWHEEL_CLOCK_REALTIME, .threads = true });
	struct twheel_timer timer;
	pthread_t thread;
	void *result;

	CHECK(twheel_fd(wheel) >= 0);
	twheel_timer_init(&timer, wheel, fire_and_cancel);
	CHECK(twheel_arm_at(&timer, twheel_now(wheel)) == 0);
	CHECK(!pthread_create(&thread, NULL, serve_until_cancelled, wheel));
	CHECK(!pthread_join(thread, &result) && result == PTHREAD_CANCELED);
	CHECK(twheel_destroy(wheel) == 0);
}

static void __attribute__((__noinline__)) live(enum twheel_clock clock)
{
	struct twheel *wheel = make((struct twheel_config) {
		.clock = clock, .threads = true,
		.start_ns = clock == TWHEEL_CLOCK_VIRTUAL ? MS : 0 });
	struct twheel_timer timer, other, *due;

	twheel_timer_init(&timer, wheel, fire);
	twheel_timer_init(&other, wheel, fire);
	CHECK(twheel_arm_at(&other, TWHEEL_NEVER) == 0);
	CHECK(twheel_arm_at(&timer, 0) == 0);
	refusals = 1;
	CHECK(twheel_fd(wheel) == -EPERM);
	CHECK(twheel_fd(wheel) >= 0);
	CHECK(twheel_run(wheel, 64) == 0 && fired == 1);
	CHECK(twheel_arm_at(&timer, 0) == 0 && twheel_collect(wheel, &due, 1) == 1);
	CHECK(twheel_run(wheel, 64) == 0);
	CHECK(twheel_arm_at(&timer, 0) == 0 && twheel_cancel_sync(&timer) == 1);
	CHECK(twheel_arm_at(&timer, 0) == 0 && twheel_shutdown_sync(&timer) == 1);
	CHECK(twheel_stop(wheel, NULL, NULL) == 1 && twheel_destroy(wheel) == 0);
}

/* It has no variables: AddressSanitizer does not clear the stack of a thread that is cancelled. */
static void *live_cancelled(void *clock)
{
	CHECK(!pthread_cancel(pthread_self()));
	live(*(enum twheel_clock *)clock);
	fired = -1;
	pthread_testcancel();
	return NULL;
}

/* A thread is to be cancelled: no call but twheel_wait() sees to that, and no descriptor leaks. */
TEST_ON(cancelled_before, MONOTONIC, VIRTUAL)
{
	int fd = dup(0);
	pthread_t thread;
	void *result;

	CHECK(fd >= 0 && !close(fd));
	/* The machine may have been up for less than the clock was set back by. */
	ahead_s = 0;
	CHECK(!pthread_create(&thread, NULL, live_cancelled, &clock));
	CHECK(!pthread_join(thread, &result) && result == PTHREAD_CANCELED);
	CHECK(fired == -1 && dup(0) == fd && !close(fd));
}
