// SPDX-License-Identifier: GPL-2.0-only
/* libtwheel with a shared mapping: operations in it, and the reuse of cells. */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "lib/handle.h"
#include "lib/tap.h"

static struct twheel *open_mapped(const struct twheel_options *options)
{
	struct twheel_info info;
	struct twheel *wheel;

	NEED(twheel_open(&wheel, options) == 0);
	NEED(twheel_info(wheel, &info) == 0);
	if (!info.map_bytes)
		tap_skip("this kernel has no shared mapping");
	return wheel;
}

static struct twheel *open_cells(uint32_t count)
{
	return open_mapped(&(struct twheel_options){ .max_timers = count });
}

/* The descriptor is closed, so a system call would fail. */
static void extends_and_cancels_without_a_call(void)
{
	struct twheel *wheel = open_cells(10);
	uint64_t a = tw_arm(wheel, HOUR, 1), b = tw_arm(wheel, HOUR, 2);
	uint64_t now = twheel_now(wheel);

	NEED(!close(twheel_fd(wheel)));
	CHECK_EQ(twheel_extend_at(wheel, a, now + 2 * HOUR), 0);
	CHECK_EQ(twheel_extend_at(wheel, a, now + HOUR), 1);
	CHECK_EQ(twheel_extend(wheel, a, 3 * HOUR), 0);
	CHECK_EQ(twheel_extend(wheel, a, HOUR), 1);
	CHECK_EQ(twheel_cancel(wheel, a), 0);
	CHECK_EQ(twheel_cancel(wheel, b), 0);
	/* Its word says that it has ended. */
	CHECK_EQ(twheel_cancel(wheel, b), -ENOENT);
	/* This one asks the kernel, which needs the descriptor. */
	CHECK_EQ(twheel_extend_at(wheel, a, now + 4 * HOUR), -EBADF);
}

/*
 * strace_test.sh counts the calls between the marks. It also counts those of fewer timers
 * without the mapping, to see that it finds them. The timer before is one that the kernel
 * has to be told of: those after it are for later.
 */
static void many_between_marks(void)
{
	bool mapping = !getenv("TWHEEL_TEST_NO_MAPPING");
	const unsigned int count = mapping ? 1000 : 100;
	struct twheel_options options = {
		.max_timers = count,
		.flags = mapping ? 0 : TWHEEL_OPEN_NO_MAPPING,
	};
	uint64_t *ids = calloc(count, sizeof(*ids));
	struct twheel *wheel;
	unsigned int i;
	uint64_t later;

	options.max_timers++;
	NEED(ids && twheel_open(&wheel, &options) == 0);
	tw_arm(wheel, HOUR, 0);
	later = twheel_now(wheel) + 2 * HOUR;
	getppid();
	for (i = 0; i < count; i++)
		CHECK_EQ(twheel_arm(wheel, HOUR, i, &ids[i]), 0);
	for (i = 0; i < count; i++)
		CHECK_EQ(twheel_extend_at(wheel, ids[i], later), 0);
	for (i = 0; i < count; i++)
		CHECK_EQ(twheel_cancel(wheel, ids[i]), 0);
	for (i = 0; i < count; i++)
		CHECK_EQ(twheel_arm_at(wheel, later, i, &ids[i]), 0);
	getppid();
}

static void takes_events_without_a_call(void)
{
	struct twheel *wheel = open_cells(10);
	struct pollfd pfd = { .fd = twheel_fd(wheel), .events = POLLIN };

	tw_arm(wheel, MS, 7);
	NEED(poll(&pfd, 1, -1) == 1);
	NEED(!close(twheel_fd(wheel)));
	CHECK_EQ(tw_next_cookie(wheel), 7);
	tw_nothing_more(wheel);
}

static void far_and_past_deadlines(void)
{
	struct twheel *wheel = open_cells(10);
	uint64_t id = tw_arm(wheel, HOUR, 1);
	struct twheel_op op = { .id = id };

	CHECK_EQ(twheel_extend_at(wheel, id, 0), 1);
	CHECK_EQ(twheel_extend_at(wheel, id, 1), 1);
	CHECK_EQ(twheel_extend(wheel, id, 0), 1);
	CHECK_EQ(twheel_extend_at(wheel, id, ~0ULL), -EINVAL);
	CHECK_EQ(twheel_extend_at(wheel, id, 1ULL << 63), -EINVAL);
	/* Too far for a word of ticks, unlike never. */
	CHECK_EQ(twheel_extend_at(wheel, id, TWHEEL_DELAY_NEVER - 1), -ERANGE);
	CHECK_EQ(twheel_extend_at(wheel, id, TWHEEL_DELAY_NEVER), 0);
	CHECK_EQ(twheel_query(wheel, &op), 0);
	CHECK_EQ(op.deadline_ns, TWHEEL_DELAY_NEVER);
	CHECK_EQ(twheel_modify(wheel, id, 0), 0);
	CHECK_EQ(tw_next_cookie(wheel), 1);
}

/* Deadlines up to a month are armed, with a tick of 10 us; in the mapping or by a call. */
static void reach_is_from_now(void)
{
	const struct twheel_options options = {
		.clock = TWHEEL_CLOCK_MONOTONIC, .tick_ns = 10000, .max_timers = 4,
	};
	const uint64_t reach = TWHEEL_CELL_REACH * 10000;
	struct twheel_op op = { .deadline_ns = HOUR, .period_ns = reach + HOUR };
	struct twheel *wheel = open_mapped(&options);
	uint64_t id;

	CHECK_EQ(twheel_arm(wheel, reach + HOUR, 1, &id), -ERANGE);
	CHECK_EQ(twheel_arm_op(wheel, &op), -ERANGE);
	NEED(twheel_arm(wheel, reach - HOUR, 1, &id) == 0);
	CHECK_EQ(twheel_extend(wheel, id, reach + HOUR), -ERANGE);
	CHECK_EQ(twheel_extend(wheel, id, reach - HOUR / 2), 0);
	CHECK_EQ(twheel_modify(wheel, id, MS), 0);
	CHECK_EQ(tw_next_cookie(wheel), 1);
	twheel_close(wheel);
}

/*
 * Timers that are armed, extended, brought nearer and asked for over the tick after which
 * those in words begin again: 41 ms after the start, with a tick of 10 us.
 */
static void ticks_begin_again(void)
{
	const struct twheel_options options = {
		.clock = TWHEEL_CLOCK_MONOTONIC, .tick_ns = 10000, .max_timers = 64,
	};
	uint64_t now, id, at[64];
	struct twheel_event event;
	struct twheel_op op;
	struct twheel *wheel;
	unsigned int i, left = 0;

	NEED(twheel_open(&wheel, &options) == 0);
	now = twheel_now(wheel);
	for (i = 0; i < 64; i++) {
		at[i] = now + 40 * MS + (i % 16) * 500000;
		NEED(twheel_arm_at(wheel, i % 4 == 3 ? now + HOUR : now + 30 * MS, i,
				   &id) == 0);
		/* If this guest stood still, some have expired. */
		if ((i % 4 == 3 ? twheel_modify_at : twheel_extend_at)(wheel, id, at[i]))
			at[i] = now + 30 * MS;
		op = (struct twheel_op){ .id = id };
		if (!twheel_query(wheel, &op))
			CHECK(op.deadline_ns >= at[i] && op.deadline_ns < at[i] + 20000);
		left++;
	}
	while (left--) {
		NEED(twheel_next(wheel, &event, -1) == 1);
		NEED(event.cookie < 64);
		CHECK(event.deadline_ns >= at[event.cookie]);
		CHECK(event.deadline_ns < at[event.cookie] + 20000);
		CHECK(event.fired_ns >= at[event.cookie]);
		at[event.cookie] = ~0ULL;
	}
	tw_nothing_more(wheel);
	twheel_close(wheel);
}

/* As if the program had armed millions of timers in a cell since. */
static void identifiers_have_an_epoch(void)
{
	struct twheel *wheel = open_cells(1);
	struct twheel_op op = { .deadline_ns = HOUR, .period_ns = HOUR };
	struct twheel_event event;
	struct twheel_info info;
	struct twheel_map *map;
	struct twheel_cell *cell;
	uint64_t first, second, third;
	int64_t result;
	const uint64_t last = twheel_cell_word(TWHEEL_CELL_GENERATIONS - 1,
					       TWHEEL_CELL_CANCELLED, 0);

	NEED(twheel_info(wheel, &info) == 0);
	map = mmap(NULL, info.map_bytes, PROT_READ | PROT_WRITE, MAP_SHARED,
		   twheel_fd(wheel), 0);
	NEED(map != MAP_FAILED);
	cell = (struct twheel_cell *)((char *)map + map->cells_offset);
	first = tw_arm(wheel, HOUR, 1);
	CHECK_EQ(twheel_cancel(wheel, first), 0);
	__atomic_store_n(&cell->word, last, __ATOMIC_SEQ_CST);
	second = tw_arm(wheel, HOUR, 2);
	/* The word is the same. The identifier is not. */
	CHECK_EQ(twheel_cell_generation(cell->word), 1);
	CHECK(first != second);
	CHECK_EQ(twheel_modify(wheel, first, MS), -ENOENT);
	CHECK_EQ(twheel_cancel_many(wheel, &first, &result, 1), 1);
	CHECK_EQ(result, -ENOENT);
	op.id = first;
	op.deadline_ns = 0;
	op.period_ns = 0;
	CHECK_EQ(twheel_query(wheel, &op), -ENOENT);
	CHECK_EQ(twheel_modify(wheel, second, MS), 0);
	NEED(twheel_next(wheel, &event, -1) == 1);
	CHECK_EQ(event.id, second);
	CHECK_EQ(event.cookie, 2);
	/* The kernel's generations, too. */
	__atomic_store_n(&cell->word, last, __ATOMIC_SEQ_CST);
	op = (struct twheel_op){ .deadline_ns = MS, .period_ns = HOUR, .cookie = 3 };
	NEED(twheel_arm_op(wheel, &op) == 0);
	third = op.id;
	CHECK(third != first && third != second);
	CHECK_EQ(twheel_modify(wheel, second, MS), -ENOENT);
	NEED(twheel_next(wheel, &event, -1) == 1);
	CHECK_EQ(event.id, third);
	CHECK_EQ(twheel_cancel_many(wheel, &second, &result, 1), 1);
	CHECK_EQ(result, -ENOENT);
	CHECK_EQ(twheel_cancel_many(wheel, &third, &result, 1), 1);
	CHECK_EQ(result, 0);
	munmap(map, info.map_bytes);
	twheel_close(wheel);
}

static void cells_are_used_again(void)
{
	struct twheel *wheel = open_cells(8);
	uint64_t ids[8], id;
	unsigned int round, i;

	for (round = 0; round < 200; round++) {
		for (i = 0; i < 8; i++)
			ids[i] = tw_arm(wheel, i < 4 ? HOUR : 0, i);
		CHECK_EQ(twheel_arm(wheel, HOUR, 0, &id), -ENOSPC);
		for (i = 0; i < 4; i++)
			CHECK_EQ(twheel_cancel(wheel, ids[i]), 0);
		for (i = 0; i < 4; i++)
			CHECK(tw_next_cookie(wheel) >= 4);
		for (i = 0; i < 8; i++)
			CHECK_EQ(twheel_cancel(wheel, ids[i]), -ENOENT);
	}
	tw_nothing_more(wheel);
}

static void more_than_are_noted(void)
{
	const unsigned int count = 1000;
	struct twheel *wheel = open_cells(count);
	uint64_t *ids = calloc(count, sizeof(*ids)), id;
	unsigned int round, i;

	NEED(ids);
	for (round = 0; round < 5; round++) {
		for (i = 0; i < count; i++)
			ids[i] = tw_arm(wheel, HOUR, i);
		CHECK_EQ(twheel_arm(wheel, HOUR, 0, &id), -ENOSPC);
		for (i = 0; i < count; i++)
			CHECK_EQ(twheel_cancel(wheel, ids[i]), 0);
	}
	for (i = 0; i < count; i++)
		ids[i] = tw_arm(wheel, HOUR, i);
	CHECK_EQ(twheel_cancel_all(wheel), count);
	for (i = 0; i < count; i++)
		ids[i] = tw_arm(wheel, HOUR, i);
}

/* A full handle says so at once: a search of all cells each time would not end. */
static void refuses_at_once(void)
{
	const unsigned int count = 100000;
	struct twheel *wheel = open_cells(count);
	struct twheel_op *ops = calloc(count, sizeof(*ops));
	uint64_t id;
	unsigned int i;

	NEED(ops);
	for (i = 0; i < count; i++)
		ops[i] = (struct twheel_op){ .op = TWHEEL_OP_ARM, .deadline_ns = HOUR };
	NEED(twheel_batch(wheel, ops, count) == (int)count);
	for (i = 0; i < count; i++)
		NEED(twheel_arm(wheel, HOUR, 0, &id) == -ENOSPC);
	/* Far more cancellations than calls: all cells are found again. */
	for (i = 0; i < count; i++)
		NEED(twheel_cancel(wheel, ops[i].id) == 0);
	for (i = 0; i < 1000; i++)
		tw_arm(wheel, HOUR, i);
}

/* Another process that has the descriptor may write to the mapping. */
static void trusts_no_header(void)
{
	struct twheel *wheel = open_cells(4);
	struct twheel_info info;
	struct twheel_map *map;
	uint32_t *ring;
	unsigned int i;

	NEED(twheel_info(wheel, &info) == 0);
	map = mmap(NULL, info.map_bytes, PROT_READ | PROT_WRITE, MAP_SHARED,
		   twheel_fd(wheel), 0);
	NEED(map != MAP_FAILED);
	ring = (uint32_t *)((char *)map + map->ring_offset);
	map->bytes = ~0ULL;
	map->cells_offset = 1ULL << 40;
	map->events_offset = 1ULL << 40;
	map->ring_offset = 1ULL << 40;
	map->tick_ns = 0;
	map->origin_ns = ~0ULL;
	map->cells = ~0U;
	map->entries = ~0U;
	for (i = 0; i < 20; i++) {
		tw_arm(wheel, 0, i);
		CHECK_EQ(tw_next_cookie(wheel), i);
	}
	/* So is a tail far beyond the ring, and a cell that does not exist. */
	tw_arm(wheel, 0, 5);
	tw_wait_fired(wheel, 21);
	ring[map->tail & 3] = ~0U;
	tw_nothing_more(wheel);
	map->tail += 1U << 30;
	map->head += 1U << 30;
	for (i = 0; i < 20; i++)
		tw_nothing_more(wheel);
	map->tail -= 1U << 30;
	map->head -= 1U << 30;
	tw_arm(wheel, 0, 6);
	CHECK_EQ(tw_next_cookie(wheel), 6);
	twheel_close(wheel);
}

/* In a batch, a cancellation makes room for a later arm. */
static void room_within_a_batch(void)
{
	struct twheel *wheel = open_cells(2);
	uint64_t a = tw_arm(wheel, HOUR, 1), b = tw_arm(wheel, HOUR, 2);
	struct twheel_op ops[] = {
		{ .op = TWHEEL_OP_ARM, .id = 1, .deadline_ns = HOUR },
		{ .op = TWHEEL_OP_CANCEL, .id = a },
		{ .op = TWHEEL_OP_ARM, .deadline_ns = HOUR, .cookie = 3 },
		{ .op = TWHEEL_OP_QUERY, .id = b },
		{ .op = TWHEEL_OP_ARM, .deadline_ns = HOUR },
	};

	CHECK_EQ(twheel_batch(wheel, ops, 5), 5);
	CHECK_EQ(ops[0].result, -EINVAL);
	CHECK_EQ(ops[1].result, 0);
	CHECK_EQ(ops[1].id, a);
	CHECK_EQ(ops[2].result, 0);
	CHECK_EQ(ops[3].result, 0);
	CHECK_EQ(ops[3].cookie, 2);
	CHECK_EQ(ops[4].result, -ENOSPC);
	CHECK_EQ(twheel_cancel(wheel, ops[2].id), 0);
	CHECK_EQ(twheel_cancel(wheel, b), 0);
}

/* All places of a wheel can be used, once each. */
static void places_are_free(struct twheel *wheel, unsigned int count)
{
	uint64_t id;

	while (count--)
		tw_arm(wheel, HOUR, count);
	CHECK_EQ(twheel_arm(wheel, HOUR, 0, &id), -ENOSPC);
}

/* A timer with a period, whose event waits, is cancelled with all others, and again. */
static void cancelled_with_all(void)
{
	struct twheel_op op = { .deadline_ns = MS, .period_ns = HOUR }, again;
	struct twheel *wheel = open_cells(8);
	struct pollfd pfd = { .fd = twheel_fd(wheel), .events = POLLIN };

	NEED(twheel_arm_op(wheel, &op) == 0);
	NEED(poll(&pfd, 1, -1) == 1);
	CHECK_EQ(twheel_cancel_all(wheel), 1);
	again = (struct twheel_op){ .op = TWHEEL_OP_CANCEL, .id = op.id };
	CHECK_EQ(twheel_batch(wheel, &again, 1), 1);
	CHECK_EQ(again.result, -ENOENT);
	CHECK_EQ(twheel_cancel(wheel, op.id), -ENOENT);
	tw_nothing_more(wheel);
	places_are_free(wheel, 8);
}

/* The inline leaves the event of one that was given a period: a second call ends nothing. */
static void cancelled_twice(void)
{
	struct twheel *wheel = open_cells(8);
	struct pollfd pfd = { .fd = twheel_fd(wheel), .events = POLLIN };
	struct twheel_op op = {
		.id = tw_arm(wheel, HOUR, 5), .flags = TWHEEL_SET_PERIOD,
		.deadline_ns = MS, .period_ns = HOUR,
	};

	NEED(twheel_modify_op(wheel, &op) == 0);
	NEED(poll(&pfd, 1, -1) == 1);
	CHECK_EQ(twheel_cancel(wheel, op.id), 0);
	CHECK_EQ(twheel_cancel(wheel, op.id), -ENOENT);
	CHECK_EQ(twheel_cancel(wheel, op.id), -ENOENT);
	tw_nothing_more(wheel);
	places_are_free(wheel, 8);
}

/* Nor does the inline look for it; twheel_extend() is none on any machine. */
static void extended_with_an_event(void)
{
	struct twheel *wheel = open_cells(8);
	struct pollfd pfd = { .fd = twheel_fd(wheel), .events = POLLIN };
	struct twheel_op op = {
		.id = tw_arm(wheel, HOUR, 5), .flags = TWHEEL_SET_PERIOD,
		.deadline_ns = MS, .period_ns = HOUR,
	};
	uint64_t other = tw_arm(wheel, HOUR, 6);

	CHECK_EQ(twheel_extend(wheel, op.id, 2 * HOUR), 0);
	NEED(twheel_modify_op(wheel, &op) == 0);
	NEED(poll(&pfd, 1, -1) == 1);
	CHECK_EQ(twheel_extend(wheel, op.id, 3 * HOUR), -EALREADY);
	CHECK_EQ(twheel_extend(wheel, other, 2 * HOUR), 0);
	CHECK_EQ(twheel_extend(wheel, other, HOUR), 1);
	CHECK_EQ(tw_next_cookie(wheel), 5);
	CHECK_EQ(twheel_extend(wheel, op.id, 3 * HOUR), 0);
	tw_nothing_more(wheel);
}

/* An event shows no deadline before the one that the timer has got within its tick. */
static void deadlines_of_one_tick(void)
{
	const struct twheel_options options = {
		.clock = TWHEEL_CLOCK_MONOTONIC, .tick_ns = 10 * MS, .max_timers = 4,
	};
	struct twheel *wheel;
	struct twheel_event event;
	uint64_t id, at, nearer;
	unsigned int i;

	NEED(twheel_open(&wheel, &options) == 0);
	for (i = 0; i < 2; i++) {
		at = twheel_now(wheel) + 200 * MS;
		NEED(twheel_arm_at(wheel, at, 1, &id) == 0);
		nearer = i ? at - 50 * MS : at + 1;
		NEED(twheel_modify_at(wheel, id, nearer) == 0);
		/* Within the tick that it is in already, it is as late already. */
		CHECK(twheel_extend_at(wheel, id, at + 1) == !i);
		NEED(twheel_next(wheel, &event, -1) == 1);
		CHECK(event.deadline_ns > at);
		CHECK(event.deadline_ns <= event.fired_ns);
	}
	twheel_close(wheel);
}

/* Beyond never, though the difference to where ticks begin may be small. */
static void no_times_at_all(void)
{
	static const uint64_t times[] = {
		TWHEEL_DELAY_NEVER + 1, 1ULL << 63, UINT64_MAX - (1ULL << 62),
		UINT64_MAX - (1ULL << 60), UINT64_MAX - HOUR, UINT64_MAX - 1, UINT64_MAX,
	};
	struct twheel *wheel = open_cells(2);
	unsigned int i;
	uint64_t id;

	for (i = 0; i < sizeof(times) / sizeof(*times); i++)
		CHECK_EQ(twheel_arm_at(wheel, times[i], 7, &id), -EINVAL);
	tw_nothing_more(wheel);
	places_are_free(wheel, 2);
}

/* A cancellation also withdraws an event that was there before. */
static void cancelled_with_an_event(void)
{
	struct twheel *wheel = open_cells(2);
	struct pollfd pfd = { .fd = twheel_fd(wheel), .events = POLLIN };
	struct twheel_op op = { .deadline_ns = MS, .period_ns = HOUR };

	NEED(twheel_arm_op(wheel, &op) == 0);
	NEED(poll(&pfd, 1, -1) == 1);
	CHECK(twheel_cancel(wheel, op.id) >= 0);
	tw_nothing_more(wheel);
	tw_arm(wheel, 0, 1);
	tw_arm(wheel, 0, 1);
	CHECK_EQ(tw_next_cookie(wheel), 1);
	CHECK_EQ(tw_next_cookie(wheel), 1);
	tw_nothing_more(wheel);
}

/*
 * The kernel moves a periodic timer's word to the next deadline, and then adds to its
 * event. An event taken in between is one expiry short, but it still has the right
 * first deadline.
 */
static void taken_while_it_expires(void)
{
	struct twheel_op op = {
		.deadline_ns = 10 * MS, .period_ns = 10 * MS, .cookie = 1,
	};
	struct twheel *wheel = open_cells(1);
	struct twheel_event event;
	uint64_t *word, *look, first, later, count = 0;
	int i, ret;
	struct twheel_map *map;
	struct twheel_info info;

	NEED(twheel_info(wheel, &info) == 0);
	map = mmap(NULL, info.map_bytes, PROT_READ | PROT_WRITE, MAP_SHARED,
		   twheel_fd(wheel), 0);
	NEED(map != MAP_FAILED);
	word = (uint64_t *)((char *)map + map->events_offset);
	look = (uint64_t *)((char *)map + map->cells_offset) + 1;
	NEED(twheel_arm_op(wheel, &op) == 0);
	first = op.deadline_ns;

	/* Taken late, an event is followed by one for all that was missed. */
	for (i = 0; i < 3; i++) {
		while (__atomic_load_n(look, __ATOMIC_ACQUIRE) != TWHEEL_CELL_NEVER)
			usleep(1000);
		usleep(30000);
		CHECK_EQ(twheel_next(wheel, &event, -1), 1);
		CHECK_EQ(event.deadline_ns, first + count * 10 * MS);
		count += event.count;
	}
	CHECK(count >= 9);
	while ((uint32_t)__atomic_load_n(word, __ATOMIC_ACQUIRE) < 2)
		usleep(1000);
	__atomic_fetch_sub(word, 1, __ATOMIC_SEQ_CST);
	CHECK_EQ(twheel_next(wheel, &event, -1), 1);
	CHECK_EQ(event.deadline_ns, first + count * 10 * MS);
	count += event.count;

	/* Now the kernel adds the expiry, and everything is as usual. */
	while (!__atomic_load_n(word, __ATOMIC_ACQUIRE))
		usleep(1000);
	__atomic_fetch_add(word, 1, __ATOMIC_SEQ_CST);
	while (count < 40) {
		NEED(twheel_next(wheel, &event, -1) == 1);
		CHECK_EQ(event.deadline_ns, first + count * 10 * MS);
		count += event.count;
	}

	/* An extension that looks the same is believed the second time. */
	for (;;) {
		later = first + (count + 100) * 10 * MS;
		ret = twheel_extend_at(wheel, op.id, later);
		if (ret != -EALREADY)
			break;
		/* It has expired again. */
		NEED(twheel_next(wheel, &event, -1) == 1);
		CHECK_EQ(event.deadline_ns, first + count * 10 * MS);
		count += event.count;
	}
	CHECK_EQ(ret, 0);
	CHECK_EQ(twheel_next(wheel, &event, -1), 1);
	CHECK_EQ(twheel_next(wheel, &event, -1), 1);
	CHECK(event.deadline_ns >= later);
	CHECK(twheel_cancel(wheel, op.id) >= 0);
}

static void not_for_others(void)
{
	struct twheel *wheel = open_cells(2), *other;
	struct twheel_options options = {
		.max_timers = 2, .flags = TWHEEL_OPEN_NO_MAPPING,
	};
	struct twheel_info info;
	int fd = dup(twheel_fd(wheel));

	CHECK_EQ(twheel_adopt(&other, fd), -EBUSY);
	CHECK_EQ(close(fd), 0);
	NEED(twheel_open(&other, &options) == 0);
	CHECK_EQ(twheel_info(other, &info), 0);
	CHECK_EQ(info.map_bytes, 0);
	CHECK_EQ(info.max_timers, 2);
}

static const struct tap_test tests[] = {
	TAP(extends_and_cancels_without_a_call), TAP(many_between_marks),
	TAP(takes_events_without_a_call), TAP(far_and_past_deadlines),
	TAP(reach_is_from_now), TAP(ticks_begin_again), TAP(identifiers_have_an_epoch),
	TAP(cells_are_used_again), TAP(refuses_at_once), TAP(trusts_no_header),
	TAP(more_than_are_noted),
	TAP(room_within_a_batch), TAP(cancelled_with_an_event),
	TAP(cancelled_with_all), TAP(cancelled_twice), TAP(no_times_at_all),
	TAP(extended_with_an_event), TAP(deadlines_of_one_tick),
	TAP(taken_while_it_expires), TAP(not_for_others),
};

int main(int argc, char **argv)
{
	return tap_main(tests, sizeof(tests) / sizeof(*tests), argc, argv);
}
