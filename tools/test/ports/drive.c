// SPDX-License-Identifier: GPL-2.0-only
/*
 * What make ports does in a guest that its shell cannot. "drive" names all of it.
 */
#include <arpa/inet.h>
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define FLOWS_MAX	10000
#define ANSWER_MS	2000
#define ROUNDS		11
#define NSEC_PER_MSEC	1000000LL
#define NSEC_PER_SEC	1000000000LL

static long long now(void)
{
	struct timespec at;

	clock_gettime(CLOCK_MONOTONIC, &at);
	return at.tv_sec * NSEC_PER_SEC + at.tv_nsec;
}

static void sleep_until(long long ns)
{
	struct timespec at = { ns / NSEC_PER_SEC, ns % NSEC_PER_SEC };

	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL) == EINTR)
		;
}

static int drive_now(char **args)
{
	(void)args;
	return printf("%lld\n", now()) < 0;
}

/* notified FILE SECONDS: wait until a file of sysfs tells of a change. */
static int drive_notified(char **args)
{
	struct pollfd file = { .fd = open(args[0], O_RDONLY), .events = POLLPRI };
	char byte;

	/* Only a file that has been read does. */
	if (file.fd < 0 || read(file.fd, &byte, 1) < 0)
		err(1, "%s", args[0]);
	return poll(&file, 1, atoi(args[1]) * 1000) == 1 ? 0 : 1;
}

static atomic_bool ended;

static void end(int signal)
{
	(void)signal;
	atomic_store(&ended, true);
}

static int udp_socket(void)
{
	const int room = 16 << 20;
	int fd = socket(AF_INET, SOCK_DGRAM, 0);

	if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &room, sizeof(room)))
		err(1, "a socket");
	return fd;
}

static int udp_bound(const char *port)
{
	struct sockaddr_in here = { .sin_family = AF_INET,
				    .sin_port = htons(atoi(port)) };
	int fd = udp_socket();

	if (bind(fd, (struct sockaddr *)&here, sizeof(here)))
		err(1, "port %s", port);
	return fd;
}

/* hold PORT: take datagrams there, and read none. */
static int drive_hold(char **args)
{
	udp_bound(args[0]);
	return pause();
}

/* serve PORT: answer datagrams until SIGTERM, and say how many there were. */
static int drive_serve(char **args)
{
	struct sigaction action = { .sa_handler = end };
	int fd = udp_bound(args[0]), served = 0;
	struct sockaddr_in peer;
	socklen_t length;
	char data[64];
	ssize_t size;

	sigaction(SIGTERM, &action, NULL);
	while (!atomic_load(&ended)) {
		length = sizeof(peer);
		size = recvfrom(fd, data, sizeof(data), 0,
				(struct sockaddr *)&peer, &length);
		if (size < 0)
			continue;
		served++;
		sendto(fd, data, size, 0, (struct sockaddr *)&peer, length);
	}
	return printf("%d\n", served) < 0;
}

static int flows[FLOWS_MAX];

static void flow_open(int *fd, char **args)
{
	struct sockaddr_in to = { .sin_family = AF_INET,
				  .sin_port = htons(atoi(args[1])) };

	inet_pton(AF_INET, args[0], &to.sin_addr);
	*fd = udp_socket();
	if (connect(*fd, (struct sockaddr *)&to, sizeof(to)))
		err(1, "connect");
}

static bool flow_answered(int fd)
{
	struct pollfd flow = { .fd = fd, .events = POLLIN };
	char byte;

	return poll(&flow, 1, ANSWER_MS) == 1 && recv(fd, &byte, 1, 0) == 1;
}

/* A datagram on each flow, and then the answers to all. */
static int flows_round(int count)
{
	int i, answered = 0;

	for (i = 0; i < count; i++) {
		if (send(flows[i], "x", 1, 0) != 1)
			warn("send");
	}
	for (i = 0; i < count; i++)
		answered += flow_answered(flows[i]);
	return answered;
}

static int flows_count(const char *word)
{
	const struct rlimit files = { FLOWS_MAX + 16, FLOWS_MAX + 16 };
	int count = atoi(word);

	if (count < 1 || count > FLOWS_MAX || setrlimit(RLIMIT_NOFILE, &files))
		errx(2, "%s flows are not possible", word);
	return count;
}

/*
 * flows HOST PORT FLOWS ROUNDS PAUSE_MS: prints how many datagrams were answered. Prints what
 * a datagram and its answer took in ns: the first of a flow, and those of later rounds.
 */
static int drive_flows(char **args)
{
	int count = flows_count(args[2]), rounds = atoi(args[3]), answered, i;
	long long begun, first, further = 0;

	for (i = 0; i < count; i++)
		flow_open(&flows[i], args);
	begun = now();
	answered = flows_round(count);
	first = now() - begun;
	for (i = 0; i < rounds; i++) {
		sleep_until(now() + atoi(args[4]) * NSEC_PER_MSEC);
		begun = now();
		answered += flows_round(count);
		further += now() - begun;
	}
	printf("%d %lld %lld\n", answered, first / count,
	       rounds ? further / rounds / count : 0);
	return 0;
}

static int compare(const void *a, const void *b)
{
	long long x = *(const long long *)a, y = *(const long long *)b;

	return (x > y) - (x < y);
}

/*
 * oneway HOST PORT FLOWS PAUSE_MS: what it takes to send a datagram, in ns. Where all hosts
 * are namespaces of one CPU, the call ends when it has arrived. Takes the median of each
 * flow, as a tick may come in between. Takes the mean of these, as flows have different places
 * in hash tables.
 */
static int drive_oneway(char **args)
{
	int count = flows_count(args[2]), i, round;
	static long long took[FLOWS_MAX][ROUNDS];
	long long sum = 0;

	for (i = 0; i < count; i++) {
		flow_open(&flows[i], args);
		/* Makes the connection. */
		if (send(flows[i], "x", 1, 0) != 1)
			err(1, "send");
	}
	for (round = 0; round < ROUNDS; round++) {
		sleep_until(now() + atoi(args[3]) * NSEC_PER_MSEC);
		for (i = 0; i < count; i++) {
			long long begun = now();

			if (send(flows[i], "x", 1, 0) != 1)
				err(1, "send");
			took[i][round] = now() - begun;
		}
	}
	for (i = 0; i < count; i++) {
		qsort(took[i], ROUNDS, sizeof(took[i][0]), compare);
		sum += took[i][ROUNDS / 2];
	}
	return printf("%lld\n", sum / count) < 0;
}

/* How many connections the director has: that of the namespace of process 1. */
static int director_connections(void)
{
	FILE *file = fopen("/proc/1/net/ip_vs", "r");
	char line[256], way[16];
	int idle, all = 0;

	if (!file)
		err(1, "/proc/1/net/ip_vs");
	while (fgets(line, sizeof(line), file)) {
		if (sscanf(line, " -> %*s %15s %*d %*d %d", way, &idle) == 2)
			all += idle;
	}
	fclose(file);
	return all;
}

/*
 * late HOST PORT FLOWS STEP_MS SECONDS: begin flows one after the other, each of one
 * datagram. See when the director, which has no others, forgets each. Timers of equal
 * length end in the order in which they were armed. Prints how many there were, and how
 * late in us: the least, the mean, the most.
 */
static int drive_late(char **args)
{
	static long long late[FLOWS_MAX];
	int count = flows_count(args[2]), left = count, seen = 0, i;
	long long timeout = atoi(args[4]) * NSEC_PER_SEC, sum = 0, at, next;

	next = now();
	for (i = 0; i < count; i++) {
		flow_open(&flows[i], args);
		late[i] = now() + timeout;
		if (send(flows[i], "x", 1, 0) != 1 || !flow_answered(flows[i]))
			warnx("no answer");
		next += atoi(args[3]) * NSEC_PER_MSEC;
		sleep_until(next);
	}
	if (director_connections() != count)
		warnx("%d connections", director_connections());
	at = late[0] - 20 * NSEC_PER_MSEC;
	do {
		sleep_until(at);
		at = now();
		for (left = director_connections(); seen < count - left; seen++)
			late[seen] = at - late[seen];
		at += NSEC_PER_MSEC;
	} while (left && at < late[count - 1] + 20 * NSEC_PER_SEC);
	qsort(late, seen, sizeof(late[0]), compare);
	for (i = 0; i < seen; i++)
		sum += late[i];
	if (!seen)
		errx(1, "all connections are still there");
	return printf("%d %lld %lld %lld\n", seen, late[0] / 1000, sum / seen / 1000,
		      late[seen - 1] / 1000) < 0;
}

static const struct {
	const char *name, *usage;
	int args;
	int (*run)(char **args);
} commands[] = {
	{ "now", "", 0, drive_now },
	{ "notified", "FILE SECONDS", 2, drive_notified },
	{ "serve", "PORT", 1, drive_serve },
	{ "hold", "PORT", 1, drive_hold },
	{ "flows", "HOST PORT FLOWS ROUNDS PAUSE_MS", 5, drive_flows },
	{ "oneway", "HOST PORT FLOWS PAUSE_MS", 4, drive_oneway },
	{ "late", "HOST PORT FLOWS STEP_MS SECONDS", 5, drive_late },
	{ }
};

int main(int argc, char **argv)
{
	int i;

	for (i = 0; commands[i].name && argc > 1; i++) {
		if (argc >= 2 + commands[i].args && !strcmp(argv[1], commands[i].name))
			return commands[i].run(argv + 2);
	}
	for (i = 0; commands[i].name; i++)
		fprintf(stderr, "drive %s %s\n", commands[i].name, commands[i].usage);
	return 2;
}
