// SPDX-License-Identifier: MIT-0
/*
 * Two ways to do something again, with one-shot timers of the device. On a process wheel,
 * the callback of a timer arms it again instead. A job that may fail is tried again after a
 * delay, which doubles each time. A random part is taken off, so that jobs that failed
 * together do not come back together. A job that goes on begins again a fixed delay after it
 * has ended; with a period it would begin at fixed times.
 */
#include <err.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <twheel_device.h>

#define MS		1000000ULL
#define FIRST_NS	(10 * MS)
#define LONGEST_NS	(50 * MS)
#define PAUSE_NS	(20 * MS)

/* How many jobs, and how often each is tried at most, or goes on. */
#define JOBS		20
#define ATTEMPTS	6
#define ROUNDS		3

/**
 * struct job - something to do
 * @attempts: how often it has been tried
 * @rounds: how often it has been done
 * @delay_ns: the next delay after a failure, before it is cut
 */
struct job {
	unsigned int attempts;
	unsigned int rounds;
	uint64_t delay_ns;
};

static struct job jobs[JOBS];
static int wheel;
static unsigned int failed, done, given_up;

static void job_wait(struct job *job, uint64_t delay_ns)
{
	uint64_t id;
	int ret = twheel_device_arm(wheel, delay_ns, job - jobs, &id);

	if (ret)
		errx(1, "a timer is refused: %s", strerror(-ret));
}

/* The n-th job fails n times before it succeeds. */
static int job_try(struct job *job)
{
	job->attempts++;
	return job->attempts > (unsigned int)(job - jobs);
}

static void job_retry(struct job *job)
{
	failed++;
	if (job->attempts == ATTEMPTS) {
		given_up++;
		return;
	}
	/* Between a half and all of the delay. */
	job_wait(job, job->delay_ns - rand() % (job->delay_ns / 2));
	job->delay_ns = job->delay_ns < LONGEST_NS / 2 ? 2 * job->delay_ns : LONGEST_NS;
}

static void job_run(struct job *job)
{
	if (!job->rounds && !job_try(job)) {
		job_retry(job);
		return;
	}
	if (++job->rounds < ROUNDS)
		/* It has ended now: the delay counts from here. */
		job_wait(job, PAUSE_NS);
	else
		done++;
}

int main(void)
{
	struct twheel_event event;
	unsigned int i;

	wheel = twheel_device_open(NULL);
	if (wheel < 0)
		errx(1, "/dev/twheel: %s", strerror(-wheel));
	for (i = 0; i < JOBS; i++) {
		jobs[i].delay_ns = FIRST_NS;
		job_run(&jobs[i]);
	}
	while (done + given_up < JOBS && twheel_device_events(wheel, &event, 1, -1) == 1)
		job_run(&jobs[event.cookie]);
	printf("%d jobs: %u attempts failed, %u jobs done, %u given up\n", JOBS, failed, done,
	       given_up);
	return done + given_up < JOBS;
}
