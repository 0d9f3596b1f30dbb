/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * twheel: wheels on %TWHEEL_CLOCK_VIRTUAL, whose time passes only in twheel_advance(). So a
 * test of a module's timeouts takes no time, and says the same each time.
 *
 *	wheel = twheel_create(&(struct twheel_config) {
 *		.name = "test", .clock = TWHEEL_CLOCK_VIRTUAL });
 *	...
 *	twheel_advance(wheel, 30 * NSEC_PER_SEC);
 *
 * The calling task runs the callbacks: with softirqs off, with interrupts off, or with both
 * on, as the wheel's context says. So they are restricted as on a real clock, but
 * in_serving_softirq() and in_hardirq() are false there, and no workqueue is used.
 */
#ifndef _LINUX_TWHEEL_VIRTUAL_H
#define _LINUX_TWHEEL_VIRTUAL_H

#include <linux/types.h>

#include <linux/twheel.h>

u64 twheel_advance(struct twheel *wheel, u64 now_ns);

#endif /* _LINUX_TWHEEL_VIRTUAL_H */
