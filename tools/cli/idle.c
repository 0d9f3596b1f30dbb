// SPDX-License-Identifier: GPL-2.0-only
#define _GNU_SOURCE
#include <err.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "clocks.h"
#include "command.h"
#include "idle.h"

/* How often to look at the clock, to see what that takes. */
#define LOOKS	1000

/* From one look to the next so many times that: someone else had the CPU. */
#define LONG	3

static struct shared {
	uint64_t from_ns;
	uint64_t idle_ns;
} *shared;

static pid_t idler;

bool idle_can(void)
{
	return sysconf(_SC_NPROCESSORS_ONLN) == 1;
}

static uint64_t look_ns(void)
{
	uint64_t least = UINT64_MAX, last = clock_now(CLOCK_MONOTONIC), now;
	int i;

	for (i = 0; i < LOOKS; i++) {
		now = clock_now(CLOCK_MONOTONIC);
		if (now - last < least)
			least = now - last;
		last = now;
	}
	return least;
}

_Noreturn static void idle(void)
{
	uint64_t longest = LONG * look_ns() + 1, last = UINT64_MAX, now;
	volatile struct shared *to = shared;

	for (;; last = now) {
		now = clock_now(CLOCK_MONOTONIC);
		if (last >= to->from_ns && now - last <= longest)
			to->idle_ns += now - last;
	}
}

void idle_start(void)
{
	struct sched_param none = { };

	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE,
		      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (shared == MAP_FAILED)
		err(STATUS_FAILED, "mmap");
	shared->from_ns = UINT64_MAX;
	idler = fork();
	if (idler < 0)
		err(STATUS_FAILED, "fork");
	if (idler)
		return;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (sched_setscheduler(0, SCHED_IDLE, &none))
		err(STATUS_FAILED, "SCHED_IDLE");
	idle();
}

void idle_from(uint64_t ns)
{
	__atomic_store_n(&shared->from_ns, ns, __ATOMIC_RELAXED);
}

uint64_t idle_stop(void)
{
	uint64_t ns = __atomic_load_n(&shared->idle_ns, __ATOMIC_RELAXED);

	kill(idler, SIGKILL);
	waitpid(idler, NULL, 0);
	munmap(shared, sizeof(*shared));
	return ns;
}
