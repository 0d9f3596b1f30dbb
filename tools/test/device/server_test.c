// SPDX-License-Identifier: GPL-2.0-only
/*
 * The example servers: a silent connection is closed, and no other. TCP needs a
 * loopback device; without one, its tests are skipped.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <net/if.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "lib/tap.h"

#define PORT		"7007"
#define PATH		"/tmp/idle_server"

/*
 * How long a connection may be silent. A machine that stops for half of that proves
 * nothing: the test begins anew, with four times as long.
 */
#define IDLE_FIRST_MS	500
#define IDLE_LAST_MS	32000

/* What has to happen, happens within this time. */
#define PATIENCE_MS	60000

/* Connections of one test. */
#define CROWD		64
#define BUSY		4

static pid_t server;
static long idle_ms;
/* Over TCP, or over a socket that has a name in the file system? */
static bool tcp;

/* In a fresh guest the loopback device is down, or there is no TCP at all. */
static void server_need_tcp(void)
{
	struct ifreq request = { .ifr_name = "lo", .ifr_flags = IFF_UP };
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	if (fd < 0)
		tap_skip("no TCP here: %s", strerror(errno));
	if (ioctl(fd, SIOCSIFFLAGS, &request))
		tap_skip("the loopback device stays down: %s", strerror(errno));
	close(fd);
}

static int connection_try(void)
{
	struct sockaddr_un path = { .sun_family = AF_UNIX, .sun_path = PATH };
	struct sockaddr_in port = {
		.sin_family = AF_INET, .sin_port = htons(atoi(PORT)),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};
	int fd = socket(tcp ? AF_INET : AF_UNIX, SOCK_STREAM, 0);
	int ret;

	NEED(fd >= 0);
	ret = tcp ? connect(fd, (void *)&port, sizeof(port)) :
		    connect(fd, (void *)&path, sizeof(path));
	if (!ret)
		return fd;
	close(fd);
	return -1;
}

/* The server may still be starting. */
static int connection_open(void)
{
	int fd, i;

	for (i = 0; i < PATIENCE_MS / 10; i++) {
		fd = connection_try();
		if (fd >= 0)
			return fd;
		usleep(10000);
	}
	NEED(fd >= 0);
	return fd;
}

static void server_start(const char *program)
{
	char idle[16];

	if (tcp)
		server_need_tcp();
	unlink(PATH);
	snprintf(idle, sizeof(idle), "%ld", idle_ms);
	server = fork();
	NEED(server >= 0);
	if (!server) {
		execlp(program, program, "-i", idle, tcp ? PORT : PATH, NULL);
		_exit(127);
	}
}

static void server_stop(void)
{
	int status;

	kill(server, SIGTERM);
	NEED(waitpid(server, &status, 0) == server);
	CHECK_EQ(status, 0);
}

static long now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

static bool connection_closed(int fd, int timeout_ms)
{
	struct pollfd pfd = { .fd = fd, .events = POLLIN };
	char c;

	return poll(&pfd, 1, timeout_ms) == 1 && recv(fd, &c, 1, 0) <= 0;
}

static bool connection_answers(int fd)
{
	struct pollfd pfd = { .fd = fd, .events = POLLIN };
	char answer[8] = "";

	return send(fd, "hello", 5, MSG_NOSIGNAL) == 5 &&
	       poll(&pfd, 1, PATIENCE_MS) == 1 &&
	       recv(fd, answer, sizeof(answer), 0) == 5 &&
	       !strcmp(answer, "hello");
}

/*
 * Send something on a connection that was last heard at @heard, and take the answer. The
 * connection has to be open, unless the machine has stopped for long: then returns false.
 * @heard becomes the time of sending, since the server may hear it long before its answer
 * arrives.
 */
static bool connection_echo(int fd, long *heard)
{
	long sent = now_ms();

	if (!connection_answers(fd)) {
		CHECK(now_ms() - *heard > idle_ms / 2);
		return false;
	}
	*heard = sent;
	return true;
}

/* If the connection closes within @timeout_ms, it does not do so before its time. */
static bool connection_ends(int fd, long heard, int timeout_ms)
{
	if (!connection_closed(fd, timeout_ms))
		return false;
	CHECK(now_ms() >= heard + idle_ms);
	return true;
}

/* Use the connections for longer than a silent one may stay. */
static bool keep_busy(const int *fds, long *heard, unsigned int count)
{
	long end = now_ms() + idle_ms + idle_ms / 2;
	unsigned int i;

	while (now_ms() < end) {
		for (i = 0; i < count; i++)
			if (!connection_echo(fds[i], &heard[i]))
				return false;
		usleep(idle_ms * 1000 / 20);
	}
	return true;
}

static bool silent_are_closed(void)
{
	int busy[BUSY], silent[CROWD], i;
	long heard[BUSY];

	for (i = 0; i < CROWD; i++)
		silent[i] = connection_open();
	for (i = 0; i < BUSY; i++) {
		heard[i] = now_ms();
		busy[i] = connection_open();
	}
	if (!keep_busy(busy, heard, BUSY))
		return false;
	for (i = 0; i < CROWD; i++)
		CHECK(connection_closed(silent[i], PATIENCE_MS));
	for (i = 0; i < BUSY; i++)
		connection_ends(busy[i], heard[i], 0);
	for (i = 0; i < BUSY; i++)
		CHECK(connection_ends(busy[i], heard[i], PATIENCE_MS));
	return true;
}

/* A timer of a connection that has left ends none of the others. */
static bool closed_are_forgotten(void)
{
	long heard;
	int fd, i;

	for (i = 0; i < CROWD; i++) {
		heard = now_ms();
		fd = connection_open();
		if (i % 3 && !connection_echo(fd, &heard))
			return false;
		close(fd);
	}
	heard = now_ms();
	fd = connection_open();
	if (!keep_busy(&fd, &heard, 1))
		return false;
	CHECK(connection_ends(fd, heard, PATIENCE_MS));
	return true;
}

/* Run @scenario with a server, until the machine is fast enough for the idle time. */
static void with_server(const char *program, bool over_tcp, bool (*scenario)(void))
{
	bool done = false;

	tcp = over_tcp;
	for (idle_ms = IDLE_FIRST_MS; !done && idle_ms <= IDLE_LAST_MS;
	     idle_ms *= 4) {
		server_start(program);
		done = scenario();
		server_stop();
	}
	if (!done)
		tap_skip("the machine stops for more than %d ms",
			 IDLE_LAST_MS / 2);
}

/* By the device, by a timerfd, and by a process wheel. */
static void with_servers(bool over_tcp, bool (*scenario)(void))
{
	with_server("idle_server", over_tcp, scenario);
	with_server("idle_server_timerfd", over_tcp, scenario);
	with_server("idle_server_process", over_tcp, scenario);
}

TEST(silent_connections_are_closed)
{
	with_servers(true, silent_are_closed);
}

TEST(closed_connections_are_forgotten)
{
	with_servers(true, closed_are_forgotten);
}

TEST(unix_socket)
{
	with_servers(false, silent_are_closed);
}
