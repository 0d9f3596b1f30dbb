// SPDX-License-Identifier: GPL-2.0-only
/*
 * The design of the alternative timer of tokio, see its issues 6504, 7341 and 8334. Each thread has
 * a wheel of its own that takes no lock. A thread arms, extends and cancels its own timers in its
 * own wheel. A cancel by another thread only notes that, and puts the timer into a queue. The owner
 * takes it out of the wheel later. Tokio does more for each operation: it locks the
 * timer's state, and puts the owner's cancels into the queue as well.
 */
#include <stddef.h>

#include "threads.h"

/* The timer is to fire. Its owner sets that, and who clears it has cancelled the timer. */
#define QUEUES_ARMED	1u
/* The timer is in the queue. Whoever sets that puts it there; its owner takes it out. */
#define QUEUES_QUEUED	2u

struct queues_owner {
	alignas(64) struct twheel *wheel;
	/* In a line of its own, as other threads write it. */
	alignas(64) struct threads_timer *cancelled;
};

static struct queues_owner queues_owners[THREADS_MOST];
static unsigned int queues_count;

static struct threads_timer *queues_timer_of(struct twheel_timer *timer)
{
	return (void *)((char *)timer - offsetof(struct threads_timer, timer));
}

/* Clear the mark of an armed timer, and set @more. Returns the state before. */
static uint32_t queues_disarm(struct threads_timer *timer, uint32_t more)
{
	uint32_t state = __atomic_load_n(&timer->state, __ATOMIC_RELAXED);

	while (state & QUEUES_ARMED &&
	       !__atomic_compare_exchange_n(&timer->state, &state, (state & ~QUEUES_ARMED) | more,
					    true, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
		;
	return state;
}

/* Another thread may have cancelled it meanwhile, and then nothing is done. */
static void queues_fires(struct twheel_timer *timer)
{
	queues_disarm(queues_timer_of(timer), 0);
}

static void queues_create(struct threads_timer *timers, uint32_t count, unsigned int threads)
{
	uint32_t i;

	queues_count = threads;
	for (i = 0; i < threads; i++) {
		queues_owners[i].wheel = threads_wheel(false);
		queues_owners[i].cancelled = NULL;
	}
	for (i = 0; i < count; i++)
		twheel_timer_init(&timers[i].timer, queues_owners[timers[i].thread].wheel,
				  queues_fires);
}

static void queues_destroy(void)
{
	unsigned int i;

	for (i = 0; i < queues_count; i++)
		threads_check(twheel_destroy(queues_owners[i].wheel));
}

/* While the mark is not set, nobody else writes the state. */
static void queues_arm(struct threads_timer *timer, uint64_t deadline_ns)
{
	uint32_t state = __atomic_load_n(&timer->state, __ATOMIC_RELAXED);

	threads_check(twheel_arm_at(&timer->timer, deadline_ns));
	if (!(state & QUEUES_ARMED))
		__atomic_store_n(&timer->state, state | QUEUES_ARMED, __ATOMIC_RELEASE);
}

static void queues_extend(struct threads_timer *timer, uint64_t deadline_ns)
{
	if (__atomic_load_n(&timer->state, __ATOMIC_RELAXED) & QUEUES_ARMED)
		twheel_extend_at(&timer->timer, deadline_ns);
}

static void queues_cancel(struct threads_timer *timer)
{
	if (queues_disarm(timer, 0) & QUEUES_ARMED)
		twheel_cancel(&timer->timer);
}

/* One that is in the queue already, and was armed again, stays where it is. */
static void queues_cancel_other(struct threads_timer *timer)
{
	struct threads_timer **queue = &queues_owners[timer->thread].cancelled;

	if (queues_disarm(timer, QUEUES_QUEUED) != QUEUES_ARMED)
		return;
	timer->next = __atomic_load_n(queue, __ATOMIC_RELAXED);
	while (!__atomic_compare_exchange_n(queue, &timer->next, timer, true, __ATOMIC_RELEASE,
					    __ATOMIC_RELAXED))
		;
}

/* Take out of the wheel what others have cancelled, unless it was armed again. */
static void queues_take(struct queues_owner *owner)
{
	struct threads_timer *timer, *next;

	if (!__atomic_load_n(&owner->cancelled, __ATOMIC_RELAXED))
		return;
	timer = __atomic_exchange_n(&owner->cancelled, NULL, __ATOMIC_ACQUIRE);
	for (; timer; timer = next) {
		/* It may be queued again as soon as the mark is gone. */
		next = timer->next;
		if (!(__atomic_fetch_and(&timer->state, ~QUEUES_QUEUED, __ATOMIC_ACQ_REL) &
		      QUEUES_ARMED))
			twheel_cancel(&timer->timer);
	}
}

static void queues_serve(unsigned int thread)
{
	queues_take(&queues_owners[thread]);
	threads_check(twheel_run(queues_owners[thread].wheel, UINT32_MAX));
}

const struct threads_subject threads_queues = {
	.name = "queues", .create = queues_create, .destroy = queues_destroy,
	.arm = queues_arm, .extend = queues_extend, .cancel = queues_cancel,
	.cancel_other = queues_cancel_other, .serve = queues_serve,
};
