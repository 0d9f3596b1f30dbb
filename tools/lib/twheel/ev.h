/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/* A process wheel in a loop of libev: twheel_loop(3) */
#ifndef TWHEEL_EV_H
#define TWHEEL_EV_H

#include <ev.h>
#include <twheel.h>

struct twheel_ev {
	ev_io io;
	struct ev_loop *loop;
};

/* After so many callbacks the loop serves others. A wheel that is stopped leaves the loop. */
static inline void twheel_ev_readable(struct ev_loop *loop, ev_io *io, int revents)
{
	(void)revents;
	if (twheel_run((struct twheel *)io->data, 64) == -ESHUTDOWN)
		ev_io_stop(loop, io);
}

/** twheel_ev_start() - have a loop serve a wheel; returns 0; as twheel_fd() */
static inline int twheel_ev_start(struct twheel_ev *ev, struct ev_loop *loop,
				  struct twheel *wheel)
{
	int fd = twheel_fd(wheel);

	if (fd < 0)
		return fd;
	ev->loop = loop;
	ev_io_init(&ev->io, twheel_ev_readable, fd, EV_READ);
	ev->io.data = wheel;
	ev_io_start(loop, &ev->io);
	return 0;
}

/** twheel_ev_stop() - take the wheel out of the loop; a callback may do so */
static inline void twheel_ev_stop(struct twheel_ev *ev)
{
	ev_io_stop(ev->loop, &ev->io);
}

#endif
