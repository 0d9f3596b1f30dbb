// SPDX-License-Identifier: GPL-2.0-only
/*
 * What each operation does, on a virtual clock. Periods and slack are in period_test.c, arrays
 * of operations in ops_test.c, refusals in refuse_test.c, exact times in exact_test.c.
 */
#include <fcntl.h>
#include <stdlib.h>
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

TEST(armed_for_a_delay)
{
	struct twheel_op op = { .time_ns = 30 * MS, .cookie = ~7ULL, .slack_ns = 1 };
	int fd = wheel_open();
	struct twheel_event event;

	dev_arm_op(fd, &op);
	CHECK_EQ(op.deadline_ns, START + 30 * MS);
	dev_advance(fd, 30 * MS);
	dev_silent(fd);
	dev_advance(fd, MS - 1);
	event = dev_read(fd);
	CHECK_EQ(event.id, op.id);
	CHECK_EQ(event.cookie, ~7ULL);
	CHECK_EQ(event.deadline_ns, op.deadline_ns);
	CHECK_EQ(event.now_ns, START + 31 * MS - 1);
	CHECK_EQ(event.count, 1);
	CHECK_EQ(event.type, TWHEEL_EVENT_TIMER);
	CHECK_EQ(event.flags, TWHEEL_EVENT_LAST);
	dev_silent(fd);
	CHECK_EQ(dev_info(fd).timers, 0);
}

/* Inputs stay: the same structure arms again and again. Outputs are not read. */
TEST(a_structure_serves_again)
{
	const struct twheel_op arm = {
		.op = TWHEEL_OP_ARM, .cookie = 3, .time_ns = S, .period_ns = 2 * S, .slack_ns = 5,
	};
	struct twheel_op op = arm, want = arm;
	int fd = wheel_open(), i;
	uint64_t last = 0;

	for (i = 0; i < 3; i++) {
		op.deadline_ns = ~0ULL;
		op.result = ~0ULL;
		NEED(dev_op(fd, &op) == 0);
		CHECK(op.id && op.id != last);
		last = op.id;
		want.id = op.id;
		want.deadline_ns = START + S;
		want.result = 0;
		CHECK(!memcmp(&op, &want, sizeof(op)));
	}
	CHECK_EQ(dev_info(fd).timers, 3);
	op = (struct twheel_op) {
		.op = TWHEEL_OP_MODIFY, .id = last, .time_ns = MS, .deadline_ns = 5, .result = -5,
	};
	want = op;
	NEED(dev_op(fd, &op) == 1);
	want.deadline_ns = START + MS;
	want.result = 1;
	CHECK(!memcmp(&op, &want, sizeof(op)));
	/* Others do not use the deadline: it may be anything. */
	op = (struct twheel_op) {
		.op = TWHEEL_OP_CANCEL, .id = last, .deadline_ns = ~0ULL, .result = -1,
	};
	CHECK_EQ(dev_op(fd, &op), 1);
	CHECK_EQ(op.result, 1);
	CHECK_EQ(op.id, last);
}

TEST(the_past_is_due_at_once)
{
	int fd = wheel_open(), i;

	dev_arm_at(fd, 0, 1);
	dev_arm_at(fd, 1, 2);
	dev_arm_at(fd, 10 * S, 3);
	for (i = 0; i < 3; i++)
		CHECK(dev_read(fd).deadline_ns <= 10 * S);
	/* Now is between two ticks, so it comes with the next one. */
	dev_arm(fd, 0, 0);
	dev_silent(fd);
	dev_advance(fd, MS - 1);
	CHECK_EQ(dev_read(fd).deadline_ns, START);
	dev_arm(fd, 0, 0);
	CHECK_EQ(dev_read(fd).deadline_ns, START + MS - 1);
}

TEST(query_tells)
{
	int fd = wheel_open();
	uint64_t id = dev_arm(fd, S, 1), deadline;

	CHECK_EQ(dev_query(fd, id, &deadline), 0);
	CHECK_EQ(deadline, START + S);
	dev_advance(fd, 2 * S);
	CHECK_EQ(dev_query(fd, id, &deadline), 1);
	CHECK_EQ(deadline, START + S);
	dev_read(fd);
	CHECK_ERR(dev_query(fd, id, &deadline), ENOENT);
}

TEST(a_cancelled_timer_is_silent)
{
	int fd = wheel_open();
	uint64_t id = dev_arm(fd, S, 1);

	CHECK_EQ(dev_cancel(fd, id), 1);
	CHECK_ERR(dev_cancel(fd, id), ENOENT);
	dev_advance(fd, 2 * S);
	dev_silent(fd);
	/* Due, and seen to be due. */
	id = dev_arm(fd, 0, 2);
	dev_advance(fd, MS);
	CHECK_EQ(dev_readable(fd, 0), 1);
	CHECK_EQ(dev_cancel(fd, id), 1);
	dev_silent(fd);
	CHECK_ERR(dev_cancel(fd, id), ENOENT);
	/* Its event has been read. */
	id = dev_arm(fd, 0, 3);
	dev_advance(fd, MS);
	dev_read(fd);
	CHECK_ERR(dev_cancel(fd, id), ENOENT);
	CHECK_EQ(dev_info(fd).timers, 0);
}

/* A due timer is pending again: its event does not come. */
TEST(modify_takes_back)
{
	static const uint32_t flags[] = { 0, TWHEEL_LATER };
	int fd = wheel_open();
	unsigned int i;
	uint64_t id;

	for (i = 0; i < SIZE_OF(flags); i++) {
		id = dev_arm(fd, 0, i);
		dev_advance(fd, MS);
		CHECK_EQ(dev_readable(fd, 0), 1);
		CHECK_EQ(dev_modify(fd, id, flags[i], S), 1);
		CHECK_EQ(dev_query(fd, id, NULL), 0);
		dev_silent(fd);
		dev_advance(fd, S + MS);
		CHECK_EQ(dev_read(fd).cookie, i);
		dev_silent(fd);
	}
	/* And one that is pending becomes due. */
	id = dev_arm(fd, HOUR, 5);
	CHECK_EQ(dev_modify(fd, id, TWHEEL_ABS, 1), 1);
	CHECK_EQ(dev_query(fd, id, NULL), 1);
	CHECK_EQ(dev_read(fd).deadline_ns, 1);
}

TEST(later_only_later)
{
	int fd = wheel_open();
	uint64_t id = dev_arm(fd, 100 * S, 0);
	struct twheel_op op = {
		.op = TWHEEL_OP_MODIFY, .flags = TWHEEL_LATER, .id = id, .time_ns = S,
	};

	CHECK_EQ(dev_op(fd, &op), 0);
	CHECK_EQ(op.deadline_ns, START + 100 * S);
	/* The same deadline is not a later one. */
	op.time_ns = 100 * S;
	CHECK_EQ(dev_op(fd, &op), 0);
	op.time_ns++;
	CHECK_EQ(dev_op(fd, &op), 1);
	CHECK_EQ(op.deadline_ns, START + 100 * S + 1);
	op.flags |= TWHEEL_ABS;
	CHECK_EQ(dev_op(fd, &op), 0);
	op.time_ns = START + 500 * S;
	CHECK_EQ(dev_op(fd, &op), 1);
	dev_advance(fd, 500 * S - 1);
	dev_silent(fd);
	dev_advance(fd, MS);
	CHECK_EQ(dev_readable(fd, 0), 1);
	/* Due, and left alone. */
	CHECK_EQ(dev_op(fd, &op), 0);
	CHECK_EQ(dev_read(fd).deadline_ns, START + 500 * S);
}

TEST(far_is_never)
{
	static const uint64_t far[] = {
		TWHEEL_NEVER_NS, TWHEEL_NEVER_NS + 1, ~0ULL >> 1, (~0ULL >> 1) + 1, ~0ULL,
		TWHEEL_NEVER_NS - START,
	};
	struct twheel_op op = { };
	int fd = wheel_open();
	unsigned int i;

	for (i = 0; i < SIZE_OF(far); i++) {
		op = (struct twheel_op) { .time_ns = far[i] };
		dev_arm_op(fd, &op);
		CHECK_EQ(op.deadline_ns, TWHEEL_NEVER_NS);
		if (i == SIZE_OF(far) - 1)
			break;
		op = (struct twheel_op) { .flags = TWHEEL_ABS, .time_ns = far[i] };
		dev_arm_op(fd, &op);
		CHECK_EQ(op.deadline_ns, TWHEEL_NEVER_NS);
		CHECK_EQ(dev_modify(fd, op.id, TWHEEL_LATER, ~0ULL), 0);
	}
	op = (struct twheel_op) { .time_ns = TWHEEL_NEVER_NS - START - 1 };
	dev_arm_op(fd, &op);
	CHECK_EQ(op.deadline_ns, TWHEEL_NEVER_NS - 1);
	dev_advance(fd, TWHEEL_NEVER_NS / 2);
	dev_silent(fd);
	CHECK_EQ(dev_query(fd, op.id, NULL), 0);
	CHECK_EQ(dev_info(fd).timers, 12);
}

/* {generation << 32 | index}: the index is used again, and the generation grows. */
TEST(identifiers_are_not_used_again)
{
	enum { N = 3000 };
	static uint64_t ids[N], last[64];
	int fd = wheel_open(), i;

	for (i = 0; i < N; i++) {
		ids[i] = dev_arm(fd, i % 2 ? 0 : S, i);
		NEED((uint32_t)ids[i] < SIZE_OF(last) && ids[i] > last[(uint32_t)ids[i]]);
		last[(uint32_t)ids[i]] = ids[i];
		if (i % 2) {
			dev_advance(fd, MS);
			CHECK_EQ(dev_read(fd).id, ids[i]);
		} else {
			CHECK_EQ(dev_cancel(fd, ids[i]), 1);
		}
		if (i)
			CHECK_ERR(dev_query(fd, ids[i / 2], NULL), ENOENT);
	}
}

TEST(all_are_cancelled)
{
	struct twheel_op op = { .op = TWHEEL_OP_CANCEL_ALL };
	int fd = wheel_open(), i;

	CHECK_EQ(dev_op(fd, &op), 0);
	for (i = 0; i < 1000; i++)
		dev_arm(fd, i % 3 ? HOUR : 0, i);
	dev_advance(fd, MS);
	for (i = 0; i < 4; i++)
		dev_read(fd);
	CHECK_EQ(dev_op(fd, &op), 996);
	CHECK_EQ(op.result, 996);
	CHECK_EQ(dev_op(fd, &op), 0);
	CHECK_EQ(dev_info(fd).timers, 0);
	dev_advance(fd, 2 * HOUR);
	dev_silent(fd);
	dev_arm(fd, 0, 4);
	dev_advance(fd, MS);
	CHECK_EQ(dev_read(fd).cookie, 4);
}

TEST(advance_sets_the_clock)
{
	struct twheel_op op = { .op = TWHEEL_OP_ADVANCE, .time_ns = 5, .deadline_ns = 9 };
	int fd = dev_open_virtual();

	CHECK_EQ(dev_info(fd).now_ns, 0);
	CHECK_EQ(dev_op(fd, &op), 0);
	CHECK_EQ(op.deadline_ns, 5);
	CHECK_EQ(dev_op(fd, &op), 0);
	CHECK_EQ(op.deadline_ns, 10);
	CHECK_EQ(dev_info(fd).now_ns, 10);
	/* To where it is, by 0, or absolute. */
	op.time_ns = 0;
	CHECK_EQ(dev_op(fd, &op), 0);
	op = (struct twheel_op) {
		.op = TWHEEL_OP_ADVANCE, .flags = TWHEEL_ABS, .time_ns = 10,
	};
	CHECK_EQ(dev_op(fd, &op), 0);
	CHECK_EQ(op.deadline_ns, 10);
	op.time_ns = 9;
	CHECK_ERR(dev_op(fd, &op), ERANGE);
	CHECK_EQ(dev_info(fd).now_ns, 10);
	/* It stands still otherwise. */
	dev_arm(fd, MS, 0);
	usleep(20000);
	dev_silent(fd);
	CHECK_EQ(dev_info(fd).now_ns, 10);
	/* To the last instant there is. */
	op.time_ns = TWHEEL_NEVER_NS - 1;
	CHECK_EQ(dev_op(fd, &op), 0);
	CHECK_EQ(dev_info(fd).now_ns, TWHEEL_NEVER_NS - 1);
	dev_read(fd);
}
