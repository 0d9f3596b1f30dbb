// SPDX-License-Identifier: GPL-2.0-only
/*
 * Threads arm, extend and cancel each other's timers, which so come from one base to another, while
 * one of them serves the wheel. What was promised and what came of it is counted.
 */
#include <pthread.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fired.h"
#include "twheel_policy.h"

#define THREADS	3
#define TIMERS	24
#define ROUNDS	20000

static struct twheel_timer crowd[TIMERS];
static struct twheel *wheel;

/* How many arms have started a timer, and what has ended it. */
static struct {
	unsigned long started;
	unsigned long cancelled;
	unsigned long fired;
	int running;
	int over;
} books;

static void count(unsigned long *counter)
{
	__atomic_fetch_add(counter, 1, __ATOMIC_RELAXED);
}

static bool over(void)
{
	return __atomic_load_n(&books.over, __ATOMIC_ACQUIRE);
}

static void arm(struct twheel_timer *timer, uint64_t delay_ns)
{
	int ret = twheel_arm(timer, delay_ns);

	CHECK(ret == 0 || ret == 1 || ret == -ESHUTDOWN);
	if (!ret)
		count(&books.started);
}

/* Callbacks never overlap, whatever bases their timers are in. */
static void crowd_fire(struct twheel_timer *timer)
{
	CHECK(!__atomic_exchange_n(&books.running, 1, __ATOMIC_RELAXED));
	CHECK(twheel_cancel_sync(timer) == -EDEADLK);
	count(&books.fired);
	/* Time for others to wait for its end. */
	if (books.fired % 16 == 0)
		usleep(20);
	if (books.fired % 3 == 0)
		arm(timer, MS / 20);
	if (books.fired % 64 == 0)
		arm(&crowd[books.fired % TIMERS], 0);
	__atomic_store_n(&books.running, 0, __ATOMIC_RELAXED);
}

static void crowd_step(uint64_t *seed)
{
	/* Some of them are of interest to all. */
	struct twheel_timer *timer = &crowd[chance(seed) % (chance(seed) % 2 ? 3 : TIMERS)];
	struct twheel_stats stats;
	int ret;

	switch (chance(seed) % 16) {
	case 0 ... 6:
		arm(timer, chance(seed) % (MS / 5));
		break;
	case 7 ... 9:
		ret = twheel_extend(timer, chance(seed) % (MS / 3));
		CHECK(ret == 1 || ret == 0 || ret == -ENOENT);
		break;
	case 10:
		ret = twheel_modify(timer, chance(seed) % (MS / 5));
		CHECK(ret == 1 || ret == -ENOENT || ret == -ESHUTDOWN);
		break;
	case 11:
		twheel_get_stats(wheel, &stats);
		CHECK(stats.pending <= TIMERS);
		break;
	case 12:
		ret = twheel_cancel_sync(timer);
		CHECK(ret == 0 || ret == 1);
		if (ret)
			count(&books.cancelled);
		break;
	default:
		if (twheel_cancel(timer))
			count(&books.cancelled);
	}
}

static void *crowd_work(void *arg)
{
	uint64_t seed = (uintptr_t)arg;
	unsigned long i;

	for (i = 0; i < ROUNDS && !over(); i++)
		crowd_step(&seed);
	return NULL;
}

static int crowd_see(struct twheel_timer *timer, void *arg)
{
	CHECK(twheel_of(timer) == wheel);
	return ++*(int *)arg > TIMERS;
}

/* In between, it walks. */
static void *crowd_serve(void *arg)
{
	int ret, rounds = 0, seen;

	(void)arg;
	while ((ret = twheel_wait(wheel, -1)) == 1) {
		ret = twheel_run(wheel, 16);
		CHECK(ret == 0 || ret == 1 || ret == -ESHUTDOWN);
		seen = 0;
		if (++rounds % 8)
			continue;
		ret = twheel_walk(wheel, crowd_see, &seen);
		CHECK(ret == 0 || ret == -ESHUTDOWN);
	}
	CHECK(ret == -ESHUTDOWN);
	return NULL;
}

static pthread_t workers[THREADS], server;

static void crowd_begin(void)
{
	unsigned int i;

	wheel = make((struct twheel_config) { .threads = true, .tick_ns = 10000 });
	books = (__typeof__(books)) { };
	for (i = 0; i < TIMERS; i++)
		twheel_timer_init(&crowd[i], wheel, crowd_fire);
	CHECK(!pthread_create(&server, NULL, crowd_serve, NULL));
	for (i = 0; i < THREADS; i++)
		CHECK(!pthread_create(&workers[i], NULL, crowd_work, (void *)(uintptr_t)(i + 1)));
}

static void crowd_join(void)
{
	unsigned int i;

	for (i = 0; i < THREADS; i++)
		CHECK(!pthread_join(workers[i], NULL));
}

/* Each timer that was started was cancelled, or has fired, or was handed back. */
static void crowd_end(void)
{
	long unfired = twheel_stop(wheel, NULL, NULL);
	struct twheel_stats stats;
	unsigned int i;

	__atomic_store_n(&books.over, 1, __ATOMIC_RELEASE);
	crowd_join();
	CHECK(!pthread_join(server, NULL));
	for (i = 0; i < TIMERS; i++)
		CHECK(!twheel_pending(&crowd[i]));
	twheel_get_stats(wheel, &stats);
	CHECK(unfired >= 0 && stats.unfired == (uint64_t)unfired && stats.pending == 0);
	CHECK(stats.fired == books.fired && stats.cancelled == books.cancelled);
	CHECK(books.started == books.fired + books.cancelled + unfired);
	CHECK(twheel_destroy(wheel) == 0);
}

TEST(books)
{
	unsigned int i;

	crowd_begin();
	for (i = 0; i < THREADS; i++)
		CHECK(!pthread_join(workers[i], NULL));
	for (i = 0; i < THREADS; i++)
		CHECK(!pthread_create(&workers[i], NULL, crowd_work, (void *)(uintptr_t)(i + 9)));
	crowd_join();
	for (i = 0; i < THREADS; i++)
		CHECK(!pthread_create(&workers[i], NULL, crowd_work, (void *)(uintptr_t)(i + 5)));
	crowd_end();
}

/* Another thread stops it in the middle. */
TEST(stopped_in_the_middle)
{
	unsigned int i;

	for (i = 0; i < 30; i++) {
		crowd_begin();
		usleep(i * 300);
		crowd_end();
	}
}

/* The child has what was pending just then, and may hand it back. */
TEST(forked_in_the_middle)
{
	struct twheel_stats stats;
	unsigned int i;
	pid_t child;
	int status;

	crowd_begin();
	for (i = 0; i < 30; i++) {
		usleep(500);
		child = fork();
		CHECK(child >= 0);
		if (child) {
			CHECK(waitpid(child, &status, 0) == child && status == 0);
			continue;
		}
		twheel_get_stats(wheel, &stats);
		CHECK(stats.pending <= TIMERS && twheel_arm(&crowd[0], 1) == -ESHUTDOWN);
		CHECK(twheel_stop(wheel, NULL, NULL) == (long)stats.pending);
		for (i = 0; i < TIMERS; i++)
			CHECK(!twheel_pending(&crowd[i]) && twheel_cancel_sync(&crowd[i]) == 0);
		_exit(twheel_destroy(wheel));
	}
	crowd_end();
}

static struct twheel_periodic periodic;
static struct twheel_idle idle;

static enum twheel_next policy_again(struct twheel_periodic *p)
{
	(void)p;
	return TWHEEL_AGAIN;
}

static void policy_silent(struct twheel_idle *i)
{
	twheel_idle_start(i, MS / 20);
}

static void *policy_work(void *arg)
{
	uint64_t seed = (uintptr_t)arg;
	unsigned int i;
	int ret;

	for (i = 0; i < ROUNDS / 4; i++) {
		switch (chance(&seed) % 8) {
		case 0 ... 1:
			ret = twheel_periodic_start(&periodic, MS / 20, chance(&seed) % 2);
			break;
		case 2:
			ret = twheel_periodic_stop(&periodic);
			break;
		case 3:
			ret = twheel_periodic_stop_sync(&periodic);
			break;
		case 4 ... 5:
			ret = twheel_idle_start(&idle, MS / 20);
			break;
		case 6:
			ret = twheel_idle_stop(&idle);
			break;
		default:
			ret = twheel_idle_touch(&idle);
		}
		CHECK(ret == 0 || ret == 1 || ret == -ENOENT);
	}
	return NULL;
}

/* Each thread that starts them takes them along to its base. */
TEST(policies)
{
	unsigned int i;

	wheel = make((struct twheel_config) { .threads = true, .tick_ns = 10000 });
	twheel_periodic_init(&periodic, wheel, policy_again);
	twheel_idle_init(&idle, wheel, policy_silent);
	CHECK(!pthread_create(&server, NULL, crowd_serve, NULL));
	for (i = 0; i < THREADS; i++)
		CHECK(!pthread_create(&workers[i], NULL, policy_work, (void *)(uintptr_t)(i + 1)));
	crowd_join();
	CHECK(twheel_periodic_shutdown_sync(&periodic) >= 0);
	CHECK(twheel_idle_shutdown_sync(&idle) >= 0);
	CHECK(!twheel_pending(&periodic.timer) && !twheel_pending(&idle.timer));
	CHECK(twheel_stop(wheel, NULL, NULL) == 0 && !pthread_join(server, NULL));
	CHECK(twheel_destroy(wheel) == 0);
}

#define ALARMS	3000

/* Arms its timer again and again for very soon, and goes on when that has fired. */
struct alarmed {
	struct twheel_timer timer;
	unsigned int fired;
};

static struct alarmed alarmed[2];

static void alarm_fire(struct twheel_timer *timer)
{
	__atomic_fetch_add(&((struct alarmed *)timer)->fired, 1, __ATOMIC_RELEASE);
}

static void *alarm_work(void *arg)
{
	struct alarmed *own = arg;
	uint64_t seed = 1 + (own - alarmed);
	unsigned int i;

	for (i = 1; i <= ALARMS; i++) {
		CHECK(twheel_arm(&own->timer, chance(&seed) % (MS / 20)) == 0);
		while (__atomic_load_n(&own->fired, __ATOMIC_ACQUIRE) != i)
			sched_yield();
	}
	return NULL;
}

/*
 * An arm for soon comes while another thread serves the wheel, and is about to set the alarm. If
 * that were set too late, nobody would wake up any more.
 */
TEST(alarm_of_another_thread)
{
	pthread_t threads[2];
	unsigned int i;

	wheel = make((struct twheel_config) { .threads = true, .tick_ns = 1000 });
	for (i = 0; i < 2; i++) {
		alarmed[i].fired = 0;
		twheel_timer_init(&alarmed[i].timer, wheel, alarm_fire);
		CHECK(!pthread_create(&threads[i], NULL, alarm_work, &alarmed[i]));
	}
	while (__atomic_load_n(&alarmed[0].fired, __ATOMIC_ACQUIRE) < ALARMS ||
	       __atomic_load_n(&alarmed[1].fired, __ATOMIC_ACQUIRE) < ALARMS) {
		CHECK(twheel_wait(wheel, 60000 * MS) == 1);
		CHECK(twheel_run(wheel, 64) >= 0);
	}
	for (i = 0; i < 2; i++)
		CHECK(!pthread_join(threads[i], NULL));
	CHECK(twheel_destroy(wheel) == 0);
}
