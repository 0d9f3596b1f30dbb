// SPDX-License-Identifier: MIT-0
#define _GNU_SOURCE	/* accept4() */
#include <arpa/inet.h>
#include <err.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "echo.h"

#define IDLE_MS		30000
#define BACKLOG		1024

volatile sig_atomic_t echo_ended;

static _Noreturn void echo_usage(const char *name)
{
	fprintf(stderr, "usage: %s [-i MILLISECONDS] PORT|PATH\n"
		"An echo server. It closes connections that are silent for so long\n"
		"(default %d ms).\n",
		name, IDLE_MS);
	exit(2);
}

static int echo_listen(int family, const void *address, socklen_t size)
{
	int fd = socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	int on = 1;

	if (fd < 0)
		err(1, "socket");
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (bind(fd, address, size) || listen(fd, BACKLOG))
		err(1, "listening");
	return fd;
}

static int echo_listen_tcp(const char *name, const char *port)
{
	struct sockaddr_in address = { .sin_family = AF_INET };
	char *end;
	long number = strtol(port, &end, 10);

	if (number < 1 || number > 65535 || *end)
		echo_usage(name);
	address.sin_port = htons(number);
	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	return echo_listen(AF_INET, &address, sizeof(address));
}

static int echo_listen_unix(const char *path)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };

	if (strlen(path) >= sizeof(address.sun_path))
		errx(1, "%s: too long for a socket", path);
	strcpy(address.sun_path, path);
	return echo_listen(AF_UNIX, &address, sizeof(address));
}

struct echo_server echo_server(int argc, char **argv)
{
	struct echo_server server;
	long ms = IDLE_MS;
	char *end;
	int c;

	while ((c = getopt(argc, argv, "i:")) != -1) {
		if (c != 'i')
			echo_usage(argv[0]);
		ms = strtol(optarg, &end, 10);
		if (ms < 1 || *end)
			echo_usage(argv[0]);
	}
	if (optind + 1 != argc)
		echo_usage(argv[0]);
	server.idle_ns = ms * 1000000ULL;
	server.listener = strchr(argv[optind], '/') ?
			  echo_listen_unix(argv[optind]) :
			  echo_listen_tcp(argv[0], argv[optind]);
	return server;
}

/* -1: none waits, or no descriptor is left. */
static int echo_accept(int listener)
{
	int fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);

	if (fd < 0 && (errno == EMFILE || errno == ENFILE)) {
		/* The connection stays in the queue: wait before the next try. */
		warn("accept");
		usleep(10000);
	}
	return fd;
}

void echo_accept_all(int listener, void (*begin)(int fd))
{
	int fd;

	while ((fd = echo_accept(listener)) >= 0)
		begin(fd);
}

void echo_watch(int epoll, int fd, void *what)
{
	struct epoll_event event = { .events = EPOLLIN, .data.ptr = what };

	if (epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event))
		err(1, "epoll_ctl");
}

bool echo_answer(int fd)
{
	char data[4096];
	ssize_t got = recv(fd, data, sizeof(data), 0);

	if (got < 0)
		return errno == EAGAIN || errno == EINTR;
	return got && send(fd, data, got, MSG_NOSIGNAL) == got;
}

static void echo_on_signal(int signal)
{
	(void)signal;
	echo_ended = 1;
}

void echo_signals(sigset_t *mask)
{
	struct sigaction action = { .sa_handler = echo_on_signal };
	sigset_t ours;

	sigemptyset(&ours);
	sigaddset(&ours, SIGTERM);
	sigaddset(&ours, SIGINT);
	sigprocmask(SIG_BLOCK, &ours, mask);
	sigaction(SIGTERM, &action, NULL);
	sigaction(SIGINT, &action, NULL);
}
