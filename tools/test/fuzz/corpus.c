// SPDX-License-Identifier: GPL-2.0-only
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "corpus.h"

/* More than the text of any program. */
#define MAX_TEXT	(PROGRAM_TEXT + 4096)

void corpus_read(struct program *program, const char *path)
{
	static char text[MAX_TEXT];
	const char *name = strrchr(path, '/');
	char wrong[256];
	FILE *file = fopen(path, "r");
	size_t n;

	if (!file) {
		perror(path);
		exit(2);
	}
	n = fread(text, 1, sizeof(text) - 1, file);
	text[n] = '\0';
	fclose(file);
	if (!program_parse(program, text, wrong, sizeof(wrong))) {
		fprintf(stderr, "fuzz: %s: %s\n", path, wrong);
		exit(2);
	}
	snprintf(program->name, sizeof(program->name), "%s",
		 name ? name + 1 : path);
}

static int entry_is_input(const struct dirent *entry)
{
	return entry->d_name[0] != '.';
}

void corpus_load(struct corpus *corpus, const char *folder)
{
	struct dirent **entries;
	int n = scandir(folder, &entries, entry_is_input, alphasort), i;
	char path[512];

	if (n < 0) {
		perror(folder);
		exit(2);
	}
	for (i = 0; i < n; i++) {
		struct program program;

		snprintf(path, sizeof(path), "%s/%s", folder,
			 entries[i]->d_name);
		corpus_read(&program, path);
		corpus_add(corpus, &program);
		free(entries[i]);
	}
	free(entries);
	corpus->loaded = corpus->count;
}

void corpus_add(struct corpus *corpus, const struct program *program)
{
	unsigned int place = atomic_fetch_add(&corpus->taken, 1);

	if (place >= MAX_CORPUS)
		return;
	corpus->program[place] = *program;
	/* Publish in the order in which places were taken. */
	while (atomic_load(&corpus->count) != place)
		;
	atomic_store(&corpus->count, place + 1);
}

const struct program *corpus_pick(const struct corpus *corpus,
				  struct dice *dice)
{
	unsigned int count = atomic_load(&corpus->count);

	if (!count)
		return NULL;
	/* Recent programs lead to new ones more often. */
	if (count > 32 && dice_once_in(dice, 3))
		return &corpus->program[count - 1 - dice_roll(dice, 32)];
	return &corpus->program[dice_roll(dice, count)];
}
