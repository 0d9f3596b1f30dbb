// SPDX-License-Identifier: GPL-2.0-only
/*
 * Threads do everything on the timers of one file, all on the same ones, and books are kept.
 * Readers drop their memory now and then, so that the device has to wait for it with an event
 * in its hands.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/device.h"
#include "lib/dice.h"
#include "lib/tap.h"

enum { ACTORS = 4, READERS = 2, TIMERS = 128, ROUNDS = 1000, OPS = 8, ENOUGH = 500 };

/* A timer has a number of its own, which is its cookie. That of the end is another one. */
#define MOST	131072
#define END	(~0ULL)

static struct battle {
	int fd;
	atomic_uint numbers[TIMERS];
	atomic_uint next, armed, cancelled, read;
	/* Of each number: its timer; that is periodic; it has ended. */
	atomic_ullong ids[MOST] __attribute__((aligned(64)));
	atomic_uchar periodic[MOST];
	atomic_uchar ended[MOST];
	atomic_bool over;
} *battle;

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
		count = 1 + roll(&seed) % OPS;
		for (n = 0; n < count; n++)
			ops[n] = actor_op(&seed, &numbers[n]);
		if (count == 1)
			dev_op(battle->fd, ops);
		else
			NEED(dev_ops(battle->fd, ops, count) == count);
		for (n = 0; n < count; n++)
			actor_result(&ops[n], numbers[n], &seed);
		if (roll(&seed) % 1000 == 0)
			battle->cancelled += dev_cancel_all(battle->fd);
	}
	return NULL;
}

static void event_take(const struct twheel_event *event)
{
	bool last = event->flags & TWHEEL_EVENT_LAST;

	NEED(event->cookie < MOST && event->count);
	NEED(event->deadline_ns <= event->now_ns);
	NEED(last == !battle->periodic[event->cookie]);
	if (last) {
		NEED(!battle->ended[event->cookie]++);
		battle->read++;
	}
}

/* Returns false after the last event, which it passes on. */
static bool events_read(struct twheel_event *events, unsigned int most)
{
	long bytes = read(battle->fd, events, most * sizeof(*events)), i;

	NEED(bytes > 0 && bytes % sizeof(*events) == 0);
	if (dev_info(battle->fd).clock == TWHEEL_MONOTONIC)
		NEED(events->now_ns <= dev_now(CLOCK_MONOTONIC));
	for (i = 0; i < bytes / (long)sizeof(*events); i++) {
		if (events[i].cookie == END) {
			dev_arm_at(battle->fd, 0, END);
			return false;
		}
		event_take(&events[i]);
	}
	return true;
}

static void *reader_run(void *arg)
{
	const size_t bytes = 128 * sizeof(struct twheel_event);
	uint32_t seed = 5 + (uintptr_t)arg;
	void *buffer = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			    -1, 0);

	NEED(buffer != MAP_FAILED);
	do {
		if (roll(&seed) % 2)
			madvise(buffer, bytes, MADV_DONTNEED);
	} while (events_read(buffer, 1 + roll(&seed) % 128));
	return NULL;
}

static void *time_run(void *arg)
{
	uint32_t seed = 9;

	while (!battle->over) {
		dev_advance(battle->fd, roll(&seed) % (4 * MS));
		sched_yield();
	}
	return arg;
}

/* On a virtual clock the first reader is another process. */
static void battle_run(bool virtual)
{
	struct twheel_setup setup = {
		.tick_ns = 50 * US, .clock = virtual ? TWHEEL_VIRTUAL : TWHEEL_MONOTONIC,
	};
	pthread_t actors[ACTORS], readers[READERS], time;
	pid_t child = 0;
	uintptr_t i;
	int status;

	battle = mmap(NULL, sizeof(*battle), PROT_READ | PROT_WRITE,
		      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	NEED(battle != MAP_FAILED);
	battle->fd = dev_open();
	NEED(ioctl(battle->fd, TWHEEL_IOC_SETUP, &setup) == 0);
	if (virtual) {
		child = fork();
		NEED(child >= 0);
		if (!child) {
			reader_run(NULL);
			_exit(tap_failed());
		}
		NEED(!pthread_create(&time, NULL, time_run, NULL));
	}
	for (i = virtual; i < READERS; i++)
		NEED(!pthread_create(&readers[i], NULL, reader_run, (void *)i));
	for (i = 0; i < ACTORS; i++)
		NEED(!pthread_create(&actors[i], NULL, actor_run, (void *)i));
	for (i = 0; i < ACTORS; i++)
		NEED(!pthread_join(actors[i], NULL));
	/* What is left would go on for ever. */
	battle->cancelled += dev_cancel_all(battle->fd);
	dev_arm_at(battle->fd, 0, END);
	if (virtual)
		NEED(waitpid(child, &status, 0) == child && !status);
	for (i = virtual; i < READERS; i++)
		NEED(!pthread_join(readers[i], NULL));
	battle->over = true;
	if (virtual)
		NEED(!pthread_join(time, NULL));
	CHECK_EQ(dev_info(battle->fd).timers, 1);
	CHECK_EQ(battle->armed, battle->cancelled + battle->read);
	CHECK_EQ(dev_stat(battle->fd, "armed"), battle->armed + 1 + READERS);
	CHECK_EQ(dev_stat(battle->fd, "cancelled"), battle->cancelled);
	CHECK(dev_stat(battle->fd, "fired") >= battle->read + READERS);
	printf("# %u armed, %u read, %u cancelled\n", battle->armed, battle->read,
	       battle->cancelled);
}

TEST(books_add_up)
{
	battle_run(false);
}

TEST(books_of_processes_add_up)
{
	battle_run(true);
}
