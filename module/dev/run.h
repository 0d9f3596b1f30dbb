/* SPDX-License-Identifier: GPL-2.0-only */
/* Operations on a file's timers, several under one hold of its lock. */
#ifndef _TWHEEL_RUN_H
#define _TWHEEL_RUN_H

#include <linux/minmax.h>
#include <linux/spinlock.h>
#include <linux/types.h>

#include <uapi/linux/twheel.h>

#include "../api/hold.h"
#include "file.h"

/* How many operations are done under one hold of the lock: some microseconds. */
#define TW_RUN_MAX		32U
/*
 * After so many of them interrupts are let in. The dearest operation takes some 280
 * instructions, and at most 5000 are promised.
 */
#define TW_RUN_HELD		16U

/**
 * struct tw_run - operations that are done under one hold of the file's lock
 * @file: the file
 * @now: the time that delays count from; 0: the clock has not been read yet
 * @offset: what the caller's time namespace adds to deadlines
 * @delay_offset: what it adds to deadlines of timers armed for a delay
 * @held: the wheel whose lock is held as well: it has all timers of the file; or NULL
 * @flags: the state of interrupts, while the wheel's lock is held
 * @shifted: one of the offsets is not 0
 * @plain: neither is it, nor is @held NULL: most operations can take the short way
 */
struct tw_run {
	struct tw_file *file;
	u64 now;
	s64 offset;
	s64 delay_offset;
	struct twheel *held;
	unsigned long flags;
	bool shifted;
	bool plain;
};

/*
 * Answers of an operation that needs something first which cannot be made under the
 * lock: a free entry, or the wheel for delays. No program sees them.
 */
#define TW_NEEDS_ROOM		(-EAGAIN)
#define TW_NEEDS_DELAY_WHEEL	(-EXDEV)
/* Likewise: the short way does not do for this timer. */
#define TW_NEEDS_CARE		(-EREMOTE)

/* Is that the answer of an operation that can be done once its need is made? */
static __always_inline bool tw_run_has_need(int result)
{
	return result == TW_NEEDS_ROOM || result == TW_NEEDS_DELAY_WHEEL;
}

/* With the file's lock: hold the lock of its wheel too, if one wheel has all timers. */
static __always_inline void tw_run_hold_wheel(struct tw_run *run)
{
	run->held = run->file->table_wheel;
	if (likely(run->held)) {
		tw_hold(run->held, &run->flags);
		/* Sparse does not follow a lock that is taken on a condition. */
		__release(run);
	}
}

static __always_inline void tw_run_release_wheel(struct tw_run *run)
{
	if (likely(run->held)) {
		__acquire(run);
		tw_release(run->held, &run->flags);
	}
	run->held = NULL;
}

/* tw_run_begin() - take the locks, and begin to do operations */
static __always_inline void tw_run_begin(struct tw_run *run, struct tw_file *file)
	__acquires(&file->lock)
{
	spin_lock_bh(&file->lock);
	/* For the clock that the file has now: it may have been set up meanwhile. */
	run->file = file;
	run->now = 0;
	run->offset = tw_file_offset(file, false);
	run->delay_offset = run->offset;
	if (unlikely(tw_file_clock_steps(file)))
		run->delay_offset = tw_file_offset(file, true);
	run->shifted = run->offset || run->delay_offset;
	tw_run_hold_wheel(run);
	run->plain = run->held && !run->shifted;
}

static __always_inline void tw_run_end(struct tw_run *run)
	__releases(&run->file->lock)
{
	tw_run_release_wheel(run);
	spin_unlock_bh(&run->file->lock);
}

/* Operations go on, with the file's lock: let interrupts in, which the wheel's lock keeps off. */
static __always_inline void tw_run_let_in(struct tw_run *run)
{
	tw_run_release_wheel(run);
	tw_run_hold_wheel(run);
}

/* Is the deadline of an operation on the clock of the wheel for delays? */
static __always_inline bool tw_run_is_delay(const struct tw_run *run,
					    const struct twheel_op *op)
{
	return tw_file_clock_steps(run->file) &&
	       (op->flags & (TWHEEL_ABS | TWHEEL_MONOTONIC)) != TWHEEL_ABS;
}

/* The time that delays count from. */
static __always_inline u64 tw_run_now(struct tw_run *run)
{
	if (!run->now)
		run->now = tw_file_now(run->file, true);
	return run->now;
}

/* The end of a delay that is at most never. */
static __always_inline u64 tw_run_after(struct tw_run *run, u64 delay_ns)
{
	/* Neither has its top bit set, so the sum does not wrap. */
	return min_t(u64, tw_run_now(run) + delay_ns, TWHEEL_DELAY_NEVER);
}

/* The deadline that an operation asks for. */
static __always_inline u64 tw_run_deadline(struct tw_run *run,
					   const struct twheel_op *op)
{
	if (!(op->flags & TWHEEL_ABS))
		return tw_run_after(run, op->deadline_ns);
	return tw_timens_in(op->deadline_ns, tw_run_is_delay(run, op) ?
			    run->delay_offset : run->offset);
}

/* The deadline of an entry, as the caller's clock shows it. */
static __always_inline u64 tw_run_shown(const struct tw_run *run,
					const struct tw_entry *entry)
{
	if (likely(!run->shifted))
		return entry->deadline_ns;
	return tw_timens_out(entry->deadline_ns, entry->tag & TW_ENTRY_DELAY ?
			     run->delay_offset : run->offset);
}

/* Answer an operation: the deadline, and which clock it is on. */
static __always_inline void tw_run_answer(const struct tw_run *run, struct twheel_op *op,
					  const struct tw_entry *entry)
{
	op->deadline_ns = tw_run_shown(run, entry);
	if (unlikely(entry->tag & TW_ENTRY_DELAY))
		op->flags |= TWHEEL_MONOTONIC;
}

/* What an operation says of a timer beside its deadline. */
static inline void tw_run_change(struct tw_entry *entry, const struct twheel_op *op)
{
	const u32 set = op->flags & TWHEEL_OR_MODIFY ? ~0U : op->flags;

	if (set & TWHEEL_SET_PERIOD)
		entry->period_ns = op->period_ns;
	if (set & TWHEEL_SET_SLACK)
		entry->slack_ns = op->slack_ns;
	if (set & TWHEEL_SET_COOKIE)
		entry->cookie = op->cookie;
}

#endif /* _TWHEEL_RUN_H */
