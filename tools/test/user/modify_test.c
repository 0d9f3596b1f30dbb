// SPDX-License-Identifier: GPL-2.0-only
/* Changing timers: deadlines, periods, slack, cookies; and arming or modifying. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "lib/device.h"
#include "lib/tap.h"

#define HOUR	(3600 * S)

static int op_modify(int fd, struct twheel_op *op)
{
	return ioctl(fd, TWHEEL_IOC_MODIFY, op);
}

/* Arm, or modify the timer @op->id. */
static int op_or_modify(int fd, struct twheel_op *op)
{
	op->flags |= TWHEEL_OR_MODIFY;
	return ioctl(fd, TWHEEL_IOC_ARM, op);
}

static void tells_the_deadline(void)
{
	int fd = dev_open();
	uint64_t id = dev_arm(fd, HOUR, 0), before = dev_now(CLOCK_MONOTONIC);
	struct twheel_op op = { .id = id, .deadline_ns = 2 * HOUR }, got;

	CHECK_EQ(op_modify(fd, &op), 0);
	CHECK(op.deadline_ns >= before + 2 * HOUR);
	CHECK(op.deadline_ns <= dev_now(CLOCK_MONOTONIC) + 2 * HOUR);
	CHECK_EQ(op.flags | op.result | op.state, 0);
	NEED(dev_query(fd, id, &got) == 0);
	CHECK_EQ(got.deadline_ns, op.deadline_ns);
	/* What it tells means the same instant again. */
	op.flags = TWHEEL_ABS;
	CHECK_EQ(op_modify(fd, &op), 0);
	CHECK_EQ(op.deadline_ns, got.deadline_ns);
	op.flags = TWHEEL_ABS | TWHEEL_MONOTONIC;
	CHECK_EQ(op_modify(fd, &op), 0);
	CHECK_EQ(op.deadline_ns, got.deadline_ns);
	/* A deadline that stays is told, too. */
	op.flags = TWHEEL_LATER;
	op.deadline_ns = S;
	CHECK_EQ(op_modify(fd, &op), 1);
	CHECK_EQ(op.deadline_ns, got.deadline_ns);
}

static void changes_what_the_flags_say(void)
{
	static const uint32_t flags[] = {
		TWHEEL_SET_PERIOD, TWHEEL_SET_SLACK, TWHEEL_SET_COOKIE,
		TWHEEL_SET_PERIOD | TWHEEL_SET_SLACK | TWHEEL_SET_COOKIE,
	};
	struct twheel_op op, got;
	int fd = dev_open();
	unsigned int i;

	for (i = 0; i < sizeof(flags) / sizeof(*flags); i++) {
		op = (struct twheel_op) {
			.deadline_ns = HOUR, .period_ns = 1 * S,
			.slack_ns = 2, .cookie = 3,
		};
		dev_arm_op(fd, &op);
		op = (struct twheel_op) {
			.id = op.id, .flags = flags[i], .deadline_ns = 2 * HOUR,
			.period_ns = flags[i] & TWHEEL_SET_PERIOD ? 4 * S : 0,
			.slack_ns = flags[i] & TWHEEL_SET_SLACK ? 5 : 0,
			.cookie = flags[i] & TWHEEL_SET_COOKIE ? 6 : 0,
		};
		CHECK_EQ(op_modify(fd, &op), 0);
		NEED(dev_query(fd, op.id, &got) == 0);
		CHECK_EQ(got.period_ns, flags[i] & TWHEEL_SET_PERIOD ? 4 * S : 1 * S);
		CHECK_EQ(got.slack_ns, flags[i] & TWHEEL_SET_SLACK ? 5 : 2);
		CHECK_EQ(got.cookie, flags[i] & TWHEEL_SET_COOKIE ? 6 : 3);
	}
	/* One that is left alone is left alone entirely. */
	op.flags |= TWHEEL_LATER;
	op.deadline_ns = S;
	op.cookie = 7;
	CHECK_EQ(op_modify(fd, &op), 1);
	NEED(dev_query(fd, op.id, &got) == 0);
	CHECK_EQ(got.cookie, 6);
	/* A periodic timer may become a one-shot timer, and fires once. */
	op = (struct twheel_op) { .id = op.id, .flags = TWHEEL_SET_PERIOD };
	CHECK_EQ(op_modify(fd, &op), 0);
	CHECK_EQ(dev_read(fd).flags, TWHEEL_EVENT_LAST);
	CHECK_ERR(dev_query(fd, op.id, &got), ENOENT);
}

static void periodic_with_an_unread_event(void)
{
	struct twheel_op op = { .period_ns = MS, .cookie = 1 }, got;
	int fd = dev_open_flags(O_NONBLOCK);
	uint64_t id = dev_arm_op(fd, &op);

	dev_wait_unread(fd, 1);
	/* A later deadline comes too late for the one that was reached. */
	CHECK_ERR(dev_modify(fd, id, TWHEEL_LATER, HOUR), EALREADY);
	CHECK_EQ(dev_info(fd).unread, 1);
	op = (struct twheel_op) {
		.id = id, .flags = TWHEEL_SET_PERIOD | TWHEEL_SET_COOKIE,
		.deadline_ns = HOUR, .period_ns = 2 * S, .cookie = 9,
	};
	CHECK_EQ(op_modify(fd, &op), 2);
	CHECK_EQ(dev_info(fd).unread, 0);
	CHECK_EQ(dev_info(fd).pending, 1);
	CHECK_EQ(dev_readable(fd, 20), 0);
	NEED(dev_query(fd, id, &got) == 0);
	CHECK_EQ(got.state, TWHEEL_STATE_PENDING);
	CHECK_EQ(got.deadline_ns, op.deadline_ns);
	CHECK_EQ(dev_modify(fd, id, 0, 0), 0);
	CHECK_EQ(dev_readable(fd, -1), 1);
	CHECK_EQ(dev_read(fd).cookie, 9);
	NEED(dev_query(fd, id, &got) == 0);
	CHECK_EQ(got.period_ns, 2 * S);
	/* A one-shot timer that has fired is over. */
	id = dev_arm(fd, 0, 5);
	dev_wait_unread(fd, 1);
	CHECK_ERR(dev_modify(fd, id, 0, HOUR), EALREADY);
	CHECK_EQ(dev_read(fd).cookie, 5);
}

static void arms_or_modifies(void)
{
	struct twheel_setup setup = { .clockid = CLOCK_MONOTONIC, .max_timers = 1 };
	struct twheel_op op = { .deadline_ns = HOUR, .cookie = 1 }, got;
	int fd = dev_open_flags(O_NONBLOCK);
	uint64_t id;

	NEED(ioctl(fd, TWHEEL_IOC_SETUP, &setup) == 0);
	CHECK_EQ(op_or_modify(fd, &op), 0);
	id = op.id;
	NEED(id != 0);
	/* It is there: the same timer, although there is no room for another. */
	op = (struct twheel_op) { .id = id, .deadline_ns = 2 * HOUR, .cookie = 2,
				  .period_ns = S, .slack_ns = 3 };
	CHECK_EQ(op_or_modify(fd, &op), 1);
	CHECK_EQ(op.id, id);
	NEED(dev_query(fd, id, &got) == 0);
	CHECK_EQ(got.deadline_ns, op.deadline_ns);
	CHECK_EQ(got.cookie, 2);
	CHECK_EQ(got.period_ns, S);
	CHECK_EQ(got.slack_ns, 3);
	op = (struct twheel_op) { .id = id, .cookie = 3 };
	CHECK_EQ(op_or_modify(fd, &op), 1);
	dev_wait_unread(fd, 1);
	/* It has fired: the event is withdrawn. */
	op = (struct twheel_op) { .id = id, .deadline_ns = 0, .cookie = 4 };
	CHECK_EQ(op_or_modify(fd, &op), 2);
	CHECK_EQ(op.id, id);
	dev_wait_unread(fd, 1);
	CHECK_EQ(dev_read(fd).cookie, 4);
	/* It is gone: a new one. */
	op = (struct twheel_op) { .id = id, .deadline_ns = HOUR, .cookie = 5 };
	CHECK_EQ(op_or_modify(fd, &op), 0);
	CHECK(op.id != id);
	CHECK_EQ(dev_info(fd).armed, 2);
	/* There is no room for a second one, and the operation stays as it was. */
	op = (struct twheel_op) { .id = id, .deadline_ns = HOUR };
	CHECK_ERR(op_or_modify(fd, &op), ENOSPC);
	CHECK_EQ(op.id, id);
	CHECK_EQ(op.deadline_ns, HOUR);
}

static void arms_or_modifies_in_a_batch(void)
{
	int fd = dev_open();
	uint64_t id = dev_arm(fd, HOUR, 1);
	const struct twheel_op either = {
		.op = TWHEEL_OP_ARM, .flags = TWHEEL_OR_MODIFY, .deadline_ns = HOUR,
	};
	struct twheel_op ops[3] = { either, either, either };

	ops[1].id = id;
	ops[2].id = id ^ 1ULL << 40;
	CHECK_EQ(dev_batch(fd, ops, 3), 3);
	CHECK_EQ(ops[0].result, 0);
	CHECK_EQ(ops[1].result, 1);
	CHECK_EQ(ops[1].id, id);
	CHECK_EQ(ops[2].result, 0);
	CHECK(ops[0].id != ops[2].id && ops[2].id != id);
	CHECK_EQ(dev_info(fd).timers, 3);
}

static void in_cells(void)
{
	struct twheel_setup setup = {
		.clockid = CLOCK_MONOTONIC, .flags = TWHEEL_SETUP_CELLS,
		.max_timers = 4,
	};
	struct twheel_op op = { .id = 2, .deadline_ns = HOUR, .cookie = 1 }, got;
	int fd = dev_open();
	uint64_t id;

	if (!(dev_info(fd).features & TWHEEL_FEATURE_CELLS))
		tap_skip("this kernel has no cells");
	NEED(ioctl(fd, TWHEEL_IOC_SETUP, &setup) == 0);
	CHECK_EQ(op_or_modify(fd, &op), 0);
	id = op.id;
	CHECK_EQ((uint32_t)id, 2);
	op = (struct twheel_op) { .id = id, .deadline_ns = 2 * HOUR,
				  .period_ns = S, .cookie = 2 };
	CHECK_EQ(op_or_modify(fd, &op), 1);
	CHECK_EQ(op.id, id);
	NEED(dev_query(fd, id, &got) == 0);
	CHECK_EQ(got.deadline_ns, op.deadline_ns);
	CHECK_EQ(got.period_ns, S);
	CHECK_EQ(got.cookie, 2);
	op = (struct twheel_op) { .id = id, .flags = TWHEEL_SET_PERIOD };
	CHECK_EQ(op_modify(fd, &op), 0);
	dev_wait_unread(fd, 1);
	/* It has fired, and a new timer takes its place. */
	op = (struct twheel_op) { .id = id, .deadline_ns = HOUR };
	CHECK_EQ(op_or_modify(fd, &op), 0);
	CHECK(op.id != id && (uint32_t)op.id == 2);
	CHECK_ERR(dev_query(fd, id, &got), ENOENT);
	/* The cell has another timer. */
	op = (struct twheel_op) { .id = id, .deadline_ns = HOUR };
	CHECK_ERR(op_or_modify(fd, &op), EBUSY);
	op = (struct twheel_op) { .id = 4, .deadline_ns = HOUR };
	CHECK_ERR(op_or_modify(fd, &op), EINVAL);
}

static atomic_bool reader_over;

static void *reader_run(void *arg)
{
	struct twheel_event event;

	while (!reader_over)
		if (read(*(int *)arg, &event, sizeof(event)) < 0)
			usleep(100);
	return NULL;
}

/* A reader may have the event, or its callback may be about to run. */
static void beside_a_reader(void)
{
	struct twheel_setup setup = {
		.clockid = CLOCK_MONOTONIC, .tick_ns = 100000,
	};
	int fd = dev_open_flags(O_NONBLOCK), i, ret;
	uint64_t stop = dev_now(CLOCK_MONOTONIC) + 2 * S;
	struct twheel_op op = { };
	struct twheel_info info;
	pthread_t thread;
	uint64_t id;

	NEED(ioctl(fd, TWHEEL_IOC_SETUP, &setup) == 0);
	op.period_ns = 100000;
	id = dev_arm_op(fd, &op);
	NEED(!pthread_create(&thread, NULL, reader_run, &fd));
	for (i = 0; !dev_passed(stop); i++) {
		op = (struct twheel_op) {
			.id = id, .deadline_ns = i % 3 * 100000,
			.period_ns = i % 7 ? 100000 : 200000,
			.flags = i % 2 ? TWHEEL_SET_PERIOD : TWHEEL_OR_MODIFY,
		};
		ret = ioctl(fd, i % 2 ? TWHEEL_IOC_MODIFY : TWHEEL_IOC_ARM, &op);
		NEED(ret >= 0 && op.id == id);
	}
	info = dev_info(fd);
	CHECK_EQ(info.timers, 1);
	CHECK_EQ(info.pending + info.unread, 1);
	reader_over = true;
	NEED(!pthread_join(thread, NULL));
	/* It still goes on. */
	CHECK_EQ(dev_readable(fd, -1), 1);
	dev_read(fd);
	CHECK_EQ(dev_readable(fd, -1), 1);
	CHECK(dev_cancel(fd, id) >= 0);
	CHECK_EQ(dev_info(fd).timers, 0);
}

static const struct tap_test tests[] = {
	TAP(tells_the_deadline),
	TAP(changes_what_the_flags_say),
	TAP(periodic_with_an_unread_event),
	TAP(arms_or_modifies),
	TAP(arms_or_modifies_in_a_batch),
	TAP(in_cells),
	TAP(beside_a_reader),
};

int main(int argc, char **argv)
{
	return tap_main(tests, sizeof(tests) / sizeof(*tests), argc, argv);
}
