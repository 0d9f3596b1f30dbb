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

/* How often to read the clock, to measure how long that takes. */
#define IDLE_READINGS	1000

/* If one reading takes so many times that, another task had the CPU meanwhile. */
#define IDLE_PREEMPTED	3

static struct idle_shared {
	uint64_t from_ns;
	uint64_t idle_ns;
} *idle_shared;

static pid_t idle_pid;

bool idle_can(void)
{
	return sysconf(_SC_NPROCESSORS_ONLN) == 1;
}

static uint64_t idle_reading_ns(void)
{
	uint64_t least = UINT64_MAX, last = clock_now(TWHEEL_MONOTONIC), now;
	int i;

	for (i = 0; i < IDLE_READINGS; i++) {
		now = clock_now(TWHEEL_MONOTONIC);
		if (now - last < least)
			least = now - last;
		last = now;
	}
	return least;
}

_Noreturn static void idle_count(void)
{
	uint64_t longest = IDLE_PREEMPTED * idle_reading_ns() + 1, last = UINT64_MAX, now;
	volatile struct idle_shared *to = idle_shared;

	for (;; last = now) {
		now = clock_now(TWHEEL_MONOTONIC);
		if (last >= to->from_ns && now - last <= longest)
			to->idle_ns += now - last;
	}
}

void idle_start(void)
{
	struct sched_param none = { };

	idle_shared = mmap(NULL, sizeof(*idle_shared), PROT_READ | PROT_WRITE,
			   MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (idle_shared == MAP_FAILED)
		err(STATUS_FAILED, "mmap");
	idle_shared->from_ns = UINT64_MAX;
	idle_pid = fork();
	if (idle_pid < 0)
		err(STATUS_FAILED, "fork");
	if (idle_pid)
		return;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (sched_setscheduler(0, SCHED_IDLE, &none))
		err(STATUS_FAILED, "SCHED_IDLE");
	idle_count();
}

void idle_from(uint64_t ns)
{
	__atomic_store_n(&idle_shared->from_ns, ns, __ATOMIC_RELAXED);
}

uint64_t idle_stop(void)
{
	uint64_t ns = __atomic_load_n(&idle_shared->idle_ns, __ATOMIC_RELAXED);

	kill(idle_pid, SIGKILL);
	waitpid(idle_pid, NULL, 0);
	munmap(idle_shared, sizeof(*idle_shared));
	return ns;
}
