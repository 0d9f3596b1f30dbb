/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/* A process wheel in systemd's event loop, sd-event: twheel_loop(3) */
#ifndef TWHEEL_SD_H
#define TWHEEL_SD_H

#include <sys/epoll.h>
#include <systemd/sd-event.h>
#include <twheel.h>

struct twheel_sd {
	sd_event_source *source;
};

/* After so many callbacks the loop serves others. A wheel that is stopped leaves the loop. */
static inline int twheel_sd_readable(sd_event_source *source, int fd, uint32_t events,
				     void *wheel)
{
	(void)fd;
	(void)events;
	if (twheel_run((struct twheel *)wheel, 64) == -ESHUTDOWN)
		sd_event_source_set_enabled(source, SD_EVENT_OFF);
	return 0;
}

/** twheel_sd_start() - have a loop serve a wheel; 0; as twheel_fd(); an error of sd-event */
static inline int twheel_sd_start(struct twheel_sd *sd, sd_event *event, struct twheel *wheel)
{
	int fd = twheel_fd(wheel), ret;

	if (fd < 0)
		return fd;
	ret = sd_event_add_io(event, &sd->source, fd, EPOLLIN, twheel_sd_readable, wheel);
	return ret < 0 ? ret : 0;
}

/** twheel_sd_stop() - take the wheel out of the loop; a callback may do so */
static inline void twheel_sd_stop(struct twheel_sd *sd)
{
	sd_event_source_disable_unref(sd->source);
}

#endif
