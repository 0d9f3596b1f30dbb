// SPDX-License-Identifier: GPL-2.0-only
/*
 * Never early, and at most a tick late: on a virtual clock both are exact. Random programs are
 * compared with an oracle, which is an array of timers that it searches.
 */
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "lib/device.h"
#include "lib/dice.h"
#include "lib/tap.h"

static int wheel_open(uint64_t tick_ns, uint32_t max_timers)
{
	struct twheel_setup setup = {
		.clock = TWHEEL_VIRTUAL, .tick_ns = tick_ns, .max_timers = max_timers,
	};

	return dev_open_setup(&setup);
}

static uint64_t time_sum(uint64_t a, uint64_t b)
{
	return a >= TWHEEL_NEVER_NS || b >= TWHEEL_NEVER_NS - a ? TWHEEL_NEVER_NS : a + b;
}

static void clock_set(int fd, uint64_t time_ns)
{
	struct twheel_op op = {
		.op = TWHEEL_OP_ADVANCE, .flags = TWHEEL_ABS, .time_ns = time_ns,
	};

	NEED(dev_op(fd, &op) == 0);
	NEED(op.deadline_ns == time_ns);
}

/* It is silent until the nanosecond before its tick, and due with that. Returns that tick. */
static uint64_t one_at(int fd, uint64_t tick_ns, uint64_t now, uint64_t deadline_ns)
{
	uint64_t boundary = (deadline_ns + tick_ns - 1) / tick_ns * tick_ns, id;
	struct twheel_event event;

	id = dev_arm_at(fd, deadline_ns, 7);
	/* A bucket on the way is emptied before. */
	clock_set(fd, now + (boundary - 1 - now) / 2);
	NEED(!dev_readable(fd, 0));
	clock_set(fd, boundary - 1);
	dev_silent(fd);
	NEED(dev_query(fd, id, NULL) == 0);
	clock_set(fd, boundary);
	NEED(dev_query(fd, id, NULL) == 1);
	event = dev_read(fd);
	NEED(event.id == id);
	NEED(event.deadline_ns == deadline_ns);
	NEED(event.now_ns == boundary);
	return boundary;
}

static void at_each_distance_from(uint64_t tick_ns, uint64_t start)
{
	int fd = wheel_open(tick_ns, 0), power, near;
	uint64_t now = start * tick_ns, distance;

	clock_set(fd, now);
	for (power = 0; power <= 50; power++)
		for (near = -1; near <= 1; near++) {
			distance = tick_ns << power;
			if (distance >> power != tick_ns ||
			    now + distance + 2 * tick_ns > TWHEEL_NEVER_NS)
				return;
			now = one_at(fd, tick_ns, now, now + distance + near);
		}
}

TEST(at_each_distance)
{
	static const uint64_t ticks[] = { 1 * US, 10 * US, 1234567, 1 * MS, HOUR };
	/* Where positions end with zeros, with ones, and with neither. */
	static const uint64_t starts[] = { 0, 255, 256, 65535, 12345678 };
	unsigned int t, s;

	dev_param_set("tick_min_ns", 1000);
	for (t = 0; t < SIZE_OF(ticks); t++)
		for (s = 0; s < SIZE_OF(starts) && starts[s] < TWHEEL_NEVER_NS / ticks[t]; s++)
			at_each_distance_from(ticks[t], starts[s]);
}

/* The last time that comes, with a tick that the time that never comes is a multiple of. */
TEST(at_the_end_of_time)
{
	const uint64_t tick_ns = 92737;
	int fd = wheel_open(tick_ns, 0);
	uint64_t last = TWHEEL_NEVER_NS - tick_ns, id, never;

	NEED(TWHEEL_NEVER_NS % tick_ns == 0);
	never = dev_arm(fd, ~0ULL, 1);
	id = dev_arm_at(fd, last, 2);
	clock_set(fd, last - 1);
	dev_silent(fd);
	clock_set(fd, last);
	CHECK_EQ(dev_read(fd).id, id);
	dev_arm(fd, tick_ns, 3);
	dev_arm(fd, ~0ULL, 4);
	CHECK_EQ(dev_advance(fd, 1), last + 1);
	dev_silent(fd);
	CHECK_EQ(dev_advance(fd, tick_ns - 2), TWHEEL_NEVER_NS - 1);
	dev_silent(fd);
	CHECK_EQ(dev_query(fd, never, &id), 0);
	CHECK_EQ(id, TWHEEL_NEVER_NS);
	CHECK_EQ(dev_cancel_all(fd), 3);
}

/* As many as the oracle knows, and as the file takes. */
#define MOST	200

/**
 * struct known - a timer, as the oracle knows it
 * @id: 0: there is none
 * @deadline: the next one
 * @armed: the tick when it got this deadline
 * @modified: it got it from MODIFY
 */
struct known {
	uint64_t id;
	uint64_t cookie;
	uint64_t deadline;
	uint64_t period;
	uint64_t slack;
	uint64_t armed;
	bool modified;
};

static struct oracle {
	int fd;
	uint32_t seed;
	uint64_t tick_ns;
	uint64_t now;
	uint64_t cookies;
	unsigned int count;
	struct known timers[MOST];
} oracle;

/* From then on it may be due. */
static uint64_t due_from(const struct known *timer)
{
	if (timer->deadline == TWHEEL_NEVER_NS)
		return ~0ULL;
	return (timer->deadline + oracle.tick_ns - 1) / oracle.tick_ns;
}

/* From then on it is. */
static uint64_t due_to(const struct known *timer)
{
	uint64_t from = due_from(timer);
	uint64_t to = time_sum(timer->deadline, timer->slack) / oracle.tick_ns;

	return to > from ? to : from;
}

static uint64_t now_ticks(void)
{
	return oracle.now / oracle.tick_ns;
}

/* Events come in the order of their ticks, but for timers armed for the past, or modified. */
static bool has_order(const struct known *timer)
{
	return due_to(timer) > timer->armed && !timer->modified;
}

static bool one_in(unsigned int n)
{
	return roll(&oracle.seed) % n == 0;
}

/* As many bits as another roll says: all distances are as likely. */
static uint64_t random_time(unsigned int bits)
{
	uint64_t time = (uint64_t)roll(&oracle.seed) << 32 | roll(&oracle.seed);

	return time >> (63 - roll(&oracle.seed) % bits);
}

static struct known *random_timer(void)
{
	unsigned int at = roll(&oracle.seed) % MOST, i;

	for (i = 0; i < MOST; i++)
		if (oracle.timers[(at + i) % MOST].id)
			return &oracle.timers[(at + i) % MOST];
	return NULL;
}

static struct known *timer_find(uint64_t id)
{
	unsigned int i;

	for (i = 0; i < MOST; i++)
		if (oracle.timers[i].id == id)
			return &oracle.timers[i];
	return NULL;
}

/* A delay or a time, sometimes one that has passed, or never comes. Returns the deadline. */
static uint64_t random_deadline(struct twheel_op *op)
{
	if (one_in(3)) {
		op->flags |= TWHEEL_ABS;
		op->time_ns = random_time(63);
		if (one_in(4))
			op->time_ns = oracle.now - oracle.now % oracle.tick_ns;
		return op->time_ns;
	}
	op->time_ns = one_in(100) ? ~0ULL - random_time(62) : random_time(50);
	if (one_in(4))
		op->time_ns = op->time_ns / oracle.tick_ns * oracle.tick_ns;
	return time_sum(oracle.now, op->time_ns);
}

static void random_arm(void)
{
	struct twheel_op op = { .op = TWHEEL_OP_ARM, .id = random_time(63) };
	struct known *timer = timer_find(0);
	uint64_t deadline = random_deadline(&op);

	op.cookie = ++oracle.cookies;
	op.period_ns = one_in(3) ? random_time(62) : 0;
	op.slack_ns = one_in(3) ? random_time(one_in(9) ? 63 : 40) : 0;
	if (!timer) {
		CHECK_ERR(dev_op(oracle.fd, &op), ENOSPC);
		return;
	}
	NEED(dev_op(oracle.fd, &op) == 0);
	NEED(op.id && !timer_find(op.id));
	NEED(op.deadline_ns == deadline);
	*timer = (struct known) {
		.id = op.id, .cookie = op.cookie, .deadline = deadline, .armed = now_ticks(),
		.period = op.period_ns, .slack = op.slack_ns,
	};
	oracle.count++;
}

static void random_modify(void)
{
	struct twheel_op op = { .op = TWHEEL_OP_MODIFY };
	struct known *timer = random_timer();
	uint64_t deadline;

	if (!timer)
		return;
	op.id = timer->id;
	op.flags = one_in(2) ? TWHEEL_LATER : 0;
	deadline = random_deadline(&op);
	if (op.flags & TWHEEL_LATER && deadline <= timer->deadline) {
		NEED(dev_op(oracle.fd, &op) == 0);
	} else {
		NEED(dev_op(oracle.fd, &op) == 1);
		timer->deadline = deadline;
		timer->modified = true;
		timer->armed = now_ticks();
	}
	NEED(op.deadline_ns == timer->deadline);
}

static void random_cancel(void)
{
	struct known *timer = random_timer();
	uint64_t id = timer ? timer->id : 1;

	if (timer) {
		NEED(dev_cancel(oracle.fd, id) == 1);
		timer->id = 0;
		oracle.count--;
	}
	CHECK_ERR(dev_cancel(oracle.fd, id), ENOENT);
}

static void random_query(void)
{
	struct known *timer = random_timer();
	uint64_t deadline;
	int due;

	if (!timer)
		return;
	due = dev_query(oracle.fd, timer->id, &deadline);
	NEED(deadline == timer->deadline);
	NEED(due <= (now_ticks() >= due_from(timer)));
	NEED(due >= (now_ticks() >= due_to(timer)));
}

static void all_cancelled(void)
{
	unsigned int i;

	NEED(dev_cancel_all(oracle.fd) == (int)oracle.count);
	for (i = 0; i < MOST; i++)
		oracle.timers[i].id = 0;
	oracle.count = 0;
}

/* Mostly to about a deadline that there is, and rarely far. */
static void random_advance(void)
{
	struct known *timer = one_in(3) ? NULL : random_timer();
	uint64_t to = time_sum(oracle.now, random_time(one_in(50) ? 56 : 40));

	if (timer && timer->deadline < to + oracle.tick_ns) {
		to = timer->deadline + roll(&oracle.seed) % 3 - 1;
		if (one_in(2))
			to = due_from(timer) * oracle.tick_ns + roll(&oracle.seed) % 3 - 1;
	}
	if (to > TWHEEL_NEVER_NS)
		return;
	if (to < oracle.now) {
		struct twheel_op op = {
			.op = TWHEEL_OP_ADVANCE, .flags = TWHEEL_ABS, .time_ns = to,
		};

		CHECK_ERR(dev_op(oracle.fd, &op), ERANGE);
		return;
	}
	clock_set(oracle.fd, to);
	oracle.now = to;
}

static void event_check(const struct twheel_event *event)
{
	struct known *timer = timer_find(event->id);
	uint64_t count = 1, next = TWHEEL_NEVER_NS;

	NEED(event->id && timer && now_ticks() >= due_from(timer));
	NEED(event->cookie == timer->cookie);
	NEED(event->deadline_ns == timer->deadline);
	NEED(event->now_ns == oracle.now);
	NEED(event->type == TWHEEL_EVENT_TIMER);
	if (timer->period) {
		/* Each counts from its tick on. */
		count += (now_ticks() * oracle.tick_ns - timer->deadline) / timer->period;
		next = time_sum(timer->deadline + (count - 1) * timer->period, timer->period);
	}
	NEED(event->count == count);
	NEED(event->flags == (next == TWHEEL_NEVER_NS ? TWHEEL_EVENT_LAST : 0));
	timer->deadline = next;
	timer->modified = false;
	timer->armed = now_ticks();
	if (next == TWHEEL_NEVER_NS) {
		timer->id = 0;
		oracle.count--;
	}
}

/* How many have to be due, and how many may be; and the first of the former, in the order. */
static unsigned int due_count(unsigned int *most, uint64_t *first)
{
	unsigned int least = 0, i;

	*most = 0;
	*first = ~0ULL;
	for (i = 0; i < MOST; i++) {
		struct known *timer = &oracle.timers[i];

		if (!timer->id)
			continue;
		*most += now_ticks() >= due_from(timer);
		if (now_ticks() < due_to(timer))
			continue;
		least++;
		if (has_order(timer) && due_to(timer) < *first)
			*first = due_to(timer);
	}
	return least;
}

static void random_read(void)
{
	struct twheel_event events[MOST];
	unsigned int room = one_in(2) ? MOST : 1 + roll(&oracle.seed) % 8;
	uint64_t last = 0, first;
	unsigned int least, most, n, i;
	ssize_t bytes;

	least = due_count(&most, &first);
	if (least == most)
		NEED(dev_readable(oracle.fd, 0) == !!least);
	bytes = read(oracle.fd, events, room * sizeof(*events));
	n = bytes < 0 ? 0 : bytes / sizeof(*events);
	NEED(n ? bytes % sizeof(*events) == 0 : errno == EAGAIN);
	NEED(n >= (least < room ? least : room) && n <= most);
	for (i = 0; i < n; i++) {
		struct known *timer = timer_find(events[i].id);

		NEED(timer);
		if (!has_order(timer))
			continue;
		NEED(last <= due_to(timer));
		if (due_from(timer) > last)
			last = due_from(timer);
	}
	for (i = 0; i < n; i++)
		event_check(&events[i]);
	/* What is left comes after. */
	due_count(&most, &first);
	NEED(last <= first);
	if (n < room)
		NEED(least <= n && !dev_readable(oracle.fd, 0));
}

static void program_step(void)
{
	switch (roll(&oracle.seed) % 16) {
	case 0 ... 4:
		random_arm();
		break;
	case 5 ... 7:
		random_modify();
		break;
	case 8:
		random_cancel();
		break;
	case 9:
		random_query();
		break;
	case 10 ... 12:
		random_advance();
		break;
	case 13 ... 14:
		random_read();
		break;
	default:
		NEED(dev_info(oracle.fd).now_ns == oracle.now);
		NEED(dev_info(oracle.fd).timers == oracle.count);
		if (one_in(20))
			all_cancelled();
	}
}

#define PROGRAMS	40
#define STEPS		3000

static unsigned int program, step;

static void failure_tell(void)
{
	if (tap_failed())
		printf("# in program %u, step %u, at %llu\n", program, step,
		       (unsigned long long)oracle.now);
}

TEST(programs_as_the_oracle_says)
{
	static const uint64_t ticks[] = { 10 * US, 1 * MS, 999983, 1 << 20 };

	tap_at_end(failure_tell);
	for (program = 0; program < PROGRAMS; program++) {
		oracle = (struct oracle) {
			.seed = program * 7919 + 1, .tick_ns = ticks[program % SIZE_OF(ticks)],
		};
		oracle.fd = wheel_open(oracle.tick_ns, MOST);
		for (step = 0; step < STEPS; step++) {
			program_step();
			if (tap_failed())
				tap_abort();
		}
		close(oracle.fd);
	}
}

/* In real time: never early. */
TEST(by_the_real_clock)
{
	struct twheel_setup setup = { .tick_ns = 100 * US };
	int fd = dev_open_setup(&setup), left = 2000, i;
	struct twheel_event event;
	uint32_t seed = 5;

	for (i = 0; i < left; i++)
		dev_arm(fd, roll(&seed) % S, i);
	for (; left; left--) {
		event = dev_read(fd);
		NEED(event.now_ns >= event.deadline_ns);
		NEED(event.now_ns <= dev_now(CLOCK_MONOTONIC));
		/* The boundary of its tick has passed, too. */
		NEED(event.now_ns / setup.tick_ns * setup.tick_ns >= event.deadline_ns);
	}
	dev_silent(fd);
}
