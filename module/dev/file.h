/* SPDX-License-Identifier: GPL-2.0-only */
/* An open file of /dev/twheel: its clock, its wheel and its timers, and what is done with it. */
#ifndef _TWHEEL_FILE_H
#define _TWHEEL_FILE_H

#include <linux/atomic.h>
#include <linux/compiler.h>
#include <linux/hrtimer.h>
#include <linux/minmax.h>
#include <linux/mutex.h>
#include <linux/overflow.h>
#include <linux/sched.h>
#include <linux/spinlock.h>
#include <linux/time64.h>
#include <linux/time_namespace.h>
#include <linux/timekeeping.h>
#include <linux/types.h>
#include <linux/wait.h>

#include <trace/events/twheel.h>
#include <uapi/linux/twheel.h>

#include "../clock.h"
#include "../engine/wheel.h"
#include "table.h"

struct iov_iter;
struct tw_act;
struct tw_cells;
struct tw_users;

/*
 * Words of cells are 64 bits, and atomic for programs as for the kernel. Both see the same,
 * though at different addresses: no cache has aliases, and no lock makes them atomic.
 */
#define TW_FILE_HAS_CELLS							\
	(IS_ENABLED(CONFIG_64BIT) && IS_ENABLED(CONFIG_MMU) &&			\
	 !IS_ENABLED(CONFIG_MIPS) && !IS_ENABLED(CONFIG_PARISC) &&		\
	 !IS_ENABLED(CONFIG_SPARC))

/* Lateness is counted by its highest bit. */
#define TW_FILE_LATE	64

/*
 * How many operations are done even if a signal waits, or where io_uring must not sleep. They delay
 * others by some ten microseconds. For a longer array, waking up a thread costs less than that.
 */
#define TW_OPS_BURST	256U

/**
 * struct tw_file - an open file
 * @lock: guards all fields below that state no other rule. Only tasks take it
 * @marked_due: something may be due, and no search has found since that nothing is. The alarm, and
 *	a reader or a poll() that leaves, write it without the lock: see due.c
 * @ready: the file has its wheel, and what else SETUP gives it; set once
 * @clock: one of enum twheel_clock_id; like all down to @cells, set before @ready
 * @tick_ns: the wheel's tick, or what it will be by default
 * @event_size: the size of a record of read()
 * @max_timers: how many timers may exist
 * @number: what traces call the file
 * @cells: the cells, or NULL
 * @virtual_ns: the time on a virtual clock
 * @table: the timers
 * @wheel: the wheel
 * @readers: tasks that sleep in read(). Its lock guards @woken and the start of
 *	@wake_timer
 * @watchers: what poll() has queued: tasks, epoll instances, requests of io_uring
 * @woken: waiters were woken since the last tw_due_wake_soon(). Those that still sleep when
 *	@wake_timer goes off are woken then
 * @alarm_ns: the instant for which an alarm was last asked; U64_MAX: none was. If it was
 *	postponed, @alarm is later
 * @alarm: marks the file and wakes the waiters
 * @wake_timer: wakes waiters of a marked file later: see due.c
 * @alarms: how often @alarm or @wake_timer have called us; counted without the lock
 * @postponed: how often @alarm or @wake_timer was set later than it should be: see user.c; counted
 *	without the lock
 * @armed: timers armed, and cells found to be armed
 * @fired: events read
 * @cancelled: timers cancelled, and cells found to be cancelled
 * @extended: cells found to have a later deadline
 * @late_max: the largest lateness
 * @late_sum: the sum of all
 * @late: how many events had a lateness whose highest bit is this one
 * @act: what its timers do instead of having events, or NULL; set before @ready
 * @setup_lock: serialises what sleeps: making the wheel, adding to the table, choosing actions
 * @users: the users that the file is charged to
 */
struct tw_file {
	spinlock_t lock;
	bool marked_due;
	bool ready;
	u32 clock;
	u64 tick_ns;
	u32 event_size;
	u32 max_timers;
	u32 number;
	struct tw_cells *cells;
	u64 virtual_ns;
	struct tw_table table;
	struct tw_wheel wheel;
	wait_queue_head_t readers;
	wait_queue_head_t watchers;
	bool woken;
	u64 alarm_ns;
	struct tw_alarm alarm;
	struct hrtimer wake_timer;
	atomic64_t alarms;
	atomic64_t postponed;
	u64 armed;
	u64 fired;
	u64 cancelled;
	u64 extended;
	u64 late_max;
	u64 late_sum;
	u64 late[TW_FILE_LATE];
	struct tw_act *act;
	struct mutex setup_lock;
	struct tw_users *users;
};

/* file.c */
int tw_device_init(void);
void tw_device_exit(void);
void tw_file_free(struct tw_file *file);

/* ops.c */
long tw_ops_one(struct tw_file *file, void __user *arg, size_t size);
long tw_ops_all(struct tw_file *file, const struct twheel_ops *ops);

/* read.c */
ssize_t tw_read(struct tw_file *file, struct iov_iter *to, bool wait);

/* Whether the file has its wheel, which it keeps until it is freed. */
static inline bool tw_file_is_ready(const struct tw_file *file)
{
	/* Pairs with the smp_store_release() of file_make_ready(). */
	return smp_load_acquire(&file->ready);
}

/* Whether the kernel takes the events itself. */
static inline bool tw_file_acts(const struct tw_file *file)
{
	return tw_file_is_ready(file) && file->act;
}

/*
 * The cells of a file that is ready, or NULL. Where there are none, the compiler knows that, and
 * leaves out what is done with them.
 */
static inline struct tw_cells *tw_file_cells(const struct tw_file *file)
{
	return TW_FILE_HAS_CELLS ? file->cells : NULL;
}

/* A number that operations count by a plain ++, read without their lock: nothing relies on it. */
#define tw_file_number(number)	data_race(READ_ONCE(number))

/* The time on the file's clock. */
static inline u64 tw_file_now(const struct tw_file *file)
{
	if (likely(file->clock == TWHEEL_MONOTONIC))
		return ktime_get_ns();
	if (file->clock == TWHEEL_VIRTUAL)
		return READ_ONCE(file->virtual_ns);
	return tw_clock_read(file->clock);
}

/*
 * Absolute times are in the caller's time namespace: its clocks show the kernel's time
 * plus an offset. Clocks that can be set are the same everywhere.
 */

/* What the caller's time namespace adds to the kernel's time, in ns. */
static inline s64 tw_timens_offset(u32 clock)
{
#ifdef CONFIG_TIME_NS
	const struct timens_offsets *offsets = &current->nsproxy->time_ns->offsets;
	const struct timespec64 *offset;

	if (clock == TWHEEL_MONOTONIC)
		offset = &offsets->monotonic;
	else if (clock == TWHEEL_BOOTTIME)
		offset = &offsets->boottime;
	else
		return 0;
	/*
	 * 0 for most callers, who are in the first namespace. Not timespec64_to_ns(): before
	 * 5.16 it takes negative seconds for a time without end.
	 */
	return offset->tv_sec * NSEC_PER_SEC + offset->tv_nsec;
#else
	return 0;
#endif
}

/*
 * A kernel time as the caller's clock shows it; with -@offset, the other way round. Never stays
 * never, and times before the clock began are 0.
 *
 * Always inline: objtool allows no call between user_access_begin() and user_access_end(). At
 * -Os it would be one.
 */
static __always_inline u64 tw_timens_add(u64 ns, s64 offset)
{
	s64 sum;

	if (likely(!offset) || ns >= TWHEEL_NEVER_NS)
		return ns;
	/* Only upwards can it overflow. */
	if (check_add_overflow((s64)ns, offset, &sum))
		return TWHEEL_NEVER_NS;
	return clamp_t(s64, sum, 0, TWHEEL_NEVER_NS);
}

/* Trace events of files. While an event is off, it costs the nop of its static key. */

#define TW_FILE_TRACE_NAME	"/dev/twheel"

/*
 * A timer is armed, has another deadline, or is cancelled. Arguments are evaluated once, and
 * only if the event is on.
 */
#define tw_file_trace(event, file, node, deadline)				\
do {										\
	if (trace_twheel_##event##_enabled()) {					\
		const struct tw_file *__file = (file);				\
		const struct twheel_node *__node = (node);			\
										\
		trace_twheel_##event(&__file->wheel, __file->number,		\
				     TW_FILE_TRACE_NAME, (const void *)__node,	\
				     NULL, deadline,				\
				     atomic64_read(&__node->word));		\
	}									\
} while (0)

#endif /* _TWHEEL_FILE_H */
