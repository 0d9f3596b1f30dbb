// SPDX-License-Identifier: GPL-2.0-only
/*
 * drive_netrom DEVICE: what make ports does with NET/ROM. Node A serves, B is its client; both
 * are devices of this machine. D is nowhere, behind a neighbour C on DEVICE that says nothing.
 * Prints what happens, and after how many ms.
 */
#include <err.h>
#include <errno.h>
#include <linux/netrom.h>
#include <linux/sockios.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define SOL_NETROM	259

static long long now_ms(void)
{
	struct timespec at;

	clock_gettime(CLOCK_MONOTONIC, &at);
	return at.tv_sec * 1000LL + at.tv_nsec / 1000000;
}

/* A callsign of one letter, as it is sent. */
static ax25_address call(char letter)
{
	ax25_address address;

	memset(&address, letter << 1, sizeof(address));
	address.ax25_call[sizeof(address) - 1] = 0;
	return address;
}

static int at_node(int (*how)(int, const struct sockaddr *, socklen_t), int fd, char letter)
{
	const struct sockaddr_ax25 node = {
		.sax25_family = AF_NETROM, .sax25_call = call(letter),
	};

	return how(fd, (const struct sockaddr *)&node, sizeof(node));
}

static void set(int fd, int option, int value)
{
	if (setsockopt(fd, SOL_NETROM, option, &value, sizeof(value)))
		err(1, "option %d", option);
}

static int socket_of(char letter)
{
	int fd = socket(AF_NETROM, SOCK_SEQPACKET, 0);

	if (fd < 0 || at_node(bind, fd, letter))
		err(1, "node %c", letter);
	set(fd, NETROM_T1, 5);
	set(fd, NETROM_N2, 2);
	set(fd, NETROM_T2, 3);
	return fd;
}

static int room(int fd)
{
	int bytes;

	if (ioctl(fd, SIOCOUTQ, &bytes))
		err(1, "SIOCOUTQ");
	return bytes;
}

static void serve(int listener)
{
	int fd = accept(listener, NULL, NULL);
	long long begun = now_ms();
	char data[16];

	if (fd < 0)
		err(1, "accept");
	while (recv(fd, data, sizeof(data), 0) > 0)
		begun = now_ms();
	printf("ended %lld\n", now_ms() - begun);
	close(fd);
	close(listener);
}

static void talk(int fd)
{
	long long begun = now_ms();
	int all = room(fd);

	if (at_node(connect, fd, 'A'))
		err(1, "connect");
	printf("connected %lld\n", now_ms() - begun);
	set(fd, NETROM_IDLE, 1);
	begun = now_ms();
	if (send(fd, "text", 4, 0) != 4)
		err(1, "send");
	while (room(fd) < all && now_ms() < begun + 20000)
		usleep(5000);
	printf("acknowledged %lld\n", now_ms() - begun);
}

static void add_way(int fd, int type, char letter, const char *device)
{
	struct nr_route_struct way = {
		.type = type, .callsign = call(letter), .neighbour = call('C'),
		.quality = 255, .obs_count = 6, .mnemonic = "D",
	};

	strncpy(way.device, device, sizeof(way.device) - 1);
	if (ioctl(fd, SIOCADDRT, &way))
		err(1, "a route to %c", letter);
}

int main(int argc, char **argv)
{
	int listener = socket_of('A'), client = socket_of('B'), lost;
	long long begun;

	if (argc != 2 || listen(listener, 1))
		err(1, "usage: drive_netrom DEVICE");
	setlinebuf(stdout);
	if (!fork()) {
		close(client);
		serve(listener);
		return 0;
	}
	close(listener);
	talk(client);
	wait(NULL);
	close(client);

	lost = socket_of('B');
	add_way(lost, NETROM_NEIGH, 'C', argv[1]);
	add_way(lost, NETROM_NODE, 'D', argv[1]);
	begun = now_ms();
	if (!at_node(connect, lost, 'D'))
		errx(1, "connected to nowhere");
	printf("%s %lld\n", errno == ETIMEDOUT ? "given up" : strerror(errno), now_ms() - begun);
	close(lost);
	return 0;
}
