/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What a module that comes from struct timer_list may want besides linux/twheel.h. Copy
 * what you use into a header of the module.
 */
#ifndef _TWHEEL_PORT_H
#define _TWHEEL_PORT_H

#include <linux/jiffies.h>
#include <linux/minmax.h>
#include <linux/twheel.h>
#include <net/sock.h>

/* mod_timer() for a timer that mostly moves to later, on each packet, say: it takes no lock. */
static inline int mod_twheel(struct twheel_timer *timer, u64 delay_ns)
{
	int moved = twheel_extend(timer, delay_ns);

	return moved == 1 ? moved : twheel_arm(timer, delay_ns);
}

/* timer->expires, to read it: in jiffies, rounded up; the past if it is not pending. */
static inline unsigned long twheel_expires(const struct twheel_timer *timer)
{
	u64 left = twheel_remaining(timer);

	if (left > TWHEEL_NEVER)
		return jiffies - 1;
	left = nsecs_to_jiffies64(left + TICK_NSEC - 1);
	return jiffies + min_t(u64, left, MAX_JIFFY_OFFSET);
}

/*
 * sk_reset_timer() and sk_stop_timer() for a timer of the module's own. As with these, the
 * caller has a reference of its own to the socket.
 */
static inline void sk_reset_twheel(struct sock *sk, struct twheel_timer *timer, u64 delay_ns)
{
	if (!mod_twheel(timer, delay_ns))
		sock_hold(sk);
}

static inline void sk_stop_twheel(struct sock *sk, struct twheel_timer *timer)
{
	if (twheel_cancel(timer))
		__sock_put(sk);
}

#endif /* _TWHEEL_PORT_H */
