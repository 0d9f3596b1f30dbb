// SPDX-License-Identifier: GPL-2.0-only
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "group.h"
#include "tap.h"

/* What has to happen, happens within this time. */
#define PATIENCE_MS	60000

struct group group_new(const char *type, const char *what)
{
	struct group group = { .root = "/tmp/cgroup-XXXXXX" };

	NEED(mkdtemp(group.root));
	if (mount("none", group.root, type, 0, what)) {
		rmdir(group.root);
		tap_skip("no %s here: %s", what ?: type, strerror(errno));
	}
	snprintf(group.path, sizeof(group.path), "%s/twheel", group.root);
	NEED(mkdir(group.path, 0755) == 0);
	return group;
}

/*
 * Who has ended may still be in the cgroup: a thread of the kernel's leaves it some time after
 * the end that others can wait for, and that takes long if the cgroup lets it run seldom.
 */
void group_free(const struct group *group)
{
	int ret, i;

	for (i = 0; i < PATIENCE_MS / 10; i++) {
		ret = rmdir(group->path);
		if (!ret || errno != EBUSY)
			break;
		usleep(10000);
	}
	CHECK_EQ(ret, 0);
	CHECK_EQ(umount2(group->root, MNT_DETACH), 0);
	CHECK_EQ(rmdir(group->root), 0);
}

bool group_write(const char *folder, const char *name, const char *text)
{
	char path[96];
	FILE *file;
	bool good;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	file = fopen(path, "w");
	if (!file)
		return false;
	good = fputs(text, file) >= 0;
	return fclose(file) == 0 && good;
}

unsigned long group_number(const struct group *group, const char *name,
			   const char *word)
{
	unsigned long number = 0;
	char path[96], line[96];
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s", group->path, name);
	file = fopen(path, "r");
	NEED(file);
	while (fgets(line, sizeof(line), file))
		if (!strncmp(line, word, strlen(word)))
			number = strtoul(line + strlen(word), NULL, 10);
	fclose(file);
	return number;
}
