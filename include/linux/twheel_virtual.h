/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * twheel: wheels on %TWHEEL_CLOCK_VIRTUAL, whose time passes only in twheel_advance(). So a
 * test of a module's timeouts takes no time. With one base a test gives the same result each
 * time. With a base for each CPU, the order depends on where the test runs.
 *
 *	wheel = twheel_create(&(struct twheel_config) {
 *		.name = "test", .clock = TWHEEL_CLOCK_VIRTUAL });
 *	...
 *	twheel_advance(wheel, 30ULL * NSEC_PER_SEC);	// until 30 s: a time, not a delay
 *
 * To test a module that uses the system wheel, pass a variable "wheel" to the calls that
 * initialise timers. It is NULL in the module, and a virtual wheel in the test. To these
 * calls NULL means the system wheel. No other call takes NULL for a wheel, except twheel_destroy(),
 * which ignores it. twheel_of() has the wheel of a timer, as for twheel_get_stats().
 *
 * The clock jumps: callbacks see the new time in twheel_now(). What they arm for a time up to
 * that waits for the next call, or on another CPU's base perhaps only for its turn. Only what
 * was due already may still come. This goes from one event to the next instead. It never ends
 * if a callback arms its timer with a delay of 0:
 *
 *	next = twheel_advance(wheel, twheel_now(wheel));
 *	while (next <= until)
 *		next = twheel_advance(wheel, next);
 *	twheel_advance(wheel, until);
 *
 * The calling task runs the callbacks, with softirqs off in %TWHEEL_CONTEXT_SOFTIRQ. So they
 * are restricted as on a real clock, but in_serving_softirq() is false there, and no workqueue
 * is used.
 */
#ifndef _LINUX_TWHEEL_VIRTUAL_H
#define _LINUX_TWHEEL_VIRTUAL_H

#include <linux/types.h>

#include <linux/twheel.h>

u64 twheel_advance(struct twheel *wheel, u64 now_ns);

#endif /* _LINUX_TWHEEL_VIRTUAL_H */
