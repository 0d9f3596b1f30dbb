/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A model of an open file after twheel(4): what it has to hold and to return. It has none
 * of the module's code.
 *
 * While one thread alone uses a file without cells, the model predicts every result
 * except for those that depend on the time. Otherwise it only knows which results are
 * allowed at all.
 */
#ifndef FUZZ_MODEL_H
#define FUZZ_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <linux/twheel.h>

/* Outcomes of a call as bits: 0, a positive number, and errors. */
enum {
	OUT_0		= 1 << 0,
	OUT_MORE	= 1 << 1,
	OUT_EINVAL	= 1 << 2,
	OUT_EFAULT	= 1 << 3,
	OUT_E2BIG	= 1 << 4,
	OUT_ENOENT	= 1 << 5,
	OUT_EBUSY	= 1 << 6,
	OUT_EALREADY	= 1 << 7,
	OUT_ENOSPC	= 1 << 8,
	OUT_EDQUOT	= 1 << 9,
	OUT_ENOTTY	= 1 << 10,
	OUT_EOPNOTSUPP	= 1 << 11,
	OUT_EBADF	= 1 << 12,
	OUT_EAGAIN	= 1 << 13,
	OUT_EINTR	= 1 << 14,
	OUT_ENODEV	= 1 << 15,
	OUT_ENOMEM	= 1 << 16,
	OUT_ESPIPE	= 1 << 17,
	OUT_EOVERFLOW	= 1 << 18,
	OUT_ERANGE	= 1 << 19,
	OUT_OTHER	= 1 << 20,
};

uint32_t outcome_of(long ret, int error);
const char *outcome_name(uint32_t out);
/* Print the names of a set into a buffer. */
void outcome_names(uint32_t set, char *text, size_t size);

/* A file with more timers is no longer predicted. */
#define MODEL_TIMERS	1024

/**
 * struct timer_model - a timer that an arm has made
 * @id: its identifier
 * @live: it exists
 * @known: @deadline is its deadline
 * @relative: it was armed or modified for a delay
 * @op: the operation that armed it
 */
struct timer_model {
	uint64_t id;
	bool live;
	bool known;
	bool relative;
	uint64_t deadline;
	struct twheel_op op;
};

/**
 * struct file_model - an open file
 * @used: this entry is in use
 * @vague: results are not predictable
 * @wheel: it has been set up or armed
 * @cells: it has cells
 * @submit: programs arm them without a call, so more may be armed than the model knows
 * @exempt: the user has no limit
 * @timers: number of timers that there have been; @live: number that exist
 */
struct file_model {
	bool used;
	bool vague;
	bool wheel;
	bool cells;
	bool submit;
	bool exempt;
	uint32_t clockid;
	uint32_t event_size;
	uint64_t tick_ns;
	uint32_t max_timers;
	uint64_t armed;
	uint64_t cancelled;
	uint64_t events;
	uint32_t live;
	uint32_t timers;
	struct timer_model timer[MODEL_TIMERS];
};

/* @wrong: the first error, or an empty string */
struct verdict {
	char *wrong;
	size_t size;
};

__attribute__((format(printf, 2, 3)))
void verdict_fail(const struct verdict *verdict, const char *format, ...);

void model_open(struct file_model *file, const struct twheel_info *info,
		bool vague);
uint32_t model_setup(const struct file_model *file,
		     const struct twheel_setup *setup,
		     const struct twheel_info *info);
void model_setup_done(struct file_model *file, const struct twheel_setup *setup,
		      const struct twheel_info *info);

/* May the file have armed so many? */
bool model_armed_may_be(const struct file_model *file, uint64_t armed);

/* The allowed outcomes of an operation @op->op; @file may be NULL. */
uint32_t model_op(const struct file_model *file, const struct twheel_op *op);
/* May the operation, of any file, return that number? */
void model_check_number(const struct twheel_op *asked, long ret,
			const struct verdict *verdict);
/* Update the model with an outcome. @asked: the operation; @op: what came back. */
void model_op_done(struct file_model *file, const struct twheel_op *asked,
		   const struct twheel_op *op, uint32_t out,
		   const struct verdict *verdict);
void model_cancel_all(struct file_model *file, long count,
		      const struct verdict *verdict);
void model_event(struct file_model *file, const struct twheel_event *event,
		 const struct verdict *verdict);
void model_info(const struct file_model *file, const struct twheel_info *info,
		const struct verdict *verdict);
void model_stats(const struct file_model *file,
		 const struct twheel_file_stats *stats,
		 const struct verdict *verdict);
/* The number of timers that are due, and whose events have not been read. */
uint32_t model_due(const struct file_model *file);

#endif
