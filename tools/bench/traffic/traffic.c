// SPDX-License-Identifier: GPL-2.0-only
/*
 * traffic KIND RATE SECONDS: a program that arms so many timeouts a second, and cancels nine
 * of ten before they expire. KIND is "long" (timeouts of 5 s and of 60 s, one of each), "log"
 * (10 ms to 60 s, as many of each order of magnitude), or either with a "-" before it: the
 * same without timers, to be subtracted. Prints how many it armed, how many of these took
 * a call, and for how long the machine, which has one CPU, was not idle, in ns.
 */
#include <err.h>
#include <math.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "../../lib/libtwheel.h"

#define MS		1000000ULL
#define STEP_NS		(5 * MS)	/* how often the program looks at its clock */
#define STEPS		12100		/* a little more than the longest timeout */

/* A timeout takes 32.5 s in the mean, or less: more seconds' arms are never pending. */
#define PENDING_S	34

/* A cancellation to come, in the list of its step. */
struct plan {
	uint64_t id;
	uint32_t next;
};

static struct plan *plans;
static uint32_t lists[STEPS], unused;
static unsigned long long kicks, arms;

/* In front of the C library's: this one counts. */
int ioctl(int fd, unsigned long request, ...)
{
	va_list list;
	void *arg;

	va_start(list, request);
	arg = va_arg(list, void *);
	va_end(list);
	kicks += request == TWHEEL_IOC_KICK;
	return syscall(SYS_ioctl, fd, request, arg);
}

static uint32_t traffic_random(void)
{
	static uint64_t state = 88172645463325252ULL;

	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state >> 32;
}

static uint64_t traffic_delay(bool logarithmic)
{
	if (!logarithmic)
		return traffic_random() % 2 ? 5000 * MS : 60000 * MS;
	return 10 * MS * exp(log(6000) * traffic_random() / 4294967296.0);
}

/* How long the machine has been idle, in ns; the kernel shows hundredths of a second. */
static uint64_t idle_ns(void)
{
	FILE *file = fopen("/proc/uptime", "r");
	double idle;

	if (!file || fscanf(file, "%*f %lf", &idle) != 1)
		err(1, "/proc/uptime");
	fclose(file);
	return idle * 1e9;
}

static uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000000ULL + ts.tv_nsec;
}

/*
 * One timeout: arm it, and plan its cancellation. As in any event loop, the time is that of
 * the step: the clock is not read for each.
 */
static void traffic_arm(struct twheel *wheel, uint64_t step, uint64_t now, bool logarithmic)
{
	uint64_t delay = traffic_delay(logarithmic), at;
	uint32_t n = unused;
	uint64_t id = 0;

	if (wheel && twheel_arm_at(wheel, now + delay, 0, &id))
		errx(1, "cannot arm");
	arms++;
	if (!(traffic_random() % 10))
		return;
	at = step + delay / STEP_NS * (traffic_random() % 1000) / 1000;
	unused = plans[n].next;
	plans[n] = (struct plan){ .id = id, .next = lists[at % STEPS] };
	lists[at % STEPS] = n;
}

static void traffic_cancel(struct twheel *wheel, uint64_t step)
{
	uint32_t n = lists[step % STEPS], next;

	lists[step % STEPS] = 0;
	for (; n; n = next) {
		next = plans[n].next;
		if (wheel)
			twheel_cancel(wheel, plans[n].id);
		plans[n].next = unused;
		unused = n;
	}
}

static void traffic_step(struct twheel *wheel, uint64_t step, unsigned int rate,
			 bool logarithmic)
{
	unsigned int each = rate * STEP_NS / 1000000000, i;
	struct twheel_event events[256];
	uint64_t now = now_ns();

	traffic_cancel(wheel, step);
	while (wheel && twheel_events(wheel, events, 256, 0) > 0)
		;
	for (i = 0; i < each; i++)
		traffic_arm(wheel, step, now, logarithmic);
}

int main(int argc, char **argv)
{
	struct twheel_options options = { };
	uint64_t start, first, busy, step, steps;
	struct twheel *wheel = NULL;
	unsigned int rate, i;
	struct timespec ts;

	if (argc != 4)
		errx(2, "usage: traffic [-]long|[-]log RATE SECONDS");
	rate = atoi(argv[2]);
	steps = atoi(argv[3]) * 1000000000ULL / STEP_NS;
	options.max_timers = rate * PENDING_S;
	plans = calloc(options.max_timers, sizeof(*plans));
	if (!plans || (*argv[1] != '-' && twheel_open(&wheel, &options)))
		errx(1, "cannot begin");
	/* The first is none. */
	for (i = 1; i < options.max_timers; i++) {
		plans[i].next = unused;
		unused = i;
	}
	start = now_ns();
	first = idle_ns();
	for (step = 0; step < steps; step++) {
		traffic_step(wheel, step, rate, strstr(argv[1], "log"));
		start += STEP_NS;
		ts = (struct timespec){ start / 1000000000, start % 1000000000 };
		clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &ts, NULL);
	}
	busy = steps * STEP_NS - (idle_ns() - first);
	printf("%llu %llu %llu\n", arms, kicks, (unsigned long long)busy);
	return 0;
}
