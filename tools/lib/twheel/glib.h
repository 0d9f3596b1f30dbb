/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * A wheel in a main context of GLib. The calls for timers are in loop.h. A main loop that
 * a callback runs inside itself serves no timers of that wheel.
 */
#ifndef TWHEEL_GLIB_H
#define TWHEEL_GLIB_H

#include <glib-unix.h>

#include "loop.h"

/**
 * struct twheel_glib - a wheel in a main context of GLib
 * @loop: for the calls of loop.h
 * @source: GLib's source for the descriptor
 */
struct twheel_glib {
	struct twheel_loop loop;
	GSource *source;
};

static inline gboolean twheel_glib_readable(gint fd, GIOCondition condition, gpointer loop)
{
	(void)fd;
	(void)condition;
	twheel_loop_drain((struct twheel_loop *)loop);
	return G_SOURCE_CONTINUE;
}

/* Take the wheel out of the loop. Active timers end, with no callback. */
static inline void twheel_glib_destroy(struct twheel_glib *glib)
{
	g_source_destroy(glib->source);
	g_source_unref(glib->source);
	twheel_loop_destroy(&glib->loop);
}

/**
 * twheel_glib_init() - put a wheel into a main context
 * @glib: is filled in
 * @context: GLib's main context, or NULL for the default one
 * @config: as for twheel_create(), on TWHEEL_CLOCK_MONOTONIC; or NULL
 *
 * Return: 0; as twheel_create().
 */
static inline int twheel_glib_init(struct twheel_glib *glib, GMainContext *context,
				   const struct twheel_config *config)
{
	int ret = twheel_loop_init(&glib->loop, NULL, config);

	if (ret)
		return ret;
	glib->source = g_unix_fd_source_new(glib->loop.fd, G_IO_IN);
	g_source_set_callback(glib->source, (GSourceFunc)(void (*)(void))twheel_glib_readable,
			      &glib->loop, NULL);
	g_source_attach(glib->source, context);
	return 0;
}

#endif
