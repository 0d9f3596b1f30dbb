// SPDX-License-Identifier: GPL-2.0-only
/*
 * libtwheel reads events ahead, and the program does not notice: what is done to a timer
 * whose event has been read ahead does, and returns, what it would if the event were unread.
 * With TWHEEL_TEST_CELLS in the environment, the timers are in the shared mapping, where
 * nothing is read ahead: there it is the same.
 */
#include <errno.h>
#include <fcntl.h>
#include <sys/ioctl.h>
#include <time.h>

#include "lib/handle.h"
#include "lib/tap.h"

/* With batches, and one operation at a time. */
static const uint32_t kinds[] = { 0, TWHEEL_OPEN_NO_BATCH };

#define FOR_EACH_KIND(w, kind)							\
	for ((kind) = 0; (kind) < sizeof(kinds) / sizeof(*kinds) &&		\
	     ((w) = tw_open_with(kinds[kind])); (kind)++, twheel_close(w))

/* A timer with cookie 2 whose event has been read ahead: of one with cookie 1 it was taken. */
static uint64_t arm_ahead(struct twheel *wheel, uint64_t period_ns, uint32_t flags)
{
	struct twheel_op op = { .flags = flags | TWHEEL_ABS, .cookie = 2,
				.period_ns = period_ns };
	struct twheel_info info;

	NEED(!twheel_info(wheel, &info));
	op.deadline_ns = twheel_now(wheel);
	tw_arm(wheel, 0, 1);
	tw_wait_fired(wheel, info.fired + 1);
	NEED(!twheel_arm_op(wheel, &op));
	tw_wait_fired(wheel, info.fired + 2);
	NEED(tw_next_cookie(wheel) == 1);
	return op.id;
}

static void arm_withdraws(void)
{
	struct twheel_op op;
	struct twheel *w;
	unsigned int kind;
	uint64_t id;

	FOR_EACH_KIND(w, kind) {
		id = arm_ahead(w, 0, 0);
		op = (struct twheel_op){ .flags = TWHEEL_OR_MODIFY, .id = id,
					 .deadline_ns = HOUR, .cookie = 3 };
		CHECK_EQ(twheel_arm_op(w, &op), 2);
		tw_nothing_more(w);
		CHECK_EQ(twheel_cancel(w, id), -ENOENT);
		CHECK_EQ(twheel_cancel(w, op.id), 0);
		op = (struct twheel_op){ .flags = TWHEEL_OR_MODIFY, .id = id };
		CHECK_EQ(twheel_arm_op(w, &op), 0);
		CHECK_EQ(tw_next_cookie(w), 0);
	}
}

/* In a batch, among others: each is done in its turn. */
static void batched_arm_withdraws(void)
{
	struct twheel *w;
	unsigned int kind;

	FOR_EACH_KIND(w, kind) {
		uint64_t id = arm_ahead(w, 0, 0), other = tw_arm(w, HOUR, 4);
		struct twheel_op ops[] = {
			{ .op = TWHEEL_OP_MODIFY, .id = other, .deadline_ns = 2 * HOUR },
			{ .op = TWHEEL_OP_QUERY, .id = id },
			{ .op = TWHEEL_OP_ARM, .flags = TWHEEL_OR_MODIFY, .id = id,
			  .deadline_ns = HOUR, .cookie = 3 },
			{ .op = TWHEEL_OP_QUERY, .id = id },
			{ .op = TWHEEL_OP_ARM, .flags = TWHEEL_OR_MODIFY, .id = id,
			  .deadline_ns = HOUR },
			{ .op = TWHEEL_OP_CANCEL, .id = other },
		};

		CHECK_EQ(twheel_batch(w, ops, 6), 6);
		CHECK_EQ(ops[0].result, 0);
		CHECK_EQ(ops[1].result, 0);
		CHECK_EQ(ops[1].state, TWHEEL_STATE_FIRED);
		CHECK_EQ(ops[2].result, 2);
		CHECK_EQ(ops[2].op, TWHEEL_OP_ARM);
		CHECK_EQ(ops[3].result, -ENOENT);
		CHECK_EQ(ops[4].result, 0);
		CHECK_EQ(ops[5].result, 0);
		tw_nothing_more(w);
		CHECK_EQ(twheel_cancel(w, ops[2].id), 0);
		CHECK_EQ(twheel_cancel(w, ops[4].id), 0);
		/* What cannot be read is refused as always. */
		arm_ahead(w, 0, 0);
		CHECK_EQ(twheel_batch(w, (struct twheel_op *)8, 1), -EFAULT);
	}
}

/* A timer that goes on, with a period or with a fixed delay. */
static void timer_that_goes_on(uint32_t flags)
{
	struct twheel_op op, ops[2];
	struct twheel *w;
	unsigned int kind;
	uint64_t id;

	FOR_EACH_KIND(w, kind) {
		id = arm_ahead(w, HOUR, flags);
		op = (struct twheel_op){ .id = id };
		CHECK_EQ(twheel_query(w, &op), 0);
		CHECK_EQ(op.state, TWHEEL_STATE_FIRED);
		CHECK(op.deadline_ns <= twheel_now(w));
		CHECK_EQ(op.period_ns, HOUR);
		CHECK_EQ(op.cookie, 2);
		CHECK_EQ(twheel_extend(w, id, 3 * HOUR), -EALREADY);
		CHECK_EQ(twheel_extend_at(w, id, twheel_now(w) + 3 * HOUR), -EALREADY);
		CHECK_EQ(twheel_extend(w, id, ~0ULL), -EINVAL);
		ops[0] = (struct twheel_op){ .op = TWHEEL_OP_QUERY, .id = id };
		ops[1] = (struct twheel_op){ .op = TWHEEL_OP_MODIFY, .id = id,
					     .flags = TWHEEL_LATER, .deadline_ns = 3 * HOUR };
		CHECK_EQ(twheel_batch(w, ops, 2), 2);
		CHECK_EQ(ops[0].state, TWHEEL_STATE_FIRED);
		CHECK_EQ(ops[1].result, -EALREADY);
		CHECK_EQ(twheel_modify(w, id, 2 * HOUR), 2);
		tw_nothing_more(w);
		op = (struct twheel_op){ .id = id };
		CHECK_EQ(twheel_query(w, &op), 0);
		CHECK_EQ(op.state, TWHEEL_STATE_PENDING);
		CHECK_EQ(twheel_modify(w, id, 2 * HOUR), 0);
		CHECK_EQ(twheel_extend(w, id, 3 * HOUR), 0);
		CHECK_EQ(twheel_cancel(w, id), 0);

		id = arm_ahead(w, HOUR, flags);
		CHECK_EQ(twheel_cancel(w, id), 1);
		tw_nothing_more(w);

		id = arm_ahead(w, HOUR, flags);
		op = (struct twheel_op){ .flags = TWHEEL_OR_MODIFY, .id = id,
					 .deadline_ns = HOUR };
		CHECK_EQ(twheel_arm_op(w, &op), 2);
		CHECK_EQ(op.id, id);
		tw_nothing_more(w);
		CHECK_EQ(twheel_cancel(w, id), 0);

		id = arm_ahead(w, HOUR, flags);
		ops[0] = (struct twheel_op){ .op = TWHEEL_OP_MODIFY, .id = id,
					     .deadline_ns = HOUR };
		CHECK_EQ(twheel_batch(w, ops, 1), 1);
		CHECK_EQ(ops[0].result, 2);
		tw_nothing_more(w);
	}
}

static void periodic_one(void)
{
	timer_that_goes_on(0);
}

static void one_with_a_fixed_delay(void)
{
	timer_that_goes_on(TWHEEL_FIXED_DELAY);
}

/* Whatever its period becomes, its events and all calls know it by one identifier. */
static void identifier_stays(void)
{
	struct twheel_event event;
	struct twheel_op op;
	struct twheel *w;
	unsigned int kind;
	uint64_t id;

	FOR_EACH_KIND(w, kind) {
		op = (struct twheel_op){ .period_ns = HOUR };
		CHECK_EQ(twheel_arm_op(w, &op), 0);
		id = op.id;
		CHECK_EQ(twheel_next(w, &event, -1), 1);
		CHECK_EQ(event.id, id);
		CHECK_EQ(twheel_extend_at(w, id, twheel_now(w) + 2 * HOUR), 0);
		CHECK_EQ(twheel_extend_at(w, id, twheel_now(w) + HOUR), 1);
		op = (struct twheel_op){ .id = id, .flags = TWHEEL_SET_PERIOD };
		CHECK_EQ(twheel_modify_op(w, &op), 0);
		CHECK_EQ(op.id, id);
		CHECK_EQ(twheel_next(w, &event, -1), 1);
		CHECK_EQ(event.id, id);
		CHECK_EQ(event.flags, TWHEEL_EVENT_LAST);
		CHECK_EQ(twheel_cancel(w, id), -ENOENT);

		id = tw_arm(w, HOUR, 1);
		op = (struct twheel_op){ .id = id, .flags = TWHEEL_SET_PERIOD,
					 .period_ns = HOUR };
		CHECK_EQ(twheel_modify_op(w, &op), 0);
		CHECK_EQ(twheel_next(w, &event, -1), 1);
		CHECK_EQ(event.id, id);
		CHECK_EQ(event.flags, 0);
		CHECK_EQ(twheel_cancel(w, id), 0);
		CHECK_EQ(twheel_cancel(w, id), -ENOENT);
		tw_nothing_more(w);
	}
}

/* One call takes all that wait, whatever was read ahead. */
static void takes_all_that_wait(struct twheel *wheel)
{
	static struct twheel_event events[500];
	struct twheel_info info;
	unsigned int round, i;

	/* So many are taken first; of the others, some have been read ahead. */
	for (round = 1; round < 70; round += 17) {
		bool seen[200] = { false };

		NEED(!twheel_info(wheel, &info));
		for (i = 0; i < 200; i++)
			tw_arm(wheel, 0, i);
		tw_wait_fired(wheel, info.fired + 200);
		for (i = 0; i < round; i++)
			NEED(twheel_next(wheel, &events[i], 0) == 1);
		CHECK_EQ(twheel_events(wheel, events + i, 20, 0), 20);
		CHECK_EQ(twheel_events(wheel, events + i + 20, 100, 0), 100);
		CHECK_EQ(twheel_events(wheel, events + i + 120, 300, 0), 80 - round);
		for (i = 0; i < 200; i++) {
			NEED(events[i].cookie < 200);
			NEED(!seen[events[i].cookie]);
			seen[events[i].cookie] = true;
		}
		tw_nothing_more(wheel);
	}
	twheel_close(wheel);
}

static void all_that_wait(void)
{
	struct twheel_setup setup = {
		.clockid = CLOCK_MONOTONIC, .event_size = TWHEEL_EVENT_SIZE_MAX,
	};
	int fd = open("/dev/twheel", O_RDWR | O_CLOEXEC);
	struct twheel *wheel;

	takes_all_that_wait(tw_open_plain());
	/* The records are longer than the library knows. */
	NEED(fd >= 0 && ioctl(fd, TWHEEL_IOC_SETUP, &setup) == 0);
	NEED(twheel_adopt(&wheel, fd) == 0);
	takes_all_that_wait(wheel);
}

static const struct tap_test tests[] = {
	TAP(arm_withdraws), TAP(batched_arm_withdraws),
	TAP(periodic_one), TAP(one_with_a_fixed_delay),
	TAP(identifier_stays),
	TAP(all_that_wait),
};

int main(int argc, char **argv)
{
	return tap_main(tests, sizeof(tests) / sizeof(*tests), argc, argv);
}
