// SPDX-License-Identifier: GPL-2.0-only
/*
 * Threads of one wheel arm in bases of their own: what holds over all of them. Where the clock is
 * the program's, the main thread and another one do their parts in turn. If the process has two
 * CPUs, they have two bases.
 */
#define _GNU_SOURCE	/* sched_getaffinity() */
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fired.h"

#define EACH	200
#define HOUR	(3600000 * MS)

/**
 * struct owned - a timer of one of two threads
 * @timer: the timer
 * @other: of the other thread
 * @place: when that has armed it
 * @handed: how often a walk has handed it out, or twheel_stop() has handed it back
 */
struct owned {
	struct twheel_timer timer;
	bool other;
	unsigned int place;
	unsigned int handed;
};

static struct owned owned[2 * EACH];
static struct twheel *wheel;

static struct twheel *make_bases(struct twheel_config config)
{
	config.clock = TWHEEL_CLOCK_PROGRAM;
	config.threads = true;
	return make(config);
}

/* Has each of the two threads a base? */
static bool bases_apart(void)
{
	cpu_set_t set;

	return sched_getaffinity(0, sizeof(set), &set) || CPU_COUNT(&set) > 1;
}

/* The other thread, and what it is to do. */
static struct {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	void (*job)(void *arg);
	void *arg;
	bool begun;
} other = { .lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER };

static void *other_work(void *arg)
{
	pthread_mutex_lock(&other.lock);
	for (;;) {
		while (!other.job)
			pthread_cond_wait(&other.changed, &other.lock);
		pthread_mutex_unlock(&other.lock);
		other.job(other.arg);
		pthread_mutex_lock(&other.lock);
		other.job = NULL;
		pthread_cond_broadcast(&other.changed);
	}
	return arg;
}

/* The other thread begins it. The threads are numbered in the order of their first arms. */
static void other_begin(void (*job)(void *arg), void *arg)
{
	struct twheel_timer timer;
	pthread_t thread;

	if (!other.begun) {
		other.begun = true;
		twheel_timer_init(&timer, wheel, fire);
		CHECK(!pthread_create(&thread, NULL, other_work, NULL));
	}
	pthread_mutex_lock(&other.lock);
	other.job = job;
	other.arg = arg;
	pthread_cond_broadcast(&other.changed);
	pthread_mutex_unlock(&other.lock);
}

static void other_end(void)
{
	pthread_mutex_lock(&other.lock);
	while (other.job)
		pthread_cond_wait(&other.changed, &other.lock);
	pthread_mutex_unlock(&other.lock);
}

/* Have the other thread do it. */
static void in_other(void (*job)(void *arg), void *arg)
{
	other_begin(job, arg);
	other_end();
}

static void init(struct twheel_timer *timer, twheel_fn function)
{
	twheel_timer_init(timer, wheel, function);
}

/* How they are armed: for an instant, and in which order. */
static uint64_t owned_seed, owned_from, owned_ticks;
static unsigned int owned_places;
static twheel_fn owned_function;

static void owned_arm(void *arg)
{
	unsigned int i, part = arg ? EACH : 0;

	for (i = 0; i < EACH; i++) {
		struct owned *o = &owned[part + i];

		*o = (struct owned) { .other = arg, .place = ++owned_places };
		init(&o->timer, owned_function);
		CHECK(twheel_arm_at(&o->timer, owned_from + chance(&owned_seed) % owned_ticks *
				    MS) == 0);
	}
}

static void owned_arm_all(twheel_fn function, uint64_t from_ns, uint64_t ticks)
{
	owned_function = function;
	owned_from = from_ns;
	owned_ticks = ticks;
	owned_seed = 20261129;
	owned_arm(NULL);
	in_other(owned_arm, owned);
}

/* The tick and the place of the last one of each thread. */
static struct {
	uint64_t tick;
	unsigned int place;
	unsigned int count;
} order[2];

static uint64_t order_ticks[2 * EACH];

static void order_fire(struct twheel_timer *timer)
{
	struct owned *o = (struct owned *)timer;
	uint64_t tick = order_ticks[o - owned];

	CHECK(tick > order[o->other].tick ||
	      (tick == order[o->other].tick && o->place > order[o->other].place));
	order[o->other].tick = tick;
	order[o->other].place = o->place;
	order[o->other].count++;
	fired++;
}

static void order_begin(uint64_t ticks)
{
	unsigned int i;

	wheel = make_bases((struct twheel_config) { .start_ns = MS });
	memset(order, 0, sizeof(order));
	owned_arm_all(order_fire, 10 * MS, ticks);
	for (i = 0; i < 2 * EACH; i++)
		order_ticks[i] = twheel_deadline(&owned[i].timer) / MS;
}

/* What one thread has armed comes in the order of ticks, and in a tick in the order of arms. */
TEST(order_of_each_thread)
{
	static const unsigned int mosts[] = { 1, 7, 4096 };
	static struct twheel_timer *due[64];
	unsigned int i;
	uint64_t now;
	int n, at;

	for (i = 0; i < 2 * ARRAY_SIZE(mosts); i++) {
		order_begin(40);
		for (now = MS; fired < 2 * EACH; now += 3 * MS) {
			CHECK(twheel_set_now(wheel, now) == 0);
			if (i % 2) {
				while ((n = twheel_collect(wheel, due, 1 + mosts[i / 2] % 64)) > 0)
					for (at = 0; at < n; at++)
						order_fire(due[at]);
				CHECK(n == 0);
				continue;
			}
			while ((n = twheel_run(wheel, mosts[i / 2])) == 1)
				;
			CHECK(n == 0);
		}
		CHECK(now <= 60 * MS && twheel_next(wheel) > TWHEEL_NEVER);
		CHECK(twheel_destroy(wheel) == 0);
	}
}

/* Of two threads that have both much to do, none waits for the other. */
TEST(most_is_fair)
{
	unsigned int i;

	order_begin(1);
	CHECK(twheel_set_now(wheel, 10 * MS) == 0);
	for (i = 1; i <= EACH; i++) {
		CHECK(twheel_run(wheel, 1) == 1 && fired == (int)(2 * i - 1));
		CHECK(twheel_run(wheel, 1) == (i < EACH) && fired == (int)(2 * i));
		CHECK(!bases_apart() || (order[0].count == i && order[1].count == i));
	}
	CHECK(twheel_run(wheel, 0) == -EINVAL && twheel_run(wheel, 1) == 0);
	CHECK(twheel_destroy(wheel) == 0);
}

/* Of each thread, one that is due, and two that a callback arms for the past. */
static struct {
	struct twheel_timer due;
	struct twheel_timer idle;
	struct twheel_timer far;
} past[2];

static void past_fire(struct twheel_timer *timer)
{
	unsigned int i;

	fire(timer);
	for (i = 0; i < 2; i++) {
		twheel_arm_at(&past[i].idle, 1);
		twheel_arm_at(&past[i].far, 1);
	}
}

static void past_arm(void *arg)
{
	const unsigned int i = !!arg;

	init(&past[i].due, past_fire);
	init(&past[i].idle, fire);
	init(&past[i].far, fire);
	CHECK(twheel_arm_at(&past[i].due, 5 * MS) == 0);
	CHECK(twheel_arm_at(&past[i].idle, 5 * MS) == 0 && twheel_cancel(&past[i].idle) == 1);
	CHECK(twheel_arm_at(&past[i].far, HOUR) == 0);
}

/* In whatever base, what a callback arms for the past waits for the next call. */
TEST(past_waits_for_the_next_call)
{
	wheel = make_bases((struct twheel_config) { .start_ns = MS });
	past_arm(NULL);
	in_other(past_arm, past);
	CHECK(twheel_set_now(wheel, 6 * MS) == 0);
	CHECK(twheel_run(wheel, 64) == 1 && fired == 2);
	CHECK(twheel_run(wheel, 64) == 0 && fired == 6);
	CHECK(twheel_next(wheel) > TWHEEL_NEVER && twheel_destroy(wheel) == 0);
}

static struct twheel_timer nested_last;

static void nested_fire(struct twheel_timer *timer)
{
	order_fire(timer);
	CHECK(twheel_next(wheel) == 0);
	if (fired % 5 == 0)
		CHECK(twheel_run(wheel, fired % 3 + 1) >= 0 && twheel_next(wheel));
	CHECK(twheel_cancel_sync(timer) == -EDEADLK && twheel_stop(wheel, NULL, NULL) == -EDEADLK);
	CHECK(twheel_cancel_sync(&nested_last) == 0);
}

/* A callback serves the wheel itself, whose bases have all begun a round. */
TEST(callbacks_serve)
{
	unsigned int i;

	order_begin(30);
	init(&nested_last, fire);
	for (i = 0; i < 2 * EACH; i++)
		owned[i].timer.tw_function = nested_fire;
	for (i = 0; fired < 2 * EACH; i++) {
		CHECK(twheel_set_now(wheel, (1 + i) * MS) == 0);
		CHECK(twheel_run(wheel, 9) >= 0 && twheel_next(wheel));
	}
	CHECK(twheel_run(wheel, 64) == 0 && twheel_next(wheel) > TWHEEL_NEVER);
	CHECK(twheel_destroy(wheel) == 0);
}

static uint64_t told_ns;
static unsigned int told;

static void tell(struct twheel *w, uint64_t next_ns)
{
	(void)w;
	told_ns = next_ns;
	told++;
}

static struct twheel_timer soon[4];

static void soon_arm(void *at)
{
	init(&soon[1], fire);
	CHECK(twheel_arm_at(&soon[1], *(uint64_t *)at) == 0);
}

static bool readable(void)
{
	struct pollfd poll_fd = { .fd = twheel_fd(wheel), .events = POLLIN };

	CHECK(poll_fd.fd >= 0);
	return poll(&poll_fd, 1, 0) == 1;
}

/* The next event is the earliest of all bases. So say the descriptor and what a loop is told. */
TEST(next_of_all)
{
	uint64_t at = 50 * MS;

	wheel = make_bases((struct twheel_config) { .start_ns = MS, .notify = tell });
	told = 0;
	init(&soon[0], fire);
	CHECK(twheel_next(wheel) > TWHEEL_NEVER && !readable());
	CHECK(twheel_arm_at(&soon[0], 100 * MS) == 0 && told == 1 && told_ns == 100 * MS);
	in_other(soon_arm, &at);
	CHECK(told == 2 && told_ns == 50 * MS && twheel_next(wheel) == 50 * MS);
	/* Earlier than all others of this thread, and not of the wheel. */
	init(&soon[2], fire);
	CHECK(twheel_arm_at(&soon[2], 70 * MS) == 0);
	CHECK(told == 2 && twheel_next(wheel) == 50 * MS);
	CHECK(twheel_set_now(wheel, 49 * MS) == 0 && !readable());
	CHECK(twheel_set_now(wheel, 50 * MS) == 0 && readable());
	CHECK(twheel_run(wheel, 8) == 0 && last == &soon[1] && !readable());
	CHECK(twheel_next(wheel) == 70 * MS);
	CHECK(twheel_set_now(wheel, 75 * MS) == 0 && readable());
	CHECK(twheel_run(wheel, 8) == 0 && last == &soon[2] && !readable());
	CHECK(twheel_next(wheel) == 100 * MS && twheel_stop(wheel, NULL, NULL) == 1);
	CHECK(told == 3 && told_ns == 0);
	CHECK(twheel_destroy(wheel) == 0);
}

static int wander_fired;

static void wander_fire(struct twheel_timer *timer)
{
	wander_fired++;
	/* It stays where its callback runs. */
	if (wander_fired % 2)
		CHECK(twheel_arm_at(timer, twheel_now(wheel) + MS) == 0);
}

static void wander_arm(void *timer)
{
	int pending = twheel_pending(timer);

	CHECK(twheel_arm_at(timer, twheel_now(wheel) + 3 * MS) == pending);
	CHECK(twheel_modify_at(timer, twheel_now(wheel) + 2 * MS) == 1);
	CHECK(twheel_extend_at(timer, twheel_now(wheel) + 3 * MS) == 1);
	CHECK(twheel_of(timer) == wheel && twheel_remaining(timer) == 3 * MS);
}

static void wander_cancel(void *timer)
{
	CHECK(twheel_cancel(timer) == 1 && twheel_cancel_sync(timer) == 0);
}

static void wander_run(void *arg)
{
	(void)arg;
	CHECK(twheel_set_now(wheel, twheel_now(wheel) + 3 * MS) == 0);
	CHECK(twheel_run(wheel, 8) == 0);
}

/* A timer is armed, cancelled and served by two threads, in all orders. */
TEST(wanderer)
{
	static void (*const jobs[])(void *arg) = { wander_arm, wander_cancel, wander_run };
	uint64_t cancelled = 0, seed = 7;
	struct twheel_timer timer;
	struct twheel_stats stats;
	unsigned int i;

	wheel = make_bases((struct twheel_config) { .start_ns = MS });
	init(&timer, wander_fire);
	wander_fired = 0;
	for (i = 0; i < 3000; i++) {
		unsigned int job = chance(&seed) % ARRAY_SIZE(jobs);

		if (job == 1 && !twheel_pending(&timer))
			job = 0;
		cancelled += job == 1;
		if (chance(&seed) % 2)
			in_other(jobs[job], &timer);
		else
			jobs[job](&timer);
		twheel_get_stats(wheel, &stats);
		CHECK(stats.fired == (uint64_t)wander_fired && stats.cancelled == cancelled);
		CHECK(stats.pending == twheel_pending(&timer));
	}
	CHECK(wander_fired > 100 && cancelled > 100);
	twheel_cancel(&timer);
	CHECK(twheel_destroy(wheel) == 0);
}

static int walk_left;

static int walk_all(struct twheel_timer *timer, void *arg)
{
	struct owned *o = (struct owned *)timer, *peer = &owned[(o - owned + EACH) % (2 * EACH)];

	(void)arg;
	o->handed++;
	/* The one that has not had its turn goes, and comes to the base of this thread. */
	if (o->place % 3 != 1 && !peer->handed && twheel_cancel(&peer->timer) == 1) {
		peer->handed = 1;
		CHECK(twheel_arm_at(&peer->timer, HOUR) == 0);
		CHECK(twheel_walk(wheel, walk_all, NULL) == -EBUSY);
	}
	CHECK(twheel_run(wheel, 1) == -EBUSY && twheel_walk(wheel, walk_all, NULL) == -EBUSY);
	return walk_left && !--walk_left ? 7 : 0;
}

static void walk_check(void *arg)
{
	unsigned int i;

	(void)arg;
	CHECK(twheel_walk(wheel, walk_all, NULL) == 0);
	for (i = 0; i < 2 * EACH; i++) {
		CHECK(owned[i].handed == 1 && twheel_pending(&owned[i].timer));
		owned[i].handed = 0;
	}
}

/* A walk hands out the timers of all threads once, and what it arms not at all. */
TEST(walk_over_all)
{
	unsigned int i, handed = 0;

	wheel = make_bases((struct twheel_config) { .start_ns = MS });
	owned_arm_all(fire, 10 * MS, 100000);
	walk_check(NULL);
	in_other(walk_check, NULL);
	walk_left = EACH + 10;
	CHECK(twheel_walk(wheel, walk_all, NULL) == 7);
	for (i = 0; i < 2 * EACH; i++)
		handed += owned[i].handed;
	CHECK(handed >= EACH + 10 && handed < 2 * EACH);
	CHECK(twheel_set_now(wheel, HOUR) == 0);
	while (twheel_run(wheel, 64) == 1)
		;
	CHECK(fired == 2 * EACH && twheel_destroy(wheel) == 0);
}

static void stop_take(struct twheel_timer *timer, void *arg)
{
	struct owned *o = (struct owned *)timer;

	o->handed++;
	++*(int *)arg;
	CHECK(!twheel_pending(timer) && twheel_arm_at(timer, HOUR) == -ESHUTDOWN);
	CHECK(twheel_cancel_sync(timer) == 0 && twheel_stop(wheel, NULL, NULL) == -EDEADLK);
}

static void stop_all(void *arg)
{
	int count = 0;

	(void)arg;
	CHECK(twheel_stop(wheel, stop_take, &count) == 2 * EACH && count == 2 * EACH);
}

static void stop_check(void)
{
	struct twheel_stats stats;
	unsigned int i;

	for (i = 0; i < 2 * EACH; i++)
		CHECK(owned[i].handed == 1 && !twheel_pending(&owned[i].timer));
	twheel_get_stats(wheel, &stats);
	CHECK(stats.unfired == 2 * EACH && stats.pending == 0);
	CHECK(twheel_run(wheel, 1) == -ESHUTDOWN && twheel_next(wheel) > TWHEEL_NEVER);
	CHECK(twheel_walk(wheel, walk_all, NULL) == -ESHUTDOWN);
	CHECK(twheel_stop(wheel, NULL, NULL) == -EALREADY);
}

/* The timers of all threads are handed back, whoever stops the wheel. */
TEST(stop_of_all)
{
	wheel = make_bases((struct twheel_config) { .start_ns = MS });
	owned_arm_all(fire, 10 * MS, 100000);
	in_other(stop_all, NULL);
	stop_check();
	CHECK(twheel_destroy(wheel) == 0);
}

/* In the child of a fork(), too, which another thread does not share. */
TEST(fork_of_all)
{
	int status;
	pid_t child;

	wheel = make_bases((struct twheel_config) { .start_ns = MS });
	owned_arm_all(fire, 10 * MS, 100000);
	child = fork();
	CHECK(child >= 0);
	if (!child) {
		CHECK(twheel_run(wheel, 1) == -ESHUTDOWN && twheel_fd(wheel) == -ESHUTDOWN);
		stop_all(NULL);
		stop_check();
		_exit(0);
	}
	CHECK(waitpid(child, &status, 0) == child && status == 0);
	in_other(stop_all, NULL);
	CHECK(twheel_destroy(wheel) == 0);
}

/* In a callback, another thread initialises a timer in the memory that the callback has freed. */
static void renew_init(void *timer)
{
	init(timer, fire);
}

static void renew_fire(struct twheel_timer *timer)
{
	in_other(renew_init, timer);
	CHECK(twheel_cancel_sync(timer) == 0);
	init(timer, fire);
	CHECK(twheel_cancel_sync(timer) == 0);
}

static void renew_arm(void *timer)
{
	init(timer, renew_fire);
	CHECK(twheel_arm_at(timer, 2 * MS) == 0);
}

/* It is not the one whose callback runs, whoever has armed that. */
TEST(new_timer_in_a_callback)
{
	struct twheel_timer timer;
	uint64_t now;

	wheel = make_bases((struct twheel_config) { .start_ns = MS });
	for (now = 2 * MS; now < 8 * MS; now += MS) {
		if (now / MS % 2)
			renew_arm(&timer);
		else
			in_other(renew_arm, &timer);
		CHECK(twheel_set_now(wheel, now) == 0 && twheel_run(wheel, 8) >= 0);
	}
	CHECK(twheel_destroy(wheel) == 0);
}

static int stage;

static void stage_set(int reached)
{
	__atomic_store_n(&stage, reached, __ATOMIC_RELEASE);
}

static void stage_wait(int wanted)
{
	while (__atomic_load_n(&stage, __ATOMIC_ACQUIRE) < wanted)
		usleep(1000);
}

/* Each of the two is held until the next stage but one. */
static void held_fire(struct twheel_timer *timer)
{
	const int begun = 1 + 2 * fired++;

	(void)timer;
	stage_set(begun);
	stage_wait(begun + 1);
}

static struct twheel_timer held[2];

static void held_arm(void *timer)
{
	init(timer, held_fire);
	CHECK(twheel_arm_at(timer, 2 * MS) == 0);
}

static void held_run(void *arg)
{
	(void)arg;
	CHECK(twheel_run(wheel, 1) == 1 && twheel_run(wheel, 1) == 0);
}

/* In the child, the callback that another thread was in has ended, and nobody serves the wheel. */
static void held_child(void)
{
	const int pending = twheel_pending(&held[0]) + twheel_pending(&held[1]);

	CHECK(pending < 2 && twheel_run(wheel, 1) == -ESHUTDOWN);
	CHECK(twheel_cancel_sync(&held[0]) + twheel_cancel_sync(&held[1]) == pending);
	CHECK(twheel_stop(wheel, NULL, NULL) == 0 && twheel_destroy(wheel) == 0);
}

TEST(fork_in_a_callback_of_another_thread)
{
	unsigned int i;
	int status;
	pid_t child;

	wheel = make_bases((struct twheel_config) { .start_ns = MS });
	held_arm(&held[0]);
	in_other(held_arm, &held[1]);
	CHECK(twheel_set_now(wheel, 2 * MS) == 0);
	stage_set(0);
	other_begin(held_run, NULL);
	for (i = 0; i < 2; i++) {
		stage_wait(1 + 2 * i);
		CHECK(twheel_run(wheel, 1) == -EBUSY);
		CHECK(twheel_walk(wheel, walk_all, NULL) == -EBUSY);
		child = fork();
		CHECK(child >= 0);
		if (!child) {
			held_child();
			_exit(0);
		}
		CHECK(waitpid(child, &status, 0) == child && status == 0);
		stage_set(2 + 2 * i);
	}
	other_end();
	CHECK(twheel_destroy(wheel) == 0);
}

/* A crowd, which has to be moved before its bucket is reached. */
#define AHEAD	9

static void ahead_arm(void *timers)
{
	struct twheel_timer *timer = timers;
	unsigned int i;

	for (i = 0; i < AHEAD; i++) {
		init(&timer[i], fire);
		CHECK(twheel_arm_at(&timer[i], 600 * MS) == 0);
	}
}

/* How many timers have moved to a lower level, after each step of the clock. */
static void ahead_steps(bool by_other, uint64_t cascades[8])
{
	struct twheel_timer timers[AHEAD];
	struct twheel_stats stats;
	unsigned int i;

	wheel = make_bases((struct twheel_config) { .start_ns = MS });
	if (by_other)
		in_other(ahead_arm, timers);
	else
		ahead_arm(timers);
	for (i = 0; i < 8; i++) {
		CHECK(twheel_set_now(wheel, (100 + i * 70) * MS) == 0);
		CHECK(twheel_run(wheel, 8) == 0 && fired == 0);
		twheel_get_stats(wheel, &stats);
		cascades[i] = stats.cascades;
	}
	CHECK(twheel_stop(wheel, NULL, NULL) == AHEAD && twheel_destroy(wheel) == 0);
}

/* A call that serves moves timers of all threads ahead of time, so that no tick has much work. */
TEST(moves_ahead_of_time)
{
	uint64_t own[8], others[8];

	ahead_steps(false, own);
	ahead_steps(true, others);
	CHECK(!memcmp(own, others, sizeof(own)) && own[0] == 0 && own[7] == AHEAD);
}
