/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A base: an engine and a clock under one lock, and the pass that serves the
 * timers that are due.
 */
#ifndef _TWHEEL_BASE_H
#define _TWHEEL_BASE_H

#include <linux/sched.h>
#include <linux/spinlock.h>
#include <linux/types.h>

#include <linux/twheel.h>

#include "clock.h"
#include "wheel.h"

/**
 * struct twheel_base - what the timers of a base share
 * @lock: guards all that follows; taken from hard interrupt context too
 * @wheel: the engine
 * @running: the timer whose callback runs, or has just been claimed to
 * @runner: the task on whose back the pass runs, NULL between passes
 * @stopped: no timer may be armed any more
 * @in_round: the last pass ran out of budget before it had served all that was
 *	due by @target
 * @target: the tick up to which the round serves
 * @limit: how many timers may be pending
 * @pending: how many are
 * @armed: timers that became pending
 * @fired: callbacks called
 * @cancelled: timers cancelled while pending
 * @passes: passes begun
 * @exhausted: passes that used up their budget
 * @clock: the clock
 * @owner: the wheel it is part of
 * @expiry_lock: on PREEMPT_RT held across a pass, so that who waits for a
 *	callback lends it its priority
 */
struct twheel_base {
	raw_spinlock_t lock;
	bool stopped;
	bool in_round;
	unsigned int limit;
	unsigned int pending;
	struct twheel_timer *running;
	struct tw_wheel wheel;
	u64 armed;
	u64 cancelled;
	u64 fired;
	u64 passes;
	u64 exhausted;
	u64 target;
	struct task_struct *runner;
	struct tw_clock clock;
	struct twheel *owner;
#ifdef CONFIG_PREEMPT_RT
	spinlock_t expiry_lock;
#endif
};

int tw_base_shape(struct tw_wheel *wheel, const struct twheel_config *config);
int tw_base_init(struct twheel_base *base, struct twheel *owner,
		 const struct twheel_config *config);
void tw_base_exit(struct twheel_base *base);
void tw_base_file(struct twheel_base *base, struct twheel_timer *timer);
void tw_base_unfile(struct twheel_base *base, struct twheel_timer *timer);
void tw_base_wait(struct twheel_base *base);
int tw_base_stop(struct twheel_base *base);
struct twheel_timer *tw_base_evict(struct twheel_base *base);
u64 tw_base_advance(struct twheel_base *base, u64 now_ns);

/* A wheel has one base. */
struct twheel {
	struct twheel_base base;
	struct list_head link;
	struct module *owner;
	const char *name;
	void *data;
};

#endif /* _TWHEEL_BASE_H */
