// SPDX-License-Identifier: GPL-2.0-only
/*
 * Threads arm, extend and cancel timers of one wheel while one of them serves it. Each timer
 * counts what it was promised and what came of it. Argument: how many rounds each makes.
 */
#define _GNU_SOURCE	/* sched_getcpu() */
#include <pthread.h>
#include <sched.h>
#include <unistd.h>

#include "check.h"
#include "twheel_policy.h"

#define THREADS	3
#define TIMERS	32

/**
 * struct shared - a timer of one thread. Others extend those of the first half; the thread
 * initialises those of the second half again
 * @timer: the timer
 * @running: its callback runs
 * @freed: it must not run any more
 * @fired: how often it has
 */
struct shared {
	struct twheel_timer timer;
	int running;
	int freed;
	unsigned long fired;
};

static struct shared shared[THREADS][TIMERS];
static struct twheel *wheel;
static unsigned long rounds, all_fired;

static void fire(struct twheel_timer *timer)
{
	struct shared *s = (struct shared *)timer;

	CHECK(!__atomic_exchange_n(&s->running, 1, __ATOMIC_RELAXED));
	CHECK(!__atomic_load_n(&s->freed, __ATOMIC_RELAXED));
	CHECK(twheel_cancel_sync(timer) == -EDEADLK);
	s->fired++;
	all_fired++;
	if (s->fired % 5 == 0)
		twheel_arm(timer, MS / 20);
	__atomic_store_n(&s->running, 0, __ATOMIC_RELAXED);
}

/* After a shutdown the callback neither runs nor will: its memory is the caller's again. */
static void renew(struct shared *s)
{
	int ret = twheel_shutdown_sync(&s->timer);

	CHECK(ret == 1 || ret == 0);
	CHECK(!__atomic_load_n(&s->running, __ATOMIC_RELAXED));
	__atomic_store_n(&s->freed, 1, __ATOMIC_RELAXED);
	s->fired = 0;
	CHECK(twheel_arm(&s->timer, 1) == -ESHUTDOWN);
	__atomic_store_n(&s->freed, 0, __ATOMIC_RELAXED);
	twheel_timer_init(&s->timer, wheel, fire);
}

static void *work(void *arg)
{
	uint64_t seed = (uintptr_t)arg + 1;
	unsigned long i;

	for (i = 0; i < rounds; i++) {
		struct shared *own = &shared[(uintptr_t)arg][chance(&seed) % TIMERS];
		struct shared *any = &shared[chance(&seed) % THREADS][chance(&seed) % (TIMERS / 2)];
		int ret;

		switch (chance(&seed) % 8) {
		case 0 ... 2:
			ret = twheel_arm(&own->timer, chance(&seed) % (MS / 5));
			CHECK(ret == 0 || ret == 1);
			break;
		case 3:
			ret = twheel_modify(&own->timer, chance(&seed) % (MS / 5));
			CHECK(ret == 1 || ret == -ENOENT);
			break;
		case 4 ... 5:
			ret = twheel_extend(&any->timer, chance(&seed) % (MS / 3));
			CHECK(ret == 1 || ret == 0 || ret == -ENOENT);
			break;
		case 6:
			ret = twheel_cancel_sync(&own->timer);
			CHECK(ret == 1 || ret == 0);
			break;
		default:
			if (chance(&seed) % 4 || own < &shared[(uintptr_t)arg][TIMERS / 2])
				twheel_cancel(&own->timer);
			else
				renew(own);
		}
	}
	return NULL;
}

static void *serve(void *arg)
{
	int ret;

	(void)arg;
	while ((ret = twheel_wait(wheel, -1)) == 1) {
		ret = twheel_run(wheel, 16);
		CHECK(ret == 0 || ret == 1 || ret == -ESHUTDOWN);
	}
	CHECK(ret == -ESHUTDOWN);
	return NULL;
}

static int stage, ended;

static void stage_set(int reached)
{
	__atomic_store_n(&stage, reached, __ATOMIC_RELEASE);
}

static void stage_wait(int wanted)
{
	while (__atomic_load_n(&stage, __ATOMIC_ACQUIRE) < wanted)
		usleep(1000);
}

/* Another thread waits for the end of this. */
static void fire_slowly(struct twheel_timer *timer)
{
	(void)timer;
	stage_set(1);
	stage_wait(2);
	usleep(20000);
	ended = 1;
}

/* It ends when the other has been told of the end of the first. */
static void fire_after(struct twheel_timer *timer)
{
	(void)timer;
	stage_wait(3);
}

static void *serve_once(void *arg)
{
	int ret = twheel_run(wheel, 8);

	/* With @arg, the wheel is stopped meanwhile. */
	CHECK(ret == !!arg);
	CHECK(!arg || twheel_run(wheel, 8) == -ESHUTDOWN);
	return NULL;
}

/* A thread that waits for a callback goes on at its end, before other callbacks have run. */
static void wait_for_callbacks(void)
{
	struct twheel_config config = { .threads = true };
	struct twheel_timer first, second;
	pthread_t thread;

	wheel = twheel_create(&config);
	CHECK(wheel);
	twheel_timer_init(&first, wheel, fire_slowly);
	twheel_timer_init(&second, wheel, fire_after);
	CHECK(twheel_arm(&first, 2 * MS) == 0 && twheel_arm(&second, 6 * MS) == 0);
	usleep(20000);
	CHECK(!pthread_create(&thread, NULL, serve_once, NULL));
	stage_wait(1);
	CHECK(twheel_run(wheel, 8) == -EBUSY && twheel_cancel(&first) == 0);
	stage_set(2);
	CHECK(twheel_cancel_sync(&first) == 0 && ended);
	stage_set(3);
	CHECK(!pthread_join(thread, NULL));

	ended = 0;
	stage_set(0);
	CHECK(twheel_arm_at(&first, 1) == 0 && twheel_arm(&second, 3600000 * MS) == 0);
	CHECK(!pthread_create(&thread, NULL, serve_once, &first));
	stage_wait(1);
	stage_set(2);
	CHECK(twheel_stop(wheel, NULL, NULL) == 1 && ended);
	CHECK(!pthread_join(thread, NULL));
	CHECK(twheel_destroy(wheel) == 0);
}

static unsigned int repeats;

static void fire_again(struct twheel_timer *timer)
{
	if (!repeats) {
		stage_set(1);
		stage_wait(2);
		usleep(20000);
	}
	if (++repeats < 20)
		twheel_arm_at(timer, 1);
}

static void *serve_again(void *timer)
{
	while (twheel_pending(timer))
		CHECK(twheel_run(wheel, 8) >= 0);
	return NULL;
}

/*
 * The thread that serves the wheel calls the next callback before a waiter runs again. On one CPU,
 * and with this policy, that is always so.
 */
static void cancel_what_is_always_due(void)
{
	const struct sched_param none = { };
	struct twheel_config config = { .threads = true };
	struct twheel_timer timer;
	cpu_set_t before, one;
	pthread_t thread;

	CPU_ZERO(&one);
	CPU_SET(sched_getcpu(), &one);
	CHECK(!sched_getaffinity(0, sizeof(before), &before));
	CHECK(!sched_setaffinity(0, sizeof(one), &one));
	sched_setscheduler(0, SCHED_BATCH, &none);
	wheel = twheel_create(&config);
	CHECK(wheel);
	twheel_timer_init(&timer, wheel, fire_again);
	stage_set(0);
	CHECK(twheel_arm_at(&timer, 1) == 0);
	CHECK(!pthread_create(&thread, NULL, serve_again, &timer));
	stage_wait(1);
	stage_set(2);
	CHECK(twheel_cancel_sync(&timer) == 1 && !twheel_pending(&timer));
	CHECK(!pthread_join(thread, NULL) && repeats == 1);
	CHECK(twheel_destroy(wheel) == 0);
	sched_setscheduler(0, SCHED_OTHER, &none);
	CHECK(!sched_setaffinity(0, sizeof(before), &before));
}

/* What fires inside its own callback, and ends it. */
static union {
	struct twheel_timer timer;
	struct twheel_periodic periodic;
	struct twheel_idle idle;
} inside;

static const struct inside_way {
	void (*init)(void);
	int (*start)(uint64_t delay_ns);
	int (*stop)(void);
} *inside_way;
static int inside_depth;

/* The outer call fires it once more, and starts it for later at its very end. */
static void inside_fire(void)
{
	if (inside_depth++) {
		stage_set(1);
		stage_wait(2);
		usleep(20000);
	} else {
		CHECK(inside_way->start(1) >= 0);
		while (inside_depth == 1)
			CHECK(twheel_run(wheel, 1) >= 0);
		usleep(20000);
		CHECK(inside_way->start(3600000 * MS) >= 0);
		ended = 1;
	}
}

static void inside_timer_fire(struct twheel_timer *timer)
{
	(void)timer;
	inside_fire();
}

static void inside_timer_init(void)
{
	twheel_timer_init(&inside.timer, wheel, inside_timer_fire);
}

static int inside_timer_start(uint64_t delay_ns)
{
	return twheel_arm(&inside.timer, delay_ns);
}

static int inside_timer_stop(void)
{
	return twheel_cancel_sync(&inside.timer);
}

static enum twheel_next inside_periodic_fire(struct twheel_periodic *periodic)
{
	(void)periodic;
	inside_fire();
	return TWHEEL_DONE;
}

static void inside_periodic_init(void)
{
	twheel_periodic_init(&inside.periodic, wheel, inside_periodic_fire);
}

static int inside_periodic_start(uint64_t delay_ns)
{
	return twheel_periodic_start(&inside.periodic, delay_ns, TWHEEL_FIXED_DELAY);
}

static int inside_periodic_stop(void)
{
	return twheel_periodic_stop_sync(&inside.periodic);
}

static void inside_idle_fire(struct twheel_idle *idle)
{
	(void)idle;
	inside_fire();
}

static void inside_idle_init(void)
{
	twheel_idle_init(&inside.idle, wheel, inside_idle_fire);
}

static int inside_idle_start(uint64_t delay_ns)
{
	return twheel_idle_start(&inside.idle, delay_ns);
}

static int inside_idle_stop(void)
{
	return twheel_idle_stop_sync(&inside.idle);
}

static void *serve_inside(void *arg)
{
	(void)arg;
	while (!ended)
		CHECK(twheel_run(wheel, 8) >= 0);
	return NULL;
}

/* A callback that has served the wheel, and run inside itself, ends with its outer call. */
static void wait_for_the_outer_callback(void)
{
	static const struct inside_way ways[] = {
		{ inside_timer_init, inside_timer_start, inside_timer_stop },
		{ inside_periodic_init, inside_periodic_start, inside_periodic_stop },
		{ inside_idle_init, inside_idle_start, inside_idle_stop },
	};
	struct twheel_config config = { .threads = true };
	pthread_t thread;
	unsigned int i;

	wheel = twheel_create(&config);
	CHECK(wheel);
	for (i = 0; i < ARRAY_SIZE(ways); i++) {
		inside_way = &ways[i];
		inside_depth = 0;
		ended = 0;
		stage_set(0);
		inside_way->init();
		CHECK(inside_way->start(1) == 0);
		CHECK(!pthread_create(&thread, NULL, serve_inside, NULL));
		stage_wait(1);
		stage_set(2);
		CHECK(inside_way->stop() == 1 && ended);
		CHECK(!twheel_pending(&inside.timer));
		CHECK(!pthread_join(thread, NULL));
	}
	CHECK(twheel_destroy(wheel) == 0);
}

/**
 * struct policy - periodic work and a watch. A thread starts and stops them, and another serves
 * @periodic: asks to be called again each time
 * @idle: starts itself again
 * @stopped: none of them may be called
 * @calls: of the work, since it was started last
 */
struct policy {
	struct twheel_periodic periodic;
	struct twheel_idle idle;
	int stopped;
	unsigned long calls;
};

static struct policy policy;

static enum twheel_next policy_again(struct twheel_periodic *periodic)
{
	CHECK(!__atomic_load_n(&policy.stopped, __ATOMIC_RELAXED));
	CHECK(periodic == &policy.periodic);
	__atomic_fetch_add(&policy.calls, 1, __ATOMIC_RELAXED);
	return TWHEEL_AGAIN;
}

static void policy_silent(struct twheel_idle *idle)
{
	CHECK(!__atomic_load_n(&policy.stopped, __ATOMIC_RELAXED));
	twheel_idle_start(idle, MS / 8);
}

static void *policy_touch(void *arg)
{
	int ret;

	while (!__atomic_load_n((int *)arg, __ATOMIC_RELAXED)) {
		ret = twheel_idle_touch(&policy.idle);
		CHECK(ret == 0 || ret == 1 || ret == -ENOENT);
		usleep(1);
	}
	return NULL;
}

/* A start or a stop wins over a callback that asks to be called again in another thread. */
static void policy_round(unsigned int i)
{
	uint64_t end = twheel_now(wheel) + 60000 * MS;
	int ret;

	__atomic_store_n(&policy.calls, 0, __ATOMIC_RELAXED);
	ret = twheel_periodic_start(&policy.periodic, MS / 10, i % 2);
	CHECK(ret == 0);
	CHECK(twheel_idle_start(&policy.idle, MS / 5) == 0);
	while (__atomic_load_n(&policy.calls, __ATOMIC_RELAXED) < i % 3)
		CHECK(!usleep(20) && twheel_now(wheel) < end);
	twheel_idle_set_timeout(&policy.idle, MS / 9);
	/* Started anew while it is being called, it goes on. */
	ret = twheel_periodic_start(&policy.periodic, MS / 10, i / 2 % 2);
	CHECK(ret == 0 || ret == 1);
	__atomic_store_n(&policy.calls, 0, __ATOMIC_RELAXED);
	while (__atomic_load_n(&policy.calls, __ATOMIC_RELAXED) < i % 4)
		CHECK(!usleep(20) && twheel_now(wheel) < end);
	ret = i % 5 ? twheel_periodic_stop_sync(&policy.periodic) :
		      twheel_periodic_shutdown_sync(&policy.periodic);
	CHECK(ret == 1 || ret == 0);
	ret = twheel_idle_stop_sync(&policy.idle);
	CHECK(ret == 1 || ret == 0);
	__atomic_store_n(&policy.stopped, 1, __ATOMIC_RELAXED);
	CHECK(!twheel_pending(&policy.periodic.timer));
	CHECK(!twheel_pending(&policy.idle.timer));
	if (i % 5 == 0) {
		CHECK(twheel_periodic_start(&policy.periodic, 1, 0) == -ESHUTDOWN);
		twheel_periodic_init(&policy.periodic, wheel, policy_again);
	}
	if (i % 16 == 0)
		usleep(100);
	__atomic_store_n(&policy.stopped, 0, __ATOMIC_RELAXED);
}

/* A stop or a start comes when the wheel has taken the timer, and before the callback. */
static void policy_just_taken(unsigned int i)
{
	const struct twheel_timer *timer = &policy.periodic.timer;
	uint64_t hour;
	int ret;

	CHECK(twheel_periodic_start(&policy.periodic, MS / 10, TWHEEL_FIXED_RATE) == 0);
	while (twheel_pending(timer))
		;
	hour = twheel_now(wheel) + 3600000 * MS;
	ret = i % 2 ? twheel_periodic_stop(&policy.periodic) :
		      twheel_periodic_start_at(&policy.periodic, hour, MS, TWHEEL_FIXED_RATE);
	CHECK(ret == 0 || ret == 1);
	usleep(500);
	CHECK(i % 2 ? !twheel_pending(timer) : twheel_deadline(timer) == hour);
	twheel_periodic_stop_sync(&policy.periodic);
}

static void start_and_stop_policies(void)
{
	struct twheel_config config = { .threads = true, .tick_ns = 10000 };
	pthread_t server, toucher;
	unsigned int i;
	int over = 0;

	wheel = twheel_create(&config);
	CHECK(wheel);
	twheel_periodic_init(&policy.periodic, wheel, policy_again);
	twheel_idle_init(&policy.idle, wheel, policy_silent);
	CHECK(!pthread_create(&server, NULL, serve, NULL));
	CHECK(!pthread_create(&toucher, NULL, policy_touch, &over));
	for (i = 0; i < 200; i++)
		policy_round(i);
	for (i = 0; i < 200; i++)
		policy_just_taken(i);
	__atomic_store_n(&over, 1, __ATOMIC_RELAXED);
	CHECK(!pthread_join(toucher, NULL));
	CHECK(twheel_stop(wheel, NULL, NULL) == 0);
	CHECK(!pthread_join(server, NULL));
	CHECK(twheel_destroy(wheel) == 0);
}

static uint64_t touched_at;

static void touched_silence(struct twheel_idle *idle)
{
	CHECK(twheel_now(wheel) >= __atomic_load_n(&touched_at, __ATOMIC_RELAXED) + MS / 5);
	twheel_idle_start(idle, MS / 5);
}

static void *touched_touch(void *over)
{
	while (!__atomic_load_n((int *)over, __ATOMIC_RELAXED)) {
		uint64_t now = twheel_now(wheel);

		if (twheel_idle_touch(&policy.idle) >= 0)
			__atomic_store_n(&touched_at, now, __ATOMIC_RELAXED);
	}
	return NULL;
}

static void *touched_set(void *over)
{
	while (!__atomic_load_n((int *)over, __ATOMIC_RELAXED))
		twheel_idle_set_timeout(&policy.idle, MS / 5);
	return NULL;
}

/* With three threads on two CPUs, a call that sets the timeout is often held up in the middle. */
static void touch_beats_a_set_that_is_held_up(void)
{
	struct twheel_config config = { .threads = true, .tick_ns = 1000 };
	pthread_t toucher, setter;
	int over = 0;
	uint64_t end;

	wheel = twheel_create(&config);
	CHECK(wheel);
	end = twheel_now(wheel) + 1000 * MS;
	twheel_idle_init(&policy.idle, wheel, touched_silence);
	CHECK(twheel_idle_start(&policy.idle, MS / 5) == 0);
	CHECK(!pthread_create(&toucher, NULL, touched_touch, &over));
	CHECK(!pthread_create(&setter, NULL, touched_set, &over));
	while (twheel_now(wheel) < end)
		twheel_run(wheel, 16);
	__atomic_store_n(&over, 1, __ATOMIC_RELAXED);
	CHECK(!pthread_join(toucher, NULL) && !pthread_join(setter, NULL));
	CHECK(twheel_destroy(wheel) == 0);
}

int main(int argc, char **argv)
{
	struct twheel_config config = { .threads = true, .tick_ns = 10000 };
	pthread_t workers[THREADS], server;
	struct twheel_stats stats;
	unsigned int i, j;
	long unfired;

	wait_for_callbacks();
	cancel_what_is_always_due();
	wait_for_the_outer_callback();
	start_and_stop_policies();
	touch_beats_a_set_that_is_held_up();
	rounds = argc > 1 ? strtoul(argv[1], NULL, 0) : 100000;
	wheel = twheel_create(&config);
	CHECK(wheel);
	for (i = 0; i < THREADS; i++)
		for (j = 0; j < TIMERS; j++)
			twheel_timer_init(&shared[i][j].timer, wheel, fire);
	CHECK(!pthread_create(&server, NULL, serve, NULL));
	for (i = 0; i < THREADS; i++)
		CHECK(!pthread_create(&workers[i], NULL, work, (void *)(uintptr_t)i));
	for (i = 0; i < THREADS; i++)
		CHECK(!pthread_join(workers[i], NULL));
	unfired = twheel_stop(wheel, NULL, NULL);
	CHECK(!pthread_join(server, NULL));
	twheel_get_stats(wheel, &stats);
	CHECK(stats.fired == all_fired && stats.pending == 0);
	CHECK(unfired >= 0 && stats.unfired == (uint64_t)unfired);
	CHECK(twheel_destroy(wheel) == 0);
	printf("ok threads, %lu callbacks\n", all_fired);
	return 0;
}
