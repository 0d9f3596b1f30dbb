/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The fuzzer runs programs. A program is a sequence of calls. As text a call is a line,
 * with those of its arguments that are not 0:
 *
 *	open
 *	setup clock=7 tick=50000
 *	arm timer=3 deadline=200000 cookie=9
 *	1: read bytes=96
 *
 * A number before a colon is the thread that makes the call; without one it is 0. Calls
 * before the first call of another thread are done before that thread starts.
 */
#ifndef FUZZ_PROGRAM_H
#define FUZZ_PROGRAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MAX_CALLS	48
#define MAX_ARGS	14
#define MAX_THREADS	3
#define MAX_NAME	32

/* How many files, timers and mappings a program can name. */
#define NR_FILES	6
#define NR_TIMERS	12
#define NR_MAPPINGS	3

enum call_code {
	CALL_NONE,
	CALL_OPEN, CALL_CLOSE, CALL_DUP, CALL_SETUP,
	/* In the order of enum twheel_op_code. */
	CALL_ARM, CALL_CANCEL, CALL_MODIFY, CALL_QUERY, CALL_KICK,
	CALL_CANCEL_ALL, CALL_INFO, CALL_STATS, CALL_MANY, CALL_BATCH, CALL_URING_BATCH,
	CALL_URING_READ, CALL_URING_POLL,
	CALL_READ, CALL_READV, CALL_POLL, CALL_EPOLL_ADD, CALL_EPOLL_WAIT,
	CALL_EPOLL_DEL, CALL_FCNTL, CALL_OTHER, CALL_IOCTL, CALL_FDINFO,
	CALL_MMAP, CALL_MUNMAP, CALL_MREMAP, CALL_MPROTECT, CALL_MADVISE,
	CALL_SCRIBBLE, CALL_EXTEND, CALL_SUBMIT, CALL_TAKE, CALL_SLEEP, CALL_DRAIN, CALL_SEND,
	CALL_RECEIVE, CALL_FORK,
	NR_CALLS
};

/* The kinds of arguments, for the mutator. */
enum arg_kind {
	ARG_NONE,
	ARG_FILE, ARG_TIMER, ARG_MAPPING,
	ARG_TIME, ARG_PERIOD, ARG_SLACK, ARG_NOW, ARG_TICK,
	ARG_OP_FLAGS, ARG_CLOCK, ARG_SETUP_FLAGS, ARG_SLOTS, ARG_MAX_TIMERS,
	ARG_EVENT_SIZE,
	/* Has to be 0, or the call is refused. */
	ARG_ZERO, ARG_TWIST,
	/* An offset from the right size; where a structure lies. */
	ARG_SIZE, ARG_PLACE,
	ARG_COUNT, ARG_BYTES, ARG_SPAN, ARG_CHOICE, ARG_PAGES, ARG_PAGE, ARG_VALUE,
};

/**
 * struct call_type - a kind of calls
 * @name: its name in the text
 * @weight: how often the mutator picks it, relative to the others
 * @arg: its arguments
 */
struct call_type {
	const char *name;
	unsigned int weight;
	struct {
		const char *name;
		enum arg_kind kind;
	} arg[MAX_ARGS];
};

extern const struct call_type call_types[NR_CALLS];

/** struct call - a call */
struct call {
	uint16_t code;
	uint16_t thread;
	uint64_t arg[MAX_ARGS];
};

/** struct program - a sequence of calls */
struct program {
	uint32_t count;
	char name[MAX_NAME];
	struct call call[MAX_CALLS];
};

/* Indexes of arguments in call_types. */
enum { A_FILE };
enum {
	OP_FILE, OP_TIMER, OP_DEADLINE, OP_FLAGS, OP_PERIOD, OP_SLACK, OP_COOKIE,
	OP_NOW, OP_TWIST, OP_ZERO, OP_RESERVED, OP_SIZE, OP_PLACE, OP_RESULT
};

enum {
	SETUP_FILE, SETUP_CLOCK, SETUP_FLAGS, SETUP_TICK, SETUP_SLOTS, SETUP_MAX,
	SETUP_EVENT, SETUP_RESERVED, SETUP_SIZE, SETUP_PLACE
};

enum {
	SUBMIT_MAP, SUBMIT_CELL, SUBMIT_DEADLINE, SUBMIT_HOW, SUBMIT_TIMER
};

enum {
	MANY_FILE, MANY_ARMS, MANY_COUNT, MANY_MIX, MANY_FLAGS, MANY_RESERVED,
	MANY_ELEMENTS, MANY_RESULTS
};

enum {
	BATCH_FILE, BATCH_COUNT, BATCH_MIX, BATCH_FLAGS, BATCH_DONE, BATCH_RESERVED,
	BATCH_STRIDE, BATCH_OPS_PLACE, BATCH_SIZE, BATCH_PLACE, BATCH_WORD
};

/* Of the ways to submit a cell, by @how, those up to this one follow the rules. */
#define SUBMIT_LAWFUL	4

bool program_parse(struct program *program, const char *text, char *wrong,
		   size_t size);
/* Returns the length; @text has at least PROGRAM_TEXT bytes. */
#define PROGRAM_TEXT	(MAX_CALLS * 512)
size_t program_print(const struct program *program, char *text);

bool program_has(const struct program *program, enum call_code code);
/* Does one thread make all calls? Then results are predictable. */
bool program_is_single(const struct program *program);
/* Does it write nothing to mappings but what the rules allow? */
bool program_is_lawful(const struct program *program);
void program_remove(struct program *program, uint32_t at);

#endif
