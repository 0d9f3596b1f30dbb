/* SPDX-License-Identifier: GPL-2.0-only */
/* A pass: what a base does when its alarm goes off. */
#ifndef _TWHEEL_PASS_H
#define _TWHEEL_PASS_H

#include <linux/types.h>

#include <linux/twheel.h>

struct tw_clock;
struct twheel_base;

/**
 * struct tw_pass_waiter - a call that waits for a callback; on the caller's stack
 * @next: on the base's list. Under the base lock
 * @base: the base that runs the callback; NULL before tw_pass_add_waiter()
 * @timer: the timer whose callback it is
 * @expiry_lock: on PREEMPT_RT, which lock the pass holds until the callback has returned
 * @state: what the timer's word becomes if the callback has armed the timer again;
 *	%TWHEEL_PENDING: leave it alone
 * @ret: see tw_pass_wait()
 * @done: the callback has returned, and @ret is there
 */
struct tw_pass_waiter {
	struct tw_pass_waiter *next;
	struct twheel_base *base;
	struct twheel_timer *timer;
	unsigned int expiry_lock;
	enum twheel_state state;
	int ret;
	bool done;
};

bool tw_pass_alarm(struct tw_clock *clock, bool threaded);
u64 tw_pass_advance(struct twheel_base *base, u64 now_ns);
void tw_pass_add_waiter(struct twheel_base *base, struct tw_pass_waiter *waiter);
int tw_pass_wait(struct tw_pass_waiter *waiter);

#endif /* _TWHEEL_PASS_H */
