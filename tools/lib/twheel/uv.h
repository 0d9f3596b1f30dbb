/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/* A wheel in a loop of libuv. The calls for timers are in loop.h. */
#ifndef TWHEEL_UV_H
#define TWHEEL_UV_H

#include <stdlib.h>
#include <uv.h>

#include "loop.h"

/**
 * struct twheel_uv - a wheel in a loop of libuv
 * @loop: for the calls of loop.h
 * @poll: libuv's handle for the descriptor. It is freed when libuv has closed it, which is
 *	some time after it is told to
 */
struct twheel_uv {
	struct twheel_loop loop;
	uv_poll_t *poll;
};

static inline void twheel_uv_readable(uv_poll_t *poll, int status, int events)
{
	(void)status;
	(void)events;
	twheel_loop_drain((struct twheel_loop *)poll->data);
}

/* Active timers keep the loop running; an empty wheel does not. */
static inline void twheel_uv_set_busy(struct twheel_loop *loop, bool busy)
{
	uv_handle_t *poll = (uv_handle_t *)((struct twheel_uv *)loop)->poll;

	(busy ? uv_ref : uv_unref)(poll);
}

static inline void twheel_uv_closed(uv_handle_t *handle)
{
	free(handle);
}

/* Take the wheel out of the loop. Active timers end, with no callback. */
static inline void twheel_uv_destroy(struct twheel_uv *uv)
{
	uv_close((uv_handle_t *)uv->poll, twheel_uv_closed);
	twheel_loop_destroy(&uv->loop);
}

/**
 * twheel_uv_init() - put a wheel into a loop
 * @uv: is filled in
 * @loop: libuv's loop
 * @config: as for twheel_create(), on TWHEEL_CLOCK_MONOTONIC; or NULL
 *
 * Return: 0; as twheel_create().
 */
static inline int twheel_uv_init(struct twheel_uv *uv, uv_loop_t *loop,
				 const struct twheel_config *config)
{
	int ret = twheel_loop_init(&uv->loop, twheel_uv_set_busy, config);

	if (ret)
		return ret;
	uv->poll = (uv_poll_t *)malloc(sizeof(*uv->poll));
	ret = uv->poll ? uv_poll_init(loop, uv->poll, uv->loop.fd) : -ENOMEM;
	if (ret) {
		free(uv->poll);
		twheel_loop_destroy(&uv->loop);
		return ret;
	}
	uv->poll->data = &uv->loop;
	uv_unref((uv_handle_t *)uv->poll);
	ret = uv_poll_start(uv->poll, UV_READABLE, twheel_uv_readable);
	if (ret)
		twheel_uv_destroy(uv);
	return ret;
}

#endif
