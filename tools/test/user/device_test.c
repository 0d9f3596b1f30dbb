// SPDX-License-Identifier: GPL-2.0-only
/*
 * The timers of /dev/twheel. Tests of the file itself are in file_test.c, refusals in
 * refuse_test.c.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "lib/device.h"
#include "lib/tap.h"

static void relative(void)
{
	uint64_t before = dev_now(CLOCK_MONOTONIC);
	int fd = dev_open();
	struct twheel_op op = { .deadline_ns = 30 * MS, .cookie = 7 };
	uint64_t id = dev_arm_op(fd, &op);
	struct twheel_event event;

	CHECK(op.deadline_ns >= before + 30 * MS);
	CHECK(op.deadline_ns <= dev_now(CLOCK_MONOTONIC) + 30 * MS);
	event = dev_read(fd);
	CHECK(dev_now(CLOCK_MONOTONIC) >= op.deadline_ns);
	CHECK_EQ(event.id, id);
	CHECK_EQ(event.cookie, 7);
	CHECK_EQ(event.deadline_ns, op.deadline_ns);
	CHECK_EQ(event.count, 1);
	CHECK_EQ(event.flags, TWHEEL_EVENT_LAST);
	CHECK_EQ(event.reserved, 0);
}

static void absolute(void)
{
	int fd = dev_open();
	uint64_t deadline = dev_now(CLOCK_MONOTONIC) + 40 * MS + 1;
	struct twheel_op op = {
		.flags = TWHEEL_ABS, .deadline_ns = deadline, .cookie = ~0ULL,
	};
	struct twheel_event event;

	dev_arm_op(fd, &op);
	CHECK_EQ(op.deadline_ns, deadline);
	event = dev_read(fd);
	CHECK_EQ(event.deadline_ns, deadline);
	CHECK_EQ(event.cookie, ~0ULL);
	CHECK(event.fired_ns >= deadline);
}

static void past_fires_at_once(void)
{
	int fd = dev_open();
	struct twheel_op op = { .flags = TWHEEL_ABS, .deadline_ns = 1 };

	dev_arm_op(fd, &op);
	CHECK_EQ(dev_read(fd).deadline_ns, 1);
	dev_arm(fd, 0, 0);
	dev_read(fd);
}

static void slack_is_taken(void)
{
	int fd = dev_open();
	struct twheel_op op = { .deadline_ns = 5 * MS, .slack_ns = 20 * MS };
	struct twheel_event event;

	dev_arm_op(fd, &op);
	event = dev_read(fd);
	CHECK(event.fired_ns >= op.deadline_ns);
}

static void oldest_first_and_whole_records(void)
{
	struct twheel_event events[5];
	int fd = dev_open();
	uint64_t now, delay;
	unsigned int i;

	/* All are armed before the first is due. */
	FOR_EACH_DELAY(delay) {
		now = dev_now(CLOCK_MONOTONIC) + delay;
		for (i = 0; i < 5; i++) {
			struct twheel_op op = {
				.flags = TWHEEL_ABS, .cookie = i,
				.deadline_ns = now + (50 - 10 * i) * MS,
			};

			dev_arm_op(fd, &op);
		}
		if (!dev_passed(now))
			break;
		NEED(dev_cancel_all(fd) == 5);
	}
	dev_wait_unread(fd, 5);
	/* There is room for two and a half. */
	CHECK_EQ(read(fd, events, sizeof(events) / 2), 2 * sizeof(*events));
	CHECK_EQ(events[0].cookie, 4);
	CHECK_EQ(events[1].cookie, 3);
	CHECK_EQ(read(fd, events, sizeof(events)), 3 * sizeof(*events));
	CHECK_EQ(events[0].cookie, 2);
	CHECK_EQ(events[2].cookie, 0);
	CHECK_EQ(dev_info(fd).timers, 0);
}

static void query_returns_the_timer(void)
{
	int fd = dev_open();
	struct twheel_op arm = { .deadline_ns = 3600 * S, .cookie = 99 };
	uint64_t id = dev_arm_op(fd, &arm);
	struct twheel_op op;

	CHECK_EQ(dev_query(fd, id, &op), 0);
	CHECK_EQ(op.state, TWHEEL_STATE_PENDING);
	CHECK_EQ(op.cookie, 99);
	CHECK_EQ(op.deadline_ns, arm.deadline_ns);
	CHECK_EQ(op.period_ns, 0);
	CHECK_EQ(op.id, id);
	CHECK_EQ(dev_modify(fd, id, 0, 0), 0);
	dev_wait_unread(fd, 1);
	CHECK_EQ(dev_query(fd, id, &op), 0);
	CHECK_EQ(op.state, TWHEEL_STATE_FIRED);
	dev_read(fd);
	CHECK_ERR(dev_query(fd, id, &op), ENOENT);
}

static void cancel_pending_and_fired(void)
{
	int fd = dev_open_flags(O_NONBLOCK);
	struct twheel_event event;
	uint64_t id;

	id = dev_arm(fd, 3600 * S, 0);
	CHECK_EQ(dev_cancel(fd, id), 0);
	CHECK_ERR(dev_cancel(fd, id), ENOENT);
	id = dev_arm(fd, MS, 0);
	dev_wait_unread(fd, 1);
	CHECK_EQ(dev_cancel(fd, id), 1);
	CHECK_ERR(read(fd, &event, sizeof(event)), EAGAIN);
	CHECK_EQ(dev_readable(fd, 0), 0);
	CHECK_ERR(dev_cancel(fd, id), ENOENT);
	id = dev_arm(fd, MS, 0);
	dev_wait_unread(fd, 1);
	dev_read(fd);
	CHECK_ERR(dev_cancel(fd, id), ENOENT);
	CHECK_EQ(dev_info(fd).timers, 0);
	CHECK_EQ(dev_info(fd).cancelled, 2);
}

static void modify_moves(void)
{
	int fd = dev_open();
	uint64_t deadline = dev_now(CLOCK_MONOTONIC) + 60 * MS;
	uint64_t id = dev_arm(fd, 3600 * S, 0), delay;
	struct twheel_op op;

	CHECK_EQ(dev_modify(fd, id, TWHEEL_ABS, deadline), 0);
	CHECK_EQ(dev_query(fd, id, &op), 0);
	CHECK_EQ(op.deadline_ns, deadline);
	CHECK_EQ(dev_read(fd).deadline_ns, deadline);

	FOR_EACH_DELAY(delay) {
		id = dev_arm(fd, delay, 0);
		deadline = dev_now(CLOCK_MONOTONIC) + delay;
		if (!dev_modify(fd, id, 0, 3600 * S))
			break;
		CHECK_EQ(errno, EALREADY);
		dev_read(fd);
	}
	/* The old deadline comes, and nothing happens. */
	dev_wait_passed(deadline);
	CHECK_EQ(dev_readable(fd, 50), 0);
	CHECK_EQ(dev_modify(fd, id, 0, 0), 0);
	dev_read(fd);
}

static void later_only_later(void)
{
	int fd = dev_open();
	uint64_t now = dev_now(CLOCK_MONOTONIC);
	uint64_t id = dev_arm(fd, 100 * S, 0);
	struct twheel_op op;

	CHECK_EQ(dev_modify(fd, id, TWHEEL_LATER, S), 1);
	CHECK_EQ(dev_modify(fd, id, TWHEEL_LATER | TWHEEL_ABS, now + 500 * S),
		 0);
	CHECK_EQ(dev_query(fd, id, &op), 0);
	CHECK_EQ(op.deadline_ns, now + 500 * S);
	CHECK_EQ(dev_modify(fd, id, TWHEEL_LATER | TWHEEL_ABS, now + 500 * S),
		 1);
}

static void modify_too_late(void)
{
	int fd = dev_open();
	uint64_t id = dev_arm(fd, MS, 5);

	dev_wait_unread(fd, 1);
	CHECK_ERR(dev_modify(fd, id, 0, S), EALREADY);
	CHECK_ERR(dev_modify(fd, id, TWHEEL_LATER, S), EALREADY);
	CHECK_ERR(dev_modify(fd, id, TWHEEL_LATER, 0), EALREADY);
	CHECK_EQ(dev_read(fd).cookie, 5);
}

static void periodic_counts_overruns(void)
{
	int fd = dev_open();
	struct twheel_op op = { .deadline_ns = 10 * MS, .period_ns = 20 * MS };
	uint64_t id = dev_arm_op(fd, &op);
	struct twheel_event event;
	uint64_t total = 0;
	int i;

	for (i = 0; i < 4; i++) {
		event = dev_read(fd);
		CHECK_EQ(event.id, id);
		/* In phase with the first deadline. */
		CHECK_EQ(event.deadline_ns,
			 op.deadline_ns + total * op.period_ns);
		CHECK(event.count >= 1);
		total += event.count;
		if (i == 1)
			usleep(150000);
		if (i == 2)
			CHECK(event.count >= 6);
	}
	CHECK(dev_now(CLOCK_MONOTONIC) >=
	      op.deadline_ns + (total - 1) * op.period_ns);
	CHECK(dev_cancel(fd, id) >= 0);
	CHECK_EQ(dev_readable(fd, 60), 0);
	CHECK_EQ(dev_info(fd).timers, 0);
}

static void periodic_modify_moves_phase(void)
{
	int fd = dev_open();
	struct twheel_op op = { .deadline_ns = 3600 * S, .period_ns = 15 * MS };
	uint64_t now = dev_now(CLOCK_MONOTONIC);
	uint64_t id = dev_arm_op(fd, &op);
	struct twheel_event event;

	CHECK_EQ(dev_modify(fd, id, TWHEEL_ABS, now + 3), 0);
	event = dev_read(fd);
	CHECK_EQ(event.deadline_ns, now + 3);
	event = dev_read(fd);
	CHECK_EQ((event.deadline_ns - now - 3) % (15 * MS), 0);
}

static void ids_carry_a_generation(void)
{
	int fd = dev_open();
	uint64_t old = dev_arm(fd, 3600 * S, 1), new;
	struct twheel_op op;

	CHECK_EQ(dev_cancel(fd, old), 0);
	new = dev_arm(fd, 3600 * S, 2);
	CHECK_EQ((uint32_t)old, (uint32_t)new);
	CHECK(old != new);
	CHECK_ERR(dev_cancel(fd, old), ENOENT);
	CHECK_ERR(dev_modify(fd, old, 0, 0), ENOENT);
	CHECK_ERR(dev_query(fd, old, &op), ENOENT);
	CHECK_EQ(dev_query(fd, new, &op), 0);
	CHECK_EQ(op.cookie, 2);
}

static void limit_recovers(void)
{
	struct twheel_setup setup = {
		.clockid = CLOCK_MONOTONIC, .max_timers = 2,
	};
	struct twheel_op op = { .deadline_ns = S };
	int fd = dev_open();
	uint64_t id;

	NEED(ioctl(fd, TWHEEL_IOC_SETUP, &setup) == 0);
	id = dev_arm(fd, 3600 * S, 0);
	dev_arm(fd, MS, 0);
	CHECK_ERR(ioctl(fd, TWHEEL_IOC_ARM, &op), ENOSPC);
	CHECK_EQ(op.id, 0);
	/* A timer that has fired counts until its event is read. */
	dev_wait_unread(fd, 1);
	CHECK_ERR(ioctl(fd, TWHEEL_IOC_ARM, &op), ENOSPC);
	dev_read(fd);
	dev_arm(fd, 3600 * S, 0);
	CHECK_ERR(ioctl(fd, TWHEEL_IOC_ARM, &op), ENOSPC);
	CHECK_EQ(dev_cancel(fd, id), 0);
	dev_arm(fd, 3600 * S, 0);
	CHECK_EQ(dev_info(fd).timers, 2);
	CHECK_EQ(dev_info(fd).max_timers, 2);
}

static void setup_shapes(void)
{
	struct twheel_setup setup = {
		.clockid = CLOCK_BOOTTIME, .tick_ns = 250000, .slots = 100,
	};
	int fd = dev_open();
	struct twheel_info info;
	struct twheel_op op = { .deadline_ns = 3 * MS };

	info = dev_info(fd);
	CHECK_EQ(info.clockid, CLOCK_MONOTONIC);
	CHECK_EQ(info.tick_ns, MS);
	CHECK_EQ(info.slots, 256);
	NEED(ioctl(fd, TWHEEL_IOC_SETUP, &setup) == 0);
	info = dev_info(fd);
	CHECK_EQ(info.clockid, CLOCK_BOOTTIME);
	CHECK_EQ(info.tick_ns, 250000);
	CHECK_EQ(info.slots, 128);
	CHECK_EQ(info.levels, 9);
	CHECK(info.now_ns <= dev_now(CLOCK_BOOTTIME));
	dev_arm_op(fd, &op);
	CHECK(dev_read(fd).fired_ns >= op.deadline_ns);
	CHECK(dev_now(CLOCK_BOOTTIME) >= op.deadline_ns);
}

static void counters_count(void)
{
	int fd = dev_open();
	struct twheel_info info;
	uint64_t id;

	dev_arm(fd, MS, 0);
	dev_arm(fd, MS, 0);
	id = dev_arm(fd, 3600 * S, 0);
	dev_arm(fd, 3600 * S, 0);
	CHECK_EQ(dev_cancel(fd, id), 0);
	dev_wait_unread(fd, 2);
	dev_read(fd);
	info = dev_info(fd);
	CHECK_EQ(info.timers, 2);
	CHECK_EQ(info.pending, 1);
	CHECK_EQ(info.unread, 1);
	CHECK_EQ(info.armed, 4);
	CHECK_EQ(info.fired, 2);
	CHECK_EQ(info.cancelled, 1);
	CHECK(info.passes >= 1);
}

static void huge_delays_wait(void)
{
	int fd = dev_open();
	struct twheel_op op = { .deadline_ns = TWHEEL_DELAY_NEVER };

	dev_arm_op(fd, &op);
	CHECK_EQ(op.deadline_ns, TWHEEL_DELAY_NEVER);
	dev_arm(fd, 400ULL * 86400 * S, 0);
	dev_arm(fd, TWHEEL_DELAY_NEVER - 1, 0);
	CHECK_EQ(dev_readable(fd, 100), 0);
	CHECK_EQ(dev_info(fd).pending, 3);
}

static void cancel_all_counts(void)
{
	int fd = dev_open();
	int i;

	CHECK_EQ(dev_cancel_all(fd), 0);
	for (i = 0; i < 1000; i++)
		dev_arm(fd, i < 10 ? MS : 3600 * S, i);
	dev_wait_unread(fd, 10);
	CHECK_EQ(dev_cancel_all(fd), 1000);
	CHECK_EQ(dev_cancel_all(fd), 0);
	CHECK_EQ(dev_readable(fd, 0), 0);
	CHECK_EQ(dev_info(fd).timers, 0);
	dev_arm(fd, MS, 0);
	dev_read(fd);
}

static void empty_wheel_is_silent(void)
{
	uint64_t passes, id[3], began, delay;
	int fd, i;

	FOR_EACH_DELAY(delay) {
		fd = dev_open();
		CHECK_EQ(dev_info(fd).passes, 0);
		began = dev_now(CLOCK_MONOTONIC);
		for (i = 0; i < 3; i++)
			id[i] = dev_arm(fd, delay + 20 * i * MS, 0);
		for (i = 0; i < 3; i++)
			CHECK(dev_cancel(fd, id[i]) >= 0);
		if (!dev_passed(began + delay))
			break;
		close(fd);
	}
	/* All deadlines have passed, and no interrupt came. */
	dev_wait_passed(began + delay + 100 * MS);
	CHECK_EQ(dev_info(fd).passes, 0);

	/* After the passes for these instants, there are no more. */
	for (i = 0; i < 4; i++) {
		dev_arm(fd, (100 + 50 * i) * MS, 0);
		dev_arm(fd, (100 + 50 * i) * MS, 0);
	}
	dev_wait_unread(fd, 8);
	passes = dev_info(fd).passes;
	CHECK(passes >= 1);
	CHECK(passes <= 8);
	usleep(300000);
	CHECK_EQ(dev_info(fd).passes, passes);
}

/* Does the kernel list an hrtimer of ours, by the name of its callback? */
static bool alarm_is_listed(void)
{
	FILE *list = fopen("/proc/timer_list", "r");
	bool found = false;
	char line[256];

	if (!list)
		tap_skip("/proc/timer_list cannot be read");
	while (fgets(line, sizeof(line), list))
		found |= !!strstr(line, "clock_alarm");
	fclose(list);
	return found;
}

static void empty_wheel_has_no_alarm(void)
{
	int fd = dev_open(), i;
	uint64_t id;

	CHECK(!alarm_is_listed());
	id = dev_arm(fd, 3600 * S, 0);
	if (!CHECK(alarm_is_listed()))
		return;
	dev_arm(fd, 20 * MS, 0);
	dev_read(fd);
	/* The pass that has fired it sets the alarm at its end, maybe on another CPU. */
	for (i = 0; i < 600 && !alarm_is_listed(); i++)
		usleep(100000);
	CHECK(alarm_is_listed());
	CHECK_EQ(dev_cancel(fd, id), 0);
	CHECK(!alarm_is_listed());
	dev_arm(fd, MS, 0);
	dev_read(fd);
	/* Here too it may just be ending. */
	for (i = 0; i < 600 && alarm_is_listed(); i++)
		usleep(100000);
	CHECK(!alarm_is_listed());
}

static const struct tap_test tests[] = {
	TAP(relative),
	TAP(absolute),
	TAP(past_fires_at_once),
	TAP(slack_is_taken),
	TAP(oldest_first_and_whole_records),
	TAP(query_returns_the_timer),
	TAP(cancel_pending_and_fired),
	TAP(modify_moves),
	TAP(later_only_later),
	TAP(modify_too_late),
	TAP(periodic_counts_overruns),
	TAP(periodic_modify_moves_phase),
	TAP(ids_carry_a_generation),
	TAP(limit_recovers),
	TAP(setup_shapes),
	TAP(counters_count),
	TAP(huge_delays_wait),
	TAP(cancel_all_counts),
	TAP(empty_wheel_is_silent),
	TAP(empty_wheel_has_no_alarm),
};

int main(int argc, char **argv)
{
	return tap_main(tests, sizeof(tests) / sizeof(*tests), argc, argv);
}
