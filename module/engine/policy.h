/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * Periodic work over a timer, for kernel wheels and for process wheels. The difficulty is what
 * happens while a callback runs, perhaps on another CPU. Then the timer is not pending, and a
 * cancel finds nothing to cancel. So each start and each stop changes the number of the work,
 * under the lock under which the timer is armed too:
 *
 *  - A callback that has ended arms the timer only if the number is what it was when it began. A
 *    stop in between is obeyed, and the deadline of a new start is left alone.
 *  - The wheel may have claimed the timer just before a stop, and call it after that: then the
 *    work is off. After a start, the timer is pending, as nobody else arms it: then this call is
 *    not for the new deadline, and does nothing.
 *
 * The lock is not held while the caller's callback runs. It is not touched after a callback that
 * says that it is done, which may have freed the object.
 *
 * Read the header with struct twheel_periodic before this one. Its @period is 0 while the work
 * is off: never started, stopped, or no room was left for it.
 */
#ifndef _TWHEEL_ENGINE_POLICY_H
#define _TWHEEL_ENGINE_POLICY_H

#include <linux/twheel_node.h>

#include "host.h"

/* What each world supplies: a lock, for what is in the work and to arm its timer; */
static inline unsigned long tw_periodic_lock(struct twheel_periodic *p);
static inline void tw_periodic_unlock(struct twheel_periodic *p, unsigned long flags);
/* the time on its wheel's clock; */
static inline u64 tw_periodic_now(const struct twheel_periodic *p);
/* with the lock, twheel_arm_at(). */
static inline int tw_periodic_arm(struct twheel_periodic *p, u64 deadline_ns);

static inline bool tw_span_valid(u64 ns)
{
	return ns && ns <= TWHEEL_SPAN_MAX;
}

/* An instant and a span, which saturates. */
static inline u64 tw_span_after(u64 ns, u64 span_ns)
{
	return ns > TWHEEL_NEVER - span_ns ? TWHEEL_NEVER : ns + span_ns;
}

/* With the lock: find the deadline that a callback is for, and count those that were missed. */
static inline void tw_periodic_count(struct twheel_periodic *p, u64 now)
{
	p->overruns = 0;
	if (p->pace == TWHEEL_FIXED_RATE && now > p->deadline)
		p->overruns = div64_u64(now - p->deadline, p->period);
	p->missed += p->overruns;
	p->deadline += p->overruns * p->period;
}

/* With the lock: a callback asks for another one. If there cannot be one, the work is off. */
static inline void tw_periodic_again(struct twheel_periodic *p)
{
	u64 from = p->pace == TWHEEL_FIXED_RATE ? p->deadline : tw_periodic_now(p);
	u64 next = tw_span_after(from, p->period);
	int ret = tw_periodic_arm(p, next);

	if (ret < 0) {
		WRITE_ONCE(p->error, ret);
		p->period = 0;
	} else {
		p->deadline = next;
	}
}

/* The callback of the timer. */
static inline void tw_periodic_fire(struct twheel_periodic *p)
{
	const struct twheel_node *node = (const struct twheel_node *)&p->timer;
	unsigned long flags = tw_periodic_lock(p);
	unsigned int number = p->number;
	bool due = p->period && atomic64_read(&node->word) == TWHEEL_FIRED;

	if (due)
		tw_periodic_count(p, tw_periodic_now(p));
	tw_periodic_unlock(p, flags);
	if (!due || p->function(p) != TWHEEL_AGAIN)
		return;
	flags = tw_periodic_lock(p);
	if (p->number == number)
		tw_periodic_again(p);
	tw_periodic_unlock(p, flags);
}

/* Start work, or start it anew. Returns what arming has returned: on an error, it is off. */
static inline int tw_periodic_begin(struct twheel_periodic *p, u64 first_ns, u64 period_ns,
				    enum twheel_pace pace)
{
	unsigned long flags = tw_periodic_lock(p);
	int ret;

	p->number++;
	p->pace = pace;
	WRITE_ONCE(p->error, 0);
	p->deadline = min(first_ns, TWHEEL_NEVER);
	p->overruns = 0;
	p->missed = 0;
	ret = tw_periodic_arm(p, p->deadline);
	p->period = ret < 0 ? 0 : period_ns;
	tw_periodic_unlock(p, flags);
	return ret;
}

#endif /* _TWHEEL_ENGINE_POLICY_H */
