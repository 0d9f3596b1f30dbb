// SPDX-License-Identifier: GPL-2.0-only
/*
 * Threads, or processes, arm, move and cancel cells, while others read the events. They keep
 * books: each timer fires once, and not early, or is cancelled. One that is lost lets the test
 * hang.
 */
#include <errno.h>
#include <pthread.h>
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

#define OWNERS	3
#define CELLS	150	/* of each owner; so owners share words of the bitmap */
#define ALL	(OWNERS * CELLS)

/* The cookie of the event that ends a reader. */
#define END	(~0ULL)

/* The race goes on until there were so many of each. */
enum { MANY_EVENTS = 8000, MANY_CANCELS = 4000, MANY_KICKS = 500 };

static struct race {
	struct mapped m;
	/* Of each cell, the generation of the last event that was read. */
	atomic_uint taken[ALL];
	atomic_ullong armed, cancelled, events, told[3];
	atomic_bool over;
} *race;

static bool race_is_long_enough(void)
{
	return race->events >= MANY_EVENTS && race->cancelled >= MANY_CANCELS &&
	       race->told[TOLD_BY_KICK] >= MANY_KICKS;
}

/* Up to 64 ticks from now, short ones more often, so that sweeps race with everything. */
static uint64_t tick_roll(const struct mapped *m, uint32_t *seed)
{
	return map_now(m) + roll(seed) % (1U << roll(seed) % 7);
}

static void owner_act(const struct mapped *m, uint32_t cell, uint32_t *seed)
{
	uint64_t word = map_word(m, cell), id = map_id(cell, word);

	if (twheel_cell_state(word) != TWHEEL_CELL_PENDING) {
		/* An event that is under way is of the cell's last timer. */
		if (twheel_cell_state(word) != TWHEEL_CELL_FIRED ||
		    race->taken[cell] == twheel_cell_generation(word)) {
			race->told[map_arm(m, cell, tick_roll(m, seed), NULL)]++;
			race->armed++;
		}
		return;
	}
	switch (roll(seed) % 8) {
	case 0:
		race->cancelled += map_cancel(m, id);
		break;
	case 1:
		map_move(m, id, tick_roll(m, seed));
		break;
	case 2:
		map_extend(m, id, map_now(m) + 64);
		break;
	}
}

/* What an owner does in a process or a thread. The last one moves the others' timers. */
static void owner_run(const struct mapped *m, uint32_t owner)
{
	uint32_t seed = owner + 1;

	while (!race_is_long_enough()) {
		if (owner < OWNERS) {
			owner_act(m, owner * CELLS + roll(&seed) % CELLS, &seed);
		} else {
			uint32_t cell = roll(&seed) % ALL;

			map_move(m, map_id(cell, map_word(m, cell)), tick_roll(m, &seed));
		}
	}
}

static void *owner_thread(void *arg)
{
	owner_run(&race->m, (uintptr_t)arg);
	return arg;
}

static void *owner_process(void *arg)
{
	pid_t child = fork();
	struct mapped m;
	int status;

	NEED(child >= 0);
	if (!child) {
		m = map_again(&race->m);
		owner_run(&m, (uintptr_t)arg);
		fflush(stdout);
		_exit(tap_failed());
	}
	NEED(waitpid(child, &status, 0) == child);
	CHECK_EQ(status, 0);
	return arg;
}

static void event_check(const struct twheel_event *event)
{
	uint32_t cell = event->id, generation = event->id >> 32;
	uint64_t now = (event->now_ns - race->m.origin_ns) / race->m.tick_ns;
	uint64_t word = map_word(&race->m, cell);

	map_check_event(&race->m, event);
	/* Nobody changes the word before this is in the books. */
	NEED(twheel_cell_state(word) == TWHEEL_CELL_FIRED);
	CHECK_EQ(twheel_cell_generation(word), generation);
	CHECK_EQ(event->deadline_ns, map_time(&race->m, twheel_cell_ticks(word, now)));
	NEED(race->taken[cell] != generation);
	race->taken[cell] = generation;
	race->events++;
}

/* Read what there is. Returns false after the last event, which is passed on. */
static bool reader_read(uint32_t *seed)
{
	struct twheel_event events[32];
	long n, i;

	do {
		n = read(race->m.fd, events, (1 + roll(seed) % 32) * sizeof(*events));
		if (n < 0)
			NEED(errno == EAGAIN);
		for (i = 0; i < n / (long)sizeof(*events); i++) {
			if (events[i].type == TWHEEL_EVENT_CELL) {
				event_check(&events[i]);
				continue;
			}
			NEED(events[i].cookie == END);
			dev_arm_at(race->m.fd, 0, END);
			return false;
		}
	} while (n > 0);
	return true;
}

static void *reader_polls(void *arg)
{
	uint32_t seed = 77;

	do {
		dev_readable(race->m.fd, -1);
	} while (reader_read(&seed));
	return arg;
}

static void *reader_has_edges(void *arg)
{
	int epoll = dev_epoll(race->m.fd, EPOLLIN | EPOLLET);
	struct epoll_event event;
	uint32_t seed = 78;

	do {
		NEED(epoll_wait(epoll, &event, 1, -1) == 1);
	} while (reader_read(&seed));
	return arg;
}

static void *time_pass(void *arg)
{
	uint32_t seed = 79;

	while (!race->over) {
		dev_advance(race->m.fd, roll(&seed) % (4 * MS));
		sched_yield();
	}
	return arg;
}

static bool race_has_pending(void)
{
	uint32_t cell;

	for (cell = 0; cell < ALL; cell++)
		if (map_state(&race->m, cell) == TWHEEL_CELL_PENDING)
			return true;
	return false;
}

static void race_run(uint32_t clock, void *(*owner)(void *), bool edges, bool several)
{
	struct twheel_setup setup = { .clock = clock, .max_cells = ALL };
	pthread_t owners[OWNERS + 1], readers[2], time;
	uintptr_t i;

	race = mmap(NULL, sizeof(*race), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
		    -1, 0);
	NEED(race != MAP_FAILED);
	race->m = map_open(&setup);
	if (edges || several)
		NEED(!pthread_create(&readers[0], NULL, reader_has_edges, NULL));
	if (!edges || several)
		NEED(!pthread_create(&readers[1], NULL, reader_polls, NULL));
	if (clock == TWHEEL_VIRTUAL)
		NEED(!pthread_create(&time, NULL, time_pass, NULL));
	for (i = 0; i <= OWNERS; i++)
		NEED(!pthread_create(&owners[i], NULL, owner, (void *)i));
	for (i = 0; i <= OWNERS; i++)
		pthread_join(owners[i], NULL);
	/* Those that are left fire. Nobody arms, moves or kicks any more. */
	while (race_has_pending() || race->armed != race->cancelled + race->events)
		usleep(1000);
	dev_arm_at(race->m.fd, 0, END);
	if (edges || several)
		pthread_join(readers[0], NULL);
	if (!edges || several)
		pthread_join(readers[1], NULL);
	race->over = true;
	if (clock == TWHEEL_VIRTUAL)
		pthread_join(time, NULL);
	CHECK_EQ(dev_stat(race->m.fd, "cells"), 0);
	tap_check(race->told[TOLD_BY_KICK] < race->armed / 2, __FILE__, __LINE__,
		  "of %llu arms, %llu by check, %llu by wake, %llu by kick",
		  (unsigned long long)race->armed,
		  (unsigned long long)race->told[TOLD_BY_CHECK],
		  (unsigned long long)race->told[TOLD_BY_WAKE],
		  (unsigned long long)race->told[TOLD_BY_KICK]);
}

TEST(threads_and_polls)
{
	race_run(TWHEEL_MONOTONIC, owner_thread, false, false);
}

TEST(threads_and_edges)
{
	race_run(TWHEEL_MONOTONIC, owner_thread, true, false);
}

TEST(processes_and_readers)
{
	race_run(TWHEEL_BOOTTIME, owner_process, false, true);
}

TEST(threads_in_virtual_time)
{
	race_run(TWHEEL_VIRTUAL, owner_thread, false, true);
}

TEST(processes_in_virtual_time)
{
	race_run(TWHEEL_VIRTUAL, owner_process, true, false);
}
