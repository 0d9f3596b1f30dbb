// SPDX-License-Identifier: GPL-2.0-only
/*
 * fuzz: this process starts the workers, watches that they make progress, and prints:
 *
 *	@failure PROGRAM WRONG	and its calls, up to @end
 *	@figures NAME=N...	how much was done
 *	@complete
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <getopt.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fuzz.h"

/* They sleep a lot. The first one is root, without limits; the others are users. */
#define NR_WORKERS	6

/* A program that takes longer hangs. */
#define HANG_SECONDS	150

/* So often is a shorter program tried before it counts as one that passes. */
#define SHRINK_TRIES	3

/* So often is a program run again to tell of its calls. */
#define TELL_TRIES	30

static const char usage[] =
"usage: fuzz [OPTION]...\n"
"Fuzzes /dev/twheel.\n"
"  --seed N           dice that fall in another way\n"
"  --seconds N        at most so long (default 60; 0: as long as it takes)\n"
"  --calls N          at most so many calls\n"
"  --failures N       end after so many (default 3)\n"
"  --steady 1         no clocks that can be set: they are, meanwhile\n"
"  --replay N[:MASK]  run this program alone, and tell of each call\n"
"  --times N          so often (default 1)\n";

/**
 * struct shared - what all processes share
 * @started: when each worker started the program that it runs
 * @told: somebody prints
 */
static struct shared {
	struct world worlds[NR_WORKERS];
	atomic_ullong calls, events, programs;
	atomic_long started[NR_WORKERS];
	atomic_uint failures;
	atomic_bool stop;
	atomic_flag told;
} *shared;

static uint64_t seed = 1, seconds = 60, most_calls, most_failures = 3, times = 1;
static uint64_t replay_number, replay_mask = ~0ULL, steady;
static bool replay;

static time_t seconds_now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec;
}

static bool worker_run_program(struct world *world)
{
	char name[16];

	/* An oops of the kernel names the task. */
	snprintf(name, sizeof(name), "fuzz%llu", (unsigned long long)world->number);
	prctl(PR_SET_NAME, name);
	shared->started[world - shared->worlds] = seconds_now();
	shared->programs++;
	return program_run(world);
}

/* Two failures are the same if their messages differ in numbers only. */
static bool failure_is_same(const char *a, const char *b)
{
	while (*a && *a == *b && (*a < '0' || *a > '9')) {
		a++;
		b++;
	}
	return (!*a && !*b) || (*a >= '0' && *a <= '9');
}

/* Leave out calls as long as the program fails in the same way. */
static void worker_shrink(struct world *world, const char *text)
{
	time_t end = seconds_now() + HANG_SECONDS / 3;
	unsigned int call, try;
	uint64_t mask;

	for (call = MAX_CALLS; call--; ) {
		mask = world->mask;
		world->mask &= ~(1ULL << call);
		for (try = 0; try < SHRINK_TRIES && seconds_now() < end; try++)
			if (!worker_run_program(world) && failure_is_same(text, world->wrong))
				break;
		if (try == SHRINK_TRIES || seconds_now() >= end)
			world->mask = mask;
	}
}

static void failure_begin(const struct world *world, const char *text)
{
	while (atomic_flag_test_and_set(&shared->told))
		sched_yield();
	printf("@failure %llu:%llx %s\n", (unsigned long long)world->number,
	       (unsigned long long)world->mask, text);
}

static void failure_end(void)
{
	printf("@end\n");
	atomic_flag_clear(&shared->told);
	if (++shared->failures >= most_failures)
		shared->stop = true;
}

/* Tell of the calls of a program. It may depend on the time whether it fails again. */
static void worker_tell(struct world *world, unsigned int tries)
{
	do {
		memset(world->trace, 0, sizeof(world->trace));
		world->told = 0;
		world->verbose = true;
	} while (worker_run_program(world) && --tries);
	world->verbose = false;
}

static void worker_report(struct world *world)
{
	char text[sizeof(world->wrong)];

	memcpy(text, world->wrong, sizeof(text));
	if (!replay)
		worker_shrink(world, text);
	worker_tell(world, TELL_TRIES);
	failure_begin(world, text);
	printf("%.*s| this time: %s\n", (int)sizeof(world->trace), world->trace,
	       *world->wrong ? world->wrong : "nothing is wrong");
	failure_end();
}

static void worker_become_user(unsigned int number)
{
	uid_t uid = 1000 + number;
	int fd;

	if (number && (setresgid(uid, uid, uid) || setresuid(uid, uid, uid))) {
		perror("fuzz: setresuid");
		exit(2);
	}
	/* It still has to be able to read its own fdinfo. */
	prctl(PR_SET_DUMPABLE, 1);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	fd = open("/dev/twheel", O_RDWR);
	if (fd < 0 || dup3(fd, FD_WITNESS, O_CLOEXEC) < 0) {
		perror("fuzz: /dev/twheel");
		exit(2);
	}
	close(fd);
	memory_catch();
}

static void worker_run(unsigned int number)
{
	struct world *world = &shared->worlds[number];
	uint64_t program;

	worker_become_user(number);
	act_begin(world);
	world->seed = seed;
	world->exempt = !number;
	world->steady = steady;
	world->calls = &shared->calls;
	world->events = &shared->events;
	for (program = number; !shared->stop; program += NR_WORKERS) {
		world->number = replay ? replay_number : program;
		world->mask = replay ? replay_mask : ~0ULL;
		if (!worker_run_program(world))
			worker_report(world);
		if (!replay || --times)
			continue;
		worker_tell(world, 1);
		printf("%.*s", (int)sizeof(world->trace), world->trace);
		break;
	}
	_exit(0);
}

static void worker_failed(const struct world *world, const char *text)
{
	failure_begin(world, text);
	failure_end();
}

/* Wait for the workers; those that hang are killed. */
static void workers_watch(const pid_t *workers, unsigned int first, unsigned int last)
{
	time_t start = seconds_now(), shown = start;
	bool ended[NR_WORKERS] = { };
	unsigned int i, left = last - first;
	int status;

	while (left) {
		usleep(50000);
		if ((most_calls && shared->calls >= most_calls) ||
		    (seconds && !replay && seconds_now() - start >= (time_t)seconds))
			shared->stop = true;
		for (i = first; i < last; i++) {
			if (ended[i])
				continue;
			if (waitpid(workers[i], &status, WNOHANG) == workers[i]) {
				ended[i] = true;
				left--;
				if (status)
					worker_failed(&shared->worlds[i], "the fuzzer has died");
			} else if (seconds_now() - shared->started[i] > HANG_SECONDS) {
				worker_failed(&shared->worlds[i], "hangs");
				shared->started[i] = seconds_now();
				kill(workers[i], SIGKILL);
			}
		}
		if (seconds_now() - shown < 10)
			continue;
		shown = seconds_now();
		printf("# %ld s, %llu calls, now at program %llu\n", (long)(shown - start),
		       (unsigned long long)shared->calls,
		       (unsigned long long)shared->worlds[first].number);
	}
	printf("@figures seconds=%ld programs=%llu calls=%llu events=%llu failures=%u\n",
	       (long)(seconds_now() - start), (unsigned long long)shared->programs,
	       (unsigned long long)shared->calls, (unsigned long long)shared->events,
	       shared->failures);
}

static uint64_t option_number(const char *text, char separator)
{
	char *end;
	uint64_t value = strtoull(text, &end, 0);

	if (end == text || (*end && *end != separator)) {
		fprintf(stderr, "fuzz: %s is not a number\n", text);
		exit(2);
	}
	return value;
}

static void options_parse(int argc, char **argv)
{
	static const struct option names[] = {
		{ "seed", 1, NULL, 's' }, { "seconds", 1, NULL, 't' }, { "calls", 1, NULL, 'c' },
		{ "failures", 1, NULL, 'f' }, { "replay", 1, NULL, 'r' },
		{ "times", 1, NULL, 'n' }, { "steady", 1, NULL, 'y' }, { }
	};
	int option;

	while ((option = getopt_long(argc, argv, "", names, NULL)) != -1) {
		uint64_t *const numbers[] = {
			['s'] = &seed, ['t'] = &seconds, ['c'] = &most_calls,
			['f'] = &most_failures, ['n'] = &times, ['y'] = &steady,
		};

		if (option == 'r') {
			replay = true;
			replay_number = option_number(optarg, ':');
			if (strchr(optarg, ':'))
				replay_mask = strtoull(strchr(optarg, ':') + 1, NULL, 16);
		} else if (option == '?' || !numbers[option]) {
			fputs(usage, stderr);
			exit(2);
		} else {
			*numbers[option] = option_number(optarg, '\0');
		}
	}
}

int main(int argc, char **argv)
{
	unsigned int i, first = 0, last = NR_WORKERS;
	pid_t workers[NR_WORKERS];

	setvbuf(stdout, NULL, _IOLBF, 0);
	options_parse(argc, argv);
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE,
		      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (shared == MAP_FAILED) {
		perror("fuzz: no memory");
		return 2;
	}
	/* A program is always run as the same user. */
	if (replay) {
		first = replay_number % NR_WORKERS;
		last = first + 1;
	}
	for (i = first; i < last; i++) {
		shared->started[i] = seconds_now();
		workers[i] = fork();
		if (workers[i] < 0) {
			perror("fuzz: fork");
			return 2;
		}
		if (!workers[i])
			worker_run(i);
	}
	workers_watch(workers, first, last);
	printf("@complete\n");
	return shared->failures != 0;
}
