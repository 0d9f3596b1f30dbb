/* SPDX-License-Identifier: GPL-2.0-only */
/* Files that act: what the kernel does when their timers expire. */
#ifndef _TWHEEL_ACT_H
#define _TWHEEL_ACT_H

#include <linux/rbtree.h>
#include <linux/refcount.h>
#include <linux/types.h>
#include <linux/wait.h>
#include <linux/workqueue.h>

#include <uapi/linux/twheel.h>

#include "due.h"
#include "file.h"

struct seq_file;
struct act_stage;

/* How many events are taken under one hold of the lock. Their addresses are on the stack. */
#define TW_READ_MOST	32U

/**
 * struct tw_take - events that an agent has taken: see tw_read_take()
 * @due: whether more is due
 * @wake: the waiters have to be woken, once the lock is released
 * @count: how many events of timers and cells there are
 * @seconds: how many second stages are due
 * @numbers: of each event: the number of the cell, or the cookie of the timer
 * @entries: the second stages
 */
struct tw_take {
	enum tw_due due;
	bool wake;
	unsigned int count;
	unsigned int seconds;
	u64 numbers[TW_READ_MOST];
	struct tw_entry *entries[TW_READ_MOST];
};

/**
 * struct tw_act - what the timers of a file do
 * @file: the file, which has been left to @agent once it is closed
 * @actions: the actions by number; guarded by the file's lock
 * @chosen: how many there are; likewise
 * @agent: takes the events, and acts
 * @waiter: its place among the watchers of the file
 * @refs: one of the descriptors, then of @agent; one of each group that is about to be killed
 * @turn: @agent waits for a debt of its user: see tw_users_agent_waits()
 * @closed: nobody else uses the file any more: what is armed acts now; guarded by the file's lock
 * @ends: then: how many entries of the table, and cells behind them, are yet to be looked at;
 *	likewise
 * @pending: how many second stages are in the wheel; guarded by the file's lock
 * @take: events of the slice that @agent is in
 * @next: which of them are yet to be acted for: from this one,
 * @count: up to this one
 * @todo: what is to be done for them
 * @leases: for which number each is
 * @acted: how many were done
 * @failed: how many could not be done, or were never chosen
 */
struct tw_act {
	struct tw_file *file;
	struct rb_root actions;
	u64 chosen;
	struct delayed_work agent;
	struct wait_queue_entry waiter;
	refcount_t refs;
	u64 turn;
	bool closed;
	u32 ends;
	u64 pending;
	struct tw_take take;
	unsigned int next;
	unsigned int count;
	struct act_stage *todo[TW_READ_MOST];
	u64 leases[TW_READ_MOST];
	atomic64_t acted;
	atomic64_t failed;
};

/* act.c */
int tw_act_init(void);
void tw_act_exit(void);
struct tw_act *tw_act_new(struct tw_file *file);
void tw_act_close(struct tw_act *act);
int tw_act_choose(struct tw_act *act, const struct twheel_act *chosen);
void tw_act_show(struct seq_file *seq, const struct tw_act *act);

/* read.c */
void tw_read_take(struct tw_file *file, struct tw_take *take);

#endif /* _TWHEEL_ACT_H */
