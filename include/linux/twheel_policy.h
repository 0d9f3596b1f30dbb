/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * twheel: policies, which are built on plain timers. Each has a header:
 *
 *  - linux/twheel_periodic.h: work that recurs, at a fixed rate or with a fixed delay
 *    between one run and the next;
 *  - linux/twheel_idle.h: a watch over a peer, which reports when nothing has been heard
 *    of the peer for a while.
 *
 * For retries, a callback arms its timer again, with a longer delay: see
 * tools/examples/kernel/twheel_retry.c. This header has what they have in common, and they
 * include it.
 *
 * Each is embedded in the caller's own object, allocates nothing, and belongs to a wheel
 * as a timer does. What linux/twheel.h says of clocks, ticks, contexts and the life of a
 * timer's memory holds here too. All fields are private, with one exception: the struct
 * twheel_timer inside is what twheel_stop() hands back. container_of() leads from it to the
 * object. If one wheel has plain timers and policies, its user tells them apart.
 *
 * They have no static initialiser: initialise them before their first use.
 *
 * Times are u64 nanoseconds on the wheel's clock. Spans of time (periods, delays, timeouts) are
 * 1 to %TWHEEL_SPAN_MAX unless said otherwise; deadlines beyond %TWHEEL_NEVER saturate there. A
 * wheel whose clock can be set (%TWHEEL_CLOCK_REALTIME, %TWHEEL_CLOCK_TAI) takes no delays.
 * There only twheel_periodic_start_at() at a fixed rate works, and every other start returns
 * -EINVAL.
 *
 * The plain calls never wait. Those named _sync wait for the callback: do not make them
 * with a lock held that the callback takes. In the callback itself they return -EDEADLK:
 * periodic work has then been stopped all the same, and a watch has not.
 *
 * For periodic work, a stop or a new start wins over a callback that is running.
 * The callback goes on to its end, but what it returns no longer counts. The callback of a
 * watch returns nothing: if it starts its watch after a stop, the watch is started. Only
 * twheel_idle_shutdown() and the calls that wait prevent that.
 *
 * Where callbacks are RCU readers, see twheel_shutdown(), objects that RCU frees need no call
 * that waits. Unlink the object, call twheel_idle_shutdown(), and kfree_rcu() it. Periodic work
 * is stopped instead, which does not refuse later starts. There the module has to ensure that
 * nobody starts it after that, such as a reader that has found the object before.
 */
#ifndef _LINUX_TWHEEL_POLICY_H
#define _LINUX_TWHEEL_POLICY_H

#include <linux/types.h>

#include <linux/twheel.h>

/**
 * TWHEEL_SPAN_MAX - the longest period, delay or timeout: some 146 years
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

enum __twheel_policy {
	__TWHEEL_PERIODIC,
	__TWHEEL_IDLE,
};

void __twheel_policy_init(struct twheel_timer *timer, enum __twheel_policy policy,
			  struct twheel *wheel, const char *name,
			  struct lock_class_key *key);

#endif /* _LINUX_TWHEEL_POLICY_H */
