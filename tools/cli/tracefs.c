// SPDX-License-Identifier: GPL-2.0-only
#include <ctype.h>
#include <dirent.h>
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "command.h"
#include "tracefs.h"

/* The name of an instance: this, and the number of its process. */
#define TRACEFS_PREFIX	"twheel-"

static const char * const tracefs_roots[] = {
	"/sys/kernel/tracing", "/sys/kernel/debug/tracing",
};

/* Where tracefs is mounted. Ends the program if it is not. */
static const char *tracefs_find_root(void)
{
	char path[128];
	size_t i;

	for (i = 0; i < sizeof(tracefs_roots) / sizeof(*tracefs_roots); i++) {
		snprintf(path, sizeof(path), "%s/instances", tracefs_roots[i]);
		if (!access(path, W_OK))
			return tracefs_roots[i];
	}
	if (geteuid())
		errx(STATUS_FAILED, "only root may trace; try sudo");
	errx(STATUS_FAILED, "there is no tracefs: mount -t tracefs nodev %s (or the kernel has no CONFIG_FTRACE)",
	     tracefs_roots[0]);
}

int tracefs_write(const struct tracefs *tracefs, const char *file,
		  const char *text)
{
	char path[256];
	int fd, error = 0;

	snprintf(path, sizeof(path), "%s/%s", tracefs->path, file);
	fd = open(path, O_WRONLY | O_CLOEXEC | O_TRUNC);
	if (fd < 0)
		return errno;
	if (write(fd, text, strlen(text)) != (ssize_t)strlen(text))
		error = errno ? errno : EIO;
	close(fd);
	return error;
}

/* Remove an instance. Returns 0 or an errno. */
static int tracefs_destroy(const struct tracefs *tracefs)
{
	/* With events enabled, it could be busy for a moment. */
	tracefs_write(tracefs, "events/enable", "0");
	return rmdir(tracefs->path) ? errno : 0;
}

/* Remove the instances of processes that have ended. */
static void tracefs_remove_old(const char *root)
{
	struct dirent *entry;
	char path[128], old[128];
	DIR *folder;

	snprintf(path, sizeof(path), "%s/instances", root);
	folder = opendir(path);
	if (!folder)
		return;
	while ((entry = readdir(folder))) {
		const char *number = entry->d_name + strlen(TRACEFS_PREFIX);

		if (strncmp(entry->d_name, TRACEFS_PREFIX, strlen(TRACEFS_PREFIX)) ||
		    !isdigit((unsigned char)*number))
			continue;
		if (!kill(atoi(number), 0) || errno != ESRCH)
			continue;
		snprintf(old, sizeof(old), "%.64s/%.40s", path, entry->d_name);
		/* That of a process in another PID namespace is busy, and stays as it is. */
		rmdir(old);
	}
	closedir(folder);
}

void tracefs_open(struct tracefs *tracefs)
{
	const char *root = tracefs_find_root();
	char path[256];

	snprintf(path, sizeof(path), "%s/events/twheel", root);
	if (access(path, F_OK))
		errx(STATUS_FAILED, "there are no events of twheel: is the module loaded (modprobe twheel), and the kernel built with CONFIG_TRACEPOINTS?");
	tracefs_remove_old(root);
	snprintf(tracefs->path, sizeof(tracefs->path), "%s/instances/" TRACEFS_PREFIX "%d",
		 root, getpid());
	/* An instance of this name is left from a process that has ended. */
	if (mkdir(tracefs->path, 0700) &&
	    (errno != EEXIST || rmdir(tracefs->path) || mkdir(tracefs->path, 0700))) {
		if (errno == EINVAL)
			errx(STATUS_FAILED, "the kernel refuses to trace: see /sys/kernel/security/lockdown");
		err(STATUS_FAILED, "%s", tracefs->path);
	}
	snprintf(path, sizeof(path), "%s/trace_pipe", tracefs->path);
	tracefs->pipe = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	if (tracefs->pipe < 0) {
		warn("%s", path);
		rmdir(tracefs->path);
		exit(STATUS_FAILED);
	}
	/* The clock that most deadlines are on. */
	tracefs_write(tracefs, "trace_clock", "mono");
}

void tracefs_close(struct tracefs *tracefs)
{
	int error;

	close(tracefs->pipe);
	error = tracefs_destroy(tracefs);
	if (error)
		warnx("%s: %s; remove it with rmdir", tracefs->path,
		      strerror(error));
}
