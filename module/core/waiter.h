/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Waiters: calls that wait for a callback.
 *
 * A waiter is on the base's list. When the callback returns, the pass takes the timer out
 * if it has been armed again meanwhile. So a waiter waits for one callback, even if the timer
 * arms itself. Where callbacks may not sleep, the waiter spins.
 *
 * On PREEMPT_RT the pass may run in a thread that the waiter has preempted, so spinning
 * would never end. There a pass in softirq context holds the expiry lock, and the waiter
 * blocks on it, which lends the pass its priority. (The idea is kernel/time/timer.c's.)
 * After the pass has told waiters, it releases the lock for a moment. A waiter of a higher
 * priority gets it then. One of the same priority may lose it to the pass until that ends.
 */
#ifndef _TWHEEL_WAITER_H
#define _TWHEEL_WAITER_H

#include <linux/completion.h>
#include <linux/types.h>

#include <linux/twheel.h>
#include <linux/twheel_state.h>

struct twheel_base;

/**
 * struct tw_waiter - a call that waits for a callback; on the caller's stack
 * @next: on the base's list. Under the base lock
 * @base: the base that runs the callback; NULL before tw_waiter_add()
 * @timer: the timer whose callback it is
 * @state: what the timer's word becomes if the callback has armed the timer again. The
 *	first one on the list has the strongest of all
 * @ret: see tw_waiter_wait()
 * @done: the callback has returned, and @ret is there
 */
struct tw_waiter {
	struct tw_waiter *next;
	struct twheel_base *base;
	struct twheel_timer *timer;
	enum twheel_state state;
	int ret;
	struct completion done;
};

void tw_waiter_add(struct twheel_base *base, struct tw_waiter *waiter);
int tw_waiter_wait(struct tw_waiter *waiter);
int tw_waiter_judge(struct twheel_base *base);
void tw_waiter_release(struct tw_waiter *waiters, int ret);

#endif /* _TWHEEL_WAITER_H */
