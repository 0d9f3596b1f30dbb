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
#define CELLS	32

/* A wheel as it is by default; nobody has it open. */
static struct wheel default_wheel(void)
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

/* Ticks of one bucket of a level, or 0 if they are more than a number holds. */
static uint64_t span(const struct wheel *wheel, unsigned int level)
{
	unsigned int shift = level * __builtin_ctzll(wheel->slots);

	return shift < 64 ? 1ULL << shift : 0;
}

static const char *span_text(const struct wheel *wheel, unsigned int level,
			     char *buf, size_t size)
{
	uint64_t ticks = span(wheel, level), ns;

	if (!ticks || __builtin_mul_overflow(ticks, wheel->tick_ns, &ns))
		snprintf(buf, size, "centuries");
	else
		format_duration(ns, buf, size);
	return buf;
}

/* How much of the current turn is over: the hand of this level. */
static unsigned int hand(const struct wheel *wheel, unsigned int level)
{
	uint64_t ticks = span(wheel, level);
	uint64_t tick;

	/* A clock that is not the system's is not to be read, either. */
	if (!ticks || wheel->clockid < 0)
		return 0;
	tick = clock_now(wheel->clockid) / wheel->tick_ns;
	return tick / ticks % wheel->slots * CELLS / wheel->slots;
}

static void draw_level(const struct wheel *wheel, unsigned int level)
{
	bool told = level < wheel->occupied_levels;
	unsigned int at = hand(wheel, level), i, full = 0;
	char width[32];

	/* A level has two turns of buckets. */
	if (told && wheel->occupied[level])
		full = (wheel->occupied[level] * CELLS + 2 * wheel->slots - 1) /
		       (2 * wheel->slots);
	printf("%5u %11s  ", level,
	       span_text(wheel, level, width, sizeof(width)));
	for (i = 0; i < CELLS; i++) {
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

/* Levels above that are empty for the next thousand years say nothing. */
static unsigned int levels_shown(const struct wheel *wheel)
{
	unsigned int level, last = 1;
	uint64_t ns;

	for (level = 0; level < wheel->levels; level++) {
		if (level < wheel->occupied_levels && wheel->occupied[level])
			last = level + 1;
		if (span(wheel, level) &&
		    !__builtin_mul_overflow(span(wheel, level),
					    wheel->tick_ns, &ns) &&
		    ns < 366 * 86400 * NS_PER_S && level + 1 > last)
			last = level + 1;
	}
	return last;
}

static void print_counts(const struct wheel *wheel)
{
	printf("%llu pending, %llu unread; %llu armed, %llu fired, %llu cancelled so far\n",
	       (unsigned long long)wheel->pending,
	       (unsigned long long)wheel->unread,
	       (unsigned long long)wheel->armed,
	       (unsigned long long)wheel->fired,
	       (unsigned long long)wheel->cancelled);
	if (wheel->late_buckets)
		printf("%llu found extended, %llu cascaded; %llu passes, %llu of them did not get through, %llu by a thread\n",
		       (unsigned long long)wheel->extended,
		       (unsigned long long)wheel->cascades,
		       (unsigned long long)wheel->passes,
		       (unsigned long long)wheel->exhausted,
		       (unsigned long long)wheel->threaded);
}

static void draw_lateness(const struct wheel *wheel)
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

static void draw(const struct wheel *wheel)
{
	unsigned int level, shown = levels_shown(wheel);
	char tick[32];

	if (*wheel->owner)
		printf("%s%s%s, of the module %s", colour_bold(), wheel->name,
		       colour_off(), wheel->owner);
	else if (wheel->fd < 0)
		printf("A wheel that is not set up otherwise");
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
		print_counts(wheel);
	printf("\n%5s %11s  %-*s%s\n", "level", "bucket", CELLS + 1,
	       "| where the clock's hand is",
	       wheel->occupied_levels ? "  buckets in use" : "");
	for (level = 0; level < shown; level++)
		draw_level(wheel, level);
	if (shown < wheel->levels)
		printf("      %llu more levels above, up to 2^64 ticks\n",
		       (unsigned long long)wheel->levels - shown);
	if (wheel->fd >= 0 && !wheel->occupied_levels)
		printf("This kernel does not tell which buckets are in use.\n");
	draw_lateness(wheel);
}

static void print_json(const struct wheel *wheel)
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

static pid_t parse_pid(const char *text)
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
		warnx("process %d, descriptor %d: what it holds is not told to you; try sudo",
		      wheel->pid, wheel->fd);
		return STATUS_FAILED;
	}
	if (json)
		print_json(wheel);
	else
		draw(wheel);
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
		     "process %d is not yours to look into; try sudo" :
		     "process %d has no wheel open", pid);
	for (i = 0; i < count; i++) {
		if (i && !json)
			printf("\n");
		status |= show_one(&wheels[i], json);
	}
	free(wheels);
	return status;
}

/* By its number, whoever has it. */
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

static int run(int argc, char **argv)
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
		return show_process(parse_pid(argv[word]), json);
	wheel = default_wheel();
	return show_one(&wheel, json);
}

const struct command show_command = {
	.name = "show",
	.summary = "a picture of a wheel: its levels, and what is in them",
	.help = "usage: twheel show [OPTION]... [PID]\n\n"
		"Draws the wheels that process PID has open, or one as it is by default: how much\n"
		"time a bucket of each level covers, where the clock's hand stands in it, and how\n"
		"many of the buckets have timers; and how late timers fired, where the kernel\n"
		"tells.\n\n"
		"  -w, --wheel N  the wheel with this number, which may be a kernel module's\n"
		"  --json         a JSON object for each wheel; times in ns\n",
	.run = run,
};
