/* SPDX-License-Identifier: GPL-2.0-only */
/* twheel: attempts at something that may fail. See linux/twheel_policy.h. */
#ifndef _LINUX_TWHEEL_RETRY_H
#define _LINUX_TWHEEL_RETRY_H

#include <linux/compiler.h>
#include <linux/types.h>

#include <linux/twheel_policy.h>

struct twheel_retry;

/**
 * struct twheel_backoff - how often and when to try
 * @attempts: how many attempts there are at most, 1 or more
 * @jitter: by how many per cent a delay may be shorter, 0 to 100. Each delay is
 *	chosen evenly between that and its full length, so that clients that failed
 *	together do not come back together. Jitter never makes a delay longer. It does not
 *	ask the kernel for random numbers, so any wheel may have it
 * @first_ns: from the end of the first attempt to the second, 1 to %TWHEEL_SPAN_MAX; it must
 *	be valid even if there is one attempt only. After each further attempt the delay
 *	is twice the one before, up to @ceiling_ns
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
 * @retry: the retry
 *
 * Context:
 * * as &twheel_fn
 * * may cancel or start @retry, or free it if it then returns %TWHEEL_DONE
 * Return:
 * * %TWHEEL_DONE - it has succeeded, or there is no point in another
 * * %TWHEEL_AGAIN - it has failed, or it is not known yet whether it succeeds. If a reply
 *   comes later, call twheel_retry_cancel(), and see its results
 */
typedef enum twheel_next (*twheel_attempt_fn)(struct twheel_retry *retry);

/**
 * typedef twheel_give_up_fn - all attempts have failed
 * @retry: the retry; no longer started
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

static inline void
__twheel_retry_init(struct twheel_retry *retry, struct twheel *wheel,
		    twheel_attempt_fn attempt, twheel_give_up_fn give_up,
		    const char *name, struct lock_class_key *key)
{
	/* First: debug objects look whether it is pending. */
	__twheel_policy_init(&retry->series.timer, __TWHEEL_RETRY, wheel, name, key);
	retry->attempt = attempt;
	retry->give_up = give_up;
	retry->backoff = (struct twheel_backoff) { };
	retry->made = 0;
	retry->delay = 0;
}

/**
 * twheel_retry_init() - initialise a retry
 * @retry: the retry; must not be started, and must not be a local variable
 * @wheel: the wheel of the retry; NULL: the system wheel
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
 * A callback that runs, or is just being called, is the last one.
 *
 * Context:
 * * any but NMI, the retry's own callbacks included
 * Return:
 * * 1 - it was waiting, for its next attempt or to give up
 * * 0 - it was not: it is not started, a callback of it is running or being called, or was due
 *   and will not be called. After twheel_retry_cancel_sync() none runs
 */
static inline int twheel_retry_cancel(struct twheel_retry *retry)
{
	return __twheel_series_end(&retry->series);
}

/**
 * twheel_retry_cancel_sync() - make no more attempts, and wait for the last one
 * @retry: the retry
 *
 * When this returns, neither callback runs on any CPU, and none will unless the
 * retry is started again. If nothing starts it, its memory can be freed.
 *
 * Context:
 * * process or softirq, as twheel_cancel_sync()
 * Return:
 * * 1 - it was waiting, for its next attempt or to give up
 * * 0 - it was not: it was not started, a callback of it was running, or was due and is not
 *   called
 * * -EDEADLK - called from one of its callbacks: it is cancelled, but this
 *   cannot wait
 */
static inline int twheel_retry_cancel_sync(struct twheel_retry *retry)
{
	return __twheel_series_end_sync(&retry->series, twheel_cancel_sync);
}

/**
 * twheel_retry_shutdown_sync() - make no more attempts, ever
 * @retry: the retry
 *
 * As twheel_retry_cancel_sync(), and every later start fails with -ESHUTDOWN, also those
 * on other CPUs that race with this. After twheel_retry_init() it can be started again.
 *
 * Context:
 * * as twheel_retry_cancel_sync()
 * Return:
 * * as twheel_retry_cancel_sync(); with -EDEADLK it is not shut down
 */
static inline int twheel_retry_shutdown_sync(struct twheel_retry *retry)
{
	return __twheel_series_end_sync(&retry->series, twheel_shutdown_sync);
}

/**
 * twheel_retry_attempts() - the attempts that have been made
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

#endif /* _LINUX_TWHEEL_RETRY_H */
