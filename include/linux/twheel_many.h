/* SPDX-License-Identifier: GPL-2.0-only */
/* twheel: arrays of timers, armed or cancelled in one call. See module/core/many.c. */
#ifndef _LINUX_TWHEEL_MANY_H
#define _LINUX_TWHEEL_MANY_H

#include <linux/types.h>

#include <linux/twheel.h>

/**
 * struct twheel_item - one timer of twheel_arm_many() or twheel_cancel_many()
 * @timer: the timer
 * @deadline_ns: for which deadline to arm it; ignored when cancelling
 * @result: the result, as of twheel_arm_at() or twheel_cancel(). Arming refuses another
 *	wheel's timer with -EINVAL; cancelling cancels it as well
 */
struct twheel_item {
	struct twheel_timer *timer;
	u64 deadline_ns;
	int result;
};

unsigned int twheel_arm_many(struct twheel *wheel, struct twheel_item *items,
			     unsigned int count);
unsigned int twheel_cancel_many(struct twheel *wheel, struct twheel_item *items,
				unsigned int count);

#endif /* _LINUX_TWHEEL_MANY_H */
