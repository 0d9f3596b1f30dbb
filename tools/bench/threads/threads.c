// SPDX-License-Identifier: GPL-2.0-only
/*
 * threads COUNT ROUNDS: what an operation costs a program whose threads have COUNT timers in all.
 * The figure is the time on the clock by the operations of all threads. Prints lines that
 * tools/bench/table.py reads.
 *
 * Each thread has its share of the timers. At random it arms, extends or cancels a random one of
 * them, and each eighth cancel is of another thread's timer. So half of the timers are pending. An
 * arm is for the second minute from now, an extend for the third: nothing fires. Each 64 operations
 * a thread reads the clock and serves its wheel.
 */
#include <err.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "threads.h"

#define THREADS_OPERATIONS	1000000
#define THREADS_SERVE		64
#define THREADS_OTHER		8
#define THREADS_MINUTE_NS	60000000000ULL
#define THREADS_PAGE		(2UL << 20)

/* A thread of a run. */
struct threads_worker {
	alignas(64) pthread_t thread;
	const struct threads_subject *subject;
	pthread_barrier_t *barrier;
	unsigned int number;
	uint64_t random;
	/* Its share of the timers, and that of another thread if there is one. */
	struct threads_timer *own;
	struct threads_timer *other;
	uint32_t share;
	uint64_t start_ns;
	uint64_t end_ns;
};

static struct threads_timer *threads_timers;
static uint32_t threads_count;

static const struct threads_subject *const threads_subjects[] = {
	&threads_shared, &threads_each, &threads_queues,
};

#define THREADS_SUBJECTS	(sizeof(threads_subjects) / sizeof(*threads_subjects))

void threads_check(int ret)
{
	if (__builtin_expect(ret < 0, 0))
		errx(1, "a wheel: %s", strerror(-ret));
}

struct twheel *threads_wheel(bool threads)
{
	struct twheel_config config = { .threads = threads };
	struct twheel *wheel = twheel_create(&config);

	if (!wheel)
		err(1, "a wheel");
	return wheel;
}

static uint32_t threads_random(struct threads_worker *worker)
{
	worker->random ^= worker->random << 13;
	worker->random ^= worker->random >> 7;
	worker->random ^= worker->random << 17;
	return worker->random >> 32;
}

static uint32_t threads_below(struct threads_worker *worker, uint32_t below)
{
	return (uint64_t)threads_random(worker) * below >> 32;
}

static uint64_t threads_now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000000ULL + ts.tv_nsec;
}

static void threads_cancel(struct threads_worker *worker, uint32_t i)
{
	if (worker->other == worker->own || threads_random(worker) % THREADS_OTHER)
		worker->subject->cancel(&worker->own[i]);
	else
		worker->subject->cancel_other(&worker->other[i]);
}

static void threads_operation(struct threads_worker *worker, uint64_t now_ns)
{
	uint32_t i = threads_below(worker, worker->share);
	uint64_t deadline_ns = now_ns + THREADS_MINUTE_NS +
			       threads_random(worker) * (THREADS_MINUTE_NS >> 32);

	switch (threads_below(worker, 3)) {
	case 0:
		worker->subject->arm(&worker->own[i], deadline_ns);
		break;
	case 1:
		worker->subject->extend(&worker->own[i], deadline_ns + THREADS_MINUTE_NS);
		break;
	default:
		threads_cancel(worker, i);
	}
}

static void *threads_work(void *arg)
{
	struct threads_worker *worker = arg;
	uint64_t now_ns = 0;
	uint32_t i;

	pthread_barrier_wait(worker->barrier);
	worker->start_ns = threads_now();
	for (i = 0; i < THREADS_OPERATIONS; i++) {
		if (i % THREADS_SERVE == 0) {
			worker->subject->serve(worker->number);
			now_ns = threads_now();
		}
		threads_operation(worker, now_ns);
	}
	worker->end_ns = threads_now();
	return NULL;
}

static void threads_start(struct threads_worker *worker, const struct threads_subject *subject,
			  unsigned int threads, pthread_barrier_t *barrier)
{
	static uint64_t seed = 88172645463325252ULL;
	uint32_t share = threads_count / threads;

	seed += 0x9e3779b97f4a7c15ULL;
	worker->subject = subject;
	worker->barrier = barrier;
	worker->random = seed;
	worker->own = threads_timers + worker->number * share;
	worker->other = threads_timers + (worker->number + 1) % threads * share;
	worker->share = share;
	if (pthread_create(&worker->thread, NULL, threads_work, worker))
		errx(1, "no thread");
}

/* All threads work. Returns the time from the first start to the last end. */
static uint64_t threads_run(const struct threads_subject *subject, unsigned int threads)
{
	struct threads_worker workers[THREADS_MOST];
	uint64_t start_ns = UINT64_MAX, end_ns = 0;
	pthread_barrier_t barrier;
	unsigned int i;

	pthread_barrier_init(&barrier, NULL, threads);
	for (i = 0; i < threads; i++) {
		workers[i].number = i;
		threads_start(&workers[i], subject, threads, &barrier);
	}
	for (i = 0; i < threads; i++) {
		pthread_join(workers[i].thread, NULL);
		if (workers[i].start_ns < start_ns)
			start_ns = workers[i].start_ns;
		if (workers[i].end_ns > end_ns)
			end_ns = workers[i].end_ns;
	}
	pthread_barrier_destroy(&barrier);
	return end_ns - start_ns;
}

/* The timers, in huge pages if the machine has them. */
static void threads_allocate(void)
{
	size_t size = threads_count * sizeof(*threads_timers);

	size = (size + THREADS_PAGE - 1) & ~(THREADS_PAGE - 1);
	threads_timers = aligned_alloc(THREADS_PAGE, size);
	if (!threads_timers)
		err(1, "no memory for %u timers", threads_count);
	madvise(threads_timers, size, MADV_HUGEPAGE);
}

/* New wheels, which the first run fills. */
static void threads_round(const struct threads_subject *subject, unsigned int threads, bool print)
{
	uint32_t i, share = threads_count / threads;
	uint64_t ns;

	memset(threads_timers, 0, threads_count * sizeof(*threads_timers));
	for (i = 0; i < threads_count; i++)
		threads_timers[i].thread = i / share % threads;
	subject->create(threads_timers, threads_count, threads);
	threads_run(subject, threads);
	ns = threads_run(subject, threads);
	subject->destroy();
	if (print)
		printf("mix %s threads-%u %u %.2f\n", subject->name, threads, threads_count,
		       (double)ns / THREADS_OPERATIONS / threads);
}

int main(int argc, char **argv)
{
	unsigned int rounds, round, threads, i;

	if (argc != 3)
		errx(2, "usage: threads COUNT ROUNDS");
	threads_count = atoi(argv[1]);
	rounds = atoi(argv[2]);
	if (threads_count < THREADS_MOST || !rounds)
		errx(2, "COUNT is %u or more, and ROUNDS 1 or more", THREADS_MOST);
	threads_allocate();
	/* The first round is not printed: memory is touched for the first time. */
	for (round = 0; round <= rounds; round++) {
		for (threads = 1; threads <= THREADS_MOST; threads++) {
			for (i = 0; i < THREADS_SUBJECTS; i++)
				threads_round(threads_subjects[i], threads, round);
		}
	}
	return 0;
}
