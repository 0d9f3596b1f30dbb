// SPDX-License-Identifier: GPL-2.0-only
/*
 * fuzz_test: the test starts the workers, watches that they make progress, and says how much was
 * done. A program that fails is shown with its calls. What is run is in the environment:
 *
 *	SEED=N		dice that fall in another way (1)
 *	TIME=SECONDS	how long (30); 0: until CALLS are made
 *	CALLS=N		at most so many calls
 *	REPLAY=N[:MASK]	this program alone; its calls are shown
 *	TIMES=N		so often (100)
 *	STEADY=1	no clocks that can be set: they are, meanwhile
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
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

/* The test ends after so many failures. */
#define MOST_FAILURES	3

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

static __u64 seed, replay_number, replay_mask = ~0ULL, times;
static const char *replay;

static __u64 option(const char *name, __u64 value)
{
	const char *text = getenv(name);

	return text && *text ? strtoull(text, NULL, 0) : value;
}

static time_t seconds_now(void)
{
	return dev_now(CLOCK_MONOTONIC) / S;
}

static bool worker_run_program(struct world *world)
{
	char name[16];

	/* An oops of the kernel names the task. */
	snprintf(name, sizeof(name), "fuzz%llu", world->number);
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
	__u64 mask;

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
	printf("# %s\n# again: make fuzz SEED=%llu REPLAY=%llu:%llx\n", text, seed, world->number,
	       world->mask);
}

static void failure_end(void)
{
	fflush(stdout);
	atomic_flag_clear(&shared->told);
	if (++shared->failures >= MOST_FAILURES)
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
	printf("%.*s# this time: %s\n", (int)sizeof(world->trace), world->trace,
	       *world->wrong ? world->wrong : "nothing is wrong");
	failure_end();
}

static void worker_become_user(unsigned int number)
{
	uid_t uid = 1000 + number;

	NEED(!number || (!setresgid(uid, uid, uid) && !setresuid(uid, uid, uid)));
	/* It still has to be able to read its own fdinfo. */
	prctl(PR_SET_DUMPABLE, 1);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	fd_move(dev_open(), FD_WITNESS);
	memory_catch();
}

static void worker_run(unsigned int number)
{
	struct world *world = &shared->worlds[number];
	__u64 program;

	worker_become_user(number);
	act_begin(world);
	world->seed = seed;
	world->exempt = !number;
	world->steady = option("STEADY", 0);
	world->calls = &shared->calls;
	world->events = &shared->events;
	for (program = number; !shared->stop; program += NR_WORKERS) {
		world->number = replay ? replay_number : program;
		world->mask = replay_mask;
		if (!worker_run_program(world))
			worker_report(world);
		if (!replay || --times)
			continue;
		worker_tell(world, 1);
		printf("%.*s", (int)sizeof(world->trace), world->trace);
		break;
	}
	fflush(stdout);
	_exit(0);
}

static void worker_failed(const struct world *world, const char *text)
{
	failure_begin(world, text);
	failure_end();
}

static void figures_show(time_t start)
{
	printf("# fuzz: %ld s, %llu programs, %llu calls, %llu events\n",
	       (long)(seconds_now() - start), shared->programs, shared->calls, shared->events);
	fflush(stdout);
}

/* Wait for the workers; those that hang are killed. */
static void workers_watch(const pid_t *workers, unsigned int first, unsigned int last)
{
	__u64 seconds = replay ? 0 : option("TIME", 30), most_calls = option("CALLS", 0);
	time_t start = seconds_now(), shown = start;
	bool ended[NR_WORKERS] = { };
	unsigned int i, left = last - first;
	int status;

	while (left) {
		usleep(50000);
		if ((most_calls && shared->calls >= most_calls) ||
		    (seconds && seconds_now() - start >= (time_t)seconds))
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
		figures_show(start);
	}
	figures_show(start);
}

/* A control group that may be killed, if the kernel has them. */
static void group_make(void)
{
	mkdir(CGROUPS, 0755);
	if (mount("cgroup2", CGROUPS, "cgroup2", 0, NULL))
		return;
	mkdir(CGROUPS "/fuzz", 0755);
	chmod(CGROUPS "/fuzz/cgroup.kill", 0666);
}

static void group_remove(void)
{
	rmdir(CGROUPS "/fuzz");
	umount2(CGROUPS, MNT_DETACH);
	rmdir(CGROUPS);
}

TEST(every_call_gives_what_the_model_says)
{
	unsigned int i, first = 0, last = NR_WORKERS;
	pid_t workers[NR_WORKERS];
	char *mask;

	seed = option("SEED", 1);
	printf("# SEED=%llu\n", seed);
	fflush(stdout);
	/* Limits that programs reach. */
	group_make();
	dev_for_everybody();
	dev_param_set("max_timers", 40000);
	dev_param_set("limit_timers", 40000);
	dev_param_set("user_timers", 4096);
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE,
		      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	NEED(shared != MAP_FAILED);
	/* A program is always run as the same user. */
	replay = getenv("REPLAY");
	if (replay) {
		replay_number = strtoull(replay, &mask, 0);
		if (*mask)
			replay_mask = strtoull(mask + 1, NULL, 16);
		times = option("TIMES", 100);
		first = replay_number % NR_WORKERS;
		last = first + 1;
	}
	for (i = first; i < last; i++) {
		shared->started[i] = seconds_now();
		workers[i] = fork();
		NEED(workers[i] >= 0);
		if (!workers[i])
			worker_run(i);
	}
	workers_watch(workers, first, last);
	group_remove();
	CHECK_EQ(shared->failures, 0);
	CHECK(shared->calls);
}
