// SPDX-License-Identifier: GPL-2.0-only
/* twheel metrics: the counters of wheels, in Prometheus's text format */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <linux/twheel.h>

#include "command.h"
#include "duration.h"
#include "module.h"
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
	printf(",wheel=\"%llu\"", (unsigned long long)wheel->numbers[WHEEL_ID]);
}

/* Nanoseconds as seconds, exactly. */
static void metrics_print_seconds(uint64_t ns)
{
	printf("%llu.%09llu", (unsigned long long)(ns / NS_PER_S),
	       (unsigned long long)(ns % NS_PER_S));
}

static void metrics_print_sample(const struct wheel *wheel, enum wheel_number number)
{
	const struct wheel_number_info *info = &wheel_numbers[number];
	uint64_t value = wheel->numbers[number];

	/* Where there is no limit, a sample would tell of one. */
	if (!wheel_knows(wheel, number) || value == TWHEEL_NO_LIMIT)
		return;
	printf("twheel_%s", info->metric);
	metrics_print_labels(wheel);
	printf("} ");
	if (strstr(info->key, "_ns"))
		metrics_print_seconds(value);
	else
		printf("%llu", (unsigned long long)value);
	printf("\n");
}

static void metrics_print_family(enum wheel_number number, const struct wheel *wheels,
				 size_t count)
{
	const struct wheel_number_info *info = &wheel_numbers[number];
	size_t i;

	if (!*info->metric)
		return;
	printf("# HELP twheel_%s %s\n# TYPE twheel_%s %s\n", info->metric, info->help,
	       info->metric, info->type);
	for (i = 0; i < count; i++)
		metrics_print_sample(&wheels[i], number);
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
	metrics_print_seconds(wheel->numbers[WHEEL_LATE_SUM]);
	printf("\ntwheel_lateness_seconds_count");
	metrics_print_labels(wheel);
	printf("} %llu\n", (unsigned long long)sum);
}

static int metrics_run(int argc, char **argv)
{
	const struct option_rule rules[] = { { } };
	enum wheel_number number;
	struct wheel *wheels;
	size_t count, i;
	bool hidden;

	parse_only_options(&metrics_command, argc, argv, rules);
	wheels = find_wheels(0, &count, &hidden);
	printf("# HELP twheel_loaded Whether the kernel has the module.\n"
	       "# TYPE twheel_loaded gauge\n"
	       "twheel_loaded %d\n", module_loaded());
	printf("# HELP twheel_wheels Wheels.\n"
	       "# TYPE twheel_wheels gauge\n"
	       "twheel_wheels %zu\n", count);
	printf("# HELP twheel_hidden Whether there are processes that may not be looked into.\n"
	       "# TYPE twheel_hidden gauge\n"
	       "twheel_hidden %d\n", hidden);
	for (number = 0; number < WHEEL_NUMBERS; number++)
		metrics_print_family(number, wheels, count);
	printf("# HELP twheel_lateness_seconds How much after its deadline a timer fired.\n"
	       "# TYPE twheel_lateness_seconds histogram\n");
	for (i = 0; i < count; i++) {
		if (wheels[i].late_buckets)
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
