// SPDX-License-Identifier: GPL-2.0-only
/* TWHEEL_FIXED_DELAY: periods that count from when the event is taken. */
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "lib/handle.h"
#include "lib/tap.h"

static struct twheel_op fixed_op(uint64_t delay_ns, uint64_t period_ns)
{
	return (struct twheel_op){
		.flags = TWHEEL_FIXED_DELAY, .deadline_ns = delay_ns,
		.period_ns = period_ns, .cookie = 8,
	};
}

static uint64_t fixed_arm(struct twheel *wheel, uint64_t delay_ns,
			  uint64_t period_ns)
{
	struct twheel_op op = fixed_op(delay_ns, period_ns);

	NEED(twheel_arm_op(wheel, &op) == 0);
	NEED(op.id != 0);
	CHECK_EQ(op.flags, TWHEEL_FIXED_DELAY);
	CHECK_EQ(op.period_ns, period_ns);
	return op.id;
}

static struct twheel_info info_of(struct twheel *wheel)
{
	struct twheel_info info;

	NEED(twheel_info(wheel, &info) == 0);
	return info;
}

static struct twheel_event take_event(struct twheel *wheel, uint64_t id)
{
	struct twheel_event event;

	NEED(twheel_next(wheel, &event, -1) == 1);
	CHECK_EQ(event.id, id);
	CHECK_EQ(event.cookie, 8);
	CHECK_EQ(event.count, 1);
	CHECK(event.fired_ns >= event.deadline_ns);
	return event;
}

static void refused(void)
{
	struct twheel *wheel = tw_open_plain();
	struct twheel_op bad[5];
	unsigned int i, n = 0;

	for (i = 0; i < 5; i++)
		bad[i] = fixed_op(HOUR, HOUR);
	bad[n++].period_ns = 0;
	bad[n++].period_ns = TWHEEL_DELAY_NEVER + 1;
	bad[n++].deadline_ns = TWHEEL_DELAY_NEVER + 1;
	bad[n++].flags |= TWHEEL_LATER;
	bad[n++].flags |= 1U << 30;
	for (i = 0; i < n; i++)
		CHECK_EQ(twheel_arm_op(wheel, &bad[i]), -EINVAL);
	for (i = 0; i < n; i++)
		bad[i].op = TWHEEL_OP_ARM;
	CHECK_EQ(twheel_batch(wheel, bad, n), n);
	for (i = 0; i < n; i++)
		CHECK_EQ(bad[i].result, -EINVAL);
	CHECK_EQ(info_of(wheel).timers, 0);
	CHECK_EQ(info_of(wheel).armed, 0);
}

/* Each deadline is at least the delay after the moment the last event was taken. */
static void counts_from_the_taking(void)
{
	struct twheel *wheel = tw_open_plain();
	uint64_t id = fixed_arm(wheel, MS, 20 * MS), taken = 0, asked;
	struct twheel_event event;
	unsigned int i;

	for (i = 0; i < 6; i++) {
		asked = twheel_now(wheel);
		event = take_event(wheel, id);
		if (i)
			CHECK(event.deadline_ns >= taken + 20 * MS);
		/* It was taken after it expired, and after it was asked for. */
		taken = asked > event.deadline_ns ? asked : event.deadline_ns;
		CHECK(event.deadline_ns <= twheel_now(wheel));
	}
}

/* However long it takes the program: one event, and no expiry meanwhile. */
static void waits_for_the_program(void)
{
	struct twheel *wheel = tw_open_plain();
	uint64_t id = fixed_arm(wheel, 0, MS);

	tw_wait_fired(wheel, 1);
	usleep(50000);
	CHECK_EQ(info_of(wheel).fired, 1);
	take_event(wheel, id);
	tw_wait_fired(wheel, 2);
	usleep(50000);
	CHECK_EQ(info_of(wheel).fired, 2);
	take_event(wheel, id);
}

static void cancel_at_every_stage(void)
{
	struct twheel *wheel = tw_open_plain();
	uint64_t id = fixed_arm(wheel, HOUR, MS);

	/* Before the first event. */
	CHECK_EQ(twheel_cancel(wheel, id), 0);
	CHECK_EQ(twheel_cancel(wheel, id), -ENOENT);
	/* An event waits. */
	id = fixed_arm(wheel, 0, MS);
	tw_wait_fired(wheel, 1);
	CHECK(twheel_cancel(wheel, id) >= 0);
	tw_nothing_more(wheel);
	/* Between two events. */
	id = fixed_arm(wheel, 0, HOUR);
	take_event(wheel, id);
	CHECK_EQ(twheel_cancel(wheel, id), 0);
	CHECK_EQ(twheel_cancel(wheel, id), -ENOENT);
	/* The second event waits. */
	id = fixed_arm(wheel, 0, MS);
	take_event(wheel, id);
	tw_wait_fired(wheel, 4);
	CHECK(twheel_cancel(wheel, id) >= 0);
	CHECK_EQ(twheel_next(wheel, &(struct twheel_event){ 0 }, 20), 0);
	tw_check_left(wheel, 0);
}

/* Read ahead, or in the ring: it is withdrawn all the same. */
static void cancel_behind_another_event(void)
{
	struct twheel *wheel = tw_open_plain();
	uint64_t ids[3];
	unsigned int i;

	for (i = 0; i < 3; i++) {
		ids[i] = fixed_arm(wheel, 0, HOUR);
		tw_wait_fired(wheel, i + 1);
	}
	take_event(wheel, ids[0]);
	CHECK(twheel_cancel(wheel, ids[1]) >= 0);
	take_event(wheel, ids[2]);
	tw_nothing_more(wheel);
	tw_check_left(wheel, 2);
}

static void query_shows_the_delay(void)
{
	struct twheel *wheel = tw_open_plain();
	uint64_t id = fixed_arm(wheel, 2 * HOUR, 3 * HOUR), now;
	struct twheel_op op = { .id = id };

	CHECK_EQ(twheel_query(wheel, &op), 0);
	CHECK_EQ(op.period_ns, 3 * HOUR);
	CHECK_EQ(op.state, TWHEEL_STATE_PENDING);
	CHECK_EQ(op.cookie, 8);
	CHECK_EQ(twheel_modify(wheel, id, 0), 0);
	now = twheel_now(wheel);
	take_event(wheel, id);
	op = (struct twheel_op){ .id = id };
	CHECK_EQ(twheel_query(wheel, &op), 0);
	CHECK_EQ(op.period_ns, 3 * HOUR);
	CHECK_EQ(op.state, TWHEEL_STATE_PENDING);
	CHECK(op.deadline_ns >= now + 3 * HOUR);
	CHECK(op.deadline_ns <= twheel_now(wheel) + 3 * HOUR + 2 * MS);
}

/* The program may move each deadline; the next delay is as long as ever. */
static void modify_and_extend(void)
{
	struct twheel *wheel = tw_open_plain();
	uint64_t id = fixed_arm(wheel, HOUR, HOUR), now = twheel_now(wheel);
	struct twheel_op op = { .id = id };

	CHECK_EQ(twheel_extend_at(wheel, id, now + 5 * HOUR), 0);
	CHECK_EQ(twheel_extend(wheel, id, HOUR), 1);
	CHECK_EQ(twheel_modify(wheel, id, MS), 0);
	take_event(wheel, id);
	CHECK_EQ(twheel_extend(wheel, id, MS), 1);
	CHECK_EQ(twheel_modify_at(wheel, id, twheel_now(wheel)), 0);
	take_event(wheel, id);
	CHECK_EQ(twheel_query(wheel, &op), 0);
	CHECK(op.deadline_ns >= now + HOUR);
	CHECK(op.deadline_ns <= twheel_now(wheel) + HOUR + 2 * MS);
}

#define CROWD	400
#define ROUNDS	3

/* Each of a crowd, some of it cancelled, has as many events as it should. */
static void a_crowd(void)
{
	struct twheel *wheel = tw_open_plain();
	unsigned int taken[CROWD] = { 0 };
	unsigned int i, left = CROWD / 2 * ROUNDS, wrong = 0;
	uint64_t ids[CROWD];
	struct twheel_event event;

	for (i = 0; i < CROWD; i++) {
		struct twheel_op op = fixed_op(i % 2 ? MS : HOUR, MS);

		op.cookie = i;
		NEED(twheel_arm_op(wheel, &op) == 0);
		ids[i] = op.id;
	}
	for (i = 0; i < CROWD; i += 2)
		CHECK_EQ(twheel_cancel(wheel, ids[i]), 0);
	while (left) {
		NEED(twheel_next(wheel, &event, -1) == 1);
		NEED(event.cookie < CROWD);
		CHECK_EQ(event.id, ids[event.cookie]);
		left--;
		/* The next delay may be over by now; then that event is withdrawn. */
		if (++taken[event.cookie] == ROUNDS)
			CHECK(twheel_cancel(wheel, event.id) >= 0);
	}
	for (i = 0; i < CROWD; i++)
		wrong += taken[i] != (i % 2 ? ROUNDS : 0);
	CHECK_EQ(wrong, 0);
	CHECK_EQ(twheel_next(wheel, &event, 20), 0);
	tw_check_left(wheel, 0);
}

/* Beside timers of other kinds, whose events are as ever. */
static void beside_others(void)
{
	struct twheel *wheel = tw_open_plain();
	struct twheel_op periodic = {
		.deadline_ns = MS, .period_ns = MS, .cookie = 1,
	};
	uint64_t id = fixed_arm(wheel, MS, MS), count = 0;
	unsigned int once = 0, fixed = 0, i;
	struct twheel_event events[4];
	int got;

	NEED(twheel_arm_op(wheel, &periodic) == 0);
	tw_arm(wheel, MS, 2);
	while (count < 20 || fixed < 5 || !once) {
		got = twheel_events(wheel, events, 4, -1);
		NEED(got > 0);
		for (i = 0; i < (unsigned int)got; i++) {
			if (events[i].id == id) {
				CHECK_EQ(events[i].count, 1);
				fixed++;
			} else if (events[i].id == periodic.id) {
				CHECK_EQ(events[i].deadline_ns,
					 periodic.deadline_ns + count * MS);
				count += events[i].count;
			} else {
				CHECK_EQ(events[i].cookie, 2);
				once++;
			}
		}
	}
	CHECK_EQ(once, 1);
}

static void in_a_batch(void)
{
	struct twheel *wheel = tw_open_plain();
	struct twheel_op ops[4] = {
		{ .op = TWHEEL_OP_ARM, .deadline_ns = HOUR },
		fixed_op(0, MS), fixed_op(HOUR, HOUR),
		{ .op = TWHEEL_OP_QUERY, .id = 1 },
	};
	uint64_t id;

	ops[1].op = TWHEEL_OP_ARM;
	ops[2].op = TWHEEL_OP_ARM;
	CHECK_EQ(twheel_batch(wheel, ops, 4), 4);
	CHECK_EQ(ops[0].result, 0);
	CHECK_EQ(ops[1].result, 0);
	CHECK_EQ(ops[1].op, TWHEEL_OP_ARM);
	CHECK_EQ(ops[1].flags, TWHEEL_FIXED_DELAY);
	CHECK_EQ(ops[1].period_ns, MS);
	CHECK_EQ(ops[2].result, 0);
	id = ops[1].id;
	take_event(wheel, id);
	take_event(wheel, id);
	ops[0] = (struct twheel_op){ .op = TWHEEL_OP_CANCEL, .id = id };
	ops[1] = (struct twheel_op){ .op = TWHEEL_OP_QUERY, .id = ops[2].id };
	ops[2] = (struct twheel_op){ .op = TWHEEL_OP_CANCEL, .id = ops[2].id };
	CHECK_EQ(twheel_batch(wheel, ops, 3), 3);
	CHECK(ops[0].result >= 0);
	CHECK_EQ(ops[1].result, 0);
	CHECK_EQ(ops[1].period_ns, HOUR);
	CHECK_EQ(ops[2].result, 0);
	CHECK_EQ(twheel_next(wheel, &(struct twheel_event){ 0 }, 20), 0);
	tw_check_left(wheel, 1);
}

static void cancel_all(void)
{
	struct twheel *wheel = tw_open_plain();
	unsigned int i;

	for (i = 0; i < 100; i++)
		fixed_arm(wheel, i % 2 ? HOUR : 0, MS);
	tw_wait_fired(wheel, 50);
	CHECK_EQ(twheel_cancel_all(wheel), 100);
	tw_nothing_more(wheel);
	take_event(wheel, fixed_arm(wheel, MS, MS));
}

/* A first deadline on the wall clock, and delays that do not follow it. */
static void on_the_wall_clock(void)
{
	struct twheel_options options = { .clock = TWHEEL_CLOCK_REALTIME };
	struct twheel_event event;
	struct twheel *wheel;
	struct twheel_op op;
	uint64_t first;

	NEED(twheel_open(&wheel, &options) == 0);
	first = twheel_now(wheel) + 20 * MS;
	op = fixed_op(first, MS);
	op.flags |= TWHEEL_ABS;
	NEED(twheel_arm_op(wheel, &op) == 0);
	CHECK_EQ(op.deadline_ns, first);
	event = take_event(wheel, op.id);
	CHECK_EQ(event.deadline_ns, first);
	take_event(wheel, op.id);
	take_event(wheel, op.id);
	op.deadline_ns = TWHEEL_DELAY_NEVER + 1;
	op.id = 0;
	CHECK_EQ(twheel_arm_op(wheel, &op), -EINVAL);
	CHECK_EQ(info_of(wheel).timers, 1);
}

static const struct tap_test tests[] = {
	TAP(refused), TAP(counts_from_the_taking), TAP(waits_for_the_program),
	TAP(cancel_at_every_stage), TAP(cancel_behind_another_event),
	TAP(query_shows_the_delay), TAP(modify_and_extend), TAP(a_crowd),
	TAP(beside_others), TAP(in_a_batch), TAP(cancel_all),
	TAP(on_the_wall_clock),
};

int main(int argc, char **argv)
{
	return tap_main(tests, sizeof(tests) / sizeof(*tests), argc, argv);
}
