// SPDX-License-Identifier: GPL-2.0-only
/*
 * libtwheel, linked as an archive or, with -DSHARED, as a shared library. Most tests have a
 * virtual clock: what they see is the same on every machine.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include "../../lib/twheel_device.h"

#include "lib/device.h"
#include "lib/tap.h"

static int wheel_open(const struct twheel_setup *setup)
{
	int fd = twheel_device_open(setup);

	NEED(fd >= 0);
	return fd;
}

static int wheel_virtual(void)
{
	const struct twheel_setup setup = { .clock = TWHEEL_VIRTUAL };

	return wheel_open(&setup);
}

TEST(opens_with_defaults)
{
	int fd = wheel_open(NULL);
	uint64_t before, now = 0;

	CHECK(fcntl(fd, F_GETFD) & FD_CLOEXEC);
	CHECK_EQ(fcntl(fd, F_GETFL) & (O_ACCMODE | O_NONBLOCK), O_RDWR | O_NONBLOCK);
	CHECK_EQ(dev_info(fd).clock, TWHEEL_MONOTONIC);
	before = dev_now(CLOCK_MONOTONIC);
	CHECK_EQ(twheel_device_now(fd, &now), 0);
	CHECK(now >= before);
	CHECK(now <= dev_now(CLOCK_MONOTONIC));
}

TEST(takes_a_setup)
{
	struct twheel_setup setup = { .clock = TWHEEL_BOOTTIME, .max_timers = 1 };
	int next = open("/dev/null", O_RDONLY), fd;
	struct twheel_info info;
	uint64_t id = 7;

	close(next);
	fd = wheel_open(&setup);
	CHECK_EQ(fd, next);
	CHECK_EQ(twheel_device_info(fd, &info), 0);
	CHECK_EQ(info.clock, TWHEEL_BOOTTIME);
	CHECK_EQ(info.max_timers, 1);
	CHECK_EQ(twheel_device_setup(fd, &setup), -EBUSY);
	dev_arm(fd, HOUR, 0);
	CHECK_EQ(twheel_device_arm(fd, HOUR, 3, &id), -ENOSPC);
	CHECK_EQ(id, 7);
	setup.tick_ns = 1;
	CHECK_EQ(twheel_device_open(&setup), -ERANGE);
	/* The call that failed has left no descriptor open. */
	CHECK_EQ(wheel_open(NULL), next + 1);
}

/* What is not the device, every call refuses, and sets nothing. */
TEST(refuses_other_files)
{
	const struct { int fd, error; } wrong[] = {
		{ -1, -EBADF }, { open("/dev/null", O_RDWR), -ENOTTY },
	};
	const struct twheel_setup setup = { 0 };
	struct twheel_op op = { .op = TWHEEL_OP_CANCEL_ALL };
	struct twheel_cells cells = { .count = 7 };
	uint64_t number = 7;
	unsigned int i;

	for (i = 0; i < 2; i++) {
		int fd = wrong[i].fd, error = wrong[i].error;
		struct twheel_info info;

		CHECK_EQ(twheel_device_setup(fd, &setup), error);
		CHECK_EQ(twheel_device_info(fd, &info), error);
		CHECK_EQ(twheel_device_now(fd, &number), error);
		CHECK_EQ(twheel_device_op(fd, &op), error);
		CHECK_EQ(twheel_device_ops(fd, &op, 1), error);
		CHECK_EQ(twheel_device_arm(fd, 0, 0, &number), error);
		CHECK_EQ(twheel_device_modify(fd, 1, 0), error);
		CHECK_EQ(twheel_device_extend(fd, 1, 0), error);
		CHECK_EQ(twheel_device_cancel(fd, 1), error);
		CHECK_EQ(twheel_device_cancel_all(fd), error);
		CHECK_EQ(twheel_device_query(fd, 1, &number), error);
		CHECK_EQ(twheel_device_advance(fd, 0), error);
		CHECK_EQ(twheel_cells_map(&cells, fd), error);
	}
	CHECK_EQ(number, 7);
	CHECK_EQ(cells.count, 7);
	CHECK_EQ(twheel_device_wait(99, 0), -EBADF);
	CHECK_EQ(twheel_device_wait(-1, 0), -EBADF);
	CHECK_EQ(twheel_device_events(-1, NULL, 1, -1), -EBADF);
}

/* Each call does its operation, and gives the result of that. */
TEST(calls_are_operations)
{
	struct twheel_op op = {
		.op = TWHEEL_OP_ARM, .cookie = 4, .time_ns = 10 * MS, .period_ns = 10 * MS,
	};
	struct twheel_op ops[] = {
		{ .op = TWHEEL_OP_CANCEL, .id = 12345 }, { .op = TWHEEL_OP_ARM, .time_ns = S },
	};
	int fd = wheel_virtual();
	uint64_t id, at, when = 7;

	CHECK_EQ(twheel_device_arm(fd, HOUR, 1, &id), 0);
	CHECK_EQ(twheel_device_arm_at(fd, 50 * MS, 2, &at), 0);
	CHECK_EQ(twheel_device_extend(fd, id, S), 0);
	CHECK_EQ(twheel_device_extend_at(fd, id, HOUR), 0);
	CHECK_EQ(twheel_device_advance(fd, MS), 0);
	CHECK_EQ(twheel_device_extend(fd, id, HOUR), 1);
	CHECK_EQ(twheel_device_query(fd, id, &when), 0);
	CHECK_EQ(when, HOUR + MS);
	CHECK_EQ(twheel_device_extend_at(fd, id, 2 * HOUR), 1);
	CHECK_EQ(twheel_device_modify_at(fd, id, HOUR), 1);
	CHECK_EQ(dev_query(fd, id, &when), 0);
	CHECK_EQ(when, HOUR);
	CHECK_EQ(twheel_device_modify(fd, id, 20 * MS), 1);
	CHECK_EQ(twheel_device_advance(fd, 20 * MS), 0);
	CHECK_EQ(twheel_device_now(fd, &when), 0);
	CHECK_EQ(when, 21 * MS);
	CHECK_EQ(twheel_device_query(fd, id, &when), 1);
	CHECK_EQ(dev_read(fd).id, id);
	CHECK_EQ(twheel_device_modify(fd, id, S), -ENOENT);
	CHECK_EQ(twheel_device_modify_at(fd, id, S), -ENOENT);
	CHECK_EQ(twheel_device_extend(fd, id, S), -ENOENT);
	CHECK_EQ(twheel_device_extend_at(fd, id, S), -ENOENT);
	when = 7;
	CHECK_EQ(twheel_device_query(fd, id, &when), -ENOENT);
	CHECK_EQ(when, 7);
	CHECK_EQ(twheel_device_cancel(fd, at), 1);
	CHECK_EQ(twheel_device_cancel(fd, at), -ENOENT);
	CHECK_EQ(twheel_device_op(fd, &op), 0);
	CHECK_EQ(op.deadline_ns, 31 * MS);
	op.flags = TWHEEL_LATER;
	CHECK_EQ(twheel_device_op(fd, &op), -EINVAL);
	CHECK_EQ(twheel_device_ops(fd, ops, 2), 2);
	CHECK_EQ(ops[0].result, -ENOENT);
	CHECK_EQ(ops[1].deadline_ns, S + 21 * MS);
	CHECK_EQ(twheel_device_ops(fd, ops, 0), 0);
	CHECK_EQ(twheel_device_ops(fd, ops, UINT_MAX), -EINVAL);
	CHECK_EQ(twheel_device_cancel_all(fd), 2);
	CHECK_EQ(twheel_device_cancel_all(fd), 0);
	/* A real clock stays as it is. */
	CHECK_EQ(twheel_device_advance(wheel_open(NULL), 1), -EINVAL);
}

TEST(many_by_one_call)
{
	/* Far from the end of all memory, behind which the kernel would not write. */
	static struct twheel_event events[200];
	int fd = wheel_virtual(), i;

	/* A read() that has events does not wait for memory that comes by a page fault. */
	memset(events, 1, sizeof(events));
	for (i = 0; i < 200; i++)
		dev_arm(fd, (200 - i) * MS, i);
	CHECK_EQ(twheel_device_advance(fd, 150 * MS), 0);
	CHECK_EQ(twheel_device_events(fd, events, 10, 0), 10);
	CHECK_EQ(twheel_device_events(fd, events + 10, 190, S), 140);
	CHECK_EQ(twheel_device_advance(fd, 50 * MS), 0);
	/* More than any array can have: but there are only so many. */
	CHECK_EQ(twheel_device_events(fd, events + 150, UINT_MAX, -1), 50);
	for (i = 0; i < 200; i++)
		CHECK_EQ(events[i].cookie, 199 - i);
	CHECK_EQ(twheel_device_events(fd, events, 0, 0), -EINVAL);
	dev_silent(fd);
}

TEST(waits_no_longer)
{
	int fd = wheel_open(NULL);
	struct twheel_event event;
	uint64_t start;

	dev_arm(fd, HOUR, 0);
	start = dev_now(CLOCK_MONOTONIC);
	CHECK_EQ(twheel_device_events(fd, &event, 1, 50 * MS), 0);
	CHECK(dev_now(CLOCK_MONOTONIC) >= start + 50 * MS);
	start = dev_now(CLOCK_MONOTONIC);
	CHECK_EQ(twheel_device_wait(fd, 50 * MS), 0);
	CHECK(dev_now(CLOCK_MONOTONIC) >= start + 50 * MS);
	dev_arm(fd, 20 * MS, 1);
	CHECK_EQ(twheel_device_wait(fd, INT64_MAX), 1);
	CHECK_EQ(twheel_device_events(fd, &event, 1, INT64_MAX), 1);
	dev_arm(fd, 20 * MS, 2);
	CHECK_EQ(twheel_device_events(fd, &event, 1, INT64_MAX), 1);
	CHECK_EQ(event.cookie, 2);
}

static atomic_bool over;
static int shared;

/* Takes events before another thread can, nearly always. */
static void *take_events(void *taken)
{
	uint64_t id = 0, when;
	struct twheel_event event;

	while (!over) {
		if (twheel_device_query(shared, id, &when) == -ENOENT)
			id = dev_arm(shared, 0, 1);
		*(int *)taken += twheel_device_events(shared, &event, 1, 0) == 1;
	}
	return NULL;
}

/* What another thread takes does not end the waiting too early. */
TEST(waits_beside_others)
{
	struct twheel_event event;
	int i, got = 0, taken = 0;
	pthread_t thread;

	shared = wheel_open(NULL);
	NEED(!pthread_create(&thread, NULL, take_events, &taken));
	for (i = 0; i < 10; i++) {
		uint64_t start = dev_now(CLOCK_MONOTONIC);
		int ret = twheel_device_events(shared, &event, 1, 50 * MS);

		NEED(ret >= 0);
		got += ret;
		CHECK(ret || dev_now(CLOCK_MONOTONIC) >= start + 50 * MS);
	}
	over = true;
	pthread_join(thread, NULL);
	CHECK(got + taken > 0);
}

static void on_alarm(int signal)
{
	(void)signal;
}

TEST(a_signal_is_told)
{
	struct itimerval soon = { .it_value.tv_usec = 50000,
				  .it_interval.tv_usec = 50000 };
	struct sigaction action = { .sa_handler = on_alarm };
	struct twheel_event event;
	int fd = wheel_open(NULL);

	sigaction(SIGALRM, &action, NULL);
	setitimer(ITIMER_REAL, &soon, NULL);
	CHECK_EQ(twheel_device_events(fd, &event, 1, -1), -EINTR);
	CHECK_EQ(twheel_device_wait(fd, -1), -EINTR);
}

/* A wheel on a virtual clock, with so many cells. */
static int cells_open(struct twheel_cells *cells, uint32_t count)
{
	const struct twheel_setup setup = { .clock = TWHEEL_VIRTUAL, .max_cells = count };
	int fd;

	if (!(dev_info(wheel_open(NULL)).features & TWHEEL_FEATURE_CELLS))
		tap_skip("this kernel has no cells");
	fd = wheel_open(&setup);
	memset(cells, 0xff, sizeof(*cells));
	NEED(!twheel_cells_map(cells, fd));
	CHECK_EQ(cells->count, count);
	CHECK_EQ(cells->reserved[0] | cells->reserved[14], 0);
	return fd;
}

/* The next event is of a cell. */
static void cells_next(int fd, uint64_t id)
{
	struct twheel_event event = dev_read(fd);

	CHECK_EQ(event.type, TWHEEL_EVENT_CELL);
	CHECK_EQ(event.id, id);
	CHECK_EQ(event.flags, TWHEEL_EVENT_LAST);
}

TEST(cells_of_a_wheel)
{
	struct twheel_cells cells;
	int fd = cells_open(&cells, 200);
	uint64_t ids[3], again;

	CHECK_EQ(twheel_cell_arm(&cells, 0, 10 * MS, &ids[0]), 0);
	CHECK_EQ(twheel_cell_arm(&cells, 70, 20 * MS, &ids[1]), 0);
	CHECK_EQ(twheel_cell_arm(&cells, 199, 25 * MS, &ids[2]), 0);
	CHECK_EQ((uint32_t)ids[2], 199);
	CHECK_EQ(twheel_cell_extend(&cells, 0, 10 * MS), 0);
	CHECK_EQ(twheel_cell_extend(&cells, 0, 5 * MS), 0);
	CHECK_EQ(twheel_cell_extend(&cells, 0, 30 * MS), 1);
	CHECK_EQ(twheel_cell_cancel(&cells, 199), 1);
	CHECK_EQ(twheel_cell_cancel(&cells, 199), -ENOENT);
	CHECK_EQ(twheel_cell_extend(&cells, 199, HOUR), -ENOENT);
	CHECK_EQ(twheel_device_advance(fd, 29 * MS), 0);
	cells_next(fd, ids[1]);
	dev_silent(fd);
	CHECK_EQ(twheel_cell_cancel(&cells, 70), -ENOENT);
	CHECK_EQ(twheel_device_advance(fd, MS), 0);
	cells_next(fd, ids[0]);

	/* Nearer than the kernel would look: it has to be told. */
	CHECK_EQ(twheel_cell_arm(&cells, 0, HOUR, &ids[0]), 0);
	CHECK_EQ(twheel_device_advance(fd, MS), 0);
	dev_silent(fd);
	CHECK_EQ(twheel_cell_arm(&cells, 0, 35 * MS, &again), 0);
	CHECK(again != ids[0]);
	CHECK_EQ(twheel_device_advance(fd, 4 * MS), 0);
	cells_next(fd, again);
	/* A deadline is rounded up to a tick, and one that has passed is due. */
	CHECK_EQ(twheel_cell_arm(&cells, 1, 35 * MS + 1, &ids[0]), 0);
	CHECK_EQ(twheel_cell_arm(&cells, 2, 1, &ids[1]), 0);
	cells_next(fd, ids[1]);
	dev_silent(fd);
	CHECK_EQ(twheel_device_advance(fd, MS), 0);
	cells_next(fd, ids[0]);
	CHECK_EQ(munmap(cells.map, cells.map->bytes), 0);
}

TEST(cells_that_never_expire)
{
	struct twheel_cells cells;
	int fd = cells_open(&cells, 2);
	uint64_t id;

	CHECK_EQ(twheel_cell_arm(&cells, 0, TWHEEL_NEVER_NS, NULL), 0);
	CHECK_EQ(twheel_cell_extend(&cells, 0, HOUR), 0);
	CHECK_EQ(twheel_cell_arm(&cells, 1, MS, NULL), 0);
	CHECK_EQ(twheel_cell_extend(&cells, 1, TWHEEL_NEVER_NS), 1);
	CHECK_EQ(twheel_cell_extend(&cells, 1, TWHEEL_NEVER_NS), 0);
	CHECK_EQ(twheel_device_advance(fd, 100 * HOUR), 0);
	dev_silent(fd);
	CHECK_EQ(twheel_cell_cancel(&cells, 0), 1);
	CHECK_EQ(twheel_cell_arm(&cells, 1, 101 * HOUR, &id), 0);
	CHECK_EQ(twheel_device_advance(fd, HOUR), 0);
	cells_next(fd, id);
}

TEST(cells_that_are_not_there)
{
	struct twheel_cells cells;
	uint64_t id = 7;

	CHECK_EQ(twheel_cells_map(&cells, wheel_virtual()), -ENODEV);
	cells_open(&cells, 3);
	CHECK_EQ(twheel_cell_arm(&cells, 3, MS, &id), -ENOENT);
	CHECK_EQ(twheel_cell_extend(&cells, 3, MS), -ENOENT);
	CHECK_EQ(twheel_cell_cancel(&cells, UINT_MAX), -ENOENT);
	CHECK_EQ(twheel_cells_kick(&cells, 3), -ENOENT);
	CHECK_EQ(twheel_cells_kick(&cells, 2), 0);
	CHECK_EQ(id, 7);
}

/* All that has the file writes to the head of the mapping. */
TEST(mappings_that_lead_nowhere)
{
	struct twheel_cells cells, other;
	int fd = cells_open(&cells, 200);
	struct twheel_map good = *cells.map, bad[10];
	unsigned int i;

	for (i = 0; i < SIZE_OF(bad); i++)
		bad[i] = good;
	bad[0].cells_offset = good.bytes;
	bad[1].cells_offset = -16ULL;
	bad[2].cells_offset++;
	bad[3].bitmap_offset = good.bytes - 8;
	bad[4].summary_offset = good.bytes;
	bad[5].wake_offset = 1ULL << 40;
	bad[6].cells = UINT_MAX;
	bad[7].cell_stride = 1 << 20;
	bad[8].cell_stride += 4;
	bad[9].version++;
	for (i = 0; i < SIZE_OF(bad); i++) {
		*cells.map = bad[i];
		CHECK_EQ(twheel_cells_map(&other, fd), -EPROTO);
	}
	*cells.map = good;
	CHECK_EQ(twheel_cells_map(&other, fd), 0);
}

static struct {
	const struct twheel_cell *cell;
	void *page;
	volatile unsigned int state;
} guarded;

/* The page with the id is written to: what state does the cell have? */
static void on_write(int signal)
{
	(void)signal;
	guarded.state = twheel_cell_state(guarded.cell->word);
	if (mprotect(guarded.page, getpagesize(), PROT_READ | PROT_WRITE))
		_exit(1);
}

/* The thread that takes the event compares the id, perhaps before the arm returns. */
TEST(cells_have_an_id_before_they_are_pending)
{
	struct sigaction action = { .sa_handler = on_write };
	struct twheel_cells cells;
	int fd = cells_open(&cells, 1);
	uint64_t *id = mmap(NULL, getpagesize(), PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	NEED(id != MAP_FAILED);
	guarded.cell = twheel_cell_at(&cells, 0);
	guarded.page = id;
	guarded.state = TWHEEL_CELL_PENDING;
	sigaction(SIGSEGV, &action, NULL);
	CHECK_EQ(twheel_cell_arm(&cells, 0, MS, id), 0);
	CHECK(guarded.state != TWHEEL_CELL_PENDING);
	CHECK_EQ(twheel_device_advance(fd, MS), 0);
	cells_next(fd, *id);
}

/* The kernel looks at new cells before their deadlines: it need not be told, and cannot be. */
TEST(cells_need_no_calls)
{
	struct twheel_cells cells;
	int fd = cells_open(&cells, 1000);
	unsigned int i;

	CHECK_EQ(twheel_cell_arm(&cells, 0, 10 * MS, NULL), 0);
	cells.fd = -1;
	CHECK_EQ(twheel_cell_arm(&cells, 1, 9 * MS, NULL), -EBADF);
	for (i = 2; i < 1000; i++) {
		CHECK_EQ(twheel_cell_arm(&cells, i, HOUR, NULL), 0);
		CHECK_EQ(twheel_cell_extend(&cells, i, 2 * HOUR), 1);
		CHECK_EQ(twheel_cell_cancel(&cells, i), 1);
		CHECK_EQ(twheel_cell_arm(&cells, i, 3 * HOUR, NULL), 0);
	}
	CHECK_EQ(twheel_device_advance(fd, 3 * HOUR - 1), 0);
	for (i = 0; i < 2; i++)
		CHECK((uint32_t)dev_read(fd).id < 2);
	dev_silent(fd);
	CHECK_EQ(twheel_device_advance(fd, 1), 0);
	for (i = 2; i < 1000; i++)
		CHECK((uint32_t)dev_read(fd).id >= 2);
	dev_silent(fd);
}

/* Only the symbols of the map are visible, with their version. */
TEST(symbols_have_a_version)
{
#ifdef SHARED
	CHECK(dlvsym(RTLD_DEFAULT, "twheel_device_open", "LIBTWHEEL_1.0"));
	CHECK(dlvsym(RTLD_DEFAULT, "twheel_cells_map", "LIBTWHEEL_1.0"));
	CHECK(!dlsym(RTLD_DEFAULT, "timer_arm"));
#else
	tap_skip("only the shared library has versions");
#endif
}
