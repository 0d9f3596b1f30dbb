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

static void metrics_print_family(const struct wheel_counter *counter,
				 const struct wheel *wheels, size_t count)
{
	size_t i;

	if (!*counter->metric)
		return;
	printf("# HELP twheel_%s %s\n# TYPE twheel_%s %s\n", counter->metric,
	       counter->help, counter->metric, counter->type);
	for (i = 0; i < count; i++) {
		if (!wheel_has(&wheels[i], counter))
			continue;
		printf("twheel_%s", counter->metric);
		metrics_print_labels(&wheels[i]);
		printf("} %llu\n",
		       (unsigned long long)wheel_count(&wheels[i], counter));
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
	const struct wheel_counter *counter;
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
	for (counter = wheel_counters; counter->name; counter++)
		metrics_print_family(counter, wheels, count);
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
