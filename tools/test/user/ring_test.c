// SPDX-License-Identifier: GPL-2.0-only
/* The shared mapping: events in the ring, and while cells change. */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "lib/device.h"
#include "lib/dice.h"
#include "lib/mapped.h"
#include "lib/tap.h"

static void fires_into_the_ring(void)
{
	struct mapped m = map_cells(300);
	uint64_t id, word, look, delay;
	int readable;

	FOR_EACH_DELAY(delay) {
		id = map_arm(&m, 299, delay);
		word = load(&m.cells[299].word);
		look = load(&m.cells[299].look);
		readable = dev_readable(m.fd, 0);
		if (!dev_passed(ns_of(&m, word)))
			break;
		map_take_one(&m, id, 1);
	}
	CHECK_EQ(word, word_of(id, TWHEEL_CELL_PENDING, ticks_of(&m, word)));
	CHECK_EQ(look, ticks_of(&m, word));
	CHECK_EQ(readable, 0);
	map_take_one(&m, id, 1);
	CHECK(dev_now(CLOCK_MONOTONIC) >= ns_of(&m, word));
	CHECK_EQ(twheel_cell_state(load(&m.cells[299].word)), TWHEEL_CELL_FIRED);
	CHECK_EQ(load(&m.cells[299].look), ~0ULL);
	CHECK_EQ(dev_readable(m.fd, 0), 0);
	CHECK_EQ(dev_info(m.fd).timers, 0);
}

static void rearming_revokes(void)
{
	struct mapped m = map_cells(4);
	uint64_t id = map_arm(&m, 2, 0), event;
	uint32_t cell;

	NEED(dev_readable(m.fd, -1) == 1);
	id = map_arm(&m, 2, 3600 * S);
	NEED(map_take(&m, &cell, &event));
	CHECK_EQ(cell, 2);
	CHECK_EQ((uint32_t)event, 0);
	CHECK_EQ(dev_modify(m.fd, id, 0, 0), 0);
	map_take_one(&m, id, 1);
	/* The entry in the ring serves the next timer of the cell. */
	id = map_arm(&m, 2, 0);
	NEED(dev_readable(m.fd, -1) == 1);
	id = map_arm(&m, 2, 0);
	/* The entry is not new, so wait for the event word. */
	while (load(&m.events[2]) != ((id >> 32) << 32 | 1))
		usleep(1000);
	map_take_one(&m, id, 1);
	CHECK(!map_take(&m, &cell, &event));
}

/*
 * Either the reader gets the event, or cancel returns that it was withdrawn. A reader that
 * got it finds the word unchanged.
 */
static void cancelled_or_taken(void)
{
	struct mapped m = map_cells(4);
	uint64_t id = map_arm(&m, 2, 0), event, word;
	uint32_t cell;

	NEED(dev_readable(m.fd, -1) == 1);
	NEED(map_take(&m, &cell, &event));
	CHECK_EQ(event, (id >> 32) << 32 | 1);
	word = load(&m.cells[2].word);
	CHECK_EQ(word, word_of(id, TWHEEL_CELL_FIRED, ticks_of(&m, word)));
	CHECK_EQ(dev_cancel(m.fd, id), -1);
	CHECK_EQ(errno, ENOENT);
	CHECK_EQ(load(&m.cells[2].word), word);

	id = map_arm(&m, 2, 0);
	NEED(dev_readable(m.fd, -1) == 1);
	CHECK_EQ(dev_cancel(m.fd, id), 1);
	CHECK_EQ(load(&m.cells[2].word), word_of(id, TWHEEL_CELL_FREE, 0));
	NEED(map_take(&m, &cell, &event));
	CHECK_EQ((uint32_t)event, 0);
	CHECK_EQ(dev_info(m.fd).cancelled, 1);
}

/* Wait until a periodic timer waits for its event to be taken. */
static void wait_parked(const struct mapped *m, uint32_t cell)
{
	while (load(&m->cells[cell].look) != TWHEEL_CELL_NEVER)
		usleep(1000);
}

/* Take the event of a periodic timer as the header says. Returns how many expiries. */
static uint32_t take_period(const struct mapped *m, uint64_t id)
{
	uint64_t event;
	uint32_t cell;

	NEED(dev_readable(m->fd, -1) == 1);
	NEED(map_take(m, &cell, &event));
	CHECK_EQ(cell, (uint32_t)id);
	CHECK_EQ(event >> 32, id >> 32);
	if (load(&m->cells[cell].look) == TWHEEL_CELL_NEVER)
		CHECK_EQ(map_kick(m, id), 0);
	return event;
}

/* However late the reader is, the deadline is as many periods on as it was told. */
static void periods_add_up(void)
{
	struct mapped m = map_cells(1);
	struct twheel_op op = { .deadline_ns = 10 * MS, .period_ns = 9500000 };
	uint64_t total = 0, word;
	int i;

	dev_arm_op(m.fd, &op);
	for (i = 0; i < 5; i++) {
		/* Now and then it is in time. */
		if (i != 2)
			wait_parked(&m, 0);
		usleep(i * 10000);
		total += take_period(&m, op.id);
		CHECK(dev_now(CLOCK_MONOTONIC) >=
		      op.deadline_ns + (total - 1) * 10 * MS);
	}
	/* The period is rounded up to 10 ms. */
	wait_parked(&m, 0);
	total += (uint32_t)load(&m.events[0]);
	word = load(&m.cells[0].word);
	CHECK_EQ(ns_of(&m, word), op.deadline_ns + total * 10 * MS);
	CHECK_EQ(twheel_cell_state(word), TWHEEL_CELL_PENDING);
	CHECK(total > 10);
	CHECK_EQ(dev_cancel(m.fd, op.id), 1);
	CHECK_EQ(dev_info(m.fd).timers, 0);
}

/* Periodic timers of a program that takes no events wake nobody up. */
static void a_stopped_program_costs_nothing(void)
{
	struct mapped m = map_cells(20);
	struct twheel_op op = { .deadline_ns = MS, .period_ns = MS };
	struct twheel_info before, after;
	struct twheel_file_stats stats;
	uint64_t event;
	unsigned int i;

	for (i = 0; i < 20; i++) {
		op = (struct twheel_op) { .id = i, .deadline_ns = i * MS,
					  .period_ns = MS };
		dev_arm_op(m.fd, &op);
	}
	for (i = 0; i < 20; i++)
		wait_parked(&m, i);
	event = load(&m.events[19]);
	before = dev_info(m.fd);
	usleep(100000);
	after = dev_info(m.fd);
	CHECK_EQ(after.fired, 20);
	CHECK_EQ(after.passes, before.passes);
	CHECK_EQ(after.timers, 20);
	/* A kick before the event is taken changes nothing for long. */
	CHECK_EQ(map_kick(&m, op.id), 0);
	wait_parked(&m, 19);
	CHECK_EQ(dev_info(m.fd).fired, 20);
	CHECK_EQ(load(&m.events[19]), event);
	/* With another deadline, it expires once more. */
	CHECK_EQ(dev_modify(m.fd, op.id, 0, 5 * MS), 2);
	while (dev_info(m.fd).fired != 21)
		usleep(1000);
	wait_parked(&m, 19);
	NEED(!ioctl(m.fd, TWHEEL_IOC_STATS, &stats));
	CHECK_EQ(stats.fired, 21);
	CHECK_EQ(stats.extended, 0);
}

static void mapping_outlives_close(void)
{
	struct mapped m = map_cells(5);
	uint64_t id = map_arm(&m, 3, 100 * MS), event;
	uint32_t cell;
	int tries = 0;

	close(m.fd);
	while (!map_take(&m, &cell, &event) && tries++ < 6000)
		usleep(10000);
	CHECK_EQ(cell, 3);
	CHECK_EQ(event, (id >> 32) << 32 | 1);
	NEED(munmap(m.start, m.bytes) == 0);
}

enum { DUEL_CELLS = 64 };

/* The duel goes on until there were so many of each. */
enum { MANY_EVENTS = 3000, MANY_CANCELS = 1000, MANY_KICKS = 500 };

static struct {
	struct mapped m;
	/* The generation of the last event that was read, of each cell. */
	_Atomic uint32_t read[DUEL_CELLS];
	atomic_long events, armed, cancelled, extended, kicked, bad;
	atomic_bool over, drained;
} duel;

/* Change the deadline of a pending cell; kick if it is before the look. */
static void cell_move(unsigned int cell, uint64_t delay_ns)
{
	struct mapped *m = &duel.m;
	uint64_t word = load(&m->cells[cell].word), ticks, id;

	if (twheel_cell_state(word) != TWHEEL_CELL_PENDING)
		return;
	ticks = ticks_in(m, delay_ns);
	id = (uint64_t)twheel_cell_generation(word) << 32 | cell;
	if (!cas(&m->cells[cell].word, word,
		 word_of(id, TWHEEL_CELL_PENDING, ticks)))
		return;
	duel.extended++;
	if (ticks < load(&m->cells[cell].look)) {
		duel.kicked++;
		if (map_kick(m, id) && errno != ENOENT)
			duel.bad++;
	}
}

static void *duel_mover(void *arg)
{
	uint32_t seed = 7;

	while (!duel.over)
		cell_move(roll(&seed) % DUEL_CELLS, roll(&seed) % (4 * MS));
	return arg;
}

static void cell_act(unsigned int cell, uint32_t *seed)
{
	struct mapped *m = &duel.m;
	uint64_t word = load(&m->cells[cell].word);
	uint64_t id = (uint64_t)twheel_cell_generation(word) << 32 | cell;

	switch (twheel_cell_state(word)) {
	case TWHEEL_CELL_PENDING:
		if (roll(seed) % 8)
			cell_move(cell, roll(seed) % (2 * MS));
		else if (cas(&m->cells[cell].word, word,
			     word_of(id, TWHEEL_CELL_CANCELLED, 0)))
			duel.cancelled++;
		return;
	case TWHEEL_CELL_FIRED:
		/* Arming it would revoke the event. */
		if (duel.read[cell] != twheel_cell_generation(word))
			return;
		break;
	}
	map_arm(m, cell, roll(seed) % (3 * MS));
	duel.armed++;
}

static void *duel_owner(void *arg)
{
	uint32_t seed = 3;

	while (!duel.over)
		cell_act(roll(&seed) % DUEL_CELLS, &seed);
	return arg;
}

static void *duel_taker(void *arg)
{
	struct mapped *m = &duel.m;
	uint32_t seed = 11, cell;
	uint64_t event, word;

	while (!duel.drained) {
		if (!map_take(m, &cell, &event)) {
			poll(&(struct pollfd) { .fd = m->fd, .events = POLLIN },
			     1, 20);
			continue;
		}
		/* It is slow at times. */
		if (!(roll(&seed) % 64))
			usleep(roll(&seed) % 5000);
		word = load(&m->cells[cell].word);
		duel.events += (uint32_t)event;
		duel.bad += (uint32_t)event != 1;
		/* The timer fired once, and not early. */
		duel.bad += twheel_cell_state(word) != TWHEEL_CELL_FIRED;
		duel.bad += twheel_cell_generation(word) != event >> 32;
		duel.bad += duel.read[cell] == event >> 32;
		duel.bad += dev_now(CLOCK_MONOTONIC) < ns_of(m, word);
		duel.read[cell] = event >> 32;
	}
	return arg;
}

static bool duel_settled(void)
{
	unsigned int i;

	for (i = 0; i < DUEL_CELLS; i++) {
		uint64_t word = load(&duel.m.cells[i].word);

		if (twheel_cell_state(word) == TWHEEL_CELL_PENDING ||
		    (twheel_cell_state(word) == TWHEEL_CELL_FIRED &&
		     duel.read[i] != twheel_cell_generation(word)))
			return false;
	}
	return !dev_info(duel.m.fd).timers;
}

static void each_fires_once_and_not_early(void)
{
	pthread_t threads[3];
	struct twheel_info info;

	duel.m = map_cells(DUEL_CELLS);
	NEED(!pthread_create(&threads[0], NULL, duel_owner, NULL));
	NEED(!pthread_create(&threads[1], NULL, duel_mover, NULL));
	NEED(!pthread_create(&threads[2], NULL, duel_taker, NULL));
	while (duel.events < MANY_EVENTS || duel.cancelled < MANY_CANCELS ||
	       duel.kicked < MANY_KICKS)
		usleep(10000);
	duel.over = true;
	pthread_join(threads[0], NULL);
	pthread_join(threads[1], NULL);
	while (!duel_settled())
		usleep(10000);
	duel.drained = true;
	pthread_join(threads[2], NULL);
	info = dev_info(duel.m.fd);
	printf("# %ld armed, %ld moved, %ld kicks, %ld cancelled, %ld events\n",
	       duel.armed, duel.extended, duel.kicked, duel.cancelled,
	       duel.events);
	CHECK_EQ(duel.bad, 0);
	CHECK_EQ(info.armed, duel.armed);
	CHECK_EQ(info.fired, duel.events);
	CHECK_EQ(info.cancelled, duel.cancelled);
	CHECK_EQ(duel.armed, duel.events + duel.cancelled);
}

/* A reader waits in a file, which is then set up with cells. */
static void *read_early(void *arg)
{
	struct twheel_event event;
	long ret = read(*(int *)arg, &event, sizeof(event));

	return (void *)(ret < 0 ? (long)errno : 0);
}

static void reader_from_before_the_cells(void)
{
	struct twheel_setup setup = {
		.clockid = CLOCK_MONOTONIC, .flags = TWHEEL_SETUP_CELLS,
		.max_timers = 4,
	};
	struct twheel_op op = { };
	pthread_t reader;
	int fd = dev_open();
	void *error;

	if (!(dev_info(fd).features & TWHEEL_FEATURE_CELLS))
		tap_skip("no shared mapping on this machine");
	NEED(!pthread_create(&reader, NULL, read_early, &fd));
	usleep(50000);
	NEED(!ioctl(fd, TWHEEL_IOC_SETUP, &setup));
	dev_arm_op(fd, &op);
	NEED(!pthread_join(reader, &error));
	CHECK_EQ((long)error, EINVAL);
}

static const struct tap_test tests[] = {
	TAP(fires_into_the_ring),
	TAP(rearming_revokes),
	TAP(cancelled_or_taken),
	TAP(periods_add_up),
	TAP(a_stopped_program_costs_nothing),
	TAP(mapping_outlives_close),
	TAP(each_fires_once_and_not_early),
	TAP(reader_from_before_the_cells),
};

int main(int argc, char **argv)
{
	return tap_main(tests, sizeof(tests) / sizeof(*tests), argc, argv);
}
