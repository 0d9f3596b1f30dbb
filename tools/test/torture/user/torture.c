// SPDX-License-Identifier: GPL-2.0-only
/*
 *	torture SECONDS [OPERATIONS]
 *
 * With OPERATIONS, only cells and arrays of operations are used, until there are so many.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "books.h"

static const char * const failure_names[] = {
	"early", "lost", "twice", "wrong answers", "wrong books",
};

static const uint32_t clocks[] = {
	TWHEEL_MONOTONIC, TWHEEL_BOOTTIME, TWHEEL_REALTIME, TWHEEL_VIRTUAL,
};

#define NR_FILES	(sizeof(clocks) / sizeof(*clocks))

static struct file *files;
struct books *books;

void failure_report(enum failure what, const char *why, long a, long b)
{
	books->failures[what]++;
	if (books->told++ < 10)
		printf("%s: %s: %ld, %ld\n", failure_names[what], why, a, b);
}

void *memory_shared(unsigned long bytes)
{
	void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
			    -1, 0);

	if (memory == MAP_FAILED) {
		perror("memory");
		exit(1);
	}
	return memory;
}

uint64_t now_of(uint32_t clock)
{
	static const clockid_t ids[] = { CLOCK_MONOTONIC, CLOCK_BOOTTIME, CLOCK_REALTIME };
	struct timespec ts;

	clock_gettime(ids[clock], &ts);
	return ts.tv_sec * NS_PER_S + ts.tv_nsec;
}

uint32_t random_next(uint32_t *seed)
{
	*seed ^= *seed << 13;
	*seed ^= *seed >> 17;
	*seed ^= *seed << 5;
	return *seed;
}

uint64_t random_delay(uint32_t *seed)
{
	uint32_t dice = random_next(seed);

	if (dice % 16 == 0)
		return 3600 * NS_PER_S;
	return random_next(seed) >> (1 + dice / 16 % 20);
}

long op_do(int fd, struct twheel_op *op)
{
	long ret = ioctl(fd, TWHEEL_IOC_OP, op);

	books->operations++;
	return ret < 0 ? -errno : ret;
}

bool wait_for(bool (*over)(const void *what), const void *what)
{
	static unsigned int tries;

	while (!over(what)) {
		if (tries++ >= PATIENCE)
			return false;
		usleep(10000);
	}
	return true;
}

/* Open a file, arm some timers, and close it. */
static void file_visit(uint32_t *seed)
{
	int fd = open("/dev/twheel", O_RDWR | O_NONBLOCK | O_CLOEXEC);
	struct twheel_setup setup = { .tick_ns = 100000 + random_next(seed) % NS_PER_MS };
	struct twheel_event event;
	unsigned int i;

	if (fd < 0 || ioctl(fd, TWHEEL_IOC_SETUP, &setup))
		failure_report(FAILURE_ANSWER, "open and setup", errno, fd);
	for (i = 0; i < 40; i++) {
		struct twheel_op op = { .op = TWHEEL_OP_ARM, .time_ns = random_delay(seed) };

		if (op_do(fd, &op))
			failure_report(FAILURE_ANSWER, "a visitor's arm", errno, 0);
	}
	if (read(fd, &event, sizeof(event)) == sizeof(event) && event.now_ns < event.deadline_ns)
		failure_report(FAILURE_EARLY, "a visitor's", event.deadline_ns, event.now_ns);
	close(fd);
}

static void *worker_run(void *arg)
{
	unsigned int worker = (uintptr_t)arg;
	uint32_t seed = (uint32_t)now_of(TWHEEL_MONOTONIC) ^ (worker + 1) << 20;

	while (!books->stop) {
		uint32_t dice = random_next(&seed) % 256;
		struct file *file = &files[random_next(&seed) % NR_FILES];

		if (dice < 64)
			cells_operate(worker, &seed);
		else if (dice < 96 || books->many)
			file_operate_many(file, &seed);
		else if (dice == 96)
			file_visit(&seed);
		else if (dice < 112 && file->clock == TWHEEL_VIRTUAL)
			file_advance(file, random_delay(&seed) % (20 * NS_PER_MS));
		else
			file_operate(file, &seed);
	}
	return NULL;
}

/** struct reader - takes the events of a file, or if that is NULL, of cells */
struct reader {
	struct file *file;
	bool polls;
};

static void *reader_run(void *arg)
{
	struct reader *reader = arg;
	int fd = reader->file ? reader->file->fd : cells_fd();
	struct twheel_event events[32];
	struct iovec iovec = { events, sizeof(events) };
	struct pollfd pfd = { .fd = fd, .events = POLLIN };

	for (;;) {
		unsigned long since = books->ticket++;
		ssize_t got, i;

		if (reader->polls && poll(&pfd, 1, -1) < 0)
			failure_report(FAILURE_ANSWER, "poll", errno, 0);
		got = preadv2(fd, &iovec, 1, -1, reader->polls ? RWF_NOWAIT : 0);
		if (got < 0 && errno != EAGAIN && errno != EINTR)
			failure_report(FAILURE_ANSWER, "read", errno, 0);
		for (i = 0; i < got / (ssize_t)sizeof(*events); i++) {
			if (reader->file)
				event_take(reader->file, &events[i], since);
			else
				cells_take(&events[i]);
		}
	}
	return NULL;
}

/* One of the processes. The first one waits in read(), the others in poll(). */
static pid_t process_start(unsigned int process)
{
	static struct reader readers[NR_FILES + 1];
	pthread_t workers[NR_WORKERS], thread;
	pid_t pid = fork();
	unsigned int i;

	if (pid)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	cells_map();
	for (i = 0; i <= NR_FILES; i++) {
		readers[i] = (struct reader) { i < NR_FILES ? &files[i] : NULL, process };
		pthread_create(&thread, NULL, reader_run, &readers[i]);
	}
	for (i = 0; i < NR_WORKERS; i++)
		pthread_create(&workers[i], NULL, worker_run,
			       (void *)(uintptr_t)(process * NR_WORKERS + i));
	for (i = 0; i < NR_WORKERS; i++)
		pthread_join(workers[i], NULL);
	books->stopped++;
	for (;;)
		pause();
}

static bool files_open(void)
{
	unsigned int i;

	files = memory_shared(NR_FILES * sizeof(*files));
	for (i = 0; i < NR_FILES; i++) {
		struct twheel_setup setup = { .clock = clocks[i] };

		files[i].clock = clocks[i];
		files[i].fd = open("/dev/twheel", O_RDWR | O_CLOEXEC);
		if (files[i].fd < 0 || ioctl(files[i].fd, TWHEEL_IOC_SETUP, &setup))
			return false;
	}
	return true;
}

/* Until the time is over, or there are so many operations, if that is not 0. */
static void wait_for_end(uint64_t seconds, unsigned long wanted)
{
	uint64_t end = now_of(TWHEEL_BOOTTIME) + seconds * NS_PER_S;
	unsigned int i;

	for (i = 0; now_of(TWHEEL_BOOTTIME) < end; i++) {
		if (wanted && books->operations >= wanted)
			return;
		if (wanted && i % 300 == 0)
			printf("# %lu operations\n", books->operations);
		usleep(100000);
	}
	if (wanted)
		failure_report(FAILURE_ANSWER, "fewer operations than wanted: give it more TIME",
			       books->operations, wanted);
}

static bool all_stopped(const void *what)
{
	(void)what;
	return books->stopped == NR_PROCESSES;
}

int main(int argc, char **argv)
{
	unsigned long failures = 0, wanted = argc > 2 ? strtoul(argv[2], NULL, 10) : 0;
	unsigned int i;
	pid_t pids[NR_PROCESSES];

	if (argc < 2 || argc > 3 || atoi(argv[1]) < 1) {
		fprintf(stderr, "usage: torture SECONDS [OPERATIONS]\n");
		return 2;
	}
	setvbuf(stdout, NULL, _IOLBF, 0);
	books = memory_shared(sizeof(*books));
	books->many = wanted;
	if (!files_open() || !cells_open()) {
		perror("/dev/twheel");
		return 1;
	}
	for (i = 0; i < NR_PROCESSES; i++)
		pids[i] = process_start(i);
	wait_for_end(atoi(argv[1]), wanted);
	books->stop = true;
	if (!wait_for(all_stopped, NULL))
		failure_report(FAILURE_LOST, "workers do not stop", books->stopped, 0);
	for (i = 0; i < NR_FILES; i++)
		file_audit(&files[i]);
	cells_audit();
	for (i = 0; i < NR_PROCESSES; i++) {
		if (waitpid(pids[i], NULL, WNOHANG))
			failure_report(FAILURE_ANSWER, "a process has ended early", i, 0);
		kill(pids[i], SIGKILL);
		waitpid(pids[i], NULL, 0);
	}
	for (i = 0; i < NR_FAILURES; i++)
		failures += books->failures[i];
	printf("twin: %s: %lu operations, %lu fired", failures ? "FAILED" : "ok",
	       books->operations, books->fired);
	for (i = 0; i < NR_FAILURES; i++)
		printf(", %lu %s", books->failures[i], failure_names[i]);
	printf("\n");
	return failures != 0;
}
