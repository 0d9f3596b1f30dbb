/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * An open file of /dev/twheel: a wheel, its timers, and the events that wait to
 * be read. What the system calls mean is here; how they are called is cdev.c's.
 */
#ifndef _TWHEEL_FILE_H
#define _TWHEEL_FILE_H

#include <linux/mutex.h>
#include <linux/spinlock.h>
#include <linux/wait.h>

#include <linux/twheel.h>
#include <uapi/linux/twheel.h>

#include "slots.h"

/* How many events travel to a reader at a time: they stand on the stack. */
#define TW_TAKE	8U

/**
 * struct tw_file - an open file
 * @setup_lock: serialises what sleeps: making the wheel, growing the table
 * @lock: guards all that follows; outside of the base lock, taken by callbacks
 * @wheel: the wheel; NULL until it is set up or the first timer armed
 * @slots: the timers
 * @events: the slots whose event waits to be read, oldest expiry first
 * @wait: who waits for events
 * @max_timers: how many timers may exist
 * @timers: how many do
 * @unread: how many of them have an event that is not read
 * @armed: timers armed
 * @fired: expiries
 * @cancelled: timers cancelled
 */
struct tw_file {
	struct mutex setup_lock;
	spinlock_t lock;
	struct twheel *wheel;
	struct tw_slots slots;
	struct list_head events;
	wait_queue_head_t wait;
	u32 max_timers;
	u32 timers;
	u32 unread;
	u64 armed;
	u64 fired;
	u64 cancelled;
};

/**
 * struct tw_taken - events on their way to a reader
 * @slots: their slots
 * @events: what the reader gets
 * @next: for each a periodic timer's next deadline
 * @count: how many
 */
struct tw_taken {
	struct tw_slot *slots[TW_TAKE];
	struct twheel_event events[TW_TAKE];
	u64 next[TW_TAKE];
	unsigned int count;
};

struct tw_file *tw_file_new(void);
void tw_file_free(struct tw_file *file);
int tw_file_setup(struct tw_file *file, const struct twheel_setup *setup);
void tw_file_info(struct tw_file *file, struct twheel_info *info);

int tw_file_arm(struct tw_file *file, struct twheel_op *op);
int tw_file_cancel(struct tw_file *file, const struct twheel_op *op);
int tw_file_modify(struct tw_file *file, const struct twheel_op *op);
int tw_file_query(struct tw_file *file, struct twheel_op *op);
int tw_file_cancel_all(struct tw_file *file);

bool tw_file_readable(struct tw_file *file);
bool tw_file_take(struct tw_file *file, struct tw_taken *taken,
		  unsigned int most);
void tw_file_delivered(struct tw_file *file, struct tw_taken *taken);
void tw_file_give_back(struct tw_file *file, struct tw_taken *taken);

#endif /* _TWHEEL_FILE_H */
