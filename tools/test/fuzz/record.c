// SPDX-License-Identifier: GPL-2.0-only
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "record.h"

/* Built at run time, because the text of the fuzzer is in the guest's memory, too. */
static void record_make_mark(char *mark)
{
	static const char text[] = "uxiffm.gv{{.svo!";
	unsigned int i;

	for (i = 0; i < 16; i++)
		mark[i] = text[i] - 1;
}

static uint64_t record_sum(const struct record_part *part)
{
	uint64_t sum = part->serial * 31 + part->part;
	unsigned int i;

	for (i = 0; i < sizeof(part->data) / 8; i++) {
		uint64_t word;

		memcpy(&word, part->data + i * 8, 8);
		sum = (sum ^ word) * 0x100000001b3ULL;
	}
	return sum;
}

void record_note(struct records *records, unsigned int worker, uint64_t serial,
		 const struct program *program)
{
	size_t size = sizeof(struct record_part) -
		      offsetof(struct record_part, data);
	unsigned int i;

	for (i = 0; i < RECORD_PARTS; i++) {
		struct record_part *part = &records->part[serial % RECORDS][i];
		size_t left = sizeof(*program) - i * size;

		part->serial = serial;
		part->worker = worker;
		part->part = i;
		memcpy(part->data, (char *)program + i * size,
		       left < size ? left : size);
		part->sum = record_sum(part);
		record_make_mark(part->mark);
	}
}

static bool record_is_program(const struct program *program)
{
	uint32_t i;

	if (program->count > MAX_CALLS)
		return false;
	for (i = 0; i < program->count; i++)
		if (program->call[i].code >= NR_CALLS)
			return false;
	return true;
}

static bool record_write(const struct program *program, const char *folder,
			 unsigned int worker, uint64_t serial)
{
	static char text[PROGRAM_TEXT];
	char path[512];
	FILE *file;

	if (!record_is_program(program))
		return false;
	snprintf(path, sizeof(path), "%s/%u-%08llu", folder, worker,
		 (unsigned long long)serial);
	file = fopen(path, "w");
	if (!file) {
		perror(path);
		exit(2);
	}
	fwrite(text, 1, program_print(program, text), file);
	fclose(file);
	return true;
}

/* Find the second part of a record. */
static const struct record_part *record_second(const struct record_part *pages,
					       size_t count,
					       const struct record_part *first)
{
	size_t i;

	for (i = 0; i < count; i++)
		if (!memcmp(pages[i].mark, first->mark, 16) &&
		    pages[i].serial == first->serial && pages[i].part == 1 &&
		    pages[i].worker == first->worker &&
		    pages[i].sum == record_sum(&pages[i]))
			return &pages[i];
	return NULL;
}

int record_extract(const char *memory, const char *folder)
{
	size_t size = sizeof(((struct record_part *)0)->data), count, i;
	int fd = open(memory, O_RDONLY), found = 0;
	const struct record_part *pages;
	struct stat stat;
	char mark[16];

	if (fd < 0 || fstat(fd, &stat)) {
		perror(memory);
		exit(2);
	}
	pages = mmap(NULL, stat.st_size, PROT_READ, MAP_SHARED, fd, 0);
	if (pages == MAP_FAILED) {
		perror(memory);
		exit(2);
	}
	record_make_mark(mark);
	count = stat.st_size / RECORD_PAGE;
	for (i = 0; i < count; i++) {
		const struct record_part *other;
		struct program program;

		if (memcmp(pages[i].mark, mark, 16) || pages[i].part ||
		    pages[i].sum != record_sum(&pages[i]))
			continue;
		other = record_second(pages, count, &pages[i]);
		if (!other)
			continue;
		memcpy(&program, pages[i].data, size);
		memcpy((char *)&program + size, other->data,
		       sizeof(program) - size);
		found += record_write(&program, folder, pages[i].worker,
				      pages[i].serial);
	}
	return found;
}
