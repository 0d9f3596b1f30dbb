// SPDX-License-Identifier: GPL-2.0-only
/* A wheel in a main loop of GLib. */
#include <unistd.h>

#include <twheel/glib.h>

#include "lib/loops.h"

static GMainContext *context;
static GMainLoop *main_loop;

const bool loops_end;
const bool loops_nest = true;
const bool loops_sleep = true;

static GMainContext *context_get(void)
{
	if (!context) {
		context = g_main_context_new();
		main_loop = g_main_loop_new(context, FALSE);
	}
	return context;
}

LOOPS_OF(glib, context_get())

void loops_run(void)
{
	g_main_loop_run(main_loop);
}

void loops_quit(void)
{
	g_main_loop_quit(main_loop);
}

bool loops_poll(void)
{
	return g_main_context_iteration(context, FALSE);
}

/* A copy is the child's own. */
pid_t loops_fork(void)
{
	return fork();
}
