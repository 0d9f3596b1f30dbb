/* SPDX-License-Identifier: GPL-2.0-only */
/* What all ways of misuse have in common, and those of each file. */
#ifndef MISUSE_H
#define MISUSE_H

#include <linux/atomic.h>
#include <linux/time64.h>
#include <linux/types.h>

#include <linux/twheel.h>

#define MS	((u64)NSEC_PER_MSEC)
/*
 * Longer than it takes to print a report, on a slow machine and a serial line,
 * or to unload a module.
 */
#define LATER	(4000 * MS)

/* Made for each way of misuse, and destroyed after it. */
extern struct twheel *misuse_wheel;
/* Counts callbacks of misuse_expired(), and of others. */
extern atomic_t misuse_fired;

/* If it does not hold, the module does not load. Returns the condition. */
#define expect(condition)	misuse_check(condition, #condition)
bool misuse_check(bool condition, const char *text);

void misuse_expired(struct twheel_timer *timer);
/* Does the wheel serve a timer that comes after all those misused? */
void misuse_goes_on(struct twheel *wheel);
void misuse_goes_on_after(struct twheel *wheel, u64 delay_ns);
void misuse_nothing_pending(struct twheel *wheel);
struct twheel *misuse_new_wheel(const char *name, enum twheel_context context);
struct twheel_timer *misuse_new_timer(struct twheel *wheel, twheel_fn function);

/* timer.c */
void misuse_free(void);
void misuse_free_running(void);
void misuse_init_pending(void);
void misuse_zeroed(void);
void misuse_garbage(void);
void misuse_refused(void);

/* callback.c */
void misuse_preempt(void);
void misuse_preempt_policy(void);
void misuse_hardirq(void);
void misuse_advance(void);
void misuse_deadlock(void);

/* atomic.c */
void misuse_atomic(void);

#endif /* MISUSE_H */
