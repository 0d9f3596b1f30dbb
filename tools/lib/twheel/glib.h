/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/* A process wheel in a main context of GLib: twheel_loop(3) */
#ifndef TWHEEL_GLIB_H
#define TWHEEL_GLIB_H

#include <glib-unix.h>
#include <twheel.h>

struct twheel_glib {
	GSource *source;
};

/* Private: a wheel that needs no descriptor. */
struct twheel_glib_source {
	GSource source;
	struct twheel *wheel;
};

/* The context is going to sleep: for how long, or that something is due. */
static inline gboolean twheel_glib_prepare(GSource *source, gint *timeout)
{
	struct twheel *wheel = ((struct twheel_glib_source *)source)->wheel;
	uint64_t next = twheel_next(wheel), now = twheel_now(wheel);
	uint64_t ms = next > now ? (next - now - 1) / 1000000 + 1 : 0;

	*timeout = ms < G_MAXINT ? (gint)ms : G_MAXINT;
	if (next <= TWHEEL_NEVER)
		return ms == 0;
	*timeout = -1;
	/* It is empty, or stopped. */
	return twheel_needs_fd(wheel) < 0;
}

static inline gboolean twheel_glib_check(GSource *source)
{
	gint timeout;

	return twheel_glib_prepare(source, &timeout);
}

/* After so many callbacks the loop serves others. A wheel that is stopped leaves the loop. */
static inline gboolean twheel_glib_dispatch(GSource *source, GSourceFunc function, gpointer arg)
{
	(void)function;
	(void)arg;
	return twheel_run(((struct twheel_glib_source *)source)->wheel, 64) != -ESHUTDOWN;
}

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
	static GSourceFuncs functions = {
		twheel_glib_prepare, twheel_glib_check, twheel_glib_dispatch,
		NULL, NULL, NULL
	};
	int ret = twheel_needs_fd(wheel);

	if (ret > 0)
		ret = twheel_fd(wheel);
	if (ret < 0)
		return ret;
	if (twheel_needs_fd(wheel)) {
		glib->source = g_unix_fd_source_new(ret, G_IO_IN);
		g_source_set_callback(glib->source,
				      (GSourceFunc)(void (*)(void))twheel_glib_readable,
				      wheel, NULL);
	} else {
		glib->source = g_source_new(&functions, sizeof(struct twheel_glib_source));
		((struct twheel_glib_source *)glib->source)->wheel = wheel;
	}
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
