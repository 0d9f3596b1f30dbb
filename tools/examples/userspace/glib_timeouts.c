// SPDX-License-Identifier: MIT-0
/* A GLib program with its timeouts in a wheel. */
#include <err.h>
#include <string.h>

#include <twheel/glib.h>

#include "lib/timeouts.h"

static GMainLoop *loop;

static void loop_end(void)
{
	g_main_loop_quit(loop);
}

int main(void)
{
	struct twheel *wheel = timeouts_begin(loop_end);
	struct twheel_glib glib;
	int ret = twheel_glib_start(&glib, NULL, wheel);

	if (ret)
		errx(1, "GLib: %s", strerror(-ret));
	loop = g_main_loop_new(NULL, FALSE);
	g_main_loop_run(loop);
	twheel_glib_stop(&glib);
	g_main_loop_unref(loop);
	return timeouts_end(wheel);
}
