// SPDX-License-Identifier: GPL-2.0-only
/* Files that act: a bound for renewals of cells, and stray words. */
#define _GNU_SOURCE
#include <pthread.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "lib/acts.h"
#include "lib/device.h"
#include "lib/dice.h"
#include "lib/mapped.h"
#include "lib/tap.h"

/* The bound and a deadline, in ticks of a millisecond. */
#define MOST		100
#define DEADLINE	20
/* A renewal rounds up, and the kernel rounds down. */
#define FARTHEST	(MOST + 1)
#define LEASES		100
/* A timer that comes after all that is due. */
#define MARK		1000

/* Cells whose renewals have a bound, and what counts each that acts. */
struct leases {
	struct mapped m;
	int acted;
};

static struct leases leases_open(uint32_t clock)
{
	struct leases l = {
		.m = map_open(&(struct twheel_setup) {
			.clock = clock, .tick_ns = MS, .max_cells = LEASES,
			.flags = TWHEEL_SETUP_ACT,
		}),
		.acted = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC),
	};

	signals_hold();
	NEED(l.acted >= 0);
	act_tell(l.m.fd, MARK, DONE);
	return l;
}

/* Each cell without a bound of its own, or one of them. */
static void leases_bind(const struct leases *l, uint64_t number, uint64_t most_ns)
{
	struct twheel_act act = {
		.number = number, .action = act_of(TWHEEL_ACT_EVENTFD, l->acted),
		.most_ns = most_ns,
	};

	NEED(act_choose(l->m.fd, act) == 0);
}

/* On a clock that stands still, and on one whose ticks are about to wrap. */
static struct leases leases_open_bound(bool wraps)
{
	struct leases l = leases_open(TWHEEL_VIRTUAL);

	leases_bind(&l, TWHEEL_ACT_ANY, MOST * MS);
	if (wraps)
		map_advance(&l.m, 4096 - DEADLINE / 2);
	return l;
}

/* How many have acted since the last call, when the agent has looked at all that is due. */
static uint64_t leases_acted(const struct leases *l)
{
	uint64_t count;

	/* On the present tick, of which it is the last one. */
	dev_arm_at(l->m.fd, dev_info(l->m.fd).now_ns / MS * MS, MARK);
	signal_take(DONE);
	return read(l->acted, &count, sizeof(count)) == sizeof(count) ? count : 0;
}

static uint64_t lease_arm(const struct leases *l, uint32_t cell)
{
	uint64_t id;

	map_arm(&l->m, cell, map_now(&l->m) + DEADLINE, &id);
	/* What it has not seen, the kernel cannot miss. */
	NEED(dev_kick(l->m.fd, cell) == 0);
	return id;
}

static void lease_store(const struct leases *l, uint32_t cell, uint64_t word)
{
	store(&map_cell(&l->m, cell)->word, word);
}

/* What cancelling leaves of a cell that was armed for then. */
static uint64_t word_cancelled(uint32_t generation, uint64_t tick)
{
	return twheel_cell_cancelled(twheel_cell_word(generation, TWHEEL_CELL_PENDING, tick));
}

/* Words that no call leaves in a pending cell. Returns how many there are. */
static unsigned int stray_words(const struct leases *l, uint64_t *words)
{
	uint64_t good = map_word(&l->m, 0), now = map_now(&l->m);
	uint32_t seed = 1, generation = twheel_cell_generation(good);
	const uint32_t states[] = { TWHEEL_CELL_FREE, TWHEEL_CELL_FIRED };
	const int64_t far[] = {
		/* When the kernel looks at its deadline, and one tick more. */
		DEADLINE + FARTHEST + 1, 100000, TWHEEL_CELL_REACH - 1, -(int64_t)TWHEEL_CELL_PAST,
	};
	unsigned int count = 0, i;

	words[count++] = 0;
	words[count++] = ~0ULL;
	words[count++] = 0x5555555555555555;
	words[count++] = 0xaaaaaaaaaaaaaaaa;
	words[count++] = (uintptr_t)words;
	for (i = 0; i < SIZE_OF(states); i++)
		words[count++] = twheel_cell_word(generation, states[i], now + DEADLINE);
	for (i = 0; i < SIZE_OF(far); i++) {
		words[count++] = twheel_cell_word(generation, TWHEEL_CELL_PENDING, now + far[i]);
		words[count++] = word_cancelled(generation, now + far[i]);
	}
	/* Not earlier than twice the bound before its deadline. */
	words[count++] = word_cancelled(generation, now + DEADLINE - 2 * FARTHEST - 1);
	words[count++] = twheel_cell_word(generation, TWHEEL_CELL_PENDING, TWHEEL_CELL_NEVER);
	words[count++] = word_cancelled(generation, TWHEEL_CELL_NEVER);
	/* The state alone: a count that is added gets there. */
	words[count++] = good + 2;
	words[count++] = good & ~(3ULL << TWHEEL_CELL_STATE_SHIFT);
	while (count < LEASES)
		words[count++] = (uint64_t)roll(&seed) << 32 | roll(&seed);
	return count;
}

/* Each acts at the deadline that the kernel knows, once, and can be armed again. */
TEST(a_stray_word)
{
	uint64_t words[LEASES];
	unsigned int wraps, count, i;

	for (wraps = 0; wraps < 2; wraps++) {
		struct leases l = leases_open_bound(wraps);

		for (i = 0; i < LEASES; i++)
			lease_arm(&l, i);
		count = stray_words(&l, words);
		for (i = 0; i < count; i++)
			lease_store(&l, i, words[i]);
		map_advance(&l.m, DEADLINE - 1);
		CHECK_EQ(leases_acted(&l), 0);
		for (i = 0; i < count; i++)
			CHECK_EQ(map_word(&l.m, i), words[i]);
		map_advance(&l.m, 1);
		CHECK_EQ(leases_acted(&l), count);
		for (i = 0; i < count; i++) {
			CHECK_EQ(map_state(&l.m, i), TWHEEL_CELL_FIRED);
			CHECK_EQ(twheel_cell_generation(map_word(&l.m, i)),
				 twheel_cell_generation(words[i]));
			CHECK_EQ(map_check(&l.m, i), TWHEEL_CELL_NEVER);
		}
		map_advance(&l.m, TWHEEL_CELL_PAST / 2);
		CHECK_EQ(leases_acted(&l), 0);
		CHECK_EQ(dev_stat(l.m.fd, "cells"), 0);
		lease_arm(&l, 5);
		map_advance(&l.m, DEADLINE);
		CHECK_EQ(leases_acted(&l), 1);
		map_close(&l.m);
	}
}

/* Earlier, if the kernel is asked to look. */
TEST(a_stray_word_is_looked_at)
{
	struct leases l = leases_open_bound(false);
	uint64_t words[LEASES];
	unsigned int count, i;

	for (i = 0; i < LEASES; i++)
		lease_arm(&l, i);
	count = stray_words(&l, words);
	for (i = 0; i < count; i++) {
		lease_store(&l, i, words[i]);
		NEED(dev_kick(l.m.fd, i) == 0);
	}
	/* One of them is what is cancelled until the deadline has come. */
	CHECK_EQ(leases_acted(&l), count - 1);
	CHECK_EQ(dev_stat(l.m.fd, "failed"), 0);
}

/* What the bound allows does not act: neither when it is looked at, nor later. */
TEST(a_good_word)
{
	unsigned int wraps;

	for (wraps = 0; wraps < 2; wraps++) {
		struct leases l = leases_open_bound(wraps);
		uint64_t farthest = lease_arm(&l, 0), cancelled = lease_arm(&l, 1);
		uint64_t far_cancelled = lease_arm(&l, 2), nearer = lease_arm(&l, 3);
		uint64_t near_cancelled = lease_arm(&l, 4), tick;
		unsigned int i;

		/* It is later than its tick: that counts as a tick more. */
		dev_advance(l.m.fd, MS / 2);
		tick = map_now(&l.m) + FARTHEST;
		CHECK(map_extend(&l.m, farthest, tick));
		CHECK(map_cancel(&l.m, cancelled));
		CHECK(map_extend(&l.m, far_cancelled, tick));
		CHECK(map_cancel(&l.m, far_cancelled));
		/* Before the sweep that these are found by. */
		CHECK(map_move(&l.m, near_cancelled, map_now(&l.m) + 2));
		CHECK(map_cancel(&l.m, near_cancelled));
		CHECK(map_move(&l.m, nearer, map_now(&l.m) + 3));
		for (i = 0; i < 5; i++)
			NEED(dev_kick(l.m.fd, i) == 0);
		CHECK_EQ(leases_acted(&l), 0);
		dev_advance(l.m.fd, 2 * MS + MS / 2);
		CHECK_EQ(leases_acted(&l), 1);
		CHECK_EQ(map_state(&l.m, 3), TWHEEL_CELL_FIRED);
		map_advance(&l.m, tick - map_now(&l.m) - 1);
		CHECK_EQ(leases_acted(&l), 0);
		map_advance(&l.m, 1);
		CHECK_EQ(leases_acted(&l), 1);
		CHECK_EQ(map_state(&l.m, 0), TWHEEL_CELL_FIRED);
		map_close(&l.m);
	}
}

/* Found at the deadline, and not before: also by a kernel that comes late. */
TEST(a_good_word_that_is_found_late)
{
	struct leases l = leases_open_bound(false);
	uint64_t cancelled = lease_arm(&l, 0), far_cancelled = lease_arm(&l, 1);
	uint64_t near_cancelled = lease_arm(&l, 2), renewed = lease_arm(&l, 3);

	CHECK(map_cancel(&l.m, cancelled));
	CHECK(map_extend(&l.m, far_cancelled, map_now(&l.m) + MOST));
	CHECK(map_cancel(&l.m, far_cancelled));
	CHECK(map_move(&l.m, near_cancelled, map_now(&l.m) + 1));
	CHECK(map_cancel(&l.m, near_cancelled));
	CHECK(map_extend(&l.m, renewed, map_now(&l.m) + MOST));
	/* Armed for the past, and cancelled before the kernel looks. */
	lease_arm(&l, 4);
	lease_store(&l, 4, word_cancelled(twheel_cell_generation(map_word(&l.m, 4)),
					  map_now(&l.m) - MOST));
	map_advance(&l.m, DEADLINE);
	CHECK_EQ(leases_acted(&l), 0);
	map_advance(&l.m, MOST);
	CHECK_EQ(leases_acted(&l), 1);
	/* The clock jumps far beyond what was cancelled, as it does when a machine sleeps. */
	CHECK(map_cancel(&l.m, lease_arm(&l, 0)));
	map_advance(&l.m, 1000 * MOST);
	CHECK_EQ(leases_acted(&l), 0);
	CHECK_EQ(dev_stat(l.m.fd, "cells"), 0);
}

/* A cell that the wheel does not know: what is armed too far acts, and all else is none. */
TEST(a_stray_word_that_is_submitted)
{
	struct leases l = leases_open_bound(false);
	uint64_t farthest = map_now(&l.m) + FARTHEST;
	unsigned int i;

	lease_store(&l, 1, ~0ULL);
	lease_store(&l, 2, twheel_cell_word(1, TWHEEL_CELL_FIRED, farthest));
	lease_store(&l, 3, word_cancelled(1, farthest + 1000));
	lease_store(&l, 4, twheel_cell_word(1, TWHEEL_CELL_PENDING, farthest));
	for (i = 0; i < 5; i++)
		NEED(dev_kick(l.m.fd, i) == 0);
	CHECK_EQ(leases_acted(&l), 0);
	map_arm(&l.m, 5, farthest + 1, NULL);
	NEED(dev_kick(l.m.fd, 5) == 0);
	CHECK_EQ(leases_acted(&l), 1);
	CHECK_EQ(map_state(&l.m, 5), TWHEEL_CELL_FIRED);
	map_arm(&l.m, 6, TWHEEL_CELL_NEVER, NULL);
	NEED(dev_kick(l.m.fd, 6) == 0);
	CHECK_EQ(leases_acted(&l), 1);
	/* By a sweep. The first one announces it. */
	map_arm(&l.m, 7, map_now(&l.m) + 1, NULL);
	map_arm(&l.m, 8, farthest + 1000, NULL);
	map_advance(&l.m, 1);
	CHECK_EQ(leases_acted(&l), 2);
}

/* A bound of its own comes before the one of all, also none; it is taken back with the action. */
TEST(a_bound_of_its_own)
{
	struct leases l = leases_open_bound(false);
	uint64_t ids[3];
	unsigned int i;

	leases_bind(&l, 1, 2 * MOST * MS);
	leases_bind(&l, 2, 0);
	/* There is no such cell. */
	leases_bind(&l, LEASES, MS);
	for (i = 0; i < 3; i++)
		ids[i] = lease_arm(&l, i);
	for (i = 1; i < 3; i++)
		CHECK(map_extend(&l.m, ids[i], map_now(&l.m) + 2 * MOST));
	map_advance(&l.m, DEADLINE);
	CHECK_EQ(leases_acted(&l), 1);
	CHECK(map_extend(&l.m, ids[1], map_now(&l.m) + 5 * MOST));
	CHECK(map_extend(&l.m, ids[2], map_now(&l.m) + 1000 * MOST));
	map_advance(&l.m, 2 * MOST);
	CHECK_EQ(leases_acted(&l), 1);
	CHECK_EQ(map_state(&l.m, 2), TWHEEL_CELL_PENDING);
	NEED(act_choose(l.m.fd, (struct twheel_act) { .number = 2 }) == 0);
	NEED(dev_kick(l.m.fd, 2) == 0);
	CHECK_EQ(leases_acted(&l), 1);
	/* Without one for all, there is none. */
	NEED(act_choose(l.m.fd, (struct twheel_act) { .number = TWHEEL_ACT_ANY }) == 0);
	map_arm(&l.m, 3, TWHEEL_CELL_NEVER, NULL);
	NEED(dev_kick(l.m.fd, 3) == 0);
	CHECK_EQ(leases_acted(&l), 0);
	CHECK_EQ(dev_stat(l.m.fd, "failed"), 0);
}

/* close() ends a lease by its action, or finds it cancelled. */
TEST(closing_finds_stray_words)
{
	struct leases l = leases_open_bound(false);
	uint64_t words[LEASES], count = 0;
	unsigned int i;

	for (i = 0; i < LEASES; i++)
		lease_arm(&l, i);
	stray_words(&l, words);
	for (i = 0; i < LEASES - 1; i++)
		lease_store(&l, i, words[i]);
	CHECK(map_cancel(&l.m, map_id(LEASES - 1, map_word(&l.m, LEASES - 1))));
	map_close(&l.m);
	/* One of the words is what is cancelled now, too. */
	while (count < LEASES - 2) {
		uint64_t more;

		if (read(l.acted, &more, sizeof(more)) == sizeof(more))
			count += more;
		else
			usleep(1000);
	}
	usleep(20000);
	CHECK_ERR(read(l.acted, &count, sizeof(count)), EAGAIN);
}

static volatile bool stops;

static void *looks_all_the_time(void *fd)
{
	while (!stops)
		NEED(dev_kick(*(int *)fd, 0) == 0);
	return NULL;
}

/* However near the kernel's look is: what a program renews as far as it may does not act. */
TEST(a_look_beside_renewals)
{
	struct leases l = leases_open(TWHEEL_MONOTONIC);
	uint64_t most = 3600 * S, id;
	pthread_t thread;
	unsigned int i;

	leases_bind(&l, TWHEEL_ACT_ANY, most);
	map_arm(&l.m, 0, map_now(&l.m) + most / MS, &id);
	NEED(pthread_create(&thread, NULL, looks_all_the_time, &l.m.fd) == 0);
	for (i = 0; i < 20000; i++) {
		uint64_t until = dev_now(CLOCK_MONOTONIC) + most - l.m.origin_ns;

		CHECK(map_extend(&l.m, id, (until + MS - 1) / MS));
	}
	stops = true;
	NEED(pthread_join(thread, NULL) == 0);
	CHECK_EQ(leases_acted(&l), 0);
	CHECK(map_cancel(&l.m, id));
}
