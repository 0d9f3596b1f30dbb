// SPDX-License-Identifier: GPL-2.0-only
/* Threads do everything on the timers of one file, all on the same ones, and books are kept. */
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "lib/device.h"
#include "lib/dice.h"
#include "lib/tap.h"

enum { ACTORS = 4, READERS = 2, TIMERS = 128, ROUNDS = 1000, OPS = 8 };

/* A timer has a number of its own, which is its cookie. */
#define MOST	(ACTORS * ROUNDS * OPS)

static struct {
	int fd;
	_Atomic(uint64_t) ids[TIMERS] __attribute__((aligned(64)));
	atomic_uint next, armed, cancelled, read;
	/* Of each number: it is periodic; it has ended. */
	atomic_uchar periodic[MOST];
	atomic_uchar ended[MOST];
	atomic_bool done;
} battle;

static struct twheel_op actor_op(uint32_t *seed)
{
	struct twheel_op op = { .id = battle.ids[roll(seed) % TIMERS] };
	unsigned int what = roll(seed) % 16;

	op.time_ns = roll(seed) % (3 * MS);
	if (what < 8) {
		op.op = TWHEEL_OP_ARM;
		op.cookie = battle.next++;
		op.period_ns = roll(seed) % 8 ? 0 : 1 + roll(seed) % (8 * MS);
		op.slack_ns = roll(seed) % 4 ? 0 : roll(seed) % MS;
		battle.periodic[op.cookie] = !!op.period_ns;
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

static void actor_result(const struct twheel_op *op, uint32_t *seed)
{
	if (op->op == TWHEEL_OP_ARM) {
		NEED(op->result == 0 && op->id);
		battle.armed++;
		battle.ids[roll(seed) % TIMERS] = op->id;
	} else if (op->op == TWHEEL_OP_CANCEL && op->result == 1) {
		battle.cancelled++;
	} else {
		NEED(op->result == -ENOENT || op->result == 0 || op->result == 1);
	}
}

static void *actor_run(void *arg)
{
	uint32_t seed = 99 + (uintptr_t)arg;
	int i, n, count;

	for (i = 0; i < ROUNDS; i++) {
		struct twheel_op ops[OPS];

		count = 1 + roll(&seed) % OPS;
		for (n = 0; n < count; n++)
			ops[n] = actor_op(&seed);
		if (count == 1)
			dev_op(battle.fd, ops);
		else
			NEED(dev_ops(battle.fd, ops, count) == count);
		for (n = 0; n < count; n++)
			actor_result(&ops[n], &seed);
		if (roll(&seed) % 1000 == 0)
			battle.cancelled += dev_cancel_all(battle.fd);
	}
	return NULL;
}

/* Never early; and after the last event of a timer there is no other. */
static void *reader_run(void *arg)
{
	struct twheel_event events[7];
	ssize_t bytes;
	uint64_t now;
	int i;

	for (;;) {
		bytes = read(battle.fd, events, sizeof(events));
		now = dev_now(CLOCK_MONOTONIC);
		for (i = 0; i < (int)(bytes / (ssize_t)sizeof(*events)); i++) {
			uint64_t cookie = events[i].cookie;
			bool last = events[i].flags & TWHEEL_EVENT_LAST;

			NEED(cookie < MOST && events[i].count);
			NEED(events[i].deadline_ns <= events[i].now_ns);
			NEED(events[i].now_ns <= now);
			NEED(last == !battle.periodic[cookie]);
			NEED(!battle.ended[cookie]);
			if (last && !battle.ended[cookie]++)
				battle.read++;
		}
		if (bytes > 0)
			continue;
		NEED(errno == EAGAIN);
		if (battle.done)
			return arg;
		usleep(500);
	}
}

TEST(books_add_up)
{
	pthread_t actors[ACTORS], readers[READERS];
	uintptr_t i;

	battle.fd = dev_open_setup(&(struct twheel_setup) { .tick_ns = 50 * US });
	for (i = 0; i < READERS; i++)
		NEED(!pthread_create(&readers[i], NULL, reader_run, NULL));
	for (i = 0; i < ACTORS; i++)
		NEED(!pthread_create(&actors[i], NULL, actor_run, (void *)i));
	for (i = 0; i < ACTORS; i++)
		NEED(!pthread_join(actors[i], NULL));
	/* What is left would go on for ever. */
	battle.cancelled += dev_cancel_all(battle.fd);
	battle.done = true;
	for (i = 0; i < READERS; i++)
		NEED(!pthread_join(readers[i], NULL));
	CHECK_EQ(dev_info(battle.fd).timers, 0);
	CHECK_EQ(battle.armed, battle.cancelled + battle.read);
	CHECK_EQ(dev_stat(battle.fd, "armed"), battle.armed);
	CHECK_EQ(dev_stat(battle.fd, "cancelled"), battle.cancelled);
	CHECK(dev_stat(battle.fd, "fired") >= battle.read);
	CHECK(battle.read > 0);
	printf("# %u armed, %u read, %u cancelled\n", battle.armed, battle.read,
	       battle.cancelled);
}
