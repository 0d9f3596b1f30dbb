// SPDX-License-Identifier: GPL-2.0-only
/*
 * A callback that does not return ends the process, whatever calls it, and whatever its caller
 * catches. A wheel that it left would be in that call for ever.
 */
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <pthread.h>
#include <stdexcept>
#include <sys/wait.h>
#include <unistd.h>

#include <twheel.h>
#include <twheel_policy.h>

#include "check.h"

static void leave_by_exception()
{
	throw std::runtime_error("thrown by a callback");
}

static void leave_by_end()
{
	pthread_exit(nullptr);
}

static void leave_by_cancellation()
{
	pthread_cancel(pthread_self());
	pthread_testcancel();
}

static void (*leave)();

static void fire(twheel_timer *)
{
	leave();
}

static void hand_back(twheel_timer *, void *)
{
	leave();
}

static enum twheel_next fire_periodic(twheel_periodic *)
{
	leave();
	return TWHEEL_AGAIN;
}

static void fire_idle(twheel_idle *)
{
	leave();
}

static twheel *make(bool threads)
{
	twheel_config config{};

	config.clock = TWHEEL_CLOCK_VIRTUAL;
	config.start_ns = 1;
	config.threads = threads;
	return twheel_create(&config);
}

static void leave_run(twheel *wheel)
{
	twheel_timer timer;

	twheel_timer_init(&timer, wheel, fire);
	twheel_arm_at(&timer, 0);
	twheel_run(wheel, 1);
}

static void leave_advance(twheel *wheel)
{
	twheel_periodic periodic;

	twheel_periodic_init(&periodic, wheel, fire_periodic);
	twheel_periodic_start(&periodic, MS, TWHEEL_FIXED_RATE);
	twheel_advance(wheel, 2 * MS);
}

static void leave_idle(twheel *wheel)
{
	twheel_idle idle;

	twheel_idle_init(&idle, wheel, fire_idle);
	twheel_idle_start(&idle, MS);
	twheel_advance(wheel, 2 * MS);
}

static void leave_stop(twheel *wheel)
{
	twheel_timer timer;

	twheel_timer_init(&timer, wheel, fire);
	twheel_arm_at(&timer, MS);
	twheel_stop(wheel, hand_back, nullptr);
}

static void (*serve)(twheel *wheel);

static void *call(void *wheel)
{
	serve(static_cast<twheel *>(wheel));
	return nullptr;
}

/* In a process of its own. What comes here was not ended. */
static void try_to_leave(bool threads)
{
	twheel *wheel = make(threads);
	pthread_t thread;

	try {
		if (leave == leave_by_exception) {
			serve(wheel);
		} else {
			pthread_create(&thread, nullptr, call, wheel);
			pthread_join(thread, nullptr);
		}
	} catch (const std::runtime_error &) {
		_exit(2);
	}
	_exit(3);
}

int main()
{
	void (*const leaves[])() = { leave_by_exception, leave_by_end, leave_by_cancellation };
	void (*const serves[])(twheel *) = { leave_run, leave_advance, leave_idle, leave_stop };
	int status;
	pid_t child;

	for (unsigned int i = 0; i < 2 * ARRAY_SIZE(leaves) * ARRAY_SIZE(serves); i++) {
		leave = leaves[i / 2 % ARRAY_SIZE(leaves)];
		serve = serves[i / 2 / ARRAY_SIZE(leaves)];
		child = fork();
		if (!child)
			try_to_leave(i % 2);
		CHECK(child > 0 && waitpid(child, &status, 0) == child);
		CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
	}
	puts("ok exceptions");
	return 0;
}
