/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * A wheel in a main context of GLib. The calls for timers are in loop.h. A main loop that
 * a callback runs inside itself serves no timers of that wheel.
 */
#ifndef TWHEEL_GLIB_H
#define TWHEEL_GLIB_H

#include <glib.h>
#include <stdlib.h>

#include "loop.h"

struct twheel_glib_own {
	struct twheel_loop_own own;
	GSource *source;
};

/**
 * struct twheel_glib - a wheel in a main context of GLib
 * @loop: for the calls of loop.h
 * @context: GLib's; NULL: the default one
 * @source: GLib's source for the descriptor; NULL: there is none
 */
struct twheel_glib {
	struct twheel_loop loop;
	GMainContext *context;
	GSource *source;
};

static inline gboolean twheel_glib_dispatch(GSource *source, GSourceFunc callback,
					    gpointer data)
{
	g_source_set_ready_time(source, -1);
	return callback(data);
}

/* A source that calls back at its ready time. */
static inline GSource *twheel_glib_source(struct twheel_loop *loop, GSourceFunc callback,
					  gpointer data)
{
	static GSourceFuncs functions = {
		NULL, NULL, twheel_glib_dispatch, NULL, NULL, NULL,
	};
	GSource *source = g_source_new(&functions, sizeof(*source));

	g_source_set_callback(source, callback, data, NULL);
	g_source_attach(source, ((struct twheel_glib *)loop)->context);
	return source;
}

static inline gboolean twheel_glib_readable(gpointer loop)
{
	twheel_loop_drain((struct twheel_loop *)loop);
	return G_SOURCE_CONTINUE;
}

static inline void twheel_glib_again(struct twheel_loop *loop)
{
	g_source_set_ready_time(((struct twheel_glib *)loop)->source, 0);
}

static inline gboolean twheel_glib_own_over(gpointer own)
{
	twheel_loop_own_over((struct twheel_loop_own *)own);
	return G_SOURCE_CONTINUE;
}

static inline struct twheel_loop_own *twheel_glib_own_new(struct twheel_loop *loop)
{
	struct twheel_glib_own *own = (struct twheel_glib_own *)malloc(sizeof(*own));

	if (!own)
		return NULL;
	own->source = twheel_glib_source(loop, twheel_glib_own_over, own);
	return &own->own;
}

static inline int twheel_glib_own_start(struct twheel_loop_own *own, uint64_t delay_ns)
{
	g_source_set_ready_time(((struct twheel_glib_own *)own)->source,
				(gint64)((twheel_loop_now() + delay_ns + 999) / 1000));
	return 0;
}

static inline void twheel_glib_own_free(struct twheel_loop_own *own)
{
	GSource *source = ((struct twheel_glib_own *)own)->source;

	g_source_destroy(source);
	g_source_unref(source);
	free(own);
}

/* Take the wheel out of the loop. Timers that are active never end. */
static inline void twheel_glib_destroy(struct twheel_glib *glib)
{
	if (glib->source) {
		g_source_destroy(glib->source);
		g_source_unref(glib->source);
		glib->source = NULL;
	}
	twheel_loop_destroy(&glib->loop);
	if (glib->context)
		g_main_context_unref(glib->context);
}

/**
 * twheel_glib_init() - put a wheel into a main context
 * @glib: is filled in
 * @context: GLib's main context, or NULL for the default one
 * @options: as for twheel_open(), on CLOCK_MONOTONIC; or NULL
 *
 * Return: 0, also where timers will be the loop's own; -errno.
 */
static inline int twheel_glib_init(struct twheel_glib *glib, GMainContext *context,
				   const struct twheel_options *options)
{
	static const struct twheel_loop_ops ops = {
		NULL, twheel_glib_again,
		twheel_glib_own_new, twheel_glib_own_start, twheel_glib_own_free,
	};
	int ret = twheel_loop_init(&glib->loop, &ops, options);

	if (ret)
		return ret;
	glib->context = context ? g_main_context_ref(context) : NULL;
	glib->source = NULL;
	if (!glib->loop.wheel)
		return 0;
	glib->source = twheel_glib_source(&glib->loop, twheel_glib_readable, &glib->loop);
	g_source_add_unix_fd(glib->source, twheel_fd(glib->loop.wheel), G_IO_IN);
	return 0;
}

#endif
