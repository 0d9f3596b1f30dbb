/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/* A process wheel in a main context of GLib: twheel_loop(3) */
#ifndef TWHEEL_GLIB_H
#define TWHEEL_GLIB_H

#include <glib-unix.h>
#include <twheel.h>

struct twheel_glib {
	GSource *source;
};

/* After so many callbacks the loop serves others. A wheel that is stopped leaves the loop. */
static inline gboolean twheel_glib_readable(gint fd, GIOCondition condition, gpointer wheel)
{
	(void)fd;
	(void)condition;
	return twheel_run((struct twheel *)wheel, 64) != -ESHUTDOWN;
}

/** twheel_glib_start() - have a main context serve a wheel; returns 0; as twheel_fd() */
static inline int twheel_glib_start(struct twheel_glib *glib, GMainContext *context,
				    struct twheel *wheel)
{
	int fd = twheel_fd(wheel);

	if (fd < 0)
		return fd;
	glib->source = g_unix_fd_source_new(fd, G_IO_IN);
	g_source_set_callback(glib->source, (GSourceFunc)(void (*)(void))twheel_glib_readable,
			      wheel, NULL);
	g_source_set_can_recurse(glib->source, TRUE);
	g_source_attach(glib->source, context);
	return 0;
}

/** twheel_glib_stop() - take the wheel out of the main context; a callback may do so */
static inline void twheel_glib_stop(struct twheel_glib *glib)
{
	g_source_destroy(glib->source);
	g_source_unref(glib->source);
}

#endif
