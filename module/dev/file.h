/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * An open file of /dev/twheel: a wheel, its timers, and the events that wait to
 * be read. What the system calls mean is here; how they are called is cdev.c's.
 */
#ifndef _TWHEEL_FILE_H
#define _TWHEEL_FILE_H

#include <linux/bitops.h>
#include <linux/ktime.h>
#include <linux/mutex.h>
#include <linux/spinlock.h>
#include <linux/wait.h>

#include <linux/twheel.h>
#include <uapi/linux/twheel.h>

#include "ring.h"
#include "table.h"
#include "timens.h"
#include "user.h"

/**
 * struct tw_file - an open file
 * @setup_lock: serialises what sleeps: making the wheel, growing the table
 * @lock: guards all that follows; outside of the base lock, taken by callbacks
 * @user: who has opened it
 * @exempt: with CAP_SYS_RESOURCE: no limit on what a user may have
 * @wheel: the wheel; NULL until it is set up or the first timer armed
 * @delay_wheel: on CLOCK_REALTIME, the wheel on CLOCK_MONOTONIC of timers armed for a
 *	delay; NULL until the first of them is armed
 * @tick_ns: its tick
 * @clockid: its clock
 * @slots: the timers
 * @ring: the shared memory, or NULL; it comes with the wheel
 * @events: the slots whose event waits to be read, oldest expiry first
 * @wait: who waits for events
 * @told: they were woken up, or one of them, and nobody has looked since
 * @woken: when, in jiffies
 * @max_timers: how many timers may exist
 * @timers: how many do
 * @unread: how many of them have an event that is not read
 * @armed: timers armed
 * @fired: expiries
 * @late_ns: how much after its deadline the latest of them was
 * @late_sum: and all of them together
 * @late: how many were so late, see &twheel_file_stats.late
 * @cancelled: timers cancelled
 * @extended: cells found extended when the kernel looked as it had said
 * @buffer: room for operations, which no batch uses, or NULL
 */
struct tw_file {
	struct mutex setup_lock;
	spinlock_t lock;
	struct tw_user *user;
	bool exempt;
	struct twheel *wheel;
	struct twheel *delay_wheel;
	u64 tick_ns;
	u32 clockid;
	struct tw_table slots;
	struct tw_ring *ring;
	struct tw_queue events;
	wait_queue_head_t wait;
	bool told;
	unsigned long woken;
	u32 max_timers;
	u32 timers;
	u32 unread;
	u64 armed;
	u64 fired;
	u64 late_ns;
	u64 late_sum;
	u64 cancelled;
	u64 extended;
	void *buffer;
	u64 late[TWHEEL_LATE_BUCKETS];
};

struct tw_file *tw_file_new(void);
void tw_file_free(struct tw_file *file);
int tw_file_setup(struct tw_file *file, const struct twheel_setup *setup);
void tw_file_info(struct tw_file *file, struct twheel_info *info);
void tw_file_stats(struct tw_file *file, struct twheel_file_stats *stats);
int tw_file_make_room(struct tw_file *file);
int tw_file_make_delay_wheel(struct tw_file *file);

/* The wheel of a file, or NULL; once it is there, it stays. */
static inline struct twheel *tw_file_wheel(struct tw_file *file)
{
	/* Pairs with publish(). */
	return smp_load_acquire(&file->wheel);
}

/* The same of the wheel for delays of a file on CLOCK_REALTIME. */
static inline struct twheel *tw_file_delay_wheel(struct tw_file *file)
{
	/* Pairs with publish_delay_wheel(). */
	return smp_load_acquire(&file->delay_wheel);
}

/* The shared memory of a file that has cells. */
static inline struct tw_ring *tw_file_ring(const struct tw_file *file)
{
	return IS_ENABLED(CONFIG_64BIT) ? file->ring : NULL;
}

/* With the file's lock: a timer has expired, so much after its deadline. */
static inline void tw_file_count_fired(struct tw_file *file, u64 late_ns)
{
	file->fired++;
	file->late_sum += late_ns;
	/* Of nothing there is no highest bit. */
	file->late[late_ns ? fls64(late_ns) - 1 : 0]++;
	if (unlikely(late_ns > file->late_ns))
		file->late_ns = late_ns;
}

/* Can the clock of a file's wheel be set? Then delays are on another one. */
static inline bool tw_file_steps(const struct tw_file *file)
{
	return file->clockid == CLOCK_REALTIME;
}

/* The time that a timer's deadline and expiry are told in. */
static inline u64 tw_file_now(const struct tw_file *file, bool relative)
{
	return twheel_now(relative && tw_file_steps(file) ?
			  file->delay_wheel : file->wheel);
}

/* And what it shows in the caller's time namespace. */
static inline s64 tw_file_offset(const struct tw_file *file, bool relative)
{
	return tw_timens_offset(relative && tw_file_steps(file) ?
				CLOCK_MONOTONIC : file->clockid);
}

#endif /* _TWHEEL_FILE_H */
