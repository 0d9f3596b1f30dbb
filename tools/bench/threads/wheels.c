// SPDX-License-Identifier: GPL-2.0-only
/* Wheels with `threads`: one for all, or one for each thread. */
#include "threads.h"

static struct twheel *wheels_of[THREADS_MOST];
static unsigned int wheels_count;

static void wheels_fires(struct twheel_timer *timer)
{
	(void)timer;
}

static void wheels_create(struct threads_timer *timers, uint32_t count)
{
	unsigned int wheel;
	uint32_t i;

	for (wheel = 0; wheel < wheels_count; wheel++)
		wheels_of[wheel] = threads_wheel(true);
	for (i = 0; i < count; i++)
		twheel_timer_init(&timers[i].timer, wheels_of[timers[i].thread % wheels_count],
				  wheels_fires);
}

static void wheels_create_shared(struct threads_timer *timers, uint32_t count,
				 unsigned int threads)
{
	(void)threads;
	wheels_count = 1;
	wheels_create(timers, count);
}

static void wheels_create_each(struct threads_timer *timers, uint32_t count, unsigned int threads)
{
	wheels_count = threads;
	wheels_create(timers, count);
}

static void wheels_destroy(void)
{
	unsigned int wheel;

	for (wheel = 0; wheel < wheels_count; wheel++)
		threads_check(twheel_destroy(wheels_of[wheel]));
}

static void wheels_arm(struct threads_timer *timer, uint64_t deadline_ns)
{
	threads_check(twheel_arm_at(&timer->timer, deadline_ns));
}

static void wheels_extend(struct threads_timer *timer, uint64_t deadline_ns)
{
	twheel_extend_at(&timer->timer, deadline_ns);
}

static void wheels_cancel(struct threads_timer *timer)
{
	twheel_cancel(&timer->timer);
}

/* With one wheel for all, its first thread serves it. */
static void wheels_serve(unsigned int thread)
{
	if (thread < wheels_count)
		threads_check(twheel_run(wheels_of[thread], UINT32_MAX));
}

const struct threads_subject threads_shared = {
	.name = "shared", .create = wheels_create_shared, .destroy = wheels_destroy,
	.arm = wheels_arm, .extend = wheels_extend, .cancel = wheels_cancel,
	.cancel_other = wheels_cancel, .serve = wheels_serve,
};

const struct threads_subject threads_each = {
	.name = "each", .create = wheels_create_each, .destroy = wheels_destroy,
	.arm = wheels_arm, .extend = wheels_extend, .cancel = wheels_cancel,
	.cancel_other = wheels_cancel, .serve = wheels_serve,
};
