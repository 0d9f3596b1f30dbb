// SPDX-License-Identifier: GPL-2.0-only
/*
 * The example servers: who is silent is sent away, and nobody else. Over TCP, and
 * where there is none, that is said.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <net/if.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
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

/* Emulated, and beside others, a packet may take its time. */
#define IDLE_MS		4000
#define IDLE		"4000"
#define PATIENCE_MS	60000

#define MOST		200

static pid_t server;

/* In a fresh guest the loopback device is down; and there may be no TCP at all. */
static void need_tcp(void)
{
	struct ifreq request = { .ifr_name = "lo", .ifr_flags = IFF_UP };
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	if (fd < 0)
		tap_skip("no TCP here: %s", strerror(errno));
	if (ioctl(fd, SIOCSIFFLAGS, &request))
		tap_skip("the loopback device stays down: %s", strerror(errno));
	close(fd);
}

static int try_connect(bool tcp)
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

/* The server may be starting still. */
static int connect_to(bool tcp)
{
	int fd, i;

	for (i = 0; i < PATIENCE_MS / 10; i++) {
		fd = try_connect(tcp);
		if (fd >= 0)
			return fd;
		usleep(10000);
	}
	NEED(fd >= 0);
	return fd;
}

static void start(const char *program, bool tcp)
{
	if (tcp)
		need_tcp();
	unlink(PATH);
	server = fork();
	NEED(server >= 0);
	if (!server) {
		execlp(program, program, "-i", IDLE, tcp ? PORT : PATH, NULL);
		_exit(127);
	}
}

static void stop(void)
{
	int status;

	kill(server, SIGTERM);
	NEED(waitpid(server, &status, 0) == server);
	CHECK_EQ(status, 0);
}

static long ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

static bool closed(int fd, int timeout_ms)
{
	struct pollfd pfd = { .fd = fd, .events = POLLIN };
	char c;

	return poll(&pfd, 1, timeout_ms) == 1 && recv(fd, &c, 1, 0) <= 0;
}

static bool answers(int fd)
{
	struct pollfd pfd = { .fd = fd, .events = POLLIN };
	char answer[8] = "";

	return send(fd, "hello", 5, MSG_NOSIGNAL) == 5 &&
	       poll(&pfd, 1, PATIENCE_MS) == 1 &&
	       recv(fd, answer, sizeof(answer), 0) == 5 &&
	       !strcmp(answer, "hello");
}

/*
 * It was last heard of at @last: so it is still there. Only if the machine was away for
 * long, nothing follows from it being gone. Returns when it was heard of now: no later
 * than that, for the server may have heard it long before we hear back.
 */
static long echo(int fd, long last)
{
	long sent = ms();

	if (!answers(fd)) {
		if (ms() - last > IDLE_MS / 2)
			tap_skip("the machine is too slow for that");
		CHECK(!"a connection that is not silent stays");
	}
	return sent;
}

static void silent_ones_go(const char *program)
{
	int busy[4], silent[MOST], i;
	long began, heard[4];

	start(program, true);
	for (i = 0; i < MOST; i++)
		silent[i] = connect_to(true);
	for (i = 0; i < 4; i++) {
		heard[i] = ms();
		busy[i] = connect_to(true);
	}
	began = ms();
	/* For longer than a silent one may stay. */
	while (ms() < began + IDLE_MS + IDLE_MS / 2) {
		for (i = 0; i < 4; i++)
			heard[i] = echo(busy[i], heard[i]);
		usleep(50000);
	}
	for (i = 0; i < MOST; i++)
		CHECK(closed(silent[i], PATIENCE_MS));
	/* Unless the machine slept on it, they are there. */
	for (i = 0; i < 4; i++) {
		if (ms() < heard[i] + IDLE_MS / 2)
			CHECK(!closed(busy[i], 0));
		CHECK(closed(busy[i], PATIENCE_MS));
		CHECK(ms() >= heard[i] + IDLE_MS);
	}
	stop();
}

static void who_leaves_is_forgotten(const char *program)
{
	long heard;
	int fd, i;

	start(program, true);
	for (i = 0; i < MOST; i++) {
		heard = ms();
		fd = connect_to(true);
		if (i % 3)
			echo(fd, heard);
		close(fd);
	}
	/* Timers of those that left are gone: none of them ends another's. */
	heard = ms();
	fd = connect_to(true);
	for (i = 0; i < IDLE_MS / 100 + 10; i++) {
		heard = echo(fd, heard);
		usleep(100000);
	}
	CHECK(closed(fd, PATIENCE_MS));
	stop();
}

/* The same over a socket that has a name in the file system, in short. */
static void unix_socket(const char *program)
{
	int silent, busy;
	long heard;

	start(program, false);
	silent = connect_to(false);
	heard = ms();
	busy = connect_to(false);
	heard = echo(busy, heard);
	CHECK(closed(silent, PATIENCE_MS));
	CHECK(closed(busy, PATIENCE_MS));
	CHECK(ms() >= heard + IDLE_MS);
	stop();
}

static void wheel_silent_ones_go(void)
{
	silent_ones_go("idle_server");
}

static void timerfd_silent_ones_go(void)
{
	silent_ones_go("idle_server_timerfd");
}

static void wheel_who_leaves_is_forgotten(void)
{
	who_leaves_is_forgotten("idle_server");
}

static void timerfd_who_leaves_is_forgotten(void)
{
	who_leaves_is_forgotten("idle_server_timerfd");
}

static void wheel_unix_socket(void)
{
	unix_socket("idle_server");
}

static void timerfd_unix_socket(void)
{
	unix_socket("idle_server_timerfd");
}

static const struct tap_test tests[] = {
	TAP(wheel_silent_ones_go), TAP(timerfd_silent_ones_go),
	TAP(wheel_who_leaves_is_forgotten),
	TAP(timerfd_who_leaves_is_forgotten),
	TAP(wheel_unix_socket), TAP(timerfd_unix_socket),
};

int main(int argc, char **argv)
{
	return tap_main(tests, sizeof(tests) / sizeof(*tests), argc, argv);
}
