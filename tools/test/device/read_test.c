// SPDX-License-Identifier: GPL-2.0-only
/* read(): records, and signals. Memory: read_memory_test.c. Several readers: wake_test.c. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "lib/device.h"
#include "lib/tap.h"

TEST(records_have_the_size)
{
	static const uint32_t sizes[] = { 0, 48, 56, 128, TWHEEL_EVENT_SIZE_MAX };
	char records[4 * TWHEEL_EVENT_SIZE_MAX];
	unsigned int i, j, k;

	for (i = 0; i < SIZE_OF(sizes); i++) {
		struct twheel_setup setup = {
			.clock = TWHEEL_VIRTUAL, .event_size = sizes[i],
		};
		uint32_t size = sizes[i] ?: TWHEEL_EVENT_SIZE_0;
		int fd = dev_open_flags(O_NONBLOCK);

		NEED(ioctl(fd, TWHEEL_IOC_SETUP, &setup) == 0);
		CHECK_EQ(dev_info(fd).event_size, size);
		for (j = 0; j < 5; j++)
			dev_arm(fd, j * MS, j);
		dev_advance(fd, S);
		CHECK_ERR(read(fd, records, size - 1), EINVAL);
		memset(records, 0xff, sizeof(records));
		/* There is no room for the fourth. */
		CHECK_EQ(read(fd, records, 4 * size - 1), 3 * size);
		for (j = 0; j < 3; j++) {
			struct twheel_event event;

			NEED(events_parse(&event, records + j * size, size));
			CHECK_EQ(event.cookie, j);
		}
		for (k = 3 * size; k < sizeof(records); k++)
			NEED(records[k] == (char)0xff);
		CHECK_EQ(read(fd, records, sizeof(records)), 2 * size);
		CHECK_ERR(read(fd, records, sizeof(records)), EAGAIN);
	}
}

TEST(does_not_wait_if_told_so)
{
	int fd = dev_open_virtual();
	struct twheel_event event;
	struct iovec vec = { &event, sizeof(event) };

	CHECK_ERR(events_read(fd, &event, 1), EAGAIN);
	dev_arm(fd, MS, 7);
	CHECK_ERR(events_read(fd, &event, 1), EAGAIN);
	NEED(fcntl(fd, F_SETFL, 0) == 0);
	CHECK_ERR(preadv2(fd, &vec, 1, -1, RWF_NOWAIT), EAGAIN);
	dev_advance(fd, MS);
	CHECK_EQ(preadv2(fd, &vec, 1, -1, RWF_NOWAIT), sizeof(event));
	CHECK_EQ(event.cookie, 7);
	CHECK_ERR(preadv2(fd, &vec, 1, -1, RWF_NOWAIT), EAGAIN);
	/* A buffer that is too small is told before it would wait. */
	CHECK_ERR(read(fd, &event, sizeof(event) - 1), EINVAL);
}

/* A thread that takes one event and ends. @ret is what events_read() returned; 2: it has not. */
static struct {
	int fd;
	atomic_int ret;
	int error;
	struct twheel_event event;
} reader;

static atomic_int signals;

static void count_signal(int number)
{
	(void)number;
	signals++;
}

static void *reader_run(void *arg)
{
	int ret = events_read(reader.fd, &reader.event, 1);

	reader.error = errno;
	reader.ret = ret;
	return arg;
}

/* Start it, with a handler of signals. */
static pthread_t reader_start(int flags)
{
	struct sigaction action = { .sa_handler = count_signal, .sa_flags = flags };
	pthread_t thread;

	NEED(sigaction(SIGUSR1, &action, NULL) == 0);
	reader.ret = 2;
	NEED(!pthread_create(&thread, NULL, reader_run, NULL));
	return thread;
}

/* Send signals until the reader returns. */
static void reader_disturb(pthread_t thread)
{
	while (reader.ret == 2) {
		pthread_kill(thread, SIGUSR1);
		usleep(100);
	}
	NEED(!pthread_join(thread, NULL));
}

TEST(signals_interrupt)
{
	pthread_t thread;

	reader.fd = dev_open_blocking(TWHEEL_VIRTUAL);
	reader_disturb(reader_start(0));
	CHECK_EQ(reader.ret, -1);
	CHECK_EQ(reader.error, EINTR);

	thread = reader_start(SA_RESTART);
	dev_arm(reader.fd, MS, 4);
	for (signals = 0; signals < 5; usleep(1000))
		pthread_kill(thread, SIGUSR1);
	CHECK_EQ(reader.ret, 2);
	dev_advance(reader.fd, MS);
	NEED(!pthread_join(thread, NULL));
	CHECK_EQ(reader.ret, 1);
	CHECK_EQ(reader.event.cookie, 4);
}

/* io_uring's work for a task looks like a signal, too. Here the search takes many slices. */
TEST(signals_do_not_fail_what_does_not_wait)
{
	enum { MANY = 100000 };

	/* On a busy machine the search may be over before there is a signal. */
	for (signals = 0; !signals; close(reader.fd)) {
		reader.fd = dev_open_virtual();
		NEED(dev_arm_many(reader.fd, MANY, 600 * S) == MANY);
		/* All of them go to lower levels, and none is due. */
		dev_advance(reader.fd, 600 * S - MS);
		reader_disturb(reader_start(0));
		CHECK_EQ(reader.ret, -1);
		CHECK_EQ(reader.error, EAGAIN);
	}
}

/* A crowded bucket is emptied ahead of its time: an event that is there does not wait for it. */
TEST(events_do_not_wait_for_later_timers)
{
	enum { MANY = 50000 };
	struct twheel_event events[4];
	int fd = dev_open_virtual();

	/* Beyond level 0. The many are in the bucket after the other one's. */
	NEED(dev_arm_many(fd, MANY, 1950 * MS) == MANY);
	dev_arm(fd, 1800 * MS, 5);
	dev_advance(fd, 1800 * MS);
	CHECK_EQ(events_read(fd, events, 4), 1);
	CHECK_EQ(events[0].cookie, 5);
	CHECK(dev_stat(fd, "cascades") < MANY / 2);
	/* Who reads until nothing is due does the rest. */
	CHECK_ERR(events_read(fd, events, 4), EAGAIN);
	CHECK(dev_stat(fd, "cascades") >= MANY);
	dev_advance(fd, 150 * MS);
	CHECK_EQ(dev_read(fd).deadline_ns, 1950 * MS);
	CHECK_EQ(dev_cancel_all(fd), MANY - 1);
}

/* The same if the bucket has to be emptied first: perhaps something there is due. */
TEST(events_do_not_wait_for_a_long_search)
{
	enum { MANY = 50000 };
	struct twheel_event events[4];
	unsigned int room;

	for (room = 1; room <= 4; room += 3) {
		int fd = dev_open_virtual();

		/* Beyond level 0. The many are in a bucket that has begun, and not yet due. */
		NEED(dev_arm_many(fd, MANY, 2300 * MS) == MANY);
		dev_arm(fd, 1800 * MS, 5);
		dev_advance(fd, 2299 * MS);
		CHECK_EQ(events_read(fd, events, room), 1);
		CHECK_EQ(events[0].cookie, 5);
		CHECK(dev_stat(fd, "cascades") < MANY / 2);
		/* The work goes on. */
		CHECK_ERR(events_read(fd, events, 4), EAGAIN);
		dev_advance(fd, MS);
		CHECK_EQ(dev_read(fd).deadline_ns, 2300 * MS);
		CHECK_EQ(dev_cancel_all(fd), MANY - 1);
		NEED(!close(fd));
	}
}
