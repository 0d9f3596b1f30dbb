// SPDX-License-Identifier: GPL-2.0-only
/*
 * The example servers: a silent connection is closed, and no other. What must not be closed says
 * something a thousand times while it may be silent. TCP needs a loopback device; without one, its
 * test is skipped.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <net/if.h>
#include <netinet/in.h>
#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "lib/device.h"
#include "lib/tap.h"

#define PATH	"/tmp/idle_server"

enum { PORT = 7007, IDLE_MS = 2000, CROWD = 64, BUSY = 4 };

static pid_t server;

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

static void server_start(const char *program, bool tcp)
{
	unlink(PATH);
	server = fork();
	NEED(server >= 0);
	if (!server) {
		execlp(program, program, "-i", "2000", tcp ? "7007" : PATH, NULL);
		_exit(127);
	}
}

/* The server may still be starting. */
static int connection_open(bool tcp)
{
	struct sockaddr_un path = { .sun_family = AF_UNIX, .sun_path = PATH };
	struct sockaddr_in port = {
		.sin_family = AF_INET, .sin_port = htons(PORT),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};
	int fd;

	for (;;) {
		fd = socket(tcp ? AF_INET : AF_UNIX, SOCK_STREAM, 0);
		NEED(fd >= 0);
		if (!(tcp ? connect(fd, (void *)&port, sizeof(port)) :
			    connect(fd, (void *)&path, sizeof(path))))
			return fd;
		close(fd);
		NEED(waitpid(server, NULL, WNOHANG) == 0);
		usleep(10000);
	}
}

/* Say something, which the server has to say, too. */
static void connection_echo(int fd)
{
	char answer[8] = "";

	NEED(send(fd, "hello", 5, MSG_NOSIGNAL) == 5);
	NEED(recv(fd, answer, sizeof(answer), 0) == 5 && !strcmp(answer, "hello"));
}

/* It ends without a word, and not before it was silent for so long. */
static void connection_ends(int fd, uint64_t heard_ns)
{
	char c;

	CHECK(recv(fd, &c, 1, 0) <= 0);
	CHECK(dev_now(CLOCK_MONOTONIC) >= heard_ns + IDLE_MS * MS);
	close(fd);
}

static void server_test(const char *program, bool tcp)
{
	uint64_t begin, heard[BUSY];
	int silent[CROWD], busy[BUSY], fd, i, status;

	server_start(program, tcp);
	/* The timer of a connection that has left ends none of the others. */
	for (i = 0; i < CROWD; i++) {
		fd = connection_open(tcp);
		if (i % 3)
			connection_echo(fd);
		close(fd);
	}
	begin = dev_now(CLOCK_MONOTONIC);
	for (i = 0; i < CROWD; i++)
		silent[i] = connection_open(tcp);
	for (i = 0; i < BUSY; i++)
		busy[i] = connection_open(tcp);
	do {
		for (i = 0; i < BUSY; i++) {
			heard[i] = dev_now(CLOCK_MONOTONIC);
			connection_echo(busy[i]);
		}
		/* A thousandth of that. */
		usleep(IDLE_MS);
	} while (dev_now(CLOCK_MONOTONIC) < begin + 2 * IDLE_MS * MS);
	for (i = 0; i < CROWD; i++)
		connection_ends(silent[i], begin);
	for (i = 0; i < BUSY; i++)
		connection_ends(busy[i], heard[i]);
	kill(server, SIGTERM);
	NEED(waitpid(server, &status, 0) == server);
	CHECK_EQ(status, 0);
}

TEST(of_the_device)
{
	server_test("idle_server", false);
}

TEST(of_the_device_over_tcp)
{
	server_need_tcp();
	server_test("idle_server", true);
}

TEST(of_a_timerfd)
{
	server_test("idle_server_timerfd", false);
}

TEST(of_a_process_wheel)
{
	server_test("idle_server_process", false);
}
