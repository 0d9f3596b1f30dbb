// SPDX-License-Identifier: MIT-0
/*
 * The same as idle_server.c, with a timerfd for each connection. That takes two
 * descriptors for each connection, and a system call for each packet.
 */
#include <err.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "lib/echo.h"

#define BATCH	64

struct connection;

/* What epoll reports: the socket of a connection or its timer. */
struct source {
	struct connection *connection;
	int fd;
};

struct connection {
	struct source socket;
	struct source timer;
	struct connection *next;
	bool ended;
};

static struct echo_server server;
static struct connection *to_free;
static int epoll;
static unsigned long served, idle;

static bool epoll_watch(int fd, void *what)
{
	struct epoll_event event = { .events = EPOLLIN, .data.ptr = what };

	return !epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event);
}

static void timer_set(struct connection *c)
{
	struct itimerspec when = {
		.it_value.tv_sec = server.idle_ns / 1000000000,
		.it_value.tv_nsec = server.idle_ns % 1000000000,
	};

	if (timerfd_settime(c->timer.fd, 0, &when, NULL))
		err(1, "timerfd_settime");
}

/* Later events of this array may name it again, so it is freed after them. */
static void connection_end(struct connection *c)
{
	close(c->socket.fd);
	close(c->timer.fd);
	c->ended = true;
	c->next = to_free;
	to_free = c;
}

static void connection_free_ended(void)
{
	struct connection *c;

	while ((c = to_free)) {
		to_free = c->next;
		free(c);
	}
}

static void connection_begin(int fd)
{
	struct connection *c = calloc(1, sizeof(*c));
	int timer = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);

	if (!c || timer < 0) {
		free(c);
		if (timer >= 0)
			close(timer);
		close(fd);
		return;
	}
	c->socket = (struct source){ c, fd };
	c->timer = (struct source){ c, timer };
	if (!epoll_watch(fd, &c->socket) || !epoll_watch(timer, &c->timer)) {
		connection_end(c);
		return;
	}
	timer_set(c);
	served++;
}

static void timer_expired(struct connection *c)
{
	uint64_t times;

	/* A timer that has been set again has nothing to read. */
	if (read(c->timer.fd, &times, sizeof(times)) != sizeof(times))
		return;
	idle++;
	connection_end(c);
}

static void source_ready(struct source *source)
{
	struct connection *c = source->connection;

	if (c->ended)
		return;
	if (source == &c->timer)
		timer_expired(c);
	else if (echo_answer(c->socket.fd))
		timer_set(c);
	else
		connection_end(c);
}

static void server_run(const sigset_t *mask)
{
	struct epoll_event events[BATCH];
	int got, i;

	while (!echo_ended) {
		got = epoll_pwait(epoll, events, BATCH, -1, mask);
		for (i = 0; i < got; i++) {
			if (events[i].data.ptr == &server)
				echo_accept_all(server.listener, connection_begin);
			else
				source_ready(events[i].data.ptr);
		}
		connection_free_ended();
	}
}

int main(int argc, char **argv)
{
	sigset_t mask;

	server = echo_server(argc, argv);
	epoll = epoll_create1(EPOLL_CLOEXEC);
	if (!epoll_watch(server.listener, &server))
		err(1, "epoll_ctl");
	echo_signals(&mask);
	server_run(&mask);
	printf("%lu connections served, %lu of them closed as idle\n", served,
	       idle);
	return 0;
}
