// SPDX-License-Identifier: GPL-2.0-only
/*
 * Several readers of a file: each event goes to exactly one, and nobody sleeps beside one. Their
 * books are in stress_test.c.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <unistd.h>

#include "lib/device.h"
#include "lib/dice.h"
#include "lib/tap.h"

#define READERS	6

/* The cookie that tells a reader to end. */
#define END	(~0ULL)

static atomic_int begun, got;

static void *read_one(void *arg)
{
	struct twheel_event event;

	begun++;
	CHECK_EQ(events_read(*(int *)arg, &event, 1), 1);
	got++;
	return (void *)(uintptr_t)event.cookie;
}

/* Timers that become due at once wake one reader, which wakes the next, and so on. */
TEST(a_reader_wakes_the_next)
{
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

/* One event wakes one reader. */
TEST(the_others_go_on_waiting)
{
	pthread_t readers[READERS];
	int fd = dev_open_blocking(TWHEEL_VIRTUAL), i;

	for (i = 0; i < READERS; i++)
		NEED(!pthread_create(&readers[i], NULL, read_one, &fd));
	for (i = 0; i < READERS; i++) {
		dev_arm(fd, MS, i);
		dev_advance(fd, MS);
		while (got <= i)
			usleep(1000);
		usleep(5000);
		CHECK_EQ(got, i + 1);
	}
	for (i = 0; i < READERS; i++)
		pthread_join(readers[i], NULL);
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

/* Two readers: one that a signal interrupts, and one that goes on until the end. */
static struct {
	int fd;
	atomic_int rounds;	/* that the first one may begin */
	atomic_int waits;	/* the first one is about to wait */
	atomic_int ended;	/* rounds that it has ended */
	atomic_int events;
	atomic_bool over;
} pair;

static void interrupt(int number)
{
	(void)number;
}

static void *pair_interrupted(void *arg)
{
	struct twheel_event event;
	int round = 0;

	for (;;) {
		while (pair.rounds == round && !pair.over)
			sched_yield();
		if (pair.over)
			return arg;
		round++;
		pair.waits++;
		/* It does not read again before the other one has had its chance. */
		if (events_read(pair.fd, &event, 1) == 1)
			pair.events++;
		else
			NEED(errno == EINTR);
		pair.ended++;
	}
}

static void *pair_other(void *arg)
{
	struct twheel_event event;

	for (;;) {
		NEED(events_read(pair.fd, &event, 1) == 1);
		if (event.cookie == END)
			return arg;
		pair.events++;
	}
}

/* A reader that is woken and interrupted leaves the event to the other one. */
TEST(a_wake_up_is_passed_on)
{
	pthread_t interrupted, other;
	struct sigaction action = { .sa_handler = interrupt };
	uint32_t seed = 3;
	int round, spin;

	NEED(sigaction(SIGUSR1, &action, NULL) == 0);
	action.sa_flags = SA_RESTART;
	NEED(sigaction(SIGUSR2, &action, NULL) == 0);
	pair.fd = dev_open_blocking(TWHEEL_VIRTUAL);
	NEED(!pthread_create(&interrupted, NULL, pair_interrupted, NULL));
	NEED(!pthread_create(&other, NULL, pair_other, NULL));
	for (round = 1; round <= 200; round++) {
		dev_arm(pair.fd, MS, round);
		pair.rounds++;
		while (pair.waits < round)
			sched_yield();
		/* Let the other one queue up again, so that it is behind. */
		if (roll(&seed) % 2) {
			usleep(roll(&seed) % 1000);
			pthread_kill(other, SIGUSR2);
		}
		for (spin = roll(&seed) % 20000; spin; spin--)
			__asm__ volatile("");
		if (round % 2)
			pthread_kill(interrupted, SIGUSR1);
		dev_advance(pair.fd, MS);
		if (!(round % 2))
			pthread_kill(interrupted, SIGUSR1);
		while (pair.events < round)
			sched_yield();
		/* It may have had the signal before its read(). */
		while (pair.ended < round) {
			pthread_kill(interrupted, SIGUSR1);
			usleep(100);
		}
	}
	pair.over = true;
	pthread_join(interrupted, NULL);
	dev_arm(pair.fd, MS, END);
	dev_advance(pair.fd, MS);
	pthread_join(other, NULL);
	CHECK_EQ(pair.events, 200);
}
