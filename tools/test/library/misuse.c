// SPDX-License-Identifier: GPL-2.0-only
/*
 * Mistakes with pending timers, each in a process of its own: a library that is built with
 * -DTWHEEL_CHECK names them and aborts.
 */
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <twheel_policy.h>

#include "check.h"

#define COUNT	3

static struct twheel *wheel;
/* They wait for the same bucket. The place of @moved is not theirs. */
static struct twheel_timer timers[COUNT], moved[COUNT];

static void fire(struct twheel_timer *timer)
{
	(void)timer;
}

static void init_pending(void)
{
	twheel_timer_init(&timers[1], wheel, fire);
}

static void init_after_memset(void)
{
	memset(&timers[1], 0, sizeof(timers[1]));
	twheel_timer_init(&timers[1], wheel, fire);
}

/* A mistake with another timer is found as well. */
static void init_of_another(void)
{
	memset(&timers[0], 0, sizeof(timers[0]));
	twheel_timer_init(&moved[0], wheel, fire);
}

static void init_of_another_watch(void)
{
	struct twheel_idle idle;

	timers[1].tw_word = 9;
	twheel_idle_init(&idle, wheel, NULL);
	twheel_timer_init(&idle.timer, wheel, fire);
}

static void memset_and_cancel_the_next(void)
{
	memset(&timers[2], 0, sizeof(timers[2]));
	twheel_cancel(&timers[1]);
}

static void memset_and_cancel_the_one_before(void)
{
	memset(&timers[0], 0, sizeof(timers[0]));
	twheel_cancel(&timers[1]);
}

static void memset_and_arm_another(void)
{
	struct twheel_timer another;

	twheel_timer_init(&another, wheel, fire);
	memset(&timers[2], 0, sizeof(timers[2]));
	twheel_arm(&another, MS);
}

/* As realloc() does. */
static void move(void)
{
	memcpy(moved, timers, sizeof(timers));
	memset(timers, 0x5a, sizeof(timers));
}

static void move_and_cancel(void)
{
	move();
	twheel_cancel(&moved[1]);
}

static void move_and_arm(void)
{
	move();
	twheel_arm(&moved[2], 2 * MS);
}

static void move_and_modify(void)
{
	move();
	twheel_modify(&moved[0], MS / 2);
}

static void move_and_extend(void)
{
	move();
	twheel_extend(&moved[1], 2 * MS);
}

static void move_and_shut_down(void)
{
	move();
	twheel_shutdown_sync(&moved[2]);
}

static void copy_and_cancel(void)
{
	moved[2] = timers[2];
	twheel_cancel(&moved[2]);
}

static void free_and_serve(void)
{
	memset(timers, 0x5a, sizeof(timers));
	twheel_advance(wheel, MS);
}

static void free_and_stop(void)
{
	memset(&timers[0], 0x5a, sizeof(timers[0]));
	twheel_stop(wheel, NULL, NULL);
}

static void free_and_destroy(void)
{
	memset(&timers[1], 0x5a, sizeof(timers[1]));
	twheel_destroy(wheel);
}

static void free_and_cascade(void)
{
	unsigned int i;

	for (i = 0; i < COUNT; i++)
		twheel_arm(&timers[i], 100000 * MS);
	memset(&timers[0], 0x5a, sizeof(timers[0]));
	twheel_advance(wheel, 99999 * MS);
}

static void add_pending(void)
{
	twheel_add_at(wheel, &timers[1], 2 * MS);
}

static void add_shut_down(void)
{
	twheel_shutdown_sync(&timers[1]);
	add_pending();
}

static void add_to_another_wheel(void)
{
	twheel_cancel(&timers[1]);
	twheel_add_at(twheel_create(NULL), &timers[1], MS);
}

static void add_without_a_wheel(void)
{
	twheel_timer_init(&moved[1], NULL, fire);
	twheel_add_at(wheel, &moved[1], MS);
}

/* A thread that is to be cancelled still says what is wrong. */
static void init_pending_cancelled(void)
{
	CHECK(!pthread_cancel(pthread_self()));
	init_pending();
}

/* What is right: with timers that are not pending, all of it is. */
static void no_mistake(void)
{
	unsigned int i;

	for (i = 0; i < COUNT; i++)
		CHECK(twheel_cancel(&timers[i]) == 1);
	move();
	for (i = 0; i < COUNT; i++)
		CHECK(twheel_arm(&moved[i], MS) == 0);
	CHECK(twheel_cancel(&moved[1]) == 1 && twheel_add_at(wheel, &moved[1], MS) == 0);
	CHECK(twheel_destroy(wheel) == 0);
}

/* In a process of its own: what it has written to stderr, and how it has ended. */
static int run(void (*mistake)(void), char *text, size_t size)
{
	struct twheel_config config = { .clock = TWHEEL_CLOCK_VIRTUAL };
	int fds[2], status;
	unsigned int i;
	ssize_t got;
	pid_t child;

	CHECK(!pipe(fds));
	child = fork();
	if (!child) {
		CHECK(dup2(fds[1], STDERR_FILENO) == STDERR_FILENO);
		wheel = twheel_create(&config);
		CHECK(wheel);
		for (i = 0; i < COUNT; i++) {
			twheel_timer_init(&timers[i], wheel, fire);
			CHECK(twheel_arm(&timers[i], MS) == 0);
		}
		mistake();
		_exit(0);
	}
	CHECK(child > 0 && !close(fds[1]));
	got = read(fds[0], text, size - 1);
	CHECK(got >= 0 && waitpid(child, &status, 0) == child && !close(fds[0]));
	text[got] = '\0';
	return status;
}

int main(void)
{
	static void (*const mistakes[])(void) = {
		init_pending, init_after_memset, init_of_another, init_of_another_watch,
		memset_and_cancel_the_next, memset_and_cancel_the_one_before,
		memset_and_arm_another, move_and_cancel, move_and_arm, move_and_modify,
		move_and_extend, move_and_shut_down, copy_and_cancel, free_and_serve,
		free_and_stop, free_and_destroy, free_and_cascade, init_pending_cancelled,
		add_pending, add_shut_down, add_to_another_wheel, add_without_a_wheel,
	};
	char text[400], name[32];
	unsigned int i, j;
	int status;

	for (i = 0; i < ARRAY_SIZE(mistakes); i++) {
		status = run(mistakes[i], text, sizeof(text));
		printf("%u: %s", i, text);
		CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
		/* It names one of the timers. */
		for (j = 0; j < 2 * COUNT; j++) {
			snprintf(name, sizeof(name), "timer at %p",
				 (void *)(j < COUNT ? &timers[j] : &moved[j - COUNT]));
			if (strstr(text, name) && strstr(text, "while it "))
				break;
		}
		CHECK(j < 2 * COUNT);
	}
	CHECK(run(no_mistake, text, sizeof(text)) == 0 && !text[0]);
	puts("ok misuse");
	return 0;
}
