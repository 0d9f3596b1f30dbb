// SPDX-License-Identifier: GPL-2.0-only
/*
 * The library allocates and frees nothing with a lock held. Here the allocator forks in each call
 * that the library makes. A fork takes all of its locks, as that of a program with threads may at
 * any moment. With one of them held, the call would wait for itself.
 */
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <twheel_policy.h>

#include "check.h"

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *memory, size_t size);
void *__libc_memalign(size_t alignment, size_t size);
void __libc_free(void *memory);

/* A call of the library runs. How often it has come here. */
static bool watched;
/* The wheel has an allocator of its own, and takes nothing from this one. */
static bool has_own;
static unsigned int visits;

static void visit(void)
{
	int status;
	pid_t child;

	if (!watched)
		return;
	watched = false;
	visits++;
	CHECK(!has_own);
	child = fork();
	if (!child)
		_exit(0);
	CHECK(child > 0 && waitpid(child, &status, 0) == child && !status);
	watched = true;
}

void *malloc(size_t size)
{
	visit();
	return __libc_malloc(size);
}

void *calloc(size_t count, size_t size)
{
	visit();
	return __libc_calloc(count, size);
}

void *realloc(void *memory, size_t size)
{
	visit();
	return __libc_realloc(memory, size);
}

void *aligned_alloc(size_t alignment, size_t size)
{
	visit();
	return __libc_memalign(alignment, size);
}

void free(void *memory)
{
	visit();
	__libc_free(memory);
}

/* What has been allocated and not freed. */
static int blocks;

static void *own_alloc(size_t alignment, size_t size)
{
	void *memory;

	has_own = false;
	visit();
	has_own = true;
	CHECK(watched && size % alignment == 0);
	memory = __libc_memalign(alignment, size);
	CHECK(memory);
	blocks++;
	return memset(memory, 0xa5, size);
}

static void own_free(void *memory)
{
	has_own = false;
	visit();
	has_own = true;
	CHECK(memory);
	blocks--;
	__libc_free(memory);
}

static struct twheel_timer timers[8];

static void fire(struct twheel_timer *timer)
{
	(void)timer;
}

static void fire_far(struct twheel_timer *timer)
{
	twheel_arm_at(timer, TWHEEL_NEVER);
}

static enum twheel_next fire_periodic(struct twheel_periodic *periodic)
{
	(void)periodic;
	return TWHEEL_AGAIN;
}

static void fire_idle(struct twheel_idle *idle)
{
	twheel_idle_start(idle, MS);
}

static void hand_back(struct twheel_timer *timer, void *arg)
{
	(void)timer;
	(void)arg;
}

static void serve(struct twheel *wheel, uint64_t now)
{
	struct twheel_timer *taken[2];

	if (twheel_advance(wheel, now) > TWHEEL_NEVER)
		twheel_wait(wheel, MS);
	twheel_run(wheel, 3);
	twheel_collect(wheel, taken, 2);
}

static void use(struct twheel *wheel)
{
	struct twheel_periodic periodic;
	struct twheel_stats stats;
	struct twheel_idle idle;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(timers); i++) {
		twheel_timer_init(&timers[i], wheel, i % 2 ? fire : fire_far);
		CHECK(twheel_arm_at(&timers[i], i * MS) == 0);
		if (i == 2)
			CHECK(twheel_fd(wheel) >= 0);
		twheel_extend_at(&timers[i], 2 * i * MS);
	}
	twheel_periodic_init(&periodic, wheel, fire_periodic);
	twheel_periodic_start_at(&periodic, MS, MS, TWHEEL_FIXED_RATE);
	twheel_idle_init(&idle, wheel, fire_idle);
	twheel_idle_start(&idle, MS);
	twheel_modify(&timers[5], 2 * MS);
	for (i = 1; i < 5; i++)
		serve(wheel, 4 * i * MS);
	CHECK(twheel_arm_at(&timers[0], TWHEEL_NEVER) >= 0 && twheel_cancel(&timers[0]) == 1);
	CHECK(twheel_arm_at(&timers[1], TWHEEL_NEVER) >= 0 && twheel_cancel_sync(&timers[1]) == 1);
	twheel_shutdown_sync(&timers[2]);
	twheel_idle_set_timeout(&idle, 2 * MS);
	twheel_idle_stop_sync(&idle);
	twheel_periodic_stop_sync(&periodic);
	twheel_get_stats(wheel, &stats);
	CHECK(twheel_arm_at(&timers[3], TWHEEL_NEVER) >= 0);
	CHECK(twheel_stop(wheel, hand_back, NULL) > 0);
}

int main(void)
{
	struct twheel_config config = { };
	struct twheel *wheel;
	unsigned int i, before;

	setvbuf(stdout, NULL, _IONBF, 0);
	for (i = 0; i <= 4 * TWHEEL_CLOCK_PROGRAM + 3; i++) {
		config.clock = i / 4;
		config.threads = i / 2 % 2;
		has_own = i % 2;
		config.alloc = has_own ? own_alloc : NULL;
		config.free = has_own ? own_free : NULL;
		before = visits;
		watched = true;
		wheel = twheel_create(&config);
		CHECK(wheel && visits > before && blocks == 2 * has_own);
		use(wheel);
		before = visits;
		CHECK(twheel_destroy(wheel) == 0 && visits > before);
		watched = false;
		CHECK(blocks == 0);
	}
	printf("ok, %u calls of the allocator\n", visits);
	return 0;
}
