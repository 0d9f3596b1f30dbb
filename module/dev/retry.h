/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A file's timer that retries: each event that is read is an attempt, and after it
 * the timer waits twice as long as before, until there are no attempts left. The
 * same in the kernel's API is policy.c's.
 */
#ifndef _TWHEEL_RETRY_H
#define _TWHEEL_RETRY_H

#include <linux/random.h>
#include <linux/string.h>

#include <uapi/linux/twheel.h>

#include "../api/jitter.h"
#include "table.h"

/* A shift by more would be none. */
#define TW_RETRY_DOUBLINGS_MAX	62

/* tw_retry_valid() - can an arm with %TWHEEL_RETRY, and a period, be done? */
static inline bool tw_retry_valid(const struct twheel_op *op)
{
	const struct twheel_op_retry *retry = &op->retry;

	return retry->attempts && retry->doublings <= TW_RETRY_DOUBLINGS_MAX &&
	       retry->jitter <= 100 && !op->slack_ns &&
	       !(op->flags & TWHEEL_FIXED_DELAY) &&
	       !memchr_inv(retry->reserved, 0, sizeof(retry->reserved));
}

/* tw_retry_begin() - a slot that is being armed is to retry */
static inline void tw_retry_begin(struct tw_entry *slot,
				  const struct twheel_op *op)
{
	slot->tag |= TW_RETRY;
	slot->retry = (struct tw_retry) {
		.attempts	= op->retry.attempts,
		.doublings	= op->retry.doublings,
		.jitter		= op->retry.jitter,
	};
}

/* tw_retry_delay() - how long to wait after the attempt that is being made */
static inline u64 tw_retry_delay(const struct tw_entry *slot)
{
	const struct tw_retry *retry = &slot->retry;
	unsigned int doublings = min(retry->made, retry->doublings);
	u64 delay = TWHEEL_DELAY_NEVER;

	if (slot->period_ns <= TWHEEL_DELAY_NEVER >> doublings)
		delay = slot->period_ns << doublings;
	if (!retry->jitter)
		return delay;
	return delay - tw_jitter(delay, retry->jitter, get_random_u64());
}

#endif /* _TWHEEL_RETRY_H */
