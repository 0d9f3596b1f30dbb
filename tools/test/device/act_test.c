// SPDX-License-Identifier: GPL-2.0-only
/* Files that act: what comes of a timer and of a cell. */
#define _GNU_SOURCE
#include <poll.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "lib/acts.h"
#include "lib/device.h"
#include "lib/mapped.h"
#include "lib/tap.h"

#define NUMBER	0x123456789abcdefULL

TEST(a_timer_acts)
{
	static const uint32_t clocks[] = { TWHEEL_MONOTONIC, TWHEEL_BOOTTIME, TWHEEL_REALTIME };
	unsigned int i;

	signals_hold();
	for (i = 0; i < SIZE_OF(clocks); i++) {
		int fd = act_open(clocks[i]);
		siginfo_t info;

		act_tell(fd, NUMBER, SIGUSR1);
		dev_arm_at(fd, dev_now(dev_clock(clocks[i])) + 5 * MS, NUMBER);
		info = signal_take(SIGUSR1);
		CHECK_EQ(info.si_code, SI_USER);
		CHECK_EQ(info.si_uid, getuid());
		act_wait(fd, 1);
		CHECK_EQ(dev_stat(fd, "acted"), 1);
		CHECK_EQ(dev_stat(fd, "fired"), 1);
		CHECK_EQ(dev_info(fd).timers, 0);
		close(fd);
	}
}

/* Only what expires acts, and for its own number. */
TEST(each_at_its_time)
{
	int fd = act_open(TWHEEL_VIRTUAL);
	uint64_t cancelled, later;

	signals_hold();
	act_tell(fd, 1, SIGUSR1);
	act_tell(fd, 2, SIGALRM);
	act_tell(fd, 0, DONE);
	cancelled = dev_arm(fd, S, 1);
	later = dev_arm(fd, S, 2);
	dev_arm(fd, S, 0);
	CHECK_EQ(dev_cancel(fd, cancelled), 1);
	CHECK_EQ(dev_modify(fd, later, 0, 2 * S), 1);
	dev_advance(fd, S - MS);
	CHECK_EQ(dev_stat(fd, "acted"), 0);
	dev_advance(fd, MS);
	signal_take(DONE);
	CHECK(!signal_came(SIGUSR1));
	CHECK(!signal_came(SIGALRM));
	dev_advance(fd, S);
	signal_take(SIGALRM);
	act_wait(fd, 2);
	CHECK(!signal_came(SIGUSR1));
	CHECK_EQ(dev_stat(fd, "failed"), 0);
}

TEST(a_cell_acts)
{
	struct mapped m = map_open(&(struct twheel_setup) {
		.clock = TWHEEL_VIRTUAL, .tick_ns = MS, .max_cells = 100,
		.flags = TWHEEL_SETUP_ACT,
	});
	uint64_t lease, cancelled;

	signals_hold();
	act_tell(m.fd, 77, SIGUSR1);
	act_tell(m.fd, 78, SIGALRM);
	act_tell(m.fd, 79, DONE);
	map_arm(&m, 77, map_now(&m) + 10, &lease);
	map_arm(&m, 78, map_now(&m) + 10, &cancelled);
	map_arm(&m, 79, map_now(&m) + 10, NULL);
	CHECK(map_extend(&m, lease, map_now(&m) + 20));
	CHECK(map_cancel(&m, cancelled));
	map_advance(&m, 10);
	signal_take(DONE);
	CHECK(!signal_came(SIGUSR1));
	map_advance(&m, 10);
	signal_take(SIGUSR1);
	CHECK_EQ(map_state(&m, 77), TWHEEL_CELL_FIRED);
	act_wait(m.fd, 2);
	CHECK(!signal_came(SIGALRM));
	/* It may be armed again. */
	map_arm(&m, 77, map_now(&m) + 1, NULL);
	map_advance(&m, 1);
	signal_take(SIGUSR1);
}

TEST(actions_change)
{
	int fd = act_open(TWHEEL_VIRTUAL);
	uint64_t before = dev_info(fd).file_memory, with;

	signals_hold();
	dev_arm(fd, MS, 5);
	before = dev_info(fd).file_memory;
	/* None was chosen: that is a failure, and seen. */
	dev_advance(fd, MS);
	act_wait(fd, 1);
	CHECK_EQ(dev_stat(fd, "failed"), 1);
	act_tell(fd, 5, SIGUSR1);
	with = dev_info(fd).file_memory;
	CHECK(with > before);
	act_tell(fd, 5, SIGALRM);
	CHECK_EQ(dev_info(fd).file_memory, with);
	dev_arm(fd, MS, 5);
	dev_advance(fd, MS);
	signal_take(SIGALRM);
	CHECK(!signal_came(SIGUSR1));
	CHECK_EQ(act_choose(fd, (struct twheel_act) { .number = 5 }), 0);
	CHECK_EQ(act_choose(fd, (struct twheel_act) { .number = 5 }), 0);
	CHECK_EQ(dev_info(fd).file_memory, before);
	dev_arm(fd, MS, 5);
	dev_advance(fd, MS);
	act_wait(fd, 3);
	CHECK_EQ(dev_stat(fd, "failed"), 2);
	CHECK(!signal_came(SIGALRM));
}

/* What is chosen for any number is for those without a choice of their own. */
TEST(any_number)
{
	int fd = act_open(TWHEEL_VIRTUAL);

	signals_hold();
	act_tell(fd, TWHEEL_ACT_ANY, SIGUSR1);
	act_tell(fd, 5, SIGALRM);
	dev_arm(fd, MS, NUMBER);
	dev_advance(fd, MS);
	signal_take(SIGUSR1);
	dev_arm(fd, MS, 5);
	dev_advance(fd, MS);
	signal_take(SIGALRM);
	CHECK(!signal_came(SIGUSR1));
	CHECK_EQ(act_choose(fd, (struct twheel_act) { .number = 5 }), 0);
	dev_arm(fd, MS, 5);
	dev_advance(fd, MS);
	signal_take(SIGUSR1);
	CHECK_EQ(act_choose(fd, (struct twheel_act) { .number = TWHEEL_ACT_ANY }), 0);
	dev_arm(fd, MS, 5);
	dev_advance(fd, MS);
	act_wait(fd, 4);
	CHECK_EQ(dev_stat(fd, "failed"), 1);
}

/* There are no events. A program that waits for some by mistake is told. */
TEST(has_no_events)
{
	int fd = act_open(TWHEEL_VIRTUAL);
	struct pollfd poll_in = { .fd = fd, .events = POLLIN };
	struct twheel_event event;

	signals_hold();
	CHECK_ERR(read(fd, &event, sizeof(event)), EINVAL);
	CHECK_EQ(poll(&poll_in, 1, -1), 1);
	CHECK_EQ(poll_in.revents, POLLERR);
	act_tell(fd, 1, DONE);
	dev_arm(fd, MS, 1);
	dev_advance(fd, MS);
	CHECK_ERR(read(fd, &event, sizeof(event)), EINVAL);
	signal_take(DONE);
}

static void *reader_waits(void *fd)
{
	struct twheel_event event;

	return (void *)(long)(read(*(int *)fd, &event, sizeof(event)) < 0 ? errno : 0);
}

/* A reader that has waited since before the setup gets no events. */
TEST(a_reader_was_there_before)
{
	struct twheel_setup setup = { .flags = TWHEEL_SETUP_ACT };
	enum { READERS = 4, TIMERS = 100 };
	int fd = dev_open_flags(0);
	pthread_t readers[READERS];
	unsigned int i;
	void *error;

	signals_hold();
	for (i = 0; i < READERS; i++)
		NEED(pthread_create(&readers[i], NULL, reader_waits, &fd) == 0);
	usleep(50000);
	NEED(ioctl(fd, TWHEEL_IOC_SETUP, &setup) == 0);
	act_tell(fd, 1, DONE);
	for (i = 1; i <= TIMERS; i++) {
		dev_arm(fd, 0, 1);
		act_wait(fd, i);
	}
	CHECK_EQ(dev_stat(fd, "acted"), TIMERS);
	for (i = 0; i < READERS; i++) {
		NEED(pthread_join(readers[i], &error) == 0);
		CHECK_EQ((long)error, EINVAL);
	}
}

static void *poll_waits(void *fd)
{
	struct pollfd poll_in = { .fd = *(int *)fd, .events = POLLIN };

	return (void *)(long)(poll(&poll_in, 1, -1) == 1 ? poll_in.revents : 0);
}

/* The setup itself tells those that wait: no timer has to come. */
TEST(waits_end_with_the_setup)
{
	struct twheel_setup setup = { .flags = TWHEEL_SETUP_ACT };
	enum { EACH = 3 };
	int fd = dev_open_flags(0);
	pthread_t threads[2 * EACH];
	unsigned int i;
	void *result;

	for (i = 0; i < 2 * EACH; i++)
		NEED(pthread_create(&threads[i], NULL, i < EACH ? reader_waits : poll_waits,
				    &fd) == 0);
	usleep(50000);
	NEED(ioctl(fd, TWHEEL_IOC_SETUP, &setup) == 0);
	for (i = 0; i < 2 * EACH; i++) {
		NEED(pthread_join(threads[i], &result) == 0);
		CHECK_EQ((long)result, i < EACH ? EINVAL : POLLERR);
	}
}

TEST(an_eventfd)
{
	int fd = act_open(TWHEEL_VIRTUAL), event = eventfd(0, 0), other;
	struct twheel_act act = { .number = 1, .action = act_of(TWHEEL_ACT_EVENTFD, event) };
	uint64_t value = 0;

	NEED(event >= 0);
	NEED(act_choose(fd, act) == 0);
	dev_arm(fd, MS, 1);
	dev_arm(fd, MS, 1);
	dev_advance(fd, MS);
	act_wait(fd, 2);
	NEED(read(event, &value, sizeof(value)) == sizeof(value));
	CHECK_EQ(value, 2);
	/* It needs no descriptor any more. */
	other = dup(event);
	close(event);
	dev_arm(fd, MS, 1);
	close(fd);
	NEED(read(other, &value, sizeof(value)) == sizeof(value));
	CHECK_EQ(value, 1);
}

/* Leases that run out in one tick, as all do after a pause of the machine: each acts. */
TEST(a_hundred_thousand_at_once)
{
	const unsigned int count = 100000;
	int fd = act_open(TWHEEL_VIRTUAL), event = eventfd(0, EFD_NONBLOCK);
	struct twheel_act act = {
		.number = TWHEEL_ACT_ANY, .action = act_of(TWHEEL_ACT_EVENTFD, event),
	};
	uint64_t value = 0;
	unsigned int i;

	signals_hold();
	NEED(act_choose(fd, act) == 0);
	/* Of these, some have an action of their own. */
	for (i = 0; i < 100; i++)
		act_tell(fd, i * 7919ULL, i ? SIGUSR1 : SIGALRM);
	CHECK_EQ(dev_arm_many(fd, count, S), count);
	dev_advance(fd, S);
	act_wait(fd, count);
	CHECK_EQ(dev_stat(fd, "acted"), count);
	/* Of 7919 times 0 to 99, these are below 100000. */
	NEED(read(event, &value, sizeof(value)) == sizeof(value));
	CHECK_EQ(value, count - 13);
	CHECK(signal_came(SIGUSR1));
	CHECK(signal_came(SIGALRM));
}

/* The same of cells, which come in by sweeps, and are held again and again. */
TEST(ten_thousand_cells_at_once)
{
	const uint32_t count = 10000;
	struct mapped m = map_open(&(struct twheel_setup) {
		.clock = TWHEEL_VIRTUAL, .tick_ns = MS, .max_cells = count,
		.flags = TWHEEL_SETUP_ACT,
	});
	int event = eventfd(0, EFD_NONBLOCK);
	struct twheel_act act = {
		.number = TWHEEL_ACT_ANY, .action = act_of(TWHEEL_ACT_EVENTFD, event),
		.most_ns = S,
	};
	uint64_t value = 0, end;
	uint32_t i;

	NEED(act_choose(m.fd, act) == 0);
	end = map_now(&m) + 10;
	for (i = 0; i < count; i++)
		map_arm(&m, i, end, NULL);
	map_advance(&m, 10);
	act_wait(m.fd, count);
	NEED(read(event, &value, sizeof(value)) == sizeof(value));
	CHECK_EQ(value, count);
	CHECK_EQ(dev_stat(m.fd, "failed"), 0);
}

TEST(two_stages)
{
	int fd = act_open(TWHEEL_VIRTUAL);
	struct twheel_act act = act_signal(1, getpid(), SIGUSR1), less[2] = { act, act }, other;
	unsigned int i;

	signals_hold();
	act.then = act_signal(1, getpid(), DONE).action;
	act.after_ns = S;
	other = act;
	less[0] = (struct twheel_act) { .number = 1 };
	NEED(act_choose(fd, act) == 0);
	act_tell(fd, 2, SIGALRM);
	dev_arm(fd, MS, 1);
	dev_arm(fd, S, 2);
	dev_advance(fd, MS);
	signal_take(SIGUSR1);
	dev_advance(fd, S - MS);
	signal_take(SIGALRM);
	act_wait(fd, 2);
	CHECK(!signal_came(DONE));
	/* No operation ends it. */
	CHECK_EQ(dev_cancel_all(fd), 0);
	CHECK_EQ(dev_cancel(fd, 0), -1);
	dev_advance(fd, MS);
	signal_take(DONE);
	act_wait(fd, 3);
	CHECK_EQ(dev_info(fd).timers, 0);
	/* Once more, and the second one is taken back: nothing is chosen, or nothing after it. */
	for (i = 0; i < SIZE_OF(less); i++) {
		dev_arm(fd, MS, 1);
		dev_advance(fd, MS);
		signal_take(SIGUSR1);
		NEED(act_choose(fd, less[i]) == 0);
		NEED(act_choose(fd, act) == 0);
		dev_arm(fd, 2 * S, 2);
		dev_advance(fd, 2 * S);
		signal_take(SIGALRM);
		act_wait(fd, 5 + 2 * i);
		CHECK(!signal_came(DONE));
	}
	/* Another one comes in its place, when it would have come. */
	dev_arm(fd, MS, 1);
	dev_advance(fd, MS);
	signal_take(SIGUSR1);
	dev_advance(fd, S / 2);
	other.then.signal = SIGUSR2;
	other.after_ns = HOUR;
	NEED(act_choose(fd, other) == 0);
	dev_advance(fd, S / 2 - MS);
	CHECK(!signal_came(SIGUSR2));
	dev_advance(fd, MS);
	signal_take(SIGUSR2);
	NEED(act_choose(fd, act) == 0);
	/* It comes once for firsts that come before it, after the earliest. */
	dev_arm(fd, MS, 1);
	dev_arm(fd, S, 1);
	dev_advance(fd, MS);
	signal_take(SIGUSR1);
	dev_advance(fd, S - MS);
	signal_take(SIGUSR1);
	dev_advance(fd, MS);
	signal_take(DONE);
	dev_arm(fd, 2 * S, 2);
	dev_advance(fd, 2 * S);
	signal_take(SIGALRM);
	act_wait(fd, 13);
	CHECK(!signal_came(DONE));
	CHECK_EQ(dev_stat(fd, "failed"), 0);
}
