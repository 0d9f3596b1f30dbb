// SPDX-License-Identifier: GPL-2.0-only
/*
 * Alarms take at most a share of each CPU, of a user's and of all users'. Those beyond it are
 * postponed. Then only timers of these users are late, and no event is lost.
 */
#define _GNU_SOURCE
#include <signal.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "lib/device.h"
#include "lib/tap.h"

/* Each alarm costs a part of this at least, with a share of a percent. */
#define TICK	(20 * US)

/* A file of a user: 0 is root, who is exempt. It blocks. */
static int open_setup_as(unsigned int uid, struct twheel_setup setup)
{
	int fd = dev_open_as(uid, 0);

	NEED(events_setup(fd, setup) == 0);
	return fd;
}

static int open_as(unsigned int uid)
{
	return open_setup_as(uid, (struct twheel_setup) { .tick_ns = TICK });
}

/* Have an alarm go off. */
static void ring(int fd)
{
	static uint64_t cookie;

	dev_arm(fd, TICK, ++cookie);
	NEED(dev_read(fd).cookie == cookie);
}

/* Until it has been too often. That this ends at all is what is tested. */
static void ring_until_postponed(int fd)
{
	unsigned int i;

	for (i = 0; !dev_stat(fd, "postponed"); i++)
		ring(fd);
	printf("# after %u alarms\n", i);
}

/* Each CPU has shares of its own: stay on one. */
static void shares_set(unsigned int one, unsigned int all)
{
	dev_stay_on_one_cpu();
	dev_param_set("alarm_share", one);
	dev_param_set("alarm_share_all", all);
}

TEST(a_user_has_a_share)
{
	int greedy, modest, exempt;

	dev_for_everybody();
	shares_set(1, 0);
	greedy = open_as(1001);
	modest = open_as(1002);
	exempt = open_as(0);
	ring_until_postponed(greedy);
	/* Others are not affected, nor is who has the capability. */
	ring(modest);
	CHECK_EQ(dev_stat(modest, "postponed"), 0);
	/* On a busy machine, few timers need an alarm: others are due before anybody waits. */
	while (dev_stat(exempt, "alarms") < 100)
		ring(exempt);
	CHECK_EQ(dev_stat(exempt, "postponed"), 0);
	/* All files of the user are. */
	for (;;) {
		int other = open_as(1001);

		ring(greedy);
		ring(other);
		if (dev_stat(other, "postponed"))
			break;
		close(other);
	}
}

/*
 * Alarms that are set already are not postponed: together they make a debt. It lasts as long as
 * the user has another file.
 */
static void ring_together(unsigned int uid)
{
	unsigned int i;
	int fds[200];

	for (i = 0; i < SIZE_OF(fds); i++)
		fds[i] = open_as(uid);
	for (i = 0; i < SIZE_OF(fds); i++)
		dev_arm(fds[i], 100 * MS, 1);
	for (i = 0; i < SIZE_OF(fds); i++) {
		NEED(dev_read(fds[i]).cookie == 1);
		close(fds[i]);
	}
}

/*
 * A user is also one of a namespace that a subordinate user made within theirs. Root of it could
 * make many more of these.
 */
static void share_within(int outside)
{
	dev_enter_namespace(1008, 200000, 64);
	dev_enter_namespace(64, 0, 1);
	ring_together(1);
	ring(outside);
}

TEST(namespaces_share_as_well)
{
	int outside, status, tries = 0;
	pid_t child;

	if (access("/proc/self/ns/user", F_OK))
		tap_skip("this kernel has no user namespaces");
	dev_for_everybody();
	shares_set(1, 0);
	/* On a busy machine the debt may be gone before the others have been read. */
	do {
		outside = open_as(1008);
		child = fork();
		NEED(child >= 0);
		if (!child) {
			share_within(outside);
			_exit(tap_failed());
		}
		NEED(waitpid(child, &status, 0) == child);
		CHECK_EQ(status, 0);
	} while (!dev_stat(outside, "postponed") && ++tries < 20);
	CHECK_EQ(dev_stat(outside, "postponed"), 1);
}

/* A lease of a user: it tells this process, which waits for that. */
static int lease_open(unsigned int uid)
{
	struct twheel_act act = {
		.number = 1,
		.action = { TWHEEL_ACT_SIGNAL, getpid(), SIGUSR1, 0 },
	};
	int fd = open_setup_as(uid, (struct twheel_setup) {
		.tick_ns = TICK, .flags = TWHEEL_SETUP_ACT,
	});
	sigset_t told;

	sigemptyset(&told);
	sigaddset(&told, SIGUSR1);
	NEED(sigprocmask(SIG_BLOCK, &told, NULL) == 0);
	NEED(ioctl(fd, TWHEEL_IOC_ACT, &act) == 0);
	return fd;
}

static void lease_ring(int fd)
{
	sigset_t told;
	int signal;

	sigemptyset(&told);
	sigaddset(&told, SIGUSR1);
	dev_arm(fd, TICK, 1);
	NEED(sigwait(&told, &signal) == 0);
}

/* A debt of other alarms does not postpone them. */
TEST(leases_have_a_share_of_their_own)
{
	unsigned int i, round, in_time = 0;
	int fds[200], lease;

	dev_for_everybody();
	shares_set(8, 1);
	for (i = 0; i < SIZE_OF(fds); i++)
		fds[i] = open_as(1009);
	for (round = 0; round < 5; round++) {
		lease = lease_open(1009);
		for (i = 0; i < SIZE_OF(fds); i++)
			dev_arm(fds[i], 100 * MS, 1);
		while (dev_stat(fds[0], "alarms") <= round)
			;
		lease_ring(lease);
		in_time += !dev_stat(lease, "postponed");
		close(lease);
		for (i = 0; i < SIZE_OF(fds); i++)
			NEED(dev_read(fds[i]).cookie == 1);
	}
	/* On a busy machine, its own alarm may seem to take long. Then its agent waits. */
	printf("# %u of 5 were in time\n", in_time);
	CHECK(in_time > 0);
}

/* Its own do: then the rest acts later, and all of it does. */
TEST(leases_have_a_share)
{
	const unsigned int count = 5000;
	struct twheel_op op = { .op = TWHEEL_OP_ARM, .cookie = 1, .time_ns = 100 * MS };
	unsigned int i;
	int lease;

	dev_for_everybody();
	shares_set(4, 0);
	lease = lease_open(1011);
	for (i = 0; i < count; i++)
		dev_arm_op(lease, &op);
	while (dev_stat(lease, "acted") < count)
		usleep(1000);
	CHECK(dev_stat(lease, "postponed") > 0);
	CHECK_EQ(dev_stat(lease, "failed"), 0);
}

/* Watches of a descriptor. Each is that of an epoll instance and a copy, as that takes fewer. */
enum { COPIES = 100 };

static void copies_make(int fd, int copies[COPIES])
{
	struct rlimit files = { 8192, 8192 };
	unsigned int i;

	NEED(setrlimit(RLIMIT_NOFILE, &files) == 0);
	for (i = 0; i < COPIES; i++) {
		copies[i] = dup(fd);
		NEED(copies[i] >= 0);
	}
}

static void copies_watch(const int copies[COPIES], unsigned int epolls)
{
	struct epoll_event event = { .events = EPOLLIN };
	unsigned int i;
	int epoll;

	for (; epolls; epolls--) {
		epoll = epoll_create1(EPOLL_CLOEXEC);
		for (i = 0; i < COPIES; i++)
			NEED(epoll_ctl(epoll, EPOLL_CTL_ADD, copies[i], &event) == 0);
	}
}

/* An agent waits in the middle of what is due. What is armed meanwhile acts as well. */
TEST(leases_are_armed_while_others_wait)
{
	struct twheel_act act = {
		.number = TWHEEL_ACT_ANY,
		.action = { TWHEEL_ACT_EVENTFD, eventfd(0, EFD_CLOEXEC), 0, 0 },
	};
	int lease, copies[COPIES];
	unsigned int round, i;
	uint64_t at_ns;

	dev_for_everybody();
	shares_set(10, 0);
	copies_make(act.action.target, copies);
	copies_watch(copies, 400);
	lease = open_setup_as(1013, (struct twheel_setup) {
		.tick_ns = MS, .flags = TWHEEL_SETUP_ACT,
	});
	NEED(ioctl(lease, TWHEEL_IOC_ACT, &act) == 0);
	for (round = 0; round < 5; round++) {
		at_ns = dev_now(CLOCK_MONOTONIC) + 50 * MS;
		for (i = 0; i < 3; i++)
			dev_arm_at(lease, at_ns, i);
		while (dev_stat(lease, "acted") == 4 * round)
			usleep(1000);
		dev_arm(lease, 2 * MS, 1);
		while (dev_stat(lease, "acted") < 4 * round + 4)
			usleep(1000);
	}
}

TEST(all_users_have_a_share)
{
	int greedy, modest;

	dev_for_everybody();
	shares_set(0, 1);
	greedy = open_as(1003);
	modest = open_as(1004);
	ring_until_postponed(greedy);
	while (!dev_stat(modest, "postponed")) {
		ring(greedy);
		ring(modest);
	}
}

/* On a virtual clock: an event is due, and before it there is more to move than poll() does. */
static int open_with_much_to_move(unsigned int uid)
{
	int fd = open_setup_as(uid, (struct twheel_setup) { .clock = TWHEEL_VIRTUAL }), i;

	for (i = 0; i < 10; i++)
		dev_arm_many(fd, 1000, HOUR + i * S);
	dev_arm(fd, HOUR - MS, 1);
	dev_advance(fd, HOUR - MS);
	return fd;
}

/* poll() has the file's waiters go on later, which is postponed as well. */
TEST(long_searches_share_as_well)
{
	uint64_t postponed;
	int fd, tries = 0;

	dev_for_everybody();
	shares_set(1, 1);
	/* On a busy machine the debt may be gone before the file is polled. */
	do {
		fd = open_with_much_to_move(1009);
		ring_together(1009);
		CHECK_EQ(dev_readable(fd, 0), 0);
		CHECK_EQ(dev_readable(fd, -1), 1);
		CHECK_EQ(dev_read(fd).cookie, 1);
		postponed = dev_stat(fd, "postponed");
		close(fd);
	} while (!postponed && ++tries < 20);
	CHECK(postponed);
}

/* How long a debt lasts at most, with shares of 20 %: of a user, and of all. */
#define DEBT_MOST	(320 * MS)
#define DEBT_ALL_MOST	(10 * MS)

/*
 * Until no alarm goes off any more, and the last one is paid for. A reader may find its event
 * before an alarm that was postponed.
 */
static void settle(int fd)
{
	uint64_t alarms;

	do {
		alarms = dev_stat(fd, "alarms");
		usleep(2 * DEBT_MOST / US);
	} while (dev_stat(fd, "alarms") != alarms);
}

/* Alarms at one instant, and one that wakes very many, delay nobody for long. */
TEST(debts_are_bounded)
{
	enum { WATCHERS = 1500 };
	struct rlimit files = { 4096, 4096 };
	int greedy, other, i;

	dev_for_everybody();
	shares_set(20, 20);
	NEED(setrlimit(RLIMIT_NOFILE, &files) == 0);
	greedy = open_as(1010);
	other = open_as(1011);
	for (i = 0; i < 20; i++)
		ring_together(1010);
	for (i = 0; i < WATCHERS; i++)
		dev_epoll(greedy, EPOLLIN);
	for (i = 0; i < 4; i++)
		ring(greedy);
	settle(greedy);
	i = dev_stat(greedy, "postponed");
	ring(greedy);
	CHECK_EQ(dev_stat(greedy, "postponed"), i);
	usleep(5 * DEBT_ALL_MOST / US);
	ring(other);
	CHECK_EQ(dev_stat(other, "postponed"), 0);
}

/* An alarm counts as long as it takes: it wakes more and more, until that is many milliseconds. */
TEST(a_slow_alarm_is_paid_for)
{
	uint64_t begin, took;
	int fd, copies[COPIES];

	dev_for_everybody();
	shares_set(1, 0);
	fd = open_as(1012);
	copies_make(fd, copies);
	do {
		copies_watch(copies, 20);
		ring(fd);
		begin = dev_now(CLOCK_MONOTONIC);
		ring(fd);
		took = dev_now(CLOCK_MONOTONIC) - begin;
	} while (took < 500 * MS);
	printf("# an event came after %llu ms\n", (unsigned long long)(took / MS));
}

/* Many timers that expire in a postponed time come by one alarm, in their order. */
TEST(no_event_is_lost)
{
	uint64_t alarms;
	int fd, i;

	dev_for_everybody();
	shares_set(1, 1);
	fd = open_as(1005);
	ring_until_postponed(fd);
	alarms = dev_stat(fd, "alarms");
	for (i = 0; i < 1000; i++)
		dev_arm(fd, (i + 1) * TICK, 1000 + i);
	for (i = 0; i < 1000; i++)
		NEED(dev_read(fd).cookie == 1000U + i);
	CHECK_EQ(dev_info(fd).timers, 0);
	CHECK(dev_stat(fd, "alarms") - alarms < 1000);
}

TEST(no_share_no_limit)
{
	int fd, i;

	dev_for_everybody();
	shares_set(0, 0);
	fd = open_as(1006);
	for (i = 0; i < 1000; i++)
		ring(fd);
	CHECK_EQ(dev_stat(fd, "postponed"), 0);
}

/* With the share, what was taken before is forgiven. It need not be paid off. */
TEST(no_share_no_debt)
{
	int fd;

	dev_for_everybody();
	shares_set(1, 1);
	fd = open_as(1007);
	ring_together(1007);
	dev_param_set("alarm_share", 0);
	dev_param_set("alarm_share_all", 0);
	ring(fd);
	CHECK_EQ(dev_stat(fd, "postponed"), 0);
}
