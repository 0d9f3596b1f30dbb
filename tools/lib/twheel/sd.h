/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/* A wheel in systemd's event loop, sd-event. The calls for timers are in loop.h. */
#ifndef TWHEEL_SD_H
#define TWHEEL_SD_H

#include <sys/epoll.h>
#include <systemd/sd-event.h>

#include "loop.h"

/**
 * struct twheel_sd - a wheel in a loop of sd-event
 * @loop: for the calls of loop.h
 * @event: sd-event's loop
 * @source: sd-event's source for the descriptor
 */
struct twheel_sd {
	struct twheel_loop loop;
	sd_event *event;
	sd_event_source *source;
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

/* Take the wheel out of the loop. Active timers end, with no callback. */
static inline void twheel_sd_destroy(struct twheel_sd *sd)
{
	sd->source = sd_event_source_disable_unref(sd->source);
	twheel_loop_destroy(&sd->loop);
}

/**
 * twheel_sd_init() - put a wheel into a loop
 * @sd: is filled in
 * @event: sd-event's loop
 * @config: as for twheel_create(), on TWHEEL_CLOCK_MONOTONIC; or NULL
 *
 * Return: 0; as twheel_create().
 */
static inline int twheel_sd_init(struct twheel_sd *sd, sd_event *event,
				 const struct twheel_config *config)
{
	int ret = twheel_loop_init(&sd->loop, NULL, config);

	if (ret)
		return ret;
	sd->event = event;
	ret = sd_event_add_io(event, &sd->source, sd->loop.fd, EPOLLIN, twheel_sd_readable,
			      &sd->loop);
	if (ret >= 0)
		return 0;
	twheel_loop_destroy(&sd->loop);
	return ret;
}

#endif
