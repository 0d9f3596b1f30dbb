/* SPDX-License-Identifier: GPL-2.0-only */
/* The worker processes, and the memory that they share with their parent. */
#ifndef FUZZ_WORKER_H
#define FUZZ_WORKER_H

#include <stdatomic.h>

#include "corpus.h"
#include "coverage.h"
#include "executor.h"
#include "record.h"

#define MAX_WORKERS	8
#define MAX_WRONG	512

/** struct options - the options of the command line */
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
 * struct shared - memory that all processes share
 * @records: first, because it has to be page-aligned
 * @wrong: the first error of the program that a worker runs
 * @done: number of workers that have ended
 * @failures: number of programs that failed
 * @printing: a process prints, and the others wait
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

/* Print one part of the output, between marks, without interruption. */
void shared_print_part(struct shared *shared, const char *mark, const char *name,
		       const struct program *program);

/* Find few and small programs that cover as much as all do, and print them. */
void corpus_merge(struct shared *shared, struct executor *executor);

#endif
