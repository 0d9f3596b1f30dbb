/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Waiters: calls that wait for a callback.
 *
 * A waiter is on the base's list. When the callback returns, the pass takes the timer out
 * if it has been armed again meanwhile. So a waiter waits for one callback, even if the timer
 * arms itself. Where callbacks may not sleep, the waiter spins.
 *
 * On PREEMPT_RT the pass may run in a thread that the waiter has preempted, so spinning
 * would never end. There a pass in softirq context holds one of two expiry locks, and
 * the waiter blocks on that one, which lends the pass its priority. (The idea is
 * kernel/time/timer.c's.) After the pass has told waiters, it goes on with the other
 * lock. If it took the same lock again, it could be faster than the waiters each time.
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
 * @expiry_lock: on PREEMPT_RT, which lock the pass holds until the callback has returned
 * @state: what the timer's word becomes if the callback has armed the timer again. The
 *	first one on the list has the strongest of all
 * @ret: see tw_waiter_wait()
 * @done: the callback has returned, and @ret is there
 */
struct tw_waiter {
	struct tw_waiter *next;
	struct twheel_base *base;
	struct twheel_timer *timer;
	unsigned int expiry_lock;
	enum twheel_state state;
	int ret;
	struct completion done;
};

void tw_waiter_add(struct twheel_base *base, struct tw_waiter *waiter);
int tw_waiter_wait(struct tw_waiter *waiter);
int tw_waiter_judge(struct twheel_base *base);
void tw_waiter_release(struct tw_waiter *waiters, int ret);

/*
 * tw_expiry_lock(), tw_expiry_unlock() - around a pass in softirq context
 * tw_expiry_own() - with the base lock: the pass begins. While it waited for its expiry
 *	lock, the pass before it may have changed to the other one
 * tw_expiry_held() - with the base lock: the pass ends. Returns which lock it holds now
 * tw_expiry_change() - go on with the other lock. No callback runs
 */
#ifdef CONFIG_PREEMPT_RT
unsigned int tw_expiry_lock(struct twheel_base *base);
void tw_expiry_unlock(struct twheel_base *base, unsigned int held);
void tw_expiry_own(struct twheel_base *base, unsigned int held);
unsigned int tw_expiry_held(const struct twheel_base *base);
void tw_expiry_change(struct twheel_base *base);
#else
static inline unsigned int tw_expiry_lock(struct twheel_base *base) { return 0; }
static inline void tw_expiry_unlock(struct twheel_base *base, unsigned int held) { }
static inline void tw_expiry_own(struct twheel_base *base, unsigned int held) { }
static inline unsigned int tw_expiry_held(const struct twheel_base *base) { return 0; }
static inline void tw_expiry_change(struct twheel_base *base) { }
#endif

#endif /* _TWHEEL_WAITER_H */
