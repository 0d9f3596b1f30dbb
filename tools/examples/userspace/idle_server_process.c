// SPDX-License-Identifier: MIT-0
/*
 * The echo server of idle_server.c, with a process wheel: it needs no module. With --test it
 * tests its timeouts in virtual time, which takes none.
 */
#include <err.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/queue.h>
#include <sys/socket.h>
#include <unistd.h>

#include <twheel.h>

#include "lib/echo.h"

#define BATCH	64
#define S	1000000000ULL

struct connection {
	struct twheel_timer idle;
	LIST_ENTRY(connection) all;
	int fd;
};

static LIST_HEAD(, connection) connections = LIST_HEAD_INITIALIZER(connections);
static struct echo_server server;
static struct twheel *wheel;
static int epoll;
static unsigned long served, idle;

static void connection_end(struct connection *c)
{
	twheel_cancel(&c->idle);
	LIST_REMOVE(c, all);
	close(c->fd);
	free(c);
}

static void connection_idle(struct twheel_timer *timer)
{
	/* It is the first member. */
	connection_end((struct connection *)timer);
	idle++;
}

static void connection_begin(int fd)
{
	struct connection *c = malloc(sizeof(*c));

	if (!c) {
		close(fd);
		return;
	}
	c->fd = fd;
	LIST_INSERT_HEAD(&connections, c, all);
	twheel_timer_init(&c->idle, wheel, connection_idle);
	if (twheel_arm(&c->idle, server.idle_ns) < 0) {
		/* The wheel had no memory for the callback: turn the connection away. */
		connection_end(c);
		return;
	}
	echo_watch(epoll, fd, c);
	served++;
}

static void connection_receive(struct connection *c)
{
	/* A timer that is due is extended like any other, as its callback has not begun. */
	if (!echo_answer(c->fd) || twheel_extend(&c->idle, server.idle_ns) < 0)
		connection_end(c);
}

/* Wait, and serve what has come. */
static void server_round(int timeout_ms, const sigset_t *mask)
{
	struct epoll_event events[BATCH];
	bool due = false;
	int got, i;

	got = epoll_pwait(epoll, events, BATCH, timeout_ms, mask);
	for (i = 0; i < got; i++) {
		if (events[i].data.ptr == &server)
			echo_accept_all(server.listener, connection_begin);
		else if (events[i].data.ptr == &wheel)
			due = true;
		else
			connection_receive(events[i].data.ptr);
	}
	/* Last, because it frees connections that the array may name. */
	if (due)
		twheel_run(wheel, BATCH);
}

static void server_make(const struct twheel_config *config)
{
	int fd;

	wheel = twheel_create(config);
	epoll = epoll_create1(EPOLL_CLOEXEC);
	if (!wheel || epoll < 0)
		err(1, "no wheel or no epoll");
	fd = twheel_fd(wheel);
	if (fd < 0)
		errx(1, "twheel_fd: %s", strerror(-fd));
	echo_watch(epoll, fd, &wheel);
}

static void server_end(void)
{
	while (!LIST_EMPTY(&connections))
		connection_end(LIST_FIRST(&connections));
	twheel_destroy(wheel);
	close(epoll);
}

static void need(bool good, const char *what)
{
	if (!good)
		errx(1, "wrong: %s", what);
}

/* Returns the other end of a connection of the server's. */
static int test_connect(void)
{
	int ends[2];

	if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends))
		err(1, "socketpair");
	connection_begin(ends[0]);
	return ends[1];
}

static bool test_is_closed(int fd)
{
	char byte;

	return recv(fd, &byte, 1, MSG_DONTWAIT | MSG_PEEK) == 0;
}

static void test_timeouts(void)
{
	struct twheel_config config = { .clock = TWHEEL_CLOCK_VIRTUAL };
	int silent, busy;
	char byte = 0;

	server.idle_ns = 30 * S;
	server_make(&config);
	silent = test_connect();
	busy = test_connect();
	twheel_advance(wheel, 20 * S);
	need(send(busy, &byte, 1, 0) == 1, "a byte is sent");
	server_round(0, NULL);
	need(recv(busy, &byte, 1, MSG_DONTWAIT) == 1, "it is answered");
	twheel_advance(wheel, 30 * S - 1);
	need(!test_is_closed(silent), "nothing is closed before 30 s");
	twheel_advance(wheel, 30 * S);
	need(test_is_closed(silent) && !test_is_closed(busy), "the silent one is closed");
	twheel_advance(wheel, 50 * S);
	need(test_is_closed(busy), "so is the other, 30 s after its byte");
	need(LIST_EMPTY(&connections) && idle == 2, "none is left");
	close(silent);
	close(busy);
	server_end();
	puts("its timeouts are right");
}

int main(int argc, char **argv)
{
	sigset_t mask;

	if (argc == 2 && !strcmp(argv[1], "--test")) {
		test_timeouts();
		return 0;
	}
	server = echo_server(argc, argv);
	server_make(NULL);
	echo_watch(epoll, server.listener, &server);
	echo_signals(&mask);
	while (!echo_ended)
		server_round(-1, &mask);
	server_end();
	printf("%lu connections served, %lu of them closed as idle\n", served, idle);
	return 0;
}
