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

/* Instances are called so, and then the number of their process. */
#define PREFIX	"twheel-"

static const char * const roots[] = {
	"/sys/kernel/tracing", "/sys/kernel/debug/tracing",
};

/* Where tracefs is mounted; ends the program if that is nowhere. */
static const char *find_root(void)
{
	char path[128];
	size_t i;

	for (i = 0; i < sizeof(roots) / sizeof(*roots); i++) {
		snprintf(path, sizeof(path), "%s/instances", roots[i]);
		if (!access(path, W_OK))
			return roots[i];
	}
	if (geteuid())
		errx(STATUS_FAILED, "tracing is for root; try sudo");
	errx(STATUS_FAILED, "there is no tracefs: mount -t tracefs nodev %s (or the kernel has no CONFIG_FTRACE)",
	     roots[0]);
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

/* Returns 0 or an errno. */
static int destroy(const struct tracefs *tracefs)
{
	/* While events are on, it may be busy for a moment. */
	tracefs_write(tracefs, "events/enable", "0");
	return rmdir(tracefs->path) ? errno : 0;
}

/* Those of processes that are no more. */
static void remove_old(const char *root)
{
	struct tracefs old = { .pipe = -1 };
	struct dirent *entry;
	char path[128];
	DIR *folder;

	snprintf(path, sizeof(path), "%s/instances", root);
	folder = opendir(path);
	if (!folder)
		return;
	while ((entry = readdir(folder))) {
		const char *number = entry->d_name + strlen(PREFIX);

		if (strncmp(entry->d_name, PREFIX, strlen(PREFIX)) ||
		    !isdigit((unsigned char)*number))
			continue;
		if (!kill(atoi(number), 0) || errno != ESRCH)
			continue;
		snprintf(old.path, sizeof(old.path), "%.64s/%.40s", path,
			 entry->d_name);
		destroy(&old);
	}
	closedir(folder);
}

void tracefs_open(struct tracefs *tracefs)
{
	const char *root = find_root();
	char path[256];

	snprintf(path, sizeof(path), "%s/events/twheel", root);
	if (access(path, F_OK))
		errx(STATUS_FAILED, "the kernel knows no events of twheel: is the module loaded (modprobe twheel), and made with CONFIG_TRACEPOINTS?");
	remove_old(root);
	snprintf(tracefs->path, sizeof(tracefs->path), "%s/instances/" PREFIX "%d",
		 root, getpid());
	/* What another process of our number has left is none of ours. */
	if (mkdir(tracefs->path, 0700) && errno == EEXIST) {
		destroy(tracefs);
		mkdir(tracefs->path, 0700);
	}
	snprintf(path, sizeof(path), "%s/trace_pipe", tracefs->path);
	tracefs->pipe = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	if (tracefs->pipe < 0) {
		warn("%s", path);
		rmdir(tracefs->path);
		exit(STATUS_FAILED);
	}
	/* The one that deadlines are on, as a rule. */
	tracefs_write(tracefs, "trace_clock", "mono");
}

void tracefs_close(struct tracefs *tracefs)
{
	int error;

	close(tracefs->pipe);
	error = destroy(tracefs);
	if (error)
		warnx("%s: %s; remove it with rmdir", tracefs->path,
		      strerror(error));
}
