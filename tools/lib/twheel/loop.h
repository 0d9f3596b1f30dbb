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
 *  - a negative return value is -errno, and then the timer is as it was.
 *
 * The wheel is one of twheel.h, so no module is needed.
 */
#ifndef TWHEEL_LOOP_H
#define TWHEEL_LOOP_H

#include <string.h>
#include <time.h>

#include <twheel.h>

/* How many callbacks run before the loop serves others. */
#define TWHEEL_LOOP_CALLBACKS_MAX	64

struct twheel_loop;

/**
 * struct twheel_loop_timer - a timeout; the program embeds it in an object of its own
 * @timer: the wheel's
 * @callback: called when the timeout is over, and the timer no longer active
 * @data: the program's
 */
struct twheel_loop_timer {
	struct twheel_timer timer;
	void (*callback)(struct twheel_loop *loop, struct twheel_loop_timer *timer);
	void *data;
};

/**
 * struct twheel_loop - a wheel in a loop
 * @wheel: the wheel; NULL: there is none
 * @fd: its descriptor
 * @data: the program's
 * @set_busy: tell the loop whether to run on for the descriptor; NULL: no need to
 * @active: how many timers are active
 * @serving: how many calls run callbacks, one inside the other
 * @busy: what the loop was last told
 */
struct twheel_loop {
	struct twheel *wheel;
	int fd;
	void *data;
	void (*set_busy)(struct twheel_loop *loop, bool busy);
	unsigned long active;
	unsigned int serving;
	bool busy;
};

static inline void
twheel_loop_timer_init(struct twheel_loop_timer *timer,
		       void (*callback)(struct twheel_loop *loop,
					struct twheel_loop_timer *timer),
		       void *data)
{
	/* It gets its wheel when it is started. */
	twheel_timer_init(&timer->timer, NULL, NULL);
	timer->callback = callback;
	timer->data = data;
}

static inline bool twheel_loop_active(const struct twheel_loop_timer *timer)
{
	return twheel_pending(&timer->timer);
}

/* The time. A program that is strictly ISO C has no such clock, but twheel_now(). */
#ifdef CLOCK_MONOTONIC
static inline uint64_t twheel_loop_now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}
#endif

/* Tell the loop whether to run on, unless that may change again in a moment. */
static inline void twheel_loop_settle(struct twheel_loop *loop)
{
	bool busy = loop->active;

	if (busy == loop->busy || loop->serving)
		return;
	loop->busy = busy;
	if (loop->set_busy)
		loop->set_busy(loop, busy);
}

static inline void twheel_loop_over(struct twheel_timer *timer)
{
	struct twheel_loop *loop = (struct twheel_loop *)twheel_data(twheel_of(timer));
	struct twheel_loop_timer *over = (struct twheel_loop_timer *)timer;

	loop->active--;
	over->callback(loop, over);
}

/* After this the callback is not called, not even if the timer has expired. */
static inline void twheel_loop_stop(struct twheel_loop *loop, struct twheel_loop_timer *timer)
{
	if (twheel_cancel(&timer->timer) != 1)
		return;
	loop->active--;
	twheel_loop_settle(loop);
}

/**
 * twheel_loop_start_at() - call the timer's callback at a time
 * @loop: the wheel in the loop
 * @timer: the timer. If it is active, it gets the new deadline
 * @deadline_ns: the time
 *
 * Return: 0; -ENOSPC (there may not be more timers).
 */
static inline int twheel_loop_start_at(struct twheel_loop *loop,
				       struct twheel_loop_timer *timer, uint64_t deadline_ns)
{
	int ret;

	if (twheel_of(&timer->timer) != loop->wheel)
		twheel_timer_init(&timer->timer, loop->wheel, twheel_loop_over);
	ret = twheel_arm_at(&timer->timer, deadline_ns);
	if (ret < 0)
		return ret;
	loop->active += !ret;
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
	int ret = twheel_extend_at(&timer->timer, deadline_ns);

	if (ret >= 0)
		return ret;
	ret = twheel_loop_start_at(loop, timer, deadline_ns);
	return ret ? ret : 1;
}

/* A time that far ahead does not come. */
static inline uint64_t twheel_loop_deadline(const struct twheel_loop *loop, uint64_t delay_ns)
{
	uint64_t now_ns = twheel_now(loop->wheel);

	return delay_ns < TWHEEL_NEVER - now_ns ? now_ns + delay_ns : TWHEEL_NEVER;
}

/* twheel_loop_start() - as twheel_loop_start_at(), a delay from now */
static inline int twheel_loop_start(struct twheel_loop *loop,
				    struct twheel_loop_timer *timer, uint64_t delay_ns)
{
	return twheel_loop_start_at(loop, timer, twheel_loop_deadline(loop, delay_ns));
}

/* twheel_loop_extend() - as twheel_loop_extend_at(), a delay from now */
static inline int twheel_loop_extend(struct twheel_loop *loop,
				     struct twheel_loop_timer *timer, uint64_t delay_ns)
{
	return twheel_loop_extend_at(loop, timer, twheel_loop_deadline(loop, delay_ns));
}

/*
 * The rest is for the headers of the loops.
 *
 * The descriptor is readable. It still is after this, if there is more to do.
 */
static inline void twheel_loop_drain(struct twheel_loop *loop)
{
	loop->serving++;
	twheel_run(loop->wheel, TWHEEL_LOOP_CALLBACKS_MAX);
	loop->serving--;
	twheel_loop_settle(loop);
}

/* When the descriptor is no longer in the loop. */
static inline void twheel_loop_destroy(struct twheel_loop *loop)
{
	twheel_destroy(loop->wheel);
	loop->wheel = NULL;
	loop->fd = -1;
}

/* Make the wheel. */
static inline int twheel_loop_init(struct twheel_loop *loop,
				   void (*set_busy)(struct twheel_loop *loop, bool busy),
				   const struct twheel_config *config)
{
	struct twheel_config own;
	int ret;

	memset(&own, 0, sizeof(own));
	if (config)
		own = *config;
	own.data = loop;
	loop->data = NULL;
	loop->set_busy = set_busy;
	loop->active = 0;
	loop->serving = 0;
	loop->busy = false;
	loop->wheel = NULL;
	loop->fd = -1;
	if (own.clock != TWHEEL_CLOCK_MONOTONIC)
		return -EINVAL;
	loop->wheel = twheel_create(&own);
	if (!loop->wheel)
		return -errno;
	ret = twheel_fd(loop->wheel);
	if (ret < 0) {
		twheel_loop_destroy(loop);
		return ret;
	}
	loop->fd = ret;
	return 0;
}

#endif
