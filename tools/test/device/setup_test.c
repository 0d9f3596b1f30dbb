// SPDX-License-Identifier: GPL-2.0-only
/* How a file gets its wheel: by SETUP, or by its first operation. */
#include <pthread.h>
#include <unistd.h>

#include "lib/device.h"
#include "lib/tap.h"

static bool have_cells(void)
{
	return dev_info(dev_open()).features & TWHEEL_FEATURE_CELLS;
}

TEST(a_new_file_has_defaults)
{
	int fd = dev_open();
	struct twheel_info info = dev_info(fd), later;

	CHECK_EQ(info.clock, TWHEEL_MONOTONIC);
	CHECK_EQ(info.tick_ns, MS);
	CHECK_EQ(info.tick_min_ns, dev_param("tick_min_ns"));
	CHECK_EQ(info.event_size, TWHEEL_EVENT_SIZE_0);
	CHECK_EQ(info.max_timers, dev_param("max_timers"));
	CHECK_EQ(info.limit_timers, dev_param("limit_timers"));
	CHECK_EQ(info.max_cells | info.reserved, 0);
	CHECK_EQ(info.timers | info.map_bytes | info.origin_ns, 0);
	/* An operation makes a wheel of just these. */
	dev_arm(fd, HOUR, 0);
	later = dev_info(fd);
	CHECK_EQ(later.timers, 1);
	CHECK(later.file_memory > info.file_memory);
	later.timers = 0;
	later.now_ns = info.now_ns;
	later.file_memory = info.file_memory;
	later.user_timers = info.user_timers;
	later.user_memory = info.user_memory;
	CHECK(!memcmp(&info, &later, sizeof(info)));
}

TEST(takes_what_it_is_given)
{
	static const struct twheel_setup setups[] = {
		{ .clock = TWHEEL_BOOTTIME, .tick_ns = 250 * US, .max_timers = 1 },
		{ .clock = TWHEEL_VIRTUAL, .tick_ns = HOUR, .event_size = TWHEEL_EVENT_SIZE_MAX },
		{ .clock = TWHEEL_REALTIME, .tick_ns = 12345678, .event_size = 56 },
		{ .clock = TWHEEL_TAI, .max_timers = 1 << 24 },
		{ .event_size = TWHEEL_EVENT_SIZE_0, .max_cells = 77 },
		{ .clock = TWHEEL_VIRTUAL, .max_cells = 1, .tick_ns = 10 * US },
		{ },
	};
	struct twheel_info info;
	unsigned int i;
	int fd;

	for (i = 0; i < SIZE_OF(setups); i++) {
		const struct twheel_setup *setup = &setups[i];

		if (setup->max_cells && !have_cells())
			continue;
		fd = dev_open();
		NEED(ioctl(fd, TWHEEL_IOC_SETUP, setup) == 0);
		info = dev_info(fd);
		CHECK_EQ(info.clock, setup->clock);
		CHECK_EQ(info.tick_ns, setup->tick_ns ?: MS);
		CHECK_EQ(info.max_timers, setup->max_timers ?: dev_param("max_timers"));
		CHECK_EQ(info.event_size, setup->event_size ?: TWHEEL_EVENT_SIZE_0);
		CHECK_EQ(info.max_cells, setup->max_cells);
		CHECK_EQ(!info.map_bytes, !setup->max_cells);
		CHECK_EQ(info.timers, 0);
		dev_arm_at(fd, TWHEEL_NEVER_NS, 0);
		CHECK_EQ(dev_info(fd).timers, 1);
		close(fd);
	}
}

/* Whatever it is, and whatever comes of it. */
TEST(the_first_operation_decides)
{
	struct twheel_op ops[] = {
		{ .op = TWHEEL_OP_ARM }, { .op = TWHEEL_OP_CANCEL_ALL },
		{ .op = TWHEEL_OP_QUERY, .id = 5 }, { .op = 0 },
		{ .op = TWHEEL_OP_ARM, .flags = TWHEEL_LATER },
	};
	const struct twheel_setup setup = { .clock = TWHEEL_BOOTTIME };
	unsigned int i;
	int fd;

	for (i = 0; i < 2 * SIZE_OF(ops); i++) {
		fd = dev_open();
		/* An array of none is no operation. */
		CHECK_EQ(dev_ops(fd, ops, 0), 0);
		CHECK_EQ(dev_readable(fd, 0), 0);
		if (i % 2)
			CHECK_EQ(dev_ops(fd, &ops[i / 2], 1), 1);
		else
			dev_op(fd, &ops[i / 2]);
		CHECK_ERR(ioctl(fd, TWHEEL_IOC_SETUP, &setup), EBUSY);
		CHECK_EQ(dev_info(fd).clock, TWHEEL_MONOTONIC);
	}
	CHECK_EQ(dev_ops(fd = dev_open(), ops, 0), 0);
	CHECK_EQ(ioctl(fd, TWHEEL_IOC_SETUP, &setup), 0);
}

/* The default tick is a millisecond, but no less than a program may ask for. */
TEST(default_tick)
{
	struct twheel_op op = { .op = TWHEEL_OP_ARM, .time_ns = S };
	struct twheel_setup setup = { .tick_ns = 499999 };
	int early = dev_open(), fd;

	dev_param_set("tick_min_ns", 500000);
	CHECK_EQ(dev_info(dev_open()).tick_ns, MS);
	fd = dev_open();
	CHECK_ERR(ioctl(fd, TWHEEL_IOC_SETUP, &setup), ERANGE);
	setup.tick_ns++;
	CHECK_EQ(ioctl(fd, TWHEEL_IOC_SETUP, &setup), 0);
	dev_param_set("tick_min_ns", S);
	fd = dev_open();
	CHECK_EQ(dev_info(fd).tick_ns, S);
	CHECK_EQ(dev_info(fd).tick_min_ns, S);
	CHECK_EQ(dev_op(fd, &op), 0);
	CHECK_EQ(dev_info(fd).tick_ns, S);
	/* What INFO has said stays true. */
	CHECK_EQ(dev_info(early).tick_ns, MS);
	CHECK_EQ(dev_op(early, &op), 0);
	CHECK_EQ(dev_info(early).tick_ns, MS);
}

TEST(default_limits)
{
	struct twheel_setup setup = { .max_timers = 9 };
	int fd;

	dev_param_set("max_timers", 7);
	fd = dev_open();
	CHECK_EQ(dev_info(fd).max_timers, 7);
	CHECK_EQ(dev_arm_many(fd, 8, HOUR), 7);
	/* A program may ask for more than the default, and less than the limit. */
	CHECK_EQ(dev_info(dev_open_setup(&setup)).max_timers, 9);
	dev_param_set("limit_timers", 8);
	fd = dev_open();
	CHECK_EQ(dev_info(fd).limit_timers, 8);
	CHECK_ERR(ioctl(fd, TWHEEL_IOC_SETUP, &setup), ERANGE);
	setup.max_timers--;
	CHECK_EQ(ioctl(fd, TWHEEL_IOC_SETUP, &setup), 0);
}

static void *info_asks(void *arg)
{
	uint64_t tick_ns;

	do {
		tick_ns = dev_info(*(int *)arg).tick_ns;
		NEED(tick_ns == MS || tick_ns == 8 * MS);
	} while (tick_ns == MS);
	return NULL;
}

/* While a file is set up, INFO tells what it was, or what it becomes. */
TEST(info_beside_setup)
{
	struct twheel_setup setup = { .tick_ns = 8 * MS };
	pthread_t thread;
	int round, fd;

	for (round = 0; round < 500; round++) {
		fd = dev_open();
		NEED(!pthread_create(&thread, NULL, info_asks, &fd));
		CHECK_EQ(ioctl(fd, TWHEEL_IOC_SETUP, &setup), 0);
		NEED(!pthread_join(thread, NULL));
		close(fd);
	}
}

/** struct race - what a thread does to a new file, and what comes of it */
struct race {
	pthread_t thread;
	pthread_barrier_t *start;
	int fd;
	int ret;
	int error;
	bool arms;
};

static void *race_run(void *arg)
{
	struct twheel_setup setup = {
		.tick_ns = 2 * MS, .clock = TWHEEL_BOOTTIME, .max_timers = 50,
	};
	struct twheel_op op = { .op = TWHEEL_OP_ARM, .time_ns = HOUR };
	struct race *race = arg;

	pthread_barrier_wait(race->start);
	race->ret = race->arms ? dev_op(race->fd, &op) :
		    ioctl(race->fd, TWHEEL_IOC_SETUP, &setup);
	race->error = errno;
	return NULL;
}

/* One of the threads makes the wheel. Operations always succeed, and see it whole. */
TEST(threads_at_once)
{
	enum { THREADS = 4, ROUNDS = 30 };
	struct race races[THREADS];
	pthread_barrier_t start;
	int round, setups, fd, i;
	struct twheel_info info;

	NEED(!pthread_barrier_init(&start, NULL, THREADS));
	for (round = 0; round < ROUNDS; round++) {
		fd = dev_open();
		for (i = 0; i < THREADS; i++) {
			races[i] = (struct race) { .fd = fd, .start = &start, .arms = i % 2 };
			NEED(!pthread_create(&races[i].thread, NULL, race_run, &races[i]));
		}
		for (i = 0, setups = 0; i < THREADS; i++) {
			NEED(!pthread_join(races[i].thread, NULL));
			setups += !races[i].arms && !races[i].ret;
			if (races[i].ret)
				NEED(!races[i].arms && races[i].error == EBUSY);
		}
		info = dev_info(fd);
		CHECK(setups <= 1);
		CHECK_EQ(info.tick_ns, setups ? 2 * MS : MS);
		CHECK_EQ(info.clock, setups ? TWHEEL_BOOTTIME : TWHEEL_MONOTONIC);
		CHECK_EQ(info.max_timers == 50, setups);
		CHECK_EQ(info.timers, THREADS / 2);
		close(fd);
	}
}
