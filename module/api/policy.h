/* SPDX-License-Identifier: GPL-2.0-only */
/* What periodic work, retries and idle watches have in common. */
#ifndef _TWHEEL_API_POLICY_H
#define _TWHEEL_API_POLICY_H

#include <linux/compiler.h>
#include <linux/types.h>

#include <linux/twheel_policy.h>

#include "../core/base.h"

static inline bool tw_policy_is_span(u64 ns)
{
	return ns && ns <= TWHEEL_SPAN_MAX;
}

/* An instant and a span, short of wrapping around. */
static inline u64 tw_policy_later(u64 ns, u64 span)
{
	return ns > TWHEEL_NEVER - span ? TWHEEL_NEVER : ns + span;
}

/* A wheel whose clock may be set takes deadlines only, see twheel_arm(). */
static inline bool tw_policy_takes_delay(const struct twheel_timer *timer)
{
	const struct twheel_base *base = READ_ONCE(timer->base);

	/* A timer of zeros has no wheel. */
	return base && !base->absolute;
}

/* The callback of a policy calls @function of its user. */
static inline void tw_policy_calls(const struct twheel_timer *timer, const void *function)
{
	tw_base_stand_in(READ_ONCE(timer->base), timer->function, function);
}

#endif /* _TWHEEL_API_POLICY_H */
