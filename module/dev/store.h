/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What a file's timers live in. There is one interface with two implementations:
 * the table (table.c), and cells in memory shared with the program (cell.c).
 */
#ifndef _TWHEEL_STORE_H
#define _TWHEEL_STORE_H

#include <linux/types.h>

#include <uapi/linux/twheel.h>

#include "entry.h"

struct tw_file;
struct tw_run;

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

#endif /* _TWHEEL_STORE_H */
