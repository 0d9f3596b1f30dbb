// SPDX-License-Identifier: GPL-2.0-only
#include <ctype.h>
#include <dirent.h>
#include <err.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "clocks.h"
#include "command.h"
#include "json.h"
#include "wheels.h"

/* How the path of the device ends. */
#define WHEELS_DEVICE	"/twheel"
/* The files of the wheels that modules have made. */
#define WHEELS_DEBUGFS	"/sys/kernel/debug/twheel"

const struct wheel_number_info wheel_numbers[] = {
	[WHEEL_ID] = { "wheel", "", "", "" },
	[WHEEL_TICK] = { "tick_ns", "tick_seconds", "gauge", "The tick." },
	[WHEEL_PERCPU] = { "percpu", "", "", "" },
	[WHEEL_SLOTS] = { "slots", "", "", "" },
	[WHEEL_LEVELS] = { "levels", "", "", "" },
	[WHEEL_MAX_TIMERS] = { "max_timers", "max_timers", "gauge",
		"Timers that may exist at once." },
	[WHEEL_MAX_CELLS] = { "max_cells", "max_cells", "gauge",
		"Cells that the mapping has." },
	[WHEEL_TIMERS] = { "timers", "timers", "gauge",
		"Timers that exist: the last event of each has not been read." },
	[WHEEL_CELLS] = { "cells", "cells", "gauge",
		"Cells that the kernel knows as pending." },
	[WHEEL_PENDING] = { "pending", "pending", "gauge",
		"Timers that wait for their deadline." },
	[WHEEL_ARMED] = { "armed", "armed_total", "counter", "Timers armed." },
	[WHEEL_FIRED] = { "fired", "fired_total", "counter", "Timers that fired." },
	[WHEEL_CANCELLED] = { "cancelled", "cancelled_total", "counter",
		"Timers cancelled." },
	[WHEEL_UNFIRED] = { "unfired", "unfired_total", "counter",
		"Timers handed back when the wheel was stopped." },
	[WHEEL_EXTENDED] = { "extended", "extended_total", "counter",
		"Timers found extended when their old deadline came." },
	[WHEEL_CASCADES] = { "cascades", "cascades_total", "counter",
		"Timers moved to a lower level." },
	[WHEEL_ALARMS] = { "alarms", "alarms_total", "counter", "Alarms that went off." },
	[WHEEL_POSTPONED] = { "postponed", "postponed_total", "counter",
		"Alarms put off, since alarms had taken their share of a CPU." },
	[WHEEL_PASSES] = { "passes", "passes_total", "counter",
		"Times that a wheel was woken up to do its work." },
	[WHEEL_EXHAUSTED] = { "exhausted", "passes_exhausted_total", "counter",
		"Passes that used up their time, and left work for later." },
	[WHEEL_FILE_MEMORY] = { "file_memory", "file_memory_bytes", "gauge",
		"Memory of the kernel that the file takes." },
	[WHEEL_USER_TIMERS] = { "user_timers", "user_timers", "gauge",
		"Timers and cells for which all files of the opener have room." },
	[WHEEL_USER_LIMIT] = { "user_limit", "user_limit", "gauge", "The limit for that." },
	[WHEEL_USER_MEMORY] = { "user_memory", "user_memory_bytes", "gauge",
		"Memory of the kernel that all files of the opener take." },
	[WHEEL_USER_MEMORY_LIMIT] = { "user_memory_limit", "user_memory_limit_bytes",
		"gauge", "The limit for that." },
	[WHEEL_LATE_MAX] = { "late_max_ns", "lateness_max_seconds", "gauge",
		"The largest lateness of an expiry." },
	[WHEEL_LATE_SUM] = { "late_sum_ns", "", "", "" },
};

bool wheel_knows(const struct wheel *wheel, enum wheel_number number)
{
	return wheel->known & 1ULL << number;
}

uint64_t wheel_timers(const struct wheel *wheel)
{
	return wheel->numbers[wheel->pid ? WHEEL_TIMERS : WHEEL_PENDING];
}

void wheel_print_json(const struct wheel *wheel)
{
	enum wheel_number i;

	json_begin(NULL, '{');
	if (wheel->pid) {
		json_number("pid", wheel->pid);
		json_number("fd", wheel->fd);
		json_text("process", wheel->name);
	} else {
		json_text("module", wheel->owner);
		json_text("name", wheel->name);
		json_text("context", wheel->context);
	}
	json_text("clock", clock_name(wheel->clock));
	for (i = 0; i < WHEEL_NUMBERS; i++) {
		if (wheel_knows(wheel, i))
			json_number(wheel_numbers[i].key, wheel->numbers[i]);
	}
	json_numbers("late", wheel->late, wheel->late_buckets);
	json_numbers("occupied", wheel->occupied, wheel->occupied_levels);
	json_end('}');
}

/* Parse numbers between blanks. Returns their number. */
static unsigned int parse_numbers(char *text, uint64_t *numbers, unsigned int most)
{
	unsigned int n = 0;
	char *word;

	for (word = strtok(text, " \t\n"); word && n < most;
	     word = strtok(NULL, " \t\n"))
		numbers[n++] = strtoull(word, NULL, 10);
	return n;
}

static void parse_text(char *to, size_t size, const char *text)
{
	text += strspn(text, " \t");
	snprintf(to, size, "%.*s", (int)strcspn(text, "\n"), text);
}

/* Make a name safe for terminals and JSON: it may hold any character. */
static void make_printable(char *p)
{
	for (; *p; p++) {
		if (!isprint((unsigned char)*p) || strchr("\"\\", *p))
			*p = '?';
	}
}

static void wheel_make_printable(struct wheel *wheel)
{
	strcpy(wheel->name, wheel->raw_name);
	make_printable(wheel->name);
	make_printable(wheel->owner);
}

static void wheel_parse_number(struct wheel *wheel, const char *key, const char *value)
{
	enum wheel_number i;

	for (i = 0; i < WHEEL_NUMBERS; i++) {
		if (strcmp(key, wheel_numbers[i].key))
			continue;
		wheel->numbers[i] = strtoull(value, NULL, 10);
		wheel->known |= 1ULL << i;
	}
}

static void wheel_parse_line(struct wheel *wheel, char *line)
{
	char *value = strchr(line, ':');
	char clock[16];

	if (!value)
		return;
	*value++ = '\0';
	if (!strcmp(line, "occupied")) {
		wheel->occupied_levels = parse_numbers(value, wheel->occupied,
						       WHEEL_LEVELS_MOST);
	} else if (!strcmp(line, "late")) {
		wheel->late_buckets = parse_numbers(value, wheel->late,
						    WHEEL_LATE_BUCKETS);
	} else if (!strcmp(line, "name")) {
		parse_text(wheel->raw_name, sizeof(wheel->raw_name), value);
	} else if (!strcmp(line, "owner")) {
		parse_text(wheel->owner, sizeof(wheel->owner), value);
	} else if (!strcmp(line, "context")) {
		parse_text(wheel->context, sizeof(wheel->context), value);
	} else if (!strcmp(line, "clock")) {
		parse_text(clock, sizeof(clock), value);
		wheel->clock = clock_by_name(clock);
	} else {
		wheel_parse_number(wheel, line, value);
	}
}

/* Returns false if it has gone meanwhile, or is not of a wheel. */
static bool wheel_read_file(struct wheel *wheel, const char *path)
{
	/* The longest one has a number of 20 digits for each bucket. */
	char line[32 + 21 * WHEEL_LATE_BUCKETS];
	FILE *file = fopen(path, "re");

	if (!file)
		return false;
	while (fgets(line, sizeof(line), file))
		wheel_parse_line(wheel, line);
	fclose(file);
	return wheel_knows(wheel, WHEEL_TICK);
}

static void wheel_read_process_name(struct wheel *wheel)
{
	char path[64];
	size_t length = 0;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/comm", wheel->pid);
	file = fopen(path, "re");
	if (file) {
		/* The name may hold newlines. The last one does not belong to it. */
		length = fread(wheel->raw_name, 1, sizeof(wheel->raw_name) - 1,
			       file);
		fclose(file);
	}
	if (length)
		wheel->raw_name[length - 1] = '\0';
	else
		strcpy(wheel->raw_name, "?");
	wheel_make_printable(wheel);
}

/* Its target is not looked at: that may take for ever, on a file system that is far away. */
static bool fd_may_be_wheel(pid_t pid, const char *fd)
{
	char path[64], target[256];
	ssize_t length;

	snprintf(path, sizeof(path), "/proc/%d/fd/%.16s", pid, fd);
	length = readlink(path, target, sizeof(target) - 1);
	if (length < (ssize_t)strlen(WHEELS_DEVICE))
		return false;
	target[length] = '\0';
	return !strcmp(target + length - strlen(WHEELS_DEVICE), WHEELS_DEVICE);
}

/* Make room for one more. The sizes are powers of two. */
static struct wheel *wheels_grow(struct wheel *wheels, size_t *count)
{
	if (!(*count & (*count - 1))) {
		size_t most = *count ? 2 * *count : 1;

		wheels = realloc(wheels, most * sizeof(*wheels));
		if (!wheels)
			err(STATUS_FAILED, "no memory");
	}
	return wheels;
}

static struct wheel *wheels_add(struct wheel *wheels, size_t *count, pid_t pid, int fd)
{
	struct wheel *wheel;
	char path[64];

	wheels = wheels_grow(wheels, count);
	wheel = &wheels[*count];
	*wheel = (struct wheel){ .pid = pid, .fd = fd };
	snprintf(path, sizeof(path), "/proc/%d/fdinfo/%d", pid, fd);
	if (wheel_read_file(wheel, path)) {
		wheel_read_process_name(wheel);
		(*count)++;
	}
	return wheels;
}

static struct wheel *wheels_of_process(struct wheel *wheels, size_t *count, pid_t pid,
				       bool *hidden)
{
	struct dirent *entry;
	char path[64];
	DIR *fds;

	snprintf(path, sizeof(path), "/proc/%d/fd", pid);
	fds = opendir(path);
	if (!fds) {
		*hidden |= errno == EACCES || errno == EPERM;
		return wheels;
	}
	while ((entry = readdir(fds))) {
		if (fd_may_be_wheel(pid, entry->d_name))
			wheels = wheels_add(wheels, count, pid, atoi(entry->d_name));
	}
	closedir(fds);
	return wheels;
}

/* Those of modules. Only root sees any. */
static struct wheel *wheels_of_modules(struct wheel *wheels, size_t *count)
{
	struct dirent *entry;
	DIR *folder = opendir(WHEELS_DEBUGFS);

	if (!folder)
		return wheels;
	while ((entry = readdir(folder))) {
		struct wheel *wheel;
		char path[64];

		if (!isdigit((unsigned char)*entry->d_name))
			continue;
		wheels = wheels_grow(wheels, count);
		wheel = &wheels[*count];
		*wheel = (struct wheel){ .fd = -1 };
		snprintf(path, sizeof(path), WHEELS_DEBUGFS "/%.16s", entry->d_name);
		if (wheel_read_file(wheel, path)) {
			wheel_make_printable(wheel);
			(*count)++;
		}
	}
	closedir(folder);
	return wheels;
}

uint64_t late_percentile(const uint64_t *late, const uint64_t *before,
			 unsigned int percent)
{
	uint64_t total = 0, seen = 0;
	unsigned int i;

	for (i = 0; i < WHEEL_LATE_BUCKETS; i++)
		total += late[i] - before[i];
	for (i = 0; i < WHEEL_LATE_BUCKETS; i++) {
		seen += late[i] - before[i];
		if (seen && seen >= total - total * (100 - percent) / 100)
			break;
	}
	if (!total)
		return 0;
	return i < WHEEL_LATE_BUCKETS - 1 ? 2ULL << i : UINT64_MAX;
}

struct wheel *find_wheels(pid_t pid, size_t *count, bool *hidden)
{
	struct wheel *wheels = NULL;
	struct dirent *entry;
	DIR *proc;

	*count = 0;
	*hidden = false;
	if (pid)
		return wheels_of_process(NULL, count, pid, hidden);
	proc = opendir("/proc");
	if (!proc)
		err(STATUS_FAILED, "/proc");
	while ((entry = readdir(proc))) {
		if (isdigit((unsigned char)*entry->d_name))
			wheels = wheels_of_process(wheels, count, atoi(entry->d_name),
						   hidden);
	}
	closedir(proc);
	return wheels_of_modules(wheels, count);
}
