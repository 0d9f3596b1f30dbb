/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * libtwheel: very many timeouts behind one file descriptor.
 *
 * A handle is a wheel, with a clock, a tick and timers of its own. The program
 * arms a timer for a delay or for a time, and gets an identifier. When the timer
 * expires there is an event, which shows the cookie that the program chose. All
 * timers of a handle share one descriptor, which is readable while events wait.
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
 *  - threads may use one handle at the same time, but no other thread may use it
 *    while one closes it;
 *  - after fork() only one of the two processes may continue to use the handle,
 *    because each has a copy of the library's own data. With shared memory that is the
 *    parent: in the child, all calls that need the kernel or the timers are -ESTALE, and
 *    twheel_close() is the only one to make;
 *  - a structure may grow at its end in later versions. So whatever takes one is an inline
 *    here, which passes the size that the program is built with to a function whose name
 *    ends with _sized. That writes nothing beyond @size bytes. Fields that only the program
 *    knows must be 0, or it is -E2BIG; those that only the library knows count as 0. Less
 *    than the first version has is -EINVAL. Other languages call these functions.
 *
 * If the program gives max_timers, and the kernel offers it, the timers are in
 * memory that the program shares with the kernel. Then extending a timer to a
 * time and cancelling it are a few instructions here, without a system call, and
 * so is taking events. Arming is no call either, unless the timer has a period or is due
 * before the kernel would look at new timers. There are some differences. The memory is
 * allocated at once: about 100 bytes for each of max_timers. The fired_ns of an event is
 * the time when it was taken. Timers fire without slack. twheel_info() tells what the
 * kernel has seen, which is not what there is now. Deadlines and periods are less than
 * TWHEEL_CELL_REACH ticks ahead, or -ERANGE.
 *
 * Whoever still has the identifier of a timer that is gone gets -ENOENT. Identifiers come
 * again only after 2^32 - 1 other timers in the same place. With shared memory, where a
 * place is used again at once, those come after 2^33. But extending and cancelling there
 * without a call look at a part of an identifier, which comes again after
 * TWHEEL_CELL_GENERATIONS - 1, about four million. A place whose event has not been taken
 * is not used again.
 */
#ifndef LIBTWHEEL_H
#define LIBTWHEEL_H

#include <stddef.h>
#include <stdint.h>

#include <linux/twheel.h>

#ifdef __cplusplus
extern "C" {
#endif

#define TWHEEL_API	__attribute__((visibility("default")))

/* A wheel. Its contents are the library's. */
struct twheel;

/**
 * struct twheel_view_1 - the start of a handle, for the inlines below only
 * @cells: the cells of the shared mapping
 * @links: for each cell, what its identifiers have above the bits of %TWHEEL_VIEW_OWNER; in
 *	those, the next cell on the list of cancelled ones, plus one; 0: it is the last
 * @bytes: the length of @cells; 0: there is no mapping
 * @cancelled: the first cell on the list of cancelled ones, plus one; 0: it is empty
 * @base_ns: the time that ticks count from, less a tick, to round up; modulo 2^64
 * @from_ns: deadlines from here on can be written as they are; it moves with the time
 * @span_ns: for how long
 * @tick_ns: the tick
 *
 * Programs are built with the inlines, so this is as it is for ever. A library that wants
 * another view has that behind this one, and 0 in @bytes: the inlines then call it.
 */
struct twheel_view_1 {
	char *cells;
	uint64_t *links;
	uint32_t bytes;
	uint32_t cancelled;
	uint64_t base_ns;
	__aligned_u64 from_ns;
	uint64_t span_ns;
	uint64_t tick_ns;
};

/* An identifier has the offset of its cell from here on. */
#define TWHEEL_VIEW_OFFSET_SHIFT 36
/* The bits of a word that tell whose it is: whether never, the state, the generation. */
#define TWHEEL_VIEW_OWNER	((1U << TWHEEL_CELL_TICKS_SHIFT) - 1)

/** enum twheel_clock - the clock of a wheel */
enum twheel_clock {
	TWHEEL_CLOCK_MONOTONIC	= 0,
	TWHEEL_CLOCK_BOOTTIME	= 1,	/* continues while suspended */
	/* The wall clock, which can be set. Delays still use CLOCK_MONOTONIC. */
	TWHEEL_CLOCK_REALTIME	= 2,
	TWHEEL_CLOCK_TAI	= 3,	/* the same without leap seconds */
};

/* Flags of struct twheel_options. */
#define TWHEEL_OPEN_INHERIT	(1U << 0)	/* stays open over exec */
#define TWHEEL_OPEN_NO_MAPPING	(1U << 1)	/* system calls only */
#define TWHEEL_OPEN_NO_BATCH	(1U << 2)	/* one operation at a time */
/* An event with TWHEEL_EVENT_CLOCK_SET tells that the clock, which can be, was set. */
#define TWHEEL_OPEN_CLOCK_SET	(1U << 3)

/*
 * A flag of struct twheel_op, beside those of <linux/twheel.h>, for arming: @period_ns
 * is a fixed delay. The library gives the timer its next deadline when it hands out
 * the event: that long after the moment when twheel_next() or twheel_events() returns
 * it. Each event has @count 1.
 */
#define TWHEEL_FIXED_DELAY	(1U << 31)

/**
 * struct twheel_options - the properties of a new wheel; 0 is each default
 * @clock: enum twheel_clock
 * @flags: TWHEEL_OPEN_*
 * @tick_ns: resolution
 * @slots: ratio of one level of the wheel to the next
 * @max_timers: the largest number of timers at once; see above
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

/* twheel_open(), for a structure of any version: see above. */
TWHEEL_API int twheel_open_sized(struct twheel **wheel,
				 const struct twheel_options *options, size_t size);

/**
 * twheel_open() - make a wheel
 * @wheel: is set to the handle
 * @options: its properties, or NULL for all defaults
 *
 * Return: 0; -ENOENT (the module is not loaded), -EACCES, -EINVAL (an option, or
 * this kernel has no wheels for the clock), -ENOMEM, -EMFILE.
 */
static inline int twheel_open(struct twheel **wheel, const struct twheel_options *options)
{
	return twheel_open_sized(wheel, options, sizeof(*options));
}

/**
 * twheel_adopt() - make a handle of a descriptor of the device
 * @wheel: is set to the handle
 * @fd: the descriptor, inherited or received. It belongs to the handle from now
 *	on, unless the call fails. It is made O_NONBLOCK
 *
 * Return: 0; -ENOTTY (it is not of the device), -EBADF, -ENOMEM, -EBUSY (its timers
 * are in shared memory, which only the handle that opened it can use).
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
 * twheel_fd() - the descriptor, to poll it or to send it to another process
 * @wheel: the handle
 *
 * It is readable while events wait in the kernel. The library reads ahead: call
 * twheel_next() until it returns 0, and only then wait again.
 *
 * Return: the descriptor, which still belongs to the handle.
 */
TWHEEL_API int twheel_fd(const struct twheel *wheel);

/**
 * twheel_now() - the time on the wheel's clock
 * @wheel: the handle
 *
 * It costs what clock_gettime() costs: on most machines no system call.
 *
 * Return: nanoseconds.
 */
TWHEEL_API uint64_t twheel_now(const struct twheel *wheel);

/**
 * twheel_info_sized() - twheel_info(), for a structure of any version
 * @wheel: the handle
 * @info: is filled in, see <linux/twheel.h>. What the kernel does not know is 0
 * @size: how many bytes the program has for it
 *
 * Return: 0; -EINVAL (@size is less than that of the first version).
 */
TWHEEL_API int twheel_info_sized(struct twheel *wheel, struct twheel_info *info,
				 size_t size);

/**
 * twheel_info() - what the wheel is and holds
 * @wheel: the handle
 * @info: is filled in, see <linux/twheel.h>
 *
 * Return: 0.
 */
static inline int twheel_info(struct twheel *wheel, struct twheel_info *info)
{
	return twheel_info_sized(wheel, info, sizeof(*info));
}

/**
 * twheel_arm() - a new timer, for a delay from now
 * @wheel: the handle
 * @delay_ns: the delay; TWHEEL_DELAY_NEVER never ends
 * @cookie: any value; the event will show it
 * @id: is set to the identifier
 *
 * Return: 0; -ENOSPC (the wheel may not have more timers; with shared memory also while
 * another thread has all free places in its hands), -EDQUOT (the user may not),
 * -EINVAL (above TWHEEL_DELAY_NEVER), -ENOMEM, -ERANGE (with shared memory: too far away).
 */
TWHEEL_API int twheel_arm(struct twheel *wheel, uint64_t delay_ns,
			  uint64_t cookie, uint64_t *id);

/** twheel_arm_at() - a new timer, for a time on the wheel's clock */
TWHEEL_API int twheel_arm_at(struct twheel *wheel, uint64_t deadline_ns,
			     uint64_t cookie, uint64_t *id);

/* twheel_arm_op(), for a structure of any version. */
TWHEEL_API int twheel_arm_op_sized(struct twheel *wheel, struct twheel_op *op, size_t size);

/**
 * twheel_arm_op() - a new timer, with all options: period, slack, absolute or not
 * @wheel: the handle
 * @op: @flags (also TWHEEL_FIXED_DELAY), @cookie, @deadline_ns, @period_ns and
 *	@slack_ns as in <linux/twheel.h>, the rest 0. Its @id, @deadline_ns and @flags
 *	are set. With TWHEEL_OR_MODIFY its @id may be a timer, which is modified if it
 *	is there
 *
 * Return: 0; with TWHEEL_OR_MODIFY, 1 if the timer was pending, 2 if it had expired
 * and its event was withdrawn: then @id may be a new one; as twheel_arm(), and -EINVAL (a
 * field).
 */
static inline int twheel_arm_op(struct twheel *wheel, struct twheel_op *op)
{
	return twheel_arm_op_sized(wheel, op, sizeof(*op));
}

/**
 * twheel_modify() - another deadline for a pending timer: a delay from now
 * @wheel: the handle
 * @id: the timer
 * @delay_ns: the delay
 *
 * Return: 0, or 2 if it has a period and had expired: its event is withdrawn; -ENOENT (there
 * is no such timer, or it has ended), -EALREADY (it has expired, it has no period, and its
 * event waits to be taken), -ERANGE (with shared memory: too far away).
 */
TWHEEL_API int twheel_modify(struct twheel *wheel, uint64_t id,
			     uint64_t delay_ns);

/** twheel_modify_at() - another deadline for a pending timer: a time */
TWHEEL_API int twheel_modify_at(struct twheel *wheel, uint64_t id,
				uint64_t deadline_ns);

/* twheel_modify_op(), for a structure of any version. */
TWHEEL_API int twheel_modify_op_sized(struct twheel *wheel, struct twheel_op *op,
				      size_t size);

/**
 * twheel_modify_op() - another deadline, and with flags another period and more
 * @wheel: the handle
 * @op: @id, @flags, @deadline_ns and, with TWHEEL_SET_* in @flags, @period_ns, @slack_ns
 *	and @cookie as in <linux/twheel.h>, the rest 0. Its @deadline_ns and @flags are
 *	set
 *
 * A timer with a fixed delay that gets a period this way has no fixed delay any more.
 *
 * Return: as twheel_modify(); with TWHEEL_LATER also 1 if the deadline was as late
 * already, and nothing changes; -EINVAL (a field), -ERANGE (with shared memory: too
 * far away).
 */
static inline int twheel_modify_op(struct twheel *wheel, struct twheel_op *op)
{
	return twheel_modify_op_sized(wheel, op, sizeof(*op));
}

/**
 * twheel_extend() - a later deadline for a pending timer: a delay from now
 * @wheel: the handle
 * @id: the timer
 * @delay_ns: the delay
 *
 * With shared memory, deadlines with the same tick are as late as each other.
 *
 * Return: 0, or 1 if the deadline was as late already, and stays; -ENOENT (there is no
 * such timer, or it has ended), -EALREADY (it has expired, and its event waits to be
 * taken), -ERANGE (with shared memory: too far away).
 */
TWHEEL_API int twheel_extend(struct twheel *wheel, uint64_t id,
			     uint64_t delay_ns);

/** twheel_extend_at() - a later deadline for a pending timer: a time */
TWHEEL_API int twheel_extend_at(struct twheel *wheel, uint64_t id,
				uint64_t deadline_ns);

/**
 * twheel_cancel() - end a timer
 * @wheel: the handle
 * @id: the timer
 *
 * No event of it will be taken, but another thread may have taken one just
 * before.
 *
 * Return: 0 if it was pending, 1 if it had expired and its event was withdrawn;
 * -ENOENT (there is no such timer, or its event has been taken).
 */
TWHEEL_API int twheel_cancel(struct twheel *wheel, uint64_t id);

/**
 * twheel_cancel_all() - end every timer, and drop every event
 * @wheel: the handle
 *
 * Return: the number of timers that the kernel had.
 */
TWHEEL_API int twheel_cancel_all(struct twheel *wheel);

/* twheel_query(), for a structure of any version. */
TWHEEL_API int twheel_query_sized(struct twheel *wheel, struct twheel_op *op, size_t size);

/**
 * twheel_query() - the state of a timer
 * @wheel: the handle
 * @op: @id is set by the program, the rest is 0. The call sets @cookie,
 *	@deadline_ns, @period_ns, @slack_ns and @state
 *
 * Once the library has read the event ahead, @slack_ns is 0.
 *
 * Return: 0; -ENOENT (there is no such timer, or its event has been taken).
 */
static inline int twheel_query(struct twheel *wheel, struct twheel_op *op)
{
	return twheel_query_sized(wheel, op, sizeof(*op));
}

/* twheel_batch(), for structures of any version, each @size bytes: a multiple of 8. */
TWHEEL_API int twheel_batch_sized(struct twheel *wheel, struct twheel_op *ops, size_t size,
				  unsigned int count);

/**
 * twheel_batch() - many operations at once
 * @wheel: the handle
 * @ops: the operations, done in this order. The @op of each is one of enum
 *	twheel_op_code. Its @result is set to what the call for that operation alone
 *	would return
 * @count: how many, up to INT_MAX
 *
 * An operation that fails changes nothing, and the others are still done. A batch
 * is one system call if the kernel offers that, otherwise one for each operation.
 * Each arm with TWHEEL_FIXED_DELAY is one, too, and while events wait that the library has
 * read ahead, each with TWHEEL_OR_MODIFY.
 *
 * Return: the number of operations done, counted from the first. That is @count,
 * unless memory of @ops is unmapped during the call; -EINVAL (@count), -EFAULT (the
 * memory of @ops cannot be read and written), -ENOMEM.
 */
static inline int twheel_batch(struct twheel *wheel, struct twheel_op *ops,
			       unsigned int count)
{
	return twheel_batch_sized(wheel, ops, sizeof(*ops), count);
}

/**
 * twheel_arm_many() - arm many timers at once
 * @wheel: the handle
 * @news: what twheel_arm() would be told of each: a delay and a cookie
 * @ids: the identifiers of the timers, in the same order
 * @count: how many, up to INT_MAX
 * @flags: TWHEEL_ABS: each has a time, as for twheel_arm_at(). TWHEEL_MONOTONIC: that time
 *	is on CLOCK_MONOTONIC
 *
 * It ends before the first timer that cannot be armed. One system call does all, at half
 * the price of twheel_batch(), if the kernel offers that and the handle has no mapping.
 * Otherwise it is as if each were armed on its own.
 *
 * Return: how many timers are armed, from the first one on; or if that is none, why: as
 * twheel_arm(), and -EINVAL (@count, @flags), -EFAULT (@news cannot be read, @ids cannot be
 * written). With shared memory the library reads @news itself, and bad ones are SIGSEGV.
 */
TWHEEL_API int twheel_arm_many(struct twheel *wheel, const struct twheel_new *news,
			       uint64_t *ids, unsigned int count, uint32_t flags);

/**
 * twheel_cancel_many() - end many timers at once
 * @wheel: the handle
 * @ids: the timers
 * @results: for each, what twheel_cancel() would return. NULL if you do not want to know
 * @count: how many, up to INT_MAX
 *
 * That one of them has ended already does not keep the others. As for system calls, see
 * twheel_arm_many().
 *
 * Return: how many are done, from the first one on. That is @count, unless memory is
 * unmapped during the call; -EINVAL (@count), -EFAULT (@ids cannot be read, @results cannot
 * be written). With shared memory the library reads @ids itself, and bad ones are SIGSEGV.
 */
TWHEEL_API int twheel_cancel_many(struct twheel *wheel, const uint64_t *ids,
				  int64_t *results, unsigned int count);

/*
 * twheel_events(), for structures of any version, each @size bytes. If that is not the
 * library's, one call returns at most 32 events.
 */
TWHEEL_API int twheel_events_sized(struct twheel *wheel, struct twheel_event *events,
				   size_t size, unsigned int most, int timeout_ms);

/**
 * twheel_next() - take one event
 * @wheel: the handle
 * @event: is filled in
 * @timeout_ms: how long to wait for one; 0 does not wait, -1 waits for ever
 *
 * Events come in the order of expiry. The library reads many of them ahead.
 *
 * Return: 1, or 0 if none came in that time; -EINTR (a signal).
 */
static inline int twheel_next(struct twheel *wheel, struct twheel_event *event,
			      int timeout_ms)
{
	return twheel_events_sized(wheel, event, sizeof(*event), 1, timeout_ms);
}

/**
 * twheel_events() - take many events
 * @wheel: the handle
 * @events: is filled in
 * @most: how many it has room for, at least 1
 * @timeout_ms: how long to wait for the first, as twheel_next()
 *
 * It takes all that wait, up to @most.
 *
 * Return: how many, 0 if none came in that time; -EINTR, -EINVAL.
 */
static inline int twheel_events(struct twheel *wheel, struct twheel_event *events,
				unsigned int most, int timeout_ms)
{
	return twheel_events_sized(wheel, events, sizeof(*events), most, timeout_ms);
}

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
 * @attempts: as in &struct twheel_backoff, also the next ones
 * @ceiling_ns: likewise
 * @grace_ns: likewise
 * @jitter: likewise
 * @pad: 0
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
	uint32_t attempts;
	uint64_t ceiling_ns;
	uint64_t grace_ns;
	uint32_t jitter;
	uint32_t pad;
	uint64_t reserved[4];
};

/* twheel_retry_start(), for structures of any version. */
TWHEEL_API int twheel_retry_start_sized(struct twheel *wheel, struct twheel_retry *retry,
					size_t retry_size,
					const struct twheel_backoff *backoff,
					size_t backoff_size, uint64_t cookie);

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
static inline int twheel_retry_start(struct twheel *wheel, struct twheel_retry *retry,
				     const struct twheel_backoff *backoff,
				     uint64_t cookie)
{
	return twheel_retry_start_sized(wheel, retry, sizeof(*retry), backoff,
					sizeof(*backoff), cookie);
}

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
 * With a shared mapping, these inlines extend a timer to a time, or cancel it,
 * without a call. There the lower part of an identifier is that of the cell's word
 * while the timer is pending. The upper part is the offset of the cell. In between is
 * what only the library looks at. A timer that is armed with a period has a lower part like
 * no word.
 *
 * An inline changes the word only while it is this timer's and pending. In all
 * other cases it leaves the operation to the function of the library.
 *
 * An extension need not read when the kernel will look at the cell. The kernel
 * looks no later than the old deadline, or the thread that brought that deadline
 * nearer is about to tell the kernel.
 */
#if __SIZEOF_POINTER__ == 8

static inline int twheel_extend_at_inline(struct twheel *wheel, uint64_t id,
					  uint64_t deadline_ns)
{
	struct twheel_view_1 *view = (struct twheel_view_1 *)wheel;
	uint64_t offset = id >> TWHEEL_VIEW_OFFSET_SHIFT;
	struct twheel_cell *cell;
	__u64 word, mine;

	/* A deadline before that wraps, and is beyond the span too. */
	if (__builtin_expect(offset >= view->bytes ||
			     deadline_ns - __atomic_load_n(&view->from_ns,
							   __ATOMIC_RELAXED) >=
			     view->span_ns, 0))
		return twheel_extend_at(wheel, id, deadline_ns);
	cell = (struct twheel_cell *)(view->cells + offset);
	mine = (deadline_ns - view->base_ns) / view->tick_ns << TWHEEL_CELL_TICKS_SHIFT |
	       (id & TWHEEL_VIEW_OWNER);
	word = __atomic_load_n(&cell->word, __ATOMIC_RELAXED);
	do {
		if (__builtin_expect((word ^ mine) & TWHEEL_VIEW_OWNER, 0))
			return twheel_extend_at(wheel, id, deadline_ns);
		/* Two deadlines within the span differ by less than half of all ticks. */
		if ((__s64)(mine - word) <= 0)
			return 1;
	} while (!__atomic_compare_exchange_n(&cell->word, &word, mine, 0,
					      __ATOMIC_SEQ_CST,
					      __ATOMIC_RELAXED));
	return 0;
}

static inline int twheel_cancel_inline(struct twheel *wheel, uint64_t id)
{
	struct twheel_view_1 *view = (struct twheel_view_1 *)wheel;
	const uint64_t flip = (uint64_t)(TWHEEL_CELL_PENDING ^
					 TWHEEL_CELL_CANCELLED) <<
			      TWHEEL_CELL_STATE_SHIFT;
	uint64_t offset = id >> TWHEEL_VIEW_OFFSET_SHIFT;
	uint32_t head;
	uint64_t *link;
	struct twheel_cell *cell;
	__u64 word;

	if (__builtin_expect(offset >= view->bytes, 0))
		return twheel_cancel(wheel, id);
	cell = (struct twheel_cell *)(view->cells + offset);
	word = __atomic_load_n(&cell->word, __ATOMIC_RELAXED);
	do {
		/* Even if it never comes. */
		if (__builtin_expect((word ^ id) & (TWHEEL_VIEW_OWNER - 1), 0))
			return twheel_cancel(wheel, id);
	} while (!__atomic_compare_exchange_n(&cell->word, &word, word ^ flip,
					      0, __ATOMIC_SEQ_CST,
					      __ATOMIC_RELAXED));
	/* The library only ever takes the whole list, so a head is not mistaken. */
	link = &view->links[offset / sizeof(*cell)];
	head = __atomic_load_n(&view->cancelled, __ATOMIC_RELAXED);
	do {
		__atomic_store_n(link, (id & ~(uint64_t)TWHEEL_VIEW_OWNER) | head,
				 __ATOMIC_RELAXED);
	} while (!__atomic_compare_exchange_n(&view->cancelled, &head,
					      offset / sizeof(*cell) + 1, 0,
					      __ATOMIC_RELEASE, __ATOMIC_RELAXED));
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
