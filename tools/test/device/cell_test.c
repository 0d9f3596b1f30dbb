// SPDX-License-Identifier: GPL-2.0-only
/*
 * Cells: what they do, on a virtual clock. Alarms are in cell_alarm_test.c, threads in
 * stress_test.c. Random programs, also such that write nonsense, are in ../fuzz.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "lib/device.h"
#include "lib/dice.h"
#include "lib/mapped.h"
#include "lib/tap.h"

#define NEVER	TWHEEL_CELL_NEVER

/* A part of a word that is too long does not change the others. */
TEST(words_keep_their_parts)
{
	const uint32_t most = TWHEEL_CELL_GENERATIONS - 1;
	uint64_t word = twheel_cell_word(most + 1, TWHEEL_CELL_PENDING, 5);

	CHECK_EQ(twheel_cell_generation(word), 0);
	CHECK_EQ(twheel_cell_state(word), TWHEEL_CELL_PENDING);
	CHECK_EQ(twheel_cell_ticks(word, 0), 5);
	CHECK_EQ(twheel_cell_word(~0U, TWHEEL_CELL_FIRED, NEVER),
		 twheel_cell_word(most, TWHEEL_CELL_FIRED, NEVER));
	CHECK_EQ(twheel_cell_ticks(twheel_cell_word(most, TWHEEL_CELL_PENDING, NEVER), 9), NEVER);
	CHECK_EQ(twheel_cell_ticks(twheel_cell_word(most, TWHEEL_CELL_PENDING, ~1ULL), 0),
		 TWHEEL_CELL_TICKS - 1);
	CHECK_EQ(twheel_cell_next_generation(0), 1);
	CHECK_EQ(twheel_cell_next_generation(twheel_cell_word(1, TWHEEL_CELL_FIRED, 9)), 2);
	CHECK_EQ(twheel_cell_next_generation(twheel_cell_word(most - 1, 0, 0)), most);
	CHECK_EQ(twheel_cell_next_generation(twheel_cell_word(most, TWHEEL_CELL_FIRED, 9)), 1);
}

/* Whether parts of the mapping lie one after another, aligned, and within it. */
TEST(map_is_laid_out)
{
	static const uint32_t counts[] = { 1, 63, 64, 65, 5000 };
	unsigned int i, cell;

	for (i = 0; i < SIZE_OF(counts); i++) {
		struct mapped m = map_open_virtual(counts[i]);
		uint64_t words = (counts[i] + 63) / 64;
		const struct twheel_map *map = m.map;

		CHECK_EQ(map->version, TWHEEL_MAP_VERSION);
		CHECK_EQ(map->size, sizeof(*map));
		CHECK_EQ(map->bytes, m.bytes);
		CHECK_EQ(map->tick_ns, MS);
		CHECK_EQ(map->cells, counts[i]);
		CHECK(map->cell_stride >= sizeof(struct twheel_cell) && map->cell_stride % 8 == 0);
		CHECK_EQ((map->cells_offset | map->bitmap_offset | map->summary_offset |
			  map->wake_offset) % 8, 0);
		CHECK(map->cells_offset + (uint64_t)counts[i] * map->cell_stride <= m.bytes);
		CHECK(map->bitmap_offset + words * 8 <= m.bytes);
		CHECK(map->summary_offset + (words + 63) / 64 * 8 <= m.bytes);
		CHECK(map->wake_offset + 8 <= m.bytes);
		CHECK_EQ(load(m.wake), NEVER);
		for (cell = 0; cell < counts[i]; cell++)
			NEED(map_word(&m, cell) == 0 && map_check(&m, cell) == NEVER);
		map_close(&m);
	}
	CHECK_EQ(dev_info(dev_open()).map_bytes, 0);
}

TEST(fires_at_its_deadline)
{
	struct mapped m = map_open_virtual(300);
	uint64_t now = map_now(&m), word, id;

	CHECK_EQ(map_arm(&m, 299, now + 20, &id), TOLD_BY_KICK);
	CHECK_EQ(id, 1ULL << 32 | 299);
	word = map_word(&m, 299);
	dev_advance(m.fd, 20 * MS - 1);
	dev_silent(m.fd);
	CHECK_EQ(map_word(&m, 299), word);
	dev_advance(m.fd, 1);
	/* Until the event is read, the word stays as it is. */
	CHECK_EQ(dev_readable(m.fd, 0), 1);
	CHECK_EQ(map_word(&m, 299), word);
	map_take(&m, id, now + 20);
	dev_silent(m.fd);
	CHECK(!map_cancel(&m, id));
	CHECK(!map_extend(&m, id, now + 30));
	CHECK_EQ(dev_stat(m.fd, "fired"), 1);
	CHECK_EQ(dev_stat(m.fd, "cells"), 0);
}

/* Extended and cancelled by the program alone, before the deadline and when it has come. */
TEST(changed_without_a_call)
{
	struct mapped m = map_open_virtual(2);
	uint64_t now = map_advance(&m, 100), id;
	int due;

	for (due = 0; due < 2; due++) {
		map_arm(&m, 0, now + 20, &id);
		now = map_advance(&m, due ? 20 : 19);
		CHECK_EQ(dev_readable(m.fd, 0), due);
		NEED(map_extend(&m, id, now + 500));
		dev_silent(m.fd);
		map_advance(&m, 499);
		dev_silent(m.fd);
		map_advance(&m, 1);
		map_take(&m, id, now + 500);

		now = map_now(&m);
		map_arm(&m, 0, now + 20, &id);
		now = map_advance(&m, due ? 20 : 19);
		CHECK_EQ(dev_readable(m.fd, 0), due);
		NEED(map_cancel(&m, id));
		NEED(!map_cancel(&m, id));
		dev_silent(m.fd);
		now = map_advance(&m, 500);
		dev_silent(m.fd);
		CHECK_EQ(map_state(&m, 0), TWHEEL_CELL_CANCELLED);
	}
	CHECK_EQ(dev_stat(m.fd, "fired"), 2);
}

/* The event does not come of a timer that is moved between poll() and read(), but the next. */
TEST(moved_in_the_last_moment)
{
	struct mapped m = map_open_virtual(8);
	uint64_t now = map_now(&m), ids[8], i;
	struct twheel_event events[8];

	for (i = 0; i < 8; i++)
		map_arm(&m, i, now + 1 + i / 4, &ids[i]);
	map_advance(&m, 2);
	NEED(dev_readable(m.fd, 0) == 1);
	NEED(map_extend(&m, ids[0], now + 3) && map_cancel(&m, ids[2]));
	NEED(map_extend(&m, ids[5], now + 3) && map_cancel(&m, ids[7]));
	CHECK_EQ(events_read(m.fd, events, 8), 4);
	for (i = 0; i < 4; i++) {
		map_check_event(&m, &events[i]);
		CHECK_EQ(events[i].deadline_ns, map_time(&m, now + 1 + i / 2));
	}
	dev_silent(m.fd);
	map_advance(&m, 1);
	CHECK_EQ(events_read(m.fd, events, 8), 2);
}

/* The kernel is told of a nearer deadline only if it has to be. */
TEST(told_as_little_as_need_be)
{
	struct mapped m = map_open_virtual(1000);
	uint64_t now = map_now(&m), ids[5];

	CHECK_EQ(map_arm(&m, 0, now + 1000, &ids[0]), TOLD_BY_KICK);
	CHECK(load(m.wake) <= now + 1000);
	/* A sweep comes in time for these. */
	CHECK_EQ(map_arm(&m, 1, now + 1000, &ids[1]), TOLD_BY_WAKE);
	CHECK_EQ(map_arm(&m, 64, now + 1030, &ids[2]), TOLD_BY_WAKE);
	CHECK_EQ(map_arm(&m, 999, now + 3600000, &ids[3]), TOLD_BY_WAKE);
	/* Too late for this one; and the check of the first one serves its next timer. */
	CHECK_EQ(map_arm(&m, 2, now + 999, &ids[4]), TOLD_BY_KICK);
	NEED(map_cancel(&m, ids[0]));
	CHECK_EQ(map_arm(&m, 0, now + 1000, &ids[0]), TOLD_BY_CHECK);
	NEED(map_cancel(&m, ids[0]));
	CHECK_EQ(map_arm(&m, 0, now + 1500, &ids[0]), TOLD_BY_CHECK);
	map_advance(&m, 1030);
	map_take(&m, ids[4], now + 999);
	map_take(&m, ids[1], now + 1000);
	map_take(&m, ids[2], now + 1030);
	dev_silent(m.fd);
	/* The sweep has found them all, so cells are known, and none is submitted. */
	CHECK(map_check(&m, 999) <= now + 3600000);
	CHECK(map_check(&m, 0) <= now + 1500);
	CHECK_EQ(dev_stat(m.fd, "cells"), 2);
	CHECK_EQ(m.bitmap[0] | m.bitmap[1] | m.bitmap[15] | m.summary[0], 0);
	map_advance(&m, 470);
	map_take(&m, ids[0], now + 1500);
}

TEST(nearer_and_past)
{
	struct mapped m = map_open_virtual(3);
	uint64_t now = map_advance(&m, 1000), id, other;

	map_arm(&m, 1, now + 3600000, &id);
	NEED(map_move(&m, id, now + 2));
	map_advance(&m, 1);
	dev_silent(m.fd);
	now = map_advance(&m, 1);
	map_take(&m, id, now);
	/* In the past from the beginning, and moved there. */
	map_arm(&m, 1, now - 300, &id);
	map_arm(&m, 2, now + 7, &other);
	NEED(map_move(&m, other, now - 400));
	CHECK_EQ(dev_readable(m.fd, 0), 1);
	CHECK_EQ(map_state(&m, 1), TWHEEL_CELL_PENDING);
	NEED(map_cancel(&m, other));
	map_take(&m, id, now - 300);
	dev_silent(m.fd);
	/* Now is not the future. */
	map_arm(&m, 1, now, &id);
	map_take(&m, id, now);
}

/* A deadline before the setup is past, by the formula of twheel_cells(7) and with any tick. */
TEST(before_the_setup)
{
	static const uint64_t ticks[] = { US * 100, MS, 8 * MS, 10 * MS, 16 * MS, 100 * MS };
	unsigned int i;

	for (i = 0; i < SIZE_OF(ticks); i++) {
		struct twheel_setup setup = { .tick_ns = ticks[i], .max_cells = 1 };
		struct mapped m = map_open(&setup);
		uint64_t deadline = dev_info(m.fd).now_ns - 400 * MS;
		uint64_t id;

		map_arm(&m, 0, (deadline - m.origin_ns + ticks[i] - 1) / ticks[i], &id);
		NEED(dev_readable(m.fd, 0) == 1);
		CHECK_EQ(dev_read(m.fd).id, id);
		map_close(&m);
	}
}

TEST(far_and_never)
{
	struct mapped m = map_open_virtual(3);
	uint64_t now = map_advance(&m, 5), far, never;

	map_arm(&m, 0, now + TWHEEL_CELL_REACH - 1, &far);
	map_arm(&m, 1, NEVER, &never);
	map_advance(&m, TWHEEL_CELL_REACH - 2);
	dev_silent(m.fd);
	map_advance(&m, 1);
	map_take(&m, far, now + TWHEEL_CELL_REACH - 1);
	now = map_advance(&m, 12 * TWHEEL_CELL_REACH);
	dev_silent(m.fd);
	CHECK_EQ(map_state(&m, 1), TWHEEL_CELL_PENDING);
	NEED(map_move(&m, never, now + 1));
	map_advance(&m, 1);
	map_take(&m, never, now + 1);
	/* One that is pending may be put off for ever. */
	map_arm(&m, 2, now + 9, &far);
	NEED(map_extend(&m, far, NEVER));
	map_advance(&m, TWHEEL_CELL_REACH);
	dev_silent(m.fd);
}

/*
 * The ticks in words begin again, not long after a file is set up. Timers before and after
 * that, and some that are extended over it or moved back.
 */
TEST(ticks_begin_again)
{
	enum { N = 400 };
	struct mapped m = map_open_virtual(N);
	uint64_t now = map_now(&m), last = now | TWHEEL_CELL_TICKS, ids[N], at[N], i;

	CHECK(last - now < 10000);
	for (i = 0; i < N; i++) {
		at[i] = last - N / 2 + i;
		map_arm(&m, i, at[i] - (i % 3 == 1 ? N : 0) + (i % 3 == 2 ? N : 0), &ids[i]);
	}
	for (i = 0; i < N; i++) {
		if (i % 3 == 1)
			NEED(map_extend(&m, ids[i], at[i]));
		if (i % 3 == 2)
			NEED(map_move(&m, ids[i], at[i]));
	}
	map_advance(&m, at[0] - now - 1);
	for (i = 0; i < N; i++) {
		dev_silent(m.fd);
		CHECK_EQ(map_advance(&m, 1), at[i]);
		map_take(&m, ids[i], at[i]);
	}
}

/* A cell is armed again and again; each timer has its event, or none if it is cancelled. */
TEST(generations)
{
	struct mapped m = map_open_virtual(1);
	uint64_t now, id, i;

	for (i = 1; i <= 300; i++) {
		now = map_now(&m);
		map_arm(&m, 0, now + 5 + i % 2, &id);
		CHECK_EQ(id >> 32, i);
		if (i % 3)
			NEED(map_cancel(&m, id));
		map_advance(&m, i % 7);
		if (i % 3 == 0) {
			map_advance(&m, 6);
			map_take(&m, id, now + 5 + i % 2);
		}
		dev_silent(m.fd);
	}
	/* As if there had been some more. */
	NEED(cas(&map_cell(&m, 0)->word, map_word(&m, 0),
		 twheel_cell_word(TWHEEL_CELL_GENERATIONS - 1, TWHEEL_CELL_FIRED, 0)));
	now = map_now(&m);
	map_arm(&m, 0, now + 20, &id);
	CHECK_EQ(id >> 32, 1);
	map_advance(&m, 20);
	map_take(&m, id, now + 20);
}

/* A kick is enough, and changes nothing about what is not pending. */
TEST(kicks)
{
	struct mapped m = map_open_virtual(200);
	uint64_t now = map_now(&m), i;

	for (i = 0; i < 200; i++) {
		store(&map_cell(&m, i)->word,
		      twheel_cell_word(i + 1, i % 4, now + 200 - i));
		CHECK_EQ(dev_kick(m.fd, i), 0);
		CHECK_EQ(dev_kick(m.fd, i), 0);
		if (i % 4 == TWHEEL_CELL_PENDING)
			NEED(map_promised(&m, i));
	}
	CHECK_ERR(dev_kick(m.fd, 200), ENOENT);
	CHECK_ERR(dev_kick(m.fd, 1ULL << 32), ENOENT);
	CHECK_ERR(dev_kick(m.fd, ~0ULL), ENOENT);
	CHECK_ERR(dev_kick(dev_open_virtual(), 0), ENOENT);
	CHECK_EQ(dev_stat(m.fd, "cells"), 50);
	map_advance(&m, 200);
	for (i = 200; i--;) {
		if (i % 4 == TWHEEL_CELL_PENDING)
			map_take(&m, (i + 1) << 32 | i, now + 200 - i);
		else
			CHECK_EQ(map_state(&m, i), i % 4);
	}
	dev_silent(m.fd);
}

/* Timers and cells of a file: events in one order, and identifiers that are alike. */
TEST(timers_and_cells)
{
	struct mapped m = map_open_virtual(4);
	struct twheel_event events[8];
	uint64_t now = map_advance(&m, 4), id, timers[4], deadline;
	int i;

	for (i = 0; i < 4; i++) {
		map_arm(&m, i, now + 2 * i + 2, &id);
		CHECK_ERR(dev_cancel(m.fd, id), ENOENT);
		CHECK_ERR(dev_query(m.fd, id, &deadline), ENOENT);
		CHECK_ERR(dev_modify(m.fd, id, 0, S), ENOENT);
	}
	for (i = 0; i < 4; i++)
		timers[i] = dev_arm(m.fd, (2 * i + 1) * MS, 100 + i);
	CHECK_EQ(dev_info(m.fd).timers, 4);
	map_advance(&m, 20);
	/* There is room for some. */
	CHECK_EQ(events_read(m.fd, events, 5), 5);
	CHECK_EQ(events_read(m.fd, events + 5, 3), 3);
	for (i = 0; i < 8; i++) {
		CHECK_EQ(events[i].deadline_ns, map_time(&m, now + 1 + i));
		CHECK_EQ(events[i].type, i % 2 ? TWHEEL_EVENT_CELL : TWHEEL_EVENT_TIMER);
		CHECK_EQ(events[i].id, i % 2 ? 1ULL << 32 | i / 2 : timers[i / 2]);
		CHECK_EQ(events[i].cookie, i % 2 ? 0 : 100 + i / 2);
	}
	/* All timers are not all cells. */
	now = map_now(&m);
	map_arm(&m, 3, now + 1, &id);
	dev_arm(m.fd, MS, 1);
	CHECK_EQ(dev_cancel_all(m.fd), 1);
	map_advance(&m, 1);
	map_take(&m, id, now + 1);
}

/* An operation between the tick of a sweep and the sweep does not mix up what that finds. */
TEST(order_of_submitted_cells)
{
	enum { SUBMITTED = 6 };
	int with_kick, i;

	for (with_kick = 0; with_kick < 2; with_kick++) {
		struct mapped m = map_open_virtual(10);
		uint64_t now = map_now(&m), ids[2];

		/* The sweep finds the second one, and the next is promised for 25. */
		NEED(map_arm(&m, 9, now + 5, &ids[0]) == TOLD_BY_KICK);
		NEED(map_arm(&m, 8, now + 10, &ids[1]) == TOLD_BY_WAKE);
		map_advance(&m, 5);
		map_take(&m, ids[0], now + 5);
		map_advance(&m, 5);
		map_take(&m, ids[1], now + 10);
		for (i = 0; i < SUBMITTED; i++)
			NEED(map_arm(&m, i, now + 26 + i, NULL) == TOLD_BY_WAKE);
		map_advance(&m, 25);
		if (with_kick)
			CHECK_EQ(dev_kick(m.fd, 9), 0);
		else
			dev_arm(m.fd, 3 * MS, 0);
		for (i = 0; i < SUBMITTED; i++)
			map_take(&m, map_id(i, map_word(&m, i)), now + 26 + i);
		dev_silent(m.fd);
	}
}

/* An event that cannot be copied has not happened. */
TEST(memory_that_ends)
{
	struct mapped m = map_open_virtual(2);
	uint64_t now = map_now(&m), ids[2];

	map_arm(&m, 0, now + 1, &ids[0]);
	map_arm(&m, 1, now + 2, &ids[1]);
	map_advance(&m, 2);
	CHECK_ERR(syscall(SYS_read, m.fd, NULL, sizeof(struct twheel_event)), EFAULT);
	CHECK_EQ(map_state(&m, 0), TWHEEL_CELL_PENDING);
	NEED(map_promised(&m, 0) && map_promised(&m, 1));
	NEED(map_cancel(&m, ids[0]));
	CHECK_ERR(syscall(SYS_read, m.fd, NULL, sizeof(struct twheel_event)), EFAULT);
	map_take(&m, ids[1], now + 2);
	dev_silent(m.fd);
}

/* A program whose cells have all fired is left alone, on a clock that moves. */
TEST(nothing_to_sweep)
{
	struct mapped m = map_open(&(struct twheel_setup) { .max_cells = 10 });
	uint64_t now = map_now(&m), ids[2], alarms;

	map_arm(&m, 0, now + 20, &ids[0]);
	map_arm(&m, 1, now + 40, &ids[1]);
	map_take(&m, ids[0], now + 20);
	map_take(&m, ids[1], now + 40);
	dev_silent(m.fd);
	alarms = dev_stat(m.fd, "alarms");
	usleep(300000);
	dev_silent(m.fd);
	CHECK(dev_stat(m.fd, "alarms") <= alarms + 1);
	alarms = dev_stat(m.fd, "alarms");
	usleep(300000);
	CHECK_EQ(dev_stat(m.fd, "alarms"), alarms);
}

/* Bits without timers behind them, and bits behind the last cell, cost a sweep. */
TEST(bits_without_timers)
{
	struct mapped m = map_open_virtual(100);
	uint64_t now = map_now(&m), id;

	store(&m.bitmap[0], ~0ULL);
	store(&m.bitmap[1], ~0ULL);
	store(m.summary, ~0ULL);
	NEED(map_arm(&m, 5, now + 9, &id) == TOLD_BY_KICK);
	map_advance(&m, 9);
	map_take(&m, id, now + 9);
	CHECK_EQ(load(&m.bitmap[0]) | load(&m.bitmap[1]) | load(m.summary), 0);
	dev_silent(m.fd);
}

/* A server whose connections are busy: each is extended before it expires, again and again. */
TEST(a_million_that_are_extended)
{
	enum { N = 1 << 20, LEFT = 1000, SPREAD = 1000 };
	struct mapped m = map_open_virtual(N);
	uint64_t now = map_now(&m), kicks = 0, round, i;
	uint32_t seed = 1, cell;

	for (i = 0; i < N; i++)
		kicks += map_arm(&m, i, now + 60000 + i % SPREAD, NULL) == TOLD_BY_KICK;
	CHECK_EQ(kicks, 1);
	for (round = 0; round < 3; round++) {
		now = map_advance(&m, 50000);
		for (i = 0; i < N; i++)
			NEED(map_extend(&m, 1ULL << 32 | i, now + 60000 + i % SPREAD));
		dev_silent(m.fd);
	}
	CHECK_EQ(dev_stat(m.fd, "cells"), N);
	for (i = 0; i < N; i++)
		if (i % (N / LEFT))
			NEED(map_cancel(&m, 1ULL << 32 | i));
	map_advance(&m, 60000 + SPREAD);
	for (i = 0; i < N; i += N / LEFT) {
		struct twheel_event event = dev_read(m.fd);

		map_check_event(&m, &event);
		NEED((uint32_t)event.id % (N / LEFT) == 0);
	}
	dev_silent(m.fd);
	CHECK_EQ(dev_stat(m.fd, "cells"), 0);
	for (i = 0; i < 1000; i++) {
		cell = roll(&seed) % N;
		NEED(map_state(&m, cell) == (cell % (N / LEFT) ? TWHEEL_CELL_CANCELLED :
					     TWHEEL_CELL_FIRED));
	}
}
