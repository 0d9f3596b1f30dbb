// SPDX-License-Identifier: GPL-2.0-only
/* A wheel in a main loop of GLib. */
#include <twheel/glib.h>

#include "lib/loops.h"

static GMainContext *context;
static GMainLoop *main_loop;
static struct twheel_glib glib;

const bool loops_end;
const char *const loops_example = "glib_timeouts";

int loops_open(const struct twheel_config *config)
{
	if (!context) {
		context = g_main_context_new();
		main_loop = g_main_loop_new(context, FALSE);
	}
	return twheel_glib_init(&glib, context, config);
}

struct twheel_loop *loops_loop(void)
{
	return &glib.loop;
}

void loops_run(void)
{
	g_main_loop_run(main_loop);
}

void loops_quit(void)
{
	g_main_loop_quit(main_loop);
}

void loops_poll(void)
{
	g_main_context_iteration(context, FALSE);
}

void loops_close(void)
{
	twheel_glib_destroy(&glib);
}
