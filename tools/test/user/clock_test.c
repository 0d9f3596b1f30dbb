// SPDX-License-Identifier: GPL-2.0-only
/* Clocks that are set, and time namespaces. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/timex.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "lib/device.h"
#include "lib/tap.h"

static int open_on_clock(int clock)
{
	struct twheel_setup setup = { .clockid = clock };
	int fd = dev_open();

	NEED(ioctl(fd, TWHEEL_IOC_SETUP, &setup) == 0);
	CHECK_EQ(dev_info(fd).clockid, clock);
	return fd;
}

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

static uint64_t arm_at(int fd, uint64_t deadline_ns)
{
	struct twheel_op op = {
		.flags = TWHEEL_ABS, .deadline_ns = deadline_ns,
	};

	dev_arm_op(fd, &op);
	CHECK_EQ(op.deadline_ns, deadline_ns);
	return op.id;
}

static void realtime_by_the_clock(void)
{
	int fd = open_on_clock(CLOCK_REALTIME);
	uint64_t deadline = dev_now(CLOCK_REALTIME) + 30 * MS;
	struct twheel_event event;

	CHECK(dev_info(fd).features & TWHEEL_FEATURE_REALTIME);
	CHECK(dev_info(fd).now_ns <= dev_now(CLOCK_REALTIME));
	CHECK(dev_info(fd).now_ns >= deadline - 30 * MS);
	arm_at(fd, deadline);
	event = dev_read(fd);
	CHECK_EQ(event.deadline_ns, deadline);
	CHECK(dev_now(CLOCK_REALTIME) >= deadline);
}

static void forward_on(int clock)
{
	int fd = open_on_clock(clock);
	uint64_t deadline = dev_now(clock) + 3600 * S;

	arm_at(fd, deadline);
	arm_at(fd, deadline + 3600 * S);
	CHECK_EQ(dev_readable(fd, 0), 0);
	clock_step(3601 * (int64_t)S);
	CHECK_EQ(dev_readable(fd, -1), 1);
	CHECK_EQ(dev_read(fd).deadline_ns, deadline);
	CHECK_EQ(dev_readable(fd, 50), 0);
	clock_put_right();
}

static void set_forward_fires(void)
{
	forward_on(CLOCK_REALTIME);
	forward_on(CLOCK_TAI);
}

static void set_back_waits(void)
{
	int fd = open_on_clock(CLOCK_REALTIME);
	uint64_t deadline, delay, before;

	FOR_EACH_DELAY(delay) {
		before = dev_now(CLOCK_MONOTONIC);
		deadline = dev_now(CLOCK_REALTIME) + delay;
		arm_at(fd, deadline);
		clock_step(-3600 * (int64_t)S);
		if (!dev_passed(before + delay))
			break;
		clock_put_right();
		dev_read(fd);
	}
	/* It would have fired by now. */
	dev_wait_passed(before + delay);
	CHECK_EQ(dev_readable(fd, 50), 0);
	/* A near deadline on the new time is met. */
	arm_at(fd, dev_now(CLOCK_REALTIME) + 20 * MS);
	CHECK(dev_read(fd).deadline_ns < deadline);
	clock_put_right();
	CHECK_EQ(dev_readable(fd, -1), 1);
	CHECK_EQ(dev_read(fd).deadline_ns, deadline);
}

static void delays_do_not_notice(void)
{
	int fd = open_on_clock(CLOCK_REALTIME), readable;
	struct twheel_event event;
	uint64_t before, delay;
	struct twheel_op op;

	FOR_EACH_DELAY(delay) {
		before = dev_now(CLOCK_MONOTONIC);
		op = (struct twheel_op) { .deadline_ns = 2 * delay };
		dev_arm_op(fd, &op);
		CHECK(op.deadline_ns >= before + 2 * delay);
		CHECK(op.deadline_ns <= dev_now(CLOCK_MONOTONIC) + 2 * delay);
		clock_step(3600 * (int64_t)S);
		readable = dev_readable(fd, delay / MS);
		if (!dev_passed(op.deadline_ns))
			break;
		clock_put_right();
		dev_read(fd);
	}
	CHECK_EQ(readable, 0);
	clock_step(-7200 * (int64_t)S);
	event = dev_read(fd);
	CHECK_EQ(event.deadline_ns, op.deadline_ns);
	CHECK(dev_now(CLOCK_MONOTONIC) >= event.deadline_ns);
	CHECK(dev_now(CLOCK_MONOTONIC) >= event.fired_ns);
	clock_put_right();
}

static void periods_do_not_notice(void)
{
	int fd = open_on_clock(CLOCK_REALTIME), i;
	struct twheel_op op = { .deadline_ns = 10 * MS, .period_ns = 20 * MS };
	uint64_t total = 0;

	dev_arm_op(fd, &op);
	for (i = 0; i < 5; i++) {
		struct twheel_event event = dev_read(fd);

		CHECK_EQ(event.deadline_ns, op.deadline_ns + total * 20 * MS);
		CHECK(dev_now(CLOCK_MONOTONIC) >= event.deadline_ns);
		total += event.count;
		clock_step(i % 2 ? 1000 * (int64_t)S : -900 * (int64_t)S);
	}
	clock_put_right();
}

/* The counts are those of both wheels. Events come in the order in which they fire. */
static void both_wheels_are_counted(void)
{
	int fd = open_on_clock(CLOCK_REALTIME), i;
	uint64_t deadline = dev_now(CLOCK_REALTIME) + 60 * MS;
	struct twheel_file_stats stats;
	struct twheel_info info;

	for (i = 0; i < 3; i++) {
		arm_at(fd, deadline + i * MS);
		dev_arm(fd, i * MS, 1);
		arm_at(fd, deadline + 3600 * S);
		dev_arm(fd, 3600 * S, 1);
	}
	CHECK_EQ(dev_info(fd).timers, 12);
	dev_wait_unread(fd, 6);
	info = dev_info(fd);
	CHECK_EQ(info.pending, 6);
	CHECK_EQ(info.armed, 12);
	CHECK_EQ(info.fired, 6);
	CHECK(info.passes >= 2);
	NEED(!ioctl(fd, TWHEEL_IOC_STATS, &stats));
	CHECK(stats.passes >= info.passes);
	CHECK_EQ(stats.fired, 6);
	CHECK_EQ(dev_cancel_all(fd), 12);
	CHECK_EQ(dev_info(fd).timers, 0);
	CHECK_EQ(dev_info(fd).cancelled, 12);
	/* Entries are used again, whichever clock they were on. */
	for (i = 0; i < 12; i++)
		i % 2 ? arm_at(fd, deadline) : dev_arm(fd, MS, 2);
	for (i = 0; i < 12; i++) {
		struct twheel_event event = dev_read(fd);

		CHECK(event.cookie == 2 ?
		      event.fired_ns <= dev_now(CLOCK_MONOTONIC) :
		      event.deadline_ns == deadline);
	}
	CHECK_EQ(dev_info(fd).timers, 0);
}

/* The answer says which clock its deadline is on, and takes it back. */
static void deadlines_given_back(void)
{
	const uint32_t monotonic = TWHEEL_ABS | TWHEEL_MONOTONIC;
	int fd = open_on_clock(CLOCK_REALTIME);
	struct twheel_op op = { .deadline_ns = 3600 * S }, got;
	uint64_t id = dev_arm_op(fd, &op);

	CHECK_EQ(op.flags, TWHEEL_MONOTONIC);
	CHECK_EQ(dev_query(fd, id, &got), 0);
	CHECK_EQ(got.flags, TWHEEL_MONOTONIC);
	CHECK_EQ(got.deadline_ns, op.deadline_ns);
	CHECK_EQ(dev_modify(fd, id, monotonic | TWHEEL_LATER, op.deadline_ns), 1);
	CHECK_EQ(dev_modify(fd, id, monotonic | TWHEEL_LATER, op.deadline_ns + 1), 0);
	CHECK_EQ(dev_modify(fd, id, monotonic, op.deadline_ns), 0);
	/* On the wall clock it would be due since long ago. */
	CHECK_EQ(dev_readable(fd, 20), 0);
	op = (struct twheel_op) { .flags = monotonic, .deadline_ns = op.deadline_ns };
	dev_arm_op(fd, &op);
	CHECK_EQ(op.flags, monotonic);
	CHECK_EQ(op.deadline_ns, got.deadline_ns);
	op = (struct twheel_op) {
		.id = id, .flags = TWHEEL_ABS,
		.deadline_ns = dev_now(CLOCK_REALTIME) + 3600 * S,
	};
	CHECK_EQ(ioctl(fd, TWHEEL_IOC_MODIFY, &op), 0);
	CHECK_EQ(op.flags, TWHEEL_ABS);
	CHECK_EQ(dev_query(fd, id, &got), 0);
	CHECK_EQ(got.flags, 0);
	/* Back by a delay: the answer says so. */
	op = (struct twheel_op) { .id = id, .deadline_ns = 1800 * S };
	CHECK_EQ(ioctl(fd, TWHEEL_IOC_MODIFY, &op), 0);
	CHECK_EQ(op.flags, TWHEEL_MONOTONIC);
	CHECK(op.deadline_ns <= dev_now(CLOCK_MONOTONIC) + 1800 * S);
	/* A timer that has fired changes its clock, too. */
	CHECK_EQ(dev_modify(fd, id, 0, 0), 0);
	dev_wait_unread(fd, 1);
	op = (struct twheel_op) {
		.id = id, .flags = TWHEEL_ABS | TWHEEL_OR_MODIFY,
		.deadline_ns = dev_now(CLOCK_REALTIME),
	};
	CHECK_EQ(ioctl(fd, TWHEEL_IOC_ARM, &op), 2);
	dev_wait_unread(fd, 1);
	CHECK_EQ(dev_read(fd).flags, TWHEEL_EVENT_LAST);
}

/* The wall clock without leap seconds; they differ by an offset that can be set. */
static void tai_by_the_clock(void)
{
	int fd = open_on_clock(CLOCK_TAI);
	struct timex timex = { .modes = ADJ_TAI, .constant = 37 };
	uint64_t deadline;

	NEED(adjtimex(&timex) >= 0);
	CHECK(dev_info(fd).now_ns > dev_now(CLOCK_REALTIME) + 30 * S);
	CHECK(dev_info(fd).now_ns <= dev_now(CLOCK_TAI));
	deadline = dev_now(CLOCK_TAI) + 20 * MS;
	arm_at(fd, deadline);
	CHECK_EQ(dev_read(fd).deadline_ns, deadline);
	CHECK(dev_now(CLOCK_TAI) >= deadline);
	dev_arm(fd, 0, 0);
	CHECK(dev_read(fd).fired_ns <= dev_now(CLOCK_MONOTONIC));
	timex.constant = 0;
	NEED(adjtimex(&timex) >= 0);
}

static int open_watching(int clock)
{
	struct twheel_setup setup = {
		.clockid = clock, .flags = TWHEEL_SETUP_CLOCK_SET,
	};
	int fd = dev_open_flags(O_NONBLOCK);

	if (!(dev_info(fd).features & TWHEEL_FEATURE_CLOCK_SET))
		tap_skip("this kernel does not tell of steps");
	NEED(ioctl(fd, TWHEEL_IOC_SETUP, &setup) == 0);
	CHECK_EQ(dev_info(fd).flags, TWHEEL_SETUP_CLOCK_SET);
	return fd;
}

static void *step_later(void *arg)
{
	(void)arg;
	usleep(50000);
	clock_step(-7200 * (int64_t)S);
	return NULL;
}

static void steps_are_told_on(int clock)
{
	int fd = open_watching(clock), deaf = open_on_clock(clock);
	/* volatile, or the compiler would warn */
	void *volatile nowhere = (void *)8;
	struct twheel_event event, events[3];
	pthread_t thread;
	uint64_t now;

	CHECK_EQ(dev_readable(fd, 20), 0);
	CHECK_ERR(read(fd, &event, sizeof(event)), EAGAIN);
	/* Several steps are one event, and the clock has its say before the timers. */
	arm_at(fd, dev_now(clock) + 1800 * S);
	clock_step(1000 * (int64_t)S);
	clock_step(2600 * (int64_t)S);
	dev_wait_unread(fd, 1);
	CHECK_EQ(dev_readable(fd, 0), 1);
	now = dev_now(clock);
	CHECK_EQ(read(fd, events, sizeof(events)), 2 * sizeof(event));
	CHECK_EQ(events[0].flags, TWHEEL_EVENT_CLOCK_SET);
	CHECK_EQ(events[0].id | events[0].cookie | events[0].deadline_ns, 0);
	CHECK_EQ(events[0].count, 1);
	CHECK(events[0].fired_ns >= now);
	CHECK_EQ(events[1].flags, TWHEEL_EVENT_LAST);
	CHECK_ERR(read(fd, &event, sizeof(event)), EAGAIN);
	/* Bad memory does not lose it, nor is it withdrawn with the timers. No counter has it. */
	clock_step(60 * (int64_t)S);
	CHECK_EQ(dev_cancel_all(fd), 0);
	CHECK_EQ(dev_readable(fd, 0), 1);
	CHECK_EQ(dev_info(fd).unread | dev_info(fd).timers, 0);
	CHECK_EQ(dev_info(fd).fired, 1);
	CHECK_ERR(read(fd, nowhere, sizeof(event)), EFAULT);
	CHECK_EQ(read(fd, &event, sizeof(event)), sizeof(event));
	CHECK_EQ(event.flags, TWHEEL_EVENT_CLOCK_SET);
	/* It wakes whoever waits. */
	NEED(!pthread_create(&thread, NULL, step_later, NULL));
	CHECK_EQ(dev_readable(fd, -1), 1);
	NEED(!pthread_join(thread, NULL));
	CHECK_EQ(read(fd, &event, sizeof(event)), sizeof(event));
	CHECK_EQ(event.flags, TWHEEL_EVENT_CLOCK_SET);
	/* Who did not ask is not told. */
	CHECK_EQ(dev_readable(deaf, 0), 0);
	CHECK_EQ(dev_info(fd).timers, 0);
	clock_put_right();
	close(fd);
	close(deaf);
}

static void steps_are_told(void)
{
	steps_are_told_on(CLOCK_REALTIME);
	steps_are_told_on(CLOCK_TAI);
}

/* Clocks that nobody sets. */
static void steps_of_other_clocks(void)
{
	struct twheel_setup setup = {
		.clockid = CLOCK_MONOTONIC, .flags = TWHEEL_SETUP_CLOCK_SET,
	};
	int fd = dev_open();

	CHECK_ERR(ioctl(fd, TWHEEL_IOC_SETUP, &setup), EINVAL);
	setup.clockid = CLOCK_BOOTTIME;
	CHECK_ERR(ioctl(fd, TWHEEL_IOC_SETUP, &setup), EINVAL);
	setup.flags = 0;
	CHECK_EQ(ioctl(fd, TWHEEL_IOC_SETUP, &setup), 0);
}

static void clocks_change_on(int clock)
{
	int fd = open_on_clock(clock);
	uint64_t id = dev_arm(fd, 3600 * S, 0);
	uint64_t deadline = dev_now(clock) + 3600 * S;
	struct twheel_op op;

	/* A delay and a time cannot be compared. */
	CHECK_ERR(dev_modify(fd, id, TWHEEL_LATER | TWHEEL_ABS,
			     deadline + 7200 * S), EINVAL);
	CHECK_EQ(dev_modify(fd, id, TWHEEL_LATER, 7200 * S), 0);
	CHECK_EQ(dev_modify(fd, id, TWHEEL_ABS, deadline), 0);
	CHECK_ERR(dev_modify(fd, id, TWHEEL_LATER, 7200 * S), EINVAL);
	CHECK_EQ(dev_query(fd, id, &op), 0);
	CHECK_EQ(op.deadline_ns, deadline);
	deadline = dev_now(clock) + 30 * MS;
	CHECK_EQ(dev_modify(fd, id, TWHEEL_ABS, deadline), 0);
	CHECK_EQ(dev_read(fd).deadline_ns, deadline);
	id = arm_at(fd, deadline + 3600 * S);
	CHECK_EQ(dev_modify(fd, id, 0, 10 * MS), 0);
	CHECK(dev_read(fd).deadline_ns <= dev_now(CLOCK_MONOTONIC));
}

static void modify_changes_clocks(void)
{
	clocks_change_on(CLOCK_REALTIME);
	clocks_change_on(CLOCK_TAI);
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
		_exit(fn(fd));
	NEED(waitpid(child, &status, 0) == child);
	CHECK(WIFEXITED(status));
	CHECK_EQ(WEXITSTATUS(status), 0);
}

/* Times of the device are those of clock_gettime(). */
static int times_are_ours(int fd)
{
	struct twheel_info info = dev_info(fd);
	uint64_t now = dev_now(info.clockid), deadline;
	struct twheel_event event;
	struct twheel_op op;
	uint64_t id;

	if (info.now_ns > now || now - info.now_ns > 1000 * S)
		return 1;
	deadline = dev_now(info.clockid) + 30 * MS;
	id = arm_at(fd, deadline);
	if (dev_query(fd, id, &op) || op.deadline_ns != deadline)
		return 2;
	event = dev_read(fd);
	if (event.deadline_ns != deadline || event.fired_ns < deadline)
		return 3;
	now = dev_now(info.clockid);
	if (now < event.fired_ns || now - event.fired_ns > 1000 * S)
		return 4;
	op = (struct twheel_op) { .deadline_ns = 20 * MS };
	dev_arm_op(fd, &op);
	if (op.deadline_ns > dev_now(info.clockid) + 20 * MS ||
	    op.deadline_ns < now + 20 * MS)
		return 5;
	if (dev_read(fd).deadline_ns != op.deadline_ns)
		return 6;
	/* Never stays never; a time before the kernel's zero is in the past. */
	id = arm_at(fd, TWHEEL_DELAY_NEVER);
	if (dev_query(fd, id, &op) || op.deadline_ns != TWHEEL_DELAY_NEVER)
		return 7;
	if (dev_cancel(fd, id))
		return 8;
	op = (struct twheel_op) { .flags = TWHEEL_ABS, .deadline_ns = 1 };
	dev_arm_op(fd, &op);
	return dev_readable(fd, -1) == 1 ? 0 : 9;
}

static void namespace_of_monotonic(void)
{
	in_another_time("monotonic 5000 7", times_are_ours,
			dev_open());
}

static void namespace_of_boottime(void)
{
	in_another_time("boottime 90000 0", times_are_ours,
			open_on_clock(CLOCK_BOOTTIME));
}

static uint64_t far_id;

/* A file with an event of long ago, and a timer of the last instant there is. */
static int at_the_ends_of_time(void)
{
	int fd = dev_open();

	arm_at(fd, 1);
	dev_wait_unread(fd, 1);
	far_id = arm_at(fd, TWHEEL_DELAY_NEVER - 1);
	return fd;
}

/* The clock shows less: the one began before it, the other cannot be told to it. */
static int saturates_below(int fd)
{
	struct twheel_op op = {
		.flags = TWHEEL_ABS, .deadline_ns = TWHEEL_DELAY_NEVER - 1,
	};
	struct twheel_event event = dev_read(fd);

	if (event.deadline_ns || event.fired_ns > dev_now(CLOCK_MONOTONIC))
		return 1;
	if (dev_query(fd, far_id, &op) ||
	    op.deadline_ns != TWHEEL_DELAY_NEVER - 1 - 3 * S)
		return 2;
	op = (struct twheel_op) {
		.flags = TWHEEL_ABS, .deadline_ns = TWHEEL_DELAY_NEVER - 1,
	};
	dev_arm_op(fd, &op);
	if (op.deadline_ns != TWHEEL_DELAY_NEVER || dev_readable(fd, 20))
		return 3;
	return dev_info(fd).pending == 2 ? 0 : 4;
}

static int saturates_above(int fd)
{
	struct twheel_op op;

	if (dev_read(fd).deadline_ns != 5000 * S + 1)
		return 11;
	return dev_query(fd, far_id, &op) ||
	       op.deadline_ns != TWHEEL_DELAY_NEVER ? 12 : 0;
}

static void namespace_saturates(void)
{
	in_another_time("monotonic -3 0", saturates_below, at_the_ends_of_time());
	in_another_time("monotonic 5000 0", saturates_above,
			at_the_ends_of_time());
}

static int wall_clock_is_one(int fd)
{
	uint64_t deadline = dev_now(CLOCK_REALTIME) + 30 * MS, before;
	struct twheel_op op = { .deadline_ns = 20 * MS };

	arm_at(fd, deadline);
	if (dev_read(fd).deadline_ns != deadline)
		return 1;
	before = dev_now(CLOCK_MONOTONIC);
	dev_arm_op(fd, &op);
	return op.deadline_ns < before + 20 * MS ||
	       op.deadline_ns > dev_now(CLOCK_MONOTONIC) + 20 * MS;
}

static void namespace_leaves_realtime(void)
{
	in_another_time("monotonic 5000 0", wall_clock_is_one,
			open_on_clock(CLOCK_REALTIME));
}

static uint64_t shared_id, shared_deadline;

static int sees_it_shifted(int fd)
{
	struct twheel_op op;

	return dev_query(fd, shared_id, &op) ||
	       op.deadline_ns != shared_deadline + 5000 * S;
}

static void each_has_its_own_view(void)
{
	int fd = dev_open();

	shared_deadline = dev_now(CLOCK_MONOTONIC) + 3600 * S;
	shared_id = arm_at(fd, shared_deadline);
	in_another_time("monotonic 5000 0", sees_it_shifted,
			fd);
}

static const struct tap_test tests[] = {
	TAP(realtime_by_the_clock),
	TAP(set_forward_fires),
	TAP(set_back_waits),
	TAP(delays_do_not_notice),
	TAP(periods_do_not_notice),
	TAP(both_wheels_are_counted),
	TAP(deadlines_given_back),
	TAP(tai_by_the_clock),
	TAP(steps_are_told),
	TAP(steps_of_other_clocks),
	TAP(modify_changes_clocks),
	TAP(namespace_of_monotonic),
	TAP(namespace_of_boottime),
	TAP(namespace_saturates),
	TAP(namespace_leaves_realtime),
	TAP(each_has_its_own_view),
};

int main(int argc, char **argv)
{
	return tap_main(tests, sizeof(tests) / sizeof(*tests), argc, argv);
}
