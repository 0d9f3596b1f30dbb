/* SPDX-License-Identifier: GPL-2.0-only */
/* A cgroup of a test, in a hierarchy that is mounted for it. */
#ifndef TEST_GROUP_H
#define TEST_GROUP_H

#include <stdbool.h>

/**
 * struct group - a cgroup
 * @root: where its hierarchy is mounted
 * @path: its own folder there
 */
struct group {
	char root[32];
	char path[48];
};

/*
 * @what: the controller, for version 1, which has a hierarchy for each; NULL for version 2.
 * Without it the test is skipped.
 */
struct group group_new(const char *type, const char *what);
/* Nobody is in it any more. */
void group_free(const struct group *group);

/* Returns false if the folder has no such file, or if that does not take the text. */
bool group_write(const char *folder, const char *name, const char *text);
/* The number after @word in a file of the cgroup; 0 if there is none. */
unsigned long group_number(const struct group *group, const char *name, const char *word);

#endif
