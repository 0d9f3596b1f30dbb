// SPDX-License-Identifier: GPL-2.0-only
/* twheel top */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "clocks.h"
#include "command.h"
#include "duration.h"
#include "json.h"
#include "module.h"
#include "options.h"
#include "terminal.h"
#include "wheels.h"

/* Lines of the screen above the wheels, and below. */
#define TOP_OTHER_LINES	3

/**
 * struct view - the wheels at an instant
 * @wheels: an array of them
 * @count: how many
 * @hidden: there are processes that may not be looked into
 * @loaded: the kernel has the module
 * @at_ns: the instant, on CLOCK_MONOTONIC
 */
struct view {
	struct wheel *wheels;
	size_t count;
	bool hidden, loaded;
	uint64_t at_ns;
};

static void view_take(struct view *view)
{
	view->at_ns = clock_now(TWHEEL_MONOTONIC);
	view->wheels = find_wheels(0, &view->count, &view->hidden);
	view->loaded = module_loaded();
}

/* The same wheel in an earlier view, or NULL. Another wheel may have its descriptor now. */
static const struct wheel *view_find(const struct view *before,
				     const struct wheel *wheel)
{
	size_t i;

	for (i = 0; i < before->count; i++) {
		const struct wheel *old = &before->wheels[i];

		if (old->pid == wheel->pid && old->fd == wheel->fd &&
		    old->numbers[WHEEL_ID] == wheel->numbers[WHEEL_ID])
			return old->numbers[WHEEL_ARMED] <= wheel->numbers[WHEEL_ARMED] ?
			       old : NULL;
	}
	return NULL;
}

/* How often something happened in a second. */
static unsigned long long view_rate(const struct wheel *wheel, const struct wheel *old,
				    enum wheel_number what, uint64_t ns)
{
	uint64_t now = wheel->numbers[what], before = old->numbers[what];

	return now > before && ns ? (now - before) * (double)NS_PER_S / ns : 0;
}

static void view_print_row(const struct wheel *wheel, const struct wheel *old,
			   uint64_t ns)
{
	char most[32] = "-", p99[32] = "-", tick[32];
	uint64_t late;

	if (wheel->pid)
		printf("%7d %4d %-15.15s ", wheel->pid, wheel->fd, wheel->name);
	else
		printf("%7s %4s %-15.15s ", "kernel", "-", wheel->name);
	if (!old)
		old = wheel;
	if (wheel_knows(wheel, WHEEL_LATE_MAX))
		format_duration(wheel->numbers[WHEEL_LATE_MAX], most, sizeof(most));
	late = late_percentile(wheel->late, old->late, 99);
	if (late)
		format_duration(late, p99, sizeof(p99));
	printf("%9s %9llu %8llu %9llu %9llu %9llu %9llu %9s %9s\n",
	       format_duration(wheel->numbers[WHEEL_TICK], tick, sizeof(tick)),
	       (unsigned long long)wheel_timers(wheel),
	       (unsigned long long)wheel->numbers[WHEEL_CELLS],
	       view_rate(wheel, old, WHEEL_ARMED, ns),
	       view_rate(wheel, old, WHEEL_FIRED, ns),
	       view_rate(wheel, old, WHEEL_CANCELLED, ns),
	       view_rate(wheel, old, WHEEL_EXTENDED, ns), p99, most);
}

static int compare_timers(const void *a, const void *b)
{
	uint64_t x = wheel_timers(a), y = wheel_timers(b);

	return x > y ? -1 : x < y;
}

static void view_print_text(struct view *view, const struct view *before)
{
	size_t most = view->count, i;
	uint64_t timers = 0;

	if (view->count)
		qsort(view->wheels, view->count, sizeof(*view->wheels), compare_timers);
	for (i = 0; i < view->count; i++)
		timers += wheel_timers(&view->wheels[i]);
	printf("%zu wheel%s, %llu timer%s%s%s\n", view->count,
	       view->count == 1 ? "" : "s", (unsigned long long)timers,
	       timers == 1 ? "" : "s",
	       view->loaded ? "" : "; there is no module",
	       view->hidden ? "; only root may look into some processes" : "");
	printf("%s%7s %4s %-15s %9s %9s %8s %9s %9s %9s %9s %9s %9s%s\n",
	       colour_bold(), "PID", "FD", "PROCESS", "TICK", "TIMERS",
	       "CELLS", "ARM/s", "FIRE/s", "CANCEL/s", "EXTEND/s", "LATE 99%",
	       "LATE MAX", colour_off());
	if (terminal_out() && most + TOP_OTHER_LINES > terminal_rows())
		most = terminal_rows() > TOP_OTHER_LINES ?
		       terminal_rows() - TOP_OTHER_LINES : 0;
	for (i = 0; i < most; i++)
		view_print_row(&view->wheels[i], view_find(before, &view->wheels[i]),
			       view->at_ns - before->at_ns);
	fflush(stdout);
}

static void view_print_json(const struct view *view)
{
	size_t i;

	json_begin(NULL, '{');
	json_begin("wheels", '[');
	for (i = 0; i < view->count; i++)
		wheel_print_json(&view->wheels[i]);
	json_end(']');
	json_flag("hidden", view->hidden);
	json_flag("loaded", view->loaded);
	json_end('}');
	fflush(stdout);
}

static void top_pause(uint64_t ns)
{
	struct timespec left = { ns / NS_PER_S, ns % NS_PER_S };

	/* SIGINT cuts it short. */
	nanosleep(&left, NULL);
}

static int top_run(int argc, char **argv)
{
	uint64_t count = UINT64_MAX, every = NS_PER_S, n;
	struct view before = { }, view = { };
	bool json = false;
	const struct option_rule rules[] = {
		{ "count", 'n', OPTION_COUNT, &count, 1, 0 },
		{ "every", 'd', OPTION_DURATION, &every, 10000000, 0 },
		{ "json", 0, OPTION_FLAG, &json, 0, 0 },
		{ }
	};

	parse_only_options(&top_command, argc, argv, rules);
	catch_signal(SIGINT);
	view_take(&before);
	for (n = 0; !interrupted && n < count && output_good(); n++) {
		top_pause(every);
		if (interrupted)
			break;
		view_take(&view);
		if (terminal_out() && !json)
			printf("\033[H\033[2J");
		if (json)
			view_print_json(&view);
		else
			view_print_text(&view, &before);
		free(before.wheels);
		before = view;
	}
	free(before.wheels);
	return interrupted && count != UINT64_MAX ? STATUS_SIGINT : STATUS_OK;
}

const struct command top_command = {
	.name = "top",
	.summary = "show the wheels of all processes, again and again",
	.help = "usage: twheel top [OPTION]...\n\n"
		"Shows each wheel that a process has open: how many timers and pending cells it\n"
		"has, and how often timers are armed, fire, are cancelled and are found extended.\n"
		"LATE 99% is a bound on the lateness of 99 of 100 timers since the last view, a\n"
		"power of two. LATE MAX is the largest lateness so far; kernel modules' wheels\n"
		"have none. Ends with Ctrl-C. Only root sees those, and wheels of other users.\n\n"
		"  -d, --every D  time between views (default 1s)\n"
		"  -n, --count N  end after N views\n"
		"  --json         one JSON object for each view; times in ns\n",
	.run = top_run,
};
