/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/* What a handle is, for the library's own files. */
#ifndef LIBTWHEEL_HANDLE_H
#define LIBTWHEEL_HANDLE_H

#include <pthread.h>
#include <stdbool.h>
#include <time.h>

#define LIBTWHEEL_NO_INLINE	/* this library defines the functions */
#include "cells.h"
#include "fixed.h"
#include "libtwheel.h"

/* Events read ahead: 3 KiB, beyond which a larger read() gains little. */
#define EVENTS_AHEAD	64

/* Bits of &twheel.waiting. */
#define AHEAD_ANY	1U	/* an event */
#define AHEAD_GOES_ON	2U	/* one of a timer that has not ended */

/**
 * struct twheel - a wheel
 * @view: what the inlines of the header read; must be first
 * @alive: this process has made the mapping. Memory up to here is zero in a forked child
 *	if there is a mapping, so the inlines find none there
 * @cells: the shared mapping, if the handle has one
 * @fd: the descriptor, O_NONBLOCK
 * @clock: the wheel's clock
 * @batch: the kernel takes batches; cleared when it turns out that it does not
 * @many: the kernel takes many timers at once
 * @lock: guards all that follows. It is held over a read() that fills the buffer,
 *	so that an operation that then takes it sees the events of that read()
 * @fixed: timers with a fixed delay
 * @random: state of the generator for jitter; 0: not seeded yet
 * @event_size: how many bytes each record of read() has
 * @records: room for records of read() that are no struct twheel_event as the library
 *	knows it; otherwise NULL
 * @first: the next event to hand out
 * @end: behind the last one
 * @waiting: AHEAD_*: what @ahead may have. It is read without the lock, so it is written
 *	before a read() that fills the buffer
 * @ahead: events that have been read but not handed out
 */
struct twheel {
	struct twheel_view_1 view;
	uint32_t alive;
	_Alignas(64) struct cell_table cells;
	int fd;
	clockid_t clock;
	bool batch;
	bool many;
	pthread_mutex_t lock;
	struct fixed_table fixed;
	uint64_t random;
	uint32_t event_size;
	char *records;
	unsigned int first;
	unsigned int end;
	unsigned int waiting;
	struct twheel_event ahead[EVENTS_AHEAD];
};

/* Is this the handle of a forked process, with a mapping that has not come along? */
static inline bool handle_dead(const struct twheel *wheel)
{
	return wheel->cells.map && !wheel->alive;
}

int handle_open(struct twheel **wheel, const struct twheel_options *options);

/*
 * A structure of a program, of another version perhaps. Returns 0; -EINVAL if it is shorter
 * than the first version, @least; -E2BIG if what the library does not know is not 0.
 */
int sized_fetch(void *mine, size_t known, size_t least, const void *theirs, size_t size);

/* Can the memory be read and written? */
bool memory_accessible(const void *start, size_t bytes);

/* The functions of the header, for structures of the library's own version. */
int op_arm(struct twheel *wheel, struct twheel_op *op);
int batch_all(struct twheel *wheel, struct twheel_op *ops, unsigned int count);
int events_get(struct twheel *wheel, struct twheel_event *events, unsigned int most,
	       int timeout_ms);
/* @size: of the program's @retry */
int retry_start(struct twheel *wheel, struct twheel_retry *retry, size_t size,
		const struct twheel_backoff *backoff, uint64_t cookie);

/*
 * Has any event been read ahead, or one of a timer that goes on? The answer may be yes without
 * a reason. It is right for an operation that the kernel has done before.
 */
static inline bool ahead_any(const struct twheel *wheel)
{
	return __atomic_load_n(&wheel->waiting, __ATOMIC_ACQUIRE);
}

static inline bool ahead_goes_on(const struct twheel *wheel)
{
	return __atomic_load_n(&wheel->waiting, __ATOMIC_ACQUIRE) & AHEAD_GOES_ON;
}

/* Has one of this timer been read ahead? Drop the timer's events; were there any? */
bool ahead_find(struct twheel *wheel, uint64_t id, struct twheel_event *event);
bool ahead_drop(struct twheel *wheel, uint64_t id);
void ahead_drop_all(struct twheel *wheel);

/* One operation, by its own ioctl; 0 or more, or -errno. */
int op_run(struct twheel *wheel, uint32_t code, struct twheel_op *op);

/* Arm a timer for a time, not in the mapping unless it has to be. */
int timer_arm_call(struct twheel *wheel, uint64_t deadline_ns, uint64_t cookie, uint64_t *id);

/* An operation other than arming, with the program's identifier. */
int op_perform(struct twheel *wheel, uint32_t code, struct twheel_op *op);

/* Does the event of a timer that goes on keep it from being extended? */
bool op_extends_not(struct twheel *wheel, uint32_t code, const struct twheel_op *op);

/* The kernel's result, corrected by what only the library knows; without a mapping. */
int op_settle(struct twheel *wheel, uint32_t code, struct twheel_op *op,
	      int result);

#endif
