/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * libtwheel: very many timeouts behind one file descriptor.
 *
 * A handle is a wheel: its clock, its tick and its timers are its own. A timer
 * is armed with a delay or for a time, and is known by its identifier from then
 * on; when it expires there is an event, which carries the cookie that the
 * program gave. All timers of a handle share one descriptor, which is readable
 * while events wait.
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
 *  - after fork() one of the two processes may go on using the handle: what the
 *    library keeps of it is each process's own.
 *
 * Where the kernel offers it, and max_timers is given, a handle has its timers
 * in memory that it shares with the kernel. Then extending to a time, and
 * cancelling, are a handful of instructions here, without a system call; taking
 * events needs none either. What differs: that memory, about 100 bytes for each
 * of max_timers, is taken at once; an event's fired_ns is when it was taken;
 * timers fire without slack.
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

/* Cancelled cells that are remembered; a power of two. */
#define TWHEEL_NOTES	16

/**
 * struct twheel_view - how a handle begins: for the inlines below, and nobody
 * else
 * @cells: cells of the shared mapping
 * @bytes: how long they are; 0: there is none
 * @noted: how many cancellations were noted
 * @base_ns: from where deadlines count, less what rounds up to ticks
 * @limit_ns: so much beyond that is too far for ticks
 * @tick_ns: the tick
 * @notes: where the last cells are that were cancelled
 */
struct twheel_view {
	char *cells;
	uint32_t bytes;
	uint32_t noted;
	uint64_t base_ns;
	uint64_t limit_ns;
	uint64_t tick_ns;
	uint32_t notes[TWHEEL_NOTES];
};

/** enum twheel_clock - which clock a wheel goes by */
enum twheel_clock {
	TWHEEL_CLOCK_MONOTONIC	= 0,
	TWHEEL_CLOCK_BOOTTIME	= 1,	/* goes on while suspended */
	/* The wall clock, which is set; delays go by CLOCK_MONOTONIC all the same. */
	TWHEEL_CLOCK_REALTIME	= 2,
};

/* Flags of struct twheel_options. */
#define TWHEEL_OPEN_INHERIT	(1U << 0)	/* stays open over exec */
#define TWHEEL_OPEN_NO_MAPPING	(1U << 1)	/* system calls only */
#define TWHEEL_OPEN_NO_BATCH	(1U << 2)	/* one operation at a time */

/*
 * A flag of struct twheel_op, beside those of <linux/twheel.h>, for arming: @period_ns
 * is a fixed delay. The library gives the timer its next deadline when it hands out
 * the event: that long after the moment when twheel_next() or twheel_events() returns
 * it. Each event has @count 1.
 */
#define TWHEEL_FIXED_DELAY	(1U << 31)

/**
 * struct twheel_options - what a wheel is to be; zero is the default of each
 * @clock: enum twheel_clock
 * @flags: TWHEEL_OPEN_*
 * @tick_ns: resolution
 * @slots: ratio of one level of the wheel to the next
 * @max_timers: how many timers may exist at once; see above
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
 * Return: 0; -ENOTTY (it is something else), -EBADF, -ENOMEM, -EBUSY (its timers are
 * in shared memory, which whoever opened it keeps).
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
 * An operation that fails changes nothing, and the others are done all the
 * same. One system call where the kernel has it for that, else one for each.
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

/* For @attempts of struct twheel_backoff: until it succeeds or is cancelled. */
#define TWHEEL_ATTEMPTS_UNLIMITED	0xffffffffU

/**
 * struct twheel_backoff - how often something is tried, and when
 * @attempts: the largest number of attempts, 1 or more, or
 *	TWHEEL_ATTEMPTS_UNLIMITED
 * @jitter: by how many per cent a delay may be shorter, 0 to 100. Each delay is
 *	chosen evenly between that and its full length, so that programs that
 *	failed together do not come back together. Jitter never lengthens a delay
 * @first_ns: the delay between the first attempt and the second, 1 or more. It
 *	doubles after each further attempt
 * @ceiling_ns: the longest delay, @first_ns or more; 0: TWHEEL_DELAY_NEVER
 * @grace_ns: how long to wait after the last attempt before giving up, for
 *	attempts whose outcome is known later. It has no jitter. 0: do not wait
 * @reserved: must be 0
 */
struct twheel_backoff {
	uint32_t attempts;
	uint32_t jitter;
	uint64_t first_ns;
	uint64_t ceiling_ns;
	uint64_t grace_ns;
	uint64_t reserved;
};

/**
 * struct twheel_retry - attempts at something that may fail
 * @wheel: the handle; NULL: not started
 * @id: the timer for the next attempt; 0: none is armed
 * @cookie: the program's
 * @delay_ns: the next delay, without jitter
 * @made: attempts made
 * @pad: 0
 * @backoff: a copy of the program's
 * @reserved: 0
 *
 * The program embeds it in an object of its own, and fills it with zeros before
 * the first start. All fields are the library's. The calls for one retry must not
 * run at the same time; those for different retries may.
 */
struct twheel_retry {
	struct twheel *wheel;
	uint64_t id;
	uint64_t cookie;
	uint64_t delay_ns;
	uint32_t made;
	uint32_t pad;
	struct twheel_backoff backoff;
	uint64_t reserved[2];
};

/**
 * twheel_retry_start() - the first attempt has been made: wait for the second
 * @wheel: the handle
 * @retry: the retry, not waiting
 * @backoff: how often and when; it is copied
 * @cookie: any value; the event of each delay will show it
 *
 * The program makes every attempt itself, the first one too. It calls this when
 * the first attempt has failed, or as soon as it is made if a success cancels the
 * retry later.
 *
 * Return: 0; -EBUSY (@retry waits already), -EINVAL (@backoff), -ETIMEDOUT (that
 * was the only attempt, and there is no grace); as twheel_arm().
 */
TWHEEL_API int twheel_retry_start(struct twheel *wheel,
				  struct twheel_retry *retry,
				  const struct twheel_backoff *backoff,
				  uint64_t cookie);

/**
 * twheel_retry_next() - an event has been taken: what is to be done?
 * @retry: the retry that the event's cookie leads to
 * @event: the event
 *
 * After the attempt the program calls twheel_retry_again(), or
 * twheel_retry_cancel() if it has succeeded.
 *
 * Return: the number of the attempt that is due now, 2 or more; -ETIMEDOUT (all
 * attempts have been made: give up), -ENOENT (the event is not of this retry, or
 * of a delay that was cancelled: ignore it).
 */
TWHEEL_API int twheel_retry_next(struct twheel_retry *retry,
				 const struct twheel_event *event);

/**
 * twheel_retry_again() - another attempt has been made: wait for the next
 * @retry: the retry
 *
 * After the last attempt it waits for &twheel_backoff.grace_ns.
 *
 * Return: 0; -EBUSY (it waits already), -EINVAL (it is not started, or was
 * cancelled), -ETIMEDOUT (that was the last attempt, and there is no grace: give
 * up); as twheel_arm(), and the call may be repeated.
 */
TWHEEL_API int twheel_retry_again(struct twheel_retry *retry);

/**
 * twheel_retry_cancel() - no more attempts
 * @retry: the retry, which may be started anew
 *
 * No event of it will be taken. Another thread may have taken one just before;
 * for that event twheel_retry_next() says -ENOENT.
 *
 * Return: 0 if it was waiting, 1 if its event was withdrawn, -ENOENT if it was not
 * waiting.
 */
TWHEEL_API int twheel_retry_cancel(struct twheel_retry *retry);

/*
 * Extending to a time and cancelling, where there is a shared mapping, without
 * a call. There an identifier is what the cell's word has above the deadline,
 * as long as the timer is pending; and below, where the cell is.
 *
 * The word of the cell is changed only as long as it is this timer's, and
 * pending; in all other cases the function of the library finds out what is the
 * matter.
 *
 * An extension needs no look at when the kernel looks: that is no later than
 * the deadline that is replaced, or whoever brought that nearer is about to
 * tell.
 */
#if __SIZEOF_POINTER__ == 8

static inline int twheel_extend_at_inline(struct twheel *wheel, uint64_t id,
					  uint64_t deadline_ns)
{
	struct twheel_view *view = (struct twheel_view *)wheel;
	uint64_t ahead_ns = deadline_ns - view->base_ns;
	uint32_t offset = (uint32_t)id;
	struct twheel_cell *cell;
	__u64 word, mine;

	/* A deadline before the base is far beyond the limit, too. */
	if (__builtin_expect(offset >= view->bytes ||
			     ahead_ns > view->limit_ns, 0))
		return twheel_extend_at(wheel, id, deadline_ns);
	cell = (struct twheel_cell *)(view->cells + offset);
	mine = id - offset + ahead_ns / view->tick_ns;
	word = __atomic_load_n(&cell->word, __ATOMIC_RELAXED);
	do {
		if (__builtin_expect((word ^ mine) >>
				     TWHEEL_CELL_STATE_SHIFT, 0))
			return twheel_extend_at(wheel, id, deadline_ns);
		if (mine <= word)
			return 1;
	} while (!__atomic_compare_exchange_n(&cell->word, &word, mine, 0,
					      __ATOMIC_SEQ_CST,
					      __ATOMIC_RELAXED));
	return 0;
}

static inline int twheel_cancel_inline(struct twheel *wheel, uint64_t id)
{
	struct twheel_view *view = (struct twheel_view *)wheel;
	const uint64_t flip = (uint64_t)(TWHEEL_CELL_PENDING ^
					 TWHEEL_CELL_CANCELLED) <<
			      TWHEEL_CELL_STATE_SHIFT;
	uint32_t offset = (uint32_t)id, noted;
	struct twheel_cell *cell;
	__u64 word;

	if (__builtin_expect(offset >= view->bytes, 0))
		return twheel_cancel(wheel, id);
	cell = (struct twheel_cell *)(view->cells + offset);
	word = __atomic_load_n(&cell->word, __ATOMIC_RELAXED);
	do {
		if (__builtin_expect((word ^ id) >> TWHEEL_CELL_STATE_SHIFT, 0))
			return twheel_cancel(wheel, id);
	} while (!__atomic_compare_exchange_n(&cell->word, &word, word ^ flip,
					      0, __ATOMIC_SEQ_CST,
					      __ATOMIC_RELAXED));
	/* Two threads at once may lose a note: it will be found without. */
	noted = __atomic_load_n(&view->noted, __ATOMIC_RELAXED);
	__atomic_store_n(&view->notes[noted % TWHEEL_NOTES], offset,
			 __ATOMIC_RELAXED);
	__atomic_store_n(&view->noted, noted + 1, __ATOMIC_RELAXED);
	return 0;
}

#ifndef LIBTWHEEL_NO_INLINE
#define twheel_extend_at	twheel_extend_at_inline
#define twheel_cancel		twheel_cancel_inline
#endif

#endif

#ifdef __cplusplus
}
#endif

#endif
