/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Workers note in memory which program runs. When it has brought the kernel down, the
 * host finds it in the file that is the guest's memory. Pages of the guest may lie
 * anywhere in that file, so each part of a record is in one page and says which it is.
 */
#ifndef FUZZ_RECORD_H
#define FUZZ_RECORD_H

#include "program.h"

/* How many of the last programs of each worker are kept. */
#define RECORDS		8

#define RECORD_PAGE	4096
#define RECORD_PARTS	2

/** struct record_part - a page of a record */
struct record_part {
	char mark[16];
	uint64_t serial;
	uint32_t worker;
	uint32_t part;
	uint64_t sum;
	char data[RECORD_PAGE - 40];
};

_Static_assert(sizeof(struct program) <=
	       RECORD_PARTS * sizeof(((struct record_part *)0)->data),
	       "a program has to fit into a record");

/** struct records - of a worker; page-aligned */
struct records {
	struct record_part part[RECORDS][RECORD_PARTS];
};

void record_note(struct records *records, unsigned int worker, uint64_t serial,
		 const struct program *program);
/* Write the programs found in a file of memory to a folder. Returns their number. */
int record_extract(const char *memory, const char *folder);

#endif
