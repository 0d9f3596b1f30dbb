/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/* A wheel in a loop of libuv. The calls for timers are in loop.h. */
#ifndef TWHEEL_UV_H
#define TWHEEL_UV_H

#include <stdlib.h>
#include <uv.h>

#include "loop.h"

/* What libuv closes only some time after it is told to. */
struct twheel_uv_watch {
	uv_poll_t poll;
	uv_idle_t idle;
	unsigned int open;
};

struct twheel_uv_own {
	struct twheel_loop_own own;
	uv_timer_t timer;
};

/**
 * struct twheel_uv - a wheel in a loop of libuv
 * @loop: for the calls of loop.h
 * @uv: libuv's loop
 * @watch: libuv's handles for the descriptor; NULL: there is none
 */
struct twheel_uv {
	struct twheel_loop loop;
	uv_loop_t *uv;
	struct twheel_uv_watch *watch;
};

static inline void twheel_uv_readable(uv_poll_t *poll, int status, int events)
{
	(void)status;
	(void)events;
	twheel_loop_drain((struct twheel_loop *)poll->data);
}

static inline void twheel_uv_idle(uv_idle_t *idle)
{
	uv_idle_stop(idle);
	twheel_loop_drain((struct twheel_loop *)idle->data);
}

/* Active timers keep the loop running; an empty wheel does not. */
static inline void twheel_uv_busy(struct twheel_loop *loop, bool busy)
{
	uv_handle_t *poll = (uv_handle_t *)&((struct twheel_uv *)loop)->watch->poll;

	if (busy)
		uv_ref(poll);
	else
		uv_unref(poll);
}

static inline void twheel_uv_again(struct twheel_loop *loop)
{
	uv_idle_start(&((struct twheel_uv *)loop)->watch->idle, twheel_uv_idle);
}

static inline struct twheel_loop_own *twheel_uv_own_new(struct twheel_loop *loop)
{
	struct twheel_uv_own *own = (struct twheel_uv_own *)malloc(sizeof(*own));

	if (!own)
		return NULL;
	uv_timer_init(((struct twheel_uv *)loop)->uv, &own->timer);
	own->timer.data = own;
	return &own->own;
}

static inline void twheel_uv_own_over(uv_timer_t *timer)
{
	twheel_loop_own_over((struct twheel_loop_own *)timer->data);
}

/* Some versions of libuv never end a round in which timers are started for now. */
static inline int twheel_uv_own_start(struct twheel_loop_own *own, uint64_t delay_ns)
{
	return uv_timer_start(&((struct twheel_uv_own *)own)->timer, twheel_uv_own_over,
			      delay_ns / 1000000 + 1, 0);
}

static inline void twheel_uv_own_closed(uv_handle_t *handle)
{
	free(handle->data);
}

static inline void twheel_uv_own_free(struct twheel_loop_own *own)
{
	uv_close((uv_handle_t *)&((struct twheel_uv_own *)own)->timer, twheel_uv_own_closed);
}

static inline void twheel_uv_closed(uv_handle_t *handle)
{
	struct twheel_uv_watch *watch = (struct twheel_uv_watch *)handle->data;

	if (!--watch->open)
		free(watch);
}

/* Take the wheel out of the loop. Timers that are active never end. */
static inline void twheel_uv_destroy(struct twheel_uv *uv)
{
	struct twheel_uv_watch *watch = uv->watch;

	if (watch) {
		watch->poll.data = watch;
		watch->idle.data = watch;
		uv_close((uv_handle_t *)&watch->poll, twheel_uv_closed);
		uv_close((uv_handle_t *)&watch->idle, twheel_uv_closed);
		uv->watch = NULL;
	}
	twheel_loop_destroy(&uv->loop);
}

/**
 * twheel_uv_init() - put a wheel into a loop
 * @uv: is filled in
 * @loop: libuv's loop
 * @options: as for twheel_open(), on CLOCK_MONOTONIC; or NULL
 *
 * Return: 0, also where timers will be the loop's own; -errno.
 */
static inline int twheel_uv_init(struct twheel_uv *uv, uv_loop_t *loop,
				 const struct twheel_options *options)
{
	static const struct twheel_loop_ops ops = {
		twheel_uv_busy, twheel_uv_again,
		twheel_uv_own_new, twheel_uv_own_start, twheel_uv_own_free,
	};
	struct twheel_uv_watch *watch;
	int ret = twheel_loop_init(&uv->loop, &ops, options);

	uv->uv = loop;
	uv->watch = NULL;
	if (ret || !uv->loop.wheel)
		return ret;
	watch = (struct twheel_uv_watch *)malloc(sizeof(*watch));
	ret = watch ? uv_poll_init(loop, &watch->poll, twheel_fd(uv->loop.wheel)) : -ENOMEM;
	if (ret) {
		free(watch);
		twheel_loop_destroy(&uv->loop);
		return ret;
	}
	uv_idle_init(loop, &watch->idle);
	watch->open = 2;
	watch->poll.data = &uv->loop;
	watch->idle.data = &uv->loop;
	uv->watch = watch;
	uv_unref((uv_handle_t *)&watch->poll);
	uv_unref((uv_handle_t *)&watch->idle);
	ret = uv_poll_start(&watch->poll, UV_READABLE, twheel_uv_readable);
	if (ret)
		twheel_uv_destroy(uv);
	return ret;
}

#endif
