// SPDX-License-Identifier: GPL-2.0-only
/* A walk hands out each pending timer once, whatever the program does meanwhile. */
#include <pthread.h>
#include <sys/epoll.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fired.h"

#define WALKED	300

/* A timer, and what is known of it. */
struct walked {
	struct twheel_timer timer;
	/* It was pending when the walk began, and is since then. */
	bool expected;
	unsigned int handed;
	/* When it was armed. 0: it was moved while pending, and has no place in its tick. */
	uint64_t place;
	bool past;
};

static struct walked walked[WALKED];
static uint64_t walk_seed, walk_arms;
static int walk_most;

static uint64_t walk_deadline(const struct twheel *wheel)
{
	/* In the past, in crowds of one tick, and on all levels. */
	uint64_t now = twheel_now(wheel), far = MS << chance(&walk_seed) % 40;

	switch (chance(&walk_seed) % 4) {
	case 0:
		return now - chance(&walk_seed) % (3 * MS);
	case 1:
	case 2:
		return now + (1 + chance(&walk_seed) % 8) * 100 * MS;
	default:
		return now + chance(&walk_seed) % far;
	}
}

static void walk_moved(struct walked *one, bool pending)
{
	one->place = pending ? 0 : ++walk_arms;
	one->past = (twheel_deadline(&one->timer) + MS - 1) / MS <=
		    twheel_now(twheel_of(&one->timer)) / MS;
}

static void walk_arm(struct walked *one)
{
	bool pending = twheel_pending(&one->timer);

	CHECK(twheel_arm_at(&one->timer, walk_deadline(twheel_of(&one->timer))) == pending);
	walk_moved(one, pending);
}

static void walk_cancel(struct walked *one)
{
	bool pending = twheel_pending(&one->timer);

	CHECK(twheel_cancel(&one->timer) == pending);
	one->expected = false;
}

/* Any call on any timer, the one that is handed out included. */
static void walk_change(struct twheel *wheel)
{
	struct walked *one = &walked[chance(&walk_seed) % WALKED];

	switch (chance(&walk_seed) % 5) {
	case 0:
		walk_cancel(one);
		break;
	case 1:
		walk_arm(one);
		break;
	case 2:
		if (twheel_modify_at(&one->timer, walk_deadline(wheel)) == 1)
			walk_moved(one, true);
		break;
	case 3:
		if (twheel_extend_at(&one->timer, walk_deadline(wheel)) == 1)
			walk_moved(one, true);
		break;
	default:
		break;
	}
}

static int walk_hand_out(struct twheel_timer *timer, void *arg)
{
	struct walked *one = (struct walked *)timer;

	CHECK(arg == walked && twheel_pending(timer) && one->expected && !one->handed);
	one->handed++;
	walk_change(twheel_of(timer));
	walk_change(twheel_of(timer));
	return --walk_most ? 0 : 7;
}

/* The tick that is being served, and the timer of it that came last. 0: whatever is due. */
static uint64_t walk_tick, walk_place;

/* It is on its tick, or at once; and after those of its tick that were armed earlier. */
static void walk_fire(struct twheel_timer *timer)
{
	struct walked *one = (struct walked *)timer;
	uint64_t now = twheel_now(twheel_of(timer)) / MS;

	fired++;
	if (one->past || !walk_tick)
		return;
	CHECK(now == walk_tick);
	CHECK(!one->place || one->place > walk_place);
	if (one->place)
		walk_place = one->place;
}

static int walk_pending(void)
{
	int i, n = 0;

	for (i = 0; i < WALKED; i++)
		n += twheel_pending(&walked[i].timer);
	return n;
}

/* The first tick that a timer waits for. */
static uint64_t walk_first(void)
{
	uint64_t first = TWHEEL_NEVER;
	int i;

	for (i = 0; i < WALKED; i++) {
		if (!walked[i].past && twheel_deadline(&walked[i].timer) < first)
			first = twheel_deadline(&walked[i].timer);
	}
	return (first + MS - 1) / MS;
}

static void walk_serve_all(struct twheel *wheel)
{
	int pending = walk_pending();

	fired = 0;
	while (walk_pending()) {
		walk_tick = walk_first();
		walk_place = 0;
		CHECK(twheel_next(wheel) <= walk_tick * MS);
		twheel_advance(wheel, walk_tick * MS);
		CHECK(fired);
	}
	CHECK(fired == pending);
}

static void walk_once(bool threads, int most)
{
	struct twheel *wheel = make((struct twheel_config) {
		.clock = TWHEEL_CLOCK_VIRTUAL, .start_ns = 1000000 * MS, .threads = threads,
		.slots = chance(&walk_seed) % 2 ? 8 : 256,
	});
	bool all;
	int i, ret, handed = 0;

	walk_tick = 0;
	for (i = 0; i < WALKED; i++) {
		walked[i] = (struct walked) { };
		twheel_timer_init(&walked[i].timer, wheel, walk_fire);
		if (chance(&walk_seed) % 4)
			walk_arm(&walked[i]);
	}
	/* Some are on the way to lower levels. */
	if (most % 2)
		twheel_advance(wheel, 1000050 * MS);
	for (i = 0; i < WALKED; i++) {
		if (chance(&walk_seed) % 3 == 0)
			walk_arm(&walked[i]);
		walked[i].expected = twheel_pending(&walked[i].timer);
	}
	walk_most = most;
	ret = twheel_walk(wheel, walk_hand_out, walked);
	all = ret == 0;
	CHECK(all ? walk_most > 0 : ret == 7 && walk_most == 0);
	for (i = 0; i < WALKED; i++) {
		handed += walked[i].handed;
		CHECK(!all || !walked[i].expected || walked[i].handed == 1);
	}
	CHECK(all || handed == most);
	walk_serve_all(wheel);
	CHECK(twheel_destroy(wheel) == 0);
}

TEST(each_once)
{
	int i;

	walk_seed = 20261129;
	for (i = 0; i < 400; i++)
		walk_once(i % 3 == 0, i % 4 ? WALKED + i : 1 + i % 100);
}

static int walk_refusals(struct twheel_timer *timer, void *arg)
{
	struct twheel *wheel = twheel_of(timer);
	struct twheel_timer *due;

	CHECK(twheel_run(wheel, 1) == -EBUSY && twheel_collect(wheel, &due, 1) == -EBUSY);
	CHECK(twheel_walk(wheel, walk_refusals, arg) == -EBUSY);
	CHECK(twheel_advance(wheel, 9 * MS) > TWHEEL_NEVER && twheel_next(wheel) == 0);
	CHECK(twheel_stop(wheel, NULL, NULL) == -EDEADLK && twheel_destroy(wheel) == -EDEADLK);
	CHECK(twheel_cancel_sync(timer) == -EDEADLK && twheel_shutdown_sync(timer) == -EDEADLK);
	++*(int *)arg;
	return 0;
}

static void walk_unfired(struct twheel_timer *timer, void *arg)
{
	CHECK(twheel_walk(twheel_of(timer), walk_refusals, arg) == -ESHUTDOWN);
}

TEST(refusals)
{
	struct twheel *wheel;
	struct twheel_timer timer;
	int threads, calls;

	for (threads = 0; threads < 2; threads++) {
		wheel = make((struct twheel_config) {
			.clock = TWHEEL_CLOCK_VIRTUAL, .threads = threads });
		calls = 0;
		twheel_timer_init(&timer, wheel, fire);
		CHECK(twheel_walk(wheel, walk_refusals, &calls) == 0 && calls == 0);
		CHECK(twheel_arm_at(&timer, MS) == 0);
		CHECK(twheel_walk(wheel, walk_refusals, &calls) == 0 && calls == 1);
		CHECK(twheel_next(wheel) == MS && twheel_now(wheel) == 0);
		CHECK(twheel_stop(wheel, walk_unfired, &calls) == 1);
		CHECK(twheel_walk(wheel, walk_refusals, &calls) == -ESHUTDOWN && calls == 1);
		CHECK(twheel_destroy(wheel) == 0);
	}
}

static int walk_free(struct twheel_timer *timer, void *arg)
{
	++*(int *)arg;
	CHECK(twheel_cancel(timer) == 1);
	free(timer);
	return 0;
}

TEST(each_may_be_freed)
{
	struct twheel *wheel = make((struct twheel_config) { });
	struct twheel_stats stats;
	int i, freed = 0;

	for (i = 0; i < 1000; i++) {
		struct twheel_timer *timer = malloc(sizeof(*timer));

		CHECK(timer);
		twheel_timer_init(timer, wheel, fire);
		CHECK(twheel_arm(timer, i * i * MS) == 0);
	}
	CHECK(twheel_walk(wheel, walk_free, &freed) == 0 && freed == 1000);
	twheel_get_stats(wheel, &stats);
	CHECK(stats.pending == 0 && stats.cancelled == 1000);
	CHECK(twheel_next(wheel) > TWHEEL_NEVER && twheel_destroy(wheel) == 0);
}

static struct twheel_timer walk_timers[4];

static int walk_counts(struct twheel_timer *timer, void *arg)
{
	CHECK(twheel_pending(timer));
	++*(int *)arg;
	return 0;
}

static void walk_inside(struct twheel_timer *timer)
{
	int calls = 0;

	fire(timer);
	/* For the past: the next call serves it. */
	CHECK(twheel_arm_at(timer, 0) == 0);
	CHECK(twheel_walk(twheel_of(timer), walk_counts, &calls) == 0);
	/* Itself, those of this round that are still to come, and the one that is not due. */
	CHECK(calls == (fired == 1 ? 4 : 2));
}

/* In a callback: the round goes on with what is left of it, and with no more. */
TEST(in_a_callback)
{
	struct twheel *wheel = make((struct twheel_config) { .clock = TWHEEL_CLOCK_VIRTUAL });
	int i;

	for (i = 0; i < 4; i++) {
		twheel_timer_init(&walk_timers[i], wheel, i ? fire : walk_inside);
		CHECK(twheel_arm_at(&walk_timers[i], i < 3 ? 5 * MS : 3000 * MS) == 0);
	}
	CHECK(twheel_advance(wheel, 6 * MS) <= 6 * MS && fired == 3);
	CHECK(last == &walk_timers[2] && twheel_pending(&walk_timers[0]));
	CHECK(twheel_advance(wheel, 6 * MS) <= 6 * MS && fired == 4 && last == &walk_timers[0]);
	CHECK(twheel_cancel(&walk_timers[0]) == 1);
	CHECK(twheel_advance(wheel, 2999 * MS) <= 3000 * MS && fired == 4);
	twheel_advance(wheel, 3000 * MS);
	CHECK(fired == 5 && last == &walk_timers[3] && twheel_destroy(wheel) == 0);
}

static int round_next;

/* In the order of their ticks; and the callback of the first one walks. */
static void walk_in_round(struct twheel_timer *timer)
{
	int calls = 0;

	CHECK(timer == &walk_timers[round_next++]);
	if (round_next == 1)
		CHECK(twheel_walk(twheel_of(timer), walk_counts, &calls) == 0 && calls == 3);
}

/* A round that is not over goes on in the order of ticks, and to its end. */
TEST_ON(in_a_round, VIRTUAL, PROGRAM)
{
	struct twheel *wheel = make((struct twheel_config) { .clock = clock });
	int i;

	round_next = 0;
	for (i = 0; i < 4; i++) {
		twheel_timer_init(&walk_timers[i], wheel, walk_in_round);
		CHECK(twheel_arm_at(&walk_timers[i], (10 + i * 200) * MS) == 0);
	}
	if (clock == TWHEEL_CLOCK_VIRTUAL) {
		CHECK(twheel_advance(wheel, 1000 * MS) > TWHEEL_NEVER);
	} else {
		CHECK(twheel_set_now(wheel, 1000 * MS) == 0);
		while (twheel_run(wheel, 1) == 1)
			CHECK(twheel_walk(wheel, walk_counts, &i) == 0);
	}
	CHECK(round_next == 4 && twheel_destroy(wheel) == 0);
}

static uint64_t walk_notified;

static void walk_notify(struct twheel *wheel, uint64_t next_ns)
{
	(void)wheel;
	walk_notified = next_ns;
}

static int walk_nearer(struct twheel_timer *timer, void *arg)
{
	CHECK(twheel_modify_at(timer, *(uint64_t *)arg) == 1 && walk_notified == UINT64_MAX);
	CHECK(twheel_deadline(timer) == *(uint64_t *)arg);
	return 0;
}

/* What becomes earlier in a walk is told at its end. */
TEST_ON(tells, MONOTONIC, PROGRAM)
{
	struct twheel *wheel = make((struct twheel_config) { .clock = clock,
							     .notify = walk_notify });
	uint64_t deadline;
	struct twheel_timer timer;

	twheel_timer_init(&timer, wheel, fire);
	CHECK(twheel_arm_at(&timer, twheel_now(wheel) + 3600000 * MS) == 0);
	CHECK(twheel_wait(wheel, 0) == 0);
	deadline = twheel_now(wheel) + 1000000 * MS;
	walk_notified = UINT64_MAX;
	CHECK(twheel_walk(wheel, walk_nearer, &deadline) == 0);
	CHECK(walk_notified == twheel_next(wheel));
	CHECK(twheel_next(wheel) <= deadline + MS);
	deadline = 0;
	walk_notified = UINT64_MAX;
	CHECK(twheel_walk(wheel, walk_nearer, &deadline) == 0);
	CHECK(walk_notified == twheel_next(wheel) && walk_notified <= twheel_now(wheel));
	CHECK(twheel_wait(wheel, 0) == 1 && twheel_destroy(wheel) == 0);
}

/* A clock was set back, and timers were still on the way when the walk began. */
TEST(set_back)
{
	struct twheel *wheel = make((struct twheel_config) { .clock = TWHEEL_CLOCK_VIRTUAL });
	int i, calls = 0;

	twheel_advance(wheel, 1000000 * MS);
	for (i = 0; i < 4; i++) {
		twheel_timer_init(&walk_timers[i], wheel, fire);
		CHECK(twheel_arm_at(&walk_timers[i], 1000000 * MS + (5 << 8 * i) * MS) == 0);
	}
	twheel_advance(wheel, 10 * MS);
	CHECK(twheel_cancel(&walk_timers[2]) == 1 && twheel_arm_at(&walk_timers[2], 30 * MS) == 0);
	CHECK(twheel_walk(wheel, walk_counts, &calls) == 0 && calls == 4 && !fired);
	twheel_advance(wheel, 29 * MS);
	CHECK(!fired);
	twheel_advance(wheel, 30 * MS);
	CHECK(fired == 1 && last == &walk_timers[2]);
	twheel_advance(wheel, 1000000 * MS + (5 << 24) * MS);
	CHECK(fired == 4 && twheel_destroy(wheel) == 0);
}

static int walk_forks(struct twheel_timer *timer, void *arg)
{
	pid_t *child = arg;

	if (!*child) {
		*child = fork();
		CHECK(*child >= 0);
		if (!*child) {
			/* Here it ends after this. */
			CHECK(twheel_cancel(timer) == 1);
			*child = -1;
		}
	}
	CHECK(*child != -1 || twheel_arm(timer, MS) == -ESHUTDOWN);
	return 0;
}

TEST(child)
{
	struct twheel *wheel = make((struct twheel_config) { });
	pid_t child = 0;
	int i, status, ret;

	for (i = 0; i < 4; i++) {
		twheel_timer_init(&walk_timers[i], wheel, fire);
		CHECK(twheel_arm(&walk_timers[i], 1000000 * MS << 4 * i) == 0);
	}
	ret = twheel_walk(wheel, walk_forks, &child);
	if (child == -1) {
		CHECK(twheel_stop(wheel, NULL, NULL) == 3 && twheel_destroy(wheel) == 0);
		_exit(0);
	}
	CHECK(ret == 0 && waitpid(child, &status, 0) == child && status == 0);
	CHECK(twheel_stop(wheel, NULL, NULL) == 4 && twheel_destroy(wheel) == 0);
}

/* Threads */

#define RACERS	3

static struct twheel *race_wheel;
static bool race_stop;
static uint64_t race_walks, race_handed, race_fired;

static void race_fire(struct twheel_timer *timer)
{
	(void)timer;
	__atomic_fetch_add(&race_fired, 1, __ATOMIC_RELAXED);
}

static int race_hand_out(struct twheel_timer *timer, void *arg)
{
	(void)arg;
	/* Another thread may have cancelled it, and waits if that is by twheel_cancel_sync(). */
	if (twheel_of(timer) == race_wheel)
		race_handed++;
	return __atomic_load_n(&race_stop, __ATOMIC_RELAXED);
}

static void *race_serve(void *arg)
{
	(void)arg;
	while (!__atomic_load_n(&race_stop, __ATOMIC_RELAXED)) {
		int ret = twheel_run(race_wheel, 64);

		CHECK(ret >= 0 || ret == -EBUSY);
	}
	return NULL;
}

/* Each frees its timers after twheel_cancel_sync(): no walk is at them any more. */
static void *race_change(void *arg)
{
	uint64_t seed = (uintptr_t)arg;
	struct twheel_timer *timers[20] = { };
	int i;

	while (!__atomic_load_n(&race_stop, __ATOMIC_RELAXED)) {
		i = chance(&seed) % 20;
		if (!timers[i]) {
			timers[i] = malloc(sizeof(*timers[i]));
			CHECK(timers[i]);
			twheel_timer_init(timers[i], race_wheel, race_fire);
		}
		CHECK(twheel_arm(timers[i], chance(&seed) % (20 * MS)) >= 0);
		if (chance(&seed) % 2)
			twheel_modify(timers[i], chance(&seed) % (20 * MS));
		twheel_extend(timers[i], chance(&seed) % (20 * MS));
		if (chance(&seed) % 4)
			continue;
		CHECK(twheel_cancel_sync(timers[i]) >= 0);
		free(timers[i]);
		timers[i] = NULL;
	}
	for (i = 0; i < 20; i++) {
		if (timers[i])
			twheel_cancel_sync(timers[i]);
		free(timers[i]);
	}
	return NULL;
}

TEST(beside_threads)
{
	pthread_t threads[RACERS + 1];
	struct twheel_stats stats;
	int i, ret;

	race_wheel = make((struct twheel_config) { .threads = true });
	CHECK(!pthread_create(&threads[RACERS], NULL, race_serve, NULL));
	for (i = 0; i < RACERS; i++)
		CHECK(!pthread_create(&threads[i], NULL, race_change, (void *)(uintptr_t)(i + 1)));
	while (race_walks < 300 || !race_handed ||
	       !__atomic_load_n(&race_fired, __ATOMIC_RELAXED)) {
		ret = twheel_walk(race_wheel, race_hand_out, NULL);
		CHECK(ret == 0 || ret == -EBUSY);
		race_walks += ret == 0;
	}
	__atomic_store_n(&race_stop, true, __ATOMIC_RELAXED);
	for (i = 0; i <= RACERS; i++)
		CHECK(!pthread_join(threads[i], NULL));
	twheel_get_stats(race_wheel, &stats);
	CHECK(stats.pending == 0 && stats.fired == race_fired);
	CHECK(twheel_destroy(race_wheel) == 0);
}

static bool walk_waits;

static int walk_is_stopped(struct twheel_timer *timer, void *arg)
{
	(void)timer;
	++*(int *)arg;
	__atomic_store_n(&walk_waits, true, __ATOMIC_RELEASE);
	/* From here on twheel_stop() waits for the end of this. */
	while (twheel_next(race_wheel) == 0)
		usleep(100);
	return 0;
}

static void *walk_thread(void *arg)
{
	CHECK(twheel_walk(race_wheel, walk_is_stopped, arg) == -ESHUTDOWN);
	return NULL;
}

/* Another thread stops the wheel: the walk ends, and all timers are handed back. */
TEST(stopped)
{
	pthread_t thread;
	int i, calls = 0;

	race_wheel = make((struct twheel_config) { .threads = true });
	for (i = 0; i < 4; i++) {
		twheel_timer_init(&walk_timers[i], race_wheel, fire);
		CHECK(twheel_arm(&walk_timers[i], 1000000 * MS << 4 * i) == 0);
	}
	CHECK(!pthread_create(&thread, NULL, walk_thread, &calls));
	while (!__atomic_load_n(&walk_waits, __ATOMIC_ACQUIRE))
		usleep(100);
	CHECK(twheel_stop(race_wheel, NULL, NULL) == 4);
	CHECK(!pthread_join(thread, NULL) && calls == 1);
	CHECK(twheel_destroy(race_wheel) == 0);
}

/* More than go back in one hold of the lock. */
#define MANY	20000

static int walk_ends(struct twheel_timer *timer, void *arg)
{
	(void)timer;
	(void)arg;
	return 1;
}

static void *walk_again(void *arg)
{
	int ret;

	(void)arg;
	do {
		ret = twheel_walk(race_wheel, walk_ends, NULL);
		CHECK(ret == 1 || ret == -ESHUTDOWN);
	} while (ret == 1);
	return NULL;
}

/* The same while timers go back. */
TEST(stopped_at_the_end)
{
	static struct twheel_timer many[MANY];
	pthread_t thread;
	int i, run;

	for (run = 0; run < 20; run++) {
		race_wheel = make((struct twheel_config) { .threads = true });
		for (i = 0; i < MANY; i++) {
			twheel_timer_init(&many[i], race_wheel, fire);
			CHECK(twheel_arm(&many[i], (1 + i) * 1000 * MS) == 0);
		}
		CHECK(!pthread_create(&thread, NULL, walk_again, NULL));
		usleep(1000 * run);
		CHECK(twheel_stop(race_wheel, NULL, NULL) == MANY);
		CHECK(!pthread_join(thread, NULL) && twheel_destroy(race_wheel) == 0);
	}
}

static int walk_edge_wait(struct twheel_timer *timer, void *epoll)
{
	struct twheel *wheel = twheel_of(timer);
	struct epoll_event event;

	/* On the other clock, time passes. */
	twheel_set_now(wheel, 2 * MS);
	CHECK(epoll_wait(*(int *)epoll, &event, 1, -1) == 1);
	CHECK(twheel_run(wheel, 1) == -EBUSY);
	return 0;
}

/* A loop has seen an edge of the descriptor while it could not serve. It gets another. */
TEST(edge_meanwhile)
{
	static const enum twheel_clock clocks[] = {
		TWHEEL_CLOCK_MONOTONIC, TWHEEL_CLOCK_PROGRAM,
	};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(clocks); i++) {
		struct twheel *wheel = make((struct twheel_config) { .clock = clocks[i] });
		struct epoll_event event = { .events = EPOLLIN | EPOLLET };
		int epoll = epoll_create1(EPOLL_CLOEXEC);
		struct twheel_timer timer;

		twheel_timer_init(&timer, wheel, fire);
		CHECK(!epoll_ctl(epoll, EPOLL_CTL_ADD, twheel_fd(wheel), &event));
		CHECK(twheel_arm(&timer, MS) == 0);
		CHECK(twheel_walk(wheel, walk_edge_wait, &epoll) == 0);
		CHECK(epoll_wait(epoll, &event, 1, -1) == 1);
		CHECK(twheel_run(wheel, 8) == 0 && fired == 1);
		CHECK(twheel_destroy(wheel) == 0 && !close(epoll));
	}
}
