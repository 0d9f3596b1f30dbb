// SPDX-License-Identifier: GPL-2.0-only
/* twheel metrics: the counters of wheels, in Prometheus's text format */
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include "command.h"
#include "duration.h"
#include "options.h"
#include "wheels.h"

/*
 * The bounds of the histogram, as powers of two of a ns: from a microsecond, the shortest
 * tick there is, to a minute. The first bucket has all below, that of infinity all above.
 */
#define METRICS_FIRST_BOUND	10
#define METRICS_LAST_BOUND	36

/**
 * struct metrics_family - a family with one number for each wheel
 * @name: its name
 * @type: its type
 * @help: what it counts
 * @offset: the field of struct wheel
 * @always: even kernels that do not count lateness have it
 * @files: only wheels of programs have it
 */
static const struct metrics_family {
	const char *name;
	const char *type;
	const char *help;
	size_t offset;
	bool always;
	bool files;
} metrics_families[] = {
	{ "twheel_pending", "gauge", "Pending timers.",
	  offsetof(struct wheel, pending), true, false },
	{ "twheel_unread", "gauge", "Events that have not been read.",
	  offsetof(struct wheel, unread), true, true },
	{ "twheel_limit", "gauge", "Timers that may exist at once.",
	  offsetof(struct wheel, max_timers), true, true },
	{ "twheel_armed_total", "counter", "Timers armed.",
	  offsetof(struct wheel, armed), true, false },
	{ "twheel_fired_total", "counter", "Timers that fired.",
	  offsetof(struct wheel, fired), true, false },
	{ "twheel_cancelled_total", "counter", "Timers cancelled.",
	  offsetof(struct wheel, cancelled), true, false },
	{ "twheel_extended_total", "counter",
	  "Timers found extended when their old deadline came.",
	  offsetof(struct wheel, extended), false, false },
	{ "twheel_cascades_total", "counter", "Timers moved to a lower level.",
	  offsetof(struct wheel, cascades), false, false },
	{ "twheel_passes_total", "counter",
	  "Passes: runs of the wheel's expiry.",
	  offsetof(struct wheel, passes), false, false },
	{ "twheel_passes_threaded_total", "counter",
	  "Passes that a thread did, because the wheel exceeded its CPU budget.",
	  offsetof(struct wheel, threaded), false, false },
	{ "twheel_passes_exhausted_total", "counter",
	  "Passes that used up their budget.",
	  offsetof(struct wheel, exhausted), false, false },
	{ "twheel_overruns_total", "counter",
	  "Callbacks that took longer than the module parameter overrun_ms.",
	  offsetof(struct wheel, overruns), false, false },
};

#define METRICS_NR_FAMILIES	(sizeof(metrics_families) / sizeof(*metrics_families))

/* A label. What is not ASCII is replaced, since it need not be UTF-8. */
static void metrics_print_label(const char *name, const char *value)
{
	printf("%s=\"", name);
	for (; *value; value++) {
		if (*value == '\n')
			printf("\\n");
		else if (*value == '"' || *value == '\\')
			printf("\\%c", *value);
		else if (*value < ' ' || *value > '~')
			putchar('?');
		else
			putchar(*value);
	}
	putchar('"');
}

/* The labels that identify a wheel, without the closing brace. */
static void metrics_print_labels(const struct wheel *wheel)
{
	if (wheel->pid) {
		printf("{pid=\"%d\",fd=\"%d\",", wheel->pid, wheel->fd);
		metrics_print_label("process", wheel->raw_name);
	} else {
		printf("{");
		metrics_print_label("module", wheel->owner);
		printf(",");
		metrics_print_label("name", wheel->raw_name);
	}
	printf(",wheel=\"%llu\"", (unsigned long long)wheel->id);
}

/* Nanoseconds as seconds, exactly. */
static void metrics_print_seconds(uint64_t ns)
{
	printf("%llu.%09llu", (unsigned long long)(ns / NS_PER_S),
	       (unsigned long long)(ns % NS_PER_S));
}

static void metrics_print_family(const struct metrics_family *family,
				 const struct wheel *wheels, size_t count)
{
	size_t i;

	printf("# HELP %s %s\n# TYPE %s %s\n", family->name, family->help,
	       family->name, family->type);
	for (i = 0; i < count; i++) {
		const struct wheel *wheel = &wheels[i];

		if (!wheel->told || (family->files && !wheel->pid) ||
		    (!family->always && !wheel->late_buckets))
			continue;
		printf("%s", family->name);
		metrics_print_labels(wheel);
		printf("} %llu\n",
		       *(unsigned long long *)((char *)wheel + family->offset));
	}
}

/* Each bucket counts all that are at most as late as its bound. */
static void metrics_print_histogram(const struct wheel *wheel)
{
	unsigned int i;
	uint64_t sum = 0;

	for (i = 0; i < wheel->late_buckets; i++) {
		sum += wheel->late[i];
		if (i + 1 < METRICS_FIRST_BOUND || i + 1 > METRICS_LAST_BOUND)
			continue;
		printf("twheel_lateness_seconds_bucket");
		metrics_print_labels(wheel);
		printf(",le=\"");
		metrics_print_seconds((1ULL << (i + 1)) - 1);
		printf("\"} %llu\n", (unsigned long long)sum);
	}
	printf("twheel_lateness_seconds_bucket");
	metrics_print_labels(wheel);
	printf(",le=\"+Inf\"} %llu\n", (unsigned long long)sum);
	printf("twheel_lateness_seconds_sum");
	metrics_print_labels(wheel);
	printf("} ");
	metrics_print_seconds(wheel->late_sum_ns);
	printf("\ntwheel_lateness_seconds_count");
	metrics_print_labels(wheel);
	printf("} %llu\n", (unsigned long long)sum);
}

static int metrics_run(int argc, char **argv)
{
	const struct option_rule rules[] = { { } };
	struct wheel *wheels;
	size_t count, i;
	bool hidden;

	parse_only_options(&metrics_command, argc, argv, rules);
	wheels = find_wheels(0, &count, &hidden);
	printf("# HELP twheel_wheels Wheels.\n"
	       "# TYPE twheel_wheels gauge\n"
	       "twheel_wheels %zu\n", count);
	printf("# HELP twheel_hidden Whether there are processes that may not be looked into.\n"
	       "# TYPE twheel_hidden gauge\n"
	       "twheel_hidden %d\n", hidden);
	printf("# HELP twheel_tick_seconds The tick.\n"
	       "# TYPE twheel_tick_seconds gauge\n");
	for (i = 0; i < count; i++) {
		if (!wheels[i].told)
			continue;
		printf("twheel_tick_seconds");
		metrics_print_labels(&wheels[i]);
		printf("} ");
		metrics_print_seconds(wheels[i].tick_ns);
		printf("\n");
	}
	for (i = 0; i < METRICS_NR_FAMILIES; i++)
		metrics_print_family(&metrics_families[i], wheels, count);
	printf("# HELP twheel_lateness_seconds How much after its deadline a timer fired.\n"
	       "# TYPE twheel_lateness_seconds histogram\n");
	for (i = 0; i < count; i++) {
		if (wheels[i].told && wheels[i].late_buckets)
			metrics_print_histogram(&wheels[i]);
	}
	free(wheels);
	return STATUS_OK;
}

const struct command metrics_command = {
	.name = "metrics",
	.summary = "print the counters of all wheels, for Prometheus",
	.help = "usage: twheel metrics\n\n"
		"Prints the counters of the wheels of all processes and of kernel modules, in\n"
		"Prometheus's text format; for example for node_exporter's textfile collector:\n"
		"write to a new file and rename it. The labels of a wheel are its process and\n"
		"descriptor, or its module and name, and its number. Only root sees the wheels of\n"
		"other users and of modules.\n",
	.run = metrics_run,
};
