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
 *    expired, and whose callback was still to come, is stopped;
 *  - where there is no device, or none for this user, each timer is one of the loop's.
 *    It comes as late as those do, and never early;
 *  - what libtwheel.h says of fork() holds here, too.
 */
#ifndef TWHEEL_LOOP_H
#define TWHEEL_LOOP_H

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <time.h>

#include <libtwheel.h>

/* How many callbacks run before the loop serves others. */
#define TWHEEL_LOOP_CALLBACKS_MAX	256

/* The longest delay that a loop's own timer is given at once: a day. */
#define TWHEEL_LOOP_OWN_MAX_NS		86400000000000ULL

struct twheel_loop;
struct twheel_loop_own;

/**
 * struct twheel_loop_timer - a timeout; the program embeds it in an object of its own
 * @callback: called when the timeout is over, and the timer no longer active
 * @data: the program's
 * @id: the wheel's timer; 0: it has none
 * @own: the loop's timer; NULL: it has none
 */
struct twheel_loop_timer {
	void (*callback)(struct twheel_loop *loop, struct twheel_loop_timer *timer);
	void *data;
	uint64_t id;
	struct twheel_loop_own *own;
};

/**
 * struct twheel_loop_own - one of the loop's own timers, for what is active
 * @loop: the loop
 * @timer: the timeout
 * @deadline_ns: when it is over, which may be later than what the loop was told
 * @next: the next one
 * @link: what leads to this one
 */
struct twheel_loop_own {
	struct twheel_loop *loop;
	struct twheel_loop_timer *timer;
	uint64_t deadline_ns;
	struct twheel_loop_own *next;
	struct twheel_loop_own **link;
};

/**
 * struct twheel_loop_ops - what a kind of loop can do
 * @busy: whether the descriptor keeps the loop running; NULL: it does not matter
 * @again: call twheel_loop_drain() soon, though the descriptor may not be readable
 * @own_new: a timer of the loop's, or NULL
 * @own_start: call twheel_loop_own_over() after a delay; also while one runs
 * @own_free: end and free it; also from its own callback
 */
struct twheel_loop_ops {
	void (*busy)(struct twheel_loop *loop, bool busy);
	void (*again)(struct twheel_loop *loop);
	struct twheel_loop_own *(*own_new)(struct twheel_loop *loop);
	int (*own_start)(struct twheel_loop_own *own, uint64_t delay_ns);
	void (*own_free)(struct twheel_loop_own *own);
};

/**
 * struct twheel_loop - a wheel in a loop
 * @wheel: the wheel; NULL: timers are the loop's own. The program may read this
 * @data: the program's
 * @ops: those of the kind of loop
 * @owns: the loop's timers
 * @active: how many timers the wheel has for the program
 * @busy: what the loop was last told
 * @draining: callbacks run
 */
struct twheel_loop {
	struct twheel *wheel;
	void *data;
	const struct twheel_loop_ops *ops;
	struct twheel_loop_own *owns;
	unsigned long active;
	bool busy;
	bool draining;
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
	timer->own = NULL;
}

static inline bool twheel_loop_active(const struct twheel_loop_timer *timer)
{
	return timer->id || timer->own;
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

	if (busy == loop->busy || loop->draining)
		return;
	loop->busy = busy;
	if (loop->ops->busy)
		loop->ops->busy(loop, busy);
}

static inline void twheel_loop_own_end(struct twheel_loop_own *own)
{
	own->timer->own = NULL;
	*own->link = own->next;
	if (own->next)
		own->next->link = own->link;
	own->loop->ops->own_free(own);
}

static inline int twheel_loop_own_start(struct twheel_loop_own *own, uint64_t now_ns)
{
	uint64_t left_ns = own->deadline_ns > now_ns ? own->deadline_ns - now_ns : 0;

	if (left_ns > TWHEEL_LOOP_OWN_MAX_NS)
		left_ns = TWHEEL_LOOP_OWN_MAX_NS;
	return own->loop->ops->own_start(own, left_ns);
}

/* A timer of the loop's is over, which may be early by the loop's idea of the time. */
static inline void twheel_loop_own_over(struct twheel_loop_own *own)
{
	struct twheel_loop_timer *timer = own->timer;
	struct twheel_loop *loop = own->loop;
	uint64_t now_ns = twheel_loop_now();

	if (now_ns < own->deadline_ns) {
		twheel_loop_own_start(own, now_ns);
		return;
	}
	twheel_loop_own_end(own);
	timer->callback(loop, timer);
}

static inline int twheel_loop_own_arm(struct twheel_loop *loop,
				      struct twheel_loop_timer *timer, uint64_t deadline_ns)
{
	struct twheel_loop_own *own = timer->own;
	uint64_t before_ns;
	int ret;

	if (!own) {
		own = loop->ops->own_new(loop);
		if (!own)
			return -ENOMEM;
		own->loop = loop;
		own->timer = timer;
		own->deadline_ns = deadline_ns;
		own->next = loop->owns;
		own->link = &loop->owns;
		if (own->next)
			own->next->link = &own->next;
		loop->owns = own;
		timer->own = own;
		ret = twheel_loop_own_start(own, twheel_loop_now());
		if (ret)
			twheel_loop_own_end(own);
		return ret;
	}
	before_ns = own->deadline_ns;
	own->deadline_ns = deadline_ns;
	ret = twheel_loop_own_start(own, twheel_loop_now());
	if (ret)
		own->deadline_ns = before_ns;
	return ret;
}

/* After this the callback is not called, not even if the timer has expired. */
static inline void twheel_loop_stop(struct twheel_loop *loop, struct twheel_loop_timer *timer)
{
	if (timer->own)
		twheel_loop_own_end(timer->own);
	if (!timer->id)
		return;
	twheel_cancel(loop->wheel, timer->id);
	timer->id = 0;
	loop->active--;
	twheel_loop_settle(loop);
}

/* A timer of the wheel's; for one that has expired, another one. */
static inline int twheel_loop_arm(struct twheel_loop *loop, struct twheel_loop_timer *timer,
				  uint64_t deadline_ns)
{
	int ret;

	twheel_loop_stop(loop, timer);
	ret = twheel_arm_at(loop->wheel, deadline_ns, (uintptr_t)timer, &timer->id);
	if (ret)
		return ret;
	loop->active++;
	twheel_loop_settle(loop);
	return 0;
}

/**
 * twheel_loop_start_at() - call the timer's callback at a time
 * @loop: the wheel in the loop
 * @timer: the timer. If it is active, it gets the new deadline
 * @deadline_ns: the time
 *
 * Return: 0; -ENOSPC, -EDQUOT (there may not be more timers), -ENOMEM, -ERANGE (too far
 * away for timers in shared memory).
 */
static inline int twheel_loop_start_at(struct twheel_loop *loop,
				       struct twheel_loop_timer *timer, uint64_t deadline_ns)
{
	int ret;

	if (!loop->wheel)
		return twheel_loop_own_arm(loop, timer, deadline_ns);
	if (timer->id) {
		ret = twheel_modify_at(loop->wheel, timer->id, deadline_ns);
		if (ret != -EALREADY && ret != -ENOENT)
			return ret;
	}
	return twheel_loop_arm(loop, timer, deadline_ns);
}

/**
 * twheel_loop_extend_at() - a later deadline for an active timer, or start it
 * @loop: the wheel in the loop
 * @timer: the timer
 * @deadline_ns: the time. The deadline never becomes nearer
 *
 * With the device and shared memory this is a few instructions. With the loop's own timers
 * it only stores the deadline, which is seen when the old one has come.
 *
 * Return: 0, or 1 if the deadline was as late already, and stays; as
 * twheel_loop_start_at().
 */
static inline int twheel_loop_extend_at(struct twheel_loop *loop,
					struct twheel_loop_timer *timer, uint64_t deadline_ns)
{
	int ret;

	if (timer->own) {
		if (deadline_ns <= timer->own->deadline_ns)
			return 1;
		timer->own->deadline_ns = deadline_ns;
		return 0;
	}
	if (timer->id) {
		ret = twheel_extend_at(loop->wheel, timer->id, deadline_ns);
		if (ret != -EALREADY && ret != -ENOENT)
			return ret;
	}
	return twheel_loop_start_at(loop, timer, deadline_ns);
}

/* A time that far ahead does not come. */
static inline uint64_t twheel_loop_deadline(uint64_t delay_ns)
{
	uint64_t now_ns = twheel_loop_now();

	return delay_ns < TWHEEL_DELAY_NEVER - now_ns ? now_ns + delay_ns :
							TWHEEL_DELAY_NEVER;
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
 * Take events one by one: a callback may stop a timer whose event the library has read
 * ahead, and the library can still withdraw that one.
 */
static inline void twheel_loop_drain(struct twheel_loop *loop)
{
	struct twheel_loop_timer *timer;
	struct twheel_event event;
	int i;

	loop->draining = true;
	for (i = 0; i < TWHEEL_LOOP_CALLBACKS_MAX; i++) {
		if (twheel_next(loop->wheel, &event, 0) != 1)
			break;
		timer = (struct twheel_loop_timer *)(uintptr_t)event.cookie;
		timer->id = 0;
		loop->active--;
		timer->callback(loop, timer);
	}
	loop->draining = false;
	twheel_loop_settle(loop);
	/* The descriptor is not readable for events that the library has read ahead. */
	if (i == TWHEEL_LOOP_CALLBACKS_MAX)
		loop->ops->again(loop);
}

/* Open the wheel. Without a device, or without leave to use it, there is none: 0, too. */
static inline int twheel_loop_init(struct twheel_loop *loop,
				   const struct twheel_loop_ops *ops,
				   const struct twheel_options *options)
{
	int ret;

	if (options && options->clock != TWHEEL_CLOCK_MONOTONIC)
		return -EINVAL;
	loop->wheel = NULL;
	loop->data = NULL;
	loop->ops = ops;
	loop->owns = NULL;
	loop->active = 0;
	loop->busy = false;
	loop->draining = false;
	ret = twheel_open(&loop->wheel, options);
	switch (ret) {
	case -ENOENT:
	case -ENODEV:
	case -ENXIO:
	case -EACCES:
	case -EPERM:
		loop->wheel = NULL;
		return 0;
	default:
		return ret;
	}
}

/* When the descriptor is no longer in the loop. */
static inline void twheel_loop_destroy(struct twheel_loop *loop)
{
	while (loop->owns)
		twheel_loop_own_end(loop->owns);
	twheel_close(loop->wheel);
	loop->wheel = NULL;
}

#endif
