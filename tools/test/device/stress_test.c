// SPDX-License-Identifier: GPL-2.0-only
/*
 * Threads and processes do everything on the timers and the cells of one file, all on the same
 * ones, and keep books. Each fires once, and not early, or is cancelled. Readers drop their
 * memory now and then, so that the device has to wait for it with an event in its hands. What is
 * lost lets the test hang.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/device.h"
#include "lib/dice.h"
#include "lib/mapped.h"
#include "lib/tap.h"

enum { ACTORS = 4, TIMERS = 128, EVENTS = 128, ROUNDS = 1000, OPS = 8, ENOUGH = 500 };

/* A timer has a number of its own, which is its cookie. That of the end is another one. */
#define MOST	131072
#define END	(~0ULL)

#define OWNERS	3
#define CELLS	150	/* of each owner; so owners share words of the bitmap */
#define ALL	(OWNERS * CELLS)

/* Owners go on until there were so many of each. */
enum { MANY_EVENTS = 8000, MANY_CANCELS = 4000, MANY_KICKS = 500 };

/* How a reader waits. */
enum way { NOT_AT_ALL, BLOCKS, POLLS, HAS_EDGES };

static struct battle {
	struct mapped m;
	atomic_uint numbers[TIMERS];
	atomic_uint next, armed, cancelled, read;
	/* Of each number: its timer; that is periodic; it has ended. */
	atomic_ullong ids[MOST] __attribute__((aligned(64)));
	atomic_uchar periodic[MOST];
	atomic_uchar ended[MOST];
	/* Of each cell, the generation of the last event that was read. */
	atomic_uint taken[ALL];
	atomic_ullong cells_armed, cells_cancelled, cells_read, told[3];
	atomic_bool over;
} *battle;

/* The file, as this process has it. */
static struct mapped mine;

static struct twheel_op actor_op(uint32_t *seed, unsigned int *number)
{
	struct twheel_op op = { .time_ns = roll(seed) % (3 * MS) };
	unsigned int what = roll(seed) % 16;

	*number = battle->numbers[roll(seed) % TIMERS];
	op.id = battle->ids[*number];
	if (what < 8) {
		*number = ++battle->next;
		op.op = TWHEEL_OP_ARM;
		op.cookie = *number;
		op.period_ns = roll(seed) % 8 ? 0 : 1 + roll(seed) % (8 * MS);
		op.slack_ns = roll(seed) % 4 ? 0 : roll(seed) % MS;
		battle->periodic[*number] = !!op.period_ns;
	} else if (what < 12) {
		op.op = TWHEEL_OP_CANCEL;
		op.time_ns = 0;
	} else if (what < 14) {
		op.op = TWHEEL_OP_MODIFY;
		op.flags = roll(seed) % 2 ? TWHEEL_LATER : 0;
	} else {
		op.op = TWHEEL_OP_QUERY;
		op.time_ns = 0;
	}
	return op;
}

static void actor_result(const struct twheel_op *op, unsigned int number, uint32_t *seed)
{
	if (op->op == TWHEEL_OP_ARM) {
		NEED(op->result == 0 && op->id);
		battle->armed++;
		battle->ids[number] = op->id;
		battle->numbers[roll(seed) % TIMERS] = number;
	} else if (op->op == TWHEEL_OP_CANCEL && op->result == 1) {
		/* Its event has not come, and does not. */
		NEED(battle->periodic[number] || !battle->ended[number]++);
		battle->cancelled++;
	} else {
		NEED(op->result == -ENOENT || op->result == 0 || op->result == 1);
	}
}

static void *actor_run(void *arg)
{
	uint32_t seed = 99 + (uintptr_t)arg;
	unsigned int numbers[OPS];
	int i, n, count;

	for (i = 0; i < ROUNDS || battle->read < ENOUGH; i++) {
		struct twheel_op ops[OPS];

		NEED(battle->next < MOST - ACTORS * OPS);
		/* A busy machine may keep readers from running: do not use up the numbers. */
		if (battle->next > MOST / 2)
			usleep(10000);
		count = 1 + roll(&seed) % OPS;
		for (n = 0; n < count; n++)
			ops[n] = actor_op(&seed, &numbers[n]);
		if (count == 1)
			dev_op(mine.fd, ops);
		else
			NEED(dev_ops(mine.fd, ops, count) == count);
		for (n = 0; n < count; n++)
			actor_result(&ops[n], numbers[n], &seed);
		if (roll(&seed) % 1000 == 0)
			battle->cancelled += dev_cancel_all(mine.fd);
	}
	return NULL;
}

/* Up to 64 ticks from now, short ones more often, so that sweeps race with everything. */
static uint64_t tick_roll(uint32_t *seed)
{
	return map_now(&mine) + roll(seed) % (1U << roll(seed) % 7);
}

static void owner_act(uint32_t cell, uint32_t *seed)
{
	uint64_t word = map_word(&mine, cell), id = map_id(cell, word);

	if (twheel_cell_state(word) != TWHEEL_CELL_PENDING) {
		/* An event that is under way is of the cell's last timer. */
		if (twheel_cell_state(word) != TWHEEL_CELL_FIRED ||
		    battle->taken[cell] == twheel_cell_generation(word)) {
			battle->told[map_arm(&mine, cell, tick_roll(seed), NULL)]++;
			battle->cells_armed++;
		}
		return;
	}
	switch (roll(seed) % 8) {
	case 0:
		battle->cells_cancelled += map_cancel(&mine, id);
		break;
	case 1:
		map_move(&mine, id, tick_roll(seed));
		break;
	case 2:
		map_extend(&mine, id, map_now(&mine) + 64);
		break;
	}
}

/* The last one moves the others' timers. */
static void *owner_run(void *arg)
{
	uint32_t owner = (uintptr_t)arg, seed = owner + 1;

	while (battle->cells_read < MANY_EVENTS || battle->cells_cancelled < MANY_CANCELS ||
	       battle->told[TOLD_BY_KICK] < MANY_KICKS) {
		uint32_t cell = roll(&seed) % ALL;

		if (owner < OWNERS)
			owner_act(owner * CELLS + cell % CELLS, &seed);
		else
			map_move(&mine, map_id(cell, map_word(&mine, cell)), tick_roll(&seed));
	}
	return NULL;
}

static void timer_take(const struct twheel_event *event)
{
	bool last = event->flags & TWHEEL_EVENT_LAST;

	NEED(event->cookie < MOST && event->count);
	NEED(last == !battle->periodic[event->cookie]);
	if (last) {
		NEED(!battle->ended[event->cookie]++);
		battle->read++;
	}
}

static void cell_take(const struct twheel_event *event)
{
	uint32_t cell = event->id, generation = event->id >> 32;
	uint64_t now = (event->now_ns - mine.origin_ns) / mine.tick_ns;
	uint64_t word = map_word(&mine, cell);

	map_check_event(&mine, event);
	/* Nobody changes the word before this is in the books. */
	NEED(twheel_cell_state(word) == TWHEEL_CELL_FIRED);
	CHECK_EQ(twheel_cell_generation(word), generation);
	CHECK_EQ(event->deadline_ns, map_time(&mine, twheel_cell_ticks(word, now)));
	NEED(battle->taken[cell] != generation);
	battle->taken[cell] = generation;
	battle->cells_read++;
}

/* Read what there is. Returns false after the last event, which is passed on. */
static bool take_all(enum way way, struct twheel_event *events, uint32_t *seed)
{
	int n, i;

	do {
		if (roll(seed) % 2)
			madvise(events, EVENTS * sizeof(*events), MADV_DONTNEED);
		n = events_read(mine.fd, events, EVENTS - roll(seed) % EVENTS);
		if (n < 0)
			NEED(errno == EAGAIN && way != BLOCKS);
		for (i = 0; i < n; i++) {
			NEED(events[i].deadline_ns <= events[i].now_ns);
			if (events[i].type == TWHEEL_EVENT_TIMER && events[i].cookie == END) {
				dev_arm_at(mine.fd, 0, END);
				return false;
			}
			if (events[i].type == TWHEEL_EVENT_CELL)
				cell_take(&events[i]);
			else
				timer_take(&events[i]);
		}
	} while (n > 0 && way != BLOCKS);
	return true;
}

static void *reader_run(void *arg)
{
	enum way way = (uintptr_t)arg;
	int epoll = way == HAS_EDGES ? dev_epoll(mine.fd, EPOLLIN | EPOLLET) : -1;
	uint32_t seed = 77 + way;
	struct twheel_event *events = mmap(NULL, EVENTS * sizeof(*events), PROT_READ | PROT_WRITE,
					   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	NEED(events != MAP_FAILED);
	do {
		if (way == POLLS)
			dev_readable(mine.fd, -1);
		if (way == HAS_EDGES)
			NEED(epoll_wait(epoll, &(struct epoll_event) { }, 1, -1) == 1);
	} while (take_all(way, events, &seed));
	return NULL;
}

static void *time_run(void *arg)
{
	uint32_t seed = 9;

	while (!battle->over) {
		dev_advance(mine.fd, roll(&seed) % (4 * MS));
		sched_yield();
	}
	return arg;
}

/** struct part - what a thread runs, and whether it does so in a process of its own */
struct part {
	pthread_t thread;
	void *(*run)(void *arg);
	void *arg;
	bool apart;
};

static void *part_run(void *arg)
{
	const struct part *part = arg;
	int status = 0;
	pid_t child;

	if (!part->apart)
		return part->run(part->arg);
	child = fork();
	NEED(child >= 0);
	if (!child) {
		if (mine.count)
			mine = map_again(&mine);
		part->run(part->arg);
		fflush(stdout);
		_exit(tap_failed());
	}
	NEED(waitpid(child, &status, 0) == child);
	CHECK_EQ(status, 0);
	return NULL;
}

static void part_start(struct part *part, void *(*run)(void *arg), uintptr_t arg, bool apart)
{
	*part = (struct part) { .run = run, .arg = (void *)arg, .apart = apart };
	NEED(!pthread_create(&part->thread, NULL, part_run, part));
}

static bool cells_pend(void)
{
	uint32_t cell;

	for (cell = 0; cell < mine.count; cell++)
		if (map_state(&mine, cell) == TWHEEL_CELL_PENDING)
			return true;
	return battle->cells_armed != battle->cells_cancelled + battle->cells_read;
}

static void check_books(unsigned int readers)
{
	CHECK_EQ(dev_info(mine.fd).timers, 1);
	CHECK_EQ(battle->armed, battle->cancelled + battle->read);
	printf("# %u armed, %u read, %u cancelled\n", battle->armed, battle->read,
	       battle->cancelled);
	if (mine.count) {
		CHECK_EQ(dev_stat(mine.fd, "cells"), 0);
		CHECK(battle->told[TOLD_BY_KICK] < battle->cells_armed / 2);
		return;
	}
	CHECK_EQ(dev_stat(mine.fd, "armed"), battle->armed + 1 + readers);
	CHECK_EQ(dev_stat(mine.fd, "cancelled"), battle->cancelled);
	CHECK(dev_stat(mine.fd, "fired") >= battle->read + readers);
}

/* With @apart, one reader is another process, and so is each owner of cells. */
static void battle_run(uint32_t clock, uint32_t cells, bool apart, enum way one, enum way other)
{
	struct twheel_setup setup = {
		.clock = clock, .max_cells = cells, .tick_ns = cells ? 0 : 50 * US,
	};
	struct part actors[ACTORS], owners[OWNERS + 1], readers[2], time;
	unsigned int nr_owners = cells ? OWNERS + 1 : 0, nr_readers = other ? 2 : 1, i;

	battle = mmap(NULL, sizeof(*battle), PROT_READ | PROT_WRITE,
		      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	NEED(battle != MAP_FAILED);
	mine = cells ? map_open(&setup) : (struct mapped) { .fd = dev_open_setup(&setup) };
	NEED(fcntl(mine.fd, F_SETFL, one == BLOCKS ? 0 : O_NONBLOCK) == 0);
	part_start(&readers[0], reader_run, one, apart);
	if (other)
		part_start(&readers[1], reader_run, other, false);
	if (clock == TWHEEL_VIRTUAL)
		part_start(&time, time_run, 0, false);
	for (i = 0; i < nr_owners; i++)
		part_start(&owners[i], owner_run, i, apart);
	for (i = 0; i < ACTORS; i++)
		part_start(&actors[i], actor_run, i, false);
	for (i = 0; i < ACTORS; i++)
		NEED(!pthread_join(actors[i].thread, NULL));
	for (i = 0; i < nr_owners; i++)
		NEED(!pthread_join(owners[i].thread, NULL));
	/* What is left of timers would go on for ever, and cells fire. */
	battle->cancelled += dev_cancel_all(mine.fd);
	while (cells_pend())
		usleep(1000);
	dev_arm_at(mine.fd, 0, END);
	for (i = 0; i < nr_readers; i++)
		NEED(!pthread_join(readers[i].thread, NULL));
	battle->over = true;
	if (clock == TWHEEL_VIRTUAL)
		NEED(!pthread_join(time.thread, NULL));
	check_books(nr_readers);
}

TEST(books_add_up)
{
	battle_run(TWHEEL_MONOTONIC, 0, false, BLOCKS, BLOCKS);
}

TEST(books_of_processes_add_up)
{
	battle_run(TWHEEL_VIRTUAL, 0, true, BLOCKS, BLOCKS);
}

TEST(cells_and_polls)
{
	battle_run(TWHEEL_MONOTONIC, ALL, false, POLLS, NOT_AT_ALL);
}

TEST(cells_and_edges)
{
	battle_run(TWHEEL_MONOTONIC, ALL, false, HAS_EDGES, NOT_AT_ALL);
}

TEST(cells_of_processes)
{
	battle_run(TWHEEL_BOOTTIME, ALL, true, POLLS, HAS_EDGES);
}

TEST(cells_in_virtual_time)
{
	battle_run(TWHEEL_VIRTUAL, ALL, false, POLLS, HAS_EDGES);
}

TEST(cells_of_processes_in_virtual_time)
{
	battle_run(TWHEEL_VIRTUAL, ALL, true, HAS_EDGES, NOT_AT_ALL);
}

static atomic_bool resubmitted_enough;

/* Arm, change and cancel a few cells without end, and submit them each time. */
static void *resubmit(void *arg)
{
	const struct mapped *m = arg;
	uint32_t seed = 1, generation = 1;

	while (!resubmitted_enough) {
		uint32_t cell = roll(&seed) % 32;
		uint64_t tick = map_now(m) - roll(&seed) % 4;
		uint32_t state = roll(&seed) % 3 ? TWHEEL_CELL_PENDING : 0;

		generation = generation % (TWHEEL_CELL_GENERATIONS - 1) + 1;
		store(&map_cell(m, cell)->word, twheel_cell_word(generation, state, tick));
		__atomic_fetch_or(m->bitmap, 1ULL << cell, __ATOMIC_SEQ_CST);
		__atomic_fetch_or(m->summary, 1, __ATOMIC_SEQ_CST);
	}
	return NULL;
}

/*
 * Cells are submitted with other words while a reader has taken them out of the wheel, and a
 * sweep is due all the time. The books of the kernel still add up.
 */
TEST(cells_that_are_read_are_submitted)
{
	struct twheel_setup setup = { .max_cells = 64, .tick_ns = MS };
	struct mapped m = map_open(&setup);
	struct twheel_event events[64];
	pthread_t thread;
	uint32_t cell;
	int i;

	NEED(!pthread_create(&thread, NULL, resubmit, &m));
	for (i = 0; i < 20000; i++) {
		store(&map_cell(&m, 40)->word,
		      twheel_cell_word(1, TWHEEL_CELL_PENDING, map_now(&m) + 2));
		NEED(dev_kick(m.fd, 40) == 0);
		NEED(read(m.fd, events, sizeof(events)) > 0 || errno == EAGAIN);
	}
	resubmitted_enough = true;
	pthread_join(thread, NULL);
	for (cell = 0; cell < 64; cell++) {
		store(&map_cell(&m, cell)->word, 0);
		NEED(dev_kick(m.fd, cell) == 0);
	}
	while (read(m.fd, events, sizeof(events)) > 0)
		;
	CHECK_EQ(dev_stat(m.fd, "cells"), 0);
	map_close(&m);
}
