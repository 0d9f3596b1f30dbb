// SPDX-License-Identifier: GPL-2.0-only
/*
 * An echo server that closes connections on which nothing comes for a while:
 * one timer of a wheel for each, extended by every packet.
 * idle_server_timerfd.c is the same with a descriptor for each timer.
 */
#include <err.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <unistd.h>

#include "../../lib/libtwheel.h"

#include "lib/echo.h"

#define BATCH	64
#define MOST	1000000

struct connection {
	int fd;
	uint64_t timer;
};

static struct echo_server server;
static struct twheel *wheel;
static int epoll;
static unsigned long served, idle;

static void watch(int fd, void *what)
{
	struct epoll_event event = { .events = EPOLLIN, .data.ptr = what };

	if (epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event))
		err(1, "epoll_ctl");
}

static void end(struct connection *c)
{
	/* From here on no event will name it. */
	twheel_cancel(wheel, c->timer);
	close(c->fd);
	free(c);
}

static void begin(int fd)
{
	struct connection *c = malloc(sizeof(*c));

	if (!c || twheel_arm(wheel, server.idle_ns, (uintptr_t)c, &c->timer)) {
		/* As many as there may be: this one is turned away. */
		free(c);
		close(fd);
		return;
	}
	c->fd = fd;
	watch(fd, c);
	served++;
}

static void begin_all(void)
{
	int fd;

	while ((fd = echo_accept(server.listener)) >= 0)
		begin(fd);
}

static void packet(struct connection *c)
{
	if (!echo_answer(c->fd)) {
		end(c);
		return;
	}
	if (twheel_extend(wheel, c->timer, server.idle_ns) >= 0)
		return;
	/* It expired just now, but something has come: begin anew. */
	twheel_cancel(wheel, c->timer);
	if (twheel_arm(wheel, server.idle_ns, (uintptr_t)c, &c->timer))
		end(c);
}

static void end_idle(void)
{
	struct twheel_event event;

	while (twheel_next(wheel, &event, 0) == 1) {
		end((struct connection *)(uintptr_t)event.cookie);
		idle++;
	}
}

static void serve(const sigset_t *mask)
{
	struct epoll_event events[BATCH];
	bool expired;
	int got, i;

	while (!echo_ended) {
		got = epoll_pwait(epoll, events, BATCH, -1, mask);
		expired = false;
		for (i = 0; i < got; i++) {
			if (events[i].data.ptr == &server)
				begin_all();
			else if (events[i].data.ptr == &wheel)
				expired = true;
			else
				packet(events[i].data.ptr);
		}
		/* Last: it frees connections that the array may have named. */
		if (expired)
			end_idle();
	}
}

int main(int argc, char **argv)
{
	struct twheel_options options = { };
	struct rlimit files;
	sigset_t mask;
	int ret;

	server = echo_server(argc, argv);
	/* As many timers as there may be connections: in shared memory. */
	getrlimit(RLIMIT_NOFILE, &files);
	options.max_timers = files.rlim_cur < MOST ? files.rlim_cur : MOST;
	ret = twheel_open(&wheel, &options);
	if (ret)
		errx(1, "/dev/twheel: %s", strerror(-ret));
	epoll = epoll_create1(EPOLL_CLOEXEC);
	watch(server.listener, &server);
	watch(twheel_fd(wheel), &wheel);
	echo_signals(&mask);
	serve(&mask);
	printf("%lu connections served, %lu of them closed as idle\n", served,
	       idle);
	return 0;
}
