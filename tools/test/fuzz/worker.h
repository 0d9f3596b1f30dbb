/* SPDX-License-Identifier: GPL-2.0-only */
/* The processes that fuzz, and what they share with the one that watches over them. */
#ifndef FUZZ_WORKER_H
#define FUZZ_WORKER_H

#include <stdatomic.h>

#include "corpus.h"
#include "coverage.h"
#include "executor.h"
#include "record.h"

#define MAX_WORKERS	8
#define MAX_WRONG	512

/** struct options - what the command line says */
struct options {
	uint64_t seed;
	uint64_t calls;
	unsigned int seconds;
	unsigned int workers;
	unsigned int times;
	unsigned int failures;
	bool coverage;
	bool replay;
	bool merge;
};

/**
 * struct shared - by all processes
 * @records: page-aligned, so first
 * @wrong: what is wrong with the program that a worker runs
 * @done: workers that have come to their end
 * @failures: programs that something was wrong with
 * @printing: one prints, and the others wait
 */
struct shared {
	struct records records[MAX_WORKERS];
	char wrong[MAX_WORKERS][MAX_WRONG];
	struct counters counters;
	struct covered covered;
	struct corpus corpus;
	atomic_ullong beats[MAX_WORKERS];
	atomic_uint done;
	atomic_uint failures;
	atomic_bool stop;
	atomic_flag printing;
};

/* Fuzz until told to stop; does not return. */
_Noreturn void worker_run(struct shared *shared, const struct options *options,
			  unsigned int number);

/* A part of what is printed, between marks, in one piece. */
void print_part(struct shared *shared, const char *mark, const char *name,
		const struct program *program);

/* Find few small programs that cover what all do, and print them. */
void merge(struct shared *shared, struct executor *executor);

#endif
