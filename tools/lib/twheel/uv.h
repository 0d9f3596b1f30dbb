/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/* A process wheel in a loop of libuv: twheel_loop(3) */
#ifndef TWHEEL_UV_H
#define TWHEEL_UV_H

#include <twheel.h>
#include <uv.h>

struct twheel_uv {
	uv_poll_t poll;
};

/* After so many callbacks the loop serves others. A wheel that is stopped leaves the loop. */
static inline void twheel_uv_readable(uv_poll_t *poll, int status, int events)
{
	(void)status;
	(void)events;
	if (twheel_run((struct twheel *)poll->data, 64) == -ESHUTDOWN)
		uv_poll_stop(poll);
}

/** twheel_uv_stop() - take the wheel out of the loop; a callback may do so */
static inline void twheel_uv_stop(struct twheel_uv *uv)
{
	uv_close((uv_handle_t *)&uv->poll, NULL);
}

/** twheel_uv_start() - have a loop serve a wheel; returns 0; as twheel_fd(); an error of libuv */
static inline int twheel_uv_start(struct twheel_uv *uv, uv_loop_t *loop, struct twheel *wheel)
{
	int ret = twheel_fd(wheel);

	if (ret >= 0)
		ret = uv_poll_init(loop, &uv->poll, ret);
	if (ret)
		return ret;
	uv->poll.data = wheel;
	return uv_poll_start(&uv->poll, UV_READABLE, twheel_uv_readable);
}

#endif
