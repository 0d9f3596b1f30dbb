/* SPDX-License-Identifier: GPL-2.0-only */
/* The subjects of threads.c, and what they work on. */
#ifndef BENCH_THREADS_H
#define BENCH_THREADS_H

#include <stdalign.h>
#include <stdbool.h>
#include <stdint.h>

#include "../../lib/twheel.h"

#define THREADS_MOST	2

/* A timer of a thread, in a line of its own. */
struct threads_timer {
	alignas(64) struct twheel_timer timer;
	/* Of the queues only. */
	struct threads_timer *next;
	uint32_t state;
	/* Whose it is. */
	uint32_t thread;
};

/**
 * struct threads_subject - a way in which threads use wheels
 * @name: its name in the figures
 * @create: make the wheels of so many threads, and those of the timers
 * @destroy: free the wheels
 * @arm: the thread arms a timer of its own
 * @extend: the thread extends a timer of its own
 * @cancel: the thread cancels a timer of its own
 * @cancel_other: the thread cancels a timer of another one
 * @serve: the thread does what has to be done now and then
 */
struct threads_subject {
	const char *name;
	void (*create)(struct threads_timer *timers, uint32_t count, unsigned int threads);
	void (*destroy)(void);
	void (*arm)(struct threads_timer *timer, uint64_t deadline_ns);
	void (*extend)(struct threads_timer *timer, uint64_t deadline_ns);
	void (*cancel)(struct threads_timer *timer);
	void (*cancel_other)(struct threads_timer *timer);
	void (*serve)(unsigned int thread);
};

extern const struct threads_subject threads_shared, threads_each, threads_queues;

/* What subjects share: make a wheel, and end the program if a call fails. */
struct twheel *threads_wheel(bool threads);
void threads_check(int ret);

#endif
