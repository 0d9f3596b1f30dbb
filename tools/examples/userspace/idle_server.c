// SPDX-License-Identifier: MIT-0
/*
 * An echo server that closes a connection when it has received nothing for a
 * while. Each connection has a timer of a wheel, which every packet extends.
 * idle_server_timerfd.c does the same with a descriptor for each timer.
 */
#include <err.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include <twheel_device.h>

#include "lib/echo.h"

#define BATCH	64

struct connection {
	int fd;
	uint64_t timer;
};

static struct echo_server server;
static int wheel, epoll;
static unsigned long served, idle;

static void connection_end(struct connection *c)
{
	/* After this no event names the connection. */
	twheel_device_cancel(wheel, c->timer);
	close(c->fd);
	free(c);
}

static void connection_begin(int fd)
{
	struct connection *c = malloc(sizeof(*c));

	if (!c || twheel_device_arm(wheel, server.idle_ns, (uintptr_t)c, &c->timer)) {
		/* No more timers or memory: turn the connection away. */
		free(c);
		close(fd);
		return;
	}
	c->fd = fd;
	echo_watch(epoll, fd, c);
	served++;
}

static void connection_receive(struct connection *c)
{
	/* A timer that is due is extended like any other, as its event has not been taken. */
	if (!echo_answer(c->fd) || twheel_device_extend(wheel, c->timer, server.idle_ns) < 0)
		connection_end(c);
}

static void server_end_idle(void)
{
	struct twheel_event events[BATCH];
	int got, i;

	while ((got = twheel_device_events(wheel, events, BATCH, 0)) > 0) {
		for (i = 0; i < got; i++)
			connection_end((struct connection *)(uintptr_t)events[i].cookie);
		idle += got;
	}
}

static void server_run(const sigset_t *mask)
{
	struct epoll_event events[BATCH];
	bool expired;
	int got, i;

	while (!echo_ended) {
		got = epoll_pwait(epoll, events, BATCH, -1, mask);
		expired = false;
		for (i = 0; i < got; i++) {
			if (events[i].data.ptr == &server)
				echo_accept_all(server.listener, connection_begin);
			else if (events[i].data.ptr == &wheel)
				expired = true;
			else
				connection_receive(events[i].data.ptr);
		}
		/* Last, because it frees connections that the array may name. */
		if (expired)
			server_end_idle();
	}
}

int main(int argc, char **argv)
{
	sigset_t mask;

	server = echo_server(argc, argv);
	wheel = twheel_device_open(NULL);
	if (wheel < 0)
		errx(1, "/dev/twheel: %s", strerror(-wheel));
	epoll = epoll_create1(EPOLL_CLOEXEC);
	echo_watch(epoll, server.listener, &server);
	echo_watch(epoll, wheel, &wheel);
	echo_signals(&mask);
	server_run(&mask);
	printf("%lu connections served, %lu of them closed as idle\n", served,
	       idle);
	return 0;
}
