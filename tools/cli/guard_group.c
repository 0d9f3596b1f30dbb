// SPDX-License-Identifier: GPL-2.0-only
/*
 * What ends with the command. Its control group may be killed at once. Where there is none, or no
 * cgroup.kill, children are killed until there is none. The guard is the subreaper of all that
 * comes of the command: whoever loses its parent becomes its child, setsid() or not. A child's
 * number is its own until it is waited for, so that nobody else is killed by mistake.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "guard.h"

/* The parent of a process; 0: there is none that can be seen. */
static pid_t process_parent(pid_t pid)
{
	char name[32], text[512], *end;
	ssize_t length;
	int fd;

	snprintf(name, sizeof(name), "/proc/%d/stat", (int)pid);
	fd = open(name, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return 0;
	length = read(fd, text, sizeof(text) - 1);
	close(fd);
	if (length <= 0)
		return 0;
	text[length] = '\0';
	/* The name of the program may have anything in it. The state is behind its bracket. */
	end = strrchr(text, ')');
	return end && strlen(end) > 4 ? atoi(end + 4) : 0;
}

/* Whether numbers in /proc are those of this PID namespace. */
static bool process_sees_proc(void)
{
	char name[16] = "";

	return readlink("/proc/self", name, sizeof(name) - 1) > 0 && atoi(name) == getpid();
}

/* Where the hierarchy of cgroup2 is mounted as a whole. */
static bool cgroup_mount(char *path, size_t size)
{
	FILE *mounts = fopen("/proc/self/mountinfo", "re");
	char line[4096], root[256], mount[256];
	bool found = false;

	while (mounts && !found && fgets(line, sizeof(line), mounts)) {
		if (!strstr(line, " - cgroup2 ") ||
		    sscanf(line, "%*s %*s %*s %255s %255s", root, mount) != 2)
			continue;
		found = !strcmp(root, "/") && !strchr(mount, '\\') &&
			snprintf(path, size, "%s", mount) < (int)size;
	}
	if (mounts)
		fclose(mounts);
	return found;
}

/* The group of this process in that hierarchy. */
static bool cgroup_own(char *name, size_t size)
{
	FILE *groups = fopen("/proc/self/cgroup", "re");
	char line[4096];
	bool found = false;

	while (groups && !found && fgets(line, sizeof(line), groups)) {
		line[strcspn(line, "\n")] = '\0';
		found = !strncmp(line, "0::/", 4) && !strstr(line, "/..") &&
			snprintf(name, size, "%s", line + 3) < (int)size;
	}
	if (groups)
		fclose(groups);
	return found;
}

static bool cgroup_marked(const char *path)
{
	static const char *const marks[] = { "user.delegate", "trusted.delegate" };
	char value = '0';
	size_t i;

	for (i = 0; i < sizeof(marks) / sizeof(*marks) && value != '1'; i++) {
		if (getxattr(path, marks[i], &value, sizeof(value)) < 0)
			value = '0';
	}
	return value == '1';
}

/*
 * Whether groups may be made below that one, in what is mounted at a path of that length. Where
 * systemd runs, the tree is its own, and it has marked what it leaves to others with all below.
 * The systemd of a user marks nothing. All that it has is below a group that is marked. Shortens
 * the path.
 */
static bool cgroup_delegated(char *path, size_t mount)
{
	if (access("/run/systemd/system", F_OK))
		return true;
	for (; strlen(path) >= mount; *strrchr(path, '/') = '\0') {
		if (cgroup_marked(path))
			return true;
	}
	return false;
}

static int cgroup_open(const struct group *group, const char *file, int flags)
{
	char path[sizeof(group->path) + 32];

	snprintf(path, sizeof(path), "%s/%s", group->path, file);
	return open(path, flags | O_CLOEXEC);
}

void group_create(struct group *group)
{
	char mount[256], own[200], path[sizeof(group->path) - sizeof("/guard-2147483647")];

	prctl(PR_SET_CHILD_SUBREAPER, 1);
	group->kill = -1;
	group->events = -1;
	group->path[0] = '\0';
	if (!cgroup_mount(mount, sizeof(mount)) || !cgroup_own(own, sizeof(own)))
		return;
	if (snprintf(path, sizeof(path), "%s%s", mount, strcmp(own, "/") ? own : "") >=
	    (int)sizeof(path))
		return;
	snprintf(group->path, sizeof(group->path), "%s/guard-%d", path, (int)getpid());
	group->name = group->path + strlen(mount);
	/* A guard that had this number before was killed. */
	rmdir(group->path);
	if (!cgroup_delegated(path, strlen(mount)) || mkdir(group->path, 0755)) {
		group->path[0] = '\0';
		return;
	}
	group->kill = cgroup_open(group, "cgroup.kill", O_WRONLY);
	group->events = cgroup_open(group, "cgroup.events", O_RDONLY);
}

void group_join(struct group *group, pid_t main)
{
	int fd, length;
	char text[16];

	group->main = main;
	if (!group->path[0])
		return;
	fd = cgroup_open(group, "cgroup.procs", O_WRONLY);
	length = snprintf(text, sizeof(text), "%d", (int)main);
	if (fd < 0 || group->events < 0 || write(fd, text, length) != length)
		group_remove(group);
	if (fd >= 0)
		close(fd);
}

bool group_reap(struct group *group, int *status)
{
	bool ended = false;
	int how;
	pid_t pid;

	while ((pid = waitpid(-1, &how, WNOHANG)) > 0) {
		group->killed |= WIFSIGNALED(how) && WTERMSIG(how) == SIGKILL;
		if (pid != group->main)
			continue;
		group->main = 0;
		*status = how;
		ended = true;
	}
	return ended;
}

bool group_empty(struct group *group)
{
	siginfo_t info;
	char text[256];
	ssize_t length = 0;

	/* Each time: then poll() tells of the next change. */
	if (group->events >= 0)
		length = pread(group->events, text, sizeof(text) - 1, 0);
	/* Another process has removed the group. */
	if (length < 0) {
		close(group->events);
		group->events = -1;
	}
	text[length > 0 ? length : 0] = '\0';
	return waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) && errno == ECHILD &&
	       !strstr(text, "populated 1");
}

void group_kill(const struct group *group)
{
	const pid_t self = getpid();
	struct dirent *entry;
	DIR *proc;
	pid_t pid;

	if (group->main)
		kill(group->main, SIGKILL);
	/* If this fails, they are killed one by one. */
	if (group->kill >= 0 && write(group->kill, "1", 1) != 1)
		errno = 0;
	proc = process_sees_proc() ? opendir("/proc") : NULL;
	while (proc && (entry = readdir(proc))) {
		pid = atoi(entry->d_name);
		if (pid > 1 && process_parent(pid) == self)
			kill(pid, SIGKILL);
	}
	if (proc)
		closedir(proc);
}

static int cgroup_remove(const char *path, const struct stat *status, int type, struct FTW *where)
{
	(void)status;
	(void)where;
	if (type == FTW_DP)
		rmdir(path);
	return 0;
}

void group_remove(struct group *group)
{
	if (group->kill >= 0)
		close(group->kill);
	if (group->events >= 0)
		close(group->events);
	/* The command may have made groups in its own. */
	if (group->path[0])
		nftw(group->path, cgroup_remove, 8, FTW_DEPTH | FTW_PHYS);
	group->kill = -1;
	group->events = -1;
	group->path[0] = '\0';
}
