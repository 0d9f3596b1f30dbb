/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Runs programs in one process, one after the other. Descriptors, mappings and memory
 * have fixed places, so that no call hits another thread's by chance. After each
 * program everything is released, and the executor checks that it has been.
 */
#ifndef FUZZ_EXECUTOR_H
#define FUZZ_EXECUTOR_H

#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <sys/types.h>
#include <time.h>

#include "coverage.h"
#include "memory.h"
#include "model.h"
#include "program.h"

/* Seconds, to see what takes too long. */
static inline time_t fuzz_now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec;
}

/* Descriptors of a program. Those of the fuzzer itself are outside of this range. */
enum {
	FD_FIRST	= 100,
	FD_FILE		= FD_FIRST,
	FD_EPOLL	= FD_FILE + NR_FILES,
	FD_SOCKETS,
	FD_URING	= FD_SOCKETS + 2,
	FD_LAST		= FD_URING,
	/* Descriptors between the two ranges are chosen by the kernel, then moved. */
	FD_WITNESS	= 200,
	FD_COVERAGE	= 210,
};

/* Addresses of mappings: the kernel chooses none near them. */
#define MAPPINGS	0x100000000000UL
#define MAPPING_BYTES	(1UL << 26)

#define MAX_OPENED	8
#define MAX_CHILDREN	3

/**
 * struct mapping - a mapping of the device
 * @start: NULL without one
 * @fd: the descriptor that it was made of
 * @file: the model of that file then, or NULL
 * @whole: all of the shared memory, at its beginning
 */
struct mapping {
	char *start;
	size_t bytes;
	int fd;
	const struct file_model *file;
	bool whole;
};

/**
 * struct pledge - a timer that was submitted in a mapping by the rules, and has to fire
 * @mapping: where; @file: of which file
 * @id: its identifier; @word: what its cell said then
 * @due_ns: its deadline
 */
struct pledge {
	const struct mapping *mapping;
	const struct file_model *file;
	uint64_t id;
	uint64_t word;
	uint64_t due_ns;
};

#define MAX_PLEDGES	16

/** struct counters - figures; shared with the parent process */
struct counters {
	atomic_ullong programs;
	atomic_ullong calls;
	/* Operations in batches. */
	atomic_ullong operations;
	atomic_ullong events;
	atomic_ullong kinds[NR_CALLS];
};

struct executor;

/**
 * struct thread - one of the threads that make a program's calls
 * @go: lets it begin its part; @done: its part has ended
 * @alarm: interrupts calls that block; @alarmed: the alarm is on
 */
struct thread {
	struct executor *executor;
	unsigned int number;
	pthread_t pthread;
	sem_t go, done;
	struct memory memory;
	struct coverage coverage;
	timer_t alarm;
	bool alarmed;
};

/**
 * struct executor - runs programs
 * @program: the program that runs
 * @single: one thread makes all calls, so results are predictable
 * @lawful: mappings are written to by the rules only
 * @file: the model of the file behind a descriptor, or NULL
 * @timer: identifiers that arms have returned
 * @verdict: the first error of this program; shared with its children
 */
struct executor {
	const struct program *program;
	bool single;
	bool lawful;
	bool child;
	bool uring;
	unsigned int nr_threads;
	struct thread thread[MAX_THREADS];
	struct file_model *file[NR_FILES];
	struct file_model *opened;
	unsigned int nr_opened;
	atomic_ullong timer[NR_TIMERS];
	struct mapping mapping[NR_MAPPINGS];
	struct pledge pledge[MAX_PLEDGES];
	unsigned int nr_pledges;
	pid_t children[MAX_CHILDREN];
	unsigned int nr_children;
	struct verdict verdict;
	struct counters *counters;
};

void executor_init(struct executor *executor, struct verdict verdict,
		   struct counters *counters, bool coverage, unsigned int cpu);
/* After that, as the user that runs: open the file that shows whether all is released. */
void executor_open_witness(void);
/* Returns true if no error was found; else @executor->verdict has it. */
bool executor_run(struct executor *executor, const struct program *program);

/* Make a call; each kind of calls has its own file. */
void call_op(struct thread *thread, const struct call *call);
void call_many(struct thread *thread, const struct call *call);
void call_batch(struct thread *thread, const struct call *call);
void call_setup(struct thread *thread, const struct call *call);
void call_info(struct thread *thread, const struct call *call);
void call_file(struct thread *thread, const struct call *call);
void call_event(struct thread *thread, const struct call *call);
void call_mapping(struct thread *thread, const struct call *call);
void call_uring(struct thread *thread, const struct call *call);

/* Have all cells fired that were submitted by the rules? Waits for them. */
void submissions_check(struct executor *executor);

/* The memory of the ring keeps the ring, which keeps files. */
void uring_close(void);

/* Calls that block are interrupted between these. */
void alarm_on(struct thread *thread, int fd);
void alarm_off(struct thread *thread);

static inline int call_fd(const struct call *call)
{
	return FD_FILE + call->arg[A_FILE] % NR_FILES;
}

/* The model of a call's file; NULL if results are not predictable. */
static inline struct file_model *call_file_model(const struct thread *thread,
						 const struct call *call)
{
	return thread->executor->single ?
	       thread->executor->file[call->arg[A_FILE] % NR_FILES] : NULL;
}

/* Check that an outcome is one of the allowed ones. */
void check_outcome(struct thread *thread, const struct call *call, uint32_t out,
		   uint32_t may);
/* Allowed outcomes, given that the descriptor may be closed. */
uint32_t outcome_or_closed(const struct thread *thread, const struct call *call,
			   uint32_t may);
/* With a single thread, compare the file's counters with the model. */
void check_file(struct thread *thread, const struct call *call);
/* Allowed outcomes, given that the memory may be bad. */
uint32_t outcome_or_fault(enum place place, uint32_t may);
/* The mapping that structures may lie in, or NULL. */
void *thread_mapping(const struct thread *thread);
void check_events(struct thread *thread, const struct call *call,
		  const void *buffer, long bytes);
/* Fill in what follows a structure, with 0 or not. Returns whether it may be 0. */
bool memory_fill_tail(char *start, size_t known, size_t size, enum place place);
/* The structures of a batch, and what is needed to check its result. */
struct batch_run {
	struct twheel_batch *batch;
	size_t size;
	uint32_t may;
	unsigned int prepared;
	bool foretold;
	enum place ops_place;
	size_t stride;
	struct twheel_op asked[320];
	char *ops;
	struct twheel_batch before;
};

void batch_prepare(struct thread *thread, const struct call *call,
		   struct batch_run *run);
void batch_check(struct thread *thread, const struct call *call,
		 struct batch_run *run, long ret, int error);

#endif
