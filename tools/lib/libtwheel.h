/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * libtwheel: very many timeouts behind one file descriptor.
 *
 * A handle is a wheel: its clock, its tick and its timers are its own. A timer is
 * armed with a delay or for a time, and is known by its identifier from then on;
 * when it expires there is an event, which carries the cookie that the program
 * gave. All timers of a handle share one descriptor, which is readable while
 * events wait.
 *
 *	struct twheel *wheel;
 *	struct twheel_event event;
 *	uint64_t id;
 *
 *	twheel_open(&wheel, NULL);
 *	twheel_arm(wheel, 1500000000, 42, &id);
 *	while (twheel_next(wheel, &event, -1) == 1)
 *		handle(event.cookie);
 *
 * For every call:
 *  - times are nanoseconds on the wheel's clock; no timer fires early;
 *  - a negative return value is -errno, and then nothing was changed;
 *  - threads may use one handle at the same time, except to close it;
 *  - a child after fork() shares the wheel, but has to leave events to one of the
 *    two processes: those that are read ahead are each process's own.
 */
#ifndef LIBTWHEEL_H
#define LIBTWHEEL_H

#include <stdint.h>

#include <linux/twheel.h>

#ifdef __cplusplus
extern "C" {
#endif

#define TWHEEL_API	__attribute__((visibility("default")))

/* A wheel. What is in it is the library's. */
struct twheel;

/** enum twheel_clock - which clock a wheel goes by */
enum twheel_clock {
	TWHEEL_CLOCK_MONOTONIC	= 0,
	TWHEEL_CLOCK_BOOTTIME	= 1,	/* goes on while suspended */
	TWHEEL_CLOCK_REALTIME	= 2,	/* the wall clock, which is set */
};

/* Flags of struct twheel_options. */
#define TWHEEL_OPEN_INHERIT	(1U << 0)	/* stays open over exec */
#define TWHEEL_OPEN_NO_MAPPING	(1U << 1)	/* system calls only */
#define TWHEEL_OPEN_NO_BATCH	(1U << 2)	/* one operation at a time */

/**
 * struct twheel_options - what a wheel is to be; zero is the default of each
 * @clock: enum twheel_clock
 * @flags: TWHEEL_OPEN_*
 * @tick_ns: resolution
 * @slots: ratio of one level of the wheel to the next
 * @max_timers: how many timers may exist at once
 * @path: of the device, if it is not /dev/twheel
 * @reserved: must be 0
 */
struct twheel_options {
	uint32_t clock;
	uint32_t flags;
	uint64_t tick_ns;
	uint32_t slots;
	uint32_t max_timers;
	const char *path;
	uint64_t reserved[4];
};

/**
 * twheel_open() - make a wheel
 * @wheel: is set to the handle
 * @options: what it is to be, or NULL for all defaults
 *
 * Return: 0; -ENOENT (the module is not loaded), -EACCES, -EINVAL (an option, or a
 * clock that this kernel has no wheels for), -ENOMEM, -EMFILE.
 */
TWHEEL_API int twheel_open(struct twheel **wheel,
			   const struct twheel_options *options);

/**
 * twheel_adopt() - make a handle of a descriptor of the device
 * @wheel: is set to the handle
 * @fd: the descriptor, inherited or received; it is the handle's from now on
 *	unless the call fails. It is made O_NONBLOCK
 *
 * Return: 0; -ENOTTY (it is something else), -EBADF, -ENOMEM.
 */
TWHEEL_API int twheel_adopt(struct twheel **wheel, int fd);

/**
 * twheel_close() - free the handle and close the descriptor
 * @wheel: the handle, or NULL. No other thread may be using it
 *
 * Its timers and events are gone, unless another process has the wheel open.
 */
TWHEEL_API void twheel_close(struct twheel *wheel);

/**
 * twheel_fd() - the descriptor: to be polled, or sent to another process
 * @wheel: the handle
 *
 * It is readable while events wait in the kernel. Call twheel_next() until it
 * returns 0 before waiting again: it reads ahead.
 *
 * Return: the descriptor, which stays the handle's.
 */
TWHEEL_API int twheel_fd(const struct twheel *wheel);

/**
 * twheel_now() - what the wheel's clock shows
 * @wheel: the handle
 *
 * Return: nanoseconds. No system call where the C library needs none.
 */
TWHEEL_API uint64_t twheel_now(const struct twheel *wheel);

/**
 * twheel_info() - what the wheel is and holds
 * @wheel: the handle
 * @info: is filled in, see <linux/twheel.h>
 *
 * Return: 0.
 */
TWHEEL_API int twheel_info(struct twheel *wheel, struct twheel_info *info);

/**
 * twheel_arm() - a new timer, for a delay from now
 * @wheel: the handle
 * @delay_ns: the delay; TWHEEL_DELAY_NEVER is one that never ends
 * @cookie: any value; the event will show it
 * @id: is set to the identifier
 *
 * Return: 0; -ENOSPC (as many timers as the wheel may have), -ENOMEM.
 */
TWHEEL_API int twheel_arm(struct twheel *wheel, uint64_t delay_ns,
			  uint64_t cookie, uint64_t *id);

/** twheel_arm_at() - a new timer, for a time on the wheel's clock */
TWHEEL_API int twheel_arm_at(struct twheel *wheel, uint64_t deadline_ns,
			     uint64_t cookie, uint64_t *id);

/**
 * twheel_arm_op() - a new timer with everything: period, slack, absolute or not
 * @wheel: the handle
 * @op: @flags, @cookie, @deadline_ns, @period_ns, @slack_ns as in
 *	<linux/twheel.h>, the rest 0. Its @id and @deadline_ns are set
 *
 * Return: 0; as twheel_arm(), and -EINVAL (a field).
 */
TWHEEL_API int twheel_arm_op(struct twheel *wheel, struct twheel_op *op);

/**
 * twheel_modify() - another deadline for a pending timer: a delay from now
 * @wheel: the handle
 * @id: the timer
 * @delay_ns: the delay
 *
 * Return: 0; -ENOENT (there is no such timer, or it is done), -EALREADY (it has
 * expired, and its event is there to be taken).
 */
TWHEEL_API int twheel_modify(struct twheel *wheel, uint64_t id,
			     uint64_t delay_ns);

/** twheel_modify_at() - another deadline for a pending timer: a time */
TWHEEL_API int twheel_modify_at(struct twheel *wheel, uint64_t id,
				uint64_t deadline_ns);

/**
 * twheel_extend() - push a pending timer's deadline back, never forward
 * @wheel: the handle
 * @id: the timer
 * @delay_ns: a delay from now
 *
 * Return: 0, or 1 if the deadline was no earlier already and stays; -ENOENT,
 * -EALREADY as twheel_modify().
 */
TWHEEL_API int twheel_extend(struct twheel *wheel, uint64_t id,
			     uint64_t delay_ns);

/** twheel_extend_at() - push a pending timer's deadline back to a time */
TWHEEL_API int twheel_extend_at(struct twheel *wheel, uint64_t id,
				uint64_t deadline_ns);

/**
 * twheel_cancel() - the timer is gone, and no event of it will be taken
 * @wheel: the handle
 * @id: the timer
 *
 * Another thread may have taken the event just before.
 *
 * Return: 0 if it was pending, 1 if it had expired and its event was withdrawn;
 * -ENOENT (there is no such timer, or its event has been taken).
 */
TWHEEL_API int twheel_cancel(struct twheel *wheel, uint64_t id);

/**
 * twheel_cancel_all() - every timer and every event is gone
 * @wheel: the handle
 *
 * Return: how many timers the kernel had.
 */
TWHEEL_API int twheel_cancel_all(struct twheel *wheel);

/**
 * twheel_query() - how a timer stands
 * @wheel: the handle
 * @op: @id, the rest 0; @cookie, @deadline_ns, @period_ns, @state are set
 *
 * A timer that has expired shows @period_ns 0 once its event is read ahead.
 *
 * Return: 0; -ENOENT (there is no such timer, or its event has been taken).
 */
TWHEEL_API int twheel_query(struct twheel *wheel, struct twheel_op *op);

/**
 * twheel_batch() - many operations at once
 * @wheel: the handle
 * @ops: the operations, done in this order. Of each, @op is one of enum
 *	twheel_op_code, and @result is set to what the call for it alone returns
 * @count: how many, up to INT_MAX
 *
 * An operation that fails changes nothing, and the others are done all the same.
 * One system call where the kernel has it for that, else one for each.
 *
 * Return: how many are done, from the first on: @count, unless memory of @ops goes
 * away meanwhile; -EINVAL (@count), -ENOMEM.
 */
TWHEEL_API int twheel_batch(struct twheel *wheel, struct twheel_op *ops,
			    unsigned int count);

/**
 * twheel_next() - take one event
 * @wheel: the handle
 * @event: is filled in
 * @timeout_ms: how long to wait for one: 0 not at all, -1 for ever
 *
 * Events come in the order of expiry. They are read ahead, many at a time.
 *
 * Return: 1, or 0 if there was none in that time; -EINTR (a signal).
 */
TWHEEL_API int twheel_next(struct twheel *wheel, struct twheel_event *event,
			   int timeout_ms);

/**
 * twheel_events() - take many events
 * @wheel: the handle
 * @events: is filled in
 * @most: how many it has room for, at least 1
 * @timeout_ms: how long to wait for the first, as twheel_next()
 *
 * Return: how many, 0 if there was none in that time; -EINTR, -EINVAL.
 */
TWHEEL_API int twheel_events(struct twheel *wheel, struct twheel_event *events,
			     unsigned int most, int timeout_ms);

#ifdef __cplusplus
}
#endif

#endif
