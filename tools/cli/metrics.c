// SPDX-License-Identifier: GPL-2.0-only
/* twheel metrics: what wheels count, in Prometheus's text format */
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include "command.h"
#include "duration.h"
#include "options.h"
#include "wheels.h"

/*
 * The buckets of lateness that are told, as powers of two of a ns: from a microsecond,
 * below which no tick is, to a minute. What is outside of that is in the first one, and
 * in that of infinity.
 */
#define FIRST_BOUND	10
#define LAST_BOUND	36

/* Families with one number for each wheel. */
static const struct family {
	const char *name;
	const char *type;
	const char *help;
	size_t offset;
	/* Also of the wheels of kernels that do not count lateness? */
	bool always;
	/* Only of programs? */
	bool files;
} families[] = {
	{ "twheel_pending", "gauge", "Timers that wait for their deadline.",
	  offsetof(struct wheel, pending), true, false },
	{ "twheel_unread", "gauge", "Events that wait to be read.",
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
	  "Times that a wheel was woken up to do its work.",
	  offsetof(struct wheel, passes), false, false },
	{ "twheel_passes_threaded_total", "counter",
	  "Passes that a thread did, the wheel having taken its share of a CPU.",
	  offsetof(struct wheel, threaded), false, false },
	{ "twheel_passes_exhausted_total", "counter",
	  "Passes that used up their budget.",
	  offsetof(struct wheel, exhausted), false, false },
	{ "twheel_overruns_total", "counter",
	  "Callbacks that took longer than the module parameter overrun_ms.",
	  offsetof(struct wheel, overruns), false, false },
};

#define NR_FAMILIES	(sizeof(families) / sizeof(*families))

/* A value between quotation marks. What is not ASCII may not be UTF-8. */
static void print_label(const char *name, const char *value)
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

/* What tells a wheel from all others, without the closing brace. */
static void print_labels(const struct wheel *wheel)
{
	if (wheel->pid) {
		printf("{pid=\"%d\",fd=\"%d\",", wheel->pid, wheel->fd);
		print_label("process", wheel->raw_name);
	} else {
		printf("{");
		print_label("module", wheel->owner);
		printf(",");
		print_label("name", wheel->raw_name);
	}
	printf(",wheel=\"%llu\"", (unsigned long long)wheel->id);
}

/* Nanoseconds as seconds, to the last digit. */
static void print_seconds(uint64_t ns)
{
	printf("%llu.%09llu", (unsigned long long)(ns / NS_PER_S),
	       (unsigned long long)(ns % NS_PER_S));
}

static void print_family(const struct family *family,
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
		print_labels(wheel);
		printf("} %llu\n",
		       *(unsigned long long *)((char *)wheel + family->offset));
	}
}

/* Each bucket counts all that is not later than its bound, which is inclusive. */
static void print_histogram_of(const struct wheel *wheel)
{
	unsigned int i;
	uint64_t sum = 0;

	for (i = 0; i < wheel->late_buckets; i++) {
		sum += wheel->late[i];
		if (i + 1 < FIRST_BOUND || i + 1 > LAST_BOUND)
			continue;
		printf("twheel_lateness_seconds_bucket");
		print_labels(wheel);
		printf(",le=\"");
		print_seconds((1ULL << (i + 1)) - 1);
		printf("\"} %llu\n", (unsigned long long)sum);
	}
	printf("twheel_lateness_seconds_bucket");
	print_labels(wheel);
	printf(",le=\"+Inf\"} %llu\n", (unsigned long long)sum);
	printf("twheel_lateness_seconds_sum");
	print_labels(wheel);
	printf("} ");
	print_seconds(wheel->late_sum_ns);
	printf("\ntwheel_lateness_seconds_count");
	print_labels(wheel);
	printf("} %llu\n", (unsigned long long)sum);
}

static int run(int argc, char **argv)
{
	const struct option_rule rules[] = { { } };
	struct wheel *wheels;
	size_t count, i;
	bool hidden;

	parse_only_options(&metrics_command, argc, argv, rules);
	wheels = find_wheels(0, &count, &hidden);
	printf("# HELP twheel_wheels Wheels there are.\n"
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
		print_labels(&wheels[i]);
		printf("} ");
		print_seconds(wheels[i].tick_ns);
		printf("\n");
	}
	for (i = 0; i < NR_FAMILIES; i++)
		print_family(&families[i], wheels, count);
	printf("# HELP twheel_lateness_seconds How much after its deadline a timer fired.\n"
	       "# TYPE twheel_lateness_seconds histogram\n");
	for (i = 0; i < count; i++) {
		if (wheels[i].told && wheels[i].late_buckets)
			print_histogram_of(&wheels[i]);
	}
	free(wheels);
	return ferror(stdout) || fflush(stdout) ? STATUS_FAILED : STATUS_OK;
}

const struct command metrics_command = {
	.name = "metrics",
	.summary = "the counters of all wheels, for Prometheus",
	.help = "usage: twheel metrics\n\n"
		"Prints what the wheels of all processes and of kernel modules hold and have\n"
		"done, in Prometheus's text format: for node_exporter's textfile collector, say,\n"
		"from a timer that writes to a new file and renames it. A wheel's labels are its\n"
		"process and descriptor, or its module and name, and its number. Wheels of other\n"
		"users' processes, and those of modules, are for root to see.\n",
	.run = run,
};
