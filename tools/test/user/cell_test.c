// SPDX-License-Identifier: GPL-2.0-only
/*
 * The shared mapping: timers in cells. Events are in ring_test.c, hostile writers in
 * hostile_test.c.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "lib/device.h"
#include "lib/mapped.h"
#include "lib/tap.h"

static void map_header_is_filled(void)
{
	struct mapped m = map_cells(1000);
	unsigned int i;

	CHECK_EQ(m.map->version, TWHEEL_MAP_VERSION);
	CHECK_EQ(m.map->size, sizeof(*m.map));
	CHECK_EQ(m.map->bytes, m.bytes);
	CHECK_EQ(m.map->cells, 1000);
	CHECK_EQ(m.map->entries, 1024);
	CHECK_EQ(m.map->tick_ns, MS);
	CHECK_EQ((int64_t)m.map->origin_ns % (int64_t)MS, 0);
	/* Ticks in words begin again a few seconds later. */
	CHECK_EQ((dev_now(CLOCK_MONOTONIC) - m.map->origin_ns) / (3600 * S),
		 (TWHEEL_CELL_TICKS + 1) * MS / (3600 * S));
	CHECK(m.map->ring_offset + 4096 <= m.bytes);
	for (i = 0; i < 1000; i++)
		CHECK(!m.cells[i].word && m.cells[i].look == ~0ULL);
	CHECK_EQ(dev_info(m.fd).max_timers, 1000);
	CHECK_EQ(dev_info(dev_open()).map_bytes, 0);
}

/*
 * Arm cell 0 for @delay_ns, and change its word before it expires: to @state and, unless
 * @times is 0, a deadline that is @times as far away. False if it expired before that; then
 * its event is taken.
 */
static bool arm_and_change(const struct mapped *m, uint64_t delay_ns,
			   unsigned int state, unsigned int times, uint64_t *id)
{
	uint64_t old, ticks;

	*id = map_arm(m, 0, delay_ns);
	old = load(&m->cells[0].word);
	ticks = times ? ticks_in(m, times * delay_ns) : 0;
	if (twheel_cell_state(old) == TWHEEL_CELL_PENDING &&
	    cas(&m->cells[0].word, old, word_of(*id, state, ticks)))
		return true;
	map_take_one(m, *id, 1);
	return false;
}

static void extended_without_a_call(void)
{
	struct mapped m = map_cells(1);
	uint64_t id, delay, look, word;

	FOR_EACH_DELAY(delay) {
		if (!arm_and_change(&m, delay, TWHEEL_CELL_PENDING, 8, &id))
			continue;
		word = load(&m.cells[0].word);
		/* The kernel reads the word at the old deadline, and posts no event. */
		do {
			usleep(1000);
			look = load(&m.cells[0].look);
		} while (look < ticks_of(&m, word));
		if (look != ~0ULL)
			break;
		/* Too slow: the new deadline has passed, too. */
		CHECK(dev_passed(ns_of(&m, word)));
		map_take_one(&m, id, 1);
	}
	CHECK_EQ(look, ticks_of(&m, word));
	if (dev_readable(m.fd, 0))
		CHECK(dev_passed(ns_of(&m, word)));
	map_take_one(&m, id, 1);
	CHECK(dev_passed(ns_of(&m, word)));
}

static void cancelled_without_a_call(void)
{
	struct mapped m = map_cells(2);
	uint64_t id, delay, began, old, next, timers, cancelled = 0;
	bool in_time;

	FOR_EACH_DELAY(delay) {
		began = dev_now(CLOCK_MONOTONIC);
		if (!arm_and_change(&m, delay, TWHEEL_CELL_CANCELLED, 0, &id))
			continue;
		/* Until its deadline, the cancelled timer counts. */
		timers = dev_info(m.fd).timers;
		in_time = !dev_passed(began + delay);
		dev_wait_cancelled(m.fd, ++cancelled);
		if (in_time)
			break;
	}
	CHECK_EQ(timers, 1);
	CHECK_EQ(dev_readable(m.fd, 20), 0);
	CHECK_EQ(twheel_cell_state(load(&m.cells[0].word)), TWHEEL_CELL_FREE);
	CHECK_EQ(dev_info(m.fd).timers, 0);
	/* The cell can be armed again before the kernel reads its word. */
	id = map_arm(&m, 0, 3600 * S);
	old = load(&m.cells[0].word);
	CHECK(cas(&m.cells[0].word, old, word_of(id, TWHEEL_CELL_CANCELLED, 0)));
	next = map_arm(&m, 0, 20 * MS);
	CHECK(next != id);
	map_take_one(&m, next, 1);
	/* A late writer of the old timer cannot change the word. */
	CHECK(!cas(&m.cells[0].word, old, old + 1));
}

static void nearer_with_a_kick(void)
{
	struct mapped m = map_cells(1);
	uint64_t id, old, new, look, delay;

	FOR_EACH_DELAY(delay) {
		id = map_arm(&m, 0, 3600 * S);
		old = load(&m.cells[0].word);
		new = word_of(id, TWHEEL_CELL_PENDING, ticks_in(&m, delay));
		CHECK(cas(&m.cells[0].word, old, new));
		CHECK(ticks_of(&m, new) < load(&m.cells[0].look));
		CHECK_EQ(map_kick(&m, id), 0);
		look = load(&m.cells[0].look);
		map_take_one(&m, id, 1);
		CHECK(dev_passed(ns_of(&m, new)));
		/* Unless it had expired before we looked. */
		if (look != ~0ULL)
			break;
	}
	CHECK_EQ(look, ticks_of(&m, new));
	/* A deadline in the past expires at once. */
	id = map_arm(&m, 0, 3600 * S);
	old = load(&m.cells[0].word);
	CHECK(cas(&m.cells[0].word, old,
		  word_of(id, TWHEEL_CELL_PENDING, ticks_in(&m, 0) - 10)));
	CHECK_EQ(map_kick(&m, id), 0);
	map_take_one(&m, id, 1);
	/* A kick frees a cancelled cell. */
	id = map_arm(&m, 0, 3600 * S);
	old = load(&m.cells[0].word);
	CHECK(cas(&m.cells[0].word, old, word_of(id, TWHEEL_CELL_CANCELLED, 0)));
	CHECK_EQ(map_kick(&m, id), 0);
	CHECK_EQ(dev_info(m.fd).timers, 0);
}

/* A timer that has fired is there as long as its event is. */
static void fired_until_taken(void)
{
	struct mapped m = map_cells(2);
	uint64_t id = map_arm(&m, 1, 0);
	struct twheel_op op;

	dev_wait_unread(m.fd, 1);
	CHECK_EQ(dev_query(m.fd, id, &op), 0);
	CHECK_EQ(op.state, TWHEEL_STATE_FIRED);
	CHECK_ERR(dev_modify(m.fd, id, 0, S), EALREADY);
	map_take_one(&m, id, 1);
	CHECK_ERR(dev_query(m.fd, id, &op), ENOENT);
	CHECK_ERR(dev_modify(m.fd, id, 0, S), ENOENT);
	CHECK_ERR(dev_cancel(m.fd, id), ENOENT);
}

/* Whatever its cell will be armed as: there is no timer of that name yet. */
static void never_armed_is_not_there(void)
{
	struct mapped m = map_cells(32);
	const uint64_t ids[] = {
		0, 1, 16, 31, 1ULL << 32, 1ULL << 32 | 16, 2ULL << 32 | 16,
	};
	struct twheel_op op;
	unsigned int i;

	for (i = 0; i < sizeof(ids) / sizeof(*ids); i++) {
		CHECK_ERR(dev_query(m.fd, ids[i], &op), ENOENT);
		CHECK_ERR(dev_modify(m.fd, ids[i], 0, S), ENOENT);
		CHECK_ERR(dev_cancel(m.fd, ids[i]), ENOENT);
		CHECK_ERR(map_kick(&m, ids[i]), ENOENT);
	}
	CHECK_EQ(dev_info(m.fd).cancelled, 0);
}

static void calls_work_too(void)
{
	struct mapped m = map_cells(3);
	uint64_t id = map_arm(&m, 1, 3600 * S), old;
	struct twheel_op op;

	CHECK_EQ(dev_query(m.fd, id, &op), 0);
	CHECK_EQ(op.state, TWHEEL_STATE_PENDING);
	CHECK_EQ(op.deadline_ns, ns_of(&m, load(&m.cells[1].word)));
	CHECK_EQ(dev_modify(m.fd, id, TWHEEL_LATER, S), 1);
	CHECK_EQ(dev_modify(m.fd, id, TWHEEL_LATER, 7200 * S), 0);
	CHECK_EQ(dev_modify(m.fd, id, 0, 1800 * S), 0);
	CHECK_EQ(load(&m.cells[1].look),
		 ticks_of(&m, load(&m.cells[1].word)));
	CHECK_EQ(dev_cancel(m.fd, id), 0);
	CHECK_EQ(twheel_cell_state(load(&m.cells[1].word)), TWHEEL_CELL_FREE);
	CHECK_ERR(dev_cancel(m.fd, id), ENOENT);
	/* Calls on a timer that the program has cancelled in its word. */
	id = map_arm(&m, 1, 3600 * S);
	old = load(&m.cells[1].word);
	CHECK(cas(&m.cells[1].word, old, word_of(id, TWHEEL_CELL_CANCELLED, 0)));
	CHECK_ERR(dev_query(m.fd, id, &op), ENOENT);
	CHECK_ERR(dev_modify(m.fd, id, 0, S), ENOENT);
	CHECK_ERR(dev_cancel(m.fd, id), ENOENT);
	CHECK_EQ(dev_info(m.fd).timers, 0);
	/* Calls on a timer whose event is unread. */
	id = map_arm(&m, 1, 0);
	NEED(dev_readable(m.fd, -1) == 1);
	CHECK_EQ(dev_query(m.fd, id, &op), 0);
	CHECK_EQ(op.state, TWHEEL_STATE_FIRED);
	CHECK_ERR(dev_modify(m.fd, id, 0, S), EALREADY);
	CHECK_EQ(dev_cancel(m.fd, id), 1);
	CHECK_ERR(dev_cancel(m.fd, id), ENOENT);
	map_arm(&m, 0, 3600 * S);
	map_arm(&m, 1, 3600 * S);
	CHECK_EQ(dev_cancel_all(m.fd), 2);
	CHECK_EQ(dev_info(m.fd).timers, 0);
}

static void setups_refused(void)
{
	const struct twheel_setup good = {
		.clockid = CLOCK_MONOTONIC, .flags = TWHEEL_SETUP_CELLS,
		.max_timers = 10,
	};
	struct twheel_setup bad[5] = { good, good, good, good, good };
	int fd = dev_open(), i;

	bad[0].flags |= 8;
	bad[1].max_timers = 0;
	bad[2].clockid = CLOCK_REALTIME;
	bad[3].max_timers = dev_info(fd).limit_timers + 1;
	bad[4].clockid = CLOCK_TAI;
	for (i = 0; i < 5; i++)
		CHECK_ERR(ioctl(fd, TWHEEL_IOC_SETUP, &bad[i]), EINVAL);
	if (!(dev_info(fd).features & TWHEEL_FEATURE_CELLS)) {
		CHECK_ERR(ioctl(fd, TWHEEL_IOC_SETUP, &good), EINVAL);
		return;
	}
	CHECK_EQ(ioctl(fd, TWHEEL_IOC_SETUP, &good), 0);
	CHECK_ERR(ioctl(fd, TWHEEL_IOC_SETUP, &good), EBUSY);
}

static void operations_refused(void)
{
	struct mapped m = map_cells(10);
	uint64_t id = map_arm(&m, 0, 3600 * S), word = load(&m.cells[0].word);
	const struct twheel_op good = { .id = 1, .deadline_ns = S };
	struct twheel_event event;
	struct twheel_op op;
	int plain = dev_open();

	op = good;
	op.id = 0;
	CHECK_ERR(ioctl(m.fd, TWHEEL_IOC_ARM, &op), EBUSY);
	op.id = 10;
	CHECK_ERR(ioctl(m.fd, TWHEEL_IOC_ARM, &op), EINVAL);
	op.id = 1ULL << 32;
	CHECK_ERR(ioctl(m.fd, TWHEEL_IOC_ARM, &op), EINVAL);
	op = good;
	op.slack_ns = 1;
	CHECK_ERR(ioctl(m.fd, TWHEEL_IOC_ARM, &op), EINVAL);

	CHECK_ERR(map_kick(&m, id + 1), ENOENT);
	CHECK_ERR(map_kick(&m, id + (1ULL << 32)), ENOENT);
	CHECK_ERR(map_kick(&m, 0), ENOENT);
	op = (struct twheel_op) { .id = id, .flags = TWHEEL_ABS };
	CHECK_ERR(ioctl(m.fd, TWHEEL_IOC_KICK, &op), EINVAL);
	op = (struct twheel_op) { .id = id, .reserved = 1 };
	CHECK_ERR(ioctl(m.fd, TWHEEL_IOC_KICK, &op), EINVAL);
	op = (struct twheel_op) { .id = id, .deadline_ns = 1 };
	CHECK_ERR(ioctl(m.fd, TWHEEL_IOC_KICK, &op), EINVAL);
	op = (struct twheel_op) { .id = id, .cookie = 1 };
	CHECK_ERR(ioctl(m.fd, TWHEEL_IOC_KICK, &op), EINVAL);
	op = (struct twheel_op) { .id = id, .deadline_ns = S, .slack_ns = 1,
				  .flags = TWHEEL_SET_SLACK };
	CHECK_ERR(ioctl(m.fd, TWHEEL_IOC_MODIFY, &op), EINVAL);
	op = (struct twheel_op) { .id = dev_arm(plain, S, 0) };
	CHECK_ERR(ioctl(plain, TWHEEL_IOC_KICK, &op), EOPNOTSUPP);
	CHECK_ERR(read(m.fd, &event, sizeof(event)), EINVAL);

	CHECK_EQ(load(&m.cells[0].word), word);
	CHECK_EQ(dev_info(m.fd).armed, 1);
	op = good;
	CHECK_EQ(ioctl(m.fd, TWHEEL_IOC_ARM, &op), 0);
}

#define HOUR	(3600 * S)

/* The last tick before those in words begin again, as a time. */
static uint64_t last_tick_ns(const struct mapped *m)
{
	return ns_at(m, TWHEEL_CELL_TICKS);
}

/*
 * Timers on both sides of the tick at which those in words begin again, one that is
 * extended over it, and one that goes on over it.
 */
static void ticks_begin_again(void)
{
	const uint64_t tick_ns = 20000;
	struct mapped m = map_cells_of(34, tick_ns);
	struct twheel_op op = { .id = 33, .period_ns = 10 * MS };
	uint64_t at[34], ids[34], event, count = 0, now;
	unsigned int i, fired = 0;
	uint32_t cell;

	NEED(ioctl(m.fd, TWHEEL_IOC_ARM, &op) == 0);
	ids[33] = op.id;
	at[33] = op.deadline_ns;
	for (i = 0; i < 32; i++) {
		at[i] = last_tick_ns(&m) + (i - 16ULL) * 5 * tick_ns;
		op = (struct twheel_op){
			.id = i, .flags = TWHEEL_ABS, .deadline_ns = at[i],
		};
		NEED(ioctl(m.fd, TWHEEL_IOC_ARM, &op) == 0);
		CHECK_EQ(op.deadline_ns, at[i]);
		CHECK_EQ(ns_of(&m, load(&m.cells[i].word)), at[i]);
		ids[i] = op.id;
	}
	ids[32] = map_arm(&m, 32, 10 * MS);
	at[32] = last_tick_ns(&m) + 60 * MS;
	/* Unless this guest has stood still. */
	if (!map_move(&m, ids[32], TWHEEL_CELL_TICKS + 60 * MS / tick_ns))
		at[32] = 0;
	while (fired < 33 || count < 20) {
		NEED(dev_readable(m.fd, -1) == 1);
		NEED(map_take(&m, &cell, &event));
		NEED(cell < 34);
		now = dev_now(CLOCK_MONOTONIC);
		CHECK_EQ(event >> 32, ids[cell] >> 32);
		CHECK(now >= at[cell]);
		if (cell < 33) {
			CHECK_EQ((uint32_t)event, 1);
			fired++;
			continue;
		}
		count += (uint32_t)event;
		CHECK(now >= at[33] + (count - 1) * 10 * MS);
		if (load(&m.cells[33].look) == TWHEEL_CELL_NEVER)
			CHECK_EQ(map_kick(&m, ids[33]), 0);
	}
	CHECK(dev_passed(last_tick_ns(&m)));
}

/* Modified and extended by calls, over that tick and back. */
static void calls_know_where_ticks_begin_again(void)
{
	uint64_t delay, last, tick_ns, deadline;
	struct twheel_op op;
	struct mapped m;
	int later, same;

	FOR_EACH_DELAY(delay) {
		m = map_cells_of(1, delay / 20);
		tick_ns = m.map->tick_ns;
		last = last_tick_ns(&m);
		op = (struct twheel_op){
			.flags = TWHEEL_ABS, .deadline_ns = last - tick_ns,
		};
		NEED(ioctl(m.fd, TWHEEL_IOC_ARM, &op) == 0);
		later = dev_modify(m.fd, op.id, TWHEEL_ABS | TWHEEL_LATER, last + tick_ns);
		same = dev_modify(m.fd, op.id, TWHEEL_ABS | TWHEEL_LATER, last);
		if (!dev_passed(last - tick_ns))
			break;
	}
	CHECK_EQ(later, 0);
	CHECK_EQ(same, 1);
	dev_query(m.fd, op.id, &op);
	deadline = op.deadline_ns;
	CHECK_EQ(deadline, last + tick_ns);
	CHECK_EQ(dev_modify(m.fd, op.id, TWHEEL_ABS, last + HOUR), 0);
	CHECK_EQ(dev_query(m.fd, op.id, &op), 0);
	CHECK_EQ(op.deadline_ns - last, HOUR);
	CHECK_EQ(dev_modify(m.fd, op.id, TWHEEL_ABS, last), 0);
	map_take_one(&m, op.id, 1);
	CHECK(dev_passed(last));
}

/* What a cell's word cannot say is refused, and not never. */
static void beyond_the_word(void)
{
	struct twheel_setup setup = {
		.clockid = CLOCK_MONOTONIC, .flags = TWHEEL_SETUP_CELLS,
		.tick_ns = 10000, .max_timers = 4,
	};
	const uint64_t reach = TWHEEL_CELL_REACH * setup.tick_ns;
	struct twheel_op op = { .id = 0, .deadline_ns = reach + HOUR }, got;
	int fd = dev_open();
	uint64_t id;

	if (!(dev_info(fd).features & TWHEEL_FEATURE_CELLS))
		tap_skip("no shared mapping on this machine");
	NEED(ioctl(fd, TWHEEL_IOC_SETUP, &setup) == 0);
	CHECK_ERR(ioctl(fd, TWHEEL_IOC_ARM, &op), ERANGE);
	op.deadline_ns = HOUR;
	op.period_ns = reach + HOUR;
	CHECK_ERR(ioctl(fd, TWHEEL_IOC_ARM, &op), ERANGE);
	CHECK_EQ(dev_info(fd).armed, 0);
	op.deadline_ns = reach - HOUR;
	op.period_ns = reach - HOUR;
	id = dev_arm_op(fd, &op);
	got = op;
	CHECK_ERR(dev_modify(fd, id, 0, reach + HOUR), ERANGE);
	CHECK_ERR(dev_modify(fd, id, TWHEEL_LATER, reach + HOUR), ERANGE);
	CHECK_EQ(dev_query(fd, id, &got), 0);
	CHECK_EQ(got.deadline_ns, op.deadline_ns);
	/* Never is a deadline that a word can say. */
	CHECK_EQ(dev_modify(fd, id, 0, TWHEEL_DELAY_NEVER), 0);
	CHECK_EQ(dev_query(fd, id, &got), 0);
	CHECK_EQ(got.deadline_ns, TWHEEL_DELAY_NEVER);
}

/* Whatever the program says it has taken. */
static void unread_has_a_bound(void)
{
	struct mapped m = map_cells(1000);
	uint32_t tail;

	map_arm(&m, 0, 0);
	dev_wait_unread(m.fd, 1);
	tail = m.map->tail;
	m.map->tail = tail - 5000;
	CHECK_EQ(dev_info(m.fd).unread, 1000);
	m.map->tail = tail + 5000;
	CHECK_EQ(dev_info(m.fd).unread, 1000);
	m.map->tail = tail;
	CHECK_EQ(dev_info(m.fd).unread, 1);
}

static void mappings_refused(void)
{
	struct mapped m = map_cells(10);
	size_t page = sysconf(_SC_PAGESIZE);
	int rw = PROT_READ | PROT_WRITE, plain = dev_open();
	int reader = open("/dev/twheel", O_RDONLY);
	struct twheel_setup setup = {
		.clockid = CLOCK_MONOTONIC, .flags = TWHEEL_SETUP_CELLS,
		.max_timers = 10,
	};

	CHECK(mmap(NULL, m.bytes, rw, MAP_PRIVATE, m.fd, 0) == MAP_FAILED);
	CHECK_EQ(errno, EINVAL);
	CHECK(mmap(NULL, m.bytes + page, rw, MAP_SHARED, m.fd, 0) == MAP_FAILED);
	CHECK_EQ(errno, EINVAL);
	CHECK(mmap(NULL, m.bytes, rw, MAP_SHARED, m.fd, page) == MAP_FAILED);
	CHECK_EQ(errno, EINVAL);
	CHECK(mmap(NULL, page, rw, MAP_SHARED, plain, 0) == MAP_FAILED);
	CHECK_EQ(errno, ENODEV);
	dev_arm(plain, S, 0);
	CHECK(mmap(NULL, page, rw, MAP_SHARED, plain, 0) == MAP_FAILED);
	CHECK_EQ(errno, ENODEV);
	/* A file that is open for reading can be mapped for reading only. */
	CHECK_EQ(ioctl(reader, TWHEEL_IOC_SETUP, &setup), 0);
	CHECK(mmap(NULL, page, rw, MAP_SHARED, reader, 0) == MAP_FAILED);
	CHECK_EQ(errno, EACCES);
	CHECK(mmap(NULL, page, PROT_READ, MAP_SHARED, reader, 0) != MAP_FAILED);
	/* A part may be mapped, read-only. */
	CHECK(mmap(NULL, page, PROT_READ, MAP_SHARED, m.fd, page) != MAP_FAILED);
}

/* Behind the mapping there is nothing: it must not be made longer. */
static void mapping_does_not_grow(void)
{
	struct mapped m = map_cells(10);

	CHECK(mremap(m.start, m.bytes, 2 * m.bytes, MREMAP_MAYMOVE) == MAP_FAILED);
	CHECK_EQ(errno, EFAULT);
	CHECK(mremap(m.start, m.bytes, m.bytes / 2, 0) == m.start);
}

/* A part of a word that is too long does not change the others. */
static void words_keep_their_parts(void)
{
	const uint32_t most = TWHEEL_CELL_GENERATIONS - 1;
	uint64_t word = twheel_cell_word(most + 1, TWHEEL_CELL_PENDING, 5);

	CHECK_EQ(twheel_cell_generation(word), 0);
	CHECK_EQ(twheel_cell_state(word), TWHEEL_CELL_PENDING);
	CHECK_EQ(twheel_cell_ticks(word, 0), 5);
	CHECK_EQ(twheel_cell_word(~0U, TWHEEL_CELL_FIRED, TWHEEL_CELL_NEVER),
		 twheel_cell_word(most, TWHEEL_CELL_FIRED, TWHEEL_CELL_NEVER));
	CHECK_EQ(twheel_cell_ticks(twheel_cell_word(most, TWHEEL_CELL_PENDING, ~1ULL), 0),
		 TWHEEL_CELL_TICKS - 1);
	CHECK_EQ(twheel_cell_next_generation(0), 1);
	CHECK_EQ(twheel_cell_next_generation(twheel_cell_word(1, TWHEEL_CELL_FIRED, 9)), 2);
	CHECK_EQ(twheel_cell_next_generation(twheel_cell_word(most - 1, 0, 0)), most);
	CHECK_EQ(twheel_cell_next_generation(twheel_cell_word(most, TWHEEL_CELL_FIRED, 9)), 1);
}

static const struct tap_test tests[] = {
	TAP(map_header_is_filled),
	TAP(extended_without_a_call),
	TAP(cancelled_without_a_call),
	TAP(nearer_with_a_kick),
	TAP(fired_until_taken),
	TAP(never_armed_is_not_there),
	TAP(calls_work_too),
	TAP(setups_refused),
	TAP(operations_refused),
	TAP(beyond_the_word), TAP(ticks_begin_again),
	TAP(calls_know_where_ticks_begin_again),
	TAP(unread_has_a_bound),
	TAP(mappings_refused),
	TAP(mapping_does_not_grow),
	TAP(words_keep_their_parts),
};

int main(int argc, char **argv)
{
	return tap_main(tests, sizeof(tests) / sizeof(*tests), argc, argv);
}
