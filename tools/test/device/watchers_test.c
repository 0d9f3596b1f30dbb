// SPDX-License-Identifier: GPL-2.0-only
/*
 * Readers and watchers of one file, of which some do nothing when they are woken: that keeps
 * nobody else from the events. A lost wake-up lets the test hang.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdatomic.h>
#include <sys/epoll.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/device.h"
#include "lib/tap.h"

#define WATCHERS	4

/* What watchers have been told, and what was read. */
static atomic_uint told, taken;

struct watcher {
	int fd;
	int epoll;
	bool idle;	/* does nothing once it was told */
};

static struct watcher watcher_new(int fd, uint32_t events, bool idle)
{
	return (struct watcher) { .fd = fd, .epoll = dev_epoll(fd, events), .idle = idle };
}

static void *watcher_run(void *arg)
{
	const struct watcher *w = arg;
	struct twheel_event events[8];
	struct epoll_event event;
	int n;

	for (;;) {
		NEED(epoll_wait(w->epoll, &event, 1, -1) == 1);
		told++;
		while (w->idle)
			pause();
		n = events_read(w->fd, events, 8);
		if (n > 0)
			taken += n;
	}
	return NULL;
}

static void *reader_run(void *arg)
{
	taken += dev_read(*(int *)arg).count;
	return NULL;
}

/* Start a thread that ends with the test. It waits, or is about to. */
static void start(void *(*run)(void *), void *arg)
{
	pthread_t thread;

	NEED(!pthread_create(&thread, NULL, run, arg));
	usleep(20000);
}

static void expect(atomic_uint *counter, unsigned int least)
{
	while (*counter < least)
		usleep(1000);
}

static int open_blocking(bool virtual)
{
	return dev_open_blocking(virtual ? TWHEEL_VIRTUAL : TWHEEL_MONOTONIC);
}

/* Have a timer expire. */
static void expire(int fd, bool virtual)
{
	dev_arm(fd, MS, 1);
	if (virtual)
		dev_advance(fd, MS);
}

/* What is never ready takes no wake-up, neither a reader's nor a watcher's. */
static void other_events(bool virtual)
{
	int fd = open_blocking(virtual);
	struct watcher out = watcher_new(fd, EPOLLOUT | EPOLLEXCLUSIVE, false);
	struct watcher in = watcher_new(fd, EPOLLIN | EPOLLEXCLUSIVE, false);

	told = 0;
	taken = 0;
	start(watcher_run, &out);
	start(reader_run, &fd);
	expire(fd, virtual);
	expect(&taken, 1);
	start(watcher_run, &in);
	expire(fd, virtual);
	expect(&taken, 2);
	CHECK_EQ(told, 1);
	/* Told once for each timer, there was no need to tell again. */
	CHECK(dev_stat(fd, "alarms") <= (virtual ? 0 : 2) + 2);
}

TEST(who_wants_other_events_takes_no_wake_up)
{
	other_events(false);
	other_events(true);
}

/* Epoll asks again when it is told that another event is wanted, unless it is exclusive. */
TEST(what_is_wanted_may_change)
{
	struct epoll_event event = { .events = EPOLLIN };
	int fd = dev_open_virtual(), epoll = dev_epoll(fd, EPOLLOUT);

	NEED(epoll_ctl(epoll, EPOLL_CTL_MOD, fd, &event) == 0);
	CHECK_EQ(epoll_wait(epoll, &event, 1, 0), 0);
	expire(fd, true);
	CHECK_EQ(epoll_wait(epoll, &event, 1, -1), 1);
}

/* The first watcher is told, and does nothing. The next one, or a reader, has the events. */
static void idle_watcher(uint32_t events, bool virtual, bool reader)
{
	int fd = open_blocking(virtual), i;
	struct watcher idle = watcher_new(fd, events, true);
	struct watcher busy = watcher_new(fd, events, false);

	told = 0;
	taken = 0;
	start(watcher_run, &idle);
	if (!reader)
		start(watcher_run, &busy);
	for (i = 1; i <= 10; i++) {
		if (reader)
			start(reader_run, &fd);
		expire(fd, virtual);
		expect(&taken, i);
	}
}

TEST(an_idle_watcher_silences_no_watcher)
{
	idle_watcher(EPOLLIN | EPOLLEXCLUSIVE, false, false);
	idle_watcher(EPOLLIN | EPOLLEXCLUSIVE, true, false);
	idle_watcher(EPOLLIN | EPOLLEXCLUSIVE | EPOLLET, false, false);
	idle_watcher(EPOLLIN, false, false);
}

TEST(an_idle_watcher_silences_no_reader)
{
	idle_watcher(EPOLLIN | EPOLLEXCLUSIVE, false, true);
	idle_watcher(EPOLLIN | EPOLLEXCLUSIVE, true, true);
	idle_watcher(EPOLLIN, false, true);
}

/* A worker that dies when it is told, before it reads: its epoll instance goes with it. */
TEST(a_worker_dies)
{
	int fd = open_blocking(false), i, status;
	struct watcher other = watcher_new(fd, EPOLLIN | EPOLLEXCLUSIVE, false);
	struct epoll_event event;
	int pipes[2];
	pid_t child;

	close(other.epoll);
	NEED(pipe(pipes) == 0);
	child = fork();
	NEED(child >= 0);
	if (!child) {
		other.epoll = dev_epoll(fd, EPOLLIN | EPOLLEXCLUSIVE);
		NEED(write(pipes[1], "", 1) == 1);
		NEED(epoll_wait(other.epoll, &event, 1, -1) == 1);
		_exit(0);
	}
	/* It is first in the queue. */
	NEED(read(pipes[0], &status, 1) == 1);
	other.epoll = dev_epoll(fd, EPOLLIN | EPOLLEXCLUSIVE);
	start(watcher_run, &other);
	for (i = 1; i <= 10; i++) {
		expire(fd, false);
		expect(&taken, i);
	}
	NEED(waitpid(child, &status, 0) == child);
	CHECK_EQ(status, 0);
}

/* Whoever sleeps is told. If nobody searches after that, nothing is told again. */
TEST(a_program_that_does_nothing_costs_two_alarms)
{
	int fd = open_blocking(false), i;
	struct watcher idle[WATCHERS];
	uint64_t alarms;

	for (i = 0; i < WATCHERS; i++) {
		idle[i] = watcher_new(fd, EPOLLIN | EPOLLEXCLUSIVE, true);
		start(watcher_run, &idle[i]);
	}
	expire(fd, false);
	expect(&told, WATCHERS);
	usleep(200000);
	alarms = dev_stat(fd, "alarms");
	CHECK(alarms == 1 || alarms == 2);
	/* More timers tell nothing new. */
	for (i = 0; i < 100; i++)
		dev_arm_at(fd, 1, 0);
	usleep(200000);
	CHECK_EQ(dev_stat(fd, "alarms"), alarms);
	CHECK_EQ(taken, 0);
}
