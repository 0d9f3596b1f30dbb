// SPDX-License-Identifier: GPL-2.0-only
/* twheel show: a picture of a wheel */
#include <err.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "clocks.h"
#include "command.h"
#include "duration.h"
#include "histogram.h"
#include "module.h"
#include "options.h"
#include "terminal.h"
#include "wheels.h"

/* The longest bar. */
#define SHOW_WIDTH	32

/* A file of /dev/twheel does not say how many slots a level has. */
#define SHOW_SLOTS	128

/* Numbers in a line. */
#define SHOW_COLUMNS	3

#define SHOW_YEAR_NS	(366 * 86400 * NS_PER_S)

static uint64_t wheel_slots(const struct wheel *wheel)
{
	return wheel->numbers[WHEEL_SLOTS] ?: SHOW_SLOTS;
}

/* The time that a bucket of a level covers; what exceeds 64 bits is UINT64_MAX. */
static uint64_t level_span(const struct wheel *wheel, unsigned int level)
{
	uint64_t ns = wheel->numbers[WHEEL_TICK];

	while (level--) {
		if (__builtin_mul_overflow(ns, wheel_slots(wheel), &ns))
			return UINT64_MAX;
	}
	return ns;
}

static void level_draw(const struct wheel *wheel, unsigned int level)
{
	/* A level has four laps of buckets, for each CPU that there may be. */
	uint64_t buckets = 4 * wheel_slots(wheel) *
			   (wheel->numbers[WHEEL_PERCPU] ? sysconf(_SC_NPROCESSORS_CONF) : 1);
	uint64_t occupied = wheel->occupied[level];
	uint64_t span = level_span(wheel, level);
	unsigned int full = (occupied * SHOW_WIDTH + buckets - 1) / buckets, i;
	char width[32] = "centuries";

	if (span < UINT64_MAX)
		format_duration(span, width, sizeof(width));
	printf("%5u %11s  %s", level, width, colour_bar());
	for (i = 0; i < SHOW_WIDTH; i++) {
		if (i == full)
			printf("%s", colour_dim());
		putchar(i < full ? '#' : '.');
	}
	printf("%s  %llu of %llu\n", colour_off(), (unsigned long long)occupied,
	       (unsigned long long)buckets);
}

/* Those levels that are in use, and all whose buckets are shorter than a year. */
static void wheel_draw_levels(const struct wheel *wheel)
{
	unsigned int level, shown = 0;

	for (level = 0; level < wheel->occupied_levels; level++) {
		if (wheel->occupied[level] || level_span(wheel, level) < SHOW_YEAR_NS)
			shown = level + 1;
	}
	/* A file that nobody has used yet has none. */
	if (!shown)
		return;
	printf("\n%5s %11s  buckets in use\n", "level", "bucket");
	for (level = 0; level < shown; level++)
		level_draw(wheel, level);
	if (shown < wheel->occupied_levels)
		printf("      %u more levels above, up to the last deadline there is\n",
		       wheel->occupied_levels - shown);
}

/* All numbers that are known, except those of the headline. */
static void wheel_print_numbers(const struct wheel *wheel)
{
	unsigned int column = 0;
	enum wheel_number i;

	for (i = WHEEL_MAX_TIMERS; i < WHEEL_NUMBERS; i++) {
		if (!wheel_knows(wheel, i))
			continue;
		if (wheel->numbers[i] == TWHEEL_NO_LIMIT)
			printf("  %-17s %12s", wheel_numbers[i].key, "none");
		else
			printf("  %-17s %12llu", wheel_numbers[i].key,
			       (unsigned long long)wheel->numbers[i]);
		if (!(++column % SHOW_COLUMNS))
			printf("\n");
	}
	if (column % SHOW_COLUMNS)
		printf("\n");
}

static void wheel_draw_lateness(const struct wheel *wheel)
{
	uint64_t bins[HISTOGRAM_BINS] = { }, sum = 0;
	unsigned int i;
	char mean[32];

	for (i = 0; i < wheel->late_buckets; i++) {
		bins[i + 1] = wheel->late[i];
		sum += wheel->late[i];
	}
	if (!sum)
		return;
	printf("\nHow late timers fired, on average %s:\n",
	       format_duration(wheel->numbers[WHEEL_LATE_SUM] / sum, mean, sizeof(mean)));
	print_bins(bins);
}

static void wheel_draw(const struct wheel *wheel)
{
	char tick[32];

	printf("%s%s%s", colour_bold(), wheel->name, colour_off());
	if (wheel->pid)
		printf(" (%d), descriptor %d", wheel->pid, wheel->fd);
	else
		printf(", of the module %s", wheel->owner);
	printf(", wheel %llu: %s, tick %s", (unsigned long long)wheel->numbers[WHEEL_ID],
	       clock_name(wheel->clock),
	       format_duration(wheel->numbers[WHEEL_TICK], tick, sizeof(tick)));
	if (!wheel->pid)
		printf(", %s", wheel->context);
	putchar('\n');
	wheel_print_numbers(wheel);
	wheel_draw_levels(wheel);
	wheel_draw_lateness(wheel);
}

static pid_t show_parse_pid(const char *text)
{
	char *end;
	long pid = strtol(text, &end, 10);

	if (pid < 1 || pid > INT32_MAX || *end)
		usage_error("'%s' is not the number of a process", text);
	return pid;
}

static void show_one(const struct wheel *wheel, bool json, bool first)
{
	if (json) {
		wheel_print_json(wheel);
		return;
	}
	if (!first)
		printf("\n");
	wheel_draw(wheel);
}

/* Those wheels of a process that may be seen; 0: of all. And only that with @id; 0: any. */
static int show_wheels(pid_t pid, uint64_t id, bool json)
{
	struct wheel *wheels;
	size_t count, i, shown = 0;
	const char *advice;
	bool hidden;

	wheels = find_wheels(pid, &count, &hidden);
	/* The wheels of modules, too, are for root. */
	hidden |= !pid && geteuid();
	for (i = 0; i < count; i++) {
		if (id && wheels[i].numbers[WHEEL_ID] != id)
			continue;
		show_one(&wheels[i], json, !shown++);
	}
	free(wheels);
	if (shown)
		return STATUS_OK;
	if (!module_loaded()) {
		warnx("there is no wheel, as there is no module");
		fprintf(stderr, "%s\n", module_advice());
		return STATUS_FAILED;
	}
	advice = hidden ? " that you may look into; try sudo" : "";
	if (pid)
		warnx("process %d has no wheel open%s", pid, advice);
	else if (id)
		warnx("there is no wheel %llu%s", (unsigned long long)id, advice);
	else
		warnx("there is no wheel%s", advice);
	return STATUS_FAILED;
}

static int show_run(int argc, char **argv)
{
	bool json = false;
	uint64_t id = 0;
	int word;
	const struct option_rule rules[] = {
		{ "json", 0, OPTION_FLAG, &json, 0, 0 },
		{ "wheel", 'w', OPTION_COUNT, &id, 1, UINT32_MAX },
		{ }
	};

	word = parse_options(&show_command, argc, argv, rules);
	if (word + 1 < argc)
		usage_error("unexpected '%s'", argv[word + 1]);
	if (word < argc && id)
		usage_error("a process or a wheel, not both");
	return show_wheels(word < argc ? show_parse_pid(argv[word]) : 0, id, json);
}

const struct command show_command = {
	.name = "show",
	.summary = "draw wheels: their levels, and what they hold",
	.help = "usage: twheel show [OPTION]... [PID]\n\n"
		"Draws the wheels that process PID has open, or all wheels: how much time a bucket\n"
		"of each level covers, how many buckets hold timers, and how late timers fired.\n"
		"Only root sees the wheels of other users and of kernel modules.\n\n"
		"  -w, --wheel N  the wheel with this number, which may be a kernel module's\n"
		"  --json         a JSON object for each wheel; times in ns\n",
	.run = show_run,
};
