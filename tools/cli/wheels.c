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
#include "wheels.h"

/* How the path of the device ends. */
#define WHEELS_DEVICE	"/twheel"
/* The files of the wheels that modules have made. */
#define WHEELS_DEBUGFS	"/sys/kernel/debug/twheel"

#define COUNTER(kind, name, metric, type, help)				\
	{ #name, kind, offsetof(struct wheel, name), metric, type, help }
#define COUNTER_FILE(name, of_file, metric, type, help)			\
	COUNTER(WHEEL_OF_FILE, name, metric, type, help),
#define COUNTER_BOTH(name, of_file, of_wheel, metric, type, help)	\
	COUNTER(WHEEL_ANY, name, metric, type, help),
#define COUNTER_MODULE(name, of_wheel, metric, type, help)		\
	COUNTER(WHEEL_OF_MODULE, name, metric, type, help),

const struct wheel_counter wheel_counters[] = {
	TW_COUNTERS(COUNTER_FILE, COUNTER_BOTH, COUNTER_BOTH, COUNTER_MODULE)
	{ "max_timers", WHEEL_OF_FILE, offsetof(struct wheel, max_timers),
	  "limit", "gauge", "Timers that may exist at once." },
	{ }
};

/* The other numbers of /proc/PID/fdinfo/FD, and where to store them. */
static const struct wheel_field {
	const char *name;
	size_t offset;
} wheel_fields[] = {
	{ "wheel", offsetof(struct wheel, id) },
	{ "tick_ns", offsetof(struct wheel, tick_ns) },
	{ "slots", offsetof(struct wheel, slots) },
	{ "levels", offsetof(struct wheel, levels) },
};

bool wheel_has(const struct wheel *wheel, const struct wheel_counter *counter)
{
	return wheel->told && (counter->kind == WHEEL_ANY ||
			       (counter->kind == WHEEL_OF_FILE) == !!wheel->pid);
}

uint64_t wheel_count(const struct wheel *wheel,
		     const struct wheel_counter *counter)
{
	return *(const uint64_t *)((const char *)wheel + counter->offset);
}

static void wheel_set(struct wheel *wheel, size_t offset, const char *value)
{
	*(uint64_t *)((char *)wheel + offset) = strtoull(value, NULL, 10);
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
static void wheel_make_printable(struct wheel *wheel)
{
	char *p;

	strcpy(wheel->name, wheel->raw_name);
	for (p = wheel->name; *p; p++) {
		if (!isprint((unsigned char)*p) || strchr("\"\\", *p))
			*p = '?';
	}
}

static void wheel_parse_line(struct wheel *wheel, char *line)
{
	const struct wheel_counter *counter;
	char *value = strchr(line, ':');
	char clock[16];
	size_t i;

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
	} else if (!strcmp(line, "clock")) {
		parse_text(clock, sizeof(clock), value);
		wheel->clockid = clock_id_by_name(clock);
	} else if (!strcmp(line, "clockid")) {
		wheel->clockid = atoi(value);
	}
	for (i = 0; i < sizeof(wheel_fields) / sizeof(*wheel_fields); i++) {
		if (!strcmp(line, wheel_fields[i].name))
			wheel_set(wheel, wheel_fields[i].offset, value);
	}
	for (counter = wheel_counters; counter->name; counter++) {
		if (!strcmp(line, counter->name))
			wheel_set(wheel, counter->offset, value);
	}
}

static void wheel_read_file(struct wheel *wheel, const char *path)
{
	/* The longest one has a number of 20 digits for each bucket. */
	char line[32 + 21 * WHEEL_LATE_BUCKETS];
	FILE *file = fopen(path, "re");

	if (!file)
		return;
	while (fgets(line, sizeof(line), file))
		wheel_parse_line(wheel, line);
	fclose(file);
	wheel->told = wheel->tick_ns;
}

static void wheel_read_fdinfo(struct wheel *wheel)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/fdinfo/%d", wheel->pid,
		 wheel->fd);
	wheel_read_file(wheel, path);
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

static bool fd_is_wheel(pid_t pid, const char *fd)
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

	wheels = wheels_grow(wheels, count);
	wheel = &wheels[*count];
	*wheel = (struct wheel){ .pid = pid, .fd = fd };
	wheel_read_fdinfo(wheel);
	wheel_read_process_name(wheel);
	(*count)++;
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
		if (fd_is_wheel(pid, entry->d_name))
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
		wheel_read_file(wheel, path);
		wheel_make_printable(wheel);
		/* If it has gone meanwhile, do not count it. */
		*count += wheel->told;
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
