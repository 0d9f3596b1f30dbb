// SPDX-License-Identifier: GPL-2.0-only
#define _GNU_SOURCE	/* accept4() */
#include <arpa/inet.h>
#include <err.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "echo.h"

#define IDLE_MS		30000
#define BACKLOG		1024

volatile sig_atomic_t echo_ended;

static _Noreturn void usage(const char *name)
{
	fprintf(stderr, "usage: %s [-i MILLISECONDS] PORT|PATH\n"
		"Echoes; closes what was silent for so long (default %d ms).\n",
		name, IDLE_MS);
	exit(2);
}

static int listen_at(int family, const void *address, socklen_t size)
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

static int listen_tcp(const char *name, const char *port)
{
	struct sockaddr_in address = { .sin_family = AF_INET };
	char *end;
	long number = strtol(port, &end, 10);

	if (number < 1 || number > 65535 || *end)
		usage(name);
	address.sin_port = htons(number);
	address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	return listen_at(AF_INET, &address, sizeof(address));
}

static int listen_unix(const char *path)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };

	if (strlen(path) >= sizeof(address.sun_path))
		errx(1, "%s: too long for a socket", path);
	strcpy(address.sun_path, path);
	return listen_at(AF_UNIX, &address, sizeof(address));
}

struct echo_server echo_server(int argc, char **argv)
{
	struct echo_server server;
	long ms = IDLE_MS;
	char *end;
	int c;

	while ((c = getopt(argc, argv, "i:")) != -1) {
		if (c != 'i')
			usage(argv[0]);
		ms = strtol(optarg, &end, 10);
		if (ms < 1 || *end)
			usage(argv[0]);
	}
	if (optind + 1 != argc)
		usage(argv[0]);
	server.idle_ns = ms * 1000000ULL;
	server.listener = strchr(argv[optind], '/') ?
			  listen_unix(argv[optind]) :
			  listen_tcp(argv[0], argv[optind]);
	return server;
}

int echo_accept(int listener)
{
	int fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);

	if (fd < 0 && (errno == EMFILE || errno == ENFILE)) {
		/* It stays in the queue: do not ask at full speed. */
		warn("accept");
		usleep(10000);
	}
	return fd;
}

bool echo_answer(int fd)
{
	char data[4096];
	ssize_t got = recv(fd, data, sizeof(data), 0);

	if (got < 0)
		return errno == EAGAIN || errno == EINTR;
	return got && send(fd, data, got, MSG_NOSIGNAL) == got;
}

static void on_signal(int signal)
{
	(void)signal;
	echo_ended = 1;
}

void echo_signals(sigset_t *mask)
{
	struct sigaction action = { .sa_handler = on_signal };
	sigset_t ours;

	sigemptyset(&ours);
	sigaddset(&ours, SIGTERM);
	sigaddset(&ours, SIGINT);
	sigprocmask(SIG_BLOCK, &ours, mask);
	sigaction(SIGTERM, &action, NULL);
	sigaction(SIGINT, &action, NULL);
}
