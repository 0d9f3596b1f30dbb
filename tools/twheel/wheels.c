// SPDX-License-Identifier: GPL-2.0-only
#include <ctype.h>
#include <dirent.h>
#include <err.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <linux/twheel.h>

#include "command.h"
#include "wheels.h"

#define DEVICE	"/twheel"

#ifndef SYS_pidfd_getfd
#define SYS_pidfd_getfd	438
#endif

/* What /proc/PID/fdinfo/FD may have, and where it goes. */
static const struct field {
	const char *name;
	size_t offset;
} fields[] = {
	{ "tick_ns", offsetof(struct wheel, tick_ns) },
	{ "slots", offsetof(struct wheel, slots) },
	{ "levels", offsetof(struct wheel, levels) },
	{ "max_timers", offsetof(struct wheel, max_timers) },
	{ "timers", offsetof(struct wheel, timers) },
	{ "pending", offsetof(struct wheel, pending) },
	{ "unread", offsetof(struct wheel, unread) },
	{ "armed", offsetof(struct wheel, armed) },
	{ "fired", offsetof(struct wheel, fired) },
	{ "cancelled", offsetof(struct wheel, cancelled) },
};

static void take_occupied(struct wheel *wheel, char *text)
{
	unsigned int n = 0;
	char *word;

	for (word = strtok(text, " \t\n"); word && n < MOST_LEVELS;
	     word = strtok(NULL, " \t\n"))
		wheel->occupied[n++] = strtoull(word, NULL, 10);
	wheel->occupied_levels = n;
}

static void take_line(struct wheel *wheel, char *line)
{
	char *value = strchr(line, ':');
	size_t i;

	if (!value)
		return;
	*value++ = '\0';
	if (!strcmp(line, "occupied")) {
		take_occupied(wheel, value);
	} else if (!strcmp(line, "clockid")) {
		wheel->clockid = atoi(value);
	} else if (!strcmp(line, "late_max_ns")) {
		wheel->late_ns = strtoull(value, NULL, 10);
		wheel->late_told = true;
	}
	for (i = 0; i < sizeof(fields) / sizeof(*fields); i++) {
		if (!strcmp(line, fields[i].name))
			*(uint64_t *)((char *)wheel + fields[i].offset) =
				strtoull(value, NULL, 10);
	}
}

static void read_fdinfo(struct wheel *wheel)
{
	char path[64], line[512];
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/fdinfo/%d", wheel->pid,
		 wheel->fd);
	file = fopen(path, "re");
	if (!file)
		return;
	while (fgets(line, sizeof(line), file))
		take_line(wheel, line);
	fclose(file);
	wheel->told = wheel->tick_ns;
}

/* A descriptor of the same open file, or -1: that needs the rights of a debugger. */
static int borrow(const struct wheel *wheel)
{
	int pidfd = syscall(SYS_pidfd_open, wheel->pid, 0), fd;

	if (pidfd < 0)
		return -1;
	fd = syscall(SYS_pidfd_getfd, pidfd, wheel->fd, 0);
	close(pidfd);
	return fd;
}

/* What fdinfo does not have, the wheel itself tells. */
static void ask(struct wheel *wheel)
{
	struct twheel_info info;
	int fd = borrow(wheel);

	if (fd < 0)
		return;
	if (!ioctl(fd, TWHEEL_IOC_INFO, &info)) {
		wheel->told = true;
		wheel->clockid = info.clockid;
		wheel->tick_ns = info.tick_ns;
		wheel->slots = info.slots;
		wheel->levels = info.levels;
		wheel->max_timers = info.max_timers;
		wheel->timers = info.timers;
		wheel->pending = info.pending;
		wheel->unread = info.unread;
		wheel->armed = info.armed;
		wheel->fired = info.fired;
		wheel->cancelled = info.cancelled;
	}
	close(fd);
}

static void read_name(struct wheel *wheel)
{
	char path[64];
	FILE *file;
	char *p;

	snprintf(path, sizeof(path), "/proc/%d/comm", wheel->pid);
	file = fopen(path, "re");
	if (!file || !fgets(wheel->name, sizeof(wheel->name), file))
		strcpy(wheel->name, "?");
	if (file)
		fclose(file);
	/* A process may call itself anything, and this goes to a terminal. */
	for (p = wheel->name; *p; p++) {
		if (*p == '\n')
			*p = '\0';
		else if (!isprint((unsigned char)*p) || strchr("\"\\", *p))
			*p = '?';
	}
}

static bool is_wheel(pid_t pid, const char *fd)
{
	char path[64], target[256];
	ssize_t length;

	snprintf(path, sizeof(path), "/proc/%d/fd/%.16s", pid, fd);
	length = readlink(path, target, sizeof(target) - 1);
	if (length < (ssize_t)strlen(DEVICE))
		return false;
	target[length] = '\0';
	return !strcmp(target + length - strlen(DEVICE), DEVICE);
}

static struct wheel *add(struct wheel *wheels, size_t *count, pid_t pid, int fd)
{
	struct wheel *wheel;

	/* Powers of two. */
	if (!(*count & (*count - 1))) {
		size_t room = *count ? 2 * *count : 1;

		wheels = realloc(wheels, room * sizeof(*wheels));
		if (!wheels)
			err(STATUS_FAILED, "no memory");
	}
	wheel = &wheels[*count];
	*wheel = (struct wheel){ .pid = pid, .fd = fd };
	read_fdinfo(wheel);
	if (!wheel->told || !wheel->levels)
		ask(wheel);
	read_name(wheel);
	(*count)++;
	return wheels;
}

static struct wheel *find_in(struct wheel *wheels, size_t *count, pid_t pid,
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
		if (is_wheel(pid, entry->d_name))
			wheels = add(wheels, count, pid, atoi(entry->d_name));
	}
	closedir(fds);
	return wheels;
}

struct wheel *find_wheels(pid_t pid, size_t *count, bool *hidden)
{
	struct wheel *wheels = NULL;
	struct dirent *entry;
	DIR *proc;

	*count = 0;
	*hidden = false;
	if (pid)
		return find_in(NULL, count, pid, hidden);
	proc = opendir("/proc");
	if (!proc)
		err(STATUS_FAILED, "/proc");
	while ((entry = readdir(proc))) {
		if (isdigit((unsigned char)*entry->d_name))
			wheels = find_in(wheels, count, atoi(entry->d_name),
					 hidden);
	}
	closedir(proc);
	return wheels;
}
