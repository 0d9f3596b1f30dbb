// SPDX-License-Identifier: GPL-2.0-only
/* Periodic timers, and those that may be late to share an instant with others. */
#include <unistd.h>

#include "lib/device.h"
#include "lib/tap.h"

/* Where the clock of a test stands first: not at 0, and between two ticks. */
#define START	(10 * S + 1)

static int wheel_open(void)
{
	int fd = dev_open_virtual();

	NEED(dev_advance(fd, START) == START);
	return fd;
}

static struct twheel_event read_periodic(int fd, uint64_t deadline_ns, uint64_t count)
{
	struct twheel_event event = dev_read(fd);

	CHECK_EQ(event.deadline_ns, deadline_ns);
	CHECK_EQ(event.count, count);
	CHECK_EQ(event.flags, 0);
	dev_silent(fd);
	return event;
}

TEST(periods_stay_in_phase)
{
	struct twheel_op op = { .time_ns = 10 * MS, .period_ns = 20 * MS + 3 };
	int fd = wheel_open();
	uint64_t id = dev_arm_op(fd, &op), first = op.deadline_ns, next;

	dev_advance(fd, 11 * MS);
	CHECK_EQ(read_periodic(fd, first, 1).id, id);
	CHECK_EQ(dev_query(fd, id, &next), 0);
	CHECK_EQ(next, first + op.period_ns);
	/* Read late: one event for all, and the next deadline as if it were not. */
	dev_advance(fd, 20 * MS + 2 + 7 * op.period_ns);
	CHECK_EQ(read_periodic(fd, first + op.period_ns, 8).id, id);
	CHECK_EQ(dev_query(fd, id, &next), 0);
	CHECK_EQ(next, first + 9 * op.period_ns);
	dev_advance(fd, op.period_ns);
	read_periodic(fd, next, 1);
	CHECK_EQ(dev_info(fd).timers, 1);
	/* Due or not, it can be cancelled. */
	dev_advance(fd, op.period_ns);
	CHECK_EQ(dev_readable(fd, 0), 1);
	CHECK_EQ(dev_cancel(fd, id), 1);
	dev_advance(fd, S);
	dev_silent(fd);
	CHECK_EQ(dev_info(fd).timers, 0);
}

/* A period is nanoseconds: several in a tick are counted. */
TEST(periods_below_a_tick)
{
	struct twheel_op op = { .flags = TWHEEL_ABS, .time_ns = 20 * S, .period_ns = 1 };
	int fd = wheel_open();

	dev_arm_op(fd, &op);
	dev_advance(fd, 20 * S - START);
	read_periodic(fd, 20 * S, 1);
	dev_advance(fd, MS);
	read_periodic(fd, 20 * S + 1, MS);
	dev_advance(fd, 100 * HOUR);
	read_periodic(fd, 20 * S + MS + 1, 100 * HOUR);
}

/* There is no deadline after it: this event is the last one. */
TEST(periods_end)
{
	struct twheel_op op = {
		.flags = TWHEEL_ABS, .time_ns = START, .period_ns = TWHEEL_NEVER_NS,
	};
	int fd = wheel_open();
	uint64_t id = dev_arm_op(fd, &op), next;

	dev_advance(fd, MS);
	CHECK_EQ(dev_read(fd).flags, TWHEEL_EVENT_LAST);
	CHECK_ERR(dev_cancel(fd, id), ENOENT);
	/* The last one but one, which is 1 ns before the time that never comes. */
	op.period_ns = TWHEEL_NEVER_NS - 1 - START;
	dev_arm_op(fd, &op);
	CHECK_EQ(dev_read(fd).flags, 0);
	CHECK_EQ(dev_query(fd, op.id, &next), 0);
	CHECK_EQ(next, TWHEEL_NEVER_NS - 1);
	CHECK_EQ(dev_info(fd).timers, 1);
}

/* Timers that may be late share the instant that most could share: here, a power of two. */
TEST(slack_is_shared)
{
	const uint64_t shared = 8192 * MS, slack = 40 * MS;
	struct twheel_event events[16];
	int fd = dev_open_virtual(), i;

	for (i = 0; i < 16; i++) {
		struct twheel_op op = { .time_ns = shared - (9 + i) * MS, .slack_ns = slack };

		dev_arm_op(fd, &op);
	}
	dev_advance(fd, shared - 1);
	dev_silent(fd);
	dev_advance(fd, 1);
	CHECK_EQ(events_read(fd, events, 16), 16);
	/* Of each, the deadline is that which was asked for. */
	for (i = 0; i < 16; i++)
		CHECK_EQ((shared - events[i].deadline_ns) % MS, 0);
	CHECK_EQ(events[0].now_ns, shared);
}

/* It is never early, and not later than it may be. A modify keeps it. */
TEST(slack_ends)
{
	struct twheel_op op = { .slack_ns = 7 * MS };
	int fd = wheel_open(), i;

	for (i = 0; i < 300; i++) {
		op.time_ns = i % 2 ? HOUR : 20 * MS + i * 3 * US;
		dev_arm_op(fd, &op);
		op.deadline_ns = dev_info(fd).now_ns + 20 * MS + i * 3 * US;
		if (i % 2)
			CHECK_EQ(dev_modify(fd, op.id, TWHEEL_ABS, op.deadline_ns), 1);
		dev_advance(fd, op.deadline_ns - dev_info(fd).now_ns - 1);
		dev_silent(fd);
		dev_advance(fd, 7 * MS + 1);
		CHECK_EQ(dev_read(fd).deadline_ns, op.deadline_ns);
	}
	/* One that may be late without an end, and one that has a period besides. */
	op = (struct twheel_op) { .time_ns = S, .slack_ns = TWHEEL_NEVER_NS };
	dev_arm_op(fd, &op);
	dev_advance(fd, S - 1);
	dev_silent(fd);
	CHECK_EQ(dev_cancel(fd, op.id), 1);
	op.period_ns = HOUR;
	dev_arm_op(fd, &op);
	CHECK_EQ(dev_cancel(fd, op.id), 1);
}
