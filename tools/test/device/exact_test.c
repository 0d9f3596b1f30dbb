// SPDX-License-Identifier: GPL-2.0-only
/*
 * Never early, and at most a tick late: on a virtual clock both are exact. Random programs are
 * in ../fuzz.
 */
#include "lib/device.h"
#include "lib/tap.h"

static int wheel_open(uint64_t tick_ns)
{
	return dev_open_setup(&(struct twheel_setup) {
		.clock = TWHEEL_VIRTUAL, .tick_ns = tick_ns,
	});
}

static void clock_set(int fd, uint64_t time_ns)
{
	struct twheel_op op = {
		.op = TWHEEL_OP_ADVANCE, .flags = TWHEEL_ABS, .time_ns = time_ns,
	};

	NEED(dev_op(fd, &op) == 0);
	NEED(op.deadline_ns == time_ns);
}

/* It is silent until the nanosecond before its tick, and due with that. Returns that tick. */
static uint64_t one_at(int fd, uint64_t tick_ns, uint64_t now, uint64_t deadline_ns)
{
	uint64_t boundary = (deadline_ns + tick_ns - 1) / tick_ns * tick_ns, id;
	struct twheel_event event;

	id = dev_arm_at(fd, deadline_ns, 7);
	/* A bucket on the way is emptied before. */
	clock_set(fd, now + (boundary - 1 - now) / 2);
	NEED(!dev_readable(fd, 0));
	clock_set(fd, boundary - 1);
	dev_silent(fd);
	NEED(dev_query(fd, id, NULL) == 0);
	clock_set(fd, boundary);
	NEED(dev_query(fd, id, NULL) == 1);
	event = dev_read(fd);
	NEED(event.id == id);
	NEED(event.deadline_ns == deadline_ns);
	NEED(event.now_ns == boundary);
	return boundary;
}

static void at_each_distance_from(uint64_t tick_ns, uint64_t start)
{
	int fd = wheel_open(tick_ns), power, near;
	uint64_t now = start * tick_ns, distance;

	clock_set(fd, now);
	for (power = 0; power <= 50; power++)
		for (near = -1; near <= 1; near++) {
			distance = tick_ns << power;
			if (distance >> power != tick_ns ||
			    now + distance + 2 * tick_ns > TWHEEL_NEVER_NS)
				return;
			now = one_at(fd, tick_ns, now, now + distance + near);
		}
}

TEST(at_each_distance)
{
	static const uint64_t ticks[] = { 1 * US, 10 * US, 1234567, 1 * MS, HOUR };
	/* Where positions end with zeros, with ones, and with neither. */
	static const uint64_t starts[] = { 0, 255, 256, 65535, 12345678 };
	unsigned int t, s;

	dev_param_set("tick_min_ns", 1000);
	for (t = 0; t < SIZE_OF(ticks); t++)
		for (s = 0; s < SIZE_OF(starts) && starts[s] < TWHEEL_NEVER_NS / ticks[t]; s++)
			at_each_distance_from(ticks[t], starts[s]);
}

/* The last time that comes, with a tick that the time that never comes is a multiple of. */
TEST(at_the_end_of_time)
{
	const uint64_t tick_ns = 395581;
	int fd = wheel_open(tick_ns);
	uint64_t last = TWHEEL_NEVER_NS - tick_ns, id, never;

	NEED(TWHEEL_NEVER_NS % tick_ns == 0);
	never = dev_arm(fd, ~0ULL, 1);
	id = dev_arm_at(fd, last, 2);
	clock_set(fd, last - 1);
	dev_silent(fd);
	clock_set(fd, last);
	CHECK_EQ(dev_read(fd).id, id);
	dev_arm(fd, tick_ns, 3);
	dev_arm(fd, ~0ULL, 4);
	CHECK_EQ(dev_advance(fd, 1), last + 1);
	dev_silent(fd);
	CHECK_EQ(dev_advance(fd, tick_ns - 2), TWHEEL_NEVER_NS - 1);
	dev_silent(fd);
	CHECK_EQ(dev_query(fd, never, &id), 0);
	CHECK_EQ(id, TWHEEL_NEVER_NS);
	CHECK_EQ(dev_cancel_all(fd), 3);
}
