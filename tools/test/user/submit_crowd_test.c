// SPDX-License-Identifier: GPL-2.0-only
/* Arming in the mapping: many threads that keep books, and hostile writers. */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

#include "lib/device.h"
#include "lib/dice.h"
#include "lib/mapped.h"
#include "lib/tap.h"

#define THREADS	4
#define CELLS	150	/* of each thread; so threads share words of the bitmap */
#define ROUNDS	40000

/* What has become of a cell's timers: threads arm them, the reader takes events. */
struct book {
	atomic_uint taken;	/* the generation whose event was taken last */
	uint64_t id;		/* 0: the cell has no timer */
	uint64_t deadline;	/* in ticks */
};

static struct book books[THREADS * CELLS];
static struct mapped shared;
static atomic_bool arming_over;
static atomic_ullong armed, cancelled, events, told[3];

/* A deadline of 1 to 64 ms, short ones more often, so that sweeps race with everything. */
static uint64_t crowd_ticks(uint32_t *seed)
{
	return ticks_in(&shared, (roll(seed) % (MS << roll(seed) % 7)) + 1);
}

static void crowd_arm(struct book *book, uint32_t cell, uint32_t *seed)
{
	book->deadline = crowd_ticks(seed);
	told[map_arm_at(&shared, cell, book->deadline, &book->id)]++;
	armed++;
}

/* A timer that cannot be changed any more has fired: its event is or will be there. */
static void crowd_change(struct book *book, uint32_t *seed)
{
	uint64_t later;

	switch (roll(seed) % 4) {
	case 0:
		later = crowd_ticks(seed);
		if (map_move(&shared, book->id, later))
			book->deadline = later;
		break;
	case 1:
		/* With a call, a timer that has fired is cancelled as well. */
		if (dev_cancel(shared.fd, book->id) >= 0) {
			cancelled++;
			book->id = 0;
		}
		break;
	default:
		if (map_cancel(&shared, book->id)) {
			cancelled++;
			book->id = 0;
		}
	}
}

static void *crowd_thread(void *arg)
{
	uint32_t first = (struct book *)arg - books, seed = first + 1, i;

	for (i = 0; i < ROUNDS; i++) {
		uint32_t cell = first + roll(&seed) % CELLS;
		struct book *book = &books[cell];

		if (book->id && book->taken == book->id >> 32)
			book->id = 0;
		if (!book->id)
			crowd_arm(book, cell, &seed);
		else if (roll(&seed) % 2)
			crowd_change(book, &seed);
	}
	return arg;
}

/* Take what there is. Each event is of the cell's present timer, and not early. */
static void crowd_take(void)
{
	uint64_t event, word;
	uint32_t cell;

	while (map_take(&shared, &cell, &event)) {
		/* Withdrawn by a call that cancelled it. */
		if (!(uint32_t)event)
			continue;
		word = load(&shared.cells[cell].word);
		NEED(twheel_cell_state(word) == TWHEEL_CELL_FIRED);
		CHECK_EQ(twheel_cell_generation(word), event >> 32);
		CHECK_EQ((uint32_t)event, 1);
		CHECK(dev_passed(ns_of(&shared, word)));
		CHECK(books[cell].taken != event >> 32);
		events++;
		books[cell].taken = event >> 32;
	}
}

static void *crowd_reader(void *arg)
{
	while (!arming_over) {
		dev_readable(shared.fd, 5);
		crowd_take();
	}
	return arg;
}

static void books_balance(void)
{
	pthread_t threads[THREADS], reader;
	uint64_t left = 0;
	int i, tries;

	shared = map_submit(THREADS * CELLS);
	NEED(!pthread_create(&reader, NULL, crowd_reader, NULL));
	for (i = 0; i < THREADS; i++)
		NEED(!pthread_create(&threads[i], NULL, crowd_thread, &books[i * CELLS]));
	for (i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	/* Those that are left fire; nobody arms or kicks any more. */
	for (tries = 0; tries < 600; tries++) {
		for (left = 0, i = 0; i < THREADS * CELLS; i++)
			left += twheel_cell_state(load(&shared.cells[i].word)) ==
				TWHEEL_CELL_PENDING;
		if (!left)
			break;
		usleep(100000);
	}
	CHECK_EQ(left, 0);
	/* A call waits for the file's lock, under which the kernel adds the event to the word. */
	dev_info(shared.fd);
	arming_over = true;
	pthread_join(reader, NULL);
	crowd_take();
	CHECK_EQ(armed, cancelled + events);
	CHECK(dev_info(shared.fd).fired >= events);
	tap_check(told[TOLD_BY_KICK] < armed / 2, __FILE__, __LINE__,
		  "of %llu arms, %llu by look, %llu by wake, %llu kicks", armed,
		  told[TOLD_BY_LOOK], told[TOLD_BY_WAKE], told[TOLD_BY_KICK]);
}

static atomic_bool vandals_over;

/* Any word of the mapping, and the bitmap most of all. */
static void *vandal_thread(void *arg)
{
	struct mapped *m = arg;
	uint64_t bitmap = m->map->leaves_offset / 8;
	uint32_t seed = 5;

	while (!vandals_over) {
		uint64_t place = roll(&seed) % 2 ? roll(&seed) % (m->bytes / 8) :
				 bitmap + roll(&seed) % (m->bytes / 8 - bitmap);
		uint64_t value = (uint64_t)roll(&seed) << 32 | roll(&seed);

		if (place * 8 < sizeof(*m->map))
			place = bitmap;
		switch (roll(&seed) % 4) {
		case 0:
			value = ~0ULL;
			break;
		case 1:
			value = twheel_cell_word(roll(&seed) % 16, roll(&seed) % 4,
						 roll(&seed) % 16384 - 8192);
			break;
		}
		__atomic_store_n((__u64 *)m->start + place, value, __ATOMIC_SEQ_CST);
	}
	return arg;
}

static void vandals_hurt_no_other_file(void)
{
	enum { N = 100 };
	struct mapped m = map_submit(N);
	int other = dev_open(), i;
	pthread_t threads[2];
	uint32_t seed = 1;

	for (i = 0; i < 2; i++)
		NEED(!pthread_create(&threads[i], NULL, vandal_thread, &m));
	for (i = 0; i < 5000; i++) {
		struct twheel_op op = {
			.id = roll(&seed) % N,
			.deadline_ns = roll(&seed) % (5 * MS),
			.period_ns = roll(&seed) % 4 ? 0 : 2 * MS,
		};
		uint64_t id = (uint64_t)(roll(&seed) % 16) << 32 | op.id;

		map_kick(&m, id);
		if (ioctl(m.fd, TWHEEL_IOC_ARM, &op))
			NEED(errno == EBUSY);
		else if (roll(&seed) % 2)
			dev_cancel(m.fd, op.id);
		else
			dev_modify(m.fd, op.id, TWHEEL_LATER, roll(&seed) % (9 * MS));
		dev_readable(m.fd, 0);
		if (i % 250)
			continue;
		/* Another file is not disturbed. */
		dev_arm(other, MS, i);
		CHECK_EQ(dev_read(other).cookie, i);
	}
	vandals_over = true;
	for (i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	CHECK(dev_info(m.fd).timers <= N);
	dev_cancel_all(m.fd);
	CHECK_EQ(dev_info(m.fd).timers, 0);
}

/* Bits without timers behind them, and bits behind the last cell. */
static void bits_without_timers_cost_one_sweep(void)
{
	struct mapped m = map_submit(100);
	uint64_t delay, ticks, id, i;
	bool in_time;

	for (i = m.map->leaves_offset / 8; i < m.bytes / 8; i++)
		__atomic_store_n((__u64 *)m.start + i, ~0ULL, __ATOMIC_SEQ_CST);
	FOR_EACH_DELAY(delay) {
		ticks = ticks_in(&m, delay);
		map_arm_at(&m, 0, ticks, &id);
		/* A kick for what is due already fires that, and needs no sweep. */
		in_time = !dev_passed(ns_at(&m, ticks));
		map_take_one(&m, id, 1);
		if (in_time)
			break;
	}
	/* A sweep takes a word of the summary first, and then those of the leaves. */
	for (i = 0; i < 600; i++) {
		if (!(load(&m.summary[0]) | load(&m.leaves[0]) | load(&m.leaves[1])))
			break;
		usleep(100000);
	}
	CHECK_EQ(load(&m.summary[0]), 0);
	CHECK_EQ(load(&m.leaves[0]), 0);
	CHECK_EQ(load(&m.leaves[1]), 0);
	/* These are nobody's. */
	CHECK_EQ(load(&m.summary[1]), ~0ULL);
	CHECK_EQ(load(&m.leaves[2]), ~0ULL);
}

static const struct tap_test tests[] = {
	TAP(books_balance),
	TAP(vandals_hurt_no_other_file),
	TAP(bits_without_timers_cost_one_sweep),
};

int main(int argc, char **argv)
{
	return tap_main(tests, sizeof(tests) / sizeof(*tests), argc, argv);
}
