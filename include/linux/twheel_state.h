/* SPDX-License-Identifier: GPL-2.0-only */
/* twheel: where a timer stands, for more than twheel_pending() says. */
#ifndef _LINUX_TWHEEL_STATE_H
#define _LINUX_TWHEEL_STATE_H

#include <linux/atomic.h>
#include <linux/types.h>

#include <linux/twheel.h>

/**
 * twheel_state() - where a timer stands
 * @timer: the timer
 *
 * Context:
 * * lock-free; the answer may be old by the time it is looked at
 * Return:
 * * one of enum twheel_state
 */
static inline enum twheel_state twheel_state(const struct twheel_timer *timer)
{
	s64 word = atomic64_read(&timer->node.word);

	return word < 0 ? TWHEEL_PENDING : (enum twheel_state)(word & ~TW_WORD_READY);
}

#endif /* _LINUX_TWHEEL_STATE_H */
