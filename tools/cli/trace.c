// SPDX-License-Identifier: GPL-2.0-only
/* twheel trace: what wheels do, as it happens */
#include <err.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "clocks.h"
#include "command.h"
#include "duration.h"
#include "options.h"
#include "terminal.h"
#include "tracefs.h"
#include "wheels.h"

/* How long to sleep when there is nothing to read. */
#define TRACE_NAP_NS	20000000

/* Wheels in a filter, whose text has to fit into a page. */
#define TRACE_WHEELS_MOST	64

/**
 * struct tracer - a trace that runs
 * @tracefs: the instance that it comes from
 * @count: how many events to print
 * @printed: how many have been printed
 * @failed: it cannot be read
 * @lost: the kernel had no room for some events
 * @line: the part of a line that has been read
 * @length: the length of that
 */
struct tracer {
	struct tracefs tracefs;
	uint64_t count;
	uint64_t printed;
	bool failed;
	bool lost;
	char line[4096];
	size_t length;
};

/* Print "deadline_ns=12" as "deadline 0.000000012", and other times as durations. */
static void event_print_value(const char *key, const char *value)
{
	size_t length = strlen(key);
	unsigned long long ns;
	char text[32];

	/* A file of /dev/twheel has no function. */
	if (!strcmp(key, "function") && !strcmp(value, "0x0"))
		return;
	if (length < 3 || strcmp(key + length - 3, "_ns")) {
		printf(" %s %s", key, value);
		return;
	}
	ns = strtoull(value, NULL, 10);
	if (!strcmp(key, "deadline_ns"))
		snprintf(text, sizeof(text), "%llu.%09llu", ns / NS_PER_S,
			 ns % NS_PER_S);
	else
		format_duration(ns, text, sizeof(text));
	printf(" %.*s %s", (int)(length - 3), key, text);
}

/* "key=value key=value": a value may have blanks; it ends before the next key. */
static void event_print_values(char *text)
{
	char *key = text, *value, *next, *blank;

	while (key && (value = strchr(key, '='))) {
		*value++ = '\0';
		next = strchr(value, '=');
		blank = NULL;
		if (next) {
			*next = '\0';
			blank = strrchr(value, ' ');
			*next = '=';
		}
		if (blank)
			*blank++ = '\0';
		event_print_value(key, value);
		key = blank;
	}
}

/* A line of trace_pipe: "task-pid [cpu] flags seconds: twheel_event: values". */
static void tracer_print_event(struct tracer *tracer, char *line)
{
	unsigned long long seconds, micros;
	char flags[16], event[32];
	unsigned int cpu;
	char *start;
	int end = 0;

	/* The name of a task may look like anything, so try each bracket. */
	for (start = strchr(line, '['); start; start = strchr(start + 1, '[')) {
		if (sscanf(start, "[%u] %15s %llu.%llu: twheel_%31[a-z_]: %n",
			   &cpu, flags, &seconds, &micros, event, &end) == 5 &&
		    end)
			break;
	}
	if (!start) {
		tracer->lost |= strstr(line, "[LOST ") && strstr(line, " EVENTS]");
		return;
	}
	printf("%llu.%06llu cpu%-2u %s%-12s%s", seconds, micros, cpu,
	       colour_bold(), event, colour_off());
	event_print_values(start + end);
	printf("\n");
	tracer->printed++;
}

/* Returns false if there was nothing to read. */
static bool tracer_read(struct tracer *tracer)
{
	char buffer[4096];
	ssize_t got = read(tracer->tracefs.pipe, buffer, sizeof(buffer)), i;

	if (got <= 0) {
		if (got < 0 && errno != EAGAIN && errno != EINTR) {
			warn("trace_pipe");
			tracer->failed = true;
		}
		return false;
	}
	for (i = 0; i < got; i++) {
		if (buffer[i] != '\n') {
			/* Our events are shorter. */
			if (tracer->length < sizeof(tracer->line) - 1)
				tracer->line[tracer->length++] = buffer[i];
			continue;
		}
		tracer->line[tracer->length] = '\0';
		tracer->length = 0;
		if (tracer->printed < tracer->count)
			tracer_print_event(tracer, tracer->line);
	}
	fflush(stdout);
	return true;
}

static void tracer_follow(struct tracer *tracer, uint64_t end_ns)
{
	const struct timespec nap = { 0, TRACE_NAP_NS };

	while (!interrupted && !tracer->failed && !ferror(stdout) &&
	       tracer->printed < tracer->count &&
	       clock_now(TWHEEL_MONOTONIC) < end_ns) {
		if (!tracer_read(tracer))
			nanosleep(&nap, NULL);
	}
	/* Print what has been traced so far. */
	tracefs_write(&tracer->tracefs, "tracing_on", "0");
	while (!ferror(stdout) && tracer->printed < tracer->count &&
	       tracer_read(tracer))
		;
}

/* The instance has to be removed, whatever signal ends the program. */
static void trace_catch_signals(void)
{
	catch_signal(SIGINT);
	catch_signal(SIGTERM);
	catch_signal(SIGHUP);
	signal(SIGPIPE, SIG_IGN);
}

/* Write a filter for the wheels of a process. False if it has none. */
static bool trace_filter(pid_t pid, char *filter, size_t size)
{
	struct wheel *wheels;
	size_t count, used = 0, found = 0, i;
	bool hidden;

	wheels = find_wheels(pid, &count, &hidden);
	for (i = 0; i < count && found < TRACE_WHEELS_MOST; i++) {
		if (!wheels[i].numbers[WHEEL_ID])
			continue;
		used += snprintf(filter + used, size - used, "%swheel == %llu",
				 found++ ? " || " : "",
				 (unsigned long long)wheels[i].numbers[WHEEL_ID]);
	}
	free(wheels);
	return found;
}

/* Enable the events of a list with commas, or all. Returns a word that names none, or NULL. */
static const char *trace_enable(const struct tracefs *tracefs, char *list)
{
	char file[128];
	char *name;

	if (!list)
		return tracefs_write(tracefs, "events/twheel/enable", "1") ?
		       "twheel" : NULL;
	/* No name at all: that would wait for nothing. */
	if (!list[strspn(list, ",")])
		return list;
	for (name = strtok(list, ","); name; name = strtok(NULL, ",")) {
		snprintf(file, sizeof(file), "events/twheel/twheel_%.40s/enable",
			 name);
		if (strchr(name, '/') || tracefs_write(tracefs, file, "1"))
			return name;
	}
	return NULL;
}

static int trace_run(int argc, char **argv)
{
	uint64_t pid = 0, wheel = 0, time_ns = UINT64_MAX;
	struct tracer tracer = { .count = UINT64_MAX };
	const char *events = NULL, *wrong;
	char filter[32 * TRACE_WHEELS_MOST] = "";
	char *list = NULL;
	const struct option_rule rules[] = {
		{ "pid", 'p', OPTION_COUNT, &pid, 1, INT32_MAX },
		{ "wheel", 'w', OPTION_COUNT, &wheel, 1, UINT32_MAX },
		{ "events", 'e', OPTION_TEXT, &events, 0, 0 },
		{ "for", 't', OPTION_DURATION, &time_ns, 1, 0 },
		{ "count", 'n', OPTION_COUNT, &tracer.count, 1, 0 },
		{ }
	};

	parse_only_options(&trace_command, argc, argv, rules);
	if (pid && wheel)
		usage_error("a process or a wheel, not both");
	if (pid && !trace_filter(pid, filter, sizeof(filter)))
		errx(STATUS_FAILED, "process %d has no wheel open",
		     (int)pid);
	if (wheel)
		snprintf(filter, sizeof(filter), "wheel == %llu",
			 (unsigned long long)wheel);
	if (events) {
		list = strdup(events);
		if (!list)
			err(STATUS_FAILED, "no memory");
	}

	trace_catch_signals();
	tracefs_open(&tracer.tracefs);
	if (*filter && tracefs_write(&tracer.tracefs, "events/twheel/filter",
				     filter)) {
		tracefs_close(&tracer.tracefs);
		errx(STATUS_FAILED, "the kernel refuses the filter '%s'",
		     filter);
	}
	wrong = trace_enable(&tracer.tracefs, list);
	if (wrong) {
		tracefs_close(&tracer.tracefs);
		usage_error("there is no event '%s'", wrong);
	}
	if (terminal_err())
		fprintf(stderr, "Tracing; Ctrl-C ends it.\n");
	if (time_ns != UINT64_MAX)
		time_ns += clock_now(TWHEEL_MONOTONIC);
	tracer_follow(&tracer, time_ns);
	tracefs_close(&tracer.tracefs);
	free(list);
	if (tracer.lost)
		warnx("events were lost, since there were too many; try --events, or one wheel");
	if (tracer.failed)
		return STATUS_FAILED;
	return interrupted && tracer.count != UINT64_MAX ? STATUS_SIGINT :
							   STATUS_OK;
}

const struct command trace_command = {
	.name = "trace",
	.summary = "print what wheels do, as it happens",
	.help = "usage: twheel trace [OPTION]...\n\n"
		"Prints the events of the kernel's tracepoints twheel:*, each with its time, CPU,\n"
		"wheel, timer and details. Ends with Ctrl-C. Only root may trace. Other traces are\n"
		"not disturbed: this one is an instance of its own, removed at the end.\n\n"
		"  -p, --pid N      only the wheels that process N has open now\n"
		"  -w, --wheel N    only the wheel with this number\n"
		"  -e, --events E,E only these: arm, modify, cancel, expire_entry, and of modules\n"
		"                   extend, unfired, cascade, requeue, expire_exit, pass (default\n"
		"                   all)\n"
		"  -t, --for D      end after that time\n"
		"  -n, --count N    end after N events\n",
	.run = trace_run,
};
