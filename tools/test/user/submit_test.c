// SPDX-License-Identifier: GPL-2.0-only
/*
 * Arming in the mapping, without libtwheel: what the kernel does about cells that the
 * program arms itself. Threads and hostile writers are in submit_crowd_test.c.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "lib/device.h"
#include "lib/mapped.h"
#include "lib/tap.h"

#define NEVER	(~0ULL)

static void map_has_the_bitmap(void)
{
	struct mapped m = map_submit(5000);

	CHECK_EQ(m.map->version, TWHEEL_MAP_VERSION_SUBMIT);
	CHECK_EQ(m.map->size, sizeof(*m.map));
	CHECK_EQ(m.map->bytes, m.bytes);
	CHECK_EQ(m.map->wake, NEVER);
	CHECK(m.map->leaves_offset >= m.map->ring_offset + 8192 * 4);
	CHECK(m.map->summary_offset >= m.map->leaves_offset + 5000 / 8);
	CHECK(m.map->summary_offset + 4096 <= m.bytes);
	CHECK_EQ(dev_info(m.fd).flags, TWHEEL_SETUP_CELLS | TWHEEL_SETUP_SUBMIT);
	m = map_cells(100);
	CHECK_EQ(m.map->version, TWHEEL_MAP_VERSION);
	CHECK_EQ(m.map->leaves_offset, 0);
	CHECK_EQ(m.map->summary_offset, 0);
}

static void flag_needs_cells(void)
{
	struct twheel_setup bad = {
		.clockid = CLOCK_MONOTONIC, .flags = TWHEEL_SETUP_SUBMIT, .max_timers = 10,
	};
	int fd = dev_open();

	if (!(dev_info(fd).features & TWHEEL_FEATURE_CELLS)) {
		CHECK(!(dev_info(fd).features & TWHEEL_FEATURE_SUBMIT));
		bad.flags |= TWHEEL_SETUP_CELLS;
		CHECK_ERR(ioctl(fd, TWHEEL_IOC_SETUP, &bad), EINVAL);
		return;
	}
	CHECK(dev_info(fd).features & TWHEEL_FEATURE_SUBMIT);
	CHECK_ERR(ioctl(fd, TWHEEL_IOC_SETUP, &bad), EINVAL);
	bad.flags |= TWHEEL_SETUP_CELLS;
	bad.clockid = CLOCK_REALTIME;
	CHECK_ERR(ioctl(fd, TWHEEL_IOC_SETUP, &bad), EINVAL);
	bad.clockid = CLOCK_MONOTONIC;
	CHECK_EQ(ioctl(fd, TWHEEL_IOC_SETUP, &bad), 0);
}

/* Take the event of a one-shot timer, and check that it did not come early. */
static void take(const struct mapped *m, uint64_t id)
{
	uint64_t word;

	map_take_one(m, id, 1);
	word = load(&m->cells[(uint32_t)id].word);
	CHECK_EQ(twheel_cell_state(word), TWHEEL_CELL_FIRED);
	CHECK_EQ(twheel_cell_generation(word), id >> 32);
	CHECK(dev_passed(ns_of(m, word)));
	CHECK_EQ(load(&m->cells[(uint32_t)id].look), NEVER);
}

static void kick_wakes_a_kernel_that_sleeps(void)
{
	struct mapped m = map_submit(100);
	uint64_t id, ticks = ticks_in(&m, 20 * MS);

	CHECK_EQ(map_arm_at(&m, 99, ticks, &id), TOLD_BY_KICK);
	take(&m, id);
	CHECK_EQ(dev_info(m.fd).armed, 1);
	CHECK_EQ(dev_info(m.fd).fired, 1);
	CHECK_EQ(dev_info(m.fd).timers, 0);
}

static void sweep_finds_what_is_submitted(void)
{
	uint64_t first, same, later, far, ticks, delay;
	enum map_told told[3];
	struct mapped m;

	FOR_EACH_DELAY(delay) {
		/* A new one each time: in an old one a sweep and events may be left. */
		m = map_submit(1000);
		ticks = ticks_in(&m, delay);
		CHECK_EQ(map_arm_at(&m, 0, ticks, &first), TOLD_BY_KICK);
		told[0] = map_arm_at(&m, 1, ticks, &same);
		told[1] = map_arm_at(&m, 64, ticks + 30, &later);
		told[2] = map_arm_at(&m, 999, ticks + 3600000, &far);
		/* The sweep was not there before all were submitted. */
		if (!dev_passed(ns_at(&m, ticks)))
			break;
	}
	CHECK_EQ(told[0], TOLD_BY_WAKE);
	CHECK_EQ(told[1], TOLD_BY_WAKE);
	CHECK_EQ(told[2], TOLD_BY_WAKE);
	NEED(dev_readable(m.fd, -1) == 1);
	dev_wait_unread(m.fd, 3);
	CHECK_EQ(dev_info(m.fd).timers, 1);
	CHECK_EQ(load(&m.cells[999].look), ticks + 3600000);
	CHECK(map_cancel(&m, far));
	dev_cancel_all(m.fd);
}

/*
 * Submit a cell for the tick at which another one has the kernel sweep. That is cancelled by a
 * call: with a look of its own, it would wake the waiters as well.
 * Returns false if that came too late.
 */
static bool arm_for_sweep(const struct mapped *m, uint32_t cell, uint64_t ticks, uint64_t *id)
{
	uint64_t other;

	CHECK_EQ(map_arm_at(m, 0, ticks, &other), TOLD_BY_KICK);
	return map_arm_at(m, cell, ticks, id) == TOLD_BY_WAKE && !dev_cancel(m->fd, other);
}

/* All events are those of the sweep. */
static void sweep_wakes_waiters(void)
{
	struct twheel_op op;
	uint64_t id, delay;
	struct mapped m;

	FOR_EACH_DELAY(delay) {
		/* A new one each time, as above. */
		m = map_submit(130);
		op = (struct twheel_op){ .id = 129, .deadline_ns = 3600 * S, .cookie = 7 };
		/* What the kernel keeps of its timer before. */
		NEED(ioctl(m.fd, TWHEEL_IOC_ARM, &op) == 0);
		NEED(dev_cancel(m.fd, op.id) == 0);
		if (arm_for_sweep(&m, 129, ticks_in(&m, delay), &id))
			break;
	}
	CHECK_EQ(dev_readable(m.fd, -1), 1);
	CHECK_EQ(dev_query(m.fd, id, &op), 0);
	CHECK_EQ(op.state, TWHEEL_STATE_FIRED);
	CHECK_EQ(op.cookie, 0);
	take(&m, id);
	CHECK_EQ(dev_info(m.fd).timers, 0);
	CHECK_EQ(dev_info(m.fd).fired, 1);
	CHECK_EQ(dev_readable(m.fd, 30), 0);
}

/* Looks that come at one tick, and find other timers of the cells than they were for. */
static void looks_come_together(void)
{
	struct mapped m;
	uint64_t ids[100], ticks, delay, event;
	uint32_t cell, i, told;

	FOR_EACH_DELAY(delay) {
		/* A new one each time: in an old one events may be left. */
		m = map_submit(100);
		ticks = ticks_in(&m, delay);
		for (i = told = 0; i < 100; i++) {
			map_arm_at(&m, i, ticks, &ids[i]);
			map_kick(&m, ids[i]);
			map_cancel(&m, ids[i]);
			told += map_arm_at(&m, i, ticks + 200 + i, &ids[i]) == TOLD_BY_LOOK;
		}
		if (told == 100 && !dev_passed(ns_at(&m, ticks)))
			break;
	}
	CHECK_EQ(told, 100);
	for (i = 0; i < 100; i++) {
		NEED(dev_readable(m.fd, -1) == 1);
		NEED(map_take(&m, &cell, &event));
		CHECK_EQ(event, ids[cell] >> 32 << 32 | 1);
		CHECK(dev_passed(ns_of(&m, load(&m.cells[cell].word))));
		ids[cell] = 0;
	}
	CHECK_EQ(dev_readable(m.fd, 0), 0);
	CHECK_EQ(dev_info(m.fd).timers, 0);
}

static void look_serves_the_next_timer(void)
{
	struct mapped m = map_submit(2);
	uint64_t ticks = ticks_in(&m, 3600 * S), id, next;

	CHECK_EQ(map_arm_at(&m, 0, ticks, &id), TOLD_BY_KICK);
	CHECK_EQ(load(&m.cells[0].look), ticks);
	CHECK(map_cancel(&m, id));
	CHECK(!map_cancel(&m, id));
	CHECK_EQ(map_arm_at(&m, 0, ticks + 5, &next), TOLD_BY_LOOK);
	CHECK(map_cancel(&m, next));
	/* A nearer one is not served. */
	CHECK_EQ(map_arm_at(&m, 0, ticks_in(&m, 20 * MS), &id), TOLD_BY_KICK);
	take(&m, id);
}

static void deadline_is_moved_in_the_mapping(void)
{
	struct mapped m = map_submit(1);
	uint64_t id, delay, ticks;

	FOR_EACH_DELAY(delay) {
		ticks = ticks_in(&m, delay);
		map_arm_at(&m, 0, ticks, &id);
		if (map_move(&m, id, ticks + 3600000))
			break;
		take(&m, id);
	}
	dev_wait_passed(ns_at(&m, ticks) + 10 * MS);
	CHECK_EQ(dev_readable(m.fd, 0), 0);
	CHECK(map_move(&m, id, ticks_in(&m, 20 * MS)));
	take(&m, id);
	CHECK(!map_move(&m, id, 1));
}

static void cell_is_armed_again_at_once(void)
{
	struct mapped m = map_submit(1);
	uint64_t id, ticks, i;

	for (i = 0; i < 3000; i++) {
		map_arm_at(&m, 0, ticks_in(&m, 3600 * S) - i, &id);
		NEED(map_cancel(&m, id));
	}
	CHECK_EQ(id >> 32, 3000);
	ticks = ticks_in(&m, 20 * MS);
	map_arm_at(&m, 0, ticks, &id);
	take(&m, id);
	CHECK_EQ(dev_readable(m.fd, 20), 0);
}

static void generations_come_again(void)
{
	struct mapped m = map_submit(1);
	uint64_t id, ticks = ticks_in(&m, 3600 * S);

	/* As if the program had armed a million timers meanwhile. */
	map_arm_at(&m, 0, ticks_in(&m, 10 * MS), &id);
	take(&m, id);
	CHECK(cas(&m.cells[0].word, load(&m.cells[0].word),
		  twheel_cell_word(TWHEEL_CELL_GENERATIONS - 1, TWHEEL_CELL_FREE, 0)));
	map_arm_at(&m, 0, ticks, &id);
	CHECK_EQ(id >> 32, 1);
	CHECK_EQ(map_kick(&m, id), 0);
	CHECK_EQ(load(&m.cells[0].look), ticks);
	CHECK_EQ(dev_cancel(m.fd, id), 0);
	CHECK_EQ(twheel_cell_state(load(&m.cells[0].word)), TWHEEL_CELL_CANCELLED);
	CHECK_EQ(load(&m.cells[0].look), NEVER);
}

/* Arm a cell where no call tells the kernel. */
static uint64_t arm_quietly(const struct mapped *m, uint32_t cell, uint64_t ticks)
{
	uint64_t old = load(&m->cells[cell].word);
	uint64_t id = (uint64_t)twheel_cell_next_generation(old) << 32 | cell;

	NEED(cas(&m->cells[cell].word, old, word_of(id, TWHEEL_CELL_PENDING, ticks)));
	return id;
}

static void calls_find_what_the_kernel_has_not_seen(void)
{
	struct mapped m = map_submit(200);
	uint64_t ticks = ticks_in(&m, 3600 * S), id, i;
	struct twheel_op op;

	id = arm_quietly(&m, 0, ticks);
	CHECK_EQ(dev_query(m.fd, id, &op), 0);
	CHECK_EQ(op.state, TWHEEL_STATE_PENDING);
	CHECK_EQ(op.deadline_ns, ns_of(&m, load(&m.cells[0].word)));
	CHECK_EQ(dev_cancel(m.fd, id), 0);
	CHECK_ERR(dev_cancel(m.fd, id), ENOENT);

	id = arm_quietly(&m, 0, ticks);
	CHECK_EQ(dev_modify(m.fd, id, 0, 20 * MS), 0);
	take(&m, id);
	CHECK_ERR(dev_cancel(m.fd, id), ENOENT);

	id = arm_quietly(&m, 0, ticks_in(&m, 20 * MS));
	CHECK_EQ(map_kick(&m, id), 0);
	take(&m, id);
	CHECK_ERR(map_kick(&m, id), ENOENT);
	CHECK_ERR(map_kick(&m, id + (1ULL << 32)), ENOENT);
	CHECK_ERR(map_kick(&m, id + 200), ENOENT);

	for (i = 0; i < 200; i++)
		arm_quietly(&m, i, ticks + i);
	CHECK_EQ(dev_cancel_all(m.fd), 200);
	CHECK_EQ(dev_info(m.fd).timers, 0);
}

static void event_is_withdrawn_by_a_call(void)
{
	struct mapped m = map_submit(1);
	uint64_t id, event;
	uint32_t cell;

	map_arm_at(&m, 0, ticks_in(&m, 10 * MS), &id);
	NEED(dev_readable(m.fd, -1) == 1);
	CHECK_EQ(dev_cancel(m.fd, id), 1);
	NEED(map_take(&m, &cell, &event));
	CHECK_EQ((uint32_t)event, 0);
	CHECK_EQ(twheel_cell_state(load(&m.cells[0].word)), TWHEEL_CELL_FIRED);
}

static void period_is_the_kernels(void)
{
	struct mapped m = map_submit(1);
	struct twheel_op op = { .deadline_ns = 10 * MS, .period_ns = 5 * MS, .cookie = 7 };
	uint64_t id, event, count = 0;
	uint32_t cell;

	NEED(ioctl(m.fd, TWHEEL_IOC_ARM, &op) == 0);
	id = op.id;
	op = (struct twheel_op){ .id = 0, .deadline_ns = MS };
	CHECK_ERR(ioctl(m.fd, TWHEEL_IOC_ARM, &op), EBUSY);
	while (count < 5) {
		NEED(dev_readable(m.fd, -1) == 1);
		NEED(map_take(&m, &cell, &event));
		CHECK_EQ(event >> 32, id >> 32);
		count += (uint32_t)event;
		/* It waits for its event to be taken. */
		if (load(&m.cells[0].look) == TWHEEL_CELL_NEVER)
			CHECK_EQ(map_kick(&m, id), 0);
	}
	CHECK_EQ(dev_query(m.fd, id, &op), 0);
	CHECK_EQ(op.period_ns, 5 * MS);
	CHECK_EQ(op.cookie, 7);
	CHECK(map_cancel(&m, id));
	/* An expiry that began before has posted its event when a call has the file's lock. */
	dev_info(m.fd);
	while (map_take(&m, &cell, &event))
		;
	/* The next timer has neither. */
	map_arm_at(&m, 0, ticks_in(&m, 10 * MS), &id);
	take(&m, id);
	CHECK_EQ(dev_readable(m.fd, 30), 0);
	id = arm_quietly(&m, 0, ticks_in(&m, 3600 * S));
	CHECK_EQ(dev_query(m.fd, id, &op), 0);
	CHECK_EQ(op.period_ns, 0);
	CHECK_EQ(op.cookie, 0);
}

static void one_shot_by_a_call(void)
{
	struct mapped m = map_submit(3);
	struct twheel_op op = { .id = 2, .deadline_ns = 10 * MS };

	NEED(ioctl(m.fd, TWHEEL_IOC_ARM, &op) == 0);
	CHECK_EQ(op.id, 1ULL << 32 | 2);
	take(&m, op.id);
	op = (struct twheel_op){ .id = 3, .deadline_ns = MS };
	CHECK_ERR(ioctl(m.fd, TWHEEL_IOC_ARM, &op), EINVAL);
	op = (struct twheel_op){ .id = 2, .deadline_ns = MS, .slack_ns = 1 };
	CHECK_ERR(ioctl(m.fd, TWHEEL_IOC_ARM, &op), EINVAL);
	op = (struct twheel_op){ .id = 2, .deadline_ns = TWHEEL_CELL_REACH * MS + S };
	CHECK_ERR(ioctl(m.fd, TWHEEL_IOC_ARM, &op), ERANGE);
	op = (struct twheel_op){ .id = 2, .deadline_ns = MS };
	CHECK_EQ(ioctl(m.fd, TWHEEL_IOC_ARM, &op), 0);
}

/* Is no sweep promised any more? A sweep that ends says so for a moment: look twice. */
static bool sweep_is_over(const struct mapped *m)
{
	if (load(&m->map->wake) != NEVER)
		return false;
	/* This waits for the file's lock, under which a sweep ends. */
	dev_info(m->fd);
	return load(&m->map->wake) == NEVER;
}

/* A program that arms nothing is left alone. */
static void no_sweep_without_timers(void)
{
	struct mapped m = map_submit(10);
	uint64_t id, ticks = ticks_in(&m, 20 * MS), passes;
	int tries;

	map_arm_at(&m, 0, ticks, &id);
	map_arm_at(&m, 1, ticks + 10, &id);
	dev_wait_unread(m.fd, 2);
	for (tries = 0; !sweep_is_over(&m) && tries < 600; tries++)
		usleep(100000);
	CHECK_EQ(load(&m.map->wake), NEVER);
	passes = dev_info(m.fd).passes;
	usleep(600000);
	CHECK_EQ(dev_info(m.fd).passes, passes);
}

static void mapping_is_not_inherited(void)
{
	struct mapped m = map_submit(10);
	int status;
	pid_t pid;

	CHECK_EQ(msync(m.start, m.bytes, MS_ASYNC), 0);
	pid = fork();
	if (!pid)
		_exit(msync(m.start, m.bytes, MS_ASYNC) == -1 && errno == ENOMEM ? 0 : 1);
	NEED(waitpid(pid, &status, 0) == pid);
	CHECK_EQ(status, 0);
	/* Unless the program asks for it, which newer kernels refuse. */
	if (madvise(m.start, m.bytes, MADV_DOFORK)) {
		CHECK_EQ(errno, EINVAL);
		return;
	}
	pid = fork();
	if (!pid)
		_exit(!!msync(m.start, m.bytes, MS_ASYNC));
	NEED(waitpid(pid, &status, 0) == pid);
	CHECK_EQ(status, 0);
}

static const struct tap_test tests[] = {
	TAP(map_has_the_bitmap),
	TAP(flag_needs_cells),
	TAP(kick_wakes_a_kernel_that_sleeps),
	TAP(sweep_finds_what_is_submitted),
	TAP(sweep_wakes_waiters),
	TAP(looks_come_together),
	TAP(look_serves_the_next_timer),
	TAP(deadline_is_moved_in_the_mapping),
	TAP(cell_is_armed_again_at_once),
	TAP(generations_come_again),
	TAP(calls_find_what_the_kernel_has_not_seen),
	TAP(event_is_withdrawn_by_a_call),
	TAP(period_is_the_kernels),
	TAP(one_shot_by_a_call),
	TAP(no_sweep_without_timers),
	TAP(mapping_is_not_inherited),
};

int main(int argc, char **argv)
{
	return tap_main(tests, sizeof(tests) / sizeof(*tests), argc, argv);
}
