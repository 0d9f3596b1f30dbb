/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Runs programs, one after the other, in one process: the calls of each on descriptors,
 * mappings and memory of fixed places, so that no other thread's can be hit by chance;
 * and after each program everything is taken back, and seen to be back.
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

/* Descriptors of a program. Those of the fuzzer itself are outside of it. */
enum {
	FD_FIRST	= 100,
	FD_FILE		= FD_FIRST,
	FD_EPOLL	= FD_FILE + NR_FILES,
	FD_SOCKETS,
	FD_URING	= FD_SOCKETS + 2,
	FD_LAST		= FD_URING,
	/* Where those that the kernel chooses may be, before they are moved. */
	FD_WITNESS	= 200,
	FD_COVERAGE	= 210,
};

/* Addresses of mappings: nobody else is given any near to them. */
#define MAPPINGS	0x100000000000UL
#define MAPPING_BYTES	(1UL << 26)

#define MAX_OPENED	8
#define MAX_CHILDREN	3

/** struct mapping - of the device; @start is NULL if there is none */
struct mapping {
	char *start;
	size_t bytes;
};

/** struct counters - what has been done; shared with the parent */
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
 * struct thread - one of those that make a program's calls
 * @go: its part begins; @done: it has ended
 * @alarm: interrupts calls that block; @alarmed: it is on
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
 * @program: the one that runs
 * @single: one thread does all of it, and its files can be foretold
 * @file: what is known of the file behind a descriptor, or NULL
 * @timer: identifiers that arms have given
 * @judge: what is wrong with this program; shared with its children
 */
struct executor {
	const struct program *program;
	bool single;
	bool child;
	bool uring;
	unsigned int nr_threads;
	struct thread thread[MAX_THREADS];
	struct file_model *file[NR_FILES];
	struct file_model *opened;
	unsigned int nr_opened;
	atomic_ullong timer[NR_TIMERS];
	struct mapping mapping[NR_MAPPINGS];
	pid_t children[MAX_CHILDREN];
	unsigned int nr_children;
	struct judge judge;
	struct counters *counters;
};

void executor_init(struct executor *executor, struct judge judge,
		   struct counters *counters, bool coverage, unsigned int cpu);
/* Afterwards, as the user who is to run: who sees whether everything is back. */
void executor_open_witness(void);
/* Returns true if nothing was wrong; else @executor->judge says what. */
bool executor_run(struct executor *executor, const struct program *program);

/* What a call's code does, each in the file of its kind. */
void call_op(struct thread *thread, const struct call *call);
void call_batch(struct thread *thread, const struct call *call);
void call_setup(struct thread *thread, const struct call *call);
void call_info(struct thread *thread, const struct call *call);
void call_file(struct thread *thread, const struct call *call);
void call_event(struct thread *thread, const struct call *call);
void call_mapping(struct thread *thread, const struct call *call);
void call_uring(struct thread *thread, const struct call *call);

/* Its memory keeps the ring, and that the files. */
void uring_close(void);

/* Calls that block are interrupted between these. */
void alarm_on(struct thread *thread, int fd);
void alarm_off(struct thread *thread);

static inline int fd_of(const struct call *call)
{
	return FD_FILE + call->arg[A_FILE] % NR_FILES;
}

/* What is known of a call's file; NULL if little. */
static inline struct file_model *file_of(const struct thread *thread,
					 const struct call *call)
{
	return thread->executor->single ?
	       thread->executor->file[call->arg[A_FILE] % NR_FILES] : NULL;
}

/* Is an outcome one of those that may be? */
void judge_out(struct thread *thread, const struct call *call, uint32_t out,
	       uint32_t may);
/* The same of a descriptor that may not be open. */
uint32_t may_be_closed(const struct thread *thread, const struct call *call,
		       uint32_t may);
/* In a single thread, what the file holds has to be what is known of it. */
void judge_file(struct thread *thread, const struct call *call);
/* A call that the right memory was not given for may fail for that, too. */
uint32_t may_in_place(enum place place, uint32_t may);
/* The mapping that structures may lie in, or NULL. */
void *mapping_for(const struct thread *thread);
void judge_events(struct thread *thread, const struct call *call,
		  const void *buffer, long bytes);
/* Fill in what lies after a structure: 0, or not. Returns whether it may be 0. */
bool fill_tail(char *start, size_t known, size_t size, enum place place);
/* The structures of a batch are put there; it is judged once it was done. */
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
void batch_judge(struct thread *thread, const struct call *call,
		 struct batch_run *run, long ret, int error);

#endif
