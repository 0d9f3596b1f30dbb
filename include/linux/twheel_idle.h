/* SPDX-License-Identifier: GPL-2.0-only */
/* twheel: a watch over a peer that should give signs of life. See linux/twheel_policy.h. */
#ifndef _LINUX_TWHEEL_IDLE_H
#define _LINUX_TWHEEL_IDLE_H

#include <linux/atomic.h>
#include <linux/errno.h>
#include <linux/types.h>

#include <linux/twheel_policy.h>

struct twheel_idle;

/**
 * typedef twheel_idle_fn - nothing has been heard for the timeout
 * @idle: the watch; no longer started
 *
 * While the callback waits for a lock, another CPU may start @idle again, or stop it. With the
 * lock, twheel_idle_touch() tells that it was started: else it returns -ENOENT. A stop leaves no
 * trace, so the object has to know it.
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

static inline void
__twheel_idle_init(struct twheel_idle *idle, struct twheel *wheel,
		   twheel_idle_fn function, const char *name,
		   struct lock_class_key *key)
{
	__twheel_policy_init(&idle->timer, __TWHEEL_IDLE, wheel, name, key);
	atomic64_set(&idle->timeout, 0);
	idle->function = function;
}

/**
 * twheel_idle_init() - initialise a watch
 * @idle: the watch; must not be started, and must not be a local variable
 * @wheel: the wheel of the watch; NULL: the system wheel
 * @function: called when nothing has been heard for the timeout
 *
 * Nobody else may use the watch meanwhile.
 */
#define twheel_idle_init(idle, wheel, function)				\
	tw_init_class(__twheel_idle_init, idle, wheel, function)

/* Give the watch another timeout. Returns false if it can have none, or not that one. */
static inline bool __twheel_idle_set(struct twheel_idle *idle, u64 timeout_ns)
{
	/* A watch of zeros belongs to no wheel. */
	if (!idle->function || !timeout_ns || timeout_ns > TWHEEL_SPAN_MAX)
		return false;
	/* First: a touch from now on counts with the new timeout. */
	atomic64_set(&idle->timeout, timeout_ns);
	return true;
}

/**
 * twheel_idle_start() - start to watch
 * @idle: the watch
 * @timeout_ns: how long nothing is heard before the callback is called, 1 to
 *	%TWHEEL_SPAN_MAX
 *
 * On a watch that is started this is twheel_idle_set_timeout().
 *
 * Return:
 * * 0 - started
 * * 1 - it was started already: the timeout begins anew
 * * -EINVAL - @timeout_ns out of range, a wheel whose clock can be set, no function, or never
 *   initialised
 * * -ESHUTDOWN - shut down, or the wheel is stopped
 * * -ENOSPC - as many timers as the wheel's limit are pending
 */
static inline int twheel_idle_start(struct twheel_idle *idle, u64 timeout_ns)
{
	return __twheel_idle_set(idle, timeout_ns) ?
	       twheel_arm(&idle->timer, timeout_ns) : -EINVAL;
}

/**
 * twheel_idle_set_timeout() - change the timeout of a watch
 * @idle: the watch
 * @timeout_ns: the new timeout, 1 to %TWHEEL_SPAN_MAX; longer or shorter
 *
 * The timeout starts from now, as if there had been a sign of life. A touch on another
 * CPU at the same moment may still count with the old timeout. A watch that is not
 * started stays so.
 *
 * Return:
 * * 1 - the timeout has changed
 * * -ENOENT - the watch is not started
 * * -EINVAL - as twheel_idle_start()
 */
static inline int twheel_idle_set_timeout(struct twheel_idle *idle, u64 timeout_ns)
{
	return __twheel_idle_set(idle, timeout_ns) ?
	       twheel_modify(&idle->timer, timeout_ns) : -EINVAL;
}

/**
 * twheel_idle_stop() - stop watching, without waiting for the callback
 * @idle: the watch
 *
 * Context:
 * * the watch's own callback included
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
 * watch is started again. If nothing starts it, its memory can be freed.
 *
 * Context:
 * * process or softirq, as twheel_cancel_sync()
 * Return:
 * * 1 - the callback will not be called
 * * 0 - it was not waiting: it was not started, or its callback was running
 * * -EDEADLK - called from the callback; nothing has been done
 */
static inline int twheel_idle_stop_sync(struct twheel_idle *idle)
{
	return twheel_cancel_sync(&idle->timer);
}

/**
 * twheel_idle_shutdown() - stop watching for good, without waiting for the callback
 * @idle: the watch
 *
 * Every later start fails with -ESHUTDOWN, also one in the callback. For objects that RCU
 * frees: see twheel_shutdown().
 *
 * Context:
 * * the watch's own callback included
 * Return:
 * * as twheel_shutdown()
 */
static inline int twheel_idle_shutdown(struct twheel_idle *idle)
{
	return twheel_shutdown(&idle->timer);
}

/**
 * twheel_idle_shutdown_sync() - stop watching for good
 * @idle: the watch
 *
 * As twheel_idle_stop_sync(), and every later start fails with -ESHUTDOWN, also those on
 * other CPUs that race with this. After twheel_idle_init() it can be started again.
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
 * The timeout starts from now. This is twheel_extend(), and as cheap: call it for every
 * packet, from any number of CPUs at once.
 *
 * Context:
 * * lock-free
 * Return:
 * * 1 - the callback will not be called before the timeout has passed from now
 * * 0 - likewise; the deadline was not before that anyway
 * * -ENOENT - it is not started: it was stopped or shut down, or its callback has been called
 *   and nobody has started it since
 * * -EINVAL - a wheel whose clock can be set, on which no watch can run
 */
static inline int twheel_idle_touch(struct twheel_idle *idle)
{
	return twheel_extend(&idle->timer, atomic64_read(&idle->timeout));
}

#endif /* _LINUX_TWHEEL_IDLE_H */
