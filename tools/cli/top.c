// SPDX-License-Identifier: GPL-2.0-only
/* twheel top */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "clocks.h"
#include "command.h"
#include "duration.h"
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
 * @at_ns: the instant, on CLOCK_MONOTONIC
 */
struct view {
	struct wheel *wheels;
	size_t count;
	bool hidden;
	uint64_t at_ns;
};

static void view_take(struct view *view)
{
	view->at_ns = clock_now(CLOCK_MONOTONIC);
	view->wheels = find_wheels(0, &view->count, &view->hidden);
}

/* The same wheel in an earlier view, or NULL. Another may have its descriptor by now. */
static const struct wheel *view_find(const struct view *before,
				     const struct wheel *wheel)
{
	size_t i;

	for (i = 0; i < before->count; i++) {
		const struct wheel *old = &before->wheels[i];

		if (old->pid == wheel->pid && old->fd == wheel->fd &&
		    old->id == wheel->id)
			return old->armed <= wheel->armed ? old : NULL;
	}
	return NULL;
}

static uint64_t rate_per_second(uint64_t now, uint64_t before, uint64_t ns)
{
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
	if (!wheel->told) {
		printf("(only root may see what it holds)\n");
		return;
	}
	if (!old)
		old = wheel;
	/* A module's wheel does not count it. */
	if (wheel->pid)
		format_duration(wheel->late_max_ns, most, sizeof(most));
	late = late_percentile(wheel->late, old->late, 99);
	if (late)
		format_duration(late, p99, sizeof(p99));
	printf("%9s %9llu %8llu %9llu %9llu %9llu %9llu %9s %9s\n",
	       format_duration(wheel->tick_ns, tick, sizeof(tick)),
	       (unsigned long long)wheel->pending,
	       (unsigned long long)wheel->unread,
	       (unsigned long long)rate_per_second(wheel->armed, old->armed, ns),
	       (unsigned long long)rate_per_second(wheel->fired, old->fired, ns),
	       (unsigned long long)rate_per_second(wheel->cancelled,
					      old->cancelled, ns),
	       (unsigned long long)rate_per_second(wheel->extended, old->extended, ns),
	       p99, most);
}

static int compare_pending(const void *a, const void *b)
{
	const struct wheel *x = a, *y = b;

	return x->pending > y->pending ? -1 : x->pending < y->pending;
}

static void view_print_text(struct view *view, const struct view *before)
{
	size_t most = view->count, i;
	uint64_t pending = 0;

	if (view->count)
		qsort(view->wheels, view->count, sizeof(*view->wheels),
		      compare_pending);
	for (i = 0; i < view->count; i++)
		pending += view->wheels[i].pending;
	printf("%zu wheel%s, %llu timers pending%s\n", view->count,
	       view->count == 1 ? "" : "s", (unsigned long long)pending,
	       view->hidden ? "; only root may look into some processes" :
	       "");
	printf("%s%7s %4s %-15s %9s %9s %8s %9s %9s %9s %9s %9s %9s%s\n",
	       colour_bold(), "PID", "FD", "PROCESS", "TICK", "PENDING",
	       "UNREAD", "ARM/s", "FIRE/s", "CANCEL/s", "EXTEND/s", "LATE 99%",
	       "LATE MAX", colour_off());
	if (terminal_out() && most + TOP_OTHER_LINES > terminal_rows())
		most = terminal_rows() > TOP_OTHER_LINES ?
		       terminal_rows() - TOP_OTHER_LINES : 0;
	for (i = 0; i < most; i++)
		view_print_row(&view->wheels[i], view_find(before, &view->wheels[i]),
			       view->at_ns - before->at_ns);
	fflush(stdout);
}

static void view_print_counters(const struct wheel *wheel)
{
	const struct wheel_counter *counter;
	unsigned int i;

	for (counter = wheel_counters; counter->name; counter++) {
		if (wheel_has(wheel, counter))
			printf(",\"%s\":%llu", counter->name,
			       (unsigned long long)wheel_count(wheel, counter));
	}
	printf(",\"late\":[");
	for (i = 0; i < wheel->late_buckets; i++)
		printf("%s%llu", i ? "," : "",
		       (unsigned long long)wheel->late[i]);
	printf("]");
}

static void view_print_json(const struct view *view)
{
	size_t i;

	printf("{\"wheels\":[");
	for (i = 0; i < view->count; i++) {
		const struct wheel *wheel = &view->wheels[i];

		if (wheel->pid)
			printf("%s{\"pid\":%d,\"fd\":%d,\"process\":\"%s\"",
			       i ? "," : "", wheel->pid, wheel->fd,
			       wheel->name);
		else
			printf("%s{\"module\":\"%s\",\"name\":\"%s\"",
			       i ? "," : "", wheel->owner, wheel->name);
		if (wheel->id)
			printf(",\"wheel\":%llu",
			       (unsigned long long)wheel->id);
		if (wheel->told) {
			printf(",\"clock\":\"%s\",\"tick_ns\":%llu",
			       clock_name(wheel->clockid),
			       (unsigned long long)wheel->tick_ns);
			view_print_counters(wheel);
		}
		printf("}");
	}
	printf("],\"hidden\":%s}\n", view->hidden ? "true" : "false");
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
	view_take(&before);
	for (n = 0; n < count && output_good(); n++) {
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
		"Shows each wheel that a process has open: how many timers are pending, how many\n"
		"events are unread, and how often timers are armed, fire, are cancelled and are\n"
		"found extended. LATE 99% is a bound on the lateness of 99 of 100 timers since\n"
		"the last view, a power of two; LATE MAX is the largest lateness so far. Ends\n"
		"with Ctrl-C. Only root sees the wheels of other users and of kernel modules.\n\n"
		"  -d, --every D  time between views (default 1s)\n"
		"  -n, --count N  end after N views\n"
		"  --json         one JSON object for each view; times in ns\n",
	.run = top_run,
};
