/* SPDX-License-Identifier: GPL-2.0-only */
/* An open file of /dev/twheel: its wheels, its timers, and its unread events. */
#ifndef _TWHEEL_FILE_H
#define _TWHEEL_FILE_H

#include <linux/bitops.h>
#include <linux/compiler.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/spinlock.h>
#include <linux/wait.h>

#include <linux/twheel.h>
#include <uapi/linux/twheel.h>

#include "entry.h"
#include "timens.h"

struct tw_payers;
struct tw_ring;
struct tw_store_ops;

/**
 * struct tw_file - an open file
 * @setup_lock: serialises what sleeps: making wheels, growing the array of entries
 * @lock: guards all fields below; taken by callbacks, and outside of the base lock
 * @payers: who pays for it
 * @bytes: the memory that they pay for; only the holder of @setup_lock changes it
 * @wheel: the wheel; NULL until the file is set up or its first timer armed
 * @delay_wheel: on CLOCK_REALTIME and CLOCK_TAI, the wheel on CLOCK_MONOTONIC of timers armed for a
 *	delay; NULL until the first of them is armed
 * @table_wheel: the wheel, if it has all timers of the file and they are in a table:
 *	operations hold its lock as well. Otherwise NULL
 * @tick_ns: the tick of its wheels; without a wheel, the default when it was opened
 * @clockid: the clock of @wheel
 * @ops: what is done to its timers; changes at most once, when @wheel is set
 * @entries: the timers
 * @ring: the shared memory, or NULL; set together with @wheel
 * @events: the entries whose event waits to be read, oldest expiry first
 * @wait: the waiters for events
 * @woken: a waiter was woken up, and nobody has looked for events since
 * @woken_jiffies: when it was woken up
 * @setup_flags: as it was set up
 * @event_size: how many bytes each record of read() has; changes at most once, when
 *	@wheel is set
 * @step_link: in the list of files whose programs want to know of steps of the clock
 * @step_told: with %TWHEEL_SETUP_CLOCK_SET, how much the clock was ahead of
 *	CLOCK_MONOTONIC when the program was told last
 * @max_timers: how many timers may exist
 * @timers: how many timers exist
 * @unread: how many of them have an unread event
 * @armed: number of timers armed
 * @fired: number of expiries
 * @late_max: how much after its deadline the latest expiry was, in ns
 * @late_sum: lateness of all expiries together, in ns
 * @late: expiries by lateness, see &twheel_file_stats.late
 * @cancelled: number of timers cancelled
 * @extended: number of cells found extended when their look came
 * @buffer: memory for operations that no batch uses at the moment, or NULL
 */
struct tw_file {
	struct mutex setup_lock;
	spinlock_t lock;
	struct tw_payers *payers;
	u64 bytes;
	struct twheel *wheel;
	struct twheel *delay_wheel;
	struct twheel *table_wheel;
	u64 tick_ns;
	u32 clockid;
	const struct tw_store_ops *ops;
	struct tw_entries entries;
	struct tw_ring *ring;
	struct tw_queue events;
	wait_queue_head_t wait;
	bool woken;
	unsigned long woken_jiffies;
	u32 setup_flags;
	u32 event_size;
	struct list_head step_link;
	s64 step_told;
	u32 max_timers;
	u32 timers;
	u32 unread;
	u64 armed;
	u64 fired;
	u64 late_max;
	u64 late_sum;
	u64 cancelled;
	u64 extended;
	void *buffer;
	u64 late[TWHEEL_LATE_BUCKETS];
};

struct tw_file *tw_file_new(const struct tw_store_ops *ops);
void tw_file_free(struct tw_file *file);
int tw_file_charge(struct tw_file *file, u64 *total, u32 timers, u64 bytes);
void tw_file_uncharge(struct tw_file *file, u64 *total, u32 timers, u64 bytes);
u32 tw_file_limit_timers(void);
u64 tw_file_tick_min(void);
u64 tw_file_tick_default(void);

/* The wheel of a file, or NULL. Once it is there, it stays. */
static inline struct twheel *tw_file_wheel(struct tw_file *file)
{
	/* Pairs with setup_install(). */
	return smp_load_acquire(&file->wheel);
}

/* The wheel for delays of a file on CLOCK_REALTIME, or NULL. */
static inline struct twheel *tw_file_delay_wheel(struct tw_file *file)
{
	/* Pairs with setup_install_delay_wheel(). */
	return smp_load_acquire(&file->delay_wheel);
}

/* What is done to the timers of a file, for callers without its lock. */
static inline const struct tw_store_ops *tw_file_ops(struct tw_file *file)
{
	/* Pairs with setup_install(): with the ops of cells, the ring is there. */
	return smp_load_acquire(&file->ops);
}

/* With the file's lock: so many timers have expired, each @late_ns after its deadline. */
static inline void tw_file_count_fired(struct tw_file *file, u64 late_ns, unsigned int count)
{
	file->fired += count;
	file->late_sum += late_ns * count;
	/* 0 has no highest bit. */
	file->late[late_ns ? fls64(late_ns) - 1 : 0] += count;
	if (unlikely(late_ns > file->late_max))
		file->late_max = late_ns;
}

static inline bool tw_clockid_steps(u32 clockid)
{
	return clockid == CLOCK_REALTIME || clockid == CLOCK_TAI;
}

/* Can the clock of a file be set? Then its delays are on another clock. */
static inline bool tw_file_clock_steps(const struct tw_file *file)
{
	return tw_clockid_steps(file->clockid);
}

/* The clock of a timer's deadline and expiry. @delay: it was armed for a delay. */
static inline u64 tw_file_now(const struct tw_file *file, bool delay)
{
	return twheel_now(delay && tw_file_clock_steps(file) ?
			  file->delay_wheel : file->wheel);
}

/* What the caller's time namespace adds to that clock. */
static inline s64 tw_file_offset(const struct tw_file *file, bool delay)
{
	return tw_timens_offset(delay && tw_file_clock_steps(file) ?
				CLOCK_MONOTONIC : file->clockid);
}

#endif /* _TWHEEL_FILE_H */
