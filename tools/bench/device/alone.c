// SPDX-License-Identifier: GPL-2.0-only
/* Timers that expire each by itself, with an interrupt and a wake-up, beside timerfds. */
#include <err.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "parts.h"

/* How many events of a lone timer, after some that are not measured. */
#define LONE_EVENTS	1000
#define LONE_FIRST	20
/* From one to the next; not in step with the kernel's own interrupts, of 4 ms. */
#define LONE_PERIOD	(3 * MS)

/**
 * struct alone - how a program has a lone timer, and waits for it
 * @twheel: by /dev/twheel; else a timerfd
 * @polls: it calls epoll_wait() and then read(); else only read(), which waits
 * @periodic: the timer is; else it is armed for each event
 */
struct alone {
	bool twheel, polls, periodic;
};

static const char *alone_peer(const struct alone *alone)
{
	return alone->twheel ? "ioctl" : "timerfd";
}

static int timerfd_new(void)
{
	return device_need(timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK), "timerfd");
}

static int alone_open(const struct alone *alone)
{
	int fd = alone->twheel ? wheel_open() : timerfd_new();

	if (!alone->polls)
		device_need(fcntl(fd, F_SETFL, 0), "fcntl");
	return fd;
}

static void timerfd_arm(int fd, uint64_t ns, uint64_t period_ns)
{
	struct itimerspec spec = {
		.it_value = { ns / S, ns % S },
		.it_interval = { period_ns / S, period_ns % S },
	};

	device_need(timerfd_settime(fd, TFD_TIMER_ABSTIME, &spec, NULL), "timerfd_settime");
}

/* Arm the timer, for a tick, which is the same for both peers. Returns its deadline. */
static uint64_t alone_arm(const struct alone *alone, int fd)
{
	struct twheel_op op = { .op = TWHEEL_OP_ARM, .flags = TWHEEL_ABS };

	op.time_ns = now_ns() / MS * MS + LONE_PERIOD;
	if (alone->periodic)
		op.period_ns = LONE_PERIOD;
	if (alone->twheel)
		device_need(twheel_device_op(fd, &op), "arming");
	else
		timerfd_arm(fd, op.time_ns, op.period_ns);
	return op.time_ns;
}

/* Take the event that is there, or will be. */
static void event_take(int fd, bool twheel)
{
	struct twheel_event event;
	uint64_t times;

	device_need(twheel ? events_read(fd, &event, 1) : read(fd, &times, sizeof(times)),
		    "reading");
}

/* Wait for an event, and take it. Returns when it was known. */
static uint64_t alone_take(const struct alone *alone, int fd, int epoll)
{
	struct epoll_event ready;
	uint64_t now = 0;

	if (alone->polls) {
		device_need(epoll_wait(epoll, &ready, 1, -1), "epoll_wait");
		now = now_ns();
	}
	event_take(fd, alone->twheel);
	return now ?: now_ns();
}

/*
 * A lone timer: all that an event costs; and, as "wake", the alarm and the wake-up alone,
 * from the deadline until the program knows.
 */
static void measure_lone(const struct alone *alone)
{
	int fd = alone_open(alone), epoll = epoll_of(fd), i;
	struct stopwatch watch;
	uint64_t due = 0, sum = 0;
	char name[32];

	for (i = 0; i < LONE_FIRST + LONE_EVENTS; i++) {
		if (i == LONE_FIRST) {
			stopwatch_start(&watch);
			sum = 0;
		}
		due = i && alone->periodic ? due + LONE_PERIOD : alone_arm(alone, fd);
		sum += alone_take(alone, fd, epoll) - due;
	}
	snprintf(name, sizeof(name), "lone-%s-%s", alone->polls ? "epoll" : "read",
		 alone->periodic ? "periodic" : "once");
	cost_report("3-ms", alone_peer(alone), name, stopwatch_stop(&watch) / LONE_EVENTS);
	if (!alone->periodic)
		cost_report("3-ms", alone_peer(alone), alone->polls ? "wake-epoll" : "wake-read",
			    (double)sum / LONE_EVENTS);
	close(epoll);
	close(fd);
}

/* As many timers as there are, over a long time: an event, by epoll and read(). */
static void measure_spread(bool twheel)
{
	uint64_t start = now_ns() + 60 * S, due, id;
	size_t all = plan.count, i, n;
	int *fds = calloc(all, sizeof(*fds)), epoll = device_need(epoll_create1(0), "epoll");
	struct epoll_event ready = { .events = EPOLLIN };
	struct stopwatch watch;

	/* The kernel takes very long to list many timers: before there are any. */
	stopwatch_start(&watch);
	for (i = 0; i < all; i++) {
		due = start + plan.drawn[i] % spread_ns;
		fds[i] = !twheel ? timerfd_new() : i ? fds[0] : wheel_open();
		ready.data.fd = fds[i];
		if (!twheel || !i)
			device_need(epoll_ctl(epoll, EPOLL_CTL_ADD, fds[i], &ready), "epoll_ctl");
		if (twheel)
			device_need(twheel_device_arm_at(fds[0], due, i, &id), "arming");
		else
			timerfd_arm(fds[i], due, 0);
	}
	if (now_ns() > start)
		errx(1, "arming took too long");
	watch.start = now_ns();
	for (n = 0; n < all; n++) {
		device_need(epoll_wait(epoll, &ready, 1, -1), "epoll_wait");
		event_take(ready.data.fd, twheel);
	}
	cost_report("spread", twheel ? "ioctl" : "timerfd", "event", stopwatch_stop(&watch) / all);
	for (i = 0; i < all && (!twheel || !i); i++)
		close(fds[i]);
	close(epoll);
	free(fds);
}

void measure_alone(void)
{
	struct alone alone;
	int i;

	for (i = 0; i < 8; i++) {
		alone = (struct alone){ i & 1, i & 2, i & 4 };
		measure_lone(&alone);
	}
	measure_spread(true);
	measure_spread(false);
}
