/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * twheel: what timeouts are mostly used for, over the plain timer.
 *
 *  - struct twheel_periodic: work that recurs, at a fixed rate or with a fixed
 *    delay between one run and the next;
 *  - struct twheel_retry: attempts at something that may fail, with a back-off
 *    that doubles, jitter, and an end;
 *  - struct twheel_idle: a watch over a peer, which reports when nothing has been
 *    heard of the peer for a while.
 *
 * Each is embedded in the caller's own object, allocates nothing, and belongs to a wheel
 * as a timer does. What linux/twheel.h says of clocks, ticks, contexts and the life of a
 * timer's memory holds here too. All fields are private, with one exception: the struct
 * twheel_timer inside is what twheel_stop() hands back.
 *
 * Times are u64 nanoseconds on the wheel's clock. Spans of time (periods, delays,
 * timeouts) are 1 to %TWHEEL_SPAN_MAX unless said otherwise; deadlines beyond
 * %TWHEEL_NEVER saturate there. A wheel on %TWHEEL_CLOCK_REALTIME takes no delays: on
 * such a wheel only twheel_periodic_start_at() at a fixed rate works, and all else
 * answers -EINVAL.
 *
 * The plain calls never wait. Those named _sync wait for the callback. A stop or a new
 * start wins over a callback that is running: that one goes on to its end, but what it
 * returns no longer counts.
 */
#ifndef _LINUX_TWHEEL_POLICY_H
#define _LINUX_TWHEEL_POLICY_H

#include <linux/atomic.h>
#include <linux/compiler.h>
#include <linux/spinlock.h>
#include <linux/types.h>

#include <linux/twheel.h>

struct twheel_periodic;
struct twheel_retry;
struct twheel_idle;

/**
 * TWHEEL_SPAN_MAX - the longest period, delay or timeout: some 292 years
 *
 * Twice that is still a deadline.
 */
#define TWHEEL_SPAN_MAX		(TWHEEL_NEVER / 2)

/**
 * enum twheel_next - what follows a callback
 * @TWHEEL_DONE: nothing. The object is not touched any more: the callback may
 *	have freed it
 * @TWHEEL_AGAIN: another callback, unless the object has been stopped or started
 *	anew since this one began
 */
enum twheel_next {
	TWHEEL_DONE,
	TWHEEL_AGAIN,
};

/**
 * struct twheel_series - callbacks that follow one another
 * @timer: waits for the next one
 * @lock: guards what is below, and that @timer is armed for the present series
 *	only
 * @number: changes with every start and every stop, so that a callback's answer
 *	is known to be out of date
 * @on: started and not stopped
 *
 * What twheel_periodic and twheel_retry have in common. All fields are private.
 */
struct twheel_series {
	struct twheel_timer timer;
	raw_spinlock_t lock;
	unsigned int number;
	bool on;
};

/* For the calls below. */
int twheel_series_end(struct twheel_series *s);
int twheel_series_end_sync(struct twheel_series *s,
			   int (*sync)(struct twheel_timer *timer));

/* Periodic work. */

/**
 * enum twheel_pace - what the next deadline is counted from
 * @TWHEEL_FIXED_RATE: the first deadline. All are a whole number of periods
 *	after it, however late the callbacks are: there is no drift. Deadlines
 *	that have passed when a callback begins are counted as overruns, and are
 *	not made up for
 * @TWHEEL_FIXED_DELAY: the moment at which the callback has ended. There are no
 *	overruns
 */
enum twheel_pace {
	TWHEEL_FIXED_RATE,
	TWHEEL_FIXED_DELAY,
};

/**
 * typedef twheel_periodic_fn - periodic work
 * @periodic: what it is the work of
 *
 * Context:
 * * as &twheel_fn
 * * may stop or start @periodic, or free it if it then returns %TWHEEL_DONE
 * Return:
 * * one of enum twheel_next
 */
typedef enum twheel_next
(*twheel_periodic_fn)(struct twheel_periodic *periodic);

/**
 * struct twheel_periodic - work that recurs
 * @series: its timer
 * @function: the work
 * @pace: what deadlines are counted from
 * @error: why it could not go on, or 0
 * @period: ns
 * @deadline: the deadline waited for, or the one that the callback is for
 * @overruns: deadlines that the callback missed
 * @missed: and all the callbacks since the start
 *
 * All fields are private; see twheel_periodic_init().
 */
struct twheel_periodic {
	struct twheel_series series;
	twheel_periodic_fn function;
	enum twheel_pace pace;
	int error;
	u64 period;
	u64 deadline;
	u64 overruns;
	u64 missed;
};

void __twheel_periodic_init(struct twheel_periodic *periodic,
			    struct twheel *wheel, twheel_periodic_fn function,
			    const char *name, struct lock_class_key *key);

/**
 * twheel_periodic_init() - initialise periodic work
 * @periodic: the periodic work; must not be started, and is no local variable
 * @wheel: the wheel it is to belong to
 * @function: the work
 *
 * Nobody else may use the periodic work meanwhile.
 *
 * Context:
 * * any but NMI
 */
#define twheel_periodic_init(periodic, wheel, function)			\
	tw_init_class(__twheel_periodic_init, periodic, wheel, function)

int twheel_periodic_start(struct twheel_periodic *periodic, u64 period_ns,
			  enum twheel_pace pace);
int twheel_periodic_start_at(struct twheel_periodic *periodic, u64 first_ns,
			     u64 period_ns, enum twheel_pace pace);

/**
 * twheel_periodic_stop() - stop periodic work, without waiting for its callback
 * @periodic: the periodic work
 *
 * A callback that runs now, or is just being called, is the last one.
 *
 * Context:
 * * any but NMI, the work's own callback included
 * Return:
 * * 1 - it was waiting for a deadline, which will not be served
 * * 0 - it was not: it is not started, or its callback is running
 */
static inline int twheel_periodic_stop(struct twheel_periodic *periodic)
{
	return twheel_series_end(&periodic->series);
}

/**
 * twheel_periodic_stop_sync() - stop periodic work and wait for its callback
 * @periodic: the periodic work
 *
 * When this returns, the callback does not run on any CPU, and will not unless the
 * work is started again: where nothing does that, its memory can be freed.
 *
 * Do not call it with a lock held that the callback takes.
 *
 * Context:
 * * process or softirq, as twheel_cancel_sync()
 * Return:
 * * 1 - it was waiting for a deadline, which will not be served
 * * 0 - it was not: it was not started, or its callback was running
 * * -EDEADLK - called from the callback: the work is stopped, but this cannot
 *   wait
 */
static inline int twheel_periodic_stop_sync(struct twheel_periodic *periodic)
{
	return twheel_series_end_sync(&periodic->series, twheel_cancel_sync);
}

/**
 * twheel_periodic_shutdown_sync() - stop periodic work for good
 * @periodic: the periodic work
 *
 * As twheel_periodic_stop_sync(), and every later start fails with -ESHUTDOWN,
 * also those on other CPUs that race with this. twheel_periodic_init() brings
 * the work back to life.
 *
 * Context:
 * * as twheel_periodic_stop_sync()
 * Return:
 * * as twheel_periodic_stop_sync(); with -EDEADLK it is not shut down
 */
static inline int twheel_periodic_shutdown_sync(struct twheel_periodic *periodic)
{
	return twheel_series_end_sync(&periodic->series, twheel_shutdown_sync);
}

/**
 * twheel_periodic_deadline() - the deadline that this callback is for
 * @periodic: the periodic work
 *
 * Where there were overruns it is the last of the deadlines that have passed:
 * the next one is a period later.
 *
 * Context:
 * * the callback, or wherever neither it nor a start can run
 * * if another CPU starts @periodic anew, the answer is that of the new series; on a
 *   machine of 32 bits, half of it may be
 * Return:
 * * ns on the wheel's clock
 */
static inline u64
twheel_periodic_deadline(const struct twheel_periodic *periodic)
{
	return READ_ONCE(periodic->deadline);
}

/**
 * twheel_periodic_overruns() - how many deadlines did this callback miss?
 * @periodic: the periodic work
 *
 * Deadlines that have passed without a callback of their own since the one
 * before. 0 is the rule; always 0 with %TWHEEL_FIXED_DELAY.
 *
 * Context:
 * * as twheel_periodic_deadline()
 * Return:
 * * their number
 */
static inline u64
twheel_periodic_overruns(const struct twheel_periodic *periodic)
{
	return READ_ONCE(periodic->overruns);
}

/**
 * twheel_periodic_missed() - how many deadlines were missed since the start?
 * @periodic: the periodic work
 *
 * The sum of twheel_periodic_overruns() over the callbacks so far, the present
 * one included. That and the number of callbacks is the number of deadlines.
 *
 * Context:
 * * as twheel_periodic_deadline()
 * Return:
 * * their number
 */
static inline u64 twheel_periodic_missed(const struct twheel_periodic *periodic)
{
	return READ_ONCE(periodic->missed);
}

/**
 * twheel_periodic_error() - why has the work ended by itself?
 * @periodic: the periodic work
 *
 * While the callback runs the timer is not pending, and does not count against
 * &twheel_config.max_pending: on a wheel with such a limit another timer may
 * take its place.
 *
 * The answer stays until the next start. To stop work that has ended does not change it.
 *
 * Context:
 * * any but NMI
 * Return:
 * * 0 - it has not: it goes on, was never started, was stopped or shut down before it
 *   ended, or its callback said %TWHEEL_DONE
 * * -ENOSPC - when the callback had ended, the wheel's limit was reached
 * * -ESHUTDOWN - by then the wheel had been stopped, or @periodic was just being shut down
 */
static inline int twheel_periodic_error(const struct twheel_periodic *periodic)
{
	return READ_ONCE(periodic->error);
}

/* Retrying. */

/**
 * struct twheel_backoff - how often and when to try
 * @attempts: how many attempts there are at most, 1 or more
 * @jitter: by how many per cent a delay may be shorter, 0 to 100. Each delay is
 *	chosen evenly between that and its full length, so that clients that failed
 *	together do not come back together. Jitter never makes a delay longer
 * @first_ns: from the end of the first attempt to the second, 1 to %TWHEEL_SPAN_MAX; also
 *	with one attempt only, which does not use it. After each further attempt the
 *	delay is twice the one before, up to @ceiling_ns
 * @ceiling_ns: the longest delay, @first_ns to %TWHEEL_SPAN_MAX; 0: %TWHEEL_SPAN_MAX
 * @grace_ns: how long after the end of the last attempt to give up, for attempts whose
 *	success shows later; up to %TWHEEL_SPAN_MAX, without jitter. 0: as soon as the
 *	attempt has failed
 */
struct twheel_backoff {
	unsigned int attempts;
	unsigned int jitter;
	u64 first_ns;
	u64 ceiling_ns;
	u64 grace_ns;
};

/**
 * typedef twheel_attempt_fn - an attempt
 * @retry: what it is an attempt of
 *
 * Context:
 * * as &twheel_fn
 * * may cancel or start @retry, or free it if it then returns %TWHEEL_DONE
 * Return:
 * * %TWHEEL_DONE - it has succeeded, or there is no point in another
 * * %TWHEEL_AGAIN - it has failed, or it is not known yet whether it succeeds
 */
typedef enum twheel_next (*twheel_attempt_fn)(struct twheel_retry *retry);

/**
 * typedef twheel_give_up_fn - all attempts have failed
 * @retry: what they were attempts of; no longer started
 * @error: why there is not another: -ETIMEDOUT: it was the last one; -ENOSPC:
 *	the wheel's limit was reached when the attempt had ended; -ESHUTDOWN:
 *	the wheel had been stopped by then, or @retry was just being shut down
 *
 * Context:
 * * as &twheel_fn
 * * may start or free @retry
 */
typedef void (*twheel_give_up_fn)(struct twheel_retry *retry, int error);

/**
 * struct twheel_retry - attempts at something that may fail
 * @series: its timer
 * @attempt: makes one
 * @give_up: called when the last one has failed
 * @backoff: how often and when
 * @made: attempts made
 * @delay: how long to wait for the next, without jitter
 *
 * All fields are private; see twheel_retry_init().
 */
struct twheel_retry {
	struct twheel_series series;
	twheel_attempt_fn attempt;
	twheel_give_up_fn give_up;
	struct twheel_backoff backoff;
	unsigned int made;
	u64 delay;
};

void __twheel_retry_init(struct twheel_retry *retry, struct twheel *wheel,
			 twheel_attempt_fn attempt, twheel_give_up_fn give_up,
			 const char *name, struct lock_class_key *key);

/**
 * twheel_retry_init() - initialise a retry
 * @retry: the retry; must not be started, and is no local variable
 * @wheel: the wheel it is to belong to
 * @attempt: makes an attempt
 * @give_up: called when all have failed; may be NULL
 *
 * Nobody else may use the retry meanwhile.
 *
 * Context:
 * * any but NMI
 */
#define twheel_retry_init(retry, wheel, attempt, give_up)		\
	tw_init_class(__twheel_retry_init, retry, wheel, attempt, give_up)

int twheel_retry_start(struct twheel_retry *retry,
		       const struct twheel_backoff *backoff);

/**
 * twheel_retry_cancel() - make no more attempts
 * @retry: the retry
 *
 * An attempt that runs now is the last one. The callback that gives up is not called
 * after this, unless it is just being called.
 *
 * Context:
 * * any but NMI, the retry's own callbacks included
 * Return:
 * * 1 - it was waiting, for its next attempt or to give up
 * * 0 - it was not: it is not started, or a callback of it is running
 */
static inline int twheel_retry_cancel(struct twheel_retry *retry)
{
	return twheel_series_end(&retry->series);
}

/**
 * twheel_retry_cancel_sync() - make no more attempts, and wait for the last one
 * @retry: the retry
 *
 * When this returns, neither callback runs on any CPU, and none will unless the
 * retry is started again: where nothing does that, its memory can be freed.
 *
 * Do not call it with a lock held that a callback takes.
 *
 * Context:
 * * process or softirq, as twheel_cancel_sync()
 * Return:
 * * 1 - it was waiting, for its next attempt or to give up
 * * 0 - it was not: it was not started, or a callback of it was running
 * * -EDEADLK - called from one of its callbacks: it is cancelled, but this
 *   cannot wait
 */
static inline int twheel_retry_cancel_sync(struct twheel_retry *retry)
{
	return twheel_series_end_sync(&retry->series, twheel_cancel_sync);
}

/**
 * twheel_retry_shutdown_sync() - make no more attempts, ever
 * @retry: the retry
 *
 * As twheel_retry_cancel_sync(), and every later start fails with -ESHUTDOWN, also those
 * on other CPUs that race with this. twheel_retry_init() brings the retry back to life.
 *
 * Context:
 * * as twheel_retry_cancel_sync()
 * Return:
 * * as twheel_retry_cancel_sync(); with -EDEADLK it is not shut down
 */
static inline int twheel_retry_shutdown_sync(struct twheel_retry *retry)
{
	return twheel_series_end_sync(&retry->series, twheel_shutdown_sync);
}

/**
 * twheel_retry_attempts() - how many attempts have been made?
 * @retry: the retry
 *
 * Context:
 * * any but NMI; in an attempt, that one is included
 * Return:
 * * their number since the start
 */
static inline unsigned int
twheel_retry_attempts(const struct twheel_retry *retry)
{
	return READ_ONCE(retry->made);
}

/* Idle watch. */

/**
 * typedef twheel_idle_fn - nothing has been heard for the timeout
 * @idle: the watch; no longer started
 *
 * Context:
 * * as &twheel_fn
 * * may start or free @idle
 */
typedef void (*twheel_idle_fn)(struct twheel_idle *idle);

/**
 * struct twheel_idle - a watch over a peer that should give signs of life
 * @timer: fires when there was none for the timeout
 * @timeout: ns
 * @function: the callback
 *
 * All fields are private; see twheel_idle_init().
 */
struct twheel_idle {
	struct twheel_timer timer;
	atomic64_t timeout;
	twheel_idle_fn function;
};

void __twheel_idle_init(struct twheel_idle *idle, struct twheel *wheel,
			twheel_idle_fn function, const char *name,
			struct lock_class_key *key);

/**
 * twheel_idle_init() - initialise a watch
 * @idle: the watch; must not be started, and is no local variable
 * @wheel: the wheel it is to belong to
 * @function: called when nothing has been heard for the timeout
 *
 * Nobody else may use the watch meanwhile.
 *
 * Context:
 * * any but NMI
 */
#define twheel_idle_init(idle, wheel, function)				\
	tw_init_class(__twheel_idle_init, idle, wheel, function)

int twheel_idle_start(struct twheel_idle *idle, u64 timeout_ns);
int twheel_idle_set_timeout(struct twheel_idle *idle, u64 timeout_ns);

/**
 * twheel_idle_stop() - stop watching, without waiting for the callback
 * @idle: the watch
 *
 * Context:
 * * any but NMI, the watch's own callback included
 * Return:
 * * 1 - the callback will not be called
 * * 0 - the watch was not started; the callback may be running
 */
static inline int twheel_idle_stop(struct twheel_idle *idle)
{
	return twheel_cancel(&idle->timer);
}

/**
 * twheel_idle_stop_sync() - stop watching and wait for the callback
 * @idle: the watch
 *
 * When this returns, the callback does not run on any CPU, and will not unless the
 * watch is started again: where nothing does that, its memory can be freed.
 *
 * Do not call it with a lock held that the callback takes.
 *
 * Context:
 * * process or softirq, as twheel_cancel_sync()
 * Return:
 * * 1 - the callback will not be called
 * * 0 - the watch was not started
 * * -EDEADLK - called from the callback; nothing has been done
 */
static inline int twheel_idle_stop_sync(struct twheel_idle *idle)
{
	return twheel_cancel_sync(&idle->timer);
}

/**
 * twheel_idle_shutdown_sync() - stop watching for good
 * @idle: the watch
 *
 * As twheel_idle_stop_sync(), and every later start fails with -ESHUTDOWN, also those on
 * other CPUs that race with this. twheel_idle_init() brings the watch back to life.
 *
 * Context:
 * * as twheel_idle_stop_sync()
 * Return:
 * * as twheel_idle_stop_sync()
 */
static inline int twheel_idle_shutdown_sync(struct twheel_idle *idle)
{
	return twheel_shutdown_sync(&idle->timer);
}

/**
 * twheel_idle_touch() - there was a sign of life
 * @idle: the watch
 *
 * The timeout starts from now. As cheap as twheel_extend(), which it is: made
 * to be called for every packet, from any number of CPUs at once.
 *
 * Context:
 * * any but NMI
 * * lock-free
 * Return:
 * * 1 - the callback will not be called before the timeout has passed from now
 * * 0 - likewise; the deadline was not before that anyway
 * * -ENOENT - too late: the callback runs or has run, or the watch is stopped
 */
static inline int twheel_idle_touch(struct twheel_idle *idle)
{
	return twheel_extend(&idle->timer, atomic64_read(&idle->timeout));
}

#endif /* _LINUX_TWHEEL_POLICY_H */
