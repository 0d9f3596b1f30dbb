/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What a file's timers live in. There is one interface with two implementations:
 * the table (table.c), and cells in memory shared with the program (cell.c).
 */
#ifndef _TWHEEL_STORE_H
#define _TWHEEL_STORE_H

#include <linux/minmax.h>
#include <linux/types.h>

#include <uapi/linux/twheel.h>

#include "file.h"

/**
 * struct tw_run - operations that are done under one hold of the file's lock
 * @file: the file
 * @now: the time that delays count from; 0: the clock has not been read yet
 * @offset: what the caller's time namespace adds to deadlines
 * @delay_offset: what it adds to deadlines of timers armed for a delay
 * @shifted: one of the two is not 0
 * @held: the lock of the file's wheel is held as well
 * @flags: the state of interrupts, while it is
 */
struct tw_run {
	struct tw_file *file;
	u64 now;
	s64 offset;
	s64 delay_offset;
	bool shifted;
	bool held;
	unsigned long flags;
};

/*
 * Answers of an operation that needs something first which cannot be made under the
 * lock: a free entry, or the wheel for delays. No program sees them.
 */
#define TW_NEEDS_ROOM		(-EAGAIN)
#define TW_NEEDS_DELAY_WHEEL	(-EXDEV)

/**
 * struct tw_store_ops - what is done to the timers of a file
 * @mapped: the program has deadlines and events in a mapping, and does not read()
 * @arm: arm a timer; fills in the operation's id and deadline. May return
 *	%TW_NEEDS_ROOM or %TW_NEEDS_DELAY_WHEEL, as may @modify
 * @cancel: end a timer. Returns 0 if it was pending, 1 if its unread event was
 *	withdrawn, -ENOENT if its last event is being read or was
 * @modify: give a timer another deadline, and what else op_arm_or_modify() or the flags
 *	say. Returns and fills in what TWHEEL_IOC_MODIFY does, or for TWHEEL_OR_MODIFY what
 *	TWHEEL_IOC_ARM does, but -ENOENT where a new timer is to be armed
 * @query: tell a timer's deadline. Returns an enum twheel_op_state or -ENOENT
 * @kick: look at a timer's cell. NULL: there are no cells
 * @adopt: the program names a timer in a cell that the file does not know: it may have armed
 *	one there itself. NULL: it cannot
 * @expire: timers of one of the file's wheels have expired. @now is the time there
 * @waiting: how many events can be taken; any number above 1 stands for several
 * @unread: how many events are unread, for statistics
 *
 * All are called with the file's lock held.
 */
struct tw_store_ops {
	bool mapped;
	int (*arm)(struct tw_run *run, struct twheel_op *op);
	int (*cancel)(struct tw_run *run, struct tw_entry *entry);
	int (*modify)(struct tw_run *run, struct tw_entry *entry,
		      struct twheel_op *op);
	int (*query)(struct tw_run *run, struct tw_entry *entry, u64 *deadline);
	int (*kick)(struct tw_run *run, struct tw_entry *entry);
	void (*adopt)(struct tw_file *file, u32 cell);
	void (*expire)(struct tw_file *file, struct twheel_timer *timers[],
		       unsigned int count, u64 now);
	u32 (*waiting)(const struct tw_file *file);
	u32 (*unread)(const struct tw_file *file);
};

/* Is the deadline of an operation on the clock of the wheel for delays? */
static __always_inline bool tw_run_is_delay(const struct tw_run *run,
					    const struct twheel_op *op)
{
	return tw_file_clock_steps(run->file) &&
	       (op->flags & (TWHEEL_ABS | TWHEEL_MONOTONIC)) != TWHEEL_ABS;
}

/* The deadline that an operation asks for. */
static __always_inline u64 tw_run_deadline(struct tw_run *run,
					   const struct twheel_op *op)
{
	if (op->flags & TWHEEL_ABS)
		return tw_timens_in(op->deadline_ns, tw_run_is_delay(run, op) ?
				    run->delay_offset : run->offset);
	if (!run->now)
		run->now = tw_file_now(run->file, true);
	/* Neither has its top bit set, so the sum does not wrap. */
	return min_t(u64, run->now + op->deadline_ns, TWHEEL_DELAY_NEVER);
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

#endif /* _TWHEEL_STORE_H */
