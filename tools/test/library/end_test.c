// SPDX-License-Identifier: GPL-2.0-only
/* The end of a process wheel: twheel_stop(), and its copy in the child of a fork(). */
#include <poll.h>
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fired.h"

#define WAITERS		3

static bool readable(int fd)
{
	struct pollfd poll_fd = { .fd = fd, .events = POLLIN };

	CHECK(fd >= 0);
	return poll(&poll_fd, 1, 0) == 1;
}

/* A stopped wheel has nothing to do, and says so to all who would wait for it. */
TEST_ON(descriptor, MONOTONIC, VIRTUAL)
{
	struct twheel *wheel = make((struct twheel_config) { .clock = clock });
	struct twheel_timer timer, *due;
	int fd = twheel_fd(wheel), i;

	twheel_timer_init(&timer, wheel, fire);
	CHECK(twheel_arm_at(&timer, twheel_now(wheel) + 3600000 * MS) == 0);
	CHECK(!readable(fd) && twheel_next(wheel) <= TWHEEL_NEVER);
	CHECK(twheel_stop(wheel, NULL, NULL) == 1);
	for (i = 0; i < 2; i++) {
		CHECK(readable(fd));
		CHECK(twheel_wait(wheel, -1) == -ESHUTDOWN);
		CHECK(twheel_wait(wheel, 0) == -ESHUTDOWN);
		CHECK(twheel_run(wheel, 1) == -ESHUTDOWN);
		CHECK(twheel_collect(wheel, &due, 1) == -ESHUTDOWN);
		CHECK(twheel_next(wheel) > TWHEEL_NEVER);
	}
	CHECK(twheel_modify_at(&timer, 1) == -ENOENT && twheel_of(&timer) == wheel);
	CHECK(twheel_add_at(wheel, &timer, 3600000 * MS) == -ESHUTDOWN);
	CHECK(twheel_arm_at(&timer, 1) == -ESHUTDOWN);
	CHECK(twheel_arm_at(&timer, UINT64_MAX) == -ESHUTDOWN);
	CHECK(twheel_destroy(wheel) == 0);
	CHECK(!twheel_pending(&timer) && twheel_cancel(&timer) == 0 && !fired);
}

/* How many calls of the allocator are left before one fails. */
static int memory_left, blocks;

static void *allocate(size_t alignment, size_t size)
{
	if (!memory_left)
		return NULL;
	memory_left--;
	blocks++;
	return aligned_alloc(alignment, size);
}

static void give_back(void *memory)
{
	CHECK(memory);
	blocks--;
	free(memory);
}

/* A wheel has its memory from the program's allocator, or is not made. */
TEST(allocator)
{
	struct twheel_config config = { .alloc = allocate };
	struct twheel *wheel;
	int i;

	memory_left = 2;
	CHECK(!twheel_create(&config) && errno == EINVAL);
	config.alloc = NULL;
	config.free = give_back;
	CHECK(!twheel_create(&config) && errno == EINVAL);
	config.alloc = allocate;
	wheel = make(config);
	CHECK(blocks == 2 && twheel_destroy(wheel) == 0 && blocks == 0);
	for (i = 0; i < 2; i++) {
		memory_left = i;
		errno = 0;
		CHECK(!twheel_create(&config) && errno == ENOMEM && blocks == 0);
	}
}

static void *wait_for_end(void *wheel)
{
	CHECK(twheel_wait(wheel, -1) == -ESHUTDOWN);
	return NULL;
}

static void *wait_an_hour(void *wheel)
{
	CHECK(twheel_wait(wheel, 3600000LL * (int64_t)MS) == -ESHUTDOWN);
	return NULL;
}

/* All threads that wait are told, whatever they wait for. */
TEST_ON(waiters, MONOTONIC, VIRTUAL)
{
	struct twheel *wheel = make((struct twheel_config) { .clock = clock, .threads = true });
	pthread_t threads[WAITERS];
	unsigned int i;

	for (i = 0; i < WAITERS; i++)
		CHECK(!pthread_create(&threads[i], NULL,
				      i ? wait_for_end : wait_an_hour, wheel));
	usleep(20000);
	CHECK(twheel_stop(wheel, NULL, NULL) == 0);
	for (i = 0; i < WAITERS; i++)
		CHECK(!pthread_join(threads[i], NULL));
	CHECK(twheel_destroy(wheel) == 0);
}

static void handed(struct twheel_timer *timer, void *arg)
{
	last = timer;
	++*(int *)arg;
}

static struct twheel *ends_in_child;

static void end_in_child(void)
{
	if (ends_in_child)
		CHECK(twheel_destroy(ends_in_child) == 0);
}

static void __attribute__((constructor)) end_in_child_register(void)
{
	CHECK(!pthread_atfork(NULL, NULL, end_in_child));
}

/* A handler that the program registered before it made a wheel comes after the library's. */
TEST(handler_of_the_program)
{
	struct twheel *wheel = make((struct twheel_config) { .threads = true });
	int status;
	pid_t child;

	ends_in_child = wheel;
	child = fork();
	CHECK(child >= 0);
	if (!child)
		_exit(0);
	ends_in_child = NULL;
	CHECK(waitpid(child, &status, 0) == child && status == 0);
	CHECK(twheel_destroy(wheel) == 0);
}

/* The child's wheel is stopped, and its parent's descriptor untouched. */
static void fork_with(bool threads)
{
	struct twheel *wheel = make((struct twheel_config) { .threads = threads });
	struct twheel_timer timer, other, idle;
	int status, count = 0;
	pid_t child;

	twheel_timer_init(&timer, wheel, fire);
	twheel_timer_init(&other, wheel, fire);
	twheel_timer_init(&idle, wheel, fire);
	CHECK(twheel_arm(&timer, 20 * MS) == 0 && twheel_arm(&other, 3600000 * MS) == 0);
	CHECK(twheel_fd(wheel) >= 0);
	child = fork();
	CHECK(child >= 0);
	if (!child) {
		CHECK(twheel_run(wheel, 1) == -ESHUTDOWN);
		CHECK(twheel_arm_at(&timer, 1) == -ESHUTDOWN);
		CHECK(twheel_arm_at(&idle, TWHEEL_NEVER + 1) == -ESHUTDOWN);
		CHECK(twheel_fd(wheel) == -ESHUTDOWN);
		CHECK(twheel_wait(wheel, 0) == -ESHUTDOWN);
		CHECK(twheel_next(wheel) > TWHEEL_NEVER);
		CHECK(twheel_modify(&other, 1) == -ESHUTDOWN);
		/* One comparison and one store know of no fork. */
		CHECK(twheel_extend(&other, 7200000 * MS) == 1);
		CHECK(twheel_cancel(&timer) == 1);
		CHECK(twheel_stop(wheel, handed, &count) == 1 && count == 1 && last == &other);
		CHECK(twheel_destroy(wheel) == 0);
		wheel = make((struct twheel_config) { });
		CHECK(twheel_destroy(wheel) == 0);
		_exit(0);
	}
	CHECK(waitpid(child, &status, 0) == child && status == 0);
	CHECK(twheel_next(wheel) <= TWHEEL_NEVER && twheel_pending(&other));
	while (!fired) {
		CHECK(twheel_wait(wheel, -1) == 1);
		CHECK(twheel_run(wheel, 64) == 0);
	}
	CHECK(last == &timer && twheel_cancel(&other) == 1);
	CHECK(twheel_destroy(wheel) == 0);
}

TEST(fork)
{
	fork_with(false);
}

TEST(fork_threads)
{
	fork_with(true);
}

/* A timer of a loop that forks. twheel_stop() forgets deadlines, so the loop has them itself. */
struct moving {
	struct twheel_timer timer;
	uint64_t deadline_ns;
};

static void moving_take(struct twheel_timer *timer, void *wheel)
{
	struct moving *moving = (struct moving *)timer;

	CHECK(!twheel_pending(timer));
	twheel_timer_init(timer, wheel, fire);
	CHECK(twheel_arm_at(timer, moving->deadline_ns) == 0);
}

/* What the child may do with timers of the wheel that it has from its parent. None fires. */
static void inherited_calls(struct moving *moving, uint64_t deadline_ns)
{
	struct twheel_timer *t = &moving->timer;

	CHECK(twheel_pending(t) && twheel_deadline(t) == deadline_ns);
	CHECK(twheel_remaining(t) <= deadline_ns);
	CHECK(twheel_arm_at(t, 1) == -ESHUTDOWN && twheel_arm_range_at(t, 1, MS) == -ESHUTDOWN);
	CHECK(twheel_arm(t, 1) == -ESHUTDOWN && twheel_arm_range(t, 1, MS) == -ESHUTDOWN);
	CHECK(twheel_modify_at(t, 1) == -ESHUTDOWN && twheel_modify(t, 1) == -ESHUTDOWN);
	CHECK(twheel_extend_at(t, 1) == 0 && twheel_extend_at(t, deadline_ns + 1) == 1);
	CHECK(twheel_extend(t, 0) == 0 && twheel_pending(t));
}

static void inherited_ends(struct moving *moving)
{
	struct twheel_timer *t = &moving->timer;

	CHECK(twheel_cancel(t) == 0 && twheel_cancel_sync(t) == 0);
	CHECK(!twheel_pending(t) && twheel_deadline(t) > TWHEEL_NEVER);
	CHECK(twheel_remaining(t) > TWHEEL_NEVER && twheel_extend_at(t, 1) == -ENOENT);
	CHECK(twheel_modify_at(t, 1) == -ENOENT && twheel_arm_at(t, 1) == -ESHUTDOWN);
	CHECK(twheel_shutdown_sync(t) == 0);
}

/* The child of a loop: another wheel, which takes the timers of the old one. */
static void moving_fork(struct twheel *old, const struct twheel_config *config,
			struct moving *timers, unsigned int count)
{
	struct twheel *wheel = twheel_create(config);
	unsigned int i;

	CHECK(wheel);
	for (i = 0; i < count; i++)
		inherited_calls(&timers[i], timers[i].deadline_ns);
	CHECK(twheel_cancel(&timers[0].timer) == 1);
	CHECK(twheel_cancel_sync(&timers[1].timer) == 1);
	CHECK(twheel_shutdown_sync(&timers[2].timer) == 1);
	CHECK(twheel_stop(old, moving_take, wheel) == count - 3);
	for (i = 0; i < 3; i++)
		inherited_ends(&timers[i]);
	/* Nobody asks the old wheel about timers of the new one. */
	CHECK(twheel_destroy(old) == 0);
	for (i = 0; i < 3; i++) {
		CHECK(!twheel_pending(&timers[i].timer) && twheel_cancel(&timers[i].timer) == 0);
		moving_take(&timers[i].timer, wheel);
	}
	for (i = 0; i < count; i++) {
		CHECK(twheel_set_now(wheel, timers[i].deadline_ns + MS) == 0);
		CHECK(twheel_run(wheel, 1) == 0 && fired == i + 1 && last == &timers[i].timer);
	}
	CHECK(twheel_destroy(wheel) == 0);
}

/* Some are near, others on each level; some have been extended. */
static void fork_loop_with(bool threads)
{
	const struct twheel_config config = {
		.clock = TWHEEL_CLOCK_PROGRAM, .start_ns = 5 * MS, .threads = threads };
	struct twheel *wheel = make(config);
	static struct moving timers[40];
	unsigned int i;
	int status;
	pid_t child;

	for (i = 0; i < ARRAY_SIZE(timers); i++) {
		timers[i].deadline_ns = 8 * MS << i;
		twheel_timer_init(&timers[i].timer, wheel, fire);
		CHECK(twheel_arm_at(&timers[i].timer, timers[i].deadline_ns >> i % 2) == 0);
		CHECK(twheel_extend_at(&timers[i].timer, timers[i].deadline_ns) == i % 2);
	}
	child = fork();
	CHECK(child >= 0);
	if (!child) {
		moving_fork(wheel, &config, timers, ARRAY_SIZE(timers));
		_exit(0);
	}
	CHECK(waitpid(child, &status, 0) == child && status == 0 && !fired);
	CHECK(twheel_set_now(wheel, 64 * MS) == 0 && twheel_run(wheel, 64) == 0 && fired == 4);
	CHECK(twheel_stop(wheel, NULL, NULL) == ARRAY_SIZE(timers) - 4);
	CHECK(twheel_destroy(wheel) == 0);
}

TEST(fork_loop)
{
	fork_loop_with(false);
}

TEST(fork_loop_threads)
{
	fork_loop_with(true);
}

static pid_t forked;

static void fork_inside(struct twheel_timer *timer)
{
	(void)timer;
	forked = fork();
}

/* A callback forks: in the child the call that serves the wheel ends, and the next fails. */
TEST(fork_inside)
{
	struct twheel *wheel = make((struct twheel_config) { .threads = true });
	struct twheel_timer first, second;
	int status, ret;

	twheel_timer_init(&first, wheel, fork_inside);
	twheel_timer_init(&second, wheel, fire);
	CHECK(twheel_arm_at(&first, MS) == 0 && twheel_arm_at(&second, 2 * MS) == 0);
	do {
		ret = twheel_run(wheel, 8);
	} while (!forked && ret >= 0);
	if (!forked) {
		CHECK(ret == -ESHUTDOWN && !fired && twheel_pending(&second));
		_exit(0);
	}
	CHECK(ret >= 0);
	CHECK(waitpid(forked, &status, 0) == forked && status == 0);
	CHECK(twheel_destroy(wheel) == 0);
}

static void hand_and_fork(struct twheel_timer *timer, void *arg)
{
	handed(timer, arg);
	if (*(int *)arg == 1)
		forked = fork();
}

/* So does the function of twheel_stop(): both processes hand back the rest. */
TEST(fork_in_unfired)
{
	struct twheel *wheel = make((struct twheel_config) { .threads = true });
	struct twheel_timer timers[3];
	int status, count = 0;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(timers); i++) {
		twheel_timer_init(&timers[i], wheel, fire);
		CHECK(twheel_arm(&timers[i], 3600000 * MS) == 0);
	}
	CHECK(twheel_stop(wheel, hand_and_fork, &count) == 3 && count == 3 && forked >= 0);
	CHECK(twheel_stop(wheel, NULL, NULL) == -EALREADY && twheel_destroy(wheel) == 0);
	if (!forked)
		_exit(0);
	CHECK(waitpid(forked, &status, 0) == forked && status == 0);
}

static pthread_t stopper;

static void *stop(void *wheel)
{
	CHECK(twheel_stop(wheel, NULL, NULL) > 0);
	return NULL;
}

static void stopped_inside(struct twheel_timer *timer)
{
	CHECK(!pthread_create(&stopper, NULL, stop, twheel_of(timer)));
	while (twheel_arm_range(timer, 3600000 * MS, MS) >= 0)
		usleep(1000);
	fired++;
}

/*
 * Another thread stops the wheel while a callback runs, which may free what its caller has.
 * The caller is told by the next call.
 */
TEST(stop_inside)
{
	struct twheel *wheel = make((struct twheel_config) { .threads = true });
	struct twheel_timer first, second;
	int ret;

	twheel_timer_init(&first, wheel, stopped_inside);
	twheel_timer_init(&second, wheel, fire);
	CHECK(twheel_arm_at(&first, MS) == 0 && twheel_arm_at(&second, 2 * MS) == 0);
	do {
		ret = twheel_run(wheel, 8);
	} while (!fired && ret >= 0);
	CHECK(ret == 1 && fired == 1);
	CHECK(twheel_run(wheel, 8) == -ESHUTDOWN);
	CHECK(!pthread_join(stopper, NULL) && !twheel_pending(&second));
	CHECK(twheel_destroy(wheel) == 0);
}

/* What the child does to its copy leaves the parent's descriptor as it was. */
TEST(fork_stop)
{
	struct twheel *wheel = make((struct twheel_config) { });
	struct twheel_timer timer;
	int status, fd = twheel_fd(wheel);
	pid_t child;

	twheel_timer_init(&timer, wheel, fire);
	CHECK(twheel_arm(&timer, 3600000 * MS) == 0);
	child = fork();
	CHECK(child >= 0);
	if (!child) {
		CHECK(twheel_stop(wheel, NULL, NULL) == 1 && twheel_destroy(wheel) == 0);
		_exit(0);
	}
	CHECK(waitpid(child, &status, 0) == child && status == 0);
	CHECK(!readable(fd) && twheel_wait(wheel, 0) == 0);
	CHECK(twheel_destroy(wheel) == 0);
}

/* Where twheel_stop() is in handing back a timer: 1: in its function; 2: that has ended. */
static int handing;

static void *shut_down(void *timer)
{
	int ret;

	while (!__atomic_load_n(&handing, __ATOMIC_ACQUIRE))
		usleep(1000);
	ret = twheel_shutdown_sync(timer);
	CHECK(ret == 0 && __atomic_load_n(&handing, __ATOMIC_ACQUIRE) == 2);
	return NULL;
}

static void hand_slowly(struct twheel_timer *timer, void *wheel)
{
	__atomic_store_n(&handing, 1, __ATOMIC_RELEASE);
	usleep(50000);
	CHECK(twheel_stop(wheel, NULL, NULL) == -EDEADLK && twheel_destroy(wheel) == -EDEADLK);
	CHECK(twheel_cancel_sync(timer) == 0 && twheel_shutdown_sync(timer) == 0);
	__atomic_store_n(&handing, 2, __ATOMIC_RELEASE);
}

/* A thread that gives up an object waits for the function that is handed its timer. */
TEST(unfired_waits)
{
	struct twheel *wheel = make((struct twheel_config) { .threads = true });
	struct twheel_timer timer;
	pthread_t thread;

	twheel_timer_init(&timer, wheel, fire);
	CHECK(twheel_arm(&timer, 3600000 * MS) == 0);
	CHECK(!pthread_create(&thread, NULL, shut_down, &timer));
	CHECK(twheel_stop(wheel, hand_slowly, wheel) == 1);
	CHECK(!pthread_join(thread, NULL) && twheel_stop(wheel, NULL, NULL) == -EALREADY);
	CHECK(twheel_destroy(wheel) == 0);
}

/* With another timer, which has not been handed back yet when the first one is. */
static void *stop_slowly(void *wheel)
{
	CHECK(twheel_stop(wheel, hand_slowly, wheel) == 2);
	return NULL;
}

/* Fork once another thread is busy with the wheel. The child can end its copy, and these timers. */
static void fork_and_end(struct twheel *wheel, const struct twheel_timer *timers, int count)
{
	int status;
	pid_t child;

	while (!__atomic_load_n(&handing, __ATOMIC_ACQUIRE))
		usleep(1000);
	child = fork();
	CHECK(child >= 0);
	if (!child) {
		CHECK(twheel_stop(wheel, NULL, NULL) == 1 && twheel_destroy(wheel) == 0);
		while (count--)
			CHECK(!twheel_pending(&timers[count]));
		_exit(0);
	}
	CHECK(waitpid(child, &status, 0) == child && status == 0);
}

/* Another thread is in twheel_stop() when the process forks: the child goes on itself. */
TEST(fork_while_stopped)
{
	struct twheel *wheel = make((struct twheel_config) { .threads = true });
	struct twheel_timer timers[2];
	pthread_t thread;

	__atomic_store_n(&handing, 0, __ATOMIC_RELAXED);
	twheel_timer_init(&timers[0], wheel, fire);
	twheel_timer_init(&timers[1], wheel, fire);
	CHECK(twheel_arm(&timers[0], 3600000 * MS) == 0);
	CHECK(twheel_arm(&timers[1], 3600000 * MS) == 0);
	CHECK(!pthread_create(&thread, NULL, stop_slowly, wheel));
	fork_and_end(wheel, timers, 2);
	CHECK(!pthread_join(thread, NULL) && twheel_destroy(wheel) == 0);
}

static void fire_until_told(struct twheel_timer *timer)
{
	(void)timer;
	__atomic_store_n(&handing, 1, __ATOMIC_RELEASE);
	while (__atomic_load_n(&handing, __ATOMIC_ACQUIRE) == 1)
		usleep(1000);
}

static void *serve_one(void *wheel)
{
	CHECK(twheel_run(wheel, 1) >= 0);
	return NULL;
}

/* Another thread serves its own wheel when the process forks: the child can end its copy. */
TEST(fork_while_served)
{
	struct twheel *wheel = make((struct twheel_config) { });
	struct twheel_timer timer, other;
	pthread_t thread;

	__atomic_store_n(&handing, 0, __ATOMIC_RELAXED);
	twheel_timer_init(&timer, wheel, fire_until_told);
	twheel_timer_init(&other, wheel, fire);
	CHECK(twheel_arm_at(&timer, 1) == 0 && twheel_arm(&other, 3600000 * MS) == 0);
	CHECK(!pthread_create(&thread, NULL, serve_one, wheel));
	fork_and_end(wheel, &other, 1);
	__atomic_store_n(&handing, 2, __ATOMIC_RELEASE);
	CHECK(!pthread_join(thread, NULL) && twheel_destroy(wheel) == 0);
}
