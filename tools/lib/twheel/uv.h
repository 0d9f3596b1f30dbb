/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/* A process wheel in a loop of libuv: twheel_loop(3) */
#ifndef TWHEEL_UV_H
#define TWHEEL_UV_H

#include <twheel.h>
#include <uv.h>

struct twheel_uv {
	/* It keeps the loop running, and closes last. */
	uv_handle_t *handle;
	/* NULL, or set by the program: see uv_close(). */
	uv_close_cb closed;
	uv_poll_t poll;
	uv_prepare_t prepare;
	uv_timer_t timer;
	struct twheel *wheel;
	/* What the timer is set for; 1, which is no tick: that is not known. */
	uint64_t next_ns;
	/* It has gone off in this round of the loop. */
	int went_off;
};

/* After so many callbacks the loop serves others. A wheel that is stopped leaves the loop. */
static inline void twheel_uv_readable(uv_poll_t *poll, int status, int events)
{
	(void)status;
	(void)events;
	if (twheel_run((struct twheel *)poll->data, 64) == -ESHUTDOWN)
		uv_poll_stop(poll);
}

static inline void twheel_uv_due(uv_timer_t *timer)
{
	struct twheel_uv *uv = (struct twheel_uv *)timer->data;

	uv->next_ns = 1;
	uv->went_off = 1;
	twheel_run(uv->wheel, 64);
}

/* The loop is going to sleep, in whole milliseconds. */
static inline void twheel_uv_sleeps(uv_prepare_t *prepare)
{
	struct twheel_uv *uv = (struct twheel_uv *)prepare->data;
	uint64_t next = twheel_next(uv->wheel), now;
	int went_off = uv->went_off;

	uv->went_off = 0;
	if (next > TWHEEL_NEVER && twheel_needs_fd(uv->wheel) < 0) {
		uv_prepare_stop(prepare);
		uv_timer_stop(&uv->timer);
		return;
	}
	if (next == uv->next_ns)
		return;
	uv_update_time(prepare->loop);
	now = twheel_now(uv->wheel);
	uv->next_ns = next;
	uv_timer_start(&uv->timer, twheel_uv_due,
		       next > now ? (next - now - 1) / 1000000 + 1 : 0, 0);
	/* A loop that is run without waiting looks at its timers before this. */
	if (next <= now && !went_off)
		twheel_run(uv->wheel, 64);
}

static inline void twheel_uv_timer_closed(uv_handle_t *timer)
{
	struct twheel_uv *uv = (struct twheel_uv *)timer->data;

	uv_close(uv->handle, uv->closed);
}

/** twheel_uv_stop() - take the wheel out of the loop; a callback may do so */
static inline void twheel_uv_stop(struct twheel_uv *uv)
{
	if (uv->handle == (uv_handle_t *)&uv->poll) {
		uv_close(uv->handle, uv->closed);
		return;
	}
	uv_prepare_stop(&uv->prepare);
	uv_close((uv_handle_t *)&uv->timer, twheel_uv_timer_closed);
}

/** twheel_uv_start() - have a loop serve a wheel; returns 0; as twheel_fd(); an error of libuv */
static inline int twheel_uv_start(struct twheel_uv *uv, uv_loop_t *loop, struct twheel *wheel)
{
	int ret = twheel_needs_fd(wheel);

	uv->closed = NULL;
	uv->wheel = wheel;
	uv->next_ns = 1;
	uv->went_off = 0;
	if (ret < 0)
		return ret;
	if (ret) {
		uv->handle = (uv_handle_t *)&uv->poll;
		ret = twheel_fd(wheel);
		if (ret >= 0)
			ret = uv_poll_init(loop, &uv->poll, ret);
		if (ret)
			return ret;
		uv->poll.data = wheel;
		return uv_poll_start(&uv->poll, UV_READABLE, twheel_uv_readable);
	}
	uv->handle = (uv_handle_t *)&uv->prepare;
	uv_prepare_init(loop, &uv->prepare);
	uv_timer_init(loop, &uv->timer);
	uv_unref((uv_handle_t *)&uv->timer);
	uv->prepare.data = uv;
	uv->timer.data = uv;
	return uv_prepare_start(&uv->prepare, twheel_uv_sleeps);
}

#endif
