/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * Timeouts of a program with an event loop, in one wheel. The loops' own timers are in a
 * heap, where each change costs more the more timers there are. In a wheel it does not,
 * and the loop sees one descriptor for all of them.
 *
 * Each loop has a header beside this one, which puts a wheel into it and takes it out
 * again: ev.h, uv.h, libevent.h, sd.h, glib.h, asio.hpp. All else is here, and is the same
 * for all loops:
 *
 *	struct twheel_uv uv;
 *	struct twheel_loop_timer timer;
 *
 *	twheel_uv_init(&uv, uv_default_loop(), NULL);
 *	twheel_loop_timer_init(&timer, too_late, connection);
 *	twheel_loop_start(&uv.loop, &timer, 30000000000);
 *	...
 *	twheel_loop_extend(&uv.loop, &timer, 30000000000);	(on every packet)
 *
 * For every call:
 *  - times are nanoseconds of CLOCK_MONOTONIC. A delay counts from the call, and not
 *    from when the loop last woke up; no callback comes early;
 *  - only the thread that runs the loop may make it. Callbacks may make all calls but
 *    the one that takes the wheel out of the loop, and may free their timer;
 *  - a negative return value is -errno. Then the timer is as it was; but one that had
 *    expired, and whose callback was still to come, may be stopped.
 */
#ifndef TWHEEL_LOOP_H
#define TWHEEL_LOOP_H

#include <stdbool.h>
#include <time.h>
#include <unistd.h>

#include <twheel_device.h>

/* How many callbacks run before the loop serves others. */
#define TWHEEL_LOOP_CALLBACKS_MAX	64

struct twheel_loop;

/**
 * struct twheel_loop_timer - a timeout; the program embeds it in an object of its own
 * @callback: called when the timeout is over, and the timer no longer active
 * @data: the program's
 * @id: the wheel's timer; 0: it has none
 */
struct twheel_loop_timer {
	void (*callback)(struct twheel_loop *loop, struct twheel_loop_timer *timer);
	void *data;
	uint64_t id;
};

/**
 * struct twheel_loop_taken - events whose callbacks run now
 * @events: the events. One whose timer has been stopped has no cookie
 * @count: how many there are
 * @outer: those of the loop inside of which this one runs
 */
struct twheel_loop_taken {
	struct twheel_event events[TWHEEL_LOOP_CALLBACKS_MAX];
	int count;
	struct twheel_loop_taken *outer;
};

/**
 * struct twheel_loop - a wheel in a loop
 * @fd: the wheel; -1: there is none
 * @data: the program's
 * @set_busy: tell the loop whether to run on for the descriptor; NULL: no need to
 * @taken: the events whose callbacks run now
 * @active: how many timers are active
 * @busy: what the loop was last told
 */
struct twheel_loop {
	int fd;
	void *data;
	void (*set_busy)(struct twheel_loop *loop, bool busy);
	struct twheel_loop_taken *taken;
	unsigned long active;
	bool busy;
};

static inline void
twheel_loop_timer_init(struct twheel_loop_timer *timer,
		       void (*callback)(struct twheel_loop *loop,
					struct twheel_loop_timer *timer),
		       void *data)
{
	timer->callback = callback;
	timer->data = data;
	timer->id = 0;
}

static inline bool twheel_loop_active(const struct twheel_loop_timer *timer)
{
	return timer->id;
}

static inline uint64_t twheel_loop_now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

/* Tell the loop whether to run on, unless that may change again in a moment. */
static inline void twheel_loop_settle(struct twheel_loop *loop)
{
	bool busy = loop->active;

	if (busy == loop->busy || loop->taken)
		return;
	loop->busy = busy;
	if (loop->set_busy)
		loop->set_busy(loop, busy);
}

/* The event of a timer has been taken, but its callback must not run. */
static inline void twheel_loop_forget(struct twheel_loop *loop, uint64_t id)
{
	struct twheel_loop_taken *taken;
	int i;

	for (taken = loop->taken; taken; taken = taken->outer) {
		for (i = 0; i < taken->count; i++) {
			if (taken->events[i].id == id)
				taken->events[i].cookie = 0;
		}
	}
}

/* After this the callback is not called, not even if the timer has expired. */
static inline void twheel_loop_stop(struct twheel_loop *loop, struct twheel_loop_timer *timer)
{
	if (!timer->id)
		return;
	if (twheel_device_cancel(loop->fd, timer->id) < 0)
		twheel_loop_forget(loop, timer->id);
	timer->id = 0;
	loop->active--;
	twheel_loop_settle(loop);
}

/**
 * twheel_loop_start_at() - call the timer's callback at a time
 * @loop: the wheel in the loop
 * @timer: the timer. If it is active, it gets the new deadline
 * @deadline_ns: the time
 *
 * Return: 0; -ENOSPC, -EDQUOT (there may not be more timers), -ENOMEM.
 */
static inline int twheel_loop_start_at(struct twheel_loop *loop,
				       struct twheel_loop_timer *timer, uint64_t deadline_ns)
{
	int ret;

	if (timer->id && twheel_device_modify_at(loop->fd, timer->id, deadline_ns) == 1)
		return 0;
	twheel_loop_stop(loop, timer);
	ret = twheel_device_arm_at(loop->fd, deadline_ns, (uintptr_t)timer, &timer->id);
	if (ret)
		return ret;
	loop->active++;
	twheel_loop_settle(loop);
	return 0;
}

/**
 * twheel_loop_extend_at() - a later deadline for an active timer, or start it
 * @loop: the wheel in the loop
 * @timer: the timer
 * @deadline_ns: the time. The deadline never becomes nearer
 *
 * Return: 1, or 0 if the deadline was as late already, and stays; as
 * twheel_loop_start_at().
 */
static inline int twheel_loop_extend_at(struct twheel_loop *loop,
					struct twheel_loop_timer *timer, uint64_t deadline_ns)
{
	int ret = -ENOENT;

	if (timer->id)
		ret = twheel_device_extend_at(loop->fd, timer->id, deadline_ns);
	if (ret >= 0)
		return ret;
	ret = twheel_loop_start_at(loop, timer, deadline_ns);
	return ret ? ret : 1;
}

/* A time that far ahead does not come. */
static inline uint64_t twheel_loop_deadline(uint64_t delay_ns)
{
	uint64_t now_ns = twheel_loop_now();

	return delay_ns < TWHEEL_NEVER_NS - now_ns ? now_ns + delay_ns : TWHEEL_NEVER_NS;
}

/* twheel_loop_start() - as twheel_loop_start_at(), a delay from now */
static inline int twheel_loop_start(struct twheel_loop *loop,
				    struct twheel_loop_timer *timer, uint64_t delay_ns)
{
	return twheel_loop_start_at(loop, timer, twheel_loop_deadline(delay_ns));
}

/* twheel_loop_extend() - as twheel_loop_extend_at(), a delay from now */
static inline int twheel_loop_extend(struct twheel_loop *loop,
				     struct twheel_loop_timer *timer, uint64_t delay_ns)
{
	return twheel_loop_extend_at(loop, timer, twheel_loop_deadline(delay_ns));
}

/*
 * The rest is for the headers of the loops.
 *
 * The descriptor is readable. It still is after this, if there is more to do.
 */
static inline void twheel_loop_drain(struct twheel_loop *loop)
{
	struct twheel_loop_timer *timer;
	struct twheel_loop_taken taken;
	int i;

	taken.count = twheel_device_events(loop->fd, taken.events, TWHEEL_LOOP_CALLBACKS_MAX, 0);
	taken.outer = loop->taken;
	loop->taken = &taken;
	for (i = 0; i < taken.count; i++) {
		timer = (struct twheel_loop_timer *)(uintptr_t)taken.events[i].cookie;
		if (!timer)
			continue;
		timer->id = 0;
		loop->active--;
		timer->callback(loop, timer);
	}
	loop->taken = taken.outer;
	twheel_loop_settle(loop);
}

/* Open the wheel. */
static inline int twheel_loop_init(struct twheel_loop *loop,
				   void (*set_busy)(struct twheel_loop *loop, bool busy),
				   const struct twheel_setup *setup)
{
	loop->data = NULL;
	loop->set_busy = set_busy;
	loop->taken = NULL;
	loop->active = 0;
	loop->busy = false;
	loop->fd = setup && setup->clock != TWHEEL_MONOTONIC ? -EINVAL :
							       twheel_device_open(setup);
	return loop->fd < 0 ? loop->fd : 0;
}

/* When the descriptor is no longer in the loop. */
static inline void twheel_loop_destroy(struct twheel_loop *loop)
{
	if (loop->fd >= 0)
		close(loop->fd);
	loop->fd = -1;
}

#endif
