// SPDX-License-Identifier: GPL-2.0-only
/* Clocks that are set, and time namespaces. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/timex.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "lib/device.h"
#include "lib/dice.h"
#include "lib/tap.h"

static int64_t stepped;

/* Step the wall clock. clock_put_right() undoes all steps. */
static void clock_step(int64_t ns)
{
	uint64_t now = dev_now(CLOCK_REALTIME) + ns;
	struct timespec ts = { now / S, now % S };

	NEED(clock_settime(CLOCK_REALTIME, &ts) == 0);
	stepped += ns;
}

static void clock_put_right(void)
{
	if (stepped)
		clock_step(-stepped);
}

TEST(follows_its_clock)
{
	uint32_t clock;

	for (clock = TWHEEL_MONOTONIC; clock < TWHEEL_VIRTUAL; clock++) {
		int fd = dev_open_clock(clock);
		uint64_t before = dev_now(dev_clock(clock)), now = dev_info(fd).now_ns;
		struct twheel_event event;

		CHECK(now >= before && now <= dev_now(dev_clock(clock)));
		dev_arm_at(fd, now + HOUR, 0);
		dev_arm_at(fd, now + 20 * MS, 1);
		event = dev_read(fd);
		CHECK_EQ(event.deadline_ns, now + 20 * MS);
		CHECK(event.now_ns <= dev_now(dev_clock(clock)));
		dev_silent(fd);
	}
}

/* The wall clock without leap seconds; they differ by an offset that can be set. */
TEST(tai_has_its_offset)
{
	struct timex timex = { .modes = ADJ_TAI, .constant = 37 };
	int fd = dev_open_clock(TWHEEL_TAI);
	uint64_t deadline = dev_now(CLOCK_TAI) + HOUR;

	dev_arm_at(fd, deadline, 1);
	/* Only the offset makes it due. */
	timex.constant = 3700;
	NEED(adjtimex(&timex) >= 0);
	CHECK_EQ(dev_readable(fd, -1), 1);
	CHECK(dev_info(fd).now_ns > dev_now(CLOCK_REALTIME) + HOUR);
	CHECK_EQ(dev_read(fd).deadline_ns, deadline);
	timex.constant = 0;
	NEED(adjtimex(&timex) >= 0);
}

static void *step_later(void *arg)
{
	usleep(50000);
	clock_step(*(int64_t *)arg);
	return NULL;
}

/* A step of the clock that makes a timer due wakes the waiters. */
TEST(forward_fires)
{
	int64_t hour = HOUR + S;
	pthread_t thread;
	uint32_t clock;

	tap_at_end(clock_put_right);
	for (clock = TWHEEL_REALTIME; clock <= TWHEEL_TAI; clock++) {
		int fd = dev_open_clock(clock), quiet = dev_open();
		uint64_t deadline = dev_now(dev_clock(clock)) + HOUR;

		dev_arm_at(fd, deadline, 0);
		dev_arm_at(fd, deadline + HOUR, 1);
		dev_arm(quiet, HOUR, 2);
		dev_silent(fd);
		NEED(!pthread_create(&thread, NULL, step_later, &hour));
		CHECK_EQ(dev_readable(fd, -1), 1);
		NEED(!pthread_join(thread, NULL));
		CHECK_EQ(dev_read(fd).deadline_ns, deadline);
		dev_silent(fd);
		/* Timers of other clocks do not notice. */
		CHECK_EQ(dev_readable(quiet, 0), 0);
	}
}

static bool has_passed(uint64_t time_ns)
{
	return dev_now(CLOCK_MONOTONIC) >= time_ns;
}

TEST(back_waits)
{
	int fd = dev_open_clock(TWHEEL_REALTIME);
	uint64_t delay, before, deadline;

	tap_at_end(clock_put_right);
	/* The step has to come before the deadline. */
	for (delay = 50 * MS;; delay *= 4) {
		before = dev_now(CLOCK_MONOTONIC);
		deadline = dev_now(CLOCK_REALTIME) + delay;
		dev_arm_at(fd, deadline, 0);
		clock_step(-(int64_t)HOUR);
		if (!has_passed(before + delay))
			break;
		clock_put_right();
		dev_read(fd);
	}
	/* It would have expired already. */
	while (!has_passed(before + delay + MS))
		usleep(1000);
	CHECK_EQ(dev_readable(fd, 50), 0);
	/* A near deadline on the new time is met. */
	dev_arm_at(fd, dev_now(CLOCK_REALTIME) + 20 * MS, 1);
	CHECK_EQ(dev_read(fd).cookie, 1);
	clock_put_right();
	CHECK_EQ(dev_readable(fd, -1), 1);
	CHECK_EQ(dev_read(fd).deadline_ns, deadline);
}

/* In phase with the first deadline, wherever the clock goes. */
TEST(periods_follow)
{
	struct twheel_op op = { .flags = TWHEEL_ABS, .period_ns = 10 * S };
	int fd = dev_open_clock(TWHEEL_REALTIME);
	struct twheel_event event;

	tap_at_end(clock_put_right);
	op.time_ns = dev_now(CLOCK_REALTIME) + HOUR;
	dev_arm_op(fd, &op);
	clock_step(HOUR + 1000 * S);
	event = dev_read(fd);
	CHECK_EQ(event.deadline_ns, op.time_ns);
	CHECK(event.count >= 100);
	op.time_ns += event.count * op.period_ns;
	clock_step(-(int64_t)(500 * S));
	CHECK_EQ(dev_readable(fd, 50), 0);
	CHECK_EQ(dev_cancel(fd, op.id), 1);
	op.id = dev_arm_at(fd, op.time_ns, 5);
	clock_step(1000 * S);
	CHECK_EQ(dev_read(fd).cookie, 5);
}

/*
 * A wheel with a tick of an hour, on a clock that is always set to half past. So the test may
 * take any time. Whatever is due is read, and nothing else is ever due.
 */
#define TIMERS		64
#define WALL_FIRST	500000

static struct {
	uint64_t id;
	uint64_t hour;
} walls[TIMERS];

static uint64_t wall_hour;

static void wall_set(uint64_t hour)
{
	wall_hour = hour;
	clock_step((int64_t)(hour * HOUR + HOUR / 2 - dev_now(CLOCK_REALTIME)));
}

static void wall_step(int fd, uint32_t *seed, unsigned int hours)
{
	uint64_t hour = WALL_FIRST + (roll(seed) >> roll(seed) % 30) % hours;
	unsigned int slot = roll(seed) % TIMERS;

	switch (roll(seed) % 8) {
	case 0 ... 2:
		if (walls[slot].id)
			NEED(dev_modify(fd, walls[slot].id, TWHEEL_ABS, hour * HOUR) == 1);
		else
			walls[slot].id = dev_arm_at(fd, hour * HOUR, slot);
		walls[slot].hour = hour;
		break;
	case 3:
		if (walls[slot].id)
			NEED(dev_cancel(fd, walls[slot].id) == 1);
		walls[slot].id = 0;
		break;
	case 4 ... 5:
		wall_set(hour);
		break;
	default:
		if (walls[slot].id)
			NEED(dev_query(fd, walls[slot].id, NULL) ==
			     (walls[slot].hour <= wall_hour));
	}
}

static void wall_read(int fd, unsigned int most)
{
	unsigned int due = 0, i;

	for (i = 0; i < TIMERS; i++)
		due += walls[i].id && walls[i].hour <= wall_hour;
	NEED(dev_readable(fd, 0) == !!due);
	for (i = 0; i < due && i < most; i++) {
		struct twheel_event event = dev_read(fd);

		NEED(event.cookie < TIMERS && event.id == walls[event.cookie].id);
		NEED(event.deadline_ns == walls[event.cookie].hour * HOUR);
		NEED(walls[event.cookie].hour <= wall_hour);
		walls[event.cookie].id = 0;
	}
	NEED(dev_readable(fd, 0) == (due > most));
}

TEST(steps_at_random)
{
	/* How far the clock goes: within one bucket, a few, and many. */
	static const unsigned int hours[] = { 40, 600, 90000 };
	struct twheel_setup setup = { .clock = TWHEEL_REALTIME, .tick_ns = HOUR };
	unsigned int program, i;

	tap_at_end(clock_put_right);
	for (program = 0; program < 30; program++) {
		uint32_t seed = (program + 1) * 2654435761U;
		int fd = dev_open_setup(&setup);

		memset(walls, 0, sizeof(walls));
		wall_set(WALL_FIRST);
		for (i = 0; i < 1000; i++) {
			wall_step(fd, &seed, hours[program % SIZE_OF(hours)]);
			if (roll(&seed) % 4 == 0)
				wall_read(fd, roll(&seed) % 3 * 4);
		}
		wall_read(fd, TIMERS);
		close(fd);
	}
}

/* A file that blocks, and how many events its reader has taken. */
static struct {
	int fd;
	atomic_uint taken;
} waiter;

static void *waiter_run(void *arg)
{
	struct twheel_event event;

	do {
		NEED(events_read(waiter.fd, &event, 1) == 1);
		NEED(event.now_ns >= event.deadline_ns);
		waiter.taken++;
	} while (event.cookie);
	return arg;
}

/* Who sleeps in read() is woken, whatever the clock has done meanwhile. */
TEST(steps_while_a_reader_waits)
{
	struct twheel_setup setup = { .clock = TWHEEL_REALTIME, .tick_ns = HOUR };
	unsigned int round, i, armed = 0;
	pthread_t thread;
	uint32_t seed = 4;

	tap_at_end(clock_put_right);
	waiter.fd = dev_open();
	NEED(events_setup(waiter.fd, setup) == 0);
	NEED(!pthread_create(&thread, NULL, waiter_run, NULL));
	for (round = 0; round < 100; round++) {
		for (i = 0; i < 6; i++) {
			wall_set(WALL_FIRST + roll(&seed) % 40);
			if (roll(&seed) % 2)
				usleep(roll(&seed) % 1000);
			dev_arm_at(waiter.fd, (WALL_FIRST + roll(&seed) % 40) * HOUR, 1);
			armed++;
		}
		wall_set(WALL_FIRST + 40);
		while (waiter.taken < armed)
			usleep(1000);
	}
	dev_arm_at(waiter.fd, 0, 0);
	NEED(!pthread_join(thread, NULL));
	CHECK_EQ(waiter.taken, armed + 1);
}

/* Run @fn in a child whose clocks are ahead by @offset. It has to return 0. */
static void in_another_time(const char *offset, int (*fn)(int fd), int fd)
{
	int status, file;
	pid_t child;

	if (unshare(CLONE_NEWTIME))
		tap_skip("there are no time namespaces here");
	file = open("/proc/self/timens_offsets", O_WRONLY);
	NEED(file >= 0);
	NEED(dprintf(file, "%s", offset) > 0);
	close(file);
	child = fork();
	NEED(child >= 0);
	if (!child)
		_exit(fn(fd) ?: tap_failed());
	NEED(waitpid(child, &status, 0) == child);
	CHECK_EQ(status, 0);
}

/* Times of the device are those of clock_gettime(), and are given back as they are. */
static int times_are_ours(int fd)
{
	struct twheel_info info = dev_info(fd);
	int clock = dev_clock(info.clock);
	uint64_t deadline, got, id;
	struct twheel_event event;
	struct twheel_op op = { .time_ns = 20 * MS };

	CHECK(info.now_ns <= dev_now(clock));
	CHECK(info.now_ns + 1000 * S > dev_now(clock));
	deadline = dev_now(clock) + 30 * MS;
	id = dev_arm_at(fd, deadline, 0);
	CHECK(dev_query(fd, id, &got) >= 0);
	CHECK_EQ(got, deadline);
	event = dev_read(fd);
	CHECK_EQ(event.deadline_ns, deadline);
	CHECK(event.now_ns <= dev_now(clock));
	dev_arm_op(fd, &op);
	CHECK(op.deadline_ns >= event.now_ns + 20 * MS);
	CHECK(op.deadline_ns <= dev_now(clock) + 20 * MS);
	CHECK_EQ(dev_read(fd).deadline_ns, op.deadline_ns);
	/* Never stays never; a time before the kernel's zero is in the past. */
	id = dev_arm_at(fd, TWHEEL_NEVER_NS, 0);
	CHECK_EQ(dev_query(fd, id, &got), 0);
	CHECK_EQ(got, TWHEEL_NEVER_NS);
	CHECK_EQ(dev_modify(fd, id, TWHEEL_ABS | TWHEEL_LATER, ~0ULL), 0);
	CHECK_EQ(dev_modify(fd, id, TWHEEL_ABS, 1), 1);
	dev_read(fd);
	return 0;
}

TEST(namespace_of_monotonic)
{
	in_another_time("monotonic 5000 7", times_are_ours, dev_open_clock(TWHEEL_MONOTONIC));
}

TEST(namespace_of_boottime)
{
	in_another_time("boottime 90000 0", times_are_ours, dev_open_clock(TWHEEL_BOOTTIME));
}

/* Clocks that are one for all. */
static int times_are_everybodys(int fd)
{
	uint64_t deadline, got;

	if (dev_info(fd).clock == TWHEEL_VIRTUAL) {
		CHECK_EQ(dev_info(fd).now_ns, 0);
		CHECK_EQ(dev_advance(fd, S), S);
		CHECK_EQ(dev_query(fd, dev_arm_at(fd, S, 0), &got), 1);
		CHECK_EQ(got, S);
		return dev_read(fd).now_ns != S;
	}
	deadline = dev_now(CLOCK_REALTIME) + 30 * MS;
	dev_arm_at(fd, deadline, 0);
	return dev_read(fd).deadline_ns != deadline;
}

TEST(namespace_leaves_others)
{
	in_another_time("monotonic 5000 0", times_are_everybodys,
			dev_open_clock(TWHEEL_REALTIME));
	in_another_time("monotonic 6000 0", times_are_everybodys, dev_open_virtual());
}

static uint64_t far_id;

/* A file with an event of long ago, and a timer of the last instant there is. */
static int at_the_ends_of_time(void)
{
	int fd = dev_open_clock(TWHEEL_MONOTONIC);

	dev_arm_at(fd, 1, 0);
	far_id = dev_arm_at(fd, TWHEEL_NEVER_NS - 1, 0);
	return fd;
}

/* The clock shows less: the one began before it. The other is as far as before. */
static int saturates_below(int fd)
{
	struct twheel_op op = { .flags = TWHEEL_ABS, .time_ns = TWHEEL_NEVER_NS - 1 };
	uint64_t deadline;

	CHECK_EQ(dev_read(fd).deadline_ns, 0);
	CHECK_EQ(dev_query(fd, far_id, &deadline), 0);
	CHECK_EQ(deadline, TWHEEL_NEVER_NS - 1 - 3 * S);
	/* It would be later than the kernel's last instant. */
	dev_arm_op(fd, &op);
	CHECK_EQ(op.deadline_ns, TWHEEL_NEVER_NS);
	return dev_readable(fd, 0);
}

static int saturates_above(int fd)
{
	uint64_t deadline;

	CHECK_EQ(dev_read(fd).deadline_ns, 5000 * S + 1);
	CHECK_EQ(dev_query(fd, far_id, &deadline), 0);
	CHECK_EQ(deadline, TWHEEL_NEVER_NS);
	return 0;
}

/* Between the time that never comes and the end of 63 bits there is an hour. */
static int saturates_before_the_end(int fd)
{
	uint64_t deadline;

	CHECK_EQ(dev_query(fd, far_id, &deadline), 0);
	CHECK_EQ(deadline, TWHEEL_NEVER_NS);
	return 0;
}

TEST(namespace_saturates)
{
	in_another_time("monotonic -3 0", saturates_below, at_the_ends_of_time());
	in_another_time("monotonic 5000 0", saturates_above, at_the_ends_of_time());
	in_another_time("monotonic 1000 0", saturates_before_the_end, at_the_ends_of_time());
}

static uint64_t shared_id, shared_deadline, shared_origin;

static int sees_it_shifted(int fd)
{
	uint64_t deadline;

	CHECK_EQ(dev_query(fd, shared_id, &deadline), 0);
	CHECK_EQ(deadline, shared_deadline + 5000 * S);
	CHECK_EQ(dev_info(fd).origin_ns, shared_origin);
	return 0;
}

/* One file, seen from two namespaces. */
TEST(each_has_its_own_view)
{
	struct twheel_setup setup = {
		.max_cells = dev_info(dev_open()).features & TWHEEL_FEATURE_CELLS ? 1 : 0,
	};
	int fd = dev_open_setup(&setup);

	shared_deadline = dev_now(CLOCK_MONOTONIC) + HOUR;
	shared_id = dev_arm_at(fd, shared_deadline, 0);
	shared_origin = dev_info(fd).origin_ns + (setup.max_cells ? 5000 * S : 0);
	in_another_time("monotonic 5000 0", sees_it_shifted, fd);
}
