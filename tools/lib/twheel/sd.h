/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/* A wheel in systemd's event loop, sd-event. The calls for timers are in loop.h. */
#ifndef TWHEEL_SD_H
#define TWHEEL_SD_H

#include <stdlib.h>
#include <sys/epoll.h>
#include <systemd/sd-event.h>

#include "loop.h"

struct twheel_sd_own {
	struct twheel_loop_own own;
	sd_event_source *source;
};

/**
 * struct twheel_sd - a wheel in a loop of sd-event
 * @loop: for the calls of loop.h
 * @event: sd-event's loop
 * @io: sd-event's source for the descriptor; NULL: there is none
 * @defer: the source for events that the library has read ahead
 */
struct twheel_sd {
	struct twheel_loop loop;
	sd_event *event;
	sd_event_source *io;
	sd_event_source *defer;
};

static inline int twheel_sd_readable(sd_event_source *source, int fd, uint32_t events,
				     void *loop)
{
	(void)source;
	(void)fd;
	(void)events;
	twheel_loop_drain((struct twheel_loop *)loop);
	return 0;
}

static inline int twheel_sd_deferred(sd_event_source *source, void *loop)
{
	(void)source;
	twheel_loop_drain((struct twheel_loop *)loop);
	return 0;
}

static inline void twheel_sd_again(struct twheel_loop *loop)
{
	sd_event_source_set_enabled(((struct twheel_sd *)loop)->defer, SD_EVENT_ONESHOT);
}

static inline int twheel_sd_own_over(sd_event_source *source, uint64_t us, void *own)
{
	(void)source;
	(void)us;
	twheel_loop_own_over((struct twheel_loop_own *)own);
	return 0;
}

static inline struct twheel_loop_own *twheel_sd_own_new(struct twheel_loop *loop)
{
	struct twheel_sd_own *own = (struct twheel_sd_own *)malloc(sizeof(*own));

	if (!own)
		return NULL;
	/* An accuracy of 0 would be the default, a quarter of a second. */
	if (sd_event_add_time(((struct twheel_sd *)loop)->event, &own->source,
			      CLOCK_MONOTONIC, UINT64_MAX, 1, twheel_sd_own_over,
			      own) >= 0)
		return &own->own;
	free(own);
	return NULL;
}

static inline int twheel_sd_own_start(struct twheel_loop_own *own, uint64_t delay_ns)
{
	sd_event_source *source = ((struct twheel_sd_own *)own)->source;
	uint64_t us = (twheel_loop_now() + delay_ns + 999) / 1000;
	int ret = sd_event_source_set_time(source, us);

	if (ret >= 0)
		ret = sd_event_source_set_enabled(source, SD_EVENT_ONESHOT);
	return ret < 0 ? ret : 0;
}

static inline void twheel_sd_own_free(struct twheel_loop_own *own)
{
	sd_event_source_disable_unref(((struct twheel_sd_own *)own)->source);
	free(own);
}

/* Take the wheel out of the loop. Timers that are active never end. */
static inline void twheel_sd_destroy(struct twheel_sd *sd)
{
	sd->io = sd_event_source_disable_unref(sd->io);
	sd->defer = sd_event_source_disable_unref(sd->defer);
	twheel_loop_destroy(&sd->loop);
	sd->event = sd_event_unref(sd->event);
}

/**
 * twheel_sd_init() - put a wheel into a loop
 * @sd: is filled in
 * @event: sd-event's loop
 * @options: as for twheel_open(), on CLOCK_MONOTONIC; or NULL
 *
 * Return: 0, also where timers will be the loop's own; -errno.
 */
static inline int twheel_sd_init(struct twheel_sd *sd, sd_event *event,
				 const struct twheel_options *options)
{
	static const struct twheel_loop_ops ops = {
		NULL, twheel_sd_again,
		twheel_sd_own_new, twheel_sd_own_start, twheel_sd_own_free,
	};
	int ret = twheel_loop_init(&sd->loop, &ops, options);

	if (ret)
		return ret;
	sd->event = sd_event_ref(event);
	sd->io = NULL;
	sd->defer = NULL;
	if (!sd->loop.wheel)
		return 0;
	ret = sd_event_add_io(event, &sd->io, twheel_fd(sd->loop.wheel), EPOLLIN,
			      twheel_sd_readable, &sd->loop);
	if (ret >= 0)
		ret = sd_event_add_defer(event, &sd->defer, twheel_sd_deferred, &sd->loop);
	if (ret >= 0)
		ret = sd_event_source_set_enabled(sd->defer, SD_EVENT_OFF);
	if (ret >= 0)
		return 0;
	twheel_sd_destroy(sd);
	return ret;
}

#endif
