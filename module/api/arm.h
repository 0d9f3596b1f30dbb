/* SPDX-License-Identifier: GPL-2.0-only */
/* Giving timers deadlines, for the rest of the layer. */
#ifndef _TWHEEL_API_ARM_H
#define _TWHEEL_API_ARM_H

#include <linux/compiler.h>
#include <linux/types.h>

#include <linux/twheel.h>

#include "../core/base.h"

/* Which timers are given a new deadline. */
enum tw_arm_which {
	TW_ARM_ANY,
	TW_ARM_PENDING,
};

/* tw_arm_extend() - a later deadline leaves a pending timer where it is */
static __always_inline bool tw_arm_extend(struct twheel_timer *timer, s64 word)
{
	if (tw_node_extend(&timer->node, word) != 1)
		return false;
	tw_trace_extend(timer, tw_word(word));
	return true;
}

/* With the base lock: a timer is armed here. Sending it is off, if it was cancelled since. */
static inline void tw_arm_here(struct twheel_base *base)
{
	if (base->sent_to && hlist_empty(&base->sent))
		base->sent_to = NULL;
}

int tw_arm_held(struct twheel_base *base, struct twheel_timer *timer, s64 word,
		enum tw_arm_which which);
int tw_place(struct twheel_timer *timer, s64 word, enum tw_arm_which which, int cpu,
	     u64 timeout_ns);

#endif /* _TWHEEL_API_ARM_H */
