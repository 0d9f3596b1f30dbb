// SPDX-License-Identifier: GPL-2.0-only
/*
 * Calls on periodic timers whose event has not been taken. The answers are those of a file
 * without cells, whether or not the timer is due again and waits for that.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "lib/device.h"
#include "lib/mapped.h"
#include "lib/tap.h"

#define HOUR	(3600 * S)

enum kind { TABLE, CELLS, SUBMIT };

/**
 * struct fixture - a file with a periodic timer that has expired
 * @m: with cells, its mapping; always the descriptor
 * @waits: the timer is due again
 * @op: as it was armed
 */
struct fixture {
	struct mapped m;
	enum kind kind;
	bool waits;
	struct twheel_op op;
};

static struct mapped open_kind(enum kind kind)
{
	switch (kind) {
	case CELLS:
		return map_cells(4);
	case SUBMIT:
		return map_submit(4);
	default:
		return (struct mapped){ .fd = dev_open_flags(O_NONBLOCK) };
	}
}

static uint32_t fixture_cell(const struct fixture *f)
{
	return f->op.id;
}

/* Wait until a timer is due again, its event not taken. */
static void wait_due_again(const struct fixture *f)
{
	while (load(&f->m.cells[fixture_cell(f)].look) != TWHEEL_CELL_NEVER)
		usleep(1000);
}

static struct fixture fixture_new(enum kind kind, bool waits)
{
	struct fixture f = {
		.m = open_kind(kind), .kind = kind, .waits = waits,
		.op = { .id = kind == TABLE ? 0 : 2, .cookie = 7,
			.period_ns = waits ? MS : HOUR },
	};

	dev_arm_op(f.m.fd, &f.op);
	dev_wait_unread(f.m.fd, 1);
	if (kind == TABLE)
		dev_wait_passed(f.op.deadline_ns + (waits ? MS : 0));
	else if (waits)
		wait_due_again(&f);
	else
		CHECK(load(&f.m.cells[2].look) != TWHEEL_CELL_NEVER);
	return f;
}

/* Take all events. Returns how many there are, without those that were withdrawn. */
static unsigned int take_all(const struct fixture *f)
{
	struct twheel_event next;
	unsigned int n = 0;
	uint64_t event;
	uint32_t cell;
	ssize_t ret;

	if (f->kind == TABLE) {
		/* A second one may be of the next period. */
		ret = read(f->m.fd, &next, sizeof(next));
		return ret < 0 ? 0 : ret / sizeof(next);
	}
	while (map_take(&f->m, &cell, &event)) {
		CHECK_EQ(cell, fixture_cell(f));
		CHECK_EQ(event >> 32, f->op.id >> 32);
		n += !!(uint32_t)event;
	}
	return n;
}

/* The calls, each on a fixture. They return what the call does, or minus the error. */
static int cancel(struct fixture *f)
{
	int ret = dev_cancel(f->m.fd, f->op.id);

	return ret < 0 ? -errno : ret;
}

static int cancel_many(struct fixture *f)
{
	uint64_t id = f->op.id, result = 99;
	struct twheel_many many = {
		.elements = (uintptr_t)&id, .results = (uintptr_t)&result, .count = 1,
	};

	CHECK_EQ(ioctl(f->m.fd, TWHEEL_IOC_CANCEL_MANY, &many), 1);
	return result;
}

static int cancel_in_a_batch(struct fixture *f)
{
	struct twheel_op op = { .op = TWHEEL_OP_CANCEL, .id = f->op.id };

	CHECK_EQ(dev_batch(f->m.fd, &op, 1), 1);
	return op.result;
}

static int cancel_all(struct fixture *f)
{
	return dev_cancel_all(f->m.fd);
}

/* Give it that deadline, and more. Notes what the call says of it. */
static int change(struct fixture *f, unsigned long call, uint32_t flags, uint64_t delay_ns,
		  uint64_t period_ns)
{
	struct twheel_op op = {
		.id = f->op.id, .flags = flags, .deadline_ns = delay_ns,
		.period_ns = period_ns,
	};
	int ret = ioctl(f->m.fd, call, &op);

	if (ret < 0)
		return -errno;
	CHECK_EQ(op.id, f->op.id);
	f->op.deadline_ns = op.deadline_ns;
	return ret;
}

static int modify(struct fixture *f)
{
	return change(f, TWHEEL_IOC_MODIFY, 0, HOUR, 0);
}

static int modify_to_one_shot(struct fixture *f)
{
	return change(f, TWHEEL_IOC_MODIFY, TWHEEL_SET_PERIOD, HOUR, 0);
}

static int modify_to_later(struct fixture *f)
{
	return change(f, TWHEEL_IOC_MODIFY, TWHEEL_LATER, HOUR, 0);
}

static int arm_or_modify(struct fixture *f)
{
	return change(f, TWHEEL_IOC_ARM, TWHEEL_OR_MODIFY, HOUR, HOUR);
}

static int query(struct fixture *f)
{
	struct twheel_op op;

	CHECK_EQ(dev_query(f->m.fd, f->op.id, &op), 0);
	CHECK_EQ(op.cookie, 7);
	CHECK_EQ(op.period_ns, f->op.period_ns);
	/* The deadline that the event stands for. */
	CHECK_EQ(op.deadline_ns, f->op.deadline_ns);
	return op.state;
}

/**
 * struct answer - what a call answers, and what it leaves behind
 * @events: events that the reader finds afterwards
 * @state: what a query says afterwards; 0: there is no timer
 */
struct answer {
	const char *name;
	int (*call)(struct fixture *f);
	int result;
	unsigned int events;
	unsigned int state;
};

static const struct answer answers[] = {
	{ "CANCEL",		cancel,			1, 0, 0 },
	{ "CANCEL_MANY",	cancel_many,		1, 0, 0 },
	{ "BATCH",		cancel_in_a_batch,	1, 0, 0 },
	{ "CANCEL_ALL",		cancel_all,		1, 0, 0 },
	{ "MODIFY",		modify,			2, 0, TWHEEL_STATE_PENDING },
	{ "SET_PERIOD 0",	modify_to_one_shot,	2, 0, TWHEEL_STATE_PENDING },
	{ "ARM OR_MODIFY",	arm_or_modify,		2, 0, TWHEEL_STATE_PENDING },
	{ "MODIFY LATER",	modify_to_later,	-EALREADY, 1, TWHEEL_STATE_FIRED },
	{ "QUERY",		query,			TWHEEL_STATE_FIRED, 1,
							TWHEEL_STATE_FIRED },
};

static void check_answer(const struct answer *answer, enum kind kind, bool waits)
{
	struct fixture f = fixture_new(kind, waits);
	int result = answer->call(&f), ret;
	struct twheel_op op;

	ret = dev_query(f.m.fd, f.op.id, &op);
	CHECK_EQ(ret, answer->state ? 0 : -1);
	CHECK_EQ(result, answer->result);
	CHECK_EQ(ret ? 0 : op.state, answer->state);
	if (!ret)
		CHECK_EQ(op.deadline_ns, f.op.deadline_ns);
	CHECK_EQ(dev_info(f.m.fd).timers, !!answer->state);
	CHECK_EQ(take_all(&f), answer->events);
	if (tap_failed())
		printf("# %s, %sdue again\n", answer->name, waits ? "" : "not ");
	dev_cancel_all(f.m.fd);
	close(f.m.fd);
}

static void check_answers(enum kind kind)
{
	unsigned int i;

	for (i = 0; i < sizeof(answers) / sizeof(*answers); i++) {
		check_answer(&answers[i], kind, false);
		check_answer(&answers[i], kind, true);
	}
}

static void answers_without_cells(void)
{
	check_answers(TABLE);
}

static void answers_in_cells(void)
{
	check_answers(CELLS);
}

static void answers_where_cells_are_submitted(void)
{
	check_answers(SUBMIT);
}

/* It has got a deadline: it expires once, then, and nobody kicks. */
static void expires_once(const struct fixture *f)
{
	unsigned int n = 0;
	uint64_t event;
	uint32_t cell;

	while (!n && dev_readable(f->m.fd, -1) == 1)
		while (map_take(&f->m, &cell, &event))
			n += (uint32_t)event;
	CHECK(dev_passed(f->op.deadline_ns));
	CHECK_EQ(n, 1);
	usleep(20000);
	CHECK_EQ(take_all(f), 0);
	CHECK_EQ(dev_info(f->m.fd).fired, 2);
}

static void expires_once_in(enum kind kind)
{
	struct fixture f;
	int waits;

	for (waits = 0; waits < 2; waits++) {
		f = fixture_new(kind, waits);
		CHECK_EQ(change(&f, TWHEEL_IOC_MODIFY, TWHEEL_SET_PERIOD, 40 * MS, HOUR), 2);
		expires_once(&f);
		f = fixture_new(kind, waits);
		CHECK_EQ(change(&f, TWHEEL_IOC_MODIFY, TWHEEL_SET_PERIOD, 40 * MS, 0), 2);
		expires_once(&f);
		CHECK_EQ(dev_info(f.m.fd).timers, 0);
		f = fixture_new(kind, waits);
		CHECK_EQ(change(&f, TWHEEL_IOC_ARM, TWHEEL_OR_MODIFY, 40 * MS, 0), 2);
		expires_once(&f);
		/* The event is taken; whoever took it does not know it as periodic any more. */
		f = fixture_new(kind, waits);
		CHECK_EQ(take_all(&f), 1);
		CHECK_EQ(change(&f, TWHEEL_IOC_MODIFY, TWHEEL_SET_PERIOD, 40 * MS, 0), 0);
		expires_once(&f);
	}
}

static void modified_expires_once(void)
{
	expires_once_in(CELLS);
	expires_once_in(SUBMIT);
}

/* An event that is late stands for several deadlines: a query tells the first. */
static void query_tells_the_first_deadline(void)
{
	enum kind kind;

	for (kind = CELLS; kind <= SUBMIT; kind++) {
		struct fixture f = fixture_new(kind, true);
		struct twheel_op op;
		uint64_t event;
		uint32_t cell;

		usleep(20000);
		NEED(map_take(&f.m, &cell, &event));
		CHECK_EQ(map_kick(&f.m, f.op.id), 0);
		dev_wait_unread(f.m.fd, 1);
		wait_due_again(&f);
		CHECK((uint32_t)load(&f.m.events[2]) > 1);
		CHECK_EQ(dev_query(f.m.fd, f.op.id, &op), 0);
		CHECK_EQ(op.state, TWHEEL_STATE_FIRED);
		CHECK_EQ(op.deadline_ns, f.op.deadline_ns + (uint32_t)event * MS);
	}
}

/* What the program writes there is its own affair, and no call minds. */
static void nonsense_in_event_words(void)
{
	/* To be added to one of no expiry. */
	const uint64_t more[] = {
		0, 2, 0x7fffffff, 0xffffffff, 1ULL << 32, 1ULL << 32 | 3, 1ULL << 54 | 1,
		~0ULL, -1ULL << 32 | 5,
	};
	struct twheel_op op;
	enum kind kind;
	unsigned int i;

	for (i = 0; i < 2 * sizeof(more) / sizeof(*more); i++) {
		uint64_t word, n = more[i / 2] >> 32 ? 0 : more[i / 2];
		struct fixture f;

		kind = i % 2 ? SUBMIT : CELLS;
		f = fixture_new(kind, false);
		word = (f.op.id >> 32 << 32) + more[i / 2];
		exchange(&f.m.events[2], word);
		CHECK_EQ(dev_query(f.m.fd, f.op.id, &op), 0);
		CHECK_EQ(op.state, n ? TWHEEL_STATE_FIRED : TWHEEL_STATE_PENDING);
		CHECK(op.deadline_ns <= f.op.deadline_ns + HOUR);
		CHECK_EQ(change(&f, TWHEEL_IOC_MODIFY, TWHEEL_LATER, 2 * HOUR, 0),
			 n ? -EALREADY : 0);
		CHECK_EQ(change(&f, TWHEEL_IOC_MODIFY, 0, 3 * HOUR, 0), n ? 2 : 0);
		CHECK_EQ((uint32_t)load(&f.m.events[2]), n ? 0 : (uint32_t)word);
		exchange(&f.m.events[2], word);
		CHECK_EQ(cancel(&f), !!n);
		CHECK_EQ(dev_info(f.m.fd).timers, 0);
	}
}

/* The program has cancelled it in its word, or pushed it off for ever. */
static void words_that_the_program_has_changed(void)
{
	struct twheel_op op;
	enum kind kind;
	struct fixture f;
	int waits;

	for (waits = 0; waits < 2; waits++) {
		for (kind = CELLS; kind <= SUBMIT; kind++) {
			f = fixture_new(kind, waits);
			CHECK(map_cancel(&f.m, f.op.id));
			CHECK_ERR(dev_query(f.m.fd, f.op.id, &op), ENOENT);
			CHECK_EQ(cancel(&f), 1);
			CHECK_EQ(take_all(&f), 0);
			CHECK_EQ(dev_info(f.m.fd).timers, 0);

			f = fixture_new(kind, waits);
			CHECK(map_cancel(&f.m, f.op.id));
			CHECK_EQ(modify_to_later(&f), -ENOENT);
			CHECK_EQ(take_all(&f), 1);

			f = fixture_new(kind, waits);
			CHECK(map_move(&f.m, f.op.id, TWHEEL_CELL_NEVER));
			CHECK_EQ(dev_query(f.m.fd, f.op.id, &op), 0);
			CHECK_EQ(op.state, TWHEEL_STATE_FIRED);
			CHECK_EQ(op.deadline_ns, TWHEEL_DELAY_NEVER);
			CHECK_EQ(change(&f, TWHEEL_IOC_MODIFY, TWHEEL_SET_PERIOD, MS, 0), 2);
			expires_once(&f);
		}
	}
}

/* The program has moved it to later in its word before it was due. */
static struct fixture fixture_extended(enum kind kind)
{
	uint64_t delay;

	/* Longer each time, on a machine that is too slow for the shorter. */
	for (delay = 20 * MS;; delay *= 2) {
		struct fixture f = {
			.m = open_kind(kind), .kind = kind,
			.op = { .id = 2, .deadline_ns = delay, .period_ns = HOUR },
		};

		dev_arm_op(f.m.fd, &f.op);
		if (map_move(&f.m, f.op.id, ticks_in(&f.m, HOUR)) &&
		    !dev_passed(f.op.deadline_ns))
			return f;
		close(f.m.fd);
	}
}

/* The kernel finds that when it looks at the timer, which goes on waiting. */
static void extended_in_its_word(void)
{
	struct fixture f;
	enum kind kind;

	for (kind = CELLS; kind <= SUBMIT; kind++) {
		f = fixture_extended(kind);
		while (load(&f.m.cells[fixture_cell(&f)].look) < ticks_in(&f.m, HOUR / 2))
			usleep(1000);
		CHECK_EQ(dev_info(f.m.fd).fired, 0);
		CHECK_EQ(take_all(&f), 0);
		CHECK_EQ(cancel(&f), 0);
	}
}

/* A thread that takes the events of a periodic timer, as the header says. */
static struct taker {
	const struct fixture *f;
	atomic_ulong taken, bad;
	atomic_bool over;
} taker;

static void *taker_run(void *arg)
{
	const struct mapped *m = &taker.f->m;
	uint64_t event;
	uint32_t cell;

	while (!taker.over) {
		if (!map_take(m, &cell, &event)) {
			poll(&(struct pollfd){ .fd = m->fd, .events = POLLIN }, 1, 5);
			continue;
		}
		taker.taken += !!(uint32_t)event;
		taker.bad += event >> 32 != taker.f->op.id >> 32;
		if (load(&m->cells[cell].look) == TWHEEL_CELL_NEVER)
			taker.bad += map_kick(m, taker.f->op.id) && errno != ENOENT;
	}
	return arg;
}

/* Each event is taken, or withdrawn, and none is both. */
static void taken_or_withdrawn(enum kind kind)
{
	struct fixture f = fixture_new(kind, true);
	uint64_t stop = dev_now(CLOCK_MONOTONIC) + S, before;
	unsigned int withdrawn = 0, calls;
	pthread_t thread;
	int ret;

	taker.f = &f;
	taker.taken = 0;
	taker.bad = 0;
	taker.over = false;
	NEED(!pthread_create(&thread, NULL, taker_run, NULL));
	for (calls = 0; !dev_passed(stop) || calls < 1000; calls++) {
		ret = change(&f, calls % 2 ? TWHEEL_IOC_MODIFY : TWHEEL_IOC_ARM,
			     calls % 2 ? TWHEEL_SET_PERIOD : TWHEEL_OR_MODIFY,
			     calls % 3 * MS, (1 + calls % 5 / 4) * MS);
		NEED(ret >= 0);
		withdrawn += ret == 2;
		if (!(calls % 16))
			usleep(calls % 7 * 500);
	}
	/* It still goes on. */
	before = taker.taken;
	while (taker.taken < before + 3)
		usleep(1000);
	withdrawn += dev_cancel(f.m.fd, f.op.id) == 1;
	taker.over = true;
	NEED(!pthread_join(thread, NULL));
	CHECK_EQ(take_all(&f), 0);
	printf("# %lu taken, %u withdrawn, %u calls\n", taker.taken, withdrawn, calls);
	CHECK_EQ(taker.bad, 0);
	CHECK_EQ(dev_info(f.m.fd).fired, taker.taken + withdrawn);
	CHECK_EQ(dev_info(f.m.fd).timers, 0);
}

static void beside_a_reader(void)
{
	taken_or_withdrawn(CELLS);
	taken_or_withdrawn(SUBMIT);
}

static const struct tap_test tests[] = {
	TAP(answers_without_cells),
	TAP(answers_in_cells),
	TAP(answers_where_cells_are_submitted),
	TAP(modified_expires_once),
	TAP(query_tells_the_first_deadline),
	TAP(nonsense_in_event_words),
	TAP(words_that_the_program_has_changed),
	TAP(extended_in_its_word),
	TAP(beside_a_reader),
};

int main(int argc, char **argv)
{
	return tap_main(tests, sizeof(tests) / sizeof(*tests), argc, argv);
}
