// SPDX-License-Identifier: GPL-2.0-only
/* twheel show: a picture of a wheel */
#include <err.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "clocks.h"
#include "command.h"
#include "device.h"
#include "duration.h"
#include "histogram.h"
#include "options.h"
#include "terminal.h"
#include "wheels.h"

/* Width of a level's picture. */
#define SHOW_CELLS	32

/* A wheel with the default setup. No process has it open. */
static struct wheel wheel_default(void)
{
	struct twheel *device = device_open(NULL);
	struct twheel_info info = device_info(device);

	twheel_close(device);
	return (struct wheel){
		.told = true, .clockid = info.clockid, .fd = -1,
		.tick_ns = info.tick_ns, .slots = info.slots,
		.levels = info.levels, .max_timers = info.max_timers,
	};
}

/* Ticks of one bucket of a level; 0 if they exceed 64 bits. */
static uint64_t level_span(const struct wheel *wheel, unsigned int level)
{
	unsigned int shift = level * __builtin_ctzll(wheel->slots);

	return shift < 64 ? 1ULL << shift : 0;
}

static const char *level_span_text(const struct wheel *wheel, unsigned int level,
				   char *buf, size_t size)
{
	uint64_t ticks = level_span(wheel, level), ns;

	if (!ticks || __builtin_mul_overflow(ticks, wheel->tick_ns, &ns))
		snprintf(buf, size, "centuries");
	else
		format_duration(ns, buf, size);
	return buf;
}

/* How much of the current lap is over, in cells of the picture. */
static unsigned int level_hand(const struct wheel *wheel, unsigned int level)
{
	uint64_t ticks = level_span(wheel, level);
	uint64_t tick;

	/* A clock of a module's own cannot be read here. */
	if (!ticks || wheel->clockid < 0)
		return 0;
	tick = clock_now(wheel->clockid) / wheel->tick_ns;
	return tick / ticks % wheel->slots * SHOW_CELLS / wheel->slots;
}

static void level_draw(const struct wheel *wheel, unsigned int level)
{
	bool told = level < wheel->occupied_levels;
	unsigned int at = level_hand(wheel, level), i, full = 0;
	char width[32];

	/* A level has two laps of buckets. */
	if (told && wheel->occupied[level])
		full = (wheel->occupied[level] * SHOW_CELLS + 2 * wheel->slots - 1) /
		       (2 * wheel->slots);
	printf("%5u %11s  ", level,
	       level_span_text(wheel, level, width, sizeof(width)));
	for (i = 0; i < SHOW_CELLS; i++) {
		if (i == at)
			printf("%s|%s", colour_bold(), colour_off());
		printf("%s%c%s", i < full ? colour_bar() : colour_dim(),
		       i < full ? '#' : '.', colour_off());
	}
	if (told)
		printf("  %llu of %llu",
		       (unsigned long long)wheel->occupied[level],
		       (unsigned long long)(2 * wheel->slots));
	printf("\n");
}

/* Show the levels in use, and those whose buckets are shorter than a year. */
static unsigned int wheel_levels_shown(const struct wheel *wheel)
{
	unsigned int level, last = 1;
	uint64_t ns;

	for (level = 0; level < wheel->levels; level++) {
		if (level < wheel->occupied_levels && wheel->occupied[level])
			last = level + 1;
		if (level_span(wheel, level) &&
		    !__builtin_mul_overflow(level_span(wheel, level),
					    wheel->tick_ns, &ns) &&
		    ns < 366 * 86400 * NS_PER_S && level + 1 > last)
			last = level + 1;
	}
	return last;
}

static void wheel_print_counts(const struct wheel *wheel)
{
	printf("%llu pending, %llu unread; %llu armed, %llu fired, %llu cancelled so far\n",
	       (unsigned long long)wheel->pending,
	       (unsigned long long)wheel->unread,
	       (unsigned long long)wheel->armed,
	       (unsigned long long)wheel->fired,
	       (unsigned long long)wheel->cancelled);
	if (wheel->late_buckets)
		printf("%llu found extended, %llu cascaded; %llu passes, %llu of them over budget, %llu by a thread\n",
		       (unsigned long long)wheel->extended,
		       (unsigned long long)wheel->cascades,
		       (unsigned long long)wheel->passes,
		       (unsigned long long)wheel->exhausted,
		       (unsigned long long)wheel->threaded);
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
	       format_duration(wheel->late_sum_ns / sum, mean, sizeof(mean)));
	print_bins(bins);
}

static void wheel_draw(const struct wheel *wheel)
{
	unsigned int level, shown = wheel_levels_shown(wheel);
	char tick[32];

	if (*wheel->owner)
		printf("%s%s%s, of the module %s", colour_bold(), wheel->name,
		       colour_off(), wheel->owner);
	else if (wheel->fd < 0)
		printf("A wheel with the default setup");
	else
		printf("%s%s%s (%d), descriptor %d", colour_bold(),
		       wheel->name, colour_off(), wheel->pid, wheel->fd);
	if (wheel->id)
		printf(", wheel %llu", (unsigned long long)wheel->id);
	printf(": %s, tick %s", clock_name(wheel->clockid),
	       format_duration(wheel->tick_ns, tick, sizeof(tick)));
	if (wheel->max_timers)
		printf(", up to %llu timers",
		       (unsigned long long)wheel->max_timers);
	printf("\n");
	if (wheel->fd >= 0 || *wheel->owner)
		wheel_print_counts(wheel);
	printf("\n%5s %11s  %-*s%s\n", "level", "bucket", SHOW_CELLS + 1,
	       "| where the clock's hand is",
	       wheel->occupied_levels ? "  buckets in use" : "");
	for (level = 0; level < shown; level++)
		level_draw(wheel, level);
	if (shown < wheel->levels)
		printf("      %llu more levels above, up to 2^64 ticks\n",
		       (unsigned long long)wheel->levels - shown);
	if (wheel->fd >= 0 && !wheel->occupied_levels)
		printf("This kernel does not show which buckets are in use.\n");
	wheel_draw_lateness(wheel);
}

static void wheel_print_json(const struct wheel *wheel)
{
	unsigned int level;

	printf("{\"pid\":%d,\"fd\":%d,\"clock\":\"%s\",\"tick_ns\":%llu,\"slots\":%llu,"
	       "\"levels\":%llu,\"max_timers\":%llu,\"pending\":%llu,\"unread\":%llu,"
	       "\"occupied\":[",
	       wheel->pid, wheel->fd, clock_name(wheel->clockid),
	       (unsigned long long)wheel->tick_ns,
	       (unsigned long long)wheel->slots,
	       (unsigned long long)wheel->levels,
	       (unsigned long long)wheel->max_timers,
	       (unsigned long long)wheel->pending,
	       (unsigned long long)wheel->unread);
	for (level = 0; level < wheel->occupied_levels; level++)
		printf("%s%llu", level ? "," : "",
		       (unsigned long long)wheel->occupied[level]);
	printf("],\"late\":[");
	for (level = 0; level < wheel->late_buckets; level++)
		printf("%s%llu", level ? "," : "",
		       (unsigned long long)wheel->late[level]);
	printf("]}\n");
}

static pid_t show_parse_pid(const char *text)
{
	char *end;
	long pid = strtol(text, &end, 10);

	if (pid < 1 || pid > INT32_MAX || *end)
		usage_error("'%s' is not the number of a process", text);
	return pid;
}

static int show_one(const struct wheel *wheel, bool json)
{
	if (!wheel->told || !wheel->slots || wheel->slots & (wheel->slots - 1)) {
		warnx("process %d, descriptor %d: only root may see what it holds; try sudo",
		      wheel->pid, wheel->fd);
		return STATUS_FAILED;
	}
	if (json)
		wheel_print_json(wheel);
	else
		wheel_draw(wheel);
	return STATUS_OK;
}

static int show_process(pid_t pid, bool json)
{
	int status = STATUS_OK;
	struct wheel *wheels;
	size_t count, i;
	bool hidden;

	wheels = find_wheels(pid, &count, &hidden);
	if (!count)
		errx(STATUS_FAILED, hidden ?
		     "only root may look into process %d; try sudo" :
		     "process %d has no wheel open", pid);
	for (i = 0; i < count; i++) {
		if (i && !json)
			printf("\n");
		status |= show_one(&wheels[i], json);
	}
	free(wheels);
	return status;
}

/* The wheel with that number, of a process or a module. */
static int show_wheel(uint64_t id, bool json)
{
	bool hidden, found = false;
	int status = STATUS_FAILED;
	struct wheel *wheels;
	size_t count, i;

	wheels = find_wheels(0, &count, &hidden);
	for (i = 0; i < count && !found; i++) {
		found = wheels[i].told && wheels[i].id == id;
		if (found)
			status = show_one(&wheels[i], json);
	}
	if (!found)
		warnx("there is no wheel %llu%s", (unsigned long long)id,
		      geteuid() ? " that you may look into; try sudo" : "");
	free(wheels);
	return status;
}

static int show_run(int argc, char **argv)
{
	bool json = false;
	struct wheel wheel;
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
	if (id)
		return show_wheel(id, json);
	if (word < argc)
		return show_process(show_parse_pid(argv[word]), json);
	wheel = wheel_default();
	return show_one(&wheel, json);
}

const struct command show_command = {
	.name = "show",
	.summary = "draw a wheel: its levels, and what they hold",
	.help = "usage: twheel show [OPTION]... [PID]\n\n"
		"Draws the wheels that process PID has open, or one with the default setup: how\n"
		"much time a bucket of each level covers, where the clock's hand is, how many\n"
		"buckets hold timers, and how late timers fired.\n\n"
		"  -w, --wheel N  the wheel with this number, which may be a kernel module's\n"
		"  --json         a JSON object for each wheel; times in ns\n",
	.run = show_run,
};
