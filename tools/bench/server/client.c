// SPDX-License-Identifier: GPL-2.0-only
/*
 * client PATH CONNECTIONS SECONDS: traffic for an echo server at a Unix socket. Each
 * connection sends a packet every five seconds, and one of CLIENT_CHURN packets is the last
 * one before the connection is closed and opened anew. One of CLIENT_SILENT connections never
 * sends anything: it is opened anew when the server closes it. Prints what it did.
 */
#include <err.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#define CLIENT_EVERY_S	5
#define CLIENT_CHURN	20
#define CLIENT_SILENT	20
#define CLIENT_STEP_NS	10000000	/* how often it wakes up */
#define CLIENT_PACKET	100

static struct sockaddr_un client_server = { .sun_family = AF_UNIX };
static unsigned long client_opened, client_sent, client_answers, client_idle;

static int client_open(void)
{
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	while (connect(fd, (struct sockaddr *)&client_server, sizeof(client_server)))
		if (errno != EAGAIN || usleep(1000))
			err(1, "connect");
	client_opened++;
	return fd;
}

/* Take what has come. False if the server has closed the connection. */
static bool client_receive(int fd)
{
	char data[4 * CLIENT_PACKET];
	ssize_t got = recv(fd, data, sizeof(data), MSG_DONTWAIT);

	if (got > 0)
		client_answers += got / CLIENT_PACKET;
	return got > 0 || (got < 0 && errno == EAGAIN);
}

/* It is a connection's turn. */
static void client_turn(int *fd, bool silent)
{
	char packet[CLIENT_PACKET] = { };

	if (!client_receive(*fd)) {
		client_idle++;
		close(*fd);
		*fd = client_open();
		return;
	}
	if (silent)
		return;
	if (send(*fd, packet, sizeof(packet), MSG_NOSIGNAL) != sizeof(packet))
		err(1, "send");
	if (++client_sent % CLIENT_CHURN)
		return;
	close(*fd);
	*fd = client_open();
}

int main(int argc, char **argv)
{
	unsigned long count, seconds, turn = 0, steps, step;
	struct timespec ts;
	double each;
	int *fds;

	if (argc != 4)
		errx(2, "usage: client PATH CONNECTIONS SECONDS");
	strncpy(client_server.sun_path, argv[1], sizeof(client_server.sun_path) - 1);
	count = atoi(argv[2]);
	seconds = atoi(argv[3]);
	fds = calloc(count, sizeof(*fds));
	for (step = 0; step < count; step++)
		fds[step] = client_open();
	each = count / (CLIENT_EVERY_S * 1e9 / CLIENT_STEP_NS);
	steps = seconds * 1000000000 / CLIENT_STEP_NS;
	clock_gettime(CLOCK_MONOTONIC, &ts);
	for (step = 1; step <= steps; step++) {
		for (; turn < step * each; turn++)
			client_turn(&fds[turn % count], turn % count % CLIENT_SILENT == 0);
		ts.tv_nsec += CLIENT_STEP_NS;
		if (ts.tv_nsec >= 1000000000) {
			ts.tv_nsec -= 1000000000;
			ts.tv_sec++;
		}
		clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &ts, NULL);
	}
	printf("%lu connections, %lu packets, %lu answers, %lu closed by the server\n",
	       client_opened, client_sent, client_answers, client_idle);
	return 0;
}
