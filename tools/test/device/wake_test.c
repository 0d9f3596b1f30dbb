// SPDX-License-Identifier: GPL-2.0-only
/*
 * Waiting for a file, while other threads change what is waited for, and beside others who wait:
 * no wake-up is lost, in whatever way a program waits. A lost one lets the test hang. Signals:
 * read_test.c, and "make interleave".
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <unistd.h>

#include "lib/device.h"
#include "lib/dice.h"
#include "lib/tap.h"

/* The cookies of timers that are in the way, and of the one that ends a waiter. */
#define NOISE	(~0ULL - 1)
#define END	(~0ULL)

enum way { POLL, SELECT, LEVEL, EDGE, EXCLUSIVE, ONE_SHOT, READ, WAYS };

/* Threads that wait for a file in one way, and take what they are told of. */
struct waiters {
	enum way way;
	int fd;
	int epoll;		/* one for all; exclusive: each its own */
	int count;
	pthread_t threads[2];
	atomic_ullong taken;	/* the cookie of the last event that is no noise */
};

static const uint32_t masks[WAYS] = {
	[LEVEL] = EPOLLIN, [EDGE] = EPOLLIN | EPOLLET, [ONE_SHOT] = EPOLLIN | EPOLLONESHOT,
	[EXCLUSIVE] = EPOLLIN | EPOLLEXCLUSIVE,
};

static void select_wait(int fd)
{
	fd_set set;

	FD_ZERO(&set);
	FD_SET(fd, &set);
	CHECK_EQ(select(fd + 1, &set, NULL, NULL, NULL), 1);
}

static void epoll_until_ready(int epoll)
{
	struct epoll_event event;

	CHECK_EQ(epoll_wait(epoll, &event, 1, -1), 1);
	CHECK_EQ(event.events, EPOLLIN);
}

/* Wait until something is said to be due. A read() waits by itself. */
static void way_wait(const struct waiters *w, int epoll)
{
	struct epoll_event again = { .events = masks[ONE_SHOT] };

	switch (w->way) {
	case POLL:
		CHECK_EQ(dev_readable(w->fd, -1), 1);
		break;
	case SELECT:
		select_wait(w->fd);
		break;
	case ONE_SHOT:
		NEED(epoll_ctl(epoll, EPOLL_CTL_MOD, w->fd, &again) == 0);
		epoll_until_ready(epoll);
		break;
	case READ:
		break;
	default:
		epoll_until_ready(epoll);
	}
}

/* Returns false when the waiters have to end. */
static bool way_take(struct waiters *w)
{
	struct twheel_event events[4];
	int n, i;

	do {
		n = events_read(w->fd, events, 4);
		if (n < 0)
			NEED(errno == EAGAIN && w->way != READ);
		for (i = 0; i < n; i++) {
			CHECK(events[i].now_ns >= events[i].deadline_ns);
			if (events[i].cookie == END)
				return false;
			if (events[i].cookie != NOISE)
				w->taken = events[i].cookie;
		}
	} while (n >= 0 && w->way != READ);
	return true;
}

static void *waiter_run(void *arg)
{
	struct waiters *w = arg;
	int epoll = w->way == EXCLUSIVE ? dev_epoll(w->fd, masks[w->way]) : w->epoll;

	do {
		way_wait(w, epoll);
	} while (way_take(w));
	/* The next one ends as well. */
	dev_arm_at(w->fd, 0, END);
	return NULL;
}

static void waiters_start(struct waiters *w, enum way how, int fd)
{
	int i;

	*w = (struct waiters) { .way = how, .fd = fd };
	w->count = how == EXCLUSIVE || how == READ ? 2 : 1;
	NEED(fcntl(fd, F_SETFL, how == READ ? 0 : O_NONBLOCK) == 0);
	if (masks[how] && how != EXCLUSIVE)
		w->epoll = dev_epoll(fd, masks[how]);
	for (i = 0; i < w->count; i++)
		NEED(!pthread_create(&w->threads[i], NULL, waiter_run, w));
}

/* On a virtual clock, something that is due in the past needs no time. */
static void waiters_end(struct waiters *w)
{
	int i;

	dev_arm_at(w->fd, 0, END);
	for (i = 0; i < w->count; i++)
		pthread_join(w->threads[i], NULL);
	if (w->epoll)
		close(w->epoll);
	close(w->fd);
}

static void waiters_expect(struct waiters *w, uint64_t cookie)
{
	while (w->taken != cookie)
		sched_yield();
}

static void spin(uint32_t most, uint32_t *seed)
{
	uint32_t i;

	for (i = roll(seed) % most; i; i--)
		__asm__ volatile("");
}

/* Something else with the timer that waiters have been, or will be, told of. */
static void noise_change(int fd, uint64_t id, uint32_t *seed)
{
	switch (roll(seed) % 6) {
	case 0:
	case 1:
		dev_cancel(fd, id);
		break;
	case 2:
		dev_modify(fd, id, 0, HOUR);
		break;
	case 3:
		dev_modify(fd, id, 0, roll(seed) % MS);
		break;
	case 4:
		dev_modify(fd, id, TWHEEL_LATER, roll(seed) % (4 * MS));
		break;
	}
}

/* Arm what is waited for: for the past, for soon, or for a time that becomes soon. */
static void awaited_arm(int fd, uint64_t round, uint64_t soon)
{
	uint64_t id;

	switch (round % 4) {
	case 0:
		dev_arm_at(fd, 1, round);
		break;
	case 1:
		id = dev_arm(fd, HOUR, round);
		CHECK_EQ(dev_modify(fd, id, 0, soon), 1);
		break;
	default:
		dev_arm(fd, soon, round);
	}
}

/*
 * One timer is waited for. Others, which come before or after it, are cancelled or moved about
 * the time at which they expire.
 */
static void told_of_another(bool virtual)
{
	enum { ROUNDS = 150, CHANGES = 4 };
	uint32_t seed = 5, i;
	struct waiters w;
	uint64_t round;
	enum way way;

	for (way = 0; way < WAYS; way++) {
		waiters_start(&w, way, virtual ? dev_open_virtual() : dev_open());
		/* They wait before the file has its wheel. */
		usleep(2000);
		if (!virtual)
			NEED(events_setup(w.fd, (struct twheel_setup) { }) == 0);
		for (round = 1; round <= ROUNDS; round++) {
			uint64_t near = roll(&seed) % (2 * MS);
			uint64_t ids[2] = { dev_arm(w.fd, near, NOISE) };

			awaited_arm(w.fd, round, near + roll(&seed) % MS);
			ids[1] = dev_arm(w.fd, roll(&seed) % (4 * MS), NOISE);
			for (i = 0; i < CHANGES; i++) {
				spin(40000, &seed);
				if (virtual)
					dev_advance(w.fd, roll(&seed) % MS);
				noise_change(w.fd, ids[i % 2], &seed);
			}
			/* It is due at the latest now, and the clock stands still after that. */
			if (virtual)
				dev_advance(w.fd, 4 * MS);
			waiters_expect(&w, round);
			dev_cancel(w.fd, ids[0]);
			dev_cancel(w.fd, ids[1]);
		}
		waiters_end(&w);
	}
}

TEST(told_of_another_that_moves)
{
	told_of_another(false);
}

TEST(the_same_in_virtual_time)
{
	told_of_another(true);
}

static atomic_int begun;

static void *read_one(void *arg)
{
	struct twheel_event event;

	begun++;
	CHECK_EQ(events_read(*(int *)arg, &event, 1), 1);
	return (void *)(uintptr_t)event.cookie;
}

/* Timers that become due at once wake one reader, which wakes the next, and so on. */
TEST(a_reader_wakes_the_next)
{
	enum { READERS = 6 };
	pthread_t readers[READERS];
	int fd, round, i;
	unsigned int seen;
	void *cookie;

	for (round = 0; round < 20; round++) {
		fd = dev_open_blocking(TWHEEL_VIRTUAL);
		begun = 0;
		for (i = 0; i < READERS; i++)
			NEED(!pthread_create(&readers[i], NULL, read_one, &fd));
		/* At times they sleep already, at times not. */
		while (begun < READERS)
			usleep(round * 500);
		for (i = 0; i < READERS; i++)
			dev_arm(fd, MS, i);
		dev_advance(fd, MS);
		for (i = seen = 0; i < READERS; i++) {
			NEED(!pthread_join(readers[i], &cookie));
			seen |= 1U << (uintptr_t)cookie;
		}
		CHECK_EQ(seen, (1U << READERS) - 1);
		CHECK_EQ(dev_info(fd).timers, 0);
		close(fd);
	}
}

static void *read_without_room(void *arg)
{
	struct twheel_event event;

	begun++;
	CHECK_ERR(events_read(*(int *)arg, &event, 1), EINVAL);
	return NULL;
}

static void *read_with_room(void *arg)
{
	char record[TWHEEL_EVENT_SIZE_MAX];

	begun++;
	CHECK_EQ(read(*(int *)arg, record, sizeof(record)), TWHEEL_EVENT_SIZE_MAX);
	return NULL;
}

/* Records have grown while two readers waited. The one that is woken has no room for any. */
TEST(a_reader_without_room_wakes_the_next)
{
	const struct twheel_setup setup = {
		.clock = TWHEEL_VIRTUAL, .event_size = TWHEEL_EVENT_SIZE_MAX,
	};
	pthread_t without, with;
	int fd = dev_open();

	NEED(!pthread_create(&without, NULL, read_without_room, &fd));
	while (begun < 1)
		usleep(20000);
	NEED(!pthread_create(&with, NULL, read_with_room, &fd));
	while (begun < 2)
		usleep(20000);
	NEED(events_setup(fd, setup) == 0);
	dev_arm(fd, MS, 0);
	dev_advance(fd, MS);
	pthread_join(with, NULL);
	/* The other one may not have slept yet: it finds the next one, if there is one. */
	dev_arm(fd, MS, 0);
	dev_advance(fd, MS);
	pthread_join(without, NULL);
	CHECK_EQ(dev_info(fd).timers, 1);
}

/** struct front - a watcher that waits before all others, and reads nothing */
struct front {
	int fd;
	uint32_t events;
	bool dies;	/* once it was told; else it does nothing any more */
	atomic_uint told;
};

static void *front_run(void *arg)
{
	struct front *front = arg;
	int epoll = dev_epoll(front->fd, front->events);

	NEED(epoll_wait(epoll, &(struct epoll_event) { }, 1, -1) == 1);
	front->told++;
	if (front->dies)
		close(epoll);
	else
		pause();
	return NULL;
}

/* It ends with the test. It waits, or is about to. */
static void front_start(struct front *front)
{
	pthread_t thread;

	NEED(!pthread_create(&thread, NULL, front_run, front));
	usleep(20000);
}

/* Have a timer expire. */
static void expire(int fd, bool virtual, uint64_t cookie)
{
	dev_arm(fd, MS, cookie);
	if (virtual)
		dev_advance(fd, MS);
}

/* One that does nothing when it is told, is gone then, or is never told. Others have the events. */
TEST(who_is_in_front_silences_nobody)
{
	static const struct {
		uint32_t events;
		bool dies;
		bool virtual;
		enum way behind;
	} rows[] = {
		{ EPOLLIN, false, false, LEVEL },
		{ EPOLLIN, false, true, READ },
		{ EPOLLIN | EPOLLEXCLUSIVE, false, false, EXCLUSIVE },
		{ EPOLLIN | EPOLLEXCLUSIVE, false, true, EXCLUSIVE },
		{ EPOLLIN | EPOLLEXCLUSIVE, false, false, READ },
		{ EPOLLIN | EPOLLEXCLUSIVE, false, true, READ },
		{ EPOLLIN | EPOLLEXCLUSIVE, true, false, EXCLUSIVE },
		{ EPOLLIN | EPOLLEXCLUSIVE | EPOLLET, false, false, EDGE },
		{ EPOLLOUT | EPOLLEXCLUSIVE, false, false, EXCLUSIVE },
		{ EPOLLOUT | EPOLLEXCLUSIVE, false, false, READ },
		{ EPOLLOUT | EPOLLEXCLUSIVE, false, true, EXCLUSIVE },
		{ EPOLLOUT | EPOLLEXCLUSIVE, false, true, READ },
	};
	static struct front fronts[SIZE_OF(rows)];
	enum { EVENTS = 10 };
	unsigned int i, n;

	for (i = 0; i < SIZE_OF(rows); i++) {
		int fd = rows[i].virtual ? dev_open_virtual() : dev_open_clock(TWHEEL_MONOTONIC);
		struct front *front = &fronts[i];
		struct waiters w;

		*front = (struct front) {
			.fd = fd, .events = rows[i].events, .dies = rows[i].dies,
		};
		front_start(front);
		waiters_start(&w, rows[i].behind, fd);
		usleep(20000);
		for (n = 1; n <= EVENTS; n++) {
			expire(fd, rows[i].virtual, n);
			waiters_expect(&w, n);
		}
		if (rows[i].events & EPOLLOUT) {
			CHECK_EQ(front->told, 0);
			/* One of each timer's, and one if who was told takes long. */
			CHECK(dev_stat(fd, "alarms") <= (rows[i].virtual ? 1 : 2) * EVENTS);
		}
		waiters_end(&w);
	}
}

/* Epoll asks again when it is told that another event is wanted, unless it is exclusive. */
TEST(what_is_wanted_may_change)
{
	struct epoll_event event = { .events = EPOLLIN };
	int fd = dev_open_virtual(), epoll = dev_epoll(fd, EPOLLOUT);

	NEED(epoll_ctl(epoll, EPOLL_CTL_MOD, fd, &event) == 0);
	CHECK_EQ(epoll_wait(epoll, &event, 1, 0), 0);
	expire(fd, true, 1);
	CHECK_EQ(epoll_wait(epoll, &event, 1, -1), 1);
}

/* Whoever sleeps is told. If nobody searches after that, nothing is told again. */
TEST(a_program_that_does_nothing_costs_two_alarms)
{
	enum { WATCHERS = 4 };
	int fd = dev_open_clock(TWHEEL_MONOTONIC), i;
	struct front idle[WATCHERS];
	uint64_t alarms;

	for (i = 0; i < WATCHERS; i++) {
		idle[i] = (struct front) { .fd = fd, .events = EPOLLIN | EPOLLEXCLUSIVE };
		front_start(&idle[i]);
	}
	expire(fd, false, 1);
	for (i = 0; i < WATCHERS; i++)
		while (!idle[i].told)
			usleep(1000);
	usleep(200000);
	alarms = dev_stat(fd, "alarms");
	CHECK(alarms == 1 || alarms == 2);
	/* More timers tell nothing new. */
	for (i = 0; i < 100; i++)
		dev_arm_at(fd, 1, 0);
	usleep(200000);
	CHECK_EQ(dev_stat(fd, "alarms"), alarms);
}

/* Who does not read costs one alarm, however many timers and periods there are. */
TEST(a_stopped_program_costs_one_alarm)
{
	struct twheel_op op = { .time_ns = MS, .period_ns = MS };
	int fd = dev_open_flags(O_NONBLOCK), epoll = dev_epoll(fd, EPOLLIN), i;
	uint64_t alarms;

	for (i = 0; i < 20; i++) {
		op.time_ns = (i + 1) * MS;
		dev_arm_op(fd, &op);
	}
	while (!dev_stat(fd, "alarms"))
		usleep(1000);
	alarms = dev_stat(fd, "alarms");
	usleep(100000);
	CHECK_EQ(dev_stat(fd, "alarms"), alarms);
	epoll_until_ready(epoll);
	CHECK_EQ(dev_cancel_all(fd), 20);
	/* Nor does one that has nothing to wait for. */
	usleep(50000);
	alarms = dev_stat(fd, "alarms");
	usleep(50000);
	CHECK_EQ(dev_stat(fd, "alarms"), alarms);
}
